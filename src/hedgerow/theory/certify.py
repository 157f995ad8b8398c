"""certify: compute every bound that applies to a model, each with its share of delta.

Half of delta goes to the hold-out bound if there are hold-out rows: it is nearly always the tightest. The
rest is divided equally among the other bounds. A bound that is at least 1 for all samples of this size always
holds and needs no share.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import _num_samples, check_is_fitted

from hedgerow._typing import is_missing
from hedgerow.estimators import validation
from hedgerow.estimators.fingerprints import RowFingerprints
from hedgerow.estimators.parameters import check_parameters, number
from hedgerow.theory import applicable_bounds
from hedgerow.theory.applicable_bounds import BoundList, refuse_training_rows
from hedgerow.theory.certificate import HOLD_OUT, Bound, Certificate


def certify(model: Any, X: Any = None, y: Any = None, delta: float = 0.05) -> Certificate:
    """Compute upper bounds on the error of a classifier on new rows.

    Parameters
    ----------
    model : fitted classifier
        For boosted votes there are bounds from the hypothesis class and from the margins of the training
        rows; for forests and bagging fitted with ``oob_score=True``, from the out-of-bag rows. These need no
        further rows. Any other scikit-learn classifier needs hold-out rows.
    X : array, data frame or sparse matrix of shape (n_samples, n_features), optional
        Hold-out rows. Training rows are refused if the model stores fingerprints of them.
    y : array of shape (n_samples,), optional
        Labels of the hold-out rows.
    delta : float
        Probability that at least one of the bounds does not hold.

    Returns
    -------
    Certificate
        All bounds that apply with their conditions, and the others with the reason. It prints as a table, is
        displayed as HTML in a notebook, and has a method `save`.

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
    ValueError: 3000 of the 4000 rows of X have the same values as rows that the model was fitted to...
    """
    check_parameters({"delta": delta}, {"delta": number(1e-300, 1, below=True)})
    if isinstance(model, type) or not hasattr(model, "predict") or not is_classifier(model):
        raise TypeError(f"model must be a fitted classifier; got {model!r}")
    check_is_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("X and y must be passed together; got only one of them")
    labels: NDArray[Any] | None = None
    notes: list[str] = []
    if y is not None:
        labels = _read_labels(X, y)
        notes, _ = refuse_training_rows(model, X, len(labels))
    bounds = (
        applicable_bounds.bounds_from_class(model)
        + applicable_bounds.bounds_from_margins(model)
        + applicable_bounds.bounds_from_out_of_bag(model)
        + applicable_bounds.bounds_from_calibration(model)
    )
    if labels is not None:
        bounds += applicable_bounds.bounds_from_holdout(model, X, labels)
    elif not bounds.applicable:
        bounds += BoundList.none((HOLD_OUT,), "no hold-out rows X, y were passed")
    return Certificate(
        model=type(model).__name__,
        delta=float(delta),
        chance_error=_chance_error(model, labels),
        bounds=tuple(_compute(bounds, float(delta))),
        inapplicable=tuple(bounds.inapplicable),
        of_training=_of_training(model),
        notes=tuple(notes),
    )


def _read_labels(X: Any, y: Any) -> NDArray[Any]:
    labels = validation.validate_target(y, _num_samples(X), "certify")
    missing = [row for row, label in enumerate(labels.tolist()) if is_missing(label)]
    if missing:
        raise ValueError(f"y must have a label for every row; y[{missing[0]}] is {labels[missing[0]]}")
    return labels


def _chance_error(model: Any, labels: NDArray[Any] | None) -> float:
    """Return the error of always predicting the most frequent class; 1 if it is unknown."""
    fingerprints: RowFingerprints | None = getattr(model, "row_fingerprints_", None)
    if fingerprints is not None:
        return fingerprints.chance_error
    if labels is None:
        return 1.0
    counts = Counter(labels.tolist())
    return 1.0 - max(counts.values()) / len(labels)


def _of_training(model: Any) -> tuple[tuple[str, float], ...]:
    """Return the training error and its bound, if the model has them."""
    bound = getattr(model, "training_error_bound_", None)
    if bound is None:
        return ()
    if hasattr(model, "training_error_"):
        errors = [float(model.training_error_)]
    else:  # the weighted error, which the bound is for; other rules record a loss instead
        errors = model.history_.get("train_error", [])[: model.n_estimators_]
    results = [("training error", value) for value in errors[-1:]]
    results += [("proven bound of the training error", value) for value in np.atleast_1d(bound)[-1:].tolist()]
    return tuple((name, value) for name, value in results if value < 1.0)  # a bound of 1 is trivial


def _compute(bounds: BoundList, delta: float) -> Iterator[Bound]:
    """Compute each bound with its share of delta. The shares must not depend on the values of the rows."""
    vacuous = {bound.name for bound in bounds.applicable if bound.is_always_vacuous(delta)}
    names = [bound.name for bound in bounds.applicable]
    n_shares = sum(name != HOLD_OUT and name not in vacuous for name in names) + bounds.n_reserved
    holdout_share = (delta / 2 if n_shares else delta) if HOLD_OUT in names else 0.0
    for bound in bounds.applicable:
        share = (delta - holdout_share) / max(1, n_shares)
        if bound.name == HOLD_OUT:
            share = holdout_share
        elif bound.name in vacuous:
            share = delta
        value, text = bound.compute(share)
        reported = 0.0 if bound.name in vacuous else share
        yield Bound(bound.name, value, reported, bound.n, text, bound.conditions, bound.proviso)
