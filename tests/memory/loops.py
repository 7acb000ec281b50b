"""Loops to be run in a process of their own: `python -m tests.memory.loops NAME STEPS`.

Each prints one line of JSON: how far resident memory and the counters moved after the warm-up.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import random
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import ndarray_rt as mx

from .sequences import channel_pairs

Step = Callable[[], object]
CHANNELS, FILTERS = 16, 32


def resident() -> float:
    """MiB of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def facts() -> dict[str, float]:
    gc.collect()
    cache = mx.cache_stats()
    return {"rss": resident(), "live": mx.memory_stats()["live"], "objects": len(gc.get_objects()),
            **{name: cache[name] for name in
               ("groups", "entries", "primitives", "kept", "layouts", "reorders")}}


def shapes() -> Callable[[], tuple[int, int, int]]:
    """Batch, height, width at random."""
    rng = random.Random(7)
    return lambda: (rng.randint(1, 8), rng.randint(8, 64), rng.randint(8, 64))


# ---- one convolution, many shapes ---------------------------------------------------------------


def imperative_shapes() -> Step:
    weight, bias, shape = mx.nd.ones((FILTERS, CHANNELS, 3, 3)), mx.nd.zeros((FILTERS,)), shapes()

    def step() -> None:
        batch, height, width = shape()
        data = mx.nd.zeros((batch, CHANNELS, height, width))
        mx.nd.Convolution(data, weight, bias, kernel=(3, 3), num_filter=FILTERS)
    return step


def _convolution() -> Any:
    return mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=FILTERS,
                              name="conv")


def reshape_shapes() -> Step:
    whole, shape = _convolution().simple_bind(data=(8, CHANNELS, 64, 64), grad_req="null"), shapes()

    def step() -> None:
        batch, height, width = shape()
        whole.reshape(data=(batch, CHANNELS, height, width)).forward()
    return step


def bind_shapes() -> Step:
    symbol, shape = _convolution(), shapes()

    def step() -> None:
        batch, height, width = shape()
        symbol.simple_bind(data=(batch, CHANNELS, height, width), grad_req="null").forward()
    return step


# ---- convolutions of random channels: oneDNN keeps what it generated for each -------------------


def channels() -> Step:
    pairs = channel_pairs()

    def step() -> None:
        ins, outs = next(pairs)
        mx.nd.Convolution(mx.nd.zeros((1, ins, 8, 8)), mx.nd.zeros((outs, ins, 3, 3)),
                          kernel=(3, 3), num_filter=outs, no_bias=True)
    return step


# ---- fixed shapes -------------------------------------------------------------------------------


def _data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return (mx.nd.array(rng.random((4, 3, 12, 12), np.float32)),
            mx.nd.array(rng.integers(0, 10, 4).astype(np.float32)))


def imperative_training() -> Step:
    data, label = _data()
    rng = np.random.default_rng(1)
    params = [mx.nd.array(rng.random(shape, np.float32) * 0.1)
              for shape in ((8, 3, 3, 3), (8,), (10, 800), (10,))]
    for param in params:
        param.attach_grad()

    def step() -> None:
        with mx.autograd.record():
            y = mx.nd.Convolution(data, params[0], params[1], kernel=(3, 3), num_filter=8)
            y = mx.nd.relu(y)
            y = mx.nd.FullyConnected(y, params[2], params[3], num_hidden=10)
            y = mx.nd.SoftmaxOutput(y, label)
        y.backward()
        for param in params:
            mx.nd.sgd_update(param, param.grad, lr=1e-4, out=param)
    return step


def _network() -> Any:
    y = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=8, name="conv")
    y = mx.sym.Activation(y, act_type="relu")
    y = mx.sym.FullyConnected(y, num_hidden=10, name="fc")
    return mx.sym.SoftmaxOutput(y, mx.sym.Variable("label"), name="softmax")


def executor_training() -> Step:
    data, label = _data()
    executor = _network().simple_bind(data=data.shape, label=label.shape)

    def step() -> None:
        executor.forward(is_train=True, data=data, label=label)
        executor.backward()
        for name, grad in executor.grad_dict.items():
            if name not in ("data", "label"):
                array = executor.arg_dict[name]
                mx.nd.sgd_update(array, grad, lr=1e-4, out=array)
    return step


def captured_inference() -> Step:
    data, _ = _data()
    executor = _network().simple_bind(data=data.shape, grad_req="null")
    for _ in range(3):
        executor.forward(data=data)
    assert executor.capture_state == "captured", executor.capture_state
    return lambda: executor.forward(data=data)


