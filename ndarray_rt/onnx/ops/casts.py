"""Casts, and quantized numbers as plain arithmetic."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..build import GraphBuilder, Quantized
from ..graph import Array, Node
from ..plan import NodeCall
from ..steps import made_steps, target_of
from ..table import operator
from ..tensors import dtype_of_kind
from ..values import FAST, DType, Value, constant, in_graphs


@lru_cache(maxsize=64)
def dtype_of(code: int) -> Any:
    """The dtype that a number of the format stands for."""
    return dtype_of_kind(int(code))


def is_integer(dtype: DType) -> bool:
    """Whole numbers, those of 4 or 2 bits too."""
    return dtype.kind in "iu" or dtype.name in ("int4", "uint4", "int2", "uint2")


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest whole number of a dtype."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return int(info.min), int(info.max)
    bits = int(dtype.name[-1])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if dtype.name.startswith("int") else (
        0, (1 << bits) - 1)


def _text(value: Any) -> str:
    if isinstance(value, (np.floating, float)):
        if np.isnan(value):
            return "NaN"
        if np.isinf(value):
            return "INF" if value > 0 else "-INF"
        return np.format_float_positional(value, trim="-") if 1e-4 <= abs(value) < 1e8 or (
            value == 0) else str(value)
    return str(value)


def convert(x: Array, dtype: DType, saturate: bool = True) -> Any:
    """An array in another dtype, as Cast makes it."""
    if dtype.kind == "O":
        made = np.empty(x.size, object)
        made[:] = [value if isinstance(value, str) else _text(value) for value in x.reshape(-1)]
        return made.reshape(x.shape)
    if x.dtype.kind == "O":
        texts = [str(value) for value in x.reshape(-1)]
        if dtype.kind in "iu":
            return np.array([int(float(t)) if "." in t or "e" in t else int(t) for t in texts],
                            dtype).reshape(x.shape)
        if dtype.kind == "b":
            return np.array([t not in ("", "0", "False", "false") for t in texts]).reshape(x.shape)
        return np.array([float(t) for t in texts], np.float64).astype(dtype).reshape(x.shape)
    if dtype.name.startswith("float8") or dtype.name.startswith("float4"):
        return _to_float8(x, dtype, saturate)
    if dtype.name in ("int4", "uint4", "int2", "uint2") and x.dtype.kind not in "iub":
        # as wider whole numbers: what does not fit is kept modulo the range
        low, high = limits(dtype)
        whole = np.trunc(x.astype(np.float32)).astype(np.int64)
        return ((whole - low) % (high - low + 1) + low).astype(np.int8).astype(dtype)
    if dtype.kind in "iu" and x.dtype.name == "bfloat16":
        return x.astype(np.float32).astype(dtype)
    return x.astype(dtype)


def _power_of_two(x: Array, how: str) -> Any:
    """float32 numbers as powers of two: the next one up or down, or the nearest."""
    share, exponent = np.frexp(np.maximum(x, np.float32(2.0**-127)))
    below = np.ldexp(np.float32(0.5), exponent)
    if how == "down":
        return below
    return np.where(share > 0.5 if how == "up" else share >= 0.75, below * 2, below)


def _to_float8(x: Array, dtype: DType, saturate: bool) -> Any:
    import ml_dtypes
    own = x.astype(np.float32)
    most = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    if saturate or dtype.name.startswith("float4"):
        keep_inf = dtype.name == "float8_e5m2" and not saturate
        clipped = np.where(np.isnan(own) | (keep_inf & np.isinf(own)), own,
                           np.clip(own, -most, most))
        return clipped.astype(dtype)
    return own.astype(dtype)


def _cast(node: Node, x: Array, dtype: DType) -> Any:
    if dtype.name == "float8_e8m0fnu" and x.dtype.kind == "f":
        return _power_of_two(x.astype(np.float32), node.attr("round_mode", "up")).astype(dtype)
    return convert(x, dtype, bool(node.attr("saturate", 1)))


@operator("Cast")
def cast(node: Node, x: Array) -> Any:
    return _cast(node, x, dtype_of(node.attr("to")))


@cast.sized
def cast_size(node: Node, x: Array) -> tuple[tuple[int, ...], Any]:
    return x.shape, dtype_of(node.attr("to"))


@cast.symbol
def cast_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    dtype = dtype_of(node.attr("to"))
    if dtype == x.dtype:
        return x
    half = np.dtype(np.float16)
    if (dtype in FAST or dtype == half) and (x.is_float or x.dtype == half or (
            dtype in FAST and x.dtype.kind in "iub" and in_graphs(x.dtype))):
        return b.shaped(b.op("Cast", x, dtype=dtype.name), x.shape)
    return None


@operator("CastLike")
def cast_like(node: Node, x: Array, like: Array) -> Any:
    return _cast(node, x, like.dtype)


@cast_like.sized
def cast_like_size(node: Node, x: Array, like: Array) -> tuple[tuple[int, ...], Any]:
    return x.shape, like.dtype


@operator("BitCast")
def bit_cast(node: Node, x: Array) -> Any:
    return np.ascontiguousarray(x).reshape(x.shape).view(dtype_of(node.attr("to")))


# ---- quantized numbers --------------------------------------------------------------------------


def _along(value: Array, node: Node, x: Array) -> Array:
    """Scales or zero points as they stand beside data: one, one for each place of an axis, or one
    for each block."""
    if value.ndim == 0 or (value.size == 1 and value.ndim <= 1):
        return value.reshape(())
    axis = int(node.attr("axis", 1)) % x.ndim
    block = int(node.attr("block_size", 0))
    if value.ndim == x.ndim and block:
        made = np.repeat(value, min(block, x.shape[axis]), axis)
        return made[tuple(slice(0, d) for d in x.shape)]
    if value.size != x.shape[axis]:
        raise ValueError(f"{value.size} scales or zero points for an axis of {x.shape[axis]}")
    return value.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


@operator("QuantizeLinear")
def quantize_linear(node: Node, x: Array, scale: Array, zero: Array | None = None) -> Any:
    kind = node.attr("output_dtype", 0)
    dtype = zero.dtype if zero is not None else dtype_of(kind) if kind else np.dtype(np.uint8)
    precision = node.attr("precision", 0)
    own = dtype_of(precision) if precision else (
        np.dtype(np.float32) if x.dtype.kind in "iu" else x.dtype)
    factor = _along(scale, node, x)
    shift = 0 if zero is None else _along(zero, node, x).astype(np.float32)
    divided = x.astype(own) / factor.astype(own)
    if is_integer(dtype):
        low, high = limits(dtype)
        made = np.rint(divided).astype(np.float32) + shift
        if dtype.itemsize >= 4:
            made = np.rint(divided).astype(np.float64) + shift
        clipped = np.clip(made, low, high)
        return clipped.astype(dtype) if dtype.kind in "iu" else clipped.astype(np.int8).astype(
            dtype)
    return convert(divided.astype(np.float32) + shift, dtype, bool(node.attr("saturate", 1)))


@quantize_linear.symbol
def quantize_symbol(b: GraphBuilder, node: Node, x: Value, scale: Value,
                    zero: Value | None = None) -> Value | None:
    """Whole numbers: computed of others where that has a form, else of floats. Of these it is known
    what is quantized, and how."""
    dtype = np.dtype(np.uint8) if zero is None else zero.dtype
    single = np.dtype(np.float32)
    if (x.dtype != single or scale.dtype != single or scale.const is None or scale.rank > 1
            or (zero is not None and zero.const is None) or dtype.kind not in "iu"
            or dtype.itemsize > 2 or not in_graphs(dtype) or any(node.attr(name, 0) for name in (
                "block_size", "precision", "output_dtype"))):
        return None
    target = target_of(scale, zero)
    if target is not None:
        from .whole_numbers import quantized, whole_numbers_of
        found = whole_numbers_of(b, x, target)
        if found is not None:
            return found
        made = quantized(b, x, target)
    else:
        call = NodeCall(quantize_linear, node,
                        [0, scale.const, None if zero is None else zero.const], 1)
        made, = b.function(call, [x], [(x.shape, dtype)], False)
    b.quantized[b.symbol(made).entries[0]] = Quantized(x, *_whole(node, x, scale, zero), dtype)
    return made


def _whole(node: Node, x: Value, scale: Value, zero: Value | None) -> tuple[Array, Array, int]:
    """Scales, as many zero points, and the axis that they are along; 0 for one scale."""
    assert scale.const is not None
    scales = scale.const.reshape(-1)
    zeros = np.zeros(scales.shape, np.float32)
    if zero is not None and zero.const is not None:
        zeros += zero.const.reshape(-1)
    return scales, zeros, int(node.attr("axis", 1)) % max(x.rank, 1) if scales.size > 1 else 0


@operator("DequantizeLinear")
def dequantize_linear(node: Node, x: Array, scale: Array, zero: Array | None = None) -> Array:
    kind = node.attr("output_dtype", 0)
    dtype = dtype_of(kind) if kind else scale.dtype
    factor = _along(scale, node, x)
    if zero is None:
        plain = x.astype(np.float32)
    elif is_integer(x.dtype):
        plain = (x.astype(np.int64) - _along(zero, node, x).astype(np.int64)).astype(np.float32)
    else:
        plain = x.astype(np.float32) - _along(zero, node, x).astype(np.float32)
    return (plain * factor.astype(np.float32)).astype(dtype)


@dequantize_linear.sized
def dequantize_linear_size(node: Node, x: Array, scale: Array, zero: Array | None = None,
                           ) -> tuple[tuple[int, ...], Any]:
    kind = node.attr("output_dtype", 0)
    return x.shape, dtype_of(kind) if kind else scale.dtype


@dequantize_linear.symbol
def dequantize_symbol(b: GraphBuilder, node: Node, x: Value, scale: Value,
                      zero: Value | None = None) -> Value | None:
    """Of what was quantized in the same way: one step from floats to floats."""
    if any(node.attr(name, 0) for name in ("block_size", "output_dtype")):
        return None
    given = made_steps(b, x, scale, zero, int(node.attr("axis", 1)))
    if given is None:
        return None
    found = None if x.symbol is None else b.quantized.get(x.symbol.entries[0])
    if found is not None and (
            np.array_equal(given.scales, found.scales) and np.array_equal(given.zeros, found.zeros)
            and (given.scales.size == 1 or given.axis == found.axis)):
        low, high = limits(found.dtype)
        vectors = [constant(value) for value in (found.scales, found.zeros)]
        return b.shaped(b.op("_quantized", found.data, *vectors, low=low, high=high,
                             axis=found.axis), x.shape)
    if not given.is_plain:
        return None
    from .whole_numbers import floats_of_steps
    return floats_of_steps(b, given)
