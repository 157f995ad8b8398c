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

from hedgerow.estimators import validation
from hedgerow.estimators.fingerprints import RowFingerprints
from hedgerow.estimators.parameters import check_parameters, real
from hedgerow.table.columns import is_missing
from hedgerow.theory import evidence
from hedgerow.theory.certificate import Bound, Certificate
from hedgerow.theory.evidence import HOLD_OUT, Evidence
from hedgerow.theory.fresh import refuse_seen


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
    check_parameters({"delta": delta}, {"delta": real(1e-300, 1, below=True)})
    if isinstance(model, type) or not hasattr(model, "predict") or not is_classifier(model):
        raise TypeError(f"model={model!r} is not allowed: it must be a fitted classifier")
    check_is_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("X and y go together: give both or neither")
    labels, notes = None, []
    if y is not None:
        labels = _read_labels(X, y)
        notes = refuse_seen(model, X, len(labels))
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
        bounds=tuple(_computed(found, float(delta))),
        unmet=tuple(found.unmet),
        of_training=_of_training(model),
        notes=tuple(notes),
    )


def _read_labels(X: Any, y: Any) -> NDArray[Any]:
    labels = validation.validate_target(y, _num_samples(X), "certify")
    missing = [row for row, label in enumerate(labels.tolist()) if is_missing(label)]
    if missing:
        raise ValueError(f"y[{missing[0]}] is missing ({labels[missing[0]]}); every row needs a label")
    return labels


def _chance_error(model: Any, labels: NDArray[Any] | None) -> float:
    seen: RowFingerprints | None = getattr(model, "row_fingerprints_", None)
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
    if hasattr(model, "training_error_"):
        errors = [float(model.training_error_)]
    else:  # weighted as the rows are, which is what the bound is of; other rules follow a loss
        errors = model.history_.get("train_error", [])[: model.n_estimators_]
    proven = [("proven bound of the training error", value) for value in np.atleast_1d(bound)[-1:].tolist()]
    told = [("training error", value) for value in errors[-1:]] + proven
    return tuple((name, value) for name, value in told if value < 1.0)  # a bound of 1 says nothing


def _computed(found: Evidence, delta: float) -> Iterator[Bound]:
    """The bounds, each at its share, which must not depend on what the rows hold."""
    hopeless = {one.name for one in found.candidates if one.is_hopeless(delta)}
    others = [one for one in found.candidates if one.name != HOLD_OUT and one.name not in hopeless]
    is_held_out = any(one.name == HOLD_OUT for one in found.candidates)
    n_shares = len(others) + found.n_spare
    of_hold_out = (delta / 2 if n_shares else delta) if is_held_out else 0.0
    for one in found.candidates:
        share = (delta - of_hold_out) / max(1, n_shares)
        if one.name == HOLD_OUT:
            share = of_hold_out
        elif one.name in hopeless:
            share = delta
        value, words = one.compute(share)
        shown = 0.0 if one.name in hopeless else share
        yield Bound(one.name, value, shown, one.n, words, one.conditions, one.proviso)
