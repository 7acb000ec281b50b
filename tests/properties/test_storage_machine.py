"""The storage state machine holds, and reaches the layouts that it is about."""

from __future__ import annotations

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from .storage_machine import REACHED, StorageMachine

TestStorage = StorageMachine.TestCase


def test_the_machine_reaches_everything() -> None:
    """A property over layouts proves nothing when it never meets them."""
    REACHED.clear()
    run_state_machine_as_test(
        StorageMachine, settings=settings(max_examples=120, stateful_step_count=30,
                                          derandomize=True, deadline=None, database=None))
    for what in ("special", "padded", "grouped", "grouped and padded", "view", "view of special",
                 "stale layout", "reused", "pinned", "refused by a pin", "grown", "added",
                 "copied inside", "access"):
        assert REACHED[what] > 0, f"never reached: {what}; reached {dict(REACHED)}"
