"""Convolutions with a window of one pixel: which take the kernel for products, and that all are
right."""

from __future__ import annotations

from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.op import calibration
from ndarray_rt.ops.nn import pointwise_convolution
from ndarray_rt.symbol.symbol import Symbol
from tests.graph.kernel_checks import check_other_batches, check_right

DATA = mx.sym.var("data")


def conv(data: Symbol, filters: int = 48, name: str = "conv", **params: Any) -> Symbol:
    return mx.sym.Convolution(data, num_filter=filters, kernel=(1, 1), name=name, **params)


def window(data: Symbol, filters: int) -> Symbol:
    """In the layout that convolutions hand on."""
    return mx.sym.Convolution(data, num_filter=filters, kernel=(3, 3), pad=(1, 1), name="window")


WINDOWED = window(DATA, 64)
TAKEN: dict[str, tuple[Symbol, tuple[int, ...]]] = {
    "plain": (conv(DATA), (2, 50, 5, 7)),
    "no bias": (conv(DATA, 70, no_bias=True), (1, 64, 7, 7)),
    "relu": (mx.sym.relu(conv(DATA, 33)), (3, 48, 6, 5)),
    "relu6": (mx.sym.clip(conv(DATA, 130), a_min=0, a_max=6), (1, 1024, 4, 4)),
    "few pixels": (conv(DATA), (1, 50, 1, 2)),
    "one axis": (mx.sym.Convolution(DATA, num_filter=48, kernel=(1,), name="conv"), (2, 50, 9)),
    "a sum": (conv(WINDOWED, 64) + WINDOWED, (2, 3, 6, 6)),
    "a sum, relu": (mx.sym.relu(conv(DATA, 64, no_bias=True) + DATA), (1, 64, 5, 5)),
    "small groups": (conv(DATA, 20, num_group=4), (2, 24, 5, 7)),
    "small groups, a sum, relu": (mx.sym.relu(conv(DATA, 50, num_group=10) + DATA), (1, 50, 5, 5)),
    "groups of one channel": (conv(DATA, 20, num_group=10, no_bias=True), (2, 10, 1, 1)),
    "groups on one axis": (mx.sym.Convolution(DATA, num_filter=48, kernel=(1,), num_group=6,
                                              name="conv"), (2, 30, 9)),
    "a sum that is read again": (mx.sym.Group([
        mx.sym.relu(conv(DATA, 64) + mx.sym.tanh(DATA)), mx.sym.tanh(DATA)]), (1, 64, 5, 5)),
}
LEFT: dict[str, tuple[Symbol, tuple[int, ...]]] = {
    "another function": (mx.sym.sigmoid(conv(DATA)), (1, 50, 5, 5)),
    "a product": (conv(DATA, 64) * DATA, (1, 64, 5, 5)),
    "a sum of a smaller one": (mx.sym.broadcast_add(conv(DATA, 64), mx.sym.mean(
        DATA, axis=(2, 3), keepdims=True)), (1, 64, 5, 5)),
    "a sum behind the activation": (mx.sym.relu(conv(DATA, 64)) + DATA, (1, 64, 5, 5)),
    **({"many pixels": (conv(DATA), (1, 50, 130, 130))} if has_avx512() else {}),
    "many features": (conv(DATA), (1, 2049, 3, 3)),
    "strides": (conv(DATA, stride=(2, 2)), (1, 50, 8, 8)),
    "padded": (conv(DATA, pad=(1, 1)), (1, 50, 5, 5)),
    "large groups": (conv(DATA, 50, num_group=2), (1, 50, 5, 5)),
    "strides in groups": (conv(DATA, 50, num_group=10, stride=(2, 2)), (1, 50, 5, 5)),
}


@pytest.fixture
def small_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are never too few."""
    monkeypatch.setattr(pointwise_convolution, "LEAST_WEIGHTS", 0)


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.usefixtures("small_pays")
def test_takes_the_kernel(name: str) -> None:
    assert "ndrt:packed_gemm" in check_right(*TAKEN[name])


@pytest.mark.parametrize("name", LEFT)
@pytest.mark.usefixtures("small_pays")
def test_leaves_it_to_onednn(name: str) -> None:
    assert "ndrt:packed_gemm" not in check_right(*LEFT[name])


@pytest.mark.parametrize("filters", [64, 65])
def test_few_weights_are_left_where_onednn_is_faster(filters: int) -> None:
    kernels = check_right(conv(DATA, filters), (1, 64, 7, 7))
    assert ("ndrt:packed_gemm" in kernels) == (64 * filters >= calibration.LEAST_WEIGHTS)


@pytest.mark.parametrize("batches", [(1, 2, 60), (60, 6, 1)])
@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.usefixtures("small_pays")
def test_other_batches_find_the_weight_as_it_is_packed(name: str, batches: tuple[int, ...]) -> None:
    net, shape = TAKEN[name]
    check_other_batches(net, shape[1:], batches)
