"""gamma, its logarithm and the slope of that, and the inverse of erf, in numpy alone.

All in double precision. Where a series needs coefficients, they are made from the exact values that
Python's math module gives at a few points. Registers no operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..._array.layout import AnyArray
from .numeric import chebyshev, convert, erf, scaled_erfc

Function = Callable[[AnyArray], AnyArray]

_BLOCK = 1 << 14  # elements that stay in the cache through all terms
_STIRLING = 10.0  # from there on the asymptotic series are exact to the last bits
# of 1/x, 1/x**3, ... in the logarithm of gamma
_LOG_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# of 1/x**2, 1/x**4, ... in its slope
_SLOPE_TERMS = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)
_FINITE_BELOW = 172.0  # gamma of more than that is infinite


def _blockwise(function: Function, x: AnyArray) -> AnyArray:
    """A function of doubles over an array of any dtype, a block at a time."""
    flat = x.astype(np.float64, copy=False).reshape(-1)
    made: AnyArray = np.empty(flat.shape, np.float64)
    with np.errstate(all="ignore"):
        for start in range(0, flat.size, _BLOCK):
            made[start:start + _BLOCK] = function(flat[start:start + _BLOCK])
    return convert(made.reshape(x.shape), x.dtype)


def _horner(terms: tuple[float, ...], x: AnyArray) -> AnyArray:
    made = np.full_like(x, terms[-1])
    for term in reversed(terms[:-1]):
        made = made * x + term
    return made


def _sine_of_pi(x: AnyArray) -> AnyArray:
    """sin(pi x), of an angle that is reduced before it is multiplied by pi; 0 for whole numbers."""
    part = x - 2 * np.round(x / 2)  # [-1, 1], exact
    half = np.where(np.abs(part) > 0.5, np.copysign(1.0, part) - part, part)
    return np.sin(np.pi * half)


# ---- gamma --------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _log_gamma_series() -> AnyArray:
    """Chebyshev coefficients of log(gamma(x)) / ((x - 1) (x - 2)) over [1, 3]."""
    return chebyshev(lambda x: math.lgamma(x) / ((x - 1) * (x - 2)), 1.0, 3.0, 32)


def _log_gamma_positive(x: AnyArray) -> AnyArray:
    """For x >= 0."""
    near = np.clip(x, 0.0, _STIRLING)
    low = near < 1
    product = np.where(low, near, 1.0)
    near = np.where(low, near + 1, near)
    for _ in range(int(_STIRLING) - 3):
        high = near >= 3
        near = np.where(high, near - 1, near)
        product = np.where(high, product * near, product)
    value = (near - 1) * (near - 2) * np.polynomial.chebyshev.chebval(
        near - 2, _log_gamma_series())
    logs = np.log(product)
    made: AnyArray = value + np.where(low, -logs, logs)
    big = x >= _STIRLING
    if big.any():
        y = x[big]
        series = _horner(_LOG_TERMS, 1 / (y * y)) / y
        far = (y - 0.5) * (np.log(y) - 1) - 0.5 + (math.log(2 * math.pi) / 2 + series)
        made[big] = np.where(np.isinf(y), y, far)
    return made


def _log_gamma(x: AnyArray) -> AnyArray:
    size = np.abs(x)
    made = _log_gamma_positive(size)
    below = x < 0
    if below.any():
        y = size[below]
        made[below] = (math.log(math.pi) - np.log(y) - np.log(np.abs(_sine_of_pi(y)))
                       - made[below])
        whole = np.floor(y) == y
        made[below] = np.where(whole, np.inf, made[below])
    return np.where(np.isnan(x), x, made)


def _gamma_positive(x: AnyArray) -> AnyArray:
    """For x >= 1."""
    near = np.minimum(x, _FINITE_BELOW)
    # a power of half the size, twice: the whole one overflows before gamma does
    half = np.power(near, near / 2 - 0.25)
    series = np.exp(_horner(_LOG_TERMS, 1 / (near * near)) / near)
    far = math.sqrt(2 * math.pi) * half * np.exp(-near) * half * series
    small = np.minimum(near, _STIRLING)
    product = np.ones_like(small)
    for _ in range(int(_STIRLING) - 2):
        high = small >= 3
        small = np.where(high, small - 1, small)
        product = np.where(high, product * small, product)
    value = np.exp((small - 1) * (small - 2) * np.polynomial.chebyshev.chebval(
        small - 2, _log_gamma_series()))
    made: AnyArray = np.where(near < _STIRLING, product * value, far)
    # factorials have no fractions
    made = np.where((x < 23) & (np.floor(x) == x), np.rint(made), made)
    return np.where(x >= _FINITE_BELOW, np.inf, made)


def _gamma(x: AnyArray) -> AnyArray:
    above = x >= 1
    # 1 - x is exact enough only where x is not tiny
    made: AnyArray = _gamma_positive(np.where(above, x, np.where(x > 0, x + 1, 1 - x)))
    made = np.where(above, made, np.where(x > 0, made / x, np.pi / (_sine_of_pi(x) * made)))
    made = np.where(x == 0, np.copysign(np.inf, x), made)
    return np.where(np.isnan(x) | ((x < 0) & (np.floor(x) == x)), np.nan, made)


# ---- its slope ----------------------------------------------------------------------------------


def _digamma_positive(x: AnyArray) -> AnyArray:
    """For x > 0."""
    total, far = np.zeros_like(x), x
    for _ in range(int(_STIRLING)):
        low = far < _STIRLING
        total = np.where(low, total - 1 / far, total)
        far = np.where(low, far + 1, far)
    square = 1 / (far * far)
    return total + (np.log(far) - 0.5 / far + square * _horner(_SLOPE_TERMS, square))


def _digamma(x: AnyArray) -> AnyArray:
    below = x <= 0
    made = _digamma_positive(np.where(below, 1 - x, x))
    if below.any():
        part = x - np.round(x)
        made = np.where(below, made - np.pi / np.tan(np.pi * part), made)
        made = np.where(below & (np.floor(x) == x), np.inf, made)
    return made


# ---- the inverse of erf -------------------------------------------------------------------------

_TAIL = 0.995  # beyond it 1 - |x| says more than x
_STEPS = 5


def _inverse_near(x: AnyArray) -> AnyArray:
    """Halley's steps on erf(y) = x, for |x| up to _TAIL."""
    y = _guess(x, np.log1p(-x * x))
    for _ in range(_STEPS):
        step = (erf(y) - x) * (math.sqrt(math.pi) / 2) * np.exp(y * y)
        y = y - step / (1 + y * step)
    return y


