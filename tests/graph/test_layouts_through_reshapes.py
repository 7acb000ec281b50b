"""Reshapes that add or take away axes of size 1, or join axes that lie together, keep layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.symbol.symbol import Symbol

SHAPE = (2, 32, 6, 1)


def convolved(x: Symbol, name: str, kernel: tuple[int, ...]) -> Symbol:
    return mx.sym.Convolution(x, kernel=kernel, num_filter=48, no_bias=True, name=name)


CHANGES: dict[str, Callable[[Symbol], Symbol]] = {
    "squeezed": lambda x: mx.sym.squeeze(x, axis=3),
    "joined": lambda x: mx.sym.Reshape(x, shape=(0, 0, -1)),
    "longer": lambda x: mx.sym.Reshape(x, shape=(0, 0, 0, 0, 1)),
    "moved": lambda x: mx.sym.Reshape(x, shape=(0, 0, 1, -1)),
    "flat": lambda x: mx.sym.Flatten(x),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("is_read_before", [False, True])
def test_values(what: str, is_read_before: bool) -> None:
    first = convolved(mx.sym.Variable("x"), "first", (3, 1))
    changed = CHANGES[what](first)
    heads = [mx.sym.exp(changed)] + ([mx.sym.tanh(first)] if is_read_before else [])
    executor = mx.sym.Group(heads).simple_bind(mx.cpu(), grad_req="null", x=SHAPE)
    rng = np.random.default_rng(2)
    executor.arg_dict["first_weight"][:] = rng.uniform(-1, 1, (48, 32, 3, 1))
    for _ in range(4):
        executor.arg_dict["x"][:] = rng.uniform(-1, 1, SHAPE)
        made = [y.asnumpy() for y in executor.forward()]
        with mx.config.override(NDRT_ONEDNN=0):
            whole = mx.nd.Convolution(executor.arg_dict["x"], executor.arg_dict["first_weight"],
                                      kernel=(3, 1), num_filter=48, no_bias=True).asnumpy()
        np.testing.assert_allclose(made[0], np.exp(whole).reshape(made[0].shape), rtol=1e-4)
        if is_read_before:
            np.testing.assert_allclose(made[1], np.tanh(whole), rtol=1e-4, atol=1e-5)
    assert executor.capture_state == "captured"


def test_no_layout_is_converted_between_convolutions_of_columns_and_of_rows() -> None:
    first = convolved(mx.sym.Variable("x"), "first", (3, 1))
    net = convolved(mx.sym.squeeze(first, axis=3), "second", (2,))
    net = convolved(mx.sym.expand_dims(mx.sym.relu(net), axis=2), "third", (1, 2))
    executor = net.simple_bind(mx.cpu(), grad_req="null", x=SHAPE)
    for _ in range(3):
        executor.forward()
    rows: list[Any] = list(executor.explain().rows)
    reorders = {row.node: len(row.reorders) for row in rows}
    # into the first convolution only
    assert sum(reorders.values()) == reorders["first"], reorders
