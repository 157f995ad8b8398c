"""The example of the AdaBoost variants and the AdaBoost benchmark, on sizes that take no time."""

import io
from itertools import islice

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress
from sklearn.metrics import log_loss

from scripts import load_script


@pytest.fixture(scope="module")
def variants():
    return load_script("examples/adaboost_variants.py")


@pytest.fixture(scope="module")
def bench():
    return load_script("benchmarks/adaboost.py")


def results(variants, losses):
    """Results of two splits, the same at a fixed and at the chosen number of rounds, from mean losses."""
    noise = np.array([-0.001, 0.001])
    scores = {}
    for name in variants.VARIANTS:
        scores[name] = np.zeros((2, 2, 2))
        scores[name][:, :, 0] = losses[name] + noise[:, np.newaxis]
    chosen = {name: np.array([20, 20]) for name in variants.VARIANTS}
    chosen["discrete"] = np.array([40, 40])
    return variants.Results("a table", 40, (10,), scores, chosen)


LOSSES = {"discrete": 0.3, "discrete, Gini stumps": 0.2, "real": 0.1, "gentle": 0.1, "LogitBoost": 0.1}


# --- the example


@pytest.mark.parametrize("name", ["discrete", "discrete, Gini stumps", "real", "gentle", "LogitBoost"])
def test_a_curve_ends_at_the_log_loss_and_error_of_the_whole_model(variants, name):
    X, y, X_test, y_test = next(variants.hastie_splits(1, 300, 200))
    model = variants.VARIANTS[name](12).fit(X, y)
    scores = variants.curve(model, X_test, y_test, 15)
    assert scores.shape == (15, 2)
    assert scores[-1, 0] == pytest.approx(log_loss(y_test, model.predict_proba(X_test)), rel=1e-12)
    assert scores[-1, 1] == pytest.approx(1 - model.score(X_test, y_test))
    assert np.array_equal(scores[11:], np.repeat(scores[11:12], 4, axis=0))  # nothing after the last round
    assert scores[0, 0] > scores[-1, 0]


def test_the_chosen_rounds_are_those_of_the_lowest_loss_over_the_folds(variants):
    class Turning:
        """Gives the right class its highest probability after the third round."""

        def fit(self, X, y):
            return self

        def staged_predict_proba(self, X):
            for right in (0.6, 0.7, 0.9, 0.8, 0.5):
                yield np.stack([1 - right * X[:, 0], right * X[:, 0]], axis=1)

    X, y = np.ones((20, 1)), np.ones(20, np.int64)
    assert variants.choose_rounds(lambda _n: Turning(), X, y, 5) == 3


def test_splits_of_breast_cancer_hold_all_rows_once(variants):
    for X, y, X_test, y_test in variants.cancer_splits(2):
        assert len(X) + len(X_test) == 569
        assert abs(y.mean() - y_test.mean()) < 0.01
    first, second = (split[0] for split in islice(variants.cancer_splits(2), 2))
    assert not np.array_equal(first, second)


def test_the_verdict_follows_the_numbers(variants):
    *_, holds = variants.verdict([results(variants, LOSSES)])
    assert "in 3 of 3 comparisons: in all" in holds
    *_, misses = variants.verdict([results(variants, {**LOSSES, "real": 0.25, "gentle": 0.2})])
    assert "in 1 of 3" in misses
    assert "real on a table (higher), gentle on a table (no different)" in misses


def test_numbers_are_compared_with_the_better_of_the_discrete_variants(variants):
    found = results(variants, LOSSES)
    assert found.best_votes(1) == "discrete, Gini stumps"
    assert found.difference("LogitBoost", 1)[0] == pytest.approx(-0.1)
    turned = results(variants, {**LOSSES, "discrete": 0.05})
    assert turned.best_votes(1) == "discrete"
    assert variants.compare(turned, 1)["real"] == "higher"


def test_variants_at_the_limit_of_the_search_are_named(variants):
    lines = variants.verdict([results(variants, LOSSES)])
    assert "a table, still falling at the limit of 40 rounds: discrete." in lines


def test_the_whole_example_runs_on_a_few_rows(variants):
    console = Console(width=110, record=True, file=io.StringIO())
    data = variants.DataSet("tiny", lambda n: variants.hastie_splits(n, 100, 50), 2, 5)
    with Progress(console=console, disable=True) as bar:
        found = variants.measure(data, (2, 6), bar)
    assert all(scores.shape == (2, 3, 2) for scores in found.scores.values())
    assert all(np.all((chosen >= 1) & (chosen <= 5)) for chosen in found.chosen.values())
    variants.show(found, console)
    text = console.export_text()
    assert text.count("LogitBoost") == 3
    assert f"{found.losses('real', 0).mean():.4f}" in text


