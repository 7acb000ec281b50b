"""_linalg_det, slogdet, inverse and sumlogdiag, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import NdrtError, where
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import NoParams
from ...op.registry import Emit, GradNode, OpDef, register
from ..blas import uses_blas
from ..tensor.product_slopes import times_others
from .factor import NO_SECOND
from .lapack import turned
from .rules import per_matrix, same_square, square, wide_types


def infer_shape(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    """Numbers for each matrix."""
    if ins[0] is None:
        return ins, outs
    a = square(ins[0])
    return [a], [merge(out, per_matrix(a), "output shapes") for out in outs]


def infer_shape_backward(p: NoParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    """(gradient of a number for each matrix, matrices, further such numbers)."""
    a = merge(ins[1], outs[0], "gradient and input shapes")
    if a is None:
        return ins, outs
    a = square(a)
    each = per_matrix(a)
    return [each, a, *[each] * (len(ins) - 2)], [a]


@uses_blas
def compute_det(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
    outs[0].write(np.reshape(np.linalg.det(ins[0]), outs[0].shape))


def gradient_det(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_linalg_det", None, out_grads[0], node.inputs[0], node.outputs[0])


@uses_blas
def _scaled_inverses(a: AnyArray, factor: AnyArray, usable: AnyArray) -> AnyArray:
    """factor A^-T for each matrix; zeros where it is not usable, as MXNet has it."""
    usable, factor = (x.reshape((*a.shape[:-2], 1, 1)) for x in (usable, factor))
    safe = np.where(usable, a, np.eye(a.shape[-1], dtype=a.dtype))
    return np.where(usable, turned(np.linalg.inv(safe)) * factor, np.zeros((), a.dtype))


@uses_blas
def _cofactors(a: AnyArray) -> AnyArray:
    """What each element of singular matrices is multiplied by in the determinant."""
    u, values, vt = np.linalg.svd(a)
    others = times_others(values, np.ones((len(values), 1), values.dtype), (1,))
    sign = np.linalg.det(u) * np.linalg.det(vt)
    made: AnyArray = sign[:, None, None] * ((u * others[:, None, :]) @ vt)
    return made


def compute_det_backward(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                         outs: list[NumpyOutput]) -> None:
    dy, a, det = ins
    made = _scaled_inverses(a, dy * det, det != 0)
    singular = np.reshape(det == 0, a.shape[:-2])
    if singular.any():
        heads = np.reshape(dy, a.shape[:-2])[singular]
        made[singular] = heads[:, None, None] * _cofactors(a[singular])
    outs[0].write(made)


@uses_blas
def compute_slogdet(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    sign, log = np.linalg.slogdet(ins[0])
    outs[0].write(np.reshape(sign, outs[0].shape))
    outs[1].write(np.reshape(log, outs[1].shape))


def gradient_slogdet(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # the sign is constant wherever it has a slope
    return emit("_backward_linalg_slogdet", None, out_grads[1], node.inputs[0], node.outputs[0])


def compute_slogdet_backward(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                             outs: list[NumpyOutput]) -> None:
    dy, a, sign = ins
    outs[0].write(_scaled_inverses(a, dy, sign != 0))


@uses_blas
def compute_inverse(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    try:
        outs[0].write(np.linalg.inv(ins[0]))
    except np.linalg.LinAlgError:
        raise NdrtError(f"{where('_linalg_inverse', ctx.node_name)}: A has no inverse: it is "
                        "singular") from None


def gradient_inverse(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    """-B^T dB B^T."""
    b = node.outputs[0]
    left = emit("_linalg_gemm2", {"transpose_a": True}, b, out_grads[0])[0]
    return emit("_linalg_gemm2", {"transpose_b": True, "alpha": -1.0}, left, b)


def compute_sumlogdiag(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                       outs: list[NumpyOutput]) -> None:
    logs = np.log(np.diagonal(ins[0], axis1=-2, axis2=-1))
    outs[0].write(np.reshape(logs.sum(axis=-1), outs[0].shape))


def gradient_sumlogdiag(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_linalg_sumlogdiag", None, out_grads[0], node.inputs[0])


def compute_sumlogdiag_backward(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                                outs: list[NumpyOutput]) -> None:
    dy, a = ins
    along = np.arange(a.shape[-1])
    made = np.zeros_like(a)
    made[..., along, along] = dy.reshape((*a.shape[:-2], 1)) / a[..., along, along]
    outs[0].write(made)


register(OpDef("_linalg_det", NoParams, inputs=("A",), infer_shape=infer_shape,
               infer_type=wide_types, compute=compute_det, gradient=gradient_det,
               aliases=("linalg_det",),
               doc="Determinants of square matrices.\n\nThe gradient is the matrix of cofactors. "
                   "float32 or float64. Source: MXNet's linalg_det; LAPACK through NumPy."))
register(OpDef("_backward_linalg_det", NoParams, inputs=("out_grad", "A", "det"),
               infer_shape=infer_shape_backward, infer_type=wide_types,
               compute=compute_det_backward, is_backward=True, no_gradient=NO_SECOND,
               doc="The gradient of det."))
register(OpDef("_linalg_slogdet", NoParams, inputs=("A",), outputs=("output0", "output1"),
               infer_shape=infer_shape, infer_type=wide_types, compute=compute_slogdet,
               gradient=gradient_slogdet, aliases=("linalg_slogdet",),
               doc="Signs of determinants, and logarithms of their absolute values.\n\n0 and -inf "
                   "for a singular matrix, which has no gradient: zeros. float32 or float64. "
                   "Source: MXNet's linalg_slogdet; LAPACK through NumPy."))
register(OpDef("_backward_linalg_slogdet", NoParams, inputs=("out_grad", "A", "sign"),
               infer_shape=infer_shape_backward, infer_type=wide_types,
               compute=compute_slogdet_backward, is_backward=True, no_gradient=NO_SECOND,
               doc="The gradient of slogdet."))
register(OpDef("_linalg_inverse", NoParams, inputs=("A",), infer_shape=same_square,
               infer_type=wide_types, compute=compute_inverse, gradient=gradient_inverse,
               aliases=("linalg_inverse",),
               doc="Inverses of square matrices.\n\nfloat32 or float64. Raises MXNetError where a "
                   "matrix is singular. Source: MXNet's linalg_inverse; LAPACK through NumPy."))
register(OpDef("_linalg_sumlogdiag", NoParams, inputs=("A",), infer_shape=infer_shape,
               infer_type=wide_types, compute=compute_sumlogdiag, gradient=gradient_sumlogdiag,
               aliases=("linalg_sumlogdiag",),
               doc="Sums of the logarithms of the diagonals of square matrices.\n\nfloat32 or "
                   "float64. Source: MXNet's linalg_sumlogdiag."))
register(OpDef("_backward_linalg_sumlogdiag", NoParams, inputs=("out_grad", "A"),
               infer_shape=infer_shape_backward, infer_type=wide_types,
               compute=compute_sumlogdiag_backward, is_backward=True, no_gradient=NO_SECOND,
               doc="The gradient of sumlogdiag."))
