"""Randomness is a hash: the same number for the same key, in any order."""

import numpy as np
import pytest

import oracle
from hedgerow.kernels.cpu import random
from hedgerow.kernels.cpu.random import choose_columns, draw, draw_row_range, draw_rows, sample_rows

PURPOSES = [value for name, value in vars(random).items() if name.isupper() and not name.startswith("_")]


def sampled(fraction, seed, first, start, stop):
    out = np.empty(stop - start, np.uint32)
    return out[: sample_rows(fraction, seed, random.ROW_SAMPLE, first, start, stop, out)].tolist()


@pytest.mark.parametrize(("seed", "purpose"), [(0, 1), (1, 2), (2**31, 5), (2**62, 31)])
def test_draws_are_those_of_the_oracle(seed, purpose):
    for first in (0, 1, 7 * 2**32 + 5):
        for second in (0, 1, 2**32 - 1):
            assert int(draw(seed, purpose, first, second)) == oracle.draw(seed, purpose, first, second)


def test_a_few_draws_never_change():
    """Models must stay the same from release to release."""
    assert int(draw(0, random.ROW_SAMPLE, 0, 0)) == 1627908640410884259
    assert int(draw(42, random.NODE_COLUMNS, 3, 4)) == 733812992230824896


def test_the_finaliser_is_the_published_one():
    # SplitMix64 started at 1234567 gives these numbers (the test vector of its Java and C versions)
    state, golden = 1234567, oracle.GOLDEN
    numbers = [oracle.mix((state + golden * k) & oracle.MASK) for k in (1, 2, 3)]
    assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_purposes_share_no_numbers():
    draws = {int(draw(5, purpose, 0, row)) for purpose in PURPOSES for row in range(200)}
    assert len(set(PURPOSES)) == len(PURPOSES)
    assert len(draws) == 200 * len(PURPOSES)


def test_draws_are_spread_evenly():
    n = 4096
    out = np.empty(n, np.uint64)
    draw_rows(3, random.VALIDATION, 1, out)
    counts = np.bincount((out >> np.uint64(60)).astype(int), minlength=16)
    assert np.sum((counts - n / 16) ** 2 / (n / 16)) < 37.7  # chi square, 15 degrees, 0.1 %
    bits = ((out[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 0.04  # 5 standard deviations


def test_normal_numbers_are_those_of_the_oracle_and_normal():
    numbers = np.array([float(random.normal(3, random.SPLIT_NOISE, 7, column)) for column in range(4000)])
    expected = [oracle.normal(3, random.SPLIT_NOISE, 7, column) for column in range(50)]
    assert numbers[:50].tolist() == expected
    assert abs(numbers.mean()) < 5 / np.sqrt(4000)
    assert abs(numbers.std() - 1.0) < 0.06
    for limit, share in ((1.0, 0.3173), (2.0, 0.0455), (3.0, 0.0027)):
        assert abs(np.mean(np.abs(numbers) > limit) - share) < 5 * np.sqrt(share / 4000)


def test_draw_rows_is_one_draw_a_row():
    out = np.empty(10, np.uint64)
    draw_rows(3, random.EDGE_SAMPLE, 8, out)
    expected = [oracle.draw(3, random.EDGE_SAMPLE, 8, row) for row in range(10)]
    assert out.tolist() == expected
    for start, stop in ((0, 10), (7, 10), (4, 4)):
        draw_row_range(3, random.EDGE_SAMPLE, 8, start, out[start:stop])
        assert out.tolist() == expected
        out[:] = expected
    draw_row_range(3, random.EDGE_SAMPLE, 8, 5, out)
    assert out[:5].tolist() == expected[5:]


@pytest.mark.parametrize("n_chosen", [0, 1, 5, 12])
def test_chosen_columns_are_those_of_the_oracle(n_chosen):
    for first in range(20):
        columns = np.arange(100, 112)
        choose_columns(columns, n_chosen, 9, random.NODE_COLUMNS, first)
        expected = oracle.choose(range(100, 112), n_chosen, 9, random.NODE_COLUMNS, first)
        assert columns[:n_chosen].tolist() == expected
        assert sorted(columns) == list(range(100, 112))


def test_every_column_is_chosen_about_equally_often():
    counts = np.zeros(6, int)
    for first in range(1200):
        columns = np.arange(6)
        choose_columns(columns, 2, 1, random.TREE_COLUMNS, first)
        counts[columns[:2]] += 1
    assert np.abs(counts - 400).max() < 80  # about 5 standard deviations


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 1.0])
def test_sampled_rows_are_those_of_the_oracle(fraction):
    expected = oracle.sample(fraction, 4, random.ROW_SAMPLE, 2, 0, 300)
    assert sampled(fraction, 4, 2, 0, 300) == expected
    assert len(expected) == 300 * fraction or 0.0 < fraction < 1.0


def test_sampled_rows_do_not_depend_on_the_range():
    whole = sampled(0.3, 4, 2, 0, 300)
    ranges = [(0, 1), (1, 130), (130, 300)]
    assert [row for a, b in ranges for row in sampled(0.3, 4, 2, a, b)] == whole
    assert sampled(0.3, 4, 3, 0, 300) != whole
