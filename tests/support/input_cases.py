"""Small estimators of every kind, and the allowed outcomes of a fit to unusual input.

An input is *accepted*, and the model is valid, or it is *refused*: a ValueError or TypeError that is raised
deliberately, with one line that names the fault. Any other outcome fails the test. See `outcome`.
"""

import linecache
import re
import traceback
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.exceptions import DataConversionWarning

import hedgerow
from hedgerow.losses import LOSSES

QUICK = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 2**32 - 1)

# Names of inputs; a message must contain one of them.
_NAMED = re.compile(
    r"\b(X|y|sample_weight|Sample weights|[Cc]olumns?|class_weight|eval_set|callbacks|[Ff]eatures?|array|"
    r"labels?|class|classes|rows|weak learner|positives|negatives|images?)\b"
)
_MANY_LINES = "The feature names should match"  # the message of scikit-learn, which its checks require
_UNINTENDED = (
    RuntimeWarning,
    FutureWarning,
    DeprecationWarning,
)  # warnings of arithmetic and of deprecated calls


@dataclass(frozen=True)
class Case:
    """An estimator to clone, and its properties."""

    name: str
    model: Any
    weights: bool = True  # whether fit accepts sample_weight
    within: bool = False  # whether numeric predictions are within the range of the targets
    two: bool = False  # whether it is binary
    evaluates: bool = True  # whether fit accepts eval_set and callbacks

    def __repr__(self) -> str:
        return self.name

    @property
    def classifies(self) -> bool:
        return bool(is_classifier(self.model))

    def make(self) -> Any:
        return clone(self.model)

    def target(self, rng: np.random.Generator, n_rows: int, n_classes: int = 2) -> Any:
        """A plain target: all the classes as numbers from 0, or positive numbers."""
        if not self.classifies:
            return rng.gamma(1.0, size=n_rows) + 0.01
        n_classes = 2 if self.two else n_classes
        y = rng.integers(0, n_classes, n_rows)
        y[:n_classes] = np.arange(n_classes)[: len(y)]
        return y

    def predict(self, model: Any, X: Any) -> Any:
        """The probabilities of a classifier, the predictions of a regressor."""
        return model.predict_proba(X) if self.classifies else model.predict(X)


def _boosted(name: str, kind: Any, *, two: bool = False, within: bool = False, **parameters: Any) -> Case:
    return Case(name, kind(n_estimators=2, random_state=5, n_jobs=1, **parameters), two=two, within=within)


def _alone(name: str, model: Any, **known: Any) -> Case:
    return Case(name, model, evaluates=False, **known)


_SMALL = {"min_samples_leaf": 1, "max_leaf_nodes": 5}
_FOREST = {"n_estimators": 3, "random_state": 5, "n_jobs": 1}
CLASSIFIERS = [
    _boosted("gradient", hedgerow.GradientBoostingClassifier, **_SMALL),
    _boosted("gradient, balanced", hedgerow.GradientBoostingClassifier, class_weight="balanced", **_SMALL),
    _boosted("gradient, first order", hedgerow.GradientBoostingClassifier, newton=False, **_SMALL),
    _boosted(
        "gradient, exponential", hedgerow.GradientBoostingClassifier, loss="exponential", two=True, **_SMALL
    ),
    *(
        _boosted(f"AdaBoost {algorithm}", hedgerow.AdaBoostClassifier, algorithm=algorithm)
        for algorithm in ("discrete", "real", "gentle")
    ),
    _boosted("AdaBoost drawing", hedgerow.AdaBoostClassifier, resample=True),
    _boosted("AnyBoost", hedgerow.AnyBoostClassifier, two=True),
    _boosted("LogitBoost", hedgerow.LogitBoostClassifier),
    _alone("stump", hedgerow.DecisionStump(n_jobs=1)),
    _alone("tree", hedgerow.DecisionTreeClassifier(n_jobs=1)),
    _alone("forest", hedgerow.RandomForestClassifier(**_FOREST)),
    _alone("balanced forest", hedgerow.RandomForestClassifier(class_weight="balanced_subsample", **_FOREST)),
    _alone("extra trees", hedgerow.ExtraTreesClassifier(criterion="entropy", **_FOREST)),
    _alone("bag", hedgerow.BaggingClassifier(**_FOREST)),
    _alone("bag of all rows", hedgerow.BaggingClassifier(bootstrap=False, **_FOREST)),
    _alone("Schapire", hedgerow.SchapireBoostClassifier(random_state=5), weights=False, two=True),
]
REGRESSORS = [
    *(
        _boosted(f"gradient, {one}", hedgerow.GradientBoostingRegressor, loss=one, **_SMALL)
        for one in LOSSES["regression"]
    ),
    _boosted("gradient of numbers, first order", hedgerow.GradientBoostingRegressor, newton=False, **_SMALL),
    *(
        _boosted(f"AdaBoost.R2 {loss}", hedgerow.AdaBoostRegressor, loss=loss, within=True)
        for loss in ("linear", "square", "exponential")
    ),
    _boosted("AdaBoost.R2 drawing", hedgerow.AdaBoostRegressor, resample=True, within=True),
    _alone("tree of numbers", hedgerow.DecisionTreeRegressor(n_jobs=1), within=True),
    _alone("forest of numbers", hedgerow.RandomForestRegressor(**_FOREST), within=True),
    _alone("extra trees of numbers", hedgerow.ExtraTreesRegressor(**_FOREST), within=True),
    _alone("bag of numbers", hedgerow.BaggingRegressor(**_FOREST), within=True),
    _alone("bag of all numbers", hedgerow.BaggingRegressor(bootstrap=False, **_FOREST), within=True),
]
EVERY = CLASSIFIERS + REGRESSORS
WEIGHTED = [case for case in EVERY if case.weights]
ONE_OF_EACH = list({type(case.model): case for case in reversed(EVERY)}.values())  # of every estimator


