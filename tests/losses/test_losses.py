"""Properties of all losses: derivatives, optima, extreme scores, links."""

import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import (
    log_loss,
    mean_absolute_error,
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_squared_error,
    mean_tweedie_deviance,
)

from hedgerow.losses import (
    AbsoluteError,
    BinaryLogLoss,
    CustomLoss,
    Exponential,
    Gamma,
    Huber,
    IdentityLink,
    MultinomialLogLoss,
    Poisson,
    Quantile,
    SquaredError,
    Tweedie,
)
from loss_cases import MAKERS, LogCoshHessian1, fill, leaves, sample

ALL = pytest.mark.parametrize("name", MAKERS)
OF_SCORES = [make for make in MAKERS.values() if isinstance(make().link, IdentityLink)]
FORMULAS = {"huber", "two outputs", "binary", "multinomial", "exponential"}  # for the steps of leaves
EXACT_STEPS = set(MAKERS) - FORMULAS


def rows_of(loss, y, raw):
    return loss.row_losses(y, raw, 0, y.size)


def shifted(raw, k, by):
    moved = raw.copy()
    moved[k] += by
    return moved


def least(function, low, high):
    """The least value of a convex function on [low, high]."""
    ends = [function(low), function(high)]
    inside = minimize_scalar(function, bounds=(low, high), method="bounded").fun
    return min([*ends, inside])


# --- derivatives


@ALL
def test_gradient_is_the_slope_of_the_loss(name):
    loss = MAKERS[name]()
    y, raw = sample(loss)
    gradient, _ = fill(loss, y, raw)
    step = 1e-6
    for k in range(loss.n_outputs):
        ahead, behind = (rows_of(loss, y, shifted(raw, k, s)) for s in (step, -step))
        np.testing.assert_allclose(gradient[k], (ahead - behind) / (2 * step), atol=1e-8, rtol=1e-7)


@ALL
def test_hessian_is_the_slope_of_the_gradient(name):
    loss = MAKERS[name]()
    y, raw = sample(loss)
    _, hessian = fill(loss, y, raw)
    if loss.requires_line_search:
        assert (hessian == 1.0).all()  # by convention
        return
    step = 1e-6
    for k in range(loss.n_outputs):
        ahead, behind = (fill(loss, y, shifted(raw, k, s))[0][k] for s in (step, -step))
        np.testing.assert_allclose(hessian[k], (ahead - behind) / (2 * step), atol=1e-8, rtol=1e-7)


@ALL
def test_pieces_of_rows_equal_the_whole_and_touch_nothing_else(name):
    loss = MAKERS[name]()
    y, raw = sample(loss, n=3000)
    whole = fill(loss, y, raw)
    pieces = np.full_like(raw, np.nan), np.full_like(raw, np.nan)
    loss.fill(y, raw, *pieces, 5, 1030)
    for piece, expected in zip(pieces, whole, strict=True):
        assert np.isnan(piece[:, :5]).all()
        assert np.isnan(piece[:, 1030:]).all()
        np.testing.assert_array_equal(piece[:, 5:1030], expected[:, 5:1030])
    np.testing.assert_array_equal(loss.row_losses(y, raw, 5, 1030), rows_of(loss, y, raw)[5:1030])


@ALL
@pytest.mark.parametrize("size", [30.0, 708.5, 1e6])
def test_extreme_scores_stay_finite(name, size):
    loss = MAKERS[name]()
    y, raw = sample(loss)
    raw = np.where(raw > 0, size, -size)
    gradient, hessian = fill(loss, y, raw)
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()
    assert (hessian >= 0).all()
    assert math.isfinite(loss.mean_loss(y, raw, None))
    assert math.isfinite(loss.mean_loss(y, raw, np.full(y.size, 0.1)))
    rows, starts = leaves(y.size)
    for output in range(loss.n_outputs):
        assert np.isfinite(loss.line_search(y, raw, None, rows, starts, output)).all()


def test_multinomial_gradients_add_up_to_zero():
    loss = MAKERS["multinomial"]()
    gradient, _ = fill(loss, *sample(loss))
    np.testing.assert_allclose(gradient.sum(axis=0), 0.0, atol=1e-15)


