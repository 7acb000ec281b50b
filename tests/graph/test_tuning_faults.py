"""A failure or an interrupt in the midst of tuning changes no bound array and no result."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ndarray_rt as mx
from ndarray_rt.executor.tuning import search as tuning_runs
from ndarray_rt.testing.faults import Scenario, check_allocations, check_interrupts

from .fake_costs import Fake, bound, check, needs_a_choice


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    mx.executor.clear_tuning()
    yield
    mx.executor.clear_tuning()


def scenario(monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """The layouts change, so that the program is made anew, too."""
    mx.executor.clear_tuning()
    Fake({f"c{i}": (5.0, 1.0) for i in range(4)}, monkeypatch)
    executor = bound()
    for _ in range(3):
        executor.forward()
    arrays = {**executor.arg_dict, **executor.aux_dict, "out": executor.outputs[0]}

    def run() -> None:
        executor.tune()
        for _ in range(3):
            executor.forward()
    return Scenario(arrays, run, rtol=1e-4, atol=1e-3)


@needs_a_choice
def test_an_allocation_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_allocations(lambda: scenario(monkeypatch), step=7) > 5


@needs_a_choice
def test_an_interrupt_may_come(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_interrupts(lambda: scenario(monkeypatch), step=397) > 1


@pytest.mark.parametrize("where", [
    "measure", "node_key", pytest.param("cheapest_layouts", marks=needs_a_choice)])
def test_the_next_run_is_right(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise MemoryError(where)
    monkeypatch.setattr(tuning_runs, where, fail)
    executor = bound(tune=True)
    with pytest.raises(MemoryError):
        executor.forward()
    check(executor)
    monkeypatch.undo()
    executor.tune(repeat=1)
    check(executor)
