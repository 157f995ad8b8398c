"""The AdaBoost family on sharded rows gives the model files of rows in memory."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

import hedgerow
from hedgerow import AdaBoostClassifier, AdaBoostRegressor, AnyBoostClassifier, LogitBoostClassifier
from hedgerow.growing import weak_shards
from hedgerow.growing.weak_shards import WeakShard
from remote_tables import ShardedInput

TREE = hedgerow.DecisionTreeClassifier


def rows(n_rows=260, n_classes=2, seed=0):
    """Numbers with missing values, a column of few values, and a categorical one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 3] = rng.integers(0, 3, n_rows)
    X[:, 4] = rng.integers(0, 9, n_rows)
    score = X[:, 0] + np.abs(X[:, 1]) + 0.7 * (X[:, 4] % 3) + 0.5 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    edges = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.digitize(score, edges), score


def bytes_of(model, tmp_path):
    hedgerow.save(model, tmp_path / "model")
    return (tmp_path / "model").read_bytes()


def fitted(make, X, y, weight=None, n_shards=None, losses=(), **options):
    """A fitted model; on sharded rows if `n_shards` is not None."""
    is_sharded = n_shards is not None
    rows = (ShardedInput(X, y, weight, n_shards, losses), None, None) if is_sharded else (X, y, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(*rows, **options)
    assert not is_sharded or [shards.is_closed for shards in rows[0].table.opened] == [True]
    return model


def assert_same(make, *rows, tmp_path, n_shards=3, **options):
    in_memory = bytes_of(fitted(make, *rows, **options), tmp_path)
    assert bytes_of(fitted(make, *rows, n_shards=n_shards, **options), tmp_path) == in_memory


def settings(kind=AdaBoostClassifier, **more):
    return lambda: kind(**{"n_estimators": 6, "random_state": 0, **more})


SETS = {"categorical_features": [4]}
LEARNERS = {
    "stump": None,
    "gini stump": hedgerow.DecisionStump(criterion="gini", **SETS),
    "depth 3": TREE(max_depth=3, **SETS),
    "leaves": TREE("error", max_depth=None, max_leaf_nodes=7, **SETS),
    "heavy leaves": TREE(max_depth=4, min_weight_fraction_leaf=0.05),
}


@pytest.mark.parametrize(
    ("algorithm", "n_classes"),
    [("discrete", 2), ("real", 2), ("m1", 4), ("samme", 4), ("samme.r", 4), ("gentle", 4)],
)
def test_every_algorithm(algorithm, n_classes, tmp_path):
    X, y, _ = rows(n_classes=n_classes)
    learner = None if n_classes == 2 else TREE(max_depth=4, **SETS)
    assert_same(settings(algorithm=algorithm, estimator=learner), X, y, tmp_path=tmp_path)


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_every_learner(learner, tmp_path):
    X, y, _ = rows()
    weight = np.random.default_rng(1).random(len(y))
    weight[:40] = 0.0
    assert_same(settings(estimator=learner), X, y, weight, tmp_path=tmp_path, n_shards=7)
    assert_same(settings(estimator=learner, resample=True), X, y, tmp_path=tmp_path)


@pytest.mark.parametrize("n_shards", [1, 7])
def test_any_number_of_shards(n_shards, tmp_path):
    X, y, _ = rows()
    assert_same(settings(), X, y, tmp_path=tmp_path, n_shards=n_shards)


@pytest.mark.parametrize(("n_classes", "max_depth"), [(2, 1), (3, 3)])
def test_logitboost(n_classes, max_depth, tmp_path):
    X, y, _ = rows(n_classes=n_classes)
    learner = hedgerow.DecisionTreeRegressor(max_depth=max_depth, **SETS)
    assert_same(settings(LogitBoostClassifier, estimator=learner), X, y, tmp_path=tmp_path)


def test_anyboost(tmp_path):
    X, y, _ = rows()
    assert_same(settings(AnyBoostClassifier), X, y, tmp_path=tmp_path)


@pytest.mark.parametrize("resample", [False, True])
def test_adaboost_regressor(resample, tmp_path):
    X, _, y = rows()
    learner = hedgerow.DecisionTreeRegressor(max_depth=3, **SETS)
    make = settings(AdaBoostRegressor, estimator=learner, resample=resample)
    assert_same(make, X, y, tmp_path=tmp_path)


FAMILY = [
    (AdaBoostClassifier, {"learning_rate": 0.3}),
    (AdaBoostClassifier, {"algorithm": "gentle", "estimator": TREE(max_depth=2)}),
    (LogitBoostClassifier, {}),
    (AdaBoostRegressor, {}),
]


def rows_for(kind, **options):
    X, y, score = rows(**options)
    return X, score if kind is AdaBoostRegressor else y


@pytest.mark.parametrize(("kind", "more"), FAMILY)
def test_validation_rows_in_shards_stop_the_fit(kind, more, tmp_path):
    X, y = rows_for(kind, n_rows=400)
    make = settings(kind, **more, n_estimators=40, early_stopping=True, n_iter_no_change=3)
    assert fitted(make, X, y).n_estimators_ < 40
    assert_same(make, X, y, tmp_path=tmp_path)


@pytest.mark.parametrize(
    ("case", "sharded"),
    [(FAMILY[0], "train"), (FAMILY[0], "evaluation"), *((case, "both") for case in FAMILY)],
)
def test_evaluation_sets_are_evaluated_in_memory_and_in_shards(case, sharded, tmp_path):
    kind, more = case
    (X, y), (X2, y2) = rows_for(kind), rows_for(kind, seed=1)
    make = settings(kind, **more, n_estimators=20, early_stopping=True, n_iter_no_change=3)
    evaluated = X2 if sharded == "train" else ShardedInput(X2, y2, n_shards=4)
    expected = fitted(make, X, y, eval_set=(X2, y2))
    found = fitted(make, X, y, n_shards=None if sharded == "evaluation" else 3, eval_set=(evaluated, y2))
    for name in expected.history_.keys() - {"seconds"}:
        assert found.history_[name] == expected.history_[name]
    assert bytes_of(found, tmp_path) == bytes_of(expected, tmp_path)
    assert sharded == "train" or all(shards.is_closed for shards in evaluated.table.opened)


@pytest.mark.parametrize(("kind", "more"), [*FAMILY, (AdaBoostClassifier, {"on_chance": "restart"})])
def test_warm_start_continues_models_of_sharded_rows_and_of_rows_in_memory(kind, more, tmp_path):
    (X, y), (X2, y2) = rows_for(kind), rows_for(kind, seed=1)
    made = []
    for first, second in ((None, None), (None, 3), (3, None)):
        model = fitted(settings(kind, **more, warm_start=True), X, y, n_shards=first, eval_set=(X2, y2))
        model.set_params(n_estimators=11)
        made.append(fitted(lambda same=model: same, X, y, n_shards=second, eval_set=(X2, y2)))
    assert made[0].n_estimators_ > 6
    assert len({bytes_of(model, tmp_path) for model in made}) == 1


@pytest.mark.parametrize(("kind", "more"), FAMILY)
def test_lost_shards_receive_everything_again(kind, more, tmp_path):
    (X, y), (X2, y2) = rows_for(kind), rows_for(kind, seed=1)
    losses = {0, 3, 4, 9, 17, 30}
    make = settings(kind, **more, n_estimators=12)
    expected = fitted(make, X, y, eval_set=(X2, y2))
    evaluated = ShardedInput(X2, y2, losses=losses)
    found = fitted(make, X, y, n_shards=3, losses=losses, eval_set=(evaluated, y2))
    assert evaluated.table.opened[0].n_calls > 9
    assert bytes_of(found, tmp_path) == bytes_of(expected, tmp_path)


class Killed(Exception):  # noqa: N818 - not an error
    """Simulates a signal."""


@pytest.mark.parametrize(("kind", "more"), FAMILY)
def test_fit_on_shards_resumes_from_its_checkpoint(kind, more, tmp_path):
    X, y = rows_for(kind)
    make = settings(kind, **more, n_estimators=8)
    checkpoint = hedgerow.Checkpoint(tmp_path / "checkpoint", rounds=1)

    def kill(done):
        if done.number == 4:
            raise Killed

    with pytest.raises(Killed):
        make().fit(ShardedInput(X, y), callbacks=[kill], checkpoint=checkpoint)
    found = fitted(make, X, y, n_shards=7, checkpoint=checkpoint)
    assert bytes_of(found, tmp_path) == bytes_of(fitted(make, X, y), tmp_path)


def test_without_memory_for_histograms_those_of_both_children_are_requested(tmp_path, monkeypatch):
    X, y, _ = rows()
    monkeypatch.setattr(weak_shards, "_KEPT_BYTES", 0)
    assert_same(settings(estimator=TREE(max_depth=4)), X, y, tmp_path=tmp_path)


def test_several_threads_search_many_columns(tmp_path, monkeypatch):
    X, y, _ = rows()
    monkeypatch.setattr(weak_shards, "_ENTRIES_PER_THREAD", 100)
    assert_same(settings(n_jobs=3), X, y, tmp_path=tmp_path)


def test_round_of_stumps_is_two_calls_and_classes_are_sent_once():
    X, y, _ = rows()
    sharded, sent, start_tree = ShardedInput(X, y), [], WeakShard.start_tree
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WeakShard, "start_tree", lambda *args: sent.append(args[-1]) or start_tree(*args))
        settings()().fit(sharded)
    assert sharded.table.opened[0].n_calls == 2 * 6
    assert [classes is not None for classes in sent] == [True] * 3 + [False] * 15


def test_external_learners_need_rows_in_memory():
    X, y, score = rows()
    with pytest.raises(TypeError, match=r"^estimator=GaussianNB\(\) needs rows in memory"):
        fitted(settings(estimator=GaussianNB()), X, y, n_shards=3)
    with pytest.raises(TypeError, match=r"^estimator=Ridge\(\) needs rows in memory"):
        fitted(settings(AdaBoostRegressor, estimator=Ridge()), X, score, n_shards=3)


def test_fit_fails_if_shards_are_always_lost():
    X, y, _ = rows()
    with pytest.raises(ConnectionError, match="lost 20 times before one tree was grown: see their logs"):
        fitted(lambda: AdaBoostClassifier(n_estimators=3), X, y, n_shards=3, losses=range(3, 10_000))
