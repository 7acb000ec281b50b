"""Calls of the native kernels in native/kernels/bytes/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def product_range(*, low: Mem, high: Mem, data_low: Mem, data_high: Mem, weight_low: Mem,
                  weight_high: Mem, data_most: float, weight_most: float) -> KernelCall:
    """What -2^31 and 2^31 stand for in sums of products of data and weights, of which these are the
    greatest numbers."""
    return KernelCall(lib.NDRT_KERNEL_PRODUCT_RANGE, (low, high, data_low, data_high, weight_low,
                      weight_high), (), (data_most, weight_most))


def product_scale(*, scale: Mem, left_low: Mem, left_high: Mem, right_low: Mem, right_high: Mem,
                  gives_floats: bool, wanted: float) -> KernelCall:
    """What products of int8 of two ranges are multiplied by to stand for floats, or for floats
    times `wanted`."""
    return KernelCall(lib.NDRT_KERNEL_PRODUCT_SCALE, (scale, left_low, left_high, right_low,
                      right_high), (gives_floats,), (wanted,))


def whole_bias(*, out: Mem, bias: Mem, data_low: Mem | None = None, data_high: Mem | None = None,
               weight_low: Mem | None = None, weight_high: Mem | None = None,
               bias_low: Mem | None = None, bias_high: Mem | None = None, n: int, is_scaled: bool,
               is_signed: bool) -> KernelCall:
    """An int8 bias as int32; scaled: in the steps of sums of products of int8 or uint8 data and
    int8 weights, cut off towards 0."""
    return KernelCall(lib.NDRT_KERNEL_WHOLE_BIAS, (out, bias, data_low, data_high, weight_low,
                      weight_high, bias_low, bias_high), (n, is_scaled, is_signed), ())


def quantize_range(*, low: Mem, high: Mem, scale: Mem, data_low: Mem, data_high: Mem,
                   is_signed: bool, most: float) -> KernelCall:
    """What makes numbers of 8 bits of floats in a range whose greatest becomes `most`, and their
    range: around 0 of int8."""
    return KernelCall(lib.NDRT_KERNEL_QUANTIZE_RANGE, (low, high, scale, data_low, data_high),
                      (is_signed,), (most,))


def dequantize_step(*, step: Mem, data_low: Mem, data_high: Mem, most: float) -> KernelCall:
    """What 1 stands for, where `most` is the greatest number of the range."""
    return KernelCall(lib.NDRT_KERNEL_DEQUANTIZE_STEP, (step, data_low, data_high), (), (most,))


def requantize_range(*, low: Mem, high: Mem, scale: Mem, data_low: Mem, data_high: Mem,
                     least: Mem | None = None, greatest: Mem | None = None, is_signed: bool,
                     most: float, wanted: float) -> KernelCall:
    """The same of int32 sums, whose range is what -2^31 and 2^31 stand for, and the range `wanted`
    or that from the least to the greatest sum."""
    return KernelCall(lib.NDRT_KERNEL_REQUANTIZE_RANGE, (low, high, scale, data_low, data_high,
                      least, greatest), (is_signed,), (most, wanted))


def widen_range(*, low: Mem, high: Mem, data_low: Mem, data_high: Mem) -> KernelCall:
    """A range that takes in another one."""
    return KernelCall(lib.NDRT_KERNEL_WIDEN_RANGE, (low, high, data_low, data_high), (), ())


def rescale(*, scale: Mem, data_low: Mem, data_high: Mem, low: Mem, high: Mem, data_most: float,
            most: float) -> KernelCall:
    """What brings numbers of 8 bits from one range to another; 1 where both are the same."""
    return KernelCall(lib.NDRT_KERNEL_RESCALE, (scale, data_low, data_high, low, high), (),
                      (data_most, most))


def sum_scales(*, low: Mem, high: Mem, left_scale: Mem, right_scale: Mem, left_low: Mem,
               left_high: Mem, right_low: Mem, right_high: Mem, is_calibrated: bool,
               left_most: float, right_most: float, most: float, calibrated_low: float,
               calibrated_high: float) -> KernelCall:
    """What both terms of a sum are multiplied by, and its range: the calibrated one, or that of
    both together."""
    return KernelCall(lib.NDRT_KERNEL_SUM_SCALES, (low, high, left_scale, right_scale, left_low,
                      left_high, right_low, right_high), (is_calibrated,), (left_most, right_most,
                      most, calibrated_low, calibrated_high))


def norm_factors(*, factors: Mem, shifts: Mem, gamma: Mem, beta: Mem, mean: Mem, var: Mem,
                 data_low: Mem, data_high: Mem, n: int, epsilon: float,
                 wanted: float) -> KernelCall:
    """What 8-bit numbers are multiplied by and what is added, for each of n channels, that
    normalizes them and brings them to a range whose greatest is `wanted`."""
    return KernelCall(lib.NDRT_KERNEL_NORM_FACTORS, (factors, shifts, gamma, beta, mean, var,
                      data_low, data_high), (n,), (epsilon, wanted))


def added_scale(*, scale: Mem, low: Mem, high: Mem, is_signed: bool,
                out_scale: float) -> KernelCall:
    """What int8 or uint8 in a range is multiplied by to be added to numbers that stand for floats
    times `out_scale`."""
    return KernelCall(lib.NDRT_KERNEL_ADDED_SCALE, (scale, low, high), (is_signed,), (out_scale,))


def product_factor(*, scale: Mem, left_low: Mem, left_high: Mem, right_low: Mem, right_high: Mem,
                   left_signed: bool, right_signed: bool, wanted: float,
                   times: float) -> KernelCall:
    """What brings products of 8-bit numbers of two ranges to floats times `wanted` and `times`, in
    this order."""
    return KernelCall(lib.NDRT_KERNEL_PRODUCT_FACTOR, (scale, left_low, left_high, right_low,
                      right_high), (left_signed, right_signed), (wanted, times))


def layer_factors(*, factors: Mem, shifts: Mem, gamma: Mem | None = None, beta: Mem, mean: Mem,
                  var: Mem, bias: Mem | None = None, n: int, epsilon: float) -> KernelCall:
    """What batch normalization behind a layer with or without a bias multiplies its weights by, for
    each of n channels, and the bias it makes."""
    return KernelCall(lib.NDRT_KERNEL_LAYER_FACTORS, (factors, shifts, gamma, beta, mean, var,
                      bias), (n,), (epsilon,))


def round_layer(*, weight_out: Mem, bias_out: Mem | None = None, scale: Mem | None = None,
                range: Mem | None = None, weight: Mem, factors: Mem | None = None,
                bias: Mem | None = None, data_low: Mem, data_high: Mem, added: Mem | None = None,
                rows: int, width: int, is_signed: bool, from_zero: bool, by_rows: bool, kind: int,
                out_scale: float, growth: float, added_growth: float) -> KernelCall:
    """Weights, times a factor of each row, as int8, and the bias in the steps of the sums, whole
    numbers of kind S32 or F32: with a scale of each row, such that the bias keeps away from the
    ends of int32, or with one. `scale` brings sums to floats times `out_scale`; with one scale,
    there is room for the bias times the growth and for floats up to `added` times theirs, and
    `range` is what -2^31 and 2^31 stand for, and what floats are multiplied by to be sums. uint8
    data is refused with `from_zero` if its range begins below 0."""
    return KernelCall(lib.NDRT_KERNEL_ROUND_LAYER, (weight_out, bias_out, scale, range, weight,
                      factors, bias, data_low, data_high, added), (rows, width, is_signed,
                      from_zero, by_rows, kind), (out_scale, growth, added_growth))


def dense_scales(*, ratio: Mem, factor: Mem, scale: Mem, data_low: Mem, data_high: Mem,
                 weight_low: Mem, weight_high: Mem, bias_low: Mem | None = None,
                 bias_high: Mem | None = None, range: Mem | None = None, is_signed: bool,
                 out_scale: float, growth: float) -> KernelCall:
    """Of int8 weights and bias: what both are multiplied by so that the bias is in the steps of the
    sums and, times the growth, keeps away from the ends of int32; `scale` and `range` as of
    round_layer."""
    return KernelCall(lib.NDRT_KERNEL_DENSE_SCALES, (ratio, factor, scale, data_low, data_high,
                      weight_low, weight_high, bias_low, bias_high, range), (is_signed,),
                      (out_scale, growth))


def bend_sums(*, out: Mem, data: Mem, steps: Mem, added: Mem | None = None, low: Mem | None = None,
              high: Mem | None = None, n: int, added_signed: bool = False, first_slope: float,
              first_low: float, first_high: float, last_slope: float, last_low: float,
              last_high: float) -> KernelCall:
    """What follows int32 sums, which stand for sums / steps: those below 0 times a slope, and
    bounds, of floats; then int8 or uint8 of a range is added, and the result bent again. In double,
    to the nearest int32; NaN becomes 0."""
    return KernelCall(lib.NDRT_KERNEL_BEND_SUMS, (out, data, steps, added, low, high), (n,
                      added_signed), (first_slope, first_low, first_high, last_slope, last_low,
                      last_high))


def round_away(*, out: Mem, data: Mem, factor: Mem, n: int, kind: int) -> KernelCall:
    """int8 times the factor, to the nearest whole number, halves away from 0, as kind S8, S32, or
    F32 of such an int32."""
    return KernelCall(lib.NDRT_KERNEL_ROUND_AWAY, (out, data, factor), (n, kind), ())


def to_bytes(*, out: Mem, data: Mem, scale: Mem | None = None, n: int, kind: int, is_signed: bool,
             factor: float) -> KernelCall:
    """data, of kind F32, S32, S8 or U8, times the scale or else the factor, as int8 or uint8: to
    the nearest, halves to even, and to the ends. NaN becomes 127 or 0."""
    return KernelCall(lib.NDRT_KERNEL_TO_BYTES, (out, data, scale), (n, kind, is_signed), (factor,))


def join_bytes(*, out: Mem, data: Mem, scale: Mem, rows: int, width: int, columns: int, first: int,
               is_data_signed: bool, is_signed: bool) -> KernelCall:
    """The same of rows of int8 or uint8, of which row r goes to the `columns` r of out, from the
    `first` one on."""
    return KernelCall(lib.NDRT_KERNEL_JOIN_BYTES, (out, data, scale), (rows, width, columns, first,
                      is_data_signed, is_signed), ())


def norm_bytes(*, out: Mem, data: Mem, factors: Mem, shifts: Mem, outer: int, channels: int,
               inner: int, is_signed: bool) -> KernelCall:
    """int8 or uint8, which is brought to int8 first, times the factor plus the shift of its
    channel, as int8 as in `to_bytes`."""
    return KernelCall(lib.NDRT_KERNEL_NORM_BYTES, (out, data, factors, shifts), (outer, channels,
                      inner, is_signed), ())


def from_bytes(*, out: Mem, data: Mem, step: Mem, n: int, is_signed: bool) -> KernelCall:
    """int8 or uint8 times the step."""
    return KernelCall(lib.NDRT_KERNEL_FROM_BYTES, (out, data, step), (n, is_signed), ())


def sum_bytes(*, out: Mem, left: Mem, right: Mem, left_scale: Mem, right_scale: Mem,
              scale: Mem | None = None, n: int, left_signed: bool, right_signed: bool, kind: int,
              rectify: bool = False) -> KernelCall:
    """The sum of int8 or uint8 times its scale each, as kind S8, U8 or S32: rounded as in
    `to_bytes`, NaN becomes the greatest signed number. With a scale the sum is rounded to int32,
    and that times the scale to S8 or U8, with `rectify` 0 where it is below."""
    return KernelCall(lib.NDRT_KERNEL_SUM_BYTES, (out, left, right, left_scale, right_scale, scale),
                      (n, left_signed, right_signed, kind, rectify), ())


def multiply_bytes(*, out: Mem, left: Mem, right: Mem, scale: Mem | None = None, n: int,
                   kind: int) -> KernelCall:
    """Products of int8 as kind S32; times the scale as F32, or cut off towards 0 as S8, as in
    `to_bytes`."""
    return KernelCall(lib.NDRT_KERNEL_MULTIPLY_BYTES, (out, left, right, scale), (n, kind), ())


def relu_bytes(*, out: Mem, data: Mem, n: int) -> KernelCall:
    """int8, and 0 for what is below."""
    return KernelCall(lib.NDRT_KERNEL_RELU_BYTES, (out, data), (n,), ())


def extent(*, least: Mem, greatest: Mem, data: Mem, n: int, kind: int) -> KernelCall:
    """Of kind F32, where NaN is passed over, or S32; of none the ends of float32, or 0."""
    return KernelCall(lib.NDRT_KERNEL_EXTENT, (least, greatest, data), (n, kind), ())
