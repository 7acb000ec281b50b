"""Writes to weights between the moments at which a run looks at them, and one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt._array.layout import get_default
from ndarray_rt.dtypes import FLOAT32
from ndarray_rt.executor.program.prologue import Prologue
from ndarray_rt.op.context import OpContext
from ndarray_rt.op.packing import PackedStore
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.reorder import reorder_mem


def twice_read() -> Any:
    """One weight of two layers; what follows the first is folded into a copy of it."""
    x, w = mx.sym.Variable("data"), mx.sym.Variable("w_weight")
    about: dict[str, Any] = {"weight": w, "kernel": (1, 1), "num_filter": 16, "no_bias": True}
    folded = mx.sym.BatchNorm(mx.sym.Convolution(x, name="a", **about), name="bn", fix_gamma=False,
                              eps=1e-12)
    plain = mx.sym.Convolution(x * 1.0, name="b", **about)
    executor = mx.sym.Group([folded, plain]).simple_bind(mx.cpu(), grad_req="null",
                                                         data=(1, 16, 1, 1))
    for name in ("data", "bn_gamma"):
        executor.arg_dict[name][:] = 1
    executor.aux_dict["bn_moving_var"][:] = 1
    return executor


def write_once_after(monkeypatch: pytest.MonkeyPatch, owner: type, name: str,
                     write: Callable[[], None]) -> list[int]:
    """Behind the next call of a method somebody else writes; so often as the list says."""
    plain, left = getattr(owner, name), [0]

    def followed(self: Any, *args: Any) -> None:
        plain(self, *args)
        if left[0]:
            left[0] -= 1
            write()
    monkeypatch.setattr(owner, name, followed)
    return left


@pytest.mark.parametrize("runs", [0, 5])
def test_a_write_is_seen_in_all_layers_or_in_none(runs: int,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    executor = twice_read()
    weight = executor.arg_dict["w_weight"]

    def outputs() -> list[float]:
        return [float(out.asnumpy().flat[0]) for out in executor.forward()]
    weight[:] = 1 / 16
    for _ in range(runs):
        assert outputs() == pytest.approx([1, 1])

    def write() -> None:
        weight[:] = 5 / 16
    left = write_once_after(monkeypatch, Prologue, "settle", write)
    weight[:] = 2 / 16
    left[0] = 1
    assert outputs() == pytest.approx([5, 5])
    for _ in range(3):
        assert outputs() == pytest.approx([5, 5])
    assert executor.capture_state == "captured"


def test_a_write_while_copies_are_made_anew_breaks_no_recording(
        monkeypatch: pytest.MonkeyPatch) -> None:
    executor = twice_read()
    weight = executor.arg_dict["w_weight"]
    for i in range(4):
        weight[:] = i / 16
        for _ in range(5):
            executor.forward()
    assert executor.capture_state == "captured"

    def write() -> None:
        weight[:] = 5 / 16
    left = write_once_after(monkeypatch, Prologue, "settle", write)
    for _ in range(5):
        weight[:] = 2 / 16
        left[0] = 2
        outputs = [float(out.asnumpy().flat[0]) for out in executor.forward()]
        assert outputs == pytest.approx([5, 5])
        assert executor.capture_state == "captured"


def test_an_export_that_may_be_written_to_ends_the_refreshing() -> None:
    executor = twice_read()
    weight = executor.arg_dict["w_weight"]
    for i in range(2):  # the second write finds it packed, and from then on there are copies
        weight[:] = (2 - i) / 16
        for _ in range(5):
            executor.forward()
    assert executor.capture_state == "captured"
    kept = weight.to_dlpack_for_write()
    for _ in range(3):
        assert [float(o.asnumpy().flat[0]) for o in executor.forward()] == pytest.approx([1, 1])
    del kept


@pytest.mark.parametrize("runs", [1, 2, 5, 8])
def test_weights_written_one_after_the_other_do_not_end_capture(runs: int) -> None:
    net = mx.sym.Variable("data")
    for i in range(5):
        net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=16, name=f"c{i}")
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(2, 16, 6, 6))
    for array in executor.arg_dict.values():
        array[:] = np.random.default_rng(0).normal(0, 0.1, array.shape)
    executor.forward()
    both = [executor, executor.clone(["data"])]
    for i in range(5):
        for _ in range(runs):
            for one in both:
                one.forward()
        executor.arg_dict[f"c{i}_weight"][:] = 0.1
    for _ in range(3):
        for one in both:
            one.forward()
    assert [one.capture_state for one in both] == ["captured"] * 2


def test_one_array_that_moves_again_and_again_ends_capture(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """A weight that is converted for each recording, as if nobody noted that it was."""
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=16, no_bias=True,
                            name="c")
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(2, 16, 6, 6))
    monkeypatch.setattr(PackedStore, "get", lambda *args: pytest.fail("no copies here"))
    weight = executor.arg_dict["c_weight"]
    for _ in range(8):
        weight[:] = 0.1
        executor._runs.context.packed._converted.clear()
        for _ in range(3):
            executor.forward()
    assert "capture stopped after 3 breaks: the memory" in executor.capture_state


def test_a_copy_that_an_interrupt_left_empty_is_no_source() -> None:
    """A recording asks all copies for the state of the weight that they are of."""
    context, store = OpContext(), PackedStore()
    weight = mx.nd.array(np.arange(32.0).reshape(16, 2))
    layout = tagged_desc(FLOAT32, (16, 2), "AB16b16a")

    def interrupted(stream: Any, to: Any) -> None:
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        store.made(weight, "copy", layout, context.stream, interrupted)
    assert not store.sources()

    def fill(stream: Any, to: Any) -> None:
        reorder_mem(stream, get_default(weight, stream), to)
    copy = store.made(weight, "copy", layout, context.stream, fill)
    assert [(chunk, changes >= 0) for chunk, changes in store.sources()] == [(weight._chunk, True)]
    assert store.made(weight, "copy", layout, context.stream, fill).ptr == copy.ptr
    assert store.layouts(weight) == [layout]
