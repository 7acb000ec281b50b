"""check_layout_round_trip and check_consistency: right code passes, planted faults are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config, op
from ndarray_rt.errors import NdrtError, ParameterError, ShapeError
from ndarray_rt.native import ffi
from ndarray_rt.op.prim_cache import CACHE
from ndarray_rt.storage.chunk import Chunk
from ndarray_rt.storage.desc import MemDesc, default_desc
from ndarray_rt.storage.stream import Stream
from ndarray_rt.testing import (
    Input,
    check_consistency,
    check_gradient,
    check_layout_round_trip,
    layouts_of,
)
from ndarray_rt.testing.computation import Graph

from .faults import operator, right_ex, slope, softsquare

SHAPE = (8, 20, 3, 3)
true_reorder = Chunk.reorder


def faulty_reorder(spoil: Callable[[np.ndarray], None], when: Callable[[MemDesc], bool],
                   ) -> Callable[[Chunk, MemDesc, Stream], None]:
    """A conversion to a layout that then changes bytes."""
    def reorder(self: Chunk, desc: MemDesc, stream: Stream) -> None:
        true_reorder(self, desc, stream)
        if self.mkl_mem is desc and when(desc):
            spoil(np.frombuffer(ffi.buffer(self.handle.ptr, desc.nbytes), np.uint8))
    return reorder


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "uint8"])
def test_every_family_goes_round(dtype: str) -> None:
    report = check_layout_round_trip(SHAPE, dtype=dtype)
    parts = {part.check: part.executed for part in report.parts}
    assert parts["permuted"] >= 3
    assert parts["padded"] >= 5
    assert parts["blocked"] >= 2
    assert parts["grouped"] >= 10
    assert parts["between two"] >= 20


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (5, 1, 1), (2, 3), (3, 17), (2, 3, 4, 5, 2),
                                   (2, 1, 3, 1, 2, 1, 2, 1, 1, 2, 1, 2)])
def test_every_shape_goes_round(shape: tuple[int, ...]) -> None:
    assert check_layout_round_trip(shape).executed >= 1


def test_arrays_and_given_layouts() -> None:
    x = mx.nd.array(np.arange(120).reshape(2, 3, 4, 5)).to_mkldnn()
    layout = x.layout
    assert check_layout_round_trip(x, ["acdb", "aBcd16b"]).executed == 3
    assert x.layout == layout
    grouped = layouts_of((4, 3, 2, 2), families=["grouped"])
    report = check_layout_round_trip(np.ones((4, 3, 2, 2), np.float32), grouped)
    assert {part.check for part in report.parts} == {"grouped", "between two"}
    with pytest.raises(ShapeError, match="is no layout of an array of shape"):
        check_layout_round_trip((2, 3), [default_desc(np.dtype(np.float32), (2, 4))])
    with pytest.raises(NdrtError):
        check_layout_round_trip((2, 3), ["no such tag"])
    report = check_layout_round_trip((2, 3), dtype="int64")
    assert report.skipped == {("round trip", "layouts"): "oneDNN has no layouts for int64"}


def test_a_changed_bit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def flip(raw: np.ndarray) -> None:
        raw[0] ^= 1
    monkeypatch.setattr(Chunk, "reorder", faulty_reorder(flip, lambda d: d.ndims == 5))
    with pytest.raises(AssertionError, match=r"grouped .*the first at \(0, 0, 0, 0\)"):
        check_layout_round_trip(SHAPE)


def test_dirty_padding_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(raw: np.ndarray) -> None:
        raw[-1] = 1
    monkeypatch.setattr(Chunk, "reorder", faulty_reorder(
        spoil, lambda d: d.is_padded and d.inner_blks == (16,) and d.ndims == 4))
    with pytest.raises(AssertionError, match="1 bytes of the padding"):
        check_layout_round_trip((1, 3, 2, 2))


def test_a_stale_view_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view that does not notice that its Chunk is special reads the blocked bytes."""
    monkeypatch.setattr(mx.ndarray.ndarray.NDArray, "is_special", property(lambda x: False))
    monkeypatch.setattr("ndarray_rt._array.copy.default_elements", lambda x, stream: np.array(
        np.ndarray(x.shape, x.dtype, buffer=x._chunk.handle.buffer(), offset=x._byte_offset)))
    with pytest.raises(AssertionError):
        check_layout_round_trip((2, 3, 4, 5), ["acdb"])


# ---- check_consistency ------------------------------------------------------------------------


