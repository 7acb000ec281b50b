"""What detectors end with: the best of boxes that overlap, anchors that become boxes."""

from __future__ import annotations

import numpy as np

from ....ops.vision.multibox_detection import MultiBoxDetectionParams
from ....ops.vision.proposal import all_anchors
from ..call import Call
from ..table import exports
from .activations import positions
from .suppression import Boxes, Number, at_most, best_first, kept, number_of, rows_at, vector

_FURTHEST = (1 << 63) - 1


def _ends(c: Call, boxes: str) -> tuple[str, str]:
    """The first two and the last two of four numbers."""
    return c.slice(boxes, [-1], [0], [2]), c.slice(boxes, [-1], [2], [4])


def _area(c: Call, sizes: str) -> str:
    """Width times height."""
    return c.reduce("ReduceProd", sizes, [2], False)


def _column(c: Call, rows: str, at: int) -> str:
    return c.op("Gather", rows, c.const(at, np.int64), axis=-1)


# ---- box_nms -----------------------------------------------------------------------------------


@exports("_contrib_box_nms")
def box_nms(c: Call) -> str:
    if c.p.topk == 0:
        return c.input(0)
    rank, width = c.rank(), c.fixed(c.shape()[-1:], "the width of a row")[0]
    count = number_of(c, 0, rank - 2)
    rows = c.input(0) if rank == 3 else c.op("Reshape", c.input(0), c.op(
        "Concat", c.ints(-1), vector(c, count), c.ints(width), axis=0))
    score = _column(c, rows, c.p.score_index)
    valid = c.op("Greater", score, c.number(c.p.valid_thresh))
    if c.p.id_index >= 0:
        background = c.op("Equal", _column(c, rows, c.p.id_index),
                          c.number(float(c.p.background_id)))
        valid = c.op("And", valid, c.op("Not", background))
    most = count if c.p.topk < 0 else at_most(c, count, c.p.topk)
    least = c.number(-np.inf)
    scores, places = c.ops("TopK", 2, c.op("Where", valid, score, least), vector(c, most), axis=1)
    rows = rows_at(c, rows, places)
    stay = kept(c, _boxes_of(c, rows, most, c.op("Greater", scores, least)), c.p.overlap_thresh,
                False)
    order, flags = best_first(c, stay, most)
    rows = rows_at(c, rows, order)
    if c.p.in_format != c.p.out_format:
        rows = _in_other_format(c, rows, width)
    made = c.op("Where", c.unsqueeze(flags, 2), rows, c.number(-1.0))
    if most != count:
        left = c.op("Sub", vector(c, count), vector(c, most))
        ends = c.op("Concat", c.ints(0, 0, 0, 0), left, c.ints(0), axis=0)
        made = c.op("Pad", made, ends, c.number(-1.0))
    if rank == 3:
        return made
    return c.op("Reshape", made, c.sizes(c.out_shape(), (c.input(0), c.shape())))


def _boxes_of(c: Call, rows: str, count: Number, valid: str) -> Boxes:
    """The boxes of rows in order."""
    at = c.p.coord_start
    first, last = _ends(c, c.slice(rows, [2], [at], [at + 4]))
    sizes = last if c.p.in_format == "center" else c.op("Sub", last, first)
    area = _area(c, c.op("Max", sizes, c.number(0.0)))
    if c.p.in_format == "center":
        half = c.op("Mul", last, c.number(0.5))
        first, last = c.op("Sub", first, half), c.op("Add", first, half)
    kinds = None
    if c.p.id_index >= 0 and not c.p.force_suppress:
        found = _column(c, rows, c.p.id_index)
        # what is behind the point counts for nothing
        kinds = c.op("Where", c.op("Less", found, c.number(0.0)), c.op("Ceil", found),
                     c.op("Floor", found))
    return Boxes(first, last, area, count, valid, kinds)


def _in_other_format(c: Call, rows: str, width: int) -> str:
    """Corners as centers or the other way; as here one that begins left of 0 stays as it is."""
    at = c.p.coord_start
    given = c.slice(rows, [2], [at], [at + 4])
    first, last = _ends(c, given)
    if c.p.out_format == "center":
        parts = [c.op("Mul", c.op("Add", first, last), c.number(0.5)), c.op("Sub", last, first)]
    else:
        half = c.op("Mul", last, c.number(0.5))
        parts = [c.op("Sub", first, half), c.op("Add", first, half)]
    outside = c.op("Less", c.slice(given, [2], [0], [1]), c.number(0.0))
    made = c.op("Where", outside, given, c.op("Concat", *parts, axis=2))
    around = [c.slice(rows, [2], [begin], [end]) if begin < end else ""
              for begin, end in ((0, at), (at + 4, width))]
    return c.op("Concat", *filter(None, (around[0], made, around[1])), axis=2)


# ---- MultiBoxDetection -------------------------------------------------------------------------


