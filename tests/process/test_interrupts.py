"""Ctrl-C: served soon, at any moment, and nothing is lost or held afterwards (I10)."""

from __future__ import annotations

import pytest

from tests.process.helpers import run_program


@pytest.mark.parametrize("seed", [1, 2])
def test_interrupts_at_random_moments(seed: int) -> None:
    assert run_program("interrupted", seed, 8, threads=1).endswith("done\n")


@pytest.mark.parametrize("what", ["replay", "steps", "imperative", "bind", "training"])
def test_ctrl_c_is_served_within_a_step_and_50_ms(what: str) -> None:
    """The median of nine, and the longest of some steps: other processes are busy, too."""
    step, waited, _ = map(float, run_program("latency", what).split())
    assert waited < step + 50


def test_handlers_have_a_stack_of_their_own() -> None:
    """oneDNN's sgemm points the stack pointer at the heap: a handler on that stack damages it."""
    lines = run_program("signal_stack", "all").splitlines()
    assert lines == ["the main thread has one", *["a thread has one"] * 3,
                     "ended threads give theirs back"]


def test_a_stack_that_was_there_stays() -> None:
    assert run_program("signal_stack", "own") == "the user's\n"
