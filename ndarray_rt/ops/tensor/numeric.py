"""MXNet's arithmetic in numpy: what its functions of one and two numbers give for each dtype.

Integers are computed in double precision and halves in single, as MXNet does, and come back
truncated. Registers no operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray
from ...dtypes import DType

Function1 = Callable[[AnyArray], AnyArray]
Function2 = Callable[[AnyArray, AnyArray], AnyArray]


def is_integer(dtype: DType) -> bool:
    """Whole numbers or bool."""
    return dtype.kind in "iub"


def wide_dtype(dtype: DType) -> DType:
    """The dtype that functions of this dtype are computed in."""
    if is_integer(dtype):
        return np.dtype(np.float64)
    return dtype if dtype.itemsize >= 4 else np.dtype(np.float32)


def wide(x: AnyArray) -> AnyArray:
    """`x` in the dtype that functions of it are computed in."""
    return x.astype(wide_dtype(x.dtype), copy=False)


def single(x: AnyArray) -> AnyArray:
    """`x` as MXNet takes it in functions that know float and double only: integers as float."""
    return x.astype(np.float32 if is_integer(x.dtype) else wide_dtype(x.dtype), copy=False)


def ordered(x: AnyArray) -> AnyArray:
    """`x` in a dtype whose NaN numpy finds greater than all numbers: of bfloat16 it does not."""
    return wide(x) if x.dtype.name == "bfloat16" else x


def convert(value: Any, dtype: DType) -> AnyArray:
    """`value` cast as C does: towards zero, small integers modulo their range."""
    made: AnyArray = np.asarray(value)
    if made.dtype == dtype:
        return made
    if dtype.kind == "b":
        made = np.asarray(made != 0)
    elif dtype.kind in "iu" and dtype.itemsize < 4 and not is_integer(made.dtype):
        # C gives no meaning to a float outside the range; x86 goes through int
        made = made.astype(np.int32)
    return made.astype(dtype)


def scalar_of(value: float, dtype: DType) -> AnyArray:
    """A parameter as an array of rank 0 of the dtype that it meets."""
    return convert(np.float64(value), dtype)


# ---- functions of two numbers -------------------------------------------------------------------


def _bool_safe(function: Function2) -> Function2:
    """Arithmetic on bool as C does it: as 0 and 1, and not zero is True."""
    def safe(a: AnyArray, b: AnyArray) -> AnyArray:
        if a.dtype.kind == "b":
            return convert(function(a.astype(np.int8), b.astype(np.int8)), a.dtype)
        return function(a, b)
    return safe


def _divide(a: AnyArray, b: AnyArray) -> AnyArray:
    if not is_integer(a.dtype):
        return a / b
    # C rounds towards zero; where it would trap, the result is 0
    quotient = np.floor_divide(a, b)
    inexact = quotient * b != a
    up: AnyArray = quotient + (inexact & ((a < 0) != (b < 0))).astype(a.dtype)
    return np.where(b == 0, np.zeros((), a.dtype), up)


def times_slope(dy: AnyArray, slope: AnyArray) -> AnyArray:
    """dy times a slope, in the dtype of dy; a slope of integers is one first, as in MXNet."""
    if is_integer(dy.dtype):
        return np.asarray(dy * convert(slope, dy.dtype))
    return convert(wide(dy) * slope, dy.dtype)


def _mod(a: AnyArray, b: AnyArray) -> AnyArray:
    if a.dtype.kind == "b":
        return np.zeros(np.broadcast(a, b).shape, a.dtype)
    # the sign of the divisor, and 0 for a divisor of 0
    return np.where(b == 0, np.zeros((), a.dtype), np.mod(a, b))


def power(a: AnyArray, b: AnyArray) -> AnyArray:
    """C's pow: numpy takes roots for powers of one number 0.5, which differ at -0 and -inf."""
    return np.asarray(np.power(a, np.array(np.broadcast_to(b, np.broadcast(a, b).shape))))


def power_slope(a: AnyArray, b: AnyArray) -> AnyArray:
    """The slope of a ** b by a, 0 where b is."""
    return np.where(b == 0, a.dtype.type(0), b * power(a, b - 1))


def log_power(a: AnyArray, y: AnyArray) -> AnyArray:
    """The slope of y = a ** b by b, 0 where a is and y does not grow without bounds."""
    return np.where((a == 0) & np.isfinite(y), y.dtype.type(0), y * np.log(a))


def share(x: AnyArray, y: AnyArray) -> AnyArray:
    """x / y, the slope of a root y of a sum of squares: 0 where that is 0, the least of slopes."""
    return np.where(y == 0, x.dtype.type(0), x / y)


def _power(a: AnyArray, b: AnyArray) -> AnyArray:
    return convert(power(single(a), single(b)), a.dtype)


def _hypot(a: AnyArray, b: AnyArray) -> AnyArray:
    return convert(np.hypot(single(a), single(b)), a.dtype)


def _as_input(function: Function2) -> Function2:
    """A comparison whose 0 and 1 have the dtype of the operands."""
    return lambda a, b: function(a, b).astype(a.dtype)


class Binary(NamedTuple):
    """A function of two numbers and its slopes, computed in the dtype of `wide`.

    `steps`: of integers the slopes are 0, as in MXNet.
    """

    forward: Function2
    slope_a: Function2 | None = None
    slope_b: Function2 | None = None
    steps: bool = False


