"""_shuffle_channels and _shuffle_filters: channels in the order that mixes those of groups."""

from __future__ import annotations

from functools import partial
from math import prod

from ..._array.layout import AnyArray, get_data, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, same_type
from ...op.params import Params, integer, params_class
from ...op.registry import OpDef, register
from ...storage.desc import channels_last_desc, default_desc, strided_desc
from ...storage.reorder import reorder_mem
from ..tensor.pointwise import need_native


@params_class
class ShuffleParams(Params):
    groups: int = integer(low=1, doc="groups that the channels come from")


def shuffled(x: AnyArray, groups: int, axis: int = 1) -> AnyArray:
    """x with the first of each group along an axis first, then the second of each, and so on."""
    before, after = x.shape[:axis], x.shape[axis + 1:]
    apart = x.reshape(*before, groups, x.shape[axis] // groups, *after)
    made: AnyArray = apart.swapaxes(axis, axis + 1).reshape(x.shape)
    return made


def infer_shape(axis: int, p: ShuffleParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    shape = merge(ins[0], outs[0], "data and output")
    if shape is not None and (len(shape) <= axis
                              or (shape[axis] != -1 and shape[axis] % p.groups)):
        raise ShapeError(f"data has shape {shape}, expected a multiple of {p.groups} groups on "
                         f"axis {axis}")
    return [shape], [shape]


def compute(axis: int, ctx: OpContext, p: ShuffleParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(shuffled(ins[0], p.groups, axis))


def refuses(p: ShuffleParams, ins: list[NDArray]) -> str | None:
    return need_native(ins[0])


def compute_ex(axis: int, ctx: OpContext, p: ShuffleParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, dtype, shape = ins[0], ins[0].dtype, ins[0].shape
    if not prod(shape) or not outs[0].requested:
        return
    x = get_data(data, ctx.stream)
    layout = channels_last_desc(dtype, shape) if axis == 1 and len(shape) > 2 else None
    size, width = shape[axis] // p.groups, prod(shape[axis + 1:])
    rows = prod(shape[:axis])
    if layout is not None and x.desc is layout:
        rows, width = rows * width, 1
    else:
        x, layout = get_default(data, ctx.stream), default_desc(dtype, shape)
    dims = (rows, size, p.groups, width)
    source = strided_desc(dtype, dims, (shape[axis] * width, width, size * width, 1))
    with outs[0].open(layout, ctx.stream) as y:
        reorder_mem(ctx.stream, x.as_desc(source), y.as_desc(default_desc(dtype, dims)))


def _register(name: str, axis: int, is_prologue: bool, doc: str) -> None:
    register(OpDef(name, ShuffleParams, inputs=("data",), infer_shape=partial(infer_shape, axis),
                   infer_type=same_type, compute=partial(compute, axis),
                   compute_ex=partial(compute_ex, axis), refuses=refuses, is_fused=True,
                   is_prologue=is_prologue, no_gradient="it is for inference", per_sample=axis > 0,
                   doc=f"{doc} in the order that takes the first of each of the groups, then the "
                       "second of each, and so on.\n\nThe dtype stays, and so do channels-last "
                       "layouts. Made by passes. Source: Zhang et al. 2017 (ShuffleNet)."))


_register("_shuffle_channels", 1, False, "The channels of data (N, C, ...)")
_register("_shuffle_filters", 0, True, "The filters of a weight or bias (C, ...)")
