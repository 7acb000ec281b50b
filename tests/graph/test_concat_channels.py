"""Channels of images that are channels-last are joined by the native kernel, and rightly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt import config


def network(filters: list[int], dim: int = 1) -> Any:
    """Convolutions side by side, joined, and one behind."""
    data = mx.sym.Variable("data")
    data = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=32, name="first")
    parts = [mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=n, name=f"part{i}")
             for i, n in enumerate(filters)]
    joined = mx.sym.Concat(*parts, dim=dim, name="joined")
    return mx.sym.Convolution(joined, kernel=(1, 1), num_filter=16, name="last")


def run(net: Any, shape: tuple[int, ...], threads: int) -> tuple[Any, list[str]]:
    rng = np.random.default_rng(3)
    before = mx.set_num_threads(threads)
    try:
        exe = net.simple_bind(mx.cpu(), grad_req="null", data=shape)
        for array in exe.arg_dict.values():
            array[:] = rng.uniform(-1, 1, array.shape)
        for _ in range(3):
            out = exe.forward(is_train=False)[0].asnumpy()
        kernels = [row["kernel"] for row in exe.explain().as_dict()["rows"]
                   if row["node"] == "joined"]
    finally:
        mx.set_num_threads(before)
    return out, kernels


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([1, 3, 16, 20, 32]), min_size=2, max_size=5), st.integers(1, 3),
       st.integers(1, 15), st.integers(2, 15), st.integers(1, 3))
def test_equals_numpy(filters: list[int], n: int, height: int, width: int, threads: int) -> None:
    net, shape = network(filters), (n, 8, height, width)
    made, _ = run(net, shape, threads)
    with config.override(NDRT_ONEDNN=False):
        want, _ = run(net, shape, 1)
    np.testing.assert_allclose(made, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


@pytest.mark.parametrize("threads", [1, 2])
def test_which_joins_are_of_rows(threads: int) -> None:
    shape = (1, 32, 14, 14)
    assert run(network([32, 16, 48]), shape, threads)[1] == ["ndrt:concat_channels"]
    assert run(network([32] * 6), shape, threads)[1] != ["ndrt:concat_channels"]
    assert run(network([32, 32], 2), shape, threads)[1] != ["ndrt:concat_channels"]
