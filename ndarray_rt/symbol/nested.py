"""Nested lists of arrays or symbols, as control flow takes and gives them: flat, and back again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import TypeMismatch, shown

# None: one thing; else a list with the form of each of its elements
Form = Any


def flatten(value: Any, kind: type, what: str) -> tuple[list[Any], Form]:
    """All things in order, and how they were nested; TypeMismatch for anything else."""
    if isinstance(value, kind):
        return [value], None
    if not isinstance(value, (list, tuple)):
        raise TypeMismatch(f"{what} got {shown(value)}, expected a {kind.__name__} or a nested "
                           "list of them")
    flat: list[Any] = []
    forms = []
    for item in value:
        found, form = flatten(item, kind, what)
        flat += found
        forms.append(form)
    return flat, forms


def regroup(flat: Sequence[Any], form: Form) -> Any:
    """The things nested as they were."""
    made, rest = _regroup(list(flat), form)
    assert not rest, "more things than the form has"
    return made


def _regroup(flat: list[Any], form: Form) -> tuple[Any, list[Any]]:
    if form is None:
        return flat[0], flat[1:]
    made = []
    for inner in form:
        found, flat = _regroup(flat, inner)
        made.append(found)
    return made, flat
