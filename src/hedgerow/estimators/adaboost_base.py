"""AdaBoostBase: the AdaBoost family with its weak learners; AdaBoostClassifierBase: its classifiers.

An estimator defines its constructor and its update rule. The rule defines what members predict, the weights
of the rows and the scale of the scores; see `hedgerow.boosting.adaboost_family`.
"""

import abc
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.bagging.pair_losses import STEPS, Losses, PairLosses
from hedgerow.boosting.adaboost import RULES
from hedgerow.boosting.adaboost_family import AdaBoostRule, RoundStatistics, RuleOptions
from hedgerow.boosting.adaboost_fit import AdaBoostOptions, AdaBoostResult, Model, fit_adaboost
from hedgerow.boosting.adaboost_models import HypothesisClass, NoVoteError, VoteModel
from hedgerow.estimators import parameters
from hedgerow.estimators.base import score_margins
from hedgerow.estimators.boosting_base import COMMON, BoostingBase, BoostingClassifier, as_probabilities
from hedgerow.estimators.checkpoint import same_learner
from hedgerow.estimators.decision_trees import (
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    WeakTreeEstimator,
)
from hedgerow.estimators.parameters import Allowed, flag, none, one_of
from hedgerow.estimators.validation import FitInput, InputOptions, Target
from hedgerow.forest import Forest, TreeModel
from hedgerow.kernels.cpu.elementary import sigmoid_into
from hedgerow.losses.base import SoftmaxLink
from hedgerow.members import accepts_weights, indexable_rows, take_rows
from hedgerow.threads import CHUNK_ROWS

ALLOWED: dict[str, Allowed] = {  # parameters of all classifiers of the family
    **COMMON,
    "estimator": parameters.learner() | none(),
    "resample": flag(),
    "on_chance": one_of("stop", "restart"),
}


