"""Tuning: whose kernels compute products and recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.executor.explain.measure import Measured, Part, measure
from ndarray_rt.executor.tuning import search as tuning_runs
from ndarray_rt.op import calibration
from ndarray_rt.op.choose import NATIVE, ONEDNN
from ndarray_rt.op.packing import PackedStore

from .fake_costs import needs_a_choice

NATIVE_KERNELS = {"ndrt:skinny_gemm", "ndrt:packed_gemm", "ndrt:lstm_steps"}


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    mx.executor.clear_tuning()
    yield
    mx.executor.clear_tuning()


def layers() -> Any:
    """A recurrent layer, a product, one that no native kernel can finish, and a last one."""
    names = ("data", "vector", "state", "cell")
    y = mx.sym.RNN(*map(mx.sym.var, names), state_size=32, num_layers=1, mode="lstm", name="rnn")
    y = mx.sym.FullyConnected(y, num_hidden=48, flatten=False, name="wide")
    y = mx.sym.sigmoid(mx.sym.FullyConnected(y, num_hidden=20, flatten=False, name="bent"))
    return mx.sym.FullyConnected(y, num_hidden=5, flatten=False, name="last")


def bound(batch: int = 2, net: Any = None, **more: Any) -> Any:
    executor = (net or layers()).simple_bind(mx.cpu(), grad_req="null", data=(6, batch, 20), **more)
    rng = np.random.default_rng(1)
    for array in executor.arg_dict.values():
        array[:] = rng.uniform(-0.5, 0.5, array.shape)
    return executor


def check(executor: Any) -> None:
    with config.override(NDRT_ONEDNN=False):
        want = executor.forward()[0].asnumpy()
    for _ in range(3):
        np.testing.assert_allclose(executor.forward()[0].asnumpy(), want, rtol=1e-4, atol=1e-5)
    assert executor.capture_state == "captured", executor.capture_state


def whose(executor: Any) -> dict[str, str]:
    """By node, whose kernel ran."""
    return {row.node: NATIVE if NATIVE_KERNELS & set(row.kernel.split("+")) else ONEDNN
            for row in executor.explain(repeat=1).rows}


def costs(monkeypatch: pytest.MonkeyPatch, slow: dict[str, str], least: str = ONEDNN) -> list[int]:
    """Steps take 2 ms where the kernel of a node is the slow one, by name, else `least`; others
    take 1. Gives how many plans were measured in each go."""
    goes: list[int] = []

    def faked(parts: Sequence[Part], *args: Any, **how: Any) -> list[Measured]:
        found = measure(parts, *args, **how)
        goes.append(len(parts))
        for of_run in found:
            for call in of_run.calls:
                name = call.planned.node.name
                ran = NATIVE if NATIVE_KERNELS & set(call.told.impls) else ONEDNN
                call.milliseconds = 1.0 + (slow.get(name, least) == ran)
            of_run.milliseconds = sum(call.milliseconds for call in of_run.calls)
        return found
    monkeypatch.setattr(tuning_runs, "measure", faked)
    return goes


@pytest.mark.parametrize("slow", [
    {}, {"rnn": NATIVE}, {"wide": NATIVE}, {"rnn": NATIVE, "wide": NATIVE, "last": NATIVE},
    {"rnn": ONEDNN, "last": NATIVE}])
def test_the_faster_kernels_are_taken(slow: dict[str, str], monkeypatch: pytest.MonkeyPatch,
                                      ) -> None:
    costs(monkeypatch, slow)
    executor = bound()
    check(executor)
    usual = whose(executor)
    assert [usual[name] for name in ("rnn", "wide", "last")] == [NATIVE] * 3
    found = executor.tune(repeat=1)
    wanted = {name: ONEDNN if slow.get(name) == NATIVE else NATIVE
              for name in ("rnn", "wide", "last")}
    ran = whose(executor)
    assert {name: ran[name] for name in wanted} == wanted
    assert found.changed == (ONEDNN in wanted.values())
    assert found.milliseconds[found.chosen] == min(found.milliseconds.values())
    assert found.chosen == ("usual" if not found.changed else
                            ONEDNN if NATIVE not in wanted.values() else "mixed")
    check(executor)


def test_what_gains_nothing_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    costs(monkeypatch, {}, least="")
    executor = bound()
    found = executor.tune(repeat=1)
    assert len(set(found.milliseconds.values())) == 1
    assert (found.chosen, found.changed) == ("usual", False)


def test_other_executors_have_the_kernels_too(tmp_path: Any, monkeypatch: pytest.MonkeyPatch,
                                              ) -> None:
    goes = costs(monkeypatch, {"wide": NATIVE})
    first = bound()
    first.tune(repeat=1)
    measured = len(goes)
    assert whose(bound())["wide"] == ONEDNN
    # of another batch nothing was measured: it goes by the one that it was made from
    again = first.reshape(allow_up_sizing=True, data=(6, 3, 20), state=(1, 3, 32), cell=(1, 3, 32))
    assert whose(again)["wide"] == ONEDNN
    check(again)
    assert whose(bound(3))["wide"] == NATIVE
    mx.executor.save_tuning(tmp_path / "t")
    mx.executor.clear_tuning()
    assert whose(bound())["wide"] == NATIVE
    mx.executor.load_tuning(tmp_path / "t")
    loaded = bound()
    assert whose(loaded)["wide"] == ONEDNN
    assert whose(loaded)["rnn"] == whose(loaded)["last"] == NATIVE
    check(loaded)
    assert len(goes) == measured


def test_another_graph_of_known_layers_takes_the_faster_kernels(monkeypatch: pytest.MonkeyPatch,
                                                                ) -> None:
    costs(monkeypatch, {"last": NATIVE})
    bound().tune(repeat=1)
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, flatten=False, name="other")
    alone = net.simple_bind(mx.cpu(), grad_req="null", data=(6, 2, 20))
    assert whose(alone) == {"other": ONEDNN}


def test_layers_of_one_kernel_leave_nothing_to_choose() -> None:
    net = mx.sym.sigmoid(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=20, name="fc"))
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(4, 30))
    found = executor.tune(repeat=1)
    assert (found.chosen, found.changed, found.reason) == ("", False, "each node has one kernel")
    assert not found.milliseconds


@pytest.mark.parametrize("kept_first", [True, False])
def test_equal_layers_need_not_have_the_same_choice(kept_first: bool) -> None:
    """A weight that is computed in the run is not kept packed: that layer is oneDNN's."""
    def kept(x: Any) -> Any:
        return mx.sym.sin(mx.sym.FullyConnected(x, num_hidden=64, no_bias=True, name="kept"))

    def computed(x: Any) -> Any:
        return mx.sym.FullyConnected(x, weight=mx.sym.tanh(mx.sym.var("e")), num_hidden=64,
                                     no_bias=True, name="computed")
    data = mx.sym.var("data")
    net = computed(kept(data)) if kept_first else kept(computed(data))
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(64, 64), e=(64, 64))
    assert set(executor.tune(repeat=1).milliseconds) >= {"usual", ONEDNN}


