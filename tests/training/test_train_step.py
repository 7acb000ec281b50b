"""train_step: forward, backward and update in one call, equal to the three of them in Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import ParameterError
from ndarray_rt.op.random_state import default_random_state
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.stream import Stream
from ndarray_rt.testing import random_graph
from tests.frames import frames_of

Values = np.ndarray[Any, np.dtype[Any]]
INPUTS = ("data", "softmax_label")
SHAPE = (4, 3, 10, 10)


def network(layers: int = 2) -> mx.sym.Symbol:
    """Convolutions with batch normalisation and dropout."""
    y = mx.sym.Variable("data")
    for i in range(layers):
        y = mx.sym.Convolution(y, kernel=(3, 3), pad=(1, 1), num_filter=20, name=f"conv{i}")
        y = mx.sym.BatchNorm(y, fix_gamma=False, name=f"bn{i}")
        y = mx.sym.Activation(y, act_type="relu", name=f"relu{i}")
    y = mx.sym.Dropout(mx.sym.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max"), p=0.25)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(y, num_hidden=5, name="fc"), name="softmax")


def bound(net: mx.sym.Symbol, grad_req: str = "write") -> Any:
    executor = net.simple_bind(mx.cpu(), data=SHAPE, grad_req={
        n: "null" if n in INPUTS else grad_req for n in net.list_arguments()})
    rng = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        array[:] = (rng.integers(0, 5, array.shape) if name == "softmax_label"
                    else rng.uniform(-0.5, 0.5, array.shape))
    for name, array in executor.aux_dict.items():
        array[:] = float(name.endswith("var"))
    return executor


def batch(i: int) -> dict[str, Values]:
    rng = np.random.default_rng(i)
    return {"data": rng.standard_normal(SHAPE).astype("f4"),
            "softmax_label": rng.integers(0, 5, SHAPE[0]).astype("f4")}


def contents(executor: Any, update: Any) -> dict[str, Values]:
    found = {**executor.arg_dict, **{f"aux {n}": a for n, a in executor.aux_dict.items()},
             "output": executor.outputs[0],
             **{f"grad {n}": g for n, g in executor.grad_dict.items() if g is not None},
             **{f"{n} {i}": s for n, kept in update.states.items() for i, s in enumerate(kept)}}
    return {name: array.asnumpy() for name, array in found.items()}


class Pair:
    """Two executors with an optimizer each: one is captured, the other runs operator by operator.

    Both draw the same random numbers.
    """

    def __init__(self, grad_req: str = "write") -> None:
        self.ours, self.naive = (bound(network(), grad_req) for _ in range(2))
        self.updates = [one.bind_update("adam_update", lr=0.01, wd=1e-3)
                        for one in (self.ours, self.naive)]

    def step(self, i: int) -> None:
        lr = 0.01 / (i + 1)
        for update in self.updates:
            update.set(lr=lr)
        mx.random.seed(i)
        self.ours.train_step(self.updates[0], **batch(i))
        state = default_random_state().get_state()
        mx.random.seed(i)
        with config.override(NDRT_CAPTURE=False):
            self.naive.forward(is_train=True, **batch(i))
            self.naive.backward()
            self.updates[1]()
        assert default_random_state().get_state() == state

    def check(self) -> None:
        ours, naive = contents(self.ours, self.updates[0]), contents(self.naive, self.updates[1])
        for name, want in naive.items():
            np.testing.assert_allclose(ours[name], want, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_captured_steps_equal_naive_ones(grad_req: str) -> None:
    """Weights, optimizer's states, batch statistics, dropout for one seed, step by step."""
    pair = Pair(grad_req)
    for i in range(8):
        pair.step(i)
        pair.check()
        if grad_req == "add":
            for executor in (pair.ours, pair.naive):
                for grad in executor.grad_dict.values():
                    if grad is not None:
                        grad[:] = 0
    assert set(pair.ours.capture_states.values()) == {"captured"}
    assert pair.updates[0].capture_state == "captured"
    assert set(pair.naive.capture_states.values()) != {"captured"}


def test_random_words_and_statistics_move_once_a_step() -> None:
    executor = bound(network())
    update = executor.bind_update("sgd_update", lr=0.0)
    mx.random.seed(3)
    outputs = [executor.train_step(update)[0].asnumpy() for _ in range(6)]
    moved = executor.aux_dict["bn0_moving_mean"].asnumpy()
    other = bound(network())
    mx.random.seed(3)
    with config.override(NDRT_CAPTURE=False):
        for want in outputs:
            np.testing.assert_allclose(other.forward(is_train=True)[0].asnumpy(), want, rtol=1e-5,
                                       atol=1e-6)
            other.backward()
    np.testing.assert_allclose(other.aux_dict["bn0_moving_mean"].asnumpy(), moved, rtol=1e-5,
                               atol=1e-6)


def test_a_captured_step_runs_no_python_for_its_layers() -> None:
    entered = []
    for layers in (1, 4):
        executor = bound(network(layers))
        update = executor.bind_update("sgd_mom_update", lr=0.1, momentum=0.9)
        for _ in range(4):
            executor.train_step(update)
        entered.append(frames_of(lambda e=executor, u=update: e.train_step(u)))
    assert entered[0] == entered[1]
    assert "run_forward" not in entered[0]
    assert len(entered[0]) < 20


