"""_linalg_syrk: products of matrices and their transposes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.numbers import Domain
from ...op.params import Params, boolean, number, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.desc import default_desc
from ..blas import uses_blas
from ..blocked_gemm import need_product
from ..tensor.gemm2 import Gemm2Params, scaled_product, seen
from ..tensor.places import can_add
from .lapack import turned
from .rules import matrices, wide_types


@params_class
class SyrkParams(Params):
    transpose: bool = boolean(False, doc="the transpose comes first")
    alpha: float = number(1.0, doc="what the product is multiplied by")


def infer_shape(p: SyrkParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    if ins[0] is None:
        return ins, outs
    a = matrices(ins[0])
    n = a[-1] if p.transpose else a[-2]
    return ins, [merge(outs[0], (*a[:-2], n, n), "output shapes")]


@uses_blas
def compute(ctx: OpContext, p: SyrkParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    a = turned(ins[0]) if p.transpose else ins[0]
    outs[0].write(np.matmul(a, turned(a)) * a.dtype.type(p.alpha))


def refuses(p: SyrkParams, ins: list[NDArray]) -> str | None:
    return need_product((), *ins)


def compute_ex(ctx: OpContext, p: SyrkParams, ins: list[NDArray], outs: list[Output]) -> None:
    if not outs[0].requested:
        return
    can_add(outs[0])
    a, plain = ins[0], Gemm2Params()
    src = seen(plain, a.dtype, a.shape, p.transpose)
    w = seen(plain, a.dtype, a.shape, not p.transpose)
    dst = seen(plain, a.dtype, outs[0].shape)
    x = get_default(a, ctx.stream)
    with outs[0].open(default_desc(a.dtype, outs[0].shape), ctx.stream) as y:
        scaled_product(ctx, a.dtype, p.alpha, x.as_desc(src), x.as_desc(w), y.as_desc(dst))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    """alpha (dy + dy^T) a, or alpha a (dy + dy^T)."""
    p: SyrkParams = node.params
    dy, a = out_grads[0], node.inputs[0]
    turn = {"transpose_b" if p.transpose else "transpose_a": True}
    pair = (a, dy) if p.transpose else (dy, a)
    half = emit("_linalg_gemm2", {"alpha": p.alpha, **turn}, *pair)[0]
    return [emit("_linalg_gemm", {"alpha": p.alpha}, *pair, half)[0]]


register(OpDef("_linalg_syrk", SyrkParams, inputs=("A",), infer_shape=infer_shape,
               infer_type=wide_types, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, aliases=("linalg_syrk",), numbers=("alpha",),
               domain=Domain(apart=(1.0,)),
               doc="alpha times the products of the matrices of A and their transposes.\n\nThe "
                   "transpose stands behind, or in front with `transpose`. float32 or float64. "
                   "Source: MXNet's linalg_syrk; oneDNN matmul."))
