"""Vote weights: the descent against another optimiser, and the bound that it lowers."""

import itertools
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from forest_cases import classes
from hedgerow import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from hedgerow.bagging.pair_losses import IN_BAG, STEPS, PairLosses
from hedgerow.kernels.cpu.vote_weights import mean_of_pairs, minimize_objective
from hedgerow.theory import certify, optimize_votes
from hedgerow.theory.optimize import best_weights, divergence
from hedgerow.theory.vote_bounds import tandem_bound
from other_cpu import print_cpu, run_on_plain_cpu


def objective(weights, matrix, pull):
    """J of the kernel, in NumPy; 0 ln 0 is 0."""
    weights = np.maximum(weights, 1e-300)
    return weights @ matrix @ weights + pull * np.sum(weights * np.log(weights * len(weights)))


def semi_definite(rng, n):
    losses = rng.random((rng.integers(2, 30), n)) ** 2
    return losses.T @ losses / len(losses)


def indefinite(rng, n):
    """Pairs of voters with rows of their own need not make a semi-definite matrix."""
    matrix = rng.random((n, n))
    return (matrix + matrix.T) / 2


def lowered(matrix, pull, start=None, n_steps=5000, tolerance=1e-14):
    n = len(matrix)
    weights = np.full(n, 1.0 / n) if start is None else start.copy()
    value = minimize_objective(np.ascontiguousarray(matrix), pull, weights, n_steps, tolerance)
    return weights, value


