"""nansum and nanprod: reductions that pass over NaN."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...op.context import OpContext
from ...op.infer import same_type
from ...op.registry import Emit, GradNode, OpDef, register
from ..floats import wide
from ..terms import terms
from .product_slopes import times_others
from .reduce import Reduction, compute, infer_shape, infer_shape_backward
from .reduce_shapes import ReduceParams, kept_shape, reduced_axes


def _without_nan(x: AnyArray, instead: float) -> AnyArray:
    return np.where(np.isnan(x), x.dtype.type(instead), x) if x.dtype.kind not in "iub" else x


def _nansum(x: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    return np.asarray(_without_nan(x, 0).sum(axis=gone, dtype=x.dtype, keepdims=True))


def _nanprod(x: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    return np.asarray(_without_nan(x, 1).prod(axis=gone, dtype=x.dtype, keepdims=True))


def gradient(reduction: Reduction, emit: Emit, node: GradNode, out_grads: Sequence[Any],
             ) -> list[Any]:
    return emit(f"_backward_{reduction.name}", node.params, out_grads[0], node.inputs[0])


def compute_backward(reduction: Reduction, ctx: OpContext, p: ReduceParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    x = wide(ins[1])
    dy = wide(ins[0]).reshape(kept_shape(p, x.shape))
    if reduction.apply is _nanprod:
        made = times_others(_without_nan(x, 1), dy, reduced_axes(p, x.ndim))
    else:
        made = np.broadcast_to(dy, x.shape)
    if x.dtype.kind not in "iub":
        made = np.where(np.isnan(x), x.dtype.type(0), made)
    outs[0].write(made.astype(ins[1].dtype, copy=False))


def gradient_backward(reduction: Reduction, emit: Emit, node: GradNode, out_grads: Sequence[Any],
                      ) -> list[Any]:
    p, (grad, dy, x) = node.params, terms(emit, out_grads[0], *node.inputs)
    counts = x("_equal", None, x)  # not NaN
    grad = grad * counts
    if reduction.apply is not _nanprod:
        return [grad("sum", p).entry, None]
    # as for prod, with NaN for 1 and without gradients there
    real = counts("where", None, x, x("ones_like"))
    others = dy("ones_like")("_backward_prod", p, real)
    return [(grad * others)("sum", p).entry,
            (grad("_backward_product_slope", p, dy, real) * counts).entry]


def _register(reduction: Reduction, result: str, note: str) -> None:
    register(OpDef(reduction.name, ReduceParams, inputs=("data",),
                   infer_shape=partial(infer_shape, reduction), infer_type=same_type,
                   compute=partial(compute, reduction), gradient=partial(gradient, reduction),
                   doc=f"{result} of the elements that are not NaN, over axes.\n\nThe output has "
                       "data's dtype, and its shape without the axes (with size 1 there if "
                       f"keepdims); over all axes it has shape (1,). {note} Source: MXNet's "
                       f"{reduction.name}; numpy."))
    register(OpDef(f"_backward_{reduction.name}", ReduceParams,
                   inputs=("out_grad", "data"), infer_shape=infer_shape_backward,
                   infer_type=same_type, compute=partial(compute_backward, reduction),
                   is_backward=True,
                   gradient=partial(gradient_backward, reduction)))


_register(Reduction("nansum", None, _nansum), "The sum", "The gradient of NaN is 0.")
_register(Reduction("nanprod", None, _nanprod), "The product",
          "The gradient of NaN is 0, that of another element the product of the rest.")
