"""Layers with a few rows of data: which take the native kernel, and that all are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.op import calibration
from ndarray_rt.op.choose import prefers_channels_last
from ndarray_rt.symbol.symbol import Symbol
from tests.graph.kernel_checks import RNG, check_other_batches, check_right


def dense(data: Symbol, hidden: int = 150, **params: Any) -> Symbol:
    return mx.sym.FullyConnected(data, num_hidden=hidden, name="fc", **params)


def one_pixel(data: Symbol) -> Symbol:
    return mx.sym.Convolution(data, num_filter=70, kernel=(1, 1), name="conv")


def pooled(data: Symbol) -> Symbol:
    """In the layout that convolutions hand on."""
    made = mx.sym.Convolution(data, num_filter=32, kernel=(3, 3), name="conv")
    return mx.sym.Pooling(made, kernel=(2, 2), stride=(2, 2), pool_type="max")


DATA = mx.sym.var("data")
TAKEN: dict[str, tuple[Symbol, tuple[int, ...]]] = {
    "plain": (dense(DATA), (1, 77)),
    "no bias": (dense(DATA, no_bias=True), (3, 77)),
    "few columns": (dense(DATA, 10), (3, 1300)),
    "most rows": (dense(DATA, 33), (calibration.MOST_FEW, 300)),
    "relu": (mx.sym.relu(dense(DATA)), (2, 40)),
    "relu6": (mx.sym.clip(dense(DATA), a_min=0, a_max=6), (1, 40)),
    "not flat": (dense(DATA, flatten=False), (1, 3, 40)),
    "flat": (dense(DATA), (2, 3, 5, 7)),
    "layout of convolutions": (dense(pooled(DATA)), (2, 3, 10, 12)),
    "one pixel": (one_pixel(DATA), (3, 50, 1, 1)),
    "one pixel, relu": (mx.sym.relu(one_pixel(DATA)), (1, 50, 1, 1)),
}
MORE: dict[str, tuple[Symbol, tuple[int, ...]]] = {
    "five rows": (dense(DATA), (5, 77)),
    "no bias": (dense(DATA, no_bias=True), (17, 77)),
    "few columns": (dense(DATA, 10), (64, 1300)),
    "relu6": (mx.sym.clip(dense(DATA), a_min=0, a_max=6), (29, 40)),
    "not flat": (dense(DATA, flatten=False), (2, 16, 40)),
    "most rows": (dense(DATA, 33), (calibration.MOST_ROWS, 19)),
    "most features": (dense(DATA, 7), (6, calibration.MOST_FEATURES)),
    "a sum": (dense(DATA, 40) + DATA, (2, 40)),
    "a sum of many rows": (mx.sym.relu(dense(DATA, 40) + DATA), (100, 40)),
    "a sum of one row": (DATA + dense(DATA, 1024), (1, 1024)),
    "one pixel": (one_pixel(DATA), (9, 50, 1, 1)),
    "more pixels": (one_pixel(DATA), (1, 50, 2, 1)),
}
LEFT: dict[str, tuple[Symbol, tuple[int, ...]]] = {
    "too many rows": (dense(DATA), (calibration.MOST_ROWS + 1, 77)),
    "too many features": (dense(DATA), (5, calibration.MOST_FEATURES + 1)),
    "another function": (mx.sym.tanh(dense(DATA)), (1, 40)),
    "another function of more rows": (mx.sym.tanh(dense(DATA)), (9, 40)),
    "more rows in the layout of convolutions": (dense(pooled(DATA)), (5, 3, 10, 12)),
    "padded": (mx.sym.Convolution(DATA, num_filter=7, kernel=(1, 1), pad=(1, 1), name="conv"),
               (1, 50, 1, 1)),
    "padding alone": (mx.sym.Convolution(DATA, num_filter=7, kernel=(1, 1), pad=(1, 1),
                                         stride=(3, 3), name="conv"), (1, 50, 1, 1)),
}


@pytest.mark.parametrize("name", TAKEN)
def test_takes_the_kernel(name: str) -> None:
    assert "ndrt:skinny_gemm" in check_right(*TAKEN[name])


@pytest.mark.parametrize("name", MORE)
def test_more_rows_take_the_kernel_for_pixels(name: str) -> None:
    kernels = check_right(*MORE[name])
    assert "ndrt:packed_gemm" in kernels or (name == "more pixels" and not prefers_channels_last())


@pytest.mark.parametrize("name", LEFT)
def test_leaves_it_to_onednn(name: str) -> None:
    kernels = check_right(*LEFT[name])
    of_products = kernels[-1].split("+")
    assert not {"ndrt:skinny_gemm", "ndrt:packed_gemm"} & set(of_products)


def test_a_weight_written_to_between_runs() -> None:
    executor = dense(DATA).simple_bind(mx.cpu(), grad_req="null", data=(1, 30))
    x = executor.arg_dict["data"]
    x[:] = RNG.standard_normal((1, 30))
    for _ in range(6):
        weight = RNG.standard_normal((150, 30)).astype("f4")
        executor.arg_dict["fc_weight"][:] = weight
        made = executor.forward(is_train=False)[0].asnumpy()
        np.testing.assert_allclose(made, x.asnumpy() @ weight.T, rtol=1e-4, atol=1e-4)


CONVOLVED = mx.sym.Convolution(DATA, num_filter=160, kernel=(1, 1), name="conv")
ROWS: dict[str, tuple[Symbol, tuple[int, ...]]] = {
    "dense": (dense(DATA, 256), (64,)),
    "dense, few columns": (dense(DATA, 10), (64,)),
    "fused": (mx.sym.relu(dense(DATA, 256)), (512,)),
    "a sum": (dense(DATA, 256) + DATA, (256,)),
    "layout of convolutions": (dense(pooled(DATA), 200), (3, 10, 12)),
    "fused, layout of convolutions": (mx.sym.tanh(dense(pooled(DATA), 200)), (3, 10, 12)),
    "pixels": (CONVOLVED, (960, 7, 7)),
    "pixels in rows that are powers of two": (mx.sym.relu(CONVOLVED), (512, 7, 7)),
}


def test_fewer_rows_find_the_weight_as_onednn_packed_it() -> None:
    check_other_batches(dense(DATA, 64), (64,), (300, 5))


@pytest.mark.parametrize("batches", [(1, 2, 40), (40, 6, 1), (300, 5, 2), (3, 400)])
@pytest.mark.parametrize("name", ROWS)
def test_other_batches_find_the_weight_as_it_is_packed(name: str, batches: tuple[int, ...]) -> None:
    net, shape = ROWS[name]
    check_other_batches(net, shape, batches)
