"""Dropped rounds: values of the trees compared with plain Python, losses, and what is refused."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import hedgerow
from boosting_cases import classes, numbers, same_forests
from hedgerow.boosting.dart import draw_dropped, rounds_of
from hedgerow.forest import Forest
from hedgerow.kernels.cpu.forest import add_tree
from hedgerow.table import read_table
from hedgerow.threads import Team

REGRESSOR, CLASSIFIER = hedgerow.GradientBoostingRegressor, hedgerow.GradientBoostingClassifier
DROPPED = {"drop_rate": 0.4, "random_state": 5, "min_samples_leaf": 5}


@pytest.mark.parametrize("max_drop", [None, 1])
def test_values_of_trees_are_those_of_the_formula(max_drop):
    X, y = numbers(300)
    n, decay = 8, 0.9
    model = REGRESSOR(
        n_estimators=n, max_leaf_nodes=3, l2_regularization=0.0, learning_rate=0.5, max_drop=max_drop,
        learning_rate_decay=decay, **DROPPED,
    ).fit(X, y)  # fmt: skip
    leaves, forest = model.apply(X), model.model_.forest
    start, values, n_dropped = model.model_.start[0], [], []
    for number in range(n):
        dropped = draw_dropped(number, 0.4, max_drop, 5).tolist()
        scores = np.full(len(y), start)
        for other in range(number):
            if other not in dropped:
                scores += values[other][leaves[:, other]]
        rate, k = 0.5 * decay**number, len(dropped)
        own = np.zeros(3 * 2)
        for leaf in np.unique(leaves[:, number]):
            own[leaf] = rate * (y - scores)[leaves[:, number] == leaf].mean()
        for other in dropped:
            values[other] *= k / (k + rate)
        values.append(own / (k + rate) if k else own)
        n_dropped.append(k)
    assert max(n_dropped) == (max_drop or max(n_dropped)) >= 1
    assert min(n_dropped) == 0
    for number in range(n):
        found = forest.value[forest.starts[number] + leaves[:, number]]
        assert np.allclose(found, values[number][leaves[:, number]], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "n_classes", "options"),
    [
        (REGRESSOR, None, {"loss": "absolute_error"}),
        (CLASSIFIER, 3, {"subsample": 0.7}),
        (CLASSIFIER, 2, {"newton": False}),
    ],
)
def test_losses_are_those_of_the_model_and_bits_are_the_same(kind, n_classes, options, tmp_path):
    X, y = numbers(300) if n_classes is None else classes(300, n_classes)
    new, target = numbers(200, seed=1) if n_classes is None else classes(200, n_classes, seed=1)
    one = kind(n_estimators=8, n_jobs=1, **DROPPED, **options).fit(X, y, eval_set=[(new, target)])
    two = kind(n_estimators=8, n_jobs=2, **DROPPED, **options)
    two._chunk_rows = 37
    two.fit(X, y)
    assert same_forests(one, two)
    for name, (rows, labels) in {"train": (X, y), "validation": (new, target)}.items():
        raw = one._raw(rows)
        loss = one.loss_.mean_loss(labels.astype(float), np.ascontiguousarray(raw), None)
        assert one.history_[f"{name}_loss"][-1] == pytest.approx(loss, rel=1e-9)
    stages = list(one.staged_predict(new))
    assert np.array_equal(stages[-1], one.predict(new))
    hedgerow.save(one, tmp_path / "model")
    assert np.array_equal(hedgerow.load(tmp_path / "model").predict(new), one.predict(new))


def test_no_drop_is_ordinary_boosting():
    X, y = numbers(300)
    plain = REGRESSOR(n_estimators=4, random_state=5, min_samples_leaf=5).fit(X, y)
    tiny = REGRESSOR(n_estimators=4, **DROPPED | {"drop_rate": 1e-9}).fit(X, y)
    assert same_forests(plain, tiny)
    assert not same_forests(plain, REGRESSOR(n_estimators=4, **DROPPED | {"drop_rate": 0.9}).fit(X, y))


def test_the_chance_of_a_round():
    drops = [draw_dropped(n, 0.2, None, 0).tolist() for n in range(1, 200)]
    assert sum(map(len, drops)) == pytest.approx(0.2 * sum(range(1, 200)), rel=0.05)
    few = [draw_dropped(n, 0.2, 5, 0).tolist() for n in range(1, 200)]
    assert all(set(a) <= set(b) and len(a) == min(5, len(b)) for a, b in zip(few, drops, strict=True))
    assert len({number for drop in few for number in drop}) > 150  # not the first ones


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_estimators": "auto"},
        {"early_stopping": True},
        {"early_stopping": "auto"},
        {"n_folds": 4},
        {"warm_start": True},
        {"estimator": LinearRegression()},
    ],
    ids=str,
)
def test_what_needs_earlier_trees_is_refused(parameters):
    X, y = numbers(100)
    ((name, value),) = parameters.items()
    with pytest.raises(ValueError) as caught:
        REGRESSOR(**{"n_estimators": 3, "drop_rate": 0.1} | parameters).fit(X, y)
    assert str(caught.value).startswith(f"{name}={value!r} is not allowed with drop_rate=0.1")


def test_rounds_of_a_model_are_those_that_made_it():
    X, y = classes(300, 3)
    X[:, 3] = np.round(np.abs(X[:, 3]) * 4)
    X[::9, 0] = np.nan
    model = CLASSIFIER(n_estimators=3, categorical_features=[3], **DROPPED).fit(X, y).model_
    rounds = rounds_of(model)
    assert len(rounds) == 3
    trees = [tree for one in rounds for tree in one.trees]
    same = Forest.of(trees, model.forest.output)
    assert len(model.forest.sets) > 0
    for name, array in model.forest.arrays().items():
        assert np.array_equal(same.arrays()[name], array), name
        assert same.arrays()[name].dtype == array.dtype
    assert [one.n_leaves for one in rounds] == [
        sum(int((tree["left"] == 0).sum()) for tree in one.trees) for one in rounds
    ]
    table, raw = read_table(X, categorical_features=[3]), np.repeat(model.start[:, None], len(y), axis=1)
    with Team(1) as team:
        codes = model.bins.encode(table, team, for_growing=False).codes.by_column
    for number, tree in enumerate(trees):
        add_tree(codes, tree, raw[number % 3], 0, len(y))
    assert np.array_equal(raw, model.scores(table, 1))
