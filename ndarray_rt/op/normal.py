"""Normal numbers from random words, by additions, multiplications, divisions and roots alone.

So the native kernel (native/random.c) gives the same bits, whatever the C library's functions do.
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
_COSINE = [(-1) ** k / factorial(2 * k) for k in range(8, -1, -1)]


def _series(coefficients: list[float], x: F64) -> F64:
    """A polynomial, the highest power first (Horner)."""
    made = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        made = made * x + coefficient
    return made


def minus_two_log(words: U32) -> F64:
    """-2 log((word + 1) / 2**32), by the series of atanh."""
    mantissa, exponent = np.frexp((words + 1.0) * 2.0**-32)
    small = mantissa < _ROOT_HALF
    m = np.where(small, mantissa * 2.0, mantissa)
    e = np.where(small, exponent - 1.0, exponent)
    s = (m - 1.0) / (m + 1.0)
    made: F64 = -2.0 * (e * _LOG_2 + 2.0 * s * _series(_ATANH, s * s))
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
