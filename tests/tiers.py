"""Tiers: which part of all tests a run takes. docs/testing.md#tiers says what each is for.

    all    every test; what pytest takes without --tier
    test   a sample that changes with the seed: of functions with many cases of operators a
           covering (below), of those marked `sampled(n, reason)` n tests, none of those marked
           `slow(reason)`, and all others
    rest   what `test` leaves out for the same seed, or one share of it: --share 3/14

The covering of a test function has each of its operators with each value of its other parameters,
each time with another case, and all tests that name no operator. A test needs no entry anywhere
to be part of this. Tests that are named
on the command line (with ::) always run.

The seed is the day, unless --sample-seed or NDRT_TEST_SEED says another; Hypothesis starts from it
too. Everything here depends on the seed and on the names of tests alone, so that processes that
share a run select the same.
"""

from __future__ import annotations

import datetime
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import pytest

from ndarray_rt.op.registry import REGISTRY, find

MANY = 40  # functions of operators with more tests are sampled
FEW = 8  # parameters with more values have each of them in `all` alone
TIERS = ("all", "test", "rest")
MARKS = ("slow(reason): not in `make test`",
         "sampled(n, reason): n of the function's tests are in `make test`")


@dataclass(frozen=True)
class Share:
    """The k-th of n parts of the tests."""

    k: int = 0
    n: int = 1

    @classmethod
    def parse(cls, text: str) -> Share:
        """From "k/n", or "today/n": each day the next one."""
        k, _, n = text.partition("/")
        if not n.isdecimal() or not int(n) or (k != "today" and not k.isdecimal()):
            raise pytest.UsageError(f"--share {text}: expected k/n or today/n")
        day = datetime.date.today().toordinal() if k == "today" else int(k)
        return cls(day % int(n), int(n))

    def has(self, number: int) -> bool:
        return number % self.n == self.k


@dataclass
class Selection:
    """What a run takes."""

    taken: list[pytest.Item]
    left: list[pytest.Item]


def seed_of_today() -> int:
    """Digits of the day, such as 20240131; or NDRT_TEST_SEED."""
    given = os.environ.get("NDRT_TEST_SEED")
    return int(given) if given else int(f"{datetime.date.today():%Y%m%d}")


def select(items: Sequence[pytest.Item], tier: str, seed: int, share: Share) -> Selection:
    """Which of the items a tier has, in their order."""
    in_test: set[str] = set()
    for name, group in by_function(items).items():
        in_test.update(item.nodeid for item in _sample(name, group, seed))
    if tier == "test":
        taken = in_test
    elif tier == "rest":
        left = [item for item in items if item.nodeid not in in_test]
        taken = {item.nodeid for item in _part(left, share)}
    else:
        taken = {item.nodeid for item in items}
    return Selection([item for item in items if item.nodeid in taken],
                     [item for item in items if item.nodeid not in taken])


def by_function(items: Iterable[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """Tests of one function, by its node id without parameters."""
    groups: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        groups[item.nodeid.partition("[")[0]].append(item)
    return groups


def _sample(name: str, group: list[pytest.Item], seed: int) -> list[pytest.Item]:
    """What `test` has of one function."""
    group = [item for item in group if not is_slow(item)]
    if not group:
        return []
    order = random.Random(f"{seed} {name}").sample(group, len(group))
    sampled = group[0].get_closest_marker("sampled")
    if sampled is not None:
        return order[:sampled.args[0]]
    return covering(order) if len(group) > MANY else group


def covering(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Of tests in some order the first ones that have each operator with each other parameter.

    Those where no parameter names an operator are all taken.
    """
    params = [dict(item.callspec.params) if hasattr(item, "callspec") else {}
              for item in items]
    operators = [next(filter(None, map(operator_of, values.values())), None) for values in params]
    if not any(operators):
        return list(items)
    values = {name: {_word(one.get(name)) for one in params} for name in params[0]}
    small = [name for name, found in values.items() if len(found) <= FEW]
    seen: set[Any] = set()
    taken = []
    for item, operator, one in zip(items, operators, params, strict=True):
        if operator is None:
            taken.append(item)
            continue
        shows = {(operator, name, _word(one.get(name))) for name in small} | {(operator,)}
        if not shows <= seen:
            taken.append(item)
            seen |= shows
    return taken


def operator_of(value: object) -> str | None:
    """The operator that a parameter of a test names, if it names one."""
    called = getattr(value, "op", None)  # of a case or a golden call
    if isinstance(called, str):
        return find(called).name if called in REGISTRY else called
    name = value if isinstance(value, str) else getattr(value, "name", None)
    if not isinstance(name, str):
        return None
    # the names of cases begin with that of their operator
    found = name if name in REGISTRY else name.partition("-")[0]
    return find(found).name if found in REGISTRY else None


def _word(value: object) -> str:
    return repr(value) if isinstance(value, (str, int, float, bool, type(None))) else (
        getattr(value, "name", None) or type(value).__name__)


def _part(left: Iterable[pytest.Item], share: Share) -> Iterable[pytest.Item]:
    """One share: slow tests are dealt in turns, as each of them counts, all others by name."""
    slow: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in left:
        (slow if is_slow(item) else others).append(item)
    yield from (item for i, item in enumerate(slow) if share.has(i))
    yield from (item for item in others if share.has(crc32(item.nodeid.encode())))


def is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def summary(tier: str, seed: int, share: str, selection: Selection) -> list[str]:
    """Lines for a reader: how much was taken, what not, how to run the same again."""
    if tier == "all":
        return []
    again = f"--tier {tier} --sample-seed {seed}" + (f" --share {share}" if tier == "rest" else "")
    left = [item for item in selection.left if not is_slow(item)]
    lines = [f"tier {tier}: {len(selection.taken)} of "
             f"{len(selection.taken) + len(selection.left)} tests; the same again: {again}"]
    if tier == "test" and selection.left:
        files = Counter(item.nodeid.partition("::")[0] for item in left)
        most = ", ".join(f"{file} {count}" for file, count in files.most_common(4))
        lines.append(f"left to make test-all: {len(selection.left) - len(left)} slow tests, "
                     f"{len(left)} further cases ({most}, ...)")
    return lines
