"""`hedgerow explain`: which columns a model looks at, and what it makes of them."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hedgerow.cli import options
from hedgerow.cli.card import Trained, read_model
from hedgerow.cli.errors import UsageError
from hedgerow.cli.output import Output, figure
from hedgerow.cli.tables import Problem, check_numbers
from hedgerow.datafiles import read_data
from hedgerow.estimators import DecisionStump

_BLOCKS = "▁▂▃▄▅▆▇█"
_POINTS = 24  # of a line of blocks
_ROUNDS = 10  # stumps that are told


def explain(
    model: options.Model,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="Rows to ask the model about; with the target, columns are also shuffled and scored.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, typer.Option(metavar="NUMBER", help="Columns to show.")] = 10,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
) -> None:
    """Show which columns matter, how the predictions depend on them, and the first stumps."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - half a second that other commands save

    from hedgerow.plots import ImportancesDisplay  # noqa: PLC0415

    output = Output(as_json)
    if top < 1:
        raise UsageError(f"--top {top} is not allowed: it must be a whole number above 0")
    check_numbers(seed, None)
    trained = read_model(model)
    found: dict[str, Any] = {"model": type(trained.model).__name__, "target": trained.recipe.target}
    output.say(f"{' '.join(repr(trained.model).split())} of {trained.recipe.target!r}", "bold")
    if getattr(trained.model, "feature_importances_", None) is not None:
        shown = ImportancesDisplay.from_estimator(trained.model, method="split", top=top)
        found["importances"] = _importances(shown)
        _tell_importances(found["importances"], "share of what the splits gained", output)
    found["stumps"] = _stumps(trained.model)
    if found["stumps"]:
        output.table(
            ["first stumps ", "weight"], [[words, figure(weight)] for words, weight in found["stumps"]]
        )
    if data is not None:
        _look_at_rows(trained, data, top, seed, found, output)
    plt.close("all")  # nothing is drawn here
    output.result(found)


def _look_at_rows(
    trained: Trained, data: Path, top: int, seed: int, found: dict[str, Any], output: Output
) -> None:
    from hedgerow.plots import ImportancesDisplay, PartialDependenceDisplay  # noqa: PLC0415

    table = read_data(data)
    X, y = trained.recipe.features(table), None
    if trained.recipe.target in table.column_names:
        problem: Problem
        problem, is_training_file = trained.problem(data, table)
        X, y = problem.part(problem.test)
        if is_training_file:
            output.say(f"{data} is the training file: its {len(problem.test):,} rows held out are taken")
        elif hasattr(trained.model, "row_fingerprints_"):
            n_seen = int(trained.model.is_training_row(X).sum())
            if 2 * n_seen > len(y):
                output.note(
                    f"{n_seen:,} of the {len(y):,} rows hold the values of rows the model was fitted to"
                )
    if y is not None:
        shown = ImportancesDisplay.from_estimator(
            trained.model, X, y, method="permutation", top=top, random_state=seed
        )
        found["permutation"] = _importances(shown)
        _tell_importances(found["permutation"], shown.measure, output)
    dependence = PartialDependenceDisplay.from_estimator(
        trained.model, X, n_points=_POINTS, random_state=seed
    )
    found["dependence"] = [_dependence(one, dependence) for one in dependence.dependences]
    output.table(
        ["column", "of ", "from ", dependence.measure + " ", "to ", "lowest", "highest"],
        [_line(one) for one in found["dependence"]],
        title="what the predictions depend on, all else as it is",
    )


def _importances(shown: Any) -> list[dict[str, Any]]:
    spreads = np.zeros(len(shown.values)) if shown.spreads is None else shown.spreads
    return [
        {"column": shown.names[number], "importance": shown.values[number], "spread": spreads[number]}
        for number in shown.order
    ]


def _tell_importances(rows: list[dict[str, Any]], measure: str, output: Output) -> None:
    largest = max([row["importance"] for row in rows] + [1e-300])
    output.table(
        ["column", measure, " "],
        [
            [
                row["column"],
                figure(row["importance"]),
                "█" * round(30 * max(0.0, row["importance"]) / largest),
            ]
            for row in rows
        ],
    )


def _stumps(model: Any) -> list[tuple[str, float]]:
    """The first stumps as sentences, with their weights; none if the model is not made of stumps."""
    members = getattr(model, "estimators_", [])
    weights = getattr(model, "estimator_weights_", [])
    first = list(members[:_ROUNDS]) if isinstance(members, list) else []
    if not first or not all(isinstance(one, DecisionStump) for one in first):
        return []
    return [(str(one), float(weight)) for one, weight in zip(first, weights, strict=False)]


def _dependence(one: Any, display: Any) -> dict[str, Any]:
    """A column's dependence, of the output (a class, or the number) that it changes most."""
    places = one.categories if one.categories is not None else one.values.tolist()
    output = max(display.outputs, key=lambda output: float(np.ptp(one.means[output])))
    name = display.output_names[output] if display.output_names else ""
    return {"column": one.name, "output": name, "at": places, "mean": one.means[output].tolist()}


def _line(one: dict[str, Any]) -> list[str]:
    """From where to where, in blocks; categories are told with the lowest and the highest."""
    means = np.asarray(one["mean"])
    low, high = int(means.argmin()), int(means.argmax())
    ends = [str(place) if isinstance(place, str) else f"{place:g}" for place in one["at"]]
    is_named = isinstance(one["at"][0], str)
    lowest, highest = (
        f"{ends[i]}: {figure(means[i])}" if is_named else figure(means[i]) for i in (low, high)
    )
    return [one["column"], one["output"], ends[0], blocks(means), ends[-1], lowest, highest]


def blocks(values: np.ndarray[Any, Any]) -> str:
    """Numbers as heights.

    >>> blocks(np.array([0.0, 0.5, 1.0, 0.0]))
    '▁▅█▁'
    """
    reach = float(np.ptp(values))
    if reach == 0:
        return _BLOCKS[0] * len(values)
    return "".join(_BLOCKS[round(height)] for height in (len(_BLOCKS) - 1) * (values - values.min()) / reach)
