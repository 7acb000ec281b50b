"""A failure or an interrupt in the midst of explain changes no bound array."""

from __future__ import annotations

from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt.testing.faults import Scenario, check_allocations, check_interrupts

from .test_explain import bind


def net() -> Any:
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=3, name="c")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="b")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=3, name="f"), name="s")


def scenario(is_train: bool) -> Scenario:
    executor = bind(net(), "add" if is_train else "null", data=(2, 2, 6, 6))
    arrays = {**executor.arg_dict, **executor.aux_dict,
              **{f"grad of {n}": g for n, g in executor.grad_dict.items() if g is not None}}
    executor.forward()
    return Scenario(arrays, lambda: executor.explain(is_train=is_train, repeat=1))


@pytest.mark.parametrize("is_train", [False, True])
def test_an_allocation_may_fail(is_train: bool) -> None:
    assert check_allocations(lambda: scenario(is_train), step=5) > 5


@pytest.mark.parametrize("is_train", [False, True])
def test_an_interrupt_may_come(is_train: bool) -> None:
    assert check_interrupts(lambda: scenario(is_train), step=97) > 1
