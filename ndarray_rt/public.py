"""What a module shows of itself: `dir()` gives `__all__`, and names are loaded when asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from .collector import resting_collector
from .fork import importing


def shows(module: dict[str, Any]) -> Callable[[], list[str]]:
    """`__dir__` of the module with these globals: the names in `__all__` and no others."""
    return lambda: sorted(module["__all__"])


def loads(module: dict[str, Any], places: Mapping[str, str],
          hint: Callable[[str], str] = lambda name: "") -> Callable[[str], Any]:
    """`__getattr__` of the module with these globals: loads names when they are first asked for.

    `places` maps a name to where it is, seen from the package: "pool" is the module pool itself,
    "pool:ExecutorPool" a name in it. `hint` says what else to do about a name that is not there.
    """
    def load(name: str) -> Any:
        place = places.get(name)
        if place is None:
            more = "" if name.startswith("__") else hint(name)
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}{more}",
                                 name=name)
        where, _, attribute = place.partition(":")
        with resting_collector(), importing():
            made: Any = importlib.import_module(f".{where}", module["__package__"])
        if attribute:
            made = getattr(made, attribute)
        module[name] = made
        return made
    return load


def renames(module: ModuleType, name: str) -> None:
    """Makes `name` another name of a module, also for `import`, and of the modules in it."""
    sys.modules[name] = module
    for inner, value in list(vars(module).items()):
        if isinstance(value, ModuleType) and value.__name__ == f"{module.__name__}.{inner}":
            sys.modules[f"{name}.{inner}"] = value
