"""The card and the certificate of a model file, as plain data.

card          {"title": "Injuries", "target": "MAX_SEV", "holdout": {"accuracy": 0.87}}: any data of the user
certificate   {"format": 1, "model": "AdaBoostClassifier", "delta": 0.05, "bounds": [{...}], ...}: the
              result of `hedgerow.theory.Certificate.to_dict`
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.base import is_classifier

from hedgerow.container import JSON, ModelFileError
from hedgerow.io.reader import short

if TYPE_CHECKING:
    from hedgerow.theory import Certificate

MAX_BYTES = 16 * 2**20  # of a card as JSON
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
        raise ModelFileError(f"the certificate cannot be saved: {short(error)}") from error
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
        raise ModelFileError(f"certificate: {short(error)}") from error
    if certificate.model != content.get("estimator"):
        raise ModelFileError(f"the certificate is of a {certificate.model!r:.50}, not of this model")
    return certificate


def _refuse_other_model(certificate: "Certificate", model: Any) -> None:
    """Refuse a certificate of another model, as far as that can be detected.

    The bounds of the model without new rows must be among those of the certificate.
    """
    from hedgerow.theory import certify  # noqa: PLC0415 - as above

    name = type(model).__name__
    if certificate.model != name or not is_classifier(model):
        raise ModelFileError(f"the certificate is of a {certificate.model!r:.50}, and the model is a {name}")
    again = certify(model, delta=certificate.delta)
    mine, theirs = ({bound.name: bound.n for bound in one.bounds} for one in (again, certificate))
    same = certificate.of_training == again.of_training and mine.items() <= theirs.items()
    fingerprints = getattr(model, "row_fingerprints_", None)
    if not same or (fingerprints is not None and certificate.chance_error != again.chance_error):
        raise ModelFileError(
            f"the certificate is of another {name}: certify returns other bounds for this one"
        )
