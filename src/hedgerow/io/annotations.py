"""Card, certificate and threshold: data about a model that its file stores.

threshold     {"value": 0.3, "positive": 1}: the decision threshold of the probability of class 1
card          {"title": "Injuries", "target": "MAX_SEV", "holdout": {"accuracy": 0.87}}: any data of the user
certificate   {"format": 1, "model": "AdaBoostClassifier", "delta": 0.05, "bounds": [{...}], ...}: the
              result of `hedgerow.theory.Certificate.to_dict`
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.base import is_classifier

from hedgerow.container import JSON, ModelFileError
from hedgerow.io.reader import require
from hedgerow.selection.threshold import FixedThresholdClassifier

if TYPE_CHECKING:
    from hedgerow.theory import Certificate

MAX_BYTES = 16 * 2**20  # the largest card, as JSON
_MAX_DEPTH = 64


def checked_card(card: Any, what: str = "card") -> dict[str, Any]:
    """Return a copy of the card as plain data; tuples become lists and NumPy numbers become Python's.

    >>> checked_card({"accuracy": 0.5, "columns": ("a", "b")})
    {'accuracy': 0.5, 'columns': ['a', 'b']}
    >>> checked_card({"accuracy": float("nan")})
    Traceback (most recent call last):
    hedgerow.container.ModelFileError: card['accuracy'] is nan; allowed are finite numbers...
    """
    return JSON.plain(card, what, max_depth=_MAX_DEPTH, max_bytes=MAX_BYTES)


def read_card(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the card of a file's description, or None."""
    return checked_card(content["card"]) if "card" in content else None


def write_certificate(certificate: Any, model: Any) -> dict[str, Any]:
    """Return the certificate as plain data; refuse one of another model."""
    from hedgerow.theory import Certificate  # noqa: PLC0415 - takes 0.1 s, and few files need it

    if not isinstance(certificate, Certificate):
        raise TypeError(f"certificate must be a hedgerow.theory.Certificate; got {certificate!r:.100}")
    _refuse_other_model(certificate, model)
    try:
        content = checked_card(certificate.to_dict(), "certificate")
        same = Certificate.from_dict(content) == certificate
    except ValueError as error:
        raise ModelFileError(f"the certificate cannot be saved: {error}") from error
    if not same:
        raise ModelFileError("the certificate cannot be saved: a loaded copy would differ")
    return content


def read_certificate(content: Mapping[str, Any]) -> "Certificate | None":
    """Return the certificate of a file's description, or None."""
    if "certificate" not in content:
        return None
    from hedgerow.theory import Certificate  # noqa: PLC0415 - as above

    try:
        certificate = Certificate.from_dict(checked_card(content["certificate"], "certificate"))
    except ValueError as error:
        raise ModelFileError(f"certificate: {error}") from error
    name = FixedThresholdClassifier.__name__ if "threshold" in content else content.get("estimator")
    if certificate.model != name:
        raise ModelFileError(f"the certificate is for a {certificate.model!r:.50}, not for this model")
    return certificate


def _refuse_other_model(certificate: "Certificate", model: Any) -> None:
    """Refuse a certificate of another model, as far as that can be detected.

    The bounds of the model without new rows must be among those of the certificate.
    """
    from hedgerow.theory import certify  # noqa: PLC0415 - as above

    name = type(model).__name__
    if certificate.model != name or not is_classifier(model):
        raise ModelFileError(f"the certificate is for a {certificate.model!r:.50}, and the model is a {name}")
    if certificate.subject:  # it is for the same method, fitted to other rows
        return
    computed = certify(model, delta=certificate.delta)
    n_rows, n_rows_stored = (
        {bound.name: bound.n for bound in item.bounds} for item in (computed, certificate)
    )
    same = certificate.of_training == computed.of_training and n_rows.items() <= n_rows_stored.items()
    fingerprints = getattr(model, "row_fingerprints_", None)
    if not same or (fingerprints is not None and certificate.chance_error != computed.chance_error):
        raise ModelFileError(
            f"the certificate is for another {name}: certify returns other bounds for this model"
        )


# --- threshold


def write_threshold(model: FixedThresholdClassifier) -> dict[str, Any]:
    """Return the threshold and the number of the class whose probability it is compared with."""
    return {"value": float(model.threshold), "positive": model.positive_}


def read_threshold(content: Any, model: Any) -> FixedThresholdClassifier:
    """Return the model with the threshold of a file's description."""
    JSON.fields(content, ("value", "positive"), "threshold")
    value = JSON.number(content["value"], "threshold: value", minimum=0.0)
    require("threshold", value <= 1.0, "value must be at most 1")
    require("threshold", is_classifier(model) and len(model.classes_) == 2, "it needs two classes")
    number = JSON.integer(content["positive"], "threshold: positive", 0, 1)
    try:
        return FixedThresholdClassifier.of(model, value, model.classes_[number])
    except ValueError as error:
        raise ModelFileError(f"threshold: {error}") from error
