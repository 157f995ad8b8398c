"""SchapireBoostClassifier: boosting by three hypotheses, the first boosting algorithm."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from hedgerow._typing import Floats
from hedgerow.boosting.schapire import SampleLearner, SchapireBooster
from hedgerow.boosting.schapire_votes import VoteOfThree
from hedgerow.estimators import parameters
from hedgerow.estimators.base import ClassifierBase, EnsembleBase, supports_dask
from hedgerow.estimators.decision_trees import DecisionStump
from hedgerow.estimators.parameters import Allowed, flag, integer, none, number
from hedgerow.estimators.validation import FitInput, InputOptions
from hedgerow.estimators.votes import VoteMargins
from hedgerow.table import Schema


class SchapireBoostClassifier(ClassifierBase, VoteMargins, EnsembleBase):
    """Boosting by three hypotheses (Schapire 1990), for two or more classes.

    h1 is fitted to S1, a random part of the training rows S. h2 is fitted to S2, rows outside S1, half of
    which h1 misclassifies; S2 has half of the mistakes of h1. h3 is fitted to S3, those of the remaining rows
    on which h1 and h2 disagree. The prediction is that of h1 and h2 where they agree, else that of h3: the
    majority; with more than two classes h3 decides when all three differ.

    Rows outside S1 on which h1 and h2 agree are in no sample. The better h1 is, the more there are, and the
    smaller S2 and S3 are. The size of S1 is chosen such that nine tenths of the rows are used. The search
    takes two or three trials, five at most.

    Parameters
    ----------
    estimator : classifier, optional
        The weak learner, any scikit-learn classifier; None for a `DecisionStump`.
    depth : int
        Depth of the recursion: 1 for three weak hypotheses; 2 for three votes of three, nine weak hypotheses;
        and so on, up to 10. The samples shrink quickly: a larger depth requires many more rows.
    first_share : float, optional
        The size of S1 as a fraction of the rows, at every level; None to search for it. With a smaller
        fraction, such as 1/3, fewer rows are used, but S2 and S3 are larger.
    random_state : int, RandomState or None
        Seed of the order in which rows are drawn, and of random weak learners. The model is a pure function
        of it and of the data.
    verbose : int
        1 for a line per trial, 2 also for the trials of votes within the vote.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    hypothesis_ : VoteOfThree
        The vote, with `members`, `samples`, `errors`, `error`, `bound` and `reason`; members are votes or
        weak hypotheses. `print(model.hypothesis_)` prints the tree of votes.
    samples_ : tuple of three int arrays
        Row numbers of S1, S2 and S3 of the outermost vote, sorted.
    estimators_ : list
        The fitted weak learners from left to right. A sample of one class only has a `ConstantHypothesis`.
    n_estimators_ : int
        Number of weak learners.
    errors_ : float64 array of shape (3,)
        Errors of the members of the outermost vote: of h1 on S; of h2 on S, weighted so that h1 is wrong on
        half of the weight; of h3 on the rows of S on which h1 and h2 disagree, NaN if there are none.
    training_error_, training_error_bound_ : float
        The error of the vote on S, and its upper bound 3 a^2 - 2 a^3 if the largest of `errors_` is a < 1/2;
        else the bound is 1. See `hedgerow.boosting.schapire.amplified_error`.
    stop_reason_ : str
        "three hypotheses, ...", or "h1 alone, ..." and why: h1 made no or too few mistakes outside S1, or too
        few correct predictions, so that half of S2 would have under 5 rows; or there are too few rows. h1 is
        then fitted to all rows. It also contains whether h3 is h1, because h1 and h2 agree outside S1 and S2,
        and whether a hypothesis is constant.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    There is no `sample_weight`: rows are drawn and filtered, not weighted. Resample rows by weight first.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.2, random_state=0)
    >>> model = SchapireBoostClassifier(random_state=0).fit(X, y)
    >>> print(model.hypothesis_)
    from 2000 rows: vote of three, error 0.097 on them, bound 0.204
      h1 from 1597 rows, error 0.175: x1 <= 0.230356: 1, else 0
      h2 from 82 rows, error 0.290: x0 <= 1.19108: 0, else 1
      h3 from 115 rows, error 0.125: x0 <= -0.450766: 0, else 1
    >>> model.stop_reason_
    'three hypotheses, learned from 1794 of 2000 rows'
    >>> model.predict_proba([[-1.0, 0.5], [0.5, 0.5]]).round(2)
    array([[1.  , 0.  ],
           [0.67, 0.33]])
    """

    hypothesis_: VoteOfThree
    _allowed: ClassVar[dict[str, Allowed]] = {
        "estimator": parameters.classifier() | none(),
        "depth": integer(1, 10),  # 10: 59,049 weak hypotheses
        "first_share": number(0, 1, above=True, below=True) | none(),
        "random_state": parameters.seed() | none(),
        "verbose": integer(0) | flag(),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        depth: int = 1,
        first_share: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._set_parameters(locals())

    def fit(self, X: Any, y: Any = None, checkpoint: Any = None, target: str | None = None) -> Self:
        """Fit the three hypotheses.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            The weak learner receives rows of it unchanged.
        y : array of shape (n_samples,)
        checkpoint : str, path or hedgerow.Checkpoint, optional
            A file that stores the fitted weak hypotheses, every minute or as a `Checkpoint` sets; its rounds
            are weak hypotheses. If the file exists, the fit resumes from it: the model is the same as without
            the interruption, bit for bit.
        target : None
            Not supported: X must be in memory.

        Returns
        -------
        self
        """
        return self._fit(X, y, target=target, checkpoint=checkpoint)

    def _input_options(self) -> InputOptions:
        return replace(super()._input_options(), grows_trees=False, in_memory=type(self).__name__)

    def _run(self, data: FitInput) -> VoteOfThree:
        checkpointer, fitted, after_fit = data.checkpointer, None, None
        if checkpointer is not None:
            fitted = list(getattr(self, "_learned", ()))
            after_fit = lambda: checkpointer.after_round(None, lambda: fitted)  # noqa: E731 - called once
        learner = SampleLearner(
            self._weak_learner(), data.train.X, data.train.y.astype(np.int64),
            np.asarray(data.target.classes), data.seed, fitted, after_fit,
        )  # fmt: skip
        booster = SchapireBooster(learner, self.first_share, self._logger())
        hypothesis = booster.boost(np.arange(data.n_rows), int(self.depth))
        if checkpointer is not None:
            checkpointer.finish(lambda: fitted)
        assert isinstance(hypothesis, VoteOfThree)  # noqa: S101 - there are two classes and depth >= 1
        return hypothesis

    def _weak_learner(self) -> Any:
        return DecisionStump() if self.estimator is None else self.estimator

    def _logger(self) -> Callable[[int, str], None]:
        """Return a function that prints the trials of a vote with a remaining depth."""

        def log(depth: int, line: str) -> None:
            level = self.depth - depth
            if self.verbose > (level > 0):
                sys.stderr.write("  " * level + line + "\n")

        return log

    def _set_fitted(self, result: VoteOfThree | list[Any], data: FitInput) -> None:
        classes = np.asarray(data.target.classes)
        if isinstance(result, list):  # the weak hypotheses of an unfinished fit
            self._set_unfinished(result, data.schema, classes, data.seed)
            return
        self._set_hypothesis(result, data.schema, classes)
        self._set_fingerprints(data)

    def _set_unfinished(self, fitted: list[Any], schema: Schema, classes: NDArray[Any], seed: int) -> None:
        """Set the attributes of an unfinished fit, for a checkpoint."""
        self._learned, self.schema_, self.classes_, self._seed = fitted, schema, classes, seed

    def _set_hypothesis(self, hypothesis: VoteOfThree, schema: Schema, classes: NDArray[Any]) -> None:
        """Set the attributes of a fitted model, also of one from a file."""
        self.hypothesis_ = hypothesis
        self.samples_ = hypothesis.samples
        self.estimators_ = [weak.estimator for weak in hypothesis.weak()]
        self.n_estimators_ = len(self.estimators_)
        self.errors_ = hypothesis.errors
        self.training_error_, self.training_error_bound_ = hypothesis.error, hypothesis.bound
        self.stop_reason_ = hypothesis.reason
        self.classes_ = classes
        self._set_columns(schema)
        for name in ("_learned", "_seed"):  # of a checkpoint
            self.__dict__.pop(name, None)

    @supports_dask
    def predict_proba(self, X: Any) -> Floats:
        """Return fractions of the vote.

        Each of the three outermost hypotheses has a third of the vote; if all three differ, h3 decides and
        has half of it. So the predicted class always has the largest fraction; with two classes it is 2/3 or
        1. The votes of deeper weak hypotheses are not counted: a majority of majorities may have fewer of
        them. h1 alone has the whole vote.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
        """
        self._read(X)
        return self.hypothesis_.vote_fractions(X, len(self.classes_))

    @supports_dask
    def predict(self, X: Any) -> NDArray[Any]:
        """Classes by vote.

        Returns
        -------
        array of shape (n_samples,)
        """
        self._read(X)
        labels: NDArray[Any] = self.classes_[self.hypothesis_.predict(X)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is None or parameters.classifier().test(self.estimator):
            members = get_tags(self._weak_learner()).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = members.allow_nan, members.sparse
        return tags
