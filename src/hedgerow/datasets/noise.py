"""Label noise that is known: some labels are replaced by another class, and which ones is told."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from hedgerow.datasets.checks import check_real


def flip_labels(
    y: Any, share: float = 0.1, random_state: Any = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Replace a share of the labels by another class.

    The rows are drawn without replacement, and each gets one of the other classes with equal probability.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels of two or more classes: numbers, strings or booleans. It is not changed.
    share : float
        The share of labels to replace, from 0 to 1; their number is rounded to the nearest integer.
    random_state : int, RandomState or None
        Of the rows and of their new classes.

    Returns
    -------
    noisy : array of shape (n_samples,)
        The labels after the change, of the same dtype.
    flipped : int64 array
        The rows that were changed, in increasing order.

    Examples
    --------
    >>> noisy, flipped = flip_labels(["cat", "dog", "dog", "cat", "cow"], share=0.4, random_state=0)
    >>> noisy
    array(['dog', 'dog', 'cow', 'cat', 'cow'], dtype='<U3')
    >>> flipped
    array([0, 2])
    """
    labels = np.array(y)
    share = check_real("share", share, 0, 1)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}: it must be one-dimensional")
    classes, places = _classes(labels)
    n_flipped = round(share * len(labels))
    if n_flipped and len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}: there is no other to flip to")
    rng = check_random_state(random_state)
    flipped: NDArray[np.int64] = np.sort(rng.permutation(len(labels))[:n_flipped]).astype(np.int64)
    # a step of 1 to K - 1 around the circle of K classes never ends where it began
    steps = rng.randint(1, max(len(classes), 2), size=n_flipped)
    labels[flipped] = classes[(places[flipped] + steps) % max(len(classes), 1)]
    return labels, flipped


def _classes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The sorted classes, and the place of every label among them."""
    for row, label in enumerate(labels.tolist() if labels.dtype.kind in "fO" else ()):
        # None, pandas' NA, and what differs from itself: NaN and NaT
        if label is None or type(label).__name__ == "NAType" or label != label:  # noqa: PLR0124
            raise ValueError(f"y[{row}]={label!r} is not allowed: every label must be a class")
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"the labels in y cannot be sorted: {error}") from error
