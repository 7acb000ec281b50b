"""Runs of a bound graph beside NumPy's, and what computed them."""

from __future__ import annotations

from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.symbol.symbol import Symbol

RNG = np.random.default_rng(3)


def run(net: Symbol, shape: tuple[int, ...]) -> tuple[Any, Any, list[str]]:
    """(result, result of NumPy alone, kernels)."""
    made = []
    x = RNG.standard_normal(shape).astype("f4")
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=shape)
    for name, array in executor.arg_dict.items():
        array[:] = x if name == "data" else RNG.standard_normal(array.shape) * 0.2
    for _ in range(4):  # the first runs settle and record
        made.append(executor.forward(is_train=False)[0].asnumpy())
    for other in made[1:]:
        np.testing.assert_array_equal(other, made[0])
    kernels = [row.kernel for row in executor.explain(repeat=1).rows]
    with config.override(NDRT_ONEDNN=False):
        want = executor.forward(is_train=False)[0].asnumpy()
    return made[0], want, kernels


def check_right(net: Symbol, shape: tuple[int, ...]) -> list[str]:
    """Each run equals NumPy's; the kernels."""
    made, want, kernels = run(net, shape)
    np.testing.assert_allclose(made, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())
    return kernels


def check_other_batches(net: Symbol, shape: tuple[int, ...], batches: tuple[int, ...]) -> None:
    """Bound at the first of `batches` and again at others: nothing is packed again, and all is
    right. `shape` is one sample's."""
    first = net.simple_bind(mx.cpu(), grad_req="null", data=(batches[0], *shape))
    for array in first.arg_dict.values():
        array[:] = RNG.standard_normal(array.shape) * 0.1
    first.forward(is_train=False)
    for batch in batches[1:]:
        other = first.reshape(allow_up_sizing=True, data=(batch, *shape))
        other.arg_dict["data"][:] = RNG.standard_normal((batch, *shape))
        reorders = [0]
        for _ in range(2):
            made = other.forward(is_train=False)[0].asnumpy()
            reorders.append(other.counters["reorders"])
        assert reorders[1] == reorders[2] - reorders[1], "nothing but what each run needs"
        with config.override(NDRT_ONEDNN=False):
            want = other.forward(is_train=False)[0].asnumpy()
        np.testing.assert_allclose(made, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())