def test_a_row_predicted_exactly_has_no_gradient():
    y = np.array([1.0, 2.0])
    for loss in (AbsoluteError(), Quantile(0.2), Huber()):
        np.testing.assert_array_equal(fill(loss, y, y[np.newaxis].copy())[0], 0.0)


# --- start, and steps


@ALL
@pytest.mark.parametrize("weighted", [False, True])
def test_start_is_the_best_constant(name, weighted):
    loss = MAKERS[name]()
    y, _ = sample(loss, n=41)
    weight = np.random.default_rng(1).uniform(0, 2, y.size) if weighted else None
    start = loss.start(y, weight)
    assert start.shape == (loss.n_outputs,)

    def constant(by, k=0):
        return loss.mean_loss(y, shifted(np.repeat(start[:, None], y.size, 1), k, by), weight)

    for k in range(loss.n_outputs):
        best = least(lambda by, k=k: constant(by, k), -3.0, 3.0)
        assert constant(0.0) <= best + 1e-14 * (1 + abs(best))


@pytest.mark.parametrize("make", [*OF_SCORES, lambda: CustomLoss(LogCoshHessian1())], ids=lambda f: f().name)
@pytest.mark.parametrize("offset", [30.0, 5000.0, -1e6])
def test_the_start_moves_with_the_target(make, offset):
    loss = make()
    y, _ = sample(loss, n=41)
    moved = loss.start(y + offset, None)
    assert moved - offset == pytest.approx(loss.start(y, None), rel=0, abs=1e-11 * abs(offset))


@pytest.mark.parametrize("name", sorted(EXACT_STEPS))
@pytest.mark.parametrize("weighted", [False, True])
def test_line_search_finds_the_best_step_of_each_leaf(name, weighted):
    loss = MAKERS[name]()
    y, raw = sample(loss)
    weight = np.random.default_rng(1).uniform(0, 2, y.size) if weighted else None
    rows, starts = leaves(y.size)
    steps = loss.line_search(y, raw, weight, rows, starts)
    bound = min(loss.step_bound, 20.0)
    for leaf, step in enumerate(steps):
        chosen = rows[starts[leaf] : starts[leaf + 1]]
        w = None if weight is None else weight[chosen]

        def total(by, chosen=chosen, w=w):
            return loss.mean_loss(y[chosen], raw[:, chosen] + by, w)

        best = least(total, -bound, bound)
        assert abs(step) <= bound
        assert total(step) <= best + 1e-14 * (1 + abs(best))


