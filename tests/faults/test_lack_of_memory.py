"""When the system has no memory left, oneDNN neither crashes nor keeps the failure."""

from __future__ import annotations

import os

import pytest

from tests.process.helpers import run_program

pytestmark = pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""),
                                reason="a sanitizer takes most of the address space for itself")


@pytest.mark.parametrize("scenario", ["creation", "spoiled", "gemm", "large_gemm", "recurrent",
                                      "replay", "blas", "blas_in_threads"])
def test_a_lack_of_memory_is_one_error(scenario: str) -> None:
    run_program("no_memory", scenario, threads=1)


def test_no_memory_for_a_team() -> None:
    run_program("no_memory", "team", threads=2)
