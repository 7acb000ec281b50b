"""Flattening nested lists of arrays or symbols, as control flow uses them, and restoring them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ParameterError, TypeMismatch, shown

# None: one item; else a list with the form of each element
Form = Any


def flatten(value: Any, kind: type, what: str) -> tuple[list[Any], Form]:
    """All items in order, and their nesting; TypeMismatch for anything else."""
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
    """TypeMismatch if one of the arguments is not callable."""
    for name, function in functions.items():
        if not callable(function):
            raise TypeMismatch(f"{what}: {name} got {shown(function)}, expected a function")


def limit_of(max_iterations: Any) -> int:
    """The most steps of a while_loop, checked."""
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
    """The two results of a loop's function; an array is not unpacked."""
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise TypeMismatch(f"{what} gave {shown(made)}, expected a pair")
    return made[0], made[1]


def regroup(flat: Sequence[Any], form: Form) -> Any:
    """The items in their former nesting."""
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
