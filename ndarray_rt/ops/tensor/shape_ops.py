"""The same elements under another shape: Reshape, Flatten, expand_dims, squeeze.

One copy, or nothing where the output takes the memory of the input. Contents in a special layout
go to the default one, whose order of elements the new shape keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, known, merge, merge_dim, normalize_axis, same_type
from ...op.params import NoParams, Params, axes, boolean, integer, params_class
from ...op.params import shape as dims
from ...op.registry import Emit, GradNode, InferShape, OpDef, Shape, register
from .broadcast import infer_type_first
from .pointwise import need_bytes, reshape

KEEP, INFER, REST, MERGE, SPLIT = 0, -1, -2, -3, -4  # MXNet's codes in a target shape


@params_class
class ReshapeParams(Params):
    shape: tuple[int, ...] = dims((), low=-4, doc="target: 0 keeps a dimension, -1 is inferred, "
                                   "-2 takes the rest, -3 merges two, -4 splits one by the "
                                   "next two numbers")
    reverse: bool = boolean(False, doc="read the codes from the right")
    target_shape: tuple[int, ...] = dims((), low=0, doc="old form: one 0 is inferred")
    keep_highest: bool = boolean(False, doc="old form: the first dimension is data's")


@params_class
class ExpandDimsParams(Params):
    axis: int = integer(doc="where the new axis of length 1 stands in the output")


@params_class
class SqueezeParams(Params):
    axis: tuple[int, ...] | None = axes(doc="axes of length 1 to drop; default all")


# ---- Reshape ------------------------------------------------------------------------------------


def target_of(codes: Shape, data: Shape, reverse: bool) -> Shape:
    """The shape that MXNet's codes stand for; -1 where data leaves it open."""
    source = data
    if reverse:
        codes, source = codes[::-1], data[::-1]
    made: list[int] = []
    open_at, at, i = -1, 0, 0
    while i < len(codes):
        code = codes[i]
        if code == REST:
            made += source[at:]
            at = max(at, len(source))
        elif code == KEEP:
            made.append(_take(source, at, codes))
            at += 1
        elif code == MERGE:
            made.append(_product(_take(source, at, codes), _take(source, at + 1, codes)))
            at += 2
        elif code == SPLIT:
            made += _split(_take(source, at, codes), codes[i + 1:i + 3], codes)
            at += 1
            i += 2
        elif code == INFER and open_at != -1:
            raise ShapeError(f"shape={codes} leaves more than one dimension to be inferred")
        else:
            open_at = len(made) if code == INFER else open_at
            made.append(1 if code == INFER else code)
            at += 1
        i += 1
    if open_at != -1:
        made[open_at] = _left_over(data, made, codes)
    return tuple(reversed(made) if reverse else made)


def _take(source: Shape, at: int, codes: Shape) -> int:
    if at >= len(source):
        raise ShapeError(f"data has rank {len(source)}, fewer dimensions than shape={codes} uses")
    return source[at]


def _product(a: int, b: int) -> int:
    return -1 if -1 in (a, b) else a * b