def seeded(executor: Any, *, with_backward: bool) -> None:
    mx.random.seed(9)
    executor.forward(is_train=True)
    if with_backward:
        executor.backward()


def change_gradient(executor: Any) -> None:
    executor.grad_dict["conv1_weight"]._chunk.reorder(
        tagged_desc(np.dtype("f4"), (20, 20, 3, 3), "acdb"), Stream())


CHANGES: dict[str, Callable[[Any], object]] = {
    "a weight is written to": lambda e: e.arg_dict["conv0_weight"].__imul__(0.5),
    "a gradient changes its layout": change_gradient,
    "threads": lambda e: mx.set_num_threads(3 - mx.get_num_threads()),
    "inference": lambda e: e.forward(),
    "a step of its own": partial(seeded, with_backward=True),
    "a forward alone": partial(seeded, with_backward=False),
    "a switch": lambda e: config.note_change(),
    "an output is read in part": lambda e: e.outputs[0][1].asnumpy(),
    "explain": lambda e: e.explain(is_train=True, repeat=1),
}


@pytest.mark.parametrize("what", CHANGES)
def test_changes_between_steps_are_seen(what: str) -> None:
    """A guard that breaks between forward and backward too: each part is done once."""
    pair = Pair()
    threads = mx.get_num_threads()
    try:
        for i in range(12):
            if i in (4, 8):
                CHANGES[what](pair.ours)
                with config.override(NDRT_CAPTURE=False):
                    if what != "threads":
                        CHANGES[what](pair.naive)
            pair.step(i)
            pair.check()
    finally:
        mx.set_num_threads(threads)
    assert set(pair.ours.capture_states.values()) <= {
        "captured", "the first run settled layouts and scratch, the next one is recorded"}
    assert pair.ours.capture_states["backward, training"] == "captured"


def test_backward_needs_a_forward_after_a_step() -> None:
    executor = bound(network())
    update = executor.bind_update("sgd_update", lr=0.1)
    for _ in range(5):
        executor.train_step(update)
        if executor.plan.backward_repeats:
            executor.backward()
        else:
            with pytest.raises(mx.MXNetError, match="second time"):
                executor.backward()


def test_outputs_without_a_loss_need_gradients() -> None:
    y = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    executors = [y.simple_bind(mx.cpu(), data=(2, 4)) for _ in range(2)]
    for executor in executors:
        for array in executor.arg_dict.values():
            array[:] = np.random.default_rng(1).standard_normal(array.shape)
    with pytest.raises(mx.MXNetError, match="out_grads"):
        executors[0].train_step()
    for i in range(5):
        head = mx.nd.full((2, 3), i + 1.0)
        executors[0].train_step(out_grads=head)
        executors[1].forward(is_train=True)
        executors[1].backward(head)
        for got, want in zip(executors[0].grad_arrays, executors[1].grad_arrays, strict=True):
            np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())


def test_a_step_inside_its_own_monitor_is_refused() -> None:
    executor = bound(network())
    update = executor.bind_update("sgd_update", lr=0.1)
    refused = []

    def monitor(name: str, array: mx.nd.NDArray) -> None:
        for call in (update, lambda: executor.train_step(update)):
            with pytest.raises(mx.MXNetError, match="in this very thread"):
                call()
        refused.append(name)
    executor.train_step(update)
    executor.set_monitor_callback(monitor)
    for _ in range(2):
        executor.train_step(update)
    assert len(refused) > 10


def test_gradients_that_nothing_depends_on_are_zeros() -> None:
    """Of labels: at each step, whoever wrote to them in between."""
    executor = network().simple_bind(mx.cpu(), data=SHAPE)
    label = executor.grad_dict["softmax_label"]
    weights = [n for n in executor.arg_dict if n not in INPUTS]
    update = executor.bind_update("sgd_update", lr=0.1, names=weights)
    exported = None
    for i in range(9):
        label_grad = label if exported is None else exported
        label_grad[:] = 7
        if i == 6:
            exported = np.from_dlpack(label)
        executor.train_step(update, **batch(i))
        np.testing.assert_array_equal(label.asnumpy(), np.zeros(SHAPE[0]))
    assert executor._runs.chain is not None


