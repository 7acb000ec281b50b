"""Layers of LSTM cells for a few samples: one product for the inputs of all steps, then a native
kernel for the steps, which reads the recurrent matrix at the speed of the caches."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from ..._array.layout import get_bytes, get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ...cpu_level import lanes
from ...dtypes import FLOAT32
from ...native import lib
from ...op.calibration import MOST_SAMPLES
from ...op.choose import BLOCK, NATIVE, first_supported
from ...op.context import OpContext
from ...op.select import Implementation
from ...storage.desc import MemDesc, any_desc, default_desc, strided_desc, tagged_desc
from ...storage.kernels.rnn import lstm_steps
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem, Stream
from . import weights
from .call import RNNCall
from .params import Place, RNNParams, places


def _accepts(ctx: OpContext, call: RNNCall) -> str | None:
    """Why the kernel can not do it: it is for inference of plain LSTM layers in one direction."""
    p = call.params
    if not p.is_lstm or p.projection_size is not None or p.directions != 1:
        return "cells of another kind, with projections, or in both directions"
    if call.ins[0].shape[1] > lib.NDRT_SKINNY_GEMM_MOST or p.state_size % lanes():
        return (f"more than {lib.NDRT_SKINNY_GEMM_MOST} samples, or a state that is no multiple of "
                f"{lanes()}")
    if p.has_mask and call.outs[-1].requested:
        return "what dropout multiplies by is asked for"
    if ctx.packed is None or not ctx.is_constant(call.weight):
        return "the weight is not kept packed"
    return None


def _pays(ctx: OpContext, call: RNNCall) -> str | None:
    return f"more than {MOST_SAMPLES} samples" if call.ins[0].shape[1] > MOST_SAMPLES else None


def _run(ctx: OpContext, call: RNNCall) -> None:
    """All layers, one after the other."""
    p, ins, outs, mask = call.params, call.ins, call.outs, call.mask
    stream, (steps, batch, features) = ctx.stream, ins[0].shape
    size = p.state_size
    state, sequence = (default_desc(FLOAT32, (batch, size)),
                       default_desc(FLOAT32, (steps, batch, size)))
    x = get_data_reorder(ins[0], default_desc(FLOAT32, ins[0].shape), stream)
    first = [get_default(one, stream) for one in ins[2:4]]
    with ExitStack() as opened:
        made = [opened.enter_context(out.open(default_desc(FLOAT32, out.shape), stream))
                for out in outs[:3 if p.state_outputs else 1]]
        for index, row in enumerate(places(p, features)):
            inputs = p.layer_input(index, features)
            gates = _gates(ctx, p, ins[1], row[0], x, (steps * batch, inputs))
            between = _between(ctx, p, ins[1], row[0])
            y = made[0] if index + 1 == p.num_layers else stream.scratch(sequence)
            hidden, cell = [weights.at(one, index * state.nelems, state) for one in first]
            last = (weights.at(made[2], index * state.nelems, state) if p.state_outputs
                    else stream.scratch(state))
            at_end, counts, states = weights.at(y, (steps - 1) * state.nelems, state), None, None
            if mask is not None:
                states = stream.scratch(default_desc(FLOAT32, (2, batch, size)))
                counts = get_bytes(mask.counts, stream)
                at_end = weights.at(states, (steps - 1) % 2 * state.nelems, state)
            ctx.kernel(lstm_steps(
                out=y, gates=gates, weights=between, hidden=hidden, cell=cell, cells=last,
                counts=counts, states=states, steps=steps, batch=batch, size=size,
                holds=mask is not None and mask.holds))
            if p.state_outputs:
                weights.copy(stream, weights.at(made[1], index * state.nelems, state), at_end)
            x = y


def _gates(ctx: OpContext, p: RNNParams, vector: NDArray, place: Place, x: Mem,
           shape: tuple[int, int]) -> Mem:
    """What the inputs of all steps and the biases add to the gates."""
    src, dst = default_desc(FLOAT32, shape), default_desc(FLOAT32, (shape[0], p.rows))
    matrix, bias = (p.rows, shape[1]), default_desc(FLOAT32, (p.rows,))

    def build() -> Primitive:
        def one(w: MemDesc) -> Primitive:
            return make_primitive(Kind.INNER_PRODUCT, Direction.FORWARD_INFERENCE, src=src,
                                  weights=w, bias=bias, dst=dst)
        wide = tagged_desc(FLOAT32, matrix, f"AB{BLOCK}b{lib.NDRT_SKINNY_GEMM_WIDE}a")
        return first_supported(partial(one, w) for w in (wide, any_desc(FLOAT32, matrix)))

    def fill(stream: Stream, source: Mem, to: Mem) -> None:
        reorder_mem(stream, weights.at(source, place.i2h, default_desc(FLOAT32, matrix)), to)
    prim = ctx.primitive(("RNN.gates", src.id, p.rows), build)
    packed = weights.kept(ctx, vector, ("gates", place.i2h), prim.weights, fill)
    both = weights.kept(ctx, vector, ("gates' bias", place.i2h_bias), bias,
                        weights.fill_bias(p, [place]))
    made = ctx.stream.scratch(dst)
    ctx.run(prim, ((Arg.SRC, x.as_desc(src)), (Arg.WEIGHTS, packed), (Arg.BIAS, both),
                   (Arg.DST, made)))
    return made


def _between(ctx: OpContext, p: RNNParams, vector: NDArray, place: Place) -> Mem:
    """The matrix between the states in blocks of the gates of a vector of elements."""
    size, block = p.state_size, lanes()
    dims = (p.gates, size // block, block, size)
    rows = strided_desc(FLOAT32, dims, (size * size, block * size, size, 1))
    packed = strided_desc(FLOAT32, dims, (block, size * p.gates * block, 1, p.gates * block))

    def fill(stream: Stream, source: Mem, to: Mem) -> None:
        reorder_mem(stream, weights.at(source, place.h2h, rows), to)
    return weights.kept(ctx, vector, ("between", place.h2h), packed, fill)


LSTM_STEPS = Implementation[RNNCall]("LSTM of few samples", NATIVE, _run, _accepts, _pays)
