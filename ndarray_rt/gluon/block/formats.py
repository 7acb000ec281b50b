"""Nested lists of arrays or symbols as flat lists, and back by their format.

A format is 0 for one array, n for a symbol of n > 1 outputs, -1 for None, a list of formats for a
list.
"""

from __future__ import annotations

from typing import Any

from ...context import Context
from ...errors import ParameterError, shown
from ...nd import NDArray
from ...symbol.symbol import Symbol


def flatten(args: Any, what: str) -> tuple[list[Any], Any]:
    """(all arrays, symbols and Nones in order, the format); ParameterError for anything else.

    `what` is 'input' or 'output', for the error.
    """
    if isinstance(args, NDArray):
        return [args], 0
    if isinstance(args, Symbol):
        count = len(args.list_outputs())
        return [args], count if count > 1 else 0
    if args is None:
        return [None], -1
    if not isinstance(args, (list, tuple)):
        raise ParameterError(f"When hybridized, the {what} of HybridBlock must be (nested) list of "
                             f"Symbol or NDArray, but got {shown(args)} of type {type(args)}")
    flat: list[Any] = []
    formats = []
    for arg in args:
        found, form = flatten(arg, what)
        flat += found
        formats.append(form)
    return flat, formats


def regroup(args: Any, form: Any) -> Any:
    """Puts a flat list into the nested lists that `form` describes."""
    if not isinstance(args, (list, tuple)):
        raise ParameterError("When hybridized, the output of HybridBlock must be (nested) list of "
                             f"Symbol or NDArray, but got {shown(args)} of type {type(args)}")
    rest = list(args)
    return _take(rest, form)


def _take(rest: list[Any], form: Any) -> Any:
    """Takes what belongs to a format from the front of `rest`."""
    if isinstance(form, list):
        return [_take(rest, part) for part in form]
    if form < -1:
        raise ParameterError(f"Unsupported encoded format {form}.")
    if form == 0:
        return rest.pop(0)
    if form == -1:
        value = rest.pop(0)
        if value is not None:
            raise ParameterError("a hybridized block that was called with None for an input takes "
                                 f"nothing else there later, got {shown(value)}")
        return None
    taken = rest[:form]
    del rest[:form]
    return taken


def without_none(form: Any, other: Any) -> bool:
    """Formats of arguments that differ in Nones at the end alone."""
    if not (isinstance(form, list) and isinstance(other, list)):
        return False
    short, long = sorted((form, other), key=len)
    return long[:len(short)] == short and all(part == -1 for part in long[len(short):])


def kinds_of(args: Any) -> tuple[bool, bool, dict[Context, None]]:
    """(are there symbols, are there arrays, the arrays' contexts in order) in nested lists."""
    if isinstance(args, NDArray):
        return False, True, {args.ctx: None}
    if isinstance(args, Symbol):
        return True, False, {}
    has_symbol = has_array = False
    contexts: dict[Context, None] = {}
    if isinstance(args, (list, tuple)):
        for arg in args:
            symbols, arrays, found = kinds_of(arg)
            has_symbol |= symbols
            has_array |= arrays
            contexts.update(found)
    return has_symbol, has_array, contexts