def _split(whole: int, parts: Shape, codes: Shape) -> Shape:
    if len(parts) < 2 or parts == (-1, -1) or any(p < -1 or p == 0 for p in parts):
        raise ShapeError(f"shape={codes}: -4 needs two numbers behind it, one of them above 0")
    a, b = parts
    if whole != -1:
        a, b = (whole // b if a == -1 else a), (whole // a if b == -1 else b)
        if a * b != whole:
            raise ShapeError(f"shape={codes}: {parts} does not divide the dimension {whole}")
    return a, b


def _left_over(data: Shape, made: Sequence[int], codes: Shape) -> int:
    """The inferred dimension: what the others leave of data's elements."""
    if -1 in data or -1 in made:
        return -1
    others, size = prod(made), prod(data)
    if others == 0 or size % others:
        raise ShapeError(f"data has shape {data}, which shape={codes} does not divide")
    return size // others


def _old_target(p: ReshapeParams, data: Shape) -> Shape:
    made = list(p.target_shape)
    if p.keep_highest and data:
        made[0] = data[0]
    zeros = [i for i in range(int(p.keep_highest), len(made)) if made[i] == 0]
    if len(zeros) == 1:
        made[zeros[0]] = 1
        made[zeros[0]] = _left_over(data, made, p.target_shape)
    return tuple(made)


def infer_shape_reshape(p: ReshapeParams, ins: ShapeList, outs: ShapeList,
                        ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    if data is None:
        return ins, outs
    if p.shape:
        out = merge(out, target_of(p.shape, data, p.reverse), "output shapes")
    elif p.target_shape:
        out = merge(out, _old_target(p, data), "output shapes")
    return _balance(data, out)


def _balance(data: Shape, out: Shape | None) -> tuple[ShapeList, ShapeList]:
    """Fills the one unknown dimension of data from a known output; both have as many elements."""
    if out is not None and known(out) and data.count(-1) == 1:
        others, size = prod(d for d in data if d != -1), prod(out)
        if others and size % others == 0:
            data = tuple(size // others if d == -1 else d for d in data)
    if out is not None and known(out) and known(data) and prod(out) != prod(data):
        raise ShapeError(f"data has shape {data} with {prod(data)} elements, expected {prod(out)} "
                         f"from the target {out}")
    return [data], [out]


# ---- the others ---------------------------------------------------------------------------------


def infer_shape_flatten(p: NoParams, ins: ShapeList, outs: ShapeList,
                        ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    if data is None:
        return ins, outs
    if not data:
        raise ShapeError("data has rank 0, expected at least 1")
    rest = -1 if -1 in data[1:] else prod(data[1:])
    out = merge(out, (data[0], rest), "output shapes")
    if out is not None:
        data = (merge_dim(data[0], out[0]), *data[1:])
    return [data], [out]


def infer_shape_expand(p: ExpandDimsParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    if data is None and out is None:
        return ins, outs
    rank = len(data) if data is not None else len(out or ()) - 1
    axis = normalize_axis(p.axis, rank + 1)
    if data is not None:
        out = merge(out, (*data[:axis], 1, *data[axis:]), "output shapes")
    if out is not None:
        merge_dim(out[axis], 1, f"axis {axis} of the output and 1")
        data = merge(data, (*out[:axis], *out[axis + 1:]))
    return [data], [out]


def infer_shape_squeeze(p: SqueezeParams, ins: ShapeList, outs: ShapeList,
                        ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    if data is None or (p.axis is None and not known(data)):
        return ins, outs
    if p.axis is None:
        dropped = {i for i, d in enumerate(data) if d == 1}
    else:
        found = [normalize_axis(axis, len(data)) for axis in p.axis]
        dropped = set(found)
        if len(dropped) != len(found):
            raise ShapeError(f"axis={p.axis} names an axis twice")
        for axis in found:
            if data[axis] not in (1, -1):
                raise ShapeError(f"data has shape {data}, expected 1 along axis {axis}")
    kept = tuple(d for i, d in enumerate(data) if i not in dropped)
    # MXNet has no arrays of rank 0
    return ins, [merge(outs[0], kept or (1,), "output shapes")]


def infer_shape_as(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    target = merge(ins[1], outs[0])
    return [ins[0], target], [target]


def compute(ctx: OpContext, p: Params, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0].reshape(outs[0].shape))


def refuses(p: Params, ins: list[NDArray]) -> str | None:
    return need_bytes(ins[0])


def compute_ex(ctx: OpContext, p: Params, ins: list[NDArray], outs: list[Output]) -> None:
    reshape(ctx, ins[0], outs[0])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_reshape", None, out_grads[0], node.inputs[0])


def gradient_as(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [*emit("_backward_reshape", None, out_grads[0], node.inputs[0]), None]


def _define(name: str, params: type[Params], infer_shape: InferShape, doc: str,
            aliases: tuple[str, ...] = (), names_data: bool = False) -> OpDef:
    return OpDef(name, params, inputs=("data",), infer_shape=infer_shape, infer_type=same_type,
                 compute=compute, compute_ex=compute_ex, refuses=refuses, gradient=gradient,
                 inplace={0: 0}, reshapes=True, aliases=aliases,
                 names_data=names_data,
                 doc=f"{doc}\n\nThe order of the elements in row-major order and the dtype stay. "
                     f"Source: MXNet's {name}.")


register(_define("Reshape", ReshapeParams, infer_shape_reshape,
                 "data under another shape, given by MXNet's codes.", ("reshape",)))
register(_define("Flatten", NoParams, infer_shape_flatten,
                 "All axes behind the first as one: (n, everything else).", ("flatten",)))
register(_define("expand_dims", ExpandDimsParams, infer_shape_expand,
                 "A new axis of length 1."))
register(_define("squeeze", SqueezeParams, infer_shape_squeeze,
                 "Without its axes of length 1; (1,) where nothing else is left.", names_data=True))
register(OpDef("_backward_reshape", NoParams, inputs=("out_grad", "data"),
               infer_shape=infer_shape_as, infer_type=infer_type_first, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient_as, inplace={0: 0},
               reshapes=True, ignores=(1,), is_backward=True,
               doc="out_grad under the shape of data."))
