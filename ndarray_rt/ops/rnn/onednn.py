"""RNN on oneDNN, forward: one primitive a layer.

A layer at a time reads its input's weights once for all steps, which oneDNN does not do over
several layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

from ..._array.layout import get_data_reorder, get_default, need_float32
from ..._array.ndarray import NDArray
from ...dtypes import FLOAT32
from ...native import lib
from ...op.choose import ONEDNN
from ...op.context import OpContext
from ...op.registry import Shape
from ...op.select import Implementation, Selection
from ...storage.desc import MemDesc, any_desc, default_desc
from ...storage.kernels.elementwise import fill
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ...storage.stream import Mem
from ..nn.dropout import draw_native
from . import weights
from .call import RNNCall, rnn_call
from .few_samples import LSTM_STEPS
from .params import Place, RNNParams, places

KINDS = {"rnn_relu": Kind.VANILLA_RNN, "rnn_tanh": Kind.VANILLA_RNN, "lstm": Kind.LSTM,
         "gru": Kind.LBR_GRU}
ALGS = {"rnn_relu": lib.NDRT_ELTWISE_RELU, "rnn_tanh": lib.NDRT_ELTWISE_TANH}
Arguments = list[tuple[int, Mem]]


def refuses(p: RNNParams, ins: list[NDArray]) -> str | None:
    if not ins[0].size:
        return "there is nothing to compute"
    return refuses_params(p) or need_float32(*ins[:2 + p.states])


def refuses_params(p: RNNParams) -> str | None:
    """What oneDNN's cells can not do."""
    if p.use_sequence_length:
        return "each sequence has a length of its own"
    return "cells are clipped" if p.clip is not None else None


class Layer(NamedTuple):
    """One layer: where its parameters stand, and the layouts of what it reads and writes."""

    row: list[Place]
    inputs: int
    src: MemDesc
    dst: MemDesc
    states: tuple[MemDesc, ...]  # hidden, and for lstm the cell


def layers(p: RNNParams, data: Shape) -> list[Layer]:
    """The layers for data of this shape."""
    steps, batch, features = data
    sizes = (p.hidden, p.state_size) if p.is_lstm else (p.hidden,)
    states = tuple(default_desc(FLOAT32, (1, p.directions, batch, size)) for size in sizes)
    dst = default_desc(FLOAT32, (steps, batch, p.out_size))
    made = []
    for index, row in enumerate(places(p, features)):
        inputs = p.layer_input(index, features)
        src = default_desc(FLOAT32, (steps, batch, inputs))
        made.append(Layer(row, inputs, src, dst, states))
    return made


def build(p: RNNParams, layer: Layer, direction: Direction) -> Primitive:
    """The primitive of a layer; Unsupported where oneDNN has none."""
    size, count = p.state_size, p.directions
    fields: dict[str, Any] = {}
    if p.projection_size is not None:
        fields["weights_projection"] = any_desc(FLOAT32, (1, count, size, p.hidden))
    ends = ("src_iter", "dst_iter") if p.state_outputs else ("src_iter",)
    for end in ends:
        fields |= dict(zip((end, f"{end}_c"), layer.states, strict=False))
    return make_primitive(
        KINDS[p.mode], direction, alg=ALGS.get(p.mode, 0), src=layer.src, dst=layer.dst,
        weights=any_desc(FLOAT32, (1, count, layer.inputs, p.gates, size)),
        weights_iter=any_desc(FLOAT32, (1, count, p.hidden, p.gates, size)),
        bias=default_desc(FLOAT32, (1, count, weights.bias_rows(p), size)), **fields)


def primitives(ctx: OpContext, p: RNNParams, found: list[Layer], direction: Direction,
               ) -> list[Primitive]:
    """One for each layer; layers of equal shapes share one."""
    return [ctx.primitive(("RNN", direction, p, layer.src.id), partial(build, p, layer, direction))
            for layer in found]


def parameter_arguments(ctx: OpContext, p: RNNParams, vector: NDArray, layer: Layer,
                        prim: Primitive) -> Arguments:
    """Weights and bias of a layer in the layouts that its primitive wants."""
    i2h = [place.i2h for place in layer.row]
    h2h = [place.h2h for place in layer.row]
    projection = [place.projection for place in layer.row]
    wanted: list[tuple[Arg, list[int], weights.Fill]] = [
        (Arg.WEIGHTS, i2h, weights.fill_matrix(p, layer.inputs, i2h)),
        (Arg.WEIGHTS_ITER, h2h, weights.fill_matrix(p, p.hidden, h2h)),
        (Arg.BIAS, [layer.row[0].i2h_bias], weights.fill_bias(p, layer.row))]
    if p.projection_size is not None:
        wanted.append((Arg.WEIGHTS_PROJECTION, projection,
                       weights.fill_projection(p, projection)))
    return [(arg, weights.kept(ctx, vector, (p.mode, int(arg), *starts), prim.desc(arg), fill))
            for arg, starts, fill in wanted]


def part_of(whole: Mem, index: int, desc: MemDesc) -> Mem:
    """One layer's part of memory for all layers."""
    return weights.at(whole, index * desc.nelems, desc)


def of_layer(index: int, args: Sequence[int], whole: Sequence[Mem], descs: Sequence[MemDesc],
             ) -> Arguments:
    """One layer's parts as arguments; `whole` may be shorter, or empty."""
    return [(arg, part_of(mem, index, desc))
            for arg, mem, desc in zip(args, whole, descs, strict=False)]


