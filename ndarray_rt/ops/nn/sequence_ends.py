"""SequenceLast and SequenceReverse: the ends of sequences that are padded to one length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, TypedDict

import numpy as np

from ..._array.layout import AnyArray, get_bytes, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import Params, boolean, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernel_call import KernelCall
from ...storage.kernels import index as kernels
from ...storage.stream import Mem
from ..tensor.moves import Step, give_back, take_steps
from ..tensor.places import can_add, kind_of, need_kind, need_moved, whole
from .shape_rules import expect


@params_class
class SequenceParams(Params):
    use_sequence_length: bool = boolean(False, doc="a second input has the lengths; False: all "
                                                   "sequences have all steps")
    axis: int = integer(0, low=0, high=1, doc="the axis of steps; the other of the first two is "
                                              "the batch's")


@params_class
class ReverseParams(Params):
    use_sequence_length: bool = boolean(False, doc="a second input has the lengths; False: all "
                                                   "sequences have all steps")
    axis: int = integer(0, low=0, high=0, doc="the axis of steps: 0")


P = SequenceParams | ReverseParams


def input_names(p: P) -> tuple[str, ...]:
    return ("data", "sequence_length") if p.use_sequence_length else ("data",)


def _given(p: P, data: Shape | None, lengths: list[Shape | None]) -> list[Shape | None]:
    """The shapes of the inputs."""
    if data is not None and len(data) < 2:
        raise ShapeError(f"data has shape {data}, expected rank 2 or more")
    if data is None or not lengths:
        return [data, *lengths]
    return [data, expect(lengths[0], (data[1 - p.axis],), "sequence_length",
                         f"data {data}, axis={p.axis}")]


def infer_shape_last(p: SequenceParams, ins: ShapeList, outs: ShapeList,
                     ) -> tuple[ShapeList, ShapeList]:
    made = _given(p, ins[0], ins[1:])
    data = made[0]
    if data is None:
        return made, outs
    if data[p.axis] == 0:
        raise ShapeError(f"data has shape {data}: of no steps there is no last one")
    out = (*data[:p.axis], *data[p.axis + 1:])
    return made, [merge(outs[0], out, "output shapes")]


def infer_shape_reverse(p: ReverseParams, ins: ShapeList, outs: ShapeList,
                        ) -> tuple[ShapeList, ShapeList]:
    made = _given(p, merge(ins[0], outs[0], "shapes of data and output"), ins[1:])
    return made, [made[0]]


def infer_type(p: P, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    return [one, *ins[1:]], [one]


def _lengths(p: P, data: Shape, given: Sequence[AnyArray]) -> AnyArray:
    """How many steps each sequence of the batch has; beyond them all steps count."""
    steps, batch = data[p.axis], data[1 - p.axis]
    if not given:
        return np.full(batch, steps)
    made: AnyArray = np.clip(whole(given[0]), 0, steps)
    return made


def _ends(p: P, data: Shape, given: Sequence[AnyArray]) -> tuple[AnyArray, AnyArray]:
    """The place of each sequence's last step; one without any has its first."""
    last = np.maximum(_lengths(p, data, given) - 1, 0)
    batch = np.arange(len(last))
    return (last, batch) if p.axis == 0 else (batch, last)


def compute_last(ctx: OpContext, p: SequenceParams, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0][_ends(p, ins[0].shape, ins[1:])])


