"""Sequences as one array or a list of steps, their masks and their reversal, for unrolling."""

# ruff: noqa: N806 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ... import nd, sym
from ...nd import NDArray
from ...symbol.symbol import Symbol
from ..errors import Mismatch
from ..parameter import tensor_types


def operators_for(value: Any) -> Any:
    """`mx.sym` for a symbol, `mx.nd` for an array."""
    return sym if isinstance(value, Symbol) else nd


def split_steps(F: Any, data: Any, axis: int, count: int) -> list[Any]:  # noqa: N803
    """The steps of a sequence, without the axis of time."""
    made = F.split(data, axis=axis, num_outputs=count, squeeze_axis=1)
    return [made] if isinstance(made, NDArray) else list(made)


def format_sequence(length: int | None, inputs: Any, layout: str,
                    merge: bool | None) -> tuple[Any, int, Any, int]:
    """(the sequence, its axis of time, the module of its operators, its batch size or 0).

    With `merge` True it is one array or symbol, with False a list of steps, with None what it was.
    Mismatch where there are no inputs or not `length` of them.
    """
    if inputs is None:
        raise Mismatch("unroll: inputs is None; create the variables that are to be unrolled")
    axis = layout.find("T")
    if not isinstance(inputs, tensor_types):
        if length is not None and len(inputs) != length:
            raise Mismatch(f"unroll: length is {length}, got {len(inputs)} inputs")
        F = operators_for(inputs[0])
        batch_size = 0 if F is sym else inputs[0].shape[0]
        return F.stack(*inputs, axis=axis) if merge else inputs, axis, F, batch_size
    F = operators_for(inputs)
    if isinstance(inputs, NDArray):
        batch_size, found = inputs.shape[layout.find("N")], inputs.shape[axis]
        if merge is False:
            if length is not None and length != found:
                raise Mismatch(f"unroll: length is {length}, the {layout} input has {found} steps")
            inputs = split_steps(F, inputs, axis, found)
        return inputs, axis, F, batch_size
    if merge is False:
        if len(inputs.list_outputs()) != 1:
            raise Mismatch("unroll: a group of symbols is not taken as input, pass list(inputs)")
        if length is None:
            raise Mismatch("unroll: a symbol is split into steps by a length, got None")
        inputs = split_steps(F, inputs, axis, length)
    return inputs, axis, F, 0


def mask_behind_end(F: Any, data: Any, length: int, valid_length: Any, axis: int,  # noqa: N803
                    merge: bool | None) -> Any:
    """The sequence with zeros behind the end of each sample; a list of steps unless `merge`."""
    if not isinstance(data, tensor_types):
        data = F.stack(*data, axis=axis)
    outputs = F.SequenceMask(data, sequence_length=valid_length, use_sequence_length=True,
                             axis=axis)
    return outputs if merge else split_steps(F, outputs, axis, length)


def reverse_steps(steps: Any, valid_length: Any) -> list[Any]:
    """The steps from last to first; with `valid_length` each sample's from its own end."""
    if valid_length is None:
        return list(reversed(steps))
    F = operators_for(steps[0])
    turned = F.SequenceReverse(F.stack(*steps, axis=0), sequence_length=valid_length,
                               use_sequence_length=True)
    return split_steps(F, turned, 0, len(steps))


def first_states(cell: Any, F: Any, begin_state: Any, inputs: Any,  # noqa: N803
                 batch_size: int) -> Any:
    """`begin_state`, or zeros for these inputs where it is None."""
    if begin_state is not None:
        return begin_state
    if F is sym:
        return cell.begin_state(func=F.zeros, batch_size=batch_size)
    with (inputs if isinstance(inputs, NDArray) else inputs[0]).context:
        return cell.begin_state(func=F.zeros, batch_size=batch_size)