def state_arguments(index: int, layer: Layer, first: list[Mem], last: list[Mem]) -> Arguments:
    """A layer's states before the first step and, where they are kept, after the last."""
    descs = layer.states
    return [*of_layer(index, (Arg.SRC_ITER, Arg.SRC_ITER_C), first, descs),
            *of_layer(index, (Arg.DST_ITER, Arg.DST_ITER_C), last, descs)]


def product(ctx: OpContext, desc: MemDesc) -> Primitive:
    """Multiplies by a layer's part of the mask."""
    return ctx.primitive(("RNN.product", desc.id), lambda: make_primitive(
        Kind.BINARY, alg=lib.NDRT_BINARY_MUL, srcs=(desc, desc), dst=desc))


# ---- what backward needs ------------------------------------------------------------------------


class KeptRun(NamedTuple):
    """What the layers leave for backward: outputs and workspace of each, the last states of all."""

    outputs: list[Mem]
    workspaces: list[Mem]
    last: list[Mem]


def may_keep(ctx: OpContext, p: RNNParams) -> bool:
    """Training's forward leaves something for backward; where outputs are dropped between layers
    these are run again, as the mask belongs to what they compute."""
    return ctx.is_train and ctx.kept_runs is not None and not p.has_mask


def _split(p: RNNParams, mems: list[Mem]) -> KeptRun:
    count = p.num_layers
    return KeptRun(mems[:count], mems[count:2 * count], mems[2 * count:])


def begin_run(ctx: OpContext, p: RNNParams, found: list[Layer], prims: list[Primitive],
              inputs: Sequence[NDArray]) -> KeptRun:
    """Memory for what a forward of these inputs leaves."""
    assert ctx.kept_runs is not None
    descs = [*(layer.dst for layer in found), *(prim.desc(Arg.WORKSPACE) for prim in prims),
             *last_states(p, found)]
    return _split(p, ctx.kept_runs.begin(("RNN", p), inputs, prims, descs, ctx.stream))


def find_run(ctx: OpContext, p: RNNParams, prims: list[Primitive], inputs: Sequence[NDArray],
             ) -> KeptRun | None:
    """What the forward of these inputs left, if there was one and it did."""
    if not may_keep(ctx, p):
        return None
    assert ctx.kept_runs is not None
    mems = ctx.kept_runs.find(("RNN", p), inputs, prims, ctx.stream)
    return None if mems is None else _split(p, mems)


def last_states(p: RNNParams, found: list[Layer]) -> list[MemDesc]:
    """Layouts of the last states of all layers; a layer's stand in its part."""
    return [default_desc(FLOAT32, (len(found) * desc.dims[1], *desc.dims[2:]))
            for desc in (found[0].states if p.state_outputs else ())]


# ---- forward ------------------------------------------------------------------------------------


def _fill_mask(ctx: OpContext, p: RNNParams, mask: Mem) -> None:
    if ctx.is_train:
        draw_native(ctx, p.p, mask, 0.0)
    else:
        ctx.kernel(fill(out=mask, n=mask.desc.nelems, value=1.0))


def _run_onednn(ctx: OpContext, call: RNNCall) -> None:
    p, ins, outs = call.params, call.ins, call.outs
    stream, data = ctx.stream, ins[0]
    found = layers(p, data.shape)
    keeps = may_keep(ctx, p)
    prims = primitives(ctx, p, found,
                       Direction.FORWARD_TRAINING if keeps else Direction.FORWARD_INFERENCE)
    drops = p.has_mask and ctx.is_train
    times = product(ctx, found[0].dst) if drops else None
    arguments = [parameter_arguments(ctx, p, ins[1], layer, prim)
                 for layer, prim in zip(found, prims, strict=True)]
    first = [get_default(state, stream) for state in ins[2:3 + p.is_lstm]]
    kept = begin_run(ctx, p, found, prims, ins) if keeps else None
    x = get_data_reorder(data, found[0].src, stream)
    with ExitStack() as opened:
        def open_output(i: int) -> Mem:
            return opened.enter_context(outs[i].open(default_desc(FLOAT32, outs[i].shape), stream))

        y = open_output(0)
        last = [open_output(i + 1) for i in range(len(first) if p.state_outputs else 0)]
        mask = open_output(-1) if p.has_mask and (drops or outs[-1].requested) else None
        if mask is not None:
            _fill_mask(ctx, p, mask)
        for index, (layer, prim) in enumerate(zip(found, prims, strict=True)):
            is_last = index + 1 == len(found)
            if kept is None:
                to = y if is_last else stream.scratch(layer.dst)
                more = state_arguments(index, layer, first, last)
            else:
                to = kept.outputs[index]
                more = [(Arg.WORKSPACE, kept.workspaces[index]),
                        *state_arguments(index, layer, first, kept.last)]
            ctx.run(prim, [(Arg.SRC, x), (Arg.DST, to), *arguments[index], *more])
            if times is not None and mask is not None and not is_last:
                ctx.run(times, ((Arg.SRC, to), (Arg.SRC_1, part_of(mask, index, layer.dst)),
                                (Arg.DST, to)))
            x = to
        if kept is not None:
            for to, source in zip([y, *last], [x, *kept.last], strict=True):
                weights.copy(stream, to, source)


FORWARD = Selection(rnn_call, (LSTM_STEPS, Implementation("oneDNN RNN", ONEDNN, _run_onednn)))
