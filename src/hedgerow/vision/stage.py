"""One stage of a cascade: boosted trees on features of windows, and the threshold of their sum.

A stage is boosted on positive and negative windows that pass all earlier stages. After every tree the
threshold is set to the largest value at which the required fraction of the positive validation windows
passes; the stage is complete when few enough negative validation windows pass (Viola and Jones 2001). Floats
are computed as in the detector: float32 values of leaves, added in float64.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.boosting.adaboost import DiscreteRule, GentleRule, RealRule
from hedgerow.boosting.adaboost_family import AdaBoostRule, RuleOptions, ScoredRows
from hedgerow.boosting.callbacks import Round
from hedgerow.boosting.loop import StopBoosting, boost
from hedgerow.boosting.weak_learners import ClassTargets, FittedTree, RowWeights
from hedgerow.growing.weak_tree import WeakGrower, WeakRules, WeakTree, codes_left
from hedgerow.kernels.cpu.adaboost import sum_by_leaf
from hedgerow.kernels.cpu.weak import Sample
from hedgerow.threads import Team
from hedgerow.vision.features import CodedWindows, Features, WindowSet
from hedgerow.vision.model import DTYPES, HAAR, SUBSET_WORDS, CascadeModel

RULES: dict[str, type[AdaBoostRule]] = {"discrete": DiscreteRule, "real": RealRule, "gentle": GentleRule}
CRITERIA = {"discrete": "error", "real": "gini", "gentle": "gini"}
_SLACK = np.float32(1e-5)  # tolerance of the detector below the threshold
_ALL_WINDOWS = np.empty(0, np.uint32)


@dataclass(frozen=True)
class StageOptions:
    """Options and targets of a stage; see `CascadeTrainer`."""

    algorithm: str = "gentle"
    min_hit_rate: float = 0.995
    max_false_alarm: float = 0.5
    max_learners: int = 200
    max_depth: int = 1
    weight_trim: float = 0.0


@dataclass(frozen=True, eq=False)
class StageTree:
    """A weak classifier: a tree on features, in the layout of `hedgerow.vision.model`."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    subsets: NDArray[np.uint32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    values: NDArray[np.float32]

    def scores(self, windows: WindowSet, features: Features) -> Floats:
        """Return the values of the tree for all windows."""
        goes_left = [self._goes_left(windows, features, node) for node in range(len(self.feature))]
        scores = np.empty(windows.n)
        pending = [(0, np.ones(windows.n, bool))]
        while pending:
            node, in_node = pending.pop()
            for child, mask in ((self.left[node], goes_left[node]), (self.right[node], ~goes_left[node])):
                rows = in_node & mask
                if child > 0:
                    pending.append((int(child), rows))
                else:
                    scores[rows] = self.values[-child]
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
    """A boosted stage and its rates."""

    trees: list[StageTree] = field(default_factory=list)
    threshold: float = -math.inf
    hit_rate: float = 1.0  # on validation windows, after the last tree
    false_alarm: float = 1.0
    train_hit_rate: float = 1.0  # on training windows
    train_false_alarm: float = 1.0
    curve: list[tuple[float, float]] = field(default_factory=list)  # both rates after each tree


class FeatureLearner:
    """Fits trees on the features of windows to the targets of a boosting rule.

    The lightest windows of each class, with at most a fraction `weight_trim` of its weight, are excluded from
    the search (Friedman, Hastie and Tibshirani 2000). The stage ends if no split improves the criterion.
    """

    def __init__(self, coded: CodedWindows, options: StageOptions, team: Team) -> None:
        self.coded, self.team, self.trim = coded, team, options.weight_trim
        weak = WeakRules(max_depth=options.max_depth, criterion=CRITERIA[options.algorithm])
        self.grower = WeakGrower(coded, weak, team)

    def fit(self, targets: list[Any], iteration: int) -> list[FittedTree]:
        """Fit one tree to the targets."""
        (target,) = targets
        assert isinstance(target, ClassTargets)  # noqa: S101 - rules for two classes have one target
        weight, classes = target.distribution.rounded, target.classes
        rows = _trim_weights(weight, classes, self.trim)
        selected = rows if len(rows) else slice(None)
        totals = np.zeros(2, np.int64)
        np.add.at(totals, classes[selected], weight[selected])
        tree = self.grower.grow(Sample(weight, np.empty(0, np.int64), classes), totals, rows)
        if len(tree.nodes) == 1:
            raise StopBoosting
        leaf_ids = tree.apply(self.coded, self.team)
        sums = np.zeros((len(tree.nodes), 2), np.int64)
        sum_by_leaf(leaf_ids, classes, weight, sums)
        return [FittedTree(tree, leaf_ids, sums, sums)]


