"""Interrupts at random moments of thousands of calls: what is held comes back, values stay whole.

Arguments: seed, seconds. A timer's signal raises KeyboardInterrupt, as Ctrl-C does, some
microseconds into each round; after each of them the arrays hold old or new values, nothing is
leased, and the next call goes through. Prints how many interrupts struck where.
"""

from __future__ import annotations

import faulthandler
import gc
import random
import signal
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt.storage.handle import memory_stats

faulthandler.dump_traceback_later(120, exit=True)
seed, seconds = int(sys.argv[1]), float(sys.argv[2])
rng, numbers = random.Random(seed), np.random.default_rng(seed)
F = np.float32


def fresh(*shape: int) -> np.ndarray[Any, Any]:
    return numbers.standard_normal(shape).astype(F)


def relu(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.maximum(value, 0)


class Interrupted(KeyboardInterrupt):
    """Ours, so that no other one is taken for it."""


armed = False


def strike(number: int, frame: object) -> None:
    # the system may give the signal to another thread, which comes to it when all is over
    if armed:
        raise Interrupted


signal.signal(signal.SIGALRM, strike)


class Known:
    """An array and the values that it may have."""

    def __init__(self, name: str, value: np.ndarray[Any, Any]) -> None:
        self.name = name
        self.array = mx.nd.array(value)
        self.may_be = [value]

    def settle(self, what: str) -> None:
        """Reads the array, and keeps the value that it has."""
        got = self.array.asnumpy()
        for value in self.may_be:
            if np.allclose(got, value, rtol=1e-4, atol=1e-4):
                self.may_be = [value]
                return
        raise AssertionError(f"after an interrupted {what}: {self.name} has neither the "
                             f"old nor the new value; layout {self.array.layout}, off by "
                             f"{[float(np.abs(got - v).max()) for v in self.may_be]}")

    @property
    def value(self) -> np.ndarray[Any, Any]:
        return self.may_be[-1]


X = Known("x", fresh(2, 16, 6, 6))
Y = Known("y", fresh(2, 16, 6, 6))
SMALL = Known("small", fresh(2, 16, 3, 3))
W = Known("w", fresh(16, 16, 1, 1))
FILTERED = Known("filtered", fresh(2, 16, 6, 6))
ALL = [X, Y, SMALL, W, FILTERED]

data = mx.sym.var("data")
net = mx.sym.Convolution(data, kernel=(1, 1), num_filter=16, no_bias=True, name="conv")
for i in range(6):
    net = mx.sym.Activation(mx.sym.Convolution(net, kernel=(1, 1), num_filter=16, no_bias=True,
                                               name=f"conv{i}"), act_type="tanh")
bound = {name: mx.nd.array(fresh(16, 16, 1, 1) * F(0.2)) for name in net.list_arguments()[1:]}
bound["data"] = mx.nd.array(fresh(2, 16, 6, 6))
executor = net.bind(mx.cpu(), bound)
shared = net.bind(mx.cpu(), bound)
alone = net.bind(mx.cpu(), {name: array.copy() for name, array in bound.items()})
values = {name: array.asnumpy() for name, array in bound.items()}


def through(x: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.einsum("oi,nihw->nohw", w[:, :, 0, 0], x)


def of_net() -> np.ndarray[Any, Any]:
    y = through(values["data"], values["conv_weight"])
    for i in range(6):
        y = np.tanh(through(y, values[f"conv{i}_weight"]))
    return y


WANTED = ALWAYS = of_net()

# an executor of the net with outputs in between, and what they are for two inputs; its reshaped
# ones record their first run where they capture
DEPTH = 3
shape = (2, 16, 6, 6)
heads = [mx.sym.var("data")]
for i in range(DEPTH):
    heads.append(mx.sym.Activation(mx.sym.Convolution(
        heads[-1], kernel=(1, 1), num_filter=16, no_bias=True, name=f"deep{i}"), act_type="tanh"))
deep_weights = [fresh(16, 16, 1, 1) * F(0.2) for _ in range(DEPTH)]
deep = mx.sym.Group(heads[1:]).bind(mx.cpu(), {
    "data": mx.nd.array(fresh(*shape)),
    **{f"deep{i}_weight": mx.nd.array(w) for i, w in enumerate(deep_weights)}})
deep.forward()
inputs = [fresh(*shape), fresh(*shape)]
of_inputs: list[list[np.ndarray[Any, Any]]] = []
for value in inputs:
    of_inputs.append([])
    for w in deep_weights:
        value = np.tanh(through(value, w))
        of_inputs[-1].append(value)
DEEP: list[Known] = []


def operator_with_out() -> None:
    Y.may_be.append(relu(X.value))
    mx.nd.relu(X.array, out=Y.array)


def convolution_with_out() -> None:
    FILTERED.may_be.append(through(X.value, W.value))
    mx.nd.Convolution(X.array, W.array, kernel=(1, 1), num_filter=16, no_bias=True,
                      out=FILTERED.array)


def pooling_with_out() -> None:
    value = X.value.reshape(2, 16, 3, 2, 3, 2).max((3, 5))
    SMALL.may_be.append(value)
    mx.nd.Pooling(X.array, kernel=(2, 2), stride=(2, 2), pool_type="max", out=SMALL.array)


def in_place() -> None:
    Y.may_be.append(Y.value + F(1))
    Y.array += 1


def in_place_of_a_view() -> None:
    value = Y.value.copy()
    value[1] = relu(X.value[1])
    Y.may_be.append(value)
    mx.nd.relu(X.array[1], out=Y.array[1])


def numpy_operator() -> None:
    Y.may_be.append(np.floor(X.value))
    mx.nd.floor(X.array, out=Y.array)


def assignment() -> None:
    known = rng.choice(ALL)
    value = fresh(*known.value.shape)
    known.may_be.append(value)
    known.array[:] = value


def assignment_of_a_part() -> None:
    value = X.value.copy()
    value[0, 3:5] = 7
    X.may_be.append(value)
    X.array[0, 3:5] = 7


def copy_of_an_array() -> None:
    Y.may_be.append(X.value)
    X.array.copyto(Y.array)


def reorder() -> None:
    known = rng.choice(ALL)
    known.array.reorder(rng.choice(["acdb", "aBcd16b"]))


def back_to_default() -> None:
    rng.choice(ALL).array.reorder_to_default()


def read() -> None:
    known = rng.choice(ALL)
    assert np.allclose(known.array.asnumpy(), known.value, rtol=1e-4, atol=1e-4)


def read_a_view() -> None:
    known = rng.choice(ALL)
    assert np.allclose(known.array[1].asnumpy(), known.value[1], rtol=1e-4, atol=1e-4)


def run() -> None:
    runner = rng.choice([executor, shared])
    out = runner.forward()[0]
    assert np.allclose(out.asnumpy(), WANTED, rtol=1e-3, atol=1e-3)


def replay() -> None:
    assert np.allclose(alone.forward()[0].asnumpy(), ALWAYS, rtol=1e-3, atol=1e-3)


def run_with_new_weights() -> None:
    global WANTED
    name = rng.choice([name for name in bound if name != "data"])
    values[name] = fresh(16, 16, 1, 1) * F(0.2)
    WANTED = of_net()
    bound[name][:] = values[name]
    run()


def recorded_run() -> None:
    """Its operators are called first, and their steps run behind them."""
    made = deep.reshape(data=shape)
    DEEP.clear()
    with mx.config.override(NDRT_CAPTURE=False):
        made.forward(data=inputs[0])
    for array, *may_be in zip(made.outputs, *of_inputs, strict=True):
        known = Known("deep", np.zeros(1, F))
        known.array, known.may_be = array, may_be
        DEEP.append(known)
    made.forward(data=inputs[1])
    for known in DEEP:
        known.may_be = known.may_be[1:]


def gradient() -> None:
    w = mx.nd.array(W.value)
    w.attach_grad()
    with mx.autograd.record():
        loss = (mx.nd.Convolution(X.array, w, kernel=(1, 1), num_filter=16, no_bias=True)).sum()
    loss.backward()
    assert np.allclose(w.grad.asnumpy()[0, :, 0, 0], X.value.sum((0, 2, 3)), rtol=1e-2, atol=1e-2)


ACTIONS = [operator_with_out, convolution_with_out, pooling_with_out, in_place, in_place_of_a_view,
           numpy_operator, assignment, assignment_of_a_part, copy_of_an_array, reorder,
           back_to_default, read, read_a_view, run, replay, replay, run_with_new_weights,
           recorded_run, recorded_run, gradient]


def leased() -> list[tuple[int, ...]]:
    arrays = [known.array for known in ALL] + list(bound.values())
    arrays += [*executor.outputs, *shared.outputs, *alone.outputs, *alone.arg_arrays]
    return [array.shape for array in arrays if mx.native.lib.ndrt_chunk_lease(array._chunk.native)]


for action in ACTIONS * 3:
    action()
    for known in ALL + DEEP:
        known.settle(action.__name__)
durations = {}
for action in ACTIONS:
    start = time.perf_counter()
    action()
    durations[action] = time.perf_counter() - start
    for known in ALL + DEEP:
        known.settle(action.__name__)

struck: Counter[str] = Counter()
rounds, end = 0, time.monotonic() + seconds
before = memory_stats()["live"]
while time.monotonic() < end:
    rounds += 1
    action = rng.choice(ACTIONS)
    interrupted = False
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 1.2 * durations[action]))
        action()
        armed = False
    except Interrupted:
        interrupted = True
    armed = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    if interrupted:
        struck[action.__name__] += 1
        mx.autograd.set_recording(False)
        mx.autograd.set_training(False)
        # of an override that was struck while it ended
        mx.config.set("NDRT_CAPTURE", True)
        if action is run_with_new_weights:
            for name in values:
                values[name] = bound[name].asnumpy()
            WANTED = of_net()
    held = leased()
    assert not held, f"an interrupted {action.__name__} left leases on {held}"
    for known in ALL + DEEP:
        known.settle(action.__name__)
    packers = [array._chunk.native.packers for array in bound.values()]
    assert max(packers) <= 2, f"an interrupted {action.__name__} left packers: {packers}"
for action in ACTIONS:
    action()
print(f"{rounds} rounds, {sum(struck.values())} interrupts: {dict(struck)}")
assert set(struck) == {action.__name__ for action in ACTIONS}, struck
assert alone.capture_state == "captured", alone.capture_state
gc.collect()
after = memory_stats()["live"]
assert after < before + (64 << 10), f"live bytes: {before} -> {after}"
print("done")
