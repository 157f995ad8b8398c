"""Fixed grids: bin edges from separate rows, for bounds that require a fixed hypothesis class.

A grid is a list with the increasing edges of every column, or None for a categorical column. A learner with
the parameter `bin_edges` splits at these edges only. With k_1, ..., k_c edges in c columns and no missing
values, there are 2 (k_1 + ... + k_c) stumps and two constant classifiers. This hypothesis class is finite and
does not depend on the training rows, if the rows of the grid are used for nothing else. Margin bounds and
out-of-bag bounds require this.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import MAX_BINS, MAX_WIDE_BINS
from hedgerow.binning import find_bins
from hedgerow.estimators.fingerprints import RowHashes
from hedgerow.estimators.parameters import check_parameters, integer
from hedgerow.table import read_table

_ALLOWED = {"max_bins": integer(2, MAX_WIDE_BINS)}


class Grid(list[NDArray[np.float64] | None]):
    """A list of edges with the hashes of the rows from which they were computed."""

    hashes: RowHashes


def quantile_grid(X: Any, max_bins: int = MAX_BINS, *, categorical_features: Any = None) -> Grid:
    """Return bin edges at quantiles of the columns of X, for the parameter `bin_edges` of a learner.

    A learner fitted to X would compute the same edges. For a bound that requires a fixed grid, X must be
    separate rows that are not used for the fit or for the measurement of the error. They need no labels. The
    grid stores fingerprints of the rows, so that `certify` detects if they were used for training.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Missing values are ignored.
    max_bins : int
        Maximum number of bins per column, which is the number of edges plus one; at most 65,535, and 255 for
        forests.
    categorical_features : None, "from_dtype", mask, positions or names
        As for the learner.

    Returns
    -------
    Grid
        A list of float64 arrays, one per column, and None for categorical columns. A constant column has no
        edges.

    Notes
    -----
    With up to 255 bins and more than 200,000 rows, a sample of 200,000 rows is used. All edges are finite;
    minus infinity is in the lowest bin.

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
