"""Setting up a gradient boosting fit whose rows, or rows to follow, are elsewhere.

survey -> bins -> place: codes and slices of targets where the rows are -> [ parts asked ] x rounds -> forest
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.binning import Bins, find_bins
from hedgerow.boosting.elsewhere import (
    FollowedElsewhere,
    LeavesElsewhere,
    PlaceGrower,
    PlaceLearner,
    PlaceRule,
    RowsElsewhere,
    stays_with_rows,
)
from hedgerow.boosting.gradient import Followed, GradientRule, Scores
from hedgerow.boosting.learners import TreeLearner
from hedgerow.boosting.model import TreeModel
from hedgerow.forest import Forest
from hedgerow.growing.gradient_shard import EVALUATED, TRAINING, GradientShardFactory
from hedgerow.growing.grower import TreeGrower
from hedgerow.growing.rounds import Rounds
from hedgerow.growing.statistics import Quantiser, Weights, piece_rows, without_held_out
from hedgerow.losses.base import total_weight
from hedgerow.table.dataset import Dataset
from hedgerow.table.remote import RemoteTable
from hedgerow.threads import Team

if TYPE_CHECKING:
    from hedgerow.boosting.fit import Settings

_NOBODY = np.empty(0, np.uint32)


class ElsewhereFit:
    """Everything of a fit but its rounds; a context manager that lets go of the places at the end.

    Parameters
    ----------
    train, evaluations : Dataset
        At least one of their tables is elsewhere.
    settings : Settings
    previous : TreeModel or None
    team : Team

    Attributes
    ----------
    followed : list of Followed
    first : int, the number of the first round
    """

    def __init__(
        self,
        train: "Dataset",
        evaluations: Sequence["Dataset"],
        settings: "Settings",
        previous: TreeModel | None,
        team: Team,
    ) -> None:
        self.train, self.settings, self.previous, self.team = train, settings, previous, team
        self._stack, self._evaluations = ExitStack(), evaluations
        self._steps: list[Any] = []
        self.followed: list[Followed] = []
        self.first = previous.n_rounds if previous else 0

    def __enter__(self) -> Self:
        n, loss = self.train.table.n_rows, self.settings.loss
        self.weights = Weights.of(self.train.sample_weight, n, self.settings.validation_rows)
        self.bins: Bins = self.previous.bins if self.previous else find_bins(
            self.train.table, self.settings.max_bins, copies=self.weights.row_counts(n), team=self.team
        )  # fmt: skip
        self.weight = without_held_out(self.train.sample_weight, self.settings.validation_rows, n)
        self.start = self.previous.start if self.previous else loss.start(self.train.y, self.weight)
        self._n_training = len(self.weights.rows)
        self._everyone = self._n_training == n
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    # --- the model

    def made(self, steps: list[Any]) -> TreeModel:
        """The model of some steps."""
        outputs = list(range(self.settings.loss.n_outputs)) * len(steps)
        forest = Forest.of([tree for step in steps for tree in step.trees], outputs)
        before = self.previous
        return TreeModel(self.start, self.bins, Forest.join(before.forest, forest) if before else forest)

    def _model(self) -> tuple[Floats, Forest]:
        """What parts that were made anew are told."""
        return self.start, self.made(self._steps).forest

    # --- the rounds

    def rule_and_learner(self) -> tuple[Any, Any]:
        """Who asks and who answers."""
        settings = self.settings
        rule: Any
        learner: Any
        if not isinstance(self.train.table, RemoteTable):
            rule, learner = self._here()
        elif stays_with_rows(settings.loss, newton=settings.newton):
            rule, learner = self._with_rows()
        else:
            rule, learner = self._scores_here()
        self._steps = rule.steps
        return rule, learner

    def _here(self) -> tuple[GradientRule, TreeLearner]:
        """Training rows are here; only some that are followed are elsewhere."""
        train, team, held = self.train, self.team, self.settings.validation_rows
        binned = self.bins.encode(train.table, team)
        model = TreeModel(*self._model()[:1], self.bins, self._model()[1])
        trained = Scores(train.y, self.weight, model.scores(train.table, team.n_members), binned)
        self.followed = [self._follow(rows) for rows in self._evaluations]
        if held is not None:
            weight = None if train.sample_weight is None else train.sample_weight[held]
            self.followed.insert(0, Scores(train.y[held], weight, trained.raw[:, held], binned.take(held)))
            trained.validation_rows = held
        return self._central(TreeGrower(binned, self.settings.rules, team), trained)

    def _with_rows(self) -> tuple[PlaceRule, PlaceLearner]:
        """Everything of a row stays with it."""
        train, settings, loss, held = (
            self.train,
            self.settings,
            self.settings.loss,
            self.settings.validation_rows,
        )
        rows = self._place(train)
        self.weights = replace(self.weights, rows=_NOBODY)  # four bytes a row
        rows.restore()
        self.followed = [self._follow(one) for one in self._evaluations]
        if held is not None:
            weight = None if train.sample_weight is None else train.sample_weight[held]
            self.followed.insert(0, FollowedElsewhere(rows, train.y[held], weight, own=False))
        follows = bool(self.followed) or settings.verbose > 0
        total = total_weight(train.y, self.weight) if follows else None
        train.y = np.empty(0)  # eight bytes a row, and the parts have their own
        learner = PlaceLearner(rows, self.team)
        return PlaceRule(loss, learner, self.followed, total), learner

    def _scores_here(self) -> tuple[GradientRule, TreeLearner]:
        """Targets and scores of all rows are here."""
        train, settings, held = self.train, self.settings, self.settings.validation_rows
        rows = self._place(train)
        rows.restore()
        raw = np.concatenate(rows.surely(lambda: rows.shards.call("scores"))[0], axis=1)
        trained = Scores(train.y, self.weight, raw, LeavesElsewhere(rows))
        self.followed = [self._follow(one) for one in self._evaluations]
        if held is not None:
            weight = None if train.sample_weight is None else train.sample_weight[held]
            chosen = LeavesElsewhere(rows, held)
            self.followed.insert(0, Scores(train.y[held], weight, raw[:, held], chosen))
            trained.validation_rows = held
        grower = PlaceGrower(rows, settings.rules, self.bins.n_columns, settings.loss.n_outputs)
        return self._central(grower, trained)

    def _central(self, grower: Any, trained: Scores) -> tuple[GradientRule, TreeLearner]:
        settings, loss, team = self.settings, self.settings.loss, self.team
        learner = TreeLearner(
            grower, Quantiser(self.weights, len(trained.y), team), loss, trained,
            monotonic=settings.rules.monotonic, learning_rate=settings.learning_rate,
            newton=settings.newton, subsample=settings.subsample, seed=settings.seed, team=team,
        )  # fmt: skip
        rule = GradientRule(
            loss, trained, self.followed,
            newton=settings.newton, follow_train=bool(self.followed) or settings.verbose > 0, team=team,
        )  # fmt: skip
        return rule, learner

    # --- rows in places

    def _place(self, rows: "Dataset") -> RowsElsewhere:
        """The training rows where they are."""
        n, weights = rows.table.n_rows, self.weights
        shares: dict[str, NDArray[Any]] = {"y": _narrow(rows.y)}
        if weights.copies.size:
            shares["copies"] = weights.copies
        elif weights.weight.size:
            shares["weight"] = weights.weight
        if not self._everyone:
            roles = np.zeros(n, np.uint8)
            roles[weights.rows] = TRAINING
            if self.settings.validation_rows is not None:
                roles[self.settings.validation_rows] = EVALUATED
            shares["role"] = roles
        place, copies = self._open(rows, shares), weights.copies
        leader = Rounds(
            self.bins, self.settings.rules, self._n_training,
            n_copies=int(copies.sum()) if copies.size else self._n_training, n_piece=piece_rows(copies),
            n_outputs=self.settings.loss.n_outputs, learning_rate=self.settings.learning_rate,
        )  # fmt: skip
        return RowsElsewhere(place, None if self._everyone else weights.rows, self._model, leader)

    def _open(self, rows: "Dataset", shares: dict[str, NDArray[Any]]) -> Any:
        settings, table = self.settings, rows.table
        assert isinstance(table, RemoteTable)  # noqa: S101 - the caller has looked
        make = GradientShardFactory(
            self.bins, settings.loss, settings.seed, settings.subsample, table.low_memory
        )
        shards = table.make_shards(make, self.bins, shares, settings.n_threads)
        self._stack.callback(shards.close)
        return shards

    def _follow(self, rows: "Dataset") -> Followed:
        """An evaluation set, here or elsewhere."""
        if not isinstance(rows.table, RemoteTable):
            model = TreeModel(self.start, self.bins, self._model()[1])
            coded = self.bins.encode(rows.table, self.team, for_growing=False)
            return Scores(rows.y, rows.sample_weight, model.scores(rows.table, self.team.n_members), coded)
        shares = {"y": _narrow(rows.y), "role": np.full(len(rows.y), EVALUATED, np.uint8)}
        if rows.sample_weight is not None:
            shares["weight"] = rows.sample_weight
        followed = RowsElsewhere(self._open(rows, shares), _NOBODY, self._model)
        followed.restore()
        return FollowedElsewhere(followed, rows.y, rows.sample_weight, own=True)


def _narrow(y: Floats) -> NDArray[Any]:
    """Class numbers in a byte each, other numbers as they are."""
    if y.min(initial=0.0) < 0 or y.max(initial=0.0) > np.iinfo(np.uint8).max:
        return y
    narrow = y.astype(np.uint8)
    return narrow if np.array_equal(narrow, y) else y
