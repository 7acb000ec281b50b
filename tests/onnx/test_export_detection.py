"""What detectors end with, in ONNX: equal scores, boxes that touch, images of other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx

from .exported import check_symbol


def rows(batch: tuple[int, ...], count: int, seed: int) -> np.ndarray:
    """Rows of (class, score, corners): few different scores, boxes on a coarse grid, some of them
    without extent and some that end before they begin."""
    drawn = np.random.default_rng(seed)
    shape = (*batch, count, 1)
    corner = drawn.integers(-1, 8, (*batch, count, 2)) / 8
    size = drawn.integers(-1, 5, (*batch, count, 2)) / 8
    made = [drawn.integers(-1, 4, shape), drawn.integers(-2, 9, shape) / 8, corner, corner + size]
    return np.concatenate(made, -1).astype(np.float32)


def operators(model: Any) -> set[str]:
    return {node.op_type for node in model.graph.node}


NMS: list[dict[str, Any]] = [
    {}, {"id_index": 0}, {"id_index": 0, "force_suppress": True, "topk": 9},
    {"id_index": 0, "topk": 20, "background_id": 0, "valid_thresh": 0.3, "overlap_thresh": 0.2},
    {"topk": 1, "overlap_thresh": 0.0}, {"topk": 0}, {"topk": 500, "overlap_thresh": 1.0},
    {"overlap_thresh": -1.0}, {"in_format": "center", "out_format": "corner"},
    {"id_index": 0, "in_format": "center", "out_format": "center"},
    {"in_format": "corner", "out_format": "center", "valid_thresh": -1.0},
    {"valid_thresh": 5.0}, {"id_index": 0, "valid_thresh": 5.0}]


@pytest.mark.parametrize("params", NMS, ids=str)
def test_best_boxes(params: dict[str, Any]) -> None:
    made = mx.sym.contrib.box_nms(mx.sym.var("x"), **params)
    model = check_symbol(made, {"x": (None, 40, 6)}, [[rows((2,), 40, 1)], [rows((5,), 40, 2)]])
    by_rounds = params.get("id_index", -1) >= 0 and not params.get("force_suppress")
    if params.get("overlap_thresh", 0.5) >= 0 and params.get("topk") != 0:
        assert ("Loop" if by_rounds else "NonMaxSuppression") in operators(model)


def test_best_boxes_of_one_image_and_of_more_axes() -> None:
    for shape in ((30, 6), (2, 3, 30, 6)):
        for params in ({"id_index": 0}, {"force_suppress": True}):
            made = mx.sym.contrib.box_nms(mx.sym.var("x"), **params)
            check_symbol(made, {"x": shape}, [[rows(shape[:-2], 30, 3)]])


def test_a_row_has_its_parts_anywhere() -> None:
    given = rows((2,), 30, 4)
    moved = np.concatenate([given[..., 2:], given[..., :1] * 2, given[..., 1:2], given[..., :1]],
                           -1)
    made = mx.sym.contrib.box_nms(mx.sym.var("x"), coord_start=0, score_index=5, id_index=6,
                                  out_format="center")
    check_symbol(made, {"x": (2, 30, 7)}, [[moved]])


def test_best_of_many_boxes() -> None:
    """Thousands, as a detector's first part has them."""
    drawn = np.random.default_rng(7)
    corner = drawn.uniform(0, 200, (1, 3000, 2))
    boxes = np.concatenate([drawn.uniform(0, 1, (1, 3000, 1)), corner,
                            corner + drawn.uniform(5, 60, (1, 3000, 2))], -1).astype(np.float32)
    made = mx.sym.contrib.box_nms(mx.sym.var("x"), score_index=0, coord_start=1,
                                  overlap_thresh=0.7, topk=2000)
    check_symbol(made, {"x": (1, 3000, 5)}, [[boxes]])


def test_other_dtypes() -> None:
    made = mx.sym.contrib.box_nms(mx.sym.var("x"), id_index=0)
    for dtype in (np.float64, np.float16):
        check_symbol(made, {"x": (2, 20, 6)}, [[rows((2,), 20, 5).astype(dtype)]], params={},
                     dtypes=dtype)


