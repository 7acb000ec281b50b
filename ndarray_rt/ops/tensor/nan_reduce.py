"""nansum and nanprod: reductions that pass over NaN."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...ndarray.layout import AnyArray
from ...ndarray.output import NumpyOutput
from ...op.context import OpContext
from ...op.infer import same_type
from ...op.registry import OpDef, register
from ..floats import wide
from .reduce import (
    ReduceParams,
    Reduction,
    compute,
    gradient,
    infer_shape,
    infer_shape_backward,
    kept_shape,
    whole_quotient,
)


def _without_nan(x: AnyArray, instead: float) -> AnyArray:
    return np.where(np.isnan(x), x.dtype.type(instead), x) if x.dtype.kind not in "iub" else x


def _nansum(x: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    return np.asarray(_without_nan(x, 0).sum(axis=gone, dtype=x.dtype, keepdims=True))


def _nanprod(x: AnyArray, gone: tuple[int, ...]) -> AnyArray:
    return np.asarray(_without_nan(x, 1).prod(axis=gone, dtype=x.dtype, keepdims=True))


def compute_backward(reduction: Reduction, ctx: OpContext, p: ReduceParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    x = wide(ins[1])
    small = kept_shape(p, x.shape)
    dy, y = (wide(array).reshape(small) for array in (ins[0], ins[2]))
    if x.dtype.kind in "iub":
        slopes = whole_quotient(y, x) if reduction.apply is _nanprod else np.ones_like(x)
        made = dy * slopes
    else:
        # the product divided by a 0 is NaN, as prod has it
        made = np.where(np.isnan(x), x.dtype.type(0),
                        dy * (y / x) if reduction.apply is _nanprod else dy)
    outs[0].write(made.astype(ins[1].dtype, copy=False))


def _register(reduction: Reduction, result: str, note: str) -> None:
    register(OpDef(reduction.name, ReduceParams, inputs=("data",),
                   infer_shape=partial(infer_shape, reduction), infer_type=same_type,
                   compute=partial(compute, reduction), gradient=partial(gradient, reduction),
                   doc=f"{result} of the elements that are not NaN, over axes.\n\nThe output has "
                       "data's dtype, and its shape without the axes (with size 1 there if "
                       f"keepdims); over all axes it has shape (1,). {note} Source: MXNet's "
                       f"{reduction.name}; numpy."))
    register(OpDef(f"_backward_{reduction.name}", ReduceParams,
                   inputs=("out_grad", "data", "out"), infer_shape=infer_shape_backward,
                   infer_type=same_type, compute=partial(compute_backward, reduction),
                   is_backward=True, no_gradient="there is no second-order gradient of it"))


_register(Reduction("nansum", None, _nansum), "The sum", "The gradient of NaN is 0.")
_register(Reduction("nanprod", None, _nanprod), "The product",
          "The gradient of NaN is 0, that of others the product divided by the element.")
