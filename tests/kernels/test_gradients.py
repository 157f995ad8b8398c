"""Statistics as integers: scaled by powers of two, rounded, multiplied by copies; 16 bits or about 40."""

import itertools

import numpy as np
import pytest

import oracle
from hedgerow.growing.grower import Quantiser, Weights
from hedgerow.kernels.cpu.gradients import add_leaf_values, largest, pack, spread
from hedgerow.threads import Team
from reference_grower import channels

NO_WEIGHT, NO_COPIES = np.empty(0), np.empty(0, np.int64)


def sample_statistics(n=50, seed=0):
    rng = np.random.default_rng(seed)
    gradient = rng.normal(size=n) * 3
    gradient[:4] = [0.5, 1.5, -0.5, -2.5]  # halves round to even
    return gradient, rng.random(n)


def weightings(n=50):
    rng = np.random.default_rng(1)
    return {
        "none": (NO_WEIGHT, NO_COPIES),
        "weight": (rng.random(n) * (rng.random(n) < 0.8), NO_COPIES),
        "copies": (NO_WEIGHT, rng.integers(0, 5, n)),
    }


def measure(gradient, hessian, weight=None, n_threads=1, chunk_rows=65_536):
    weight = None if weight is None else np.asarray(weight, float)
    weights = Weights.of(weight, len(gradient))
    with Team(n_threads, chunk_rows) as team:
        return Quantiser(weights, len(gradient), team).quantise(
            np.asarray(gradient, float), np.asarray(hessian, float)
        )


@pytest.mark.parametrize("kind", ["none", "weight", "copies"])
@pytest.mark.parametrize(
    ("g_bits", "h_bits", "start", "stop"), [(0, 0, 0, 50), (3, 5, 13, 40), (12, 15, 7, 7), (12, 15, 0, 50)]
)
def test_packed_and_wide_rows_are_those_of_the_oracle(kind, g_bits, h_bits, start, stop):
    gradient, hessian = sample_statistics()
    weight, copies = weightings()[kind]
    expected = oracle.quantised(gradient, hessian, weight, copies, g_bits, h_bits)[start:stop]
    packed, wide = np.full(50, -1), np.full((50, 2), -1)
    arguments = (gradient, hessian, weight, copies, 2.0**g_bits, 2.0**h_bits)
    sum_g, sum_h, least = pack(*arguments, packed, start, stop)
    assert packed[start:stop].tolist() == [g * 2**32 + h for g, h in expected]
    assert spread(*arguments, wide, start, stop) == least
    assert wide[start:stop].tolist() == [list(pair) for pair in expected]
    assert (np.delete(packed, np.s_[start:stop]) == -1).all()  # other rows are left alone
    ones = oracle.quantised(gradient, hessian, weight, NO_COPIES, g_bits, h_bits)[start:stop]
    times = copies[start:stop].tolist() if len(copies) else [1] * len(ones)
    assert sum_g == sum(min(abs(g), 1024) * n for (g, _), n in zip(ones, times, strict=True))
    assert sum_h == sum(min(h, 1024) * n for (_, h), n in zip(ones, times, strict=True))
    each = weight if len(weight) else copies if len(copies) else np.ones(50)
    counted = [h for i, (_, h) in enumerate(ones, start) if each[i]]
    assert least == min(counted, default=1 << 62)


@pytest.mark.parametrize("kind", ["none", "weight", "copies"])
def test_the_largest_magnitudes_are_those_of_rows_with_weight(kind):
    gradient, hessian = sample_statistics()
    weight, copies = weightings()[kind]
    each = weight if len(weight) else np.minimum(copies, 1) if len(copies) else np.ones(50)
    top_g, top_h, bad = largest(gradient, hessian, weight, copies, 5, 45)
    assert top_g == max(abs(gradient * each)[5:45])
    assert top_h == max((hessian * each)[5:45])
    assert bad == 0


@pytest.mark.parametrize("top", [1.0, 1.5, 2.0**-1000, 1e300, 5e-324, 3e-310])
def test_units_use_the_range_and_are_powers_of_two(top):
    measured = measure([top, -top, top], [1.0, 1.0, 1.0])
    gradient, hessian, _ = channels(measured.statistics)
    bits = min(oracle.largest_exponent(top, 15), 1000)
    assert measured.gradient_unit == 2.0**-bits
    assert gradient.tolist() == [round(value * 2.0**bits) for value in (top, -top, top)]
    assert (hessian * measured.hessian_unit).tolist() == [1.0, 1.0, 1.0]
    assert measured.smallest_hessian == hessian[0]


@pytest.mark.parametrize(("n_threads", "chunk_rows"), [(1, 100), (2, 999), (3, 100)])
@pytest.mark.parametrize("heavy", [False, True])
def test_threads_and_chunks_change_nothing(n_threads, chunk_rows, heavy):
    gradient, hessian = sample_statistics(5000)
    gradient[5] *= 1e9 if heavy else 1.0
    expected = measure(gradient, hessian)
    measured = measure(gradient, hessian, None, n_threads, chunk_rows)
    assert len(measured.statistics.packed) == (0 if heavy else 5000)
    assert (channels(measured.statistics) == channels(expected.statistics)).all()
    assert measured.gradient_unit == expected.gradient_unit
    assert measured.smallest_hessian == expected.smallest_hessian


