"""The README's comparison is the table that `make table` writes."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        return importlib.import_module("readme_table")


def test_the_readme_has_the_table_of_the_script(script):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    _, _, rest = page.partition(script.MARKS[0])
    table, _, after = rest.partition(script.MARKS[1])
    assert after
    assert "| " + " | ".join(script.HEADER) + " |" in table
    ratios = [line for line in table.splitlines() if line.count("|") == 8 and "**" in line]
    assert len(ratios) >= 10


def test_a_row_tells_the_ratio_of_its_own_times(script):
    row = script.row("work", "peer", 8.0, 2.0, ("AUC 0.9", "0.8"))
    assert row == ("work", "peer", "8 s", "2 s", "**4.0**", "AUC 0.9", "0.8")
    assert script.markdown([row, row]).splitlines()[-1].startswith("|  | peer")


def test_the_table_takes_the_place_of_the_old_one(script):
    page = f"before\n{script.MARKS[0]}\nold\n{script.MARKS[1]}\nafter\n"
    assert script.insert(page, "new") == f"before\n{script.MARKS[0]}\n\nnew\n\n{script.MARKS[1]}\nafter\n"
    with pytest.raises(ValueError, match="no place"):
        script.insert("no marks", "new")
