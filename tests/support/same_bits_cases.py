"""Models that must have the same bits for any threads, chunks, tables and processors: one table for all.

A case is a function that returns a model and its `(X, y, sample_weight)`.
"""

from functools import cache, partial

import numpy as np

from forest_cases import classes, counts, frame, numbers
from hedgerow import (
    AdaBoostClassifier,
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
)
from hedgerow.boosting.adaboost import RULES

N_ROWS, N_COLUMNS = 70_000, 6  # enough for four threads, and more rows than the largest chunk
FOREST_ROWS = 6000  # more than are copied together for small nodes, and than a thread predicts at a time
ROUNDS = 3  # of AdaBoost


@cache
def _table(n_rows, with_zeros):
    """The values, the scores, and which values are missing where some are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_COLUMNS)).astype(np.float32).astype(np.float64)
    X[:, 3] = np.round(8 * X[:, 3]) / 8
    if with_zeros:
        X[X < -2] = 0.0
    a, b, c, d, e, f = X.T
    score = np.sin(2 * a) + b * c + np.abs(d) - 0.5 * e + (f > 0) + rng.logistic(size=n_rows)
    return X, score, rng.random(X.shape) < 0.1


def table(n_rows=N_ROWS):
    """Float64 values that float32 represents, too; the score depends on every column."""
    X, score, _ = _table(n_rows, with_zeros=True)
    return X.copy(), score


def holed(n_rows=N_ROWS, *, with_zeros=True):
    X, score, is_missing = _table(n_rows, with_zeros)
    return np.where(is_missing, np.nan, X), score


def weights(kind, n_rows=N_ROWS):
    rng = np.random.default_rng(2)
    return {"whole": rng.integers(0, 4, n_rows), "real": rng.exponential(size=n_rows)}.get(kind)


# --- gradient boosting


def classifier(X, y, sample_weight=None, **parameters):
    model = GradientBoostingClassifier(**{"n_estimators": 4, "max_leaf_nodes": 15} | parameters)
    return model, (X, y.astype(np.int64), sample_weight)


def regressor(X, y, sample_weight=None, **parameters):
    model = GradientBoostingRegressor(n_estimators=4, max_leaf_nodes=15, **parameters)
    return model, (X, y, sample_weight)


def binary(**parameters):
    X, score = table()
    return classifier(X, score > 0.5, **parameters)


def three_classes():
    X, score = table()
    return classifier(X, np.digitize(score, [0.0, 1.0]))


def numeric(change=lambda score: score, **parameters):
    X, score = table()
    return regressor(X, change(score), **parameters)


def heavy_tailed():
    X, score = table()
    return regressor(X, score + np.random.default_rng(3).standard_cauchy(N_ROWS))


def missing_and_categories(**parameters):
    X, score = holed()
    X[:, 5] = np.round(2 * X[:, 5])
    return regressor(X, score + np.isnan(X[:, 0]), categorical_features=[3, 5], **parameters)


def stopping(**parameters):
    return binary(early_stopping=True, n_iter_no_change=2, random_state=5, **parameters)


GRADIENT_BOOSTING = {
    "log_loss": binary,
    "multinomial": three_classes,
    "exponential, first order": lambda: binary(loss="exponential", newton=False),
    "squared_error": numeric,
    "absolute_error": lambda: numeric(loss="absolute_error"),
    "huber": lambda: numeric(loss="huber"),
    "poisson": lambda: numeric(lambda score: np.floor(np.abs(score)), loss="poisson"),
    "sampling": lambda: binary(subsample=0.6, colsample_bytree=0.7, max_features=0.5, random_state=1),
    "noise": lambda: binary(random_strength=1.0),
    "smoothed": lambda: binary(path_smooth=50.0),
    "leaf values by fold": lambda: numeric(leaf_value_folds=3, path_smooth=5.0, random_state=4),
    "symmetric": lambda: binary(
        growth_policy="symmetric", max_leaf_nodes=None, random_strength=0.5, l1_regularization=0.1
    ),
    "early stopping": stopping,
    "early stopping, weights": lambda: stopping(sample_weight=weights("real")),
    "missing and categories": missing_and_categories,
    "linear leaves": lambda: missing_and_categories(linear_leaves=True),
    "whole weights": lambda: numeric(sample_weight=weights("whole")),
    "real weights": lambda: numeric(sample_weight=weights("real")),
    "heavy tails": heavy_tailed,
    "monotonic": lambda: numeric(monotonic_cst=[1, -1, 0, 0, -1, 1], l1_regularization=2.0),
    "large leaves": lambda: numeric(min_samples_leaf=3_000, interaction_cst=[{0, 1}, {2, 3, 4}]),
}


# --- the AdaBoost family


def boosted(make, n_classes=2, weight=None, n_rows=N_ROWS, **parameters):
    X, score = holed(n_rows, with_zeros=False)
    score = score + np.isnan(X[:, 0])
    y = (score > 0.7) if n_classes == 2 else np.digitize(score, [0.0, 1.0])
    model = make(**{"n_estimators": ROUNDS, "random_state": 5, **parameters})
    return model, (X, y.astype(np.int64), weights(weight, n_rows))


def ada(algorithm="discrete", **options):
    return boosted(AdaBoostClassifier, algorithm=algorithm, **options)


def deep(max_depth=3, **options):
    return DecisionTreeClassifier(max_depth=max_depth, **options)


STOPPING = {"early_stopping": True, "n_iter_no_change": 2}
EXACT = DecisionStump(max_bins=65_535)

ADABOOST = {
    **{name: partial(ada, name) for name in RULES},
    "discrete, three classes": lambda **o: ada(n_classes=3, **o),
    "m1, three classes, trees": lambda **o: ada("m1", n_classes=3, estimator=deep(8), **o),
    "samme, three classes, trees by errors": lambda **o: ada(
        "samme", n_classes=3, estimator=deep(criterion="error"), **o
    ),
    "samme.r, three classes": lambda **o: ada("samme.r", n_classes=3, **o),
    "gentle, three classes": lambda **o: ada("gentle", n_classes=3, **o),
    "discrete, whole weights": lambda **o: ada(weight="whole", **o),
    "discrete, real weights, exact": lambda **o: ada(weight="real", estimator=EXACT, **o),
    "real, real weights, trees, exact": lambda **o: ada(
        "real", weight="real", estimator=deep(max_bins=65_535, max_leaf_nodes=6), **o
    ),
    "gentle, whole weights, categories": lambda **o: ada(
        "gentle", weight="whole", estimator=DecisionStump(categorical_features=[3]), **o
    ),
    "discrete, drawn rows": lambda **o: ada(resample=True, **o),
    "samme, drawn rows, real weights": lambda **o: ada(
        "samme", n_classes=3, resample=True, weight="real", **o
    ),
    "discrete, stopping": lambda **o: ada(weight="real", **STOPPING, **o),
    "gentle, stopping": lambda **o: ada("gentle", n_classes=3, weight="whole", **STOPPING, **o),
    "restarts": lambda **o: ada("m1", n_classes=3, on_chance="restart", estimator=deep(), **o),
    "logit": lambda **o: boosted(LogitBoostClassifier, **o),
    "logit, three classes": lambda **o: boosted(LogitBoostClassifier, n_classes=3, weight="real", **o),
    "logit, trees, drawn rows": lambda **o: boosted(
        LogitBoostClassifier, estimator=DecisionTreeRegressor(max_depth=3), resample=True, **o
    ),
    "logit, stopping": lambda **o: boosted(LogitBoostClassifier, weight="whole", **STOPPING, **o),
    "anyboost, exponential": lambda **o: boosted(AnyBoostClassifier, weight="real", **o),
    "anyboost, logistic": lambda **o: boosted(AnyBoostClassifier, cost="logistic", **o),
    "anyboost, sigmoid": lambda **o: boosted(AnyBoostClassifier, cost="sigmoid", weight="whole", **o),
    "anyboost, stopping": lambda **o: boosted(AnyBoostClassifier, cost="logistic", **STOPPING, **o),
}


# --- forests


def forest(kind, make, *options, weight=None, **parameters):
    X, y = make(FOREST_ROWS, *options)
    model = kind(**{"n_estimators": 5, "random_state": 3} | parameters)
    return model, (X, y, weights(weight, len(y)))


FORESTS = {
    "gini": lambda: forest(RandomForestClassifier, classes),
    "entropy, balanced": lambda: forest(
        RandomForestClassifier, classes, 5, criterion="entropy", class_weight="balanced"
    ),
    "balanced trees": lambda: forest(
        RandomForestClassifier, classes, 2, class_weight="balanced_subsample", max_samples=0.5
    ),
    "best first": lambda: forest(RandomForestClassifier, classes, max_leaf_nodes=40),
    "extra classes": lambda: forest(ExtraTreesClassifier, classes),
    "squared error": lambda: forest(RandomForestRegressor, numbers),
    "real weights": lambda: forest(
        RandomForestRegressor, numbers, weight="real", bootstrap=False, max_features=0.5
    ),
    "weighted draws": lambda: forest(RandomForestClassifier, classes, weight="real"),
    "whole weights": lambda: forest(RandomForestRegressor, numbers, weight="whole", max_features=2),
    "poisson": lambda: forest(RandomForestRegressor, counts, criterion="poisson", min_samples_leaf=5),
    "three outputs": lambda: forest(RandomForestRegressor, numbers, 3, max_features="sqrt"),
    "extra numbers": lambda: forest(ExtraTreesRegressor, numbers, bootstrap=True),
    "categories": lambda: forest(RandomForestRegressor, frame, max_features=2),
    "extra categories": lambda: forest(ExtraTreesRegressor, frame, max_features=2),
    "monotonic": lambda: forest(RandomForestRegressor, numbers, monotonic_cst=[1, 0, 0, -1, 0]),
}
