"""Samples of rows and columns: pure functions of the seed and the member, compared with the oracle."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import oracle
from hedgerow.bagging.raw_table import RawTable
from hedgerow.bagging.sampling import (
    MAX_COPIES_PER_ROW,
    BootstrapSampler,
    SamplingPool,
    bootstrap_counts,
    chosen_columns,
    integer_weights,
    sample_without,
    weighted_counts,
)
from hedgerow.kernels.cpu import random
from hedgerow.kernels.cpu.random import BAG_COLUMNS, BOOTSTRAP

SEEDS = st.integers(0, 2**63 - 1)
QUICK = settings(deadline=None, max_examples=40, derandomize=True)


def counted(n_rows, n_draws, seed, member, dtype=np.int64):
    out = np.full(n_rows, 7, dtype)  # old values are ignored
    bootstrap_counts(n_rows, n_draws, seed, member, out)
    return out


def draws_of(pool, n_draws, *, replace=True, n_columns=4, n_chosen=4, seed=0, shuffle=False):
    return BootstrapSampler(pool, n_draws, replace, n_columns, n_chosen, False, shuffle, seed)


def keys_of(X, y=None):
    table = RawTable.of(X, "a test")
    return table.row_keys(np.zeros(table.shape[0]) if y is None else np.asarray(y, float))


# --- rows


@pytest.mark.parametrize(("n_rows", "n_draws"), [(1, 1), (10, 10), (300, 120), (40, 200)])
def test_counts_are_those_of_the_oracle(n_rows, n_draws):
    for seed, member in [(0, 0), (5, 3), (2**63 - 1, 99)]:
        drawn = [oracle.draw(seed, BOOTSTRAP, member, i) % n_rows for i in range(n_draws)]
        expected = [drawn.count(row) for row in range(n_rows)]
        assert counted(n_rows, n_draws, seed, member).tolist() == expected


def test_a_few_samples_never_change():
    """A model draws its samples again from the seed, in any release."""
    assert counted(10, 10, 42, 1).tolist() == [0, 0, 1, 1, 1, 0, 1, 3, 0, 3]
    assert sample_without(100, 5, 42, 1).tolist() == [3, 26, 58, 61, 80]
    assert chosen_columns(30, 4, 42, 1, replace=False).tolist() == [3, 14, 23, 27]


def test_random_streams_are_independent():
    purposes = {
        name: value for name, value in vars(random).items() if name.isupper() and isinstance(value, int)
    }
    assert {"BOOTSTRAP", "BAG_COLUMNS", "BAG_SEEDS", "ROW_KEYS", "RESAMPLE"} <= set(purposes)
    assert len(set(purposes.values())) == len(purposes)


def test_counts_that_do_not_fit_are_refused():
    with pytest.raises(OverflowError, match="more often than uint8 can count"):
        counted(1, 256, 0, 0, np.uint8)
    assert counted(1, 255, 0, 0, np.uint8).tolist() == [255]
    with pytest.raises(OverflowError):
        weighted_counts(np.array([1]), 256, 0, 0, np.empty(1, np.uint8))


def test_members_and_seeds_draw_other_rows():
    samples = {tuple(counted(50, 50, seed, member)) for seed in range(5) for member in range(5)}
    assert len(samples) == 25


def test_rows_out_of_a_bootstrap_are_about_a_third():
    shares = [np.mean(counted(1000, 1000, 0, member) == 0) for member in range(50)]
    assert abs(np.mean(shares) - np.exp(-1)) < 0.006  # 4 standard errors


@QUICK
@given(st.lists(st.integers(0, 5), min_size=1, max_size=30).filter(any), SEEDS, st.integers(0, 50))
def test_a_whole_weight_draws_as_so_many_copies_do(weights, seed, n_draws):
    copies = np.repeat(np.arange(len(weights)), weights)
    of_copies = counted(len(copies), n_draws, seed, 1)
    out = np.empty(len(weights), np.int64)
    weighted_counts(np.cumsum(weights), n_draws, seed, 1, out)
    assert out.tolist() == np.bincount(copies, of_copies, len(weights)).tolist()


def test_rows_are_drawn_in_proportion_to_their_weights():
    weight = np.array([0.1, 2.5, 0.4, 1.0, 6.0])
    total = np.zeros(5)
    for member in range(200):
        out = np.empty(5, np.int64)
        weighted_counts(np.cumsum(integer_weights(weight)), 100, 3, member, out)
        total += out
    expected = 20_000 * weight / weight.sum()
    assert np.sum((total - expected) ** 2 / expected) < 18.5  # chi square, 4 degrees, 0.1 %


@QUICK
@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=20))
def test_tickets_are_positive_and_in_proportion(weights):
    found = integer_weights(np.array(weights))
    assert found.min() >= 1
    assert 2**60 < sum(found.tolist()) < 2**62
    heavy = np.argmax(weights)
    share = found / float(found[heavy])
    np.testing.assert_allclose(share, np.array(weights) / weights[heavy], rtol=1e-9, atol=1e-17)


@QUICK
@given(st.integers(1, 60), SEEDS, st.data())
def test_rows_without_replacement_are_those_of_the_oracle(n_rows, seed, data):
    n_draws = data.draw(st.integers(1, n_rows))
    found = sample_without(n_rows, n_draws, seed, 2)
    assert found.tolist() == sorted(oracle.choose(range(n_rows), n_draws, seed, BOOTSTRAP, 2))


# --- columns


@pytest.mark.parametrize("n_chosen", [1, 3, 8])
def test_columns_are_those_of_the_oracle(n_chosen):
    for member in range(20):
        without = oracle.choose(range(8), n_chosen, 9, BAG_COLUMNS, member)
        assert chosen_columns(8, n_chosen, 9, member, replace=False).tolist() == sorted(without)
        drawn = [oracle.draw(9, BAG_COLUMNS, member, i) % 8 for i in range(n_chosen)]
        assert chosen_columns(8, n_chosen, 9, member, replace=True).tolist() == sorted(drawn)


def test_shuffled_columns_are_in_the_order_of_the_draws():
    for member in range(20):
        for n_chosen in (3, 8):
            found = chosen_columns(8, n_chosen, 9, member, replace=False, shuffle=True)
            assert found.tolist() == oracle.choose(range(8), n_chosen, 9, BAG_COLUMNS, member)
        drawn = [oracle.draw(9, BAG_COLUMNS, member, i) % 8 for i in range(8)]
        assert chosen_columns(8, 8, 9, member, replace=True, shuffle=True).tolist() == drawn
    pool = SamplingPool.of(np.arange(4, dtype=np.uint64), None, by_weight=True)
    assert not draws_of(pool, 4, shuffle=True).all_columns
    assert draws_of(pool, 4).all_columns


# --- keys of rows


X = np.array([[1.0, 0.0, -2.5], [0.0, 3.0, 1e9], [1.0, 0.0, 7.0], [5.0, 0.0, 0.0]])


def test_keys_do_not_depend_on_the_type_of_the_table():
    whole = np.array([[1, 0], [0, 3], [7, 2]])
    expected = keys_of(whole).tolist()
    assert len(set(expected)) == 3
    columns = {"a": whole[:, 0], "b": whole[:, 1]}
    tables = [
        whole.tolist(),
        whole.astype(np.float32),
        np.asfortranarray(whole),
        whole.astype(np.uint8),
        sparse.csr_array(whole),
        sparse.coo_matrix(whole),
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        pa.table(columns),
    ]
    for table in tables:
        assert keys_of(table).tolist() == expected


def test_many_rows_are_read_in_blocks():
    many = np.random.default_rng(0).normal(size=(10_000, 2))
    keys = keys_of(many)
    assert len(set(keys.tolist())) == 10_000
    rows = [0, 4095, 4096, 9999]
    assert np.array_equal(keys[rows], keys_of(many[rows]))


def test_every_value_its_column_and_the_target_matter():
    base = keys_of(X)
    changed = X.copy()
    changed[0, 1] = 1e-300
    assert keys_of(changed)[0] != base[0]
    assert np.array_equal(keys_of(changed)[1:], base[1:])
    assert not set(keys_of(X[:, ::-1])) & set(base)
    assert not set(keys_of(X, np.ones(4))) & set(base)


def test_zeros_and_missing_values_have_one_key_each():
    minus, other_nan = -0.0, np.array([0x7FF8000000000001]).view(np.float64)[0]
    assert keys_of([[minus, 1.0]]) == keys_of([[0.0, 1.0]])
    assert keys_of(np.array([[other_nan]])) == keys_of([[np.nan]])
    stored_zero = sparse.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert keys_of(stored_zero) == keys_of([[0.0, 1.0]])
    split = sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    assert not split.has_canonical_format
    assert keys_of(split) == keys_of([[0.0, 3.0]])
    assert split.nnz == 2  # the user's matrix is not changed


def test_texts_have_the_same_keys_in_every_process():
    frame = pd.DataFrame({"tree": ["oak", "yew", None, "oak"], "height": [3.0, 2.0, 2.0, 3.0]})
    keys = keys_of(frame)
    assert keys[0] == keys[3]
    assert len(set(keys.tolist())) == 3
    assert int(keys_of([["oak"]])[0]) == 8390372419277345825
    assert np.array_equal(keys_of(frame.astype({"tree": "category"}))[[0, 1, 3]], keys[[0, 1, 3]])


# --- pools and samplers


def test_rows_of_weight_zero_are_never_drawn():
    keys = keys_of(X)
    pool = SamplingPool.of(keys, np.array([1.0, 0.0, 1.0, 2.0]), by_weight=True)
    assert sorted(pool.order.tolist()) == [0, 2, 3]
    draws = draws_of(pool, pool.size)
    assert pool.size == 4
    assert all(1 not in draws.rows(member) for member in range(20))
    assert all(1 in draws.out_of_bag(member) for member in range(20))


def test_a_share_is_of_copies_of_rows_or_of_rows():
    keys = np.arange(4, dtype=np.uint64)
    sizes = {
        None: 4,
        (1.0, 1.0, 1.0, 1.0): 4,
        (2.0, 0.0, 3.0, 1.0): 6,  # whole: copies
        (0.5, 0.0, 3.0, 1.0): 3,  # rows
        (MAX_COPIES_PER_ROW * 4.0, 0.0, 0.0, 0.0): 1,  # too many for copies
        (MAX_COPIES_PER_ROW * 1.0, 0.0, 0.0, 0.0): MAX_COPIES_PER_ROW,
    }
    for weight, size in sizes.items():
        weights = None if weight is None else np.array(weight)
        assert SamplingPool.of(keys, weights, by_weight=True).size == size
    assert SamplingPool.of(keys, np.array([2.0, 0.0, 3.0, 1.0]), by_weight=False).size == 3


@QUICK
@given(SEEDS, st.booleans(), st.data())
def test_samples_and_rows_out_of_the_bag_are_complements(seed, replace, data):
    n_rows = data.draw(st.integers(1, 40))
    pool = SamplingPool.of(np.random.default_rng(1).integers(0, 2**63, n_rows).astype(np.uint64), None,
                           by_weight=True)  # fmt: skip
    draws = draws_of(pool, data.draw(st.integers(1, n_rows)), replace=replace, seed=seed)
    rows = draws.rows(3)
    assert len(rows) == draws.n_draws
    assert replace or len(set(rows.tolist())) == len(rows)
    assert sorted({*rows.tolist(), *draws.out_of_bag(3).tolist()}) == list(range(n_rows))
    assert not set(rows.tolist()) & set(draws.out_of_bag(3).tolist())
    assert np.array_equal(rows, draws.rows(3))


def test_all_rows_once_are_in_the_order_of_the_table():
    draws = draws_of(SamplingPool.of(keys_of(X), None, by_weight=False), 4, replace=False)
    assert draws.rows(5).tolist() == [0, 1, 2, 3]
    assert not draws.leaves_rows_out
    assert draws_of(draws.pool, 3, replace=False).leaves_rows_out


@QUICK
@given(st.permutations(range(12)), st.lists(st.integers(0, 4), min_size=12, max_size=12).filter(any))
def test_neither_the_order_of_rows_nor_copies_for_weights_change_what_is_drawn(order, weights):
    random_numbers = np.random.default_rng(0)
    table, y = random_numbers.integers(0, 3, (12, 2)).astype(float), random_numbers.integers(0, 2, 12)
    weight = np.array(weights, float)
    pool = SamplingPool.of(keys_of(table[order], y[order]), weight[order], by_weight=True)
    again, y_again = np.repeat(table, weights, axis=0), np.repeat(y, weights)
    copies = SamplingPool.of(keys_of(again, y_again), None, by_weight=True)
    assert pool.size == copies.size
    for member in range(3):
        rows = draws_of(pool, pool.size).rows(member)
        of_copies = draws_of(copies, copies.size).rows(member)
        assert np.array_equal(table[order][rows], again[of_copies])
        assert np.array_equal(y[order][rows], y_again[of_copies])


def test_seeds_of_members_are_their_own():
    pool = SamplingPool.of(keys_of(X), None, by_weight=True)
    seeds = {draws_of(pool, 4, seed=seed).member_seed(member) for seed in range(10) for member in range(50)}
    assert len(seeds) == 500
    assert all(0 <= seed < 2**31 for seed in seeds)
