"""MXNet 1.9.1's public names (tests/data/mxnet_surface.txt), and how those here compare with them.

A line of the file is a function with its parameters, or a class with its bases, followed by its own
methods and properties.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ndarray_rt.base import data_dir
from ndarray_rt.context import Context

DATA = Path(__file__).parents[1] / "data" / "mxnet_surface.txt"
ROOT = "ndarray_rt"
MARK = "\0"
# a parameter: its name, with stars, and its default as text; "" where there is none
Parameter = tuple[str, str]


class Name(NamedTuple):
    """One public name: `path` without `mxnet.`; a member's ends in `Class.member`."""

    path: str
    kind: str  # "class", "function", "property"
    parameters: tuple[Parameter, ...] = ()
    owner: str = ""  # of a member: the path of its class


def names() -> Iterator[Name]:
    """All names of the file. Members follow their class."""
    owner = ""
    for line in DATA.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line:
            continue
        text = line.strip()
        if line.startswith("    "):
            member = text[1:]
            if member.endswith(" (property)"):
                yield Name(f"{owner}.{member[:-len(' (property)')]}", "property", (), owner)
            else:
                name, parameters = member.split("(", 1)
                yield Name(f"{owner}.{name}", "function", _parse(parameters[:-1]), owner)
        elif text.endswith("]"):
            owner = text.split(" ")[0].removeprefix("mxnet.")
            yield Name(owner, "class")
        else:
            path, parameters = text.split("(", 1)
            yield Name(path.removeprefix("mxnet."), "function", _parse(parameters[:-1]))


def _parse(text: str) -> tuple[Parameter, ...]:
    """Parameters as `inspect` writes them; `<...>` is no Python, and put in quotes with a mark."""
    quoted = re.sub(r"(?<!')<[^>]*>", lambda found: repr(MARK + found.group()), text)
    arguments = ast.parse(f"def f({quoted}): pass").body[0].args  # type: ignore[attr-defined]
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    found = [(a.arg, _literal(d)) for a, d in zip(plain, defaults, strict=True)]
    if arguments.vararg:
        found.append((f"*{arguments.vararg.arg}", ""))
    found += [(a.arg, _literal(d))
              for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    if arguments.kwarg:
        found.append((f"**{arguments.kwarg.arg}", ""))
    return tuple(found)


def _literal(node: ast.expr | None) -> str:
    if node is None:
        return ""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node).replace(repr(MARK)[1:-1], "")
    if isinstance(value, str) and value.startswith(MARK):
        # <module 'logging' from ...>, <numpy.float32>
        name = re.findall(r"[.\w]+", value.removeprefix(f"{MARK}<module "))[0]
        return f"<{name.split('.')[-1]}>"
    return default_text(value)


def default_text(value: object) -> str:
    """A default as text: equal ones have equal texts, lists and tuples, 1 and 1.0 alike."""
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(default_text, value))})"
    if isinstance(value, float) and value.is_integer():
        return repr(int(value))
    if isinstance(value, str) and value.startswith(data_dir()):
        return repr(value.replace(data_dir(), "~/.mxnet", 1))
    if value is None or isinstance(value, (bool, int, float, str, dict)):
        return repr(value)
    if isinstance(value, (np.dtype, Context)):
        return repr(value)
    if isinstance(value, functools.partial):
        return f"functools.partial({default_text(value.func)!r}, " + ", ".join(
            f"{key}={default_text(given)}" for key, given in value.keywords.items()) + ")"
    name = getattr(value, "__name__", type(value).__name__)
    return f"<{name.split('.')[-1]}>"


def find(name: Name) -> Any:
    """What stands for a name here: in its own module, or in a package around it, which shows it.

    AttributeError where there is none.
    """
    parts = name.path.split(".")
    own = 2 if name.owner else 1  # a member comes with its class
    for end in range(len(parts) - own, 0, -1):
        try:
            found: Any = importlib.import_module(".".join([ROOT, *parts[:end]]))
        except ModuleNotFoundError:
            continue
        try:
            for part in parts[-own:]:
                found = _member(found, part)
        except AttributeError:
            continue
        return found
    raise AttributeError(name.path)


def _member(owner: Any, name: str) -> Any:
    if isinstance(owner, type) and not hasattr(owner, name) and _sets(owner, name):
        return property(lambda self: None)
    return getattr(owner, name)


def _sets(owner: type, name: str) -> bool:
    """A method of the class gives each object this attribute."""
    for base in owner.__mro__:
        if base.__module__.startswith(ROOT) and re.search(
                rf"self\.{name}\b[^=\n]*=", inspect.getsource(base)):
            return True
    return False


def parameters_of(found: Callable[..., Any]) -> tuple[tuple[Parameter, ...], frozenset[str]]:
    """Parameters of what is here, and those of them that are given by keyword alone."""
    if found is object.__init__:
        return (("self", ""),), frozenset()
    signature = inspect.signature(found)
    stars: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*",
                                inspect.Parameter.VAR_KEYWORD: "**"}
    made, keywords = [], set()
    for p in signature.parameters.values():
        default = "" if p.default is inspect.Parameter.empty else default_text(p.default)
        made.append((stars.get(p.kind, "") + p.name, default))
        if p.kind is inspect.Parameter.KEYWORD_ONLY:
            keywords.add(p.name)
    return tuple(made), frozenset(keywords)


def difference(name: Name) -> str:
    """How what is here differs from MXNet's; "" for nothing, "absent" where there is nothing."""
    try:
        found = find(name)
    except AttributeError:
        return "absent"
    if name.kind == "class":
        return "" if isinstance(found, type) or callable(found) else f"is {found!r}, not a class"
    if name.kind == "property":
        return "" if not inspect.isroutine(found) else "is a method, not a property"
    if not callable(found):
        return f"is {found!r}, not a function"
    here, keywords = parameters_of(found)
    wanted = name.parameters
    if wanted == (("*args", ""), ("**kwargs", "")):
        # whatever MXNet's C++ library takes
        return ""
    if wanted[-1:] == (("**kwargs", ""),) and wanted != here:
        # the names that MXNet takes from **kwargs may be spelled out
        wanted = wanted[:-1]
        here, more = here[:len(wanted)], here[len(wanted):]
        if any(not default and not given.startswith("*") for given, default in more):
            return f"needs {more}, MXNet's takes {name.parameters}"
    # parameters of ours, which are given by keyword alone, are additions
    here = tuple(p for p in here if p in wanted or p[0] not in keywords)
    return "" if here == wanted else f"takes {here}, MXNet's takes {wanted}"
