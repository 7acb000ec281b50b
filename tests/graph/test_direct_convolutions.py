"""Convolutions that native kernels compute: which do, and that all are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.op import calibration
from ndarray_rt.ops.nn import direct_convolution
from ndarray_rt.symbol.symbol import Symbol
from tests.graph.kernel_checks import RNG, check_other_batches, check_right

DATA = mx.sym.var("data")


def conv(data: Symbol, filters: int, **params: Any) -> Symbol:
    params = {"kernel": (3, 3), "pad": (1, 1), **params}
    return mx.sym.Convolution(data, num_filter=filters, name="conv", **params)


def depthwise(data: Symbol, channels: int, **params: Any) -> Symbol:
    return conv(data, channels, num_group=channels, **params)


def pointwise(data: Symbol, filters: int) -> Symbol:
    return mx.sym.Convolution(data, num_filter=filters, kernel=(1, 1), name="before")


TAKEN: dict[str, tuple[str, Symbol, tuple[int, ...]]] = {
    "plain images": ("few_channels", conv(DATA, 32), (2, 3, 20, 31)),
    "relu": ("few_channels", mx.sym.relu(conv(DATA, 16, no_bias=True)), (1, 1, 9, 9)),
    "strides": ("few_channels", mx.sym.clip(conv(DATA, 48, stride=(2, 2)), a_min=0, a_max=6),
                (2, 4, 33, 40)),
    "small windows": ("few_channels", conv(DATA, 32, kernel=(2, 2), pad=(0, 0), stride=(4, 4)),
                      (1, 3, 17, 18)),
    "depthwise": ("depthwise", depthwise(DATA, 32), (2, 32, 9, 12)),
    "depthwise, strides": ("depthwise", mx.sym.relu(depthwise(DATA, 16, stride=(2, 2))),
                           (1, 16, 10, 9)),
    "depthwise, layout of products": ("depthwise", mx.sym.clip(
        depthwise(pointwise(DATA, 144), 144, no_bias=True), a_min=-1, a_max=1), (3, 20, 7, 7)),
    "depthwise, wide padding": ("depthwise", depthwise(DATA, 16, pad=(4, 3)), (1, 16, 2, 5)),
}
BEFORE = pointwise(DATA, 48)
if not has_avx512():  # elsewhere oneDNN's kernel is as fast, or was not measured
    TAKEN |= {
        "large windows": ("few_channels", conv(DATA, 32, kernel=(11, 11), stride=(4, 4)),
                          (2, 3, 30, 41)),
        "windows": ("implicit_gemm", conv(DATA, 31), (2, 9, 8, 11)),
        "windows, no bias": ("implicit_gemm", conv(DATA, 80, no_bias=True), (1, 33, 7, 7)),
        "windows, relu": ("implicit_gemm", mx.sym.relu(conv(DATA, 16)), (1, 16, 13, 9)),
        "windows, strides": ("implicit_gemm", mx.sym.clip(
            conv(DATA, 48, stride=(2, 1), pad=(0, 2)), a_min=-1, a_max=1), (3, 20, 16, 9)),
        "windows, a sum": ("implicit_gemm", mx.sym.relu(conv(BEFORE, 48) + BEFORE),
                           (2, 20, 8, 8)),
        "windows, a sum that is read again": ("implicit_gemm", mx.sym.Group([
            conv(BEFORE, 48) + mx.sym.tanh(BEFORE), mx.sym.tanh(BEFORE)]), (1, 20, 8, 8)),
        "strides of one pixel": ("implicit_gemm", conv(
            DATA, 32, kernel=(1, 1), pad=(0, 0), stride=(2, 2)), (2, 130, 15, 14)),
    }
LEFT: dict[str, tuple[Symbol, tuple[int, ...]]] = {
    "few filters": (conv(DATA, 20), (2, 3, 9, 9)),
    "many channels": (conv(DATA, 32), (2, 5, 9, 9)),
    "strides that differ": (conv(DATA, 32, stride=(1, 2)), (2, 3, 9, 9)),
    "holes": (conv(DATA, 32, dilate=(2, 2)), (2, 3, 9, 9)),
    "wide windows": (conv(DATA, 32, kernel=(5, 5)), (1, 3, 9, 9)),
    "another function": (mx.sym.sigmoid(conv(DATA, 32)), (1, 3, 9, 9)),
    "depthwise, wide strides": (depthwise(DATA, 16, stride=(3, 3)), (1, 16, 9, 9)),
    "depthwise, wide windows": (depthwise(DATA, 16, kernel=(5, 5)), (1, 16, 9, 9)),
    "depthwise, holes": (depthwise(DATA, 16, dilate=(2, 2), pad=(2, 2)), (1, 16, 9, 9)),
    "depthwise, few channels": (depthwise(DATA, 8), (1, 8, 9, 9)),
    "depthwise, one axis": (depthwise(DATA, 16, kernel=(3,), pad=(1,)), (1, 16, 9)),
    "groups of two": (conv(DATA, 32, num_group=16), (1, 32, 9, 9)),
    "windows of few channels": (conv(DATA, 32), (2, 7, 9, 9)),
    "windows of small images": (conv(DATA, 32), (2, 32, 6, 8)),
    "windows, few filters behind a block": (conv(DATA, 24), (2, 32, 9, 9)),
    "windows, holes": (conv(DATA, 32, dilate=(2, 2)), (2, 32, 12, 12)),
    "windows of 5x5": (conv(DATA, 32, kernel=(5, 5), pad=(2, 2)), (2, 32, 12, 12)),
    "windows, groups": (conv(DATA, 32, num_group=2), (1, 32, 9, 9)),
    "windows, another function": (mx.sym.sigmoid(conv(DATA, 32)), (1, 32, 9, 9)),
    "windows of one axis": (conv(DATA, 32, kernel=(3,), pad=(1,)), (1, 32, 90)),
    "windows of three axes": (conv(DATA, 32, kernel=(3, 3, 3), pad=(1, 1, 1)), (1, 32, 8, 8, 8)),
    "strides of one pixel, few channels": (conv(
        DATA, 32, kernel=(1, 1), pad=(0, 0), stride=(2, 2)), (2, 120, 15, 14)),
}


if not has_avx512():  # oneDNN's kernel is faster
    LEFT |= {
        "depthwise, small images": (depthwise(DATA, 32), (2, 32, 9, 9)),
        "depthwise, pixels that alias": (depthwise(DATA, 256, stride=(2, 2)), (1, 256, 20, 20)),
    }


@pytest.fixture
def small_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images of depthwise convolutions are never too small."""
    monkeypatch.setattr(direct_convolution, "LEAST_DEPTHWISE_PIXELS", 0)


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.usefixtures("small_pays")
def test_takes_the_kernel(name: str) -> None:
    kernel, net, shape = TAKEN[name]
    assert f"ndrt:{kernel}" in check_right(net, shape)


