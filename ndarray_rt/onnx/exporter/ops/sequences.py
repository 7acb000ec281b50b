"""Sequences that are padded to one length: (steps, batch, ...) or (batch, steps, ...)."""

from __future__ import annotations

import numpy as np

from ..call import Call
from ..table import exports
from .activations import positions


def _steps(c: Call) -> str:
    """0, 1, 2 ... along the axis of steps, with axes of length 1 for the others."""
    size = c.shape()[c.p.axis]
    rank = c.rank() - c.p.axis
    return c.reshape(positions(c, size), (size,), (size, *(1,) * (rank - 1)))


def _lengths(c: Call) -> str:
    """The lengths as (1, batch, 1 ...), or (batch, 1, 1 ...)."""
    batch = c.shape(1)[0]
    shape = tuple(batch if axis == 1 - c.p.axis else 1 for axis in range(c.rank()))
    return c.reshape(c.whole(1), (batch,), shape)


@exports("SequenceMask")
def sequence_mask(c: Call) -> str:
    if not c.p.use_sequence_length:
        return c.input(0)
    inside = c.op("Less", _steps(c), _lengths(c))
    return c.op("Where", inside, c.input(0), c.number(c.p.value))


@exports("SequenceLast")
def sequence_last(c: Call) -> str:
    x, axis = c.input(0), c.p.axis
    if not c.p.use_sequence_length:
        return c.op("Gather", x, c.const(-1, np.int64), axis=axis)
    if axis == 0:
        x = c.transpose(x, [1, 0, *range(2, c.rank())])
    last = c.op("Sub", _clipped(c, 1), c.const(1, np.int64))
    return c.op("GatherND", x, c.unsqueeze(last, 1), batch_dims=1)


def _clipped(c: Call, least: int) -> str:
    """The lengths, within the steps that there are."""
    steps = c.squeeze(c.sizes([c.shape()[c.p.axis]], (c.input(0), c.shape())), 0)
    return c.op("Clip", c.whole(1), c.const(least, np.int64), steps)


@exports("SequenceReverse")
def sequence_reverse(c: Call) -> str:
    x = c.input(0)
    if not c.p.use_sequence_length:
        far = (1 << 63) - 1
        return c.slice(x, [0], [far], [-far], [-1])
    return c.op("ReverseSequence", x, _clipped(c, 0), time_axis=0, batch_axis=1)
