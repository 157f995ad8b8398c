"""Bars of bias and variance, and the example that draws them."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from bias_variance_cases import NUMBERS_TEST, draw_numbers, draw_two
from hedgerow.plots.bias_variance import BiasVarianceDisplay
from hedgerow.theory import bias_variance
from plot_cases import legend, notes, texts
from scripts import load_script

TWO_TEST = draw_two(10**6)


@pytest.fixture
def example():
    return load_script("examples/bias_variance.py")


def bars(display):
    return [(patch.get_x(), patch.get_y(), patch.get_height()) for patch in display.ax_.patches]


def test_bars_are_stacked_up_to_the_error():
    display = BiasVarianceDisplay.from_estimators(
        {"line": LinearRegression(), "nearest": KNeighborsRegressor(1)},
        draw_numbers,
        test=NUMBERS_TEST,
        noise=1.0,
        n_repeats=10,
    )
    line, nearest = display.results
    assert line.seed == nearest.seed
    heights = np.array(bars(display)).reshape(2, 3, 3)[:, :, 1:]
    for (noise, bias, variance), result in zip(heights, display.results, strict=True):
        np.testing.assert_allclose(noise, [0, 1])
        np.testing.assert_allclose(bias, [1, max(result.bias, 0)])
        np.testing.assert_allclose(variance.sum(), result.error, atol=2 * max(-result.bias, 0) + 1e-12)
    assert texts(display.ax_.get_xticklabels()) == ["line", "nearest"]
    assert notes(display) == [f"{r.error:.2f}" for r in display.results]


@pytest.fixture(scope="module")
def result():
    return bias_variance(GaussianNB(), draw_two, test=TWO_TEST, n_repeats=10, random_state=0)


def test_biased_variance_is_subtracted(result):
    figure, ax = plt.subplots()
    display = BiasVarianceDisplay.from_results([result], ax=ax)
    assert display.figure_ is figure
    assert display.ax_ is ax
    bias, unbiased, biased = bars(display)
    assert result.biased_variance > 0
    assert biased[2] == pytest.approx(result.biased_variance)
    assert biased[1] == pytest.approx(result.error)
    assert unbiased[1] + unbiased[2] == pytest.approx(biased[1] + biased[2])
    (line,) = ax.lines
    assert line.get_ydata()[0] == result.error
    assert bias[1] == 0
    assert legend(display) == ["bias and noise", "unbiased variance", "biased variance (subtracted)", "error"]
    assert texts(ax.get_xticklabels()) == ["Gaussian\nNB"]


def test_names_and_legend_do_not_overlap(result):
    names = ["bagged deep trees", "AnUnbrokenNameOfManyLetters", "stump", "boosted stumps", "random forest"]
    display = BiasVarianceDisplay.from_results(dict.fromkeys(names, result))
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.get_xticklabels()]
    boxes.append(display.ax_.get_legend().get_window_extent())
    assert not [1 for one, two in itertools.combinations(boxes, 2) if one.overlaps(two)]


def test_results_must_be_of_one_kind(result):
    with pytest.raises(ValueError, match=r"results=\[\] is not allowed"):
        BiasVarianceDisplay.from_results([])
    other = bias_variance(GaussianNB(), draw_two, test=TWO_TEST, n_repeats=3, loss="brier")
    with pytest.raises(ValueError, match=r"of different kinds \(brier: bias² and noise, variance; "):
        BiasVarianceDisplay.from_results([result, other])


# --- the example


def test_example_prints_tables_and_draws(example, tmp_path, capsys):
    picture = tmp_path / "bars.png"
    sizes = {"--repeats": 3, "--rows": 60, "--points": 40, "--members": 3, "--rounds": 5}
    example.main([str(picture), *(str(word) for pair in sizes.items() for word in pair)])
    out = capsys.readouterr().out
    assert picture.stat().st_size > 10_000
    for line in ("two classes: zero-one loss, 3 training sets, 40 test points", "regression: squared loss"):
        assert line in out
    for line in ("bagged deep trees against deep tree: bias ", "boosted stumps against stump: bias "):
        assert out.count(line) == 2
    with pytest.raises(SystemExit):
        example.main(["--repeats", "1"])
    assert "--repeats: a variance requires at least 2" in capsys.readouterr().err


def test_verdict_follows_the_numbers(example):
    options = {"test": NUMBERS_TEST, "noise": 1.0, "random_state": 0, "n_repeats": 30}
    near, far, line = (
        bias_variance(one, draw_numbers, **options)
        for one in (KNeighborsRegressor(1), KNeighborsRegressor(20), LinearRegression())
    )
    assert example.change(far, near, "variance").startswith("variance lower, ")
    assert example.change(near, far, "variance").startswith("variance higher, ")
    assert example.change(line, line, "bias").startswith("bias no different, ")
    before, after = f"{near.variance:.3f}", f"{far.variance:.3f}"
    assert f"{before} → {after} (−" in example.change(far, near, "variance")


def test_estimators_without_names_are_named_after_their_classes():
    display = BiasVarianceDisplay.from_estimators(
        [LinearRegression(), KNeighborsRegressor(1)], draw_numbers, test=NUMBERS_TEST, n_repeats=4
    )
    assert display.names == ["Linear Regression", "KNeighbors Regressor"]