@pytest.mark.parametrize("name", LEFT)
def test_leaves_it_to_onednn(name: str) -> None:
    ours = {"ndrt:few_channels", "ndrt:depthwise", "ndrt:implicit_gemm"}
    assert not ours & {*check_right(*LEFT[name])}


@pytest.mark.parametrize("batches", [(1, 2, 40), (40, 6, 1)])
@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.usefixtures("small_pays")
def test_other_batches_find_the_weight_as_it_is_packed(name: str, batches: tuple[int, ...]) -> None:
    _, net, shape = TAKEN[name]
    check_other_batches(net, shape[1:], batches)


@pytest.mark.parametrize("channels", [64, 512])
def test_depthwise_of_large_images(channels: int) -> None:
    """By the kernel, unless the pixels lie in the same sets of a cache."""
    kernels = check_right(depthwise(DATA, channels), (1, channels, 10, 10))
    is_left = calibration.ALIASING_PIXELS and channels % calibration.ALIASING_PIXELS == 0
    assert ("ndrt:depthwise" in kernels) == (not is_left)


def test_a_weight_written_to_between_runs() -> None:
    executor = depthwise(DATA, 16, kernel=(3, 3), no_bias=True).simple_bind(
        mx.cpu(), grad_req="null", data=(1, 16, 3, 3))
    executor.arg_dict["data"][:] = 1
    for _ in range(6):
        weight = RNG.standard_normal((16, 1, 3, 3)).astype("f4")
        executor.arg_dict["conv_weight"][:] = weight
        made = executor.forward(is_train=False)[0].asnumpy()
        np.testing.assert_allclose(made[0, :, 1, 1], weight.sum((1, 2, 3)), rtol=1e-4, atol=1e-4)
