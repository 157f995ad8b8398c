"""Files of models with members of another library: they are restored if their types are trusted."""

import json
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier as ForeignClassifier
from sklearn.tree import DecisionTreeRegressor as ForeignRegressor

import hedgerow as hr
from hedgerow.container import unpack
from hedgerow.io import ModelFileError, load, save
from hedgerow.io.foreign import LIBRARIES, dumped, library_versions, loaded
from hedgerow.io.models import from_bytes, to_bytes
from hedgerow.io.skops_archive import packed, unpacked
from model_cases import changed, classes, numbers

TRUSTED = frozenset(
    {
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._classification.KNeighborsClassifier",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neighbors._regression.KNeighborsRegressor",
        "sklearn.tree._tree.Tree",
    }
)
CLASS_LEARNERS = {
    "logistic": lambda: LogisticRegression(C=0.5),
    "tree": lambda: ForeignClassifier(max_depth=2),
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "bayes": GaussianNB,
    "neighbours": lambda: KNeighborsClassifier(15),
}
NUMBER_LEARNERS = {
    "ridge": lambda: Ridge(alpha=2.0),
    "tree": lambda: ForeignRegressor(max_depth=2),
    "pipeline": lambda: make_pipeline(StandardScaler(), Ridge()),
    "neighbours": lambda: KNeighborsRegressor(3),
}
FEW = {"n_estimators": 2, "random_state": 0}
CLASSIFIERS = {  # of learners that predict classes
    "adaboost": lambda learner: hr.AdaBoostClassifier(learner, **FEW),
    "adaboost real": lambda learner: hr.AdaBoostClassifier(learner, algorithm="real", **FEW),
    "anyboost": lambda learner: hr.AnyBoostClassifier(learner, **FEW),
    "bag": lambda learner: hr.BaggingClassifier(learner, voting="hard", **FEW),
    "bag, soft": lambda learner: hr.BaggingClassifier(learner, max_features=2, **FEW),
    "three": lambda learner: hr.SchapireBoostClassifier(learner, random_state=0),
}
OF_NUMBERS = {  # of learners that predict numbers
    "gradient": lambda learner: hr.GradientBoostingClassifier(estimator=learner, **FEW),
    "gradient of numbers": lambda learner: hr.GradientBoostingRegressor(estimator=learner, **FEW),
    "logitboost": lambda learner: hr.LogitBoostClassifier(learner, **FEW),
    "adaboost.r2": lambda learner: hr.AdaBoostRegressor(learner, **FEW),
    "bag of numbers": lambda learner: hr.BaggingRegressor(learner, bootstrap_features=True, **FEW),
}
BOOSTING_STOPPED = pytest.mark.filterwarnings("ignore:boosting stopped")
CASES = [
    *(("adaboost", "logistic"), ("adaboost real", "bayes"), ("anyboost", "tree"), ("bag", "neighbours")),
    *(("bag", "tree"), ("bag, soft", "pipeline"), ("three", "bayes"), ("three", "logistic")),
    *(("gradient", "ridge"), ("gradient", "tree"), ("gradient of numbers", "pipeline")),
    *(("logitboost", "ridge"), ("adaboost.r2", "neighbours"), ("bag of numbers", "tree")),
]


def rows(model):
    X, signal = numbers(80, 3)
    X, signal = np.nan_to_num(X), signal.copy()
    if not is_classifier(model):
        return X, signal
    two = isinstance(model, hr.AnyBoostClassifier | hr.AdaBoostClassifier)
    return X, np.array(["low", "mid", "top"])[classes(signal, 2 if two else 3)]


def made(name, learner):
    if name in CLASSIFIERS:
        return CLASSIFIERS[name](CLASS_LEARNERS[learner]())
    return OF_NUMBERS[name](NUMBER_LEARNERS[learner]())


@cache
def file(name, learner):
    """The bytes of a fitted model, before any prediction: some learners count them."""
    model = made(name, learner)
    model.fit(*rows(model))
    return to_bytes(model), model


def logistic():
    return file("adaboost", "logistic")[0]


