"""Prediction: every way down the trees comes to the leaf that walking by hand comes to."""

import numpy as np
import pytest

import oracle
from hedgerow import forest as forest_module
from hedgerow.binning import find_bins
from hedgerow.forest import Forest, Predictor
from hedgerow.growing.grower import GrowthOptions
from hedgerow.kernels.cpu.forest import add_tree
from hedgerow.kernels.cpu.records import NODE
from hedgerow.table import read_table
from hedgerow.threads import Team
from tree_cases import as_oracle, grow_compiled, measure

N = 600
N_CATEGORIES = 100
CATEGORICAL = [2, 4]  # few and many categories
LEAVES = [1, 2, 31, 32, 33, 64, 65, 200]


def raw_rows(seed, n=N):
    """Numbers, a few categories, many categories; some of each missing, and some of them unseen elsewhere."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 12, n),
            rng.integers(0, 4, n),
            rng.exponential(size=n),
            rng.integers(0, N_CATEGORIES, n),
        ]
    ).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:2, 0] = [np.inf, -np.inf]
    return X


class Model:
    """Trees grown on random targets, one for each number of leaves, and the same trees for the oracle."""

    def __init__(self, columns, leaves=LEAVES, dtype=np.float64):
        self.columns, self.dtype = columns, dtype
        self.categorical = [columns.index(c) for c in CATEGORICAL if c in columns]
        X = self.select(raw_rows(0))
        table = read_table(X, categorical_features=self.categorical or None)
        self.schema, self.bins = table.schema, find_bins(table, 40)
        self.binned = self.bins.encode(table, Team(1))
        rng, self.grown = np.random.default_rng(1), []
        for n_leaves in leaves:
            rules = GrowthOptions(max_leaf_nodes=n_leaves, min_samples_leaf=1, categorical_smoothing=0.1)
            measured, rows = measure(rng.normal(size=N), np.ones(N))
            self.grown.append(grow_compiled(self.binned, rules, measured, rows).nodes)
            assert (self.grown[-1]["left"] == 0).sum() == n_leaves
        self.forest = Forest.of(self.grown, [0] * len(leaves))
        self.truth = [as_oracle(nodes) for nodes in self.grown]

    def select(self, X):
        return np.ascontiguousarray(X[:, self.columns].astype(self.dtype))

    def table(self, X):
        return read_table(self.select(X), schema=self.schema)

    def scores(self, X, n_threads=1, trees=None):
        out = np.zeros((1, len(X)))
        Predictor(self.forest, self.bins).add_scores(self.table(X), out, n_threads, trees)
        return out[0]

    def leaves(self, X, n_threads=1):
        return Predictor(self.forest, self.bins).leaves(self.table(X), n_threads)

    def true_leaves(self, X):
        """(rows, trees) by walking with codes that the oracle makes."""
        values, bins = self.select(X).astype(float), self.bins
        codes = np.empty(values.shape, int)
        for f in range(values.shape[1]):
            edges = bins.edges[bins.edge_starts[f] : bins.edge_starts[f + 1]].tolist()
            table = bins.tables[bins.table_starts[f] : bins.table_starts[f + 1]].tolist()
            code_of = dict(zip(self.schema.categories[f] if table else [], table, strict=True))
            for i, value in enumerate(values[:, f].tolist()):
                codes[i, f] = code_of.get(value, 0) if table else oracle.code_of(value, edges)
        return np.array([[oracle.leaf_of(tree, row) for tree in self.truth] for row in codes.tolist()])

    def true_scores(self, X, trees=None):
        leaves, scores = self.true_leaves(X), np.zeros(len(X))
        for t in range(len(self.truth)) if trees is None else trees:  # in the order of the trees
            scores += [self.truth[t][leaf].value for leaf in leaves[:, t]]
        return scores


@pytest.fixture(scope="module")
def mixed():
    return Model([0, 1, 2, 3, 4])


@pytest.fixture(scope="module")
def numeric():
    return Model([0, 1, 3])


@pytest.fixture(scope="module", params=["mixed", "numeric"])
def model(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("n", [1, 2, 8, 9, 255, 256, 257, 600])
def test_scores_are_those_of_walking_by_hand(model, n):
    X = raw_rows(2, 600)[:n]
    assert model.scores(X).tobytes() == model.true_scores(X).tobytes()


def test_leaves_are_those_of_walking_by_hand(model):
    X = raw_rows(3, 300)
    assert (model.leaves(X) == model.true_leaves(X)).all()
    assert (model.leaves(X[:1]) == model.true_leaves(X[:1])).all()


@pytest.mark.parametrize("number", range(len(LEAVES)), ids=map(str, LEAVES))
def test_every_size_of_tree_alone(model, number):
    X, only = raw_rows(4, 40), range(number, number + 1)
    expected = model.true_scores(X, only)
    assert model.scores(X, trees=only).tobytes() == expected.tobytes()
    by_one = [model.scores(X[i : i + 1], trees=only)[0] for i in range(len(X))]  # a few rows go another way
    assert by_one == expected.tolist()


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("chunk", [1, 7, 100, 8192])
def test_threads_and_chunks_change_nothing(mixed, monkeypatch, n_threads, chunk):
    X = raw_rows(5, 300)
    expected, leaves = mixed.scores(X), mixed.leaves(X)
    monkeypatch.setattr(forest_module, "_CHUNK_ROWS", chunk)
    assert mixed.scores(X, n_threads).tobytes() == expected.tobytes()
    assert (mixed.leaves(X, n_threads) == leaves).all()


def test_training_rows_reach_their_leaves(model):
    X = raw_rows(0)
    leaves = model.leaves(X)
    for number, nodes in enumerate(model.grown):
        counts = np.bincount(leaves[:, number], minlength=len(nodes))
        is_leaf = nodes["left"] == 0
        assert (counts[is_leaf] == nodes["count"][is_leaf]).all()
        assert not counts[~is_leaf].any()


def test_codes_and_raw_values_give_the_same_scores(model):
    X = raw_rows(6, 500)
    coded = model.bins.encode(model.table(X), Team(1))
    for n_threads in (1, 3):
        scores = np.zeros(len(X))
        with Team(n_threads, chunk_rows=90) as team:
            for tree in range(model.forest.n_trees):
                model.forest.add_coded_scores(coded, tree, scores, team)
        assert scores.tobytes() == model.scores(X).tobytes()


def test_grown_trees_and_their_forest_give_the_same_scores(model):
    X = raw_rows(6, 500)
    codes = model.bins.encode(model.table(X), Team(1)).codes.by_column
    scores = np.zeros(len(X))
    for nodes in model.grown:
        for start, stop in ((0, 90), (90, 500)):
            add_tree(codes, nodes, scores, start, stop)
    assert scores.tobytes() == model.scores(X).tobytes()


@pytest.mark.parametrize("trained_on", [np.float32, np.float64])
def test_float32_values_on_both_sides_of_an_edge(trained_on):
    model = Model([0, 1, 3], [64, 33], trained_on)
    model.dtype = np.float32
    edges = model.bins.edges.astype(np.float32)
    near = np.concatenate(
        [np.nextafter(edges, np.float32(-np.inf)), edges, np.nextafter(edges, np.float32(np.inf))]
    )
    X = raw_rows(7, len(near))
    for column in (0, 1, 3):
        X[:, column] = np.random.default_rng(column).permutation(near)
    assert model.scores(X).tobytes() == model.true_scores(X).tobytes()


def test_values_too_large_for_float32_do_not_warn():
    X = np.array([[1e300], [-1e300], [2e300], [1.0]] * 5)
    table = read_table(X)
    bins = find_bins(table)
    measured, rows = measure(np.arange(20) % 4, np.ones(20))
    grown = grow_compiled(bins.encode(table, Team(1)), GrowthOptions(min_samples_leaf=1), measured, rows)
    scores = np.zeros((1, 20))
    Predictor(Forest.of([grown.nodes], [0]), bins).add_scores(table, scores, 1)
    assert scores[0, :4].tolist() == [0.0, -1.0, -2.0, -3.0]


def chain(n_leaves, side):
    """A tree with one split a level: leaves at codes 1, 2, 3... of one column, grown to one side."""
    nodes = np.zeros(2 * n_leaves - 1, NODE)
    nodes["value"] = np.arange(len(nodes))
    number = 0
    for level in range(1, n_leaves):
        split = nodes[number]["split"]
        nodes[number]["left"] = 2 * level - 1
        split["threshold"] = level if side == "right" else n_leaves - level
        split["missing_left"] = level % 2
        number = 2 * level - (side == "left")
    return nodes


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n_leaves", [2, 31, 32, 33, 63, 64, 65, 100])
def test_trees_as_deep_as_they_can_be(side, n_leaves):
    nodes = chain(n_leaves, side)
    X = np.append(np.arange(1.0, 101), np.nan).reshape(-1, 1)
    table = read_table(X)
    bins = find_bins(table)
    scores = np.zeros((1, len(X)))
    predictor = Predictor(Forest.of([nodes], [0]), bins)
    predictor.add_scores(table, scores, 1)
    truth = as_oracle(nodes)
    codes = [*range(1, 101), 0]
    expected = [oracle.leaf_of(truth, [code]) for code in codes]
    assert len(set(expected)) == n_leaves
    assert scores[0].tolist() == [float(leaf) for leaf in expected]
    assert predictor.leaves(table, 1)[:, 0].tolist() == expected


def test_joined_forests_predict_one_after_the_other(mixed):
    X, outputs = raw_rows(8, 50), [0, 1, 0, 1, 0, 1, 0, 1]
    whole = Forest.of(mixed.grown, outputs)
    for cut in (0, 3, 8):
        joined = Forest.join(
            Forest.of(mixed.grown[:cut], outputs[:cut]), Forest.of(mixed.grown[cut:], outputs[cut:])
        )
        for name, array in whole.arrays().items():
            assert array.tobytes() == joined.arrays()[name].tobytes(), name
            assert array.dtype == joined.arrays()[name].dtype, name
    scores = np.zeros((2, 50))
    Predictor(whole, mixed.bins).add_scores(mixed.table(X), scores, 1)
    assert scores[0].tobytes() == mixed.true_scores(X, range(0, 8, 2)).tobytes()
    assert scores[1].tobytes() == mixed.true_scores(X, range(1, 8, 2)).tobytes()


def test_a_range_of_trees_and_no_trees_at_all(mixed):
    X = raw_rows(9, 30)
    assert mixed.scores(X, trees=range(2, 5)).tobytes() == mixed.true_scores(X, range(2, 5)).tobytes()
    assert not mixed.scores(X, trees=range(0)).any()
    empty, scores = Forest.of([], []), np.ones((1, 30))
    Predictor(empty, mixed.bins).add_scores(mixed.table(X), scores, 1)
    assert (scores == 1.0).all()
    assert Predictor(empty, mixed.bins).leaves(mixed.table(X), 1).shape == (30, 0)


def test_scores_are_added_to_the_output(numeric):
    X = raw_rows(10, 20)
    out = np.full((1, 20), 5.0)
    Predictor(numeric.forest, numeric.bins).add_scores(numeric.table(X), out, 1, range(1, 2))
    assert out[0].tolist() == (5.0 + numeric.true_scores(X, range(1, 2))).tolist()


def test_a_forest_has_the_nodes_of_its_trees(mixed):
    forest, nodes = mixed.forest, np.concatenate(mixed.grown)
    inner = nodes["left"] > 0
    assert np.diff(forest.starts).tolist() == [2 * n - 1 for n in LEAVES]
    assert (forest.value == nodes["value"]).all()
    assert (forest.count == nodes["count"]).all()
    assert (forest.gain[inner] > 0).all()
    assert not forest.gain[~inner].any()
    by_set = nodes["split"]["categorical"] == 1
    assert ((forest.set_number >= 0) == (inner & by_set)).all()
    assert len(forest.sets) == (inner & by_set).sum() > 0
