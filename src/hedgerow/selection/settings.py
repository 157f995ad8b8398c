"""Settings: the parameters of a method that `choose` tries, the cheapest first."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hedgerow.boosting.sizes import auto_folds
from hedgerow.selection.methods import AUTO_ROUNDS, METHODS

_FEW = 1000  # rows below which leaves of 20 rows are too coarse
_MANY_CATEGORIES = 32  # of a column, above which target statistics are tried too
_SOME = 5000  # rows from which larger trees may be better


@dataclass(frozen=True)
class Setting:
    """Parameters of a method to try, for `make_model`."""

    method: str
    parameters: Mapping[str, Any]  # n_estimators is the maximum where validation finds the number of rounds
    patience: int = 25  # rounds without a lower validation loss after which early stopping ends the fit
    likely_rounds: int = 100  # expected number of rounds, for a first estimate of the time

    @property
    def is_automatic(self) -> bool:
        """Whether the fit itself finds the number of rounds."""
        return bool(self.parameters.get("n_estimators") == AUTO_ROUNDS)

    def shortened(self, n_rounds: int) -> "Setting":
        """Return the setting with another number of rounds, if the method has rounds and does not find it."""
        if METHODS[self.method].rounds == "none" or self.is_automatic:
            return self
        return replace(self, parameters={**self.parameters, "n_estimators": n_rounds})


def settings_for(
    method: str,
    task: str,
    n_rows: int,
    parameters: Mapping[str, Any] | None = None,
    n_classes: int | None = None,
    n_categories: int = 0,
) -> list[Setting]:
    """Return the settings of a method that are tried, the cheapest first; by default its defaults only.

    `parameters` replace those of all settings; `n_categories` is the most of a column.

    Examples
    --------
    >>> for setting in settings_for("forest", "classification", 10_000):
    ...     print(setting.parameters)
    {'n_estimators': 200}
    {'n_estimators': 200, 'min_samples_leaf': 5}
    {'n_estimators': 400, 'max_features': 0.5, 'min_samples_leaf': 2}
    """
    if method == "gradient":
        settings = _gradient_settings(n_rows, n_classes, n_categories)
    else:
        tried = _SETTINGS.get((method, task), _SETTINGS.get((method, "any"), ({},)))
        settings = [_setting(method, **values) for values in tried]
    if not parameters:
        return settings
    if parameters.get("n_estimators", AUTO_ROUNDS) != AUTO_ROUNDS:
        settings = [setting for setting in settings if not setting.is_automatic]
    fixed = [replace(setting, parameters={**setting.parameters, **parameters}) for setting in settings]
    return [
        setting
        for number, setting in enumerate(fixed)
        if setting.parameters not in _parameters(fixed[:number])
    ]


def _parameters(settings: list[Setting]) -> list[Mapping[str, Any]]:
    return [setting.parameters for setting in settings]


def _setting(method: str, *, patience: int = 25, likely_rounds: int = 100, **parameters: Any) -> Setting:
    """Return a setting; without a validation loss all rounds are fitted."""
    if METHODS[method].rounds != "loss":
        likely_rounds = parameters.get("n_estimators", likely_rounds)
    return Setting(method, parameters, patience, likely_rounds)


def _gradient_settings(n_rows: int, n_classes: int | None, n_categories: int) -> list[Setting]:
    leaf = {"min_samples_leaf": 5} if n_rows < _FEW else {}
    wide = 63 if n_rows >= _SOME else 7

    def boosted(most: int, rate: float, leaves: int, patience: int, likely: int, **more: Any) -> Setting:
        values = {"n_estimators": most, "learning_rate": rate, "max_leaf_nodes": leaves, **leaf, **more}
        return Setting("gradient", values, patience, likely)

    # The library's defaults: the mean of models of folds. A round has a tree of each fold.
    n_outputs = 1 if n_classes is None or n_classes == 2 else n_classes
    folds = auto_folds(n_rows, n_outputs) or 1
    values = {"n_estimators": AUTO_ROUNDS, "learning_rate": "auto"}
    automatic = Setting("gradient", values, likely_rounds=100 * folds)
    coded = []
    if n_categories > _MANY_CATEGORIES and n_rows >= _FEW:
        coded = [boosted(1000, 0.1, 31, 25, 150, max_categories_for_sets=_MANY_CATEGORIES)]
    return [
        boosted(1000, 0.1, 31, 25, 150),
        *coded,
        automatic,
        boosted(2000, 0.05, 15, 50, 300),
        boosted(2000, 0.05, wide, 50, 300),
        boosted(2000, 0.05, 31, 50, 300, subsample=0.8, colsample_bytree=0.7),
        boosted(4000, 0.02, 31, 100, 700, l2_regularization=10.0),
    ]


# The settings that are tried, the cheapest first, by method and task; for others the defaults only.
_SETTINGS: dict[tuple[str, str], tuple[dict[str, Any], ...]] = {
    ("adaboost", "classification"): (
        {"n_estimators": 200},
        {"n_estimators": 200, "algorithm": "gentle", "learning_rate": 0.5},
        {"n_estimators": 200, "algorithm": "real", "max_depth": 2, "learning_rate": 0.3},
        {"n_estimators": 200, "max_depth": 3, "learning_rate": 0.3},
    ),
    ("adaboost", "regression"): (
        {"n_estimators": 50, "max_depth": 6},
        {"n_estimators": 100, "max_depth": 8, "loss": "square"},
        {"n_estimators": 100, "max_depth": 4, "learning_rate": 0.5},
    ),
    ("logitboost", "any"): (
        {"n_estimators": 300, "max_depth": 1, "learning_rate": 0.5, "patience": 20, "likely_rounds": 150},
        {"n_estimators": 400, "max_depth": 2, "learning_rate": 0.3, "patience": 25, "likely_rounds": 150},
        {"n_estimators": 600, "max_depth": 3, "learning_rate": 0.1, "patience": 40, "likely_rounds": 200},
    ),
    ("forest", "classification"): (
        {"n_estimators": 200},
        {"n_estimators": 200, "min_samples_leaf": 5},
        {"n_estimators": 400, "max_features": 0.5, "min_samples_leaf": 2},
    ),
    ("forest", "regression"): (
        {"n_estimators": 200},
        {"n_estimators": 200, "max_features": 1.0},
        {"n_estimators": 400, "max_features": 0.33, "min_samples_leaf": 2},
    ),
    ("bagging", "any"): (
        {"n_estimators": 100},
        {"n_estimators": 200, "max_samples": 0.5, "min_samples_leaf": 5},
    ),
}
