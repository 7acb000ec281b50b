"""Operators on quantized numbers: QLinearConv, QLinearMatMul, their whole-number forms, and those
that ONNX Runtime writes in its format QOperator (com.microsoft).

Each is one of the engine's operators on 8-bit numbers where it has such a form, else floats are
computed between a step from whole numbers and one to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ops.blas import uses_blas
from ..build import GraphBuilder
from ..graph import Array, Node
from ..opsets import find_operator
from ..steps import Steps, Target, is_usable, made_steps, target_of, whole_of_itself
from ..table import TABLE, Operator, operator
from ..values import Value, constant
from .casts import dequantize_linear, quantize_linear
from .pooling import pool_size
from .products import gemm_size, matmul_size
from .whole_numbers import (
    added,
    averages,
    convolution,
    dense,
    floats_of_steps,
    joined,
    mapped,
    quantized,
    with_sums,
)
from .windows import convolve, window_size

MICROSOFT = "com.microsoft"
_ONE = np.ones((), np.float32)

# the same under another name
TABLE[MICROSOFT, "QuantizeLinear"] = quantize_linear
TABLE[MICROSOFT, "DequantizeLinear"] = dequantize_linear


def _channels(value: Array, rank: int) -> Array:
    return value.reshape((-1,) + (1,) * (rank - 1)) if value.size > 1 else value.reshape(())


def _columns(scale: Array) -> Array:
    return scale[..., None] if scale.ndim == 1 and scale.size > 1 else scale


def _less(x: Array, zero: Array | None) -> Any:
    """int32 numbers less their zero point."""
    whole = x.astype(np.int32)
    return whole if zero is None else whole - zero.astype(np.int32)


def _floats(x: Array, scale: Array, zero: Array | None) -> Any:
    return _less(x, zero).astype(np.float32) * scale.astype(np.float32)


def _rounded(steps: Any, zero: Array | None) -> Any:
    """Floats in steps as whole numbers of the zero point's dtype."""
    whole = np.zeros((), np.uint8) if zero is None else zero
    info = np.iinfo(whole.dtype)
    return np.clip(np.rint(steps) + whole, info.min, info.max).astype(whole.dtype)


# ---- floats between -----------------------------------------------------------------------------


def _float_value(b: GraphBuilder, found: Steps) -> Value | None:
    """Dequantized numbers of the graph, or constants."""
    if found.whole.const is None:
        return floats_of_steps(b, found) if found.is_plain else None
    column = [1] * found.whole.rank
    if found.scales.size > 1:
        column[found.axis] = -1
    scales, zeros = found.scales.reshape(column), found.zeros.reshape(column)

    def make(array: Array) -> Array:
        made: Array = ((array.astype(np.int64) - zeros).astype(np.float32) * scales).reshape(
            array.shape)
        return made
    how = f"floats {found.scales.tobytes().hex()} {found.zeros.tobytes().hex()} {found.axis}"
    return constant(b.constants.made_of(found.whole, how, make), found.whole.fixed)


def _like(node: Node, name: str, opset: int = 11) -> Node:
    """The same node of an operator of ai.onnx."""
    return Node(name, "", opset, node.name, node.inputs, node.outputs, node.attrs, node.place)


def _by_floats(b: GraphBuilder, like: Node, given: Sequence[Steps | None],
               target: Target | None) -> Value | None:
    """What a node of ai.onnx makes of dequantized numbers, quantized."""
    op = find_operator(like)
    if op is None or op.symbols is None or target is None:
        return None
    values = []
    for found in given:
        value = None if found is None else _float_value(b, found)
        if value is None:
            return None
        values.append(value)
    made = op.symbols(b, like, *values)
    return quantized(b, made, target) if isinstance(made, Value) else None


def _bias_steps(b: GraphBuilder, bias: Value, data: Steps, weight: Steps) -> Steps | None:
    """An int32 bias in steps of the sums."""
    scales = np.broadcast_to(data.scale * weight.scales, (bias.size,)).astype(np.float32)
    return made_steps(b, bias, constant(scales), None)


# ---- convolutions -------------------------------------------------------------------------------


def _conv_sums(node: Node, left: Array, right: Array) -> Any:
    """Of whole numbers of 8 bits: float64 holds every sum of their products, and is fast."""
    return convolve(node, left.astype(np.float64), right.astype(np.float64), np.int32)


@operator("ConvInteger", is_layer=True)
def conv_integer(node: Node, x: Array, w: Array, x_zero: Array | None = None,
                 w_zero: Array | None = None) -> Any:
    right = w.astype(np.int32)
    if w_zero is not None:
        right = right - _channels(w_zero.astype(np.int32), w.ndim)
    return _conv_sums(node, _less(x, x_zero), right)


