"""Operators on 8-bit numbers: those on floats between DequantizeLinear and QuantizeLinear.

Weights are constants of 8 bits, biases of 32 in steps of the sums. int32 sums stand as floats,
which only what brings them to 8 bits reads.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ....dtypes import FLOAT32, INT8, INT32, UINT8
from ....imperative import fused_conv, fused_dense
from ....ops.quantization.batch_norm import affine, calibrated
from ....ops.quantization.layers import arrays, bias_in_sums
from ....ops.quantization.quantize import known_range
from ....ops.quantization.ranges import BYTES, WHOLE, product_range, widest
from ....ops.quantization.whole_layers import Ends, Whole, scale_of
from ....symbol.node import Entry, Node
from ..call import Call
from ..dims import Sizes
from ..inner import Tensor, converted
from ..steps import (
    UNKNOWN,
    Most,
    constant,
    from_steps,
    in_floats,
    layered,
    on_floats,
    range_of,
    range_tensors,
    step_of,
    times,
    to_steps,
)
from ..table import Refused, exports
from .layers import embedding as rows_of

REQUANTIZE = "_contrib_requantize"
# sums of uint8 data, too, are told the range of int8
_CONV_MOST: Most = {INT8: WHOLE[INT8], UINT8: WHOLE[INT8]}


def _sums(c: Call, floats: str, ends: Ends) -> list[str]:
    """int32 sums, which stand as floats."""
    writer = c.writer
    entry = c.node.outputs[0]
    readers = [node for node in writer.order if entry in node.inputs]
    if entry in writer.heads or any(node.op is None or node.op.name != REQUANTIZE
                                    for node in readers):
        raise Refused("its int32 sums are read by others than _contrib_requantize")
    return [floats, *range_tensors(c, ends)]


# ---- to 8 bits and back -------------------------------------------------------------------------


@exports("_contrib_quantize_v2")
def quantize_v2(c: Call) -> list[str]:
    ends = known_range(c.p, c.dtype())
    if ends is None:
        raise Refused(UNKNOWN.format("its input"))
    if c.dtype() in BYTES:
        if c.dtype() != c.p.dtype:
            raise Refused(f"{c.dtype()} wraps round as {c.p.dtype}")
        return [c.input(0), *range_tensors(c, ends)]
    return to_steps(c, c.input(0), c.p.dtype, ends)


@exports("_contrib_quantize")
def quantize(c: Call) -> list[str]:
    ends = range_of(c, 1)
    most = widest(*ends)
    told = ends if c.out_dtype() == UINT8 else (np.float32(-most), most)
    return to_steps(c, c.input(0), c.out_dtype(), ends, WHOLE, told)


@exports("_contrib_dequantize")
def dequantize(c: Call) -> str:
    return in_floats(c, 0, 1).name


@exports("_contrib_requantize")
def requantize(c: Call) -> list[str]:
    if c.p.calibrated is None:
        raise Refused(UNKNOWN.format("its output"))
    most = widest(*c.p.calibrated)
    told = np.float32(0 if c.p.dtype == UINT8 else -most), most
    return to_steps(c, c.input(0), c.p.dtype, c.p.calibrated, WHOLE, told)


# ---- layers -------------------------------------------------------------------------------------


def _weights(c: Call, whole: Whole, data_step: Any, steps: Any) -> list[Tensor]:
    """Weight and bias, constants, as floats."""
    made = [from_steps(c, c.const(whole.weight), INT8, whole.weight.shape, steps)]
    if whole.bias is not None:
        made.append(from_steps(c, c.const(whole.bias), INT32, whole.bias.shape,
                               np.asarray(steps, np.float32) * np.float32(data_step)))
    return made


def _matrix(c: Call, p: Any, data: Tensor, step: Any) -> Tensor:
    """Data of a dense layer, which have this step, as a matrix."""
    shape = data.shape
    if len(shape) == 2:
        return data
    if p.flatten:
        inner = c.fixed(shape[1:], "all of data's shape but the first axis")
        after: Sizes = (shape[0], prod(inner))
    else:
        after = (times(shape[:-1]), shape[-1])
    # ONNX Runtime wants both steps around whatever there is
    made = c.reshape(data.name, shape, after)
    made = c.op("QuantizeLinear", made, c.const(step), c.const(0, c.dtype()))
    return from_steps(c, made, c.dtype(), after, step)


def _shaped(c: Call, made: str, rows: Tensor, columns: int) -> str:
    """A matrix in the shape of the node's output."""
    return c.reshape(made, (rows.shape[0], columns), c.out_shape())


