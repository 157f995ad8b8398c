"""The split search of weak learners on small tables with known splits, and on large ones."""

import numpy as np
import pytest

import oracle
from hedgerow.growing import weak_tree
from hedgerow.growing.weak_tree import CRITERIA
from hedgerow.kernels.cpu.records import SPLIT
from hedgerow.kernels.cpu.weak import COLUMNS_PER_BLOCK, search_columns
from hedgerow.threads import Team
from oracle_weak import WeightedTable, assert_best, coded
from tree_cases import codes_in

ONE = Team(1)
WHOLE = 2**61


def classes_case(codes, classes, weight=None, *, n_bins=None, categorical=None, criterion="error", **options):
    """Codes are (rows, columns), or those of a single column."""
    codes = np.asarray(codes)
    codes = codes[:, np.newaxis] if codes.ndim == 1 else codes
    weight = np.ones(len(codes), np.int64) if weight is None else np.asarray(weight, np.int64)
    n_bins = codes.max(axis=0).tolist() if n_bins is None else n_bins
    classes = np.asarray(classes, np.int32)
    binned = coded(codes, n_bins, categorical, **options)
    return WeightedTable(binned, weight, classes, n_classes=int(classes.max()) + 1, criterion=criterion)


def moments_case(codes, second, weight, categorical=None):
    codes, weight = np.asarray(codes)[:, np.newaxis], np.asarray(weight, np.int64)
    binned = coded(codes, [int(codes.max())], categorical)
    return WeightedTable(binned, weight, second=np.asarray(second, np.int64), criterion="moments")


def found_in(case, team=ONE, **options):
    """Column, threshold, side of missing values, and gain of the best split."""
    found, _ = case.search(team, **options)
    return (*(int(found[name]) for name in ("column", "threshold", "missing_left")), float(found["gain"]))


# --- known splits


def test_gain_is_the_decrease_of_the_weighted_error():
    case = classes_case([1, 1, 2, 2, 3], [0, 0, 1, 0, 1], [1, 1, 5, 2, 4])
    # all of one class: wrong by 4; codes up to 1 left: wrong by 2
    assert found_in(case) == (0, 1, 0, 2.0)


def test_gini_and_least_squares_by_hand():
    codes, weight = [1, 1, 2, 2], [1, 1, 1, 1]
    halves = classes_case(codes, [0, 0, 1, 1], weight, criterion="gini")
    assert found_in(halves) == (0, 1, 1, 4.0)  # 2 (2 + 2 - 2): of two classes the gain is doubled
    thirds = classes_case([1, 1, 2, 2, 3, 3], [0, 0, 1, 1, 2, 2], criterion="gini")
    assert found_in(thirds)[:2] == (0, 1)
    assert found_in(thirds)[3] == pytest.approx(2 + (4 + 4) / 4 - 12 / 6)
    assert found_in(moments_case(codes, [3, 3, -1, -1], weight)) == (0, 1, 1, 18.0 + 2.0 - 4.0)


@pytest.mark.parametrize("criterion", ["error", "gini"])
def test_equal_cuts_go_to_the_lowest_column_then_the_lowest_threshold(criterion):
    good = [1, 1, 4, 4]  # cuts 1, 2 and 3 partition the rows in the same way
    case = classes_case(
        np.column_stack([[1, 2, 1, 2], good, good]), [0, 0, 1, 1], n_bins=[2, 4, 4], criterion=criterion
    )
    assert found_in(case)[:2] == (1, 1)
    many = np.column_stack([np.ones(4, int)] * 20 + [good] * 30)  # the tie is between threads of a team
    case = classes_case(many, [0, 0, 1, 1], n_bins=[4] * 50, criterion=criterion)
    with Team(3) as team, pytest.MonkeyPatch.context() as patch:
        patch.setattr(weak_tree, "_VALUES_PER_THREAD", 1)
        assert found_in(case, team)[:2] == (20, 1)


