"""Concat: concatenates arrays along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data, get_data_reorder, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ..._array.req import Req
from ...errors import ShapeError, Unsupported
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, normalize_axis, same_type
from ...op.params import Params, how_many, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, channels_last_desc, default_desc
from ...storage.kernels.index import concat_channels
from ...storage.primitive import Arg, Kind, Primitive, make_primitive
from .joins import joined_in_place
from .pointwise import dense_like, put, unblocked
from .slicing import scatter


@params_class
class ConcatParams(Params):
    num_args: int = how_many(doc="how many arrays")
    dim: int = integer(1, doc="the axis")


def input_names(p: ConcatParams) -> tuple[str, ...]:
    return tuple(f"arg{i}" for i in range(p.num_args))


def infer_shape(p: ConcatParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    rest: Shape | None = None
    known = [shape for shape in (*ins, outs[0]) if shape is not None]
    if not known:
        return ins, outs
    axis = normalize_axis(p.dim, len(known[0]), "dim")
    for i, shape in enumerate((*ins, outs[0])):
        if shape is None:
            continue
        open_shape = (*shape[:axis], -1, *shape[axis + 1:])
        try:
            rest = merge(rest, open_shape)
        except ShapeError:
            name = f"arg{i}" if i < len(ins) else "the output"
            raise ShapeError(f"{name} has shape {shape}, expected {rest} from the inputs before "
                             f"it, dim={p.dim}") from None
    made = [merge(shape, rest) for shape in ins]
    lengths = [shape[axis] for shape in made if shape is not None]
    total = -1 if -1 in lengths else sum(lengths)
    out = merge(outs[0], _with(rest, axis, total), "output shapes")
    if out is not None and out[axis] != -1 and lengths.count(-1) == 1:
        at = lengths.index(-1)
        left = out[axis] - sum(lengths) - 1
        if left < 0:
            raise ShapeError(f"the output has shape {out}, less than the inputs {made} make")
        made[at] = _with(made[at], axis, left)
    return made, [out]


def infer_shape_of_vector(p: ConcatParams, ins: ShapeList,
                          outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    """As Concat; parts without a length have equal ones.

    They are the input weights of both directions of the first layer: it alone reads the data.
    """
    made, (out,) = infer_shape(p, ins, outs)
    if out is None or len(out) != 1 or out[0] == -1:
        return made, [out]
    unknown = [i for i, shape in enumerate(made) if shape == (-1,)]
    if not unknown:
        return made, [out]
    left = out[0] - sum(shape[0] for shape in made if shape is not None and shape != (-1,))
    if left < 0 or left % len(unknown):
        raise ShapeError(f"the output has shape {out}, which leaves {left} elements for "
                         f"{len(unknown)} equal inputs beside {made}")
    for i in unknown:
        made[i] = (left // len(unknown),)
    return made, [out]


def _with(shape: Shape | None, axis: int, length: int) -> Shape | None:
    return None if shape is None else (*shape[:axis], length, *shape[axis + 1:])


def compute(ctx: OpContext, p: ConcatParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(np.concatenate(ins, axis=p.dim))


def refuses(p: ConcatParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def compute_ex(ctx: OpContext, p: ConcatParams, ins: list[NDArray], outs: list[Output]) -> None:
    stream = ctx.stream
    if len(ins) == 1:
        put(ctx, get_data(ins[0], stream), outs[0])
        return
    axis = p.dim % len(ins[0].shape)
    first = get_data(ins[0], stream).desc
    shapes = tuple(array.shape for array in ins)
    if outs[0].req == Req.kWriteTo:
        whole = joined_in_place(ins, axis, outs[0].array, stream)
        if whole is not None:
            with outs[0].open(whole, stream):
                return

    if _concat_channels(ctx, ins, axis, first, outs[0]):
        return

    def build() -> Primitive:
        # blocks that do not divide the parts end in oneDNN's plain C: axis orders without blocks
        like = first if not first.inner_blks else unblocked(ins[0], stream).desc
        descs: list[MemDesc] = [dense_like(like, shape) for shape in shapes]
        return make_primitive(Kind.CONCAT, srcs=descs, dst=dense_like(like, outs[0].shape),
                              axis=axis)
    prim = ctx.primitive(("Concat", axis, first.id, shapes), build)
    if prim.impl.startswith("ref"):
        raise Unsupported("oneDNN has only a slow concat of these layouts")
    args = [(Arg.MULTIPLE_SRC + i, get_data_reorder(array, prim.desc(Arg.MULTIPLE_SRC + i), stream))
            for i, array in enumerate(ins)]
    with outs[0].open(prim.dst, stream) as y:
        ctx.run(prim, [*args, (Arg.DST, y)])


def _concat_channels(ctx: OpContext, ins: list[NDArray], axis: int, first: MemDesc,
                     out: Output) -> bool:
    """Concatenates the channels of channels-last images, by a native kernel whose threads keep to
    their rows; False for other axes or layouts, or more than NDRT_JOINED_MOST arrays."""
    dtype = ins[0].dtype
    if (axis != 1 or len(ins) > lib.NDRT_JOINED_MOST or len(out.shape) < 3 or 0 in out.shape
            or first.same_as != channels_last_desc(dtype, ins[0].shape).same_as
            or first.same_as == default_desc(dtype, ins[0].shape).same_as):
        return False
    widths = [array.shape[1] for array in ins]
    if 0 in widths:
        return False
    parts = [get_data_reorder(array, channels_last_desc(dtype, array.shape), ctx.stream)
             for array in ins]
    with out.open(channels_last_desc(dtype, out.shape), ctx.stream) as y:
        ctx.kernel(concat_channels(out=y, parts=parts, rows=prod(out.shape) // out.shape[1],
                             columns=out.shape[1], widths=widths))
    return True


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_Concat", node.params, out_grads[0], *node.inputs)


def backward_inputs(p: ConcatParams) -> tuple[str, ...]:
    return ("out_grad", *input_names(p))


def backward_outputs(p: ConcatParams) -> tuple[str, ...]:
    return tuple(f"{name}_grad" for name in input_names(p))


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [*emit("Concat", node.params, *out_grads), *[None] * node.params.num_args]


def infer_shape_backward(p: ConcatParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    given = [merge(a, b) for a, b in zip(ins[1:], outs, strict=True)]
    grads, (whole,) = infer_shape(p, given, [ins[0]])
    return [whole, *grads], list(grads)


def _lengths(p: ConcatParams, shapes: Sequence[Shape]) -> list[int]:
    return [shape[p.dim] for shape in shapes]


def compute_backward(ctx: OpContext, p: ConcatParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    ends = np.cumsum(_lengths(p, [out.shape for out in outs]))[:-1]
    for out, grad in zip(outs, np.split(ins[0], ends, axis=p.dim), strict=True):
        out.write(grad)


def compute_ex_backward(ctx: OpContext, p: ConcatParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    axis = p.dim % len(ins[0].shape)
    scatter(ctx, unblocked(ins[0], ctx.stream), axis, _lengths(p, [out.shape for out in outs]),
            outs)


def refuses_backward(p: ConcatParams, ins: list[NDArray]) -> str | None:
    return need_float32(ins[0])


def ignored_backward(p: ConcatParams) -> tuple[int, ...]:
    return tuple(range(1, p.num_args + 1))


register(OpDef("Concat", ConcatParams, inputs=input_names, infer_shape=infer_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, num_args="num_args", aliases=("concat",),
               joins_axis=lambda p: int(p.dim), per_sample=lambda p, rank: p.dim % rank != 0,
               doc="Concatenates num_args arrays along the axis dim.\n\n"
                   "Their shapes agree but for that axis; one dtype, which the output has too. "
                   "Source: MXNet's Concat; oneDNN concat."))
register(OpDef("_rnn_param_concat", ConcatParams, inputs=input_names,
               infer_shape=infer_shape_of_vector, infer_type=same_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, num_args="num_args", is_prologue=True,
               doc="The vector of parameters that RNN takes, from its parts.\n\n"
                   "As Concat; shapes that are unknown are inferred as equal ones. Source: MXNet's "
                   "_rnn_param_concat, which gluon's recurrent layers make."))
# its parts are parameters: executors make the vector once
register(OpDef("_backward_Concat", ConcatParams, inputs=backward_inputs,
               outputs=backward_outputs, infer_shape=infer_shape_backward, infer_type=same_type,
               compute=compute_backward, compute_ex=compute_ex_backward,
               refuses=refuses_backward, gradient=gradient_backward, ignores=ignored_backward,
               is_backward=True,
               doc="The gradient of Concat: out_grad cut into parts."))