def test_more_rows_than_the_rule_takes_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = calibration.MOST_ROWS + 1
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=40, name="fc")
    costs(monkeypatch, {"fc": ONEDNN})
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(rows, 30))
    executor.arg_dict["data"][:] = 1
    executor.arg_dict["fc_weight"][:] = 0.5
    assert whose(executor) == {"fc": ONEDNN}
    found = executor.tune(repeat=1)
    assert (found.chosen, found.changed) == (NATIVE, True)
    assert whose(executor) == {"fc": NATIVE}
    check(executor)


@needs_a_choice
def test_a_convolution_network_tunes_its_last_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    y = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=16, name="conv")
    net = mx.sym.FullyConnected(mx.sym.relu(y), num_hidden=5, name="fc")
    costs(monkeypatch, {"fc": NATIVE})
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(2, 3, 8, 8))
    found = executor.tune(repeat=1)
    assert found.chosen.endswith(f", {ONEDNN}")
    assert found.variants[found.chosen]["fc"] == ONEDNN
    assert whose(executor)["fc"] == ONEDNN
    check(executor)


def test_weights_are_not_packed_again_for_other_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both read the weight of a product in blocks of columns."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=256, name="fc")
    costs(monkeypatch, {"fc": NATIVE})
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(8, 64))
    check(executor)
    packed = executor.arg_dict["fc_weight"]._chunk.mkl_mem
    copied: list[Any] = []
    get = PackedStore.get

    def noted(store: Any, w: Any, desc: Any, stream: Any) -> Any:
        if store is not executor._runs.context.packed:
            return get(store, w, desc, stream)
        copied.append(desc)
        return get(store, w, desc, stream)
    monkeypatch.setattr(PackedStore, "get", noted)
    assert executor.tune(repeat=1).chosen == ONEDNN
    check(executor)
    assert executor.arg_dict["fc_weight"]._chunk.mkl_mem is packed
    assert not copied
