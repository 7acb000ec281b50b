"""Operator functions on symbols, made from the registry with real signatures and docstrings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..op.registry import OpDef, find
from ..op.signatures import Signature, check_name, public_name
from .create import create
from .symbol import Symbol

Function = Callable[..., Symbol]

_TRAILING = {
    "name : str, optional": "Name of the node; made from the function's name when missing.",
    "attr : dict of str to str, optional": "Attributes of the node.",
    "out": "Not used; for the sake of code that serves arrays too.",
}
_functions: dict[str, tuple[OpDef, Function]] = {}


def make_function(op: OpDef, name: str) -> Function:
    """The function of an operator under one of its names, which also names its nodes."""
    signature = Signature(op)
    hint = name.lower()

    def function(*args: Any, **kwargs: Any) -> Symbol:
        node = kwargs.pop("name", None)
        check_name(op, node)
        attr = kwargs.pop("attr", None)
        kwargs.pop("out", None)
        placed, named, params = signature.split(args, kwargs, Symbol)
        signature.check_names(params, node)
        return create(op, hint, placed, named, params, node, attr)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "ndarray_rt.symbol"
    function.__doc__ = signature.docstring("Symbol", _TRAILING)
    function.__signature__ = signature.python()  # type: ignore[attr-defined]
    return function


def function_of(op_name: str) -> Function:
    """The function of an operator by any of its registered names; NameMismatch if there is none."""
    op = find(op_name)
    found = _functions.get(op_name)
    if found is None or found[0] is not op:
        found = op, make_function(op, public_name(op_name)[1])
        _functions[op_name] = found
    return found[1]


def named_function(op_name: str, name: str) -> Function:
    """The function of a registered name, which also names the nodes, whatever `name` says."""
    return function_of(op_name)
