"""Categories as texts, each spelled one way, whatever type a file happened to give them.

A column of the texts 1, 2 and x is text; a later file without the x holds integers. Both must give the same
categories, hence numbers, truth values and dates have one spelling: 1.0 and 1 are "1", True is "true",
2024-05-17T00:00 is "2024-05-17". Texts with leading zeros are not numbers and stay as they are.
"""

import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles.settling import is_text, settle_text

_NUMBER = re.compile(r"[+-]?(?!0\d)(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d)(:\d\d)?(:\d\d)?(?:\.(\d{1,9}))?Z?", re.ASCII)


def spelled(value: str) -> str:
    """The one spelling of a category.

    >>> [spelled(value) for value in ("1.0", "+5", "01", "TRUE", " red ", "2024-05-17T00:00", "1e400")]
    ['1', '5', '01', 'true', 'red', '2024-05-17', '1e400']
    """
    value = value.strip()
    if value[:1] in "+-.0123456789" and _NUMBER.fullmatch(value):
        if _INTEGER.fullmatch(value):
            return str(int(value))
        number = float(value)
        if not math.isfinite(number):
            return value
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    if value.lower() in ("true", "false"):
        return value.lower()
    moment = _MOMENT.fullmatch(value)
    if moment:
        day, hour, minute, second, fraction = moment.groups(default="")
        time = f"{hour}{minute or ':00'}{second or ':00'}"
        fraction = fraction.rstrip("0")
        whole = f"{day} {time}.{fraction}" if fraction else f"{day} {time}"
        return whole.removesuffix(" 00:00:00")
    return value


def can_be_category(kind: pa.DataType) -> bool:
    """Whether values of a type have a text that names them.

    >>> can_be_category(pa.int8()), can_be_category(pa.list_(pa.int8()))
    (True, False)
    """
    if pa.types.is_dictionary(kind):
        return can_be_category(kind.value_type)
    return bool(
        is_text(kind)
        or pa.types.is_null(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
    )


def as_categories(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column of any type that can_be_category as dictionary<string>, its values spelled one way.

    >>> as_categories(pa.chunked_array([[1.0, 2.5, None]])).to_pylist()
    ['1', '2.5', None]
    """
    if is_text(column.type):
        column = settle_text(column)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if pa.types.is_null(column.type):
        return pa.DictionaryArray.from_arrays(pa.nulls(len(column), pa.int32()), pa.array([], pa.string()))
    encoded = column.dictionary_encode()  # as it is when the type is dictionary already
    encoded = encoded.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # what combining no chunks gives, in some versions
        encoded = pa.concat_arrays(encoded.chunks)
    texts = _texts(encoded.dictionary)
    places: dict[str, int] = {}
    # place in the new list for each old code, -1 for missing
    table = np.array(
        [-1 if text is None else places.setdefault(text, len(places)) for text in texts] or [-1], np.int32
    )
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    new = np.where(codes >= 0, table[codes], np.int32(-1))
    return pa.DictionaryArray.from_arrays(pa.array(new, mask=new < 0), pa.array(list(places), pa.string()))


def _texts(values: pa.Array) -> list[str | None]:
    kind = values.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        values = values.cast(pa.timestamp(kind.unit, "UTC"))
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        plain = [
            None if value is None or math.isnan(value) else repr(float(value)) for value in values.to_pylist()
        ]
    else:
        plain = values.cast(pa.string()).to_pylist()
    return [None if text is None or not text.strip() else spelled(text) for text in plain]
