"""Layers between DequantizeLinear and QuantizeLinear as operators on numbers of 8 bits.

The sums of products are exact, and each result is within one step of what ONNX defines. What has
no such form stays an operator on floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...native import lib
from ..build import GraphBuilder
from ..graph import Array, Node
from ..opsets import find_operator
from ..plan import NodeCall
from ..steps import (
    AVERAGES,
    BYTES,
    FUNCTIONS,
    MOVES,
    Steps,
    Target,
    is_usable,
)
from ..values import Value, constant
from .pooling import whole_pooled, window_of
from .windows import Window

_INT8, _INT32 = np.dtype(np.int8), np.dtype(np.int32)
# a float bias is rounded to steps of the sums, which are at most this part of one of the output
_FINE = 0.25
# what the kernel for filters of one channel each takes
_BLOCK, _PLACES = lib.NDRT_WHOLE_BLOCK, lib.NDRT_WHOLE_PLACES


def floats_of(b: GraphBuilder, node: Node, ins: Sequence[Value | None]) -> Value | None:
    """What a layer makes of dequantized numbers, as floats; None where it has no such form."""
    found = _LAYERS[node.op](b, node, ins)
    return None if found is None else found.floats(b)


def whole_numbers_of(b: GraphBuilder, x: Value, target: Target) -> Value | None:
    """Floats of the graph as whole numbers, computed of such; None where they are not."""
    if x.steps is not None and is_usable(x.steps, b):
        return mapped(b, x.steps, target)
    if x.maker is None or not is_usable(x.maker, b):
        return None
    node, ins = x.maker.node, x.maker.ins
    if node.op in _LAYERS:
        found = _LAYERS[node.op](b, node, ins)
        return None if found is None else found.bytes(b, target)
    form = _FORMS.get(node.op)
    return None if form is None else form(b, node, ins, target)


# ---- numbers one by one -------------------------------------------------------------------------

_ALL = np.arange(256, dtype=np.uint8)


def mapped(b: GraphBuilder, found: Steps, target: Target,
           function: Callable[[Array], Any] | None = None) -> Value | None:
    """What a function makes of each number, or what it is in other steps."""
    if not found.is_plain:
        return None
    every = _ALL.view(found.whole.dtype)
    table = _floats(every, found)
    if function is not None:
        with np.errstate(all="ignore"):
            table = np.asarray(function(table))
    made = target.of(table)
    if made.dtype == every.dtype and np.array_equal(made, every):
        return found.whole
    return b.shaped(b.op("_map_bytes", found.whole, constant(made)), found.whole.shape)


def _floats(whole: Array, found: Steps) -> Array:
    made: Array = (whole.astype(np.float32) - np.float32(found.zero)) * found.scale
    return made


def floats_of_steps(b: GraphBuilder, found: Steps) -> Value:
    """Dequantized numbers of the graph."""
    return b.shaped(b.op("_dequantize_linear", found.whole, scale=float(found.scale),
                         zero=found.zero), found.whole.shape)


def quantized(b: GraphBuilder, x: Value, target: Target) -> Value:
    """Floats of the graph as all whole numbers of a dtype."""
    made = b.op("_quantize_linear", x, scale=float(target.scale), zero=target.zero,
                out_type=target.dtype.name)
    return b.shaped(made, x.shape)


def _function_of(b: GraphBuilder, node: Node, ins: Sequence[Value | None],
                 target: Target) -> Value | None:
    """A function of one number: in a table, or Relu and Clip as bounds of the layer before them.
    """
    x = ins[0]
    if x is None or any(v is not None and v.const is None for v in ins[1:]):
        return None
    op = find_operator(node)
    if op is None:
        return None
    rest = [None if v is None else v.const for v in ins[1:]]
    if x.steps is not None:
        if not is_usable(x.steps, b):
            return None
        return mapped(b, x.steps, target,
                      lambda floats: NodeCall(op, node, [0, *rest], 1)(floats)[0])
    if node.op not in ("Relu", "Clip"):
        return None
    ends = NodeCall(op, node, [0, *rest], 1)(np.array([-np.inf, np.inf], np.float32))[0]
    return whole_numbers_of(b, x, target.within(float(ends[0]), float(ends[1])))


def _moved(b: GraphBuilder, node: Node, ins: Sequence[Value | None], target: Target,
           ) -> Value | None:
    """Elements in other places, or some of them, the greatest among them."""
    x = ins[0]
    op = find_operator(node)
    if (x is None or x.steps is None or not is_usable(x.steps, b) or not x.steps.is_plain
            or op is None or op.symbols is None):
        return None
    made = op.symbols(b, node, x.steps.whole, *ins[1:])
    if not isinstance(made, Value) or made.dtype != x.steps.whole.dtype:
        return None
    return mapped(b, x.steps._replace(whole=made), target)


def _averaged(b: GraphBuilder, node: Node, ins: Sequence[Value | None], target: Target,
              ) -> Value | None:
    x = ins[0]
    if x is None or x.steps is None or not is_usable(x.steps, b):
        return None
    return averages(b, node, x.steps, target)


def averages(b: GraphBuilder, node: Node, found: Steps, target: Target) -> Value | None:
    """AveragePool and GlobalAveragePool: averages in the steps of data, where those are no coarser
    than the target's, else convolutions with filters of ones."""
    x = found.whole
    if not found.is_plain or x.const is not None:
        return None
    window = window_of(node, x)
    counts_pads = bool(node.attr("count_include_pad", 0))
    if found.scale <= target.scale and not (counts_pads and found.zero):
        made = whole_pooled(b, x, window, "avg", counts_pads)
        return None if made is None else mapped(b, found._replace(whole=made), target)
    if x.rank != 4 or x.shape[1] < _BLOCK or prod(window.kernel) > _PLACES or (
            any(map(any, window.pads)) and not counts_pads):
        return None
    pads = window.same_pads(x.shape[2:])
    if pads is None:
        return None
    ones = np.ones((x.shape[1], 1, *window.kernel), np.int8)
    layer = Layer("_qlinear_conv", found,
                  Weight(constant(ones), np.array([1 / prod(window.kernel)], np.float32)), None,
                  True, {"kernel": window.kernel, "stride": window.strides, "pad": pads,
                         "dilate": window.dilations, "num_filter": x.shape[1],
                         "num_group": x.shape[1]}, (*x.shape[:2], *window.outs))
    return layer.bytes(b, target)


