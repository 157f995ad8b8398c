"""One stage of a cascade: boosted trees on features of windows, and the threshold of their sum.

A stage is boosted on windows of both kinds that pass all earlier stages. After every tree the threshold is
set so low that the wanted share of the faces held out for validation passes; the stage is done when few
enough of the held-out other windows pass as well (Viola and Jones 2001). Scores are computed as the detector
computes them: float32 values of leaves, added in float64.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.boosting.adaboost import DiscreteRule, GentleRule, RealRule
from hedgerow.boosting.adaboost_family import AdaBoostRule, RuleOptions, ScoredRows
from hedgerow.boosting.callbacks import Round
from hedgerow.boosting.loop import StopBoosting, boost
from hedgerow.boosting.row_weights import RowWeights
from hedgerow.boosting.weak_learners import ClassTargets, FittedTree
from hedgerow.growing.weak_tree import WeakGrower, WeakRules, WeakTree, codes_left
from hedgerow.kernels.cpu.adaboost import tally
from hedgerow.kernels.cpu.weak import Sample
from hedgerow.threads import Team
from hedgerow.vision.features import Features
from hedgerow.vision.model import HAAR, SUBSET_WORDS, CascadeModel
from hedgerow.vision.windows import CodedWindows, WindowSet

RULES: dict[str, type[AdaBoostRule]] = {"discrete": DiscreteRule, "real": RealRule, "gentle": GentleRule}
CRITERIA = {"discrete": "error", "real": "gini", "gentle": "gini"}
_SLACK = np.float32(1e-5)  # the detector lets sums pass that are so much below the threshold
_ALL_WINDOWS = np.empty(0, np.uint32)

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class StageRules:
    """What a stage must reach, and how it is boosted; see `CascadeTrainer`."""

    algorithm: str = "gentle"
    min_hit_rate: float = 0.995
    max_false_alarm: float = 0.5
    max_learners: int = 200
    max_depth: int = 1
    weight_trim: float = 0.0


@dataclass(frozen=True, eq=False)
class StageTree:
    """A tree on features, as a cascade holds it; see `hedgerow.vision.model`."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    subsets: NDArray[np.uint32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    values: NDArray[np.float32]

    def scores(self, windows: WindowSet, features: Features) -> Scores:
        """What the tree adds to the score of every window."""
        goes_left = [self._goes_left(windows, features, node) for node in range(len(self.feature))]
        scores = np.empty(windows.n)
        places = [(0, np.ones(windows.n, bool))]
        while places:
            child, here = places.pop()
            for side, part in ((self.left, goes_left[child]), (self.right, ~goes_left[child])):
                rows = here & part
                if side[child] > 0:
                    places.append((int(side[child]), rows))
                else:
                    scores[rows] = self.values[-side[child]]
        return scores

    def _goes_left(self, windows: WindowSet, features: Features, node: int) -> NDArray[np.bool_]:
        number = int(self.feature[node])
        if features.kind == HAAR:
            below: NDArray[np.bool_] = windows.values(features, number) < self.threshold[node]
            return below
        bits = np.unpackbits(self.subsets[node].astype("<u4").view(np.uint8), bitorder="little")
        return bits[windows.patterns(features, number)].astype(np.bool_)


@dataclass(eq=False)
class Stage:
    """A boosted stage, and the rates it reaches: on the windows it was boosted on, and on held-out ones.

    hit_rate, false_alarm : on held-out windows after the last tree
    curve : (trees, 2), the same after each tree
    train_false_alarm, train_hit_rate : on the windows it was boosted on
    """

    trees: list[StageTree] = field(default_factory=list)
    threshold: float = -math.inf
    hit_rate: float = 1.0
    false_alarm: float = 1.0
    train_hit_rate: float = 1.0
    train_false_alarm: float = 1.0
    curve: list[tuple[float, float]] = field(default_factory=list)


class FeatureLearner:
    """Answers a boosting rule with trees on the features of windows.

    Windows of a kind that together have at most a share `weight_trim` of its weight are left out of the
    search (Friedman, Hastie and Tibshirani 2000). Without a cut that gains anything the stage ends.
    """

    def __init__(self, coded: CodedWindows, rules: StageRules, team: Team) -> None:
        self.coded, self.team, self.trim = coded, team, rules.weight_trim
        weak = WeakRules(max_depth=rules.max_depth, criterion=CRITERIA[rules.algorithm])
        self.grower = WeakGrower(coded, weak, team)

    def fit(self, targets: list[Any], iteration: int) -> list[FittedTree]:
        """One tree for the one problem."""
        (problem,) = targets
        assert isinstance(problem, ClassTargets)  # noqa: S101 - all rules for two classes ask one
        weight, classes = problem.distribution.rounded, problem.classes
        rows = _heaviest(weight, classes, self.trim)
        part = rows if len(rows) else slice(None)
        totals = np.zeros(2, np.int64)
        np.add.at(totals, classes[part], weight[part])
        tree = self.grower.grow(Sample(weight, np.empty(0, np.int64), classes), totals, rows)
        if len(tree.nodes) == 1:
            raise StopBoosting
        leaf_ids = tree.apply(self.coded, self.team)
        sums = np.zeros((len(tree.nodes), 2), np.int64)
        tally(leaf_ids, classes, weight, sums)
        return [FittedTree(tree, leaf_ids, sums, sums, self.team)]