@pytest.mark.parametrize(("name", "learner"), CASES)
def test_loaded_model_equals_saved_model(name, learner):
    data, model = file(name, learner)
    same = from_bytes(data, TRUSTED)
    assert to_bytes(same) == data
    X, y = rows(model)
    methods = ("predict", "predict_proba", "decision_function", "staged_predict")
    for method in (one for one in methods if hasattr(model, one)):
        mine, theirs = (np.array(list(getattr(one, method)(X))) for one in (model, same))
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    assert repr(same) == repr(model)
    shown = [repr(getattr(one, "estimators_", one.get_params())) for one in (model, same)]
    assert shown[0] == shown[1]
    if name in CLASSIFIERS:
        np.testing.assert_array_equal(same.margins(X, y), model.margins(X, y))


@BOOSTING_STOPPED
@pytest.mark.parametrize(("name", "learner"), [case for case in CASES if case[0] != "three"])
def test_warm_start_of_loaded_model_gives_the_same_bytes(name, learner):
    data, _ = file(name, learner)
    whole = made(name, learner).set_params(warm_start=True)
    X, y = rows(whole)
    more = whole.n_estimators + 1
    whole.fit(X, y).set_params(n_estimators=more).fit(X, y)
    read = from_bytes(data, TRUSTED).set_params(warm_start=True, n_estimators=more)
    assert to_bytes(read.fit(X, y)) == to_bytes(whole)


@pytest.mark.parametrize(("name", "learner"), [("bag", "tree"), ("three", "bayes")])
def test_equal_models_give_equal_bytes(name, learner):
    model = made(name, learner)
    model.fit(*rows(model)).predict(rows(model)[0])
    assert to_bytes(model) == file(name, learner)[0]


@BOOSTING_STOPPED
def test_seed_of_members_is_stored():
    X, y = rows(hr.AdaBoostClassifier())
    model = hr.AdaBoostClassifier(SGDClassifier(), n_estimators=1, warm_start=True).fit(X, y)
    read = from_bytes(to_bytes(model)).set_params(n_estimators=2).fit(X, y)
    assert to_bytes(read) == to_bytes(model.set_params(n_estimators=2).fit(X, y))


def test_pipelines_of_frames_are_restored(tmp_path):
    X, y = rows(hr.AdaBoostClassifier())
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    columns = ColumnTransformer([("a", StandardScaler(), ["a", "b"]), ("b", "passthrough", ["c"])])
    steps = make_pipeline(columns, FunctionTransformer(np.tanh), SimpleImputer(), PCA(2), RidgeClassifier())
    for model in (hr.AdaBoostClassifier(steps, **FEW), hr.BaggingClassifier(steps, **FEW)):
        save(model.fit(table, y), tmp_path / "model")
        same = load(tmp_path / "model")
        np.testing.assert_array_equal(same.predict(table), model.predict(table))
        assert same.estimators_[0].feature_names_in_.tolist() == ["a", "b", "c"]


def test_learner_of_a_bag_of_boosters_is_stored_once():
    model = hr.BaggingClassifier(hr.AdaBoostClassifier(GaussianNB(), n_estimators=2), **FEW)
    X, y = rows(model)
    data = to_bytes(model.fit(X, y))
    names = [name for name in unpack(data).arrays if name.startswith("skops.")]
    assert len(names) == 1 + sum(one.n_estimators_ for one in model.estimators_)
    same = from_bytes(data)
    assert to_bytes(same) == data
    first, second = same.estimators_
    assert first.estimator is not second.estimator
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


def test_members_of_hedgerow_require_no_skops(monkeypatch):
    model = hr.AdaBoostClassifier(hr.RandomForestClassifier(3, max_depth=1, random_state=0), **FEW)
    X, y = rows(model)
    model.fit(X, y)
    numbered = hr.GradientBoostingRegressor(estimator=hr.DecisionTreeRegressor(), **FEW).fit(X, X[:, 0])
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for one in (model, numbered):
        same = from_bytes(to_bytes(one))
        assert to_bytes(same) == to_bytes(one)
        np.testing.assert_array_equal(same.predict(X), one.predict(X))
    assert json.loads(unpack(to_bytes(model)).text)["versions"] == {"hedgerow": hr.__version__}