BINARY: dict[str, Binary] = {
    "add": Binary(_bool_safe(np.add)),
    "sub": Binary(_bool_safe(np.subtract)),
    "mul": Binary(_bool_safe(np.multiply)),
    "div": Binary(_bool_safe(_divide)),
    "mod": Binary(_mod, lambda a, b: np.ones_like(a), lambda a, b: -np.floor(a / b),
                  steps=True),
    "power": Binary(_power, power_slope,
                    lambda a, b: log_power(a, power(a, b))),
    "maximum": Binary(np.maximum, lambda a, b: (a >= b).astype(a.dtype),
                      lambda a, b: (a < b).astype(a.dtype)),
    "minimum": Binary(np.minimum, lambda a, b: (a <= b).astype(a.dtype),
                      lambda a, b: (a > b).astype(a.dtype)),
    "hypot": Binary(_hypot, lambda a, b: share(a, np.hypot(a, b)),
                    lambda a, b: share(b, np.hypot(a, b))),
    "equal": Binary(_as_input(np.equal)),
    "not_equal": Binary(_as_input(np.not_equal)),
    "greater": Binary(_as_input(np.greater)),
    "greater_equal": Binary(_as_input(np.greater_equal)),
    "lesser": Binary(_as_input(np.less)),
    "lesser_equal": Binary(_as_input(np.less_equal)),
    "logical_and": Binary(_as_input(np.logical_and)),
    "logical_or": Binary(_as_input(np.logical_or)),
    "logical_xor": Binary(_as_input(np.logical_xor)),
}
SMOOTH = ("mod", "power", "maximum", "minimum", "hypot")  # their slopes stand in the table
LOGIC = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal",
         "logical_and", "logical_or", "logical_xor")


# ---- rounding -----------------------------------------------------------------------------------


def round_half_away(x: AnyArray) -> AnyArray:
    """To the nearest integer, halves away from zero."""
    whole: AnyArray = np.trunc(x)
    # x - whole is exact; adding 0.5 first would not be
    up: AnyArray = np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)
    return whole + up


def round_half_down(x: AnyArray) -> AnyArray:
    """To the nearest integer, halves to the lower one: MXNet's rint."""
    low, high = np.floor(x), np.ceil(x)
    return np.where(x - low <= high - x, low, high)


def sigmoid(x: AnyArray) -> AnyArray:
    """1 / (1 + exp(-x)) without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


# ---- the error function -------------------------------------------------------------------------

_EDGE = 2.0  # below it a series for erf, above it one for erfc
_FAR = 6.0  # from there on erf is 1 to the last bit
_BLOCK = 1 << 14  # elements that stay in the cache through all terms


def chebyshev(function: Callable[[float], float], low: float, high: float,
               terms: int) -> AnyArray:
    """Coefficients of the polynomial that agrees with `function` at the Chebyshev points."""
    def cosine(n: int, k: int) -> float:
        # the angle is reduced as a whole number of steps: its error would drown the last terms
        return math.cos(n * (2 * k + 1) % (4 * terms) * (math.pi / (2 * terms)))
    values = [function(low + (cosine(1, k) + 1) * ((high - low) / 2)) for k in range(terms)]
    sums = [math.fsum(v * cosine(n, k) for k, v in enumerate(values)) for n in range(terms)]
    return np.array([sums[0] / terms, *(2 * total / terms for total in sums[1:])])


@lru_cache(maxsize=1)
def _erf_series() -> tuple[AnyArray, AnyArray]:
    """Chebyshev coefficients of erf(x) / x over x**2, and of exp(x**2) erfc(x) over x.

    From the exact values that Python's math module gives at a few points.
    """
    near = chebyshev(lambda s: math.erf(math.sqrt(s)) / math.sqrt(s), 0.0, _EDGE**2, 21)
    far = chebyshev(lambda x: math.exp(x * x) * math.erfc(x), _EDGE, _FAR, 20)
    return near, far


def scaled_erfc(x: AnyArray) -> AnyArray:
    """exp(x**2) (1 - erf(x)) for doubles from 2 to 6."""
    _, far = _erf_series()
    made: AnyArray = np.polynomial.chebyshev.chebval((x - _EDGE) * (2 / (_FAR - _EDGE)) - 1, far)
    return made


def _erf_block(x: AnyArray) -> AnyArray:
    near, _ = _erf_series()
    size = np.abs(x)
    small = np.minimum(size, _EDGE)
    made = small * np.polynomial.chebyshev.chebval(small * small * (2 / _EDGE**2) - 1, near)
    big = size > _EDGE
    if big.any():
        y = np.minimum(size[big], _FAR)
        tail = np.exp(-y * y) * scaled_erfc(y)
        made[big] = np.where(size[big] >= _FAR, 1.0, 1.0 - tail)
    signed: AnyArray = np.copysign(made, x)
    return np.where(np.isnan(x), x, signed)


def erf(x: AnyArray) -> AnyArray:
    """The error function, to within a few units in the last place of a double."""
    flat = x.astype(np.float64, copy=False).reshape(-1)
    made: AnyArray = np.empty(flat.shape, np.float64)
    for start in range(0, flat.size, _BLOCK):
        made[start:start + _BLOCK] = _erf_block(flat[start:start + _BLOCK])
    return convert(made.reshape(x.shape), x.dtype)
