"""certify: every bound that applies to a model, each at its share of delta.

Half of delta goes to the hold-out bound, if there are new rows: it is nearly always the tightest. The rest is
shared equally among the others that could say something. A bound that is at least 1 for any sample of this
size is true whatever happens, and needs no share.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import _num_samples, check_is_fitted

from hedgerow.estimators import inputs
from hedgerow.estimators.parameters import check_parameters, real
from hedgerow.estimators.seen import SeenRows
from hedgerow.theory import evidence
from hedgerow.theory.certificate import Bound, Certificate
from hedgerow.theory.evidence import HOLD_OUT, Candidate

_SURELY = 1e-3  # so improbable by chance that rows must have been used before


def certify(model: Any, X: Any = None, y: Any = None, delta: float = 0.05) -> Certificate:
    """What is proven about the error of a classifier on new rows.

    Parameters
    ----------
    model : fitted classifier
        Boosted votes are certified by their class and by the margins of the training rows; bags and forests
        that were fitted with ``oob_score=True`` by the rows left out of the bags. These need no further rows.
        Any other scikit-learn classifier can be certified by rows held out.
    X : array, data frame or sparse matrix of shape (n_samples, n_features), optional
        Rows that the model was not fitted to. Training rows are refused, as far as they can be told.
    y : array of shape (n_samples,), optional
        Their labels.
    delta : float
        The probability that what is said is wrong.

    Returns
    -------
    Certificate
        All bounds that apply, with their conditions, and the reasons of those that do not. It prints as a
        table, shows as HTML in a notebook, and has `save`.

    Examples
    --------
    >>> from hedgerow import RandomForestClassifier
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(4000, 10, class_sep=2.0, random_state=0)
    >>> forest = RandomForestClassifier(oob_score=True, random_state=0).fit(X[:3000], y[:3000])
    >>> certificate = certify(forest)
    >>> print(certificate.best.name, round(certificate.error_bound, 3))
    out-of-bag first order 0.105
    >>> print(certify(forest, X[3000:], y[3000:]).best.name)
    hold-out
    >>> certify(forest, X, y)
    Traceback (most recent call last):
    ValueError: 3000 of the 4000 rows of X hold the same values as rows that the model was fitted to...
    """
    check_parameters({"delta": delta}, {"delta": real(0, 1, above=True, below=True)})
    if not is_classifier(model):
        raise TypeError(f"model is a {type(model).__name__}: it must be a fitted classifier")
    check_is_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("X and y go together: give both or neither")
    labels, notes = None, []
    if y is not None:
        labels = _read_labels(X, y)
        notes = _refuse_seen(model, X, len(labels))
    found = (
        evidence.from_class(model)
        + evidence.from_margins(model)
        + evidence.from_out_of_bag(model)
        + evidence.from_calibration(model)
    )
    if labels is not None:
        found += evidence.from_rows(model, X, labels)
    elif not found.candidates:
        found += evidence.Evidence.none((HOLD_OUT,), "X and y, rows new to the model, were not given")
    return Certificate(
        model=type(model).__name__,
        delta=float(delta),
        chance_error=_chance_error(model, labels),
        bounds=tuple(_computed(found.candidates, float(delta))),
        unmet=tuple(found.unmet),
        of_training=_of_training(model),
        notes=tuple(notes),
    )


def _read_labels(X: Any, y: Any) -> NDArray[Any]:
    return inputs.read_target(y, _num_samples(X), "certify")


def _refuse_seen(model: Any, X: Any, n: int) -> list[str]:
    """Refuse rows the model was fitted to; what else there is to say about them.

    New rows may equal old ones by chance, when columns have few values.
    """
    if not hasattr(model, "seen_rows_"):
        return ["the model keeps no fingerprints: whether X holds training rows was not checked"]
    n_equal = int(np.sum(model.has_seen(X)))
    if not n_equal:
        return []
    if model.chance_of_overlap(X) < _SURELY:
        raise ValueError(
            f"{n_equal} of the {n} rows of X hold the same values as rows that the model was fitted to: "
            "nothing can be learned from them about new rows. Give rows that were held out, or call "
            "certify(model) without any: it then uses what the model keeps of its training"
        )
    return [f"{n_equal} of the {n} rows of X equal training rows, as may happen by chance"]


def _chance_error(model: Any, labels: NDArray[Any] | None) -> float:
    seen: SeenRows | None = getattr(model, "seen_rows_", None)
    if seen is not None:
        return seen.chance_error
    if labels is None:
        return 1.0
    counts = Counter(labels.tolist())
    return 1.0 - max(counts.values()) / len(labels)


def _of_training(model: Any) -> tuple[tuple[str, float], ...]:
    bound = getattr(model, "training_error_bound_", None)
    if bound is None:
        return ()
    margins = getattr(model, "training_margins_", None)
    error = model.training_error_ if margins is None else float(np.mean(margins <= 0.0))
    proven = float(np.atleast_1d(bound)[-1])
    told = [("training error", float(error))]
    return (*told, ("proven bound of the training error", proven)) if np.isfinite(proven) else tuple(told)


def _computed(candidates: list[Candidate], delta: float) -> Iterator[Bound]:
    """The bounds, each at its share."""
    shares = {id(one): 0.0 for one in candidates}
    useful = [one for one in candidates if not one.is_hopeless(delta)]
    others = [one for one in useful if one.name != HOLD_OUT]
    left = delta
    for one in useful:
        if one.name == HOLD_OUT:
            shares[id(one)] = delta if not others else delta / 2
            left -= shares[id(one)]
    for one in others:
        shares[id(one)] = left / len(others)
    for one in candidates:
        share = shares[id(one)] or delta
        value, found = one.compute(share)
        yield Bound(one.name, value, share, one.n, found, one.conditions, one.given)