@conv_integer.sized
def conv_integer_size(node: Node, x: Array, w: Array, *zeros: Array | None,
                      ) -> tuple[list[int], Any]:
    return window_size(node, x, w)[0], np.dtype(np.int32)


@conv_integer.symbol
def conv_integer_symbol(b: GraphBuilder, node: Node, x: Value, w: Value,
                        x_zero: Value | None = None, w_zero: Value | None = None) -> Value | None:
    data, filters = whole_of_itself(b, x, x_zero), whole_of_itself(b, w, w_zero)
    made = None if data is None else convolution(b, node, data, filters)
    return None if made is None else made(None, True).sums(b)


@operator("QLinearConv", is_layer=True)
def qlinear_conv(node: Node, x: Array, x_scale: Array, x_zero: Array, w: Array, w_scale: Array,
                 w_zero: Array, y_scale: Array, y_zero: Array, bias: Array | None = None) -> Any:
    total = _conv_sums(node, _less(x, x_zero),
                       w.astype(np.int32) - _channels(w_zero.astype(np.int32), w.ndim))
    if bias is not None:
        total = total + bias.reshape((-1,) + (1,) * (x.ndim - 2))
    return _rounded(total * (x_scale * _channels(w_scale, x.ndim - 1) / y_scale), y_zero)


@qlinear_conv.sized
def qlinear_conv_size(node: Node, x: Array, x_scale: Array, x_zero: Array, w: Array,
                      *rest: Array | None) -> tuple[list[int], Any]:
    return window_size(node, x, w)[0], np.dtype(np.int32)


@qlinear_conv.symbol
def qlinear_conv_symbol(b: GraphBuilder, node: Node, x: Value, x_scale: Value, x_zero: Value,
                        w: Value, w_scale: Value, w_zero: Value, y_scale: Value, y_zero: Value,
                        bias: Value | None = None) -> Value | None:
    data, filters = made_steps(b, x, x_scale, x_zero), made_steps(b, w, w_scale, w_zero)
    target = target_of(y_scale, y_zero)
    if data is None or filters is None or target is None or (
            bias is not None and bias.const is None):
        return None
    made = convolution(b, node, data, filters)
    if made is not None:
        return made(bias, True).bytes(b, target)
    given = [data, filters]
    if bias is not None:
        found = _bias_steps(b, bias, data, filters)
        if found is None:
            return None
        given.append(found)
    return _by_floats(b, _like(node, "Conv"), given, target)


# ---- products -----------------------------------------------------------------------------------


@uses_blas
def _product_sums(left: Array, right: Array) -> Any:
    """Of whole numbers of 8 bits: float64 holds every sum of their products, and is fast."""
    made = np.matmul(left.astype(np.float64), right.astype(np.float64))
    return made.astype(np.int32)


@operator("MatMulInteger", is_layer=True)
def matmul_integer(node: Node, a: Array, b: Array, a_zero: Array | None = None,
                   b_zero: Array | None = None) -> Any:
    left = a.astype(np.int32)
    if a_zero is not None:
        left = left - _columns(a_zero.astype(np.int32))
    return _product_sums(left, _less(b, b_zero))


@matmul_integer.sized
def matmul_integer_size(node: Node, a: Array, b: Array, *zeros: Array | None,
                        ) -> tuple[tuple[int, ...], Any]:
    return matmul_size(node, a, b)[0], np.dtype(np.int32)


@matmul_integer.symbol
def matmul_integer_symbol(b: GraphBuilder, node: Node, x: Value, w: Value,
                          x_zero: Value | None = None, w_zero: Value | None = None,
                          ) -> Value | None:
    data, matrix = whole_of_itself(b, x, x_zero), whole_of_itself(b, w, w_zero, -1)
    made = None if data is None else dense(b, data, matrix)
    return None if made is None else made(None, True).sums(b)


@operator("QLinearMatMul", is_layer=True)
def qlinear_matmul(node: Node, a: Array, a_scale: Array, a_zero: Array, b: Array, b_scale: Array,
                   b_zero: Array, y_scale: Array, y_zero: Array) -> Any:
    total = _product_sums(a.astype(np.int32) - _columns(a_zero).astype(np.int32),
                          _less(b, b_zero))
    factor = _columns(a_scale).astype(np.float32) * b_scale.astype(np.float32) / y_scale.astype(
        np.float32)
    return _rounded(total * factor, y_zero)