# --- the benchmark


FIGURES = {
    "fit_s": 0.5,
    "extra_mb": 5.0,
    "input_mb": 24.0,
    "codes_mb": 3.0,
    "predict_s": 0.01,
    "accuracy": 0.9,
    "log_loss": 0.3,
    "fits": 3.0,
}


def test_repeats_keep_the_best_time_and_the_largest_memory(bench):
    other = {**FIGURES, "fit_s": 0.4, "extra_mb": 4.0, "predict_s": 0.02}
    found = bench.best([FIGURES, other])
    assert found == {**FIGURES, "fit_s": 0.4, "extra_mb": 5.0, "predict_s": 0.01, "fits": 6.0}


def test_targets_are_met_and_missed_at_their_limits(bench):
    slow = {**FIGURES, "fit_s": 50.0, "codes_mb": 0.0}
    cancer = {"peer": {"fit_s": 0.3, "median_s": 0.3}, "ours": {"fit_s": 0.01, "median_s": 0.011}}
    good = bench.target_cells({"t": {"peer": slow, "ours": FIGURES}}, 100, cancer)
    assert [line[-1] for line in good] == ["met", "met", "met", "met", "missed"]
    worse = {**FIGURES, "fit_s": 0.51, "accuracy": 0.8999, "extra_mb": 6.0}
    bad = bench.target_cells({"t": {"peer": slow, "ours": worse}}, 100, cancer)
    assert [line[-1] for line in bad[:3]] == ["missed"] * 3
    alone = bench.target_cells({"t": {"ours": FIGURES}}, 100, cancer)
    assert len(alone) == 3


def test_tables_show_ratios_and_leave_the_peer_out_of_memory(bench):
    measured = {"peer": {**FIGURES, "fit_s": 50.0, "codes_mb": 0.0}, "ours": FIGURES}
    header, cells = bench.speed_cells(measured)
    assert [line[header.index("× faster")] for line in cells] == ["1.0", "100.0"]
    header, cells = bench.memory_cells(measured)
    assert cells == [["Hedgerow AdaBoost", "24.0", "3.0", "5.0", "29.0", "30.0", "met"]]
    _, cells = bench.cancer_cells({"peer": {"fit_s": 0.3, "median_s": 0.4, "fits": 3}})
    assert cells[0][1:] == ["300.0", "1.0", "400.0", "1.0", "3"]


def test_child_processes_make_and_measure_data(bench, tmp_path):
    job = {"folder": str(tmp_path), "rows": 400, "test_rows": 300}
    bench.make_data(bench.Job("data", **job))
    X, y = np.load(tmp_path / "X_train.npy"), np.load(tmp_path / "y_train.npy")
    assert X.shape == (400, bench.N_COLUMNS)
    assert X.dtype == np.float64
    assert set(y.tolist()) == {0, 1}
    figures = bench.measure_table(bench.Job("table", "ours", rounds=5, fits=2, **job))
    assert set(figures) == set(FIGURES)
    assert figures["codes_mb"] == 400 * 30 / 2**20
    assert figures["input_mb"] == 8 * figures["codes_mb"]
    assert 0.5 < figures["accuracy"] <= 1.0
    assert figures["extra_mb"] >= 0.0
    warm = bench.measure_cancer(bench.Job("cancer", "ours", rounds=3, fits=3))
    assert 0.0 < warm["fit_s"] <= warm["median_s"]


@pytest.mark.parametrize("name", ["peer", "ours", "exact", "gini", "real", "gentle", "logit"])
def test_every_method_is_made_with_the_number_of_rounds(bench, name):
    model = bench.METHODS[name].make(7, 2)
    assert model.n_estimators == 7
    assert (bench.METHODS[name].code_bytes == 0) == (name == "peer")


def test_options_set_the_sizes(bench):
    assert bench.parse([]).rows == [100_000, 1_000_000]
    assert bench.parse(["--rows", "2e3"]).rows == [2000]
    quick = bench.parse(["--quick"])
    assert min(quick.rows) <= bench.PEER_ROWS < max(quick.rows)
    assert quick.rounds < 100
