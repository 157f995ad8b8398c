"""`hedgerow explain`: which columns matter to a model, and how its predictions depend on them."""

from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.cli import options
from hedgerow.cli.commands import Explain
from hedgerow.cli.errors import UsageError, input_errors
from hedgerow.cli.evaluate import print_model
from hedgerow.cli.output import Output
from hedgerow.cli.table_model import ModelFile, read_model, read_table_file
from hedgerow.estimators import DecisionStump
from hedgerow.text_table import format_column

_BLOCKS = "▁▂▃▄▅▆▇█"
_POINTS = 24  # number of blocks of a curve


def explain(command: Explain) -> None:
    """Show which columns matter, how the predictions depend on them, and the first stumps."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - loads half a second of modules

    from hedgerow.plots import ImportancesDisplay  # noqa: PLC0415

    output, data, top, seed = Output(command.as_json), command.data, command.top, command.seed
    if top < 1:
        raise UsageError(f"--top {top} is not allowed: it must be a whole number above 0")
    options.check_numbers(seed, None)
    loaded = read_model(command.model)
    found: dict[str, Any] = {"model": type(loaded.model).__name__, "target": loaded.recipe.target}
    print_model(loaded.model, output, f" for {loaded.recipe.target!r}")
    if getattr(loaded.model, "feature_importances_", None) is not None:
        display = ImportancesDisplay.from_estimator(loaded.model, method="split", top=top)
        found["importances"] = _importances(display)
        _print_importances(found["importances"], "share of the gain of the splits", output)
    found["stumps"] = _stumps(loaded.model, top)
    if found["stumps"]:
        texts, weights = zip(*found["stumps"], strict=True)
        rows = list(zip(texts, format_column(weights), strict=True))
        output.table(["first stumps", "weight"], rows)
    if data is not None:
        with input_errors():
            _explain_rows(loaded, data, top, seed, found, output)
    plt.close("all")  # the figures are not shown
    output.result(found)


def _explain_rows(
    loaded: ModelFile, data: Path, top: int, seed: int, found: dict[str, Any], output: Output
) -> None:
    """Add permutation importances, if the table has the target, and partial dependence."""
    from hedgerow.plots import ImportancesDisplay, PartialDependenceDisplay  # noqa: PLC0415

    table = read_table_file(data, loaded.recipe.read_options)
    X, y = loaded.recipe.features(table), None
    if loaded.recipe.target in table.column_names:
        prepared = loaded.prepare(data, table, output, training_rows=True)
        X, y = prepared.take(prepared.test)
        if not len(prepared.train) and hasattr(loaded.model, "row_fingerprints_"):
            n_seen = int(loaded.model.is_training_row(X).sum())
            if 2 * n_seen > len(y):
                output.note(
                    f"{n_seen:,} of the {len(y):,} rows have the values of rows that the model was fitted to"
                )
    if y is not None:
        display = ImportancesDisplay.from_estimator(
            loaded.model, X, y, method="permutation", top=top, random_state=seed
        )
        found["permutation"] = _importances(display)
        _print_importances(found["permutation"], display.measure, output)
    dependence = PartialDependenceDisplay.from_estimator(
        loaded.model, X, n_points=_POINTS, top=top, random_state=seed
    )
    found["dependence"] = [_dependence(one, dependence) for one in dependence.dependences]
    output.table(
        ["column", "class", "from", dependence.measure, "to", "lowest", "highest"],
        _dependence_rows(found["dependence"]),
        left=(0, 1, 2, 3, 4),
        title="partial dependence of the predictions",
    )


def _importances(display: Any) -> list[dict[str, Any]]:
    spreads = np.zeros(len(display.values)) if display.spreads is None else display.spreads
    return [
        {"column": display.names[number], "importance": display.values[number], "spread": spreads[number]}
        for number in display.order
    ]


def _print_importances(rows: list[dict[str, Any]], measure: str, output: Output) -> None:
    largest = max([row["importance"] for row in rows] + [1e-300])
    output.table(
        ["column", measure, ""],
        [
            [
                row["column"],
                shown,
                "█" * round(30 * max(0.0, row["importance"]) / largest),
            ]
            for row, shown in zip(rows, format_column([row["importance"] for row in rows]), strict=True)
        ],
        left=(0, 2),
    )


def _stumps(model: Any, top: int) -> list[tuple[str, float]]:
    """Return the first `top` stumps as text, with their weights; none for other members than stumps."""
    members = getattr(model, "estimators_", [])
    weights = getattr(model, "estimator_weights_", [])
    first = list(members[:top]) if isinstance(members, list) else []
    if not first or not all(isinstance(one, DecisionStump) for one in first):
        return []
    return [(str(one), float(weight)) for one, weight in zip(first, weights, strict=False)]


def _dependence(one: Any, display: Any) -> dict[str, Any]:
    """Return the dependence on a column, for the class or number that it changes most."""
    values = one.categories if one.categories is not None else one.values.tolist()
    output = max(display.outputs, key=lambda output: float(np.ptp(one.means[output])))
    name = display.output_names[output] if display.output_names else ""
    return {"column": one.name, "output": name, "at": values, "mean": one.means[output].tolist()}


def _dependence_rows(found: list[dict[str, Any]]) -> list[list[str]]:
    """Return the rows of the table: the range of the column, the curve, the lowest and the highest mean."""
    lowest_highest = [number for one in found for number in (min(one["mean"]), max(one["mean"]))]
    numbers = iter(format_column(lowest_highest))
    rows = []
    for one in found:
        means, at = np.asarray(one["mean"]), one["at"]
        is_named = isinstance(at[0], str)
        ends = [str(value) for value in at] if is_named else format_column(at, whole=True)
        lowest, highest = (
            f"{ends[i]}: {next(numbers)}" if is_named else next(numbers)
            for i in (int(means.argmin()), int(means.argmax()))
        )
        rows.append([one["column"], one["output"], ends[0], blocks(means), ends[-1], lowest, highest])
    return rows


def blocks(values: np.ndarray[Any, Any]) -> str:
    """Draw numbers as blocks of different heights.

    >>> blocks(np.array([0.0, 0.5, 1.0, 0.0]))
    '▁▅█▁'
    """
    span = float(np.ptp(values))
    if span == 0:
        return _BLOCKS[0] * len(values)
    return "".join(_BLOCKS[round(height)] for height in (len(_BLOCKS) - 1) * (values - values.min()) / span)