def test_huber_line_search_is_friedmans_formula():
    loss = Huber(0.6)
    y, raw = sample(loss)
    rows, starts = leaves(y.size)
    steps = loss.line_search(y, raw, None, rows, starts)
    for leaf, step in enumerate(steps):
        residuals = (y - raw[0])[rows[starts[leaf] : starts[leaf + 1]]]
        median = np.sort(residuals)[(residuals.size - 1) // 2]
        apart = residuals - median
        mean = np.mean(np.sign(apart) * np.minimum(loss.delta, np.abs(apart)))
        assert step == pytest.approx(median + mean, rel=1e-14)


def test_multinomial_line_search_is_friedmans_step():
    loss = MultinomialLogLoss(4)
    y, raw = sample(loss, n=200)
    rows, starts = leaves(y.size)
    p = loss.link.inverse(raw)
    for k in range(4):
        steps = loss.line_search(y, raw, None, rows, starts, k)
        for leaf, step in enumerate(steps):
            chosen = rows[starts[leaf] : starts[leaf + 1]]
            r = (y[chosen] == k) - p[k, chosen]
            expected = 3 / 4 * r.sum() / (np.abs(r) * (1 - np.abs(r))).sum()
            assert step == pytest.approx(np.clip(expected, -4, 4), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_exponential_line_search_is_one_newton_step(weighted):
    loss = Exponential()
    y, raw = sample(loss)
    weight = np.random.default_rng(1).uniform(0, 2, y.size) if weighted else None
    rows, starts = leaves(y.size)
    gradient, hessian = fill(loss, y, raw)
    for leaf, step in enumerate(loss.line_search(y, raw, weight, rows, starts)):
        chosen = rows[starts[leaf] : starts[leaf + 1]]
        w = np.ones(chosen.size) if weight is None else weight[chosen]
        expected = -(w @ gradient[0, chosen]) / (w @ hessian[0, chosen])
        assert step == pytest.approx(expected, rel=1e-12)


def test_the_step_of_a_leaf_of_one_class():
    y, raw = np.ones(5), np.zeros((1, 5))
    rows, starts = np.arange(5, dtype=np.uint32), np.array([0, 5], dtype=np.int64)
    for scores in (raw, raw - 700.0, raw + 700.0):  # one Newton step of exp is 1, from any score
        assert Exponential().line_search(y, scores, None, rows, starts)[0] == pytest.approx(1.0)
        assert Exponential().line_search(0 * y, scores, None, rows, starts)[0] == pytest.approx(-1.0)
    # One Newton step from probability p is 1 / p: 2 from 1/2, and from 1e-4 beyond the bound.
    assert BinaryLogLoss().line_search(y, raw, None, rows, starts)[0] == pytest.approx(2.0)
    assert BinaryLogLoss().line_search(y, raw - 9.2, None, rows, starts)[0] == BinaryLogLoss.step_bound
    assert Poisson().line_search(0 * y, raw, None, rows, starts)[0] == -Poisson.step_bound


@ALL
@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e5])
def test_global_line_search_finds_the_best_step(name, scale):
    loss = MAKERS[name]()
    y, raw = sample(loss)
    gradient, _ = fill(loss, y, raw)
    noise = np.random.default_rng(2).normal(size=raw.shape)
    directions = scale * (noise * 0.3 - gradient)
    direction = directions[0] if loss.n_outputs == 1 else directions
    weight = np.random.default_rng(1).uniform(0, 2, y.size)
    rho = loss.global_line_search(y, raw, direction, weight)
    assert rho > 0

    def total(by):
        return loss.mean_loss(y, raw + by / scale * directions, weight)

    bound = min(20.0, loss.step_bound / np.abs(directions / scale).max())
    best = least(total, 0.0, bound)
    assert rho * scale <= bound * (1 + 1e-12)
    assert total(rho * scale) <= best + 1e-13 * (1 + abs(best))


@ALL
def test_global_line_search_does_not_go_uphill(name):
    loss = MAKERS[name]()
    y, raw = sample(loss)
    gradient, _ = fill(loss, y, raw)
    uphill = gradient[0] if loss.n_outputs == 1 else gradient
    assert loss.global_line_search(y, raw, uphill, None) == 0.0
    assert loss.global_line_search(y, raw, np.zeros_like(uphill), None) == 0.0


@pytest.mark.parametrize("loss", [BinaryLogLoss(), Exponential(), MultinomialLogLoss(3)])
def test_one_class_only_starts_finite(loss):
    start = loss.start(np.zeros(5), None)
    assert np.isfinite(start).all()
    p = loss.link.inverse(start)
    assert (p[0] if loss.n_outputs > 1 else 1 - p[0]) > 0.999


def test_poisson_start_is_finite_when_the_weighted_rows_are_zero():
    start = Poisson().start(np.array([0.0, 3.0]), np.array([1.0, 0.0]))
    assert np.isfinite(start).all()


# --- links


