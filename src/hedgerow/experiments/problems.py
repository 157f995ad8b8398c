"""The three data sets: a table of numbers and a class of two for every row, with a name in words."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from hedgerow.datasets import load_accidents, make_gaussian
from hedgerow.experiments.plan import Plan


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows with their classes.

    Parameters
    ----------
    name : str
        One word.
    title : str
        In words, with what was left out.
    X : float64 array of shape (n_samples, n_features)
    y : int64 array of shape (n_samples,)
        Classes 0 and 1.
    is_coded : bool
        Whether the columns are codes with few values, so that a linear model may be given one column for
        each value.

    Examples
    --------
    >>> Problem("ten", "Ten rows", np.zeros((10, 1)), np.arange(10) % 2).majority
    0.5
    """

    name: str
    title: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    is_coded: bool = False

    @property
    def majority(self) -> float:
        """The share of the larger class: the accuracy of not looking."""
        return float(np.bincount(self.y).max() / len(self.y))


def load_problems(plan: Plan, seed: int) -> tuple[list[Problem], list[str]]:
    """The data sets of a plan.

    Parameters
    ----------
    plan : Plan
    seed : int
        Of the simulated rows, and of the rows drawn from the accidents.

    Returns
    -------
    problems : list of Problem
    left_out : list of str
        Sentences about data sets that are not here, and how to get them.
    """
    problems, left_out = [_simulated(plan.simulated_rows, seed), _cancer()], []
    try:
        problems.append(_accidents(plan.accident_rows, seed))
    except FileNotFoundError as error:
        left_out.append(f"US road accidents are left out: {error}.")
    return problems, left_out


def _simulated(n_rows: int, seed: int) -> Problem:
    X, y = make_gaussian(n_rows, 30, random_state=seed)
    return Problem("simulated", f"Simulated data, {n_rows:,} × 30", X, (y > 0).astype(np.int64))


def _cancer() -> Problem:
    X, y = load_breast_cancer(return_X_y=True)
    return Problem("cancer", f"Breast cancer, {X.shape[0]:,} × {X.shape[1]}", X, y.astype(np.int64))


def _accidents(n_rows: int | None, seed: int) -> Problem:
    X, y, names = load_accidents()
    words = f"{len(y):,} × {len(names)}"
    if n_rows is not None and n_rows < len(y):
        words = f"{n_rows:,} of {len(y):,} rows × {len(names)}"
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:n_rows])
        X, y = X[rows], y[rows]
    return Problem("accidents", f"US road accidents, {words}", X, y, is_coded=True)
