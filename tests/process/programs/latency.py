"""Ctrl-C while something runs: how long until KeyboardInterrupt? The argument says what runs.

Prints the longest step and the median time from signal to exception, in milliseconds.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import threading
import time

import numpy as np

import ndarray_rt as mx

what = sys.argv[1]
LAYERS = 60
net = mx.sym.var("data")
for i in range(LAYERS):
    net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=32, no_bias=True,
                             name=f"conv{i}")
    net = mx.sym.Activation(net, act_type="tanh")
numbers = np.random.default_rng(0)
arguments = {"data": mx.nd.array(numbers.standard_normal((4, 32, 56, 56)).astype("f4"))}
for i in range(LAYERS):
    arguments[f"conv{i}_weight"] = mx.nd.array(
        numbers.standard_normal((32, 32, 3, 3)).astype("f4") * np.float32(0.05))
if what == "steps":
    mx.config.set("NDRT_CAPTURE", False)
executor = net.bind(mx.cpu(), arguments)
if what == "training":
    net = mx.sym.make_loss(mx.sym.mean(net))
    trained = {name: array.copy() for name, array in arguments.items()}
    training = net.bind(mx.cpu(), trained,
                        {name: mx.nd.zeros(array.shape) for name, array in trained.items()})
    update = training.bind_update("sgd_update", lr=0.0)
    for _ in range(4):
        training.train_step(update)
    assert set(training.capture_states.values()) == {update.capture_state} == {"captured"}
for _ in range(4):
    right = executor.forward()[0].asnumpy()
assert what == "steps" or executor.capture_state == "captured", executor.capture_state


def step() -> None:
    mx.nd.Convolution(arguments["data"], arguments["conv0_weight"], kernel=(3, 3), pad=(1, 1),
                      num_filter=32, no_bias=True)


def run() -> None:
    if what == "imperative":
        for _ in range(LAYERS):
            step()
    elif what == "bind":
        net.bind(mx.cpu(), arguments).forward()
    elif what == "training":
        training.train_step(update)
    else:
        executor.forward()


step()
steps = []
for _ in range(20):
    start = time.perf_counter()
    step()
    steps.append(time.perf_counter() - start)
start = time.perf_counter()
run()
whole = time.perf_counter() - start

sent = 0.0


def press(after: float) -> None:
    global sent
    time.sleep(after)
    sent = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)


waited: list[float] = []
while len(waited) < 9:
    finger = threading.Thread(target=press, args=(numbers.uniform(0.1, 0.9) * whole,))
    finger.start()
    try:
        while True:
            run()
    except KeyboardInterrupt:
        waited.append(time.perf_counter() - sent)
    finger.join()
np.testing.assert_array_equal(executor.forward()[0].asnumpy(), right)
leases = [mx.native.lib.ndrt_chunk_lease(array._chunk.native)
          for array in (*arguments.values(), *executor.outputs)]
assert not any(leases), leases
print(max(steps) * 1e3, statistics.median(waited) * 1e3, whole * 1e3)