def _heaviest(weight: NDArray[np.int64], classes: NDArray[np.uint8], trim: float) -> NDArray[np.uint32]:
    """The windows but the lightest of each class, with a share `trim` of its weight; empty for all."""
    if not trim:
        return _ALL_WINDOWS
    order = np.argsort(weight, kind="stable")
    parts = []
    for k in range(2):
        mine = order[classes[order] == k]
        light = np.cumsum(weight[mine]) <= math.floor(trim * int(weight[mine].sum()))
        parts.append(mine[~light])
    return np.sort(np.concatenate(parts)).astype(np.uint32)


class StageBooster:
    """Boosts one stage.

    Parameters
    ----------
    windows, held_out : (WindowSet, classes uint8)
        To boost on, and to measure the rates on; class 1 is the object.
    features : Features
        To choose from.
    rules : StageRules
    team : Team
    """

    def __init__(
        self,
        windows: tuple[WindowSet, NDArray[np.uint8]],
        held_out: tuple[WindowSet, NDArray[np.uint8]],
        features: Features,
        rules: StageRules,
        team: Team,
    ) -> None:
        self.windows, self.classes = windows
        self.held_out, self.held_classes = held_out
        self.features, self.rules, self.team = features, rules, team
        self.coded = self.windows.coded(features)
        self.learner = FeatureLearner(self.coded, rules, team)
        self.stage = Stage()
        self._scores = np.zeros(self.windows.n)
        self._held_scores = np.zeros(self.held_out.n)

    def boost(self, watch: Callable[[Stage], None] | None = None) -> Stage:
        """Add trees until the targets are met or there are `max_learners`; `watch` sees every round."""
        n = np.bincount(self.classes, minlength=2)
        balance = (0.5 * self.windows.n / n)[self.classes]  # both kinds weigh the same
        weights = RowWeights(balance, self.windows.n, None, self.team)
        judged = ScoredRows(self.classes, weights.rounded, np.zeros((1, self.windows.n)), None)
        settings = RuleOptions(np.array([0, 1]), quiet=True)
        rule = RULES[self.rules.algorithm](judged, [], weights, settings)

        def after_round(_: Round) -> bool:
            update = rule.steps[-1].updates[0]
            assert update.leaf_values is not None  # noqa: S101 - trees have leaf values
            self._add(self._tree(update.fitted, update.leaf_values[0]))
            if watch is not None:
                watch(self.stage)
            return self.stage.false_alarm <= self.rules.max_false_alarm

        boost(rule, self.learner, self.rules.max_learners, [after_round], raise_interrupt=True)
        return self.stage

    def _add(self, tree: StageTree) -> None:
        stage = self.stage
        stage.trees.append(tree)
        self._scores += tree.scores(self.windows, self.features)
        self._held_scores += tree.scores(self.held_out, self.features)
        faces = np.sort(self._held_scores[self.held_classes == 1])
        lost = math.floor((1.0 - self.rules.min_hit_rate) * len(faces) + 1e-9)
        stage.threshold = float(_float_below(faces[lost]))
        limit = float(np.float32(stage.threshold) - _SLACK)
        passing = self._held_scores >= limit
        stage.hit_rate, stage.false_alarm = _rates(passing, self.held_classes)
        passing = self._scores >= limit
        stage.train_hit_rate, stage.train_false_alarm = _rates(passing, self.classes)
        stage.curve.append((stage.hit_rate, stage.false_alarm))

    def _tree(self, grown: WeakTree, table: NDArray[np.float64]) -> StageTree:
        """Number nodes and leaves breadth first, and put thresholds between the values of the windows."""
        nodes = grown.nodes
        order = [0] if nodes["left"][0] else []
        for place in order:  # grows as it goes
            left = int(nodes["left"][place])
            order += [child for child in (left, left + 1) if nodes["left"][child]]
        number = {place: i for i, place in enumerate(order)}
        leaves: list[float] = []
        children = np.zeros((2, len(order)), np.int32)
        features = np.zeros(len(order), np.int32)
        thresholds = np.zeros(len(order), np.float32)
        is_haar = self.features.kind == HAAR
        subsets = np.zeros((0 if is_haar else len(order), SUBSET_WORDS), np.uint32)
        for i, place in enumerate(order):
            split = nodes["split"][place]
            features[i] = split["column"]
            if is_haar:
                thresholds[i] = self._between(int(features[i]), split)
            else:
                subsets[i] = split["goes_left"].astype("<u8").view("<u4")
            for side in range(2):
                child = int(nodes["left"][place]) + side
                if child in number:
                    children[side, i] = number[child]
                else:
                    children[side, i] = -len(leaves)
                    leaves.append(float(table[child]))
        values = np.array(leaves, np.float32)
        return StageTree(features, thresholds, subsets, children[0], children[1], values)

    def _between(self, feature: int, split: np.void) -> np.float32:
        """A threshold in the middle between the values on both sides of a cut."""
        values = self.windows.values(self.features, feature)
        left = codes_left(split, self.coded.by_column[feature])
        below, above = values[left].max(), values[~left].min()
        middle = np.float32((float(below) + float(above)) / 2.0)
        return middle if middle > below else above


