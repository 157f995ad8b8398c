"""scikit-learn's own checks of an estimator, for every public one: its defaults, and what changes its paths.

None is excused in the first test. In the second are settings for which one of the checks asks for what cannot
be: each is run too, and has to fail.
"""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier as ForeignTree
from sklearn.tree import DecisionTreeRegressor as ForeignRegressionTree
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import hedgerow
from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    AnyBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
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
from hedgerow.vision import CascadeTrainer

FAST = {"n_estimators": 5, "learning_rate": 0.5}
STUMP, FOREIGN_STUMP = DecisionTreeRegressor(max_depth=1), ForeignTree(max_depth=1)

BOOSTED = [
    GradientBoostingClassifier(),
    GradientBoostingRegressor(),
    *(
        kind(**FAST, **parameters)
        for kind in (GradientBoostingClassifier, GradientBoostingRegressor)
        for parameters in ({"newton": False}, {"min_samples_leaf": 1}, {"estimator": Ridge()})
    ),
    AdaBoostClassifier(),
    *(AdaBoostClassifier(algorithm=name) for name in ("samme", "real", "samme.r", "gentle")),
    # more than a stump: M1 needs errors below 1/2, of three random classes too
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), algorithm="m1", n_estimators=10),
    *(AdaBoostClassifier(FOREIGN_STUMP, algorithm=name, n_estimators=5) for name in ("discrete", "samme")),
    AdaBoostClassifier(ForeignTree(max_depth=3), algorithm="m1", n_estimators=5),
    AdaBoostClassifier(ForeignRegressionTree(max_depth=1), algorithm="gentle", n_estimators=5),
    AdaBoostRegressor(),
    AdaBoostRegressor(STUMP, loss="square", learning_rate=0.5, n_estimators=10),
    AdaBoostRegressor(ForeignRegressionTree(max_depth=3), loss="exponential", n_estimators=5),
    LogitBoostClassifier(),
    *(AnyBoostClassifier(cost=cost) for cost in ("exponential", "logistic", "sigmoid")),
    AnyBoostClassifier(FOREIGN_STUMP, n_estimators=5),
    SchapireBoostClassifier(),
    *(SchapireBoostClassifier(FOREIGN_STUMP, depth=depth, random_state=0) for depth in (1, 2)),
    SchapireBoostClassifier(FOREIGN_STUMP, first_share=0.4, random_state=0),
]
BAGGED = [
    BaggingClassifier(),
    BaggingClassifier(n_estimators=3, bootstrap=False, max_features=0.7, voting="hard"),
    BaggingClassifier(DecisionStump(), n_estimators=2, n_jobs=2),
    BaggingClassifier(ExtraTreeClassifier(), n_estimators=5, max_samples=0.9, bootstrap_features=True),
    BaggingClassifier(GaussianNB(), n_estimators=3),
    BaggingClassifier(LinearSVC(), n_estimators=2),
    BaggingRegressor(),
    BaggingRegressor(n_estimators=3, bootstrap=False, max_features=0.7),
    BaggingRegressor(ExtraTreeRegressor(), n_estimators=5, max_samples=0.9, bootstrap_features=True),
    BaggingRegressor(KNeighborsRegressor(), n_estimators=2),
    RandomForestClassifier(),
    RandomForestClassifier(n_estimators=3, criterion="entropy", max_features=None, n_jobs=1),
    RandomForestClassifier(n_estimators=3, criterion="log_loss", bootstrap=False, max_leaf_nodes=6),
    RandomForestClassifier(n_estimators=5, max_features=0.6, max_depth=4, max_samples=0.9),
    RandomForestClassifier(n_estimators=3, class_weight="balanced"),
    RandomForestClassifier(n_estimators=3, class_weight="balanced_subsample", min_samples_leaf=2),
    RandomForestRegressor(),
    RandomForestRegressor(n_estimators=3, max_features="sqrt", max_leaf_nodes=12, bootstrap=False),
    RandomForestRegressor(n_estimators=3, max_features=0.5, min_samples_leaf=0.02, keep_targets=False),
    ExtraTreesClassifier(),
    ExtraTreesClassifier(n_estimators=5, bootstrap=True, criterion="entropy", max_features="log2"),
    ExtraTreesRegressor(),
    ExtraTreesRegressor(n_estimators=5, bootstrap=True, min_samples_split=4),
]
SINGLE = [
    DecisionStump(),
    DecisionStump(criterion="gini"),
    DecisionStump(max_bins=65_535),
    DecisionTreeClassifier(),
    DecisionTreeClassifier("error", max_depth=None, max_leaf_nodes=9, max_bins=65_535),
    DecisionTreeRegressor(),
    DecisionTreeRegressor(max_depth=None, min_weight_fraction_leaf=0.02),
]
COMPARED_WITH = [LogisticBaseline(), RidgeBaseline()]  # by `hedgerow.selection`
EVERY = [*BOOSTED, *BAGGED, *SINGLE, *COMPARED_WITH]

