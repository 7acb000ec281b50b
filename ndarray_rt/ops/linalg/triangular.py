"""_linalg_trmm and _linalg_trsm: products with triangles, and what solves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, merge_dim
from ...op.params import Params, boolean, number, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ..blas import uses_blas
from .lapack import triangular_solve, turned
from .rules import matrices, square, wide_types


@params_class
class TriangularParams(Params):
    transpose: bool = boolean(False, doc="A is turned round")
    rightside: bool = boolean(False, doc="A stands to the right")
    lower: bool = boolean(True, doc="the lower triangle of A counts; else the upper one")
    alpha: float = number(1.0, doc="what the result is multiplied by")


def infer_shape(p: TriangularParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    a = None if ins[0] is None else square(ins[0])
    b = merge(ins[1], outs[0], "shapes of B and the output")
    if b is not None:
        matrices(b, "B")
    if a is None or b is None:
        return [a, b], [b]
    try:
        batch = merge(a[:-2], b[:-2]) or ()
        n = merge_dim(a[-1], b[-1] if p.rightside else b[-2])
    except ShapeError:
        raise ShapeError(f"B has shape {b}, expected one that fits A {a}, "
                         f"rightside={p.rightside}") from None
    b = (*batch, b[-2], n) if p.rightside else (*batch, n, b[-1])
    return [(*batch, n, n), b], [b]


@uses_blas
def compute_product(ctx: OpContext, p: TriangularParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    a = np.tril(ins[0]) if p.lower else np.triu(ins[0])
    a = turned(a) if p.transpose else a
    made = np.matmul(ins[1], a) if p.rightside else np.matmul(a, ins[1])
    outs[0].write(made * made.dtype.type(p.alpha))


def compute_solution(ctx: OpContext, p: TriangularParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    made = triangular_solve(ins[0], ins[1] * ins[1].dtype.type(p.alpha), transpose=p.transpose,
                            rightside=p.rightside, lower=p.lower)
    outs[0].write(made)


def _slope_of_a(emit: Emit, p: TriangularParams, grad: Any, other: Any, alpha: float) -> Any:
    """The triangle of alpha grad other^T; of its transpose where A is turned round, and so on."""
    first, second = (other, grad) if p.rightside else (grad, other)
    if p.transpose:
        first, second = second, first
    # to the left: x y^T; to the right: x^T y
    turn = {"transpose_a": True} if p.rightside else {"transpose_b": True}
    whole = emit("_linalg_gemm2", {"alpha": alpha, **turn}, first, second)[0]
    return emit("_backward_linalg_triangle", {"lower": p.lower}, whole)[0]


def _params(p: TriangularParams, alpha: float) -> dict[str, object]:
    return {"transpose": not p.transpose, "rightside": p.rightside, "lower": p.lower,
            "alpha": alpha}


def gradient_product(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p: TriangularParams = node.params
    a, b = node.inputs
    db = emit("_linalg_trmm", _params(p, p.alpha), a, out_grads[0])[0]
    return [_slope_of_a(emit, p, out_grads[0], b, p.alpha), db]


def gradient_solution(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p: TriangularParams = node.params
    solved = emit("_linalg_trsm", _params(p, 1.0), node.inputs[0], out_grads[0])[0]
    db = solved if p.alpha == 1 else emit("_mul_scalar", {"scalar": p.alpha}, solved)[0]
    return [_slope_of_a(emit, p, solved, node.outputs[0], -1.0), db]


register(OpDef("_linalg_trmm", TriangularParams, inputs=("A", "B"), infer_shape=infer_shape,
               infer_type=wide_types, compute=compute_product, gradient=gradient_product,
               aliases=("linalg_trmm",),
               doc="alpha times the products of the triangles of A and the matrices of B.\n\nWhat "
                   "stands beyond the triangle counts as 0. A comes first, or last with "
                   "`rightside`. float32 or float64. Source: MXNet's linalg_trmm."))
register(OpDef("_linalg_trsm", TriangularParams, inputs=("A", "B"), infer_shape=infer_shape,
               infer_type=wide_types, compute=compute_solution, gradient=gradient_solution,
               aliases=("linalg_trsm",),
               doc="The X of A X = alpha B, where A is a triangle; of X A = alpha B with "
                   "`rightside`.\n\nWhat stands beyond the triangle is not read; infinite where "
                   "its diagonal is 0. float32 or float64. Source: MXNet's linalg_trsm; BLAS by "
                   "scipy where it is installed."))