def test_missing_goes_right_if_both_sides_gain_the_same():
    case = classes_case([0, 0, 1, 2], [0, 1, 0, 1], [1, 1, 3, 3], n_bins=[2])
    assert found_in(case) == (0, 1, 0, 3.0)


@pytest.mark.parametrize(
    ("codes", "classes", "expected"),
    [
        ([0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1], (0, 1, 1, 2.0)),
        ([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 1, 1], (0, 1, 0, 2.0)),
        ([0, 0, 1, 2, 3], [1, 1, 0, 0, 0], (0, 3, 0, 2.0)),  # only missing on the right
        ([0, 0, 1, 1], [1, 1, 0, 0], (0, 1, 0, 2.0)),
    ],
)
def test_missing_goes_to_the_side_that_gains_more(codes, classes, expected):
    assert found_in(classes_case(codes, classes)) == expected


@pytest.mark.parametrize(("weight", "missing_left"), [([3, 3], 1), ([4, 3], 1), ([3, 4], 0)])
def test_later_missing_values_follow_the_heavier_side(weight, missing_left):
    assert found_in(classes_case([1, 2], [0, 1], weight))[2] == missing_left


@pytest.mark.parametrize("criterion", ["error", "gini"])
@pytest.mark.parametrize(
    ("codes", "classes"),
    [
        ([1, 1, 1], [0, 1, 0]),  # a single value
        ([0, 0, 0], [0, 1, 0]),  # all missing
        ([1, 2, 3], [0, 0, 0]),  # a single class
        ([2], [1]),  # a single row
        ([1, 1, 2, 2], [0, 1, 0, 1]),  # both sides equal
        ([1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 0, 1]),  # the same shares
    ],
)
def test_without_a_gain_there_is_no_split(codes, classes, criterion):
    case = classes_case(codes, classes, n_bins=[3], criterion=criterion)
    assert found_in(case)[3] < 0
    assert case.grow(ONE).n_leaves == 1


def test_errors_are_exact_to_the_last_unit():
    heavy = WHOLE // 4
    case = classes_case([1, 1, 2, 2], [0, 1, 0, 1], [heavy, heavy - 1, heavy, heavy + 1])
    assert found_in(case) == (0, 1, 0, 1.0)
    assert_best(case, *case.search(ONE), [0, 1, 2, 3])


def test_sides_have_the_minimum_weight():
    case = classes_case([1, 1, 2, 3, 3, 3], [0, 0, 1, 1, 1, 1], [2, 3, 5, 1, 1, 1])
    assert found_in(case, least=5)[:2] == (0, 1)
    assert found_in(case, least=6)[3] < 0
    lighter_right = classes_case([1, 2, 3], [0, 1, 1], [9, 5, 3])
    assert found_in(lighter_right, least=8)[:2] == (0, 1)
    assert found_in(lighter_right, least=9)[3] < 0


def test_half_of_the_rows_has_half_of_the_rounded_weight():
    weight = np.full(6, round(WHOLE / 6))  # 6 times this is 2 less than a power of two
    case = classes_case([1, 1, 1, 2, 2, 2], [0, 0, 0, 1, 1, 1], weight)
    assert case.grow(ONE, min_weight_fraction=0.5).n_leaves == 2
    uneven = classes_case([1, 1, 2, 2, 2, 2], [0, 0, 1, 1, 1, 1], weight)
    assert uneven.grow(ONE, min_weight_fraction=0.34).n_leaves == 1
    assert uneven.grow(ONE, min_weight_fraction=1 / 3).n_leaves == 2


# --- categories


def test_categories_are_split_by_their_shares():
    codes = [1, 1, 2, 2, 3, 3, 4, 4]
    case = classes_case(codes, [1, 1, 0, 0, 1, 1, 0, 0], categorical=[True])
    found, left = case.search(ONE)
    assert found["categorical"]
    assert codes_in(found["goes_left"]) & set(range(1, 5)) == {1, 3}  # the heaviest class, the first, right
    assert left.tolist() == [0, 4]