@pytest.mark.parametrize("which", ["gradient", "hessian"])
@pytest.mark.parametrize("n", [100, 3000])
def test_outlier_does_not_round_all_others_to_zero(which, n):
    gradient, hessian = sample_statistics(n)
    (gradient if which == "gradient" else hessian)[17] = 1e6
    measured = measure(gradient, hessian)
    assert len(measured.statistics.packed) == 0
    rounded = channels(measured.statistics)
    for values, whole, unit in [
        (gradient, rounded[0], measured.gradient_unit),
        (hessian, rounded[1], measured.hessian_unit),
    ]:
        assert np.abs(values - whole * unit).max() <= unit / 2
        assert unit <= np.abs(values).max() * 2.0**-39
        assert np.abs(whole).sum() < 2**62


def test_large_integer_weights_are_not_packed_but_keep_their_units():
    gradient, hessian = sample_statistics(40)
    copies = np.arange(1, 41)
    light, heavy = measure(gradient, hessian, copies), measure(gradient, hessian, copies * 1000)
    assert len(light.statistics.packed) == 0  # 2**15 / 40 rows are too few to widen so often
    assert len(measure(gradient, hessian, np.minimum(copies, 32)).statistics.packed) == 40
    assert light.gradient_unit == heavy.gradient_unit
    assert (channels(heavy.statistics) == 1000 * channels(light.statistics)).all()


def test_integer_weight_acts_as_copies_of_the_row():
    gradient, hessian = sample_statistics(60)
    copies = np.random.default_rng(2).integers(0, 4, 60)
    weighted = measure(gradient, hessian, copies)
    repeated = measure(np.repeat(gradient, copies), np.repeat(hessian, copies))
    ones = channels(measure(gradient, hessian).statistics)
    assert (channels(weighted.statistics) == ones * copies).all()
    assert (
        channels(weighted.statistics).sum(axis=1).tolist()
        == channels(repeated.statistics).sum(axis=1).tolist()
    )
    for name in ("gradient_unit", "hessian_unit", "smallest_hessian"):
        assert getattr(weighted, name) == getattr(repeated, name)


@pytest.mark.parametrize("others", [np.ones(39), np.linspace(0.5, 1.5, 39)])
def test_rows_without_weight_do_not_count(others):
    gradient, hessian = sample_statistics(40)
    expected = measure(gradient[1:], hessian[1:], others)
    gradient[0], hessian[0] = 1e200, 0.0
    weight = np.r_[0.0, others]
    measured = measure(gradient, hessian, weight)
    assert (channels(measured.statistics)[:, 1:] == channels(expected.statistics)).all()
    assert channels(measured.statistics)[:2, 0].tolist() == [0, 0]
    assert measured.smallest_hessian == expected.smallest_hessian


def test_no_gradient_and_no_hessian():
    measured = measure(np.zeros(5), np.zeros(5))
    assert (channels(measured.statistics)[:2] == 0).all()
    assert measured.smallest_hessian == 0


@pytest.mark.parametrize(
    ("gradient", "hessian"), [(np.nan, 1.0), (np.inf, 1.0), (0.0, np.nan), (0.0, np.inf), (0.0, -1e-9)]
)
def test_statistics_that_are_not_finite_are_rejected(gradient, hessian):
    with pytest.raises(FloatingPointError, match="not finite"):
        measure([1.0, gradient, 1.0], [1.0, hessian, 1.0])


@pytest.mark.parametrize(
    ("weight", "kind", "rows"),
    [(None, "none", [0, 1, 2]), ([1, 1, 1], "none", [0, 1, 2]), ([2, 0, 1], "copies", [0, 2]),
     ([0.5, 0, 1], "weight", [0, 2]), ([2.0**40, 1, 1], "weight", [0, 1, 2])],
)  # fmt: skip
def test_weights_that_are_whole_numbers_are_copies(weight, kind, rows):
    weights = Weights.of(None if weight is None else np.asarray(weight, float), 3)
    assert ("copies" if weights.copies.size else "weight" if weights.weight.size else "none") == kind
    assert weights.rows.tolist() == rows
    held = Weights.of(None if weight is None else np.asarray(weight, float), 3, np.array([2], np.uint32))
    assert held.rows.tolist() == [row for row in rows if row != 2]


def test_leaf_values_are_added_to_the_rows_of_their_leaves():
    rows, starts = np.array([4, 0, 2, 3, 1], np.uint32), np.array([0, 2, 2, 5])
    values = np.array([1.0, 100.0, 10.0])
    for cuts in ([0, 5], [0, 1, 2, 3, 5], [0, 2, 5]):
        scores = np.zeros(5)
        for start, stop in itertools.pairwise(cuts):
            add_leaf_values(scores, rows, starts, values, start, stop)
        assert scores.tolist() == [1.0, 10.0, 10.0, 10.0, 1.0]
