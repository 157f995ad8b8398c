"""Partial dependence of the predictions on single columns: one panel a column, on one scale."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, flag, whole
from hedgerow.plots import columns, labels, style
from hedgerow.plots.dependence import MOST_CLASSES, Dependence, dependence, predictor, top_columns

_ALLOWED = {
    "n_points": whole(2, 1000),
    "max_rows": whole(1),
    "top": whole(1),
    "random_state": whole(0),
    "ice": flag(),
}
_MOST_SINGLE = 40  # rows drawn one by one
_LONGEST, _LONGEST_TITLE = 14, 31  # letters of a category and of a column
_LEGEND = 0.75  # of the width of the figure, that the legend fills: its letters may be wide


@dataclass(eq=False)
class PartialDependenceDisplay:
    """What a model says on average, if a column had another value in every row.

    Make it with `from_estimator`; the parameters are what it draws. Numbers are lines with ticks at their
    deciles; categories, truth values and what has two values only are dots; a diamond is the mean where the
    column is missing. All panels have one scale, so that a flat line is a weak effect. Where columns go
    together, some of the rows looked at cannot exist.

    Parameters
    ----------
    dependences : list of Dependence
        One a panel.
    outputs : list of int
        Which of the outputs are drawn.
    output_names : list of str
        Names of all outputs; empty for a model with one.
    measure : str
        What the means are.
    is_share : bool
        Whether they are probabilities.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One a panel.
    figure_ : matplotlib Figure

    References
    ----------
    J. Friedman, "Greedy function approximation: a gradient boosting machine", The Annals of Statistics 29,
    2001, section 8.2. A. Goldstein, A. Kapelner, J. Bleich, E. Pitkin, "Peeking inside the black box",
    Journal of Computational and Graphical Statistics 24, 2015: the lines of single rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingClassifier(n_estimators=10).fit(X, y == 2)
    >>> display = PartialDependenceDisplay.from_estimator(model, X, features=["petal width (cm)"], n_points=5)
    >>> means = display.dependences[0].means
    >>> means.shape, bool(means[0, 0] < means[0, -1])
    ((1, 5), True)
    """

    dependences: list[Dependence]
    outputs: list[int]
    output_names: list[str]
    measure: str
    is_share: bool

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        features: Any = None,
        *,
        target: Any = None,
        n_points: int = 40,
        top: int = 6,
        max_rows: int = 500,
        random_state: int = 0,
        ice: bool = False,
        ax: Any = None,
        n_columns: int = 3,
    ) -> Self:
        """Find what the predictions depend on, and draw it.

        Parameters
        ----------
        model : fitted classifier or regressor
        X : array or data frame of shape (n_samples, n_features)
        features : int, str, sequence of them, or None
            Numbers or names of columns. None for the most important: by the model's `feature_importances_`,
            or without them by how much the predictions move when a column is shuffled.
        target : class label, optional
            The class whose probability is drawn. None for the second of two; of more, for each, and for the
            five of largest mean probability if there are more than that.
        n_points : int
            Values of a numeric column at the most: quantiles from 1 % to 99 %.
        top : int
            Columns of `features=None`.
        max_rows : int
            Rows of the means; of more, so many are drawn by chance.
        random_state : int
            Of that.
        ice, ax, n_columns
            As in `plot`.

        Returns
        -------
        PartialDependenceDisplay
        """
        given = {"n_points": n_points, "top": top, "max_rows": max_rows, "random_state": random_state}
        check_parameters(given | {"ice": ice}, _ALLOWED)
        ask, names, measure = predictor(model, target)
        whole_table = columns.as_table(X)
        table = columns.take(whole_table, columns.sample_rows(whole_table.shape[0], max_rows, random_state))
        of_columns = columns.names_of(model, X, table.shape[1])
        if features is None:
            chosen = top_columns(model, ask, table, top, random_state)
        else:
            wanted = [features] if isinstance(features, str | int | np.integer) else list(features)
            if not wanted:
                raise ValueError(f"features={features!r} is not allowed: it must name a column")
            chosen = [columns.read_column(column, of_columns) for column in wanted]
        numbers, categories = columns.values_of(model, table)
        found = []
        for column in chosen:
            if np.isnan(numbers[:, column]).all():
                raise ValueError(f"column {of_columns[column]!r} is missing in all rows: nothing to draw")
            known = (of_columns[column], numbers[:, column], categories[column])
            found.append(dependence(ask, table, column, known, n_points))
        outputs = list(range(len(found[0].means)))
        if len(outputs) > MOST_CLASSES:
            levels = found[0].means.mean(axis=1)
            outputs = np.sort(np.argsort(-levels, kind="stable")[:MOST_CLASSES]).tolist()
        display = cls(found, outputs, names, measure, hasattr(model, "classes_"))
        return display.plot(ax, ice=ice, n_columns=n_columns)

    def plot(self, ax: Any = None, *, ice: bool = False, n_columns: int = 3) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : None, matplotlib Axes or a sequence of them
            None for a new figure, one Axes whose place is divided, or one for every panel.
        ice : bool
            Whether up to 40 single rows are drawn behind their mean; for one output only.
        n_columns : int
            Panels a row.

        Returns
        -------
        self
        """
        n_panels = len(self.dependences)
        n_columns = style.even_columns(n_columns, n_panels)
        height = 3.0 if any(_is_slanted(_names(found)) for found in self.dependences) else 2.5
        has_legend = len(self.outputs) > 1
        size = (3.0 if n_panels > 1 else 4.4, height if n_panels > 1 else height + 0.6)
        self.figure_, self.axes_, is_new = style.panels(ax, n_panels, n_columns, size, 0.4 * has_legend)
        shows_single = ice and len(self.outputs) == 1
        scale = self._scale(shows_single=shows_single)
        for number, (panel, found) in enumerate(zip(self.axes_, self.dependences, strict=True)):
            style.dress(panel)
            draw = self._draw_numbers if found.dots is None else self._draw_dots
            draw(panel, found, shows_single=shows_single)
            title = labels.short(found.name, _LONGEST_TITLE)
            letters = style.TITLE_SIZE if len(title) <= 25 else style.TICK_SIZE
            panel.set_title(title, fontsize=letters, color=style.INK, fontweight="bold", loc="left")
            panel.set_ylim(*scale)
            (labels.percent_axis if self.is_share else labels.plain_axis)(panel.yaxis)
            first, _ = style.is_outer(number, n_panels, n_columns)
            panel.tick_params(labelleft=first)
            if first and not is_new:
                panel.set_ylabel(self.measure, fontsize=style.LABEL_SIZE, color=style.INK)
        if is_new:
            self.figure_.supylabel(self.measure, fontsize=style.LABEL_SIZE, color=style.INK)
        if has_legend:
            self._explain(is_new=is_new)
        return self

    def _scale(self, *, shows_single: bool) -> tuple[float, float]:
        """Limits that hold everything that is drawn, with room for the deciles below."""
        seen: list[float] = []
        for found in self.dependences:
            drawn = _some_rows(found.single[self.outputs]) if shows_single else found.means[self.outputs]
            seen += [float(drawn.min()), float(drawn.max())]
            if found.missing is not None:
                seen += found.missing[self.outputs].tolist()
        low, high = min(seen), max(seen)
        height = high - low or max(abs(high), 1e-3)
        return low - 0.12 * height, high + 0.06 * height

    def _draw_numbers(self, ax: Any, found: Dependence, *, shows_single: bool) -> None:
        """A line an output, and the deciles."""
        low, high = float(found.values[0]), float(found.values[-1])
        width = high - low or 1.0
        if shows_single:
            rows = _some_rows(found.single[self.outputs[0]])
            ax.plot(found.values, rows, color=style.FAINT, alpha=0.4, linewidth=0.6, zorder=1)
        marker = {"marker": "o", "markersize": 4} if len(found.values) <= 12 else {}
        for output, colour in self._coloured():
            ax.plot(found.values, found.means[output], color=colour, linewidth=1.8, zorder=3, **marker)
        inside = found.deciles[(found.deciles >= low) & (found.deciles <= high)]
        ax.vlines(
            inside, 0, 0.045, transform=ax.get_xaxis_transform(), color=style.INK, linewidth=0.9, zorder=4
        )
        labels.plain_axis(ax.xaxis, 4, whole=_are_whole(found.values))
        ax.set_xlim(low - 0.03 * width, high + 0.03 * width)
        if found.missing is not None:
            self._draw_missing(ax, found.missing, low, width)

    def _draw_missing(self, ax: Any, means: Floats, low: float, width: float) -> None:
        """A diamond an output right of the numbers, over the word "missing"."""
        high = low + width
        at = high + 0.12 * width
        for output, colour in self._coloured():
            ax.plot([at], means[[output]], marker="D", markersize=5.5, color=colour, zorder=4)
        ax.axvline(high + 0.05 * width, color=style.FAINT, linewidth=0.8, linestyle=(0, (2, 2)))
        ticks = labels.plain_ticks(3).tick_values(low, high)
        numbers = [tick for tick in ticks if low <= tick <= high - 0.16 * width]  # the word needs room
        ax.set_xticks([*numbers, at], [*map(labels.figure, numbers), "missing"])
        ax.set_xlim(low - 0.03 * width, high + 0.2 * width)

    def _draw_dots(self, ax: Any, found: Dependence, *, shows_single: bool) -> None:
        """A dot a value and output, side by side."""
        names = _names(found)
        places = np.arange(len(names), dtype=np.float64)
        means = found.means if found.missing is None else np.column_stack([found.means, found.missing])
        if shows_single:
            rows = _some_rows(found.single[self.outputs[0]])
            at = np.broadcast_to(places[: len(rows), np.newaxis], rows.shape)
            ax.plot(at, rows, "o", color=style.FAINT, alpha=0.4, markersize=2, zorder=1)
        step = 0.5 / len(self.outputs)
        for number, (output, colour) in enumerate(self._coloured()):
            shift = (number - (len(self.outputs) - 1) / 2) * step
            ax.plot(places + shift, means[output], "o", color=colour, markersize=5.5, zorder=3)
        for place in places:
            ax.axvline(place, color=style.FAINT, linewidth=0.5, alpha=0.5, zorder=0)
        look: dict[str, Any] = {}
        if _is_slanted(names):
            slant = 45 if len(names) <= 10 else 90
            look = {"rotation": slant, "ha": "right", "va": "center_baseline", "rotation_mode": "anchor"}
        ax.set_xticks(places, names, **look)
        ax.set_xlim(-0.6, len(names) - 0.4)
        drawn = len(found.values)
        if found.n_categories > drawn:
            words = f"the {drawn} most frequent of {found.n_categories} categories"
            ax.set_xlabel(words, fontsize=style.TICK_SIZE, color=style.INK)

    def _coloured(self) -> list[tuple[int, str]]:
        """The outputs to draw, each with its colour."""
        return list(zip(self.outputs, style.COLOURS, strict=False))

    def _explain(self, *, is_new: bool) -> None:
        """A legend of the classes: under the panels of a figure that is ours, else under the first."""
        patch = style.part("patches").Patch
        handles = [patch(color=colour) for _, colour in self._coloured()]
        names = [labels.short(self.output_names[output], 20) for output in self.outputs]
        look = {"frameon": False, "fontsize": style.TICK_SIZE, "labelcolor": style.INK}
        if is_new:
            n_columns = labels.legend_columns(names, _LEGEND * 72 * self.figure_.get_figwidth())
            self.figure_.legend(handles, names, loc="outside lower center", ncols=n_columns, **look)
        else:
            self.axes_[0].legend(handles, names, **look)


def _names(found: Dependence) -> list[str]:
    """Names under the dots of a column that has such."""
    names = [labels.short(name, _LONGEST) for name in found.dots or []]
    return [*names, "missing"] if names and found.missing is not None else names


def _is_slanted(names: list[str]) -> bool:
    """Whether the names are too long to stand side by side below a panel."""
    return sum(len(name) + 2 for name in names) > 36


def _are_whole(values: Floats) -> bool:
    return bool(np.all(values == np.round(values))) and float(np.ptp(values)) >= 2


def _some_rows(single: Floats) -> Floats:
    """Predictions of a few of the rows, evenly from all of them."""
    n_rows = single.shape[-1]
    return single[..., np.unique(np.linspace(0, n_rows - 1, min(n_rows, _MOST_SINGLE)).astype(np.int64))]
