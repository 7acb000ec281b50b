"""Modules whose attributes are operators: `nd`, `sym` and their namespaces, such as nd.contrib.

Functions are made on first access, so that operators registered later are found too, and importing
takes no time for those that a program never calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

from ..errors import SEE_PORTING, did_you_mean
from .registry import REGISTRY
from .signatures import public_name

Function = Callable[..., Any]
# (registered name of an operator, public name) -> its function
Make = Callable[[str, str], Function]


def forgets_functions(namespace: dict[str, Any]) -> None:
    """Removes functions of operators that are no longer registered from a module's names."""
    def forget(op_name: str) -> None:
        stale = [name for name, value in namespace.items() if isinstance(value, FunctionType)
                 and vars(value).get("_operator") == op_name]
        for name in stale:
            del namespace[name]
    REGISTRY.when_gone(forget)


class Namespace:
    """The operators of one namespace by public name; `make` makes their functions.

    With `hidden` it also finds, but does not list, those that only gradients and passes use.
    """

    def __init__(self, space: str, make: Make, everything: bool = False,
                 hidden: bool = False) -> None:
        self._space = space
        self._make = make
        self._everything = everything
        self._hidden = hidden

    def find(self, attribute: str) -> Function | None:
        """The function of a public name, made now; None if there is no such operator."""
        if attribute.startswith("__"):
            return None
        for candidate in self._candidates(attribute):
            if candidate in REGISTRY and (self._hidden or REGISTRY.is_public(candidate)):
                made = self._make(candidate, attribute)
                made._operator = candidate  # type: ignore[attr-defined]
                return made
        return None

    def _candidates(self, attribute: str) -> Sequence[str]:
        if self._everything or self._space == "_internal":
            return (attribute,)
        if self._space == "":
            return () if attribute.startswith("_") else (attribute,)
        return (f"_{self._space}_{attribute}", f"{self._space}_{attribute}")

    def names(self) -> list[str]:
        """All public names of this namespace."""
        made = []
        for name in REGISTRY.names():
            if not REGISTRY.is_public(name):
                continue
            space, public = public_name(name)
            if space == self._space or (self._everything and space in ("", "_internal")):
                made.append(public)
        return made


class OperatorModule(ModuleType):
    """A module whose other attributes are the operators of a namespace.

    `extra` are functions that take precedence over operators of the same name.
    """

    def __init__(self, name: str, doc: str, space: str, make: Make, everything: bool = False,
                 hidden: bool = False, extra: Mapping[str, Any] | None = None) -> None:
        super().__init__(name, doc)
        self.__dict__["_namespace"] = Namespace(space, make, everything, hidden)
        self.__dict__["_extra"] = extra or {}
        self.__dict__.update(extra or {})
        forgets_functions(self.__dict__)
        sys.modules[name] = self

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "__all__":
            return dir(self)
        made = self.__dict__["_namespace"].find(attribute)
        if made is None:
            raise no_operator(self.__name__, attribute, self.__dir__)
        self.__dict__[attribute] = made
        return made

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__["_extra"], *self.__dict__["_namespace"].names()})


def no_operator(module: str, attribute: str, names: Callable[[], Sequence[str]]) -> AttributeError:
    """The error for a name that is no operator of a module; `names` lists those that are."""
    if attribute.startswith("__"):
        hint = ""
    elif module.endswith(".sparse"):
        hint = f", and there are no sparse arrays; {SEE_PORTING}"
    else:
        hint = did_you_mean(attribute, names())
    return AttributeError(f"module {module!r} has no attribute {attribute!r}: there is no such "
                          f"operator{hint}", name=attribute)
