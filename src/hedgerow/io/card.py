"""The card of a model file: whatever the user wants to have beside the model, as plain data.

{"title": "Injuries", "target": "MAX_SEV", "columns": ["HOUR", "SPEED"], "holdout": {"accuracy": 0.87}}


The certificate of a model in its file: what `hedgerow.theory.Certificate.to_dict` tells of it.

{"format": 1, "model": "AdaBoostClassifier", "delta": 0.05, "chance_error": 0.37, "bounds": [{...}], ...}
"""

import json
import math
import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from hedgerow.container import ModelFileError
from hedgerow.io.reader import short

if TYPE_CHECKING:
    from hedgerow.theory import Certificate


MOST_BYTES = 16 * 2**20  # of a card as JSON
_MOST_LEVELS = 64
_MOST_INTEGER = 2**64


def checked_card(card: Any) -> dict[str, Any]:
    """A copy of the card as plain data; ModelFileError if it holds anything else.

    Tuples become lists and NumPy numbers become Python's.

    >>> checked_card({"accuracy": np.float32(0.5), "columns": ("a", "b")})
    {'accuracy': 0.5, 'columns': ['a', 'b']}
    >>> checked_card({"accuracy": float("nan")})
    Traceback (most recent call last):
    hedgerow.container.ModelFileError: card['accuracy'] is nan: a card holds finite numbers...
    """
    if not isinstance(card, Mapping):
        raise ModelFileError(f"card is {reprlib.repr(card)}, a {type(card).__name__}: it must be a dict")
    plain: dict[str, Any] = _plain(card, "card", 0)
    size = len(json.dumps(plain))
    if size > MOST_BYTES:
        raise ModelFileError(f"card takes {size:,} bytes as JSON: it may take {MOST_BYTES:,}")
    return plain


def _plain(value: Any, place: str, level: int) -> Any:
    """The value at a place of the card, such as card['columns'][3]."""
    if level > _MOST_LEVELS:
        raise ModelFileError(f"card is nested more than {_MOST_LEVELS} deep")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and abs(value) < _MOST_INTEGER:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple):
        return [_plain(one, f"{place}[{number}]", level + 1) for number, one in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ModelFileError(f"{place} has the key {reprlib.repr(key)}: keys must be strings")
        return {
            str(key): _plain(one, f"{place}[{reprlib.repr(key)}]", level + 1) for key, one in value.items()
        }
    kind = "" if isinstance(value, int | float) else f", a {type(value).__name__}"
    raise ModelFileError(
        f"{place} is {reprlib.repr(value)}{kind}: a card holds finite numbers of up to 64 bits, strings, "
        "True, False, None, and lists and dicts of them"
    )


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
    seen = getattr(model, "row_fingerprints_", None)
    if not told or (seen is not None and certificate.chance_error != again.chance_error):
        raise ModelFileError(
            f"the certificate is of another {name}: certify says other things of this one; certify it anew"
        )
