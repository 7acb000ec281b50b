"""Settings of all tests: threads, Hypothesis profiles, nothing left switched over."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

# One thread a test process unless asked otherwise: teams that spin beside each other stall for
# milliseconds. Must be set before the package is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, Phase, settings

from ndarray_rt import config

# No explaining: it traces every line of a failure again and again, for minutes.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow],
           "print_blob": True,
           "phases": [Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink]}
# What is checked at every change runs the same examples each time; deep looks for new ones.
settings.register_profile("quick", max_examples=50, stateful_step_count=20, derandomize=True,
                          **_COMMON)
settings.register_profile("ci", max_examples=500, stateful_step_count=30, derandomize=True,
                          **_COMMON)
settings.register_profile("deep", max_examples=10000, stateful_step_count=50, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_finish() -> None:
    """Thousands of tests stay for the whole run: no collection need look at them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _switches_stay() -> Iterator[None]:
    """A test that changes a switch changes it back."""
    before = {switch.name: getattr(config, switch.name) for switch in config.SWITCHES}
    yield
    after = {switch.name: getattr(config, switch.name) for switch in config.SWITCHES}
    assert after == before
