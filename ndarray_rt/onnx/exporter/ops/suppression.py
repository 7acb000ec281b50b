"""Boxes that better ones overlap with: which of them stay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..call import Call
from ..dims import Dim
from ..inner import Tensor, closed
from ..writer import Writer

# a size that nothing is told about
_ANY = Dim(())
Number = int | str


def number_of(c: Call, i: int, axis: int) -> Number:
    """The size of an axis of an input: a tensor of one element where it is free."""
    size = c.shape(i)[axis]
    return size if isinstance(size, int) else c.sizes([size], (c.input(i), c.shape(i)))


def vector(c: Call, number: Number) -> str:
    """A number as a tensor of one element."""
    return number if isinstance(number, str) else c.ints(number)


def at_most(c: Call, number: Number, most: int) -> Number:
    """The lesser one."""
    if isinstance(number, str):
        return c.op("Min", number, c.ints(most))
    return min(number, most)


def _falling(c: Call, number: Number) -> str:
    """So many numbers that fall to 1, in float32."""
    if isinstance(number, int):
        return c.const(np.arange(number, 0, -1), np.float32)
    return c.cast(c.op("Range", c.squeeze(number, 0), c.const(0, np.int64),
                       c.const(-1, np.int64)), np.float32)


class Boxes(NamedTuple):
    """Boxes of images, best first: the corners `low` and `high` (batch, boxes, 2) and what `area`
    (batch, boxes) they count for, the `number` of them, and which of them are boxes: `valid`
    (batch, boxes), bool.

    Where the number is free, it is a tensor of one element. `kinds` (batch, boxes) are classes:
    boxes of different ones do not count for each other. They are 0, 1 ... below `classes` where
    that is known.
    """

    low: str
    high: str
    area: str
    number: Number
    valid: str
    kinds: str | None = None
    classes: int | None = None


def kept(c: Call, boxes: Boxes, threshold: float, equal: bool, most: int | None = None) -> str:
    """(batch, boxes), bool: the valid boxes that no better one overlaps with by more than the
    threshold, or with `equal` by as much. Behind the first `most` that stay others may, too."""
    limit = np.float32(threshold)
    if equal:
        limit = np.nextafter(limit, np.float32(-1))
    usual = c.dtype() != np.float64 and 0 <= limit <= 1
    if usual and (boxes.kinds is None or boxes.classes is not None):
        return _by_operator(c, boxes, float(limit), most)
    return _by_rounds(c, boxes, threshold, equal)


def best_first(c: Call, flags: str, number: Number) -> tuple[str, str]:
    """Places of what is flagged (batch, count), in order, then of the others; and which is which.
    """
    key = c.op("Mul", c.cast(flags, np.float32), _falling(c, number))
    values, places = c.ops("TopK", 2, key, vector(c, number), axis=1)
    return places, c.op("Greater", values, c.const(0, np.float32))


def rows_at(c: Call, rows: str, places: str) -> str:
    """Rows (batch, n, ...) of each image at places (batch, m)."""
    return c.op("GatherND", rows, c.unsqueeze(places, 2), batch_dims=1)


def _by_operator(c: Call, boxes: Boxes, threshold: float, most: int | None) -> str:
    """ONNX's operator: it takes classes apart as if they were given for each box."""
    single = [c.cast(x, np.float32) if c.dtype() != np.float32 else x
              for x in (boxes.low, c.op("Max", boxes.low, boxes.high))]
    # they are in order: any numbers above 0 that fall say so
    scores = c.op("Where", boxes.valid, _falling(c, boxes.number), c.const(0, np.float32))
    scores = c.unsqueeze(scores, 1)
    if boxes.kinds is not None and boxes.classes is not None:
        own = c.const(np.arange(boxes.classes).reshape(1, -1, 1), np.int64)
        scores = c.op("Where", c.op("Equal", c.unsqueeze(boxes.kinds, 1), own), scores,
                      c.const(0, np.float32))
    found = c.op("NonMaxSuppression", c.op("Concat", *single, axis=2), scores,
                 vector(c, boxes.number) if most is None else c.ints(most),
                 c.const(threshold, np.float32), c.const(0, np.float32))
    places = c.op("Gather", found, c.ints(0, 2), axis=1)
    ones = c.op("ConstantOfShape", c.op("Slice", c.op("Shape", places), c.ints(0), c.ints(1)),
                value=c.writer.filled(1, np.dtype(np.float32)))
    none = c.cast(c.op("And", boxes.valid, c.const(False, np.bool_)), np.float32)
    return c.cast(c.op("ScatterND", none, places, ones), np.bool_)


def _by_rounds(c: Call, boxes: Boxes, threshold: float, equal: bool) -> str:
    """Rounds of: those stay that nothing overlaps with of what stayed in the last round. The best
    box is right behind the first round, the next one behind the second, and so on; it ends with
    a round that changes nothing, usually after a few."""
    over = c.cast(_overlapping(c, boxes, threshold, equal), np.float32)
    begin = c.unsqueeze(c.cast(boxes.valid, np.float32), 2)
    number = boxes.number if isinstance(boxes.number, int) else _ANY
    shape, single = (_ANY, number, 1), np.dtype(np.float32)
    body = Writer(c.writer.shared, [], {}, {}, {}, c.writer)
    name = c.node.name
    step, goes_on, before = (Tensor(body.shared.name(f"{name}_{what}"), dtype, size)
                             for what, dtype, size in (("round", np.dtype(np.int64), ()),
                                                       ("goes_on", np.dtype(np.bool_), ()),
                                                       ("left", single, shape)))
    zero = c.const(0, np.float32)
    hit, = body.add("MatMul", [over, before.name], name)
    free, = body.add("Equal", [hit, zero], name)
    after, = body.add("Where", [free, begin, zero], name)
    changed, = body.add("Abs", body.add("Sub", [after, before.name], name), name)
    changed, = body.add("ReduceMax", [changed], name, keepdims=0)
    again, = body.add("Greater", [changed, zero], name)
    graph = closed(c, body, [step, goes_on, before],
                   [goes_on._replace(name=again), before._replace(name=after)])
    made = c.op("Loop", "", c.const(True, np.bool_), begin, body=graph)
    return c.cast(c.squeeze(made, 2), np.bool_)


def _overlapping(c: Call, boxes: Boxes, threshold: float, equal: bool) -> str:
    """(batch, boxes, boxes), bool: the second of them is better and overlaps with the first."""
    def pair(op: str, x: str) -> str:
        return c.op(op, c.unsqueeze(x, 2), c.unsqueeze(x, 1))
    sides = c.op("Sub", pair("Min", boxes.high), pair("Max", boxes.low))
    both = c.reduce("ReduceProd", c.op("Max", sides, c.number(0.0)), [3], False)
    either = c.op("Sub", pair("Add", boxes.area), both)
    share = c.op("Div", both, either)
    if equal:
        share = c.op("Where", c.op("LessOrEqual", either, c.number(0.0)), c.number(0.0), share)
    over = c.op("GreaterOrEqual" if equal else "Greater", share,
                c.number(float(np.float32(threshold))))
    ranks = _falling(c, boxes.number)
    over = c.op("And", over, c.op("Greater", c.unsqueeze(ranks, 0), c.unsqueeze(ranks, 1)))
    return over if boxes.kinds is None else c.op("And", over, pair("Equal", boxes.kinds))
