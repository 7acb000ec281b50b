"""Kernels on images and boxes refuse what they can not compute before they touch memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.storage.kernels import vision as kernels
from tests.native.helpers import over_arrays, run_kernel

ROI = {"out": None, "data": None, "rois": None, "places": None, "dx": None, "dy": None,
       "regions": 1, "channels": 1, "height": 4, "width": 4, "images": 1, "rows": 2, "columns": 2,
       "samples": 2, "split": False, "scale": 1}
IMAGES = {"out": None, "data": None, "images": 1, "height": 4, "width": 4, "depth": 3, "rows": 2,
          "columns": 2, "dtype": lib.NDRT_F32}
NMS = {"out": None, "record": None, "data": None, "scratch": None, "batches": 1, "boxes": 2,
       "width": 6, "most": 2, "coordinates": 2, "score": 1, "kind": 0, "force": False,
       "centered": False, "to_center": False, "overlap": 0.5, "valid": 0, "background": -1}
PRIOR = {"out": None, "rows": 4, "columns": 4, "anchors": 3, "which": 0, "clip": False,
         "half_width": 1, "half_height": 1, "step_y": 1, "step_x": 1, "offset_y": 0, "offset_x": 0}
DETECTION = {"out": None, "classes": None, "shifts": None, "anchors": None, "scratch": None,
             "batches": 1, "kinds": 2, "count": 3, "most": 0, "clip": False, "force": False,
             "threshold": 0, "overlap": 0.5, "variances": [1] * 4}
MATCH = {"match": None, "scratch": None, "anchors": None, "labels": None, "classes": None,
         "batches": 1, "count": 3, "most": 2, "width": 5, "kinds": 2, "threshold": 0.5,
         "ratio": -1, "limit": 0.5}


def of(kernel: Any, given: dict[str, Any], **other: Any) -> Any:
    """A call with these arguments, of those that the kernel has."""
    return kernel(**{name: value for name, value in (given | other).items()
                     if name in kernel.__annotations__})


@pytest.mark.parametrize(("made", "text"), [
    (of(kernels.roi_align, ROI, height=0), "images of no pixels"),
    (of(kernels.roi_align, ROI, rows=-2), "a count of -2"),
    (of(kernels.roi_align, ROI, regions=2**40, channels=2**40), "more elements than can be"),
    (of(kernels.roi_align, ROI, height=2**31, width=2**31), "more elements than can be"),
    (of(kernels.roi_align_grad, ROI, images=2**30, rows=2**30, columns=2**30, split=True),
     "more elements than can be"),
    (of(kernels.roi_pool, ROI, height=2**16, width=2**16), "more pixels than an int32 counts"),
    (of(kernels.roi_pool, ROI), "ROIPooling: array 0 has no bytes"),
    (of(kernels.roi_pool_grad, ROI, images=-1), "ROIPooling gradient: a count of -1"),
    (of(kernels.resize, IMAGES, height=0), "images of no pixels"),
    (of(kernels.resize, IMAGES, dtype=lib.NDRT_S8), "neither f32 nor u8"),
    (of(kernels.resize, IMAGES, columns=-1), "a count below 0"),
    (of(kernels.resize, IMAGES), "array 0 has no bytes"),
    (of(kernels.box_nms, NMS, coordinates=3), "rows do not have what is read"),
    (of(kernels.box_nms, NMS, score=6), "rows do not have what is read"),
    (of(kernels.box_nms, NMS, kind=-2), "rows do not have what is read"),
    (of(kernels.box_nms, NMS, boxes=2**31), "more boxes than an int32 counts"),
    (of(kernels.multibox_prior, PRIOR, which=3), "no such anchor"),
    (of(kernels.multibox_detection, DETECTION, count=2**31), "than an int32 counts"),
    (of(kernels.multibox_match, MATCH, width=4), "labels are not of a class and four"),
    (of(kernels.multibox_match, MATCH, kinds=-1), "a count below 0"),
    (of(kernels.multibox_match, MATCH), "MultiBoxTarget's matches: array 0 has no bytes"),
])
def test_refusals(made: Any, text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        run_kernel(made)


def test_matches_beyond_the_labels_are_ignored() -> None:
    target, mask = np.full((3, 4), 7, "f4"), np.full((3, 4), 7, "f4")
    kind, anchors = np.full(3, 7, "f4"), np.array([[0, 0, 1, 1]] * 3, "f4")
    labels = np.array([[[1, 0, 0, 1, 1]]], "f4")
    match = np.array([0, 1, 2**31 - 1], "i4")
    run_kernel(over_arrays(kernels.multibox_assign)(
        target=target, mask=mask, kind=kind, anchors=anchors, labels=labels, match=match, batches=1,
        count=3, most=1, width=5, ignored=-1, variances=[0.1, 0.1, 0.2, 0.2]))
    assert kind.tolist() == [2, -1, -1]
    assert mask.tolist() == [[1] * 4, [0] * 4, [0] * 4]
