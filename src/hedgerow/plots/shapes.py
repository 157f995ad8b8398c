"""Shape functions: what each feature adds to the score of an ensemble of stumps, one panel per feature."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.plots import labels, style
from hedgerow.plots.base import FeatureDisplay, PanelContent, is_rotated
from hedgerow.plots.inputs import read_columns
from hedgerow.shapes import ShapeFunction, ShapeFunctions, shape_functions
from hedgerow.table import read_table

_MAX_FEATURES = 6  # with features=None
_MAX_BARS, _MAX_LETTERS = 16, 14  # categories of a feature, and letters of a category


@dataclass(eq=False)
class ShapeFunctionDisplay(FeatureDisplay):
    """The shape functions of an ensemble of stumps, on a common y axis.

    Make it with `from_estimator`. With data, the functions are centred on it, ticks at the bottom are its
    deciles, and a diamond is the value of a missing feature.

    Parameters
    ----------
    functions : list of ShapeFunction
        The functions to draw.
    values : list of float arrays, or None
        For each function the feature's values (numbers of categories), with NaN for missing.
    outputs : list of int
        The rows of the heights to draw.
    labels : list of str
        Names of the outputs; empty for one output.
    score_label : str
        Label of the y axis.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from hedgerow import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingClassifier(max_leaf_nodes=2, n_estimators=30).fit(X, y)
    >>> display = ShapeFunctionDisplay.from_estimator(model, X, features=["mean radius", "worst area"])
    >>> [function.name for function in display.functions]
    ['mean radius', 'worst area']
    """

    functions: list[ShapeFunction]
    values: list[Floats] | None
    outputs: list[int]
    labels: list[str]
    score_label: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        features: Any = None,
        *,
        target: Any = None,
        ax: Any = None,
        n_columns: int = 3,
    ) -> Self:
        """Draw the shape functions of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            An ensemble of trees with one split each.
        X : array or data frame of shape (n_samples, n_features), optional
            Data to centre the functions on; its range and deciles are drawn.
        features : int, str, sequence of them, or None
            Numbers or names of features. None for the six with the largest spread: the standard deviation
            over X or, if it is 0 or there is no X, the highest step minus the lowest.
        target : class label, optional
            With more than two classes, the one to draw; None draws all.
        ax, n_columns : as in `plot`
        """
        check_is_fitted(estimator)
        functions = (
            estimator.shape_functions()
            if hasattr(estimator, "shape_functions")
            else shape_functions(estimator.model_, estimator.schema_)
        )
        outputs, names, score_label = _read_target(target, estimator, len(functions.intercept))
        columns: Any = None
        if X is not None:
            table = read_table(X, schema=functions.schema, estimator_name=type(estimator).__name__)
            columns = table.block(0, table.n_rows).T
            functions = functions.centred(X)
        chosen = _read_features(features, functions, columns, outputs)
        display = cls(
            functions=[functions[feature] for feature in chosen],
            values=None if columns is None else [columns[feature] for feature in chosen],
            outputs=outputs,
            labels=names,
            score_label=score_label,
        )
        return display.plot(ax, n_columns=n_columns)

    def _content(self) -> PanelContent:
        drawn = [np.zeros(1)]
        for number, function in enumerate(self.functions):
            drawn.append(function.heights[self.outputs].ravel())
            if self._has_missing(number):
                drawn.append(function.missing[self.outputs])
        values = np.concatenate(drawn)
        return PanelContent(
            titles=[function.name or f"feature {function.feature}" for function in self.functions],
            output_names=self.labels,
            y_label=self.score_label,
            limits=(float(values.min()), float(values.max())),
            has_rotated_names=any(is_rotated(_category_names(function)) for function in self.functions),
        )

    def _has_missing(self, number: int) -> bool:
        return self.values is not None and bool(np.isnan(self.values[number]).any())

    def _draw_panel(self, ax: Any, number: int) -> None:
        ax.axhline(0, color=style.FAINT, linewidth=0.8, zorder=1)
        draw = self._steps if self.functions[number].categories is None else self._bars
        draw(ax, number)

    def _steps(self, ax: Any, number: int) -> None:
        """Draw a numeric feature: a step function per output."""
        function = self.functions[number]
        present = np.empty(0)
        if self.values is not None:
            present = self.values[number][np.isfinite(self.values[number])]
        low, high = _range(function.edges, present)
        width = high - low
        inside = (function.edges > low) & (function.edges < high)
        borders = np.concatenate([[low], function.edges[inside], [high]])
        heights = function.heights[:, np.searchsorted(function.edges, borders[1:])]
        for output, colour in self._colours():
            ax.stairs(heights[output], borders, baseline=None, color=colour, linewidth=1.8, zorder=3)
            if len(self.outputs) == 1:
                props = {"fill": True, "color": colour, "alpha": 0.13, "linewidth": 0, "zorder": 2}
                ax.stairs(heights[output], borders, baseline=0, **props)
        if present.size:
            self._draw_deciles(ax, np.quantile(present, np.arange(0.1, 0.91, 0.1)))
        labels.plain_axis(ax.xaxis, 4)
        ax.set_xlim(low - 0.02 * width, high + 0.02 * width)
        if self._has_missing(number):
            self._draw_missing(ax, function.missing, low, high)

    def _bars(self, ax: Any, number: int) -> None:
        """Draw a categorical feature: a bar per category and output."""
        function = self.functions[number]
        heights, names = function.heights, _category_names(function)
        if len(names) > _MAX_BARS:  # the largest
            largest = np.abs(heights[self.outputs]).max(axis=0)
            kept = np.sort(np.argsort(-largest, kind="stable")[:_MAX_BARS])
            name = f"{_MAX_BARS} of {len(names)} categories"
            ax.set_xlabel(name, fontsize=style.TICK_SIZE, color=style.INK)
            heights, names = heights[:, kept], [names[category] for category in kept]
        missing = function.missing if self._has_missing(number) else None
        self._draw_categories(ax, heights, names, missing, bars=True)

    def _colours(self) -> list[tuple[int, str]]:
        """Return the outputs to draw, each with the same colour in all displays of the model."""
        return [(output, style.COLOURS[output % len(style.COLOURS)]) for output in self.outputs]


def _category_names(function: ShapeFunction) -> list[str]:
    names = [style.format_label(category) for category in function.categories or []]
    return [labels.shorten(name, _MAX_LETTERS) for name in names]


def _range(edges: Floats, present: Floats) -> tuple[float, float]:
    """Return the range of a numeric feature: that of the data, or a little more than that of its edges."""
    if present.size:
        low, high = float(present.min()), float(present.max())
    elif edges.size:
        margin = 0.1 * float(edges[-1] - edges[0])
        low, high = float(edges[0]) - margin, float(edges[-1]) + margin
    else:
        low = high = 0.0
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _read_target(target: Any, estimator: Any, n_outputs: int) -> tuple[list[int], list[str], str]:
    """Return the outputs to draw, their names, and the label of the y axis."""
    classes = getattr(estimator, "classes_", np.empty(0)).tolist()
    label = "added to the score"
    if n_outputs == 1:
        if target is not None:
            raise ValueError(f"target={target!r} is not allowed: it must be None for a model with one output")
        return [0], [], f"{label} of class {style.format_label(classes[1])}" if classes else label
    if target is None:
        if n_outputs > len(style.COLOURS):
            raise ValueError(
                f"target=None is not allowed with {n_outputs} classes, more than there are colours: it must "
                f"be one of {classes}"
            )
        return list(range(n_outputs)), [style.format_label(name) for name in classes], label
    if target not in classes:
        raise ValueError(f"target={target!r} is not allowed: it must be None or one of {classes}")
    return [classes.index(target)], [], f"{label} of class {style.format_label(target)}"


def _read_features(features: Any, functions: ShapeFunctions, columns: Any, outputs: list[int]) -> list[int]:
    """Return the positions of the features to draw."""
    if features is None:
        spreads = np.array([_spread(function, columns, outputs) for function in functions])
        if columns is not None and not np.any(spreads > 0):  # such as a single row
            spreads = np.array([_spread(function, None, outputs) for function in functions])
        if not np.any(spreads > 0):
            raise ValueError("no feature has any influence on the score: there is nothing to draw")
        order = np.argsort(-spreads, kind="stable")[:_MAX_FEATURES]
        return [int(feature) for feature in order if spreads[feature] > 0]
    return read_columns(features, [function.name for function in functions])


def _spread(function: ShapeFunction, columns: Any, outputs: Sequence[int]) -> float:
    """Return the spread of the score by a feature, over the data or over its steps."""
    if columns is not None:
        return float(function.at(columns[function.feature])[outputs].std(axis=1).max())
    return float(np.ptp(function.heights[outputs], axis=1).max()) if function.heights.size else 0.0
