"""The search for the steps of least loss: far minima, wrong curvatures, leaves of different scale."""

import numpy as np
import pytest

from hedgerow.losses import CustomLoss
from hedgerow.losses.line_search import _middle_float, minimise
from loss_cases import LogCosh, LogCoshHessian1, PseudoHuber

USERS = [PseudoHuber(), LogCosh(), LogCoshHessian1()]
by_user = pytest.mark.parametrize("user", USERS, ids=lambda user: type(user).__name__)


def assert_best(loss, y, step, rel=1e-11):
    """The loss decreases up to the step and increases after it."""
    for factor, sign in ((1.0 - rel, -1.0), (1.0 + rel, 1.0)):
        slopes = loss._derivatives(y, np.full((1, y.size), factor * step))[0]
        assert sign * np.sign(step) * slopes.sum() >= 0.0


@by_user
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e3, 1e8, 1e20, 1e50, 1e100])
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_a_minimum_of_any_scale_is_found(user, scale, spread):
    loss = CustomLoss(user)
    factor = 1.0 + spread * np.random.default_rng(0).uniform(-1.0, 1.0, 41)
    for sign in (-1.0, 1.0):
        y = sign * scale * factor
        (start,) = loss.start(y, None)
        assert (y.min() <= start <= y.max()) or start == pytest.approx(y[0], rel=1e-11)
        assert_best(loss, y, start)


@by_user
def test_leaves_of_different_scale_are_searched_together(user):
    loss = CustomLoss(user)
    scales = [1.0, -1e5, 1e30, -1e-3, 0.0, 1e100]
    y = np.repeat(scales, 9) * np.tile(np.linspace(0.8, 1.3, 9), len(scales))
    starts = np.arange(0, y.size + 1, 9)
    rows = np.arange(y.size, dtype=np.uint32)
    steps = loss.line_search(y, np.zeros((1, y.size)), None, rows, starts)
    for leaf, step in enumerate(steps):
        inside = y[starts[leaf] : starts[leaf + 1]]
        assert_best(loss, inside, step)
        assert step == pytest.approx(loss.start(inside, None)[0], rel=1e-11)


@pytest.mark.parametrize("factor", [1e-20, 1e-3, 1e3, 1e20])
@pytest.mark.parametrize("minimum", [1e-10, -0.3, 7.0, -1e6, 1e14])
@pytest.mark.parametrize("bound", [np.inf, 4.0])
def test_wrong_curvatures_do_not_change_the_minimum(factor, minimum, bound):
    def derivatives(step):
        apart = (step - minimum) / abs(minimum)
        return apart, np.full(1, factor / abs(minimum))

    bounds = np.array([bound])
    step = minimise(derivatives, -bounds, bounds, np.zeros(1))
    assert step[0] == pytest.approx(np.clip(minimum, -bound, bound), rel=1e-11)


def test_a_slope_that_jumps_over_zero_is_found():
    for jump in (0.0, 0.1, -1e9):
        step = minimise(
            lambda step, jump=jump: (np.where(step >= jump, 0.3, -0.7), np.ones(1)),
            np.full(1, -np.inf), np.full(1, np.inf), np.zeros(1),
        )  # fmt: skip
        assert step[0] == pytest.approx(jump, rel=1e-11, abs=1e-300)


def test_infinite_slopes_mean_a_step_too_large():
    def derivatives(step):  # of exp(step) - 1e300 step
        with np.errstate(over="ignore"):
            return np.exp(2 * step) - 1e300, 2 * np.exp(2 * step)

    step = minimise(derivatives, np.full(1, -np.inf), np.full(1, np.inf), np.zeros(1))
    assert step[0] == pytest.approx(150 * np.log(10.0), rel=1e-11)


@pytest.mark.parametrize("user", USERS[1:], ids=lambda user: type(user).__name__)
def test_a_loss_without_minimum_is_refused(user):
    class WrongSign:
        loss = user.loss

        def gradient_hessian(self, y, raw):
            gradient, hessian = user.gradient_hessian(y, raw)
            return -gradient, hessian

    with pytest.raises(ValueError, match=r"has no minimum: .* up to 1e\+150; is the sign"):
        CustomLoss(WrongSign()).start(np.arange(5.0) + 1.0, None)


def test_64_halvings_leave_neighbouring_floats():
    ordered = np.array([-np.inf, -1e300, -1.0, -5e-324, 0.0, 5e-324, 1e-310, 0.5, 1.0, 1e300, np.inf])
    left, right = (values.ravel() for values in np.meshgrid(ordered, ordered, indexing="ij"))
    left, right = left[left < right], right[left < right]
    within = np.random.default_rng(0).uniform(size=left.size)
    for _ in range(64):
        middle = _middle_float(left, right)
        assert np.all((left <= middle) & (middle <= right))
        left, right = np.where(within < 0.5, left, middle), np.where(within < 0.5, middle, right)
    with np.errstate(over="ignore"):  # the neighbour of the largest float is infinite
        np.testing.assert_array_equal(np.nextafter(left, right), right)
    assert _middle_float(np.array([1.0]), np.array([2.0]))[0] == 1.5