@ALL
def test_links_invert_each_other(name):
    loss = MAKERS[name]()
    _, raw = sample(loss)
    raw = raw - raw.mean(axis=0) if loss.n_outputs > 1 else raw  # centred, as the link gives them
    mean = loss.link.inverse(raw)
    assert mean.shape == raw.shape
    np.testing.assert_allclose(loss.link.link(mean), raw, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(loss.link.inverse(loss.link.link(mean)), mean, rtol=1e-13)


def test_softmax_of_extreme_scores():
    link = MultinomialLogLoss(3).link
    p = link.inverse(np.array([[1e5, -1e5], [0.0, 0.0], [-1e5, 1e5]]))
    np.testing.assert_allclose(p, [[1, 0], [0, 0], [0, 1]], atol=1e-300)
    np.testing.assert_allclose(link.inverse(np.array([1.0, 1.0, 1.0])), 1 / 3)


# --- the same as scikit-learn's metrics, up to the constants of their definitions


def test_regression_losses_agree_with_metrics():
    rng = np.random.default_rng(5)
    y, raw, weight = rng.gamma(2.0, size=50), rng.normal(size=(1, 50)), rng.uniform(0, 2, 50)

    def ours(loss, raw=raw):
        return loss.mean_loss(y, raw, weight)

    assert 2 * ours(SquaredError()) == pytest.approx(mean_squared_error(y, raw[0], sample_weight=weight))
    assert ours(AbsoluteError()) == pytest.approx(mean_absolute_error(y, raw[0], sample_weight=weight))
    assert ours(Quantile(0.2)) == pytest.approx(mean_pinball_loss(y, raw[0], sample_weight=weight, alpha=0.2))
    perfect = np.log(y)[np.newaxis]
    for loss, deviance in [
        (Poisson(), mean_poisson_deviance),
        (Gamma(), mean_gamma_deviance),
        (Tweedie(1.3), lambda *a, **k: mean_tweedie_deviance(*a, power=1.3, **k)),
    ]:
        expected = deviance(y, np.exp(raw[0]), sample_weight=weight)
        assert 2 * (ours(loss) - ours(loss, perfect)) == pytest.approx(expected)


def test_log_losses_agree_with_the_metric():
    for loss in (BinaryLogLoss(), MultinomialLogLoss(4)):
        y, raw = sample(loss)
        weight = np.random.default_rng(6).uniform(0, 2, y.size)
        expected = log_loss(y, np.squeeze(loss.link.inverse(raw)).T, sample_weight=weight)
        assert loss.mean_loss(y, raw, weight) == pytest.approx(expected)


def test_two_outputs_equal_one_score_of_their_difference():
    two, one = MultinomialLogLoss(2), BinaryLogLoss()
    y, raw = sample(two)
    difference = raw[1:] - raw[:1]
    np.testing.assert_allclose(rows_of(two, y, raw), rows_of(one, y, difference), rtol=1e-13)
    np.testing.assert_allclose(fill(two, y, raw)[0][1:], fill(one, y, difference)[0], atol=1e-15)


def test_tweedie_at_its_ends_is_poisson_and_gamma():
    for end, loss in ((1.0, Poisson()), (2.0, Gamma())):
        y, raw = sample(loss)
        np.testing.assert_array_equal(fill(Tweedie(end), y, raw), fill(loss, y, raw))
        np.testing.assert_array_equal(rows_of(Tweedie(end), y, raw), rows_of(loss, y, raw))


def test_mean_loss_over_many_blocks_is_the_mean():
    loss = BinaryLogLoss()
    y, raw = sample(loss, n=150_001)
    losses = rows_of(loss, y, raw)
    assert loss.mean_loss(y, raw, None) == math.fsum(losses) / y.size


@ALL
def test_check_target_accepts_good_targets_and_losses_can_be_copied(name):
    loss = MAKERS[name]()
    y, raw = sample(loss)
    loss.check_target(y)
    copy = pickle.loads(pickle.dumps(loss))  # noqa: S301 - our own bytes
    assert copy.mean_loss(y, raw, None) == loss.mean_loss(y, raw, None)
    assert repr(copy).split("(")[0] == type(loss).__name__


# --- Huber's delta


def test_huber_delta_is_the_quantile_of_the_residuals():
    loss = Huber(0.5)
    y, weight = np.array([0.0, 1.0, -2.0, 30.0]), np.array([1.0, 1.0, 1.0, 0.0])
    loss.prepare(y, np.zeros((1, 4)), weight)
    assert loss.delta == 1.0
    loss.prepare(y, np.full((1, 4), 1.0), None)
    assert loss.delta == 1.0
    loss.prepare(np.array([0.0, 0.0, 0.0, 7.0]), np.zeros((1, 4)), None)
    assert loss.delta == 7.0  # a quantile of 0 would stop all learning
