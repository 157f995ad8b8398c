"""exp, log and related functions of one float64, with the same bits on every CPU.

A float64 is 2**k * m. `exp` splits x = n ln 2 + r with |r| <= ln(2) / 2, evaluates a polynomial in
r and puts n into the exponent bits of the result. `log` reads k from the bits, keeps m in
[sqrt(1/2), sqrt(2)) and evaluates a polynomial in s**2, s = (m - 1) / (m + 1). Both use plain
multiplications, additions and divisions in a fixed order, no fused operation and no library call:
IEEE 754 fixes every bit. Errors stay below 1 ulp (exp, log), 2 ulp (log1p) and 2.5 ulp
(sigmoid); the tests measure them against 40-digit decimals.

Conditions are selects, never branches, so that LLVM vectorises a loop that calls these functions: the
`*_into` loops are packed multiplications and additions on zmm registers with AVX-512 and on ymm
with AVX2, without `fmadd`. Two things would stop it: the default error model (a test for division
by zero in every row) and an index that might be negative. Hence `error_model="numpy"`, and loops
over `range(array.size)`.

The coefficients are minimax polynomials, made for these intervals by a Remez exchange in 60-digit
arithmetic.
"""

import numpy as np

from hedgerow._typing import Floats
from hedgerow.kernels.cpu.jit import kernel

ROUND = 6755399441055744.0  # 1.5 * 2**52: t + ROUND has the integer nearest to t in its low bits
LOG2_E = 1.4426950408889634
LN2_HIGH = 0.6931471805598903  # the first 42 bits of ln 2, so that n * LN2_HIGH is exact for |n| < 2**11
LN2_LOW = 5.497923018708371e-14
EXPONENT_BIAS = np.int64(1023)
MANTISSA_BITS = np.int64(52)

EXP_LARGEST = 710.0  # exp overflows to inf here already
EXP_SMALLEST = -746.0  # and rounds to 0 here
EXP_CLAMP = 708.0  # within +-708 the result is a normal number: one scaling by 2**n is enough

UNSIGNED_BITS = np.uint64(52)
BITS_OF_ONE = np.uint64(0x3FF0000000000000)
BITS_ABOVE_HALF_ROOT = np.uint64(0x00095F619980C433)  # bits of 1 - bits of sqrt(1/2)
BITS_OF_TWO_52 = np.uint64(0x4330000000000000)
TWO_52_AND_BIAS = 4503599627370496.0 + 1023.0
SMALLEST_NORMAL = 2.2250738585072014e-308
TWO_54 = 18014398509481984.0


@kernel
def _power_of_two(shifted: float) -> float:
    """2**n for n + ROUND: n moves from the low bits of the mantissa to the exponent."""
    bits = np.float64(shifted).view(np.int64)
    return np.int64((bits + EXPONENT_BIAS) << MANTISSA_BITS).view(np.float64)


@kernel
def _exp_reduced(x: float, n: float) -> float:
    """exp(x - n ln 2) = exp(r) = 1 + r + r**2 q(r) for |r| <= ln(2) / 2, q off by at most 4e-18."""
    high = x - n * LN2_HIGH  # exact
    low = n * LN2_LOW
    r = high - low
    q = 2.500001811473711e-08
    q = q * r + 2.7630306241611917e-07
    q = q * r + 2.7557586806152e-06
    q = q * r + 2.480149294966104e-05
    q = q * r + 0.0001984126950577135
    q = q * r + 0.0013888888943759939
    q = q * r + 0.008333333333494978
    q = q * r + 0.041666666666529725
    q = q * r + 0.1666666666666641
    q = q * r + 0.5000000000000011
    return 1.0 + (high + (r * r * q - low))  # high + (.. - low) instead of r: one rounding less


