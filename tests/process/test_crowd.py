"""Teams on cores that others use too: they wait by sleeping then, and compute the same."""

from __future__ import annotations

import os

import pytest

from tests.process.helpers import run_program

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2,
                                reason="a team needs two cores to spin on")


@pytest.mark.parametrize("scenario", ["waiting", "looks", "others", "results", "fork"])
def test_crowd(scenario: str) -> None:
    assert run_program("crowd", scenario) == "done\n"


def test_the_switch() -> None:
    assert run_program("crowd", "switched_off", NDRT_YIELD_CORES="0") == "done\n"
