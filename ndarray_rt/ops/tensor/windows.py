"""slice, slice_axis and slice_like: a window of an array, and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, normalize_axis
from ...op.params import (
    REQUIRED,
    Params,
    axes,
    bounds,
    integer,
    optional_integer,
    params_class,
)
from ...op.registry import Emit, GradNode, Names, OpDef, Shape, register
from ...storage.desc import default_desc, strided_desc
from ...storage.kernels.elementwise import zero
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem
from .moves import give_back, take_steps, window_steps
from .places import need_moved
from .pointwise import dense_like, dtype_of, move, need_native, shifted, unblocked


@params_class
class SliceParams(Params):
    begin: tuple[int | None, ...] = bounds(doc="first position along each axis, None for its end")
    end: tuple[int | None, ...] = bounds(doc="end along each axis, not included")
    step: tuple[int | None, ...] = bounds((), doc="steps, None for 1; below 0 backwards")


@params_class
class SliceAxisParams(Params):
    axis: int = integer(doc="the axis that is cut")
    begin: int = integer(doc="first position; below 0 from the end")
    end: int | None = optional_integer(REQUIRED, doc="end, not included; below 0 from the end, "
                                       "None: all")


@params_class
class SliceLikeParams(Params):
    axes: tuple[int, ...] | None = axes((), doc="the axes that are cut; () for all")


# what is taken along each axis of data; None where the axis is not known yet
Window = list[slice | None]
# (params, shapes of data and of what else the window depends on) -> the window
Rule = Callable[[Any, Shape, Shape | None], Window]

ALL = slice(0, None, 1)


def _range(begin: int | None, end: int | None, step: int | None, length: int) -> slice | None:
    if length == -1:
        return None
    first, last, by = slice(begin, end, step).indices(length)
    # an end before the first element is None to Python
    return slice(first, None if last < 0 else last, by)


def window_slice(p: SliceParams, data: Shape, like: Shape | None) -> Window:
    n = len(p.begin)
    if len(p.end) != n or (p.step and len(p.step) != n):
        raise ShapeError(f"begin={p.begin}, end={p.end} and step={p.step} differ in length")
    if n > len(data):
        raise ShapeError(f"data has shape {data}, expected rank {n} at least from begin={p.begin}")
    if 0 in p.step:
        raise ShapeError(f"step={p.step} has a 0")
    steps = p.step or (None,) * n
    found = [_range(begin, end, step, length)
             for begin, end, step, length in zip(p.begin, p.end, steps, data, strict=False)]
    return [*found, *(ALL for _ in data[n:])]


def window_axis(p: SliceAxisParams, data: Shape, like: Shape | None) -> Window:
    axis = normalize_axis(p.axis, len(data))
    length = data[axis]
    made: Window = [ALL] * len(data)
    if length == -1:
        made[axis] = None
        return made
    begin = p.begin + length if p.begin < 0 else p.begin
    end = length if p.end is None else p.end + length if p.end < 0 else p.end
    if not 0 <= begin <= end <= length:
        raise ShapeError(f"begin={p.begin}, end={p.end} name no part of axis {p.axis} of data "
                         f"{data}")
    made[axis] = slice(begin, end, 1)
    return made


def window_like(p: SliceLikeParams, data: Shape, like: Shape | None) -> Window:
    if like is None:
        return [None] * len(data)
    if not p.axes and len(data) != len(like):
        raise ShapeError(f"shape_like has shape {like}, expected rank {len(data)} from data {data}")
    made: Window = [ALL] * len(data)
    for given in p.axes or range(len(data)):
        axis = normalize_axis(given, len(data), "axes")
        if axis >= len(like) or -1 < data[axis] < like[axis]:
            raise ShapeError(f"shape_like has shape {like}, expected at most {data[axis]} along "
                             f"axis {axis} from data {data}")
        made[axis] = None if -1 in (like[axis], data[axis]) else slice(0, like[axis], 1)
    return made


def _lengths(window: Window, data: Shape) -> Shape:
    return tuple(-1 if cut is None else length if cut is ALL else len(range(*cut.indices(length)))
                 for cut, length in zip(window, data, strict=True))


def infer_shape(rule: Rule, p: Params, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    if data is None:
        return ins, outs
    window = rule(p, data, ins[1] if len(ins) > 1 else None)
    out = merge(outs[0], _lengths(window, data), "output shapes")
    if out is not None:
        # axes that are taken whole are known from either side
        data = tuple(o if cut is ALL else d for d, o, cut in zip(data, out, window, strict=True))
    return [data, *ins[1:]], [out]


def infer_type(p: Params, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    return [one, *ins[1:]], [one]


def _cuts(rule: Rule, p: Params, data: Shape, like: Shape | None) -> tuple[slice, ...]:
    return tuple(cut for cut in rule(p, data, like) if cut is not None)


def _likes(arrays: Sequence[AnyArray | NDArray]) -> Shape | None:
    return arrays[0].shape if arrays else None


def compute(rule: Rule, ctx: OpContext, p: Params, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0][_cuts(rule, p, ins[0].shape, _likes(ins[1:]))])


def strange(cuts: Sequence[slice], data: Shape) -> str | None:
    """A reason why strides can not describe the window."""
    for cut, length in zip(cuts, data, strict=True):
        if cut.step < 0:
            return "a step below 0"
        # oneDNN takes an axis to end where its last step would
        if len(range(*cut.indices(length))) * cut.step > length:
            return "steps that do not divide the axis"
    return None


def refuses(rule: Rule, p: Params, ins: list[NDArray]) -> str | None:
    return need_moved(ins[0])


def in_place(mem: Mem, cuts: Sequence[slice], dims: Shape) -> Mem:
    """The window of memory without blocks, in place."""
    strides = tuple(step * cut.step for step, cut in zip(mem.desc.strides, cuts, strict=True))
    first = sum(step * cut.start for step, cut in zip(mem.desc.strides, cuts, strict=True))
    return shifted(mem, first, strided_desc(dtype_of(mem.desc), dims, strides))


def compute_ex(rule: Rule, ctx: OpContext, p: Params, ins: list[NDArray],
               outs: list[Output]) -> None:
    if not outs[0].requested:
        return
    cuts = _cuts(rule, p, ins[0].shape, _likes(ins[1:]))
    if need_native(ins[0]) or strange(cuts, ins[0].shape):
        take_steps(ctx, ins[0], outs[0], window_steps(cuts, ins[0].shape))
        return
    x, dims = unblocked(ins[0], ctx.stream), outs[0].shape
    move(ctx, in_place(x, cuts, dims), outs[0], dense_like(x.desc, dims))


def infer_shape_backward(rule: Rule, p: Params, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0], "data and its gradient")
    (data, *likes), (out,) = infer_shape(rule, p, [data, *ins[2:]], [ins[0]])
    return [out, data, *likes], [data]


def infer_type_backward(p: Params, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[:2], outs[0]])
    return [one, one, *ins[2:]], [one]


def compute_backward(rule: Rule, ctx: OpContext, p: Params, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dx = np.zeros(outs[0].shape, ins[0].dtype)
    dx[_cuts(rule, p, dx.shape, _likes(ins[2:]))] = ins[0]
    outs[0].write(dx)


def refuses_backward(rule: Rule, p: Params, ins: list[NDArray]) -> str | None:
    if ins[0].dtype.name != "float32":
        return f"dtype {ins[0].dtype} is not float32"
    return None


def compute_ex_backward(rule: Rule, ctx: OpContext, p: Params, ins: list[NDArray],
                        outs: list[Output]) -> None:
    dy, shape, stream = ins[0], outs[0].shape, ctx.stream
    if not outs[0].requested:
        return
    cuts, desc = _cuts(rule, p, shape, _likes(ins[2:])), default_desc(dy.dtype, shape)
    if strange(cuts, shape):
        give_back(ctx, dy, outs[0], window_steps(cuts, shape))
        return
    source = get_data(dy, stream)
    with outs[0].open(desc, stream) as dx:
        ctx.kernel(zero(out=dx, nbytes=desc.nbytes))
        reorder_mem(stream, source, in_place(dx, cuts, dy.shape))


def gradient(name: str, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    made = emit(f"_backward_{name}", node.params, out_grads[0], *node.inputs)[0]
    return [made, *(emit.zeros_like(entry) for entry in node.inputs[1:])]


def gradient_backward(name: str, emit: Emit, node: GradNode, out_grads: Sequence[Any],
                      ) -> list[Any]:
    made = emit(name, node.params, out_grads[0], *node.inputs[2:])[0]
    return [made, *[None] * (len(node.inputs) - 1)]


def register_window(name: str, params: type[Params], rule: Rule, doc: str,
                    inputs: Names = ("data",), aliases: tuple[str, ...] = (),
                    num_args: str | None = None) -> None:
    """Registers an operator that gives a window of its first input, and its gradient.

    Of the other inputs, as many as `inputs` names, only the shapes are read.
    """
    def names(p: Any) -> tuple[str, ...]:
        return inputs(p) if callable(inputs) else inputs

    register(OpDef(name, params, inputs=inputs, infer_shape=partial(infer_shape, rule),
                   infer_type=infer_type, compute=partial(compute, rule),
                   compute_ex=partial(compute_ex, rule), refuses=partial(refuses, rule),
                   gradient=partial(gradient, name),
                   ignores=lambda p: tuple(range(1, len(names(p)))), aliases=aliases,
                   num_args=num_args,
                   doc=f"{doc}\n\nThe dtype stays. Source: MXNet's {name}; oneDNN reorder, or "
                       "a native kernel where the steps or the dtype are not for that."))
    register(OpDef(f"_backward_{name}", params, inputs=lambda p: ("out_grad", *names(p)),
                   outputs=("data_grad",), infer_shape=partial(infer_shape_backward, rule),
                   infer_type=infer_type_backward, compute=partial(compute_backward, rule),
                   compute_ex=partial(compute_ex_backward, rule),
                   refuses=partial(refuses_backward, rule),
                   gradient=partial(gradient_backward, name),
                   ignores=lambda p: tuple(range(1, 1 + len(names(p)))), is_backward=True,
                   doc="Zeros shaped as data, with out_grad in the window."))


register_window("slice", SliceParams, window_slice,
                "data[begin:end:step] along the first axes, the others whole, as Python cuts.",
                aliases=("crop",))
register_window("slice_axis", SliceAxisParams, window_axis,
                "data[begin:end] along one axis, with one element at least, none beyond data.")
register_window("slice_like", SliceLikeParams, window_like,
                "data cut to the lengths that shape_like has along the axes given, or along all.",
                inputs=("data", "shape_like"))