def calibrated_inference() -> Step:
    data, _ = _data()
    executor = _network().simple_bind(data=data.shape, grad_req="null")
    for array in executor.arg_dict.values():
        array[:] = np.random.default_rng(1).uniform(-1, 1, array.shape)
    executor.calibrate([data], calib_mode="naive", data_names=["data"])
    for _ in range(3):
        executor.forward(data=data)
    assert executor.capture_state == "captured", executor.capture_state
    return lambda: executor.forward(data=data)


# ---- plans that come and go ----------------------------------------------------------------------


def dropped_plans() -> Step:
    """Executors and CachedOps of one network, of a few batch sizes, each gone after its run."""
    x = mx.sym.Variable("data")
    y = x + mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=CHANNELS, name="first")
    y = mx.sym.Activation(y, act_type="relu")
    y = mx.sym.Convolution(y, kernel=(1, 1), num_filter=FILTERS, name="second")
    y = mx.sym.Activation(y, act_type="sigmoid")
    y = mx.sym.Deconvolution(y, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=CHANNELS,
                             name="third")
    symbol, batches = mx.sym.Activation(y, act_type="relu"), itertools.cycle((1, 2, 3))

    def step() -> None:
        batch = next(batches)
        made = symbol.simple_bind(data=(batch, CHANNELS, 12, 12), grad_req="null")
        made.forward()
        mx.nd.CachedOp(symbol)(*made.arg_arrays)
        if batch == 3:
            mx.clear_cache()
    return step


# ---- numbers that never come again --------------------------------------------------------------


def _numbered(*forms: Callable[[Any, float], object]) -> Step:
    """Each of the forms with a new number at each step."""
    x = mx.nd.array(np.linspace(-1, 2, 64, dtype="float32").reshape(8, 8))
    numbers = itertools.count()

    def step() -> None:
        s = 2 + next(numbers) * 1e-7
        for form in forms:
            form(x, s)
    return step


def new_numbers() -> Step:
    nd, w = mx.nd, mx.nd.ones((8, 8))

    def in_place(x: Any, s: float) -> None:
        nonlocal w
        w -= s * x
        nd.sgd_update(w, x, lr=s, out=w)
    return _numbered(
        lambda x, s: x + s, lambda x, s: x - s, lambda x, s: s - x, lambda x, s: x * s,
        lambda x, s: x / s, lambda x, s: s / x, nd.maximum, nd.minimum, lambda x, s: x > s,
        lambda x, s: nd.clip(x, -s, s), lambda x, s: nd.softmax(x, temperature=s),
        lambda x, s: nd.LeakyReLU(x, act_type="leaky", slope=s),
        lambda x, s: nd.linalg.gemm2(x, x, alpha=s), in_place)


def new_numbers_on_tape() -> Step:
    w = mx.nd.ones((8, 8))
    w.attach_grad()

    def step(x: Any, s: float) -> None:
        with mx.autograd.record():
            y = mx.nd.softmax(w * s + x, temperature=s)
        y.backward()
    return _numbered(step)


def new_keys() -> Step:
    nd = mx.nd
    return _numbered(
        lambda x, s: nd.LeakyReLU(x, act_type="elu", slope=s),
        lambda x, s: nd.LRN(x.reshape((1, 8, 8, 1)), nsize=3, alpha=s),
        lambda x, s: nd.LayerNorm(x, x[0], x[1], eps=s), lambda x, s: x ** s,
        lambda x, s: nd.linalg.gemm(x, x, x, alpha=s, beta=0.5))


def new_graphs() -> Step:
    def step(x: Any, s: float) -> None:
        y = mx.sym.clip(mx.sym.var("x") * s, -s, s)
        y.bind(mx.cpu(), {"x": x}).forward()
        mx.nd.CachedOp(y)(x)
    return _numbered(step)


LOOPS: dict[str, Callable[[], Step]] = {
    made.__name__: made for made in (imperative_shapes, reshape_shapes, bind_shapes, channels,
                                     imperative_training, executor_training, captured_inference,
                                     calibrated_inference, dropped_plans,
                                     new_numbers, new_numbers_on_tape, new_keys, new_graphs)}


def main(name: str, warm_up: int, steps: int) -> None:
    step = LOOPS[name]()
    for _ in range(warm_up):
        step()
    before = facts()
    for _ in range(steps):
        step()
    after = facts()
    mx.clear_cache()
    mx.trim()
    cleared = facts()
    told = {"grown": {what: after[what] - before[what] for what in after}, "after": after,
            "cleared": cleared}
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
