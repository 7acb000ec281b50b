"""RNN on oneDNN, backward: the layers are run again for what their gradients need."""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple

from ..._array.layout import get_data_reorder, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...dtypes import FLOAT32
from ...op.context import OpContext
from ...storage.desc import default_desc
from ...storage.primitive import Arg, Direction, Primitive
from ...storage.stream import Mem
from . import weights
from .onednn import (
    Arguments,
    Layer,
    find_run,
    last_states,
    layers,
    of_layer,
    parameter_arguments,
    part_of,
    primitives,
    product,
    refuses_params,
    state_arguments,
)
from .params import RNNParams, visible_outputs


def refuses(p: RNNParams, ins: list[NDArray]) -> str | None:
    if not ins[visible_outputs(p)].size:
        return "there is nothing to compute"
    return refuses_params(p) or need_float32(*ins)


class _Again(NamedTuple):
    """A layer that was run again."""

    x: Mem
    y: Mem  # before dropout
    last: list[Mem]  # states after the last step, of all layers
    workspace: Mem


def _run_again(ctx: OpContext, p: RNNParams, found: list[Layer], prims: list[Primitive],
               vector: NDArray, x: Mem, first: list[Mem], mask: Mem | None) -> list[_Again]:
    stream = ctx.stream
    # a layer's last states go to its part of an array for all layers, as in forward
    last = [stream.scratch(desc) for desc in last_states(p, found)]
    runs = []
    for index, (layer, prim) in enumerate(zip(found, prims, strict=True)):
        y, workspace = stream.scratch(layer.dst), stream.scratch(prim.desc(Arg.WORKSPACE))
        ctx.run(prim, [(Arg.SRC, x), (Arg.DST, y), (Arg.WORKSPACE, workspace),
                       *parameter_arguments(ctx, p, vector, layer, prim),
                       *state_arguments(index, layer, first, last)])
        runs.append(_Again(x, y, last, workspace))
        x = y
        if mask is not None and index + 1 < len(found):
            x = stream.scratch(layer.dst)
            ctx.run(product(ctx, layer.dst),
                    ((Arg.SRC, y), (Arg.SRC_1, part_of(mask, index, layer.dst)), (Arg.DST, x)))
    return runs


def _state_gradients(index: int, layer: Layer, grads: list[Mem], into: list[Mem]) -> Arguments:
    """Gradients of a layer's last states, where there are some, and of its first ones."""
    given, made = ((Arg.DIFF_DST_ITER, Arg.DIFF_DST_ITER_C),
                   (Arg.DIFF_SRC_ITER, Arg.DIFF_SRC_ITER_C))
    return [*of_layer(index, given, grads, layer.states),
            *of_layer(index, made, into, layer.states)]


def _scatter(ctx: OpContext, p: RNNParams, layer: Layer, made: list[Mem], vector: Mem) -> None:
    """Gradients of a layer's parameters to their places in the vector's."""
    row = layer.row
    weights.scatter_matrix(ctx, p, made[0], layer.inputs, [r.i2h for r in row], vector)
    weights.scatter_matrix(ctx, p, made[1], p.hidden, [r.h2h for r in row], vector)
    weights.scatter_bias(ctx, p, made[2], row, vector)
    if p.projection_size is not None:
        weights.scatter_projection(ctx, p, made[3], [r.projection for r in row], vector)


def compute_ex(ctx: OpContext, p: RNNParams, ins: list[NDArray], outs: list[Output]) -> None:
    stream = ctx.stream
    shown, count = visible_outputs(p), 3 + p.is_lstm
    data, vector, *states = ins[shown:shown + count]
    found = layers(p, data.shape)
    forward = primitives(ctx, p, found, Direction.FORWARD_TRAINING)
    back = primitives(ctx, p, found, Direction.BACKWARD)
    if p.has_mask:
        product(ctx, found[0].dst)
    mask = get_default(ins[-1], stream) if p.has_mask else None
    dy = get_data_reorder(ins[0], found[-1].dst, stream)
    grads = [get_default(grad, stream) for grad in ins[1:shown]]
    first = [get_default(state, stream) for state in states]
    x = get_data_reorder(data, found[0].src, stream)
    kept = find_run(ctx, p, forward, ins[shown:shown + count])
    if kept is None:
        runs = _run_again(ctx, p, found, forward, vector, x, first, mask)
    else:
        inputs = [x, *kept.outputs[:-1]]
        runs = [_Again(x, y, kept.last, workspace) for x, y, workspace in zip(
            inputs, kept.outputs, kept.workspaces, strict=True)]
    wanted = [Arg.DIFF_WEIGHTS, Arg.DIFF_WEIGHTS_ITER, Arg.DIFF_BIAS]
    if p.projection_size is not None:
        wanted.append(Arg.DIFF_WEIGHTS_PROJECTION)
    with ExitStack() as opened:
        dx = opened.enter_context(outs[0].open(found[0].src, stream))
        d_vector = opened.enter_context(
            outs[1].open_weight_grad(default_desc(FLOAT32, vector.shape), stream))
        into = [opened.enter_context(out.open(default_desc(FLOAT32, out.shape), stream))
                for out in outs[2:]]
        for index in reversed(range(len(found))):
            layer, prim, run = found[index], back[index], runs[index]
            to = stream.scratch(layer.src) if index else dx
            made = [(arg, stream.scratch(prim.desc(arg))) for arg in wanted]
            ctx.run(prim, [
                (Arg.SRC, run.x), (Arg.DST, run.y), (Arg.WORKSPACE, run.workspace),
                (Arg.DIFF_DST, dy), (Arg.DIFF_SRC, to), *made,
                *parameter_arguments(ctx, p, vector, layer, prim),
                *state_arguments(index, layer, first, run.last),
                *_state_gradients(index, layer, grads, into)])
            _scatter(ctx, p, layer, [mem for _, mem in made], d_vector)
            if mask is not None and index:
                part = part_of(mask, index - 1, layer.src)
                ctx.run(product(ctx, layer.src),
                        ((Arg.SRC, to), (Arg.SRC_1, part), (Arg.DST, to)))
            dy = to
