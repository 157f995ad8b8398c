"""Read numbers as spreadsheets and reports write them: 1,234.5, 1.234,5, 1 234, $12, 12 %, (12).

A number format is a decimal sign, point or comma, and a sign between groups of digits. A column has one
format, which every value fits. Currency signs and codes, percent signs and parentheses of negative numbers
are removed first; 12 % is 12. The accounting forms $ (12) and $ - are -12 and 0. If a column has several
currencies, it is not converted, since its values have no common unit.

Columns such as 1,234 fit both 1234 and 1.234: they are ambiguous, and the rest of the file decides.
"""

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.datafiles.column_types import InferredColumn

_SAMPLE = 1000  # values that reject most other columns
_CURRENCY = (
    r"(?:US|A|C|R|HK|NZ|S)?\$|[€£¥₹₽₩₺₴₪฿₫₦₱]|zł|kr\.?|Kč|Ft|Fr\.|Rs\.?|CHF|USD|EUR|GBP|JPY|CNY|INR|AUD|CAD|"
    r"NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|ZAR|RUB|TRY|MXN|KRW|SGD|HKD"
)
_BEFORE = rf"^(?P<sign>[+-]?)\s*(?P<currency>{_CURRENCY})\s*(?P<rest>[+-]?[\d.,].*)$"
_AFTER = rf"^(?P<rest>.*[\d.,])\s*(?P<currency>{_CURRENCY})$"
_PLAIN = r"^[-+0-9.,'\x{2019}eE\s\x{A0}\x{2009}\x{202F}]*[0-9.,]$"  # nothing but digits and their separators
# forms of accounting: a currency beside parentheses, or beside a dash that is zero
_INTO_PARENTHESES = (rf"^(?P<currency>{_CURRENCY})\s*\((.*)\)$", rf"^\((.*)\)\s*(?P<currency>{_CURRENCY})$")
_ZERO = (rf"^({_CURRENCY})\s*[-–—]$", rf"^[-–—]\s*({_CURRENCY})$")
_LEADING_ZERO = r"^[+-]?0[0-9]"
# the sign between groups -> its regular expression; with a decimal point or comma
_GROUPS = {"": "", ",": ",", ".": r"\.", " ": r"[ \x{A0}\x{2009}\x{202F}]", "'": r"['\x{2019}]"}
_BY_DECIMAL = {".": ("", ",", " ", "'"), ",": ("", ".", " ", "'")}


def read_numbers(texts: pa.ChunkedArray, decimal: str | None = None) -> InferredColumn | None:
    """Convert texts to int64 or float64; None if not all of them are numbers of one format.

    An ambiguous column, which the other decimal sign would give other numbers, is read with points.

    Parameters
    ----------
    texts : pyarrow.ChunkedArray
        Without outer spaces, null where missing.
    decimal : {".", ","}, optional
        The decimal sign, if it is known.

    Examples
    --------
    >>> column = read_numbers(pa.chunked_array([["1.234,56 €", "(7)", None]]))
    >>> column.values.to_pylist(), column.decimal, column.thousands, column.signs
    ([1234.56, -7.0, None], ',', '.', ('€', '( )'))
    >>> read_numbers(pa.chunked_array([["1,234"]])).ambiguous
    'number'
    """
    sample = texts.drop_null()[:_SAMPLE]
    if not len(sample) or _read(sample, decimal) is None:
        return None
    return _read(texts, decimal)


def _read(texts: pa.ChunkedArray, decimal: str | None) -> InferredColumn | None:
    bare, signs = _without_signs(texts)
    if bare is None:
        return None
    fits = {sign: _thousands(bare, sign) for sign in ((decimal,) if decimal else (".", ","))}
    found = [sign for sign, thousands in fits.items() if thousands is not None]
    if not found:
        return None
    shown = decimal or pc.any(pc.match_substring_regex(bare, "[.,]")).as_py()
    is_ambiguous = len(found) == 2 and bool(shown)
    chosen = found[0]  # the point if both fit
    thousands = fits[chosen] or ""
    values = _cast(bare, chosen, thousands)
    if values is None:
        return None
    ambiguous = "number" if is_ambiguous else ""
    sign = chosen if shown else ""
    return InferredColumn(values, decimal=sign, thousands=thousands, signs=signs, ambiguous=ambiguous)


