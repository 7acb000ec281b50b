"""Operator functions on symbols, made from the registry with real signatures and docstrings."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..errors import NameMismatch
from ..op.registry import REGISTRY, OpDef
from ..op.signatures import NAMESPACES, Signature, check_name, public_name
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
    """The function of an operator under one of its names, after which its nodes are called."""
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
    op = REGISTRY.find(op_name)
    found = _functions.get(op_name)
    if found is None or found[0] is not op:
        found = op, make_function(op, public_name(op_name)[1])
        _functions[op_name] = found
    return found[1]


def public_functions() -> dict[str, dict[str, Function]]:
    """Functions of all operators that users see, by namespace ("" is the module) and name."""
    made: dict[str, dict[str, Function]] = {s: {} for s in ("", "_internal", *NAMESPACES)}
    for op_name in REGISTRY.names():
        if REGISTRY.find(op_name).is_public:
            space, name = public_name(op_name)
            made[space][name] = function_of(op_name)
    return made


class Namespace(ModuleType):
    """A module of operator functions; finds operators registered later, too."""

    def __init__(self, name: str, prefix: str, doc: str) -> None:
        super().__init__(name, doc)
        self.__dict__["_prefix"] = prefix

    def __getattr__(self, name: str) -> Function:
        prefix = self.__dict__["_prefix"]
        for op_name in (prefix + name, name) if prefix else (name,):
            if op_name in REGISTRY and not name.startswith("__"):
                return function_of(op_name)
        raise AttributeError(f"module {self.__name__!r} has no operator {name!r}")


def find_function(name: str) -> Function:
    """For a module's `__getattr__`: AttributeError when there is no such operator."""
    try:
        return function_of(name)
    except NameMismatch:
        raise AttributeError(f"there is no operator {name!r}") from None
