"""Numbers and values as text."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.plots.labels import minus
from hedgerow.text_table import format_column, format_score

NOTHING = "–"


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with significant digits and true minus signs; a dash for None and NaN.

    >>> number(1234567.0), number(0.123456), number(-2.5), number(None), number(float("nan"))
    ('1,234,567', '0.1235', '−2.5', '–', '–')
    """
    if value is None or math.isnan(value):
        return NOTHING
    if value == 0 or math.isinf(value):
        return f"{value:g}".replace("-", "−")
    size = math.floor(math.log10(abs(value)))
    if not -5 <= size < 12:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    text = f"{value:,.{max(0, digits - 1 - size)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−")


def score(value: float | None) -> str:
    """Format a score as the commands do, with a true minus sign; a dash for None and NaN.

    >>> score(0.875), score(-0.1), score(1234.5)
    ('0.8750', '−0.1000', '1,234')
    """
    return minus(format_score(value))


def column(values: Sequence[float | None], digits: int = 4, *, whole: bool = False) -> list[str]:
    """Format the numbers of a column with the same decimals, with true minus signs.

    >>> column([-0.5, 2.25])
    ['−0.500', '2.250']
    """
    return [minus(text) for text in format_column(values, digits, whole=whole)]


def plural(value: int, one: str, many: str = "") -> str:
    """Format a count with its noun.

    >>> plural(1, "row"), plural(1200, "row"), plural(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def percent_interval(low: float, high: float) -> str:
    """Format an interval of shares in per cent, rounded outwards.

    >>> percent_interval(0.9312, 0.98)
    '93.1 % to 98.0 %'
    >>> percent_interval(0.9319, 0.9801)
    '93.1 % to 98.1 %'
    """
    slack = 1e-9  # 0.98 is a little more than 98 per cent
    return f"{math.floor(1000 * low + slack) / 10:.1f} % to {math.ceil(1000 * high - slack) / 10:.1f} %"


def shortened(text: str, most: int = 40) -> str:
    """Cut a text to a length.

    >>> shortened("abcdefgh", 5)
    'abcd…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def value(value: Any, most: int = 40) -> str:
    """Format the cell of a table or a label.

    >>> value(np.float64(2.0)), value("red"), value(None), value(np.True_)
    ('2', 'red', '–', 'True')
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool | np.bool_ | str):
        return shortened(str(value), most)
    if isinstance(value, int | np.integer):
        return str(value).replace("-", "−")
    if isinstance(value, float | np.floating):
        return number(float(value))
    return shortened(str(value), most)
