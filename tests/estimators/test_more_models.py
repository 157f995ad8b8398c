"""Models, plots and losses at their edges: what a message says where nothing can be done."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from hedgerow import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from hedgerow.losses import CustomLoss
from hedgerow.plots import BiasVarianceDisplay, PartialDependenceDisplay, PredictedDisplay
from hedgerow.plots.columns import as_table
from hedgerow.theory import optimize_votes
from hedgerow.threads import resolve_n_jobs
from loss_cases import PseudoHuber

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] > 0).astype(int)


def test_threads_are_a_whole_number():
    with pytest.raises(TypeError, match=r"n_jobs=2\.5 is not allowed: it must be an integer or None"):
        resolve_n_jobs(2.5)
    with pytest.raises(TypeError, match=r"n_jobs=True is not allowed"):
        resolve_n_jobs(n_jobs=True)


def test_a_masked_array_is_an_array_with_missing_values():
    masked = np.ma.masked_where(np.abs(X) > 1.5, X)
    holed = np.where(np.abs(X) > 1.5, np.nan, X)
    small = {"n_estimators": 3, "min_samples_leaf": 5}
    one, other = (GradientBoostingRegressor(**small).fit(given, X[:, 0]) for given in (masked, holed))
    np.testing.assert_array_equal(one.predict(masked), other.predict(holed))
    whole = np.ma.masked_equal(np.round(X * 3).astype(int), 2)
    with_nan = np.where(np.round(X * 3) == 2, np.nan, np.round(X * 3))
    one, other = (GradientBoostingRegressor(**small).fit(given, X[:, 0]) for given in (whole, with_nan))
    np.testing.assert_array_equal(one.predict(whole), other.predict(with_nan))


def test_a_custom_loss_with_half_a_link_says_which_half_it_has():
    class HalfLinked(PseudoHuber):
        def inverse_link(self, raw):
            return raw

    loss = CustomLoss(HalfLinked())
    with pytest.raises(NotImplementedError, match=r"has inverse_link\(raw\) only"):
        loss.link.link(np.zeros(3))


def test_learners_of_another_kind_cannot_go_on():
    model = GradientBoostingClassifier(n_estimators=2, warm_start=True).fit(X, Y)
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415 - here alone

    model.set_params(estimator=DecisionTreeRegressor(max_depth=2), n_estimators=4)
    with pytest.raises((TypeError, ValueError), match=r"estimator"):
        model.fit(X, Y)


def test_plots_refuse_what_is_no_table_and_no_list():
    with pytest.raises(ValueError, match=r"X of shape \(3,\) is not allowed: it must be a table"):
        as_table([1, 2, 3])
    with pytest.raises(ValueError, match=r"of shape \(2, 2\) is not allowed: it must be a list of numbers"):
        PredictedDisplay.from_predictions(np.zeros((2, 2)), np.zeros((2, 2)))
    plt.close("all")


def test_columns_of_words_in_an_array_of_objects_are_categories():
    words = np.array([["a", "b", "c"][i % 3] for i in range(80)], object)
    table = np.column_stack([X[:, :1].astype(object), words])
    model = GradientBoostingClassifier(n_estimators=3, categorical_features=[1]).fit(table, Y)
    display = PartialDependenceDisplay.from_estimator(model, table, [0, 1])
    assert len(display.axes_) == 2


def test_votes_of_two_members_that_know_all_rows_cannot_be_weighed():
    forest = RandomForestClassifier(3, bootstrap=False, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"row"):
        optimize_votes(forest, X, Y)


def test_bias_and_variance_are_drawn_from_estimators_as_from_results():
    models = [AdaBoostClassifier(n_estimators=2), BaggingClassifier(n_estimators=2, random_state=0)]
    sampler, test = (X[:60], Y[:60]), (X[60:], Y[60:])
    display = BiasVarianceDisplay.from_estimators(models, sampler, test=test, n_repeats=4)
    assert len(display.results) == 2
