"""AdaBoost, LogitBoost, forests and bags on a cluster: the model has the bytes of a fit in memory."""

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier as TheirTree

from dask_cases import array_in_parts, cluster_of, frame_in_parts, tasks_left, uneven
from hedgerow import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
)
from hedgerow.files.models import to_bytes

N_ROWS = 900


@pytest.fixture(scope="module", autouse=True)
def client():
    with cluster_of(2) as found:
        yield found


def rows(seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 4)), columns=list("abcd"))
    frame["e"] = pd.Categorical(rng.choice(["u", "v", "w"], N_ROWS))
    frame.loc[rng.random(N_ROWS) < 0.1, "b"] = np.nan
    frame["number"] = frame["a"] + np.where(frame["e"] == "u", 1.0, -0.5) + rng.normal(size=N_ROWS) * 0.3
    frame["label"] = np.digitize(frame["number"], [-0.5, 0.8])
    frame["weight"] = rng.integers(1, 3, N_ROWS)
    return frame


CASES = {
    "stumps": (AdaBoostClassifier(n_estimators=6, random_state=0), "label"),
    "trees": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=4, random_state=0), "label",
    ),
    "logit": (LogitBoostClassifier(n_estimators=4, random_state=0), "label"),
    "numbers": (AdaBoostRegressor(n_estimators=4, random_state=0), "number"),
    "forest": (RandomForestClassifier(n_estimators=80, oob_score=True, random_state=0), "label"),
    "extra": (ExtraTreesRegressor(n_estimators=4, random_state=0), "number"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_model_of_a_data_frame_in_partitions_is_that_of_one_in_memory(name, client):
    model, target = CASES[name]
    frame = rows()
    features = frame.drop(columns=["number", "label", "weight"])
    here = to_bytes(model.fit(features, frame[target], sample_weight=frame["weight"]))
    lazy = frame_in_parts(frame[[*features.columns, target, "weight"]], uneven(N_ROWS, 5))
    there = to_bytes(model.fit(lazy, target=target, sample_weight="weight"))
    assert there == here
    assert not tasks_left(client)


def test_members_of_other_libraries_are_fitted_on_the_workers(client):
    frame = rows()
    X, y = frame[["a", "c", "d"]].to_numpy(), frame["label"].to_numpy()
    model = BaggingClassifier(TheirTree(max_depth=3, random_state=0), n_estimators=4, random_state=0)
    here = [tree.tree_.threshold.tolist() for tree in model.fit(X, y).estimators_]
    with joblib.parallel_config(backend="dask", wait_for_workers_timeout=30):
        there = [tree.tree_.threshold.tolist() for tree in model.fit(X, y).estimators_]
    assert there == here
    assert client.scheduler_info()["workers"]


def test_members_of_other_libraries_need_rows_in_memory():
    X = array_in_parts(rows()[["a", "c"]].to_numpy(), [500, 400])
    with pytest.raises((TypeError, ValueError), match="memory"):
        AdaBoostClassifier(TheirTree(max_depth=1)).fit(X, rows()["label"].to_numpy())
