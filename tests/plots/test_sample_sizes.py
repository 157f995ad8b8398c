"""Error against the number of rows: measured values, lines, and rejected inputs."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from hedgerow import AdaBoostClassifier, DecisionTreeClassifier
from hedgerow.datasets import make_hastie
from hedgerow.plots.sample_sizes import SampleSizeDisplay
from hedgerow.theory.class_bounds import growth_bound, stump_bound, vc_bound
from hedgerow.theory.growth import boosted_vc_dimension, stump_vc_dimension
from hedgerow.theory.resamples import seeds_of
from plot_cases import legend, lines, notes, overlaps

TEST = make_hastie(1000, 3, random_state=12345)
BOOSTED = AdaBoostClassifier(n_estimators=6)


def sampler(n_rows, seed):
    return make_hastie(n_rows, 3, random_state=seed)


def draw(estimator=BOOSTED, sampler=sampler, sizes=(40, 80), test=TEST, **options):
    return SampleSizeDisplay.from_estimator(
        estimator, sampler, sizes, test=test, **{"n_repeats": 3} | options
    )


def test_errors_are_those_of_models_fitted_to_the_samples():
    display = draw(sizes=[80, 40], random_state=7)
    assert display.sizes == [40, 80]
    assert display.test_error.shape == (2, 3)
    for number, size in enumerate(display.sizes):
        for repeat in range(3):
            X, y = sampler(size, seeds_of(7, repeat)[0])
            model = AdaBoostClassifier(n_estimators=6).fit(X, y)
            assert display.train_error[number, repeat] == pytest.approx(1 - model.score(X, y))
            assert display.test_error[number, repeat] == pytest.approx(1 - model.score(*TEST))
    assert display.n_test == 1000
    assert display.chance == pytest.approx(min(np.mean(TEST[1] == 1), np.mean(TEST[1] == -1)))


def test_bounds_are_those_of_votes_of_stumps():
    display = draw(sizes=[100, 1000], delta=0.01)
    assert list(display.bounds) == ["vc", "growth", "stumps"]
    d = stump_vc_dimension(3)
    for number, m in enumerate([100, 1000]):
        added = {
            "vc": vc_bound(m, boosted_vc_dimension(6, max(3, d)), 0.01),
            "growth": growth_bound(m, d, 6, 0.01),
            "stumps": stump_bound(m, 3, 6, 0.01),
        }
        for name, more in added.items():
            np.testing.assert_allclose(display.bounds[name][number], display.train_error[number] + more)
    assert list(draw(bounds="stumps").bounds) == ["stumps"]
    assert draw(bounds=None).bounds == {}


def test_lines_are_means_with_bands_from_smallest_to_largest():
    display = draw(bounds=["stumps"])
    drawn = lines(display)
    assert list(drawn) == ["test error", "training error", "bound by number of stumps"]
    np.testing.assert_allclose(drawn["test error"].get_xdata(), [40, 80])
    np.testing.assert_allclose(drawn["test error"].get_ydata(), display.test_error.mean(axis=1))
    np.testing.assert_allclose(
        drawn["bound by number of stumps"].get_ydata(), display.bounds["stumps"].mean(axis=1)
    )
    heights = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(display.test_error.min())
    assert heights.max() == pytest.approx(display.test_error.max())
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "log")


def test_area_above_chance_is_grey():
    display = draw()
    (chance,) = [line for line in display.ax_.lines if list(line.get_ydata()) == [display.chance] * 2]
    assert chance.get_linestyle() == "--"
    (area,) = display.ax_.patches
    assert area.get_y() == pytest.approx(display.chance)
    assert area.get_y() + area.get_height() == pytest.approx(display.ax_.get_ylim()[1])
    assert legend(display)[-1] == f"vacuous: above chance, {100 * display.chance:.1f} %"


def test_measures_receive_the_model_and_its_training_set():
    recorded = []

    def rows(model, X, y):
        recorded.append((model, X, y))
        return len(y) / 1000

    display = draw(GaussianNB(), measures={"rows": rows, "one": lambda *_: 1})
    np.testing.assert_allclose(display.measures["rows"], [[0.04] * 3, [0.08] * 3])
    np.testing.assert_allclose(lines(display)["one"].get_ydata(), [1, 1])
    model, X, y = recorded[0]
    expected = sampler(40, seeds_of(0, 0)[0])
    np.testing.assert_array_equal(X, expected[0])
    np.testing.assert_array_equal(model.theta_, GaussianNB().fit(X, y).theta_)


def test_an_error_of_zero_is_drawn_at_the_lower_end():
    display = draw(DecisionTreeClassifier(max_depth=30), sizes=[20, 40])
    assert np.all(display.train_error == 0)
    assert display.bounds == {}
    zero = display.ax_.get_ylim()[0]
    np.testing.assert_allclose(lines(display)["training error"].get_ydata(), [zero, zero])
    assert zero < display.test_error.min()
    assert notes(display) == ["0"]


def test_rows_of_a_data_set_are_drawn_without_replacement():
    recorded = []
    X, y = make_hastie(100, 3, random_state=0)

    def keep(_, X, y):
        recorded.append((X, y))
        return 0.1

    draw(GaussianNB(), (pd.DataFrame(X, columns=list("abc")), y), [20, 99], measures={"keep": keep},
         test=(pd.DataFrame(TEST[0], columns=list("abc")), TEST[1]))  # fmt: skip
    assert [len(labels) for _, labels in recorded] == [20] * 3 + [99] * 3
    assert all(len(np.unique(rows["a"])) == len(labels) for rows, labels in recorded)
    with pytest.raises(ValueError, match="sizes holds 100, but the sampler is a data set of 100 rows"):
        draw(GaussianNB(), (X, y), [100])


def test_training_sets_do_not_depend_on_the_number_of_repeats():
    few, many = draw(n_repeats=2, random_state=3), draw(n_repeats=3, random_state=3)
    np.testing.assert_array_equal(few.test_error, many.test_error[:, :2])


@pytest.mark.parametrize("sizes", [[30], [10, 20, 40]])
def test_legend_ticks_and_labels_do_not_overlap(sizes):
    assert overlaps(draw(sizes=sizes)) == []


# --- errors


def test_inapplicable_bounds_are_rejected_before_the_first_fit():
    def never(_n_rows, _seed):
        raise AssertionError

    with pytest.raises(ValueError, match=r"the bound 'vc' does not apply: .*GaussianNB is not an AdaBoost"):
        draw(GaussianNB(), never, bounds="vc")
    three = (TEST[0], np.arange(1000) % 3)
    with pytest.raises(ValueError, match=r"the bound 'stumps' does not apply: .* and there are 3"):
        draw(BOOSTED, never, bounds=["stumps"], test=three)
    with pytest.raises(
        ValueError, match=r"bounds='training' is not allowed: it must be None, 'all', or some of 'vc'"
    ):
        draw(BOOSTED, never, bounds="training")


def test_bounds_for_categories_are_rejected():
    def colours(n_rows, seed):
        X, y = sampler(n_rows, seed)
        return pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.where(X[:, 1] > 0, "red", "blue"))}), y

    with pytest.raises(ValueError, match=r"the bound 'vc' does not apply: .*column 'b' is categorical"):
        draw(BOOSTED, colours, test=colours(1000, 5), bounds="vc")
    assert draw(BOOSTED, colours, test=colours(1000, 5)).bounds == {}


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("sizes", ([], [1], [40.0], 40, "40", [True], [[40]]), "it must hold one or more integers >= 2"),
        ("measures", (3, {"a": 3}, {1: len}, [len]), "it must be a dict from names to callables"),
        ("delta", (0, 1.5), "it must be"),
        ("n_repeats", (0,), "it must be"),
        ("random_state", (-1,), "it must be"),
    ],
)
def test_invalid_parameters_are_rejected(name, values, message):
    for value in values:
        with pytest.raises(ValueError, match=f"{name}=.* is not allowed: {message}"):
            draw(**{name: value})


def test_messages_name_the_estimator_measure_or_sampler_that_fails():
    with pytest.raises(
        ValueError, match=r"estimator=LinearRegression.* is not allowed: it must be a classifier"
    ):
        draw(LinearRegression())
    with pytest.raises(ValueError, match=r"measures\['x'\] returned nan: it must return a finite"):
        draw(GaussianNB(), measures={"x": lambda *_: np.nan})
    with pytest.raises(ValueError, match="the training set of 40 rows, repeat 0, has 41 rows"):
        draw(sampler=lambda n_rows, seed: sampler(n_rows + 1, seed))
    with pytest.raises(
        ValueError, match="test has 3 columns, but the training set of 40 rows, repeat 0, has 4"
    ):
        draw(sampler=lambda n_rows, seed: make_hastie(n_rows, 4, random_state=seed))
    with pytest.raises(ValueError, match="failed on 40 rows, repeat 0: y holds one class only"):
        draw(sampler=lambda n_rows, seed: (sampler(n_rows, seed)[0], np.ones(n_rows, dtype=int)))
    with pytest.raises(TypeError, match=r"test must be a pair \(X, y\); got int"):
        draw(test=3)
