"""What a recorded step reads anew at each replay: random words, and the numbers of optimizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt._array.copy import read_numpy
from ndarray_rt._array.ndarray import NDArray, new_array
from ndarray_rt._array.output import NumpyOutput
from ndarray_rt._array.req import Req
from ndarray_rt.capture.recorder import Recorder, stream_into
from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.nd import array
from ndarray_rt.op.context import TRAINING, OpContext
from ndarray_rt.op.dispatch import dispatch
from ndarray_rt.op.random_state import RandomState
from ndarray_rt.op.registry import find
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.parameters import ParameterBlock
from ndarray_rt.storage.stream import Stream

Values = np.ndarray[Any, np.dtype[np.float32]]


def context(seed: int, stream: Stream | None = None) -> OpContext:
    ctx = OpContext(stream, random=RandomState(seed))
    ctx.mode = TRAINING
    return ctx


def draw(op: str, ctx: OpContext, ins: list[NDArray], size: tuple[int, ...],
         **params: Any) -> list[NDArray]:
    """One call of a random operator."""
    definition = find(op)
    made = definition.params(**params)
    outs = [new_array(size, np.dtype("f4")) for _ in definition.output_names(made)]
    dispatch(definition, made, ctx, ins, outs, [Req.kWriteTo] * len(outs), mode=TRAINING)
    return outs


RANDOM = [
    ("Dropout", {"p": 0.25}, None), ("Dropout", {"p": 0.25}, "acdb"),
    ("Dropout", {"p": 0.25}, "aBcd16b"), ("_random_uniform", {"low": -2.0, "high": 1.5}, None),
    ("_random_normal", {"loc": 1.0, "scale": 3.0}, None),
]


@pytest.mark.parametrize(("op", "params", "layout"), RANDOM)
def test_a_replay_draws_the_next_numbers(op: str, params: dict[str, Any],
                                         layout: str | None) -> None:
    """Recorded and replayed twice = three calls in numpy from the same seed, with the same bits."""
    shape = (2, 20, 3, 5)
    values = np.random.default_rng(0).standard_normal(shape).astype("f4")
    ins = []
    if op == "Dropout":
        ins = [array(values)]
    else:
        params = {**params, "shape": shape}
    naive = context(5)
    want = []
    for _ in range(3):
        outs = [new_array(shape, np.dtype("f4")) for _ in range(2 if ins else 1)]
        definition = find(op)
        written = [NumpyOutput(out, Req.kWriteTo) for out in outs]
        definition.compute(naive, definition.params(**params), [values] * len(ins), written)
        want.append([output.value for output in written])
    if layout is not None:
        ins[0]._chunk.reorder(tagged_desc(np.dtype("f4"), shape, layout), Stream())
    recorder = Recorder(0)
    stream = stream_into(recorder)
    ctx = context(5, stream)
    outs = draw(op, ctx, ins, shape, **params)
    if ctx.fallbacks:
        assert not has_avx512()
        pytest.skip("oneDNN has no fast product of blocked arrays: NumPy's steps are not recorded")
    for i, expected in enumerate(want):
        if i:
            recorder.recording.replay()
        for got, value in zip(outs, expected, strict=True):
            np.testing.assert_array_equal(read_numpy(got, Stream()), value)
    assert recorder.recording.segments == 1
    assert ctx.fallbacks == 0
    assert ctx.random.get_state() == naive.random.get_state()


def test_a_seed_between_replays_starts_anew() -> None:
    recorder = Recorder(0)
    stream = stream_into(recorder)
    ctx = context(5, stream)
    out = draw("_random_uniform", ctx, [], (100,), shape=(100,))[0]
    first = out.asnumpy()
    recorder.recording.replay()
    assert not np.array_equal(out.asnumpy(), first)
    ctx.random.seed(5)
    recorder.recording.replay()
    np.testing.assert_array_equal(out.asnumpy(), first)


UPDATES = [
    ("sgd_update", 0, {"lr": 0.1, "wd": 0.1}, {"lr": 0.3, "wd": 0.2, "clip_gradient": 0.1}),
    ("sgd_mom_update", 1, {"lr": 0.1, "momentum": 0.5},
     {"lr": 0.01, "momentum": 0.9, "rescale_grad": 0.25}),
    ("adam_update", 2, {"lr": 0.1, "epsilon": 0.5}, {"lr": 0.2, "beta1": 0.5, "epsilon": 0.0}),
]


@pytest.mark.parametrize("layout", [None, "acdb", "aBcd16b"])
@pytest.mark.parametrize(("op", "states", "first", "second"), UPDATES)
def test_numbers_of_an_update_change_between_replays(
        op: str, states: int, first: dict[str, float], second: dict[str, float],
        layout: str | None) -> None:
    shape = (2, 20, 3, 5)
    rng = np.random.default_rng(0)
    values = [np.abs(rng.standard_normal(shape)).astype("f4") for _ in range(2 + states)]
    definition = find(op)
    recorded, naive = [array(v) for v in values], [array(v) for v in values]
    if layout is not None:
        for one in recorded:
            one._chunk.reorder(tagged_desc(np.dtype("f4"), shape, layout), Stream())
    recorder = Recorder(0)
    stream = stream_into(recorder)
    ctx = context(0, stream)
    params = definition.params(**first)
    # the first call settles the layouts, the second is recorded with the same numbers
    for recording in (False, True):
        ctx.stream = stream if recording else Stream()
        ctx.parameters = ParameterBlock(definition.numbers_of(params))
        dispatch(definition, params, ctx, recorded, recorded[:1], [Req.kWriteInplace],
                 mode=TRAINING)
    assert ctx.parameters is not None
    for given in (second, first):
        changed = definition.params(**given)
        assert definition.fixed_of(changed) == definition.fixed_of(params)
        ctx.parameters.set(definition.numbers_of(changed))
        recorder.recording.replay()
    plain = context(0)
    for given in (first, first, second, first):
        dispatch(definition, definition.params(**given), plain, naive, naive[:1],
                 [Req.kWriteInplace], mode=TRAINING)
    for got, want in zip(recorded, naive, strict=True):
        np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())
    assert recorder.recording.segments == 1


def test_a_block_has_room_for_eight() -> None:
    block = ParameterBlock([1.5, 2])
    assert block.values() == [1.5, 2, 0, 0, 0, 0, 0, 0]
    block.set(range(8))
    assert block.values() == list(range(8))
    with pytest.raises(ValueError, match="9 numbers"):
        block.set([0.0] * 9)


def test_a_captured_forward_draws_like_a_naive_one() -> None:
    """Dropout and random numbers in inference, which an executor records and replays."""
    x = mx.sym.Variable("x")
    net = mx.sym.Dropout(mx.sym.Convolution(x, kernel=(3, 3), num_filter=20), mode="always")
    net = net * mx.sym.random.uniform(shape=(2, 20, 6, 6))

    def outputs(capture: bool) -> list[Values]:
        with config.override(NDRT_CAPTURE=capture):
            executor = net.simple_bind(mx.cpu(), x=(2, 3, 8, 8), grad_req="null")
            for i, given in enumerate(executor.arg_dict.values()):
                given[:] = np.random.default_rng(i).standard_normal(given.shape)
            mx.random.seed(11)
            found = [executor.forward()[0].asnumpy() for _ in range(5)]
            mx.random.seed(11)
            np.testing.assert_array_equal(executor.forward()[0].asnumpy(), found[0])
        assert (executor.capture_state == "captured") == capture
        return found
    for got, want in zip(outputs(True), outputs(False), strict=True):
        np.testing.assert_array_equal(got, want)
