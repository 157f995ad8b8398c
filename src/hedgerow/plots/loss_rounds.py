"""Losses along the rounds of boosting: of the training rows, and of rows held out or new."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, flag
from hedgerow.plots import classes as of_classes
from hedgerow.plots import labels, style
from hedgerow.theory.resamples import as_pair

_WORDS = {"train": "training rows", "validation": "held-out rows", "test": "test rows"}
_SMALLEST = np.finfo(np.float64).tiny  # a probability of 0 is taken for this one


@dataclass(eq=False)
class LossRoundsDisplay:
    """A loss or an error after every round of boosting, with the best round marked.

    Make it with `from_estimator`; the parameters are what it draws.

    Parameters
    ----------
    curves : dict of float64 arrays of shape (rounds,)
        By the name of the rows: "train", "validation", "test" or that of an evaluation set.
    measure : str
        What they are, in words.
    n_kept : int or None
        The rounds of the model, if some of those drawn were dropped.

    Attributes
    ----------
    best_round : int or None
        The round where the last curve of rows that were not trained on is lowest, counted from 1; None if all
        curves are of training rows.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from hedgerow import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=40, early_stopping=True, random_state=0).fit(X, y)
    >>> display = LossRoundsDisplay.from_estimator(model)
    >>> sorted(display.curves), display.measure
    (['train', 'validation'], 'loss')
    """

    curves: dict[str, Floats]
    measure: str
    n_kept: int | None = None

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X_train: Any = None,
        y_train: Any = None,
        X_test: Any = None,
        y_test: Any = None,
        *,
        log_rounds: bool = False,
        ax: Any = None,
    ) -> Self:
        """Take the losses that a model has recorded, or compute them on rows given, and draw them.

        Parameters
        ----------
        model : fitted estimator
            Without rows: one with a loss or an error in `history_`, which has early stopping, evaluation sets
            or verbose=1 as a rule. With rows: one with `staged_predict_proba`, whose log-loss is drawn, or a
            regressor with `staged_predict`, whose root mean squared error is.
        X_train, y_train, X_test, y_test : arrays or data frames, optional
            Rows to compute the losses on, those of training, new ones or both.
        log_rounds, ax
            As in `plot`.

        Returns
        -------
        LossRoundsDisplay
        """
        check_parameters({"log_rounds": log_rounds}, {"log_rounds": flag()})
        check_is_fitted(model)
        given = {}
        for name, X, y in (("train", X_train, y_train), ("test", X_test, y_test)):
            if (X is None) != (y is None):
                absent = f"X_{name}" if X is None else f"y_{name}"
                raise ValueError(f"{absent}=None is not allowed here: X_{name} and y_{name} go together")
            if X is not None:
                given[name] = as_pair((X, y), f"the {name} set")
        if given:
            curves, measure = _computed(model, given)
            return cls(curves, measure).plot(ax, log_rounds=log_rounds)
        curves, measure = _recorded(model)
        n_rounds, n_kept = max(map(len, curves.values())), int(model.n_estimators_)
        return cls(curves, measure, n_kept if n_kept < n_rounds else None).plot(ax, log_rounds=log_rounds)

    @property
    def best_round(self) -> int | None:
        """The round where the last curve of other rows than the training rows is lowest."""
        others = [curve for name, curve in self.curves.items() if name != "train"]
        return int(np.nanargmin(others[-1])) + 1 if others else None

    def plot(self, ax: Any = None, *, log_rounds: bool = False) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.
        log_rounds : bool
            Whether the axis of the rounds is logarithmic.

        Returns
        -------
        self
        """
        self.figure_, axes, _ = style.panels(ax, 1, 1, (6.0, 3.9))
        self.ax_ = axes[0]
        style.dress(self.ax_)
        n_rounds = max(map(len, self.curves.values()))
        for number, (name, curve) in enumerate(self.curves.items()):
            marker = {"marker": "o", "markersize": 4} if len(curve) == 1 else {}
            self.ax_.plot(
                np.arange(1, len(curve) + 1), curve, label=_WORDS.get(name, name), linewidth=1.8,
                color=style.COLOURS[number % len(style.COLOURS)], zorder=3, **marker,
            )  # fmt: skip
        labels.rounds_axis(self.ax_, n_rounds, log=log_rounds)
        self._set_height()
        self._mark_best()
        labels.name_axes(self.ax_, "rounds", self.measure)
        (labels.percent_axis if "share" in self.measure else labels.plain_axis)(self.ax_.yaxis)
        labels.legend_below(self.ax_)
        return self

    def _set_height(self) -> None:
        """From 0, if that does not squeeze the curves into the upper half."""
        values = np.concatenate(list(self.curves.values()))
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        height = high - low or abs(high) or 1.0
        bottom = 0.0 if 0 <= low < height else low - 0.08 * height
        self.ax_.set_ylim(bottom, high + 0.14 * height)  # room for the note

    def _mark_best(self) -> None:
        """A diamond at the best round and its figures at the top; a line where the model ends."""
        best = self.best_round
        if best is None:
            return
        name, curve = [item for item in self.curves.items() if item[0] != "train"][-1]
        colour = style.COLOURS[list(self.curves).index(name) % len(style.COLOURS)]
        look = {"color": colour, "zorder": 5, "clip_on": False, "markeredgecolor": "white"}
        self.ax_.plot(best, curve[best - 1], "D", markersize=6.5, **look)
        lowest = curve[best - 1]
        figure = labels.percent(lowest) if "share" in self.measure else labels.minus(f"{lowest:.4g}")
        words = f"◆ lowest at round {best:,}: {figure}"
        if self.n_kept is not None and self.n_kept != best:
            self.ax_.axvline(self.n_kept, color=style.FAINT, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
            words += f"; the model has {self.n_kept:,} rounds"
        look = {"ha": "right", "va": "top", "fontsize": style.TICK_SIZE, "color": colour, "zorder": 6}
        where = {"xycoords": "axes fraction", "textcoords": "offset points"}
        self.ax_.annotate(words, (1, 1), (0, -2), **where, **look)


def _recorded(model: Any) -> tuple[dict[str, Floats], str]:
    """Curves of a model's history, losses if there are any, else errors."""
    history = getattr(model, "history_", None)
    if history is None:
        raise TypeError(f"{type(model).__name__} has no history_: only boosting can be drawn without rows")
    for measure, words in (("loss", "loss"), ("error", "share of wrong labels")):
        found = {
            name.removesuffix(f"_{measure}"): np.asarray(values, dtype=np.float64)
            for name, values in history.items()
            if name.endswith(f"_{measure}") and len(values)
        }
        if found:
            rank = ["train", "validation"]
            names = sorted(found, key=lambda name: rank.index(name) if name in rank else 2)
            return {name: found[name] for name in names}, words
    raise ValueError(
        f"this {type(model).__name__} has recorded no loss: give X_train and y_train, or fit it with "
        "early_stopping=True or an evaluation set"
    )


def _computed(model: Any, given: dict[str, Any]) -> tuple[dict[str, Floats], str]:
    """Curves over the rounds of a model, on rows given."""
    is_classifier = hasattr(model, "classes_")
    method = "staged_predict_proba" if is_classifier else "staged_predict"
    if not hasattr(model, method):
        raise TypeError(f"{type(model).__name__} has no {method}: only rounds can be drawn")
    losses = _log_losses if is_classifier else _squared_losses
    curves = {name: np.array(list(losses(model, X, y))) for name, (X, y) in given.items()}
    return curves, "log-loss" if is_classifier else "root mean squared error"


def _log_losses(model: Any, X: Any, y: Any) -> Iterator[float]:
    codes = of_classes.read_labels(y, of_classes.classes_of(model))
    rows = np.arange(len(codes))
    for said in model.staged_predict_proba(X):
        yield float(-np.log(np.maximum(np.asarray(said)[rows, codes], _SMALLEST)).mean())


def _squared_losses(model: Any, X: Any, y: Any) -> Iterator[float]:
    truth = np.asarray(y, dtype=np.float64)
    for said in model.staged_predict(X):
        yield float(np.sqrt(np.mean((truth - np.asarray(said)) ** 2)))
