"""Sequences as one symbol or a list of steps."""

from __future__ import annotations

from typing import Any

from .. import sym
from ..symbol.symbol import Symbol
from .errors import CellError


def format_sequence(length: int | None, inputs: Any, layout: str,
                    merge: bool | None) -> tuple[Any, int]:
    """(the sequence, its axis of time).

    With `merge` True it is one symbol with the axes of `layout`, with False a list of steps, with
    None what it was. CellError where there are no inputs, not `length` of them, or a group.
    """
    if inputs is None:
        raise CellError("unroll: inputs is None; create the variables that are to be unrolled")
    axis = layout.find("T")
    if isinstance(inputs, Symbol):
        if merge is False:
            if len(inputs.list_outputs()) != 1:
                raise CellError("unroll doesn't allow grouped symbol as input. Please convert to "
                                "list with list(inputs) first or let unroll handle splitting.")
            if length is None:
                raise CellError("unroll: a symbol is split into steps by a length, got None")
            inputs = split_steps(inputs, axis, length)
        return inputs, axis
    if length is not None and len(inputs) != length:
        raise CellError(f"unroll: length is {length}, got {len(inputs)} inputs")
    if merge is True:
        inputs = sym.Concat(*[sym.expand_dims(step, axis=axis) for step in inputs], dim=axis)
    return inputs, axis


def split_steps(sequence: Symbol, axis: int, length: int) -> list[Symbol]:
    """The steps of a sequence, without the axis of time."""
    settings: dict[str, Any] = {"squeeze_axis": 1}  # written to files as MXNet writes it
    return list(sym.split(sequence, axis=axis, num_outputs=length, **settings))
