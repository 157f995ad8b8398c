"""The certificate of a model in its file: what `hedgerow.theory.Certificate.to_dict` tells of it.

{"format": 1, "model": "AdaBoostClassifier", "delta": 0.05, "chance_error": 0.37, "bounds": [{...}], ...}
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.base import is_classifier

from hedgerow.container import ModelFileError
from hedgerow.files.card import checked_card
from hedgerow.files.pieces import short

if TYPE_CHECKING:
    from hedgerow.theory import Certificate


def write_certificate(certificate: Any, model: Any) -> dict[str, Any]:
    """The certificate as plain data, if it may be one of this model.

    Parameters
    ----------
    certificate : Certificate
    model : fitted estimator

    Returns
    -------
    dict
    """
    from hedgerow.theory import Certificate  # noqa: PLC0415 - loads 0.1 s of modules that few files need

    if not isinstance(certificate, Certificate):
        raise TypeError(
            f"certificate={certificate!r:.100} is not allowed: it must be what hedgerow.theory.certify gives"
        )
    _refuse_another(certificate, model)
    try:
        told = checked_card(certificate.to_dict())
        same = Certificate.from_dict(told) == certificate
    except ValueError as error:
        raise ModelFileError(f"no file can hold the certificate: {short(error)}") from error
    if not same:
        raise ModelFileError("no file can hold the certificate: it does not come back as it was")
    return told


def read_certificate(content: Mapping[str, Any]) -> "Certificate | None":
    """The certificate of a file's description, if there is one."""
    if "certificate" not in content:
        return None
    from hedgerow.theory import Certificate  # noqa: PLC0415 - as above

    try:
        certificate = Certificate.from_dict(checked_card(content["certificate"]))
    except ValueError as error:
        raise ModelFileError(f"certificate: {short(error)}") from error
    if certificate.model != content.get("estimator"):
        raise ModelFileError(f"the certificate is of a {certificate.model!r:.50}, and the model is another")
    return certificate


def _refuse_another(certificate: "Certificate", model: Any) -> None:
    """Refuse a certificate that is not of this model, as far as that can be told.

    What certify says of the model without new rows, it also says with them.
    """
    from hedgerow.theory import certify  # noqa: PLC0415 - as above

    name = type(model).__name__
    if certificate.model != name or not is_classifier(model):
        raise ModelFileError(f"the certificate is of a {certificate.model!r:.50}, and the model is a {name}")
    again = certify(model, delta=certificate.delta)
    mine, given = ({bound.name: bound.n for bound in one.bounds} for one in (again, certificate))
    told = certificate.of_training == again.of_training and mine.items() <= given.items()
    seen = getattr(model, "seen_rows_", None)
    if not told or (seen is not None and certificate.chance_error != again.chance_error):
        raise ModelFileError(
            f"the certificate is of another {name}: certify says other things of this one; certify it anew"
        )