def _float_below(value: float) -> np.float32:
    """The largest float32 that is not above a value."""
    rounded = np.float32(value)
    return rounded if float(rounded) <= value else np.nextafter(rounded, np.float32(-np.inf))


def _rates(passing: NDArray[np.bool_], classes: NDArray[np.uint8]) -> tuple[float, float]:
    """Shares of both kinds that pass, faces first."""
    faces = classes == 1
    return float(passing[faces].mean()), float(passing[~faces].mean())


def empty_cascade(kind: str, window: tuple[int, int]) -> CascadeModel:
    """A cascade without stages, which lets every window pass.

    >>> empty_cascade("HAAR", (24, 24)).n_stages
    0
    """
    no_int, no_float = np.empty(0, np.int32), np.empty(0, np.float32)
    return CascadeModel(
        kind,
        *window,
        rects=np.empty((0, 3, 4), np.int32),
        weights=np.empty((0, 3), np.float32),
        tilted=np.empty(0, np.uint8),
        feature=no_int,
        threshold=no_float,
        subsets=np.empty((0, SUBSET_WORDS), np.uint32),
        left=no_int,
        right=no_int,
        values=no_float,
        tree_starts=np.zeros(1, np.int32),
        stage_starts=np.zeros(1, np.int32),
        stage_thresholds=no_float,
    )


def first_stages(model: CascadeModel, n: int) -> CascadeModel:
    """The first stages of a cascade that was put together by `with_stage`, at most n."""
    if n >= model.n_stages:
        return model
    n_trees = int(model.stage_starts[n])
    n_nodes = int(model.tree_starts[n_trees])
    n_features = int(model.feature[:n_nodes].max(initial=-1)) + 1
    lengths = {
        **dict.fromkeys(("rects", "weights", "tilted"), n_features),
        **dict.fromkeys(("feature", "threshold", "subsets", "left", "right"), n_nodes),
        "values": n_nodes + n_trees,
        "tree_starts": n_trees + 1,
        "stage_starts": n + 1,
        "stage_thresholds": n,
    }
    return replace(model, **{name: getattr(model, name)[:length] for name, length in lengths.items()})


def with_stage(
    model: CascadeModel, features: Features, trees: Sequence[StageTree], threshold: float
) -> CascadeModel:
    """A cascade with one more stage; its trees name features by their number in `features`."""
    used, numbers = np.unique(np.concatenate([tree.feature for tree in trees]), return_inverse=True)
    chosen = features.take(used)
    sizes = np.array([len(tree.feature) for tree in trees])

    def joined(before: NDArray[Any], name: str) -> NDArray[Any]:
        return np.concatenate([before, *(getattr(tree, name) for tree in trees)])

    return CascadeModel(
        model.kind,
        *model.window,
        rects=np.concatenate([model.rects, chosen.rects]),
        weights=np.concatenate([model.weights, chosen.weights]),
        tilted=np.concatenate([model.tilted, chosen.tilted]),
        feature=np.concatenate([model.feature, (numbers + model.n_features).astype(np.int32)]),
        threshold=joined(model.threshold, "threshold"),
        subsets=joined(model.subsets, "subsets"),
        left=joined(model.left, "left"),
        right=joined(model.right, "right"),
        values=joined(model.values, "values"),
        tree_starts=np.concatenate(
            [model.tree_starts, (model.tree_starts[-1] + np.cumsum(sizes)).astype(np.int32)]
        ),
        stage_starts=np.append(model.stage_starts, np.int32(model.n_trees + len(trees))),
        stage_thresholds=np.append(model.stage_thresholds, np.float32(threshold)),
    )
