"""Arithmetic element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import TABLE, Operator, operator
from ..values import Value


def legacy_operand(node: Node, a: Array, b: Array) -> Array:
    """The second operand with the axes that `axis` and `broadcast` of operator set 6 mean."""
    if node.opset >= 7 or not node.attr("broadcast", 0):
        return b
    return b.reshape(legacy_shape(node, a.ndim, b.shape))


def legacy_shape(node: Node, rank: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a second operand as operator set 7 would have it."""
    axis = node.attr("axis")
    axis = rank - len(shape) if axis is None else int(axis) % max(rank, 1)
    return shape + (1,) * (rank - axis - len(shape))


def broadcast_size(node: Node, *arrays: Array) -> tuple[tuple[int, ...], Any]:
    """How large the result of an operator that goes element by element is."""
    if len(arrays) == 2:
        arrays = arrays[0], legacy_operand(node, *arrays)
    return np.broadcast_shapes(*[x.shape for x in arrays]), arrays[-1].dtype


def broadcast_truth(node: Node, *arrays: Array) -> tuple[tuple[int, ...], Any]:
    """The same where the result is True or False for each element."""
    return broadcast_size(node, *arrays)[0], np.dtype(bool)


def _legacy(b: GraphBuilder, node: Node, x: Value, y: Value) -> Value:
    if node.opset >= 7 or not node.attr("broadcast", 0):
        return y
    return b.reshaped(y, legacy_shape(node, x.rank, y.shape))


# ---- two operands -------------------------------------------------------------------------------

