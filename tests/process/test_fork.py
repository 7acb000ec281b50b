"""A forked child computes, whatever the parent and its threads were doing."""

from __future__ import annotations

import pytest

from tests.process.helpers import run_program


@pytest.mark.parametrize("way", [
    "before_anything_was_computed", "from_another_thread", "a_child_that_forks",
    "from_two_threads_at_once", "pool_of_processes", "other_programs",
    "with_more_threads_than_the_parent", "leases_of_other_threads", "chunks_that_know_a_reader",
    "a_run_of_another_thread", "while_threads_hand_over_a_lock",
    "while_another_asks_first", "while_a_thread_finds_an_operator",
    "while_a_thread_loads_an_operator", "while_a_thread_imports_a_module",
    "while_a_thread_imports_what_python_has", "while_an_import_fails",
    "in_the_midst_of_an_import"])
def test_fork(way: str) -> None:
    assert run_program("forks", way).endswith("done\n")


def test_200_forks_under_load() -> None:
    printed = run_program("fork_under_load", 200, 2)
    assert printed.startswith("200 forks under 2 threads"), printed
