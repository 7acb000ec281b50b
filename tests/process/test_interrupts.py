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
