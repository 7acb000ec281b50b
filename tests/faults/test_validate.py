"""NDRT_VALIDATE finds a wrong element wherever an operator of oneDNN's writes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, config, nd
from ndarray_rt.native import ffi
from ndarray_rt.op.registry import find
from ndarray_rt.op.validate import ValidationError
from tests.faults.test_executor_faults import bound


@contextmanager
def wrong(name: str, position: int, by: float = 0.02) -> Iterator[None]:
    """The first element of an output, or input, is off: that one is no padding in any layout."""
    op = find(name)
    real = op.compute_ex

    def compute_ex(ctx: Any, p: Any, ins: Any, outs: Any) -> None:
        assert real is not None
        real(ctx, p, ins, outs)
        array = outs[position].array if position >= 0 else ins[position]
        ctx.stream.flush()
        handle = array._chunk.handle
        values = np.frombuffer(ffi.buffer(handle.ptr, array.nbytes), np.float32)
        values[0] += by

    object.__setattr__(op, "compute_ex", compute_ex)
    try:
        yield
    finally:
        object.__setattr__(op, "compute_ex", real)


def steps(exe: Any) -> None:
    exe.forward(is_train=True)
    exe.backward()


@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize(("op", "position", "node"), [
    ("Convolution", 0, "conv0"), ("Pooling", 0, "pool0"), ("SoftmaxOutput", 0, "softmax"),
    ("_backward_Convolution", 1, "conv1"), ("_backward_FullyConnected", 1, "fc1")])
def test_in_an_executor(op: str, position: int, node: str, grad_req: str) -> None:
    with config.override(NDRT_VALIDATE=True):
        steps(bound(grad_req))
        with wrong(op, position), pytest.raises(ValidationError) as error:
            steps(bound(grad_req))
    text = str(error.value)
    assert op in text
    assert node in text
    assert f"output {position} differs from numpy at (" in text


def test_imperative_in_place_and_added() -> None:
    x = nd.array(np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4))
    with config.override(NDRT_VALIDATE=True):
        nd.tanh(x, out=x)
        with wrong("tanh", 0), pytest.raises(ValidationError, match="tanh: output 0 differs"):
            nd.tanh(x, out=x)
        x.attach_grad("add")
        for broken in (False, True):
            with autograd.record():
                y = nd.tanh(x)
            if not broken:
                y.backward()
                continue
            with wrong("_backward_tanh", 0), pytest.raises(ValidationError, match="_backward_tanh"):
                y.backward()


@pytest.mark.parametrize("position", [-1, -2])
def test_a_state_that_is_written_to(position: int) -> None:
    arrays = [nd.full((3, 4), value) for value in (1, 0.5, 0.1, 0.2)]
    with config.override(NDRT_VALIDATE=True):
        nd.adam_update(*arrays, out=arrays[0], lr=0.1)
        with wrong("adam_update", position), pytest.raises(
                ValidationError, match=f"input {4 + position}, which it changes"):
            nd.adam_update(*arrays, out=arrays[0], lr=0.1)


def test_random_operators_draw_the_same_again() -> None:
    x = nd.ones((4, 5, 6, 7))
    with config.override(NDRT_VALIDATE=True), autograd.record():
        mx.random.seed(3)
        first = nd.Dropout(x, p=0.5).asnumpy()
    mx.random.seed(3)
    with autograd.record():
        assert (nd.Dropout(x, p=0.5).asnumpy() == first).all()


def test_sums_that_cancel_are_no_difference() -> None:
    """Where digits are lost by everybody, the bound is what numpy itself loses."""
    rng = np.random.default_rng(1)
    a = rng.standard_normal((4, 2000)).astype(np.float32)
    a = np.concatenate([a, -a], 1)
    b = rng.standard_normal((2000, 3)).astype(np.float32)
    b = np.concatenate([b, b], 0)
    with config.override(NDRT_VALIDATE=True):
        nd.dot(nd.array(a), nd.array(b))
        nd.sum(nd.array(rng.standard_normal((300, 1000)).astype(np.float32)))
