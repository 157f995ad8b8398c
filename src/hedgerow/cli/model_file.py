"""Model files of `hedgerow train`: the model, its certificate, and a card.

The card is one JSON object:

kind         "hedgerow table model 1"
hedgerow     the version that wrote it
recipe       how a table becomes X and y (`Recipe.to_dict`)
data         name, SHA-256 and number of rows of the training file, and the rows without a target
hold_out     share and seed of the test rows, and the number of test and training rows
estimator    the class of the model
choice       how the method was chosen (`Choice.to_dict`), null if --method named it
scores       scores of the test rows
command      the command line that trained the model
"""

import shlex
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.cli.errors import CommandError
from hedgerow.container import ModelFileError
from hedgerow.io import load, load_card

if TYPE_CHECKING:
    from hedgerow.cli.prepared_table import PreparedTable
    from hedgerow.datafiles import Recipe, TypedTable

KIND = "hedgerow table model 1"
ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("ARGUMENTS", default=())  # of the running command


def command_line() -> str:
    """Return the running command for a shell, without options that do not change the result.

    >>> token = ARGUMENTS.set(("train", "a b.csv", "--threads", "2", "--json"))
    >>> command_line()
    "hedgerow train 'a b.csv'"
    >>> ARGUMENTS.reset(token)
    """
    kept, is_value = [], False
    for argument in ARGUMENTS.get():
        ignored = argument in ("--threads", "--force", "--json") or argument.startswith("--threads=")
        if not (is_value or ignored):
            kept.append(argument)
        is_value = argument == "--threads"
    return shlex.join(["hedgerow", *kept])


@dataclass(frozen=True, eq=False)
class TableModel:
    """A model of a table, with its card."""

    path: Path
    model: Any
    recipe: "Recipe"
    card: dict[str, Any]

    @property
    def is_chosen(self) -> bool:
        """Whether `auto` chose the method."""
        return self.card.get("choice") is not None

    def was_trained_on(self, path: Path) -> bool:
        """Return whether a file is the training file, by its checksum."""
        from hedgerow.cli.prepared_table import file_checksum  # noqa: PLC0415 - loads pyarrow

        known = self.card["data"].get("sha256")
        return known is not None and file_checksum(path) == known

    def prepare(self, path: Path, table: "TypedTable") -> tuple["PreparedTable", bool]:
        """Apply the recipe to a table with the target; return also whether it is the training file.

        The test rows are those held out of the training file, or all rows of another file.
        """
        from hedgerow.cli.prepared_table import all_test_rows, prepare_table  # noqa: PLC0415 - as above

        if self.recipe.target not in table.column_names:
            raise CommandError(
                f"{path}: there is no column {self.recipe.target!r}, the target; true values are required"
            )
        share, seed = (self.card["hold_out"][name] for name in ("share", "seed"))
        if self.was_trained_on(path):
            return prepare_table(path, table, self.recipe, share, seed), True
        return all_test_rows(prepare_table(path, table, self.recipe, 0.0, seed)), False


def read_model(path: Path) -> TableModel:
    """Read a model file of `hedgerow train`; every value of its card is checked."""
    from hedgerow.datafiles import Recipe  # noqa: PLC0415 - loads pyarrow

    if not path.is_file():
        reason = "this is a folder" if path.is_dir() else "no such file"
        raise CommandError(f"{path}: {reason}; a model file is required")
    model, card = load(path), load_card(path)
    if card is None or card.get("kind") != KIND:
        raise CommandError(
            f"{path}: a model without the card of `hedgerow train`; use it from Python: hedgerow.load"
        )
    try:
        recipe = Recipe.from_dict(card.get("recipe"))
        _check_hold_out(card["data"], card["hold_out"])
        _check_recipe(recipe, model)
    except (KeyError, ValueError) as error:
        raise ModelFileError(f"{path}: the card of the model is damaged: {error}") from error
    return TableModel(path, model, recipe, card)


def _check_hold_out(data: Any, hold_out: Any) -> None:
    if not isinstance(data, dict) or not isinstance(hold_out, dict):
        raise ValueError("data and hold_out must be objects")  # noqa: TRY004 - the content of a file
    share, seed = hold_out["share"], hold_out["seed"]
    if type(share) is not float or not 0 < share < 1 or type(seed) is not int or not 0 <= seed < 2**63:
        raise ValueError(f"hold_out is {hold_out}")


def _check_recipe(recipe: "Recipe", model: Any) -> None:
    """Raise ValueError if a recipe belongs to another model."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and tuple(names) != recipe.feature_names:
        raise ValueError("its recipe makes other columns than those of the model")
    if (recipe.task == "classification") != hasattr(model, "classes_"):
        raise ValueError(f"its recipe is for {recipe.task}, and the model is not")
