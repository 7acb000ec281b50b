"""Activation: y = f(x), element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data, get_data_reorder, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import in_float32
from ...native import lib
from ...op.context import OpContext
from ...op.elementwise import Elementwise
from ...op.infer import same_shape, same_type
from ...op.params import Params, choice, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ..tensor.functions import WORDS, function, slope
from ..tensor.numeric import convert, wide
from ..terms import terms


@params_class
class ActivationParams(Params):
    act_type: str = choice("relu", "sigmoid", "tanh", "softrelu", "softsign", doc="which f")


def _sigmoid(x: AnyArray) -> AnyArray:
    # exp of a negative number only: no overflow
    e = np.exp(-np.abs(x))
    made: AnyArray = np.where(x >= 0, 1 / (1 + e), e / (1 + e))
    return made


def _relu(x: AnyArray) -> AnyArray:
    # of NaN it is 0 where oneDNN may compute, as in MXNet, and NaN in other dtypes
    made: AnyArray = np.where(x > 0, x, x.dtype.type(0)) if in_float32(x.dtype) else (
        np.maximum(x, 0))
    return made


FORWARD: dict[str, Callable[[AnyArray], AnyArray]] = {
    "relu": _relu,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "softrelu": lambda x: np.logaddexp(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
}
# f'(x) from y = f(x) where that is enough, so that x need not be kept; from x elsewhere
FROM_OUTPUT = frozenset({"relu", "sigmoid", "tanh"})
SLOPE: dict[str, Callable[[AnyArray], AnyArray]] = {
    "relu": lambda y: np.where(np.isnan(y), y, (y > 0).astype(y.dtype)),
    "sigmoid": lambda y: y * (1 - y),
    "tanh": lambda y: 1 - y * y,
    "softrelu": _sigmoid,
    "softsign": lambda x: 1 / np.square(1 + np.abs(x)),
}
ALG = {
    "relu": lib.NDRT_ELTWISE_RELU,
    "sigmoid": lib.NDRT_ELTWISE_LOGISTIC,
    "tanh": lib.NDRT_ELTWISE_TANH,
    "softrelu": lib.NDRT_ELTWISE_SOFT_RELU,
}


def compute(ctx: OpContext, p: ActivationParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    # whole numbers stay whole under relu; the other functions are computed in floats
    x = ins[0] if p.act_type == "relu" else wide(ins[0])
    outs[0].write(convert(FORWARD[p.act_type](x), ins[0].dtype))


def refuses(p: ActivationParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def compute_ex(ctx: OpContext, p: ActivationParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    if p.act_type in WORDS:
        function(ctx, WORDS[p.act_type], ins[0], outs[0])
        return
    x = get_data(ins[0], ctx.stream)

    def build() -> Primitive:
        direction = (Direction.FORWARD_TRAINING if ctx.is_train
                     else Direction.FORWARD_INFERENCE)
        # softrelu scales its argument by alpha
        return make_primitive(Kind.ELTWISE, direction, alg=ALG[p.act_type], src=x.desc,
                              dst=x.desc, alpha=1.0 if p.act_type == "softrelu" else 0.0)
    prim = ctx.primitive(("Activation.forward", p, x.desc.id), build)
    with outs[0].open(x.desc, ctx.stream, inplace_of=x) as y:
        ctx.run(prim, ((Arg.SRC, x), (Arg.DST, y)))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    kept = node.outputs[0] if node.params.act_type in FROM_OUTPUT else node.inputs[0]
    return emit("_backward_Activation", node.params, out_grads[0], kept)


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    grad, dy, at = terms(emit, out_grads[0], *node.inputs)
    to_dy = grad("_backward_Activation", node.params, at)
    act = node.params.act_type
    if act == "softrelu":
        y = at("sigmoid")
        return [to_dy.entry, (grad * dy * y * (1 - y)).entry]
    # most programs need no second derivatives, nor all that is there
    from ..tensor.unary import TABLE
    curve = TABLE[act].curve
    return [to_dy.entry, curve(grad * dy, at).entry if callable(curve) else None]


def backward_inputs(p: ActivationParams) -> tuple[str, ...]:
    return "out_grad", "out" if p.act_type in FROM_OUTPUT else "data"


def compute_backward(ctx: OpContext, p: ActivationParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0] * SLOPE[p.act_type](ins[1]).astype(ins[1].dtype, copy=False))


def compute_ex_backward(ctx: OpContext, p: ActivationParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    if p.act_type == "softsign":
        slope(ctx, lib.NDRT_FUNCTION_SOFTSIGN_SLOPE, ins[0], ins[1], outs[0])
        return
    data = get_data(ins[1], ctx.stream)
    dy = get_data_reorder(ins[0], data.desc, ctx.stream)
    # a rectifier's output has the sign of its input, so it can stand for it
    from_dst = {"sigmoid": lib.NDRT_ELTWISE_LOGISTIC_FROM_DST,
                "tanh": lib.NDRT_ELTWISE_TANH_FROM_DST}.get(p.act_type)

    def build() -> Primitive:
        make = partial(make_primitive, Kind.ELTWISE, Direction.BACKWARD, diff_src=data.desc,
                       diff_dst=data.desc, alpha=1.0 if p.act_type == "softrelu" else 0.0)
        if from_dst is not None:
            return make(alg=from_dst, dst=data.desc)
        return make(alg=ALG[p.act_type], src=data.desc)
    prim = ctx.primitive(("Activation.backward", p, data.desc.id), build)
    with outs[0].open(data.desc, ctx.stream, inplace_of=dy) as dx:
        ctx.run(prim, ((Arg.SRC if from_dst is None else Arg.DST, data), (Arg.DIFF_DST, dy),
                       (Arg.DIFF_SRC, dx)))


register(OpDef("Activation", ActivationParams, inputs=("data",), infer_shape=same_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, inplace={0: 0},
               elementwise=lambda p: Elementwise(p.act_type), per_sample=True,
               doc="Applies an activation function element by element.\n\n"
                   "relu: max(x, 0); sigmoid: 1 / (1 + exp(-x)); tanh; softrelu: log(1 + exp(x)); "
                   "softsign: x / (1 + |x|). Output and gradient have the shape and dtype of "
                   "data. Source: MXNet's Activation; oneDNN eltwise, a native kernel for softsign "
                   "and where oneDNN's tanh is slow."))
register(OpDef("_backward_Activation", ActivationParams, inputs=backward_inputs,
               infer_shape=same_shape, infer_type=same_type, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses, inplace={0: 0},
               gradient=gradient_backward, is_backward=True))
