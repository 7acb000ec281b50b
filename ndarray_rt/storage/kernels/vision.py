"""Calls of the native kernels in native/kernels/vision/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def resize_axis(*, out: Mem, data: Mem, outer: int, size: int, made: int, inner: int, kind: int,
                back: bool) -> KernelCall:
    """Along an axis from `size` to `made` places, as ndrt_resize_kind says, or with `back` the
    gradient of that."""
    return KernelCall(lib.NDRT_KERNEL_RESIZE_AXIS, (out, data), (outer, size, made, inner, kind,
                      back), ())


def roi_align(*, out: Mem, data: Mem, rois: Mem, regions: int, channels: int, height: int,
              width: int, images: int, rows: int, columns: int, samples: int, split: bool,
              scale: float) -> KernelCall:
    """Means of bins of regions, of so many samples along each axis (0: by the size); with `split`
    each bin has planes of its own."""
    return KernelCall(lib.NDRT_KERNEL_ROI_ALIGN, (out, data, rois), (regions, channels, height,
                      width, images, rows, columns, samples, split), (scale,))


def roi_align_grad(*, dx: Mem, dy: Mem, rois: Mem, regions: int, channels: int, height: int,
                   width: int, images: int, rows: int, columns: int, samples: int, split: bool,
                   scale: float) -> KernelCall:
    """The gradient of the data."""
    return KernelCall(lib.NDRT_KERNEL_ROI_ALIGN_GRAD, (dx, dy, rois), (regions, channels, height,
                      width, images, rows, columns, samples, split), (scale,))


def roi_pool(*, out: Mem, places: Mem, data: Mem, rois: Mem, regions: int, channels: int,
             height: int, width: int, images: int, rows: int, columns: int,
             scale: float) -> KernelCall:
    """The greatest in each bin of regions, and its place in the plane; -1: none."""
    return KernelCall(lib.NDRT_KERNEL_ROI_POOL, (out, places, data, rois), (regions, channels,
                      height, width, images, rows, columns), (scale,))


def roi_pool_grad(*, dx: Mem, dy: Mem, places: Mem, rois: Mem, regions: int, channels: int,
                  height: int, width: int, images: int, rows: int, columns: int) -> KernelCall:
    """The gradient of the data."""
    return KernelCall(lib.NDRT_KERNEL_ROI_POOL_GRAD, (dx, dy, places, rois), (regions, channels,
                      height, width, images, rows, columns), ())


def resize(*, out: Mem, data: Mem, images: int, height: int, width: int, depth: int, rows: int,
           columns: int, dtype: int) -> KernelCall:
    """Images of another size, as OpenCV makes them; dtype F32 or U8."""
    return KernelCall(lib.NDRT_KERNEL_RESIZE, (out, data), (images, height, width, depth, rows,
                      columns, dtype), ())


def box_nms(*, out: Mem, record: Mem, data: Mem, scratch: Mem, batches: int, boxes: int, width: int,
            most: int, coordinates: int, score: int, kind: int, force: bool, centered: bool,
            to_center: bool, overlap: float, valid: float, background: float) -> KernelCall:
    """Boxes that no better one overlaps with by more than `overlap`, best first, and their places;
    of no kind with `kind` -1, and of all kinds with `force`. `centered`: data has centers and
    sizes; `to_center`: out has. Scratch is 9 words a box."""
    return KernelCall(lib.NDRT_KERNEL_BOX_NMS, (out, record, data, scratch), (batches, boxes, width,
                      most, coordinates, score, kind, force, centered, to_center), (overlap, valid,
                      background))


def multibox_prior(*, out: Mem, rows: int, columns: int, anchors: int, which: int, clip: bool,
                   half_width: float, half_height: float, step_y: float, step_x: float,
                   offset_y: float, offset_x: float) -> KernelCall:
    """One of the anchors of each pixel."""
    return KernelCall(lib.NDRT_KERNEL_MULTIBOX_PRIOR, (out,), (rows, columns, anchors, which, clip),
                      (half_width, half_height, step_y, step_x, offset_y, offset_x))


def multibox_detection(*, out: Mem, classes: Mem, shifts: Mem, anchors: Mem, scratch: Mem,
                       batches: int, kinds: int, count: int, most: int, clip: bool, force: bool,
                       threshold: float, overlap: float, variances: Sequence[float]) -> KernelCall:
    """Rows of class, probability and box; `most` of them suppress others, 0: all. Scratch is 15
    words an anchor."""
    return KernelCall(lib.NDRT_KERNEL_MULTIBOX_DETECTION, (out, classes, shifts, anchors, scratch),
                      (batches, kinds, count, most, clip, force), (threshold, overlap, *variances))


def multibox_match(*, match: Mem, scratch: Mem, anchors: Mem, labels: Mem, classes: Mem,
                   batches: int, count: int, most: int, width: int, kinds: int, threshold: float,
                   ratio: float, limit: float) -> KernelCall:
    """The label of each anchor, -1: is ignored, -2: background. Labels are `most` rows of `width`:
    class, box; scratch is 2 words an anchor and label."""
    return KernelCall(lib.NDRT_KERNEL_MULTIBOX_MATCH, (match, scratch, anchors, labels, classes),
                      (batches, count, most, width, kinds), (threshold, ratio, limit))


def multibox_assign(*, target: Mem, mask: Mem, kind: Mem, anchors: Mem, labels: Mem, match: Mem,
                    batches: int, count: int, most: int, width: int, ignored: float,
                    variances: Sequence[float]) -> KernelCall:
    """What is learned by these matches."""
    return KernelCall(lib.NDRT_KERNEL_MULTIBOX_ASSIGN, (target, mask, kind, anchors, labels, match),
                      (batches, count, most, width), (ignored, *variances))
