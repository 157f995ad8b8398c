"""Methods: the estimators of the library by name, with defaults.

The parameters of a method are plain values (numbers, texts, None), so that they can be printed, stored in a
file and passed on a command line. ``max_depth`` stands for the weak learner of an ensemble.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.utils.validation import has_fit_parameter

from hedgerow import estimators
from hedgerow.boosting.sizes import Sizes
from hedgerow.datafiles.errors import nearest_names
from hedgerow.estimators import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.estimators.parameters import check_parameters
from hedgerow.selection.linear import LogisticBaseline, RidgeBaseline
from hedgerow.selection.splits import check_task

AUTO_ROUNDS = "auto"  # as n_estimators of gradient boosting: the fit finds the number of rounds itself


@dataclass(frozen=True)
class Method:
    """A method that fits a table.

    Parameters
    ----------
    name, title : str
    classifier, regressor : class or None
        The estimators for each task; None if the method does not support the task.
    defaults, regression_defaults : mapping
        Parameters that differ from the defaults of the classes; `regression_defaults` are added in
        regression.
    member : class or None
        The weak learner whose depth is ``max_depth``, for ensembles with a choice of weak learner; in
        regression it is always a `DecisionTreeRegressor`.
    rounds : {"loss", "staged", "members", "none"}
        How the number of rounds is found: "loss" by the validation loss that boosting records, "staged" by
        scoring every stage of boosting. "members": more members are never worse; "none": no rounds.
    max_classes : int or None
    regression_title : str or None

    Examples
    --------
    >>> METHODS["forest"].title, METHODS["logitboost"].tasks
    ('random forest', ('classification',))
    >>> METHODS["anyboost"].reason_against("classification", 3)
    'it is for two classes, and y has 3'
    """

    name: str
    title: str
    classifier: Any
    regressor: Any
    defaults: Mapping[str, Any] = field(default_factory=dict)
    regression_defaults: Mapping[str, Any] = field(default_factory=dict)
    member: Any = None
    rounds: str = "none"
    max_classes: int | None = None
    regression_title: str | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that it supports."""
        kinds = (("classification", self.classifier), ("regression", self.regressor))
        return tuple(task for task, kind in kinds if kind is not None)

    @property
    def accepts_weights(self) -> bool:
        """Whether its fits accept weights of the rows."""
        return bool(has_fit_parameter(self.classifier or self.regressor, "sample_weight"))

    def title_for(self, task: str) -> str:
        """Return the title for a task."""
        return self.regression_title or self.title if task == "regression" else self.title

    def reason_against(self, task: str, n_classes: int | None) -> str | None:
        """Return why it cannot be used for such a target; None if it can."""
        if task not in self.tasks:
            return "it is for classification, not for regression"
        if self.max_classes is not None and n_classes is not None and n_classes > self.max_classes:
            return f"it is for two classes, and y has {n_classes}"
        return None


_GRADIENT_BOOSTING = (estimators.GradientBoostingClassifier, estimators.GradientBoostingRegressor)
_ADABOOST = (estimators.AdaBoostClassifier, estimators.AdaBoostRegressor)
_FOREST = (estimators.RandomForestClassifier, estimators.RandomForestRegressor)
_EXTRA_TREES = (estimators.ExtraTreesClassifier, estimators.ExtraTreesRegressor)
_100 = {"n_estimators": 100}
_200 = {"n_estimators": 200}
_TREE, _REGRESSION_TREE = DecisionTreeClassifier, DecisionTreeRegressor


def _variant(algorithm: str, member: Any) -> Method:
    """Return AdaBoost for classes with another rule."""
    name, defaults = f"{algorithm} AdaBoost", _100 | {"algorithm": algorithm}
    return Method(f"adaboost-{algorithm}", name, _ADABOOST[0], None, defaults, {}, member, "staged")


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("gradient", "gradient boosting", *_GRADIENT_BOOSTING, rounds="loss"),
        Method("adaboost", "AdaBoost", *_ADABOOST, _100, {"max_depth": 6}, _TREE, "staged"),
        Method(
            "logitboost",
            "LogitBoost",
            estimators.LogitBoostClassifier,
            None,
            _100 | {"learning_rate": 0.5},
            member=_REGRESSION_TREE,
            rounds="loss",
        ),
        Method("forest", "random forest", *_FOREST, _200, {"max_features": 0.5}, rounds="members"),
        # Bagging of trees (Breiman 1996) is a forest whose splits may use any column: the kernels of the
        # forest grow such trees many times faster than fitting members one by one.
        Method("bagging", "bagging of trees", *_FOREST, _100 | {"max_features": 1.0}, rounds="members"),
        Method("extra-trees", "extremely randomised trees", *_EXTRA_TREES, _200, rounds="members"),
        _variant("real", _TREE),
        _variant("gentle", _REGRESSION_TREE),
        Method(
            "anyboost",
            "AnyBoost, logistic cost",
            estimators.AnyBoostClassifier,
            None,
            _100 | {"cost": "logistic"},
            member=_TREE,
            rounds="staged",
            max_classes=2,
        ),
        Method(
            "schapire",
            "Schapire's three hypotheses",
            estimators.SchapireBoostClassifier,
            None,
            member=DecisionStump,
        ),
        Method("tree", "one tree", _TREE, _REGRESSION_TREE, {"max_depth": 5}),
        Method("stump", "one stump", DecisionStump, _REGRESSION_TREE, {}, {"max_depth": 1}),
        Method(
            "linear",
            "logistic regression",
            LogisticBaseline,
            RidgeBaseline,
            regression_title="ridge regression",
        ),
    )
}

AUTO = ("gradient", "adaboost", "logitboost", "forest", "bagging")