def by_slsqp(matrix, pull, start):
    n = len(start)
    found = minimize(
        objective,
        start,
        (matrix, pull),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return float(found.fun)


# --- the kernel


@pytest.mark.parametrize(("n", "pull"), [(2, 1.0), (3, 0.1), (6, 0.003)])
def test_a_convex_objective_is_as_low_as_that_of_slsqp(n, pull):
    rng = np.random.default_rng([n, int(1000 * pull)])
    for _ in range(10):
        matrix = semi_definite(rng, n)
        weights, value = lowered(matrix, pull)
        assert weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.all(weights > 0)
        assert value == pytest.approx(objective(weights, matrix, pull), rel=1e-12)
        assert value <= by_slsqp(matrix, pull, np.full(n, 1.0 / n)) + 1e-7


@pytest.mark.parametrize("n", [2, 3, 5])
def test_an_objective_that_is_not_convex_is_lowered_to_a_stationary_point(n):
    rng = np.random.default_rng(n)
    for _ in range(10):
        matrix, pull = indefinite(rng, n), 0.05
        weights, value = lowered(matrix, pull)
        assert value <= objective(np.full(n, 1.0 / n), matrix, pull)
        slope = 2 * matrix @ weights + pull * np.log(weights * n)
        used = weights > 1e-4
        assert np.ptp(slope[used]) < 1e-3  # no use in moving weight between voters
        assert value <= by_slsqp(matrix, pull, weights) + 1e-6  # nor does the other one go lower from there


def test_equal_voters_keep_equal_weights():
    weights, _ = lowered(np.full((4, 4), 0.3), 0.01)
    assert weights.tolist() == [0.25] * 4


def test_weight_moves_from_wrong_voters_to_correct_ones():
    matrix = np.array([[1.0, 0.2, 0.0], [0.2, 0.2, 0.0], [0.0, 0.0, 0.0]])
    weights, _ = lowered(matrix, 1e-4)
    assert weights[0] < 1e-3
    assert weights[2] > 0.99


def test_more_pull_keeps_weights_closer_to_equal():
    matrix = semi_definite(np.random.default_rng(3), 5)
    costs = [divergence(lowered(matrix, pull)[0]) for pull in (1e-3, 1e-2, 0.1, 1.0, 100.0)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 0.1
    assert costs[-1] < 1e-6


def test_the_mean_of_pairs_is_a_quadratic_form():
    rng = np.random.default_rng(0)
    matrix, weights = rng.random((6, 6)), rng.dirichlet(np.ones(6))
    assert mean_of_pairs(matrix, weights) == pytest.approx(weights @ matrix @ weights, rel=1e-14)


def test_divergence_is_its_definition():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 300):
        weights = rng.dirichlet(np.ones(n))
        assert divergence(weights) == pytest.approx(np.sum(weights * np.log(weights * n)), abs=1e-12)
        assert divergence(np.full(n, 1.0 / n)) == pytest.approx(0.0, abs=1e-12)
        assert divergence(np.eye(n)[0]) == pytest.approx(np.log(n))


# --- the bound


def voters(rng, n_voters, n_rows, *, unseen=1.0):
    """Losses of voters of different strength that err on the same hard rows."""
    strength, hard = rng.uniform(0.02, 0.45, n_voters), rng.beta(0.4, 0.8, (n_rows, 1))
    losses = np.where(rng.random((n_rows, n_voters)) < strength * 2 * hard, STEPS, 0).astype(np.int16)
    losses[rng.random(losses.shape) > unseen] = IN_BAG
    return PairLosses.of([losses], n_voters, 2)


@pytest.mark.parametrize("unseen", [1.0, 0.37])
@pytest.mark.parametrize("n_voters", [1, 2, 7, 40])
def test_the_bound_never_rises(n_voters, unseen):
    rng = np.random.default_rng(n_voters)
    for n_rows, delta in itertools.product((60, 400, 4000), (0.5, 0.05, 1e-6)):
        losses = voters(rng, n_voters, n_rows, unseen=unseen)
        if losses.n_pairs < 1:
            continue
        even, found = np.full(n_voters, 1.0 / n_voters), best_weights(losses, delta)
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.all(found >= 0)
        before = tandem_bound(losses.tandem(even), losses.n_pairs, 0.0, delta)
        after = tandem_bound(losses.tandem(found), losses.n_pairs, divergence(found), delta)
        assert after <= before


def test_no_weights_on_a_fine_grid_have_a_much_lower_bound():
    losses = voters(np.random.default_rng(5), 3, 3000)
    found = best_weights(losses, 0.05)
    reached = tandem_bound(losses.tandem(found), losses.n_pairs, divergence(found), 0.05)
    steps = np.linspace(0, 1, 21)
    grid = [np.array([a, b, 1 - a - b]) for a in steps for b in steps if a + b <= 1 + 1e-12]
    lowest = min(
        tandem_bound(losses.tandem(np.abs(w)), losses.n_pairs, divergence(np.abs(w)), 0.05) for w in grid
    )
    assert reached <= lowest * 1.01  # the weights minimise a bound that is slightly looser


def test_a_model_that_is_tuned_has_a_lower_bound_and_the_same_members():
    X, y = make_classification(1500, 10, n_informative=5, random_state=0)
    forest = RandomForestClassifier(60, max_features=1, oob_score=True, random_state=0).fit(X, y)
    tuned = optimize_votes(forest)
    name = "out-of-bag tandem"
    assert certify(tuned)[name].value < certify(forest)[name].value
    assert tuned.model_.forest is forest.model_.forest
    assert np.ptp(forest.estimator_weights_) == 0.0 < np.ptp(tuned.estimator_weights_)
    assert "KL" in certify(tuned)[name].found


@pytest.mark.parametrize(
    "model",
    [
        ExtraTreesClassifier(30, max_depth=4, random_state=0),
        BaggingClassifier(n_estimators=15, random_state=0),
        BaggingClassifier(GaussianNB(), n_estimators=15, voting="hard", random_state=0),
    ],
    ids=["extra", "bag", "hard bag of others"],
)
def test_new_rows_optimize_models_without_out_of_bag_rows(model):
    X, y = classes(1200, 3)
    X = np.nan_to_num(X)
    model.fit(X[:500], y[:500])
    tuned = optimize_votes(model, X[500:], y[500:])
    assert tuned.vote_losses_.n == 700
    assert not hasattr(model, "vote_losses_")
    assert tuned.is_training_row(X).all()
    assert not model.is_training_row(X[500:]).any()
    assert {bound.name for bound in certify(tuned)} >= {"calibration first order", "calibration tandem"}
    with pytest.raises(ValueError, match="700 of the 700 rows"):
        certify(tuned, X[500:], y[500:])


def test_other_models_and_arguments_are_refused():
    X, y = classes(200)
    with pytest.raises(TypeError, match=r"model must be .*; got RandomForestRegressor"):
        optimize_votes(RandomForestRegressor(2).fit(np.nan_to_num(X), np.arange(200.0)))
    with pytest.raises(ValueError, match="not fitted"):
        optimize_votes(RandomForestClassifier())
    plain = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="no out-of-bag losses: fit it with oob_score=True"):
        optimize_votes(plain)
    with pytest.raises(ValueError, match="X and y must be passed together"):
        optimize_votes(plain, X)
    with pytest.raises(ValueError, match="delta=1"):
        optimize_votes(plain, delta=1)
    balanced = RandomForestClassifier(60, oob_score=True, class_weight="balanced", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        optimize_votes(balanced)


# --- threads and processors


def tuned_weights():
    """Weights found for losses that are whole numbers, the same on every machine."""
    rng = np.random.default_rng(11)
    return {str(n): best_weights(voters(rng, n, 900, unseen=0.6), 0.05) for n in (2, 9, 60)}


def forest_weights(n_jobs):
    X, y = classes(3000, 2)
    model = RandomForestClassifier(20, max_features=1, oob_score=True, random_state=0, n_jobs=n_jobs)
    return optimize_votes(model.fit(X, y)).estimator_weights_


def test_threads_do_not_change_the_weights():
    assert len({forest_weights(n_jobs).tobytes() for n_jobs in (1, 2, 4)}) == 1


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("HEDGEROW_LARGE"), reason="compiles all kernels once more: set HEDGEROW_LARGE"
)
def test_the_processor_does_not_change_the_weights(tmp_path):
    run_on_plain_cpu(__file__, tmp_path)
    with np.load(tmp_path / "weights.npz") as there:
        for name, here in (tuned_weights() | {"forest": forest_weights(2)}).items():
            assert there[name].tobytes() == here.tobytes(), name


if __name__ == "__main__":
    print_cpu()
    np.savez(Path(sys.argv[1]) / "weights.npz", **tuned_weights(), forest=forest_weights(1))


def test_models_without_common_out_of_bag_rows_are_refused():
    X, y = classes(80)
    forest = RandomForestClassifier(3, bootstrap=False, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"row"):
        optimize_votes(forest, X, y)