def _without_signs(texts: pa.ChunkedArray) -> tuple[pa.ChunkedArray | None, tuple[str, ...]]:
    """Remove currencies, percent signs and parentheses; None instead of the texts for several currencies."""
    if pc.all(pc.match_substring_regex(texts, _PLAIN)).as_py() is not False:
        return texts, ()
    signs = []
    bare = pc.replace_substring_regex(texts, "^[−–]", "-")
    zeros = []
    for inside, zero in zip(_INTO_PARENTHESES, _ZERO, strict=True):
        bare = pc.replace_substring_regex(bare, inside, r"(\1\2)")
        bare, found = _replaced(bare, zero, r"\10")
        zeros.append(found)
    bare, found = _replaced(bare, r"^\(\s*(.*[\d.%].*|.*\d.*)\s*\)$", r"-\1")
    if found:
        signs.append("( )")
    bare, found = _replaced(bare, r"^([^%]*\d[^%]*)\s*%$", r"\1")
    if found:
        signs.insert(0, "%")
    currencies = set()
    for pattern, replacement in ((_BEFORE, r"\1\3"), (_AFTER, r"\1")):
        match = pc.extract_regex(bare.combine_chunks(), pattern)
        if match.null_count < len(match):
            currencies |= set(pc.unique(match.field("currency").filter(match.is_valid())).to_pylist())
            bare = pc.replace_substring_regex(bare, pattern, replacement)
    if len(currencies) > 1:
        return None, ()
    bare = pc.replace_substring_regex(bare, r"^(\d.*\d|\d)\s?-$", r"-\1")  # 12.5-, of accounting software
    bare = pc.utf8_trim_whitespace(bare)
    return bare, (*sorted(currencies), *signs, *(["-"] if any(zeros) else []))


def _replaced(texts: pa.ChunkedArray, pattern: str, replacement: str) -> tuple[pa.ChunkedArray, bool]:
    if not pc.any(pc.match_substring_regex(texts, pattern)).as_py():
        return texts, False
    return pc.replace_substring_regex(texts, pattern, replacement), True


def _thousands(texts: pa.ChunkedArray, decimal: str) -> str | None:
    """Return the sign between groups with which all texts fit the decimal sign; None if none does."""
    for sign in _BY_DECIMAL[decimal]:
        if pc.all(pc.match_substring_regex(texts, _pattern(decimal, sign))).as_py() is not False:
            return sign
    return None


def _pattern(decimal: str, thousands: str) -> str:
    point, group = _GROUPS[decimal], _GROUPS[thousands]
    integer = r"\d+"
    if thousands == ",":  # also 12,34,567, as in India
        integer = r"(?:\d+|[1-9]\d{0,2}(?:,\d{2,3})*,\d{3})"
    elif thousands:
        integer = rf"(?:\d+|[1-9]\d{{0,2}}(?:{group}\d{{3}})+)"
    return rf"^[+-]?(?:{integer}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d{{1,3}})?$"


def _cast(texts: pa.ChunkedArray, decimal: str, thousands: str) -> pa.ChunkedArray | None:
    if thousands:
        texts = pc.replace_substring_regex(texts, _GROUPS[thousands], "")
    if decimal == ",":
        texts = pc.replace_substring(texts, ",", ".")
    if pc.any(pc.match_substring_regex(texts, _LEADING_ZERO)).as_py():
        return None  # a code
    texts = pc.replace_substring_regex(texts, r"^\+", "")
    for kind in (pa.int64(), pa.float64()):
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def has_groups_of_three(texts: pa.ChunkedArray) -> bool:
    """Return whether all points of a column may separate thousands: 1.234, 12.500.000, and 7; not 0.234.

    >>> has_groups_of_three(pa.chunked_array([["1.234", "7"]]))
    True
    """
    form = r"^[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)$"
    return pc.all(pc.match_substring_regex(texts, form)).as_py() is not False
