"""The means and the table of `benchmarks/loss_against_time.py`."""

import pytest

from scripts import ROOT, load_script


@pytest.fixture(scope="module")
def script():
    return load_script("benchmarks/loss_against_time.py")


def one(seconds, loss, rounds=100):
    return {"rounds": rounds, "seconds": seconds, "loss": loss}


def test_figures_are_means_over_seeds(script):
    figures = script.means([one(1.0, 0.4), one(3.0, 0.6)])
    assert figures == pytest.approx({"rounds": 100, "seconds": 2.0, "loss": 0.5, "loss_error": 0.1})
    assert script.loss_text(figures) == "0.5000 ± 0.1000"
    assert script.loss_text(script.means([one(1.0, 0.4)])) == "0.4000"


def test_the_table_has_the_first_fit_of_hedgerow_with_a_loss_as_low(script):
    ours = [script.means([figures]) for figures in (one(1.0, 0.5), one(2.0, 0.4), one(4.0, 0.3))]
    paths = {name: [] for name in script.LIBRARIES} | {"Hedgerow": ours, script.AUTO: []}
    paths["LightGBM"] = [script.means([figures]) for figures in (one(3.0, 0.4), one(9.0, 0.2))]
    lines = script.table(paths).splitlines()
    assert "| LightGBM | 100 | 0.4000 | 3.0 | 2.0 |" in lines
    assert "| LightGBM | 100 | 0.2000 | 9.0 | not reached |" in lines
    assert "| Hedgerow | 100 | 0.5000 | 1.0 |  |" in lines


def test_the_page_has_a_place_for_the_table(script):
    page = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8")
    assert page.index(script.MARKS[0]) < page.index(script.MARKS[1])
