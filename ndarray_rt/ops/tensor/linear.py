"""Operators that give elements of one array in other places, and their gradients.

A gradient goes the way back; the gradient of that is the operator again. `rearranged` moves what
strides can describe. Registers operators when it is asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.context import OpContext
from ...op.infer import ShapeList, known, merge, same_type
from ...op.params import Params
from ...op.registry import Emit, FComputeEx, GradNode, OpDef, Refuses, Shape, register
from ...storage.desc import default_desc, strided_desc
from ...storage.reorder import reorder_mem
from ..floats import wide
from .broadcast import infer_type_first
from .places import can_add

# (params, shape of data) -> shape of the output; raises ShapeError
Rule = Callable[[Any, Shape], Shape]
# (params, data) -> output
Forward = Callable[[Any, AnyArray], AnyArray]
# (params, gradient of the output, shape of data) -> gradient of data
Back = Callable[[Any, AnyArray, Shape], AnyArray]
Slope = Callable[[Any], Params | Mapping[str, object]]


def infer_shape(rule: Rule, p: Params, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    if data is None or not known(data):
        return ins, outs
    return [data], [merge(outs[0], rule(p, data), "output shapes")]


def compute(forward: Forward, ctx: OpContext, p: Params, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(forward(p, ins[0]))


def gradient(name: str, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit(f"_backward_{name}", node.params, out_grads[0], node.inputs[0])


def infer_shape_backward(rule: Rule, p: Params, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0], "data and its gradient")
    _, (out,) = infer_shape(rule, p, [data], [ins[0]])
    return [out, data], [data]


def compute_backward(back: Back, ctx: OpContext, p: Params, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy = ins[0]
    outs[0].write(back(p, wide(dy), outs[0].shape).astype(dy.dtype, copy=False))


def gradient_backward(name: str, slope: Slope, emit: Emit, node: GradNode,
                      out_grads: Sequence[Any]) -> list[Any]:
    return [emit(name, slope(node.params), out_grads[0])[0], None]


def _itself(p: Params) -> Params:
    return p


def register_linear(name: str, params: type[Params], rule: Rule, forward: Forward, back: Back,
                    doc: str, aliases: tuple[str, ...] = (), compute_ex: FComputeEx | None = None,
                    refuses: Refuses | None = None, slope: Slope = _itself,
                    compute_ex_back: FComputeEx | None = None,
                    refuses_back: Refuses | None = None, numbers: tuple[str, ...] = ()) -> None:
    """Registers an operator on one array, and its gradient, which has none of the `numbers`.

    `compute_ex_back` and `refuses_back` are the gradient's, on oneDNN. `slope`: the parameters
    without what the operator adds that does not depend on data.
    """
    register(OpDef(name, params, inputs=("data",), infer_shape=partial(infer_shape, rule),
                   infer_type=same_type, compute=partial(compute, forward), compute_ex=compute_ex,
                   refuses=refuses, gradient=partial(gradient, name), aliases=aliases,
                   numbers=numbers,
               names_data=True,
               doc=doc))
    register(OpDef(f"_backward_{name}", params, inputs=("out_grad", "data"),
                   outputs=("data_grad",), infer_shape=partial(infer_shape_backward, rule),
                   infer_type=infer_type_first, compute=partial(compute_backward, back),
                   compute_ex=compute_ex_back, refuses=refuses_back,
                   gradient=partial(gradient_backward, name, slope), ignores=(1,), is_backward=True,
                   doc=f"The gradient of {name}."))


def summed(x: AnyArray, axes: tuple[int, ...]) -> AnyArray:
    """The sum over axes in x's own dtype."""
    return np.asarray(x.sum(axis=axes, dtype=x.dtype))


def rearranged(ctx: OpContext, data: NDArray, out: Output, dims: Sequence[int],
               strides: Sequence[int]) -> None:
    """out, in row-major order, is data's elements at these strides over `dims`."""
    if not out.requested:
        return
    can_add(out)
    seen = [(dim, step) for dim, step in zip(dims, strides, strict=True) if dim != 1] or [(1, 1)]
    kept = tuple(dim for dim, _ in seen)
    stream, dtype = ctx.stream, data.dtype
    source = get_default(data, stream)
    with out.open(default_desc(dtype, out.shape), stream) as y:
        reorder_mem(stream, source.as_desc(strided_desc(dtype, kept, tuple(s for _, s in seen))),
                    y.as_desc(default_desc(dtype, kept)))


def row_strides(dims: Sequence[int]) -> tuple[int, ...]:
    """Strides of an array in row-major order."""
    return tuple(prod(dims[axis + 1:]) for axis in range(len(dims)))