@exports("_sg_mkldnn_conv")
def fused_convolution(c: Call) -> list[str]:
    if not c.p.quantized:
        return _opened(c)
    names = [*c.p.inputs, *c.p.ends]
    _need_range(c)
    ends = range_of(c, names.index("data_min"))
    given = {name: constant(c, i, name) for i, name in enumerate(c.p.inputs)
             if name not in ("data", "sum")}
    whole = fused_conv.whole_numbers(c.p, given, scale_of(c.dtype(), *ends))
    tensors = dict(zip(("data", "weight", "bias"), [
        in_floats(c, 0, names.index("data_min")),
        *_weights(c, whole, step_of(c.dtype(), ends), 1 / whole.scales)], strict=False))
    if c.p.with_sum:
        tensors["sum"] = in_floats(c, names.index("sum"), names.index("sum_min"))
    made = layered(c, _chain(c.p, tensors), tensors)
    return to_steps(c, made, c.p.whole_dtype, c.p.calibrated)


@exports("_sg_mkldnn_fully_connected")
def fused_dense_layer(c: Call) -> list[str]:
    if not c.p.quantized:
        return _opened(c)
    _need_range(c)
    names = [*c.p.inputs, *c.p.ends]
    ends = range_of(c, names.index("min_data"))
    given = {name: constant(c, i, name) for i, name in enumerate(names)
             if not name.endswith("data")}
    step = step_of(c.dtype(), ends)
    whole = fused_dense.whole_numbers(c.p, given, scale_of(c.dtype(), *ends))
    data = _matrix(c, c.p.layer, in_floats(c, 0, names.index("min_data")), step)
    tensors = dict(zip(("data", "weight", "bias"), [
        data, *_weights(c, whole, step, 1 / whole.scales)], strict=False))
    made = layered(c, _chain(c.p, tensors, flatten=True), tensors)
    columns = len(whole.weight)
    if c.p.gives_floats:
        return [_shaped(c, made, data, columns)]
    out, *told = to_steps(c, made, c.p.whole_dtype, c.p.calibrated)
    return [_shaped(c, out, data, columns), *told]


@exports("_sg_mkldnn_selfatt_qk", "_sg_mkldnn_selfatt_valatt")
def fused_attention(c: Call) -> list[str]:
    if not c.p.quantized:
        return _opened(c)
    _need_range(c)
    own = {i: in_floats(c, i, c.p.count + 2 * i) for i in range(c.p.count)}
    made = _opened(c, own)
    return made if c.p.gives_floats else to_steps(c, made[0], INT8, c.p.calibrated)


def _need_range(c: Call) -> None:
    if c.p.calibrated is None and not c.p.gives_floats:
        raise Refused(UNKNOWN.format("its output"))


def _opened(c: Call, own: dict[int, Tensor] | None = None) -> list[str]:
    """The graph inside."""
    writer, (head,) = converted(c, c.p.graphs[0], c.p.places[0], own or {})
    c.writer.nodes += writer.nodes
    return [head.name]


def _chain(p: Any, tensors: dict[str, Tensor], **changed: Any) -> Entry:
    """What a fused layer computes, without the normalization that is in its weights already."""
    variables = {name: Entry(Node(None, name), 0) for name in tensors}
    layer = p.nodes[0]
    params = replace(p.layer, no_bias="bias" not in tensors, **changed)
    made = Entry(Node(layer.op, layer.name, {}, params, [
        entry for name, entry in variables.items() if name != "sum"]), 0)
    for node in p.nodes[1:]:
        if node.op.name == fused_conv.NORM:
            continue
        more = [variables["sum"]] if node.op.name == fused_conv.SUM else []
        made = Entry(Node(node.op, node.name, dict(node.attrs), node.params, [made, *more]), 0)
    return made


@exports("_contrib_quantized_conv")
def convolution(c: Call) -> list[str]:
    count = len(arrays(c.p))
    ends = [*range_of(c, count), *range_of(c, count + 2)]
    step = step_of(c.dtype(), (ends[0], ends[1]), _CONV_MOST)
    weight_step = step_of(INT8, (ends[2], ends[3]), WHOLE)
    # MXNet adds the bias as it is
    bias = None if c.p.no_bias else constant(c, 2, "bias").astype(np.int32)
    whole = Whole(constant(c, 1, "weight"), bias, np.float32(1) / weight_step)
    data = from_steps(c, c.input(0), c.dtype(), c.shape(), step)
    made = on_floats(c, "Convolution", c.p, data, *_weights(c, whole, step, weight_step))
    return _sums(c, made, product_range(INT8, [np.array([end]) for end in ends]))


