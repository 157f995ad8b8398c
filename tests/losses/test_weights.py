"""An integer weight is that many copies of the row, exactly; a weight of 0 is no row."""

import numpy as np
import pytest

from hedgerow.losses.line_search import leaf_quantile
from loss_cases import MAKERS, leaves, sample

ALL = pytest.mark.parametrize("name", MAKERS)


@ALL
def test_integer_weights_act_exactly_as_copies(name):
    loss, other = MAKERS[name](), MAKERS[name]()
    y, raw = sample(loss, n=300)
    rng = np.random.default_rng(3)
    weight = rng.integers(0, 4, y.size).astype(np.float64)
    order = rng.permutation(np.repeat(np.arange(y.size), weight.astype(int)))
    y2, raw2 = y[order], np.ascontiguousarray(raw[:, order])

    np.testing.assert_array_equal(loss.start(y, weight), other.start(y2, None))
    loss.prepare(y, raw, weight)
    other.prepare(y2, raw2, None)
    assert loss.mean_loss(y, raw, weight) == other.mean_loss(y2, raw2, None)

    rows = rng.permutation(y.size).astype(np.uint32)
    leaf = np.searchsorted([100, 101, 200], np.argsort(rows), side="right")  # of each row
    starts = np.array([0, 100, 101, 200, 300], dtype=np.int64)
    rows2 = np.argsort(leaf[order], kind="stable").astype(np.uint32)
    starts2 = np.concatenate([[0], np.cumsum(np.bincount(leaf[order], minlength=4))])
    for k in range(loss.n_outputs):
        np.testing.assert_array_equal(
            loss.line_search(y, raw, weight, rows, starts, k),
            other.line_search(y2, raw2, None, rows2, starts2, k),
        )
    direction = rng.normal(size=raw.shape)
    along = loss.global_line_search(y, raw, direction, weight)
    assert along == other.global_line_search(y2, raw2, np.ascontiguousarray(direction[:, order]), None)


@ALL
def test_a_leaf_without_weight_or_rows_has_step_zero(name):
    loss = MAKERS[name]()
    y, raw = sample(loss)
    weight = np.ones(y.size)
    rows, _ = leaves(y.size)
    weight[rows[:10]] = 0.0
    starts = np.array([0, 10, 10, y.size], dtype=np.int64)
    for k in range(loss.n_outputs):
        steps = loss.line_search(y, raw, weight, rows, starts, k)
        np.testing.assert_array_equal(steps[:2], 0.0)
        assert steps[2] != 0.0


@ALL
def test_mean_loss_rejects_weights_of_sum_zero(name):
    loss = MAKERS[name]()
    y, raw = sample(loss)
    with pytest.raises(ValueError, match=r"its sum is 0\.0"):
        loss.mean_loss(y, raw, np.zeros(y.size))


@pytest.mark.parametrize("level", [0.01, 0.25, 0.5, 0.9, 0.999])
def test_quantiles_by_weight_equal_a_sort(level):
    rng = np.random.default_rng(4)
    for n in (1, 2, 3, 10, 1000):
        values = rng.integers(-5, 5, n) * 0.5  # many ties
        weight = rng.integers(0, 5, n).astype(np.float64)
        weight[rng.integers(n)] = 1.0
        order = np.argsort(values)
        reached = np.cumsum(weight[order]) >= level * weight.sum()
        starts = np.array([0, n], dtype=np.int64)
        expected = values[order][np.argmax(reached)]
        before = values.copy()
        assert leaf_quantile(values, weight, starts, level)[0] == expected
        copies = np.repeat(values, weight.astype(int))
        starts = np.array([0, copies.size], dtype=np.int64)
        assert leaf_quantile(copies, np.empty(0), starts, level)[0] == expected
        np.testing.assert_array_equal(values, before)


def test_a_median_between_two_rows_is_the_lower_one():
    rng = np.random.default_rng(5)
    for n in (2, 4, 10, 100):
        values, starts = rng.permutation(n) * 1.0, np.array([0, n], dtype=np.int64)
        for weight in (np.empty(0), np.ones(n), np.full(n, 3.0)):
            assert leaf_quantile(values, weight, starts, 0.5)[0] == n / 2 - 1
