"""Settings of the public estimators for scikit-learn's checks: defaults with few members, and other options.

One setting covers several options that do not affect one another. No check is expected to fail for `BOOSTING`
and `OTHERS`. For each of `SPECIAL`, some checks cannot pass; they run as well, and must fail.
"""

from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier as ForeignTree
from sklearn.tree import DecisionTreeRegressor as ForeignRegressionTree
from sklearn.tree import ExtraTreeClassifier

import hedgerow as hr
from all_estimators import ESTIMATORS
from hedgerow.selection.linear import LogisticBaseline, RidgeBaseline


def few(kind):
    """The default, with few members if it has any."""
    return kind(n_estimators=5) if "n_estimators" in kind().get_params() else kind()


FAST = {"n_estimators": 5, "learning_rate": 0.5}
FOREIGN_STUMP = ForeignTree(max_depth=1)

BOOSTING = [
    *(kind() for kind in ESTIMATORS if "Boost" in kind.__name__),
    hr.GradientBoostingClassifier(newton=False, min_samples_leaf=1, **FAST),
    hr.GradientBoostingRegressor(estimator=Ridge(), **FAST),
    *(hr.AdaBoostClassifier(algorithm=name, n_estimators=10) for name in ("samme", "real", "gentle")),
    # more than a stump: M1 needs errors below 1/2, of three random classes too
    hr.AdaBoostClassifier(hr.DecisionTreeClassifier(max_depth=3), algorithm="m1", n_estimators=10),
    hr.AdaBoostClassifier(FOREIGN_STUMP, algorithm="samme", n_estimators=5),
    hr.AdaBoostRegressor(ForeignRegressionTree(max_depth=3), loss="exponential", n_estimators=5),
    hr.AnyBoostClassifier(FOREIGN_STUMP, cost="sigmoid", n_estimators=5),
    hr.SchapireBoostClassifier(FOREIGN_STUMP, depth=2, first_share=0.4, random_state=0),
]
OTHERS = [
    *(few(kind) for kind in ESTIMATORS if "Boost" not in kind.__name__),
    *(LogisticBaseline(), RidgeBaseline()),  # which `hedgerow.selection` compares with
    hr.BaggingClassifier(n_estimators=3, bootstrap=False, max_features=0.7, voting="hard"),
    hr.BaggingClassifier(ExtraTreeClassifier(), n_estimators=5, max_samples=0.9, bootstrap_features=True),
    hr.BaggingClassifier(LinearSVC(), n_estimators=2),
    hr.BaggingRegressor(KNeighborsRegressor(), n_estimators=2),
    hr.RandomForestClassifier(
        n_estimators=3, criterion="entropy", max_features=None, class_weight="balanced", n_jobs=1
    ),
    hr.RandomForestClassifier(n_estimators=3, criterion="log_loss", bootstrap=False, max_leaf_nodes=6),
    hr.RandomForestClassifier(
        n_estimators=5,
        max_features=0.6,
        max_depth=4,
        max_samples=0.9,
        class_weight="balanced_subsample",
        min_samples_leaf=2,
    ),
    hr.RandomForestRegressor(n_estimators=3, max_features="sqrt", max_leaf_nodes=12, bootstrap=False),
    hr.ExtraTreesRegressor(n_estimators=5, bootstrap=True, min_samples_split=4, keep_targets=False),
    hr.DecisionTreeClassifier("error", max_depth=None, max_leaf_nodes=9, max_bins=65_535),
    hr.DecisionTreeRegressor(max_depth=None, min_weight_fraction_leaf=0.02),
]

COPIES = "rows of weight zero or two are drawn, or held out, one by one: they cannot equal none or two copies"
TIES = "splits of equal gain are chosen by rounding, in scikit-learn's trees"
NEGATIVE = "its targets are negative whatever the tag positive_only says"
WEIGHT_CHECKS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
SPECIAL = [
    (hr.GradientBoostingClassifier(subsample=0.7, early_stopping=True, **FAST), COPIES, WEIGHT_CHECKS),
    (hr.GradientBoostingRegressor(estimator=ForeignRegressionTree(max_depth=2), **FAST), TIES, WEIGHT_CHECKS),
    (
        hr.AdaBoostClassifier(on_chance="restart", learning_rate=0.5, early_stopping=True, n_estimators=10),
        COPIES, WEIGHT_CHECKS,
    ),
    (hr.AdaBoostClassifier(FOREIGN_STUMP, algorithm="real", n_estimators=5), TIES, WEIGHT_CHECKS),
    (hr.LogitBoostClassifier(ForeignRegressionTree(max_depth=1), n_estimators=5), TIES, WEIGHT_CHECKS),
    (
        hr.RandomForestRegressor(n_estimators=3, criterion="poisson", max_features=1),
        NEGATIVE, ["check_regressor_multioutput"],
    ),
]  # fmt: skip
