"""Factors of matrices: _linalg_potrf, potri, gelqf, syevd, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import NdrtError, ShapeError, where
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import NoParams, Params, boolean, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ..blas import uses_blas
from .lapack import copied_down, solve, turned
from .rules import matrices, same_square, square, wide_types

NO_SECOND = "there is no second-order gradient of it"
# the least difference of eigenvalues that a gradient is divided by: equal ones have none
_LEAST = 1e-20


# ---- Cholesky -----------------------------------------------------------------------------------


@params_class
class CholeskyParams(Params):
    lower: bool = boolean(True, doc="factors are lower triangles; else upper ones, U^T U")


def _as_lower(p: CholeskyParams, x: AnyArray) -> AnyArray:
    """An upper triangle is the transpose of a lower one."""
    return x if p.lower else turned(x)


@uses_blas
def compute_potrf(ctx: OpContext, p: CholeskyParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    try:
        outs[0].write(_as_lower(p, np.linalg.cholesky(_as_lower(p, ins[0]))))
    except np.linalg.LinAlgError:
        raise NdrtError(f"{where('_linalg_potrf', ctx.node_name)}: A is not positive definite"
                        ) from None


def gradient_potrf(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_linalg_potrf", node.params, out_grads[0], node.outputs[0])


@uses_blas
def compute_potrf_backward(ctx: OpContext, p: CholeskyParams, ins: list[AnyArray],
                           outs: list[NumpyOutput]) -> None:
    """1/2 L^-T S L^-1, where S has the lower triangle of L^T dL (Murray, 2016)."""
    dl, low = (_as_lower(p, x) for x in ins)
    middle = copied_down(np.matmul(turned(low), dl))
    left = solve(turned(low), middle, False)
    outs[0].write(turned(solve(turned(low), turned(left), False)) * dl.dtype.type(0.5))


def _inverse_of_factor(low: AnyArray) -> AnyArray:
    identity = np.broadcast_to(np.eye(low.shape[-1], dtype=low.dtype), low.shape)
    return solve(low, identity)


@uses_blas
def compute_potri(ctx: OpContext, p: CholeskyParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    if not np.all(np.diagonal(ins[0], axis1=-2, axis2=-1)):
        raise NdrtError(f"{where('_linalg_potri', ctx.node_name)}: the diagonal of A has a 0, so "
                        "that it is no factor of an invertible matrix")
    inverse = _inverse_of_factor(_as_lower(p, ins[0]))
    outs[0].write(np.matmul(turned(inverse), inverse))


def gradient_potri(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_linalg_potri", node.params, out_grads[0], node.inputs[0],
                node.outputs[0])


@uses_blas
def compute_potri_backward(ctx: OpContext, p: CholeskyParams, ins: list[AnyArray],
                           outs: list[NumpyOutput]) -> None:
    """The lower triangle of -B (dB + dB^T) L^-T."""
    db, factor, inverse = ins
    turned_inverse = turned(_inverse_of_factor(_as_lower(p, factor)))
    product = np.matmul(np.matmul(inverse, db + turned(db)), turned_inverse)
    outs[0].write(_as_lower(p, np.tril(-product)))


# ---- LQ -----------------------------------------------------------------------------------------


def infer_shape_gelqf(p: NoParams, ins: ShapeList, outs: ShapeList,
                      ) -> tuple[ShapeList, ShapeList]:
    a = merge(ins[0], outs[0], "shapes of A and Q")
    if a is None:
        return ins, outs
    matrices(a)
    if a[-1] != -1 and a[-2] > a[-1]:
        raise ShapeError(f"A has shape {a}, expected at least as many columns as rows")
    return [a], [a, merge(outs[1], (*a[:-1], a[-2]), "shapes of L")]


@uses_blas
def compute_gelqf(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    q, r = np.linalg.qr(turned(ins[0]))
    outs[0].write(turned(q))
    outs[1].write(turned(r))


def gradient_gelqf(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_linalg_gelqf", None, *out_grads, *node.outputs)


def infer_shape_gelqf_backward(p: NoParams, ins: ShapeList, outs: ShapeList,
                               ) -> tuple[ShapeList, ShapeList]:
    q = merge(ins[0], merge(ins[2], outs[0]))
    _, (q, low) = infer_shape_gelqf(p, [q], [q, merge(ins[1], ins[3])])
    return [q, low, q, low], [q]


@uses_blas
def compute_gelqf_backward(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                           outs: list[NumpyOutput]) -> None:
    """L^-T (dQ + S Q), where S has the lower triangle of L^T dL - dQ Q^T."""
    dq, dl, q, low = ins
    middle = copied_down(np.matmul(turned(low), dl) - np.matmul(dq, turned(q)))
    outs[0].write(solve(turned(low), dq + np.matmul(middle, q), False))


# ---- eigenvalues --------------------------------------------------------------------------------


def infer_shape_syevd(p: NoParams, ins: ShapeList, outs: ShapeList,
                      ) -> tuple[ShapeList, ShapeList]:
    a = merge(ins[0], outs[0], "shapes of A and U")
    if a is None:
        return ins, outs
    a = square(a)
    return [a], [a, merge(outs[1], a[:-1], "shapes of L")]


@uses_blas
def compute_syevd(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    try:
        values, vectors = np.linalg.eigh(ins[0], "L")
    except np.linalg.LinAlgError as error:
        raise NdrtError(f"{where('_linalg_syevd', ctx.node_name)}: {error}") from None
    rows = turned(vectors)
    if rows.size:  # of the two directions the one whose largest part is above 0
        largest = np.argmax(np.abs(rows), axis=-1)[..., None]
        rows = rows * np.where(np.take_along_axis(rows, largest, -1) < 0, -1, 1).astype(rows.dtype)
    outs[0].write(rows)
    outs[1].write(values)


def gradient_syevd(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_linalg_syevd", None, *out_grads, *node.outputs)


def infer_shape_syevd_backward(p: NoParams, ins: ShapeList, outs: ShapeList,
                               ) -> tuple[ShapeList, ShapeList]:
    u = merge(ins[0], merge(ins[2], outs[0]))
    _, (u, values) = infer_shape_syevd(p, [u], [u, merge(ins[1], ins[3])])
    return [u, values, u, values], [u]


@uses_blas
def compute_syevd_backward(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                           outs: list[NumpyOutput]) -> None:
    """U^T M U; M has dL on its diagonal, beside it the skew part of dU U^T by differences of L."""
    du, dl, u, values = ins
    x = np.matmul(du, turned(u))
    gaps = values[..., :, None] - values[..., None, :]
    gaps = np.where(gaps >= 0, np.maximum(gaps, _LEAST), np.minimum(gaps, -_LEAST))
    middle = np.tril((x - turned(x)) / (2 * gaps), -1)
    middle = middle + turned(middle)
    along = np.arange(values.shape[-1])
    middle[..., along, along] = dl
    outs[0].write(np.matmul(np.matmul(turned(u), middle.astype(u.dtype)), u))


register(OpDef("_linalg_potrf", CholeskyParams, inputs=("A",), infer_shape=same_square,
               infer_type=wide_types, compute=compute_potrf, gradient=gradient_potrf,
               aliases=("linalg_potrf",),
               doc="The lower triangles L with A = L L^T, of symmetric positive definite "
                   "matrices; the upper ones U with A = U^T U where not `lower`.\n\nOnly that "
                   "triangle of A is read. float32 or float64. Raises "
                   "MXNetError where A is not positive definite. Source: MXNet's linalg_potrf; "
                   "LAPACK through NumPy."))
register(OpDef("_backward_linalg_potrf", CholeskyParams, inputs=("out_grad", "L"),
               infer_shape=same_square, infer_type=wide_types, compute=compute_potrf_backward,
               is_backward=True, no_gradient=NO_SECOND, doc="The gradient of potrf."))
register(OpDef("_linalg_potri", CholeskyParams, inputs=("A",), infer_shape=same_square,
               infer_type=wide_types, compute=compute_potri, gradient=gradient_potri,
               aliases=("linalg_potri",),
               doc="The inverses of the matrices A A^T, where A are lower triangles; of A^T A and "
                   "upper triangles where not `lower`.\n\nOnly that triangle of A is read. "
                   "float32 or float64. Raises MXNetError where its "
                   "diagonal has a 0. Source: MXNet's linalg_potri."))
register(OpDef("_backward_linalg_potri", CholeskyParams, inputs=("out_grad", "A", "B"),
               infer_shape=same_square, infer_type=wide_types, compute=compute_potri_backward,
               is_backward=True, no_gradient=NO_SECOND, doc="The gradient of potri."))
register(OpDef("_linalg_gelqf", NoParams, inputs=("A",), outputs=("output0", "output1"),
               infer_shape=infer_shape_gelqf, infer_type=wide_types, compute=compute_gelqf,
               gradient=gradient_gelqf, aliases=("linalg_gelqf",),
               doc="Q and L with A = L Q: L are lower triangles, the rows of Q are orthonormal."
                   "\n\nA has at least as many columns as rows. float32 or float64. Source: "
                   "MXNet's linalg_gelqf; LAPACK through NumPy."))
register(OpDef("_backward_linalg_gelqf", NoParams, inputs=("Q_grad", "L_grad", "Q", "L"),
               infer_shape=infer_shape_gelqf_backward, infer_type=wide_types,
               compute=compute_gelqf_backward, is_backward=True, no_gradient=NO_SECOND,
               doc="The gradient of gelqf."))
register(OpDef("_linalg_syevd", NoParams, inputs=("A",), outputs=("output0", "output1"),
               infer_shape=infer_shape_syevd, infer_type=wide_types, compute=compute_syevd,
               gradient=gradient_syevd,
               doc="U and L with A = U^T diag(L) U, of symmetric matrices: rows of U are "
                   "eigenvectors, L their eigenvalues, the least first.\n\nOnly the lower triangle "
                   "of A is read; the largest part of each eigenvector is above 0. float32 or "
                   "float64. Source: MXNet's linalg_syevd; LAPACK through NumPy."))
register(OpDef("_backward_linalg_syevd", NoParams, inputs=("U_grad", "L_grad", "U", "L"),
               infer_shape=infer_shape_syevd_backward, infer_type=wide_types,
               compute=compute_syevd_backward, is_backward=True, no_gradient=NO_SECOND,
               doc="The gradient of syevd."))
