"""Tuning: the layouts of inference are those that are cheapest by what was measured."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.capture.capture import Capture
from ndarray_rt.errors import MXNetError, NameMismatch, ParameterError
from ndarray_rt.executor.explain import measure as measuring
from ndarray_rt.executor.layout.choose import LAYOUTS
from ndarray_rt.executor.tuning.file import TABLE
from ndarray_rt.op.choose import BLOCKED, CHANNELS_LAST
from ndarray_rt.storage.stream import Counters

from .fake_costs import (
    FILTERS,
    Fake,
    bound,
    check,
    fake,
    filled,
    naive,
    needs_a_choice,
    network,
    values,
    variants,
)


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    mx.executor.clear_tuning()
    yield
    mx.executor.clear_tuning()


# ---- which plan is taken ------------------------------------------------------------------------


@needs_a_choice
@pytest.mark.parametrize("seed", range(12))
def test_the_cheapest_plan_is_taken(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = fake(monkeypatch, seed)
    executor = bound()
    found = executor.tune()
    assert found.milliseconds[found.chosen] == costs.best()
    assert costs.total(variants(executor)) == costs.best()
    check(executor)


@needs_a_choice
@pytest.mark.parametrize("chosen", list(itertools.product(LAYOUTS, repeat=len(FILTERS))))
def test_every_plan_gives_the_same(chosen: tuple[str, ...],
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    Fake({f"c{i}": (1.0, 30.0) if variant == CHANNELS_LAST else (30.0, 1.0)
          for i, variant in enumerate(chosen)}, monkeypatch)
    executor = bound()
    check(executor)
    found = executor.tune()
    assert variants(executor) == chosen
    assert (found.chosen == "mixed") == (len(set(chosen)) == 2)
    assert list(found.variants[found.chosen].values()) == list(chosen)
    assert found.changed == (BLOCKED in chosen)
    check(executor)


@needs_a_choice
@pytest.mark.parametrize(("pool", "variant"), [((0, 0), CHANNELS_LAST), ((9, 0), BLOCKED)])
def test_what_follows_a_convolution_counts_too(pool: tuple[float, float], variant: str,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    Fake({**{f"c{i}": (1.0, 2.0) for i in range(4)}, "pool": pool}, monkeypatch)
    executor = bound()
    executor.tune()
    assert variants(executor)[1] == variant
    check(executor)


# ---- what tuning leaves as it was ---------------------------------------------------------------


@pytest.mark.parametrize("ran_before", [0, 1, 3])
@pytest.mark.parametrize("capture", [True, False])
def test_bound_arrays_and_outputs_stay_what_they_are(ran_before: int, capture: bool) -> None:
    with config.override(NDRT_CAPTURE=capture):
        executor = bound()
        for _ in range(ran_before):
            executor.forward()
        executor.outputs[0][:] = 7
        before = values(executor)
        executor.tune(repeat=1)
        if not ran_before:
            assert all(array.layout == "default" for array in executor.arg_dict.values())
        np.testing.assert_array_equal(executor.outputs[0].asnumpy(), 7)
        for name, array in values(executor).items():
            np.testing.assert_array_equal(array, before[name], err_msg=name)
    check(executor)
    executor.arg_dict["c2_weight"][:] = 0.5
    check(executor)


def test_the_random_stream_and_gradients_stay_what_they_are() -> None:
    executor = bound("add")
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 5)))
    before = executor.grad_dict["c1_weight"].asnumpy()
    mx.random.seed(5)
    want = mx.nd.random.uniform(shape=(3,)).asnumpy()
    mx.random.seed(5)
    executor.forward(is_train=True)
    executor.tune(repeat=1)
    with pytest.raises(MXNetError, match="backward needs"):
        executor.backward(mx.nd.ones((2, 5)))
    np.testing.assert_array_equal(mx.nd.random.uniform(shape=(3,)).asnumpy(), want)
    np.testing.assert_array_equal(executor.grad_dict["c1_weight"].asnumpy(), before)
    check(executor)


def test_memory_shared_with_another_executor() -> None:
    first = bound("write")
    second = filled(network().simple_bind(mx.cpu(), grad_req="null", data=(1, 3, 8, 8),
                                          shared_exec=first))
    first.forward(is_train=True)
    second.tune(repeat=1)
    with pytest.raises(MXNetError, match="shares this one's memory"):
        first.backward(mx.nd.ones((2, 5)))
    check(first)
    check(second)


@pytest.mark.parametrize(("runs", "repeat", "taken"), [
    ([5.0, 9.0, 9.0, 5.01], 3, 4), ([5.0, 5.01, 9.0], 3, 3), ([5.0, 9.0], 1, 1),
    ([9.0 - i for i in range(8)], 2, 8)])
def test_disturbed_runs_are_measured_for_longer(runs: list[float], repeat: int, taken: int,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    left = list(runs)
    monkeypatch.setattr(measuring, "_replay", lambda captured: 1.0)
    monkeypatch.setattr(measuring, "_time_replays", lambda parts, calls, repeat: [
        measuring._Times([left.pop(0)], [[]], [0.0])])
    part = measuring.Part([], [], Capture(Counters()), lambda: None)
    found = measuring._time_apart([part], [[]], repeat)
    assert found is not None
    assert found[0].runs == runs[:taken]


# ---- using it again -----------------------------------------------------------------------------


@needs_a_choice
def test_the_same_graph_is_planned_the_same_without_measuring(
        monkeypatch: pytest.MonkeyPatch) -> None:
    costs = fake(monkeypatch, 5)
    executor = bound()
    executor.tune()
    assert len(set(variants(executor))) == 2
    runs = costs.runs
    with mx.name.Prefix("other_"):
        again = bound()
    assert variants(again) == variants(executor)
    assert costs.runs == runs
    assert mx.executor.tuning_stats()["hits"] >= 1
    check(again)


@needs_a_choice
def test_another_graph_of_known_nodes_takes_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, 5)
    executor = bound()
    executor.tune()
    TABLE._graphs.clear()
    assert variants(bound()) == variants(executor)
    # one node is not known: the model plans
    TABLE._nodes.popitem()
    while len(TABLE._nodes) > 1:
        TABLE._nodes.popitem()
    assert set(variants(bound())) == {CHANNELS_LAST}
    assert mx.executor.tuning_stats()["misses"] == 1


@needs_a_choice
def test_another_batch_keeps_the_layouts_unless_its_own_are_known(
        monkeypatch: pytest.MonkeyPatch) -> None:
    costs = fake(monkeypatch, 5)
    executor = bound(batch=4)
    executor.tune()
    runs = costs.runs
    smaller = executor.reshape(partial_shaping=True, data=(2, 3, 8, 8))
    assert variants(smaller) == variants(executor)
    check(smaller)
    assert costs.runs == runs
    costs.costs = {name: (b, a) for name, (a, b) in costs.costs.items()}
    bound(batch=1).tune()
    swapped = executor.reshape(partial_shaping=True, data=(1, 3, 8, 8))
    assert variants(swapped) != variants(executor)
    assert costs.total(variants(swapped)) == costs.best()
    check(swapped)
    check(executor)


@needs_a_choice
@pytest.mark.parametrize("way", ["simple_bind", "bind"])
def test_binding_with_tune_tunes_at_the_first_inference_run(
        way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = fake(monkeypatch, 5)
    executor = bound("write", tune=True)
    if way == "bind":
        executor = executor.symbol.bind(mx.cpu(), executor.arg_dict, executor.grad_dict,
                                        aux_states=executor.aux_dict, tune=True)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 5)))
    assert not costs.runs
    check(executor)
    runs = costs.runs
    assert runs
    assert costs.total(variants(executor)) == costs.best()
    executor.forward(data=np.ones((2, 3, 8, 8)))
    assert costs.runs == runs
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 5)))


def test_tune_is_no_name_of_a_shape() -> None:
    with pytest.raises(NameMismatch):
        network().simple_bind(mx.cpu(), data=(1, 3, 8, 8), tunes=(1,))


# ---- nothing to choose --------------------------------------------------------------------------


def test_graphs_without_a_choice() -> None:
    executor = mx.sym.softmax(mx.sym.Variable("data")).simple_bind(
        mx.cpu(), data=(2, 3), tune=True)
    executor.forward()
    found = executor.tune()
    assert not found.chosen
    assert not found.changed
    assert "nothing to tune: " in str(found)
    with config.override(NDRT_ONEDNN=False):
        assert "as it was bound" in bound().tune().reason


@pytest.mark.parametrize("repeat", [0, -1, 1.5, True, "5", None])
def test_bad_numbers_of_runs(repeat: Any) -> None:
    with pytest.raises(ParameterError, match="tune: repeat is"):
        bound().tune(repeat)


@needs_a_choice
def test_a_report_says_what_was_found() -> None:
    executor = bound()
    found = executor.tune(repeat=2)
    layouts = {name for name in found.milliseconds if ", " not in name}
    assert layouts in ({*LAYOUTS}, {*LAYOUTS, "mixed"})
    assert set(found.reorders) == set(found.variants) == set(found.milliseconds)
    assert all(time > 0 for time in found.milliseconds.values())
    assert f"* {found.chosen}: " in str(found)
    assert [variant for variant in found.variants[found.chosen].values() if variant in LAYOUTS] == (
        list(variants(executor)))


def test_tuning_in_two_threads_while_others_run() -> None:
    executor, other = bound(), bound()
    want = naive(executor)

    def run(i: int) -> np.ndarray[Any, Any]:
        if i < 2:
            (executor, other)[i].tune(repeat=1)
            return want
        return executor.forward()[0].asnumpy() if i % 2 else bound(tune=True).forward()[0].asnumpy()
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(run, range(10)):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())
