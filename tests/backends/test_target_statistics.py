"""Target statistics: means of the target by category, compared with plain Python."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.backends.target_statistics import (
    SetSplits,
    TargetOptions,
    TargetStatistics,
    columns_of_many,
    draw_statistic_folds,
)
from hedgerow.binning import find_bins
from hedgerow.growing.grower import Weights
from hedgerow.kernels.cpu.records import NODE
from hedgerow.table import read_table
from hedgerow.threads import Team

A = 3.0
ROWS = 400


def rows(n_categories=12, seed=0):
    """A table of a number and a column of categories, some missing, and a target."""
    rng = np.random.default_rng(seed)
    category = rng.integers(0, n_categories, ROWS).astype(float)
    category[rng.random(ROWS) < 0.1] = np.nan
    X = np.stack([rng.normal(size=ROWS), category], axis=1)
    return read_table(X, categorical_features=[1]), rng.normal(size=ROWS) + np.nan_to_num(category)


def prepared(y_options=0, sample_weight=None, held_out=None, y=None):
    table, numbers = rows()
    y = numbers if y is None else y
    weights = Weights.of(sample_weight, ROWS, held_out)
    statistics = TargetStatistics(table, y, TargetOptions((1,), A, y_options))
    plain = find_bins(table, copies=weights.row_counts(ROWS))
    return table, y, weights, statistics, statistics.add_to(plain, weights, 255)


def smoothed(pairs, prior):
    """The statistic of (weight, target) pairs, in exact arithmetic."""
    weight = sum((Fraction(w) for w, _ in pairs), Fraction(A))
    total = sum((Fraction(w) * Fraction(t) for w, t in pairs), Fraction(A) * prior)
    return float(total / weight)


def mean(weight, target):
    pairs = list(zip(weight.tolist(), target.tolist(), strict=True))
    return sum(Fraction(w) * Fraction(t) for w, t in pairs) / sum(Fraction(w) for w, _ in pairs)


@pytest.mark.parametrize("weighting", ["none", "copies", "shares"])
def test_codes_of_categories_are_in_the_order_of_their_means(weighting):
    rng = np.random.default_rng(1)
    weight = {"none": None, "copies": rng.integers(0, 4, ROWS) * 1.0, "shares": rng.random(ROWS)}[weighting]
    table, y, _, _, bins = prepared(sample_weight=weight)
    own = np.ones(ROWS) if weight is None else weight
    category, prior = table.block(0, ROWS)[:, 1], mean(own, y)
    found = [
        smoothed(list(zip(own[category == c].tolist(), y[category == c].tolist(), strict=True)), prior)
        for c in range(12)
    ]
    codes = bins.tables[bins.table_starts[1] :]
    assert codes.tolist() == (1 + np.argsort(np.argsort(found))).tolist()
    edges, ordered = bins.edges_of(1), np.sort(found)
    assert np.all((ordered[:-1] <= edges) & (edges < ordered[1:]))
    assert bins.by_statistic.tolist() == [False, True]


def test_the_statistic_of_a_row_is_of_the_other_parts():
    held_out = np.arange(0, 60, dtype=np.uint32)
    table, y, weights, statistics, bins = prepared(held_out=held_out)
    category, prior = table.block(0, ROWS)[:, 1], mean(np.ones(340), y[60:])
    with Team(1) as team:
        by_column = bins.encode(table, team, for_growing=False).codes.by_column
        before = by_column.copy()
        coded, _ = statistics.encode(by_column, bins, weights, 5, team)
    assert np.array_equal(by_column, before)  # several fits share these codes
    codes, edges = coded.codes.by_column[1], bins.edges_of(1)
    assert coded.codes.categorical.tolist() == [0, 0]
    folds = np.full(ROWS, -1)
    folds[60:] = draw_statistic_folds(340, 5)
    assert np.bincount(folds[60:]).tolist() == [68] * 5
    for row in range(ROWS):
        others = (np.arange(ROWS) >= 60) & (category == category[row]) & (folds != folds[row])
        value = smoothed([(1, t) for t in y[others].tolist()], prior)
        value = float(prior) if math.isnan(category[row]) else value
        if np.min(np.abs(edges - value)) > 1e-9:  # else rounding decides
            assert codes[row] == 1 + np.searchsorted(edges, value), row


def test_a_target_does_not_change_the_code_of_its_row():
    table, y, weights, _, bins = prepared()
    other = y.copy()
    row = int(np.flatnonzero(~np.isnan(table.block(0, ROWS)[:, 1]))[0])
    other[row] += np.abs(y).max()
    again = TargetStatistics(table, other, TargetOptions((1,), 0.0))  # without a prior, which it changes
    first = TargetStatistics(table, y, TargetOptions((1,), 0.0))
    with Team(1) as team:
        by_column = bins.encode(table, team, for_growing=False).codes.by_column
        codes = [
            one.encode(by_column, bins, weights, 5, team)[0].codes.by_column[1] for one in (first, again)
        ]
    assert codes[0][row] == codes[1][row]
    assert np.any(codes[0] != codes[1])


def test_several_classes_repeat_the_column():
    _, y = rows()
    labels = np.digitize(y, [3.0, 8.0]).astype(float)
    _, _, _, _, bins = prepared(y_options=3, y=labels)
    assert bins.sources.tolist() == [0, 1, 1, 1]
    tables = np.split(bins.tables, bins.table_starts[1:-1])
    low, high = tables[1].astype(int), tables[3].astype(int)
    assert np.corrcoef(low, high)[0, 1] < -0.5  # large means of the target: rarely class 0, often class 2


def test_whole_weights_are_copies():
    table, y = rows()
    weight = np.random.default_rng(2).integers(0, 3, ROWS)
    values = np.repeat(table.block(0, ROWS), weight, axis=0)
    copied = read_table(values, categorical_features=[1])
    options = TargetOptions((1,), A)
    found = []
    for one, target, sample_weight in (
        (table, y, weight.astype(float)),
        (copied, np.repeat(y, weight), None),
    ):
        weights = Weights.of(sample_weight, len(target))
        plain = find_bins(one, copies=weights.row_counts(len(target)))
        found.append(TargetStatistics(one, target, options).add_to(plain, weights, 255))
    assert np.array_equal(found[0].tables, found[1].tables)
    assert np.array_equal(found[0].edges, found[1].edges)


def test_thresholds_become_sets_of_codes():
    *_, bins = prepared()
    nodes = np.zeros(3, NODE)
    nodes["left"][0] = 1
    nodes["split"]["column"][0], nodes["split"]["threshold"][0] = 1, 5
    for prior, missing in ((5, 1), (6, 0)):
        own = nodes.copy()
        SetSplits(bins, np.array([0, prior])).convert(own)
        split = own["split"][0]
        bits = [int(split["goes_left"][code >> 6] >> np.uint64(code & 63)) & 1 for code in range(256)]
        assert bits == [missing, 1, 1, 1, 1, 1, *[0] * 250]
        assert (split["categorical"], split["missing_left"]) == (1, missing)
    nodes["split"]["column"][0] = 0
    own = nodes.copy()
    SetSplits(bins, np.array([0, 1])).convert(own)
    assert own.tobytes() == nodes.tobytes()


def test_columns_of_many_categories():
    table, _ = rows()
    assert columns_of_many(table.schema, 11) == (1,)
    assert columns_of_many(table.schema, 12) == ()
    assert columns_of_many(table.schema, None) == ()