def _joined(b: GraphBuilder, node: Node, ins: Sequence[Value | None], target: Target,
            ) -> Value | None:
    """Concat of parts that are brought to the same steps."""
    parts = []
    for x in ins:
        if x is None or x.steps is None or not is_usable(x.steps, b):
            return None
        part = mapped(b, x.steps, target)
        if part is None:
            return None
        parts.append(part)
    return joined(b, parts, int(node.attr("axis", 1)))


def joined(b: GraphBuilder, parts: Sequence[Value], axis: int) -> Value:
    """Whole numbers of one dtype and with the same steps, one behind the other."""
    # what they stand for is the same for all, so that nothing is scaled
    ends = [constant(np.array([end], np.float32)) for end in (-1, 1)] * len(parts)
    return b.op("_contrib_quantized_concat", *parts, *ends, num_args=len(parts),
                dim=axis % parts[0].rank)


def _summed(b: GraphBuilder, node: Node, ins: Sequence[Value | None], target: Target,
            ) -> Value | None:
    x, y = (*ins, None)[:2]
    if len(ins) != 2 or x is None or y is None:
        return None
    if x.steps is not None and y.steps is not None:
        if not (is_usable(x.steps, b) and is_usable(y.steps, b)):
            return None
        return added(b, x.steps, y.steps, target, -1.0 if node.op == "Sub" else 1.0)
    # a product, and behind it the bias
    product, bias = (x, y) if y.const is not None else (y, x)
    if node.op != "Add" or bias.const is None or product.maker is None or (
            product.maker.node.op != "MatMul" or not is_usable(product.maker, b)):
        return None
    found = _product(b, product.maker.node, [*product.maker.ins, bias])
    return None if found is None else found.bytes(b, target)


def added(b: GraphBuilder, x: Steps, y: Steps, target: Target, sign: float = 1.0) -> Value | None:
    """The sum of numbers of one shape."""
    if not (x.is_plain and y.is_plain) or x.whole.graph_shape != y.whole.graph_shape:
        return None
    if x.whole.const is not None and y.whole.const is not None:
        return None
    made = b.op("_qlinear_add", x.whole, y.whole, left_scale=float(x.scale / target.scale),
                right_scale=sign * float(y.scale / target.scale), left_zero=x.zero,
                right_zero=y.zero, out_type=target.dtype.name, out_zero=target.zero,
                low=target.low, high=target.high)
    return b.shaped(made, x.whole.shape if x.whole.rank >= y.whole.rank else y.whole.shape)


# ---- layers -------------------------------------------------------------------------------------


class Weight(NamedTuple):
    """Constant int8 numbers that stand for 0 at 0, a row for each filter, and the scales of these:
    one, or one for each."""

    whole: Value
    scales: Array


