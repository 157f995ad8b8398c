"""Measuring bias and variance: fit to many training sets, ask at the same test points, take apart."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import _num_features

from hedgerow._typing import Floats
from hedgerow.bagging.members import JobRunner, is_hedgerow
from hedgerow.estimators import parameters, validation
from hedgerow.estimators.parameters import check_parameters, flag, nothing, one_of, whole
from hedgerow.members import ConstantHypothesis, seeded_clone
from hedgerow.progress import ProgressBar
from hedgerow.theory.decomposition import (
    Decomposition,
    class_truth,
    one_hot,
    squared,
    standard_error,
    zero_one,
)
from hedgerow.theory.resamples import Pair, Resamples, as_pair, seeds_of
from hedgerow.theory.results import BiasVariance

_OF_CLASSES = ("zero_one", "kohavi_wolpert", "brier")
_ALLOWED = {
    "estimator": parameters.learner(),
    "loss": one_of("squared", *_OF_CLASSES) | nothing(),
    "n_repeats": whole(2),
    "random_state": parameters.seed() | nothing(),
    "n_jobs": parameters.threads() | nothing(),
    "verbose": whole(0) | flag(),
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

    A clone is fitted to every training set and predicts the same test points. Bias is how far their mean (or
    the vote of most of them) is from the truth, variance how much they differ from one another.

    Parameters
    ----------
    estimator : classifier or regressor
        Any of scikit-learn's kind, pipelines and ours included. It is not changed; a `random_state` in it
        gets a seed of its own in every repeat, so that its own randomness is part of the variance.
    sampler : callable or pair (X, y)
        ``sampler(seed)`` draws a fresh training set (X, y) from the true distribution; the seed is an integer
        and must be all its randomness. A pair is one data set, of which bootstrap samples are taken:
        `Resamples` has other sizes, and says why that is only an estimate.
    test : pair (X, y)
        The test points, none of them in the data set that training sets are taken from. y is what was
        observed or, if `noise` is given, the truth: the mean of y at each point, or its likeliest label.
    loss : {"squared", "zero_one", "kohavi_wolpert", "brier"} or None
        What is decomposed. "squared" is for regressors; the others for classifiers. "zero_one" is the share
        of wrong labels, by Domingos; "kohavi_wolpert" the same share in terms that only add. "brier" is the
        squared error of the probabilities, halved: with two classes, that of the second class. None is
        "squared" or "zero_one".
    noise : float, array of shape (n_points,) or None
        The variance of y around the mean at the test points or, for classifiers, the probability of another
        label, at most 0.5; several other labels are equally probable. None if it is not known: it cannot then
        be told from bias, and is counted as that.
    n_repeats : int
        Training sets, at least 2.
    random_state : int, RandomState or None
        With an integer, the training sets depend on nothing but it and their numbers: estimators are then
        compared on the same ones, and more repeats go on where fewer ended.
    n_jobs : int or None
        Repeats that run at a time; -1 for all cores. For estimators of ours these are threads, and None means
        all cores; others are run as in scikit-learn, where None means one. The result is the same for any.
    verbose : int
        1 for a progress bar (on terminals), 2 for a line a repeat.

    Returns
    -------
    BiasVariance

    Notes
    -----
    Squared losses (Geman et al.), with the mean prediction a of R repeats a_r, the truth f and
    s² = Σ |a_r − a|² / (R − 1):

        error = noise + (|a − f|² − s² / R) + s² = noise + bias² + variance

    exactly. Dividing by R − 1 and taking off s² / R makes both terms right on average for any number of
    repeats; a bias near zero may be measured as slightly negative. The Brier score is that of vectors of
    probabilities, times 1/2, and the decomposition of Kohavi and Wolpert that of votes as probabilities 0 and
    1.

    Zero-one loss (Domingos), with the label t, shares p of the votes, and the main prediction m, the class of
    most votes:

        error = c1 noise + bias + unbiased variance − biased variance

    where the bias is 1 if m ≠ t, the unbiased variance 1 − p_m where m = t, and the biased variance p_t where
    m ≠ t. c1 = p_t − (1 − p_t) / (K − 1) for K classes. m has no correction for the number of repeats: use
    many where votes are nearly even.

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
    answers = experiment.run(n_repeats, n_jobs, int(verbose))
    classes = experiment.classes_of(answers)
    return _result(experiment, _decompose(experiment, answers, classes), classes, n_repeats)


@dataclass(frozen=True, eq=False)
class _Answer:
    """What one fitted clone says of the test points, and the classes it learned.

    `said` are numbers or labels (n,), or probabilities (classes, n) of its own classes.
    """

    said: NDArray[Any]
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
        """Check everything that can be checked without a fit; the first training set is drawn for it."""
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
        """The training set of a repeat."""
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

    def repeat(self, number: int) -> _Answer:
        """Draw, fit and ask."""
        X, y = self.draw(number)
        has_classes = self.loss != "squared"
        classes = np.unique(y) if has_classes else None
        member: Any
        if classes is not None and len(classes) == 1:
            member = ConstantHypothesis(classes)  # few learners can fit one class
        else:
            member = seeded_clone(self.estimator, seeds_of(self.seed, number)[1])
            if is_hedgerow(member) and "n_jobs" in member.get_params(deep=False) and member.n_jobs is None:
                member.set_params(n_jobs=1)  # the repeats are what runs in parallel
            try:
                member.fit(X, y)
            except MemoryError:
                raise
            except Exception as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(
                    f"estimator={self.estimator!r} failed in repeat {number}, learning from {len(y)} rows: "
                    f"{error}"
                ) from error
        return self._ask(member, classes)

    def _ask(self, member: Any, classes: NDArray[Any] | None) -> _Answer:
        if self.loss == "brier":
            if isinstance(member, ConstantHypothesis):
                return _Answer(np.ones((1, len(self.y))), classes)
            said = np.asarray(member.predict_proba(self.X), np.float64)
            return _Answer(self._checked(said).T, np.asarray(member.classes_))
        said = self._checked(np.asarray(member.predict(self.X)).reshape(-1))
        return _Answer(said.astype(np.float64) if classes is None else said, classes)

    def _checked(self, said: NDArray[Any]) -> NDArray[Any]:
        finite = said.dtype.kind != "f" or bool(np.all(np.isfinite(said)))
        if len(said) != len(self.y) or not finite:
            raise ValueError(
                f"estimator={self.estimator!r} gave {len(said)} answers for {len(self.y)} test points"
                f"{'' if finite else ', not all finite'}; it must give a finite one a point"
            )
        return said

    def run(self, n_repeats: int, n_jobs: int | None, verbose: int) -> list[_Answer]:
        """All repeats, in order."""
        runner = JobRunner.of(self.estimator, n_jobs)
        results = runner.run(delayed(self.repeat)(number) for number in range(n_repeats))
        return list(_watched(results, n_repeats, verbose))

    def classes_of(self, answers: list[_Answer]) -> NDArray[Any] | None:
        """All labels that were learned, predicted or tested."""
        if self.loss == "squared":
            return None
        seen = [np.unique(self.y), *(a.classes for a in answers if a.classes is not None)]
        if self.loss != "brier":
            seen += [np.unique(a.said) for a in answers]
        return np.unique(np.concatenate(seen))


def _watched(results: Iterator[_Answer], n_repeats: int, verbose: int) -> Iterator[_Answer]:
    """Yield the results, and show how many there are."""
    if not verbose:
        yield from results
        return
    with ProgressBar(n_repeats, "bias and variance", lines=verbose > 1) as bar:
        for number, result in enumerate(results, 1):
            bar.update(number)
            yield result


def _decompose(asked: _Experiment, answers: list[_Answer], classes: NDArray[Any] | None) -> Decomposition:
    if classes is None:
        said = np.stack([answer.said[np.newaxis] for answer in answers])
        return squared(said, asked.y[np.newaxis], asked.noise)
    n_classes = max(len(classes), 2)  # of one class only, there is another that nobody has seen
    labels = np.searchsorted(classes, asked.y)
    if asked.loss == "brier":
        said = np.stack([_spread(answer, classes, n_classes) for answer in answers])
    else:
        said = np.stack([one_hot(np.searchsorted(classes, a.said), n_classes) for a in answers])
    if asked.loss == "zero_one":
        return zero_one(said, labels, asked.noise)
    truth = class_truth(labels, asked.noise, n_classes)
    # The mean of |e_t - q|^2 over labels t drawn by q is 1 - |q|^2.
    return squared(said, truth, 0.5 * (1.0 - (truth * truth).sum(axis=0)), 0.5)


def _spread(answer: _Answer, classes: NDArray[Any], n_classes: int) -> Floats:
    """Probabilities of all classes; those that a clone never saw have 0."""
    spread = np.zeros((n_classes, answer.said.shape[1]))
    known = classes if answer.classes is None else answer.classes
    spread[np.searchsorted(classes, known)] = answer.said
    return spread


def _result(
    asked: _Experiment, found: Decomposition, classes: NDArray[Any] | None, n_repeats: int
) -> BiasVariance:
    means = {name: float(values.mean()) for name, values in found.points.items()}
    if asked.loss != "zero_one":
        means["unbiased_variance"] = means["net_variance"] = means["variance"]
        means["biased_variance"], means["net_noise"] = 0.0, means["noise"]
    centre: NDArray[Any] = found.centre[0]
    if classes is not None:
        shares = found.centre[: len(classes)].T
        centre = shares if asked.loss == "brier" else classes[np.argmax(shares, axis=1)]
    return BiasVariance(
        name=type(asked.estimator).__name__,
        loss=asked.loss,
        n_repeats=n_repeats,
        n_points=len(asked.y),
        noise_known=asked.noise_known,
        **means,
        standard_errors={name: standard_error(r, n_repeats) for name, r in found.replicates.items()},
        per_point=found.points,
        replicates=found.replicates,
        main_prediction=centre,
        classes=classes,
        seed=asked.seed,
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
    """Numbers, or labels without gaps."""
    values = np.asarray(y)
    try:
        return validation.NumberTarget().encode(values) if loss == "squared" else _labels(values)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error


def _labels(values: NDArray[Any]) -> NDArray[Any]:
    """The labels, checked; all of one class are fine here."""
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        raise ValueError("y contains NaN or infinity; every row needs a label")
    if not np.all(values == values[0]):
        validation.ClassTarget.of(values)
    return values


def _read_noise(noise: Any, n_points: int, loss: str) -> Floats:
    """The noise at every test point, zero for None."""
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
