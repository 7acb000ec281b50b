"""Failures: what went wrong in many combinations, and how many there were.

Which combinations are run at all is up to CHOSEN, so that one that fails can be run alone.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..op.context import thread_context
from ..op.prim_cache import CACHE
from ..storage.handle import memory_stats
from .tally import TALLY, Tally


class CombinationsFail(AssertionError):
    """Some combinations of a check fail; `combinations` has what identifies each."""

    def __init__(self, text: str, combinations: Sequence[str]) -> None:
        super().__init__(text)
        self.combinations = tuple(combinations)


class Chosen:
    """The combinations to run: those whose description has all of `parts`, without regard to case.

    No parts: every combination.
    """

    def __init__(self) -> None:
        self.parts: tuple[str, ...] = ()

    def has(self, what: str) -> bool:
        return all(part.lower() in what.lower() for part in self.parts)


# of this process
CHOSEN = Chosen()


class Failures:
    """Collects failures of many combinations, so that one run shows their pattern.

    What was tried and what was skipped is counted in the process's TALLY too.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self.combinations: list[str] = []  # those that failed
        self.tally = Tally()

    @property
    def count(self) -> int:
        """Combinations executed."""
        return self.tally.executed.total()

    def wants(self, what: str) -> bool:
        """Is the combination of that description to be run?"""
        return CHOSEN.has(what)

    @contextmanager
    def trying(self, what: str, group: str = "other") -> Iterator[None]:
        """Runs one combination; `group` is what it is counted under."""
        self.tally.ran(group)
        TALLY.ran(group)
        try:
            yield
        except AssertionError as error:
            self.found.append(f"[{what}] {error}")
            self.combinations.append(what)
        except Exception as error:
            raise CombinationsFail(f"[{what}] {type(error).__name__}: {error}", [what]) from error

    def skip(self, reason: str, times: int = 1) -> None:
        """Notes combinations that can not be, and why."""
        self.tally.skip(reason, times)
        TALLY.skip(reason, times)

    def settle(self) -> None:
        """Fails with the first few when there are any."""
        if self.found:
            shown = "\n".join(self.found[:6])
            raise CombinationsFail(
                f"{len(self.found)} of {self.count} combinations fail:\n{shown}",
                self.combinations)


def _live() -> int:
    gc.collect()
    # sessions of executors that are gone leave the store at its next use
    CACHE.clear_released()
    # primitives with their constants, and scratch, that this thread keeps between imperative calls
    context = thread_context()
    context.cache.clear(context.session)
    context.stream.tmp.release()
    gc.collect(0)
    return memory_stats()["live"]


@contextmanager
def no_leak() -> Iterator[None]:
    """Live bytes are the same afterwards."""
    before = _live()
    yield
    after = _live()
    assert after == before, f"{after - before} bytes more are live than before"