class AdaBoostBase(BoostingBase):
    """Base class of the AdaBoost family."""

    _kernel_families: ClassVar[tuple[str, ...]] = ("adaboost", "predictions")
    _statistics: RoundStatistics
    _learners: tuple[Any, ...]  # weak learners of all fits: those of a warm start may differ

    @abc.abstractmethod
    def _weak_learner(self) -> Any:
        """Return the weak learner, or the default one."""

    @abc.abstractmethod
    def _make_rule(self) -> Any:
        """Return a rule class, or a partial of one."""

    def _has_members(self) -> bool:
        return not isinstance(self._weak_learner(), WeakTreeEstimator)

    def _input_options(self) -> InputOptions:
        options = super()._input_options()
        draws_rows = bool(self.resample) or (
            self._has_members() and not accepts_weights(self._weak_learner())
        )
        return replace(options, keep_row_keys=draws_rows)

    def _categorical_features(self) -> Any:
        return None if self._has_members() else getattr(self._weak_learner(), "categorical_features", None)

    @abc.abstractmethod
    def _check_warm_start(self) -> None:
        """Raise an error if the fitted model cannot be continued with these parameters."""

    def _check_learner(self) -> None:
        """Raise an error for a weak learner that the rule cannot use."""
        learner = self._weak_learner()
        if isinstance(learner, WeakTreeEstimator):
            parameters.check_parameters(learner.get_params(deep=False), learner._allowed)  # noqa: SLF001

    def _previous(self) -> tuple[Model, RoundStatistics] | None:
        self._check_learner()
        if not self._is_warm_start():
            return None
        self._check_n_estimators(self.model_.n_rounds)
        self._check_warm_start()
        return self.model_, self._statistics

    def _criterion(self) -> str | None:
        """Return the criterion of trees; None for that of the learner."""
        return None

    def _prediction_type(self) -> str:
        """Return what members predict: "classes", "probabilities" or "numbers"."""
        return "numbers"

    def _run(self, data: FitInput) -> AdaBoostResult:
        learner, grows_trees = self._weak_learner(), not self._has_members()
        restart = getattr(self, "on_chance", "stop") == "restart"
        labels = np.empty(0) if data.target.classes is None else data.target.classes
        options = self._fit_options(
            AdaBoostOptions,
            data,
            n_rounds=self._n_rounds(),
            estimator=learner,
            make_rule=self._make_rule(),
            rule=RuleOptions(labels, float(self.learning_rate), restart, data.seed, not grows_trees),
            tree_rules=learner.weak_rules(self._criterion()) if grows_trees else None,
            max_bins=int(learner.max_bins) if grows_trees else 255,
            user_edges=learner.edges_by_column(data.schema) if grows_trees else None,
            row_keys=data.row_keys,
            n_outputs=len(labels) if len(labels) > 2 else 1,
            prediction_type=self._prediction_type(),
            median=data.target.classes is None,
        )
        return fit_adaboost(data.train, data.evaluation_sets, options, data.previous)

    def _set_fitted(self, result: AdaBoostResult, data: FitInput) -> None:
        learners = self._learners if data.previous is not None else ()
        if not learners or not same_learner(learners[-1], self._weak_learner()):
            learners = (*learners, clone(self._weak_learner()))
        super()._set_fitted(result, data)
        self._set_statistics(result.statistics, learners)
        self.sample_weights_ = result.sample_weights
        self.stop_reason_ = result.stop_reason

    def _set_statistics(self, statistics: RoundStatistics, learners: tuple[Any, ...]) -> None:
        """Set the statistics of the rounds and their weak learners, also of a model from a file."""
        self._statistics, self._learners = statistics, learners
        self.estimator_weights_ = np.array(statistics.weights)
        self.estimator_errors_ = np.array(statistics.errors)
        self.edges_ = 0.5 - self.estimator_errors_
        self.normalizers_ = np.array(statistics.normalizers)

    # --- members

    @property
    def estimators_(self) -> list[Any]:
        """The members in the order of the rounds; lists of them if there is one for each class."""
        check_is_fitted(self, "model_")
        cached = self.__dict__.get("_cached_members")
        if cached is None or cached[0] is not self.model_:
            cached = self._cached_members = (self.model_, self._members())
        return list(cached[1])

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        state.pop("_cached_members", None)
        return state

    @abc.abstractmethod
    def _members(self) -> list[Any]:
        """Return the members as estimators."""

    def _as_regressor(self, model: TreeModel, forest: Forest) -> DecisionTreeRegressor:
        """Return a tree of the model as an estimator, with the parameters of the fitted weak learner."""
        values = self._learners[-1].get_params(deep=False)
        values.pop("criterion", None)
        values.setdefault("max_depth", 1)
        tree = TreeModel(np.zeros(1), model.bins, forest)
        return DecisionTreeRegressor(**values)._set_model(tree, self.schema_, None)  # noqa: SLF001