@exports("_contrib_MultiBoxDetection")
def multi_box_detection(c: Call) -> str:
    p: MultiBoxDetectionParams = c.p
    classes = c.fixed(c.shape()[1:2], "the number of classes")[0] - 1
    count = number_of(c, 2, 1)
    none = c.number(-1.0)
    if classes < 1 or count == 0:
        return c.op("Expand", none, c.sizes(c.out_shape(), (c.input(0), c.shape())))
    probable = c.slice(c.input(0), [1], [1], [classes + 1])
    # what is no number is never the best
    probable = c.op("Where", c.op("IsNaN", probable), c.number(-np.inf), probable)
    score = c.reduce("ReduceMax", probable, [1], False)
    kind = c.op("ArgMax", probable, axis=1, keepdims=0)
    found = c.op("And", c.op("Greater", score, none), c.op("Not", c.op(
        "Less", score, c.number(float(np.float32(p.threshold))))))
    boxes = _decoded(c, p)
    plain, flags = best_first(c, found, count)
    if not 0 < np.float32(p.nms_threshold) <= 1:
        rows = _rows(c, plain, c.cast(kind, c.dtype()), score, boxes)
        return c.op("Where", c.unsqueeze(flags, 2), rows, none)
    least = c.number(-np.inf)
    _, order = c.ops("TopK", 2, c.op("Where", found, score, least), vector(c, count), axis=1)
    most = at_most(c, count, p.nms_topk) if p.nms_topk > 0 else count
    part = order if most == count else c.slice(order, [1], [0], [p.nms_topk])
    first, last = _ends(c, rows_at(c, boxes, part))
    kinds = c.op("GatherElements", kind, part, axis=1)
    valid = flags if most == count else c.slice(flags, [1], [0], [p.nms_topk])
    stay = kept(c, Boxes(first, last, _area(c, c.op("Sub", last, first)), most, valid,
                         None if p.force_suppress else kinds, classes), p.nms_threshold, True)
    own = c.op("Where", stay, c.cast(kinds, c.dtype()), none)
    rows = c.op("Concat", c.unsqueeze(own, 2), _rows(c, part, None, score, boxes), axis=2)
    if most != count:
        # as in MXNet, what lies behind the best ones loses its class, and has its place of before
        rest = _rows(c, c.slice(plain, [1], [p.nms_topk], [_FURTHEST]), None, score, boxes)
        rest = c.pad(rest, [0, 0, 1], [0, 0, 0], -1.0)
        rows = c.op("Concat", rows, rest, axis=1)
    return c.op("Where", c.unsqueeze(flags, 2), rows, none)


def _rows(c: Call, places: str, kinds: str | None, score: str, boxes: str) -> str:
    """Rows of (class, score, box) or (score, box) of the anchors at places (batch, n)."""
    columns = [c.unsqueeze(c.op("GatherElements", x, places, axis=1), 2)
               for x in (kinds, score) if x is not None]
    return c.op("Concat", *columns, rows_at(c, boxes, places), axis=2)


def _decoded(c: Call, p: MultiBoxDetectionParams) -> str:
    """(batch, anchors, 4): what anchors and shifts give, by their corners."""
    variance = np.array(p.variances, np.float32).astype(c.dtype())
    move, grow = _ends(c, c.op("Reshape", c.input(1), c.ints(0, -1, 4)))
    first, last = _ends(c, c.input(2))
    size = c.op("Sub", last, first)
    middle = c.op("Mul", c.op("Add", first, last), c.number(0.5))
    center = c.op("Add", c.op("Mul", c.op("Mul", move, c.const(variance[:2])), size), middle)
    half = c.op("Exp", c.op("Mul", grow, c.const(variance[2:])))
    half = c.op("Mul", c.op("Mul", half, size), c.number(0.5))
    made = c.op("Concat", c.op("Sub", center, half), c.op("Add", center, half), axis=2)
    return c.op("Clip", made, c.number(0.0), c.number(1.0)) if p.clip else made


# ---- Proposal ----------------------------------------------------------------------------------


