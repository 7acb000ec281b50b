"""norm: the sum of absolute values or the root of the sum of squares, over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import find_dtype
from ...errors import ParameterError
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import Params, axes, boolean, integer, optional_choice, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ..terms import terms
from .axis_kernels import need_kind, reduced
from .numeric import convert, is_integer, share, wide
from .reduce_shapes import ReduceParams, kept_shape, output_shape, reduce_params, reduced_axes


@params_class
class NormParams(Params):
    ord: int = integer(2, doc="1: the sum of absolute values; 2: the root of the sum of squares")
    axis: tuple[int, ...] | None = axes(doc="the axes to go; None or () is all of them")
    out_dtype: str | None = optional_choice("float16", "float32", "float64", "int32", "int64",
                                            "int8", doc="dtype of the output; None is that of data")
    keepdims: bool = boolean(False, doc="the axes stay, with size 1")

    def reduction(self) -> ReduceParams:
        """The same for a reduction; ParameterError for another norm than 1 and 2."""
        if self.ord not in (1, 2):
            raise ParameterError(f"norm: parameter 'ord' got {self.ord}, expected 1 or 2")
        return reduce_params(self.axis, self.keepdims)


def infer_shape(p: NormParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data, reduction = ins[0], p.reduction()
    if data is None:
        return ins, outs
    return ins, [merge(outs[0], output_shape(reduction, data), "output shapes")]


def infer_type(p: NormParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    if p.out_dtype is not None:
        return ins, [merge_types([outs[0], find_dtype(p.out_dtype)])]
    one = merge_types([ins[0], outs[0]])
    return [one], [one]


def compute(ctx: OpContext, p: NormParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    x = np.abs(ins[0].astype(np.float64))
    gone = reduced_axes(p.reduction(), x.ndim)
    if p.ord == 1:
        made = x.sum(axis=gone)
    else:
        # the squares of large and small numbers would be out of range
        big = x.max(axis=gone, keepdims=True, initial=0.0)
        scale = np.where((big > 0) & np.isfinite(big), big, 1.0)
        made = np.sqrt(np.square(x / scale).sum(axis=gone, keepdims=True)) * scale
    outs[0].write(convert(made.reshape(outs[0].shape), outs[0].dtype))


def refuses(p: NormParams, ins: list[NDArray]) -> str | None:
    data = ins[0]
    if is_integer(data.dtype):
        return "norms of whole numbers"
    if p.out_dtype not in (None, data.dtype.name):
        return f"output of dtype {p.out_dtype}"
    return need_kind(data)


def compute_ex(ctx: OpContext, p: NormParams, ins: list[NDArray], outs: list[Output]) -> None:
    what = lib.NDRT_REDUCE_NORM1 if p.ord == 1 else lib.NDRT_REDUCE_NORM2
    reduced(ctx, what, ins[0], reduced_axes(p.reduction(), ins[0].ndim), outs[0])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_norm", node.params, out_grads[0], node.inputs[0], node.outputs[0])


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    grad, dy, x, y = terms(emit, out_grads[0], *node.inputs)
    p, over, data = node.params, node.params.reduction(), x
    if p.out_dtype is not None:
        grad, x = (term("Cast", {"dtype": p.out_dtype}) for term in (grad, x))
    if p.ord == 1:
        return [(grad * x("sign"))("sum", over).entry, None, None]
    # dy x / y, where x and y count apart
    share = grad * dy("_backward_sum", over, x) / y("_backward_sum", over, x)
    to_x = share if p.out_dtype is None else share("_backward_cast", None, data)
    return [((grad * x)("sum", over) / y).entry, to_x.entry,
            (-((share * x)("sum", over) / y)).entry]


def infer_shape_backward(p: NormParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0])
    small = None if data is None else output_shape(p.reduction(), data)
    return [small, data, small], [data]


def infer_type_backward(p: NormParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    data = merge_types([ins[1], outs[0]])
    small = data if p.out_dtype is None else find_dtype(p.out_dtype)
    return [small, data, small], [data]


def compute_backward(ctx: OpContext, p: NormParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    x = wide(ins[1])
    dy, y = (wide(array).reshape(kept_shape(p.reduction(), x.shape)) for array in (ins[0], ins[2]))
    outs[0].write(convert(dy * (np.sign(x) if p.ord == 1 else share(x, y)), ins[1].dtype))


register(OpDef("norm", NormParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient,
               doc="The norm of data over axes.\n\nThe output has data's shape without the axes "
                   "(with size 1 there if keepdims), (1,) where all go, and data's dtype or "
                   "out_dtype. Raises ParameterError for norms other than 1 and 2. The gradient "
                   "is 0 where the norm is. Source: MXNet's norm; a native kernel."))
register(OpDef("_backward_norm", NormParams, inputs=("out_grad", "data", "out"),
               infer_shape=infer_shape_backward, infer_type=infer_type_backward,
               compute=compute_backward, is_backward=True,
               gradient=gradient_backward,
               doc="The gradient of norm."))
