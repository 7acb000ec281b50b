"""LinearRegressionOutput, LogisticRegressionOutput, MAERegressionOutput: losses of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray, get_data, get_data_reorder, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...native import lib
from ...op.choose import first_supported
from ...op.context import OpContext
from ...op.infer import ShapeList, known, merge
from ...op.params import Params, number, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, channels_last_desc, default_desc
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ...storage.reorder import reorder_mem
from ..floats import same_float_type, wide
from ..tensor.numeric import sigmoid


@params_class
class RegressionOutputParams(Params):
    grad_scale: float = number(1.0, doc="factor of the gradient")


class Loss(NamedTuple):
    """One member of the family."""

    name: str
    backward: str
    sigmoid: bool = False
    sign: bool = False  # the gradient is the sign of the difference


def infer_shape(p: RegressionOutputParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data, label = merge(ins[0], outs[0], "shapes of data and output"), ins[1]
    if data is not None and known(data):
        if label is None:
            # a column of numbers usually comes with a plain row of labels
            label = data[:1] if len(data) == 2 and data[1] == 1 else data
        elif known(label) and (prod(label) != prod(data) or label[:1] != data[:1]):
            raise ShapeError(f"label has shape {label}, expected {data} or another of as many "
                             f"elements and the same axis 0 from data {data}")
    return [data, label], [data]


def compute(loss: Loss, ctx: OpContext, p: RegressionOutputParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    y = sigmoid(wide(ins[0])).astype(ins[0].dtype, copy=False) if loss.sigmoid else ins[0]
    outs[0].write(y)


def refuses(p: RegressionOutputParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def compute_ex(loss: Loss, ctx: OpContext, p: RegressionOutputParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, stream = ins[0], ctx.stream
    x = get_data(data, stream)
    if not loss.sigmoid:
        with outs[0].open(x.desc, stream, inplace_of=x) as y:
            if y.ptr != x.ptr:
                reorder_mem(stream, x, y)
        return
    # sigmoid(0) is not 0: oneDNN has no kernel for padded layouts
    layouts = (x.desc, channels_last_desc(data.dtype, data.shape),
               default_desc(data.dtype, data.shape))

    def build() -> Primitive:
        return first_supported(
            partial(make_primitive, Kind.ELTWISE, Direction.FORWARD_TRAINING,
                    alg=lib.NDRT_ELTWISE_LOGISTIC, src=desc, dst=desc) for desc in layouts)
    prim = ctx.primitive(("RegressionOutput.sigmoid", x.desc.id), build)
    x = get_data_reorder(data, prim.src, stream)
    with outs[0].open(prim.dst, stream, inplace_of=x) as y:
        ctx.run(prim, ((Arg.SRC, x), (Arg.DST, y)))


def gradient(loss: Loss, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit(loss.backward, node.params, node.inputs[1], node.outputs[0])[0], None]


def infer_shape_backward(p: RegressionOutputParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0])
    return [ins[0], data], [data]


def _factor(p: RegressionOutputParams, label: Shape) -> float:
    """grad_scale by the numbers of one sample."""
    return p.grad_scale / max(1, prod(label[1:]))


def compute_backward(loss: Loss, ctx: OpContext, p: RegressionOutputParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    label, y = wide(ins[0]).reshape(ins[1].shape), wide(ins[1])
    difference = y - label
    if loss.sign:
        # MXNet's sign of 0 is negative here
        difference = np.where(difference > 0, y.dtype.type(1), y.dtype.type(-1))
    dx = difference * y.dtype.type(_factor(p, ins[0].shape))
    outs[0].write(dx.astype(ins[1].dtype, copy=False))


def compute_ex_backward(loss: Loss, ctx: OpContext, p: RegressionOutputParams,
                        ins: list[NDArray], outs: list[Output]) -> None:
    label, out = ins
    stream = ctx.stream
    y = get_data(out, stream)
    desc = y.desc
    if loss.sign and desc.is_padded:
        # the sign of padding would not be 0
        desc = default_desc(out.dtype, out.shape)
        y = get_data_reorder(out, desc, stream)
    t = get_data_reorder(label, desc, stream)
    factor = _factor(p, label.shape)
    first = _binary(ctx, lib.NDRT_BINARY_GT if loss.sign else lib.NDRT_BINARY_SUB, desc)
    scale = ctx.primitive(("RegressionOutput.scale", loss.sign, factor, desc.id),
                          lambda: make_primitive(
        Kind.ELTWISE, Direction.FORWARD_INFERENCE, alg=lib.NDRT_ELTWISE_LINEAR,
        alpha=2 * factor if loss.sign else factor, beta=-factor if loss.sign else 0.0,
        src=desc, dst=desc))
    with outs[0].open(desc, stream, inplace_of=y) as dx:
        ctx.run(first, ((Arg.SRC, y), (Arg.SRC_1, t), (Arg.DST, dx)))
        if loss.sign or factor != 1.0:
            ctx.run(scale, ((Arg.SRC, dx), (Arg.DST, dx)))


def _binary(ctx: OpContext, alg: int, desc: MemDesc) -> Primitive:
    return ctx.primitive(("RegressionOutput.difference", alg, desc.id), lambda: make_primitive(
        Kind.BINARY, alg=alg, srcs=(desc, desc), dst=desc))


def _register(loss: Loss, forward: str, slope: str) -> None:
    register(OpDef(loss.name, RegressionOutputParams, inputs=("data", "label"),
                   infer_shape=infer_shape, infer_type=same_float_type,
                   compute=partial(compute, loss), compute_ex=partial(compute_ex, loss),
                   refuses=refuses, gradient=partial(gradient, loss), inplace={0: 0},
                   ignores=(1,), is_loss=True,
                   doc=f"A loss whose output is {forward}.\n\nThe gradient of data is {slope}, "
                       "times grad_scale, divided by the numbers of one sample (axis 0 counts "
                       "samples), whatever the gradient of the output. label has as many "
                       "elements as data; of a column it may be a row. Source: MXNet's "
                       f"{loss.name}; oneDNN eltwise and binary."))
    register(OpDef(loss.backward, RegressionOutputParams, inputs=("label", "out"),
                   infer_shape=infer_shape_backward, infer_type=same_float_type,
                   compute=partial(compute_backward, loss),
                   compute_ex=partial(compute_ex_backward, loss), refuses=refuses,
                   inplace={0: 1}, is_backward=True,
                   no_gradient="a loss has no gradient of second order"))


_register(Loss("LinearRegressionOutput", "_backward_linear_reg_out"), "data", "output - label")
_register(Loss("LogisticRegressionOutput", "_backward_logistic_reg_out", sigmoid=True),
          "sigmoid(data)", "output - label")
_register(Loss("MAERegressionOutput", "_backward_mae_reg_out", sign=True), "data",
          "1 where output > label, else -1")