# operator: of equal shapes, of others, with a number, of a number
_SYMBOLS = {
    "Add": ("elemwise_add", "broadcast_add", "_plus_scalar", "_plus_scalar"),
    "Sub": ("elemwise_sub", "broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "Mul": ("elemwise_mul", "broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "Div": ("elemwise_div", "broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "Pow": ("_power", "broadcast_power", "_power_scalar", "_rpower_scalar"),
    "Max": ("_maximum", "broadcast_maximum", "_maximum_scalar", "_maximum_scalar"),
    "Min": ("_minimum", "broadcast_minimum", "_minimum_scalar", "_minimum_scalar"),
}


def binary(b: GraphBuilder, name: str, x: Value, y: Value) -> Value | None:
    """The symbol of an operator of two operands, None where they are no floats of one dtype."""
    if not x.is_float or y.dtype != x.dtype:
        return None
    same, broadcast, with_number, of_number = _SYMBOLS[name]
    if x.const is None and y.rank <= x.rank and (number := y.number()) is not None:
        return b.shaped(b.op(with_number, x, scalar=number), x.shape)
    if y.const is None and x.rank <= y.rank and (number := x.number()) is not None:
        return b.shaped(b.op(of_number, y, scalar=number), y.shape)
    if x.graph_shape == y.graph_shape:
        return b.shaped(b.op(same, x, y), x.shape if x.rank >= y.rank else y.shape)
    rank = max(x.rank, y.rank)
    made = b.op(broadcast, b.alike(x, rank), b.alike(y, rank))
    return b.shaped(made, np.broadcast_shapes(x.shape, y.shape))


def _divide(a: Array, b: Array) -> Array:
    """Whole numbers are cut off towards zero."""
    if a.dtype.kind not in "iu":
        return a / b
    if not np.all(b):
        raise ZeroDivisionError("a whole number is divided by 0")
    quotient = a // b
    if a.dtype.kind == "i":
        quotient = quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype)
    return quotient.astype(a.dtype)


def _add_binary(name: str, function: Callable[[Any, Any], Any]) -> None:
    @operator(name)
    def compute(node: Node, a: Array, b: Array) -> Any:
        return function(a, legacy_operand(node, a, b))
    compute.sized(broadcast_size)

    @compute.symbol
    def symbol(b: GraphBuilder, node: Node, x: Value, y: Value) -> Value | None:
        return binary(b, name, x, _legacy(b, node, x, y))


_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": _divide}
for _name, _function in _PLAIN.items():
    _add_binary(_name, _function)


def _power(base: Array, exponent: Array) -> Any:
    if base.dtype.kind in "iu" and exponent.dtype.kind == "f":
        return np.power(base.astype(np.float64), exponent).astype(base.dtype)
    if base.dtype.kind in "iu" and exponent.dtype.kind == "i" and np.any(exponent < 0):
        return np.power(base.astype(np.float64), exponent.astype(np.float64)).astype(base.dtype)
    return np.power(base, exponent.astype(base.dtype))


@operator("Pow")
def power(node: Node, base: Array, exponent: Array) -> Any:
    return _power(base, legacy_operand(node, base, exponent))


@power.symbol
def power_symbol(b: GraphBuilder, node: Node, x: Value, y: Value) -> Value | None:
    number = y.number() if y.rank <= x.rank else None
    if number is not None and x.is_float:
        plain = {2.0: "square", 0.5: "sqrt", 1.0: "_copy", -1.0: "reciprocal"}.get(number)
        if plain is not None:
            return b.shaped(b.op(plain, x), x.shape)
        return b.shaped(b.op("_power_scalar", x, scalar=number), x.shape)
    return binary(b, "Pow", x, _legacy(b, node, x, y))


@operator("Mod")
def modulo(node: Node, a: Array, b: Array) -> Array:
    if node.attr("fmod", 0):
        made: Array = np.fmod(a, b)
        return made
    if a.dtype.kind in "iu" and not np.all(b):
        raise ZeroDivisionError("the rest of a division of whole numbers by 0")
    return np.mod(a, b)


@operator("PRelu")
def prelu(node: Node, x: Array, slope: Array) -> Array:
    if node.opset < 7 and slope.ndim == 1 and x.ndim > 1 and slope.size > 1:
        slope = slope.reshape((-1,) + (1,) * (x.ndim - 2))
    if np.broadcast_shapes(x.shape, slope.shape) != x.shape:
        raise ValueError(f"a slope of shape {slope.shape} for data of shape {x.shape}")
    return np.where(x < 0, x * slope, x).astype(x.dtype)


@prelu.symbol
def prelu_symbol(b: GraphBuilder, node: Node, x: Value, slope: Value) -> Value | None:
    if not x.is_float or slope.dtype != x.dtype or slope.const is None or x.rank < 2:
        return None
    number = slope.number()
    if number is not None:
        return b.op("LeakyReLU", x, act_type="leaky", slope=number)
    shape = slope.shape
    if node.opset < 7 and slope.rank == 1:
        shape = (*shape, *(1,) * (x.rank - 2))
    shape = (1,) * (x.rank - len(shape)) + shape
    if any(size != 1 for i, size in enumerate(shape) if i != 1) or shape[1] != x.shape[1]:
        return None
    return b.op("LeakyReLU", x, b.reshaped(slope, (x.shape[1],)), act_type="prelu")


# ---- any number of operands ---------------------------------------------------------------------


def _add_variadic(name: str, function: Callable[[Any, Any], Any], word: str) -> None:
    @operator(name)
    def compute(node: Node, *arrays: Array) -> Any:
        made = arrays[0]
        for array in arrays[1:]:
            made = function(made, array)
        return made
    compute.sized(broadcast_size)

    @compute.symbol
    def symbol(b: GraphBuilder, node: Node, *values: Value) -> Value | None:
        made: Value | None = values[0]
        if not values[0].is_float:
            return None
        for value in values[1:]:
            made = binary(b, word, made, value) if made is not None else None
        return made


for _name, _function, _word in (("Sum", np.add, "Add"), ("Max", np.maximum, "Max"),
                                ("Min", np.minimum, "Min")):
    _add_variadic(_name, _function, _word)


@operator("Mean")
def mean(node: Node, *arrays: Array) -> Any:
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return (total / np.asarray(len(arrays), total.dtype)).astype(total.dtype)


@mean.symbol
def mean_symbol(b: GraphBuilder, node: Node, *values: Value) -> Value | None:
    made: Value | None = values[0] if values[0].is_float else None
    for value in values[1:]:
        made = binary(b, "Add", made, value) if made is not None else None
    if made is None:
        return None
    return b.shaped(b.op("_div_scalar", made, scalar=float(len(values))), made.shape)


# ---- one operand --------------------------------------------------------------------------------


def erf(x: Array) -> Array:
    made: Array = np.asarray(np.frompyfunc(math.erf, 1, 1)(x)).astype(x.dtype)
    return made


def _reciprocal(x: Array) -> Array:
    return (np.asarray(1, x.dtype) / x).astype(x.dtype)


def plain_unary(op: str) -> Callable[[GraphBuilder, Node, Value], Value | None]:
    """The symbols of a function that an operator of the engine without parameters is."""
    def symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
        return b.shaped(b.op(op, x), x.shape) if x.is_float else None
    return symbol


def _add_unary(name: str, function: Callable[[Any], Any], op: str | None) -> Operator:
    @operator(name)
    def compute(node: Node, x: Array) -> Any:
        return function(x)
    if op is not None:
        compute.symbol(plain_unary(op))
    return compute


for _name, _unary, _op in (
        ("Abs", np.abs, "abs"), ("Neg", np.negative, "negative"), ("Exp", np.exp, "exp"),
        ("Log", np.log, "log"), ("Sqrt", np.sqrt, "sqrt"), ("Sin", np.sin, "sin"),
        ("Cos", np.cos, "cos"), ("Tan", np.tan, "tan"), ("Asin", np.arcsin, "arcsin"),
        ("Acos", np.arccos, "arccos"), ("Atan", np.arctan, "arctan"), ("Sinh", np.sinh, "sinh"),
        ("Cosh", np.cosh, "cosh"), ("Asinh", np.arcsinh, "arcsinh"),
        ("Acosh", np.arccosh, "arccosh"), ("Atanh", np.arctanh, "arctanh"),
        ("Floor", np.floor, "floor"), ("Ceil", np.ceil, "ceil"), ("Round", np.rint, None),
        ("Sign", np.sign, None), ("Erf", erf, "erf"), ("Reciprocal", _reciprocal, "reciprocal"),
        ("IsNaN", np.isnan, None), ("BitwiseNot", np.invert, None)):
    _add_unary(_name, _unary, _op)


@TABLE["", "Sign"].symbol
def sign_symbol(b: GraphBuilder, node: Node, x: Value) -> Value | None:
    """NaN has none; the engine's sign of it is 0."""
    if not x.is_float:
        return None
    return b.shaped(b.op("where", b.op("_equal", x, x), b.op("sign", x), x), x.shape)


@operator("IsInf")
def is_inf(node: Node, x: Array) -> Array:
    up, down = node.attr("detect_positive", 1), node.attr("detect_negative", 1)
    made: Array = np.isinf(x) & ((x > 0) & bool(up) | (x < 0) & bool(down))
    return made


@operator("Clip")
def clip(node: Node, x: Array, low: Array | None = None, high: Array | None = None) -> Array:
    if node.opset < 11:
        low, high = (None if node.attr(name) is None else np.asarray(node.attr(name), x.dtype)
                     for name in ("min", "max"))
    for end, function in ((low, np.maximum), (high, np.minimum)):
        if end is None:
            continue
        if end.size != 1:
            raise ValueError(f"an end of shape {end.shape}, expected one number")
        x = function(x, end.reshape(()))
    return x


@clip.symbol
def clip_symbol(b: GraphBuilder, node: Node, x: Value, low: Value | None = None,
                high: Value | None = None) -> Value | None:
    if not x.is_float:
        return None
    ends: list[float] = []
    for name, given, none in (("min", low, -math.inf), ("max", high, math.inf)):
        number = node.attr(name) if node.opset < 11 else None
        if node.opset >= 11 and given is not None:
            number = given.number()
            if number is None:
                return None
        ends.append(none if number is None else float(np.asarray(number, x.dtype)))
    if ends[0] > ends[1]:
        return None
    if math.isinf(ends[1]):
        return b.shaped(b.op("_maximum_scalar", x, scalar=ends[0]), x.shape)
    if math.isinf(ends[0]):
        return b.shaped(b.op("_minimum_scalar", x, scalar=ends[1]), x.shape)
    return b.shaped(b.op("clip", x, a_min=ends[0], a_max=ends[1]), x.shape)


@operator("CumSum", shape_from=())
def cumsum(node: Node, x: Array, axis: Array) -> Array:
    return _cumulated(node, x, axis, np.cumsum, 0)


@operator("CumProd")
def cumprod(node: Node, x: Array, axis: Array) -> Array:
    return _cumulated(node, x, axis, np.cumprod, 1)


def _cumulated(node: Node, x: Array, axis: Array, function: Callable[..., Array],
               neutral: int) -> Array:
    along = int(axis.reshape(-1)[0])
    if node.attr("reverse", 0):
        x = np.flip(x, along)
    made = function(x, axis=along, dtype=x.dtype)
    if node.attr("exclusive", 0):
        made = np.roll(made, 1, along)
        first = [slice(None)] * x.ndim
        first[along] = slice(0, 1)
        made[tuple(first)] = neutral
    return np.flip(made, along) if node.attr("reverse", 0) else made


@operator("BitShift")
def bit_shift(node: Node, x: Array, y: Array) -> Array:
    made: Array = np.left_shift(x, y) if node.attr("direction") == "LEFT" else np.right_shift(x, y)
    return made


for _name in ("Pow", "Mod", "Mean", "BitShift"):
    TABLE["", _name].sized(broadcast_size)
