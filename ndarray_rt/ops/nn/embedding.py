"""Embedding: rows of a weight matrix, chosen by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import find_dtype
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import Params, boolean, dtype, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, find, register
from ..floats import wide
from ..tensor.places import (
    Rows,
    gather,
    gather_grad,
    inside,
    need_kind,
    need_moved,
    scatter_add,
)
from .shape_rules import expect


@params_class
class EmbeddingParams(Params):
    input_dim: int = integer(low=1, doc="rows of weight: how many different numbers there are")
    output_dim: int = integer(low=1, doc="length of a row")
    dtype: str = dtype("float32", doc="dtype of weight, where nothing else tells")
    sparse_grad: bool = boolean(False, doc="accepted and ignored: gradients are dense")


def infer_shape(p: EmbeddingParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    weight = expect(ins[1], (p.input_dim, p.output_dim), "weight",
                    f"input_dim={p.input_dim}, output_dim={p.output_dim}")
    if out is not None and out:
        data = merge(data, out[:-1], "shapes of data and output")
    if data is not None:
        out = merge(out, (*data, p.output_dim), "output shapes")
    return [data, weight], [out]


def infer_type(p: EmbeddingParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    weight = merge_types([ins[1], outs[0]])
    if weight is None:
        weight = find_dtype(p.dtype)
    return [ins[0], weight], [weight]


def _rows(p: EmbeddingParams, data: Shape) -> Rows:
    return 1, prod(data), p.input_dim, p.output_dim


def compute(ctx: OpContext, p: EmbeddingParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[1][inside(ins[0], p.input_dim, wrap=False)])


def refuses(p: EmbeddingParams, ins: list[NDArray]) -> str | None:
    return need_kind(ins[0]) or need_moved(ins[1])


def compute_ex(ctx: OpContext, p: EmbeddingParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    gather(ctx, ins[1], ins[0], outs[0], _rows(p, ins[0].shape))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # row numbers are whole: nothing comes back to them
    return [None, emit("_backward_Embedding", node.params, out_grads[0], node.inputs[0])[0]]


def infer_shape_backward(p: EmbeddingParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    (data, weight), (out,) = infer_shape(p, [ins[1], outs[0]], [ins[0]])
    return [out, data], [weight]


def infer_type_backward(p: EmbeddingParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    return [one, ins[1]], [one]


def compute_backward(ctx: OpContext, p: EmbeddingParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    summed = scatter_add(wide(ins[0]), ins[1], _rows(p, ins[1].shape))
    outs[0].write(summed.reshape(outs[0].shape).astype(np.dtype(outs[0].dtype), copy=False))


def refuses_backward(p: EmbeddingParams, ins: list[NDArray]) -> str | None:
    return need_kind(ins[1]) or need_float32(ins[0])


def compute_ex_backward(ctx: OpContext, p: EmbeddingParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    gather_grad(ctx, ins[0], ins[1], outs[0], _rows(p, ins[1].shape))


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit("Embedding", node.params, node.inputs[1], out_grads[0])[0], None]


register(OpDef("Embedding", EmbeddingParams, inputs=("data", "weight"), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient,
               doc="The rows of weight whose numbers data holds.\n\n"
                   "data of any shape and dtype, weight (input_dim, output_dim); the output has "
                   "one axis more than data, of length output_dim, and weight's dtype. A float "
                   "is cut off towards zero, a number beyond the rows means the first or the "
                   "last. Rows chosen several times get the sum of their gradients. Source: "
                   "MXNet's Embedding."))
register(replace(find("Embedding"), name="_contrib_SparseEmbedding",
                 doc="Embedding under another name: weight and its gradient are dense here.\n\n"
                     "Source: MXNet's _contrib_SparseEmbedding, whose gradient is row_sparse."))
register(OpDef("_backward_Embedding", EmbeddingParams, inputs=("out_grad", "data"),
               outputs=("weight_grad",), infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses_backward,
               gradient=gradient_backward, is_backward=True,
               doc="The gradient of Embedding's weight."))
