"""A small run of all experiments: reproducible, independent of the number of threads, with a valid page."""

import json
from dataclasses import replace

import html5lib
import numpy as np
import pytest

from hedgerow.experiments import CAVEATS, FULL, QUICK, measure, plan, run, run_experiments, run_plan
from hedgerow.experiments.plan import BOOSTING, COMPARED, FOREST, LOGISTIC, ONE_HOT, UNDER_NOISE, Maker
from scripts import load_script

TINY = replace(
    QUICK,
    folds=3,
    curve_folds=2,
    simulated_rows=120,
    accident_rows=120,
    learners=4,
    most_learners=5,
    shrunk_learners=3,
    trees=3,
    members=2,
    rates=(0.1, 1.0),
    shares=(0.0, 0.4),
    noisy=("simulated",),
    claim_repeats=1,
    claim_splits=3,
)


@pytest.fixture(scope="module")
def small():
    """The run, and the calls of progress."""
    calls = []
    return run_plan(TINY, n_jobs=1, progress=lambda *call: calls.append(call)), calls


def test_results_do_not_depend_on_the_number_of_threads(small):
    problem = plan.load_problems(TINY, 0)[0][0]
    again = run.ProblemResults(problem, TINY, Maker(TINY.learners, TINY.trees, TINY.members, 0, n_jobs=2))
    for _, step in again.steps():
        step()
    assert [row[:3] for row in again.table().values] == [row[:3] for row in small[0].tables[0].values]
    curves = {one.name: one.to_dict() for one in small[0].curves}
    for kind in run.X_LABELS:
        assert again.curves(kind).to_dict() == curves[f"{kind}-simulated"]
        assert set(again.sentences()[kind]) <= set(small[0].findings)


def test_another_seed_gives_other_rows_and_other_folds():
    one, other = (
        [
            run.ProblemResults(problem, TINY, Maker(1, 1, 1, seed))
            for problem in plan.load_problems(TINY, seed)[0]
        ]
        for seed in (0, 1)
    )
    assert not np.array_equal(one[0].problem.X, other[0].problem.X)
    assert not np.array_equal(one[1].folds[0][1], other[1].folds[0][1])


def test_every_table_has_all_methods(small):
    tables = {table.key: table for table in small[0].tables}
    assert [row[0] for row in tables["simulated"].rows] == list(COMPARED)
    for table in tables.values():
        assert len(table.columns) == len(table.formats) == len(table.rows[0])
    accuracy = tables["cancer"].values[0][2]
    assert f"{accuracy[0]:.4f} ± {accuracy[1]:.4f}" == tables["cancer"].rows[0][2]
    assert "4 stumps, rate 1" in tables["cancer"].rows[1]


def test_the_figures_have_their_lines(small):
    lines = {one.name: one for one in small[0].curves}
    for key in ("learners", "shrinkage"):
        assert list(lines[f"{key}-cancer"].curves) == list(BOOSTING)
        assert lines[f"{key}-cancer"].level[0] == LOGISTIC
    assert lines["learners-cancer"].x == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert lines["shrinkage-cancer"].x == (0.1, 1.0)
    assert list(lines["noise-simulated"].curves) == list(UNDER_NOISE)
    displays = small[0].figures
    assert {"scores-simulated", *lines} <= set(displays)
    assert displays["scores-cancer"].means == sorted(displays["scores-cancer"].means, reverse=True)


def test_accidents_have_one_hot_columns(small):
    if small[0].left_out:
        pytest.skip("the package dmba is not installed")
    table = next(table for table in small[0].tables if table.key == "accidents")
    assert ONE_HOT in [row[0] for row in table.rows]
    assert "120 of 42,183 rows" in table.name


def test_progress_is_reported_to_the_end(small):
    calls = small[1]
    total = calls[0][1]
    assert [done for done, _, _ in calls] == list(range(total + 1))
    assert {of for _, of, _ in calls} == {total}
    assert calls[0][2] == "compiling the kernels"


def test_missing_accidents_are_left_out_with_a_note(monkeypatch):
    monkeypatch.setattr(plan, "load_accidents", _missing)
    found, left_out = plan.load_problems(TINY, 0)
    assert [problem.name for problem in found] == ["simulated", "cancer"]
    assert left_out == ["US road accidents are left out: not found: pip install dmba."]


def _missing(*_, **_options):
    raise FileNotFoundError("not found: pip install dmba")


def test_rows_of_the_accidents_are_drawn_once_each(monkeypatch):
    given = np.arange(50.0)[:, None], np.arange(50) % 2, ["row"]
    monkeypatch.setattr(plan, "load_accidents", lambda: given)
    one = plan.load_problems(replace(TINY, accident_rows=20), 0)[0][2]
    assert len(set(one.X[:, 0])) == 20
    np.testing.assert_array_equal(one.y, one.X[:, 0] % 2)
    assert len(plan.load_problems(replace(TINY, accident_rows=None), 0)[0][2].y) == 50


def test_dictionary_is_json_and_page_is_valid(small, tmp_path):
    experiments = small[0]
    assert json.loads(json.dumps(experiments.to_dict()))["random_state"] == 0
    path = tmp_path / "page.html"
    experiments.save(path)
    text = path.read_text(encoding="utf-8")
    html5lib.HTMLParser(strict=True).parse(text)
    assert text.count("<svg") >= len(experiments.figures)
    assert "src=" not in text
    assert "run_experiments()" in text
    assert all(sentence in text for sentence in CAVEATS)
    for table in experiments.tables:
        assert table.rows[0][2] in text


def test_full_uses_the_larger_plan(monkeypatch):
    plans = []
    monkeypatch.setattr(run, "run_plan", lambda plan, **options: plans.append((plan, options["full"])))
    run_experiments(full=True)
    run_experiments()
    assert plans == [(FULL, True), (QUICK, False)]


@pytest.mark.parametrize("seed", [-1, 2**32, 0.5, None, "0"])
def test_invalid_seeds_are_rejected_before_the_first_step(seed):
    with pytest.raises(ValueError, match=r"random_state=.* is not allowed: it must be an integer from 0"):
        run_experiments(random_state=seed, progress=pytest.fail)


def test_every_method_is_fitted_before_it_is_timed(monkeypatch):
    made = []

    def make(self, name, **_):
        made.append((name, self.learners))
        return Maker.make(self, name)

    monkeypatch.setattr(measure, "Maker", type("Spy", (Maker,), {"make": make}))
    problem = plan.load_problems(TINY, 0)[0][1]
    measure.compile_kernels([problem], (LOGISTIC, FOREST), Maker(9, 9, 9, 0, 1))
    assert made == [(LOGISTIC, 2), (FOREST, 2)]


def test_example_prints_the_tables_and_writes_the_files(small, tmp_path, monkeypatch, capsys):
    example = load_script("examples/source_experiments.py")
    calls = []
    monkeypatch.setattr(example, "run_experiments", lambda **options: calls.append(options) or small[0])
    monkeypatch.setattr(type(small[0]), "to_html", lambda _: "a page")  # drawn in another test
    example.main(["--quick", "--seed", "3", "--out", str(tmp_path / "new")])
    assert (calls[0]["full"], calls[0]["random_state"]) == (False, 3)
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert names == {"figure_1_learners.png", "figure_2_shrinkage.png", "noise.png", "experiments.html"}
    printed = capsys.readouterr().out
    assert small[0].tables[0].rows[1][2] in printed
    assert small[0].findings[0] in printed
