"""Numbers and dates that are written in a style and read back are the same values."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.datafiles import DataFileError
from hedgerow.datafiles.date_texts import detect_dates, format_pattern, guess_format, parse_dates
from hedgerow.datafiles.inference import infer_column
from hedgerow.datafiles.number_texts import read_numbers

QUICK = settings(max_examples=60, deadline=None, derandomize=True)
NUMBERS = st.lists(st.decimals(-(10**9), 10**9, places=2, allow_nan=False), min_size=1, max_size=12)
DATES = st.lists(
    st.datetimes(dt.datetime(1969, 1, 1), dt.datetime(2068, 12, 31)),  # noqa: DTZ001
    min_size=1,
    max_size=12,
)
GROUPS = {".": [",", " ", "'", "", "\u00a0"], ",": [".", " ", "'", "", "\u202f"]}
DECORATIONS = ["{}", "${}", "€ {}", "{} EUR", "{}%", "{} %", "CHF {}", "({})"]
FORMATS = [
    "%d.%m.%Y",
    "%d.%m.%y",
    "%d/%m/%Y %H:%M",
    "%m/%d/%y %I:%M %p",
    "%m/%d/%Y %I:%M:%S %p",
    "%Y-%m-%d",
    "%Y/%m/%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S.%f",
    "%d %b %Y",
    "%d-%b-%y",
    "%b %d, %Y",
    "%B %d, %Y %H:%M",
    "%a, %d %b %Y %H:%M:%S",
]


def style(number, decimal, group, decoration):
    text = f"{abs(number):,.2f}".replace(",", "G").replace(".", decimal).replace("G", group)
    if number < 0:
        return f"({text})" if decoration == "({})" else decoration.format(f"-{text}")
    return text if decoration == "({})" else decoration.format(text)


@QUICK
@given(NUMBERS, st.sampled_from([(d, g) for d in GROUPS for g in GROUPS[d]]), st.sampled_from(DECORATIONS))
def test_numbers_of_every_style_are_read_back(numbers, signs, decoration):
    texts = [style(number, *signs, decoration) for number in numbers]
    column = infer_column(pa.chunked_array([texts]))
    assert column.values.to_pylist() == [float(number) for number in numbers]
    stated = infer_column(pa.chunked_array([texts]), decimal=signs[0])
    assert stated.values.to_pylist() == column.values.to_pylist()


@QUICK
@given(DATES, st.sampled_from(FORMATS))
def test_dates_of_every_form_are_read_back(moments, form):
    texts = [moment.strftime(form) for moment in moments]
    expected = [dt.datetime.strptime(text, form) for text in texts]  # noqa: DTZ007 - without the lost digits
    column = parse_dates(pa.chunked_array([texts]), [form])
    found = column.cast(pa.timestamp("us")).to_pylist()
    assert found == expected
    day_first = form.startswith("%d")
    detected = detect_dates(pa.chunked_array([texts]), day_first=day_first)
    assert detected.values.cast(pa.timestamp("us")).to_pylist() == expected


@QUICK
@given(DATES, st.sampled_from(["+02:00", "-0530", "Z", " GMT", "+11"]))
def test_zones_are_converted_to_utc(moments, zone):
    texts = [f"{moment:%d.%m.%Y %H:%M:%S}{zone}" for moment in moments]
    hours = {"+02:00": 2, "-0530": -5.5, "+11": 11}.get(zone, 0)
    utc = [moment.replace(microsecond=0, tzinfo=dt.UTC) - dt.timedelta(hours=hours) for moment in moments]
    assert detect_dates(pa.chunked_array([texts])).values.to_pylist() == utc


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("%Q", "%Q is unknown"),
        ("%d.%d.%Y", "%d occurs twice"),
        ("%d.%m", "has no year"),
        ("x%", "% is unknown"),
    ],
)
def test_wrong_formats_are_refused(form, message):
    with pytest.raises(DataFileError, match=message):
        format_pattern(form)


def test_days_of_the_year_and_literal_percent_signs():
    column = parse_dates(pa.chunked_array([["2024-060 5%"]]), ["%Y-%j 5%%"])
    assert column.to_pylist() == [dt.date(2024, 2, 29)]


@pytest.mark.parametrize(
    "text",
    [
        "31.2.2024",
        "1.13.2024 25:00",
        "5/17/2024 13:00 PM",
        "17 Foo 2024",
        "12%",
        "May 17, 2024 at noon",
        "2024",
    ],
)
def test_other_texts_are_no_dates(text):
    assert detect_dates(pa.chunked_array([[text]])) is None


def test_a_column_of_too_many_forms_is_text():
    texts = ["1.2.2024", "1.2.2024 10:00", "10:00 o'clock"]
    assert detect_dates(pa.chunked_array([texts])) is None
    zones = ["1.2.2024 10:00", "1.2.2024 10:00Z"]
    assert detect_dates(pa.chunked_array([zones])) is None
    late = ["1.2.2024"] * 1500 + ["soon"]
    assert detect_dates(pa.chunked_array([late])) is None
    assert guess_format("100% sure") is None


@pytest.mark.parametrize(
    "texts", [["$5", "€5"], ["1,2,3"], ["1.5", "1,5"], ["5 kg"], ["007,5"], ["-"], ["1e999x"]]
)
def test_other_texts_are_no_numbers(texts):
    assert read_numbers(pa.chunked_array([texts])) is None


def test_a_column_that_is_text_after_the_sample_stays_text():
    texts = pa.chunked_array([["1,5"] * 1500 + ["x"]])
    assert read_numbers(texts) is None
    assert infer_column(texts).values.type == pa.string()
