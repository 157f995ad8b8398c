"""The distribution over the rows: integers of sum 2**61 for any weights; rows drawn by it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hedgerow.boosting.weak_learners import RowWeights, draw_sample
from hedgerow.threads import Team

WHOLE = 2**61
ONE = Team(1)


def row_weights(sample_weight=None, n_rows=None, validation_rows=None, team=ONE):
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight, np.float64)
        n_rows = len(sample_weight)
    return RowWeights(sample_weight, n_rows, validation_rows, team)


def assert_proportional(rounded, weight):
    """The integers are the weights to rounding, and sum to nearly 2**61."""
    total = sum(map(Fraction, weight.tolist()))
    assert abs(int(rounded.sum()) - WHOLE) < WHOLE * 2**-20
    for whole, one in zip(rounded.tolist(), weight.tolist(), strict=True):
        expected = Fraction(one) * WHOLE / total
        assert abs(whole - expected) <= expected * Fraction(1, 2**20) + 1


# --- distributions


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7, 1000])
def test_without_weights_all_rows_have_the_same_weight(n_rows):
    rounded = row_weights(n_rows=n_rows).initial_distribution().rounded
    assert len(set(rounded.tolist())) == 1
    assert abs(int(rounded[0]) * n_rows - WHOLE) <= n_rows * 2**8


@pytest.mark.parametrize(
    "weight",
    [
        np.random.default_rng(0).exponential(size=500),
        np.random.default_rng(1).random(500) ** 40,  # most of them are next to nothing
        np.full(7, 1e-3),
        np.array([1.5, 1e15, 2.5]),
        np.array([0.5]),
    ],
)
def test_integers_are_the_weights_in_proportion(weight):
    assert_proportional(row_weights(weight).initial_distribution().rounded, weight)


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-20, 1e20, 1e300, 1.7e308 / 2.5])
def test_only_the_shares_of_weights_matter(scale):
    weight = np.array([0.5, 1.0, 2.5, 1.25])
    rounded = row_weights(weight * scale).initial_distribution().rounded
    assert_proportional(rounded, weight)


def test_a_power_of_two_changes_no_bit():
    weight = np.random.default_rng(2).exponential(size=300)
    first = row_weights(weight).initial_distribution().rounded
    for power in (-900, -3, 1, 700):
        assert row_weights(np.ldexp(weight, power)).initial_distribution().rounded.tolist() == first.tolist()


def test_a_positive_weight_is_never_zero():
    weight = np.array([1.0, 1e-30, 5e-324, 0.0, 0.25])
    rounded = row_weights(weight).initial_distribution().rounded
    assert (rounded[[1, 2]] == 1).all()
    assert rounded[3] == 0
    other = row_weights(n_rows=3).distribution(np.array([1.0, 1e-200, 0.0])).rounded
    assert other.tolist()[1:] == [1, 0]
    far = np.array([[-1e9, 1e9, 1e9, 0.0, 0.0]])  # and a huge margin
    made, _ = row_weights(weight).exponential_distribution(far, np.array([1, 1, 1, 1, 1], np.int32), 2.0)
    assert made.rounded.tolist()[1:3] == [1, 1]


def test_rows_that_are_not_trained_on_have_weight_zero():
    weights = row_weights([1.0, 0.0, 2.5, 3.0], validation_rows=np.array([3], np.uint32))
    assert weights.initial_distribution().rounded.tolist()[1::2] == [0, 0]
    assert weights.rows.tolist() == [0, 2]
    assert weights.n_copies == 2
    assert weights.normalized(weights.factor).tolist() == [1 / 3.5, 0.0, 2.5 / 3.5, 0.0]
    raw = np.array([[0.3, 5.0, -0.2, 1.0]])
    u, _ = weights.exponential(raw, np.array([1, 0, 1, 0], np.int32), 2.0)
    assert (u[[1, 3]] == 0).all()


def many_weights(rng, n_rows):
    """As boosting makes them: of all sizes."""
    return np.exp(rng.normal(size=n_rows) * 5)


@pytest.mark.parametrize("n_rows", [5, 1001, 70_001])
def test_the_order_of_the_rows_does_not_matter(n_rows):
    rng = np.random.default_rng(3)
    weight = many_weights(rng, n_rows)
    first = row_weights(n_rows=n_rows).distribution(weight).rounded
    for _ in range(5):
        order = rng.permutation(n_rows)
        moved = row_weights(n_rows=n_rows).distribution(weight[order]).rounded
        assert moved.tolist() == first[order].tolist()


@pytest.mark.parametrize("n_rows", [5, 1000, 40_000])
def test_a_whole_weight_is_so_many_copies(n_rows):
    rng = np.random.default_rng(4)
    copies, weight = rng.integers(0, 5, n_rows), many_weights(rng, n_rows)
    copies[:2] = 2, 0
    target = rng.uniform(-3, 3, n_rows)
    once, repeated = row_weights(copies), row_weights(n_rows=int(copies.sum()))
    weight[copies == 0] = 0.0
    one, other = once.distribution(weight), repeated.distribution(np.repeat(weight, copies))
    used = copies > 0
    assert (one.rounded[used] % copies[used] == 0).all()
    assert one.rounded[~used].sum() == 0
    per_copy = one.rounded[used] // copies[used]
    assert np.repeat(per_copy, copies[used]).tolist() == other.rounded.tolist()
    assert once.n_copies == repeated.n_copies
    pairs = zip(
        once.moments(weight, target, 3.0),
        repeated.moments(np.repeat(weight, copies), np.repeat(target, copies), 3.0),
        strict=True,
    )
    for whole, many in pairs:
        per_copy = whole[used] // copies[used]
        assert np.repeat(per_copy, copies[used]).tolist() == many.tolist()


@pytest.mark.parametrize("sample_weight", [None, "whole", "real"])
def test_threads_and_chunks_do_not_matter(sample_weight):
    rng, n_rows = np.random.default_rng(5), 100_000
    kinds = {"whole": rng.integers(0, 4, n_rows).astype(float), "real": rng.exponential(size=n_rows)}
    raw, classes = rng.normal(size=(1, n_rows)) * 3, rng.integers(0, 2, n_rows).astype(np.int32)
    found = set()
    for n_threads, chunk_rows in ((1, 65_536), (2, 1000), (4, 4096)):
        with Team(n_threads, chunk_rows) as team:
            weights = row_weights(kinds.get(sample_weight), n_rows, team=team)
            weight, shift = weights.exponential(raw, classes, 2.0)
            made = weights.distribution(weight)
            arrays = (
                weight,
                made.rounded,
                *weights.moments(weight, raw[0], 20.0),
                weights.normalized(weight),
            )
            found.add((shift, made.total, b"".join(array.tobytes() for array in arrays)))
    assert len(found) == 1


def test_sums_are_those_of_exact_fractions():
    rng = np.random.default_rng(6)
    for n_rows in (1, 3, 4, 5, 333):
        weight, copies = many_weights(rng, n_rows), rng.integers(1, 6, n_rows)
        exact = sum(map(Fraction, weight.tolist()))
        assert row_weights(n_rows=n_rows).sum(weight) == float(exact)
        copied = sum(n * Fraction(w) for n, w in zip(copies.tolist(), weight.tolist(), strict=True))
        assert row_weights(copies).sum(weight) == pytest.approx(float(copied), rel=1e-15)


def test_distribution_rejects_weights_beyond_float64():
    weights = row_weights(n_rows=2)
    for bad in (np.array([np.inf, 1.0]), np.array([np.nan, 1.0]), np.zeros(2)):
        with pytest.raises(FloatingPointError, match="sum to"):
            weights.distribution(bad)


# --- moments


@pytest.mark.parametrize("sample_weight", [None, "whole", "real"])
def test_moments_are_weights_and_weighted_targets(sample_weight):
    rng, n_rows = np.random.default_rng(7), 400
    given = {"whole": rng.integers(1, 4, n_rows), "real": rng.exponential(size=n_rows)}.get(sample_weight)
    weights = row_weights(given, n_rows)
    target = rng.normal(size=n_rows)
    largest = float(np.abs(target).max())
    first, second = weights.moments(weights.factor, target, largest)
    assert first.tolist() == weights.initial_distribution().rounded.tolist()
    assert (np.abs(second) <= first).all()
    for h, g, t in zip(first.tolist(), second.tolist(), target.tolist(), strict=True):
        assert abs(g - h * Fraction(t) / Fraction(largest)) <= 1 + h * Fraction(1, 2**50)


def test_moments_of_a_target_that_is_zero():
    first, second = row_weights(n_rows=3).moments(np.ones(3), np.zeros(3), 0.0)
    assert (first > 0).all()
    assert second.tolist() == [0, 0, 0]


# --- exponential weights


@pytest.mark.parametrize("steepness", [0.5, 1.0, 2.0])
def test_weights_of_two_classes_depend_on_the_margin(steepness):
    rng = np.random.default_rng(8)
    raw, classes = rng.normal(size=(1, 200)) * 4, rng.integers(0, 2, 200).astype(np.int32)
    weight, shift = row_weights(n_rows=200).exponential(raw, classes, steepness)
    exponents = [
        -steepness * (1 if k else -1) * f / 2 for k, f in zip(classes.tolist(), raw[0].tolist(), strict=True)
    ]
    assert shift == max(exponents)
    assert weight.tolist() == pytest.approx([math.exp(e - shift) for e in exponents], rel=1e-14)
    assert weight.max() == 1.0


def test_weights_of_several_classes_depend_on_the_score_of_the_label():
    rng = np.random.default_rng(9)
    raw, classes = rng.normal(size=(4, 100)), rng.integers(0, 4, 100).astype(np.int32)
    factor = rng.exponential(size=100)
    weight, shift = row_weights(factor).exponential(raw, classes, 1.5)
    expected = factor * np.exp(-1.5 * raw[classes, np.arange(100)] - shift)
    assert (weight / weight.sum()).tolist() == pytest.approx((expected / expected.sum()).tolist(), rel=1e-13)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_distribution_in_one_call_is_that_of_two(n_outputs):
    rng = np.random.default_rng(10)
    raw = rng.normal(size=(n_outputs, 501)) * 10
    classes = rng.integers(0, max(2, n_outputs), 501).astype(np.int32)
    for given in (None, rng.integers(0, 3, 501), rng.exponential(size=501)):
        weights = row_weights(given, 501)
        made, shift = weights.exponential_distribution(raw, classes, 2.0)
        weight, other_shift = weights.exponential(raw, classes, 2.0)
        again = weights.distribution(weight)
        assert (shift, made.total) == (other_shift, again.total)
        assert made.weight.tobytes() == weight.tobytes()
        assert made.rounded.tolist() == again.rounded.tolist()


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("height", [1e3, 1e4, 1e6])
def test_scores_of_any_size_leave_a_distribution(n_outputs, height):
    raw = np.zeros((n_outputs, 5))
    raw[0] = [height, -height, 0.0, height, -height]
    classes = np.array([0, 0, 0, 1, 1], np.int32)
    for given in (None, [1, 2, 3, 1, 1], [0.5, 1.5, 1.0, 1.0, 2.5]):
        weights = row_weights(given, 5)
        weight, shift = weights.exponential(raw, classes, 2.0)
        assert shift == (height if n_outputs == 1 else 2 * height)
        assert np.isfinite(weight).all()
        rounded = weights.distribution(weight).rounded
        assert (rounded > 0).all()
        worst = [0, 4] if n_outputs == 1 else [1]
        share = weights.sample_weight[worst] / weights.sample_weight[worst].sum()
        assert (rounded[worst] / rounded.sum()).tolist() == pytest.approx(share.tolist(), rel=1e-6)


def test_rows_of_weight_zero_may_have_any_score():
    raw = np.array([[-1e4, 1e4, -1e4, 1e300]])
    classes = np.zeros(4, np.int32)
    for given in ([1.0, 0.0, 2.5, 0.0], [1, 0, 2, 0]):
        weights = row_weights(given)
        weight, shift = weights.exponential(raw, classes, 2.0)
        assert shift == -1e4
        assert (weight[[1, 3]] == 0).all()
        assert (
            weights.distribution(weight).rounded.tolist() == weights.initial_distribution().rounded.tolist()
        )
        made, _ = weights.exponential_distribution(raw, classes, 2.0)
        assert made.rounded.tolist() == weights.initial_distribution().rounded.tolist()


# --- drawing


def test_rows_are_drawn_by_their_weights():
    rng = np.random.default_rng(11)
    weight = rng.exponential(size=40)
    weight[[0, 7, 39]] = 0.0
    rounded = row_weights(weight).initial_distribution().rounded
    drawn = draw_sample(rounded, 100_000, 3, 5)
    counts = np.bincount(drawn, minlength=40)
    assert len(counts) == 40
    assert (counts[[0, 7, 39]] == 0).all()
    kept = weight > 0
    expected = rounded[kept] / rounded.sum() * 100_000
    assert stats.chisquare(counts[kept], expected).pvalue > 1e-4


def test_draws_are_a_function_of_seed_and_number():
    rounded = row_weights(n_rows=50).initial_distribution().rounded
    first = draw_sample(rounded, 200, 1, 2)
    assert draw_sample(rounded, 200, 1, 2).tolist() == first.tolist()
    assert draw_sample(rounded, 500, 1, 2)[:200].tolist() == first.tolist()
    others = [draw_sample(rounded, 200, *key) for key in ((1, 3), (2, 2), (2**62, 2), (1, 2**40))]
    assert all(other.tolist() != first.tolist() for other in others)


def test_zero_weights_are_never_drawn_and_a_single_one_always():
    rounded = np.zeros(9, np.int64)
    rounded[4] = WHOLE
    assert set(draw_sample(rounded, 1000, 0, 0).tolist()) == {4}
    rounded[[0, 8]] = 1  # of so little weight that no draw finds them
    assert set(draw_sample(rounded, 1000, 0, 0).tolist()) == {4}
    ends = np.array([0, 3, 0, 0, 2, 0], np.int64)
    assert set(draw_sample(ends, 1000, 0, 1).tolist()) == {1, 4}


def test_what_is_drawn_does_not_depend_on_rows_without_weight():
    weight = np.array([3.0, 0.0, 1.5, 2.0, 0.0])
    kept = weight > 0
    all_rows = draw_sample(row_weights(weight).initial_distribution().rounded, 300, 4, 4)
    some = draw_sample(row_weights(weight[kept]).initial_distribution().rounded, 300, 4, 4)
    assert all_rows.tolist() == np.flatnonzero(kept)[some].tolist()
