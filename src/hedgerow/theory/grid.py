"""Fixed grids: bin edges from rows that are set aside, for learners that must not choose their own.

A grid is a list with the edges of every column, rising, or None for a categorical one. It is handed to the
parameter `bin_edges`, and the learner then cuts at these edges and no others. On c columns of k_1, ..., k_c
edges, and without missing values, there are 2 (k_1 + ... + k_c) stumps that tell two classes apart, beside
the two that always say the same: a class of hypotheses that is finite and, if the rows of the grid take no
other part, fixed before the training rows are seen. Bounds by margins and by out-of-bag votes ask for that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.binning import find_bins
from hedgerow.dtypes import MAX_BINS, MAX_WIDE_BINS
from hedgerow.estimators.fingerprints import RowHashes
from hedgerow.estimators.parameters import check_parameters, whole
from hedgerow.table import read_table

_ALLOWED = {"max_bins": whole(2, MAX_WIDE_BINS)}


class Grid(list[NDArray[np.float64] | None]):
    """A list of edges that knows the rows it was found on: no bound may count them twice."""

    hashes: RowHashes


def quantile_grid(X: Any, max_bins: int = MAX_BINS, *, categorical_features: Any = None) -> Grid:
    """Bin edges at quantiles of the columns of X, to be given to a learner as its `bin_edges`.

    They are the edges that the learner would have found itself, had it been fitted on X. For a bound that
    asks for a grid fixed before the data are seen, X must be rows set aside: they may then take no part in
    the fit, nor in measuring the error. They need no labels. The grid remembers fingerprints of the rows, so
    that a certificate notices when they were trained on.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Missing values are left out.
    max_bins : int
        Most bins of a column, up to 65,535, and one more than it has edges. Forests take 255 at the most.
    categorical_features : None, "from_dtype", mask, positions or names
        As the learner has it.

    Returns
    -------
    Grid
        A list of float64 arrays, one a column.
        None for a categorical column. A column of one value has no edges, and is then never cut.

    Notes
    -----
    With up to 255 bins and more than 200,000 rows, edges are found on 200,000 of the rows. Minus infinity
    shares the lowest bin: edges are finite.

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier, DecisionStump
    >>> from hedgerow.datasets import make_hastie
    >>> X, y = make_hastie(2000, random_state=0)
    >>> grid = quantile_grid(X[:500], max_bins=8)
    >>> grid[0].round(2)
    array([-1.3 , -0.81, -0.43, -0.04,  0.29,  0.62,  1.04])
    >>> model = AdaBoostClassifier(DecisionStump(bin_edges=grid), n_estimators=20).fit(X[500:], y[500:])
    >>> print(model.estimators_[0])
    x1 <= -1.07103: 1, else -1
    >>> model.estimators_[0].threshold_ in grid[1], sum(len(edges) for edges in grid)
    (True, 70)
    >>> model.model_.bins.user_defined
    array([1, 1, 1, 1, 1, 1, 1, 1, 1, 1], dtype=uint8)
    """
    check_parameters({"max_bins": max_bins}, _ALLOWED)
    table = read_table(X, estimator_name="quantile_grid", categorical_features=categorical_features)
    bins = find_bins(table, max_bins)
    grid = Grid()
    for column, categories in enumerate(table.schema.categories):
        edges = bins.edges_of(column)
        grid.append(edges[np.isfinite(edges)] if categories is None else None)
    grid.hashes = RowHashes.of(table, 1)
    return grid
