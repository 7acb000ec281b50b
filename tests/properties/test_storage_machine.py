"""The storage state machine holds, and reaches what it is about."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from .storage.machine import StorageMachine
from .storage.model import REACHED

TestStorage = StorageMachine.TestCase
# an example is up to 50 steps: more of them take a deep run beyond ten minutes
TestStorage.settings = settings(max_examples=min(settings().max_examples, 5000))

KINDS = ("view", "view of special", "special", "padded", "grouped", "grouped and padded",
         "reused, larger", "reused, smaller", "reused, other dtype", "stale layout",
         "pinned", "pinned out of a special layout", "packed by a plan", "reader inside",
         "reader inside a special one")
DONE = ("access", "as_array refused", "stale memory refused", "refused by a pin",
        "export refused", "written through an export", "grown", "added", "no memory",
        "packed copies", "assigned from the same storage", "in place with an overlap",
        "copied over an overlap")
OPERATORS = ("operators", "operator on native", "operator in numpy", "operator not asked",
             "kWriteTo", "kWriteInplace", "kAddTo", "one array twice", "operator in place",
             "output overlaps an input", "output with a stale layout", "output exported",
             "input read by another")


@pytest.mark.slow("1,000 sequences of rules, to see what they meet")
def test_the_machine_reaches_everything() -> None:
    """A property over layouts proves nothing when it never meets them."""
    REACHED.clear()
    run_state_machine_as_test(StorageMachine, settings=settings(
        max_examples=1000, stateful_step_count=40, derandomize=True, deadline=None, database=None,
        phases=(Phase.generate,)))
    missed = [what for what in (*KINDS, *DONE, *OPERATORS) if not REACHED[what]]
    assert not missed, f"never reached: {missed}; reached {dict(REACHED)}"
