"""Methods: every way of the library to learn from a table, by name, with sensible defaults.

A method's parameters are plain values (numbers, texts, None), so that they can be printed, kept in a file and
given on a command line. The one thing that is not plain, the weak learner, is said by ``max_depth``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hedgerow.estimators import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    AnyBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SchapireBoostClassifier,
)
from hedgerow.selection.linear import LogisticBaseline, RidgeBaseline
from hedgerow.selection.splits import check_task


@dataclass(frozen=True)
class Method:
    """A way to learn.

    Parameters
    ----------
    name, title : str
    classifier, regressor : class or None
        What fits classes and numbers; None where the method is not made for them.
    defaults, for_numbers : mapping
        Parameters beside those of the classes themselves; `for_numbers` come on top in regression.
    member : class or None
        What ``max_depth`` is the depth of, for ensembles whose weak learner can be chosen; for numbers it is
        always a `DecisionTreeRegressor`.
    rounds : {"loss", "staged", "members", "none"}
        What is known of the number of rounds: boosting that follows its own loss on validation rows, boosting
        that must be scored after every round, members that can only be more or fewer, or nothing of the kind.
    most_classes : int or None
    title_for_numbers : str or None

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
    for_numbers: Mapping[str, Any] = field(default_factory=dict)
    member: Any = None
    rounds: str = "none"
    most_classes: int | None = None
    title_for_numbers: str | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can do."""
        kinds = (("classification", self.classifier), ("regression", self.regressor))
        return tuple(task for task, kind in kinds if kind is not None)

    def title_of(self, task: str) -> str:
        """How it is called in this task."""
        return self.title_for_numbers or self.title if task == "regression" else self.title

    def reason_against(self, task: str, n_classes: int | None) -> str | None:
        """Why it cannot be used for such a target; None if it can."""
        if task not in self.tasks:
            return "it is for classes, not for numbers"
        if self.most_classes is not None and n_classes is not None and n_classes > self.most_classes:
            return f"it is for two classes, and y has {n_classes}"
        return None


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "gradient",
            "gradient boosting",
            GradientBoostingClassifier,
            GradientBoostingRegressor,
            defaults={"n_estimators": 100, "learning_rate": 0.1},
            rounds="loss",
        ),
        Method(
            "adaboost",
            "AdaBoost",
            AdaBoostClassifier,
            AdaBoostRegressor,
            defaults={"n_estimators": 100},
            for_numbers={"max_depth": 6},
            member=DecisionTreeClassifier,
            rounds="staged",
        ),
        Method(
            "logitboost",
            "LogitBoost",
            LogitBoostClassifier,
            None,
            defaults={"n_estimators": 100, "learning_rate": 0.5},
            member=DecisionTreeRegressor,
            rounds="loss",
        ),
        Method(
            "forest",
            "random forest",
            RandomForestClassifier,
            RandomForestRegressor,
            defaults={"n_estimators": 200},
            for_numbers={"max_features": 0.5},
            rounds="members",
        ),
        # Bagging of trees (Breiman 1996) is a forest that may split on any column: the forest's kernels grow
        # such trees many times faster than members are fitted one by one, which bagging anything else needs.
        Method(
            "bagging",
            "bagging of trees",
            RandomForestClassifier,
            RandomForestRegressor,
            defaults={"n_estimators": 100, "max_features": 1.0},
            rounds="members",
        ),
        Method(
            "extra-trees",
            "extremely randomised trees",
            ExtraTreesClassifier,
            ExtraTreesRegressor,
            defaults={"n_estimators": 200},
            rounds="members",
        ),
        Method(
            "adaboost-real",
            "real AdaBoost",
            AdaBoostClassifier,
            None,
            defaults={"n_estimators": 100, "algorithm": "real"},
            member=DecisionTreeClassifier,
            rounds="staged",
        ),
        Method(
            "adaboost-gentle",
            "gentle AdaBoost",
            AdaBoostClassifier,
            None,
            defaults={"n_estimators": 100, "algorithm": "gentle"},
            member=DecisionTreeRegressor,
            rounds="staged",
        ),
        Method(
            "anyboost",
            "AnyBoost, logistic cost",
            AnyBoostClassifier,
            None,
            defaults={"n_estimators": 100, "cost": "logistic"},
            member=DecisionTreeClassifier,
            rounds="staged",
            most_classes=2,
        ),
        Method(
            "schapire", "Schapire's three hypotheses", SchapireBoostClassifier, None, member=DecisionStump
        ),
        Method(
            "tree",
            "one tree",
            DecisionTreeClassifier,
            DecisionTreeRegressor,
            defaults={"max_depth": 5},
        ),
        Method("stump", "one stump", DecisionStump, DecisionTreeRegressor, for_numbers={"max_depth": 1}),
        Method(
            "linear",
            "logistic regression",
            LogisticBaseline,
            RidgeBaseline,
            title_for_numbers="ridge regression",
        ),
    )
}

AUTO = ("gradient", "adaboost", "logitboost", "forest", "bagging")


def find_method(name: str) -> Method:
    """The method of that name."""
    if name not in METHODS:
        raise ValueError(f"method={name!r} is not allowed: it must be one of {', '.join(map(repr, METHODS))}")
    return METHODS[name]


def make_model(
    method: str, task: str, *, random_state: Any = 0, n_jobs: int | None = None, **parameters: Any
) -> Any:
    """An estimator of the library, not fitted yet.

    Parameters
    ----------
    method : str
        A name of `METHODS`.
    task : {"classification", "regression"}
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads; None for all cores. The model is the same for any number.
    **parameters
        Of the estimator, in place of the defaults of the method. For boosting of small trees
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
    found = find_method(method)
    against = found.reason_against(task, None)
    if against is not None:
        raise ValueError(f"method={method!r} is not allowed for {task}: {against}")
    kind = found.classifier if task == "classification" else found.regressor
    given = {**found.defaults, **(found.for_numbers if task == "regression" else {}), **parameters}
    if found.member is not None and "max_depth" in given:
        member = found.member if task == "classification" else DecisionTreeRegressor
        given["estimator"] = _member(member, found.name, given.pop("max_depth"))
    names = kind._get_param_names()  # noqa: SLF001 - scikit-learn's own list, without making one
    if found.name == "schapire":
        given.setdefault("estimator", DecisionStump(n_jobs=n_jobs))
    for name, value in given.items():
        if name not in names:
            raise ValueError(f"{name}={value!r} is not allowed: method {method!r} has no such parameter")
    common = {"random_state": random_state, "n_jobs": n_jobs}
    return kind(**{name: value for name, value in common.items() if name in names}, **given)


def _member(kind: Any, method: str, depth: int | None) -> Any:
    """The weak learner; None, the default of its ensemble, where that is the same."""
    regressor = kind is DecisionTreeRegressor and method == "adaboost"
    if kind is DecisionStump or (depth == 1 and not regressor):
        return None
    return kind(max_depth=depth)
