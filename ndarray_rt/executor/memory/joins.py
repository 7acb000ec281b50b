"""In-place concat: producers write directly into their slice of the output. Allocates nothing.

A Concat whose parts are contiguous in its output moves nothing if each part was computed in its
place there. The operator checks that when it runs: parts that have another layout than planned are
copied.
"""

from __future__ import annotations

from math import prod

from ..program.plan import Kind, Plan, Step, Value

ALIGNMENT = 64


def place_parts(plan: Plan) -> None:
    """Assigns values that are parts of a Concat's output their place in it."""
    for step in plan.steps:
        op = step.node.op
        if not step.is_backward and op is not None and op.joins_axis is not None:
            _place_parts_of(plan, step, op.joins_axis(step.node.params))


def whole_of(plan: Plan, value: Value) -> tuple[Value, int]:
    """The outermost value that contains a value, and the offset in bytes."""
    offset = 0
    while value.within is not None:
        index, by = value.within
        value, offset = plan.values[index], offset + by
    return value, offset


def _place_parts_of(plan: Plan, step: Step, axis: int) -> None:
    whole = plan.values[step.outs[0]]
    parts = [plan.values[i] for i in step.ins]
    if (whole.kind is not Kind.PLANNED or len(set(step.ins)) != len(step.ins)
            or not all(_is_free(part) for part in parts)
            or not _is_outermost(whole, parts, axis)
            or sum(part.nbytes for part in parts) != whole.nbytes):
        return
    whole.has_parts = True
    offset = 0
    for part in parts:
        part.within = whole.index, offset
        offset += part.nbytes


def _is_free(part: Value) -> bool:
    return (part.kind is Kind.PLANNED and part.within is None
            and part.nbytes > 0 and part.nbytes % ALIGNMENT == 0)


def _is_outermost(whole: Value, parts: list[Value], axis: int) -> bool:
    """In all layouts that the plan can choose, no axis outside of this one is longer than 1.

    The batch is outermost in all of them, channels only in blocked ones without padding.
    """
    axis %= len(whole.shape)
    if axis == 0:
        return True
    return (axis == 1 and prod(whole.shape[:1]) == 1
            and all(value.padded == value.shape for value in (whole, *parts)))