def test_missing_is_one_of_the_categories():
    case = classes_case([0, 0, 1, 2, 3], [1, 1, 0, 1, 0], categorical=[True])
    found, _ = case.search(ONE)
    sides = codes_in(found["goes_left"])
    assert (0 in sides) == (2 in sides) != (1 in sides)


@pytest.mark.parametrize(
    ("codes", "target", "goes_left"),
    [([1, 200, 200], [-1, 1, 1], False), ([1, 1, 200], [-1, -1, 1], True), ([1, 200], [-1, 1], True)],
)
def test_unknown_categories_follow_the_heavier_side(codes, target, goes_left):
    found, _ = moments_case(codes, target, [1] * len(codes), [True]).search(ONE)
    present, members = {1, 200}, codes_in(found["goes_left"])
    assert members & present == {1}  # the lower mean
    assert members - present == (set(range(256)) - present if goes_left else set())


@pytest.mark.parametrize("criterion", ["error", "gini", "moments"])
def test_as_many_categories_as_codes(criterion):
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.arange(256), rng.integers(0, 256, 500)])
    target = rng.integers(0, 2, 256)[codes] ^ (rng.random(len(codes)) < 0.2)
    weight = rng.integers(0, 5, len(codes))
    if criterion == "moments":
        case = moments_case(codes, weight * (2 * target - 1), weight, [True])
    else:
        case = classes_case(codes, target, weight, categorical=[True], criterion=criterion)
    assert_best(case, *case.search(ONE), case.rows.tolist())


def test_categories_are_ordered_by_the_share_of_the_heaviest_class():
    codes = [1, 1, 1, 2, 2, 3, 3, 3]
    case = classes_case(codes, [0, 2, 2, 0, 1, 2, 2, 2], categorical=[True], criterion="gini")
    goes_left = codes_in(case.search(ONE)[0]["goes_left"]) & {1, 2, 3}
    assert goes_left in ({2}, {2, 1})  # by the shares of the last class
    assert_best(case, *case.search(ONE), list(range(8)))


# --- rows


def test_rows_of_weight_zero_change_nothing():
    rng = np.random.default_rng(1)
    codes, classes = rng.integers(0, 9, (60, 3)), rng.integers(0, 3, 60)
    weight = rng.integers(0, 3, 60)
    positive = weight > 0
    for criterion in ("error", "gini"):
        all_rows = classes_case(codes, classes, weight, n_bins=[8] * 3, criterion=criterion)
        some = classes_case(
            codes[positive], classes[positive], weight[positive], n_bins=[8] * 3, criterion=criterion
        )
        assert found_in(all_rows) == found_in(some)
        moved = classes_case(  # with any codes
            np.where(positive[:, np.newaxis], codes, 0), classes, weight, n_bins=[8] * 3, criterion=criterion
        )
        assert found_in(moved) == found_in(some)
        grown = [case.grow(ONE, max_depth=4) for case in (all_rows, some)]
        assert grown[0].sums.tolist() == grown[1].sums.tolist()
        assert grown[0].nodes["split"]["gain"].tolist() == grown[1].nodes["split"]["gain"].tolist()


def test_the_order_of_the_rows_does_not_matter():
    rng = np.random.default_rng(3)
    for criterion in ("error", "gini", "moments"):
        case = large_case(rng, 500, [30, 200, 9], [False, False, True], criterion)
        order = rng.permutation(500)
        moved = case.take(order)
        one, other = case.grow(ONE, max_depth=5), moved.grow(ONE, max_depth=5)
        assert one.sums.tolist() == other.sums.tolist()
        assert one.nodes["split"]["gain"].tobytes() == other.nodes["split"]["gain"].tobytes()


# --- large tables


