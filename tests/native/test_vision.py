"""Kernels on images and boxes refuse what they can not compute before they touch memory."""

from __future__ import annotations

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import call, ffi, lib
from tests.native.helpers import kernel

F32 = lib.NDRT_F32
ROI_ALIGN, ROI_POOL = lib.NDRT_KERNEL_ROI_ALIGN, lib.NDRT_KERNEL_ROI_POOL
NMS, RESIZE = lib.NDRT_KERNEL_BOX_NMS, lib.NDRT_KERNEL_RESIZE
MATCH = lib.NDRT_KERNEL_MULTIBOX_MATCH


@pytest.mark.parametrize(("number", "dims", "scalars", "text"), [
    (ROI_ALIGN, [1, 1, 0, 4], [1, 2, 2, 1, 2, 0], "images of no pixels"),
    (ROI_ALIGN, [1, 1, 4, 4], [1, -2, 2, 1, 2, 0], "a count of -2"),
    (ROI_ALIGN, [2**40, 2**40, 4, 4], [1, 2, 2, 1, 2, 0], "more elements than can be"),
    (ROI_ALIGN, [1, 1, 2**31, 2**31], [1, 2, 2, 1, 2, 0], "more elements than can be"),
    (lib.NDRT_KERNEL_ROI_ALIGN_GRAD, [1, 1, 4, 4], [2**30, 2**30, 2**30, 1, 2, 1],
     "more elements than can be"),
    (ROI_POOL, [1, 1, 2**16, 2**16], [1, 2, 2, 1], "more pixels than an int32 counts"),
    (RESIZE, [1, 0, 4, 3], [2, 2, F32], "images of no pixels"),
    (RESIZE, [1, 4, 4, 3], [2, 2, lib.NDRT_S8], "neither f32 nor u8"),
    (NMS, [1, 2, 6, 2], [0.5, 0, 3, 1, 0, -1, 0, 0], "rows do not have what is read"),
    (NMS, [1, 2, 6, 2], [0.5, 0, 2, 6, 0, -1, 0, 0], "rows do not have what is read"),
    (NMS, [1, 2, 6, 2], [0.5, 0, 2, 1, -2, -1, 0, 0], "rows do not have what is read"),
    (NMS, [1, 2**31, 6, 2], [0.5, 0, 2, 1, 0, -1, 0, 0], "more boxes than an int32 counts"),
    (lib.NDRT_KERNEL_MULTIBOX_PRIOR, [4, 4, 3, 3], [1, 1, 1, 1, 0, 0, 0], "no such anchor"),
    (lib.NDRT_KERNEL_MULTIBOX_DETECTION, [1, 2, 2**31, 0], [0] * 8, "than an int32 counts"),
    (MATCH, [1, 3, 2, 4], [2, 0.5, -1, 0.5], "labels are not of a class and four"),
    (MATCH, [1, 3, 2, 5], [2, 0.5, -1, 0.5], "array 0 has no bytes"),
])
def test_refusals(number: int, dims: list[int], scalars: list[float], text: str) -> None:
    packed = ffi.new("ndrt_kernel_call *", {"kernel": number, "counts": dims, "numbers": scalars})
    with pytest.raises(ParameterError, match=text):
        call(lib.ndrt_kernel_run, packed, what="kernel")


def test_matches_beyond_the_labels_are_ignored() -> None:
    target, mask = np.full((3, 4), 7, "f4"), np.full((3, 4), 7, "f4")
    kind, anchors = np.full(3, 7, "f4"), np.array([[0, 0, 1, 1]] * 3, "f4")
    labels = np.array([[[1, 0, 0, 1, 1]]], "f4")
    match = np.array([0, 1, 2**31 - 1], "i4")
    kernel(lib.NDRT_KERNEL_MULTIBOX_ASSIGN, [1, 3, 1, 5],
           [target, mask, kind, anchors, labels, match], [0.1, 0.1, 0.2, 0.2, -1])
    assert kind.tolist() == [2, -1, -1]
    assert mask.tolist() == [[1] * 4, [0] * 4, [0] * 4]