@qlinear_matmul.sized
def qlinear_matmul_size(node: Node, a: Array, a_scale: Array, a_zero: Array, b: Array,
                        *rest: Array) -> tuple[tuple[int, ...], Any]:
    return matmul_size(node, a, b)[0], np.dtype(np.int32)


@qlinear_matmul.symbol
def qlinear_matmul_symbol(b: GraphBuilder, node: Node, x: Value, x_scale: Value, x_zero: Value,
                          w: Value, w_scale: Value, w_zero: Value, y_scale: Value, y_zero: Value,
                          ) -> Value | None:
    data, matrix = made_steps(b, x, x_scale, x_zero), made_steps(b, w, w_scale, w_zero, -1)
    target = target_of(y_scale, y_zero)
    if data is None or matrix is None or target is None:
        return None
    made = dense(b, data, matrix)
    if made is not None:
        return made(None, True).bytes(b, target)
    return _by_floats(b, _like(node, "MatMul"), [data, matrix], target)


@operator("QGemm", domain=MICROSOFT, is_layer=True)
def qgemm(node: Node, a: Array, a_scale: Array, a_zero: Array, b: Array, b_scale: Array,
          b_zero: Array, c: Array | None = None, y_scale: Array | None = None,
          y_zero: Array | None = None) -> Any:
    left, right = _less(a, a_zero), b.astype(np.int32) - (
        b_zero.astype(np.int32) if not node.attr("transB", 0) or b_zero.size == 1
        else b_zero.astype(np.int32)[:, None])
    total = _product_sums(left.T if node.attr("transA", 0) else left,
                          right.T if node.attr("transB", 0) else right)
    if c is not None:
        total = total + c
    made = total * (np.float32(node.attr("alpha", 1.0)) * a_scale * b_scale)
    made = np.asarray(made, np.float32)
    return made if y_scale is None else _rounded(made / y_scale, y_zero)


@qgemm.sized
def qgemm_size(node: Node, a: Array, a_scale: Array, a_zero: Array, b: Array,
               *rest: Array | None) -> tuple[list[int], Any]:
    return gemm_size(node, a, b)[0], np.dtype(np.float32)


@qgemm.symbol
def qgemm_symbol(b: GraphBuilder, node: Node, x: Value, x_scale: Value, x_zero: Value, w: Value,
                 w_scale: Value, w_zero: Value, c: Value | None = None,
                 y_scale: Value | None = None, y_zero: Value | None = None) -> Value | None:
    turned = bool(node.attr("transB", 0))
    data = made_steps(b, x, x_scale, x_zero)
    matrix = made_steps(b, w, w_scale, w_zero, 0 if turned else 1)
    if (data is None or matrix is None or node.attr("transA", 0)
            or float(node.attr("alpha", 1.0)) != 1.0):
        return None
    target = None if y_scale is None else target_of(y_scale, y_zero)
    made = dense(b, data, matrix, turned)
    if made is None:
        given = [data, matrix]
        if c is not None:
            bias = _bias_steps(b, c, data, matrix)
            if bias is None:
                return None
            given.append(bias)
        return _by_floats(b, _like(node, "Gemm"), given, target)
    layer = made(None, True)
    if c is not None:
        whole = with_sums(c, layer)
        if whole is None:
            return None
        layer = made(whole, True)
    if y_scale is None:
        return layer.floats(b)
    return None if target is None else layer.bytes(b, target)


# ---- element by element -------------------------------------------------------------------------


def _add_pair(name: str, function: Callable[[Any, Any], Any]) -> None:
    @operator(f"QLinear{name}", domain=MICROSOFT, is_layer=True)
    def compute(node: Node, a: Array, a_scale: Array, a_zero: Array | None, b: Array,
                b_scale: Array, b_zero: Array | None, y_scale: Array,
                y_zero: Array | None = None) -> Any:
        made = function(_floats(a, a_scale, a_zero), _floats(b, b_scale, b_zero))
        return _rounded(made / y_scale, y_zero)

    @compute.sized
    def size(node: Node, a: Array, a_scale: Array, a_zero: Array | None, b: Array,
             *rest: Array | None) -> tuple[tuple[int, ...], Any]:
        return np.broadcast_shapes(a.shape, b.shape), np.dtype(np.float32)

    @compute.symbol
    def symbol(b: GraphBuilder, node: Node, x: Value, x_scale: Value, x_zero: Value | None,
               y: Value, y_scale: Value, y_zero: Value | None, scale: Value,
               zero: Value | None = None) -> Value | None:
        left, right = made_steps(b, x, x_scale, x_zero), made_steps(b, y, y_scale, y_zero)
        target = target_of(scale, zero)
        if left is None or right is None or target is None:
            return None
        made = added(b, left, right, target) if name == "Add" else None
        return made or _by_floats(b, _like(node, name), [left, right], target)


