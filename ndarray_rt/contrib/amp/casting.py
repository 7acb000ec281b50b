"""Functions of `mx.nd` and `mx.sym` that cast their inputs first, in the place of the others."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import nd, sym
from ...dtypes import FLOAT32, DType, find_dtype
from ...op.registry import REGISTRY
from ...op.signatures import public_name
from ...symbol.compose import mutated_inputs
from ...symbol.node import Entry, Node
from ...symbol.symbol import Symbol

Function = Callable[..., Any]
# (name of a parameter, values of it for which inputs are cast)
Condition = tuple[str, Sequence[str]]
Wrap = Callable[[Function], Function]


class Casting:
    """What `init` has put in place, until `remove` takes it back."""

    def __init__(self) -> None:
        # (where, under which name, what was there)
        self._replaced: list[tuple[Any, str, Any]] = []

    def replace(self, name: str, on_arrays: Wrap, on_symbols: Wrap) -> None:
        """Wraps the functions of an operator's registered name in `nd` and in `sym`.

        Not those that write to an input: they would write to a copy.
        """
        if name not in REGISTRY or not REGISTRY.is_public(name) or REGISTRY.find(name).mutates:
            return
        space, public = public_name(name)
        for module, wrap in ((nd, on_arrays), (sym, on_symbols)):
            place: Any = getattr(module, space) if space else module
            function = getattr(place, public, None)
            if function is None:
                continue
            self._set(place, public, wrap(function))
            if not space:
                self._set(module.op, public, wrap(function))

    def _set(self, place: Any, name: str, value: Any) -> None:
        self._replaced.append((place, name, getattr(place, name)))
        setattr(place, name, value)

    def remove(self) -> None:
        """Puts everything back."""
        for place, name, value in reversed(self._replaced):
            setattr(place, name, value)
        self._replaced.clear()


def cast_array(value: Any, dtype: DType) -> Any:
    """A float array in that dtype; anything else as it is."""
    if not isinstance(value, nd.NDArray):
        return value
    given = find_dtype(value.dtype)
    return value if given == dtype or given.name not in _CASTABLE else nd.amp_cast(
        value, dtype=dtype)


_CASTABLE = ("float16", "bfloat16", "float32")


def arrays_to(dtype: DType, stays: Sequence[str] = (), condition: Condition | None = None) -> Wrap:
    """Casts the arrays among the arguments; not those that `stays` names, by place or by name."""
    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def casting(*args: Any, **kwargs: Any) -> Any:
            if _is_met(condition, kwargs):
                args = tuple([value if at < len(stays) and stays[at] else cast_array(value, dtype)
                              for at, value in enumerate(args)])
                kwargs = {name: value if name in stays or name == "out"
                          else cast_array(value, dtype) for name, value in kwargs.items()}
            return function(*args, **kwargs)
        return casting
    return wrap


def arrays_to_widest(low: DType) -> Wrap:
    """Casts arrays to float32 where one of them is, so that all have one dtype."""
    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def casting(*args: Any, **kwargs: Any) -> Any:
            given = [value for name, value in (*enumerate(args), *kwargs.items())
                     if name != "out" and isinstance(value, nd.NDArray)]
            dtypes = {find_dtype(value.dtype) for value in given}
            if low in dtypes and FLOAT32 in dtypes:
                args = tuple([cast_array(value, FLOAT32) for value in args])
                kwargs = {name: value if name == "out" else cast_array(value, FLOAT32)
                          for name, value in kwargs.items()}
            return function(*args, **kwargs)
        return casting
    return wrap


def symbols_to(dtype: DType, stays: Sequence[str] = (), condition: Condition | None = None) -> Wrap:
    """Casts the inputs of the node that is made, but for its auxiliary states."""
    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def casting(*args: Any, **kwargs: Any) -> Any:
            made = function(*args, **kwargs)
            if _is_met(condition, kwargs) and isinstance(made, Symbol):
                _recast(made, lambda node, at, entry: entry if at < len(stays) and stays[at]
                        else _cast_entry(entry, dtype))
            return made
        return casting
    return wrap


def symbols_to_widest(function: Function) -> Function:
    """Casts all symbols among the arguments to the widest of their dtypes."""
    @functools.wraps(function)
    def casting(*args: Any, **kwargs: Any) -> Any:
        given = [value for value in (*args, *kwargs.values()) if isinstance(value, Symbol)]
        if len(given) > 1:
            cast = iter(sym.amp_multicast(*given, num_outputs=len(given)))
            args = tuple([next(cast) if isinstance(value, Symbol) else value for value in args])
            kwargs = {name: next(cast) if isinstance(value, Symbol) else value
                      for name, value in kwargs.items()}
        return function(*args, **kwargs)
    return casting


def scaled_losses(scale: Callable[[], float]) -> Wrap:
    """Multiplies the gradients of a loss by a scale that may change."""
    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def scaling(*args: Any, **kwargs: Any) -> Any:
            kwargs["grad_scale"] = kwargs.get("grad_scale", 1.0) * scale()
            return function(*args, **kwargs)
        return scaling
    return wrap


def unscaled_losses(function: Function) -> Function:
    """Says that a loss in a graph is not scaled."""
    @functools.wraps(function)
    def warning(*args: Any, **kwargs: Any) -> Any:
        logging.warning("%s does not support dynamic loss scaling in symbolic and hybridized "
                        "execution.", function.__name__)
        return function(*args, **kwargs)
    return warning


def _is_met(condition: Condition | None, kwargs: Mapping[str, Any]) -> bool:
    return condition is None or kwargs.get(condition[0]) in condition[1]


def _recast(made: Symbol, cast: Callable[[Node, int, Entry], Entry]) -> None:
    """Changes the inputs of a node that was made just now."""
    node = made.entries[0].node
    if node.op is None or node.params is None:
        return
    written = mutated_inputs(node.op, node.params)
    node.inputs = [entry if at in written else cast(node, at, entry)
                   for at, entry in enumerate(node.inputs)]


def _cast_entry(entry: Entry, dtype: DType) -> Entry:
    made: Symbol = sym.amp_cast(Symbol([entry]), dtype=str(dtype))
    return made.entries[0]