def find_method(name: str) -> Method:
    """Return the method of a name."""
    if name not in METHODS:
        raise ValueError(f"method={name!r} is not allowed: it must be one of {', '.join(map(repr, METHODS))}")
    return METHODS[name]


def make_model(
    method: str, task: str, *, random_state: Any = 0, n_jobs: int | None = None, **parameters: Any
) -> Any:
    """Return an estimator of the library, not fitted.

    Parameters
    ----------
    method : str
        A name of `METHODS`.
    task : {"classification", "regression"}
    random_state : int, RandomState or None
    n_jobs : int or None
        Number of threads; None for all cores. The model is the same for any number.
    **parameters
        Parameters of the estimator that replace the defaults of the method. For boosting of small trees
        ``max_depth`` is the depth of the members: 1 for stumps.

    Returns
    -------
    estimator

    Examples
    --------
    >>> make_model("adaboost", "classification", max_depth=2, n_estimators=30)
    AdaBoostClassifier(estimator=DecisionTreeClassifier(max_depth=2), n_estimators=30, random_state=0)
    """
    check_task(task)
    entry = find_method(method)
    reason = entry.reason_against(task, None)
    if reason is not None:
        raise ValueError(f"method={method!r} is not allowed for {task}: {reason}")
    kind = entry.classifier if task == "classification" else entry.regressor
    values = {**entry.defaults, **(entry.regression_defaults if task == "regression" else {}), **parameters}
    if entry.member is not None and "max_depth" in values:
        member = entry.member if task == "classification" else DecisionTreeRegressor
        values["estimator"] = _member(member, entry.name, values.pop("max_depth"))
    names = kind._get_param_names()  # noqa: SLF001 - scikit-learn's list, without an instance
    if entry.name == "schapire":
        values.setdefault("estimator", DecisionStump(n_jobs=n_jobs))
    for name, value in values.items():
        if name not in names:
            near = nearest_names(name, [*names, *(["max_depth"] if entry.member is not None else [])], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"{name}={value!r} is not allowed: method {method!r} has no such parameter{hint}"
            )
    common = {"random_state": random_state, "n_jobs": n_jobs}
    return kind(**{name: value for name, value in common.items() if name in names}, **values)


def check_method_parameters(method: str, task: str, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError for a parameter that a method does not have, or a value that it does not allow.

    Examples
    --------
    >>> check_method_parameters("gradient", "regression", {"learning_rate": -1})
    Traceback (most recent call last):
    ValueError: learning_rate=-1 is not allowed: it must be a number > 0 or 'auto'
    """
    for name, reason in _RESERVED.items():
        if name in parameters:
            raise ValueError(f"{name}={parameters[name]!r} is not allowed: {reason}")
    model = make_model(method, task, **parameters)
    learners: list[Any] = [model, getattr(model, "estimator", None)]
    for one in learners:
        if hasattr(one, "_allowed"):
            check_parameters(one.get_params(deep=False), one._allowed)  # noqa: SLF001 - of this library


def check_rounds_are_chosen(parameters: Mapping[str, Any]) -> None:
    """Raise ValueError for parameters that exclude choosing the number of rounds by validation."""
    if parameters.get("drop_rate"):
        raise ValueError(
            f"drop_rate={parameters['drop_rate']!r} is not allowed where validation chooses the number of "
            "rounds: later rounds change the values of earlier trees; set it to 0, or fit the method alone, "
            "with a number for n_estimators"
        )


def fit_parameters(method: str, parameters: Mapping[str, Any], *, has_order: bool) -> dict[str, Any]:
    """Return the parameters of a fit without validation, for rows with groups or times if `has_order`.

    Gradient boosting would find its number of rounds by folds that divide groups and ignore times: for such
    rows it has 100.

    >>> fit_parameters("gradient", {"learning_rate": 0.2}, has_order=True)
    {'n_estimators': 100, 'learning_rate': 0.2}
    """
    if method != "gradient" or not has_order:
        return dict(parameters)
    if parameters.get("n_estimators") == AUTO_ROUNDS:
        raise ValueError(
            f"n_estimators={AUTO_ROUNDS!r} is not allowed for rows with groups or times, which its folds "
            "ignore: it must be a number"
        )
    return {"n_estimators": Sizes().n_estimators, **parameters}


_RESERVED = {
    "random_state": "it is an option of its own, the seed",
    "n_jobs": "it is an option of its own, the number of threads",
    "estimator": "pass max_depth, the depth of the members",
    "warm_start": "every fit starts anew",
    "early_stopping": "the number of rounds is found by validation",
}


def usable_methods(
    names: Sequence[str], task: str, n_classes: int | None, *, weighted: bool = False
) -> tuple[list[Method], list[tuple[Method, str]]]:
    """Return the methods of these names that can be used for a target, and the others with the reason.

    weighted : whether the rows have weights
    """
    if isinstance(names, str) or not len(names):
        raise ValueError(f"methods={names!r} is not allowed: it must be a list of names of methods")
    usable, refused = [], []
    for method in map(find_method, dict.fromkeys(names)):
        reason = method.reason_against(task, n_classes)
        if reason is None and weighted and not method.accepts_weights:
            reason = "it has no weights of rows"
        if reason is None:
            usable.append(method)
        else:
            refused.append((method, reason))
    return usable, refused


def _member(kind: Any, method: str, depth: int | None) -> Any:
    """Return the weak learner; None if it is the default of its ensemble."""
    regressor = kind is DecisionTreeRegressor and method == "adaboost"
    if kind is DecisionStump or (depth == 1 and not regressor):
        return None
    return kind(max_depth=depth)
