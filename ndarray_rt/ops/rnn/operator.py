"""RNN: layers of rnn_relu, rnn_tanh, LSTM or GRU over a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ..floats import wide
from ..nn.dropout import draw_mask
from . import cells, onednn, onednn_backward
from .cells import Run, Weights
from .params import (
    RNNParams,
    infer_shape,
    infer_type,
    input_names,
    output_names,
    places,
    visible_outputs,
)


def _mask(ctx: OpContext, p: RNNParams, shape: tuple[int, ...], dtype: Any) -> AnyArray:
    """What the outputs of all layers but the last are multiplied by."""
    return draw_mask(ctx, p.p, shape, 0.0).astype(dtype) if ctx.is_train else np.ones(shape, dtype)


def _run_layers(p: RNNParams, data: AnyArray, vector: AnyArray, states: Sequence[AnyArray],
                mask: AnyArray | None, lengths: AnyArray | None,
                ) -> tuple[AnyArray, list[list[Run]]]:
    """What the last layer puts out, and the runs of each layer's directions."""
    x, runs, valid = data, [], None
    if lengths is not None:
        ends = lengths if lengths.dtype.kind in "iub" else np.trunc(lengths.astype(np.float64))
        valid = (np.arange(len(data))[:, None] < ends)[:, :, None]
        x = np.where(valid, x, x.dtype.type(0))  # what stands there is not to be read, NaN neither
    for layer, row in enumerate(places(p, data.shape[2])):
        run_of: list[Run] = []
        for direction, place in enumerate(row):
            at = layer * p.directions + direction
            w = Weights.of(p, vector, place, x.shape[2])
            run_of.append(cells.forward(p, x[::-1] if direction else x, w, states[0][at],
                                        states[1][at] if p.is_lstm else None,
                                        valid[::-1] if direction and valid is not None else valid))
        runs.append(run_of)
        made = [cells.outputs(run)[::-1] if i else cells.outputs(run)
                for i, run in enumerate(run_of)]
        x = np.concatenate(made, axis=2)
        if mask is not None and layer + 1 < p.num_layers:
            x = x * mask[layer]
    return x, runs


