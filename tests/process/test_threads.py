"""Many threads at once on shared arrays: right numbers, no crash, no hang (I8)."""

from __future__ import annotations

import pytest

from tests.process.helpers import run_program


@pytest.mark.parametrize(("what", "threads", "calls", "team"), [
    ("one_executor", 4, 300, 2), ("layout_changes", 6, 600, 1), ("layout_changes", 3, 200, 2),
    ("clones", 8, 300, 1), ("clones", 3, 100, 2), ("pool", 6, 200, 1),
    ("creation", 4, 120, 1), ("gradients", 4, 150, 1), ("thread_counts", 3, 100, 2)])
def test_threads(what: str, threads: int, calls: int, team: int) -> None:
    assert run_program("many_threads", what, threads, calls, threads=team) == "done\n"


def test_10000_calls_in_each_of_8_threads() -> None:
    assert run_program("many_threads", "shared_weights", 8, 10_000, threads=1) == "done\n"