def compute_reverse(ctx: OpContext, p: ReverseParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    data = ins[0]
    steps, lengths = np.arange(len(data))[:, None], _lengths(p, data.shape, ins[1:])
    at = np.where(steps < lengths, lengths - 1 - steps, steps)
    outs[0].write(data[at, np.arange(data.shape[1])])


def _zeros(emit: Emit, node: GradNode) -> list[Any]:
    # lengths are whole numbers: nothing comes back to them
    return [emit.zeros_like(entry) for entry in node.inputs[1:]]


def gradient_last(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    made = emit("_backward_SequenceLast", node.params, out_grads[0], *node.inputs)[0]
    return [made, *_zeros(emit, node)]


def gradient_reverse(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    made = emit("SequenceReverse", node.params, out_grads[0], *node.inputs[1:])[0]
    return [made, *_zeros(emit, node)]


def backward_names(p: P) -> tuple[str, ...]:
    return ("out_grad", *input_names(p))


def infer_shape_backward(p: SequenceParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0], "data and its gradient")
    given, (out,) = infer_shape_last(p, [data, *ins[2:]], [ins[0]])
    return [out, *given], [given[0]]


def infer_type_backward(p: P, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[:2], outs[0]])
    return [one, one, *ins[2:]], [one]


def compute_backward(ctx: OpContext, p: SequenceParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    made = np.zeros(outs[0].shape, ins[0].dtype)
    made[_ends(p, made.shape, ins[2:])] = ins[0]
    outs[0].write(made)


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    made = emit("SequenceLast", node.params, out_grads[0], *node.inputs[2:])[0]
    return [made, *[None] * (len(node.inputs) - 1)]


# ---- natively -----------------------------------------------------------------------------------


def refuses(p: P, ins: list[NDArray]) -> str | None:
    return need_moved(ins[0]) or (need_kind(ins[1]) if p.use_sequence_length else None)


def refuses_backward(p: P, ins: list[NDArray]) -> str | None:
    return need_float32(ins[0]) or (need_kind(ins[2]) if p.use_sequence_length else None)


class _Parts(TypedDict):
    """What the kernels for sequences are given of parts and lengths."""

    lengths: Mem
    width: int
    kind: int


def _run(ctx: OpContext, kernel: Callable[[Mem, Mem, _Parts], KernelCall], source: NDArray,
         lengths: NDArray, data: Shape, out: Output) -> None:
    """One of the kernels for sequences whose data has this shape."""
    if not out.requested:
        return
    can_add(out)
    stream, dtype = ctx.stream, source.dtype
    x, ends = get_bytes(source, stream), get_bytes(lengths, stream)
    with out.open(default_desc(dtype, out.shape), stream) as y:
        ctx.kernel(kernel(y, x, _Parts(lengths=ends, width=prod(data[2:]) * dtype.itemsize,
                                       kind=kind_of(lengths.dtype) or 0)))


def compute_ex_last(ctx: OpContext, p: SequenceParams, ins: list[NDArray],
                    outs: list[Output]) -> None:
    data = ins[0]
    if p.use_sequence_length:
        _run(ctx, lambda y, x, parts: kernels.sequence_last(
            out=y, data=x, rows=data.shape[0], columns=data.shape[1], steps_axis=p.axis, **parts),
            data, ins[1], data.shape, outs[0])
    else:
        take_steps(ctx, data, outs[0], [Step(p.axis, 1, data.shape[p.axis] - 1)])


def compute_ex_backward(ctx: OpContext, p: SequenceParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    shape = outs[0].shape
    if p.use_sequence_length:
        _run(ctx, lambda dx, dy, parts: kernels.sequence_last_grad(
            dx=dx, dy=dy, rows=shape[0], columns=shape[1], steps_axis=p.axis, **parts),
            ins[0], ins[2], shape, outs[0])
    else:
        kept = (*shape[:p.axis], 1, *shape[p.axis + 1:])
        give_back(ctx, ins[0], outs[0], [Step(p.axis, 1, shape[p.axis] - 1)], kept)


def compute_ex_reverse(ctx: OpContext, p: ReverseParams, ins: list[NDArray],
                       outs: list[Output]) -> None:
    data = ins[0]
    if p.use_sequence_length:
        _run(ctx, lambda y, x, parts: kernels.sequence_reverse(
            out=y, data=x, steps=data.shape[0], batch=data.shape[1], **parts),
            data, ins[1], data.shape, outs[0])
    else:
        steps = data.shape[0]
        take_steps(ctx, data, outs[0], [Step(0, steps, steps - 1, -1)])


_SHARED = ("data (steps, batch, ...); sequence_length (batch,) of any dtype, floats cut off "
           "towards zero, beyond the steps all of them. The dtype stays.")
_define = partial(OpDef, inputs=input_names, infer_type=infer_type)

register(_define("SequenceLast", SequenceParams, infer_shape=infer_shape_last,
                 compute=compute_last, compute_ex=compute_ex_last, refuses=refuses,
                 gradient=gradient_last,
                 doc=f"The last step of each sequence.\n\n{_SHARED} With axis=1 (batch, steps, "
                     "...). The axis of steps goes; a sequence without steps gives the first one. "
                     "Source: MXNet's SequenceLast; native kernels."))
register(OpDef("_backward_SequenceLast", SequenceParams, inputs=backward_names,
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses_backward,
               gradient=gradient_backward, ignores=(1,), is_backward=True,
               doc="Zeros shaped as data, with out_grad at the last steps."))
register(_define("SequenceReverse", ReverseParams, infer_shape=infer_shape_reverse,
                 compute=compute_reverse, compute_ex=compute_ex_reverse, refuses=refuses,
                 gradient=gradient_reverse,
                 doc=f"The steps of each sequence from its last to its first.\n\n{_SHARED} What "
                     "lies behind the end stays there. Source: MXNet's SequenceReverse; native "
                     "kernels."))
