"""_sample_multinomial: places drawn by rows of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_bytes
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import UINT8, find_dtype, native_code
from ...errors import ParameterError, ShapeError, Unsupported
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.normal import log
from ...op.params import Params, boolean, choice, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels import random as kernels
from ..floats import need_float_types
from ..tensor.places import need_places
from .distributions import FLOATS, rounded
from .native import can_write
from .source import unit


@params_class
class MultinomialParams(Params):
    shape: tuple[int, ...] = shape((), low=0, doc="shape of what is drawn for each row")
    get_prob: bool = boolean(False, doc="give the logarithms of their probabilities, too")
    dtype: str = choice("uint8", "int32", "float16", "float32", "float64", default="int32",
                        doc="dtype of the places")


def output_names(p: MultinomialParams) -> tuple[str, ...]:
    return ("output0", "output1") if p.get_prob else ("output",)


def _drawn_shape(p: MultinomialParams, data: Shape) -> Shape:
    if not data or data[-1] == 0:
        raise ShapeError(f"data has shape {data}, expected a last axis of probabilities")
    return data[:-1] + p.shape or (1,)


def infer_shape(p: MultinomialParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    if ins[0] is None:
        return ins, outs
    if ins[0]:
        need_places(ins[0][-1], find_dtype(p.dtype), ins[0])
    made = _drawn_shape(p, ins[0])
    return ins, [merge(out, made, "output shapes") for out in outs]


def infer_type(p: MultinomialParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    data = merge_types([ins[0], *outs[1:]])
    need_float_types([data])
    return [data], [merge_types([outs[0], find_dtype(p.dtype)]), *[data] * len(outs[1:])]


def _rows(data: AnyArray) -> AnyArray:
    return data.reshape(prod(data.shape[:-1]), data.shape[-1])


def _places(totals: AnyArray, u: AnyArray) -> AnyArray:
    """For each number, how many totals of its row are not above it, by bisection."""
    low = np.zeros(u.shape, np.int64)
    high = np.full(u.shape, totals.shape[1], np.int64)
    rows = np.arange(len(totals))[:, None]
    while (low < high).any():
        middle = (low + high) // 2
        right = (low < high) & (totals[rows, np.minimum(middle, totals.shape[1] - 1)] <= u)
        low, high = np.where(right, middle + 1, low), np.where(right, high, middle)
    return low


def _need_probabilities(rows: AnyArray, totals: AnyArray) -> None:
    """ParameterError for numbers that are no probabilities; `totals` of the rows are 1 at most.

    Less is left to the last place, as np.random.multinomial does.
    """
    # as they are rounded; those of half precision near 0 by up to that much more each
    most = 1.01 + (2.0**-25 * rows.shape[1] if rows.dtype.itemsize == 2 else 0.0)
    negative = ~(rows >= 0)
    wrong = np.flatnonzero(negative.any(axis=1) | ~((totals > 0) & (totals <= most)))
    if not wrong.size:
        return
    row = wrong[0]
    if negative[row].any():
        place = int(np.argmax(negative[row]))
        raise ParameterError(f"row {row} of data has {rows[row, place]:g} at place {place}, "
                             "expected probabilities")
    raise ParameterError(f"row {row} of data adds up to {totals[row]:g}, expected probabilities: 1")


def compute(ctx: OpContext, p: MultinomialParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    rows, n = _rows(ins[0]), prod(outs[0].shape)
    totals = np.cumsum(rows.astype(np.float64), axis=1)
    if n:
        _need_probabilities(rows, totals[:, -1])
    words = ctx.random.words(2 * n)
    u = unit(words[::2], words[1::2]).reshape(len(rows), prod(p.shape))
    # where the sum stays below 1 by rounding, what is left belongs to the last that can come
    last = rows.shape[1] - 1 - np.argmax((rows > 0)[:, ::-1], axis=1)
    made = np.minimum(_places(totals, u), last[:, None])
    outs[0].write(made.astype(outs[0].dtype).reshape(outs[0].shape))
    if p.get_prob and outs[1].requested:
        found = np.take_along_axis(rows, made, axis=1).astype(np.float64)
        logs = np.where(found >= np.finfo(np.float64).tiny, log(found), np.log(found))
        outs[1].write(rounded(logs, outs[1].dtype).reshape(outs[1].shape))


def compute_ex(ctx: OpContext, p: MultinomialParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    x, stream = ins[0], ctx.stream
    can_write(*outs)
    if x.dtype.name not in FLOATS:
        raise Unsupported(f"probabilities of dtype {x.dtype}")
    rows, width = prod(x.shape[:-1]), x.shape[-1]
    source = get_bytes(x, stream)
    totals = stream.scratch(default_desc(UINT8, (max(8 * rows * (width + 1), 1),)))
    with ExitStack() as opened:
        y = [opened.enter_context(out.open(default_desc(out.array.dtype, out.shape), stream))
             for out in outs if out is outs[0] or out.requested]
        ctx.kernel(kernels.multinomial(
            places=y[0], stream=ctx.random_mem(), data=source, totals=totals,
            logs=y[1] if y[1:] else None, rows=rows, width=width, draws=prod(p.shape),
            dtype=native_code(outs[0].array.dtype) or 0, kind=native_code(x.dtype) or 0))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    data = node.inputs[0]
    if not node.params.get_prob or out_grads[1] is None:
        return [emit.zeros_like(data)]
    return emit("_backward_sample_multinomial", node.params, out_grads[1], data, node.outputs[0])


def infer_shape_backward(p: MultinomialParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0], "gradient and input shapes")
    if data is None:
        return ins, outs
    drawn = merge(merge(ins[0], ins[2]), _drawn_shape(p, data), "shapes of what was drawn")
    return [drawn, data, drawn], [data]


def infer_type_backward(p: MultinomialParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    data = merge_types([*ins[:2], outs[0]])
    return [data, data, merge_types([ins[2], find_dtype(p.dtype)])], [data]


def compute_backward(ctx: OpContext, p: MultinomialParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, data, places = ins
    rows = _rows(data)
    at = places.astype(np.int64).reshape(len(rows), prod(p.shape))
    slopes = dy.reshape(at.shape).astype(np.float64) / np.take_along_axis(rows, at, axis=1)
    flat = (np.arange(len(rows))[:, None] * rows.shape[1] + at).reshape(-1)
    made = np.bincount(flat, slopes.reshape(-1), rows.size)
    outs[0].write(made.astype(data.dtype).reshape(data.shape))


register(OpDef("_sample_multinomial", MultinomialParams, inputs=("data",), outputs=output_names,
               infer_shape=infer_shape, infer_type=infer_type, compute=compute,
               compute_ex=compute_ex, gradient=gradient, is_random=True,
               aliases=("sample_multinomial",),
               doc="Places along the last axis of data, drawn by the probabilities there, which "
                   "add up to 1.\n\n`shape` of them for each row. With get_prob a second output "
                   "has the logarithms of the probabilities of what was drawn, in the dtype of "
                   "data; through it data has a gradient. Numbers below 0 or NaN, and rows that "
                   "add up to 0 or to more than 1, raise ParameterError; of less than 1 the last "
                   "place that can come gets the rest. Source: MXNet's _sample_multinomial; "
                   "a native kernel."))
register(OpDef("_backward_sample_multinomial", MultinomialParams,
               inputs=("out_grad", "data", "places"), infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward, is_backward=True,
               no_gradient="there is no second-order gradient of it",
               doc="The gradient of data through the logarithms of its probabilities."))
