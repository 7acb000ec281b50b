"""How many threads a primitive is made for: one where it has little to do, whatever its kind."""

from __future__ import annotations

from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt.native import lib
from tests.native.helpers import Desc, Prim, desc

BACKWARD_DATA, BACKWARD_WEIGHTS = lib.NDRT_BACKWARD_DATA, lib.NDRT_BACKWARD_WEIGHTS
INFERENCE = lib.NDRT_FORWARD_INFERENCE


def window(size: int) -> dict[str, Any]:
    return {"nspatial": 2, "strides": (1, 1), "kernel": (size, size)}


def convolution(size: int, channels: int) -> list[tuple[int, dict[str, Any]]]:
    """Forward, backward data and backward weights of convolution and deconvolution."""
    image, weights = desc((1, channels, size, size)), desc((channels, channels, 1, 1))
    each: list[dict[str, Any]] = [
        {"direction": INFERENCE, "src": image, "weights": weights, "dst": image},
        {"direction": BACKWARD_DATA, "diff_src": image, "weights": weights, "diff_dst": image},
        {"direction": BACKWARD_WEIGHTS, "src": image, "diff_weights": weights, "diff_dst": image}]
    return [(kind, {**fields, **window(1)}) for fields in each
            for kind in (lib.NDRT_CONVOLUTION, lib.NDRT_DECONVOLUTION)]


def inner_product(n: int) -> list[tuple[int, dict[str, Any]]]:
    square = desc((n, n))
    return [(lib.NDRT_INNER_PRODUCT, fields) for fields in (
        {"direction": INFERENCE, "src": square, "weights": square, "dst": square},
        {"direction": BACKWARD_DATA, "diff_src": square, "weights": square, "diff_dst": square},
        {"direction": BACKWARD_WEIGHTS, "src": square, "diff_weights": square,
         "diff_dst": square})]


def matmul(n: int) -> list[tuple[int, dict[str, Any]]]:
    return [(lib.NDRT_MATMUL, {"src": desc((2, n, n)), "weights": desc((2, n, n)),
                               "dst": desc((2, n, n))})]


def pooling(size: int) -> list[tuple[int, dict[str, Any]]]:
    image = desc((1, 16, size, size), "acdb")
    return [(lib.NDRT_POOLING, {"direction": INFERENCE, "alg": lib.NDRT_POOLING_MAX, "src": image,
                                "dst": image, **window(1)})]


def lrn(size: int) -> list[tuple[int, dict[str, Any]]]:
    image = desc((1, 16, size, size), "acdb")
    return [(lib.NDRT_LRN, {"direction": INFERENCE, "alg": lib.NDRT_LRN_ACROSS_CHANNELS,
                            "src": image, "dst": image, "local_size": 5, "alpha": 1e-4,
                            "beta": 0.75, "k": 1.0})]


def lstm(steps: int, units: int) -> list[tuple[int, dict[str, Any]]]:
    def weights() -> Desc:
        return desc((1, 1, units, 4, units))
    data = desc((steps, 4, units))
    return [(lib.NDRT_LSTM, {"direction": INFERENCE, "src": data, "weights": weights(),
                             "weights_iter": weights(), "bias": desc((1, 1, 4, units)),
                             "dst": data})]


def batch_norm(size: int) -> list[tuple[int, dict[str, Any]]]:
    image = desc((1, 64, size, size), "acdb")
    return [(lib.NDRT_BATCH_NORM, {"direction": lib.NDRT_FORWARD_TRAINING, "src": image,
                                   "dst": image, "epsilon": 1e-3})]


SMALL = [*convolution(7, 16), *batch_norm(32), *inner_product(32), *matmul(32), *pooling(8),
         *lrn(8), *lstm(500, 2)]
LARGE = [*convolution(56, 64), *batch_norm(64), *inner_product(512), *matmul(256), *pooling(64),
         *lrn(64), *lstm(2, 256)]


@pytest.fixture(autouse=True)
def three_threads() -> Any:
    before = mx.set_num_threads(3)
    yield
    mx.set_num_threads(before)


@pytest.mark.parametrize("nthreads", [0, 2])
@pytest.mark.parametrize(("works", "is_large"), [(SMALL, False), (LARGE, True)],
                         ids=["small", "large"])
def test_threads_of_every_kind(works: list[tuple[int, dict[str, Any]]], is_large: bool,
                               nthreads: int) -> None:
    for kind, fields in works:
        prim = Prim(kind, **fields, nthreads=nthreads)
        wanted = (nthreads or 3) if is_large else 1
        assert lib.ndrt_prim_threads(prim.ptr) == wanted, (kind, fields)


def test_meetings_inside_of_a_region_count() -> None:
    """What one thread should do for a gradient of filters is worth a team for the others."""
    for kind, fields in convolution(28, 32):
        prim = Prim(kind, **fields)
        wanted = 1 if fields["direction"] == BACKWARD_WEIGHTS else 3
        assert lib.ndrt_prim_threads(prim.ptr) == wanted


def test_a_product_of_skinny_gemm_counts_its_weights() -> None:
    few, many = desc((1, 64)), desc((1, 1024))
    for row, columns, wanted in ((few, 64, 1), (many, 1024, 3)):
        features = row.list("dims")[1]
        prim = Prim(lib.NDRT_INNER_PRODUCT, direction=INFERENCE, src=row,
                    weights=desc((columns, features)), dst=desc((1, columns)))
        assert lib.ndrt_prim_threads(prim.ptr) == wanted
