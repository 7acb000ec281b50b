"""Nested lists of arrays or symbols, as control flow takes and gives them: flat, and back again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ParameterError, TypeMismatch, shown

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


def check_functions(what: str, **functions: Any) -> None:
    """TypeMismatch where one of the arguments can not be called."""
    for name, function in functions.items():
        if not callable(function):
            raise TypeMismatch(f"{what}: {name} got {shown(function)}, expected a function")


def limit_of(max_iterations: Any) -> int:
    """How many steps a while_loop has at most."""
    if max_iterations is None:
        raise ParameterError("while_loop: max_iterations must be given")
    try:
        limit = int(max_iterations)
    except (TypeError, ValueError, OverflowError):
        limit = -1
    if limit < 0:
        raise ParameterError(f"while_loop: max_iterations got {shown(max_iterations)}, expected an "
                             "int of at least 0")
    return limit


def pair_of(made: Any, what: str) -> tuple[Any, Any]:
    """The two things that a loop's function gives; an array is not taken to pieces."""
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise TypeMismatch(f"{what} gave {shown(made)}, expected a pair")
    return made[0], made[1]


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
