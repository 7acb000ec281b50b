"""index_copy: an array with some of its rows replaced; batch_take: one element of each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import INT32
from ...errors import OutOfBounds, ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, need_rank
from ...op.params import NoParams
from ...op.registry import Emit, GradNode, OpDef, register
from .places import inside, whole


def infer_shape(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    old = merge(ins[0], outs[0], "shapes of old_tensor and output")
    index, new = ins[1:]
    if old == ():
        raise ShapeError("old_tensor has rank 0, expected rows")
    need_rank(index, (1,), "index_vector")
    if old is not None:
        new = merge(new, (-1, *old[1:]), "rows of new_tensor and old_tensor")
    if index is not None and new is not None:
        new = merge(new, (*index, *new[1:]), "shapes of new_tensor and index_vector")
    if new is not None:
        index = merge(index, new[:1], "shapes of index_vector and new_tensor")
        old = merge(old, (-1, *new[1:]) if old is None else old)
    return [old, index, new], [old]


def infer_type(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], ins[2], outs[0]])
    return [one, ins[1], one], [one]


def compute(ctx: OpContext, p: NoParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    old, index, new = ins
    at = whole(index)
    wrong = at[(at < 0) | (at >= len(old))]
    if wrong.size:
        raise OutOfBounds(f"index_vector holds {wrong[0]}, expected 0 to {len(old) - 1} from "
                          f"old_tensor {old.shape}")
    made = old.copy()
    made[at] = new
    outs[0].write(made)


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    (_, index, new), dy = node.inputs, out_grads[0]
    return [emit("_contrib_index_copy", None, dy, index, emit.zeros_like(new))[0],
            emit.zeros_like(index), emit("take", {"axis": 0}, dy, index)[0]]


def infer_shape_batch(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    a, indices = ins
    need_rank(a, (2,), "a")
    indices = merge(indices, outs[0], "shapes of indices and output")
    need_rank(indices, (1,), "indices")
    if a is not None:
        if a[1] == 0:
            raise ShapeError(f"a has shape {a}: its rows have no elements")
        indices = merge(indices, a[:1], "shapes of indices and of a's rows")
    if indices is not None:
        a = merge(a, (*indices, -1), "rows of a and indices")
    return [a, indices], [indices]


def infer_type_batch(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    return [one, merge_types([INT32, ins[1]])], [one]


def compute_batch(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    a, indices = ins
    outs[0].write(a[np.arange(len(a)), inside(indices, a.shape[1], wrap=False)])


register(OpDef("_contrib_index_copy", NoParams,
               inputs=("old_tensor", "index_vector", "new_tensor"), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, gradient=gradient,
               doc="old_tensor with new_tensor's rows where index_vector says.\n\n"
                   "index_vector (n,) of any dtype, floats cut off towards zero; new_tensor (n, "
                   "...). Of several for one row the last one stays. Raises an IndexError for a "
                   "row that there is not. Source: MXNet's _contrib_index_copy."))
register(OpDef("batch_take", NoParams, inputs=("a", "indices"), infer_shape=infer_shape_batch,
               infer_type=infer_type_batch, compute=compute_batch,
               no_gradient="MXNet has none; pick has one",
               doc="One element of each row of a (n, m): a[i, indices[i]].\n\nindices (n,) is "
                   "int32, brought inside of the row. Source: MXNet's batch_take."))
