"""Boosting by three hypotheses, the first boosting algorithm, with scikit-learn's face."""

import sys
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.boosting.schapire import SampleLearner, SchapireBooster
from hedgerow.boosting.schapire_votes import VoteOfThree
from hedgerow.estimators import inputs, parameters
from hedgerow.estimators.checkpoints import Fit, run_fit
from hedgerow.estimators.decision_trees import DecisionStump
from hedgerow.estimators.elsewhere import refuse_elsewhere
from hedgerow.estimators.fingerprints import DataFingerprint, DataFingerprintMixin
from hedgerow.estimators.lazy import lazily
from hedgerow.estimators.margins import ShareMargins
from hedgerow.estimators.parameters import Allowed, check_parameters, flag, nothing, real, whole
from hedgerow.estimators.scoring import Classifies
from hedgerow.memory_estimates import require_input_memory
from hedgerow.table import Schema, Table, read_table

ALLOWED: dict[str, Allowed] = {
    "estimator": parameters.classifier() | nothing(),
    "depth": whole(1, 10),  # 10: 59,049 weak hypotheses
    "first_share": real(0, 1, above=True, below=True) | nothing(),
    "random_state": parameters.seed() | nothing(),
    "verbose": whole(0) | flag(),
}


class SchapireBoostClassifier(Classifies, ShareMargins, DataFingerprintMixin, BaseEstimator):  # type: ignore[misc]
    """Boosting by three hypotheses (Schapire 1990), for two or more classes.

    h1 is learned from S1, a random part of the training rows S. h2 is learned from S2, rows outside S1 of
    which h1 has half wrong; half of the mistakes of h1 go there. h3 is learned from S3, those of the
    remaining rows on which h1 and h2 disagree. The answer is that of h1 and h2 where they agree, and that
    of h3 where they do not: the majority, and with more than two classes h3 decides when all three differ.

    The rows of no sample are those outside S1 that h1 and h2 agree on. The better h1 is, the more there are,
    and the smaller S2 and S3. The size of S1 is searched such that nine tenths of the rows take part, which
    takes two or three trials, five at most.

    Parameters
    ----------
    estimator : classifier, optional
        The weak learner, any scikit-learn classifier; None for a `DecisionStump`.
    depth : int
        Of the recursion: 1 for three weak hypotheses; 2 for three votes of three, nine weak hypotheses;
        and so on, up to 10. The samples shrink quickly: more depth wants many more rows.
    first_share : float, optional
        The size of S1 as a share of the rows, at every level; None to search it. A smaller share, such as
        1/3, leaves more rows out, but S2 and S3 are larger.
    random_state : int, RandomState or None
        Of the order in which rows are drawn, and of weak learners that are random. The model is a pure
        function of it and of the data.
    verbose : int
        1 for a line on every trial, 2 also for those of votes within the vote.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    hypothesis_ : VoteOfThree
        The vote, with `members`, `samples`, `errors`, `error`, `bound` and `reason`; members are votes in
        turn, or weak hypotheses. `print(model.hypothesis_)` shows the whole.
    samples_ : tuple of three int arrays
        Row numbers of S1, S2 and S3 of the outermost vote, rising.
    estimators_ : list
        The fitted weak learners from left to right. A sample of one class only has a `ConstantHypothesis`.
    n_estimators_ : int
        How many there are.
    errors_ : float64 array of shape (3,)
        Of the outermost vote: the error of h1 on S; of h2 on S weighted so that half of the weight is where
        h1 is wrong; of h3 on the rows of S on which h1 and h2 disagree. NaN where there are none.
    training_error_, training_error_bound_ : float
        The error of the vote on S, and 3 a^2 - 2 a^3, which it cannot exceed when the largest of `errors_`
        is a < 1/2; the bound is 1 for other a. See `hedgerow.boosting.schapire.amplified_error`.
    stop_reason_ : str
        "three hypotheses, ...", or "h1 alone, ..." and why: h1 made no mistakes outside S1, or so few, or so
        few right answers, that half of S2 would have under 5 rows; or the rows are too few. h1 is then
        learned from all rows. It also says when h3 is h1, because h1 and h2 agree outside S1 and S2, and
        when a hypothesis is constant.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    There is no `sample_weight`: rows are drawn and filtered, not weighted. Draw rows by weight first.

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

    def __init__(
        self,
        estimator: Any = None,
        *,
        depth: int = 1,
        first_share: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.depth = depth
        self.first_share = first_share
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, checkpoint: Any = None, target: str | None = None) -> Self:
        """Learn the three hypotheses.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            The weak learner is given rows of it as it is.
        y : array of shape (n_samples,)
        checkpoint : str, path or hedgerow.Checkpoint, optional
            A file that keeps the weak hypotheses learned so far, every minute unless a `Checkpoint` says
            otherwise; its rounds are such hypotheses. If it is there, the fit goes on from it: the model is
            the same as without a stop, to the last bit.
        target : None
            For tables elsewhere, which the weak learner cannot be given: X must be in memory.

        Returns
        -------
        self
        """
        check_parameters(self.get_params(deep=False), ALLOWED)
        refuse_elsewhere(X, type(self).__name__, target)
        run_fit(self, checkpoint, lambda model, under_way: model._fit(X, y, under_way))  # noqa: SLF001
        return self

    def _fit(self, X: Any, y: Any, under_way: Fit) -> None:
        name = type(self).__name__
        require_input_memory(X, name, encoded=False)
        under_way.compare_names(X, y)
        known = {"schema": self.schema_} if under_way.taken_up else {}
        table = read_table(X, estimator_name=name, **known)
        raw_y = inputs.read_target(y, table.n_rows, name)
        labels = inputs.Labels.of(raw_y)
        numbers = labels.encode(raw_y).astype(np.int64)
        seed = inputs.read_seed(self.random_state) if under_way.seed is None else under_way.seed
        trained_on = DataFingerprint.of_table(table, numbers.astype(np.float64), None, 1)
        under_way.compare(trained_on)
        kept: dict[str, Any] = {}
        if under_way.checkpointer is not None:  # else nobody needs the trials
            learned = list(getattr(self, "_learned", ()))
            under_way.set_by(
                lambda model, _: model._keep_learned(learned, table.schema, labels.classes, seed)  # noqa: SLF001
            )
            kept = {
                "fitted": learned,
                "after_fit": lambda: under_way.checkpointer.after_round(None, lambda: None),
            }
        learner = SampleLearner(self._weak_learner(), X, numbers, labels.classes, seed, **kept)
        booster = SchapireBooster(learner, self.first_share, self._teller())
        hypothesis = booster.boost(np.arange(table.n_rows), int(self.depth))
        if under_way.checkpointer is not None:
            under_way.checkpointer.finish(lambda: None)
        self._keep(hypothesis, table.schema, labels.classes)
        self._add_data_fingerprint(trained_on, warm_start=False)
        self.row_fingerprints_ = self._row_fingerprints(
            table, numbers.astype(np.float64), len(labels.classes), None
        )

    def _keep_learned(self, learned: list[Any], schema: Schema, classes: NDArray[Any], seed: int) -> None:
        """Set what a fit that is not finished leaves."""
        self._learned, self.schema_, self.classes_, self._seed = learned, schema, classes, seed

    def _weak_learner(self) -> Any:
        return DecisionStump() if self.estimator is None else self.estimator

    def _teller(self) -> Callable[[int, str], None]:
        """What is told of the trials, and to whom."""
        if not self.verbose:
            return lambda _depth, _line: None

        def tell(depth: int, line: str) -> None:
            level = self.depth - depth
            if level == 0 or self.verbose > 1:
                sys.stderr.write("  " * level + line + "\n")

        return tell

    def _keep(self, hypothesis: Any, schema: Schema, classes: NDArray[Any]) -> None:
        """Set the fitted attributes, all at the end: a fit that fails leaves the old model whole."""
        self.hypothesis_: VoteOfThree = hypothesis
        self.samples_ = hypothesis.samples
        self.estimators_ = [weak.estimator for weak in hypothesis.weak()]
        self.n_estimators_ = len(self.estimators_)
        self.errors_ = hypothesis.errors
        self.training_error_, self.training_error_bound_ = hypothesis.error, hypothesis.bound
        self.stop_reason_ = hypothesis.reason
        self.classes_ = classes
        self.schema_ = schema
        self.n_features_in_ = schema.n_columns
        if schema.names is not None:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        for name in ("_learned", "_seed"):  # of a checkpoint
            if hasattr(self, name):
                delattr(self, name)

    def _read(self, X: Any) -> Table:
        check_is_fitted(self, "hypothesis_")
        refuse_elsewhere(X, f"this method of {type(self).__name__}")
        return read_table(X, schema=self.schema_, estimator_name=type(self).__name__)

    @lazily
    def predict_proba(self, X: Any) -> Floats:
        """Shares of the vote.

        Each of the three outermost hypotheses has a third of the vote; when all three differ h3, which then
        decides, has two fourths. So the greatest share is always that of the predicted class, and with two
        classes it is 2/3 or 1. The votes of weak hypotheses deeper down are not counted: a majority of
        majorities need not have the most of them. h1 alone has the whole vote.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
        """
        self._read(X)
        return self.hypothesis_.shares(X, len(self.classes_))

    @lazily
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
