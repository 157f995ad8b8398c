"""Training and test error over the rounds of boosting, with bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, flag, number
from hedgerow.plots import labels, style
from hedgerow.plots.base import Legend
from hedgerow.plots.bounds import (
    BOUND_STYLES,
    TEST_BOUNDS,
    TRAINING_BOUNDS,
    error_bounds,
    read_names,
    training_bounds,
)
from hedgerow.plots.inputs import classes_of, encode_labels
from hedgerow.plots.loss_rounds import RoundsDisplay, read_pairs

_ALLOWED = {"delta": number(0, 1, above=True, below=True), "log_rounds": flag()}
_HIGHEST = 10.0  # of the logarithmic axis: only vacuous bounds are above


@dataclass(eq=False)
class ErrorRoundsDisplay(RoundsDisplay):
    """Training and test error after every round of boosting.

    Make it with `from_estimator`. With bounds, the y axis is logarithmic and its lower end is an error of 0;
    the area where bounds are vacuous, above the error of predicting the most frequent class, is grey. Without
    bounds, marks compare the test error with that of the round where the training error became 0.

    Parameters
    ----------
    train_error : float64 array of shape (rounds,)
    test_error : float64 array of shape (rounds,) or None
    bounds : dict of float64 arrays of shape (rounds,)
        By name; see `from_estimator`.
    n_rows : int
        Rows of the training set.
    chance : float
        The error of predicting the most frequent class of the test set or, if there is none, of the training
        set.

    Examples
    --------
    >>> from hedgerow import AdaBoostClassifier
    >>> from hedgerow.datasets import load_toy
    >>> X, y = load_toy()
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> display = ErrorRoundsDisplay.from_estimator(model, X, y, bounds=["training", "exponential"])
    >>> display.train_error, display.zero_from
    (array([0.3, 0.3, 0. ]), 3)
    >>> display.bounds["training"].round(2)
    array([0.92, 0.75, 0.52])
    """

    train_error: Floats
    test_error: Floats | None = None
    bounds: dict[str, Floats] = field(default_factory=dict)
    n_rows: int = 1
    chance: float = 0.5

    _log_rounds = True

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X_train: Any,
        y_train: Any,
        X_test: Any = None,
        y_test: Any = None,
        *,
        bounds: str | Sequence[str] | None = "auto",
        delta: float = 0.05,
        log_rounds: bool = True,
        ax: Any = None,
    ) -> Self:
        """Compute the errors after every round, and draw them.

        Parameters
        ----------
        model : fitted classifier
            A model with `staged_predict`, of the AdaBoost family or gradient boosting.
        X_train, y_train : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            The training set.
        X_test, y_test : likewise, optional
            The test set.
        bounds : None, "auto", "all", str or sequence of str
            Bounds of the training error are "training", the model's `training_error_bound_`, and
            "exponential", exp(-2 Σ γ²). Bounds of the test error, for votes of stumps or trees and two
            classes, are the training error plus a deviation: "vc" by the VC dimension of the vote, "growth"
            by its growth function, "stumps" or "trees" by their number. "schapire" and "gao_zhou" use the
            margins, if the learner has `bin_edges`. "all" draws all that apply to the model; "auto" is
            "training" if the model has it, otherwise None.
        delta : float
            The bounds of the test error hold with probability 1 - delta, for any one number of rounds.
        log_rounds, ax : as in `plot`

        Notes
        -----
        Bounds of the class count missing values only if there are some in the rows passed. Errors are shares
        of rows, while "training" and "exponential" are bounds of the error by the sample weights of `fit`.
        """
        names, by_name = ["training"], False  # if it applies
        if not (isinstance(bounds, str) and bounds == "auto"):
            names, by_name = read_names(bounds, (*TRAINING_BOUNDS, *TEST_BOUNDS))
        check_parameters({"delta": delta, "log_rounds": log_rounds}, _ALLOWED)
        check_is_fitted(model)
        if not hasattr(model, "staged_predict") or not hasattr(model, "classes_"):
            kind = type(model).__name__
            raise TypeError(f"{kind} has no staged_predict of classes: it must be a boosted classifier")
        pairs = read_pairs(X_train, y_train, X_test, y_test)
        for name, (_, labels_) in pairs.items():
            encode_labels(labels_, classes_of(model), f"y_{name}")
        (X, y), test = pairs["train"], pairs.get("test")
        train_error = _errors(model, X, y)
        drawn = training_bounds(model, names, train_error, by_name=by_name)
        requested = [name for name in names if name in TEST_BOUNDS]
        if requested:
            X_test = None if test is None else test[0]
            found = error_bounds(model, requested, (X, y), delta, by_name=by_name, test=X_test)
            for name, values in found.items():
                drawn[name] = values if name in ("schapire", "gao_zhou") else train_error + values
        display = cls(
            train_error=train_error,
            test_error=None if test is None else _errors(model, *test),
            bounds=drawn,
            n_rows=len(y),
            chance=chance_error(y if test is None else test[1]),
        )
        return display.plot(ax, log_rounds=log_rounds)

    @property
    def zero_from(self) -> int | None:
        """The first round from which the training error stays 0; None if it is not 0 at the end."""
        wrong = np.flatnonzero(self.train_error > 0)
        first = int(wrong[-1]) + 2 if wrong.size else 1
        return first if first <= len(self.train_error) else None

    def _figure_size(self) -> tuple[float, float]:
        return 6.0, 4.3 if self.bounds else 3.8

    def _draw(self, ax: Any) -> Legend:
        labels.rounds_axis(ax, len(self.train_error), log=self._is_log)
        labels.name_axes(ax, "rounds", "error rate")
        return self._draw_with_bounds() if self.bounds else self._draw_without_bounds()

    def _draw_with_bounds(self) -> Legend:
        """Draw all curves on a logarithmic axis, and a mark where the training error becomes 0."""
        errors = np.concatenate([self.train_error, [] if self.test_error is None else self.test_error])
        # errors of 0 are drawn at half of the smallest positive error
        zero, highest = 0.5 * float(errors[errors > 0].min(initial=1.0)), float(errors.max())
        if not errors.any():
            zero = 0.5 / self.n_rows
        end = self.zero_from or len(self.train_error)
        self._draw_line(np.maximum(self.train_error[:end], zero), "training error", style.BLUE, zorder=4)
        if self.test_error is not None:
            self._draw_line(np.maximum(self.test_error, zero), "test error", style.VERMILLION)
        for name, values in self.bounds.items():
            label, colour, dashes = BOUND_STYLES[name]
            known = np.flatnonzero(np.isfinite(values))
            self.ax_.plot(
                known + 1, values[known], label=label, color=colour, linestyle=dashes, linewidth=1.8
            )
            highest = max(highest, float(values[known].max()))
        labels.log_errors_axis(self.ax_, zero, min(1.3 * max(1.0, highest), _HIGHEST))
        if self.zero_from is not None:
            self._mark(end, zero, "o", f"training error 0 from round {end:,}", style.BLUE)
        is_of_class = bool(set(self.bounds) & set(TEST_BOUNDS))
        return labels.shade_vacuous(self.ax_, self.chance) if is_of_class else ([], [])

    def _draw_without_bounds(self) -> Legend:
        """Draw both errors on a linear axis, with marks on the test error after the training error is 0."""
        self._draw_line(self.train_error, "training error", style.BLUE)
        start = self.zero_from
        if self.test_error is not None:
            self._draw_line(self.test_error, "test error", style.VERMILLION)
        if start is not None:
            props = style.DASHED | {"color": style.INK}
            self.ax_.axvline(start, label=f"training error 0 from round {start:,}", **props)
        if self.test_error is not None:
            self._mark_test(self.test_error, start)
        labels.percent_axis(self.ax_.yaxis)
        self.ax_.set_ylim(bottom=0)
        return [], []

    def _mark_test(self, test_error: Floats, zero_from: int | None) -> None:
        """Mark the test error where the training error became 0, and where it is lowest from there on."""
        first = zero_from or 1
        lowest = int(np.argmin(test_error[first - 1 :])) + first
        if zero_from is not None:
            name = f"test error {labels.percent(test_error[first - 1])} at that round"
            name += ", the lowest" if lowest == first else ""
            self._mark(first, test_error[first - 1], "o", name, style.VERMILLION)
        if zero_from is None or lowest > first:
            name = "lowest test error" if zero_from is None else "lowest after it"
            name += f": {labels.percent(test_error[lowest - 1])} at round {lowest:,}"
            self._mark(lowest, test_error[lowest - 1], "D", name, style.VERMILLION)


def chance_error(y: NDArray[Any]) -> float:
    """Return the error of predicting the most frequent class.

    >>> chance_error(np.array(["a", "a", "b", "a"]))
    0.25
    """
    return float(1.0 - np.unique(y, return_counts=True)[1].max() / len(y))


def _errors(model: Any, X: Any, y: NDArray[Any]) -> Floats:
    """Return the error rate after every round."""
    return np.array([np.mean(predicted != y) for predicted in model.staged_predict(X)], dtype=np.float64)
