"""Training and test error over the rounds of boosting, with bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, flag, real
from hedgerow.plots import labels, style
from hedgerow.plots.base import Legend
from hedgerow.plots.bounds import (
    LOOKS,
    TEST_BOUNDS,
    TRAINING_BOUNDS,
    error_bounds,
    read_names,
    training_bounds,
)
from hedgerow.plots.inputs import classes_of, encode_labels
from hedgerow.plots.loss_rounds import RoundsDisplay, read_pairs

_ALLOWED = {"delta": real(0, 1, above=True, below=True), "log_rounds": flag()}
_LEFT_OF = 0.58  # notes of rounds beyond this share of the axis are on their left
_HIGHEST = 10.0  # of the logarithmic axis: only vacuous bounds are above
_LINE = 12.0  # points from one line of notes to the next


@dataclass(eq=False)
class ErrorRoundsDisplay(RoundsDisplay):
    """Training and test error after every round of boosting.

    Make it with `from_estimator`. With bounds, the y axis is logarithmic and its lower end is an error of 0;
    the area where bounds are vacuous, above the error of predicting the most frequent class, is grey. Without
    bounds, notes compare the test error with that of the round where the training error became 0.

    Parameters
    ----------
    train_error : float64 array of shape (rounds,)
    test_error : float64 array of shape (rounds,) or None
    bounds : dict of float64 arrays of shape (rounds,)
        By name; see `from_estimator`.
    n_rows : int
        Rows of the training set.
    chance : float
        The error of predicting the most frequent class of the test set, or of the training set without one.

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
            With `staged_predict`: of the AdaBoost family, or gradient boosting.
        X_train, y_train : array or data frame of shape (n_samples, n_features), array of shape (n_samples,)
            The training set.
        X_test, y_test : likewise, optional
            The test set.
        bounds : None, "auto", "all", str or sequence of str
            Of the training error: "training", the model's `training_error_bound_`, and "exponential",
            exp(-2 Σ γ²). Of the test error, for votes of stumps or trees and two classes, training error plus
            a deviation: "vc" by the VC dimension of the vote, "growth" by its growth function, "stumps" or
            "trees" by their number; by margins "schapire" and "gao_zhou", if the learner has `bin_edges`.
            "all" draws those that apply to the model, "auto" is "training" if the model has it, else None.
        delta : float
            The bounds of the test error hold with probability 1 - delta, for any one number of rounds.
        log_rounds, ax
            As in `plot`.

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
            X_more = None if test is None else test[0]
            found = error_bounds(model, requested, (X, y), delta, by_name=by_name, test=X_more)
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
        return self._draw_with_bounds() if self.bounds else self._draw_plain()

    @property
    def _rounds(self) -> NDArray[np.int64]:
        return np.arange(1, len(self.train_error) + 1)

    def _line(self, values: Floats, name: str, colour: str, **look: Any) -> None:
        marker = {"marker": "o", "markersize": 4} if len(values) == 1 else {}
        rounds = self._rounds[: len(values)]
        self.ax_.plot(rounds, values, label=name, color=colour, **({"linewidth": 1.8} | marker | look))

    # --- with bounds

    def _draw_with_bounds(self) -> tuple[list[Any], list[str]]:
        """Logarithmic axis: all curves, and a mark where the training error becomes 0."""
        zero = self._zero()
        end = self.zero_from or len(self.train_error)
        lower = np.maximum(self.train_error[:end], zero)
        self._line(lower, "training error", style.BLUE, zorder=4)
        highest = float(self.train_error.max())
        if self.test_error is not None:
            self._line(np.maximum(self.test_error, zero), "test error", style.VERMILLION, zorder=3)
            highest = max(highest, float(self.test_error.max()))
        for name, values in self.bounds.items():
            label, colour, dashes = LOOKS[name]
            known = np.isfinite(values)
            self.ax_.plot(
                self._rounds[known], values[known], label=label, color=colour, linestyle=dashes, linewidth=1.8
            )
            highest = max(highest, float(values[known].max()))
        labels.log_errors_axis(self.ax_, zero, min(1.3 * max(1.0, highest), _HIGHEST))
        is_of_class = bool(set(self.bounds) & set(TEST_BOUNDS))
        more = labels.shade_vacuous(self.ax_, self.chance) if is_of_class else ([], [])
        if self.zero_from is not None:
            self.ax_.plot([end], [zero], "o", color=style.BLUE, markersize=5.5, clip_on=False, zorder=5)
            self._note_zero(lower)
        return more

    def _zero(self) -> float:
        """The lower end of the y axis: half of the smallest positive error."""
        errors = np.concatenate([self.train_error, [] if self.test_error is None else self.test_error])
        some = errors[errors > 0]
        return 0.5 * (float(some.min()) if some.size else 1.0 / self.n_rows)

    def _note_zero(self, lower: Floats) -> None:
        """Note where the training error is 0: left of its falling curve, or above its end."""
        note = f"training error 0\nfrom round {self.zero_from:,}"
        x, heights = self._positions(self._rounds[: len(lower)], lower).T
        low = int(np.argmax(heights < 0.2))
        falls = x[low]
        if low:
            fraction = (heights[low - 1] - 0.2) / (heights[low - 1] - heights[low])
            falls = x[low - 1] + fraction * (x[low] - x[low - 1])
        is_left = falls > 0.28
        look = {"ha": "right" if is_left else "left", "va": "bottom", "color": style.BLUE}
        at, shift = (falls, -8) if is_left else (x[-1], 9)
        self._write(note, (at, 0.0), (shift, 4), xycoords="axes fraction", **look)

    # --- without

    def _draw_plain(self) -> tuple[list[Any], list[str]]:
        """Linear axis: both errors, with notes on the test error after the training error is 0."""
        self._line(self.train_error, "training error", style.BLUE, zorder=3)
        if self.test_error is not None:
            self._line(self.test_error, "test error", style.VERMILLION, zorder=3)
        labels.percent_axis(self.ax_.yaxis)
        notes = []
        start = self.zero_from
        if start is not None:
            self.ax_.axvline(start, color=style.INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
            notes.append((f"training error 0 from round {start:,}", style.INK))
        if self.test_error is not None:
            notes += [(note, style.VERMILLION) for note in self._mark_test(self.test_error, start or 1)]
        self._set_height(start, len(notes))
        for number, (note, colour) in enumerate(notes):
            self._note(note, start, -3 - _LINE * number, colour)
        return [], []

    def _mark_test(self, test_error: Floats, start: int) -> list[str]:
        """Mark the test error where the training error became 0, and where it is lowest; return notes."""
        lowest = int(np.argmin(test_error[start - 1 :])) + start
        at_start, at_lowest = test_error[start - 1], test_error[lowest - 1]
        look = {"color": style.VERMILLION, "zorder": 5, "clip_on": False, "markeredgecolor": "white"}
        notes = []
        if self.zero_from is not None:
            self.ax_.plot(start, at_start, "o", markersize=7, **look)
            notes.append(f"● test error {labels.percent(at_start)} at this round")
        if at_lowest < at_start or self.zero_from is None:
            self.ax_.plot(lowest, at_lowest, "D", markersize=6, **look)
            what = "lowest test error" if self.zero_from is None else "lowest afterwards"
            notes.append(f"◆ {what}: {labels.percent(at_lowest)} at round {lowest:,}")
        else:
            notes[-1] += ", the lowest"
        return notes

    def _set_height(self, start: int | None, n_notes: int) -> None:
        """Set limits of the y axis with space for the notes above the curves."""
        curves = [self.train_error] if self.test_error is None else [self.train_error, self.test_error]
        highest = max(float(curve.max()) for curve in curves)
        self.ax_.set_ylim(0, 1.08 * highest or 1.0)
        positions = self._positions(self._rounds)[:, 0]
        edge = 1.0 if start is None else positions[start - 1]
        near = positions >= edge if edge <= _LEFT_OF else (positions > edge - 0.55) & (positions <= edge)
        below = max(float(curve[near].max(initial=0.0)) for curve in curves)
        height = 72 * self.ax_.get_position().height * self.figure_.get_figheight()
        share = 1.0 - (_LINE * n_notes + 8.0) / height
        self.ax_.set_ylim(0, max(1.08 * highest, below / max(share, 0.3)) or 1.0)

    # --- notes

    def _positions(self, rounds: Any, errors: Any = 1.0) -> Floats:
        """Positions of rounds and errors in the axes, from 0 to 1: (rounds, 2)."""
        points = np.column_stack(np.broadcast_arrays(rounds, errors))
        to_axes = self.ax_.transData + self.ax_.transAxes.inverted()
        return np.asarray(to_axes.transform(points), dtype=np.float64)

    def _note(self, note: str, number: int | None, down: float, colour: str) -> None:
        """Write a note at the top, beside a round or in the right corner."""
        is_left = number is None or bool(self._positions(number)[0, 0] > _LEFT_OF)
        where: dict[str, Any] = {"xycoords": self.ax_.get_xaxis_transform()}
        look = {"ha": "right" if is_left else "left", "va": "top", "color": colour}
        x = self._rounds[-1] if number is None else number
        self._write(note, (x, 1.0), (-8 if is_left else 8, down), **where, **look)

    def _write(self, note: str, at: Any, shift: tuple[float, float], **look: Any) -> None:
        text = self.ax_.annotate(
            note, at, shift, textcoords="offset points", fontsize=style.TICK_SIZE, zorder=6, **look
        )
        text.set_path_effects(labels.halo())


def chance_error(y: NDArray[Any]) -> float:
    """The error of predicting the most frequent class.

    >>> chance_error(np.array(["a", "a", "b", "a"]))
    0.25
    """
    return float(1.0 - np.unique(y, return_counts=True)[1].max() / len(y))


def _errors(model: Any, X: Any, y: NDArray[Any]) -> Floats:
    """The error rate after every round."""
    return np.array([np.mean(predicted != y) for predicted in model.staged_predict(X)], dtype=np.float64)