class Layer(NamedTuple):
    """A layer whose data and weight are of 8 bits. `bias` is the int32 or float32 one."""

    op: str
    data: Steps
    weight: Weight
    bias: Value | None
    is_whole_bias: bool
    params: dict[str, Any]
    shape: tuple[int, ...]

    @property
    def _steps(self) -> Array:
        """What 1 of the sums of each filter stands for."""
        rows = self.weight.whole.shape[0]
        made: Array = np.broadcast_to(
            self.data.scale * self.weight.scales.astype(np.float32), (rows,))
        return made

    def bytes(self, b: GraphBuilder, target: Target) -> Value | None:
        """Whole numbers of 8 bits."""
        factor = (self._steps / target.scale).astype(np.float32)
        bias = self.bias
        if bias is not None and not self.is_whole_bias:
            if float(factor.max()) > _FINE:
                return None
            bias = self._in_sums(b)
            if bias is None:
                return None
        return self._made(b, bias, factor, zero=self.data.zero, out_type=target.dtype.name,
                          out_zero=target.zero, low=target.low, high=target.high)

    def _in_sums(self, b: GraphBuilder) -> Value | None:
        """A float bias in steps of the sums."""
        assert self.bias is not None
        assert self.bias.const is not None
        with np.errstate(all="ignore"):
            whole = np.rint(self.bias.const.reshape(-1).astype(np.float64) / self._steps)
        if not np.all(np.abs(whole) < 1 << 30):
            return None
        return constant(np.broadcast_to(whole.astype(np.int32), self._steps.shape).copy())

    def floats(self, b: GraphBuilder) -> Value | None:
        """float32, to which a float bias is added as it is."""
        late = self.bias is not None and not self.is_whole_bias
        made = self._made(b, None if late else self.bias, np.array(self._steps),
                          zero=self.data.zero, out_type="float32")
        if not late:
            return made
        assert self.bias is not None
        assert self.bias.const is not None
        behind = made.rank - 2 if self.op == "_qlinear_conv" else 0
        values = self.bias.const.reshape(-1, *(1,) * behind)
        return b.op("broadcast_add", made, b.alike(constant(values), made.rank))

    def sums(self, b: GraphBuilder) -> Value:
        """int32."""
        return self._made(b, self.bias, None, zero=self.data.zero, out_type="int32")

    def _made(self, b: GraphBuilder, bias: Value | None, factor: Array | None,
              **how: Any) -> Value:
        given = [self.data.whole, self.weight.whole]
        if bias is not None:
            given.append(bias)
        if factor is not None:
            given.append(constant(factor))
        made = b.op(self.op, *given, no_bias=bias is None, **self.params, **how)
        return b.shaped(made, self.shape)


def weight_of(b: GraphBuilder, found: Steps | None, axis: int, rows: str = "",
              turned: Callable[[Array], Array] = np.asarray) -> Weight | None:
    """Constant numbers of 8 bits whose filters are along an axis, `turned` so that they come first
    (`rows` says how); None for scales along another axis, and for what int8 can not hold."""
    if found is None or found.whole.const is None or found.whole.dtype not in BYTES or (
            found.scales.size != 1 and found.axis != axis):
        return None
    column = [1] * found.whole.rank
    column[axis] = -1
    zeros = found.zeros.reshape(column) if found.zeros.size > 1 else found.zeros[0]
    values = found.whole.const
    if np.any(zeros) or found.whole.dtype != _INT8:
        less = values.astype(np.int16) - zeros
        if less.size and (less.min() < -128 or less.max() > 127):
            return None
    elif not rows:
        return Weight(found.whole, found.scales)

    def make(array: Array) -> Array:
        return turned((array.astype(np.int16) - zeros).astype(np.int8))
    how = f"{rows} less {found.zeros.tobytes().hex()} along {axis}"
    made = b.constants.made_of(found.whole, how, make)
    return Weight(constant(made, found.whole.fixed), found.scales)


def _bias(b: GraphBuilder, value: Value | None, data: Steps, weight: Weight,
          ) -> tuple[Value | None, bool] | None:
    """A constant bias, and whether it is int32 in steps of the sums; None where it has no such
    form."""
    if value is None:
        return None, True
    rows = weight.whole.shape[0]
    if value.size != rows or (value.rank and value.shape[-1] != rows):
        return None
    found = value.steps
    if (found is not None and found.whole.const is not None and found.whole.dtype == _INT32
            and not found.zeros.any()
            and np.allclose(found.scales, data.scale * weight.scales, rtol=1e-5, atol=0)):
        return constant(found.whole.const.reshape(-1), found.whole.fixed), True
    if value.const is None or value.dtype != np.float32 or not np.isfinite(value.const).all():
        return None
    return value, False


def with_sums(value: Value, layer: Layer) -> Value | None:
    """A constant int32 bias in steps of the sums."""
    rows = layer.weight.whole.shape[0]
    if value.const is None or value.dtype != _INT32 or value.size != rows:
        return None
    return constant(value.const.reshape(-1), value.fixed)


