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


@pytest.mark.parametrize("mode", [
    pytest.param("lstm", marks=pytest.mark.skipif(
        not prefers_channels_last(), reason="blocks of weights are wider for few rows here")),
    "gru", "rnn_tanh"])
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


def views(batch: int = 2) -> Any:
    """A layer whose weight is a part of a larger array."""
    weight = mx.nd.ones((128, 64))[0:64]
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=64, no_bias=True, name="fc")
    return net.bind(mx.cpu(), {"data": mx.nd.ones((batch, 64)), "fc_weight": weight},
                    grad_req="null")


@pytest.mark.parametrize("executor", [views, bound], ids=["product", "layer"])
def test_packing_again_is_no_part_of_a_recorded_run(executor: Any) -> None:
    """It would write to memory that is free by then, or somebody else's."""
    runs = executor()
    weights = runs.arg_dict["fc_weight" if executor is views else "vector"]
    runs.forward(is_train=False)
    weights[:] = 0.25  # the copies are old when the run is recorded
    runs.forward(is_train=False)
    others = [mx.nd.full((n,), 7) for n in (64, 4096, SIZE * 4 * SIZE, SIZE * 4 * FEATURES) * 3]
    reorders = runs.counters["reorders"]
    for _ in range(3):
        check(runs)
    assert runs.capture_state == "captured"
    before = runs.counters["reorders"]
    runs.forward(is_train=False)
    assert runs.counters["reorders"] == before
    assert reorders > 0
    for other in others:
        np.testing.assert_array_equal(other.asnumpy(), 7)


def chain_of_sizes(executor: Any, i: int) -> Any:
    """The weights get other memory each time."""
    return executor.reshape(allow_up_sizing=True, partial_shaping=True,
                            data=(3, 1, FEATURES + i % 2))


def chain_of_clones(executor: Any, i: int) -> Any:
    return executor.clone(["data", "vector"])


@pytest.mark.parametrize("following", [chain_of_sizes, chain_of_clones])
@pytest.mark.parametrize("capture", [True, False])
def test_chains_keep_nothing_of_those_before(following: Any, capture: bool) -> None:
    held = []
    with config.override(NDRT_CAPTURE=capture):
        executor = bound()
        for i in range(12):
            executor = following(executor, i)
            executor.forward(is_train=False)
            held.append(live_bytes())
    assert held[11] <= held[3] * 1.01
