"""`mx.registry`: classes by name, and objects made from the name and its arguments, or from JSON.

Initializers, optimizers, metrics and their like are each registered under a base class.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from .errors import NdrtError, TypeMismatch, shown
from .public import shows

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]
__dir__ = shows(globals())

T = TypeVar("T", bound=type)

_REGISTRY: dict[type, dict[str, type]] = {}


class RegistryError(NdrtError, AssertionError):
    """A class or a name that a registry can not take or does not know."""


def _entries(base_class: type) -> dict[str, type]:
    return _REGISTRY.setdefault(base_class, {})


def get_registry(base_class: type) -> dict[str, type]:
    """A copy of what is registered for a base class: lower-case name -> class."""
    return dict(_entries(base_class))


def get_register_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """A function `register(klass, name=None)` for subclasses of `base_class`; it gives the class.

    `nickname` is what the base class is called in messages. A name that was taken is given to the
    new class, with a warning. RegistryError for what is no subclass.
    """
    def register(klass: T, name: str | None = None) -> T:
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise RegistryError(f"only subclasses of {base_class.__name__} can be registered as "
                                f"{nickname}, got {shown(klass)}")
        entries = _entries(base_class)
        key = (klass.__name__ if name is None else name).lower()
        before = entries.get(key)
        if before is not None:
            warnings.warn(f"{nickname} {key!r}: {klass.__module__}.{klass.__name__} takes the "
                          f"place of {before.__module__}.{before.__name__}", UserWarning,
                          stacklevel=2)
        entries[key] = klass
        return klass

    register.__doc__ = f"Registers a class of {nickname} under its own name, or `name`."
    return register


def register_class(klass: T, entries: dict[str, Any], kind: str) -> T:
    """Puts a class of any base into `entries` by its name in lower case, and gives it.

    For registries that programs see as a dict. A name that was taken goes to the new class, with a
    warning. TypeMismatch for what is no class.
    """
    if not isinstance(klass, type):
        raise TypeMismatch(f"register: got {klass!r}, expected a class")
    name = klass.__name__.lower()
    known = entries.get(name)
    if known is not None:
        warnings.warn(f"WARNING: New {kind} {klass.__module__}.{klass.__name__} is "
                      f"overriding existing {kind} {known.__module__}.{known.__name__}",
                      stacklevel=3)
    entries[name] = klass
    return klass


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Callable[[Any], Any]]:
    """A function `alias(*names)` that makes a class decorator: more names for the class."""
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[T], T]:
        def decorate(klass: T) -> T:
            for name in aliases:
                register(klass, name)
            return klass
        return decorate

    alias.__doc__ = f"A class decorator that registers a class of {nickname} under more names."
    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """A function `create(what, *args, **kwargs)` that makes an object of a registered class.

    `what` is a name (case does not matter); an object already made, which is given back; a dict,
    whose item `nickname` is the name and the others its arguments; or JSON text of such a dict or
    of [name, arguments]. RegistryError for anything else and for unknown names.
    """
    def create(*args: Any, **kwargs: Any) -> Any:
        what, args = (args[0], args[1:]) if args else (kwargs.pop(nickname), args)
        is_text = isinstance(what, str)
        if (args or kwargs) and (isinstance(what, base_class)
                                 or (is_text and what.startswith(("[", "{")))):
            raise RegistryError(f"{nickname} {shown(what)} says all of itself: no further "
                                "arguments are valid")
        if isinstance(what, base_class):
            return what
        if isinstance(what, dict):
            return create(**what)
        if not is_text:
            raise RegistryError(f"{nickname} must be of string type, got {shown(what)}")
        if what.startswith("["):
            name, arguments = json.loads(what)
            return create(name, **arguments)
        if what.startswith("{"):
            return create(**json.loads(what))
        klass = _entries(base_class).get(what.lower())
        if klass is None:
            raise RegistryError(f"{what.lower()} is not registered. Please register with "
                                f"{nickname}.register first")
        return klass(*args, **kwargs)

    create.__doc__ = (f"A {nickname} by its name and arguments, or from JSON text; an object "
                      "already made is given back.")
    return create
