"""The page of the file format: its reader predicts the same bits, and it lists what files contain."""

import ast
import re
import tempfile
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

import hedgerow
from documents import DOCS, blocks, read
from hedgerow.container import DTYPES
from hedgerow.selection import (
    FixedThresholdClassifier,
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
)
from hedgerow.theory import certify
from hedgerow.vision import Cascade, load_cascade
from hedgerow.vision.model import CascadeModel
from model_cases import KINDS, MODELS, fitted, plain, reweighted
from model_cases import named as named_rows

PAGE = DOCS / "files.md"
_DEFINES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign)
_ANYTHING = {"parameters", "history", "card", "certificate", "info", "oob", "versions"}  # what is in them
_MEMBER = re.compile(r"^(?:members\.\d+\.(?:\d+\.)?|hypothesis\.(?:\d+\.)*weak\.)+")


# --- the reader


@cache
def reader():
    """The blocks of the page that only define, as one program."""
    code = "\n\n".join(block.text for block in blocks(PAGE) if block.language == "python" and defines(block))
    namespace = {}
    exec(compile(code, str(PAGE), "exec"), namespace)  # noqa: S102 - our own page
    return code, namespace


def defines(block):
    tree = ast.parse(block.text)
    return "import hedgerow" not in block.text and all(isinstance(node, _DEFINES) for node in tree.body)


def in_columns(X):
    """A table in the form of the reader: categories as objects, None for missing ones."""
    if not isinstance(X, pd.DataFrame):
        return list(np.asarray(X).T)
    whole = [X[name] for name in X]
    return [
        column.astype(object).where(column.notna(), None).tolist()
        if isinstance(column.dtype, pd.CategoricalDtype)
        else column.to_numpy()
        for column in whole
    ]


def unseen(X, seed=0):
    """Similar rows with new values, missing ones and infinities."""
    rng = np.random.default_rng(seed)
    X = X.copy()
    if not isinstance(X, pd.DataFrame):
        X = np.asarray(X) * rng.choice([0.5, 1.0, 3.0], np.shape(X))
        X[rng.random(X.shape) < 0.2] = np.nan
        X[::17] = np.inf
        X[5::23] = -np.inf
        return X
    for name in X:
        if isinstance(X[name].dtype, pd.CategoricalDtype):
            found = X[name].astype(object).to_numpy().copy()
            found[rng.random(len(X)) < 0.2] = "violet"
            found[rng.random(len(X)) < 0.2] = None
            X[name] = pd.Categorical(found)
        else:
            X[name] = unseen(X[[name]].to_numpy(), seed)[:, 0]
    return X


def assert_same_bits(model, path, X):
    entries, arrays = reader()[1]["read"](path)
    assert reader()[1]["is_intact"](path)
    found = reader()[1]["predict"](entries, arrays, in_columns(X))
    expected = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def cases():
    """Models and the rows they were fitted to."""
    made = {name: lambda name=name: fitted(name)[:2] for name in KINDS}
    made |= {f"gradient boosting, {name}": make for name, make in MODELS.items()}
    made["forest, reweighted"] = lambda: reweighted()[:2]
    made["weighted ensemble"] = lambda: weighted_ensemble(3)
    made["weighted ensemble of numbers"] = lambda: weighted_ensemble(None)
    return made


def weighted_ensemble(n_classes):
    """A model with members of three kinds, and the rows it was fitted to."""
    (X, y), of_classes = named_rows(n_classes), n_classes is not None
    kinds = ("GradientBoosting", "RandomForest", "Bagging")
    members = [
        getattr(hedgerow, f"{kind}{'Classifier' if of_classes else 'Regressor'}")(n_estimators=3)
        for kind in kinds
    ]
    ensemble = WeightedEnsembleClassifier if of_classes else WeightedEnsembleRegressor
    return ensemble(members, weights=[0.3, 0.1, 0.7]).fit(X, y), X


@pytest.mark.parametrize("name", cases())
def test_reader_of_the_page_predicts_the_same_bits(name, tmp_path):
    model, X = cases()[name]()
    path = tmp_path / "model.hedgerow"
    hedgerow.save(model, path)
    for table in (X, unseen(X)):
        assert_same_bits(model, path, table)


def test_reader_supports_float32_many_classes_and_one_row(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)).astype(np.float32), rng.integers(0, 12, 400)
    path = tmp_path / "model.hedgerow"
    for model in (
        hedgerow.GradientBoostingClassifier(n_estimators=3),
        hedgerow.AdaBoostClassifier(hedgerow.DecisionTreeClassifier(max_depth=4), n_estimators=5),
        hedgerow.ExtraTreesClassifier(4, random_state=0),
    ):
        hedgerow.save(model.fit(X, y), path)
        for table in (X, X[:1], np.repeat(X, 3, axis=0)):
            assert_same_bits(model, path, table)


def imported(node):
    if isinstance(node, ast.ImportFrom):
        return [node.module]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def test_reader_does_not_import_hedgerow():
    code, _ = reader()
    names = {name.partition(".")[0] for node in ast.walk(ast.parse(code)) for name in imported(node)}
    assert names == {"hashlib", "json", "math", "pathlib", "numpy", "safetensors"}


def test_reader_detects_damage(tmp_path):
    path = tmp_path / "model.hedgerow"
    hedgerow.save(fitted("stump")[0], path)
    data = bytearray(path.read_bytes())
    for position in (20, 40, 200, len(data) - 1):
        damaged = bytearray(data)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        assert not reader()[1]["is_intact"](path), position


# --- the names


