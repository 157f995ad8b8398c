"""bias_variance: fit an estimator to many training sets and decompose its error at fixed test points."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import _num_features

from hedgerow._typing import Floats
from hedgerow.bagging.members import JobRunner
from hedgerow.estimators import parameters, validation
from hedgerow.estimators.parameters import check_parameters, flag, integer, none, one_of
from hedgerow.members import ConstantHypothesis, fit_member
from hedgerow.progress import ProgressBar
from hedgerow.theory import decomposition
from hedgerow.theory.decomposition import BiasVariance, Decomposition, one_hot
from hedgerow.theory.resamples import Pair, Resamples, as_pair, seeds_of

_OF_CLASSES = ("zero_one", "kohavi_wolpert", "brier")
_ALLOWED = {
    "estimator": parameters.learner(),
    "loss": one_of("squared", *_OF_CLASSES) | none(),
    "n_repeats": integer(2),
    "random_state": parameters.seed() | none(),
    "n_jobs": parameters.threads() | none(),
    "verbose": integer(0) | flag(),
}


def bias_variance(
    estimator: Any,
    sampler: Any,
    *,
    test: Pair,
    loss: str | None = None,
    noise: Any = None,
    n_repeats: int = 50,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> BiasVariance:
    """Measure bias and variance of an estimator over many training sets.

    A clone is fitted to every training set and predicts the same test points. The bias is the error of the
    mean (or majority) prediction; the variance measures how much the predictions differ.

    Parameters
    ----------
    estimator : classifier or regressor
        Any estimator with scikit-learn's interface, also a pipeline. It is not changed. Its `random_state`
        gets another seed in every repeat, so that its randomness is part of the variance.
    sampler : callable or pair (X, y)
        ``sampler(seed)`` returns a training set (X, y) from the true distribution, which must depend only on
        the integer seed. From a pair (X, y), bootstrap samples are drawn; `Resamples` has other sizes and
        describes the limits of this estimate.
    test : pair (X, y)
        The test points, none of them in the data set of the training sets. y has the observed values or, if
        `noise` is passed, the true ones: the mean of y at each point, or the most probable label.
    loss : {"squared", "zero_one", "kohavi_wolpert", "brier"} or None
        The loss to decompose. "squared" is for regressors, the others are for classifiers. "zero_one" is the
        fraction of wrong labels in the decomposition of Domingos; "kohavi_wolpert" is the same error in an
        additive decomposition. "brier" is half the squared error of the probabilities: with two classes,
        that of the second class. None means "squared" or "zero_one".
    noise : float, array of shape (n_points,) or None
        The variance of y at the test points or, for classifiers, the probability of another label, at most
        0.5; several other labels are equally probable. None if it is unknown: the noise is then part of the
        bias.
    n_repeats : int
        Number of training sets, at least 2.
    random_state : int, RandomState or None
        With an integer, the training sets depend only on it and their index. Estimators are then compared on
        the same training sets, and a larger `n_repeats` adds to them.
    n_jobs : int or None
        Number of parallel repeats; -1 for all cores. Estimators of hedgerow run in threads, and None means
        all cores; others run as in scikit-learn, where None means one. The result does not depend on it.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line per repeat.

    Returns
    -------
    BiasVariance

    Notes
    -----
    Squared losses (Geman et al.), with the mean prediction a of R repeats a_r, the truth f and
    s² = Σ |a_r − a|² / (R − 1):

        error = noise + (|a − f|² − s² / R) + s² = noise + bias² + variance

    exactly. Division by R − 1 and subtraction of s² / R make both terms unbiased for any number of repeats; a
    bias near zero may be negative by chance. The Brier score is half the squared loss of the vectors of
    probabilities. The decomposition of Kohavi and Wolpert uses votes as probabilities 0 and 1.

    Zero-one loss (Domingos), with the label t, fractions p of the votes, and the main prediction m, the class
    with most votes:

        error = c1 noise + bias + unbiased variance − biased variance

    where the bias is 1 if m ≠ t, the unbiased variance 1 − p_m where m = t, and the biased variance p_t where
    m ≠ t. c1 = p_t − (1 − p_t) / (K − 1) for K classes. There is no correction of m for the number of
    repeats: use many repeats if the votes are nearly equal.

    References
    ----------
    S. Geman, E. Bienenstock, R. Doursat, "Neural networks and the bias/variance dilemma", Neural Computation
    4, 1992.
    R. Kohavi, D. Wolpert, "Bias plus variance decomposition for zero-one loss functions", ICML 1996.
    P. Domingos, "A unified bias-variance decomposition for zero-one and squared loss", AAAI 2000.
    G. James, "Variance and bias for general loss functions", Machine Learning 51, 2003.

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier, DecisionStump
    >>> from hedgerow.datasets import make_hastie
    >>> def sampler(seed):
    ...     return make_hastie(500, random_state=seed)
    >>> test = make_hastie(1000, random_state=12345)
    >>> stump = bias_variance(DecisionStump(), sampler, test=test, random_state=0)
    >>> boosted = bias_variance(AdaBoostClassifier(n_estimators=100), sampler, test=test, random_state=0)
    >>> round(stump.bias, 2), round(boosted.bias, 2)
    (0.5, 0.17)
    """
    check_parameters(locals(), _ALLOWED)
    experiment = _Experiment.of(estimator, sampler, test, loss, noise, validation.make_seed(random_state))
    predictions = experiment.run(n_repeats, n_jobs, int(verbose))
    classes = experiment.classes_of(predictions)
    return _result(experiment, _decompose(experiment, predictions, classes), classes, n_repeats)


@dataclass(frozen=True, eq=False)
class _Predictions:
    """Predictions of one fitted clone at the test points, and the classes of its training set.

    `values` are numbers or labels (n,), or probabilities (classes, n) of its classes.
    """

    values: NDArray[Any]
    classes: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class _Experiment:
    """Checked input. `noise` is (n,), zero when it is not known."""

    estimator: Any
    sampler: Callable[[int], Any]
    X: Any
    y: NDArray[Any]
    loss: str
    noise: Floats
    noise_known: bool
    seed: int

    @classmethod
    def of(cls, estimator: Any, sampler: Any, test: Any, loss: Any, noise: Any, seed: int) -> "_Experiment":
        """Check the input and the first training set, without a fit."""
        loss = _read_loss(loss, estimator)
        if not callable(sampler):
            sampler = Resamples(*as_pair(sampler, "sampler"))
        X, y = as_pair(test, "test")
        target = _read_target(y, loss, "test")
        level = _read_noise(noise, len(target), loss)
        made = cls(estimator, sampler, X, target, loss, level, noise is not None, seed)
        made._check_first()
        return made

    def draw(self, number: int) -> Pair:
        """Return the training set of a repeat."""
        name = f"the training set of repeat {number}"
        X, y = as_pair(self.sampler(seeds_of(self.seed, number)[0]), name)
        return X, _read_target(y, self.loss, name)

    def _check_first(self) -> None:
        X, y = self.draw(0)
        n_columns, n_expected = _num_features(self.X), _num_features(X)
        if n_columns != n_expected:
            raise ValueError(f"test has {n_columns} columns, but the sampler's X has {n_expected}")
        if self.loss != "squared" and (y.dtype.kind in "OUST") != (self.y.dtype.kind in "OUST"):
            raise ValueError(
                f"test has labels of dtype {self.y.dtype}, but those of the sampler are {y.dtype}"
            )

    def repeat(self, number: int) -> _Predictions:
        """Draw a training set, fit a clone and predict."""
        X, y = self.draw(number)
        has_classes = self.loss != "squared"
        classes = np.unique(y) if has_classes else None
        member: Any
        if classes is not None and len(classes) == 1:
            member = ConstantHypothesis(classes)  # most learners cannot fit one class
        else:
            seed, step = seeds_of(self.seed, number)[1], f"in repeat {number} with {len(y)} rows"
            member = fit_member(self.estimator, seed, X, y, step=step, parallel=True)
        return self._predict(member, classes)

    def _predict(self, member: Any, classes: NDArray[Any] | None) -> _Predictions:
        if self.loss == "brier":
            if isinstance(member, ConstantHypothesis):
                return _Predictions(np.ones((1, len(self.y))), classes)
            values = np.asarray(member.predict_proba(self.X), np.float64)
            return _Predictions(self._checked(values).T, np.asarray(member.classes_))
        values = self._checked(np.asarray(member.predict(self.X)).reshape(-1))
        return _Predictions(values.astype(np.float64) if classes is None else values, classes)

    def _checked(self, values: NDArray[Any]) -> NDArray[Any]:
        finite = values.dtype.kind != "f" or bool(np.all(np.isfinite(values)))
        if len(values) != len(self.y) or not finite:
            raise ValueError(
                f"estimator={self.estimator!r} must return a finite prediction per test point; got "
                f"{len(values)} predictions for {len(self.y)} points{'' if finite else ', not all finite'}"
            )
        return values

    def run(self, n_repeats: int, n_jobs: int | None, verbose: int) -> list[_Predictions]:
        """Return the predictions of all repeats, in order."""
        runner = JobRunner.of(self.estimator, n_jobs)
        results = runner.run(delayed(self.repeat)(number) for number in range(n_repeats))
        return list(_with_progress(results, n_repeats, verbose))

    def classes_of(self, predictions: list[_Predictions]) -> NDArray[Any] | None:
        """Return all labels of the training sets, the predictions and the test points."""
        if self.loss == "squared":
            return None
        labels = [np.unique(self.y), *(a.classes for a in predictions if a.classes is not None)]
        if self.loss != "brier":
            labels += [np.unique(a.values) for a in predictions]
        return np.unique(np.concatenate(labels))


def _with_progress(results: Iterator[_Predictions], n_repeats: int, verbose: int) -> Iterator[_Predictions]:
    """Yield the results and update the progress bar."""
    if not verbose:
        yield from results
        return
    with ProgressBar(n_repeats, "bias and variance", lines=verbose > 1) as bar:
        for number, result in enumerate(results, 1):
            bar.update(number)
            yield result


def _decompose(
    experiment: _Experiment, predictions: list[_Predictions], classes: NDArray[Any] | None
) -> Decomposition:
    if classes is None:
        values = np.stack([repeat.values[np.newaxis] for repeat in predictions])
        return decomposition.squared(values, experiment.y[np.newaxis], experiment.noise)
    n_classes = max(len(classes), 2)  # one class has an unobserved alternative
    labels = np.searchsorted(classes, experiment.y)
    if experiment.loss == "brier":
        values = np.stack([_spread(repeat, classes, n_classes) for repeat in predictions])
    else:
        values = np.stack([one_hot(np.searchsorted(classes, a.values), n_classes) for a in predictions])
    if experiment.loss == "zero_one":
        return decomposition.zero_one(values, labels, experiment.noise)
    truth = decomposition.class_truth(labels, experiment.noise, n_classes)
    # The mean of |e_t - q|^2 over labels t drawn by q is 1 - |q|^2.
    return decomposition.squared(values, truth, 0.5 * (1.0 - (truth * truth).sum(axis=0)), 0.5)


def _spread(repeat: _Predictions, classes: NDArray[Any], n_classes: int) -> Floats:
    """Return the probabilities of all classes, 0 for those outside the training set of the clone."""
    spread = np.zeros((n_classes, repeat.values.shape[1]))
    known = classes if repeat.classes is None else repeat.classes
    spread[np.searchsorted(classes, known)] = repeat.values
    return spread


def _result(
    experiment: _Experiment, terms: Decomposition, classes: NDArray[Any] | None, n_repeats: int
) -> BiasVariance:
    means = {name: float(values.mean()) for name, values in terms.points.items()}
    if experiment.loss != "zero_one":
        means["unbiased_variance"] = means["net_variance"] = means["variance"]
        means["biased_variance"], means["net_noise"] = 0.0, means["noise"]
    centre: NDArray[Any] = terms.centre[0]
    if classes is not None:
        fractions = terms.centre[: len(classes)].T
        centre = fractions if experiment.loss == "brier" else classes[np.argmax(fractions, axis=1)]
    return BiasVariance(
        name=type(experiment.estimator).__name__,
        loss=experiment.loss,
        n_repeats=n_repeats,
        n_points=len(experiment.y),
        noise_known=experiment.noise_known,
        **means,
        standard_errors={
            name: decomposition.standard_error(values, n_repeats) for name, values in terms.replicates.items()
        },
        per_point=terms.points,
        replicates=terms.replicates,
        main_prediction=centre,
        classes=classes,
        seed=experiment.seed,
    )


# --- checks


def _read_loss(loss: str | None, estimator: Any) -> str:
    if not is_classifier(estimator):
        if loss not in (None, "squared"):
            raise ValueError(f"loss={loss!r} is not allowed for a regressor: it must be 'squared' or None")
        return "squared"
    if loss == "squared":
        allowed = ", ".join(map(repr, _OF_CLASSES))
        raise ValueError(f"loss='squared' is not allowed for a classifier: it must be {allowed} or None")
    if loss == "brier" and not hasattr(estimator, "predict_proba"):
        raise ValueError(f"loss='brier' is not allowed for {estimator!r}: it has no predict_proba")
    return loss or "zero_one"


def _read_target(y: Any, loss: str, name: str) -> NDArray[Any]:
    """Return numbers, or labels without missing values."""
    values = np.asarray(y)
    try:
        return validation.NumberTarget().encode(values) if loss == "squared" else _labels(values)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error


def _labels(values: NDArray[Any]) -> NDArray[Any]:
    """Check labels; a single class is allowed."""
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        raise ValueError("y must have a label for every row; it contains NaN or infinity")
    if not np.all(values == values[0]):
        validation.ClassTarget.of(values)
    return values


def _read_noise(noise: Any, n_points: int, loss: str) -> Floats:
    """Return the noise at every test point, zero for None."""
    if noise is None:
        return np.zeros(n_points)
    highest = np.inf if loss == "squared" else 0.5
    bounds = ">= 0" if loss == "squared" else ">= 0 and <= 0.5"
    allowed = f"None, a number {bounds}, or one for each of the {n_points} test points"
    try:
        level = np.asarray(noise, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"noise={noise!r} is not allowed: it must be {allowed}") from error
    if level.shape not in ((), (n_points,)):
        raise ValueError(f"noise has shape {level.shape}: it must be {allowed}")
    bad = np.ravel(level)[~(np.isfinite(level) & (level >= 0) & (level <= highest)).ravel()]
    if bad.size:
        raise ValueError(f"noise={bad[0]} is not allowed: it must be {allowed}")
    return np.broadcast_to(level, (n_points,)).copy()
