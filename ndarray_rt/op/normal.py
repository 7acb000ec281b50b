"""Functions for random numbers that use additions, multiplications, divisions and roots only.

So native kernels (native/kernels/random/ndrt_random.h) give the same bits, independent of the C
library's functions.
"""

from __future__ import annotations

from math import factorial

import numpy as np

U32 = np.ndarray[tuple[int], np.dtype[np.uint32]]
F64 = np.ndarray[tuple[int], np.dtype[np.float64]]

_ROOT_HALF = 0.70710678118654757
_LOG_2 = 0.69314718055994529
_TURN = 6.2831853071795862 * 2.0**-32
_ATANH = [1.0 / n for n in range(21, 0, -2)]
_SINE = [(-1) ** k / factorial(2 * k + 1) for k in range(8, -1, -1)]
_EXP = [1.0 / factorial(n) for n in range(13, -1, -1)]
_LOG_FACTORIALS = np.array([
    0.0, 0.0, 0.6931471805599453, 1.791759469228055, 3.1780538303479458, 4.787491742782046,
    6.579251212010101, 8.525161361065415, 10.60460290274525, 12.801827480081469])
_COSINE = [(-1) ** k / factorial(2 * k) for k in range(8, -1, -1)]


def _series(coefficients: list[float], x: F64) -> F64:
    """A polynomial, the highest power first (Horner)."""
    made = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        made = made * x + coefficient
    return made


def log(x: F64) -> F64:
    """The logarithm of positive normal numbers, by the series of atanh."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < _ROOT_HALF
    m = np.where(small, mantissa * 2.0, mantissa)
    e = np.where(small, exponent - 1.0, exponent)
    s = (m - 1.0) / (m + 1.0)
    made: F64 = e * _LOG_2 + 2.0 * s * _series(_ATANH, s * s)
    return made


def exp(x: F64) -> F64:
    """exp(x) for x <= 0, by its series; 0 where the result is not a normal number."""
    tiny = x < -708.0
    x = np.where(tiny, 0.0, x)
    n = np.floor(x * 1.4426950408889634 + 0.5)
    r = (x - n * 0.69314718036912382) - n * 1.9082149292705877e-10
    made: F64 = np.where(tiny, 0.0, np.ldexp(_series(_EXP, r), n.astype(np.int32)))
    return made


def log_factorial(k: F64) -> F64:
    """log(k!) for whole numbers, by Stirling's series."""
    small = k < 10
    x = np.where(small, 10.0, k) + 1.0
    r = 1.0 / x
    r2 = r * r
    rest = (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1.0 / 1680 * r2) * r2) * r2) * r
    made: F64 = ((x - 0.5) * log(x) - x) + 0.91893853320467274 + rest
    return np.where(small, _LOG_FACTORIALS[np.where(small, k, 0.0).astype(np.int64)], made)


def minus_two_log(words: U32) -> F64:
    """-2 log((word + 1) / 2**32)"""
    made: F64 = -2.0 * log((words.astype(np.float64) + 1.0) * 2.0**-32)
    return made


def sine_cosine(words: U32) -> tuple[F64, F64]:
    """Sine and cosine of 2 pi word / 2**32, by their series around the nearest quarter."""
    quarter = (words + np.uint32(0x20000000)) >> np.uint32(30)
    x = (words - (quarter << np.uint32(30))).view(np.int32) * _TURN
    x2 = x * x
    s, c = _series(_SINE, x2) * x, _series(_COSINE, x2)
    odd = (quarter & np.uint32(1)).astype(np.bool_)
    a, b = np.where(odd, c, s), np.where(odd, s, c)
    return (np.where(quarter & np.uint32(2), -a, a),
            np.where((quarter + np.uint32(1)) & np.uint32(2), -b, b))


def standard_normal(words: U32) -> F64:
    """As many numbers as words, an even count: two from each two (Box and Muller, 1958)."""
    radius = np.sqrt(minus_two_log(words[::2]))
    sine, cosine = sine_cosine(words[1::2])
    made = np.empty(words.shape, np.float64)
    made[::2] = radius * cosine
    made[1::2] = radius * sine
    return made
