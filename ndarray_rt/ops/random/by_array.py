"""_sample_*: for each element of arrays of parameters, an array of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_all, same_type
from ...op.params import Params, optional_dtype, params_class, shape
from ...op.registry import OpDef, register
from .by_number import drawn_type
from .distributions import DISTRIBUTIONS, need_meaning, sample
from .native import draw_by_arrays, need_readable


@params_class
class SampleParams(Params):
    shape: tuple[int, ...] = shape((), low=0, doc="shape of what is drawn for each element")
    dtype: str | None = optional_dtype(doc="float16, float32 or float64; default float32")


def infer_shape(p: SampleParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    one, out = merge_all(ins, "shapes of parameters"), outs[0]
    if one is None and out is not None and len(out) >= len(p.shape):
        one = out[:len(out) - len(p.shape)]
    made = None if one is None else merge(out, one + p.shape, "output shapes")
    return [one] * len(ins), [made or out]


def infer_type(p: SampleParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return same_type(p, ins, [])[0], [drawn_type(p.dtype, outs[0])]


def compute_of(name: str) -> Callable[
        [OpContext, SampleParams, list[AnyArray], list[NumpyOutput]], None]:
    """Draws `shape` numbers for each element of the parameters."""
    def compute(ctx: OpContext, p: SampleParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
        each = prod(p.shape)
        given = [x.reshape(-1).astype(np.float64) for x in ins]
        if each:
            need_meaning(name, given)
        numbers = [np.repeat(x, each) for x in given]
        outs[0].write(sample(ctx.random, name, numbers, outs[0].dtype).reshape(outs[0].shape))
    return compute


def refuses(p: SampleParams, ins: list[NDArray]) -> str | None:
    return need_readable(ins[0])


def compute_ex_of(name: str) -> Callable[
        [OpContext, SampleParams, list[NDArray], list[Output]], None]:
    """The same as a native kernel."""
    def compute_ex(ctx: OpContext, p: SampleParams, ins: list[NDArray],
                   outs: list[Output]) -> None:
        draw_by_arrays(ctx, name, ins, prod(p.shape), outs[0])
    return compute_ex


for _name, _kind in DISTRIBUTIONS.items():
    register(OpDef(f"_sample_{_name}", SampleParams, inputs=_kind.parameters,
                   infer_shape=infer_shape, infer_type=infer_type, compute=compute_of(_name),
                   compute_ex=compute_ex_of(_name), refuses=refuses,
                   no_gradient="zero: what is drawn counts as constant", is_random=True,
                   aliases=(f"sample_{_name}",),
                   doc=f"Random numbers by arrays of parameters. {_kind.what}.\n\nThe parameters "
                       "have one shape and dtype, to which `shape` is added: that many numbers "
                       "for each element. ParameterError where a parameter has no meaning. Source: "
                       f"MXNet's _sample_{_name}; a native kernel."))