@kernel
def exp(x: float) -> float:
    """exp(x), with subnormal results; exp(-inf) = 0, exp(710) = inf, exp(nan) = nan."""
    x = EXP_LARGEST if x > EXP_LARGEST else x  # noqa: FURB136 - min() does not let nan pass
    x = EXP_SMALLEST if x < EXP_SMALLEST else x  # noqa: FURB136
    n = (x * LOG2_E + ROUND) - ROUND
    half = n * 0.5 + ROUND  # 2**n itself may overflow: multiply by 2**(n // 2), then by the rest
    rest = (n - (half - ROUND)) + ROUND
    return _exp_reduced(x, n) * _power_of_two(half) * _power_of_two(rest)


@kernel
def exp_clamped(x: float) -> float:
    """exp(x) with x clamped to [-708, 708]: cheaper than `exp`, never 0 and never inf."""
    x = EXP_CLAMP if x > EXP_CLAMP else x  # noqa: FURB136 - min() does not let nan pass
    x = -EXP_CLAMP if x < -EXP_CLAMP else x  # noqa: FURB136
    shifted = x * LOG2_E + ROUND
    return _exp_reduced(x, shifted - ROUND) * _power_of_two(shifted)


@kernel
def log(x: float) -> float:
    """Natural logarithm; log(0) = -inf, log(x < 0) = nan, log(inf) = inf, log(nan) = nan."""
    subnormal = x < SMALLEST_NORMAL
    scaled = x * TWO_54 if subnormal else x
    bits = np.float64(scaled).view(np.uint64)
    biased = (bits + BITS_ABOVE_HALF_ROOT) >> UNSIGNED_BITS  # k + 1023
    m = np.uint64(bits - (biased << UNSIGNED_BITS) + BITS_OF_ONE).view(np.float64)
    # k as a float by way of the bits of 2**52 + k + 1023: AVX2 has no conversion from int64
    k = np.uint64(BITS_OF_TWO_52 | biased).view(np.float64) - TWO_52_AND_BIAS
    k = k - 54.0 if subnormal else k

    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    q = 0.14796728645315604  # log(m) = 2s + s z q(z), off by at most 2e-18
    q = q * z + 0.15313976923777883
    q = q * z + 0.1818356703138352
    q = q * z + 0.22222198524625772
    q = q * z + 0.28571428742824684
    q = q * z + 0.3999999999941289
    q = q * z + 0.6666666666666735
    h = 0.5 * f * f  # 2s = f - s f = f - h + s h: f is exact where 2s is rounded
    result: float = k * LN2_HIGH - ((h - (s * (h + z * q) + k * LN2_LOW)) - f)

    result = result if x < np.inf else x
    result = -np.inf if x == 0.0 else result
    return np.nan if x < 0.0 else result


@kernel
def log1p(x: float) -> float:
    """log(1 + x), exact to 2 ulp near 0: log(u) + (what rounding 1 + x to u lost) / u."""
    u = 1.0 + x
    lost = x - (u - 1.0) if u < 2.0 else 1.0 - (u - x)
    correction = lost / u if 0.0 < u < np.inf else 0.0
    return log(u) + correction


@kernel
def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), between 3.3e-308 and 1."""
    return 1.0 / (1.0 + exp_clamped(-x))


@kernel
def exp_into(x: Floats, out: Floats) -> None:
    """Write exp(x) for a one-dimensional x; out may be x."""
    for i in range(x.size):
        out[i] = exp(x[i])


@kernel
def log_into(x: Floats, out: Floats) -> None:
    """Write log(x) for a one-dimensional x; out may be x."""
    for i in range(x.size):
        out[i] = log(x[i])


@kernel
def log1p_into(x: Floats, out: Floats) -> None:
    """Write log(1 + x) for a one-dimensional x; out may be x."""
    for i in range(x.size):
        out[i] = log1p(x[i])


@kernel
def sigmoid_into(x: Floats, out: Floats) -> None:
    """Write 1 / (1 + exp(-x)) for a one-dimensional x; out may be x."""
    for i in range(x.size):
        out[i] = sigmoid(x[i])
