"""The bars of bias and variance, and the example that draws them."""

import importlib.util
import itertools
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from bias_variance_cases import NUMBERS_TEST, draw_numbers, draw_two
from hedgerow import AdaBoostClassifier, BaggingClassifier
from hedgerow.plots.bias_variance import BiasVarianceDisplay
from hedgerow.theory import bias_variance

EXAMPLE = Path(__file__).parents[2] / "examples" / "bias_variance.py"
TWO_TEST = draw_two(10**6)


@pytest.fixture
def example():
    spec = importlib.util.spec_from_file_location("example_bias_variance", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def bars(display):
    return [(patch.get_x(), patch.get_y(), patch.get_height()) for patch in display.ax_.patches]


def test_bars_stand_on_one_another_and_reach_the_error():
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
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["line", "nearest"]
    assert [text.get_text() for text in display.ax_.texts] == [f"{r.error:.2f}" for r in display.results]


def test_biased_variance_is_taken_off_the_top():
    result = bias_variance(GaussianNB(), draw_two, test=TWO_TEST, n_repeats=10, random_state=0)
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
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == [
        "bias and noise",
        "unbiased variance",
        "biased variance (subtracted)",
        "error",
    ]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["Gaussian\nNB"]


def test_names_and_legend_do_not_overlap():
    result = bias_variance(GaussianNB(), draw_two, test=TWO_TEST, n_repeats=4, random_state=0)
    names = ["bagged deep trees", "AnUnbrokenNameOfManyLetters", "stump", "boosted stumps", "random forest"]
    display = BiasVarianceDisplay.from_results(dict.fromkeys(names, result))
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.get_xticklabels()]
    boxes.append(display.ax_.get_legend().get_window_extent())
    assert not [1 for one, two in itertools.combinations(boxes, 2) if one.overlaps(two)]


def test_a_display_needs_results_of_one_kind():
    with pytest.raises(ValueError, match=r"results=\[\] is not allowed"):
        BiasVarianceDisplay.from_results([])
    one = bias_variance(GaussianNB(), draw_two, test=TWO_TEST, n_repeats=3)
    two = bias_variance(GaussianNB(), draw_two, test=TWO_TEST, n_repeats=3, loss="brier")
    with pytest.raises(
        ValueError, match=r"results are of different kinds \(brier: bias² and noise, variance; "
    ):
        BiasVarianceDisplay.from_results([one, two])


# --- the example


def test_the_example_prints_a_table_a_verdict_and_draws(example, tmp_path, capsys):
    picture = tmp_path / "bars.png"
    sizes = {"--repeats": 3, "--rows": 60, "--points": 40, "--members": 3, "--rounds": 5}
    example.main([str(picture), *(str(word) for pair in sizes.items() for word in pair)])
    out = capsys.readouterr().out
    assert picture.stat().st_size > 10_000
    for words in ("two classes: zero-one loss, 3 training sets, 40 test points", "regression: squared loss"):
        assert words in out
    for words in ("bagged deep trees against deep tree: bias ", "boosted stumps against stump: bias "):
        assert out.count(words) == 2
    with pytest.raises(SystemExit):
        example.main(["--repeats", "1"])
    assert "--repeats: a variance needs at least 2" in capsys.readouterr().err


def test_the_verdict_follows_the_figures(example):
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


def test_bias_and_variance_are_drawn_from_estimators_as_from_results():
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = (X[:, 0] > 0).astype(int)
    models = [AdaBoostClassifier(n_estimators=2), BaggingClassifier(n_estimators=2, random_state=0)]
    sampler, test = (X[:60], y[:60]), (X[60:], y[60:])
    display = BiasVarianceDisplay.from_estimators(models, sampler, test=test, n_repeats=4)
    assert len(display.results) == 2
