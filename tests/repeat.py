"""The command that runs a failing test, or one failing combination of it, alone."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ndarray_rt.testing.failures import CombinationsFail

SHOWN = 3  # combinations of one test


def commands(nodeid: str, error: BaseException | None, options: Sequence[str] = ()) -> list[str]:
    """A command for the test, or one for each of its first combinations that fail."""
    test = shlex.join(["python", "-m", "pytest", nodeid, *options])
    found = _combinations(error)
    return [f"{test} --combo={shlex.quote(what)}" for what in found[:SHOWN]] or [test]


def _combinations(error: BaseException | None) -> Sequence[str]:
    while error is not None:
        if isinstance(error, CombinationsFail):
            return error.combinations
        error = error.__cause__
    return ()


def split_combo(text: str, nodeids: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """`--combo='Convolution|view|add'`: (part of a test's name, parts of a combination).

    The first part is one of a test's name, where it is in some; all others are looked for in what
    describes a combination.
    """
    first, *others = [part.strip() for part in text.split("|")]
    if others and any(first.lower() in nodeid.lower() for nodeid in nodeids):
        return first, tuple(others)
    return "", (first, *others)
