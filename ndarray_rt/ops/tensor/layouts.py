"""Operators that change the layout in memory, and no value: _contrib_to_mkldnn, _contrib_to_dense.

They stand where a user wants layouts to change: for looking into a network, and for measuring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._array.layout import AnyArray, get_data, get_data_reorder, named_desc
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, same_shape, same_type
from ...op.params import NoParams, Params, params_class, text
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.desc import default_desc
from .pointwise import need_bytes, put


@params_class
class ToMkldnnParams(Params):
    layout: str = text("", doc="a name such as nChw16c; empty: channels-last")


def infer_shape(p: ToMkldnnParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    found = same_shape(p, ins, outs)
    shape = found[0][0]
    axes = len({letter.lower() for letter in p.layout if letter.isalpha()})
    if p.layout and shape is not None and len(shape) > 2 and len(shape) != axes:
        raise ShapeError(f"layout {p.layout!r} is of {axes} axes, data has the shape {shape}")
    return found


def compute(ctx: OpContext, p: Params, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0])


def refuses(p: Params, ins: list[NDArray]) -> str | None:
    return need_bytes(ins[0])


def compute_ex_to_mkldnn(ctx: OpContext, p: ToMkldnnParams, ins: list[NDArray],
                         outs: list[Output]) -> None:
    x = ins[0]
    if x.dtype != FLOAT32 or x.ndim < 3:
        put(ctx, get_data(x, ctx.stream), outs[0])
    else:
        desc = named_desc(x, p.layout or None, "_contrib_to_mkldnn")
        put(ctx, get_data_reorder(x, desc, ctx.stream), outs[0])


def compute_ex_to_dense(ctx: OpContext, p: Params, ins: list[NDArray],
                        outs: list[Output]) -> None:
    desc = default_desc(ins[0].dtype, ins[0].shape)
    put(ctx, get_data_reorder(ins[0], desc, ctx.stream), outs[0])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [out_grads[0]]


register(OpDef("_contrib_to_mkldnn", ToMkldnnParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex_to_mkldnn,
               refuses=refuses, gradient=gradient,
               doc="A copy of data in a layout of oneDNN: channels-last, or that of a name.\n\n"
                   "As NDArray.to_mkldnn; arrays that are not float32 or have a rank below 3 stay "
                   "in the default layout. The gradient is handed on as it is. Source: PyTorch's "
                   "Tensor.to_mkldnn; oneDNN reorder."))
register(OpDef("_contrib_to_dense", NoParams, inputs=("data",), infer_shape=same_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex_to_dense,
               refuses=refuses, gradient=gradient,
               doc="A copy of data in the default layout.\n\nThe gradient is handed on as it is. "
                   "Source: PyTorch's Tensor.to_dense; oneDNN reorder."))
