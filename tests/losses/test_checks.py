"""Invalid targets and arguments of losses, the table of names, and custom losses."""

import math
import re

import numpy as np
import pytest

from documents import DOCS
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.losses import (
    LOSSES,
    BinaryLogLoss,
    CustomLoss,
    Exponential,
    Gamma,
    Huber,
    MultinomialLogLoss,
    Poisson,
    SquaredError,
    Tweedie,
    make_loss,
)
from loss_cases import MAKERS, PseudoHuber, fill


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (SquaredError(), [1.0, np.nan], "y must be finite for loss='squared_error'; got nan"),
        (SquaredError(), [], "y must have at least one row"),
        (Poisson(), [1.0, -1.0], "at least 0 for loss='poisson'; got -1.0 at row 1"),
        (Poisson(), [0.0, 0.0], "a value above 0 for loss='poisson'; all are 0"),
        (Gamma(), [1.0, 2.0, 0.0], "above 0 for loss='gamma'; got 0.0 at row 2"),
        (Tweedie(1.5), [-3.0], "at least 0 for loss='tweedie'; got -3.0 at row 0"),
        (Tweedie(2.0), [0.0], "above 0 for loss='tweedie'; got 0.0 at row 0"),
        (BinaryLogLoss(), [0.0, 2.0], "class number from 0 to 1 .*got 2.0 at row 1"),
        (Exponential(), [-1.0, 1.0], "class number from 0 to 1 .*got -1.0 at row 0"),
        (MultinomialLogLoss(3), [0.5], "class number from 0 to 2 .*got 0.5 at row 0"),
        (CustomLoss(PseudoHuber(), task="classification"), [2.0], "PseudoHuber.* got 2.0 at row 0"),
    ],
)
def test_check_target_names_the_invalid_value(loss, y, message):
    with pytest.raises(ValueError, match=message):
        loss.check_target(np.array(y))


# --- the table of names


def test_every_loss_has_a_case_and_is_documented():
    cases = {make().name for make in MAKERS.values()}
    guide, files = DOCS / "guide" / "gradient-boosting.md", DOCS / "files.md"
    estimators = {"classification": GradientBoostingClassifier, "regression": GradientBoostingRegressor}
    for task, names in LOSSES.items():
        for name in names:
            assert name in cases
            assert f'"{name}"' in str(estimators[task].__doc__)
            assert f'| `"{name}"` |' in guide.read_text()
            assert re.search(rf"^\|.*`{name}`.*score", files.read_text(), re.MULTILINE)


def test_every_name_makes_its_loss():
    for name in LOSSES["regression"]:
        assert make_loss(name, task="regression").name == name
    for name in LOSSES["classification"]:
        assert make_loss(name, task="classification", n_classes=2).name == name
    assert make_loss("log_loss", task="classification", n_classes=5).n_outputs == 5
    assert make_loss("log_loss", task="classification", n_classes=1).n_outputs == 1
    assert make_loss("quantile", task="regression", quantile=0.1).quantile == 0.1
    assert make_loss("huber", task="regression", alpha=0.8).alpha == 0.8
    assert make_loss("tweedie", task="regression", power=1.2).power == 1.2
    ready = Huber(0.7)
    copied = make_loss(ready, task="regression")
    assert copied is not ready
    assert copied.alpha == 0.7
    assert isinstance(make_loss(PseudoHuber(), task="regression"), CustomLoss)


@pytest.mark.parametrize(
    ("loss", "options", "message"),
    [
        ("mse", {"task": "regression"}, "loss must be one of .*squared_error.* got 'mse'"),
        ("log_loss", {"task": "regression"}, "for regression, .* got 'log_loss'"),
        ("poisson", {"task": "classification", "n_classes": 2}, "for classification, .* got"),
        ("huber", {"task": "ranking"}, "task must be one of .* got 'ranking'"),
        ("log_loss", {"task": "classification"}, "n_classes must be an integer"),
        ("exponential", {"task": "classification", "n_classes": 3}, "two classes; y has 3"),
        (PseudoHuber(), {"task": "classification", "n_classes": 3}, "two classes; y has 3"),
        ("quantile", {"task": "regression", "quantile": 1.0}, "quantile must lie in .* got 1.0"),
        ("huber", {"task": "regression", "alpha": 0.0}, "alpha must lie in .* got 0.0"),
        ("tweedie", {"task": "regression", "power": 3.0}, r"power must lie in \[1, 2\]; got 3.0"),
    ],
)
def test_make_loss_rejects_invalid_arguments(loss, options, message):
    with pytest.raises(ValueError, match=message):
        make_loss(loss, **options)
    with pytest.raises(ValueError, match="n_classes must be at least 2"):
        MultinomialLogLoss(1)