@cache
def in_files():
    """Names of entries, and dtypes of arrays by name, in files of every kind."""
    entries, arrays = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for path in write_all(folder):
            description, held = reader()[1]["read"](path)
            for name, value in walk(description):
                entries.setdefault(name, []).append(value)
            for name, array in held.items():
                found = re.sub(r"^hypothesis\.(?:\d+\.)+", "hypothesis.", _MEMBER.sub("", name))
                found = "skops.0" if found.startswith("skops.") else found
                arrays.setdefault(found, set()).add((array.dtype.newbyteorder("<"), array.ndim))
    return entries, arrays


def write_all(folder):
    models = [make()[0] for make in cases().values()]
    X, y = plain(2)
    X = np.nan_to_num(X)
    models += [
        hedgerow.AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y),
        hedgerow.AdaBoostClassifier(LogisticRegression(), algorithm="real", n_estimators=2).fit(X, y),
        hedgerow.BaggingClassifier(GaussianNB(), n_estimators=2).fit(X, y),
        hedgerow.RandomForestClassifier(2).fit(X, y, sample_weight=np.arange(len(y)) % 2),
        hedgerow.GradientBoostingRegressor(estimator=Ridge(), n_estimators=2).fit(X, y),
        FixedThresholdClassifier(hedgerow.AdaBoostClassifier(n_estimators=2), 0.3).fit(X, y),
        load_cascade("frontalface"),
    ]
    for number, model in enumerate(models):
        path = f"{folder}/{number}.hedgerow"
        hedgerow.save(model, path)
        yield path
    stump = fitted("stump")[0]
    hedgerow.save(stump, path, card={"a": 1}, certificate=certify(stump))
    yield path
    hedgerow.RandomForestClassifier(2, random_state=0).fit(X, y, checkpoint=f"{folder}/checkpoint")
    yield f"{folder}/checkpoint"
    dropped = hedgerow.GradientBoostingClassifier(n_estimators=2, drop_rate=0.5)
    dropped.fit(X, y, eval_set=(X, y), checkpoint=f"{folder}/dropped")
    yield f"{folder}/dropped"
    for name in ("lbp", "tilted"):
        yield from write_cascade(folder, name)


def write_cascade(folder, name):
    """A small cascade of two trees that leaves no array out."""

    def ints(*numbers):
        return np.array(numbers, np.int32)

    lbp = name == "lbp"
    model = CascadeModel(
        "LBP" if lbp else "HAAR", 12, 12,
        rects=np.array([[[4, 1, 2, 2], [0] * 4, [0] * 4]], np.int32),
        weights=np.array([[0 if lbp else 1, 0, 0]], np.float32), tilted=np.array([not lbp], np.uint8),
        feature=ints(0, 0), threshold=np.full(2, 0 if lbp else 0.5, np.float32),
        subsets=np.ones((2 if lbp else 0, 8), np.uint32), left=ints(1, 0), right=ints(0, -2),
        values=np.array([1, 2, 3], np.float32), tree_starts=ints(0, 2), stage_starts=ints(0, 1),
        stage_thresholds=np.zeros(1, np.float32),
    )  # fmt: skip
    Cascade(model).save(f"{folder}/{name}.hedgerow")
    yield f"{folder}/{name}.hedgerow"


def walk(value):
    """Names and values of all entries, but for those within entries that may hold anything."""
    if isinstance(value, list):
        for one in value:
            yield from walk(one)
    elif isinstance(value, dict) and set(value) != {"float"}:
        for name, one in value.items():
            yield name, one
            if name not in _ANYTHING:
                yield from walk(one)


def tables(first):
    """Rows of the tables on the page whose first column has this head."""
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", read(PAGE), flags=re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in line.split(" | ")] for line in table.splitlines()]
        if head[0] == f"| {first}":
            found += rows
    assert found, first
    return found


def named(text):
    return re.findall(r"`([\w.]+)`", text)


def test_page_lists_every_entry_and_every_array():
    entries, arrays = in_files()
    assert len(entries) > 60
    assert len(arrays) > 60
    assert set(entries) - set(named(read(PAGE))) == set()
    assert set(arrays) - {name for row in tables("array") for name in named(row[0])} == set()


def test_entries_and_arrays_on_the_page_occur_in_files():
    entries, arrays = in_files()
    assert {name for row in tables("entry") for name in named(row[0])} - set(entries) == set()
    assert {name for row in tables("array") for name in named(row[0])} - set(arrays) == set()


def test_nested_entries_on_the_page_occur_in_files():
    entries, _ = in_files()
    checked = 0
    for row in tables("entry"):
        for name in named(row[0]):
            inner = {found for value in entries[name] for found, _ in walk(value)}
            if inner and name not in _ANYTHING:
                listed = set(named(row[1])) - {"scikit", "hedgerow"}
                assert listed <= inner, name
                checked += bool(listed)
    assert checked > 8


def test_arrays_have_the_dtypes_and_axes_on_the_page():
    _, arrays = in_files()
    for row in tables("array"):
        (name,) = named(row[0])
        dtypes = {np.dtype(DTYPES[dtype]) for dtype in re.findall(r"\b[FIU]\d+\b", row[1])}
        axes = {shape.count(",") + (not shape.endswith(",)")) for shape in re.findall(r"\([^)]*\)", row[1])}
        assert {dtype for dtype, _ in arrays[name]} <= dtypes, name
        assert {n_axes for _, n_axes in arrays[name]} <= (axes or {1}), name


def test_page_lists_every_estimator():
    text = read(PAGE)
    assert [name for name in hedgerow.estimators.__all__ if f"`{name}`" not in text] == []