def convolution(b: GraphBuilder, node: Node, data: Steps, filters: Steps | None,
                ) -> Callable[[Value | None, bool], Layer] | None:
    """A layer but for its bias. Windows over two axes."""
    weight = weight_of(b, filters, 0)
    whole, groups = data.whole, int(node.attr("group", 1))
    if weight is None or not data.is_plain or whole.rank != 4 or weight.whole.rank != 4 or (
            groups < 1 or weight.whole.shape[0] % groups
            or weight.whole.shape[1] * groups != whole.shape[1]):
        return None
    window = Window(node, whole.shape[2:], weight.whole.shape[2:])
    pads = window.same_pads(whole.shape[2:])
    if pads is None or any(p < 0 for p in pads):
        return None
    count = weight.whole.shape[0]
    params = {"kernel": window.kernel, "stride": window.strides, "dilate": window.dilations,
              "pad": pads, "num_filter": count, "num_group": groups}
    shape = (whole.shape[0], count, *window.outs)
    return lambda bias, is_whole: Layer("_qlinear_conv", data, weight, bias, is_whole, params,
                                        shape)


def rows_of_matrix(b: GraphBuilder, matrix: Steps | None) -> Weight | None:
    """A constant matrix with a column for each output, turned."""
    return weight_of(b, matrix, 1, "rows", lambda array: np.ascontiguousarray(array.T))


def dense(b: GraphBuilder, data: Steps, matrix: Steps | None, has_rows: bool = False,
          ) -> Callable[[Value | None, bool], Layer] | None:
    """A product with a constant matrix but for a bias; `has_rows`: with a row for each output."""
    if matrix is None or matrix.whole.rank != 2 or not data.is_plain or not data.whole.rank:
        return None
    weight = weight_of(b, matrix, 0) if has_rows else rows_of_matrix(b, matrix)
    if weight is None or data.whole.rank < 2 or data.whole.shape[-1] != weight.whole.shape[1]:
        return None
    count = weight.whole.shape[0]
    shape = (*data.whole.shape[:-1], count)
    return lambda bias, is_whole: Layer("_qlinear_fully_connected", data, weight, bias, is_whole,
                                        {"num_hidden": count, "flatten": False}, shape)


def _with_bias(b: GraphBuilder, data: Steps, weights: Steps | None, bias: Value | None,
               made: Callable[[Value | None, bool], Layer] | None) -> Layer | None:
    if made is None:
        return None
    plain = made(None, True)
    found = _bias(b, bias, data, plain.weight)
    return None if found is None else made(*found)


def _read(b: GraphBuilder, ins: Sequence[Value | None]) -> tuple[Steps, Steps] | None:
    """What the data and the weight of a layer stand for."""
    if len(ins) < 2 or ins[0] is None or ins[1] is None:
        return None
    data, weights = ins[0].steps, ins[1].steps
    if data is None or weights is None or not is_usable(data, b) or not is_usable(weights, b):
        return None
    return data, weights


def _conv(b: GraphBuilder, node: Node, ins: Sequence[Value | None]) -> Layer | None:
    read = _read(b, ins)
    if read is None:
        return None
    return _with_bias(b, *read, ins[2] if len(ins) > 2 else None, convolution(b, node, *read))


def _product(b: GraphBuilder, node: Node, ins: Sequence[Value | None]) -> Layer | None:
    read = _read(b, ins)
    if read is None:
        return None
    return _with_bias(b, *read, ins[2] if len(ins) > 2 else None, dense(b, *read))


def _gemm(b: GraphBuilder, node: Node, ins: Sequence[Value | None]) -> Layer | None:
    read = _read(b, ins)
    bias = ins[2] if len(ins) > 2 else None
    if read is None or node.attr("transA", 0) or float(node.attr("alpha", 1.0)) != 1.0 or (
            bias is not None and float(node.attr("beta", 1.0)) != 1.0):
        return None
    return _with_bias(b, *read, bias, dense(b, *read, bool(node.attr("transB", 0))))


_LAYERS: dict[str, Callable[[GraphBuilder, Node, Sequence[Value | None]], Layer | None]] = {
    "Conv": _conv, "Gemm": _gemm, "MatMul": _product}
_FORMS: dict[str, Callable[[GraphBuilder, Node, Sequence[Value | None], Target],
                           Value | None]] = {
    **dict.fromkeys(MOVES, _moved), **dict.fromkeys(FUNCTIONS, _function_of),
    **dict.fromkeys(("Add", "Sub", "Sum"), _summed), "Concat": _joined,
    **dict.fromkeys(AVERAGES, _averaged)}

__all__ = ["added", "averages", "convolution", "dense", "floats_of", "floats_of_steps", "mapped",
           "quantized", "whole_numbers_of", "with_sums"]
