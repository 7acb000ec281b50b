"""Operators that MXNet has for sparse arrays, as they are for dense ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import INT64
from ...errors import OutOfBounds, ParameterError, ShapeError, where
from ...op.context import OpContext
from ...op.infer import (
    ShapeList,
    TypeList,
    merge,
    merge_types,
    need_rank,
    normalize_axis,
    same_shape,
    same_type,
)
from ...op.params import NoParams, Params, choice, optional_integer, params_class
from ...op.registry import Emit, GradNode, OpDef, find, register
from ..terms import terms
from . import binary, identity, reduce, scalar  # noqa: F401 - `find` needs them all
from .places import whole
from .reduce_shapes import ReduceParams

# ---- sums and quotients of the elements that are stored: of dense arrays these are all ----------

for _name, _of in (("_scatter_plus_scalar", "_plus_scalar"),
                   ("_scatter_minus_scalar", "_minus_scalar"),
                   ("_scatter_elemwise_div", "elemwise_div")):
    register(replace(find(_of), name=_name, aliases=(),
                     doc=f"{_of} of the elements that are stored; of dense arrays these are all."
                         f"\n\nSource: MXNet's {_name}."))


# ---- _square_sum --------------------------------------------------------------------------------


def _of_squares(x: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    return np.asarray((x * x).sum(axis=gone, dtype=x.dtype, keepdims=True))


_SQUARES = reduce.Reduction("_square_sum", None, _of_squares)


def gradient_squares(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    dy, x = terms(emit, out_grads[0], node.inputs[0])
    return [(dy("_backward_sum", node.params, x) * x * 2).entry]


register(OpDef("_square_sum", ReduceParams, inputs=("data",),
               infer_shape=partial(reduce.infer_shape, _SQUARES), infer_type=same_type,
               compute=partial(reduce.compute, _SQUARES), gradient=gradient_squares,
               doc="The sum of the squares of elements over axes.\n\nThe output has data's dtype, "
                   "and its shape without the axes (with size 1 there if keepdims). Source: "
                   "MXNet's _square_sum, which takes row_sparse arrays only; numpy."))


# ---- cast_storage -------------------------------------------------------------------------------


@params_class
class CastStorageParams(Params):
    stype: str = choice("default", "row_sparse", "csr", doc="storage of the output: default")


def infer_shape_storage(p: CastStorageParams, ins: ShapeList, outs: ShapeList,
                        ) -> tuple[ShapeList, ShapeList]:
    if p.stype != "default":
        raise ParameterError(f"parameter 'stype' got {p.stype!r}, expected 'default': there are no "
                             "sparse arrays here (docs/porting.md)")
    return same_shape(p, ins, outs)


register(OpDef("cast_storage", CastStorageParams, inputs=("data",),
               infer_shape=infer_shape_storage, infer_type=same_type, compute=identity.compute,
               compute_ex=identity.compute_ex, refuses=identity.refuses,
               gradient=identity.gradient_copy, inplace={0: 0}, identity=True,
               doc="A copy of data, which is dense already.\n\nParameterError for other storage "
                   "than 'default'. Source: MXNet's cast_storage."))


# ---- _contrib_getnnz and _contrib_edge_id -------------------------------------------------------


@params_class
class GetnnzParams(Params):
    axis: int | None = optional_integer(doc="0: count in each column, 1: in each row; None: in all")


def infer_shape_getnnz(p: GetnnzParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    need_rank(data, (2,), "data")
    if p.axis is None:
        return [data], [merge(outs[0], (1,), "output shapes")]
    stays = 1 - normalize_axis(p.axis, 2)
    length = -1 if data is None else data[stays]
    return [data], [merge(outs[0], (length,), "output shapes")]


def infer_type_getnnz(p: GetnnzParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return ins, [merge_types([outs[0], INT64])]


def compute_getnnz(ctx: OpContext, p: GetnnzParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    outs[0].write(np.reshape(np.count_nonzero(ins[0], axis=p.axis), outs[0].shape))


register(OpDef("_contrib_getnnz", GetnnzParams, inputs=("data",), infer_shape=infer_shape_getnnz,
               infer_type=infer_type_getnnz, compute=compute_getnnz,
               no_gradient="zero: a count has no slope",
               doc="How many elements of a matrix are not 0: of all of it, (1,), or of each row or "
                   "column.\n\nint64. Source: MXNet's _contrib_getnnz, which takes csr arrays "
                   "only; numpy."))


def infer_shape_edges(p: NoParams, ins: ShapeList, outs: ShapeList,
                      ) -> tuple[ShapeList, ShapeList]:
    need_rank(ins[0], (2,), "data")
    nodes = merge(merge(ins[1], ins[2], "shapes of u and v"), outs[0], "shapes of u and output")
    need_rank(nodes, (1,), "u")
    return [ins[0], nodes, nodes], [nodes]


def _node(ctx: OpContext, name: str, given: AnyArray, length: int) -> AnyArray:
    places = whole(given)
    if places.size and not 0 <= places.min() <= places.max() < length:
        raise OutOfBounds(f"{where('_contrib_edge_id', ctx.node_name)}: {name} has numbers from "
                          f"{places.min()} to {places.max()}, expected them within [0, {length})")
    return places


def compute_edges(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    data = ins[0]
    if data.dtype.kind == "u":
        raise ShapeError(f"{where('_contrib_edge_id', ctx.node_name)}: data has dtype "
                         f"{data.dtype}, which does not hold -1: what there is for no edge")
    found = data[_node(ctx, "u", ins[1], data.shape[0]), _node(ctx, "v", ins[2], data.shape[1])]
    outs[0].write(np.where(found == 0, np.asarray(-1, data.dtype), found))


register(OpDef("_contrib_edge_id", NoParams, inputs=("data", "u", "v"),
               infer_shape=infer_shape_edges, infer_type=same_type, compute=compute_edges,
               no_gradient="MXNet has none",
               doc="The elements of a matrix of edges at rows u and columns v; -1 for those that "
                   "are 0: no edge.\n\ndata (n, m), u and v (k,) of one dtype that has -1; (k,). "
                   "OutOfBounds for other nodes. Source: MXNet's _contrib_edge_id, which takes csr "
                   "arrays only; numpy."))