def _trim_weights(weight: NDArray[np.int64], classes: NDArray[np.uint8], trim: float) -> NDArray[np.uint32]:
    """Return the windows without the lightest of each class, at most `trim` of its weight; empty for all."""
    if not trim:
        return _ALL_WINDOWS
    order = np.argsort(weight, kind="stable")
    kept = []
    for k in range(2):
        members = order[classes[order] == k]
        light = np.cumsum(weight[members]) <= math.floor(trim * int(weight[members].sum()))
        kept.append(members[~light])
    return np.sort(np.concatenate(kept)).astype(np.uint32)


class StageBooster:
    """Boosts one stage, and measures its rates on validation windows; class 1 is the object."""

    def __init__(
        self,
        windows: tuple[WindowSet, NDArray[np.uint8]],
        validation: tuple[WindowSet, NDArray[np.uint8]],
        features: Features,
        options: StageOptions,
        team: Team,
    ) -> None:
        self.windows, self.classes = windows
        self.validation, self.validation_classes = validation
        self.features, self.options, self.team = features, options, team
        self.coded = self.windows.coded(features)
        self.learner = FeatureLearner(self.coded, options, team)
        self.stage = Stage()
        self._scores = np.zeros(self.windows.n)
        self._validation_scores = np.zeros(self.validation.n)

    def boost(self, callback: Callable[[Stage], None] | None = None) -> Stage:
        """Add trees until the targets or `max_learners` are reached; `callback` is called after each tree."""
        n = np.bincount(self.classes, minlength=2)
        balance = (0.5 * self.windows.n / n)[self.classes]  # both classes have the same total weight
        weights = RowWeights(balance, self.windows.n, None, self.team)
        rows = ScoredRows(self.classes, weights.rounded, np.zeros((1, self.windows.n)), None)
        rule_options = RuleOptions(np.array([0, 1]), quiet=True)
        rule = RULES[self.options.algorithm](rows, [], weights, rule_options)

        def after_round(_: Round) -> bool:
            update = rule.steps[-1].updates[0]
            assert update.leaf_values is not None  # noqa: S101 - trees have leaf values
            self._add(self._tree(update.fitted, update.leaf_values[0]))
            if callback is not None:
                callback(self.stage)
            return self.stage.false_alarm <= self.options.max_false_alarm

        boost(rule, self.learner, self.options.max_learners, [after_round], raise_interrupt=True)
        return self.stage

    def _add(self, tree: StageTree) -> None:
        stage = self.stage
        stage.trees.append(tree)
        self._scores += tree.scores(self.windows, self.features)
        self._validation_scores += tree.scores(self.validation, self.features)
        positives = np.sort(self._validation_scores[self.validation_classes == 1])
        lost = math.floor((1.0 - self.options.min_hit_rate) * len(positives) + 1e-9)
        stage.threshold = float(_round_down_to_float32(positives[lost]))
        limit = float(np.float32(stage.threshold) - _SLACK)
        passing = self._validation_scores >= limit
        stage.hit_rate, stage.false_alarm = _rates(passing, self.validation_classes)
        passing = self._scores >= limit
        stage.train_hit_rate, stage.train_false_alarm = _rates(passing, self.classes)
        stage.curve.append((stage.hit_rate, stage.false_alarm))

    def _tree(self, grown: WeakTree, table: NDArray[np.float64]) -> StageTree:
        """Number nodes and leaves breadth first, and set thresholds between the values of the windows."""
        nodes = grown.nodes
        order = [0] if nodes["left"][0] else []
        for node in order:  # extended in the loop
            left = int(nodes["left"][node])
            order += [child for child in (left, left + 1) if nodes["left"][child]]
        number = {node: i for i, node in enumerate(order)}
        leaves: list[float] = []
        children = np.zeros((2, len(order)), np.int32)
        features = np.zeros(len(order), np.int32)
        thresholds = np.zeros(len(order), np.float32)
        is_haar = self.features.kind == HAAR
        subsets = np.zeros((0 if is_haar else len(order), SUBSET_WORDS), np.uint32)
        for i, node in enumerate(order):
            split = nodes["split"][node]
            features[i] = split["column"]
            if is_haar:
                thresholds[i] = self._midpoint(int(features[i]), split)
            else:
                subsets[i] = split["goes_left"].astype("<u8").view("<u4")
            for side in range(2):
                child = int(nodes["left"][node]) + side
                if child in number:
                    children[side, i] = number[child]
                else:
                    children[side, i] = -len(leaves)
                    leaves.append(float(table[child]))
        values = np.array(leaves, np.float32)
        return StageTree(features, thresholds, subsets, children[0], children[1], values)

    def _midpoint(self, feature: int, split: np.void) -> np.float32:
        """Return the number halfway between the values on both sides of a split."""
        values = self.windows.values(self.features, feature)
        left = codes_left(split, self.coded.by_column[feature])
        below, above = values[left].max(), values[~left].min()
        middle = np.float32((float(below) + float(above)) / 2.0)
        return middle if middle > below else above