@pytest.mark.parametrize("params", NMS, ids=str)
def test_any_number_of_boxes(params: dict[str, Any]) -> None:
    made = mx.sym.contrib.box_nms(mx.sym.var("x"), **params)
    check_symbol(made, {"x": (None, None, 6)}, [[rows((2,), 40, 1)], [rows((1,), 7, 2)]])
    check_symbol(made, {"x": ("boxes", 6)}, [[rows((), 12, 1)], [rows((), 25, 2)]])


@pytest.mark.parametrize("params", [
    {}, {"sizes": (0.2, 0.5), "ratios": (1, 2, 0.5)}, {"clip": True, "sizes": (0.7,)},
    {"steps": (0.1, 0.2), "offsets": (0.2, 0.9), "ratios": (3,)}], ids=str)
def test_anchors_of_maps_of_any_size(params: dict[str, Any]) -> None:
    data = mx.sym.Pooling(mx.sym.var("data"), kernel=(2, 2), stride=(2, 2), pool_type="max")
    made = mx.sym.contrib.MultiBoxPrior(data, **params)
    shapes = {"data": (1, 1, None, None)}
    check_symbol(made, shapes, [[np.ones((1, 1, *size), np.float32)] for size in
                                ((8, 8), (6, 10), (3, 2))])
    half = [[np.ones((1, 1, 6, 10), np.float16)]]
    check_symbol(made, {"data": (1, 1, 6, None)}, half, params={}, dtypes="float16")


# ---- networks ----------------------------------------------------------------------------------


def detections(**params: Any) -> Any:
    """A small detector with anchors."""
    data = mx.sym.Activation(mx.sym.Convolution(mx.sym.var("data"), num_filter=4, kernel=(3, 3),
                                                pad=(1, 1), name="body"), act_type="relu")
    anchors = mx.sym.contrib.MultiBoxPrior(data, sizes=(0.3, 0.4), ratios=(1, 2))
    scores = mx.sym.Convolution(data, num_filter=3 * 4, kernel=(1, 1), name="scores")
    scores = mx.sym.Reshape(mx.sym.transpose(scores, axes=(0, 2, 3, 1)), shape=(0, -1, 4))
    probable = mx.sym.softmax(mx.sym.transpose(scores, axes=(0, 2, 1)), axis=1)
    shifts = mx.sym.Convolution(data, num_filter=3 * 4, kernel=(1, 1), name="shifts")
    shifts = mx.sym.Flatten(mx.sym.transpose(shifts, axes=(0, 2, 3, 1)))
    return mx.sym.contrib.MultiBoxDetection(probable, shifts, anchors, **params)


def pictures(batch: int, seed: int = 0, size: int = 6) -> np.ndarray:
    drawn = np.random.default_rng(seed)
    return drawn.normal(size=(batch, 3, size, size)).astype(np.float32) * 2


@pytest.mark.parametrize("params", [
    {}, {"nms_topk": 10}, {"force_suppress": True, "nms_topk": 1000}, {"threshold": 0.4},
    {"nms_threshold": 0.0}, {"nms_threshold": 1.0, "clip": False}, {"threshold": 0.999},
    {"nms_threshold": 0.1, "nms_topk": 30, "variances": (0.2, 0.1, 0.3, 0.1)}], ids=str)
def test_detector_with_anchors(params: dict[str, Any]) -> None:
    check_symbol(detections(**params), {"data": (None, 3, 6, 6)},
                 [[pictures(2)], [pictures(1, 1)], [np.zeros((3, 3, 6, 6), np.float32)]])
    check_symbol(detections(**params), {"data": (None, 3, None, None)},
                 [[pictures(2)], [pictures(1, 1, 2)], [pictures(1, 2, 1)]])


