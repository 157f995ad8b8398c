"""Errors and bounds against the number of training rows.

For every size, clones are fitted to several training sets. The curves are means over the training sets, the
bands range from the smallest to the largest value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_features

from hedgerow._typing import Floats
from hedgerow.estimators import parameters, validation
from hedgerow.estimators.parameters import check_parameters, integer, none, number
from hedgerow.members import seeded_clone
from hedgerow.plots import bounds as class_bounds
from hedgerow.plots import labels, style
from hedgerow.plots.base import Display, Legend
from hedgerow.plots.error_rounds import chance_error
from hedgerow.theory.resamples import Pair, Resamples, as_pair, seeds_of

Measure = Callable[[Any, Any, Any], float]

_ALLOWED = {
    "delta": number(0, 1, above=True, below=True),
    "n_repeats": integer(1),
    "random_state": parameters.seed() | none(),
}
_MEASURE_COLOURS = ("#009E73", "#56B4E9", "#CC79A7", "#E69F00", style.INK)
_MARKERS = "sD^vP"


@dataclass(eq=False)
class SampleSizeDisplay(Display):
    """Test error, training error and bounds of a classifier against the number of training rows.

    Make it with `from_estimator`. Both axes are logarithmic; the lower end of the y axis is an error of 0. In
    the grey area, above the error of predicting the most frequent class, bounds are vacuous.

    Parameters
    ----------
    sizes : list of int
    test_error, train_error : float64 arrays of shape (sizes, repeats)
    bounds : dict of float64 arrays of shape (sizes, repeats)
        By name; see `from_estimator`.
    measures : dict of float64 arrays of shape (sizes, repeats)
        Likewise.
    chance : float
        The error of predicting the most frequent class of the test set.
    n_test : int
        Rows of the test set.

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier
    >>> from hedgerow.datasets import make_hastie
    >>> def sampler(n_rows, seed):
    ...     return make_hastie(n_rows, 5, random_state=seed)
    >>> display = SampleSizeDisplay.from_estimator(
    ...     AdaBoostClassifier(n_estimators=20), sampler, [100, 400, 1600],
    ...     test=make_hastie(2000, 5, random_state=12345), n_repeats=2,
    ... )  # fmt: skip
    >>> display.test_error.mean(axis=1).round(2)
    array([0.31, 0.28, 0.22])
    >>> list(display.bounds)
    ['vc', 'growth', 'stumps']
    """

    sizes: list[int]
    test_error: Floats
    train_error: Floats
    bounds: dict[str, Floats] = field(default_factory=dict)
    measures: dict[str, Floats] = field(default_factory=dict)
    chance: float = 0.5
    n_test: int = 1

    _size = (6.0, 4.3)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        sampler: Any,
        sizes: Sequence[int],
        *,
        test: Pair,
        bounds: str | Sequence[str] | None = "all",
        measures: Mapping[str, Measure] | None = None,
        delta: float = 0.05,
        n_repeats: int = 5,
        random_state: Any = 0,
        **options: Any,
    ) -> Self:
        """Fit to training sets of several sizes, measure, and draw.

        Parameters
        ----------
        estimator : classifier
            A clone with its own seed is fitted to every training set.
        sampler : callable or pair (X, y)
            ``sampler(n_rows, seed)`` returns a new training set (X, y) from the true distribution. A pair is
            one data set, from which rows are drawn without replacement.
        sizes : sequence of int
            Rows of the training sets.
        test : pair (X, y)
            A large test set from the same distribution, none of it in the training sets.
        bounds : None, "all", str or sequence of str
            For boosted stumps and two classes, training error plus a deviation by the VC dimension of the
            vote ("vc"), by its growth function ("growth"), or by the number of stumps ("stumps"). "all"
            draws them if they apply to the estimator.
        measures : dict from names to callables, optional
            ``measure(model, X, y)`` of a fitted model and its training set returns a number to draw, such as
            an out-of-bag error or a bound by the margins.
        delta : float
            Each of the bounds holds with probability 1 - delta.
        n_repeats : int
            Training sets per size.
        random_state : int, RandomState or None
            With an integer, a training set depends only on it, the size and the number of the repeat.
        **options
            `ax` and `legend` of `plot`.
        """
        parameters_ = {"delta": delta, "n_repeats": n_repeats, "random_state": random_state}
        check_parameters(parameters_, _ALLOWED)
        setup = _Setup.of(estimator, sampler, sizes, test, bounds, measures, float(delta))
        seed = validation.make_seed(random_state)
        found = [[setup.measure(size, number, seed) for number in range(n_repeats)] for size in setup.sizes]

        def values(kind: str, name: str) -> Floats:
            return np.array([[one[kind, name] for one in row] for row in found], dtype=np.float64)

        names = list(found[0][0])
        display = cls(
            sizes=setup.sizes,
            test_error=values("error", "test"),
            train_error=values("error", "train"),
            bounds={name: values(kind, name) for kind, name in names if kind == "bound"},
            measures={name: values(kind, name) for kind, name in names if kind == "measure"},
            chance=chance_error(setup.y),
            n_test=len(setup.y),
        )
        return display.plot(**options)

    def _draw(self, ax: Any) -> Legend:
        zero = self._zero()
        self._line(self.test_error, zero, "test error", style.VERMILLION, zorder=4)
        self._line(self.train_error, zero, "training error", style.BLUE, zorder=4)
        for name, values in self.bounds.items():
            label, colour, dashes = class_bounds.BOUND_STYLES[name]
            self._line(values, zero, label, colour, linestyle=dashes)
        taken = [class_bounds.BOUND_STYLES[name][1] for name in self.bounds]
        free = [colour for colour in _MEASURE_COLOURS if colour not in taken]
        for i, (name, values) in enumerate(self.measures.items()):
            colour, marker = free[i % len(free)], _MARKERS[i % len(_MARKERS)]
            self._line(values, zero, name, colour, linestyle=(0, (5, 2)), marker=marker)
        few, many = min(self.sizes), max(self.sizes)
        self.ax_.set_xscale("log")
        self.ax_.set_xlim(few / 1.12, many * 1.12)
        labels.plain_log_ticks(self.ax_.xaxis, few / 1.12, many * 1.12)
        top = max(float(values.max()) for values in self._all())
        labels.log_errors_axis(self.ax_, zero, 1.3 * max(top, 1.6 * self.chance))
        labels.name_axes(ax, "training rows", "error rate")
        return labels.shade_vacuous(ax, self.chance)

    def _all(self) -> list[Floats]:
        return [self.test_error, self.train_error, *self.bounds.values(), *self.measures.values()]

    def _zero(self) -> float:
        """Return the lower end of the y axis: half of the smallest positive value."""
        positive = [values[values > 0] for values in self._all()]
        return 0.5 * min((float(some.min()) for some in positive if some.size), default=1 / self.n_test)

    def _line(self, values: Floats, zero: float, name: str, colour: str, **props: Any) -> None:
        """Draw the means over the repeats, and a band from the smallest to the largest value."""
        order = np.argsort(self.sizes)
        sizes, drawn = np.array(self.sizes)[order], values[order]
        band = {"color": colour, "alpha": 0.15, "linewidth": 0, "zorder": 2}
        low, mean, high = drawn.min(axis=1), drawn.mean(axis=1), drawn.max(axis=1)
        self.ax_.fill_between(sizes, np.maximum(low, zero), np.maximum(high, zero), **band)
        shown = {"linewidth": 1.7, "marker": "o", "markersize": 4, "zorder": 3} | props
        self.ax_.plot(sizes, np.maximum(mean, zero), label=name, color=colour, clip_on=False, **shown)


@dataclass(frozen=True, eq=False)
class _Setup:
    """Checked input."""

    estimator: Any
    sampler: Callable[[int, int], Any]
    sizes: list[int]
    X: Any
    y: NDArray[Any]
    bounds: list[str]
    by_name: bool
    measures: Mapping[str, Measure]
    delta: float

    @classmethod
    def of(
        cls, estimator: Any, sampler: Any, sizes: Any, test: Any, bounds: Any, measures: Any, delta: float
    ) -> "_Setup":
        """Check everything that does not require a fit."""
        check_parameters({"estimator": estimator}, {"estimator": parameters.classifier()})
        names, by_name = class_bounds.read_names(bounds, class_bounds.CLASS_BOUNDS)
        X, y = as_pair(test, "test")
        classes = np.asarray(y)
        names = class_bounds.class_bound_names(estimator, names, len(np.unique(classes)), by_name=by_name)
        functions, counts = _read_measures(measures), _read_sizes(sizes)
        draw = sampler if callable(sampler) else _from_pair(sampler, max(counts))
        return cls(estimator, draw, counts, X, classes, names, by_name, functions, delta)

    def measure(self, size: int, number: int, seed: int) -> dict[tuple[str, str], float]:
        """Return all values of one training set, by kind and name."""
        X, y = self._draw(size, number, seed)
        model = seeded_clone(self.estimator, seeds_of(seed, number)[1])
        try:
            model.fit(X, y)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"estimator={self.estimator!r} failed on {size} rows, repeat {number}: {error}"
            ) from error
        train_error = float(np.mean(np.asarray(model.predict(X)) != y))
        found = {("error", "train"): train_error}
        found["error", "test"] = float(np.mean(np.asarray(model.predict(self.X)) != self.y))
        for name, more in self._deviations(model, X, size).items():
            found["bound", name] = train_error + more
        for name, measure in self.measures.items():
            value = float(measure(model, X, y))
            if not np.isfinite(value) or value < 0:
                raise ValueError(f"measures[{name!r}] returned {value}: it must return a finite number >= 0")
            found["measure", name] = value
        return found

    def _draw(self, size: int, number: int, seed: int) -> tuple[Any, NDArray[Any]]:
        name = f"the training set of {size} rows, repeat {number},"
        X, y = as_pair(self.sampler(size, seeds_of(seed, number)[0]), name)
        labels = np.asarray(y)
        if len(labels) != size:
            raise ValueError(f"{name} has {len(labels)} rows: the sampler must return as many as requested")
        if _num_features(X) != _num_features(self.X):
            raise ValueError(f"test has {_num_features(self.X)} columns, but {name} has {_num_features(X)}")
        return X, labels

    def _deviations(self, model: Any, X: Any, size: int) -> dict[str, float]:
        # which columns are categorical is known only after the fit
        names = class_bounds.class_bound_names(model, self.bounds, len(model.classes_), by_name=self.by_name)
        if not names:
            return {}
        missing = class_bounds.has_missing(model, X)
        rounds, n_columns = int(model.n_estimators_), int(model.n_features_in_)
        added = class_bounds.deviations(names, size, n_columns, rounds, self.delta, missing=missing)
        return {name: float(more) for name, more in added.items()}


def _from_pair(sampler: Any, largest: int) -> Callable[[int, int], Any]:
    """Draw rows of one data set, each at most once."""
    X, y = as_pair(sampler, "sampler")
    if largest >= len(y):
        raise ValueError(
            f"sizes holds {largest}, but the sampler is a data set of {len(y)} rows: sizes must be smaller"
        )
    return lambda size, seed: Resamples(X, y, size=size, replace=False)(seed)


def _read_sizes(sizes: Any) -> list[int]:
    passed = [] if isinstance(sizes, str) or np.ndim(sizes) != 1 else list(sizes)
    count = integer(2)
    if not passed or not all(count.test(size) for size in passed):
        raise ValueError(f"sizes={sizes!r} is not allowed: it must hold one or more integers >= 2")
    return sorted({int(size) for size in passed})


def _read_measures(measures: Any) -> Mapping[str, Measure]:
    functions = {} if measures is None else measures
    if not isinstance(functions, Mapping) or not all(
        isinstance(name, str) and callable(function) for name, function in functions.items()
    ):
        raise ValueError(f"measures={measures!r} is not allowed: it must be a dict from names to callables")
    return dict(functions)
