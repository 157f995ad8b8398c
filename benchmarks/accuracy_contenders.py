"""Libraries of the accuracy study as estimators with one interface.

`make_contender("CatBoost", case, seed)` returns an estimator that accepts the data frames of
accuracy_tables.py, with the default parameters of the library or those of a JSON object after its name.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
from sklearn.model_selection import train_test_split

from accuracy_tables import Case

THREADS = 2  # of all contenders that accept a number


def _hedgerow(case: Case, seed: int, **parameters: Any) -> Any:
    import hedgerow

    kind = {
        "classification": hedgerow.GradientBoostingClassifier,
        "regression": hedgerow.GradientBoostingRegressor,
    }
    return kind[case.task](**{"random_state": seed, "n_jobs": THREADS, **parameters})


def _lightgbm(case: Case, seed: int, **parameters: Any) -> Any:
    import lightgbm

    kind = lightgbm.LGBMClassifier if case.task == "classification" else lightgbm.LGBMRegressor
    return kind(random_state=seed, n_jobs=THREADS, verbose=-1, **parameters)


def _xgboost(case: Case, seed: int, **parameters: Any) -> Any:
    import xgboost

    kind = xgboost.XGBClassifier if case.task == "classification" else xgboost.XGBRegressor
    return kind(random_state=seed, n_jobs=THREADS, enable_categorical=True, **parameters)


class _HistogramBoosting:
    """scikit-learn's histogram boosting; it accepts up to 255 categories, columns of more become numbers."""

    def __init__(self, case: Case, seed: int, **parameters: Any) -> None:
        from sklearn import ensemble

        kind = {
            "classification": ensemble.HistGradientBoostingClassifier,
            "regression": ensemble.HistGradientBoostingRegressor,
        }
        self.model = kind[case.task](random_state=seed, categorical_features="from_dtype", **parameters)

    def fit(self, X: pd.DataFrame, y: Any) -> "_HistogramBoosting":
        kinds = {name: X[name].dtype for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)}
        self.many = [name for name, kind in kinds.items() if len(kind.categories) > 255]
        self.model.fit(self._numbers(X), y)
        return self

    def _numbers(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(**{name: X[name].cat.codes for name in self.many})

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(self._numbers(X))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(self._numbers(X))


class _CatBoost:
    """CatBoost with the columns of categories as texts, as it requires."""

    def __init__(self, case: Case, seed: int, **parameters: Any) -> None:
        import catboost

        kind = catboost.CatBoostClassifier if case.task == "classification" else catboost.CatBoostRegressor
        self.model = kind(
            random_seed=seed, thread_count=THREADS, verbose=False, allow_writing_files=False, **parameters
        )

    def fit(self, X: pd.DataFrame, y: Any, eval_set: Any = None) -> "_CatBoost":
        self.categories = [name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)]
        if eval_set is not None:
            eval_set = self._texts(eval_set[0]), eval_set[1]
        self.model.fit(self._texts(X), y, cat_features=self.categories, eval_set=eval_set)
        return self

    def _texts(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(
            **{name: X[name].astype(object).fillna("missing").astype(str) for name in self.categories}
        )

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(self._texts(X))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(self._texts(X))


# The meta-tuned defaults of Holzmueller, Grinsztajn and Steinwart (2024), "Better by default", as pytabkit
# has them. They stop early: after 300 rounds without a better loss of a fifth of the training rows.
_TUNED: dict[str, dict[str, dict[str, Any]]] = {
    "LightGBM": {
        "classification": {
            "n_estimators": 1000, "learning_rate": 0.04, "num_leaves": 50, "subsample": 0.75,
            "subsample_freq": 1, "min_child_samples": 40, "min_child_weight": 1e-7,
        },
        "regression": {
            "n_estimators": 1000, "learning_rate": 0.05, "num_leaves": 100, "subsample": 0.7,
            "subsample_freq": 1, "min_child_samples": 3, "min_child_weight": 1e-7,
        },
    },
    "XGBoost": {
        "classification": {
            "n_estimators": 1000, "learning_rate": 0.08, "max_depth": 6, "min_child_weight": 5e-6,
            "subsample": 0.65, "colsample_bylevel": 0.9, "reg_lambda": 0.0,
        },
        "regression": {
            "n_estimators": 1000, "learning_rate": 0.05, "max_depth": 9, "min_child_weight": 2.0,
            "subsample": 0.7, "reg_lambda": 0.0,
        },
    },
    "CatBoost": {
        "classification": {
            "iterations": 1000, "learning_rate": 0.08, "depth": 7, "l2_leaf_reg": 1e-5,
            "random_strength": 0.8, "one_hot_max_size": 15, "leaf_estimation_iterations": 1,
            "boosting_type": "Plain", "bootstrap_type": "Bernoulli", "subsample": 0.9,
        },
        "regression": {
            "iterations": 1000, "learning_rate": 0.09, "depth": 9, "l2_leaf_reg": 1e-5,
            "random_strength": 0.0, "one_hot_max_size": 20, "leaf_estimation_iterations": 20,
            "boosting_type": "Plain", "bootstrap_type": "Bernoulli", "subsample": 0.9,
        },
    },
}  # fmt: skip
_TUNED_PATIENCE, _TUNED_VALIDATION = 300, 0.2


class _Tuned:
    """A library with its tuned defaults, which end a fit by a fifth of the rows."""

    def __init__(self, library: str, case: Case, seed: int) -> None:
        self.library, self.case, self.seed = library, case, seed
        self.parameters = _TUNED[library][case.task]

    def fit(self, X: pd.DataFrame, y: Any) -> "_Tuned":
        strata = y if self.case.task == "classification" else None
        X_fit, X_valid, y_fit, y_valid = train_test_split(
            X, y, test_size=_TUNED_VALIDATION, random_state=self.seed, stratify=strata
        )
        if self.library == "CatBoost":
            self.model = _CatBoost(
                self.case, self.seed, early_stopping_rounds=_TUNED_PATIENCE, **self.parameters
            )
            self.model.fit(X_fit, y_fit, eval_set=(X_valid, y_valid))
        elif self.library == "XGBoost":
            self.model = _xgboost(
                self.case, self.seed, early_stopping_rounds=_TUNED_PATIENCE, **self.parameters
            )
            self.model.fit(X_fit, y_fit, eval_set=[(X_valid, y_valid)], verbose=False)
        else:
            import lightgbm

            stop = lightgbm.early_stopping(_TUNED_PATIENCE, verbose=False)
            self.model = _lightgbm(self.case, self.seed, **self.parameters)
            self.model.fit(X_fit, y_fit, eval_set=[(X_valid, y_valid)], callbacks=[stop])
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(X)

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(X)


CONTENDERS: dict[str, Callable[..., Any]] = {
    "Hedgerow": _hedgerow,
    "CatBoost": _CatBoost,
    "LightGBM": _lightgbm,
    "XGBoost": _xgboost,
    "HistGradientBoosting": _HistogramBoosting,
    **{f"{library} tuned": partial(_Tuned, library) for library in _TUNED},
}


def make_contender(name: str, case: Case, seed: int) -> Any:
    """Make the estimator of a contender: a name, or a name and parameters as a JSON object."""
    library, brace, rest = name.partition("{")
    parameters = json.loads(brace + rest) if brace else {}
    return CONTENDERS[library.strip()](case, seed, **parameters)