@pytest.mark.parametrize("loss", [False, True])
def test_inference_between_steps_records_nothing_again(loss: bool) -> None:
    """The outputs are one memory for both, in another layout for each where they may be."""
    y = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=20, name="conv0")
    y = mx.sym.Convolution(mx.sym.Activation(y, act_type="relu"), kernel=(3, 3), num_filter=18,
                           name="conv1")
    net = mx.sym.make_loss(y) if loss else y
    executor, naive = (net.simple_bind(mx.cpu(), data=SHAPE) for _ in range(2))
    for one in (executor, naive):
        for name, array in one.arg_dict.items():
            array[:] = np.random.default_rng(len(name)).uniform(-0.2, 0.2, array.shape)
    updates = [one.bind_update("sgd_update", lr=0.01) for one in (executor, naive)]
    head = None if loss else mx.nd.ones(executor.outputs[0].shape)
    kept: list[Any] = []
    for i in range(10):
        seen = []
        for one, update, capture in zip((executor, naive), updates, (True, False), strict=True):
            with config.override(NDRT_CAPTURE=capture):
                seen.append([one.forward()[0].asnumpy(),
                             one.train_step(update, out_grads=head)[0].asnumpy(),
                             one.outputs[0][1].asnumpy(),
                             *(g.asnumpy() for g in one.grad_arrays)])
        for got, want in zip(*seen, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        if i > 2:
            full = executor._training.program
            lean = executor._inference.program or full
            kept.append([full.forward_capture(True).captured, full.backward_capture().captured,
                         lean.forward_capture().captured, updates[0].captured])
    assert set(executor.capture_states.values()) == {"captured"}
    assert None not in kept[0]
    assert all(recordings == kept[0] for recordings in kept)


@pytest.mark.parametrize("seed", range(12))
def test_steps_of_random_graphs(seed: int) -> None:
    """Whole steps, recorded and replayed, give what forward and backward give step by step."""
    # the seed's first graph that has gradients
    graph = next(graph for graph in (random_graph(seed=seed + 100 * i) for i in range(100))
                 if graph.bind().requests)
    executors = [graph.bind() for _ in range(2)]
    for i in range(5):
        results = []
        for ours, executor in zip((True, False), executors, strict=True):
            heads = [mx.nd.full(y.shape, 0.5 + i, dtype=y.dtype) for y in executor.outputs]
            mx.random.seed(i)
            if ours:
                executor.train_step(out_grads=heads)
            else:
                with config.override(NDRT_CAPTURE=False):
                    executor.forward(is_train=True)
                    executor.backward(heads)
            results.append([a.asnumpy() for a in (
                *executor.outputs, *executor.aux_arrays, *executor.grad_arrays) if a is not None])
        for got, want in zip(*results, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max(
                initial=1), equal_nan=True)


def test_what_is_no_update_is_refused_before_anything_runs() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    executor = net.simple_bind(mx.cpu(), grad_req="add", data=(2, 3))
    for bad in ("sgd", 0.1, mx.nd.ones((1,))):
        with pytest.raises(mx.MXNetError, match="train_step: update got a"):
            executor.train_step(bad, data=mx.nd.ones((2, 3)), out_grads=mx.nd.ones((2, 2)))
    assert not executor.grad_dict["fc_bias"].asnumpy().any()
    assert not executor.arg_dict["data"].asnumpy().any()


def test_an_update_of_another_executor_is_refused_before_anything_runs() -> None:
    pairs = [(one, one.bind_update("sgd_mom_update", lr=0.1, momentum=0.9))
             for one in (bound(network()), bound(network()))]
    (ours, update), (other, theirs) = pairs
    for i in range(5):  # before anything is recorded, and when all of it is
        for executor, own in pairs:
            executor.train_step(own, **batch(i))
        before = [contents(*pair) for pair in pairs]
        for executor, wrong in ((ours, theirs), (other, update)):
            with pytest.raises(ParameterError, match=r"^train_step: update got one of another ex"):
                executor.train_step(wrong, **batch(i + 1))
        for kept, pair in zip(before, pairs, strict=True):
            for name, value in contents(*pair).items():
                np.testing.assert_array_equal(value, kept[name], err_msg=name)
    assert update.capture_state == theirs.capture_state == "captured"
    assert ours._runs.chain is not None


def test_the_same_weights_with_other_gradients_have_another_update() -> None:
    ours = bound(network())
    same = ours.symbol.bind(
        mx.cpu(), ours.arg_dict, {n: g.copy() for n, g in ours.grad_dict.items() if g is not None},
        aux_states=ours.aux_dict)
    with pytest.raises(ParameterError, match="'conv0_weight' or its gradient is no array of this"):
        same.train_step(ours.bind_update("sgd_update", lr=0.1))


def test_an_executor_of_another_batch_size_goes_on_with_the_update() -> None:
    ours, naive = bound(network(1)), bound(network(1))
    updates = [one.bind_update("sgd_mom_update", lr=0.1, momentum=0.9) for one in (ours, naive)]
    small = [one.reshape(data=(2, *SHAPE[1:]), softmax_label=(2,)) for one in (ours, naive)]
    for i in range(6):
        parts = {name: value[:2] for name, value in batch(i).items()}
        mx.random.seed(i)
        ours.train_step(updates[0], **batch(i))
        small[0].train_step(updates[0], **parts)
        mx.random.seed(i)
        with config.override(NDRT_CAPTURE=False):
            for one, given in ((naive, batch(i)), (small[1], parts)):
                one.forward(is_train=True, **given)
                one.backward()
                updates[1]()
        for name, want in contents(naive, updates[1]).items():
            if name not in INPUTS:
                np.testing.assert_allclose(contents(ours, updates[0])[name], want, rtol=1e-4,
                                           atol=1e-5, err_msg=name)