def large_case(rng, n_rows, n_bins, categorical, criterion, dtype=np.uint8, n_classes=3):
    """Columns that depend on the target, with missing values, and weights that sum to nearly 2**61."""
    codes = np.column_stack([rng.integers(1, n + 1, n_rows) for n in n_bins])
    hidden = sum((codes[:, i] > n / 2) * rng.normal() for i, n in enumerate(n_bins))
    codes[rng.random(codes.shape) < 0.05] = 0
    weight = rng.exponential(size=n_rows) * (rng.random(n_rows) < 0.9)
    weight = (weight * (WHOLE / weight.sum())).astype(np.int64)
    target = hidden + rng.normal(size=n_rows)
    binned = coded(codes, n_bins, categorical, dtype)
    if criterion == "moments":
        return WeightedTable(
            binned, weight, second=(weight * np.tanh(target)).astype(np.int64), criterion=criterion
        )
    cuts = np.quantile(target, np.arange(1, n_classes) / n_classes)
    classes = np.digitize(target, cuts).astype(np.int32)
    return WeightedTable(binned, weight, classes, n_classes=n_classes, criterion=criterion)


@pytest.mark.parametrize("criterion", ["error", "gini", "moments"])
def test_more_rows_and_columns_than_one_block(criterion):
    rng = np.random.default_rng(4)
    n_bins = [3, 4, 5, 6] * 4 + [7, 5]
    categorical = [i % 5 == 4 for i in range(18)]
    case = large_case(rng, 9000, n_bins, categorical, criterion)
    assert len(n_bins) > COLUMNS_PER_BLOCK
    assert_best(case, *case.search(ONE), case.rows.tolist())
    some = np.sort(rng.choice(case.rows, 5000, replace=False))
    assert_best(case, *case.search(ONE, some), some.tolist())
    with Team(4, chunk_rows=1000) as team:
        alone, shared = case.grow(ONE, max_depth=4), case.grow(team, max_depth=4)
        assert alone.apply(case.binned, ONE).tolist() == shared.apply(case.binned, team).tolist()
    assert_same_tree(alone, shared)


class Counting(Team):
    """Records the number of threads of every call."""

    def together(self, task, n_threads=None):
        self.used = {*getattr(self, "used", ()), n_threads}
        return super().together(task, n_threads)


@pytest.mark.parametrize(
    ("criterion", "dtype"), [("error", np.uint8), ("gini", np.uint16), ("moments", np.uint8)]
)
def test_threads_share_the_columns(criterion, dtype):
    rng = np.random.default_rng(5)
    case = large_case(
        rng, 20_000, [250, 9, 40, 120, 6, 77, 255], [i == 4 for i in range(7)], criterion, dtype
    )
    trees = [case.grow(ONE, max_depth=3, max_leaf_nodes=6)]
    for n_threads in (2, 5):
        with Counting(n_threads) as team:
            trees.append(case.grow(team, max_depth=3, max_leaf_nodes=6))
        assert min(n_threads, 2) in team.used
    for tree in trees[1:]:
        assert_same_tree(tree, trees[0])


def assert_same_tree(one, other):
    """Compare trees bit for bit, except the set of a numeric split and the split of a leaf."""
    for name in ("left", "depth"):
        assert one.nodes[name].tolist() == other.nodes[name].tolist()
    assert one.sums.tobytes() == other.sums.tobytes()
    inner = one.nodes["left"] > 0
    splits, others = one.nodes["split"][inner], other.nodes["split"][inner]
    for name in ("gain", "column", "threshold", "missing_left", "categorical"):
        assert splits[name].tobytes() == others[name].tobytes(), name
    by_set = splits["categorical"] == 1
    assert splits["goes_left"][by_set].tobytes() == others["goes_left"][by_set].tobytes()


