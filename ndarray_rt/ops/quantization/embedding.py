"""_contrib_quantized_embedding: rows of an int8 matrix, chosen by their numbers."""

from __future__ import annotations

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import INT8
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList
from ...op.registry import OpDef, register
from ..nn import embedding
from ..nn.embedding import EmbeddingParams
from . import native
from .ranges import ends_shape, floats_type, need_dtype, zero_gradients

OUTPUTS = ("output", "min_output", "max_output")
RANGE = ("min_weight", "max_weight")


def infer_shape(p: EmbeddingParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    made, results = embedding.infer_shape(p, ins[:2], outs[:1])
    return ([*made, *ends_shape(ins[2:], RANGE)], [*results, *ends_shape(outs[1:], OUTPUTS[1:])])


def infer_type(p: EmbeddingParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return ([ins[0], need_dtype(ins[1], (INT8,), "weight"), *floats_type(ins[2:], RANGE)],
            [need_dtype(outs[0], (INT8,), "the output"), *floats_type(outs[1:], OUTPUTS[1:])])


def compute(ctx: OpContext, p: EmbeddingParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    embedding.compute(ctx, p, ins[:2], outs[:1])
    outs[1].write(ins[2])
    outs[2].write(ins[3])


def refuses(p: EmbeddingParams, ins: list[NDArray]) -> str | None:
    return embedding.refuses(p, ins[:2])


def compute_ex(ctx: OpContext, p: EmbeddingParams, ins: list[NDArray], outs: list[Output]) -> None:
    embedding.compute_ex(ctx, p, ins[:2], outs[:1])
    native.pass_range(ctx, ins[2:], outs)


register(OpDef(
    "_contrib_quantized_embedding", EmbeddingParams, inputs=("data", "weight", *RANGE),
    outputs=OUTPUTS, infer_shape=infer_shape, infer_type=infer_type, compute=compute,
    compute_ex=compute_ex, refuses=refuses, gradient=zero_gradients,
    doc="The rows of an int8 weight whose numbers data holds.\n\n"
        "data and weight as in Embedding; min_weight and max_weight (1,). The output is as that of "
        "Embedding, then comes weight's range as it is. For inference: gradients are 0. Source: "
        "MXNet's _contrib_quantized_embedding."))
