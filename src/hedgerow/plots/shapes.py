"""What each feature adds to the score of an ensemble of stumps: one panel a feature, on one scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.plots import style
from hedgerow.shapes import ShapeFunction, ShapeFunctions, shape_functions
from hedgerow.table import read_table

_MOST_FEATURES = 6  # of features=None
_MOST_BARS, _LONGEST = 16, 14  # of a categorical feature, and letters of a category


@dataclass(eq=False)
class ShapeFunctionDisplay:
    """The shape functions of an ensemble of stumps, in a grid with one scale.

    Make it with `from_estimator`; the parameters are what it draws. With data, the functions are centred on
    it, ticks at the bottom are its deciles, and a diamond is the value where the feature is missing.

    Parameters
    ----------
    functions : list of ShapeFunction
        Those to draw, in order.
    values : list of float arrays, or None
        For each function the feature's values (numbers of categories), with NaN for missing.
    outputs : list of int
        The rows of the heights to draw.
    labels : list of str
        What the outputs are called; empty for a model with one.
    score_label : str
        What the heights are.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One a function.
    figure_ : matplotlib Figure

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
        """Take the shape functions of a fitted estimator, and draw them.

        Parameters
        ----------
        estimator : fitted estimator
            An ensemble of trees with one split each.
        X : array or data frame of shape (n_samples, n_features), optional
            Data to centre the functions on; it also gives the range to draw, and the deciles.
        features : int, str, sequence of them, or None
            Numbers or names of features. None for the six of largest spread: standard deviation over X, or
            without X the highest step less the lowest.
        target : class label, optional
            With more than two classes, the one to draw; None draws all.
        ax, n_columns
            As in `plot`.

        Returns
        -------
        ShapeFunctionDisplay
        """
        check_is_fitted(estimator)
        functions = (
            estimator.shape_functions()
            if hasattr(estimator, "shape_functions")
            else shape_functions(estimator.model_, estimator.schema_)
        )
        outputs, labels, score_label = _read_target(target, estimator, len(functions.intercept))
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
            labels=labels,
            score_label=score_label,
        )
        return display.plot(ax, n_columns=n_columns)

    def plot(self, ax: Any = None, *, n_columns: int = 3) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : None, matplotlib Axes or a sequence of them
            None for a new figure, one Axes whose place is divided, or one for every panel.
        n_columns : int
            Panels a row.

        Returns
        -------
        self
        """
        n_panels = len(self.functions)
        n_columns = style.even_columns(n_columns, n_panels)
        height = 3.0 if any(_is_slanted(_bar_names(function)) for function in self.functions) else 2.5
        self.figure_, self.axes_, is_new = style.panels(
            ax, n_panels, n_columns, (3.0, height), 0.4 if self.labels else 0.0
        )
        scale = self._scale()
        for number, panel in enumerate(self.axes_):
            function = self.functions[number]
            values = None if self.values is None else self.values[number]
            panel.axhline(0, color=style.FAINT, linewidth=0.8, zorder=1)
            draw = self._steps if function.categories is None else self._bars
            draw(panel, function, values)
            style.dress(panel)
            name = f"feature {function.feature}" if function.name is None else function.name
            panel.set_title(name, fontsize=style.TITLE_SIZE, color=style.INK, fontweight="bold", loc="left")
            panel.set_ylim(*scale)
            first, _ = style.is_outer(number, n_panels, n_columns)
            panel.tick_params(labelleft=first)
            if first and not is_new:
                panel.set_ylabel(self.score_label, fontsize=style.LABEL_SIZE, color=style.INK)
        if is_new:
            self.figure_.supylabel(self.score_label, fontsize=style.LABEL_SIZE, color=style.INK)
        if self.labels:
            self._explain(is_new)
        return self

    def _scale(self) -> tuple[float, float]:
        """Limits that hold every height that is drawn, with room for the deciles below."""
        seen = [0.0]
        for number, function in enumerate(self.functions):
            seen.extend(function.heights[self.outputs].ravel().tolist())
            if self.values is not None and np.isnan(self.values[number]).any():
                seen.extend(function.missing[self.outputs].tolist())
        low, high = min(seen), max(seen)
        height = high - low or 1.0
        return low - 0.12 * height, high + 0.06 * height

    def _steps(self, ax: Any, function: ShapeFunction, values: Floats | None) -> None:
        """A numeric feature: one line of steps an output."""
        present = np.empty(0) if values is None else values[np.isfinite(values)]
        low, high = _range(function.edges, present)
        width = high - low
        inside = (function.edges > low) & (function.edges < high)
        borders = np.concatenate([[low], function.edges[inside], [high]])
        heights = function.heights[:, np.searchsorted(function.edges, borders[1:])]
        for output, colour in self._coloured():
            ax.stairs(heights[output], borders, baseline=None, color=colour, linewidth=1.8, zorder=3)
            if len(self.outputs) == 1:
                look = {"fill": True, "color": colour, "alpha": 0.13, "linewidth": 0, "zorder": 2}
                ax.stairs(heights[output], borders, baseline=0, **look)
        if present.size:
            deciles = np.quantile(present, np.arange(0.1, 0.91, 0.1))
            bottom = ax.get_xaxis_transform()
            ax.vlines(deciles, 0, 0.045, transform=bottom, color=style.INK, linewidth=0.9, zorder=4)
        ticks = style.part("ticker").MaxNLocator(4)
        ax.xaxis.set_major_locator(ticks)
        ax.set_xlim(low - 0.02 * width, high + 0.02 * width)
        if values is not None and np.isnan(values).any():
            at = high + 0.1 * width
            for output, colour in self._coloured():
                ax.plot([at], function.missing[[output]], marker="D", markersize=5.5, color=colour, zorder=4)
            ax.axvline(high + 0.04 * width, color=style.FAINT, linewidth=0.8, linestyle=(0, (2, 2)))
            # its label needs the room of a tick near the end
            numbers = [tick for tick in ticks.tick_values(low, high) if low <= tick <= high - 0.12 * width]
            names = [f"{number:g}".replace("-", "−") for number in numbers]
            ax.set_xticks([*numbers, at], [*names, "missing"])
            ax.set_xlim(low - 0.02 * width, high + 0.15 * width)

    def _bars(self, ax: Any, function: ShapeFunction, values: Floats | None) -> None:
        """A categorical feature: one bar a category and output."""
        heights, names = function.heights, _bar_names(function)
        if len(names) > _MOST_BARS:  # those that matter most
            largest = np.abs(heights[self.outputs]).max(axis=0)
            kept = np.sort(np.argsort(-largest, kind="stable")[:_MOST_BARS])
            ax.set_xlabel(
                f"{_MOST_BARS} of {len(names)} categories", fontsize=style.TICK_SIZE, color=style.INK
            )
            heights, names = heights[:, kept], [names[category] for category in kept]
        if values is not None and np.isnan(values).any():
            heights, names = np.column_stack([heights, function.missing]), [*names, "missing"]
        places, width = np.arange(len(names)), 0.72 / len(self.outputs)
        for number, (output, colour) in enumerate(self._coloured()):
            shift = (number - (len(self.outputs) - 1) / 2) * width
            ax.bar(places + shift, heights[output], width, color=colour, zorder=3)
        look: dict[str, Any] = {}
        if _is_slanted(names):
            slant = 45 if len(names) <= 10 else 90
            look = {"rotation": slant, "ha": "right", "va": "center_baseline", "rotation_mode": "anchor"}
        ax.set_xticks(places, names, **look)
        ax.set_xlim(-0.6, len(names) - 0.4)

    def _coloured(self) -> list[tuple[int, str]]:
        """The outputs to draw, each with the colour that it has in every picture of the model."""
        return [(output, style.COLOURS[output % len(style.COLOURS)]) for output in self.outputs]

    def _explain(self, is_new: bool) -> None:
        """A legend of the outputs: under the panels of a figure that is ours, else in the first panel."""
        patch = style.part("patches").Patch
        handles = [patch(color=colour) for _, colour in self._coloured()]
        look = {"frameon": False, "fontsize": style.LABEL_SIZE, "labelcolor": style.INK}
        if is_new:
            look |= {"loc": "outside lower center", "ncols": len(handles)}
        owner = self.figure_ if is_new else self.axes_[0]
        owner.legend(handles, self.labels, **look)


def _bar_names(function: ShapeFunction) -> list[str]:
    """Names of the categories; of a long one, the beginning and the end."""
    names = [style.label(category) for category in function.categories or []]
    return [name if len(name) <= _LONGEST else f"{name[:6]}…{name[7 - _LONGEST :]}" for name in names]


def _is_slanted(names: list[str]) -> bool:
    """Whether the names of bars are too long to stand side by side below a panel."""
    return sum(len(name) + 2 for name in names) > 36


def _range(edges: Floats, present: Floats) -> tuple[float, float]:
    """Where a numeric function is drawn: over the data, or a little beyond its edges without data."""
    if present.size:
        low, high = float(present.min()), float(present.max())
    elif edges.size:
        margin = 0.1 * float(edges[-1] - edges[0])
        low, high = float(edges[0]) - margin, float(edges[-1]) + margin
    else:
        low = high = 0.0
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _read_target(target: Any, estimator: Any, n_outputs: int) -> tuple[list[int], list[str], str]:
    """The outputs to draw, their names, and what the heights are."""
    classes = getattr(estimator, "classes_", np.empty(0)).tolist()
    label = "added to the score"
    if n_outputs == 1:
        if target is not None:
            raise ValueError(f"target={target!r} is not allowed: it must be None for a model with one output")
        return [0], [], f"{label} of class {style.label(classes[1])}" if classes else label
    if target is None:
        if n_outputs > len(style.COLOURS):
            raise ValueError(
                f"target=None is not allowed with {n_outputs} classes, more than there are colours: it must "
                f"be one of {classes}"
            )
        return list(range(n_outputs)), [style.label(name) for name in classes], label
    if target not in classes:
        raise ValueError(f"target={target!r} is not allowed: it must be None or one of {classes}")
    return [classes.index(target)], [], f"{label} of class {style.label(target)}"


def _read_features(features: Any, functions: ShapeFunctions, columns: Any, outputs: list[int]) -> list[int]:
    """The numbers of the features to draw, in order."""
    if features is None:
        spreads = np.array([_spread(function, columns, outputs) for function in functions])
        if not np.any(spreads > 0):
            raise ValueError("no feature has any influence on the score: there is nothing to draw")
        order = np.argsort(-spreads, kind="stable")[:_MOST_FEATURES]
        return [int(feature) for feature in order if spreads[feature] > 0]
    given = [features] if isinstance(features, str | int | np.integer) else list(features)
    if not given:
        raise ValueError(f"features={features!r} is not allowed: it must name a feature")
    return [_read_feature(feature, functions) for feature in given]


def _read_feature(feature: Any, functions: ShapeFunctions) -> int:
    names = [function.name for function in functions]
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    is_whole = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
    if is_whole and 0 <= feature < len(functions):
        return int(feature)
    allowed = f"a number from 0 to {len(functions) - 1}"
    if names[0] is not None:
        allowed += f" or one of the names {', '.join(map(repr, names[:10]))}" + (
            ", ..." if names[10:] else ""
        )
    raise ValueError(f"feature {feature!r} is not allowed: it must be {allowed}")


def _spread(function: ShapeFunction, columns: Any, outputs: Sequence[int]) -> float:
    """How much a feature moves the score, over the data or over its steps."""
    if columns is not None:
        return float(function.at(columns[function.feature])[outputs].std(axis=1).max())
    return float(np.ptp(function.heights[outputs], axis=1).max()) if function.heights.size else 0.0