# --- custom losses


def custom(gradient_hessian=None, loss=None, **methods):
    """A valid custom loss, except for the functions passed."""
    good = PseudoHuber()
    methods["loss"] = loss or good.loss
    methods["gradient_hessian"] = gradient_hessian or good.gradient_hessian
    return CustomLoss(type("Mine", (), {k: staticmethod(v) for k, v in methods.items()})())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, raw: raw - y, "Mine.gradient_hessian must return two arrays, .* got ndarray"),
        (lambda y, raw: (raw[:-1], y), r"gradient must have shape \(4,\)"),
        (lambda _, raw: (raw, 1.0), r"hessian must have shape \(4,\), .* got \(\)"),
        (lambda y, raw: (raw * 1j, y), "gradient must be real numbers; got dtype complex128"),
        (lambda _, raw: (raw, np.array(["a"] * 4)), "hessian must be real numbers; got dtype <U1"),
        (lambda y, _: (np.where(y == 2, np.nan, 0), y), "gradient must be finite; got nan at row 2"),
        (lambda y, raw: (raw, y * np.inf), "hessian must be finite; got (nan|inf) at row 0"),
        (lambda y, raw: (raw, 1 - y), "hessian is -2.0 at row 3; it must be at least 0"),
    ],
)
def test_custom_gradients_are_checked(function, message):
    loss = custom(function)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        fill(loss, np.arange(4.0), np.zeros((1, 4)))


def test_custom_losses_starts_and_links_are_checked():
    y, raw = np.arange(4.0), np.zeros((1, 4))
    with pytest.raises(ValueError, match=r"Mine.loss must have shape .* got \(\)"):
        custom(loss=lambda y, raw: (y - raw).sum()).mean_loss(y, raw, None)
    with pytest.raises(ValueError, match=r"Mine.start must return one number; got shape \(4,\)"):
        custom(start=lambda y, _: y).start(y, None)
    with pytest.raises(ValueError, match=r"Mine\.start must be finite; got nan"):
        custom(start=lambda *_: np.nan).start(y, None)
    with pytest.raises(ValueError, match=r"Mine.inverse_link must have shape \(4,\), .* got \(2,\)"):
        custom(inverse_link=lambda raw: raw[:2]).link.inverse(raw)
    with pytest.raises(TypeError, match="has no 'gradient_hessian'"):
        CustomLoss(type("Half", (), {"loss": len})())


def test_custom_probabilities_are_checked():
    user = type("Mine", (PseudoHuber,), {"inverse_link": lambda _, raw: raw + 1})()
    link = make_loss(user, task="classification", n_classes=2).link
    np.testing.assert_array_equal(link.inverse(np.array([[-0.5, 0.0]])), [[0.5, 1.0]])
    with pytest.raises(ValueError, match=r"inverse_link must return probabilities; got 1.5 at row 1"):
        link.inverse(np.array([[0.0, 0.5]]))
    plain = make_loss(PseudoHuber(), task="classification", n_classes=2).link
    np.testing.assert_array_equal(plain.inverse(np.zeros((1, 2))), 0.5)


def test_custom_functions_receive_read_only_arrays_and_optional_methods_are_used():
    def spoil(y, raw):
        raw += 1
        return raw, y

    with pytest.raises(ValueError, match="read-only"):
        fill(custom(spoil), np.arange(4.0), np.zeros((1, 4)))
    loss = custom(start=lambda y, weight: (y * weight).sum(), inverse_link=np.square)
    np.testing.assert_array_equal(loss.start(np.array([1.0, 2.0]), np.array([3.0, 4.0])), [11.0])
    np.testing.assert_array_equal(loss.link.inverse(np.array([[3.0]])), [[9.0]])


def test_custom_search_recovers_from_steps_that_overflow():
    def gradient_hessian(y, raw):
        mean = np.exp(raw)  # overflows at 710; the first Newton step goes to exp(10) - 1
        return mean - y, mean

    y = np.full(3, math.exp(10.0))
    loss = custom(gradient_hessian, loss=lambda y, raw: np.exp(raw) - y * raw)
    assert loss.start(y, None)[0] == pytest.approx(10.0, rel=1e-12)


def test_a_custom_loss_without_link_raises_not_implemented():
    class HalfLinked(PseudoHuber):
        def inverse_link(self, raw):
            return raw

    loss = CustomLoss(HalfLinked())
    with pytest.raises(NotImplementedError, match=r"has no link\(mean\), only inverse_link\(raw\)"):
        loss.link.link(np.zeros(3))
