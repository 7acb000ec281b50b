"""multi_sum_sq and multi_lars: what optimizers of many weights need besides."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, same_shape
from ...op.params import Params, how_many, number, params_class
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels.optimizer import norm
from ...storage.stream import Mem
from ..floats import need_float_types, same_float_type, wide
from .rule import FLOAT32, default_mem


@params_class
class ArraysParams(Params):
    num_arrays: int = how_many(doc="how many arrays there are")


def _names(p: ArraysParams) -> tuple[str, ...]:
    return tuple(f"array_{i}" for i in range(p.num_arrays))


def _one_float_type(ins: TypeList) -> TypeList:
    one = merge_types(ins)
    need_float_types([one])
    return [one] * len(ins)


# ---- multi_sum_sq -------------------------------------------------------------------------------


def _sums_shape(p: ArraysParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    return ins, [merge(outs[0], (p.num_arrays,))]


def _sums_type(p: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return _one_float_type(ins), [FLOAT32]


def _sum_of_squares(x: AnyArray) -> float:
    flat = np.ascontiguousarray(x).reshape(-1).astype(np.float64)
    return float(np.sum(flat * flat))


def _compute_sums(ctx: OpContext, p: ArraysParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    outs[0].write(np.array([_sum_of_squares(x) for x in ins], np.float64).astype(np.float32))


def _refuses_sums(p: ArraysParams, ins: list[NDArray]) -> str | None:
    names = {x.dtype.name for x in ins}
    if not names <= {"float32", "float16"}:
        return f"dtype {', '.join(sorted(names))} is neither float32 nor float16"
    return None


def run_sum(ctx: OpContext, to: Mem, x: Mem, count: int, half: bool, root: bool) -> None:
    """The sum of the squares of an array, or the root of that."""
    ctx.kernel(norm(out=to, data=x, count=count, half=half, root=root))


def _run_sums(ctx: OpContext, p: ArraysParams, ins: list[NDArray], outs: list[Output]) -> None:
    stream = ctx.stream
    one = default_desc(FLOAT32, (1,))
    sources = [default_mem(x, ctx) for x in ins]
    with outs[0].open(default_desc(FLOAT32, (p.num_arrays,)), stream) as y:
        for i, (x, source) in enumerate(zip(ins, sources, strict=True)):
            to = Mem(one, y.ptr + 4 * i, y.keep, y.epoch)
            run_sum(ctx, to, source, x.size, x.dtype.name == "float16", False)


register(OpDef(
    "multi_sum_sq", ArraysParams, inputs=_names, takes_any=True, infer_shape=_sums_shape,
    infer_type=_sums_type, compute=_compute_sums, compute_ex=_run_sums, refuses=_refuses_sums,
    no_gradient="MXNet has none",
    doc="The sum of the squares of each of num_arrays arrays.\n\nArrays of any shapes and of one "
        "floating-point dtype to float32 of shape (num_arrays,). Sums are double precision. "
        "Source: MXNet's multi_sum_sq; a native kernel for float32 and float16."))

# ---- multi_lars ---------------------------------------------------------------------------------


@params_class
class LARSParams(Params):
    eta: float = number(doc="share of the weight's norm that a step may have")
    eps: float = number(doc="added to the gradient's norm")
    rescale_grad: float = number(1.0, doc="factor of the gradients")


def _compute_lars(ctx: OpContext, p: LARSParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    lrs, weights, grads, wds = (wide(x) for x in ins)
    number_of = lrs.dtype.type
    norm = np.sqrt(weights)
    length = np.sqrt(grads) * number_of(p.rescale_grad) + wds * norm + number_of(p.eps)
    made = np.where((norm > 0) & (grads > 0), lrs * number_of(p.eta) * norm / length, lrs)
    outs[0].write(made.astype(ins[0].dtype, copy=False))


register(OpDef(
    "multi_lars", LARSParams, inputs=("lrs", "weights_sum_sq", "grads_sum_sq", "wds"),
    infer_shape=same_shape, infer_type=same_float_type, compute=_compute_lars, inplace={0: 0},
    no_gradient="MXNet has none",
    doc="Learning rates of layers by the norms of their weights and gradients.\n\nlrs eta |w| / "
        "(rescale_grad |g| + wds |w| + eps), and lrs where one of the norms is 0; the inputs are "
        "the squares of the norms, of one shape and floating-point dtype. Source: MXNet's "
        "multi_lars (You et al., 2017); numpy."))
