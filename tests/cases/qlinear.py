"""Numbers of 8 bits with zero points, as ONNX defines them, one after the other in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input
from tests.cases.convolution import convolve
from tests.cases.quantization import RNG, whole

F = np.float32
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}
SIGNED: dict[str, Any] = {"out_type": "int8", "out_zero": -3, "low": -100, "high": 127}
UNSIGNED: dict[str, Any] = {"out_type": "uint8", "out_zero": 121, "low": 121, "high": 255}
PLAIN: dict[str, Any] = {"out_type": "float32"}
SUMS: dict[str, Any] = {"out_type": "int32"}


def case(op: str, params: dict[str, Any], inputs: list[Input], reference: Callable[..., Any],
         **more: Any) -> Case:
    return Case(op, params, inputs, reference=reference, exact=True, dtypes=("float32",), **more)


def floats(shape: tuple[int, ...]) -> Input:
    """Halves between whole numbers, and what lies beyond them."""
    values = RNG.integers(-600, 600, shape) / 4
    values.flat[:5] = 0.25, -0.75, 1e30, -1e30, np.nan
    return Input(shape, values=values)


def quantize(dtype: str, scale: float, zero: int) -> Case:
    def reference(x: Array) -> Array:
        low, high = LIMITS[dtype]
        made = [min(max(int(np.rint(min(max(F(v) / F(scale), -1e6), 1e6))) + zero, low), high)
                if v == v else 0 for v in x.ravel()]
        return np.array(made, dtype).reshape(x.shape)
    return case("_quantize_linear", {"scale": scale, "zero": zero, "out_type": dtype},
                [floats((2, 20, 3, 3))], reference)


def dequantize(dtype: str, scale: float, zero: int, shape: tuple[int, ...]) -> Case:
    return case("_dequantize_linear", {"scale": scale, "zero": zero}, [whole(shape, dtype)],
                lambda x: (x.astype(F) - F(zero)) * F(scale), native=True)


def narrowed(steps: np.float32, p: dict[str, Any]) -> int:
    return min(max(int(np.rint(steps)) + p["out_zero"], p["low"]), p["high"])


def add(left: str, right: str, shape: tuple[int, ...], p: dict[str, Any]) -> Case:
    zeros = {"int8": -7, "uint8": 131}
    given = {"left_scale": 0.75, "right_scale": 1.0 / 3, "left_zero": zeros[left],
             "right_zero": zeros[right], **p}

    def reference(a: Array, b: Array) -> Array:
        made = [narrowed((F(x) - F(zeros[left])) * F(0.75)
                         + (F(y) - F(zeros[right])) * F(1.0 / 3), p)
                for x, y in zip(a.ravel(), b.ravel(), strict=True)]
        return np.array(made, p["out_type"]).reshape(a.shape)
    return case("_qlinear_add", given, [whole(shape, left), whole(shape, right)], reference)


def layer(op: str, params: dict[str, Any], zero: int, p: dict[str, Any], inputs: list[Input],
          filters: int, sums: Callable[..., Array]) -> Case:
    """`sums` of whole float64 numbers, filters along the axis 1."""
    has_bias = not params.get("no_bias", False)
    if has_bias:
        inputs = [*inputs, Input((filters,), "int32",
                                 values=RNG.integers(-9000, 9000, filters))]
    if p is not SUMS:
        inputs = [*inputs, Input((filters,), values=RNG.integers(1, 64, filters) / 8192)]

    def reference(x: Array, w: Array, *rest: Array) -> Array:
        y = sums(x.astype(np.float64) - zero, w.astype(np.float64))
        column = (-1,) + (1,) * (y.ndim - 2)
        if has_bias:
            y = y + rest[0].reshape(column)
        if p is SUMS:
            return y.astype(np.int32)
        steps = y.astype(F) * rest[-1].reshape(column)
        if p is PLAIN:
            return steps
        made = [narrowed(value, p) for value in steps.ravel()]
        return np.array(made, p["out_type"]).reshape(y.shape)
    return case(op, {**params, "zero": zero, **p}, inputs, reference)


def conv(dtype: str, channels: int, zero: int, p: dict[str, Any], *, stride: int = 1, pad: int = 1,
         dilate: int = 1, groups: int = 1, filters: int = 20, **more: Any) -> Case:
    params = {"kernel": (3, 3), "num_filter": filters, "num_group": groups,
              "stride": (stride, stride), "pad": (pad, pad), "dilate": (dilate, dilate), **more}
    return layer(
        "_qlinear_conv", params, zero, p,
        [whole((2, channels, 7, 6), dtype),
         whole((filters, channels // groups, 3, 3), weight_groups=groups)], filters,
        lambda x, w: convolve(x, w, None, (stride,) * 2, (dilate,) * 2, (pad,) * 2, groups))


def dense(dtype: str, rows: int, features: int, hidden: int, zero: int, p: dict[str, Any],
          **more: Any) -> Case:
    return layer("_qlinear_fully_connected", {"num_hidden": hidden, **more}, zero, p,
                 [whole((rows, features), dtype), whole((hidden, features), weight_groups=1)],
                 hidden, lambda x, w: x @ w.T)


def mapped(given: str, made: str, shape: tuple[int, ...]) -> Case:
    table = whole((256,), made)

    def reference(x: Array, entries: Array) -> Array:
        values = [entries[int(v) % 256] for v in x.ravel()]
        return np.array(values, made).reshape(x.shape)
    return case("_map_bytes", {}, [whole(shape, given), table], reference)


CASES = [
    quantize("uint8", 0.5, 128), quantize("int8", 0.25, -128), quantize("int8", 1.5, 3),
    dequantize("uint8", 0.3, 128, (2, 20, 3, 3)), dequantize("int8", 0.01, -5, (3, 7)),
    *(add(*kinds, shape, p) for kinds, shape, p in (
        (("int8", "int8"), (2, 20, 3, 3), SIGNED), (("uint8", "int8"), (3, 7), UNSIGNED),
        (("uint8", "uint8"), (1, 3, 4, 5, 2), SIGNED),
        (("int8", "uint8"), (2, 20, 3, 3), UNSIGNED))),
    *(conv(dtype, channels, zero, p) for channels, (dtype, zero, p) in zip((1, 3, 4, 7, 20), (
        ("uint8", 128, UNSIGNED), ("int8", -128, SIGNED), ("uint8", 0, PLAIN),
        ("int8", 127, SUMS), ("uint8", 255, SIGNED)), strict=True)),
    conv("int8", 4, -9, UNSIGNED, stride=2, pad=2, filters=7),
    conv("uint8", 4, 9, SIGNED, dilate=2, pad=0, no_bias=True),
    conv("uint8", 20, 9, SIGNED, groups=20),
    *(dense(dtype, *sizes, zero, p, **more) for sizes, (dtype, zero, p, more) in zip(
        ((3, 70, 20), (1, 5, 1), (7, 33, 17), (2, 64, 32)), (
            ("uint8", 128, UNSIGNED, {}), ("int8", -128, SIGNED, {}),
            ("uint8", 3, PLAIN, {"no_bias": True}), ("int8", 5, SUMS, {"no_bias": True})),
        strict=True)),
    mapped("int8", "uint8", (2, 20, 3, 3)), mapped("uint8", "int8", (3, 7)),
    mapped("int8", "int8", (1,)),
]