@exports("_contrib_quantized_fully_connected")
def fully_connected(c: Call) -> list[str]:
    count, kind = len(arrays(c.p)), c.dtype()
    ends = [np.array([end]) for i in range(count) for end in range_of(c, count + 2 * i)]
    step = step_of(kind, (ends[0][0], ends[1][0]), WHOLE)
    weight_step = step_of(INT8, (ends[2][0], ends[3][0]), WHOLE)
    bias = None
    if not c.p.no_bias:
        bias = bias_in_sums(constant(c, 2, "bias"), kind, ends).astype(np.int32)
    whole = Whole(constant(c, 1, "weight"), bias, np.float32(1) / weight_step)
    data = _matrix(c, c.p, from_steps(c, c.input(0), kind, c.shape(), step), step)
    made = on_floats(c, "FullyConnected", replace(c.p, flatten=True), data,
                     *_weights(c, whole, step, weight_step))
    return _sums(c, _shaped(c, made, data, len(whole.weight)), product_range(kind, ends))


# ---- what lies between layers -------------------------------------------------------------------


@exports("_contrib_quantized_elemwise_add")
def add(c: Call) -> list[str]:
    made = c.op("Add", in_floats(c, 0, 2).name, in_floats(c, 1, 4).name)
    if c.p.calibrated is not None:
        return to_steps(c, made, c.out_dtype(), c.p.calibrated)
    top = np.float32(widest(*range_of(c, 2)) + widest(*range_of(c, 4)))
    return _sums(c, made, (np.float32(-top), top))


@exports("_contrib_quantized_elemwise_mul")
def multiply(c: Call) -> list[str]:
    is_sums = not c.p.enable_float_output and c.p.calibrated is None
    parts = [in_floats(c, i, 2 + 2 * i, WHOLE) if is_sums else in_floats(c, i, 2 + 2 * i)
             for i in range(2)]
    made = c.op("Mul", *(part.name for part in parts))
    if c.p.enable_float_output:
        return [made]
    if c.p.calibrated is not None:
        return to_steps(c, made, INT8, c.p.calibrated)
    ends = [np.array([end]) for i in (2, 4) for end in range_of(c, i)]
    return _sums(c, made, product_range(INT8, ends))


def _kept(c: Call, floats: str) -> list[str]:
    """8-bit numbers in the steps of the input."""
    return to_steps(c, floats, c.dtype(), range_of(c, 1))


@exports("_contrib_quantized_act")
def activation(c: Call) -> list[str]:
    return _kept(c, c.op("Relu", in_floats(c, 0, 1).name))


@exports("_contrib_quantized_pooling")
def pooling(c: Call) -> list[str]:
    return _kept(c, on_floats(c, "Pooling", c.p, in_floats(c, 0, 1)))


@exports("_contrib_quantized_flatten")
def flatten(c: Call) -> list[str]:
    return _kept(c, c.reshape(in_floats(c, 0, 1).name, c.shape(), c.out_shape()))


@exports("_contrib_quantized_concat")
def concat(c: Call) -> list[str]:
    count = c.p.num_args
    ends = [range_of(c, count + 2 * i) for i in range(count)]
    low = np.float32(min(0.0, *(float(end[0]) for end in ends)))
    high = np.float32(max(0.0, *(float(end[1]) for end in ends)))
    parts = [in_floats(c, i, count + 2 * i).name for i in range(count)]
    made = c.op("Concat", *parts, axis=c.p.dim % c.rank()) if count > 1 else parts[0]
    return to_steps(c, made, c.out_dtype(), (low, high))


@exports("_contrib_quantized_batch_norm")
def batch_norm(c: Call) -> list[str]:
    given, wanted = range_of(c, 5), calibrated(c.p)
    vectors = [constant(c, i, name) for i, name in enumerate(
        ("gamma", "beta", "moving_mean", "moving_var"), 1)]
    ends = [np.array([end]) for end in given]
    factor, summand = affine(c.p, [np.zeros(0), *vectors, *ends], *wanted)
    column = [1] * c.rank()
    column[c.p.axis] = -1
    with np.errstate(all="ignore"):
        factor = factor * widest(*wanted) / widest(*given)
        summand = summand * step_of(INT8, wanted)
    made = c.op("Mul", in_floats(c, 0, 5).name, c.const(factor.reshape(column), FLOAT32))
    made = c.op("Add", made, c.const(summand.reshape(column), FLOAT32))
    return to_steps(c, made, INT8, wanted)


@exports("_contrib_quantized_embedding")
def embedding(c: Call) -> list[str]:
    made = rows_of(c)
    assert isinstance(made, str)
    return [made, *range_tensors(c, range_of(c, 2))]

