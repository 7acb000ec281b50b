"""_split_v2: an array cut into equal parts along an axis, or before given places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, normalize_axis, same_type
from ...op.params import MAX_COUNT, Params, boolean, integer, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from .pointwise import need_native, unblocked
from .slicing import scatter


@params_class
class SplitParams(Params):
    indices: tuple[int, ...] = shape(doc="where each part begins, the first of them 0")
    axis: int = integer(1, doc="the axis that is cut")
    squeeze_axis: bool = boolean(False, doc="drop the axis, of which each part has length 1")
    sections: int = integer(0, low=0, high=MAX_COUNT, doc="equal parts; 0: cut at indices")

    @property
    def count(self) -> int:
        """How many parts."""
        return self.sections or len(self.indices)


def output_names(p: SplitParams) -> tuple[str, ...]:
    return tuple(f"output{i}" for i in range(p.count))


def _lengths(p: SplitParams, data: Shape, axis: int) -> list[int]:
    length = data[axis]
    if p.sections:
        if length % p.sections:
            raise ShapeError(f"data has shape {data}, expected a multiple of sections="
                             f"{p.sections} along axis {axis}")
        made = [length // p.sections] * p.sections
    else:
        ends = (*p.indices, length)
        made = [end - begin for begin, end in pairwise(ends)]
        if not p.indices or p.indices[0] != 0 or min(made) < 0:
            raise ShapeError(f"indices={p.indices}, expected 0 first, then rising numbers up to "
                             f"{length} from axis {axis} of data {data}")
    if p.squeeze_axis and any(part != 1 for part in made):
        raise ShapeError(f"data has shape {data}, expected parts of length 1 along axis {axis} "
                         f"for squeeze_axis=True, got {made}")
    return made


def infer_shape(p: SplitParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    if not p.count:
        raise ShapeError("neither sections nor indices say how many parts there are")
    data = ins[0]
    if data is None:
        return ins, outs
    axis = normalize_axis(p.axis, len(data))
    lengths = [-1] * p.count if data[axis] == -1 else _lengths(p, data, axis)
    before, behind = data[:axis], data[axis + 1:]
    made = [merge(out, (*before, *(() if p.squeeze_axis else (length,)), *behind),
                  "output shapes") for out, length in zip(outs, lengths, strict=True)]
    return [data], made


def compute(ctx: OpContext, p: SplitParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x = ins[0]
    axis, begin = p.axis % x.ndim, 0
    before = (slice(None),) * axis
    for out, length in zip(outs, _lengths(p, x.shape, axis), strict=True):
        key: tuple[Any, ...] = (*before, begin if p.squeeze_axis else slice(begin, begin + length))
        out.write(x[key])
        begin += length


def refuses(p: SplitParams, ins: list[NDArray]) -> str | None:
    shape = ins[0].shape
    if p.squeeze_axis and len(shape) == 1:
        return "an array of rank 0"
    if 0 in shape or 0 in _lengths(p, shape, p.axis % len(shape)):
        return "parts of no elements"
    return need_native(ins[0])


def compute_ex(ctx: OpContext, p: SplitParams, ins: list[NDArray], outs: list[Output]) -> None:
    shape = ins[0].shape
    axis = p.axis % len(shape)
    scatter(ctx, unblocked(ins[0], ctx.stream), axis, _lengths(p, shape, axis), outs,
            p.squeeze_axis)


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p: SplitParams = node.params
    if p.squeeze_axis:
        return emit("stack", {"axis": p.axis, "num_args": p.count}, *out_grads)
    return emit("Concat", {"dim": p.axis, "num_args": p.count}, *out_grads)


register(OpDef("_split_v2", SplitParams, inputs=("data",), outputs=output_names,
               infer_shape=infer_shape, infer_type=same_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient,
               doc="Cuts data along an axis into sections equal parts, or before each of indices."
                   "\n\nWith squeeze_axis the axis, then of length 1 in each part, is dropped. The "
                   "dtype stays. Source: MXNet's _split_v2; oneDNN reorder."))