def _round_down_to_float32(value: float) -> np.float32:
    """Return the largest float32 that is not above a value."""
    rounded = np.float32(value)
    return rounded if float(rounded) <= value else np.nextafter(rounded, np.float32(-np.inf))


def _rates(passing: NDArray[np.bool_], classes: NDArray[np.uint8]) -> tuple[float, float]:
    """Return hit rate and false-alarm rate."""
    positives = classes == 1
    return float(passing[positives].mean()), float(passing[~positives].mean())


def empty_cascade(kind: str, window: tuple[int, int]) -> CascadeModel:
    """Return a cascade without stages, which every window passes.

    >>> empty_cascade("HAAR", (24, 24)).n_stages
    0
    """
    arrays: dict[str, Any] = {
        name: np.empty([n or 0 for n in shape], dtype) for name, (dtype, shape) in DTYPES.items()
    }
    starts = np.zeros(1, np.int32)
    return CascadeModel(
        kind, window[0], window[1], **arrays | {"tree_starts": starts, "stage_starts": starts}
    )


def first_stages(model: CascadeModel, n: int) -> CascadeModel:
    """Return the first n stages of a cascade made by `with_stage`."""
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
    """Return the cascade with one more stage; trees refer to features by their index in `features`."""
    used, numbers = np.unique(np.concatenate([tree.feature for tree in trees]), return_inverse=True)
    chosen = features.take(used)
    sizes = np.array([len(tree.feature) for tree in trees])
    added = {name: [getattr(chosen, name)] for name in ("rects", "weights", "tilted")} | {
        name: [getattr(tree, name) for tree in trees]
        for name in ("threshold", "subsets", "left", "right", "values")
    }
    added |= {
        "feature": [(numbers + model.n_features).astype(np.int32)],
        "tree_starts": [(model.tree_starts[-1] + np.cumsum(sizes)).astype(np.int32)],
        "stage_starts": [np.array([model.n_trees + len(trees)], np.int32)],
        "stage_thresholds": [np.array([threshold], np.float32)],
    }
    arrays = {name: np.concatenate([getattr(model, name), *new_arrays]) for name, new_arrays in added.items()}
    return CascadeModel(model.kind, model.width, model.height, **arrays)
