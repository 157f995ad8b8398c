"""BiasVariance: the terms of the error, their standard errors, and differences between two results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._typing import Floats
from hedgerow.theory.decomposition import standard_error

# The terms of a sum as they are printed: sign, name of the attribute, text.
_ADDED = (("+", "bias", "bias²"), ("+", "variance", "variance"))
_SUMS = {
    "squared": _ADDED,
    "brier": _ADDED,
    "kohavi_wolpert": _ADDED,
    "zero_one": (
        ("+", "bias", "bias"),
        ("+", "unbiased_variance", "unbiased variance"),
        ("−", "biased_variance", "biased variance"),
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class BiasVariance:
    """Bias and variance of an estimator, measured by `bias_variance`.

    ``error = net_noise + bias + net_variance`` up to rounding, for every loss. Except for the zero-one loss,
    the net terms equal noise and variance.

    Attributes
    ----------
    name : str
        The class of the estimator.
    loss : str
        The decomposed loss.
    n_repeats, n_points : int
        Numbers of training sets and of test points.
    noise_known : bool
        Whether `noise` was passed. If not, it is 0, and the noise is part of the bias.
    error, noise, bias, variance : float
        Means over the test points; `bias` is the squared bias of the squared losses.
    unbiased_variance, biased_variance : float
        Zero-one loss: the variance at points where the main prediction is correct, which increases the error,
        and the fraction of correct predictions where it is wrong, which decreases the error. With two classes
        and without noise their sum is the variance. For other losses, the variance and 0.
    net_noise, net_variance : float
        Contributions of noise and variance to the error.
    standard_errors : dict of float
        Standard errors of all terms from a bootstrap over the repeats: the variation with other training
        sets at the same test points.
    per_point : dict of float64 arrays of shape (n_points,)
        The terms at every test point.
    replicates : dict of float64 arrays of shape (200,)
        The terms in the bootstrap samples, which are the same for all results with equal `n_repeats`.
    main_prediction : array of shape (n_points,) or (n_points, n_classes)
        The mean prediction, the mean probabilities (Brier), or the label with most votes.
    classes : array of labels or None
        All labels.
    seed : int
        Results with the same seed and sampler have the same training sets.

    Examples
    --------
    >>> from hedgerow import DecisionTreeRegressor
    >>> from hedgerow.theory import bias_variance
    >>> from sklearn.datasets import make_friedman1
    >>> def sampler(seed):
    ...     return make_friedman1(100, noise=1.0, random_state=seed)
    >>> test = make_friedman1(200, noise=0.0, random_state=12345)
    >>> stump, deep = (
    ...     bias_variance(DecisionTreeRegressor(max_depth=d), sampler, test=test, noise=1.0, random_state=0)
    ...     for d in (1, None)
    ... )
    >>> print(deep)
    Bias and variance of DecisionTreeRegressor, squared loss, 50 repeats, 200 test points
      error       16.86 ± 0.39
      = noise      1.00
      + bias²      4.57 ± 0.21
      + variance  11.29 ± 0.34
    >>> difference, standard_error = stump.difference(deep, "bias")
    >>> difference > 4 * standard_error
    True
    """

    name: str
    loss: str
    n_repeats: int
    n_points: int
    noise_known: bool
    error: float
    noise: float
    bias: float
    variance: float
    unbiased_variance: float
    biased_variance: float
    net_noise: float
    net_variance: float
    standard_errors: Mapping[str, float]
    per_point: Mapping[str, Floats]
    replicates: Mapping[str, Floats]
    main_prediction: NDArray[Any]
    classes: NDArray[Any] | None
    seed: int

    def difference(self, other: "BiasVariance", term: str = "error") -> tuple[float, float]:
        """Return the difference of a term between this result and another.

        Parameters
        ----------
        other : BiasVariance
            With the same loss. If it has the same seed and number of repeats, it must have the same sampler:
            both then have the same training sets, and the difference is computed in pairs.
        term : str
            "error", "bias", "variance", ...

        Returns
        -------
        difference, standard_error : float
        """
        if not isinstance(other, BiasVariance):
            raise TypeError(f"other must be a BiasVariance; got {type(other).__name__}")
        if other.loss != self.loss:
            raise ValueError(f"other must have the loss {self.loss!r}; got {other.loss!r}")
        if term not in self.standard_errors:
            allowed = ", ".join(map(repr, self.standard_errors))
            raise ValueError(f"term={term!r} is not allowed: it must be one of {allowed}")
        value = getattr(self, term) - getattr(other, term)
        if (self.seed, self.n_repeats) == (other.seed, other.n_repeats):
            differences = self.replicates[term] - other.replicates[term]
            return value, standard_error(differences, self.n_repeats)
        return value, float(np.hypot(self.standard_errors[term], other.standard_errors[term]))

    @property
    def sum_of_terms(self) -> list[tuple[str, str, str]]:
        """The terms of the error: sign, name of the attribute, and text."""
        terms = list(_SUMS[self.loss])
        if not self.noise_known:
            sign, term, text = terms[0]
            terms[0] = (sign, term, f"{text} and noise")
        elif self.noise > 0:
            terms.insert(0, ("+", "net_noise" if self.loss == "zero_one" else "noise", "noise"))
        return terms

    def __str__(self) -> str:
        """Return the sum, one term per line."""
        lines = [("error", self.error, self.standard_errors["error"])]
        for number, (sign, term, text) in enumerate(self.sum_of_terms):
            mark = sign if number else "="
            error = 0.0 if term == "noise" else self.standard_errors[term]  # the noise is an input
            lines.append((f"{mark} {text}", getattr(self, term), error))
        decimals = _decimals(lines[0][2], self.error)
        figures = [f"{value:.{decimals}f}" for _, value, _ in lines]
        width, wide = max(len(line[0]) for line in lines), max(map(len, figures))
        head = (
            f"Bias and variance of {self.name}, {self.loss.replace('_', '-')} loss, "
            f"{self.n_repeats} repeats, {self.n_points} test points"
        )
        body = [
            f"  {text:{width}}  {figure:>{wide}}" + (f" ± {error:.{decimals}f}" if error else "")
            for (text, _, error), figure in zip(lines, figures, strict=True)
        ]
        return "\n".join([head, *body])

    def __repr__(self) -> str:
        terms = ", ".join(
            f"{name}={getattr(self, name):.4g}" for name in ("error", "noise", "bias", "variance")
        )
        return f"BiasVariance({self.name}, {self.loss!r}, {terms}, n_repeats={self.n_repeats})"


def _decimals(error: float, value: float) -> int:
    """Return the decimals for two digits of a standard error, or four of the value if there is none.

    >>> [_decimals(error, 1.0) for error in (0.0, 0.0012, 0.39, 12.0)]
    [4, 4, 2, 0]
    """
    scale = error or abs(value) / 1000
    return int(np.clip(np.ceil(-np.log10(scale)) + 1, 0, 12)) if scale > 0 else 4
