"""Signatures and docstrings of operator functions, made from an OpDef. Makes no function.

Used by `nd` and `sym`: both turn an operator into a function that takes its inputs, then its
parameters, by position or by name.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType, dtype_name, find_dtype
from ..errors import NameMismatch, TypeMismatch, shown
from .params import IGNORED, Params
from .registry import OpDef

# Operators with these prefixes have a namespace of their own: `_linalg_gemm` is linalg.gemm.
NAMESPACES = ("contrib", "linalg", "sparse", "image", "random")


class _Required:
    """The default shown in a signature for a parameter that must be given."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<required>"


REQUIRED = _Required()


def public_name(name: str) -> tuple[str, str]:
    """(namespace, function name) of an operator or alias, as MXNet sorts them.

    The namespace is "" for the module itself, and "_internal" for names that begin with an
    underscore, among them the random operators, which `random` wraps.

    >>> public_name("_linalg_gemm2"), public_name("_plus_scalar"), public_name("Flatten")
    (('linalg', 'gemm2'), ('_internal', '_plus_scalar'), ('', 'Flatten'))
    """
    for space in NAMESPACES:
        prefix = f"_{space}_"
        if name.startswith(prefix):
            if space == "random" and not name.endswith("_like"):
                return "_internal", name
            return space, name[len(prefix):]
    return ("_internal" if name.startswith("_") else ""), name


def all_inputs(op: OpDef) -> tuple[str, ...]:
    """Every input that an operator may have under any parameters, then its aux states."""
    found: list[str] = []
    for probe in _probes(op.params):
        try:
            names = (*op.input_names(probe), *op.aux_names(probe))
        except (TypeError, ValueError, AttributeError, KeyError, IndexError, ZeroDivisionError):
            continue  # this made-up set of parameters is not valid
        place = 0
        for name in names:
            if name in found:
                place = found.index(name) + 1
            else:
                found.insert(place, name)
                place += 1
    return tuple(found)


def _probes(cls: type[Params]) -> Iterable[Any]:
    """Made-up parameters that make all optional inputs appear: each switch and choice in turn."""
    fields = dataclasses.fields(cls)
    plain = {f.name: None if f.default is dataclasses.MISSING else f.default for f in fields}
    yield _unchecked(cls, plain)
    # all switches at once, so that two inputs with a switch each appear in their order
    yield _unchecked(cls, {**plain, **{f.name: True for f in fields if True in _alternatives(f)}})
    for f in fields:
        for value in _alternatives(f):
            yield _unchecked(cls, {**plain, f.name: value})


def _alternatives(f: dataclasses.Field[Any]) -> list[Any]:
    wants = f.metadata.get("wants", "")
    if wants.startswith("a bool"):
        return [True, False]
    if wants.startswith("one of"):
        return re.findall(r"'([^']*)'", wants)
    return []


def _unchecked(cls: type[Params], values: Mapping[str, Any]) -> Any:
    made = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