def test_detections_of_scores_that_are_no_numbers() -> None:
    drawn = np.random.default_rng(2)
    prob = drawn.integers(0, 5, (2, 3, 12)).astype(np.float32) / 4
    prob[0, 1, 3], prob[1, 2, 5], prob[:, :, 7] = np.nan, np.nan, np.nan
    anchor = rows((1,), 12, 6)[..., 2:]
    anchor[..., 2:] = anchor[..., :2] + 0.25
    loc = drawn.normal(size=(2, 48)).astype(np.float32)
    made = mx.sym.contrib.MultiBoxDetection(*map(mx.sym.var, "abc"), clip=False, nms_topk=6)
    check_symbol(made, {"a": (2, 3, 12), "b": (2, 48), "c": (1, 12, 4)}, [[prob, loc, anchor]])
    check_symbol(made, {"a": (2, 3, 12), "b": (2, 48), "c": (1, 12, 4)},
                 [[x.astype(np.float64) for x in (prob, loc, anchor)]], dtypes="float64")


def test_background_alone_and_no_anchors() -> None:
    made = mx.sym.contrib.MultiBoxDetection(*map(mx.sym.var, "abc"))
    check_symbol(made, {"a": ("n", 1, 2), "b": ("n", 8), "c": (1, 2, 4)},
                 [[np.ones((3, 1, 2), np.float32), np.ones((3, 8), np.float32),
                   np.ones((1, 2, 4), np.float32)]])


@pytest.mark.parametrize("params", [
    {}, {"rpn_pre_nms_top_n": 0, "threshold": 0.3}, {"rpn_min_size": 60, "output_score": True},
    {"rpn_post_nms_top_n": 500, "rpn_pre_nms_top_n": 20, "output_score": True},
    {"iou_loss": True, "threshold": 2.0}, {"threshold": 0.0, "rpn_post_nms_top_n": 3}], ids=str)
@pytest.mark.parametrize("name", ["Proposal", "MultiProposal"])
def test_proposals(name: str, params: dict[str, Any]) -> None:
    drawn = np.random.default_rng(3)
    batch = 1 if name == "Proposal" else 3
    params = {"rpn_post_nms_top_n": 12, "rpn_pre_nms_top_n": 50, "scales": (2, 4),
              "ratios": (0.5, 1), **params}
    made = getattr(mx.sym.contrib, name)(*map(mx.sym.var, ("prob", "pred", "info")), **params)
    prob = drawn.permutation(batch * 8 * 30).reshape(batch, 8, 5, 6).astype(np.float32) / 1024
    pred = drawn.normal(size=(batch, 16, 5, 6)).astype(np.float32) * 0.3
    info = np.array([[80, 96, 1.0], [70, 90, 0.5], [64, 64, 2]], np.float32)[:batch]
    first = 1 if name == "Proposal" else None
    check_symbol(made, {"prob": (first, 8, 5, 6), "pred": (first, 16, 5, 6), "info": (first, 3)},
                 [[prob, pred, info]])
    part = [prob[..., :3, :4], pred[..., :3, :4], info]
    check_symbol(made, {"prob": (first, 8, "h", "w"), "pred": (first, 16, "h", "w"),
                        "info": (first, 3)}, [[prob, pred, info], part])


def test_regions_that_a_network_proposes() -> None:
    """The second part pools what the first part proposes."""
    data = mx.sym.Convolution(mx.sym.var("data"), num_filter=4, kernel=(3, 3), pad=(1, 1),
                              name="body")
    prob = mx.sym.sigmoid(mx.sym.Convolution(data, num_filter=8, kernel=(1, 1), name="prob"))
    pred = mx.sym.Convolution(data, num_filter=16, kernel=(1, 1), name="pred") * 0.2
    regions = mx.sym.contrib.MultiProposal(prob, pred, mx.sym.var("info"), scales=(2, 4),
                                           ratios=(0.5, 1), rpn_post_nms_top_n=5, rpn_min_size=4)
    pooled = mx.sym.contrib.ROIAlign(data, regions, pooled_size=(3, 3), spatial_scale=1 / 16,
                                     sample_ratio=2)
    info = np.array([[96, 96, 1], [90, 80, 1]], np.float32)
    check_symbol(mx.sym.Group([regions, pooled]), {"data": ("n", 3, "h", "w"), "info": ("n", 3)},
                 [[pictures(2), info], [pictures(1, 4, 7), info[1:]]])