def compute(ctx: OpContext, p: RNNParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    if ctx.kept_runs is not None:
        ctx.kept_runs.forget()
    dtype = ins[0].dtype
    data, vector, *states = (wide(value) for value in ins[:2 + p.states])
    mask = _mask(ctx, p, outs[-1].shape, data.dtype) if p.has_mask else None
    y, runs = _run_layers(p, data, vector, states, mask, _lengths(p, ins[2 + p.states:]))
    made = [y]
    if p.state_outputs:
        made.append(np.stack([run.hidden[-1] for row in runs for run in row]))
        if p.is_lstm:
            made.append(np.stack([run.cell[-1] for row in runs for run in row]))
    if mask is not None:
        made.append(mask)
    for out, value in zip(outs, made, strict=True):
        out.write(value.astype(dtype, copy=False))


def _lengths(p: RNNParams, rest: Sequence[AnyArray]) -> AnyArray | None:
    """Those of the sequences, from what follows the states."""
    return rest[0] if p.use_sequence_length else None


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p = node.params
    shown = visible_outputs(p)
    grads = [emit.zeros_like(node.outputs[i]) if grad is None else grad
             for i, grad in enumerate(out_grads[:shown])]
    mask = [node.outputs[shown]] if p.has_mask else []
    made = emit("_backward_RNN", p, *grads, *node.inputs, *mask)
    # lengths are counts: nothing changes with them
    return [*made, *(emit.zeros_like(entry) for entry in node.inputs[len(made):])]


def backward_inputs(p: RNNParams) -> tuple[str, ...]:
    grads = ("out_grad", "state_output_grad", "statecell_output_grad")[:visible_outputs(p)]
    return (*grads, *input_names(p), *(("mask",) if p.has_mask else ()))


def backward_outputs(p: RNNParams) -> tuple[str, ...]:
    return tuple(f"{name}_grad" for name in input_names(p)[:2 + p.states])


def infer_shape_backward(p: RNNParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    shown, count = visible_outputs(p), 2 + p.states
    end = shown + len(input_names(p))
    known = [merge(a, b) for a, b in zip(ins[shown:shown + count], outs, strict=True)]
    made, results = infer_shape(p, [*known, *ins[shown + count:end]], [*ins[:shown], *ins[end:]])
    return [*results[:shown], *made, *results[shown:]], made[:count]


def infer_type_backward(p: RNNParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    shown, count = visible_outputs(p), 2 + p.states
    end = shown + len(input_names(p))
    floats = [*ins[:shown], *ins[shown:shown + count], *ins[end:], *outs]
    made, _ = infer_type(p, [merge_types(floats)] * count + ins[shown + count:end], [])
    one = made[:1]
    return [*one * shown, *made, *one * (len(ins) - end)], one * count


def compute_backward(ctx: OpContext, p: RNNParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    shown, end = visible_outputs(p), visible_outputs(p) + 2 + p.states
    dtype = ins[0].dtype
    grads = [wide(value) for value in ins[:shown]]
    data, vector, *states = (wide(value) for value in ins[shown:end])
    mask = wide(ins[-1]) if p.has_mask else None
    _, runs = _run_layers(p, data, vector, states, mask, _lengths(p, ins[end:]))
    d_vector = np.zeros_like(vector)
    d_states = [np.zeros_like(state) for state in states]
    dy = grads[0]
    for layer in reversed(range(p.num_layers)):
        dx: AnyArray = np.zeros((), data.dtype)
        for direction, run in enumerate(runs[layer]):
            at = layer * p.directions + direction
            place, inputs = places(p, data.shape[2])[layer][direction], run.x.shape[2]
            own = dy[:, :, direction * p.hidden:(direction + 1) * p.hidden]
            step, dh, dc = cells.backward(
                p, run, Weights.of(p, vector, place, inputs), own[::-1] if direction else own,
                grads[1][at] if shown > 1 else None, grads[2][at] if shown > 2 else None,
                Weights.of(p, d_vector, place, inputs))
            d_states[0][at] = dh
            if p.is_lstm:
                d_states[1][at] = dc
            dx = dx + (step[::-1] if direction else step)
        dy = dx if mask is None or not layer else dx * mask[layer - 1]
    for out, value in zip(outs, (dy, d_vector, *d_states), strict=True):
        out.write(value.astype(dtype, copy=False))


def flops(p: RNNParams, ins: Sequence[Shape], outs: Sequence[Shape]) -> int:
    """Multiplications and additions of each layer's products with its input and its state."""
    steps, batch, width = ins[0]
    total = 0
    for _ in range(p.num_layers):
        products = p.gates * p.state_size * (width + p.hidden)
        if p.projection_size:
            products += p.state_size * p.projection_size
        total += 2 * steps * batch * p.directions * products
        width = p.hidden * p.directions
    return total


register(OpDef("RNN", RNNParams, inputs=input_names, outputs=output_names,
               visible_outputs=visible_outputs, infer_shape=infer_shape, infer_type=infer_type,
               compute=compute, compute_ex=onednn.FORWARD, refuses=onednn.refuses,
               gradient=gradient, is_random=lambda p: p.has_mask, flops=flops,
               doc="Layers of recurrent cells over a sequence.\n\n"
                   "data (T, N, I); parameters: one vector of all weights, layer by layer and "
                   "direction by direction, each i2h, h2h and, with projection_size, its matrix, "
                   "then of all biases in the same order; state (layers * directions, N, "
                   "state_size), state_cell the same for lstm. Gates stand in the order i f g o "
                   "(lstm) and r z n (gru, whose reset gate comes after the matrix product). "
                   "Output (T, N, state_size * directions), or projection_size in its place; with "
                   "state_outputs also the last states. With use_sequence_length an input "
                   "sequence_length (N,) of any dtype has the steps of each sequence: what lies "
                   "behind its end is not read, outputs are 0 there, the last states are those of "
                   "its last step, and the second direction begins at it; lengths below 0 or "
                   "beyond T count as 0 or T, NaN as 0. With lstm_state_clip_min and "
                   "lstm_state_clip_max the cell of each step is clipped before it is read. The "
                   "last, hidden output is what dropout multiplied by. One float dtype. Source: "
                   "Elman 1990, Hochreiter and Schmidhuber 1997, Cho et al. 2014, Sak et al. 2014; "
                   "MXNet's RNN; oneDNN RNN, a native kernel for a few samples."))
register(OpDef("_backward_RNN", RNNParams, inputs=backward_inputs, outputs=backward_outputs,
               infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward,
               compute_ex=onednn_backward.compute_ex,
               refuses=onednn_backward.refuses,
               flops=flops,
               is_backward=True,
               no_gradient="there is no second-order gradient of it"))