class AdaBoostClassifierBase(AdaBoostBase, BoostingClassifier):
    """Base class of AdaBoost, LogitBoost and AnyBoost for classes."""

    _allowed: ClassVar[dict[str, Allowed]] = ALLOWED
    _max_rounds: int

    def _rule(self) -> type[AdaBoostRule]:
        """Return the class of the update rule."""
        return RULES[self.algorithm]

    def _make_rule(self) -> Any:
        return self._rule()

    def _method(self) -> str:
        """Return the name of the method for error messages."""
        return f"algorithm={self.algorithm!r}" if hasattr(self, "algorithm") else type(self).__name__

    def _weak_learner(self) -> Any:
        return DecisionStump() if self.estimator is None else self.estimator

    def _check_learner(self) -> None:
        super()._check_learner()
        learner, output = self._weak_learner(), self._rule().prediction_type
        if not self._has_members():
            if isinstance(learner, DecisionTreeRegressor) and output != "numbers":
                raise ValueError(
                    f"estimator={learner!r} is not allowed here: it must be a classifier or None"
                )
        elif output == "numbers" and is_classifier(learner):
            raise ValueError(
                f"estimator={learner!r} is not allowed here: {self._method()} fits numbers, it must be a "
                "regressor, a DecisionStump or None"
            )
        elif output != "numbers" and not is_classifier(learner):
            raise ValueError(f"estimator={learner!r} is not allowed here: it must be a classifier or None")
        elif output == "probabilities" and not hasattr(learner, "predict_proba"):
            raise ValueError(
                f"estimator={learner!r} is not allowed here: {self._method()} requires predict_proba"
            )

    def _check_target(self, y: Floats, target: Target) -> None:
        super()._check_target(y, target)
        if self._rule().two_classes_only and target.n_classes != 2:
            raise ValueError(
                f"Only binary classification is supported: y has {target.n_classes} classes; "
                f"{self._method()} needs two; sklearn.multiclass.OneVsRestClassifier separates each class "
                "from the others"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with suppress(KeyError, TypeError):  # parameters are not checked before `fit`
            tags.classifier_tags.multi_class = not self._rule().two_classes_only
        return tags

    # --- fitting

    def _check_warm_start(self) -> None:
        if self._has_members() != isinstance(self.model_, VoteModel) or self._fitted_rule != self._rule():
            raise ValueError(
                f"estimator={self.estimator!r}, {self._method()}: they cannot continue the fitted model; "
                "with warm_start=True the estimator must stay of the same kind and the algorithm the same"
            )

    def _criterion(self) -> str | None:
        return self._rule().default_criterion if self.estimator is None else self._rule().criterion

    def _prediction_type(self) -> str:
        return self._rule().prediction_type

    def _set_fitted(self, result: AdaBoostResult, data: FitInput) -> None:
        previous_max = self._max_rounds if data.previous is not None else 0
        super()._set_fitted(result, data)
        self._set_rule(self._rule())
        self._max_rounds = max(previous_max, int(self.n_estimators))
        grids = [getattr(getattr(learner, "bin_edges", None), "hashes", None) for learner in self._learners]
        self.grid_hashes_ = next((hashes for hashes in grids if hashes is not None), None)
        largest = self._largest_margin(result.statistics.n_rounds)
        self.training_margins_ = score_margins(result.train.raw, result.train.classes, largest)

    def _set_rule(self, rule: type[AdaBoostRule]) -> None:
        """Set the rule of the fitted model; parameters may change after the fit."""
        self._fitted_rule, self._steepness = rule, rule.steepness_for(len(self.classes_))

    def _set_statistics(self, statistics: RoundStatistics, learners: tuple[Any, ...]) -> None:
        super()._set_statistics(statistics, learners)
        self.training_error_bound_ = np.array(statistics.bounds)

    # --- predictions

    def _probabilities(self, raw: Floats) -> Floats:
        if len(raw) == 1:
            second = self._steepness * raw
            sigmoid_into(second[0], second[0])
            return as_probabilities(second)
        return as_probabilities(SoftmaxLink().inverse(self._steepness * raw))

    def _largest_margin(self, n_rounds: int) -> float:
        max_step = math.fsum(self._statistics.max_steps[:n_rounds])
        both_signs = len(self.classes_) > 2 and self._fitted_rule.prediction_type != "classes"
        return 2.0 * max_step if both_signs else max_step

    def _members(self) -> list[Any]:
        model = self.model_
        if isinstance(model, VoteModel):
            return [members[0] if len(members) == 1 else list(members) for members in model.members]
        n_outputs, votes = len(model.start), self._fitted_rule.prediction_type == "classes"
        members: list[Any] = []
        for number, weight in enumerate(self._statistics.weights):
            trees = range(number * n_outputs, (number + 1) * n_outputs)
            if votes:
                members.append(self._as_classifier(model.forest.select(trees)))
                continue
            single_trees = [model.forest.select(range(tree, tree + 1)) for tree in trees]
            regressors = [
                self._as_regressor(model, tree.with_values(tree.value / weight, 0)) for tree in single_trees
            ]
            members.append(regressors[0] if n_outputs == 1 else regressors)
        return members

    def _as_classifier(self, forest: Forest) -> DecisionStump | DecisionTreeClassifier:
        """Return a voting tree as an estimator; its probabilities are 0 and 1."""
        n_outputs = len(self.model_.start)
        leaf = forest.left.reshape(n_outputs, -1)[0] == 0
        values = forest.value.reshape(n_outputs, -1)
        votes = (values[0] > 0).astype(np.int64) if n_outputs == 1 else np.argmax(values, axis=0)
        probabilities = (np.arange(len(self.classes_))[:, np.newaxis] == votes) & leaf
        tree = forest.select(range(1))
        trees = [
            tree.with_values(probability.astype(np.float64), k) for k, probability in enumerate(probabilities)
        ]
        joined = reduce(Forest.join, trees)
        model = TreeModel(np.zeros(len(probabilities)), self.model_.bins, joined)
        learner = self._learners[-1]
        kind = DecisionStump if isinstance(learner, DecisionStump) else DecisionTreeClassifier
        return kind(**learner.get_params(deep=False))._set_model(model, self.schema_, self.classes_)  # noqa: SLF001

    # --- theory

    def _require_votes(self) -> None:
        """Raise a `NoVoteError` unless the prediction is a weighted vote of the members."""
        check_is_fitted(self, "model_")
        if self._fitted_rule.prediction_type != "classes":
            raise NoVoteError(f"the members of this {type(self).__name__} do not vote: they predict numbers")

    @property
    def hypothesis_class_(self) -> HypothesisClass:
        """The class of hypotheses that the members are chosen from; raises `NoVoteError` if it is unknown."""
        self._require_votes()
        classes = []
        for learner in self._learners:
            if not isinstance(learner, WeakTreeEstimator) or not isinstance(self.model_, TreeModel):
                raise NoVoteError(f"the members are of type {type(learner).__name__}, not trees of hedgerow")
            classes.append(HypothesisClass.of(learner.weak_rules(), self.model_.bins))
        return max(classes, key=lambda item: (item.n_leaves, item.n_edges is None))

    def vote_losses(self, X: Any, y: Any) -> PairLosses:
        """Return losses of the members and of pairs of members on rows that are not training rows.

        Only for algorithms whose members vote for a class.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        PairLosses
            The input of bounds of votes, see `hedgerow.theory`.
        """
        self._require_votes()
        classes = self._class_numbers(y, self._read(X).n_rows)
        losses = self._member_losses(indexable_rows(X), classes)
        return PairLosses.of(losses, self.n_estimators_, len(self.classes_))

    def _member_losses(self, X: Any, classes: NDArray[np.int64]) -> Iterator[Losses]:
        """Yield losses of the members (rows, rounds) in chunks of rows."""
        for start in range(0, len(classes), CHUNK_ROWS):
            rows = np.arange(start, min(start + CHUNK_ROWS, len(classes)))
            losses: Losses = np.empty((len(rows), self.n_estimators_), np.int16)
            previous = np.zeros((1 if len(self.classes_) == 2 else len(self.classes_), len(rows)))
            chunk = X if len(rows) == len(classes) else take_rows(X, rows)
            for number, raw in enumerate(self._staged_raw(chunk)):
                added = raw - previous
                votes = added[0] > 0 if len(added) == 1 else np.argmax(added, axis=0)
                losses[:, number] = STEPS * (votes != classes[rows])
                previous[:] = raw
            yield losses

    # --- weights of rows

    def outlier_scores(self, X: Any, y: Any) -> Floats:
        """Return the weight of each row in boosting: the mean over the rounds, in units of 1 / n.

        Rows that are hard for every round, such as those with a wrong label, get large weights: a row with a
        score of 5 had five times the average weight.

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
        """Yield weights of the rows after every round, with sum 1.

        For training rows without sample weights this is the distribution of the next round.

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
        """Return the weights of rows with these scores after round `number`, not normalized."""
        return self._fitted_rule.row_weights(raw, classes)
