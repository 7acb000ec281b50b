"""ROIAlign, ROIPooling: regions outside, turned round, of no image; odd attributes."""

from __future__ import annotations

from ..call import Array, Call, Given

ROIS: list[list[float]] = [
    [0, 1, 1, 5, 4], [1, 0.5, 2.25, 7.5, 6], [1, -3, -2, 2, 3], [0, 4, 4, 2, 2],
    [0, 5, 3, 20, 12]]
RIGHT = [roi for roi in ROIS if roi[3] > roi[1]]
OUTSIDE = [[-1, 1, 1, 3, 3], [0, 30, 30, 40, 40], [1, 2.5, 3.5, 2.5, 3.5], [-0.5, 1, 1, 3, 3]]
DATA = Array((2, 3, 7, 8))
TURNED = [[0, 3, 3, 4, 3, 0], [1, 4, 2, 5, 2.5, 30], [0, 1, 1, 6, 6, -45],
          [1, 3.5, 3.5, 0.2, 0.1, 90], [1, 0, 0, 9, 9, 400], [0, 30, 3, 7, 7, 10]]

CALLS = [
    *(
        Call("contrib.ROIAlign", [DATA, ROIS],
             {"pooled_size": (2, 3), "spatial_scale": scale, "sample_ratio": ratio}, (0, 1))
        for scale in (1.0, 0.4)
        for ratio in (-1, 0, 2)
    ),
    Call("contrib.ROIAlign", [Array((2, 12, 6, 5)), ROIS],
         {"pooled_size": (2, 3), "spatial_scale": 1.0, "position_sensitive": True}, (0,)),
    Call("contrib.ROIAlign", [DATA, RIGHT],
         {"pooled_size": (2, 2), "spatial_scale": 0.5, "aligned": True}, (0,)),
    Call("contrib.ROIAlign", [Array((2, 3, 7, 8), dtype="float64"), Given(ROIS, "float64")],
         {"pooled_size": (3, 2), "spatial_scale": 0.5}, (0,), grad_req="add"),
    Call("contrib.ROIAlign", [Array((2, 3, 7, 8), dtype="float16"), Given(ROIS, "float16")],
         {"pooled_size": (3, 2), "spatial_scale": 0.5}),
    *(
        Call("ROIPooling", [Array(DATA.shape, seed=seed), ROIS],
             {"pooled_size": bins, "spatial_scale": scale}, (0, 1))
        for seed, bins, scale in ((0, (2, 3), 1.0), (1, (3, 3), 0.5), (2, (5, 5), 0.3))
    ),
    Call("ROIPooling", [DATA, OUTSIDE], {"pooled_size": (2, 2), "spatial_scale": 1.0}, (0,)),
    Call("ROIPooling", [[[[[float("nan"), 1], [2, -float("inf")]]]],
                        [[0, 0, 0, 1, 1], [0, 0, 0, 0, 0], [0, 1, 1, 1, 1]]],
         {"pooled_size": (1, 1), "spatial_scale": 1.0}),
    Call("ROIPooling", [Array(DATA.shape, dtype="float64"), Given(ROIS, "float64")],
         {"pooled_size": (3, 2), "spatial_scale": 0.5}, (0,), grad_req="add"),
    Call("ROIPooling", [Array(DATA.shape, dtype="float16"), Given(ROIS, "float16")],
         {"pooled_size": (3, 2), "spatial_scale": 0.5}, (0,)),
    *(
        Call("contrib.RROIAlign", [Array(DATA.shape, dtype=dtype), Given(TURNED, dtype)],
             {"pooled_size": (2, 3), "spatial_scale": scale, "sampling_ratio": ratio})
        for dtype, scale, ratio in (("float32", 1.0, -1), ("float32", 0.5, 2),
                                    ("float64", 1.0, 2))
    ),
]
