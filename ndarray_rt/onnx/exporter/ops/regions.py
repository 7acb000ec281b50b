"""Grids of places, regions and boxes of images, and what prepares pictures."""

from __future__ import annotations

import numpy as np

from ...graph import Array
from ..call import Call
from ..table import Refused, exports
from .activations import positions

# ---- grids -------------------------------------------------------------------------------------


def _targets(height: int, width: int, dtype: np.dtype[np.float32]) -> Array:
    """x, y and 1 of each pixel, (3, pixels); x and y within -1 and 1."""
    if 1 in (height, width):
        raise Refused("a grid of one row or column")
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    return np.stack([x.ravel(), y.ravel(), np.ones(x.size)]).astype(dtype)


def _affine(c: Call, matrices: str, height: int, width: int) -> str:
    """The places (batch, 2, pixels) that the matrices (batch, 6) give for a target's pixels."""
    apart = c.op("Reshape", matrices, c.ints(0, 2, 3))
    return c.op("MatMul", apart, c.const(_targets(height, width, c.dtype())))


@exports("GridGenerator")
def grid_generator(c: Call) -> str:
    if c.p.transform_type == "affine":
        height, width = c.p.target()
        made = _affine(c, c.input(0), height, width)
        return c.op("Reshape", made, c.ints(0, 0, height, width))
    height, width = c.fixed(c.shape()[2:], "the size of a warp")
    own = _targets(height, width, c.dtype())[:2].reshape(1, 2, height, width)
    half = np.array([(width - 1) / 2, (height - 1) / 2]).reshape(1, 2, 1, 1)
    shifts = c.op("Div", c.input(0), c.const(half, c.dtype()))
    return c.op("Add", shifts, c.const(own, c.dtype()))


@exports("SpatialTransformer")
def spatial_transformer(c: Call) -> str:
    if c.opset < 16:
        raise Refused("GridSample is there from operator set 16 on")
    height, width = c.fixed(c.out_shape()[2:], "the output")
    places = _affine(c, c.input(1), height, width)
    grid = c.op("Reshape", c.op("Transpose", places, perm=[0, 2, 1]), c.ints(0, height, width, 2))
    return c.op("GridSample", c.input(0), grid, mode="linear" if c.opset >= 20 else "bilinear",
                padding_mode="zeros", align_corners=1)


# ---- regions and boxes -------------------------------------------------------------------------


@exports("_contrib_ROIAlign")
def roi_align(c: Call) -> str:
    if c.p.aligned and c.opset < 16:
        raise Refused("RoiAlign has aligned pixels from operator set 16 on")
    rois, kept = _of_images(c)
    images = c.cast(c.squeeze(c.slice(rois, [1], [0], [1]), 1), np.int64)
    how = None if c.opset < 16 else ("half_pixel" if c.p.aligned else "output_half_pixel")
    height, width = c.p.bins
    made = c.op("RoiAlign", c.input(0), c.slice(rois, [1], [1], [5]), images, mode="avg",
                output_height=height, output_width=width, spatial_scale=c.p.spatial_scale,
                sampling_ratio=max(0, c.p.sample_ratio), coordinate_transformation_mode=how)
    if c.p.position_sensitive:
        # each bin has channels of its own
        bins = height * width
        made = c.op("Reshape", made, c.ints(0, -1, bins * bins))
        made = c.op("Gather", made, c.ints(*range(0, bins * bins, bins + 1)), axis=2)
        made = c.op("Reshape", made, c.ints(0, 0, height, width))
    return c.op("Where", kept, made, c.number(0.0))


@exports("ROIPooling")
def roi_pooling(c: Call) -> str:
    rois, kept = _of_images(c)
    made = c.op("MaxRoiPool", c.input(0), rois, pooled_shape=list(c.p.pooled_size),
                spatial_scale=c.p.spatial_scale)
    return c.op("Where", kept, made, c.number(0.0))


def _of_images(c: Call) -> tuple[str, str]:
    """The regions, zeros for those of images that there are not, and which the others are: what is
    made of the former is 0."""
    rois, dtype = c.input(1), c.dtype(1)
    count = c.cast(c.sizes(c.shape()[:1], (c.input(0), c.shape())), dtype)
    image = c.slice(rois, [1], [0], [1])
    kept = c.op("And", c.op("GreaterOrEqual", image, c.const(0, dtype)),
                c.op("Less", image, count))
    return c.op("Where", kept, rois, c.const(0, dtype)), c.unsqueeze(kept, 2, 3)


