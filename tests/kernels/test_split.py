"""The search for the best split of a node: every column against the oracle, and known splits."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from hedgerow.growing.grower import GrowthOptions, RowStatistics
from hedgerow.kernels.cpu.records import NODE, SPLIT, Search, Statistics
from hedgerow.kernels.cpu.split import leaf_value, least_gain, search_column
from reference_grower import best_split, running_sums
from tree_cases import assert_is_oracle_split, codes_in, make_binned, oracle_table

INF = math.inf
NO_STATISTICS = Statistics(np.empty(0, int), np.empty((0, 2), int), np.empty(0, int), 1)
UNITS = RowStatistics(NO_STATISTICS, 1.0, 1.0, 0)  # rules in units of 1


def rules_for(n_columns, **options):
    defaults = {"min_samples_leaf": 1, "min_child_weight": 0.0, "categorical_smoothing": 0.0}
    return GrowthOptions(**(defaults | options)).for_tree(UNITS, np.arange(n_columns), 0)


class Case:
    """One node with all rows of a small table; statistics are (gradient, hessian, copies) by row."""

    def __init__(self, codes, n_bins, statistics, categorical=None, lower=-INF, upper=INF):
        self.binned = make_binned(codes, n_bins, categorical)
        self.statistics = [tuple(int(v) for v in row) for row in statistics]
        self.rows = list(range(len(self.statistics)))
        self.truth = oracle.Node(self.rows, 0, 0, *oracle.sums_over(self.statistics, self.rows), lower, upper)
        self.node = np.zeros(1, NODE)[0]
        for name in ("gradient", "hessian", "count", "lower", "upper"):
            self.node[name] = getattr(self.truth, name)
        sums = [[], [], []]
        for column in oracle_table(self.binned):
            for entries, channel in zip(sums, zip(*self.statistics, strict=True), strict=True):
                entries.extend(oracle.histogram(column.codes, self.rows, channel, column.n_bins + 1))
        self.histogram = np.array(sums)

    def found(self, rules, counted=True, n_threads=1):
        """The best split of every column, each member searching its share."""
        codes, longest = self.binned.codes, int(np.diff(self.binned.codes.offsets).max())
        found = np.zeros(self.binned.n_columns, SPLIT)
        found["gain"] = np.nan
        search = Search(
            np.empty((n_threads, 3, longest), int),
            np.empty((n_threads, longest)),
            np.empty((n_threads, longest), int),
        )
        counts = self.histogram[2] if counted else self.histogram[2, :0]
        sums = running_sums(self.histogram[:2], codes.offsets)
        for j, column in enumerate(rules.columns):
            member = j % n_threads
            search_column(codes, rules, sums, counts, self.node, column, search, member, found[column])
        return found

    def expected(self, rules):
        table = oracle_table(self.binned)
        return [oracle.best_in_column(c, table[c], self.truth, self.statistics, rules) for c in rules.columns]


def assert_found(found, expected):
    for record, split in zip(found, expected, strict=True):
        if split is None:
            assert record["gain"] == -INF
        else:
            assert_is_oracle_split(record, split, 1.0)


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(2, 40))
    n_bins, categorical = [1, 3, 9, 40, 5, 100], [False, False, False, False, True, True]
    codes = np.column_stack([rng.integers(draw(st.integers(0, 1)), b + 1, n) for b in n_bins])
    largest = draw(st.sampled_from([2, 1000, 2**54]))
    gradient, hessian = rng.integers(-largest, largest + 1, n), rng.integers(0, largest + 1, n)
    quiet = rng.random(n) < draw(st.sampled_from([0.0, 0.4]))  # rows without statistics
    gradient[quiet] = hessian[quiet] = 0
    bounds = sorted(rng.normal(size=2)) if draw(st.booleans()) else [-INF, INF]
    return Case(
        codes, n_bins, np.column_stack([gradient, hessian, rng.integers(1, 4, n)]), categorical, *bounds
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(cases(), st.data())
def test_the_best_split_of_every_column_is_that_of_the_oracle(case, data):
    pick = lambda *options: data.draw(st.sampled_from(options))  # noqa: E731
    rules = rules_for(
        6,
        min_samples_leaf=pick(1, 3, 8),
        min_child_weight=pick(0.0, 5.0),
        l1_regularization=pick(0.0, 0.0, 1.5),
        l2_regularization=pick(0.0, 1.0),
        categorical_smoothing=pick(0.0, 2.0),
        monotonic=np.array(pick([], [0, 1, -1, 1, 0, 0]), np.int8),
    )
    if not (rules.l1 or len(rules.monotonic)):  # bounds come from monotonic splits only
        case.node["lower"], case.node["upper"] = case.truth.lower, case.truth.upper = -INF, INF
    expected = case.expected(rules)
    for n_threads in (1, 3):
        assert_found(case.found(rules, n_threads=n_threads), expected)
    uncounted = case.expected(rules._replace(min_count=0))
    assert_found(case.found(rules, counted=False), uncounted)


GRADIENT, HESSIAN = st.integers(-(2**51), 2**51), st.integers(1, 2**51)  # sums and differences are exact


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    GRADIENT, HESSIAN, GRADIENT, HESSIAN, st.sampled_from([0.0, 1.0, 1e12]), st.sampled_from([0.0, 3.5, 1e12])
)
def test_gains_are_exact_up_to_rounding(left_g, left_h, right_g, right_h, l1, l2):
    """Of the oracle, whose gains the kernels repeat bit for bit."""
    node = SimpleNamespace(gradient=left_g + right_g, hessian=left_h + right_h, lower=-INF, upper=INF)
    gain = oracle.gain_of(node, left_g, left_h, 0, SimpleNamespace(l1=l1, monotonic=[]), l2)
    exact = oracle.exact_gain(node.gradient, node.hessian, left_g, left_h, l1, l2)
    scores = [
        Fraction(g) ** 2 / (h + Fraction(l2))
        for g, h in ((left_g, left_h), (right_g, right_h), (node.gradient, node.hessian))
    ]
    assert abs(Fraction(gain) - exact) <= sum(scores) * Fraction(1, 2**48)


def test_known_split():
    # codes 1 1 2 3, G = 2 + 2 - 1 - 3 = 0, H = 4; threshold 1: 16 / 2 + 16 / 2 - 0
    case = Case([[1], [1], [2], [3]], [3], [(2, 1, 1), (2, 1, 1), (-1, 1, 1), (-3, 1, 1)])
    [split] = case.found(rules_for(1))
    assert split["gain"] == 16.0
    assert (split["threshold"], split["left_gradient"], split["left_hessian"]) == (1, 4, 2)
    [split] = case.found(rules_for(1, l2_regularization=2.0))
    assert split["gain"] == 16 / 4 + 16 / 4
    [split] = case.found(rules_for(1, l1_regularization=1.0))
    assert split["gain"] == pytest.approx(9 / 2 + 9 / 2)
    [split] = case.found(rules_for(1, min_samples_leaf=3))
    assert split["gain"] == -INF


def test_missing_values_go_to_the_side_that_gains_more():
    statistics = [(5, 1, 1), (-5, 1, 1), (5, 1, 1)]
    [split] = Case([[1], [2], [0]], [2], statistics).found(rules_for(1))
    assert (split["threshold"], split["missing_left"], split["left_gradient"]) == (1, 1, 10)
    [split] = Case([[2], [1], [0]], [2], statistics).found(rules_for(1))
    assert (split["threshold"], split["missing_left"], split["left_gradient"]) == (1, 0, -5)


def test_missing_values_may_be_separated_from_all_others():
    [split] = Case([[1], [2], [0]], [2], [(5, 1, 1), (5, 1, 1), (-9, 1, 1)]).found(rules_for(1))
    assert (split["threshold"], split["missing_left"], split["left_gradient"]) == (2, 0, 10)


@pytest.mark.parametrize(("left_rows", "missing_left"), [(3, 1), (2, 0), (1, 0)])
def test_later_missing_values_follow_the_heavier_side(left_rows, missing_left):
    codes = [[1]] * left_rows + [[2]] * (4 - left_rows)
    statistics = [(1, 1, 1)] * left_rows + [(-1, 1, 1)] * (4 - left_rows)
    [split] = Case(codes, [2], statistics).found(rules_for(1))
    assert split["missing_left"] == missing_left


def test_ties_go_to_the_lower_column_then_missing_right_then_the_lower_threshold():
    statistics = [(3, 1, 1), (-3, 1, 1)]
    case = Case([[1, 1], [4, 4]], [4, 4], statistics)
    rules = rules_for(2)
    split = best_split(case.binned.bins, rules, case.histogram, case.node, 0, np.array([0, 1]))
    assert (split["column"], split["threshold"]) == (0, 1)
    split = best_split(case.binned.bins, rules, case.histogram, case.node, 0, np.array([1]))
    assert split["column"] == 1
    [split] = Case([[1], [0]], [4], statistics).found(rules_for(1))
    assert (split["threshold"], split["missing_left"]) == (1, 0)


def test_rows_without_statistics_count_on_the_heavier_side():
    """Missing values with G = H = 0 go to the heavier side, and count there for the smallest leaf."""
    codes = [[1]] * 6 + [[2]] + [[0]] * 2
    statistics = [(1, 1, 1)] * 6 + [(-5, 1, 1)] + [(0, 0, 1)] * 2
    [split] = Case(codes, [2], statistics).found(rules_for(1, min_samples_leaf=2))
    assert split["gain"] == -INF  # code 2 is alone on its side
    [split] = Case(codes, [2], statistics, [True]).found(rules_for(1, min_samples_leaf=2))
    assert split["gain"] == -INF
    [split] = Case(codes, [2], statistics).found(rules_for(1, min_samples_leaf=1))
    assert (split["missing_left"], split["left_hessian"]) == (1, 6)


def test_a_set_of_categories_may_skip_codes():
    codes = [[1], [2], [3], [70], [200]]
    gradients = [4, -4, 4, -4, 4]
    case = Case(codes, [200], [(g, 1, 1) for g in gradients], [True])
    [split] = case.found(rules_for(1))
    assert split["left_gradient"] == -8
    assert {c for c in (1, 2, 3, 70, 200) if c in codes_in(split["goes_left"])} == {2, 70}
    assert split["missing_left"] == 0  # two of five rows go left
    assert not codes_in(split["goes_left"]) - {2, 70}


def test_unknown_categories_go_with_the_missing_values():
    statistics = [(4, 1, 1), (-4, 1, 1), (-4, 1, 1), (-4, 1, 1)]
    [split] = Case([[1], [2], [2], [0]], [3], statistics, [True]).found(rules_for(1))
    assert codes_in(split["goes_left"]) == set(range(256)) - {1}
    [split] = Case([[1], [2], [2], [2]], [3], statistics, [True]).found(rules_for(1))
    assert codes_in(split["goes_left"]) == set(range(256)) - {1}  # the heavier side
    assert split["missing_left"] == 1


@pytest.mark.parametrize("direction", [1, -1])
def test_split_against_the_monotonic_direction_is_rejected(direction):
    # values are -G / H: -3 left of 1, +3 right of it: rising
    case = Case([[1], [2]], [2], [(3, 1, 1), (-3, 1, 1)])
    [split] = case.found(rules_for(1, monotonic=np.array([direction], np.int8)))
    assert split["gain"] == (18.0 if direction > 0 else -INF)


def test_columns_that_are_not_allowed_are_not_searched():
    case = Case([[1, 1], [2, 2]], [2, 2], [(3, 1, 1), (-3, 1, 1)])
    split = best_split(case.binned.bins, rules_for(2), case.histogram, case.node, 0, np.array([], int))
    assert split["gain"] == -INF


@pytest.mark.parametrize("l1", [0.0, 2.0])
@pytest.mark.parametrize("bounds", [(-INF, INF), (-1.0, 0.5), (2.0, 3.0)])
def test_leaf_values_minimise_the_objective(l1, bounds):
    cases = [(5.0, 2.0, 0.0), (-5.0, 2.0, 1.0), (1.0, 1.0, 0.0), (0.0, 3.0, 0.0), (-9.0, 0.0, 4.0)]
    for gradient, hessian, l2 in cases:
        value = leaf_value(gradient, hessian, l1, l2, *bounds)

        def objective(v, g=gradient, h=hessian + l2):
            return g * v + h * v * v / 2 + l1 * abs(v)

        assert bounds[0] <= value <= bounds[1]
        assert value == oracle.leaf_value(gradient, hessian, l1, l2, *bounds)
        grid = np.clip(np.linspace(-10, 10, 2001), *bounds)
        assert objective(value) <= min(objective(v) for v in grid) + 1e-12


def test_a_leaf_without_curvature_has_value_zero():
    assert leaf_value(3.0, 0.0, 0.0, 0.0, -INF, INF) == 0.0


@pytest.mark.parametrize(
    ("gain", "min_gain", "expected"),
    [(2.0, 1.0, True), (1.0, 1.0, False), (1e-8, 0.0, False), (2e-8, 0.0, True), (-INF, 0.0, False)],
)
def test_a_split_must_gain_more_than_the_limit_and_more_than_rounding(gain, min_gain, expected):
    node = np.zeros(1, NODE)[0]
    node["gradient"], node["hessian"] = 100, 100  # a score of 100: rounding is 1e-8
    assert (gain > least_gain(node, rules_for(1, min_split_gain=min_gain))) == expected
