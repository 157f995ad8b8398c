"""The comparison tables of README.md and docs/measured.md are those that `make table` writes."""

import pytest

from scripts import ROOT, load_script


@pytest.fixture(scope="module")
def script():
    return load_script("benchmarks/readme_table.py")


@pytest.mark.parametrize(("page", "n_rows"), [("README.md", 5), ("docs/measured.md", 12)])
def test_a_page_has_the_table_of_the_script(script, page, n_rows):
    _, _, rest = (ROOT / page).read_text(encoding="utf-8").partition(script.MARKS[0])
    table, _, after = rest.partition(script.MARKS[1])
    assert after
    assert "| " + " | ".join(script.HEADER) + " |" in table
    assert sum(line.count("|") == 8 and "**" in line for line in table.splitlines()) == n_rows


def test_the_short_table_has_the_first_row_of_each_peer(script):
    works = ("gradient boosting, 9 x 28", "gradient boosting, 9 x 28", "AdaBoost, 9 x 30", "AdaBoost, 5 x 30")
    peers = ("LightGBM", "CatBoost", "scikit-learn", "scikit-learn")
    rows = [(work, peer, *"abcde") for work, peer in zip(works, peers, strict=True)]
    assert script.shortened(rows) == [rows[0], rows[2]]


def test_a_row_has_the_ratio_of_its_times(script):
    row = script.row("work", "peer", 8.0, 2.0, ("AUC 0.9", "0.8"))
    assert row == ("work", "peer", "8 s", "2 s", "**4.0**", "AUC 0.9", "0.8")
    assert script.markdown([row, row]).splitlines()[-1].startswith("|  | peer")


def test_an_auc_has_its_difference_to_that_of_hedgerow(script):
    figures = {"auc": 0.86, "auc_gained": -0.0012, "auc_gained_error": 0.0005}
    assert script.auc(figures) == "0.8600 (-0.0012 ± 0.0005)"


def test_the_table_replaces_the_old_one(script):
    page = f"before\n{script.MARKS[0]}\nold\n{script.MARKS[1]}\nafter\n"
    assert script.insert(page, "new") == f"before\n{script.MARKS[0]}\n\nnew\n\n{script.MARKS[1]}\nafter\n"
    with pytest.raises(ValueError, match="no markers"):
        script.insert("no marks", "new")
