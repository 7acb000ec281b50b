"""Checks of passes: the graph that is left, and that its results are those of the naive run."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.op.dispatch import Dispatched, observe
from ndarray_rt.passes import Optimized, optimize
from ndarray_rt.symbol.node import topological
from ndarray_rt.symbol.symbol import Symbol

F32 = np.dtype(np.float32)


def optimized(net: Any, dtype: Any = F32, **shapes: tuple[int, ...]) -> Optimized:
    args, _, aux = net.infer_shape(**shapes)
    names = [*net.list_arguments(), *net.list_auxiliary_states()]
    return optimize(net.entries, dict(zip(names, [*args, *aux], strict=True)),
                    dict.fromkeys(names, np.dtype(dtype)))


def operators(heads: Any) -> list[str]:
    return [node.op.name for node in topological(heads) if node.op is not None]


def fill(executor: Any) -> None:
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        low = 0.5 if name.endswith(("var", "gamma")) else -1.0
        array[:] = rng.uniform(low, 1.5, array.shape)


def results(net: Any, **shapes: tuple[int, ...]) -> list[Any]:
    """The outputs of the third run of a graph as it is; no fused node may be left to numpy."""
    slow: list[str] = []

    def watch(call: Dispatched) -> None:
        if call.reason is not None and call.op.name.startswith("_fused"):
            slow.append(f"{call.op.name} {call.params}: {call.reason}")
    stop = observe(watch)
    try:
        with config.override(NDRT_SKIP_PASSES="all"):
            executor = net.simple_bind(mx.cpu(), grad_req="null", **shapes)
            fill(executor)
            for _ in range(3):
                outputs = [out.asnumpy() for out in executor.forward()]
    finally:
        stop()
    assert not slow, slow
    return outputs


def check(net: Any, expected: list[str] | None = None, **shapes: tuple[int, ...]) -> Optimized:
    """Equal results and names of outputs; the operators left are those expected."""
    done = optimized(net, **shapes)
    if expected is not None:
        assert operators(done.heads) == expected
    for got, want in zip(results(Symbol(done.heads), **shapes), results(net, **shapes),
                         strict=True):
        scale = np.abs(want).max() if want.size else 1.0
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * scale)
    assert Symbol(done.heads).list_outputs() == net.list_outputs()
    return done


def conv(x: Any, filters: int = 20, name: str = "c", **params: Any) -> Any:
    return mx.sym.Convolution(x, kernel=(3, 3), num_filter=filters, pad=(1, 1), name=name, **params)


DATA = mx.sym.Variable("data")
SHAPE = (2, 3, 6, 5)


def relu(x: Any, name: str = "r") -> Any:
    return mx.sym.Activation(x, act_type="relu", name=name)


def norm(x: Any, name: str = "b", **params: Any) -> Any:
    return mx.sym.BatchNorm(x, name=name, **params)
