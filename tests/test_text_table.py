"""Plain-text tables."""

import pytest

from hedgerow.text_table import display_width, format_page, format_table, wrap


def test_text_columns_are_wrapped_and_numbers_are_not():
    rows = [["gradient boosting of many small trees", "0.123456789"], ["stump", "1"]]
    table = format_table(["method", "log-loss"], rows, width=32)
    assert table.splitlines() == [
        " method                 log-loss",
        " ───────────────────────────────",
        " gradient boosting   0.123456789",
        " of many small",
        " trees",
        " stump                         1",
    ]


@pytest.mark.parametrize("width", [25, 40, 200])
def test_lines_of_a_page_are_not_wider_than_the_page(width):
    page = format_page(["word " * 30], ["name", "n"], [["some words here", "12"]], [0, 1], [0], width)
    assert max(map(display_width, page.splitlines())) <= width
    assert page.replace("\n", " ").count("word ") == 30


def test_control_characters_of_names_are_escaped():
    assert "\x1b" not in format_table(["a"], [["\x1b[31mred"]])
    assert "\\n" in format_table(["a"], [["two\nlines"]])


def test_wide_characters_count_twice():
    lines = format_table(["a", "b"], [["森林", "1"], ["tree", "2"]]).splitlines()
    assert {display_width(line) for line in lines} == {9}


def test_long_words_are_broken_and_indentation_is_kept():
    assert wrap("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrap("  one two three", 9) == ["  one two", "three"]
