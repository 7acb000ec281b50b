"""Packed copies of weights that executors of the same weights share."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.op import packing
from ndarray_rt.op.choose import prefers_channels_last
from ndarray_rt.testing.faults import live_bytes

RNG = np.random.default_rng(2)
SIZE, FEATURES = 160, 96


def bound(batch: int = 1, mode: str = "lstm") -> Any:
    """A layer whose weights, parts of one vector, are copied and not converted."""
    names = ["data", "vector", "state", *(["cell"] if mode == "lstm" else [])]
    net = mx.sym.RNN(*map(mx.sym.var, names), state_size=SIZE, mode=mode, num_layers=2, name="rnn")
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(3, batch, FEATURES))
    for array in executor.arg_dict.values():
        array[:] = RNG.standard_normal(array.shape) * 0.1
    executor.forward(is_train=False)
    return executor


@pytest.fixture
def fills(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of each copy that is packed."""
    packed: list[int] = []
    real = packing._Copy.make

    def noted(copy: Any, stream: Any) -> None:
        packed.append(copy.desc.nbytes)
        real(copy, stream)
    monkeypatch.setattr(packing._Copy, "make", noted)
    return packed


def check(executor: Any) -> None:
    got = executor.forward(is_train=False)[0].asnumpy()
    with config.override(NDRT_ONEDNN=False):
        want = executor.forward(is_train=False)[0].asnumpy()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def rebound(executor: Any, batch: int) -> Any:
    return executor.reshape(allow_up_sizing=True, partial_shaping=True,
                            data=(3, batch, FEATURES))


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_another_batch_packs_nothing(mode: str, fills: list[int]) -> None:
    executor = bound(2, mode)
    for batch in (1, 3):
        executor = rebound(executor, batch)
        before = len(fills)
        executor.forward(is_train=False)
        assert len(fills) == before
        check(executor)


def test_a_clone_costs_no_copies() -> None:
    first = bound()
    copies = sum(array.size for array in first.arg_dict.values()) * 4
    before = live_bytes()
    clone = first.clone(["data"])
    clone.forward(is_train=False)
    assert live_bytes() - before < copies / 2


def test_changed_weights_are_packed_anew_for_all_that_share_them() -> None:
    first = bound()
    others = [rebound(first, 2), first.clone(["data"])]
    for round_ in range(4):
        for executor in (first, *others):
            check(executor)
        first.arg_dict["vector"][:] = RNG.standard_normal(first.arg_dict["vector"].shape) * 0.1
        for executor in ((first, *others) if round_ % 2 else (*others, first)):
            check(executor)


def test_weights_that_changed_before_the_first_run_are_packed_anew(fills: list[int]) -> None:
    first = bound()
    other = rebound(first, 2)
    first.arg_dict["vector"][:] = 0.03
    del first
    before = len(fills)
    check(other)
    assert len(fills) > before


@pytest.mark.skipif(not prefers_channels_last(), reason="all batches are computed alike")
def test_a_run_lets_go_of_what_it_does_not_use() -> None:
    first = bound(1)
    other = rebound(first, 16)  # another implementation, with layouts of its own
    for _ in range(3):
        other.forward(is_train=False)
    assert other.capture_state == "captured"
    before = live_bytes()
    del first
    other.forward(is_train=False)
    assert live_bytes() < before
    check(other)


def test_weights_that_a_user_may_write_to_at_any_time() -> None:
    first = bound()
    own = np.zeros(first.arg_dict["vector"].shape, "f4")
    shared = mx.nd.from_dlpack(own)
    executor = first.symbol.bind(mx.cpu(), {**first.arg_dict, "vector": shared}, grad_req="null")
    first, clone = executor, executor.clone(["data"])
    for value in (0.01, -0.02):
        own[:] = value
        for executor in (first, clone):
            check(executor)


def test_threads_that_find_a_change_at_once() -> None:
    """A run that began does not see another one fill the copy again."""
    first = bound()
    clones = [first.clone(["data"]) for _ in range(2)]
    vector = first.arg_dict["vector"]
    for clone in clones:
        for _ in range(3):
            clone.forward(is_train=False)
    for _ in range(30):
        vector[:] = RNG.standard_normal(vector.shape) * 0.1
        made: list[Any] = [None, None]
        start = threading.Barrier(2)

        def run(i: int, made: list[Any] = made, start: threading.Barrier = start) -> None:
            start.wait()
            made[i] = [clones[i].forward(is_train=False)[0].asnumpy() for _ in range(3)]
        threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        want = first.forward(is_train=False)[0].asnumpy()
        for result in made:
            for got in result:
                np.testing.assert_array_equal(got, want)
