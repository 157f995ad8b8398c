"""Losses after every round of boosting, and the base of displays over the rounds."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.metrics import root_mean_squared_error
from sklearn.utils.validation import check_is_fitted

from hedgerow._typing import Floats
from hedgerow.estimators.parameters import check_parameters, flag
from hedgerow.plots import labels, style
from hedgerow.plots.base import Display, Legend
from hedgerow.plots.inputs import classes_of, encode_labels
from hedgerow.theory.resamples import as_pair

_SET_NAMES = {"train": "training set", "validation": "validation set", "test": "test set"}
_TINY = np.finfo(np.float64).tiny  # replaces a probability of 0


class RoundsDisplay(Display):
    """A display over the rounds of boosting, on a linear or a logarithmic axis."""

    _log_rounds = False

    def plot(self, ax: Any = None, *, log_rounds: bool | None = None, legend: bool = True) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes or None
            None for a new figure.
        log_rounds : bool, optional
            Whether the axis of the rounds is logarithmic.
        legend : bool
            Whether to draw the legend.
        """
        self._is_log = self._log_rounds if log_rounds is None else log_rounds
        return super().plot(ax, legend=legend)

    def _draw_line(self, values: Floats, name: str, colour: str, zorder: float = 3) -> None:
        """Draw a value per round; a single one is a dot."""
        marker = {"marker": "o", "markersize": 4} if len(values) == 1 else {}
        props = {"color": colour, "linewidth": 1.8, "zorder": zorder} | marker
        self.ax_.plot(np.arange(1, len(values) + 1), values, label=name, **props)

    def _mark(self, number: int, value: float, marker: str, name: str, colour: str) -> None:
        """Mark the value of a round, and describe it in the legend."""
        props = {"markersize": 6.5, "markeredgecolor": "white", "zorder": 5, "clip_on": False}
        self.ax_.plot([number], [value], marker, color=colour, label=name, **props)


def read_pairs(X_train: Any, y_train: Any, X_test: Any, y_test: Any) -> dict[str, tuple[Any, Any]]:
    """Return the data sets that were passed, by "train" and "test"."""
    found = {}
    for name, X, y in (("train", X_train, y_train), ("test", X_test, y_test)):
        if (X is None) != (y is None):
            absent = f"X_{name}" if X is None else f"y_{name}"
            raise ValueError(f"{absent}=None is not allowed: X_{name} and y_{name} must be passed together")
        if X is not None:
            as_pair((X, y), f"the {'training' if name == 'train' else name} set")
            found[name] = X, np.asarray(y)
    return found


@dataclass(eq=False)
class LossRoundsDisplay(RoundsDisplay):
    """A loss or an error after every round of boosting, with the best round marked.

    Make it with `from_estimator`.

    Parameters
    ----------
    curves : dict of float64 arrays of shape (rounds,)
        By the name of the data: "train", "validation", "test" or the name of an evaluation set.
    measure : str
        Name of the loss.
    n_kept : int or None
        The rounds of the model, if it discarded some of those drawn.

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
        """Draw the losses that a model has recorded, or those on the rows passed.

        Parameters
        ----------
        model : fitted estimator
            Without rows, an estimator with a loss or an error in `history_`, as with early stopping,
            evaluation sets or verbose=1. With rows, an estimator with `staged_predict_proba`, whose log-loss
            is drawn, or a regressor with `staged_predict`, whose root mean squared error is drawn.
        X_train, y_train, X_test, y_test : arrays or data frames, optional
            Training set, test set or both.
        log_rounds, ax : as in `plot`
        """
        check_parameters({"log_rounds": log_rounds}, {"log_rounds": flag()})
        check_is_fitted(model)
        n_kept = None
        pairs = read_pairs(X_train, y_train, X_test, y_test)
        if pairs:
            curves, measure = _computed(model, pairs)
        else:
            curves, measure = _recorded(model)
            if int(model.n_estimators_) < max(map(len, curves.values())):
                n_kept = int(model.n_estimators_)
        return cls(curves, measure, n_kept).plot(ax, log_rounds=log_rounds)

    @property
    def best_round(self) -> int | None:
        """The round, counted from 1, where the last curve that is not of the training set is lowest."""
        others = [curve for name, curve in self.curves.items() if name != "train"]
        return int(np.nanargmin(others[-1])) + 1 if others else None

    def _draw(self, ax: Any) -> Legend:
        for number, (name, curve) in enumerate(self.curves.items()):
            self._draw_line(curve, _SET_NAMES.get(name, name), style.COLOURS[number % len(style.COLOURS)])
        labels.rounds_axis(ax, max(map(len, self.curves.values())), log=self._is_log)
        values = np.concatenate(list(self.curves.values()))
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        height = high - low or abs(high) or 1.0
        # from 0, unless the curves would fill only the upper half
        ax.set_ylim(0.0 if 0 <= low < height else low - 0.08 * height, high + 0.06 * height)
        is_share = "error rate" in self.measure
        if self.best_round is not None:
            position = max(number for number, name in enumerate(self.curves) if name != "train")
            lowest = float(list(self.curves.values())[position][self.best_round - 1])
            value = labels.percent(lowest) if is_share else labels.minus(f"{lowest:.4g}")
            name = f"lowest at round {self.best_round:,}: {value}"
            self._mark(self.best_round, lowest, "D", name, style.COLOURS[position % len(style.COLOURS)])
            if self.n_kept not in (None, self.best_round):
                ax.axvline(self.n_kept, label=f"the model has {self.n_kept:,} rounds", **style.DASHED)
        labels.name_axes(ax, "rounds", self.measure)
        labels.value_axis(ax.yaxis, is_share=is_share)
        return [], []


def _recorded(model: Any) -> tuple[dict[str, Floats], str]:
    """Return the losses in the history of a model or, if there are none, the errors."""
    history = getattr(model, "history_", None)
    if history is None:
        raise TypeError(f"{type(model).__name__} has no history_: pass X_train and y_train, or a test set")
    for measure, name in (("loss", "loss"), ("error", "error rate")):
        found = {
            key.removesuffix(f"_{measure}"): np.asarray(values, dtype=np.float64)
            for key, values in history.items()
            if key.endswith(f"_{measure}") and len(values)
        }
        if found:
            rank = {"train": 0, "validation": 1}
            return {key: found[key] for key in sorted(found, key=lambda key: rank.get(key, 2))}, name
    raise ValueError(
        f"this {type(model).__name__} has recorded no loss: pass X_train and y_train, or fit it with "
        "early_stopping=True or an evaluation set"
    )


def _computed(model: Any, pairs: dict[str, Any]) -> tuple[dict[str, Floats], str]:
    """Return losses after every round on the data sets passed."""
    is_classifier = hasattr(model, "classes_")
    method = "staged_predict_proba" if is_classifier else "staged_predict"
    if not hasattr(model, method):
        raise TypeError(f"{type(model).__name__} has no {method}: it must be a boosted model")
    curves = {}
    for name, (X, y) in pairs.items():
        if is_classifier:
            codes = encode_labels(y, classes_of(model))
            rows = np.arange(len(codes))
            found = (
                np.asarray(probabilities)[rows, codes] for probabilities in model.staged_predict_proba(X)
            )
            losses = [-np.log(np.maximum(right, _TINY)).mean() for right in found]
        else:
            actual = np.asarray(y, dtype=np.float64)
            losses = [root_mean_squared_error(actual, predicted) for predicted in model.staged_predict(X)]
        curves[name] = np.array(losses, dtype=np.float64)
    return curves, "log-loss" if is_classifier else "root mean squared error"
