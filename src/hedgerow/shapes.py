"""Shape functions: an ensemble of stumps as a sum of step functions, one for each feature.

A stump depends on one feature, so that the sum of the stumps of a feature is a function of it. The score of a
row is the intercept plus the function values of all features. For a numeric feature with s edges,

    heights[:, 0]  for x <= edges[0],    heights[:, j]  for edges[j - 1] < x <= edges[j],
    heights[:, s]  for x > edges[s - 1],    missing  for NaN;

a categorical feature has no edges, and heights[:, c] is that of category c. The rows of heights are the
outputs of the model: one for regression and for two classes, else one for each class.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.binning import Bins
from hedgerow.forest import Forest, TreeModel
from hedgerow.table import Schema, read_table

_STUMP_NODES = 3  # the root and two leaves


@dataclass(frozen=True, eq=False)
class ShapeFunction:
    """Contribution of one feature to the scores.

    Parameters
    ----------
    feature : int
        Number of the column.
    name : str or None
        Name of the column, if the training table had names.
    edges : float64 array of shape (s,)
        Positions of the steps, sorted; empty for a feature that no stump uses, and for categories.
    heights : float64 array of shape (outputs, s + 1), or (outputs, categories)
        Values between the edges, each up to and including its right edge.
    missing : float64 array of shape (outputs,)
        Value for missing values, and for categories that were not in the training table.
    categories : list or None
        The categories of a categorical feature, in the order of the heights.

    Examples
    --------
    >>> import numpy as np
    >>> step = ShapeFunction(0, "age", np.array([40.0]), np.array([[-1.0, 2.0]]), np.array([0.5]))
    >>> step([39, 40, 41, np.nan])
    array([[-1. , -1. ,  2. ,  0.5]])
    """

    feature: int
    name: str | None
    edges: Floats
    heights: Floats
    missing: Floats
    categories: list[Any] | None = None

    def __call__(self, values: Any) -> Floats:
        """Evaluate the function.

        Parameters
        ----------
        values : array of shape (n,)
            Values of the feature, as in the table the model was fitted to.

        Returns
        -------
        float64 array of shape (outputs, n)
        """
        if self.categories is None:
            numbers = np.asarray(values, dtype=np.float64)
            if numbers.ndim != 1:
                raise ValueError(f"values has shape {numbers.shape}: it must be one-dimensional")
            return self.at(numbers)
        column = np.empty((len(values), 1), dtype=object)
        column[:, 0] = list(values)
        schema = Schema(1, None, (np.array(self.categories, dtype=object),))
        return self.at(read_table(column, schema=schema).block(0, len(column))[:, 0])

    def at(self, numbers: NDArray[np.floating[Any]]) -> Floats:
        """Evaluate the function at a column of a `Table`: categories are numbers, and NaN is missing."""
        known = ~np.isnan(numbers)
        present = numbers[known]
        indices = (
            np.searchsorted(self.edges, present, side="left")
            if self.categories is None
            else present.astype(np.int64)
        )
        out = np.repeat(self.missing[:, None], len(numbers), axis=1)
        out[:, known] = self.heights[:, indices]
        return out

    def lowered(self, by: Floats) -> "ShapeFunction":
        """Subtract a constant for each output."""
        return replace(self, heights=self.heights - by[:, None], missing=self.missing - by)


class ShapeFunctions(list[ShapeFunction]):
    """The shape functions of all features, in the order of the columns, and the intercept.

    The functions are exact: they are the sums of the stumps, and their values and the intercept sum to the
    raw score. `centred` returns functions that are easier to compare; the plots draw them.

    Parameters
    ----------
    functions : iterable of ShapeFunction
    intercept : float64 array of shape (outputs,)
    schema : Schema
        The columns of the training table.

    Attributes
    ----------
    intercept : float64 array of shape (outputs,)
    schema : Schema

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hedgerow import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(max_leaf_nodes=2, n_estimators=20).fit(X, y)
    >>> functions = shape_functions(model.model_, model.schema_)
    >>> len(functions)
    10
    >>> bool(np.allclose(functions.scores(X)[0], model.predict(X)))
    True
    """

    def __init__(self, functions: Iterable[ShapeFunction], intercept: Floats, schema: Schema) -> None:
        super().__init__(functions)
        self.intercept = intercept
        self.schema = schema

    def contributions(self, X: Any) -> Floats:
        """Return contributions of every feature to the scores of the rows of X.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        float64 array of shape (n_features, outputs, n_samples)
        """
        table = read_table(X, schema=self.schema)
        values = table.block(0, table.n_rows)
        return np.stack([function.at(values[:, function.feature]) for function in self])

    def scores(self, X: Any) -> Floats:
        """Return raw scores of the rows of X, (outputs, n_samples): the intercept plus all contributions."""
        scores: Floats = self.intercept[:, None] + self.contributions(X).sum(axis=0)
        return scores

    def centred(self, X: Any) -> "ShapeFunctions":
        """Shift the functions to mean zero over the rows of X, and add the means to the intercept.

        The scores do not change.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ShapeFunctions
        """
        table = read_table(X, schema=self.schema)
        values = table.block(0, table.n_rows)
        means = np.stack([function.at(values[:, function.feature]).mean(axis=1) for function in self])
        lowered = [function.lowered(mean) for function, mean in zip(self, means, strict=True)]
        return ShapeFunctions(lowered, self.intercept + means.sum(axis=0), self.schema)


def shape_functions(model: TreeModel, schema: Schema) -> ShapeFunctions:
    """Compute the exact shape functions of a model of stumps.

    Parameters
    ----------
    model : TreeModel
        A model whose trees have at most one split.
    schema : Schema
        The columns of its training table.

    Returns
    -------
    ShapeFunctions
        One function per column; that of a column without a split is zero and has no steps.

    Examples
    --------
    >>> from hedgerow import GradientBoostingClassifier
    >>> stump = GradientBoostingClassifier(n_estimators=1, max_leaf_nodes=2, min_samples_leaf=1)
    >>> stump = stump.fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> shape_functions(stump.model_, stump.schema_)[0].edges
    array([2.5])
    """
    if not isinstance(model, TreeModel):
        raise TypeError(f"shape functions need a model of trees; got a {type(model).__name__}")
    forest, n_outputs = model.forest, len(model.start)
    if forest.linear is not None:
        raise ValueError("shape functions have steps, but the leaves are linear: set linear_leaves=False")
    sizes = np.diff(forest.starts)
    if np.any(sizes > _STUMP_NODES):
        tree = int(np.argmax(sizes > _STUMP_NODES))
        raise ValueError(
            f"tree {tree} has {(int(sizes[tree]) + 1) // 2} leaves; shape functions need trees of at most "
            "one split: set max_leaf_nodes=2, or boost a DecisionStump"
        )
    intercept = model.start.astype(np.float64)
    for constant in np.flatnonzero(sizes == 1):  # a tree without a split is a constant
        intercept[forest.output[constant]] += forest.value[forest.starts[constant]]
    stumps = _Stumps.of(forest, model.bins)
    functions = [
        _function(stumps, model.bins, schema, column, n_outputs) for column in range(schema.n_columns)
    ]
    return ShapeFunctions(functions, intercept, schema)


class _Stumps(NamedTuple):
    """Trees with one split, one entry each, in the order of the trees."""

    column: NDArray[np.int32]
    threshold: Floats  # infinite where only missing values go right
    missing_left: NDArray[np.uint8]
    goes_left: NDArray[np.uint64]  # (stumps, words) the set of codes that go left, if it splits by a set
    output: NDArray[np.int32]
    left: Floats
    right: Floats

    @classmethod
    def of(cls, forest: Forest, bins: Bins) -> "_Stumps":
        trees = np.flatnonzero(np.diff(forest.starts) == _STUMP_NODES)
        roots = forest.starts[trees]
        leaves = roots + forest.left[roots]
        no_set = np.zeros((1, forest.sets.shape[1]), np.uint64)
        return cls(
            column=forest.column[roots],
            threshold=forest.thresholds(bins)[roots],
            missing_left=forest.missing_left[roots],
            goes_left=np.concatenate([forest.sets, no_set])[forest.set_number[roots]],  # -1 is the last
            output=forest.output[trees],
            left=forest.value[leaves],
            right=forest.value[leaves + 1],
        )

    def on(self, column: int) -> "_Stumps":
        """Select the stumps of one column."""
        own = self.column == column
        return _Stumps(*(array[own] for array in self))


def _function(stumps: _Stumps, bins: Bins, schema: Schema, column: int, n_outputs: int) -> ShapeFunction:
    """Return the sum of the stumps of one column."""
    name = None if schema.names is None else schema.names[column]
    categories = schema.categories[column]
    if categories is None:
        return ShapeFunction(column, name, *_steps(stumps.on(column), n_outputs))
    heights, missing = np.zeros((n_outputs, len(categories))), np.zeros(n_outputs)
    for position in bins.positions_of(column):
        codes = bins.tables[bins.table_starts[position] : bins.table_starts[position + 1]]
        bars, missing_values = _bars(stumps.on(position), codes.astype(np.int64), n_outputs)
        heights += bars
        missing += missing_values
    return ShapeFunction(column, name, np.empty(0), heights, missing, categories.tolist())


def _steps(stumps: _Stumps, n_outputs: int) -> tuple[Floats, Floats, Floats]:
    """Return edges, heights and the value of missing of a numeric column, summed in tree order."""
    edges = np.unique(stumps.threshold[np.isfinite(stumps.threshold)])
    heights, missing = np.zeros((n_outputs, len(edges) + 1)), np.zeros(n_outputs)
    first_right = np.searchsorted(edges, stumps.threshold) + 1
    for number, output in enumerate(stumps.output):
        left, right = stumps.left[number], stumps.right[number]
        heights[output, : first_right[number]] += left
        heights[output, first_right[number] :] += right
        missing[output] += left if stumps.missing_left[number] else right
    return edges, heights, missing


def _bars(stumps: _Stumps, codes: NDArray[np.int64], n_outputs: int) -> tuple[Floats, Floats]:
    """Return heights of the categories with these codes, and the value of missing, whose code is 0."""
    codes = np.append(codes, 0)
    bars = np.zeros((n_outputs, len(codes)))
    for number, output in enumerate(stumps.output):
        in_set = (stumps.goes_left[number, codes >> 6] >> (codes & 63).astype(np.uint64)) & np.uint64(1)
        bars[output] += np.where(in_set == 1, stumps.left[number], stumps.right[number])
    return bars[:, :-1].copy(), bars[:, -1].copy()