def plain_table(seed: int, n_rows: int, n_columns: int) -> Any:
    """Few distinct values, so that there are ties, in float64; all of them are exact in float16."""
    return np.random.default_rng(seed).integers(-5, 6, size=(n_rows, n_columns)) / 4.0


def learnable(case: Case) -> tuple[Any, Any]:
    """Twelve rows on which every estimator is better than chance."""
    y = case.target(np.random.default_rng(0), 12)
    return np.stack([y, plain_table(0, 12, 1)[:, 0]], axis=1), y


# --- outcomes


@dataclass(frozen=True)
class Outcome:
    """The outcome of a fit: a model and its predictions, or the message of a refusal."""

    model: Any
    prediction: Any
    refusal: str

    def __eq__(self, other: object) -> bool:
        """Whether both models predict the same bits, or both were refused with the same message."""
        if not isinstance(other, Outcome):
            return NotImplemented
        if self.model is None or other.model is None:
            return self.model is None and other.model is None and self.refusal == other.refusal
        return bool(
            self.prediction.shape == other.prediction.shape
            and self.prediction.tobytes() == other.prediction.tobytes()
        )

    __hash__ = None  # type: ignore[assignment]


def outcome(case: Case, X: Any, y: Any, *, X_test: Any = None, **fit: Any) -> Outcome:
    """Fit and predict; an unintended error or warning fails the test."""
    X_test = X if X_test is None else X_test
    with unintended_warnings_raise():
        try:
            model = case.make().fit(X, y, **fit)
        except Exception as error:  # noqa: BLE001 - checked below
            assert_deliberate(error)
            return Outcome(None, None, str(error))
        prediction = case.predict(model, X_test)
        assert_valid(case, model, prediction, X_test, y)
        return Outcome(model, prediction, "")


class unintended_warnings_raise(warnings.catch_warnings):  # noqa: N801 - used as a statement
    """Context in which unintended warnings are errors and others are hidden."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", DataConversionWarning)
        for kind in _UNINTENDED:
            warnings.simplefilter("error", kind)
        return entered


def assert_valid(case: Case, model: Any, prediction: Any, X: Any, y: Any) -> None:
    """Properties of the predictions of every model."""
    assert np.all(np.isfinite(prediction))
    if case.classifies:
        assert prediction.min() >= 0.0
        assert prediction.max() <= 1.0
        np.testing.assert_allclose(prediction.sum(axis=1), 1.0)
        predicted = model.predict(X)
        assert predicted.dtype == model.classes_.dtype
        assert np.isin(predicted, model.classes_).all()
    elif case.within:
        y = np.asarray(y, np.float64)
        slack = 1e-6 * np.abs(y).max() + np.finfo(np.float64).tiny  # denormals have few bits
        assert prediction.min() >= y.min() - slack
        assert prediction.max() <= y.max() + slack


def assert_deliberate(error: BaseException) -> None:
    """The error is raised by Hedgerow or scikit-learn, with one line that names the fault."""
    message, where = str(error), traceback.extract_tb(error.__traceback__)[-1]
    assert isinstance(error, ValueError | TypeError), f"{type(error).__name__}: {message}"
    assert "\n" not in message.strip() or message.startswith(_MANY_LINES), message
    assert _NAMED.search(message), message
    line = linecache.getline(where.filename, where.lineno or 0).strip()
    assert line.startswith("raise"), f"{where.filename}:{where.lineno} {line}: {message}"
    assert "hedgerow" in where.filename or "sklearn" in where.filename, where.filename


def assert_refused(case: Case, inputs: Iterable[tuple[Any, Any, dict[str, Any]]]) -> None:
    """Inputs (X, y, arguments of fit) are refused, and a model that was fitted before is unchanged."""
    X_before, y_before = learnable(case)
    with unintended_warnings_raise():
        model = case.make().fit(X_before, y_before)
        before, prediction = dict(vars(model)), case.predict(model, X_before)
        for X, y, fit in inputs:
            try:
                model.fit(X, y, **fit)
            except Exception as error:  # noqa: BLE001 - checked below
                assert_deliberate(error)
            else:
                raise AssertionError(f"{case} accepts {X!r}, {y!r} and {fit!r}")
        assert case.predict(model, X_before).tobytes() == prediction.tobytes()
        assert {name: id(value) for name, value in vars(model).items()} == {
            name: id(value) for name, value in before.items()
        }