@pytest.mark.parametrize("criterion", ["error", "gini", "moments"])
def test_every_column_has_its_best_cut_for_any_number_of_histograms(criterion):
    rng = np.random.default_rng(6)
    n_bins, categorical = [3, 9, 200, 6, 4, 250], [False, False, False, True, False, False]
    case = large_case(rng, 5000, n_bins, categorical, criterion)
    grower = case.grower(ONE)
    totals = case.totals(case.rows)
    limits = np.array([CRITERIA[criterion], grower.width, 1], np.int64)
    codes, bins = case.binned.codes.by_column, case.binned.bins
    for at_once in (1, 4, COLUMNS_PER_BLOCK):
        found, left = np.zeros(6, SPLIT), np.zeros((6, case.n_channels), np.int64)
        hist = np.full((at_once, case.n_channels * grower.width), -7, np.int64)  # stale
        search_columns(
            codes, bins.n_bins, bins.categorical, case.sample(grower), np.empty(0, np.uint32), totals, limits,
            hist, found, left,
        )  # fmt: skip
        for column in range(6):
            alone = WeightedTable(
                coded(codes[column : column + 1].T, n_bins[column : column + 1], [categorical[column]]),
                case.weight, case.classes, case.second, case.n_classes, criterion,
            )  # fmt: skip
            expected, expected_left = alone.search(ONE)
            assert found[column]["column"] == column
            assert found[column]["gain"] == expected["gain"] > 0
            assert found[column]["threshold"] == expected["threshold"]
            assert left[column].tolist() == expected_left.tolist()
            if categorical[column]:
                assert codes_in(found[column]["goes_left"]) == codes_in(expected["goes_left"])


@pytest.mark.parametrize("missing", [False, True])
def test_codes_of_two_bytes_up_to_the_last(missing):
    rng = np.random.default_rng(7)
    codes = rng.permutation(np.arange(0 if missing else 1, 65_536))
    classes = ((codes > 50_000) ^ (rng.random(len(codes)) < 0.3)).astype(np.int32)
    weight = rng.integers(0, 2**44, len(codes))
    case = classes_case(codes, classes, weight, n_bins=[65_535], dtype=np.uint16)
    found, left = case.search(ONE)
    order = np.argsort(codes)
    signed = np.where(classes == 1, -weight, weight)[order]
    ends = np.cumsum(signed)  # weight of class 0 less that of class 1, up to each row
    above = signed.sum() - ends
    start = -signed[0] if missing else 0
    gains = [np.abs(ends + shift) + np.abs(above - shift) for shift in {0, start}]
    saved = (max(gain.max() for gain in gains) - abs(signed.sum())) // 2
    assert found["gain"] == pytest.approx(float(saved), rel=1e-15)
    expected = [weight[(classes == k) & (codes > 0) & (codes <= found["threshold"])].sum() for k in (0, 1)]
    if missing and found["missing_left"]:
        expected[int(classes[codes == 0][0])] += int(weight[codes == 0][0])
    assert left.tolist() == expected
    last = classes_case([65_535, 65_534, 1], [1, 0, 0], n_bins=[65_535], dtype=np.uint16)
    assert found_in(last)[1] == 65_534


# --- growing


def test_differences_beside_an_outlier_are_not_rounding_errors():
    far = 10**8  # the first split separates it; the other targets differ by a hundred-millionth of it
    unit = WHOLE // (40 * far)
    weight = np.full(40, unit * far)
    target = [0] * 20 + [1] * 19 + [far]
    case = moments_case([*range(1, 21), *range(21, 41)], [unit * t for t in target], weight)
    tree = case.grow(ONE, max_depth=2)
    assert tree.n_leaves == 3
    assert sorted(tree.nodes["split"]["threshold"][tree.nodes["left"] > 0].tolist()) == [20, 39]


def test_oracle_finds_the_gains_of_subsets():
    column = oracle.Column([1, 2, 3, 3], 3, categorical=True)
    sample = oracle.class_sample([1, 0, 1, 1], [1, 1, 1, 1])
    assert oracle.best_subset_gain(column, sample, range(4), 2, "error") == 1
    cuts = oracle.weak_cuts([column], sample, range(4), 2, "error", 1)
    assert [(cut.gain, cut.left_codes) for cut in cuts] == [(1, {2})]