def _inverse_far(x: AnyArray) -> AnyArray:
    """Newton's steps on log(erfc(y)) = log(1 - x), for x from _TAIL up to 1."""
    rest = np.log(1 - x)
    y = np.maximum(_guess(x, rest + np.log1p(x)), 1.95)
    for _ in range(_STEPS):
        scaled = scaled_erfc(y)
        y = y + (np.log(scaled) - y * y - rest) * scaled * (math.sqrt(math.pi) / 2)
    return y


def _guess(x: AnyArray, log: AnyArray) -> AnyArray:
    """Winitzki's formula, right to some thousandths; the first term of the series near 0."""
    a = 0.147
    middle = 2 / (math.pi * a) + log / 2
    far = np.copysign(np.sqrt(np.sqrt(middle * middle - log / a) - middle), x)
    return np.where(np.abs(x) < 0.1, x * (math.sqrt(math.pi) / 2), far)


def _erfinv(x: AnyArray) -> AnyArray:
    size = np.abs(x)
    made = _inverse_near(np.where(size <= _TAIL, x, 0.0))
    far = (size > _TAIL) & (size < 1)
    if far.any():
        made[far] = np.copysign(_inverse_far(size[far]), x[far])
    made = np.where(size == 1, np.copysign(np.inf, x), made)
    return np.where((size > 1) | np.isnan(x), np.nan, made)


def gamma(x: AnyArray) -> AnyArray:
    """The gamma function; NaN at negative whole numbers."""
    return _blockwise(_gamma, x)


def log_gamma(x: AnyArray) -> AnyArray:
    """The logarithm of |gamma|; infinite at whole numbers up to 0."""
    return _blockwise(_log_gamma, x)


def digamma(x: AnyArray) -> AnyArray:
    """The slope of log_gamma; infinite where that is, as MXNet has it."""
    return _blockwise(_digamma, x)


def erfinv(x: AnyArray) -> AnyArray:
    """The y whose erf is x; NaN beyond [-1, 1]."""
    return _blockwise(_erfinv, x)
