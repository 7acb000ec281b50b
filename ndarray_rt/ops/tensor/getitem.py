"""_index: a[...] with any key, out of place. Views and writing are in _array/indexing.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.indexing import ARRAY, never_scalar, one_element, parse_items, with_arrays
from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import OutOfBounds, ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, known, merge, merge_types
from ...op.params import Params, how_many, params_class, text
from ...op.registry import Emit, GradNode, OpDef, register


@params_class
class IndexParams(Params):
    key: str = text(doc="ints, slices, None and ..., separated by commas; @ for an index array")
    num_args: int = how_many(1, doc="number of inputs: data and the index arrays")


def _names(p: IndexParams) -> tuple[str, ...]:
    return ("data", *(f"index{i}" for i in range(p.num_args - 1)))


def _backward_names(p: IndexParams) -> tuple[str, ...]:
    return ("out_grad", *_names(p))


def _key(p: IndexParams, arrays: Sequence[Any]) -> tuple[Any, ...]:
    items = parse_items(p.key)
    count = sum(item is ARRAY for item in items)
    if count != len(arrays):
        raise ShapeError(f"key {p.key!r} has {count} places for index arrays, "
                         f"{len(arrays)} were given")
    return never_scalar(with_arrays(items, arrays))


def infer_shape(p: IndexParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    if not all(known(shape) for shape in ins):
        return ins, outs
    shapes = [shape for shape in ins if shape is not None]
    dummy = np.broadcast_to(np.zeros((), np.int8), shapes[0])
    try:
        made = dummy[_key(p, [np.zeros(shape, np.intp) for shape in shapes[1:]])]
    except (IndexError, OverflowError) as error:
        raise ShapeError(f"data has shape {shapes[0]}: {error}") from None
    # a gradient may be asked for when np_shape has ended
    shape = made.shape or (one_element() if outs[0] != () else ())
    return ins, [merge(shape, outs[0], "result and output")]


def infer_type(p: IndexParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    return [one, *ins[1:]], [one]


def compute(ctx: OpContext, p: IndexParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    try:
        made = ins[0][_key(p, ins[1:])]
    except (IndexError, OverflowError) as error:
        raise OutOfBounds(f"data has shape {ins[0].shape}: {error}") from None
    outs[0].write(made if made.shape else made.reshape(1))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    made = emit("_backward_index", node.params, out_grads[0], *node.inputs)[0]
    return [made, *[None] * (len(node.inputs) - 1)]


def infer_shape_backward(p: IndexParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    one = merge(ins[1], outs[0], "data and its gradient")
    _, made = infer_shape(p, [one, *ins[2:]], [ins[0]])
    return [made[0], one, *ins[2:]], [one]


def infer_type_backward(p: IndexParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[:2], outs[0]])
    return [one, one, *ins[2:]], [one]


def compute_backward(ctx: OpContext, p: IndexParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, data, arrays = ins[0], ins[1], ins[2:]
    dx = np.zeros(data.shape, data.dtype)
    key = _key(p, arrays)
    if arrays:
        np.add.at(dx, key, dy)  # an element taken twice gets both gradients
    else:
        part = dx[key]
        part[...] = dy.reshape(part.shape)
    outs[0].write(dx)


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    made = emit("_index", node.params, out_grads[0], *node.inputs[2:])[0]
    return [made, *[None] * (len(node.inputs) - 1)]


register(OpDef("_index", IndexParams, inputs=_names, infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, gradient=gradient, num_args="num_args",
               doc="data[key], as numpy indexes, copied.\n\nkey holds ints, slices, None and ...; "
                   "each @ in it stands for one of the int64 index arrays that follow data. The "
                   "result has data's dtype; rank 0 becomes shape (1,). Source: a[...] of MXNet's "
                   "NDArray (slice and gather_nd there)."))
register(OpDef("_backward_index", IndexParams, inputs=_backward_names,
               infer_shape=infer_shape_backward, infer_type=infer_type_backward,
               compute=compute_backward, gradient=gradient_backward, is_backward=True,
               ignores=(1,), doc="Zeros shaped as data, with out_grad added at key."))
