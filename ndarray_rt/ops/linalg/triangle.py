"""_backward_linalg_triangle: a triangle of matrices, for gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...op.context import OpContext
from ...op.params import Params, boolean, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from .rules import same_square, wide_types


@params_class
class TriangleParams(Params):
    lower: bool = boolean(True, doc="the lower triangle, with the diagonal; else the upper one")


def compute(ctx: OpContext, p: TriangleParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(np.tril(ins[0]) if p.lower else np.triu(ins[0]))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_linalg_triangle", node.params, out_grads[0])


register(OpDef("_backward_linalg_triangle", TriangleParams, inputs=("A",), infer_shape=same_square,
               infer_type=wide_types, compute=compute, gradient=gradient, is_backward=True,
               doc="A with zeros beyond one of its triangles."))
