"""Weights and biases of layers as whole numbers: how MXNet's fused layers round them, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray
from ...dtypes import FLOAT32, INT8, INT32, DType
from .ranges import HALF_OVER, product_range, ratio, rounded, widest

Ends = tuple[np.float32, np.float32]

# what a number of a range that is nothing but 0, or as good as that, is multiplied by
MOST = np.float32(2.0**31)
# the most that a bias may become
MOST_BIAS = np.float32(2.0**30)
INT8_ENDS, INT32_ENDS = np.iinfo(np.int8), np.iinfo(np.int32)


def scale_of(dtype: DType, low: Any, high: Any) -> np.float32:
    """What floats of a range are multiplied by to become whole numbers."""
    made = ratio(HALF_OVER[dtype], widest(low, high))
    return MOST if np.isinf(made) else made


class Headroom(NamedTuple):
    """What int32 sums have to hold beside products: the bias, times `growth`, and up to `summand`,
    which is added behind, a float."""

    growth: float = 1.0
    summand: np.float32 = np.float32(0)


NONE_BEHIND = Headroom()


def extent(x: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Ends of a range around 0 that numbers lie in."""
    most = abs(x).max(initial=0)
    return np.array([-most]), np.array([most])


class Whole(NamedTuple):
    """A layer on whole numbers: int8 weights, int32 bias, and what floats were multiplied by, for
    each output or for all of them. `top` is what sums of 2^31 stand for where ranges do not tell
    it: the weights were scaled down for what is added, or data or weights are as good as 0."""

    weight: AnyArray
    bias: AnyArray | None
    scales: AnyArray
    top: np.float32 | None = None

    def ends(self, data: DType, ranges: Sequence[AnyArray]) -> Ends:
        """What -2^31 and 2^31 stand for in sums of products; `ranges` are those of `product_range`.
        """
        of_ranges = product_range(data, ranges)
        return of_ranges if self.top is None else (np.float32(-self.top), self.top)

    def factors(self, data_scale: np.float32, out_scale: np.float32) -> AnyArray:
        """What brings sums to floats times `out_scale`."""
        with np.errstate(all="ignore"):
            made: AnyArray = (np.float32(out_scale / data_scale) / self.scales).astype(FLOAT32)
        return made


def folded(weight: AnyArray, bias: AnyArray | None, norm: Any, gamma: AnyArray, beta: AnyArray,
           mean: AnyArray, var: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Weight and bias with what batch normalization does to them; `norm` has eps and fix_gamma."""
    with np.errstate(all="ignore"):
        factor = ((np.float32(1) if norm.fix_gamma else gamma)
                  / np.sqrt(var + np.float32(norm.eps))).astype(FLOAT32)
        centre = -mean if bias is None else bias - mean
        return weight * factor.reshape(-1, *[1] * (weight.ndim - 1)), beta + factor * centre


def _top(scale: np.float32, data_scale: np.float32) -> np.float32:
    """What sums of 2^31 stand for."""
    made: np.float32 = np.float32(HALF_OVER[INT32] / (scale * data_scale))
    return made


def whole_layer(weight: AnyArray, bias: AnyArray | None, data_scale: np.float32,
                by_rows: bool, behind: Headroom = NONE_BEHIND) -> Whole:
    """Weights and bias of floats as whole numbers.

    With a scale for each row that is such that the bias keeps away from the ends of int32; a scale
    for all is, unless it would hold the bias and what is behind it.
    """
    rows = weight.reshape(len(weight), prod(weight.shape[1:]))
    most = abs(rows).max(axis=1, initial=0) if by_rows else abs(rows).max(initial=0)[None]
    with np.errstate(all="ignore"):
        scales = HALF_OVER[INT8] / most
        scales = np.where((most > 0) & ~np.isinf(scales), scales, MOST).astype(FLOAT32)
        top: np.float32 | None = None
        if bias is not None and by_rows:
            limit = MOST_BIAS / abs(bias) / data_scale
            scales = np.where(bias != 0, np.minimum(scales, limit), scales)
        elif not by_rows:
            greatest = np.float32(0) if bias is None else np.fmax.reduce(
                abs(bias), initial=np.float32(0))
            greatest = np.float32(greatest * np.float32(behind.growth) + behind.summand)
            limit = MOST_BIAS if behind.summand > 0 else HALF_OVER[INT32]
            if greatest * (scales[0] * data_scale) >= limit:
                scales[0] = MOST_BIAS / greatest / data_scale
                top = _top(scales[0], data_scale)
            elif MOST in (scales[0], data_scale):
                top = _top(scales[0], data_scale)
        made = np.rint(rows * scales[:, None])
        whole = None if bias is None else to_int32(bias * (scales * data_scale))
    # in float32 and in place, unlike `rounded`: this is done at each run; NaN becomes 127 as there
    np.fmin(made, INT8_ENDS.max, out=made)
    np.fmax(made, INT8_ENDS.min, out=made)
    return Whole(made.astype(INT8).reshape(weight.shape), whole, scales, top)


def rescaled_layer(weight: AnyArray, weight_ends: Ends, bias: AnyArray | None,
                   bias_ends: Ends | None, data_scale: np.float32, growth: float = 1.0) -> Whole:
    """int8 weights as they are, and an int8 bias in the steps of the sums.

    Where such a bias, times the growth, would come near to the ends of int32 the weights are scaled
    down.
    """
    scale = scale_of(INT8, *weight_ends)
    top = _top(scale, data_scale) if MOST in (scale, data_scale) else None
    if bias is None or bias_ends is None:
        return Whole(weight, None, np.array([scale]), top)
    own = scale_of(INT8, *bias_ends)
    with np.errstate(all="ignore"):
        factor = np.float32(data_scale * scale / own)
        limit = np.float32(MOST_BIAS / (widest(*bias_ends) * np.float32(growth)) / own)
        if factor > limit:
            factor = limit
            smaller = np.float32(factor * own / data_scale / scale)
            weight = rounded(away(weight * smaller), INT8)
            scale = np.float32(scale * smaller)
            top = _top(scale, data_scale)
        return Whole(weight, to_int32(away(bias * factor)), np.array([scale]), top)


def away(x: AnyArray) -> AnyArray:
    """To the nearest whole number, halves away from 0."""
    made: AnyArray = np.copysign(np.floor(abs(x) + np.float32(0.5)), x)
    return made


def to_int32(x: AnyArray) -> AnyArray:
    """To the nearest whole number that int32 holds; NaN becomes 0."""
    whole = np.nan_to_num(np.rint(x.astype(np.float64)), nan=0)
    made: AnyArray = np.clip(whole, INT32_ENDS.min, INT32_ENDS.max).astype(np.int32)
    return made
