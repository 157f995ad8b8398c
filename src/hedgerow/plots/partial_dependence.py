"""Partial dependence: the mean prediction as a function of one column, one panel per column.

The values of a grid are copied from rows of the sample, so that columns of any type and missing values can be
set in any table (see `inputs`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats, Integers
from hedgerow.estimators.parameters import check_parameters, flag, integer
from hedgerow.plots import inputs, labels, style
from hedgerow.plots.base import FeatureDisplay, PanelContent, is_rotated

_MAX_CLASSES = 5
_MAX_CATEGORIES = 12
_ENDS = (0.01, 0.99)  # quantiles between which numbers are drawn


@dataclass(frozen=True, eq=False)
class Dependence:
    """The dependence of the predictions on one column."""

    name: str
    values: Floats  # (points,), the grid; 0, 1, 2, ... for categories
    categories: list[str] | None  # None for numbers
    means: Floats  # (outputs, points)
    missing: Floats | None  # (outputs,), the means with a missing value; None if the column has none
    single: Floats  # (outputs, points, n_samples), the predictions of the rows
    deciles: Floats  # (9,) of a numeric column, or empty
    n_categories: int = 0  # drawn or not
    dots: list[str] | None = None  # of values drawn as dots: categories, or at most two numbers or booleans


def predictor(model: Any, target: Any) -> tuple[Callable[[Any], Floats], list[str], str]:
    """Return a function that predicts (outputs, n_rows), names of several outputs, and that of the means."""
    check_is_fitted(model)
    classes = None if not hasattr(model, "classes_") else np.asarray(model.classes_).tolist()
    if classes is None:
        if target is not None:
            raise ValueError(f"target={target!r} is not allowed: {type(model).__name__} has no classes")
        return lambda X: np.asarray(model.predict(X), dtype=np.float64).reshape(1, -1), [], "mean prediction"
    if target is not None and target not in classes:
        raise ValueError(f"target={target!r} is not allowed: it must be None or one of {classes[:10]}")
    if target is None and len(classes) == 2:
        target = classes[1]
    has_proba = hasattr(model, "predict_proba")
    wanted = list(range(len(classes))) if target is None else [classes.index(target)]
    measure = "mean probability" if has_proba else "share of rows predicted"
    measure += "" if target is None else f" of class {labels.shorten(style.format_label(target), 24)}"

    def predict(X: Any) -> Floats:
        if has_proba:
            return np.asarray(model.predict_proba(X), dtype=np.float64).T[wanted]
        predicted = np.asarray(model.predict(X))
        return np.array([predicted == classes[number] for number in wanted], dtype=np.float64)

    return predict, [] if len(wanted) == 1 else [style.format_label(name) for name in classes], measure


def top_columns(model: Any, predict: Callable[[Any], Floats], table: Any, n_top: int, seed: int) -> list[int]:
    """Return the most important columns by `feature_importances_`, else by the effect of permuting them."""
    importances = getattr(model, "feature_importances_", None)
    if importances is None or len(importances) != table.shape[1]:
        predictions = predict(inputs.native(table))
        importances = np.empty(table.shape[1])
        for column in range(table.shape[1]):
            permuted = np.random.default_rng((seed, column)).permutation(table.shape[0]).astype(np.int64)
            after = predict(inputs.native(inputs.with_column_from(table, column, permuted)))
            importances[column] = np.abs(after - predictions).mean()
    order = np.argsort(-np.asarray(importances), kind="stable")[:n_top].tolist()
    columns = [int(column) for column in order if importances[column] > 0]
    if not columns:
        raise ValueError("no column has any influence on the predictions: there is nothing to draw")
    return columns


def dependence(
    predict: Callable[[Any], Floats],
    table: Any,
    column: int,
    known: tuple[str, Floats, NDArray[Any] | None],
    n_points: int,
) -> Dependence:
    """Set a column to every value of a grid in all rows, and compute the mean predictions.

    `known` is the name of the column, its numbers with NaN for missing, and its categories or None.
    """
    name, numbers, categories = known
    is_missing = np.isnan(numbers)
    grid = _number_grid(numbers, n_points) if categories is None else _category_grid(numbers)
    rows = np.append(grid, np.flatnonzero(is_missing)[:1]).astype(np.int64)
    n_rows = table.shape[0]
    many = inputs.take(table, np.tile(np.arange(n_rows), len(rows)))
    # copy g of the table has the value of row rows[g] in all rows
    sources = np.repeat(np.arange(len(rows)) * n_rows + rows, n_rows)
    predicted = predict(inputs.native(inputs.with_column_from(many, column, sources)))
    single = predicted.reshape(len(predicted), len(rows), n_rows)
    means = single.mean(axis=2)
    n_grid = len(grid)
    present = numbers[_drawn(numbers)]
    distinct = np.unique(present)
    if categories is None:
        values, dots, names = numbers[grid], None, None
        if len(distinct) <= 2:
            is_boolean, numerals = inputs.is_boolean(table, column), map(labels.format_tick, distinct)
            dots = [("false", "true")[int(value)] for value in distinct] if is_boolean else list(numerals)
    else:
        values = np.arange(n_grid, dtype=np.float64)
        dots = names = [style.format_label(categories[int(numbers[row])]) for row in grid]
    return Dependence(
        name=name,
        values=values,
        categories=names,
        means=means[:, :n_grid],
        missing=means[:, n_grid] if is_missing.any() else None,
        single=single[:, :n_grid],
        deciles=np.quantile(present, np.arange(0.1, 0.91, 0.1)) if dots is None else np.empty(0),
        n_categories=0 if categories is None else len(distinct),
        dots=dots,
    )


def _drawn(numbers: Floats) -> Integers:
    """Return rows whose value can be drawn: the finite ones or, if there is none, the infinite ones."""
    finite = np.flatnonzero(np.isfinite(numbers))
    return finite if finite.size else np.flatnonzero(~np.isnan(numbers))


def _number_grid(numbers: Floats, n_points: int) -> Integers:
    """Return rows with all distinct values if they are few, else with evenly spaced quantiles, in order."""
    rows = _drawn(numbers)
    distinct, first = np.unique(numbers[rows], return_index=True)
    if len(distinct) > n_points:
        order = rows[np.argsort(numbers[rows], kind="stable")]
        rows = order[np.round(np.linspace(*_ENDS, n_points) * (len(order) - 1)).astype(np.int64)]
        _, first = np.unique(numbers[rows], return_index=True)
    return np.asarray(rows[first], dtype=np.int64)


def _category_grid(numbers: Floats) -> Integers:
    """Return rows with the most frequent categories, in the order of their codes."""
    present = np.flatnonzero(~np.isnan(numbers))
    codes, first, counts = np.unique(numbers[present], return_index=True, return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:_MAX_CATEGORIES])
    return np.asarray(present[first[kept]][np.argsort(codes[kept])], dtype=np.int64)


_ALLOWED = dict.fromkeys(("max_rows", "top"), integer(1)) | {
    "n_points": integer(2, 1000),
    "random_state": integer(0),
}
_MAX_ROWS = 40  # rows drawn with ice=True
_MAX_LETTERS = 14  # letters of a category


@dataclass(eq=False)
class PartialDependenceDisplay(FeatureDisplay):
    """Partial dependence of the predictions on single columns, on a common y axis.

    Like scikit-learn's display, for tables of any kind, categories and missing values; make it with
    `from_estimator`. Numeric columns are curves with ticks at their deciles; categories, booleans and columns
    of two values are dots; a diamond is the mean with a missing value.

    Parameters
    ----------
    dependences : list of Dependence
        One per panel.
    outputs : list of int
        The outputs that are drawn.
    output_names : list of str
        Names of all outputs; empty for one output.
    measure : str
        Description of the means.
    is_share : bool
        Whether the means are probabilities.

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

    _shows_rows = False

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
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute the partial dependence, and draw it.

        Parameters
        ----------
        model : fitted classifier or regressor
        X : array or data frame of shape (n_samples, n_features)
        features : int, str, sequence of them, or None
            Numbers or names of columns. None for the most important by the model's `feature_importances_`,
            or without them by the change of the predictions when a column is permuted.
        target : class label, optional
            The class whose probability is drawn. None for the second of two classes; with more classes, for
            the five with the largest mean probability.
        n_points : int
            Largest number of values of a numeric column: quantiles from 1 % to 99 %.
        top : int
            Number of columns with `features=None`.
        max_rows, random_state : int
            A random sample of `max_rows` rows is used if there are more. `random_state` is its seed.
        ax : as in `plot`
        **options
            `ice` and `n_columns` of `plot`.
        """
        sizes = {"n_points": n_points, "top": top, "max_rows": max_rows}
        check_parameters(sizes | {"random_state": random_state}, _ALLOWED)
        predict, names, measure = predictor(model, target)
        whole_table = inputs.as_table(X)
        table = inputs.take(whole_table, inputs.sample_rows(whole_table.shape[0], max_rows, random_state))
        column_names = inputs.names_of(model, X, table.shape[1])
        if features is None:
            chosen = top_columns(model, predict, table, top, random_state)
        else:
            chosen = inputs.read_columns(features, column_names)
        numbers, categories = inputs.values_of(model, table)
        dependences = []
        for column in chosen:
            if np.isnan(numbers[:, column]).all():
                raise ValueError(f"column {column_names[column]!r} is missing in all rows: nothing to draw")
            known = (column_names[column], numbers[:, column], categories[column])
            dependences.append(dependence(predict, table, column, known, n_points))
        outputs = list(range(len(dependences[0].means)))
        if len(outputs) > _MAX_CLASSES:
            levels = dependences[0].means.mean(axis=1)
            outputs = np.sort(np.argsort(-levels, kind="stable")[:_MAX_CLASSES]).tolist()
        return cls(dependences, outputs, names, measure, hasattr(model, "classes_")).plot(ax, **options)

    def plot(self, ax: Any = None, *, ice: bool = False, n_columns: int = 3) -> Self:
        """Draw the panels, and with `ice` up to 40 single rows behind their mean, for one output only.

        The other parameters are those of `ShapeFunctionDisplay.plot`.
        """
        check_parameters({"ice": ice}, {"ice": flag()})
        self._shows_rows = ice and len(self.outputs) == 1
        super().plot(ax, n_columns=n_columns)
        for panel in self.axes_:
            labels.value_axis(panel.yaxis, is_share=self.is_share)
        return self

    def _content(self) -> PanelContent:
        drawn: list[Floats] = []
        for feature in self.dependences:
            values = _some_rows(feature.single) if self._shows_rows else feature.means
            drawn.append(values[self.outputs].ravel())
            if feature.missing is not None:
                drawn.append(feature.missing[self.outputs])
        values = np.concatenate(drawn)
        has_names = len(self.outputs) > 1
        return PanelContent(
            titles=[feature.name for feature in self.dependences],
            output_names=[self.output_names[output] for output in self.outputs] if has_names else [],
            y_label=self.measure,
            limits=(float(values.min()), float(values.max())),
            has_rotated_names=any(is_rotated(_names(feature)) for feature in self.dependences),
        )

    def _draw_panel(self, ax: Any, number: int) -> None:
        feature = self.dependences[number]
        (self._draw_numbers if feature.dots is None else self._draw_dots)(ax, feature)

    def _draw_numbers(self, ax: Any, feature: Dependence) -> None:
        """Draw a curve per output, and the deciles."""
        low, high = float(feature.values[0]), float(feature.values[-1])
        width = high - low or 1.0
        if self._shows_rows:
            rows = _some_rows(feature.single[self.outputs[0]])
            ax.plot(feature.values, rows, color=style.FAINT, alpha=0.4, linewidth=0.6, zorder=1)
        marker = {"marker": "o", "markersize": 4} if len(feature.values) <= 12 else {}
        for output, colour in self._colours():
            ax.plot(feature.values, feature.means[output], color=colour, linewidth=1.8, zorder=3, **marker)
        self._draw_deciles(ax, feature.deciles[(feature.deciles >= low) & (feature.deciles <= high)])
        are_whole = (
            bool(np.all(feature.values == np.round(feature.values))) and float(np.ptp(feature.values)) >= 2
        )
        labels.plain_axis(ax.xaxis, 4, whole=are_whole)
        ax.set_xlim(low - 0.03 * width, high + 0.03 * width)
        if feature.missing is not None:
            self._draw_missing(ax, feature.missing, low, high)

    def _draw_dots(self, ax: Any, feature: Dependence) -> None:
        """Draw a dot per value and output, side by side."""
        n_drawn = len(feature.values)
        if self._shows_rows:
            rows = _some_rows(feature.single[self.outputs[0]])
            x = np.broadcast_to(np.arange(n_drawn)[:, np.newaxis], rows.shape)
            ax.plot(x, rows, "o", color=style.FAINT, alpha=0.4, markersize=2, zorder=1)
        self._draw_categories(ax, feature.means, _names(feature)[:n_drawn], feature.missing, bars=False)
        ax.grid(axis="x", color=style.FAINT, linewidth=0.5, alpha=0.5)
        ax.set_axisbelow(True)
        if feature.n_categories > n_drawn:
            name = f"the {n_drawn} most frequent of {feature.n_categories} categories"
            ax.set_xlabel(name, fontsize=style.TICK_SIZE, color=style.INK)


def _names(feature: Dependence) -> list[str]:
    """Return names below the dots of a column."""
    names = [labels.shorten(name, _MAX_LETTERS) for name in feature.dots or []]
    return [*names, "missing"] if names and feature.missing is not None else names


def _some_rows(single: Floats) -> Floats:
    """Return predictions of some rows, evenly spaced."""
    n_rows = single.shape[-1]
    return single[..., np.unique(np.linspace(0, n_rows - 1, min(n_rows, _MAX_ROWS)).astype(np.int64))]
