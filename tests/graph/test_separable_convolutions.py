"""Depthwise convolutions go with the 1x1 ones around them where images are large, and rightly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.op import calibration
from ndarray_rt.passes import fuse_separable_convolutions as separable_pass
from ndarray_rt.symbol.symbol import Symbol
from tests.graph.pass_checks import check, fill, operators, optimized, relu, results

WIDE = pytest.mark.skipif(not has_avx512(), reason="the kernel is for AVX-512")
FUSED = separable_pass.SEPARABLE
DATA = mx.sym.var("data")
SHAPE = (1, 8, 66, 65)


def conv(data: Symbol, filters: int, name: str, **params: Any) -> Symbol:
    return mx.sym.Convolution(data, num_filter=filters, name=name, **{"kernel": (1, 1), **params})


def windows(data: Symbol, channels: int, **params: Any) -> Symbol:
    given = {"kernel": (3, 3), "pad": (1, 1), "num_group": channels, **params}
    return conv(data, channels, "windows", **given)


def clip(x: Symbol) -> Symbol:
    return mx.sym.clip(x, a_min=0, a_max=6)


def block(data: Symbol = DATA, filters: int = 8, channels: int = 64, **params: Any) -> Symbol:
    """An inverted residual, without the sum."""
    wide = clip(conv(data, channels, "expansion", no_bias=True))
    return conv(clip(windows(wide, channels, **params)), filters, "projection")


NORMED = mx.sym.BatchNorm(block(), fix_gamma=False, name="norm")
TAKEN: dict[str, tuple[Symbol, tuple[int, ...]]] = {
    "inverted residual": (block(), SHAPE),
    "its sum": (block() + DATA, SHAPE),
    "sum and relu": (relu(block() + DATA), SHAPE),
    "strides": (relu(block(stride=(2, 2))), SHAPE),
    "no padding, several images": (block(pad=(0, 0)), (3, *SHAPE[1:])),
    "wide padding": (block(pad=(3, 2)), SHAPE),
    "no expansion": (conv(relu(windows(DATA, 32)), 20, "projection"), (2, 32, 64, 64)),
    "a norm": (NORMED, SHAPE),
    "behind another layer": (block(relu(conv(DATA, 24, "first")), 16), SHAPE),
}
LEFT: dict[str, tuple[Symbol, tuple[int, ...]]] = {
    "small images": (block(), (1, 8, 20, 20)),
    "large weights": (block(DATA, 260, 128), (1, 8, 64, 64)),
    "another function": (conv(mx.sym.tanh(windows(DATA, 32)), 20, "projection"), (1, 32, 66, 66)),
    "a function of the result": (mx.sym.tanh(block()), SHAPE),
    "a product of the result": (block() * DATA, SHAPE),
    "a sum of something else": (block() + mx.sym.tanh(DATA), SHAPE),
    "rows too wide for a cache": (block(), (1, 8, 4, 1000)),
    "a sum of a smaller one": (mx.sym.broadcast_add(block(), mx.sym.mean(
        DATA, axis=(2, 3), keepdims=True)), SHAPE),
    "strides that differ": (block(stride=(1, 2)), SHAPE),
    "holes": (block(dilate=(2, 2), pad=(2, 2)), SHAPE),
    "larger windows": (block(kernel=(5, 5), pad=(2, 2)), SHAPE),
    "few channels": (block(channels=40), SHAPE),
    "groups of two": (block(num_group=32), SHAPE),
    "a projection with strides": (conv(windows(DATA, 32), 20, "projection", stride=(2, 2)),
                                  (1, 32, 66, 66)),
}


@WIDE
@pytest.mark.parametrize("name", TAKEN)
def test_goes_together(name: str) -> None:
    net, shape = TAKEN[name]
    assert FUSED in operators(check(net, data=shape).heads)


@pytest.mark.parametrize("name", LEFT)
def test_stays_apart(name: str) -> None:
    net, shape = LEFT[name]
    assert FUSED not in operators(check(net, data=shape).heads)


def test_what_others_read_stays() -> None:
    wide = clip(conv(DATA, 64, "expansion"))
    inner = clip(windows(wide, 64))
    out = conv(inner, 8, "projection")
    for net, expected in ((mx.sym.Group([out, inner * 2]), []),
                          (mx.sym.Group([out, wide * 2]), [FUSED] if has_avx512()
                           else [])):
        found = operators(check(net, data=SHAPE).heads)
        assert [name for name in found if name == FUSED] == expected


@WIDE
def test_comes_apart_where_the_kernel_is_not_for_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for net, shape in TAKEN.values():
        fused = Symbol(optimized(net, data=shape).heads)
        with monkeypatch.context() as patched:
            patched.setattr(separable_pass, "has_avx512", lambda: False)
            apart = Symbol(optimized(fused, data=shape).heads)
        assert FUSED not in operators(apart.entries)
        assert apart.list_outputs() == net.list_outputs()
        for got, want in zip(results(apart, data=shape), results(fused, data=shape), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


def bound(net: Symbol, shape: tuple[int, ...], threads: int = 1) -> Any:
    """An executor that ran three times."""
    before = mx.set_num_threads(threads)
    try:
        executor = net.simple_bind(mx.cpu(), grad_req="null", data=shape)
        fill(executor)
        for _ in range(3):
            executor.forward()[0].wait_to_read()
    finally:
        mx.set_num_threads(before)
    return executor


@WIDE
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_an_image_has_one_result_in_any_batch_by_any_threads(threads: int) -> None:
    net = block() + DATA
    images = np.random.default_rng(2).standard_normal((5, *SHAPE[1:])).astype("f4")
    one, five = bound(net, SHAPE, threads), bound(net, images.shape, threads)
    assert one.capture_state == five.capture_state == "captured"
    whole = five.forward(data=mx.nd.array(images))[0].asnumpy()
    for i, image in enumerate(images):
        alone = one.forward(data=mx.nd.array(image[None]))[0].asnumpy()
        np.testing.assert_array_equal(whole[i], alone[0])


@WIDE
@pytest.mark.parametrize("shape", [(1, 8, 1, 1 << 16), (1, 8, 1 << 16, 1), (2, 8, 3, 5)])
def test_any_image_after_a_reshape(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "LEAST_BETWEEN", 0)
    net = block() + DATA
    executor = bound(net, SHAPE).reshape(allow_up_sizing=True, partial_shaping=True, data=shape)
    data = np.random.default_rng(3).standard_normal(shape).astype("f4")
    made = executor.forward(data=mx.nd.array(data))[0].asnumpy()
    assert [row["kernel"] for row in executor.explain().as_dict()["rows"]] == ["ndrt:separable"]
    with config.override(NDRT_SKIP_PASSES="all"):
        apart = bound(net, shape).forward(data=mx.nd.array(data))[0].asnumpy()
    np.testing.assert_allclose(made, apart, rtol=1e-4, atol=1e-4 * np.abs(apart).max())


def test_a_sum_that_is_of_its_shape_by_chance_stays_native_after_a_reshape() -> None:
    net = mx.sym.broadcast_add(block(), mx.sym.var("places", shape=SHAPE))
    executor = bound(net, SHAPE).reshape(allow_up_sizing=True, data=(3, *SHAPE[1:]))
    executor.forward()
    kernels = [row["kernel"] for row in executor.explain().as_dict()["rows"]]
    assert len([kernel for kernel in kernels if "numpy" not in kernel]) >= 2


@WIDE
def test_no_memory_between_and_one_row_in_explain() -> None:
    executor = bound(block(), SHAPE)
    rows = executor.explain().as_dict()["rows"]
    assert [row["kernel"] for row in rows] == ["ndrt:separable"]
    between = 4 * 64 * SHAPE[2] * SHAPE[3]
    assert executor.inference_plan.arena_bytes < between // 4
    with config.override(NDRT_SKIP_PASSES="fuse_separable_convolutions"):
        assert bound(block(), SHAPE).inference_plan.arena_bytes >= between


@WIDE
def test_a_weight_written_to_between_runs_counts() -> None:
    net = block() + DATA
    executor = bound(net, SHAPE)
    before = executor.forward()[0].asnumpy()
    for name in ("expansion_weight", "windows_weight", "windows_bias", "projection_weight"):
        executor.arg_dict[name][:] *= -0.5
        after = executor.forward()[0].asnumpy()
        copies = {key: value.copy() for key, value in executor.arg_dict.items()}
        with config.override(NDRT_ONEDNN=False):
            naive = net.bind(mx.cpu(), copies).forward()[0].asnumpy()
        np.testing.assert_allclose(after, naive, rtol=1e-4, atol=1e-4 * np.abs(naive).max())
        assert not np.array_equal(before, after)
        before = after