@exports("_contrib_MultiBoxPrior")
def multi_box_prior(c: Call) -> str:
    """A constant, where the size of the data is fixed: it depends on that alone."""
    size = c.shape()[2:]
    fixed = tuple(length for length in size if isinstance(length, int))
    if len(fixed) == 2:
        return c.const(c.run(np.zeros((1, 1, *fixed), c.dtype())))
    count, single = len(c.p.sizes) + len(c.p.ratios) - 1, np.dtype(np.float32)
    lengths = [c.sizes([length], (c.input(0), c.shape())) for length in size]
    height, width = (c.cast(length, single) for length in lengths)
    ratios = np.sqrt(np.array(c.p.ratios, single))
    sizes = np.array([*c.p.sizes, *c.p.sizes[:1] * (len(ratios) - 1)], single)
    ratios = np.concatenate([np.repeat(ratios[:1], len(c.p.sizes)), ratios[1:]])
    half = np.array(2, single)
    across = c.op("Div", c.op("Mul", c.const(sizes), height), width)
    across = c.op("Div", c.op("Mul", across, c.const(ratios)), c.const(half))
    down = c.const(sizes / ratios / half)
    middles = []
    for i, length in enumerate((height, width)):
        place = c.cast(positions(c, size[i]), single)
        step = (c.const(c.p.steps[i], single) if min(c.p.steps) > 0 else
                c.op("Div", c.const(1, single), length))
        middles.append(c.op("Mul", c.op("Add", place, c.const(c.p.offsets[i], single)), step))
    y, x = c.unsqueeze(middles[0], 1, 2), c.unsqueeze(middles[1], 0, 2)
    shape = c.op("Concat", *lengths, c.ints(count), axis=0)
    ends = [c.op("Expand", c.op(op, middle, extent), shape)
            for op in ("Sub", "Add") for middle, extent in ((x, across), (y, down))]
    made = c.op("Concat", *[c.unsqueeze(end, 3) for end in ends], axis=3)
    if c.p.clip:
        made = c.op("Clip", made, c.const(0, single), c.const(1, single))
    made = c.op("Reshape", made, c.ints(1, -1, 4))
    return made if c.dtype() == single else c.cast(made, c.dtype())


@exports("_contrib_box_iou")
def box_iou(c: Call) -> str:
    a, b = (c.op("Reshape", x, c.ints(-1, 4)) for x in c.inputs)
    if c.p.format == "center":
        a, b = (_corners(c, x) for x in (a, b))
    a = c.unsqueeze(a, 1)
    low = c.op("Max", _low(c, a), _low(c, b))
    high = c.op("Min", _high(c, a), _high(c, b))
    both = _area(c, low, high)
    either = c.op("Sub", c.op("Add", _area(c, _low(c, a), _high(c, a)),
                              _area(c, _low(c, b), _high(c, b))), both)
    apart = c.op("LessOrEqual", both, c.number(0.0))
    made = c.op("Div", both, c.op("Where", apart, c.number(1.0), either))
    return c.op("Reshape", made, c.sizes(c.out_shape(), *((c.input(i), c.shape(i))
                                                          for i in range(2))))


def _low(c: Call, boxes: str) -> str:
    return c.slice(boxes, [-1], [0], [2])


def _high(c: Call, boxes: str) -> str:
    return c.slice(boxes, [-1], [2], [4])


def _corners(c: Call, boxes: str) -> str:
    """Of middles and sizes."""
    half = c.op("Mul", _high(c, boxes), c.number(0.5))
    return c.op("Concat", c.op("Sub", _low(c, boxes), half), c.op("Add", _low(c, boxes), half),
                axis=-1)


def _area(c: Call, low: str, high: str) -> str:
    """Of boxes, 0 where an end lies before its beginning: (..., 1) without the last axis."""
    sides = c.op("Max", c.op("Sub", high, low), c.number(0.0))
    return c.reduce("ReduceProd", sides, [-1], False)


@exports("_contrib_box_decode")
def box_decode(c: Call) -> str:
    data, anchors = c.input(0), c.slice(c.input(1), [0], [0], [1])
    stds = np.array([c.p.std0, c.p.std1, c.p.std2, c.p.std3], np.float32).astype(c.dtype())
    size = _high(c, anchors)
    center = _low(c, anchors)
    if c.p.format == "corner":
        size = c.op("Sub", size, center)
        center = c.op("Add", center, c.op("Mul", size, c.number(0.5)))
    place = c.op("Mul", c.op("Mul", _low(c, data), c.const(stds[:2])), size)
    place = c.op("Add", place, center)
    log = c.op("Mul", _high(c, data), c.const(stds[2:]))
    if c.p.clip > 0:
        log = c.op("Min", log, c.number(float(np.float32(c.p.clip))))
    half = c.op("Mul", c.op("Mul", c.op("Exp", log), size), c.number(0.5))
    return c.op("Concat", c.op("Sub", place, half), c.op("Add", place, half), axis=-1)


# ---- pictures ----------------------------------------------------------------------------------


@exports("_image_to_tensor")
def to_tensor(c: Call) -> str:
    single = c.input(0) if c.dtype() == np.float32 else c.cast(c.input(0), np.float32)
    made = c.op("Div", single, c.const(255, np.float32))
    rank = c.rank()
    return c.transpose(made, [*range(rank - 3), rank - 1, rank - 3, rank - 2])


@exports("_image_normalize")
def normalize(c: Call) -> str:
    if c.dtype() != c.out_dtype() or c.dtype().kind != "f":
        raise Refused(f"an array of {c.dtype()}")
    depth = c.fixed(c.shape()[-3:-2], "the number of channels")[0]
    mean, std = (c.const(c.p.column(name, depth), c.dtype()) for name in ("mean", "std"))
    return c.op("Div", c.op("Sub", c.input(0), mean), std)


@exports("_image_crop")
def image_crop(c: Call) -> str:
    rank, x, y = c.rank(), c.p.x, c.p.y
    return c.slice(c.input(0), [rank - 3, rank - 2], [y, x], [y + c.p.height, x + c.p.width])


@exports("_image_flip_left_right", "_image_flip_top_bottom")
def flip(c: Call) -> str:
    far = (1 << 63) - 1
    axis = c.rank() - (2 if c.operator == "_image_flip_left_right" else 3)
    return c.slice(c.input(0), [axis], [far], [-far], [-1])