def test_sparse_attributes_and_sets_have_one_form():
    X, y = rows(hr.AdaBoostRegressor())
    model = Lasso(alpha=0.1).fit(X, y)
    sparse = LogisticRegression(C=0.01, l1_ratio=1.0, solver="liblinear").fit(X, y > 1).sparsify()
    for one in (model, sparse):
        again = loaded(dumped(one, "estimator"), "estimator")
        np.testing.assert_array_equal(again.predict(X), one.predict(X))
    one, other = set(), set()
    one.update([0, 8])
    other.update([8])
    other.add(0)
    assert list(one) != list(other)
    mine, theirs = (Ridge().set_params(alpha=1.0) for _ in range(2))
    mine.extra_, theirs.extra_ = one, other
    assert dumped(mine, "a") == dumped(theirs, "a")


# --- members that cannot be saved


def test_missing_skops_is_reported_in_one_line(monkeypatch, tmp_path):
    data, model = file("adaboost", "logistic")
    bag = hr.BaggingRegressor(make_pipeline(StandardScaler(), Ridge()), **FEW).fit(
        *rows(hr.BaggingRegressor())
    )
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for one in (model, bag):
        with pytest.raises(ModelFileError, match="require skops for such objects: pip install") as e:
            save(one, tmp_path / "model")
        assert "\n" not in str(e.value)
    with pytest.raises(ModelFileError, match=r"is an object of another library; .* pip install"):
        from_bytes(data)
    assert not list(tmp_path.iterdir())


