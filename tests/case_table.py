"""The table of cases: every `CASES` of the modules in tests/cases. Runs nothing."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import lru_cache

import ndarray_rt.ops  # noqa: F401 - registers the operators
from ndarray_rt.testing.case import Case
from tests import cases


@lru_cache(maxsize=1)
def all_cases() -> tuple[Case, ...]:
    """Cases of all families, in the order of their modules."""
    found: list[Case] = []
    for module in pkgutil.iter_modules(cases.__path__):
        loaded = importlib.import_module(f"tests.cases.{module.name}")
        found += loaded.CASES
    return tuple(found)


def unique_ids(cases_: Iterable[Case]) -> list[str]:
    """A readable name for each case; equal ones are counted."""
    seen: dict[str, int] = {}
    names = []
    for case in cases_:
        count = seen[case.id] = seen.get(case.id, 0) + 1
        names.append(case.id if count == 1 else f"{case.id}-{count}")
    return names