@exports("_contrib_Proposal", "_contrib_MultiProposal")
def proposal(c: Call) -> list[str]:
    kinds = c.fixed(c.shape()[1:2], "the number of channels")[0] // 2
    size = c.shape()[2:]
    count: Number
    if all(isinstance(length, int) for length in size):
        height, width = c.fixed(size, "the size of the map")
        count, anchors = height * width * kinds, c.const(all_anchors(c.p, height, width)[None])
    else:
        lengths = [vector(c, number_of(c, 0, axis)) for axis in (2, 3)]
        count = c.op("Mul", c.op("Mul", *lengths), c.ints(kinds))
        anchors = _anchors(c, lengths)
    boxes = _moved(c, kinds, anchors)
    score = c.transpose(c.slice(c.input(0), [1], [kinds], [2 * kinds]), [0, 2, 3, 1])
    score = c.op("Where", c.unsqueeze(_within(c), 3), score, c.number(-1.0))
    score = c.op("Reshape", score, c.ints(0, -1))
    first, last = _ends(c, boxes)
    sides = c.op("Add", c.op("Sub", last, first), c.number(1.0))
    least = c.op("Mul", c.slice(c.input(2), [1], [2], [3]), c.number(float(c.p.rpn_min_size)))
    small = c.op("Less", c.reduce("ReduceMin", sides, [2], False), least)
    grown = c.op("Mul", c.const([-0.5, -0.5, 0.5, 0.5], np.float32), c.unsqueeze(least, 2))
    boxes = c.op("Where", c.unsqueeze(small, 2), c.op("Add", boxes, grown), boxes)
    score = c.op("Where", small, c.number(-1.0), score)
    most = count if c.p.rpn_pre_nms_top_n <= 0 else at_most(c, count, c.p.rpn_pre_nms_top_n)
    score, places = c.ops("TopK", 2, score, vector(c, most), axis=1)
    boxes = rows_at(c, boxes, places)
    # a box ends behind its last pixel
    first, last = _ends(c, boxes)
    last = c.op("Add", last, c.number(1.0))
    wanted = c.p.rpn_post_nms_top_n
    every = c.op("Equal", score, score)
    stay = kept(c, Boxes(first, last, _area(c, c.op("Sub", last, first)), most, every),
                c.p.threshold, False, wanted)
    order, _ = best_first(c, stay, most)
    # too few of them come again
    number = c.op("ReduceSum", c.cast(stay, np.int64), c.ints(1), keepdims=1)
    order = c.op("GatherElements", order, c.op(
        "Mod", c.const(np.arange(wanted)[None], np.int64), number), axis=1)
    boxes = rows_at(c, boxes, order)
    image = c.op("CumSum", c.op("ConstantOfShape", c.sizes(c.shape()[:1], (c.input(0), c.shape())),
                                value=c.writer.filled(1, c.dtype())), c.const(0, np.int64),
                 exclusive=1)
    image = c.op("Expand", c.unsqueeze(image, 1, 2), c.ints(1, wanted, 1))
    regions = c.op("Reshape", c.op("Concat", image, boxes, axis=2), c.ints(-1, 5))
    chosen = c.op("GatherElements", score, order, axis=1)
    return [regions, c.op("Reshape", chosen, c.ints(-1, 1))]


def _anchors(c: Call, lengths: list[str]) -> str:
    """(1, anchors, 4) for a map of free height and width."""
    stride = c.number(float(c.p.feature_stride))
    y, x = (c.op("Mul", c.cast(positions(c, size), np.float32), stride) for size in c.shape()[2:])
    shape = c.op("Concat", *lengths, axis=0)
    y, x = (c.op("Expand", place, shape) for place in (c.unsqueeze(y, 1), c.unsqueeze(x, 0)))
    shift = c.op("Concat", *[c.unsqueeze(place, 2) for place in (x, y, x, y)], axis=2)
    first = c.const(all_anchors(c.p, 1, 1))
    return c.op("Reshape", c.op("Add", c.unsqueeze(shift, 2), first), c.ints(1, -1, 4))


def _moved(c: Call, kinds: int, anchors: str) -> str:
    """(batch, anchors, 4): the anchors with their shifts, inside of the image."""
    shifts = c.op("Reshape", c.input(1), c.ints(0, kinds, 4, -1))
    shifts = c.op("Reshape", c.transpose(shifts, [0, 3, 1, 2]), c.ints(0, -1, 4))
    if c.p.iou_loss:
        made = c.op("Add", shifts, anchors)
    else:
        half, one = c.number(0.5), c.number(1.0)
        first, last = _ends(c, anchors)
        size = c.op("Add", c.op("Sub", last, first), one)
        middle = c.op("Add", first, c.op("Mul", half, c.op("Sub", size, one)))
        move, grow = _ends(c, shifts)
        center = c.op("Add", c.op("Mul", move, size), middle)
        extent = c.op("Mul", c.op("Sub", c.op("Mul", c.op("Exp", grow), size), one), half)
        made = c.op("Concat", c.op("Sub", center, extent), c.op("Add", center, extent), axis=2)
    limit = c.op("Gather", c.input(2), c.ints(1, 0, 1, 0), axis=1)
    limit = c.unsqueeze(c.op("Sub", limit, c.number(1.0)), 1)
    return c.op("Max", c.op("Min", made, limit), c.number(0.0))


def _within(c: Call) -> str:
    """(batch, height, width), bool: pixels of the image; the others fill up the batch."""
    ends = c.op("Div", c.slice(c.input(2), [1], [0], [2]), c.number(float(c.p.feature_stride)))
    ends = c.op("Floor", ends)
    rows, columns = (c.unsqueeze(c.slice(ends, [1], [i], [i + 1]), 2) for i in range(2))
    y, x = (c.cast(positions(c, size), np.float32) for size in c.shape()[2:])
    return c.op("And", c.op("Less", c.unsqueeze(y, 0, 2), rows),
                c.op("Less", c.unsqueeze(x, 0, 1), columns))
