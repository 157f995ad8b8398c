"""exp, log and their relatives against long decimals, at their limits, and bit for bit."""

import hashlib
import math
import platform
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numba import njit

from hedgerow.kernels.cpu import elementary
from hedgerow.kernels.cpu.elementary import exp_into, log_into, sigmoid_into

ONE = Decimal(1)


def call(name, x):
    return np.array([getattr(elementary, name)(value) for value in x])


def exp_of(x):
    out = np.empty_like(x)
    exp_into(x, out)
    return out


def log_of(x):
    out = np.empty_like(x)
    log_into(x, out)
    return out


def worst_ulps(got, x, exact):
    """The largest error in units of the last place of the exact value."""
    worst = 0.0
    with localcontext() as context:
        context.prec = 80  # 1 + 1e-30 must keep 40 digits of 1e-30
        context.Emin = -2000
        for value, argument in zip(got, x, strict=True):
            truth = exact(Decimal(float(argument)))
            unit = Decimal(math.ulp(float(truth)))
            worst = max(worst, float(abs(Decimal(float(value)) - truth) / unit))
    return worst


def spread(seed, *intervals):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.uniform(low, high, 500) for low, high in intervals])


def test_exp_is_within_one_ulp_everywhere():
    x = spread(0, (-745.1, 709.7), (-1, 1), (-1e-3, 1e-3), (-745.1, -700))
    assert worst_ulps(exp_of(x), x, lambda d: d.exp()) < 1.0


def test_log_is_within_one_ulp_everywhere():
    wide = 2.0 ** spread(1, (-1073, 1023.9))
    x = np.concatenate([wide, spread(2, (0.5, 2), (0.999, 1.001)), [5e-324, 1e-310, 1.7e308]])
    assert worst_ulps(log_of(x), x, lambda d: d.ln()) < 1.0


def test_log1p_is_within_two_ulps():
    x = np.concatenate([spread(3, (-0.999, 1), (0, 1e6)), 10.0 ** spread(4, (-30, 0))])
    assert worst_ulps(call("log1p", x), x, lambda d: (ONE + d).ln()) < 2.0
    x = spread(5, (-40, 40), (-1, 1))


def test_sigmoid_is_within_two_and_a_half_ulps():
    x = spread(6, (-700, 700), (-40, 40), (-1, 1))
    assert worst_ulps(call("sigmoid", x), x, lambda d: ONE / (ONE + (-d).exp())) < 2.5


def test_exp_clamped_equals_exp_inside_and_its_ends_outside():
    x = spread(7, (-708, 708))
    np.testing.assert_array_equal(call("exp_clamped", x), exp_of(x))
    outside = call("exp_clamped", [1e9, np.inf, -1e9, -np.inf])
    ends = exp_of(np.array([708.0, 708.0, -708.0, -708.0]))
    np.testing.assert_array_equal(outside, ends)
    assert np.isfinite(outside).all()
    assert (outside > 0).all()


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("exp", 0.0, 1.0),
        ("exp", -np.inf, 0.0),
        ("exp", -745.2, 0.0),
        ("exp", -745.1, 5e-324),
        ("exp", 709.79, np.inf),
        ("exp", np.inf, np.inf),
        ("exp", np.nan, np.nan),
        ("log", 1.0, 0.0),
        ("log", 0.0, -np.inf),
        ("log", -0.0, -np.inf),
        ("log", -5e-324, np.nan),
        ("log", -np.inf, np.nan),
        ("log", np.inf, np.inf),
        ("log", np.nan, np.nan),
        ("log1p", 0.0, 0.0),
        ("log1p", 5e-324, 5e-324),
        ("log1p", -1.0, -np.inf),
        ("log1p", -1.5, np.nan),
        ("log1p", np.inf, np.inf),
        ("log1p", np.nan, np.nan),
        ("exp_clamped", np.nan, np.nan),
        ("sigmoid", 0.0, 0.5),
        ("sigmoid", np.inf, 1.0),
        ("sigmoid", np.nan, np.nan),
    ],
)
def test_limits(name, x, expected):
    np.testing.assert_array_equal(getattr(elementary, name)(x), expected)


def test_a_vector_and_its_single_rows_have_the_same_bits():
    x = spread(8, (-750, 720))
    np.testing.assert_array_equal(exp_of(x), [exp_of(x[i : i + 1])[0] for i in range(x.size)])
    x = np.abs(x)
    np.testing.assert_array_equal(log_of(x), [log_of(x[i : i + 1])[0] for i in range(x.size)])


def test_out_may_be_the_input():
    x = spread(9, (-5, 5))
    expected = exp_of(x)
    exp_into(x, x)
    np.testing.assert_array_equal(x, expected)


def test_bits_are_the_same_on_every_machine():
    x = np.arange(-30_000, 30_000) * 0.0245  # exact products are not needed: IEEE fixes them too
    bits = hashlib.sha256()
    for kernel, argument in ((exp_into, x), (log_into, np.abs(x)), (sigmoid_into, x)):
        out = np.empty_like(x)
        kernel(argument, out)
        bits.update(out.astype("<f8").tobytes())
    assert bits.hexdigest() == "2ae2e4e7f421ca326c2186c744f596da94bd74700421e779b751377b1e6fcc6a"


@pytest.mark.skipif(platform.machine() not in {"x86_64", "AMD64"}, reason="reads x86 assembly")
@pytest.mark.parametrize("kernel", [exp_into, log_into, sigmoid_into])
def test_loops_are_packed_and_never_fused(kernel):
    compiled = njit(error_model="numpy")(kernel.py_func)  # a kernel from the cache has no assembly
    compiled(np.ones(8), np.empty(8))
    (assembly,) = compiled.inspect_asm().values()
    assert "mulpd" in assembly
    assert "addpd" in assembly
    assert "fmadd" not in assembly
