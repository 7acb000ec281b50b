"""Layers whose data are rounded to 8 bits when they come: DynamicQuantizeLinear and its readers.

`onnxruntime.quantization.quantize_dynamic` writes a dense layer as MatMulInteger of rounded data,
a Cast of its sums, a product of both scales, a product with that, and the bias. All of them are one
operator of the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ops.quantization.dynamic import MOST_FEATURES
from ..build import GraphBuilder
from ..graph import Array, Node
from ..plan import NodeCall
from ..steps import whole_of_itself
from ..table import operator
from ..values import Value, constant
from .casts import cast_symbol
from .math import binary
from .whole_numbers import Weight, dense, rows_of_matrix

_SINGLE, _BYTE = np.dtype(np.float32), np.dtype(np.uint8)


class Rounded(NamedTuple):
    """An output of DynamicQuantizeLinear: its number, and the floats that were rounded."""

    output: int
    data: Value


class Sums(NamedTuple):
    """Sums of products of rounded data, int32 or cast to floats."""

    data: Value
    weight: Weight


class Scales(NamedTuple):
    """The scale of rounded data times those of weights."""

    data: Value
    scales: Array


class Product(NamedTuple):
    """A dense layer without its bias."""

    data: Value
    weight: Weight


@operator("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node, x: Array) -> tuple[Array, ...]:
    low = np.minimum(x.min(initial=np.inf), 0).astype(np.float32)
    high = np.maximum(x.max(initial=-np.inf), 0).astype(np.float32)
    scale = np.float32((high - low) / np.float32(255))
    scale = np.float32(1) if scale == 0 else scale
    zero = np.clip(np.rint(-low / scale), 0, 255).astype(np.uint8)
    made = np.clip(np.rint(x / scale) + np.float32(zero), 0, 255).astype(np.uint8)
    return made, np.asarray(scale), np.asarray(zero)


@dynamic_quantize_linear.symbol
def dynamic_quantize_symbol(b: GraphBuilder, node: Node, x: Value) -> tuple[Value, ...] | None:
    """A function in NumPy, which is not in the graph where only dense layers read it."""
    if x.dtype != _SINGLE:
        return None
    call = NodeCall(dynamic_quantize_linear, node, [0], 3)
    made = b.function(call, [x], [(x.shape, _BYTE), ((), _SINGLE), ((), _BYTE)], False)
    return tuple(_noted(b, value, Rounded(i, x)) for i, value in enumerate(made))


def _noted(b: GraphBuilder, value: Value, note: Any) -> Value:
    value.dynamic = b, note
    return value


def _note(b: GraphBuilder, value: Value | None, kind: type[Any]) -> Any:
    """What is noted of a value of this graph, if it is of a kind."""
    if value is None or value.dynamic is None or value.dynamic[0] is not b:
        return None
    found = value.dynamic[1]
    return found if isinstance(found, kind) else None


def followed(b: GraphBuilder, node: Node, ins: Sequence[Value | None]) -> Value | None:
    """What a node makes of what follows from rounded data; None for what is not part of a layer."""
    form = _FORMS.get(node.op)
    return None if form is None else form(b, node, ins)


def _sums(b: GraphBuilder, node: Node, ins: Sequence[Value | None]) -> Value | None:
    """int32 sums: those of the bytes, less the zero point times the sum of each column."""
    x, w, x_zero, w_zero = (*ins, None, None)[:4]
    rounded, zero = _note(b, x, Rounded), _note(b, x_zero, Rounded)
    if (x is None or x_zero is None or w is None or rounded is None or zero is None
            or rounded.data is not zero.data or (rounded.output, zero.output) != (0, 2)):
        return None
    matrix = whole_of_itself(b, w, w_zero, -1)
    weight = rows_of_matrix(b, matrix)
    data = whole_of_itself(b, x, None)
    layer = None if data is None else dense(b, data, matrix)
    if weight is None or layer is None or weight.whole.const is None:
        return None
    made = layer(None, True).sums(b)
    columns = constant(weight.whole.const.sum(1, dtype=np.int32))
    shift = b.op("broadcast_mul", b.alike(b.op("Cast", x_zero, dtype="int32"), made.rank),
                 b.alike(columns, made.rank))
    return _noted(b, b.op("broadcast_sub", made, shift), Sums(rounded.data, weight))


def _cast(b: GraphBuilder, node: Node, ins: Sequence[Value | None]) -> Value | None:
    x = ins[0]
    found = _note(b, x, Sums)
    if x is None or found is None:
        return None
    made = cast_symbol(b, node, x)
    return made if made is None or made.dtype != _SINGLE else _noted(b, made, found)


def _times(b: GraphBuilder, node: Node, ins: Sequence[Value | None]) -> Value | None:
    """The product of scales, or of sums with it."""
    for x, y in (ins[:2], ins[1::-1]):
        assert x is not None
        assert y is not None
        scale, sums, scales = _note(b, x, Rounded), _note(b, x, Sums), _note(b, y, Scales)
        if scale is not None and scale.output == 1 and y.const is not None and y.rank <= 1:
            made = binary(b, "Mul", x, y)
            return made and _noted(b, made, Scales(scale.data, y.const.reshape(-1)))
        if sums is not None and scales is not None and sums.data is scales.data:
            rows = sums.weight.whole.shape[0]
            if x.dtype == _SINGLE and scales.scales.size in (1, rows):
                each = np.broadcast_to(scales.scales, (rows,)).astype(np.float32)
                return _layer(b, Product(sums.data, Weight(sums.weight.whole, each)), None)
    return None


def _plus(b: GraphBuilder, node: Node, ins: Sequence[Value | None]) -> Value | None:
    """A dense layer with its bias."""
    for x, y in (ins[:2], ins[1::-1]):
        found = _note(b, x, Product)
        if found is not None and y is not None and y.const is not None and y.dtype == _SINGLE and (
                y.shape == found.weight.scales.shape):
            return _layer(b, found, y)
    return None


def _layer(b: GraphBuilder, found: Product, bias: Value | None) -> Value | None:
    x, weight = found.data, found.weight
    rows, features = weight.whole.shape
    if x.rank < 2 or features > MOST_FEATURES:
        return None
    given = [x, weight.whole, constant(weight.scales), *(() if bias is None else (bias,))]
    made = b.op("_contrib_dynamic_fully_connected", *given, num_hidden=rows, flatten=False,
                no_bias=bias is None, data_dtype="uint8", per_tensor=True)
    return made if bias is not None else _noted(b, made, found)


_FORMS = {"MatMulInteger": _sums, "Cast": _cast, "Mul": _times, "Add": _plus}
