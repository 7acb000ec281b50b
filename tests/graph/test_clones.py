"""Clones of executors and pools of them: parameters are shared, all else is each one's own."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import TypeMismatch
from ndarray_rt.executor.program.prologue import Prologue
from ndarray_rt.testing.faults import live_bytes

SHAPE = (2, 3, 16, 16)


def network() -> mx.sym.Symbol:
    """Convolutions whose batch normalisation is folded, and a layer behind them."""
    y = mx.sym.Variable("data")
    for i in range(2):
        y = mx.sym.Convolution(y, kernel=(3, 3), num_filter=32, name=f"conv{i}")
        y = mx.sym.BatchNorm(y, fix_gamma=False, name=f"bn{i}")
        y = mx.sym.Activation(y, act_type="relu", name=f"relu{i}")
    y = mx.sym.FullyConnected(y, num_hidden=200, name="fc")
    return mx.sym.SoftmaxOutput(y, name="softmax")


def bound() -> Any:
    executor = network().simple_bind(mx.cpu(), grad_req="null", data=SHAPE)
    rng = np.random.default_rng(0)
    for array in executor.arg_dict.values():
        array[:] = rng.uniform(-0.1, 0.1, array.shape)
    for array in executor.aux_dict.values():
        array[:] = rng.uniform(0.5, 1, array.shape)
    return executor


def data(i: int) -> np.ndarray[Any, np.dtype[Any]]:
    return np.random.default_rng(i).standard_normal(SHAPE).astype("f4")


def naive(executor: Any, i: int) -> np.ndarray[Any, np.dtype[Any]]:
    """What `executor` should give for data(i), without passes and recording."""
    with config.override(NDRT_CAPTURE=False, NDRT_SKIP_PASSES="all"):
        args = {n: a.copy() for n, a in executor.arg_dict.items()}
        args["data"] = mx.nd.array(data(i))
        other = executor.symbol.bind(mx.cpu(), args, grad_req="null",
                                     aux_states={n: a.copy() for n, a in executor.aux_dict.items()})
        return other.forward()[0].asnumpy()


def test_what_is_shared_and_what_is_not() -> None:
    executor = bound()
    executor.forward(data=data(0))
    clone = executor.clone()
    for name, array in executor.arg_dict.items():
        assert (clone.arg_dict[name] is array) == (name != "data")
    assert all(clone.aux_dict[n] is a for n, a in executor.aux_dict.items())
    assert clone._session is executor._session
    assert clone._runs.program_for(False).prologue is executor._runs.program_for(False).prologue
    np.testing.assert_array_equal(clone.arg_dict["data"].asnumpy(), data(0))
    first = executor.outputs[0].asnumpy()
    for i in range(1, 5):
        np.testing.assert_allclose(clone.forward(data=data(i))[0].asnumpy(), naive(clone, i),
                                   rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(executor.outputs[0].asnumpy(), first)
    assert clone.capture_state == "captured"


def test_which_arguments_are_inputs() -> None:
    executor = bound()
    assert all(a is executor.arg_dict[n] for n, a in executor.clone().arg_dict.items())
    own = executor.clone(["fc_bias"]).arg_dict
    assert [n for n in own if own[n] is not executor.arg_dict[n]] == ["fc_bias"]
    assert all(a is executor.arg_dict[n] for n, a in executor.clone([]).arg_dict.items())
    executor.forward(data=data(0))
    clone = executor.clone()
    for one in (clone, clone.clone()):
        assert [n for n, a in one.arg_dict.items() if a is not executor.arg_dict[n]] == ["data"]
    with pytest.raises(KeyError, match="'x' is no argument"):
        executor.clone(["x"])
    trained = network().simple_bind(mx.cpu(), data=SHAPE)
    with pytest.raises(mx.MXNetError, match="clone is for inference"):
        trained.clone()


def test_arrays_are_shared_whatever_they_are_called_until_they_are_given() -> None:
    x, table = mx.sym.Variable("x_weight"), mx.sym.Variable("table")
    scale = mx.sym.Variable("scale")
    net = mx.sym.Group([mx.sym.broadcast_add(mx.sym.dot(x, table), scale), x])
    executor = net.simple_bind(mx.cpu(), grad_req="null", x_weight=(2, 3), table=(3, 4),
                               scale=(1, 4))
    for array in executor.arg_dict.values():
        array[:] = 1
    first, second = executor.clone(), executor.clone()
    for one in (first, second):
        assert all(a is executor.arg_dict[n] for n, a in one.arg_dict.items())
    for run in range(1, 5):
        # the first of them are given when the program of the other clone is there already
        for number, one in enumerate((executor, first, second)):
            if one is second and run == 2:
                one.forward()
            given = np.full((2, 3), 10 * run + number, "f4")
            sums, same = one.forward(x_weight=mx.nd.array(given))
            np.testing.assert_array_equal(sums.asnumpy(), 3 * given[:, :1] + np.ones((2, 4)))
            np.testing.assert_array_equal(same.asnumpy(), given)
    for number, one in enumerate((executor, first, second)):
        np.testing.assert_array_equal(one.arg_dict["x_weight"].asnumpy(),
                                      np.full((2, 3), 40 + number))
        assert [n for n, a in one.arg_dict.items() if a is not executor.arg_dict[n]] == (
            ["x_weight"] if number else [])
        assert one.capture_state == "captured"
    executor.arg_dict["scale"][:] = 5
    assert [one.forward()[0].asnumpy()[0, 0] for one in (executor, first, second)] == [
        125, 128, 131]
    # another clone's is taken over too, when it is given one
    second.forward(scale=mx.nd.zeros((1, 4)))
    assert [one.forward()[0].asnumpy()[0, 0] for one in (executor, first, second)] == [
        125, 128, 126]


def test_a_clone_that_was_run_takes_an_input_over_without_passes(
        monkeypatch: pytest.MonkeyPatch) -> None:
    executor = bound()
    clone = executor.clone()
    clone.forward()
    prologue, wanted = clone._runs.program_for(False).prologue, naive(clone, 1)
    monkeypatch.setattr("ndarray_rt.executor.program.inference.optimize", None)
    np.testing.assert_allclose(clone.forward(data=data(1))[0].asnumpy(), wanted,
                               rtol=1e-4, atol=1e-6)
    assert clone._runs.program_for(False).prologue is prologue


def test_what_comes_of_a_clone_by_reshape_has_its_own_input() -> None:
    executor = bound()
    executor.arg_dict["data"][:] = 7
    clone = executor.clone()
    half = clone.reshape(data=(1, *SHAPE[1:]), softmax_label=(1,))
    half.forward(data=data(1)[:1])
    assert (executor.arg_dict["data"].asnumpy() == 7).all()
    label = executor.arg_dict["softmax_label"].asnumpy()
    part = executor.clone().reshape(data=(1, *SHAPE[1:]), partial_shaping=True)
    part.forward(softmax_label=mx.nd.full((1,), 9))
    np.testing.assert_array_equal(executor.arg_dict["softmax_label"].asnumpy(), label)
    assert half.arg_dict["fc_weight"] is executor.arg_dict["fc_weight"]


@pytest.mark.parametrize("size", [0, -1, 1025, 100000, True, 2.0, "2"])
def test_a_size_that_is_none(size: Any) -> None:
    with pytest.raises(mx.MXNetError, match=r"^ExecutorPool: size got .*, expected .* 1 to 1024"):
        mx.executor.ExecutorPool(bound(), size)


@pytest.mark.parametrize(("inputs", "text"), [
    (3, "got 3, expected a list of names"),
    ("data", "got 'data', expected a list of names"),
    (b"data", "got b'data', expected a list of names"),
    ([["data"]], r"has \['data'\], expected a string"),
    (np.ones(2), "expected a string"),
])
def test_what_is_no_list_of_inputs(inputs: Any, text: str) -> None:
    executor = bound()
    for make in (executor.clone, lambda given: mx.executor.ExecutorPool(executor, 1, given)):
        with pytest.raises(TypeMismatch, match=f"^clone: inputs .*{text}"):
            make(inputs)
    assert executor.capture_state == "nothing ran yet"
    own = executor.clone(name for name in ["data"]).arg_dict
    assert [n for n in own if own[n] is not executor.arg_dict[n]] == ["data"]


def test_a_pool_of_what_is_no_executor() -> None:
    wrong: Any
    for wrong, kind in ((None, "NoneType"), ("x", "str"), (network(), "Symbol")):
        with pytest.raises(TypeMismatch, match=f"^ExecutorPool: executor got a {kind}, expected"):
            mx.executor.ExecutorPool(wrong)


def test_a_clone_costs_no_weights() -> None:
    executor = bound()
    for _ in range(3):
        executor.forward(data=data(0))
    weights = sum(a.nbytes for a in executor.arg_dict.values())
    gc.collect()
    before = mx.memory_stats()["live"]
    clone = executor.clone()
    for _ in range(3):
        clone.forward()
    taken = mx.memory_stats()["live"] - before
    own = (clone.inference_plan.arena_bytes + clone.outputs[0].nbytes
           + clone.arg_dict["data"].nbytes)
    scratch = clone.memory_stats["live"]
    assert taken <= own + scratch
    assert taken < 0.2 * weights, (taken, weights)
    del clone
    assert live_bytes() <= before + 4096


def test_clones_do_not_convert_a_weight_in_turn() -> None:
    """Once somebody wrote to it, each of them has copies, and later writes break no recording."""
    executor = bound()
    executor.forward(data=data(0))
    assert executor.arg_dict["fc_weight"].is_mkldnn  # and not kept so by a recording
    clones = [executor.clone() for _ in range(4)]
    for step in range(6):
        executor.arg_dict["fc_weight"][:] = 0.01 * step
        order = clones[step % 4:] + clones[:step % 4]
        for one in order:
            # who breaks settles and records anew
            for _ in range(1 if step else 3):
                one.forward(data=data(step))
        assert [one.capture_state for one in clones] == ["captured"] * 4
        for one in clones:
            np.testing.assert_allclose(one.outputs[0].asnumpy(), naive(one, step), rtol=1e-4,
                                       atol=1e-6)


def test_copies_that_a_write_made_old_are_shared_too() -> None:
    # a part of an array is never converted in place
    weight = mx.nd.ones((2, 64, 64))[1]
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=64, no_bias=True, name="fc")
    executor = net.bind(mx.cpu(), {"data": mx.nd.ones((8, 64)), "fc_weight": weight},
                        grad_req="null")
    for _ in range(3):
        executor.forward()
    weight[:] = 2
    everybody = [executor, *(executor.clone(["data"]) for _ in range(3))]
    for one in reversed(everybody):
        assert (one.forward()[0].asnumpy() == 128).all()
    made = [set(map(id, one._runs.context.packed._made.values())) for one in everybody]
    assert len(made[0]) == 1
    assert all(copies == made[0] for copies in made)


def test_each_clone_sees_what_is_written_to_the_weights() -> None:
    executor = bound()
    clones = [executor, *(executor.clone() for _ in range(2))]
    for step in range(6):
        executor.arg_dict["conv0_weight"][:] *= 1.25
        executor.aux_dict["bn1_moving_mean"][:] += 0.125
        if step == 3:
            executor.arg_dict["fc_weight"][step] = 0.5  # it is packed in place
        for i, one in enumerate(clones):
            for _ in range(3):
                got = one.forward(data=data(i))[0].asnumpy()
                np.testing.assert_allclose(got, naive(one, i), rtol=1e-4, atol=1e-6)
    assert [one.capture_state for one in clones] == ["captured"] * 3


def test_threads_settle_one_prologue_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes first folds the weights anew, once; the others wait, and read none half done.
    """
    executor = bound()
    executor.forward()
    clones = [executor.clone() for _ in range(4)]
    shared, folded = executor._runs.program_for(False).prologue, []
    run = Prologue._run

    def slow(prologue: Prologue, ctx: Any) -> None:
        if prologue is shared:
            time.sleep(0.005)
            folded.append(threading.get_ident())
        run(prologue, ctx)
    monkeypatch.setattr(Prologue, "_run", slow)
    rounds, failures = 12, []
    gate = threading.Barrier(len(clones) + 1, timeout=60)
    wanted: list[Any] = []

    def work(number: int) -> None:
        try:
            for _ in range(rounds):
                gate.wait()
                got = [clones[number].forward(data=data(number))[0].asnumpy() for _ in range(3)]
                for value in got:
                    np.testing.assert_allclose(value, wanted[number], rtol=1e-4, atol=1e-6)
                gate.wait()
        except BaseException as error:
            failures.append(error)
            gate.abort()
    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(clones))]
    for thread in threads:
        thread.start()
    try:
        for step in range(rounds):
            executor.arg_dict["conv0_weight"][:] *= 1.0 + 0.1 * (-1) ** step
            executor.arg_dict["bn1_gamma"][:] += 0.01
            wanted[:] = [naive(executor, n) for n in range(len(clones))]
            gate.wait()
            gate.wait()
    except threading.BrokenBarrierError:
        pass
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert len(folded) == rounds


