"""What the classifiers of the AdaBoost family share: learners, the record of rounds, margins, outliers."""

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.bagging.pair_losses import STEPS, Losses, PairLosses
from hedgerow.boosting.adaboost_family import AdaBoostRule, RoundStatistics, RuleOptions
from hedgerow.boosting.adaboost_fit import AdaBoostOptions, AdaBoostResult, Model, fit_adaboost
from hedgerow.boosting.adaboost_models import VoteModel
from hedgerow.estimators import parameters
from hedgerow.estimators.boosting_base import COMMON, BoostingClassifier, as_probabilities
from hedgerow.estimators.checkpoint import same_learner
from hedgerow.estimators.decision_trees import (
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    WeakTreeEstimator,
)
from hedgerow.estimators.hypothesis_class import HypothesisClass, NoVoteError
from hedgerow.estimators.parameters import Allowed, flag, nothing, one_of
from hedgerow.estimators.validation import FitInput
from hedgerow.estimators.votes import score_margins
from hedgerow.forest import Forest, TreeModel
from hedgerow.losses.base import LogitLink, SoftmaxLink
from hedgerow.members import indexable_rows, take_rows
from hedgerow.threads import CHUNK_ROWS

ALLOWED: dict[str, Allowed] = {
    **COMMON,
    "estimator": parameters.learner() | nothing(),
    "resample": flag(),
    "on_chance": one_of("stop", "restart"),
}


