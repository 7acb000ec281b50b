"""moments: mean and variance over axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ParameterError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, same_type
from ...op.params import Params, axes, boolean, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ..terms import terms
from .numeric import convert, is_integer
from .reduce_shapes import ReduceParams, kept_shape, output_shape, reduce_params, reduced_axes


@params_class
class MomentsParams(Params):
    axes: tuple[int, ...] | None = axes(doc="the axes to go; at least one must be named")
    keepdims: bool = boolean(False, doc="the axes stay, with size 1")

    def reduction(self) -> ReduceParams:
        """The same for a reduction."""
        if not self.axes:
            raise ParameterError(f"parameter 'axes' got {self.axes}, expected at least one axis: "
                                 "name all of them for the moments of the whole array")
        return reduce_params(self.axes, self.keepdims)


def infer_shape(p: MomentsParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data, small = ins[0], merge(outs[0], outs[1], "shapes of mean and var")
    if data is not None:
        small = merge(small, output_shape(p.reduction(), data), "output shapes")
    return [data], [small, small]


def _parts(p: MomentsParams, x: AnyArray) -> tuple[int, tuple[int, ...], Shape]:
    """How many elements go into one result, the axes that go, the results' shape with them."""
    reduction = p.reduction()
    gone = reduced_axes(reduction, x.ndim)
    return prod(x.shape[axis] for axis in gone), gone, kept_shape(reduction, x.shape)


def _precise(x: AnyArray) -> AnyArray:
    # whole numbers stay whole, as MXNet computes them
    return x.astype(np.int64 if is_integer(x.dtype) else np.float64, copy=False)


def _over(x: AnyArray, count: int) -> AnyArray:
    """x / count, cut towards 0 for whole numbers."""
    if x.dtype.kind != "i":
        return np.asarray(x / count)
    return np.asarray((x - np.fmod(x, count)) // count) if count else np.zeros_like(x)


def compute(ctx: OpContext, p: MomentsParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x = _precise(ins[0])
    count, gone, _ = _parts(p, x)
    mean = _over(x.sum(axis=gone, keepdims=True), count)
    deviation = x - mean
    var = _over((deviation * deviation).sum(axis=gone, keepdims=True), count)
    for out, value in zip(outs, (mean, var), strict=True):
        out.write(convert(value.reshape(out.shape), ins[0].dtype))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    heads = [emit.zeros_like(out) if grad is None else grad
             for grad, out in zip(out_grads, node.outputs, strict=True)]
    return emit("_backward_moments", node.params, *heads, node.inputs[0], node.outputs[0])


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    grad, _, dvar, x, mean = terms(emit, out_grads[0], *node.inputs)
    over = node.params.reduction()
    share = grad * dvar("ones_like")("_backward_mean", over, x)
    deviation = x - mean("_backward_sum", over, x)
    to_x = grad * dvar("_backward_mean", over, x) * 2
    return [share("sum", over).entry, (share * deviation * 2)("sum", over).entry, to_x.entry,
            (-to_x("sum", over)).entry]


def infer_shape_backward(p: MomentsParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[2], outs[0])
    small = None if data is None else output_shape(p.reduction(), data)
    return [small, small, data, small], [data]


def compute_backward(ctx: OpContext, p: MomentsParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    x = _precise(ins[2])
    count, _, small = _parts(p, x)
    dmean, dvar, mean = (_precise(array).reshape(small) for array in (*ins[:2], ins[3]))
    # two quotients: of whole numbers each is cut off
    slope = _over(np.broadcast_to(dmean, x.shape), count) + _over(2 * (x - mean) * dvar, count)
    outs[0].write(convert(slope, ins[2].dtype))


register(OpDef("moments", MomentsParams, inputs=("data",), outputs=("mean", "var"),
               infer_shape=infer_shape, infer_type=same_type, compute=compute, gradient=gradient,
               names_data=True,
               doc="Mean and variance of data over axes.\n\nBoth have data's dtype, and its shape "
                   "without the axes (with size 1 there if keepdims); over all axes they have "
                   "shape (1,). The variance is the mean of the squared deviations. Whole numbers "
                   "are cut towards 0. Raises ParameterError without axes. Source: MXNet's "
                   "moments; numpy."))
register(OpDef("_backward_moments", MomentsParams,
               inputs=("mean_grad", "var_grad", "data", "mean"), infer_shape=infer_shape_backward,
               infer_type=same_type, compute=compute_backward, is_backward=True,
               gradient=gradient_backward,
               doc="The gradient of moments."))