class Signature:
    """How a function of an operator is called: its inputs, its parameters, what is positional."""

    __slots__ = ("inputs", "op", "params", "places")

    def __init__(self, op: OpDef) -> None:
        self.op = op
        self.inputs = () if op.num_args is not None or op.takes_any else all_inputs(op)
        self.params = tuple(dataclasses.fields(op.params))
        self.places = (*(n for n in self.inputs if n not in op.by_name),
                        *(f.name for f in self.params if f.name not in self.inputs))

    @property
    def is_variadic(self) -> bool:
        """It takes any number of inputs by position, counted by a parameter."""
        return self.op.num_args is not None

    @property
    def takes_any(self) -> bool:
        """It takes any number of inputs by position."""
        return self.is_variadic or self.op.takes_any

    def split(self, args: Sequence[Any], kwargs: Mapping[str, Any], arrays: type,
              ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """(inputs by position, inputs by name, parameters) of one call.

        `arrays` is the class of inputs. Inputs that are None count as not given. Only operators
        with any number of inputs take all of them by position. Raises TypeMismatch.
        """
        if self.takes_any:
            return self._split_variadic(args, kwargs, arrays)
        named: dict[str, Any] = {}
        params: dict[str, Any] = {}
        if len(args) > len(self.places):
            raise TypeMismatch(f"{self.op.name} takes at most {len(self.places)} positional "
                               f"arguments ({', '.join(self.places)}), got {len(args)}")
        for place, value in zip(self.places, args, strict=False):
            if place not in self.inputs and self.op.by_name and isinstance(value, arrays):
                place = self.op.by_name[0]
            if place in self.inputs:
                if value is not None:
                    self._check(place, value, arrays)
                    named[place] = value
            else:
                params[place] = value
        for name, value in kwargs.items():
            if name in named or name in params:
                raise TypeMismatch(f"{self.op.name} got two values for {name!r}")
            if isinstance(value, arrays):
                named[name] = value
            elif name not in self.inputs:
                params[name] = value
            elif value is not None:
                self._check(name, value, arrays)
        return [], named, params

    def _split_variadic(self, args: Sequence[Any], kwargs: Mapping[str, Any], arrays: type,
                        ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        for i, value in enumerate(args):
            if not isinstance(value, arrays):
                hint = (": pass them one by one, f(*list)" if isinstance(value, (list, tuple))
                        else "")
                raise TypeMismatch(f"{self.op.name}: positional argument {i} must be "
                                   f"{arrays.__name__}, got {type(value).__name__}{hint}")
        named = {k: v for k, v in kwargs.items() if isinstance(v, arrays)}
        if args and named:
            raise TypeMismatch(f"{self.op.name} takes its inputs by position or by name, not both")
        params = {k: v for k, v in kwargs.items() if k not in named}
        count = self.op.num_args
        if count is not None and count not in params:
            params[count] = len(args) + len(named)
        return list(args), named, params

    def _check(self, name: str, value: Any, arrays: type) -> None:
        if not isinstance(value, arrays):
            raise TypeMismatch(f"{self.op.name}: argument {name!r} must be {arrays.__name__}, "
                               f"got {shown(value)}")

    def check_names(self, params: Mapping[str, Any], node: str | None = None) -> None:
        """NameMismatch if an operator without parameters is given one.

        Params.parse refuses other unknown names; attributes of a scope may stay on such a node.
        """
        if self.params:
            return
        for name in params:
            if name not in IGNORED and not (name.startswith("__") and name.endswith("__")):
                raise NameMismatch(f"{self.op.name}: unknown parameter {name!r}; it takes none"
                                   + (f' (node "{node}")' if node else ""))

    def python(self, trailing: Sequence[str] = ("name", "attr", "out")) -> inspect.Signature:
        """The signature that help() shows."""
        made: list[inspect.Parameter] = []
        if self.takes_any:
            made.append(inspect.Parameter("data", inspect.Parameter.VAR_POSITIONAL))
        kind = (inspect.Parameter.KEYWORD_ONLY if self.takes_any
                else inspect.Parameter.POSITIONAL_OR_KEYWORD)
        made += [inspect.Parameter(n, kind, default=None) for n in self.inputs
                 if n not in self.op.by_name]
        for f in self.params:
            if f.name not in self.inputs and f.name not in trailing and f.name != "data":
                default = REQUIRED if f.default is dataclasses.MISSING else f.default
                made.append(inspect.Parameter(f.name, kind, default=default))
        made += [inspect.Parameter(n, kind, default=None) for n in trailing
                 if n not in self.inputs]
        made += [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None)
                 for n in self.op.by_name]
        made.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
        return inspect.Signature(made)

    def docstring(self, array: str, trailing: Mapping[str, str]) -> str:
        """The operator's documentation; `array` is "NDArray" or "Symbol".

        `trailing` are the additional arguments of each function of a module, with their texts.
        """
        lines = [self.op.doc.strip() or f"The operator {self.op.name}.", "", "Parameters",
                 "----------"]
        if self.takes_any:
            lines += [f"*data : {array}", "    The inputs, any number of them."]
        aux = set(self.op.aux) if isinstance(self.op.aux, tuple) else set()
        for name in self.inputs:
            lines.append(f"{name} : {array}" + (", aux state" if name in aux else ""))
        for f in self.params:
            default = ("required" if f.default is dataclasses.MISSING
                       else f"optional, default {f.default!r}")
            wants = f.metadata.get("wants", "")
            lines += [f"{f.name} : {wants}, {default}", f"    {f.metadata.get('doc', '')}"]
        for name, text in trailing.items():
            lines += [name, f"    {text}"]
        names = self.op.outputs
        lines += ["", "Returns", "-------"]
        if isinstance(names, tuple) and len(names) == 1:
            lines.append(array)
        else:
            lines.append(f"{array}, or a list of them when there are several outputs")
        return "\n".join(lines)


def check_name(op: OpDef, name: object) -> None:
    """TypeMismatch for a name of a node, or of a call, that is not a string."""
    if name is not None and not isinstance(name, str):
        raise TypeMismatch(f"{op.name}: name got {shown(name)}, expected a string")


def dtype_text(value: object) -> str:
    """A `dtype` argument as the name that is written to attributes.

    None counts as float64: MXNet asks NumPy, and numpy.dtype(None) is float64.
    """
    made: DType = np.dtype(np.float64) if value is None else find_dtype(value)
    return dtype_name(made)
