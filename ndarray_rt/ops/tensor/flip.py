"""reverse: the elements along some axes from the last to the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.context import OpContext
from ...op.infer import ShapeList, normalize_axis, same_shape, same_type
from ...op.params import Params, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, register
from .moves import Step, take_steps
from .places import need_moved


@params_class
class ReverseParams(Params):
    axis: tuple[int, ...] = shape(doc="the axes that are turned round")


def infer_shape(p: ReverseParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    made = same_shape(p, ins, outs)
    data = made[0][0]
    if data is not None:
        for axis in p.axis:
            normalize_axis(axis, len(data))
    return made


def compute(ctx: OpContext, p: ReverseParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    made = ins[0]
    for axis in p.axis:  # one that is named twice is turned twice
        made = np.flip(made, axis)
    outs[0].write(made)


def refuses(p: ReverseParams, ins: list[NDArray]) -> str | None:
    return need_moved(ins[0])


def compute_ex(ctx: OpContext, p: ReverseParams, ins: list[NDArray], outs: list[Output]) -> None:
    data = ins[0]
    named = [axis % len(data.shape) for axis in p.axis]
    steps = [Step(axis, length, length - 1, -1) for axis, length in enumerate(data.shape)
             if named.count(axis) % 2 and length > 1]
    take_steps(ctx, data, outs[0], steps)


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("reverse", node.params, out_grads[0])


register(OpDef("reverse", ReverseParams, inputs=("data",), infer_shape=infer_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, aliases=("flip",), names_data=True,
               doc="data with the order of its elements turned round along some axes.\n\n"
                   "Shape and dtype stay. Source: MXNet's reverse; a native kernel."))
