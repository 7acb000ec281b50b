"""Calls of a CachedOp in which every allocation fails once, or that are interrupted everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt import autograd
from ndarray_rt.testing.faults import Scenario, check_allocations, check_interrupts
from tests.frontend.cached_helpers import Net, total


def scenario(trains: bool, runs: int) -> Callable[[], Scenario]:
    """A call after `runs` others: the first, the recorded one, a replay."""
    def make() -> Scenario:
        net = Net("mlp")
        op, x, out = net.cached(), net.data(0), mx.nd.zeros((3, 4))

        def run() -> Any:
            if not trains:
                return op(x, *net.params, out=out)
            with autograd.record():
                loss = total(op(x, *net.params))
            loss.backward()
            return None
        for _ in range(runs):
            run()
        arrays = dict(zip(net.names[1:], net.params, strict=True))
        arrays.update({f"grad of {name}": w.grad for name, w in arrays.items()})
        return Scenario({**arrays, "data": x, "out": out}, run)
    return make


@pytest.mark.parametrize("runs", [0, 1, 2])
@pytest.mark.parametrize("trains", [False, True])
def test_allocations(trains: bool, runs: int) -> None:
    cold = runs < 2
    # a warm call of inference takes memory but twice
    least = 3 if cold or trains else 2
    assert check_allocations(scenario(trains, runs), cold=cold, step=3 if cold else 1) >= least


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("trains", [False, True])
def test_interrupts(trains: bool, runs: int) -> None:
    assert check_interrupts(scenario(trains, runs), step=61 if trains else 13) > 5