def test_operators_functions_and_symbols_are_consistent() -> None:
    report = check_consistency("Activation", [Input((2, 20, 3, 3), kind="away")],
                               {"act_type": "relu"})
    assert set(report.by_runtime) == {f"{how} on {library}" for library in ("numpy", "native")
                                      for how in ("eager", "unplanned", "planned", "captured")}
    assert {part.check for part in report.parts} == {
        f"{dtype} with {n} thread(s)" for dtype in ("float16", "float32", "float64")
        for n in (1, 2)}
    assert check_consistency(lambda x, y: mx.nd.dot(x, y), [(3, 4), (4, 5)],
                             threads=(1,)).executed > 20
    x = mx.sym.Variable("x")
    net = mx.sym.tanh(mx.sym.FullyConnected(x, num_hidden=3, name="f")) * 2
    assert check_consistency(net, [(4, 20), (3, 20), (3,)], threads=(1,)).executed > 60
    made = operator(compute_ex=right_ex)
    assert check_consistency(made, [(2, 3)], threads=(1,)).executed > 60


def test_aux_states_and_written_inputs() -> None:
    assert check_consistency(
        "BatchNorm", [(2, 3, 2, 2), (3,), (3,), (3,), Input((3,), kind="positive")],
        {"fix_gamma": False}, dtypes=("float32", "float64"), threads=(1,)).executed > 50
    assert check_gradient("BatchNorm", [(2, 3, 2, 2), (3,), (3,), (3,),
                                        Input((3,), kind="positive")],
                          {"fix_gamma": False, "eps": 1e-3}).executed > 20


def test_what_a_thread_keeps_is_no_leak() -> None:
    """Cached primitives of imperative calls, and the constants that some of them read."""
    inputs = [(4, 5), Input((4,), kind="ints", low=0, high=5)]
    for _ in range(2):
        assert check_consistency("SoftmaxOutput", inputs, dtypes=("float32",)).executed > 20
        CACHE.clear()


def test_the_third_run_is_captured() -> None:
    net = mx.sym.Activation(mx.sym.Variable("x"), act_type="relu")
    executor = net.bind(mx.cpu(), {"x": mx.nd.ones((2, 3))}, grad_req="null")
    for _ in range(3):
        executor.forward()
    assert "captured" in executor.capture_state or "replay" in executor.capture_state
    assert Graph(net).forward([mx.nd.ones((2, 3))], False)[0].shape == (2, 3)


def off_in_float32(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    outs[0].write(softsquare(ins[0]) + (ins[0].dtype == np.float32) * np.float32(0.01))


def off_on_onednn(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    right_ex(ctx, p, ins, outs)
    if not outs[0].array.is_special:
        with outs[0].open(default_desc(np.dtype(np.float32), outs[0].shape), ctx.stream) as y:
            first = np.frombuffer(ffi.buffer(y.ptr, 4), np.float32)
            ctx.stream.callback(lambda: first.__setitem__(0, first[0] + 1))


def off_with_threads(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    outs[0].write(softsquare(ins[0]) * (1.5 if mx.get_num_threads() == 2 else 1))


def off_when_planned(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    planned = config.NDRT_PLAN_MEMORY and not config.NDRT_CAPTURE
    outs[0].write(softsquare(ins[0]) * (1.5 if planned else 1))


@pytest.mark.parametrize(("made", "found"), [
    (operator(off_in_float32), r"\[float32, eager on numpy"),
    (operator(compute_ex=off_on_onednn), r"\[float16, eager on native"),
    (operator(off_with_threads), r"2 thread\(s\)"),
    (operator(off_when_planned), r"planned on numpy"),
], ids=["dtype", "library", "threads", "plan"])
def test_an_inconsistent_operator_is_found(made: op.OpDef, found: str) -> None:
    with pytest.raises(AssertionError, match=rf"{found}.*output 0.*worst at"):
        check_consistency(made, [(2, 20, 2, 3)])


def test_an_inconsistent_function_is_found() -> None:
    with pytest.raises(AssertionError, match=r"special.*output 0.*worst at"):
        check_consistency(lambda x: x * (2 if x.is_special else 1), [(2, 20, 2, 3)])

    def odd_slope(emit: Any, node: Any, out_grads: Any) -> Any:
        scale = 3.0 if mx.get_num_threads() == 2 else 1.0
        return emit("_mul_scalar", {"scalar": scale}, *slope(emit, node, out_grads))
    with pytest.raises(AssertionError, match=r"2 thread\(s\), gradients.*gradient of input 0"):
        check_consistency(operator(gradient=odd_slope), [(2, 3)])


def test_settings_come_back() -> None:
    before = mx.get_num_threads(), config.NDRT_ONEDNN, config.NDRT_CAPTURE
    with pytest.raises(AssertionError, match="TypeMismatch"):
        check_consistency("BatchNorm", [(2, 3, 2, 2), (3,), (3,), (3,), (3,)], threads=(2,),
                          dtypes=("float64", "float16"))
    assert (mx.get_num_threads(), config.NDRT_ONEDNN, config.NDRT_CAPTURE) == before
    with pytest.raises(ParameterError, match="dtypes is empty"):
        check_consistency("relu", [(2,)], dtypes=())


def test_no_layouts_are_no_check() -> None:
    with pytest.raises(ParameterError, match="layouts is empty"):
        check_layout_round_trip((2, 20, 3, 3), layouts=[])
    assert check_layout_round_trip((2, 20, 3, 3), layouts="acdb").executed == 1