def test_a_pool_serves_more_threads_than_it_has_clones() -> None:
    executor = bound()
    wanted = [naive(executor, i) for i in range(6)]
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            kept = [pool.run(data=data((number + i) % 6))[0] for i in range(20)]
            for i, output in enumerate(kept):  # copies: later runs left them alone
                np.testing.assert_allclose(output.asnumpy(), wanted[(number + i) % 6], rtol=1e-4,
                                           atol=1e-6)
        except BaseException as error:
            failures.append(error)
    with mx.executor.ExecutorPool(executor, size=2) as pool:
        assert pool.size == 2
        threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures, failures[0]
    with pytest.raises(mx.MXNetError, match="after close"):
        pool.run()


def test_an_error_gives_the_clone_back() -> None:
    executor = bound()
    with mx.executor.ExecutorPool(executor, size=1) as pool:
        with pytest.raises(ValueError, match="shape"):
            pool.run(data=np.zeros((1, 2)))
        with pytest.raises(KeyError, match="no argument"):
            pool.run(other=1)
        np.testing.assert_allclose(pool.run(data=data(1))[0].asnumpy(), naive(executor, 1),
                                   rtol=1e-4, atol=1e-6)
        with pytest.raises(ValueError, match="size got 0"):
            mx.executor.ExecutorPool(executor, size=0)
    before = live_bytes()
    with mx.executor.ExecutorPool(executor) as pool:
        assert pool.size == mx.get_num_threads()
        pool.run(data=data(0))
    assert live_bytes() <= before + 4096
