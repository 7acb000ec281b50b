"""Functions of `mx.nd` that cast their inputs first, in the place of the others, and casts of the
inputs of new nodes of symbols."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import nd, sym
from ...dtypes import FLOAT32, DType, dtype_name, find_dtype
from ...op.registry import REGISTRY
from ...op.signatures import public_name
from ...symbol.compose import mutated_inputs
from ...symbol.create import change_new_nodes
from ...symbol.node import Node
from ...symbol.symbol import Symbol
from .reduce_precision import Wanted

Function = Callable[..., Any]
# (name of a parameter, values of it for which inputs are cast)
Condition = tuple[str, Sequence[str]]
Wrap = Callable[[Function], Function]


class Casting:
    """What `init` has put in place, until `remove` takes it back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def change_nodes(self, change: Callable[[Node], None]) -> None:
        """Has `change` done to each new node of a symbol."""
        self._undo.append(change_new_nodes(change))

    def replace(self, name: str, wrap: Wrap, module: Any = nd) -> None:
        """Wraps the functions of an operator's registered name in `nd`, or in `sym`.

        Not those that write to an input: they would write to a copy.
        """
        if name not in REGISTRY or not REGISTRY.is_public(name) or REGISTRY.find(name).mutates:
            return
        space, public = public_name(name)
        place: Any = getattr(module, space) if space else module
        self.put(place, public, wrap)
        if not space:
            self.put(module.op, public, wrap)

    def put(self, place: Any, name: str, wrap: Wrap) -> None:
        """Wraps what a module or a class has under a name, if it has it."""
        found = getattr(place, name, None)
        if found is not None:
            self._undo.append(lambda: setattr(place, name, found))
            setattr(place, name, wrap(found))

    def remove(self) -> None:
        """Puts everything back."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()


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


class NodeCasting:
    """Casts the inputs of new nodes as the lists say, but for what they write to; `stays` names the
    inputs of an operator that are not cast, "" in the place of those that are."""

    def __init__(self, wanted: Wanted, stays: Mapping[str, Sequence[str]]) -> None:
        self._wanted = wanted
        self._stays = stays

    def __call__(self, node: Node) -> None:
        assert node.op is not None
        assert node.params is not None
        name, wanted = node.op.name, self._wanted
        if name in wanted.in_widest:
            if len(node.inputs) > 1:
                given = [Symbol([entry]) for entry in node.inputs]
                node.inputs = sym.amp_multicast(*given, num_outputs=len(given)).entries
            return
        stays = self._stays.get(name, ())
        if name in wanted.in_low:
            dtype = wanted.dtype
        elif name in wanted.in_float32 or any(
                node.attrs.get(key) in values for key, values in wanted.conditional.get(name, ())):
            dtype = FLOAT32
        else:
            return
        written = mutated_inputs(node.op, node.params)
        node.inputs = [entry if at in written or (at < len(stays) and stays[at])
                       else sym.amp_cast(Symbol([entry]), dtype=dtype_name(dtype)).entries[0]
                       for at, entry in enumerate(node.inputs)]