class OwnClassifier(ClassifierMixin, BaseEstimator):
    """Predicts the most frequent class."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.best_, self.n_features_in_ = int(np.argmax(counts)), X.shape[1]
        return self

    def predict(self, X):
        return np.repeat(self.classes_[self.best_], len(X))


class OwnRegressor(RegressorMixin, BaseEstimator):
    """Has no fitted attribute whose name ends with an underscore."""

    def fit(self, X, y):
        self.mean = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean)


class Nameless(OwnRegressor):
    """Has a function that another process cannot import."""

    def fit(self, X, y):
        self.function_ = lambda: None
        return super().fit(X, y)


def test_save_rejects_members_that_cannot_be_restored():
    X, y = rows(hr.AdaBoostRegressor())
    wrong = [
        (OwnRegressor(), "is not a fitted member: .* is not fitted"),
        (Nameless(), "cannot be saved by skops"),
        (
            make_pipeline(StandardScaler(), hr.DecisionTreeRegressor()),
            "an object of Hedgerow within an object of",
        ),
        (make_pipeline(FunctionTransformer(lambda X: X), Ridge()), "cannot be saved by skops"),
    ]
    for learner, message in wrong:
        model = hr.BaggingRegressor(learner, **FEW).fit(X, y)
        with pytest.raises(ModelFileError, match=message) as error:
            to_bytes(model)
        assert "\n" not in str(error.value)


# --- types that are not trusted


def test_load_lists_types_that_are_not_trusted(tmp_path):
    for name, learner in ("bag", "tree"), ("bag", "neighbours"):
        data, model = file(name, learner)
        (tmp_path / "model").write_bytes(data)
        with pytest.raises(
            ModelFileError, match=r"not known to be safe.* load it with trusted=\[.*\]"
        ) as error:
            load(tmp_path / "model")
        named = set(json.loads(str(error.value).split("trusted=")[1].replace("'", '"')))
        assert named
        assert named <= TRUSTED
        X = rows(model)[0]
        np.testing.assert_array_equal(
            load(tmp_path / "model", trusted=sorted(named)).predict(X), model.predict(X)
        )


def test_type_that_skops_trusts_must_be_trusted_too():
    X, y = rows(hr.AdaBoostClassifier())
    data = to_bytes(hr.BaggingClassifier(SVC(), **FEW).fit(X, y))
    with pytest.raises(ModelFileError, match=r"trusted=\['sklearn.svm._classes.SVC'\]"):
        from_bytes(data)
    from_bytes(data, frozenset({"sklearn.svm._classes.SVC"}))


def test_custom_class_is_loaded_if_it_is_trusted():
    X, y = rows(hr.AdaBoostClassifier())
    model = hr.BaggingClassifier(OwnClassifier(), **FEW).fit(X, y)
    data, name = to_bytes(model), f"{__name__}.OwnClassifier"
    with pytest.raises(ModelFileError, match="OwnClassifier"):
        from_bytes(data)
    np.testing.assert_array_equal(from_bytes(data, frozenset({name})).predict(X), model.predict(X))


@pytest.mark.parametrize("trusted", ["sklearn.tree._tree.Tree", 3, [ForeignClassifier], None])
def test_load_rejects_wrong_values_of_trusted(trusted, tmp_path):
    with pytest.raises(TypeError, match="trusted"):
        load(tmp_path / "model", trusted=trusted)


# --- versions


def test_versions_are_stored_and_another_version_warns():
    assert json.loads(unpack(logistic()).text)["versions"] == {
        "hedgerow": hr.__version__,
        **library_versions(),
    }
    for name in LIBRARIES:
        kept = {"hedgerow": "0", **library_versions()}
        del kept[name]
        with pytest.raises(ModelFileError, match="versions must name those of hedgerow, scikit-learn, skops"):
            from_bytes(changed(logistic(), versions=kept))
    older = {"hedgerow": "0.1", "scikit-learn": "1.1.1", "skops": "0.1"}
    here = library_versions()["scikit-learn"]
    with pytest.warns(UserWarning, match=f"objects of scikit-learn 1.1.1, and scikit-learn {here}") as caught:
        from_bytes(changed(logistic(), versions=older))
    assert len(caught) == 1


def test_members_of_another_version_give_no_further_warning():
    contents = unpack(logistic())
    here = library_versions()["scikit-learn"]
    pair = [json.dumps(json.dumps(version)).encode() for version in (here, "9.9.9")]
    arrays = {name: rezipped(array, *pair) for name, array in contents.arrays.items() if "skops" in name}
    assert any((array != contents.arrays[name]).any() for name, array in arrays.items())
    from_bytes(changed(logistic(), arrays=arrays))  # scikit-learn itself would warn, and warnings are errors


def rezipped(array, old, new):
    entries = unpacked(array.tobytes())
    entries["schema.json"] = entries["schema.json"].replace(old, new)
    return np.frombuffer(packed(entries), np.uint8)


def broken(learner, X, y, **attributes):
    """The file of a bagging model with other attributes of its first member."""
    kind = hr.BaggingClassifier if is_classifier(learner) else hr.BaggingRegressor
    model = kind(learner, n_estimators=2, random_state=0).fit(X, y)
    for name, value in attributes.items():
        setattr(model.estimators_[0], name, value)
    return to_bytes(model)


BROKEN = {
    "shape": (LogisticRegression, {"coef_": np.ones((1, 5))}),
    "classes": (LogisticRegression, {"coef_": np.ones((3, 3))}),
    "strings": (Ridge, {"coef_": np.array(["a", "b", "c"])}),
    "complex": (Ridge, {"coef_": np.ones(3, complex)}),
    "not finite": (Ridge, {"intercept_": np.inf}),
    "many outputs": (Ridge, {"coef_": np.ones((2, 3))}),
    "n_features_in_": (lambda: make_pipeline(StandardScaler(), Ridge()), {"steps": [("a", Ridge())]}),
    "means": (GaussianNB, {"theta_": np.ones((2, 2))}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_load_rejects_members_that_cannot_predict(name):
    learner, attributes = BROKEN[name]
    X, y = rows(hr.AdaBoostClassifier())
    target = y if is_classifier(learner()) else X[:, 0]
    from_bytes(broken(learner(), X, target))
    with pytest.raises(ModelFileError, match=r"members\.0 (cannot predict|is not a fitted member)"):
        from_bytes(broken(learner(), X, target, **attributes))


@pytest.mark.parametrize("function", [np.log, np.arctanh])
def test_members_for_positive_values_are_loaded(function):
    X, _ = rows(hr.AdaBoostRegressor())
    X = np.abs(X) / 20 + 0.1
    learner = make_pipeline(FunctionTransformer(function), Ridge())
    same = from_bytes(broken(learner, X, X[:, 0]))
    assert np.isfinite(same.predict(X)).all()
