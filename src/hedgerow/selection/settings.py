"""Settings: what is tried of each family, the cheapest and most usual first.

gradient      the rounds come from early stopping; learning rate and leaves differ
adaboost      the rounds come from the scores after every round; depth and update rule differ
forest        what differs is how small the leaves are and how many columns a split may see
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hedgerow.selection.methods import METHODS

_FEW = 1000  # rows below which leaves of 20 rows would be too coarse
_SOME = 5000  # rows from which larger trees may pay


@dataclass(frozen=True)
class Setting:
    """Parameters of a method to be tried.

    Parameters
    ----------
    method : str
    parameters : mapping
        For `make_model`; ``n_estimators`` is the most rounds where these are found by validation.
    patience : int
        Rounds without a lower validation loss that end the fit, for methods that follow theirs.
    likely_rounds : int
        How many rounds there will be, for a guess of the time before anything is known.
    """

    method: str
    parameters: Mapping[str, Any]
    patience: int = 25
    likely_rounds: int = 100

    def shortened(self, n_rounds: int) -> "Setting":
        """The same with other rounds, if the method has any."""
        if METHODS[self.method].rounds == "none":
            return self
        return replace(self, parameters={**self.parameters, "n_estimators": n_rounds})


def settings_for(method: str, task: str, n_rows: int) -> list[Setting]:
    """What is tried of a method on so many rows; its defaults alone, if nothing else is known to be good.

    Examples
    --------
    >>> for setting in settings_for("forest", "classification", 10_000):
    ...     print(setting.parameters)
    {'n_estimators': 200}
    {'n_estimators': 200, 'min_samples_leaf': 5}
    {'n_estimators': 400, 'max_features': 0.5, 'min_samples_leaf': 2}
    """
    if method == "gradient":
        return _gradient(n_rows)
    if method == "adaboost":
        return _adaboost_for_numbers() if task == "regression" else _adaboost()
    if method == "logitboost":
        return _logitboost()
    if method == "forest":
        return _forest_for_numbers() if task == "regression" else _forest()
    if method == "bagging":
        return _bagging()
    return [Setting(method, {})]


def _gradient(n_rows: int) -> list[Setting]:
    leaf = {"min_samples_leaf": 5} if n_rows < _FEW else {}
    wide = 63 if n_rows >= _SOME else 7

    def boosted(most: int, rate: float, leaves: int, patience: int, likely: int, **more: Any) -> Setting:
        given = {"n_estimators": most, "learning_rate": rate, "max_leaf_nodes": leaves, **leaf, **more}
        return Setting("gradient", given, patience, likely)

    return [
        boosted(1000, 0.1, 31, 25, 150),
        boosted(2000, 0.05, 15, 50, 300),
        boosted(2000, 0.05, wide, 50, 300),
        boosted(2000, 0.05, 31, 50, 300, subsample=0.8, colsample_bytree=0.7),
        boosted(4000, 0.02, 31, 100, 700, l2_regularization=10.0),
    ]


def _of(method: str, rounds: int, **given: Any) -> Setting:
    return Setting(method, {"n_estimators": rounds, **given}, likely_rounds=rounds)


def _adaboost() -> list[Setting]:
    return [
        _of("adaboost", 200),
        _of("adaboost", 200, algorithm="gentle", learning_rate=0.5),
        _of("adaboost", 200, algorithm="real", max_depth=2, learning_rate=0.3),
        _of("adaboost", 200, max_depth=3, learning_rate=0.3),
    ]


def _adaboost_for_numbers() -> list[Setting]:
    return [
        _of("adaboost", 50, max_depth=6),
        _of("adaboost", 100, max_depth=8, loss="square"),
        _of("adaboost", 100, max_depth=4, learning_rate=0.5),
    ]


def _logitboost() -> list[Setting]:
    def boosted(rounds: int, depth: int, rate: float, patience: int, likely: int) -> Setting:
        given = {"n_estimators": rounds, "max_depth": depth, "learning_rate": rate}
        return Setting("logitboost", given, patience, likely)

    return [
        boosted(300, 1, 0.5, 20, 150),
        boosted(400, 2, 0.3, 25, 150),
        boosted(600, 3, 0.1, 40, 200),
    ]


def _forest() -> list[Setting]:
    return [
        _of("forest", 200),
        _of("forest", 200, min_samples_leaf=5),
        _of("forest", 400, max_features=0.5, min_samples_leaf=2),
    ]


def _forest_for_numbers() -> list[Setting]:
    return [
        _of("forest", 200),
        _of("forest", 200, max_features=1.0),
        _of("forest", 400, max_features=0.33, min_samples_leaf=2),
    ]


def _bagging() -> list[Setting]:
    return [
        _of("bagging", 100),
        _of("bagging", 200, max_samples=0.5, min_samples_leaf=5),
    ]