class AdaBoostBase(BoostingClassifier):
    """Everything but the constructor and the rule."""

    _allowed: ClassVar[dict[str, Allowed]] = ALLOWED
    _statistics: RoundStatistics
    _learners: tuple[Any, ...]
    most_rounds_: int

    def _rule(self) -> type[AdaBoostRule]:
        """The update rule."""
        raise TypeError(f"{type(self).__name__} does not say which rule it uses")

    def _make_rule(self) -> Any:
        return self._rule()

    def _steepness(self) -> float:
        """Probabilities are those of steepness * score on the scale of log odds."""
        raise TypeError(f"{type(self).__name__} does not say what its scores mean")

    # --- learners

    def _learner(self) -> Any:
        return DecisionStump() if self.estimator is None else self.estimator

    def _has_members(self) -> bool:
        return not isinstance(self._learner(), WeakTreeEstimator)

    def _criterion(self) -> str | None:
        """Of our trees' splits, when the rule or the default learner asks for one."""
        return self._rule().criterion

    def _categorical_features(self) -> Any:
        learner = self._learner()
        return learner.categorical_features if isinstance(learner, WeakTreeEstimator) else None

    def _check_learner(self) -> None:
        learner, output = self._learner(), self._rule().prediction_type
        if not self._has_members():
            if isinstance(learner, DecisionTreeRegressor) and output != "numbers":
                raise ValueError(f"estimator={learner!r} is not allowed here: a classifier is needed")
            parameters.check_parameters(learner.get_params(deep=False), learner._allowed)  # noqa: SLF001
            return
        if output == "numbers" and is_classifier(learner):
            raise ValueError(
                f"estimator={learner!r} is not allowed here: {self._says_why()} fits numbers, it must be a "
                "regressor, a DecisionStump or None"
            )
        if output != "numbers" and not is_classifier(learner):
            raise ValueError(f"estimator={learner!r} is not allowed here: it must be a classifier or None")
        if output == "probabilities" and not hasattr(learner, "predict_proba"):
            raise ValueError(
                f"estimator={learner!r} is not allowed here: {self._says_why()} needs predict_proba"
            )

    def _says_why(self) -> str:
        return type(self).__name__

    # --- fitting

    def _previous(self) -> tuple[Model, RoundStatistics] | None:
        self._check_learner()
        if not self._is_warm_start():
            return None
        self._check_n_estimators(self.model_.n_rounds)
        says = self.model_.prediction_type if isinstance(self.model_, VoteModel) else None
        if self._has_members() != (says is not None) or getattr(self, "_fitted_rule", None) != self._rule():
            raise ValueError(
                f"estimator={self.estimator!r}, {self._says_why()}: they cannot go on from the fitted model; "
                "with warm_start=True the estimator must stay of the same kind and the algorithm the same"
            )
        return self.model_, self._statistics

    def _run(self, data: FitInput) -> AdaBoostResult:
        return fit_adaboost(data.train, data.evaluation_sets, self._settings(data), data.previous)

    def _settings(self, data: FitInput) -> AdaBoostOptions:
        labels, learner = np.asarray(data.target.classes), self._learner()
        own = isinstance(learner, WeakTreeEstimator)
        rule = RuleOptions(
            labels,
            float(self.learning_rate),
            self.on_chance == "restart",
            data.seed,
            external_members=not own,
        )
        return self._fit_options(
            AdaBoostOptions,
            data,
            make_rule=self._make_rule(),
            rule=rule,
            n_outputs=1 if len(labels) == 2 else len(labels),
            prediction_type=self._rule().prediction_type,
            tree_rules=learner.weak_rules(self._criterion()) if own else None,
            max_bins=int(learner.max_bins) if own else 255,
            resample=bool(self.resample),
            estimator=learner,
        )

    def _set_fitted(self, result: AdaBoostResult, data: FitInput) -> None:
        super()._set_fitted(result, data)
        self._keep_record(result)

    def _keep_record(self, fitted: AdaBoostResult) -> None:
        going_on = self.warm_start and hasattr(self, "most_rounds_")
        self.most_rounds_ = max(self.most_rounds_ if going_on else 0, int(self.n_estimators))
        # What the parameters were: changing them later must not change a fitted model.
        # Learners are those of all fits: a model that went on with another one has members of both.
        learners: tuple[Any, ...] = self._learners if going_on else ()
        if not learners or not same_learner(learners[-1], self._learner()):
            learners = (*learners, clone(self._learner()))
        self._keep_rounds(fitted.statistics, self._rule(), learners)
        self.sample_weights_ = fitted.sample_weights
        grids = [getattr(getattr(one, "bin_edges", None), "hashes", None) for one in learners]
        self.grid_hashes_ = next((hashes for hashes in grids if hashes is not None), None)
        reach = self._largest_margin(fitted.statistics.n_rounds)
        self.training_margins_ = score_margins(fitted.train.raw, fitted.train.classes, reach)
        self.stop_reason_ = fitted.stop_reason

    def _keep_rounds(
        self, statistics: RoundStatistics, rule: type[AdaBoostRule], learners: tuple[Any, ...]
    ) -> None:
        """Set what the rounds leave: their record, and the rule and learners they were made with."""
        self._statistics, self._fitted_rule = statistics, rule
        self._learners, self._fitted_learner = learners, learners[-1]
        self.estimator_weights_ = np.array(statistics.weights)
        self.estimator_errors_ = np.array(statistics.errors)
        self.edges_ = 0.5 - self.estimator_errors_
        self.normalizers_ = np.array(statistics.normalizers)
        self.training_error_bound_ = np.array(statistics.bounds)

    # --- after fitting

    def _probabilities(self, raw: Floats) -> Floats:
        steepness = self._steepness()
        if len(raw) == 1:
            return as_probabilities(LogitLink(steepness).inverse(raw))
        return as_probabilities(SoftmaxLink().inverse(steepness * raw))

    @property
    def estimators_(self) -> list[Any]:
        """The members in the order of the rounds; with one for each class, lists of them."""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call fit first")
        made = vars(self).get("_made")
        if made is None or made[0] is not self.model_:
            made = self._made = (self.model_, self._members())
        return list(made[1])

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        state.pop("_made", None)  # made again when asked for
        return state

    def _members(self) -> list[Any]:
        if isinstance(self.model_, VoteModel):
            return [members[0] if len(members) == 1 else list(members) for members in self.model_.members]
        outputs, votes = len(self.model_.start), self._fitted_rule.prediction_type == "classes"
        found: list[Any] = []
        for number in range(self.model_.n_rounds):
            forest = self.model_.forest.select(range(number * outputs, (number + 1) * outputs))
            if votes:
                found.append(self._as_classifier(forest))
            else:
                weight = self._statistics.weights[number]
                members = [self._as_regressor(forest.select(range(k, k + 1)), weight) for k in range(outputs)]
                found.append(members[0] if outputs == 1 else members)
        return found

    def _as_classifier(self, forest: Forest) -> DecisionStump | DecisionTreeClassifier:
        """A tree of votes as an estimator of its own; its probabilities are 0 and 1."""
        outputs = len(self.model_.start)
        leaf = forest.left.reshape(outputs, -1)[0] == 0
        values = forest.value.reshape(outputs, -1)
        numbers = (values[0] > 0).astype(np.int64) if outputs == 1 else np.argmax(values, axis=0)
        shares = (np.arange(len(self.classes_))[:, np.newaxis] == numbers) & leaf
        one = forest.select(range(1))
        trees = [one.with_values(share.astype(np.float64), k) for k, share in enumerate(shares)]
        whole = trees[0]
        for tree in trees[1:]:
            whole = Forest.join(whole, tree)
        model = TreeModel(np.zeros(len(shares)), self.model_.bins, whole)
        learner = self._fitted_learner
        kind = DecisionStump if isinstance(learner, DecisionStump) else DecisionTreeClassifier
        return kind(**learner.get_params(deep=False))._keep(model, self.schema_, self.classes_)  # noqa: SLF001

    def _as_regressor(self, forest: Forest, weight: float) -> DecisionTreeRegressor:
        """A tree of real values as an estimator of its own, before it is multiplied with its weight."""
        tree = forest.with_values(forest.value / weight, 0)
        given = self._fitted_learner.get_params(deep=False)
        given.pop("criterion", None)
        given.setdefault("max_depth", 1)
        model = TreeModel(np.zeros(1), self.model_.bins, tree)
        return DecisionTreeRegressor(**given)._keep(model, self.schema_, None)  # noqa: SLF001

    def _largest_margin(self, n_rounds: int) -> float:
        reach = math.fsum(self._statistics.max_steps[:n_rounds])
        # real scores for several classes reach both ways
        return (
            2.0 * reach
            if len(self.classes_) > 2 and self._fitted_rule.prediction_type != "classes"
            else reach
        )

    def _refuse_other_than_votes(self) -> None:
        """Raise a `TypeError` unless the class predicted is that of a weighted vote of the members."""
        check_is_fitted(self, "model_")
        if self._fitted_rule.prediction_type != "classes":
            raise NoVoteError(f"the members of this {type(self).__name__} do not vote: they say numbers")

    @property
    def hypothesis_class_(self) -> HypothesisClass:
        """The hypotheses that the members are chosen from; a `TypeError` says why they are not known."""
        self._refuse_other_than_votes()
        found = []
        for learner in self._learners:
            if not isinstance(learner, WeakTreeEstimator) or not isinstance(self.model_, TreeModel):
                raise NoVoteError(f"the members are of the class {type(learner).__name__}, not trees of ours")
            found.append(HypothesisClass.of(learner.weak_rules(), self.model_.bins))
        return max(found, key=lambda one: (one.n_leaves, one.n_edges is None))

    def vote_losses(self, X: Any, y: Any) -> PairLosses:
        """Losses of the members on rows that are new to all of them, one by one and in pairs.

        Only for algorithms whose members vote for a class.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        PairLosses
            What bounds from votes are computed from, see `hedgerow.theory`.
        """
        self._refuse_other_than_votes()
        classes = self._class_numbers(y, self._read(X).n_rows)
        X = indexable_rows(X)
        return PairLosses.of(self._losses(X, classes), self.n_estimators_, len(self.classes_))

    def _losses(self, X: Any, classes: NDArray[np.int64]) -> Iterator[Losses]:
        """What the members lose (rows, rounds), some rows at a time."""
        for start in range(0, len(classes), CHUNK_ROWS):
            rows = np.arange(start, min(start + CHUNK_ROWS, len(classes)))
            losses: Losses = np.empty((len(rows), self.n_estimators_), np.int16)
            before = np.zeros((1 if len(self.classes_) == 2 else len(self.classes_), len(rows)))
            part = X if len(rows) == len(classes) else take_rows(X, rows)
            for number, raw in enumerate(self._staged_raw(part)):
                added = raw - before
                named = added[0] > 0 if len(added) == 1 else np.argmax(added, axis=0)
                losses[:, number] = STEPS * (named != classes[rows])
                before[:] = raw
            yield losses

    def outlier_scores(self, X: Any, y: Any) -> Floats:
        """How much boosting looks at each row: its weight, averaged over the rounds, in units of 1 / n.

        Rows that are hard for every round, such as those with a wrong label, end with large weights: a
        score of 5 is a row that weighed five times its share on average.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        float64 array of shape (n_samples,)
        """
        n_rows = self._read(X).n_rows
        scores = np.zeros(n_rows)
        for weight in self.staged_sample_weights(X, y):
            scores += weight
        return np.asarray(scores * (n_rows / self.n_estimators_))

    def staged_sample_weights(self, X: Any, y: Any) -> Iterator[Floats]:
        """What boosting would weigh each row after every round, in sum 1.

        For the training rows, unless they had sample weights, the distribution of the next round.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Yields
        ------
        float64 array of shape (n_samples,)
        """
        classes = self._class_numbers(y, self._read(X).n_rows).astype(np.int32)
        for number, raw in enumerate(self._staged_raw(X)):
            weight = self._row_weights(raw, classes, number)
            total = math.fsum(weight)
            yield weight / total if total else np.full(len(weight), 1.0 / len(weight))

    def _row_weights(self, raw: Floats, classes: NDArray[np.int32], number: int) -> Floats:
        """What each row weighs at the scores of a round: the probability of the other classes, never 0."""
        steepness = self._steepness()
        if len(raw) == 1:
            return LogitLink(steepness).inverse(np.where(classes == 1, -raw[0], raw[0]))
        others = SoftmaxLink().inverse(steepness * raw)
        others[classes, np.arange(len(classes))] = 0.0
        return np.asarray(others.sum(axis=0))