pytestmark = pytest.mark.slow  # all of them together; lines are not counted in them


@pytest.mark.filterwarnings("ignore:boosting stopped")  # on noise, the first learner is at chance
@parametrize_with_checks(EVERY)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def test_every_public_estimator_is_among_them_in_its_default_settings():
    public = {
        kind
        for kind in (getattr(hedgerow, name) for name in hedgerow.__all__)
        if inspect.isclass(kind) and issubclass(kind, BaseEstimator)
    }
    assert len(public) > 15
    public |= {LogisticBaseline, RidgeBaseline}
    assert public == {
        type(estimator) for estimator in EVERY if repr(estimator) == f"{type(estimator).__name__}()"
    }


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_mixin_order,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_set_params,
        estimator_checks.check_valid_tag_types,
    ],
)
def test_a_trainer_of_cascades_has_parameters_as_an_estimator_has(check):
    check("CascadeTrainer", CascadeTrainer())  # it is fitted to images, and predicts nothing: no more applies


# --- what one of the checks cannot ask for

COPIES = "rows of weight zero or two are drawn, or held out, one by one: they cannot equal none or two copies"
TIES = "splits of equal gain are chosen by rounding, in scikit-learn's trees"
NEGATIVE = "its targets are negative whatever the tag positive_only says"
WEIGHT_CHECKS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
SPECIAL = [
    *(
        (kind(**FAST, **parameters), reason, WEIGHT_CHECKS)
        for kind in (GradientBoostingClassifier, GradientBoostingRegressor)
        for parameters, reason in [
            ({"subsample": 0.7}, COPIES),
            ({"early_stopping": True}, COPIES),
            ({"estimator": ForeignRegressionTree(max_depth=2)}, TIES),
        ]
    ),
    (
        AdaBoostClassifier(on_chance="restart", learning_rate=0.5, early_stopping=True, n_estimators=10),
        COPIES, WEIGHT_CHECKS,
    ),
    *(
        (AdaBoostClassifier(FOREIGN_STUMP, algorithm=name, n_estimators=5), TIES, WEIGHT_CHECKS)
        for name in ("real", "samme.r")
    ),
    (LogitBoostClassifier(ForeignRegressionTree(max_depth=1), n_estimators=5), TIES, WEIGHT_CHECKS),
    (
        RandomForestRegressor(n_estimators=3, criterion="poisson", max_features=1),
        NEGATIVE, ["check_regressor_multioutput"],
    ),
]  # fmt: skip


def why_it_fails(estimator):
    _, reason, checks = next(one for one in SPECIAL if repr(one[0]) == repr(estimator))
    return dict.fromkeys(checks, reason)


@pytest.mark.filterwarnings("ignore:boosting stopped")
@parametrize_with_checks([one[0] for one in SPECIAL], expected_failed_checks=why_it_fails)
def test_scikit_learn_accepts_all_else(estimator, check):
    check(estimator)
