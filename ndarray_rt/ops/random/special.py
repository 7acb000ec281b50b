"""The logarithm of the gamma function and its slope, in numpy. Registers no operator."""

from __future__ import annotations

import math

import numpy as np

from ...ndarray.layout import AnyArray

_STIRLING = 10.0  # from there on the asymptotic series are exact to the last bits
_HALF_LOG_TURN = 0.5 * math.log(2 * math.pi)
# of 1/x, 1/x**3, ... in the logarithm of gamma
_LOG_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# of 1/x**2, 1/x**4, ... in its slope
_SLOPE_TERMS = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)


def _series(terms: tuple[float, ...], x: AnyArray) -> AnyArray:
    made = np.full_like(x, terms[-1])
    for term in reversed(terms[:-1]):
        made = made * x + term
    return made


def log_gamma(x: AnyArray) -> AnyArray:
    """log(gamma(x)) of doubles: infinite at 0, NaN below it."""
    product, far = np.ones_like(x), x.copy()
    for _ in range(int(_STIRLING)):
        low = far < _STIRLING
        if not low.any():
            break
        product = np.where(low, product * far, product)
        far = np.where(low, far + 1, far)
    inverse = 1 / far
    made = ((far - 0.5) * np.log(far) - far + _HALF_LOG_TURN
            + inverse * _series(_LOG_TERMS, inverse * inverse) - np.log(np.abs(product)))
    made = np.where(np.isinf(x), np.inf, made)
    return np.where(x < 0, np.nan, made)


def digamma(x: AnyArray) -> AnyArray:
    """The slope of log_gamma."""
    total, far = np.zeros_like(x), x.copy()
    for _ in range(int(_STIRLING)):
        low = far < _STIRLING
        if not low.any():
            break
        total = np.where(low, total - 1 / far, total)
        far = np.where(low, far + 1, far)
    square = 1 / (far * far)
    made = total + (np.log(far) - 0.5 / far + square * _series(_SLOPE_TERMS, square))
    return np.where(x < 0, np.nan, made)
