"""Primitives of every kind against small NumPy references."""

from __future__ import annotations

import gc
import itertools
import threading
from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError, Unsupported
from ndarray_rt.native import lib
from tests.native.helpers import U8, Array, Desc, Prim, desc, from_numpy, reorder, to_numpy

SRC, DST = lib.NDRT_ARG_SRC, lib.NDRT_ARG_DST
WEIGHTS, BIAS = lib.NDRT_ARG_WEIGHTS, lib.NDRT_ARG_BIAS
DIFF_SRC, DIFF_DST = lib.NDRT_ARG_DIFF_SRC, lib.NDRT_ARG_DIFF_DST
DIFF_WEIGHTS, DIFF_BIAS = lib.NDRT_ARG_DIFF_WEIGHTS, lib.NDRT_ARG_DIFF_BIAS
TRAIN, INFER = lib.NDRT_FORWARD_TRAINING, lib.NDRT_FORWARD_INFERENCE
BACK, BACK_DATA, BACK_WEIGHTS = lib.NDRT_BACKWARD, lib.NDRT_BACKWARD_DATA, lib.NDRT_BACKWARD_WEIGHTS


def rand(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def close(got: Any, expected: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * 10)


def wanted(prim: Prim, arg: int) -> Desc:
    layout = prim.desc(arg)
    assert layout is not None
    return layout


# ---- reorder ------------------------------------------------------------------------------------

TAGS = ["abcd", "acdb", "aBcd16b", "aBcd8b", "dcba", "ABcd16b16a"]


@pytest.mark.parametrize(("one", "other"), [*itertools.product(TAGS, TAGS)])
def test_reorder_there_and_back(one: str, other: str) -> None:
    data = rand(2, 20, 5, 3)
    np.testing.assert_array_equal(to_numpy(reorder(from_numpy(data, one), desc(data.shape, other))),
                                  data)


def test_reorder_keeps_padding_zero() -> None:
    a = from_numpy(rand(2, 3, 4, 4), "aBcd16b")
    assert not a.numpy().reshape(2, 4, 4, 16)[..., 3:].any()


def test_reorder_of_views_and_zero_sizes() -> None:
    data = rand(4, 6)
    view = Array(desc((4, 3), strides=(6, 2)))
    view.bytes()[:] = data.tobytes()[: view.desc.info.nbytes]
    np.testing.assert_array_equal(to_numpy(view), data[:, ::2][:, :3])
    empty = Array(desc((0, 3)))
    assert to_numpy(empty).shape == (0, 3)


def test_broadcast_by_stride_0() -> None:
    row = from_numpy(rand(3))
    wide = Array(desc((4, 3), strides=(0, 1)), row.numpy())
    np.testing.assert_array_equal(to_numpy(wide), np.broadcast_to(row.numpy(), (4, 3)))


# ---- convolution --------------------------------------------------------------------------------


def conv_numpy(x: Any, w: Any, b: Any, stride: int, pad: int, dilate: int) -> Any:
    x = np.pad(x.astype("f8"), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    out, _, kh, kw = w.shape
    oh = (x.shape[2] - (kh - 1) * dilate - 1) // stride + 1
    ow = (x.shape[3] - (kw - 1) * dilate - 1) // stride + 1
    y = np.zeros((x.shape[0], out, oh, ow))
    for i, j in itertools.product(range(kh), range(kw)):
        part = x[:, :, i * dilate :, j * dilate :][:, :, ::stride, ::stride][:, :, :oh, :ow]
        y += np.einsum("nchw,oc->nohw", part, w[:, :, i, j])
    return (y + b[None, :, None, None]).astype("f4")


@pytest.mark.parametrize("tag", ["abcd", "acdb", "aBcd16b", "any"])
@pytest.mark.parametrize(
    ("channels", "stride", "pad", "dilate"), [(3, 1, 1, 1), (20, 2, 0, 1), (20, 1, 2, 2)]
)
def test_convolution_forward(tag: str, channels: int, stride: int, pad: int, dilate: int) -> None:
    x, w, b = rand(2, channels, 9, 8), rand(10, channels, 3, 3, seed=1), rand(10, seed=2)
    expected = conv_numpy(x, w, b, stride, pad, dilate)
    prim = Prim(lib.NDRT_CONVOLUTION, direction=INFER, src=desc(x.shape, tag),
                weights=desc(w.shape, "any"), bias=desc(b.shape), dst=desc(expected.shape, tag),
                nspatial=2, strides=(stride,) * 2, dilates=(dilate - 1,) * 2, pad_l=(pad,) * 2,
                pad_r=(pad,) * 2)
    y = Array(wanted(prim, DST))
    prim.run({SRC: reorder(from_numpy(x), wanted(prim, SRC)), BIAS: from_numpy(b), DST: y,
              WEIGHTS: reorder(from_numpy(w), wanted(prim, WEIGHTS))})
    close(to_numpy(y), expected)
    assert prim.impl()


def conv_backward(kind: int, x: Any, w: Any, dy: Any, tag: str) -> tuple[Any, Any, Any]:
    window = {"nspatial": 2, "strides": (1, 1), "pad_l": (1, 1), "pad_r": (1, 1)}
    data = Prim(kind, direction=BACK_DATA, diff_src=desc(x.shape, tag),
                weights=desc(w.shape, "any"), diff_dst=desc(dy.shape, tag), **window)
    dx = Array(wanted(data, DIFF_SRC))
    data.run({DIFF_SRC: dx, DIFF_DST: reorder(from_numpy(dy), wanted(data, DIFF_DST)),
              WEIGHTS: reorder(from_numpy(w), wanted(data, WEIGHTS))})
    weights = Prim(kind, direction=BACK_WEIGHTS, src=desc(x.shape, tag),
                   diff_weights=desc(w.shape, "any"), diff_bias=desc(dy.shape[1:2]),
                   diff_dst=desc(dy.shape, tag), **window)
    dw, db = Array(wanted(weights, DIFF_WEIGHTS)), Array(desc(dy.shape[1:2]))
    weights.run({SRC: reorder(from_numpy(x), wanted(weights, SRC)), DIFF_WEIGHTS: dw, DIFF_BIAS: db,
                 DIFF_DST: reorder(from_numpy(dy), wanted(weights, DIFF_DST))})
    return to_numpy(dx), to_numpy(dw), db.numpy().copy()


@pytest.mark.parametrize("tag", ["acdb", "abcd", "any"])
def test_convolution_backward(tag: str) -> None:
    x, w, dy = rand(2, 5, 6, 6), rand(4, 5, 3, 3, seed=1), rand(2, 4, 6, 6, seed=2)
    dx, dw, db = conv_backward(lib.NDRT_CONVOLUTION, x, w, dy, tag)
    flipped = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    close(dx, conv_numpy(dy, flipped, np.zeros(5, "f4"), 1, 1, 1))
    expected = conv_numpy(x.transpose(1, 0, 2, 3), dy.transpose(1, 0, 2, 3), np.zeros(4), 1, 1, 1)
    close(dw, expected.transpose(1, 0, 2, 3), 1e-4)
    close(db, dy.sum((0, 2, 3)), 1e-4)


def test_deconvolution_is_the_convolutions_backward() -> None:
    x, w, dy = rand(2, 5, 6, 6), rand(4, 5, 3, 3, seed=1), rand(2, 4, 6, 6, seed=2)
    dx, _, _ = conv_backward(lib.NDRT_CONVOLUTION, x, w, dy, "acdb")
    swapped = np.ascontiguousarray(w.transpose(1, 0, 2, 3))
    prim = Prim(lib.NDRT_DECONVOLUTION, direction=INFER, src=desc(dy.shape, "acdb"),
                weights=desc(swapped.shape, "any"), dst=desc(x.shape, "acdb"), nspatial=2,
                strides=(1, 1), pad_l=(1, 1), pad_r=(1, 1))
    y = Array(wanted(prim, DST))
    prim.run({SRC: from_numpy(dy, "acdb"), DST: y,
              WEIGHTS: reorder(from_numpy(swapped), wanted(prim, WEIGHTS))})
    close(to_numpy(y), dx)
    back_x, _, back_b = conv_backward(lib.NDRT_DECONVOLUTION, dy, swapped, x, "acdb")
    close(back_x, conv_numpy(x, w, np.zeros(4, "f4"), 1, 1, 1))
    close(back_b, x.sum((0, 2, 3)), 1e-4)


def test_grouped_convolution_with_5_d_weights() -> None:
    x, w = rand(1, 8, 6, 6), rand(2, 3, 4, 3, 3, seed=1)
    prim = Prim(lib.NDRT_CONVOLUTION, direction=INFER, src=desc(x.shape, "acdb"),
                weights=desc(w.shape, "any"), dst=desc((1, 6, 4, 4), "acdb"), nspatial=2,
                strides=(1, 1))
    y = Array(wanted(prim, DST))
    assert wanted(prim, WEIGHTS).info.ndims == 5
    prim.run({SRC: from_numpy(x, "acdb"), DST: y,
              WEIGHTS: reorder(from_numpy(w), wanted(prim, WEIGHTS))})
    halves = [conv_numpy(x[:, 4 * g : 4 * g + 4], w[g], np.zeros(3, "f4"), 1, 0, 1) for g in (0, 1)]
    close(to_numpy(y), np.concatenate(halves, 1))


def test_post_ops() -> None:
    x, w, other = rand(1, 16, 5, 5), rand(16, 16, 1, 1, seed=1), rand(1, 16, 5, 5, seed=2)
    before = rand(1, 16, 5, 5, seed=3)
    nhwc = desc(x.shape, "acdb")
    prim = Prim(lib.NDRT_CONVOLUTION, direction=INFER, src=nhwc, weights=desc(w.shape, "any"),
                dst=nhwc, nspatial=2, strides=(1, 1), post_ops=[
                    {"kind": lib.NDRT_POST_SUM, "alpha": 0.5},
                    {"kind": lib.NDRT_POST_BINARY, "alg": lib.NDRT_BINARY_MUL, "desc": nhwc.ptr},
                    {"kind": lib.NDRT_POST_ELTWISE, "alg": lib.NDRT_ELTWISE_RELU}])
    y = from_numpy(before, "acdb")
    second = lib.NDRT_ARG_POST_OP * 2 + lib.NDRT_ARG_SRC_1
    args = {SRC: from_numpy(x, "acdb"), DST: y, second: from_numpy(other, "acdb"),
            WEIGHTS: reorder(from_numpy(w), wanted(prim, WEIGHTS))}
    prim.run(args)
    plain = conv_numpy(x, w, np.zeros(16, "f4"), 1, 0, 1)
    close(to_numpy(y), np.maximum((plain + 0.5 * before) * other, 0))
    del args[second]
    with pytest.raises(ParameterError, match=f"argument {second} is missing"):
        prim.run(args)


# ---- the other kinds ----------------------------------------------------------------------------


def test_inner_product_and_its_slopes() -> None:
    x, w, b, dy = rand(6, 20), rand(7, 20, seed=1), rand(7, seed=2), rand(6, 7, seed=3)
    forward = Prim(lib.NDRT_INNER_PRODUCT, direction=TRAIN, src=desc(x.shape),
                   weights=desc(w.shape, "any"), bias=desc(b.shape), dst=desc(dy.shape))
    y = Array(desc(dy.shape))
    forward.run({SRC: from_numpy(x), WEIGHTS: reorder(from_numpy(w), wanted(forward, WEIGHTS)),
                 BIAS: from_numpy(b), DST: y})
    close(to_numpy(y), x @ w.T + b)
    data = Prim(lib.NDRT_INNER_PRODUCT, direction=BACK_DATA, diff_src=desc(x.shape),
                weights=desc(w.shape), diff_dst=desc(dy.shape))
    dx = Array(desc(x.shape))
    data.run({DIFF_SRC: dx, WEIGHTS: from_numpy(w), DIFF_DST: from_numpy(dy)})
    close(to_numpy(dx), dy @ w)
    weights = Prim(lib.NDRT_INNER_PRODUCT, direction=BACK_WEIGHTS, src=desc(x.shape),
                   diff_weights=desc(w.shape), diff_bias=desc(b.shape), diff_dst=desc(dy.shape))
    dw, db = Array(desc(w.shape)), Array(desc(b.shape))
    weights.run({SRC: from_numpy(x), DIFF_WEIGHTS: dw, DIFF_BIAS: db, DIFF_DST: from_numpy(dy)})
    close(to_numpy(dw), dy.T @ x)
    close(to_numpy(db), dy.sum(0))


def test_matmul_with_a_bias_of_another_rank() -> None:
    a, b, bias = rand(3, 4, 5), rand(3, 5, 6, seed=1), rand(6, seed=2)
    prim = Prim(lib.NDRT_MATMUL, src=desc(a.shape), weights=desc(b.shape), bias=desc((1, 1, 6)),
                dst=desc((3, 4, 6)))
    y = Array(desc((3, 4, 6)))
    prim.run({SRC: from_numpy(a), WEIGHTS: from_numpy(b), BIAS: from_numpy(bias), DST: y})
    close(to_numpy(y), a @ b + bias)


@pytest.mark.parametrize("alg", ["MAX", "AVG_INCLUDE_PADDING"])
def test_pooling(alg: str) -> None:
    x, dy = rand(2, 5, 6, 6), rand(2, 5, 3, 3, seed=1)
    fields: dict[str, Any] = {"alg": getattr(lib, f"NDRT_POOLING_{alg}"), "nspatial": 2,
                              "strides": (2, 2), "kernel": (2, 2)}
    forward = Prim(lib.NDRT_POOLING, direction=TRAIN, src=desc(x.shape, "acdb"),
                   dst=desc(dy.shape, "acdb"), **fields)
    backward = Prim(lib.NDRT_POOLING, direction=BACK, diff_src=desc(x.shape, "acdb"),
                    diff_dst=desc(dy.shape, "acdb"), **fields)
    windows = x.reshape(2, 5, 3, 2, 3, 2).transpose(0, 1, 2, 4, 3, 5).reshape(2, 5, 3, 3, 4)
    y, dx = Array(desc(dy.shape, "acdb")), Array(desc(x.shape, "acdb"))
    args = {SRC: from_numpy(x, "acdb"), DST: y}
    back = {DIFF_SRC: dx, DIFF_DST: from_numpy(dy, "acdb")}
    workspace = forward.desc(lib.NDRT_ARG_WORKSPACE)
    assert (workspace is None) == (alg != "MAX")
    if workspace is not None:
        args[lib.NDRT_ARG_WORKSPACE] = back[lib.NDRT_ARG_WORKSPACE] = Array(workspace)
        best = windows == windows.max(-1, keepdims=True)
        slopes = best * dy[..., None]
    else:
        slopes = np.broadcast_to(dy[..., None] / 4, windows.shape)
    forward.run(args)
    backward.run(back)
    close(to_numpy(y), windows.max(-1) if workspace else windows.mean(-1))
    unfolded = slopes.reshape(2, 5, 3, 3, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(x.shape)
    close(to_numpy(dx), unfolded)


def test_batch_norm_and_its_slopes() -> None:
    x, dy = rand(4, 6, 5, 5), rand(4, 6, 5, 5, seed=1)
    scale, shift = rand(6, seed=2), rand(6, seed=3)
    layout = desc(x.shape, "acdb")
    flags = lib.NDRT_USE_SCALE | lib.NDRT_USE_SHIFT
    forward = Prim(lib.NDRT_BATCH_NORM, direction=TRAIN, src=layout, dst=layout, epsilon=1e-3,
                   flags=flags)
    y, mean, var = Array(layout), Array(desc((6,))), Array(desc((6,)))
    stats = {lib.NDRT_ARG_MEAN: mean, lib.NDRT_ARG_VARIANCE: var,
             lib.NDRT_ARG_SCALE: from_numpy(scale)}
    source = from_numpy(x, "acdb")
    forward.run({SRC: source, DST: y, lib.NDRT_ARG_SHIFT: from_numpy(shift), **stats})
    axes = (0, 2, 3)

    def wide(v: Any) -> Any:
        return v[None, :, None, None]

    x8 = x.astype("f8")
    close(mean.numpy(), x8.mean(axes))
    close(var.numpy(), x8.var(axes))
    deviation = np.sqrt(wide(x8.var(axes)) + 1e-3)
    xhat = (x8 - wide(x8.mean(axes))) / deviation
    close(to_numpy(y), xhat * wide(scale) + wide(shift), 1e-4)
    backward = Prim(lib.NDRT_BATCH_NORM, direction=BACK, src=layout, diff_src=layout,
                    diff_dst=layout, epsilon=1e-3, flags=flags)
    dx, dscale, dshift = Array(layout), Array(desc((6,))), Array(desc((6,)))
    backward.run({SRC: source, DIFF_SRC: dx, DIFF_DST: from_numpy(dy, "acdb"), **stats,
                  lib.NDRT_ARG_DIFF_SCALE: dscale, lib.NDRT_ARG_DIFF_SHIFT: dshift})
    close(dshift.numpy(), dy.sum(axes), 1e-4)
    close(dscale.numpy(), (dy * xhat).sum(axes), 1e-4)
    inner = dy - wide(dy.mean(axes)) - xhat * wide((dy * xhat).mean(axes))
    close(to_numpy(dx), inner * wide(scale) / deviation, 1e-4)


def test_lrn_and_its_slope() -> None:
    x, dy = rand(1, 16, 3, 3), rand(1, 16, 3, 3, seed=1)
    layout = desc(x.shape, "acdb")
    fields: dict[str, Any] = {"alg": lib.NDRT_LRN_ACROSS_CHANNELS, "src": layout, "local_size": 5,
                              "alpha": 0.1, "beta": 0.75, "k": 2.0}
    forward = Prim(lib.NDRT_LRN, direction=TRAIN, dst=layout, **fields)
    y = Array(layout)
    args = {SRC: from_numpy(x, "acdb"), DST: y}
    workspace = forward.desc(lib.NDRT_ARG_WORKSPACE)
    if workspace is not None:
        args[lib.NDRT_ARG_WORKSPACE] = Array(workspace)
    forward.run(args)

    def lrn(v: Any) -> Any:
        squares = np.pad(v**2, ((0, 0), (2, 2), (0, 0), (0, 0)))
        total = sum(squares[:, i : i + 16] for i in range(5))
        return v * (2.0 + 0.1 / 5 * total) ** -0.75

    x8 = x.astype("f8")
    close(to_numpy(y), lrn(x8), 1e-4)
    backward = Prim(lib.NDRT_LRN, direction=BACK, diff_src=layout, diff_dst=layout, **fields)
    dx = Array(layout)
    args[DIFF_SRC], args[DIFF_DST] = dx, from_numpy(dy, "acdb")
    del args[DST]
    backward.run(args)
    step = np.zeros_like(x8)
    step[0, 7, 1, 1] = 1e-6
    slope = ((lrn(x8 + step) - lrn(x8 - step)) * dy).sum() / 2e-6
    close(to_numpy(dx)[0, 7, 1, 1], slope, 1e-3)


def test_eltwise_from_source_and_from_result() -> None:
    x, dy = rand(3, 50), rand(3, 50, seed=1)
    layout = desc(x.shape)
    y, dx = Array(layout), Array(layout)
    Prim(lib.NDRT_ELTWISE, direction=TRAIN, alg=lib.NDRT_ELTWISE_TANH, src=layout).run(
        {SRC: from_numpy(x), DST: y})
    close(to_numpy(y), np.tanh(x))
    expected = dy * (1 - np.tanh(x) ** 2)
    Prim(lib.NDRT_ELTWISE, direction=BACK, alg=lib.NDRT_ELTWISE_TANH, src=layout, diff_src=layout,
         diff_dst=layout).run({SRC: from_numpy(x), DIFF_SRC: dx, DIFF_DST: from_numpy(dy)})
    close(to_numpy(dx), expected)
    Prim(lib.NDRT_ELTWISE, direction=BACK, alg=lib.NDRT_ELTWISE_TANH_FROM_DST, dst=layout,
         diff_src=layout, diff_dst=layout).run({DST: y, DIFF_SRC: dx, DIFF_DST: from_numpy(dy)})
    close(to_numpy(dx), expected)


@pytest.mark.parametrize("by_sources", [False, True])
def test_binary(by_sources: bool) -> None:
    a, b = rand(3, 50), rand(1, 50, seed=1)
    first, second = desc(a.shape), desc(b.shape)
    fields: dict[str, Any] = (
        {"srcs": [first, second]} if by_sources else {"src": first, "weights": second})
    y = Array(first)
    Prim(lib.NDRT_BINARY, alg=lib.NDRT_BINARY_SUB, **fields).run(
        {SRC: from_numpy(a), lib.NDRT_ARG_SRC_1: from_numpy(b), DST: y})
    close(to_numpy(y), a - b)


def test_prelu() -> None:
    x, w, dy = rand(2, 4, 3, 3), rand(1, 4, 1, 1, seed=1), rand(2, 4, 3, 3, seed=2)
    layout, slopes = desc(x.shape), desc(w.shape)
    y, dx, dw = Array(layout), Array(layout), Array(slopes)
    Prim(lib.NDRT_PRELU, direction=TRAIN, src=layout, weights=slopes).run(
        {SRC: from_numpy(x), WEIGHTS: from_numpy(w), DST: y})
    close(to_numpy(y), np.where(x > 0, x, x * w))
    Prim(lib.NDRT_PRELU, direction=BACK, src=layout, weights=slopes, diff_src=layout,
         diff_weights=slopes, diff_dst=layout).run(
        {SRC: from_numpy(x), WEIGHTS: from_numpy(w), DIFF_SRC: dx, DIFF_WEIGHTS: dw,
         DIFF_DST: from_numpy(dy)})
    close(to_numpy(dx), np.where(x > 0, dy, dy * w))
    close(to_numpy(dw), np.where(x > 0, 0, x * dy).sum((0, 2, 3), keepdims=True), 1e-4)


@pytest.mark.parametrize("log", [False, True])
def test_softmax(log: bool) -> None:
    x, dy = rand(5, 9), rand(5, 9, seed=1)
    layout = desc(x.shape)
    alg = lib.NDRT_SOFTMAX_LOG if log else lib.NDRT_SOFTMAX_ACCURATE
    y, dx = Array(layout), Array(layout)
    Prim(lib.NDRT_SOFTMAX, direction=TRAIN, alg=alg, src=layout, axis=1).run(
        {SRC: from_numpy(x), DST: y})
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    close(to_numpy(y), np.log(p) if log else p)
    Prim(lib.NDRT_SOFTMAX, direction=BACK, alg=alg, dst=layout, diff_src=layout, diff_dst=layout,
         axis=1).run({DST: y, DIFF_SRC: dx, DIFF_DST: from_numpy(dy)})
    close(to_numpy(dx),
          dy - p * dy.sum(1, keepdims=True) if log else p * (dy - (p * dy).sum(1, keepdims=True)))


@pytest.mark.parametrize("n", [2, 12, 100])
def test_concat_and_sum_of_many(n: int) -> None:
    parts = [rand(2, 3, seed=i) for i in range(n)]
    layout = desc((2, 3))
    sources = {lib.NDRT_ARG_MULTIPLE_SRC + i: from_numpy(p) for i, p in enumerate(parts)}
    concat = Prim(lib.NDRT_CONCAT, srcs=[layout] * n, axis=1)
    y = Array(wanted(concat, DST))
    concat.run({**sources, DST: y})
    np.testing.assert_array_equal(to_numpy(y), np.concatenate(parts, 1))
    total = Array(layout)
    Prim(lib.NDRT_SUM, srcs=[layout] * n, scales=[0.5] * n).run({**sources, DST: total})
    close(to_numpy(total), 0.5 * sum(parts), 1e-4)


def test_reduction() -> None:
    x = rand(4, 50)
    y = Array(desc((4, 1)))
    Prim(lib.NDRT_REDUCTION, alg=lib.NDRT_REDUCTION_MEAN, src=desc(x.shape), dst=y.desc).run(
        {SRC: from_numpy(x), DST: y})
    close(to_numpy(y), x.mean(1, keepdims=True))


# ---- errors and life ----------------------------------------------------------------------------


def test_count_returns() -> None:
    gc.collect()
    prims, descs = lib.ndrt_prim_count(), lib.ndrt_desc_count()
    kept = [Prim(lib.NDRT_ELTWISE, direction=INFER, alg=lib.NDRT_ELTWISE_RELU, src=desc((n, 3)))
            for n in range(1, 20)]
    assert lib.ndrt_prim_count() == prims + 19
    del kept
    gc.collect()
    assert (lib.ndrt_prim_count(), lib.ndrt_desc_count()) == (prims, descs)


def test_one_primitive_in_many_threads() -> None:
    x, w = rand(2, 16, 10, 10), rand(16, 16, 3, 3, seed=1)
    prim = Prim(lib.NDRT_CONVOLUTION, direction=INFER, src=desc(x.shape, "acdb"),
                weights=desc(w.shape, "any"), dst=desc((2, 16, 8, 8), "acdb"), nspatial=2,
                strides=(1, 1))
    source = from_numpy(x, "acdb")
    weights = reorder(from_numpy(w), wanted(prim, WEIGHTS))
    expected = conv_numpy(x, w, np.zeros(16, "f4"), 1, 0, 1)
    results: list[Any] = []

    def work() -> None:
        y = Array(wanted(prim, DST))
        for _ in range(20):
            prim.run({SRC: source, WEIGHTS: weights, DST: y})
        results.append(to_numpy(y))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4
    for result in results:
        close(result, expected)


def test_wrong_arguments_are_found_before_onednn_sees_them() -> None:
    layout = desc((2, 20, 4, 4), "aBcd16b")
    prim = Prim(lib.NDRT_ELTWISE, direction=INFER, alg=lib.NDRT_ELTWISE_RELU, src=layout)
    good, plain = Array(layout), Array(desc((2, 20, 4, 4)))
    with pytest.raises(ParameterError, match="argument 17 is missing"):
        prim.run({SRC: good})
    with pytest.raises(ParameterError, match=r"argument 1 has layout f32 2x20x4x4 abcd, "
                                             r"made for f32 2x20x4x4 aBcd16b"):
        prim.run({SRC: plain, DST: good})
    good.buffer = type("Null", (), {"data": 0})()
    from ndarray_rt.native import ffi

    good.buffer.data = ffi.NULL
    with pytest.raises(ParameterError, match="argument 17 has no bytes, its layout needs 4096"):
        prim.run({SRC: Array(layout), DST: good})


def test_a_missing_scratchpad_is_found() -> None:
    prim = Prim(lib.NDRT_BATCH_NORM, direction=INFER, src=desc((2, 8, 4, 4), "acdb"), epsilon=1e-3)
    assert lib.ndrt_prim_scratchpad(prim.ptr) > 0
    small = Array(desc((1,), dtype=U8))
    a = Array(desc((2, 8, 4, 4), "acdb"))
    with pytest.raises(ParameterError, match="argument 80"):
        prim.run({SRC: a, DST: a, lib.NDRT_ARG_SCRATCHPAD: small})


def test_specs_that_are_wrong() -> None:
    layout = desc((2, 3))
    with pytest.raises(ParameterError, match="kind 0 is none"):
        Prim(0)
    with pytest.raises(ParameterError, match="reorder: the spec has no dst; src f32 2x3 ab"):
        Prim(lib.NDRT_REORDER, src=layout)
    with pytest.raises(ParameterError, match="convolution: 0 spatial dims in the spec, 2 in src"):
        Prim(lib.NDRT_CONVOLUTION, direction=INFER, src=desc((1, 3, 5, 5)))
    with pytest.raises(ParameterError, match="softmax: direction 0"):
        Prim(lib.NDRT_SOFTMAX, src=layout)
    with pytest.raises(ParameterError, match="33 post-ops"):
        Prim(lib.NDRT_ELTWISE, direction=INFER, src=layout, npost_ops=33)
    with pytest.raises(ParameterError, match="post-op kind 9"):
        Prim(lib.NDRT_ELTWISE, direction=INFER, src=layout, alg=lib.NDRT_ELTWISE_RELU,
             post_ops=[{"kind": 9}])
    with pytest.raises(ParameterError, match="invalid arguments; src f32 2x3 ab; dst f32 3x2 ab"):
        Prim(lib.NDRT_REORDER, src=layout, dst=desc((3, 2)))


def test_what_onednn_lacks_is_unsupported() -> None:
    layout = desc((2, 3), dtype=lib.NDRT_F64)
    with pytest.raises(Unsupported, match=r"eltwise: unimplemented .*; src f64 2x3 ab"):
        Prim(lib.NDRT_ELTWISE, direction=INFER, src=layout, alg=lib.NDRT_ELTWISE_EXP)


@pytest.mark.parametrize("shape", [(0, 3), (4, 0)])
def test_zero_sizes_run(shape: tuple[int, int]) -> None:
    layout = desc(shape)
    y = Array(layout)
    Prim(lib.NDRT_ELTWISE, direction=INFER, alg=lib.NDRT_ELTWISE_RELU, src=layout).run(
        {SRC: Array(layout), DST: y})
