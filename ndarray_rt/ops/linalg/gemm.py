"""_linalg_gemm: scaled matrix products of batches, added to scaled matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.numbers import Domain
from ...op.params import Params, boolean, integer, number, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels.elementwise import blend
from ...storage.primitive import Arg, Kind, binary_post, make_primitive
from ..blocked_gemm import is_blocked, multiply, need_product
from ..tensor.gemm2 import infer_shape as infer_product
from ..tensor.gemm2 import product_of, seen
from ..tensor.places import can_add
from .rules import wide_types


@params_class
class GemmParams(Params):
    transpose_a: bool = boolean(False, doc="A is turned round")
    transpose_b: bool = boolean(False, doc="B is turned round")
    alpha: float = number(1.0, doc="what the product is multiplied by")
    beta: float = number(1.0, doc="what C is multiplied by")
    axis: int = integer(-2, doc="the axis of the rows; the columns are the last one")


def infer_shape(p: GemmParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    c = merge(ins[2], outs[0], "shapes of C and the output")
    product = infer_product(p, ins[:2], [None])[1][0]
    try:
        c = merge(c, product)
    except ShapeError:
        raise ShapeError(f"C has shape {c}, expected that of the product: {product}") from None
    return [*ins[:2], c], [c]


def compute(ctx: OpContext, p: GemmParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    outs[0].write(product_of(p, ins[0], ins[1]) + ins[2] * ins[2].dtype.type(p.beta))


def refuses(p: GemmParams, ins: list[NDArray]) -> str | None:
    if p.axis not in (-2, ins[2].ndim - 2):
        return "C can be added where rows lie along the last axis but one"
    return need_product((), *ins)


def compute_ex(ctx: OpContext, p: GemmParams, ins: list[NDArray], outs: list[Output]) -> None:
    a, b, c = ins
    if not outs[0].requested:
        return
    can_add(outs[0])
    src = seen(p, a.dtype, a.shape, p.transpose_a)
    w = seen(p, b.dtype, b.shape, p.transpose_b)
    dst = seen(p, c.dtype, c.shape)
    if is_blocked(a.dtype):
        x, y, z = (get_default(array, ctx.stream).as_desc(desc)
                   for array, desc in ((a, src), (b, w), (c, dst)))
        with outs[0].open(default_desc(c.dtype, outs[0].shape), ctx.stream) as out:
            multiply(ctx, a.dtype, x, y, out.as_desc(dst), alpha=p.alpha, beta=p.beta, added=z)
        return
    is_plain = p.alpha == p.beta == 1
    ops = [binary_post(lib.NDRT_BINARY_ADD, dst)] if is_plain else []
    prim = ctx.primitive(("gemm", src.id, w.id, dst.id, is_plain), lambda: make_primitive(
        Kind.MATMUL, src=src, weights=w, dst=dst, post_ops=ops))
    x, y, z = (get_default(array, ctx.stream).as_desc(desc)
               for array, desc in ((a, src), (b, w), (c, dst)))
    with outs[0].open(default_desc(c.dtype, outs[0].shape), ctx.stream) as out:
        added = ((Arg.POST_OP + Arg.SRC_1, z),) if is_plain else ()
        ctx.run(prim, ((Arg.SRC, x), (Arg.WEIGHTS, y), (Arg.DST, out.as_desc(dst)), *added))
        if not is_plain:
            # behind the primitive, so that one serves all numbers
            ctx.kernel(blend(out=out, data=z, n=dst.nelems, a=p.alpha, b=p.beta))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p: GemmParams = node.params
    dy, (a, b, _), ta, tb = out_grads[0], node.inputs, p.transpose_a, p.transpose_b

    def product(x: Any, y: Any, turn_x: bool, turn_y: bool) -> Any:
        params = {"transpose_a": turn_x, "transpose_b": turn_y, "alpha": p.alpha, "axis": p.axis}
        return emit("_linalg_gemm2", params, x, y)[0]
    da = product(b, dy, tb, True) if ta else product(dy, b, False, not tb)
    db = product(dy, a, True, ta) if tb else product(a, dy, not ta, False)
    dc = dy if p.beta == 1 else emit("_mul_scalar", {"scalar": p.beta}, dy)[0]
    return [da, db, dc]


register(OpDef("_linalg_gemm", GemmParams, inputs=("A", "B", "C"), infer_shape=infer_shape,
               infer_type=wide_types, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, aliases=("linalg_gemm",), numbers=("alpha", "beta"),
               domain=Domain(apart=(1.0,)),
               doc="alpha times the matrix products of A and B, plus beta times C, for each place "
                   "in the other axes.\n\nRows lie along axis, columns along the last one; "
                   "transpose_a and transpose_b turn these two round. C has the shape of the "
                   "output. float32 or float64. Source: MXNet's linalg_gemm; oneDNN matmul."))