_add_pair("Add", np.add)
_add_pair("Mul", np.multiply)


def _add_single(name: str, is_table: bool) -> None:
    """Of one array: a table, or floats between."""
    def floats_op(node: Node) -> Operator:
        found = find_operator(_like(node, name))
        assert found is not None
        return found

    @operator(f"QLinear{name}", domain=MICROSOFT, is_layer=True)
    def compute(node: Node, x: Array, x_scale: Array, x_zero: Array | None, y_scale: Array,
                y_zero: Array | None = None) -> Any:
        floats = _floats(x, x_scale, x_zero)
        is_last = bool(node.attr("channels_last", 0)) and not is_table
        made = floats_op(node).function(_like(node, name), np.moveaxis(floats, -1, 1) if is_last
                                        else floats)
        return _rounded((np.moveaxis(made, 1, -1) if is_last else made) / y_scale, y_zero)

    if name == "AveragePool":
        @compute.sized
        def size(node: Node, x: Array, *rest: Array | None) -> tuple[list[int], Any]:
            is_last = bool(node.attr("channels_last", 0))
            return (pool_size(node, np.moveaxis(x, -1, 1) if is_last else x)[0],
                    np.dtype(np.float32))

    @compute.symbol
    def symbol(b: GraphBuilder, node: Node, x: Value, x_scale: Value, x_zero: Value | None,
               y_scale: Value, y_zero: Value | None = None) -> Value | None:
        found, target = made_steps(b, x, x_scale, x_zero), target_of(y_scale, y_zero)
        if found is None or target is None or (node.attr("channels_last", 0) and not is_table):
            return None
        if is_table:
            return mapped(b, found, target, lambda floats: floats_op(node).function(
                _like(node, name), floats))
        made = averages(b, _like(node, name), found, target) if is_usable(found, b) else None
        return made or _by_floats(b, _like(node, name), [found], target)


for _name, _is_table in (("LeakyRelu", True), ("Sigmoid", True), ("AveragePool", False),
                         ("GlobalAveragePool", False)):
    _add_single(_name, _is_table)


def _softmax(node: Node) -> Node:
    """The node on floats, whose operator set is an attribute."""
    made = _like(node, "Softmax", int(node.attr("opset", 13)))
    made.attrs = {"axis": int(node.attr("axis", -1))}
    return made


@operator("QLinearSoftmax", domain=MICROSOFT, is_layer=True)
def qlinear_softmax(node: Node, x: Array, x_scale: Array, x_zero: Array | None, y_scale: Array,
                    y_zero: Array | None = None) -> Any:
    like = _softmax(node)
    op = find_operator(like)
    assert op is not None
    return _rounded(op.function(like, _floats(x, x_scale, x_zero)) / y_scale, y_zero)


@qlinear_softmax.symbol
def qlinear_softmax_symbol(b: GraphBuilder, node: Node, x: Value, x_scale: Value,
                           x_zero: Value | None, y_scale: Value, y_zero: Value | None = None,
                           ) -> Value | None:
    return _by_floats(b, _softmax(node), [made_steps(b, x, x_scale, x_zero)],
                      target_of(y_scale, y_zero))


@operator("QLinearConcat", domain=MICROSOFT, is_layer=True)
def qlinear_concat(node: Node, y_scale: Array, y_zero: Array, *given: Array) -> Any:
    parts = [_floats(*given[i:i + 3]) for i in range(0, len(given), 3)]
    return _rounded(np.concatenate(parts, int(node.attr("axis"))) / y_scale, y_zero)


@qlinear_concat.sized
def qlinear_concat_size(node: Node, y_scale: Array, y_zero: Array, *given: Array,
                        ) -> tuple[list[int], Any]:
    dims, axis = list(given[0].shape), int(node.attr("axis"))
    dims[axis] = sum(x.shape[axis] for x in given[::3])
    return dims, np.dtype(np.float32)


@qlinear_concat.symbol
def qlinear_concat_symbol(b: GraphBuilder, node: Node, y_scale: Value, y_zero: Value,
                          *given: Value) -> Value | None:
    target = target_of(y_scale, y_zero)
    parts = []
    for i in range(0, len(given), 3):
        x, scale, zero = given[i:i + 3]
        found = made_steps(b, x, scale, zero)
        if found is None or target is None or not is_usable(found, b):
            return None
        part = mapped(b, found, target)
        if part is None:
            return None
        parts.append(part)
    return joined(b, parts, int(node.attr("axis")))
