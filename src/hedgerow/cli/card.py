"""The card of a model: what the file says beside the model itself, as one JSON object.

kind         "hedgerow table model 1"
recipe       how a table becomes X and y (`Recipe.to_dict`)
data         name, SHA-256 and number of rows of the training file
hold_out     share and seed of the rows held out; how many
method       the family, and how it was chosen (`Choice.to_dict`) or null
scores       on the rows held out
certificate  `Certificate.to_dict`, or null for numbers
command      the command line that trained it
"""

import shlex
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from hedgerow.cli import tables
from hedgerow.cli.errors import WorkError
from hedgerow.container import ModelFileError
from hedgerow.datafiles import Recipe
from hedgerow.io import load, load_card

KIND = "hedgerow table model 1"
GIVEN: ContextVar[tuple[str, ...]] = ContextVar("GIVEN", default=())  # the arguments of the command that runs


def command_line() -> str:
    """The command that runs, as a shell takes it, without what changes no result.

    >>> token = GIVEN.set(("train", "a b.csv", "--threads", "2", "--json"))
    >>> command_line()
    "hedgerow train 'a b.csv'"
    >>> GIVEN.reset(token)
    """
    kept, is_number = [], False
    for word in GIVEN.get():
        if not (is_number or word in ("--threads", "--force", "--json") or word.startswith("--threads=")):
            kept.append(word)
        is_number = word == "--threads"
    return shlex.join(["hedgerow", *kept])


@dataclass(frozen=True, eq=False)
class Trained:
    """A model of a file, with its card."""

    path: Path
    model: Any
    recipe: Recipe
    card: dict[str, Any]

    def is_of(self, path: Path) -> bool:
        """Whether a file is the one that the model was trained on."""
        known = self.card["data"].get("sha256")
        return known is not None and tables.digest(path) == known

    def problem(self, path: Path, table: pa.Table) -> tuple[tables.Problem, bool]:
        """X and y of a table; and whether it is the training file, of which only some rows are new.

        Of the training file the rows held out are `problem.test`; of another file all rows are.
        """
        if self.recipe.target not in table.column_names:
            raise WorkError(
                f"{path}: there is no column {self.recipe.target!r}, the target; true values are needed here"
            )
        is_training_file = self.is_of(path)
        share, seed = (self.card["hold_out"].get(name) for name in ("share", "seed"))
        if is_training_file:
            return tables.split(path, table, self.recipe, share, seed), True
        whole = tables.split(path, table, self.recipe, 0.0, seed)
        return tables.all_new(whole), False


def _check_recipe(recipe: Recipe, model: Any) -> None:
    """Refuse a recipe that is of another model."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and tuple(names) != recipe.feature_names:
        raise ValueError("its recipe makes other columns than the model was fitted to")
    if (recipe.task == "classification") != hasattr(model, "classes_"):
        raise ValueError(f"its recipe is for {recipe.task}, and the model is not")


def read_model(path: Path) -> Trained:
    """The model and the card of a file that `hedgerow train` has written."""
    if not path.is_file():
        raise WorkError(
            f"{path}: {'this is a folder' if path.is_dir() else 'no such file'}; a model is needed"
        )
    model, card = load(path), load_card(path)
    if card is None or card.get("kind") != KIND:
        raise WorkError(
            f"{path}: a model without the card of `hedgerow train`; use it from Python: hedgerow.load"
        )
    try:
        recipe = Recipe.from_dict(card.get("recipe"))
        data, hold_out = card["data"], card["hold_out"]
        if not isinstance(data, dict) or not isinstance(hold_out, dict):
            raise TypeError("data and hold_out are objects")  # noqa: TRY301 - as all that is wrong
        share, seed = hold_out["share"], hold_out["seed"]
        if type(share) is not float or not 0 < share < 1 or type(seed) is not int or not 0 <= seed < 2**63:
            raise ValueError(f"hold_out is {hold_out}")  # noqa: TRY301
        _check_recipe(recipe, model)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: the card of the model is damaged: {error}") from error
    return Trained(path, model, recipe, card)
