"""Operators that give their input as it is, or its shape only: _copy, BlockGrad, losses, casts.

Where input and output are one memory nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import find_dtype
from ...errors import Unsupported
from ...op.context import OpContext
from ...op.infer import TypeList, merge_types, same_shape, same_type
from ...op.params import REQUIRED, NoParams, Params, choice, dtype, number, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.reorder import reorder_mem
from .fill import fill_one, fill_value, fill_zero
from .numeric import convert
from .pointwise import need_bytes, put


def compute(ctx: OpContext, p: Params, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0])


def refuses(p: Params, ins: list[NDArray]) -> str | None:
    return need_bytes(ins[0])


def compute_ex(ctx: OpContext, p: Params, ins: list[NDArray], outs: list[Output]) -> None:
    put(ctx, get_data(ins[0], ctx.stream), outs[0])


def gradient_copy(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [out_grads[0]]


register(OpDef("_copy", NoParams, inputs=("data",), infer_shape=same_shape, infer_type=same_type,
               compute=compute, compute_ex=compute_ex, refuses=refuses, gradient=gradient_copy,
               inplace={0: 0}, identity=True, aliases=("identity",),
               doc="A copy of data, in data's layout.\n\nSource: MXNet's _copy."))
register(OpDef("BlockGrad", NoParams, inputs=("data",), infer_shape=same_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               no_gradient="zero: it stops the gradient", inplace={0: 0}, identity=True,
               aliases=("stop_gradient",),
               doc="Gives data as it is, and no gradient back.\n\nSource: MXNet's BlockGrad."))


def gradient_like(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [out_grads[0], emit.zeros_like(node.inputs[1])]


register(OpDef("_identity_with_attr_like_rhs", NoParams, inputs=("lhs", "rhs"),
               infer_shape=same_shape, infer_type=same_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient_like,
               inplace={0: 0}, ignores=(1,),
               doc="lhs, which has the shape and dtype of rhs.\n\n"
                   "So either tells the other's shape. Source: MXNet's "
                   "_identity_with_attr_like_rhs."))


@params_class
class GradientMultiplierParams(Params):
    scalar: float = number(1.0, doc="what the gradient is multiplied by")


def gradient_multiplied(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_mul_scalar", {"scalar": node.params.scalar}, out_grads[0])


register(OpDef("_contrib_gradientmultiplier", GradientMultiplierParams, inputs=("data",),
               infer_shape=same_shape, infer_type=same_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient_multiplied,
               inplace={0: 0}, identity=True,
               doc="Gives data as it is, and its gradient times a number back.\n\n"
                   "A negative number turns the gradient round. Source: MXNet's "
                   "_contrib_gradientmultiplier."))


# ---- losses made by users -----------------------------------------------------------------------


def gradient_make_loss(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("ones_like", None, node.inputs[0])


register(OpDef("make_loss", NoParams, inputs=("data",), outputs=("loss",), infer_shape=same_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient_make_loss, is_loss=True, inplace={0: 0}, identity=True,
               doc="Makes data a loss: its gradient is 1, whatever comes from above.\n\n"
                   "Source: MXNet's make_loss."))


@params_class
class MakeLossParams(Params):
    grad_scale: float = number(1.0, doc="the gradient of each element")
    valid_thresh: float = number(0.0, doc="elements above it are valid")
    normalization: str = choice("null", "batch", "valid", default="null",
                                doc="what the gradient is divided by: 1, rows, valid elements")


def gradient_make_loss_scaled(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_MakeLoss", node.params, node.inputs[0])


def compute_make_loss_backward(ctx: OpContext, p: MakeLossParams, ins: list[AnyArray],
                               outs: list[NumpyOutput]) -> None:
    data = ins[0]
    share = 1.0
    if p.normalization == "batch":
        share = float(max(data.shape[0], 1)) if data.ndim else 1.0
    elif p.normalization == "valid":
        share = float(max(int(np.count_nonzero(data > p.valid_thresh)), 1))
    outs[0].write(np.full(data.shape, convert(np.float64(p.grad_scale / share), data.dtype)))


def compute_ex_make_loss_backward(ctx: OpContext, p: MakeLossParams, ins: list[NDArray],
                                  outs: list[Output]) -> None:
    if p.normalization == "valid":
        raise Unsupported("oneDNN does not count valid elements")
    share = ins[0].shape[0] if p.normalization == "batch" else 1
    fill_value(ctx, p.grad_scale / share, outs[0])


register(OpDef("MakeLoss", MakeLossParams, inputs=("data",), infer_shape=same_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient_make_loss_scaled, is_loss=True, inplace={0: 0},
               identity=True, names_data=True,
               doc="Makes data a loss: its gradient is grad_scale, divided by the number of rows "
                   "or of valid elements, whatever comes from above.\n\nSource: MXNet's "
                   "MakeLoss."))
register(OpDef("_backward_MakeLoss", MakeLossParams, inputs=("data",), infer_shape=same_shape,
               infer_type=same_type, compute=compute_make_loss_backward,
               compute_ex=compute_ex_make_loss_backward, is_backward=True,
               no_gradient="zero: it is constant", doc="The gradient of MakeLoss."))


# ---- casts --------------------------------------------------------------------------------------


@params_class
class CastParams(Params):
    dtype: str = dtype(REQUIRED, doc="dtype of the output")


def infer_type_cast(p: CastParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return ins, [merge_types([outs[0], find_dtype(p.dtype)])]


def compute_cast(ctx: OpContext, p: Params, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    outs[0].write(convert(ins[0], outs[0].dtype))


def refuses_cast(p: CastParams, ins: list[NDArray]) -> str | None:
    if ins[0].dtype.name == p.dtype:
        return need_bytes(ins[0])
    return None if {ins[0].dtype.name, p.dtype} <= _FLOATS else _CUTS


_CUTS = "oneDNN rounds where a cast cuts off"
# between which a cast rounds to the nearest, as a reorder does
_FLOATS = {"float16", "bfloat16", "float32"}


def compute_ex_cast(ctx: OpContext, p: Params, ins: list[NDArray], outs: list[Output]) -> None:
    dtype = outs[0].array.dtype
    if ins[0].dtype == dtype:
        compute_ex(ctx, p, ins, outs)
        return
    if not {ins[0].dtype.name, dtype.name} <= _FLOATS:
        raise Unsupported(_CUTS)
    source = get_data(ins[0], ctx.stream)
    with outs[0].open(source.desc.of_dtype(dtype), ctx.stream) as target:
        reorder_mem(ctx.stream, source, target)


def gradient_cast(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_cast", None, out_grads[0], node.inputs[0])


def gradient_cast_back(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [*emit("_backward_cast", None, out_grads[0], node.inputs[0]), None]


def infer_type_like(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[1], outs[0]])
    return [ins[0], one], [one]


register(OpDef("Cast", CastParams, inputs=("data",), infer_shape=same_shape,
               infer_type=infer_type_cast, compute=compute_cast, compute_ex=compute_ex_cast,
               refuses=refuses_cast, gradient=gradient_cast, aliases=("cast",), identity=True,
               doc="data in another dtype.\n\nFloats are cut off towards zero to integers, and "
                   "what does not fit is kept modulo the range. Source: MXNet's Cast."))
register(OpDef("_backward_cast", NoParams, inputs=("out_grad", "data"), infer_shape=same_shape,
               infer_type=infer_type_like, compute=compute_cast, compute_ex=compute_ex_cast,
               ignores=(1,), gradient=gradient_cast_back, is_backward=True,
               doc="The gradient of Cast: out_grad in the dtype of data."))


# ---- constants of a shape -----------------------------------------------------------------------


def compute_zeros(ctx: OpContext, p: Params, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    outs[0].write(np.zeros(outs[0].shape, outs[0].dtype))


def compute_ones(ctx: OpContext, p: Params, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    outs[0].write(np.ones(outs[0].shape, outs[0].dtype))


register(OpDef("zeros_like", NoParams, inputs=("data",), infer_shape=same_shape,
               infer_type=same_type, compute=compute_zeros, compute_ex=fill_zero,
               refuses=refuses, ignores=(0,), no_gradient="zero: it is constant",
               doc="Zeros of the shape and dtype of data.\n\nSource: MXNet's zeros_like."))
register(OpDef("ones_like", NoParams, inputs=("data",), infer_shape=same_shape,
               infer_type=same_type, compute=compute_ones, compute_ex=fill_one, ignores=(0,),
               no_gradient="zero: it is constant",
               doc="Ones of the shape and dtype of data.\n\nSource: MXNet's ones_like."))
