"""Numbers by number and by array, in each dtype: as often in each part of the line as they should.

By mx.test_utils.verify_generator, with seeds that are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import test_utils as tu

nd = mx.nd
DRAWS, TIMES = 20000, 5

pytest.importorskip("scipy.stats")


def normal_quantile(share: float) -> float:
    if share in (0, 1):
        return -math.inf if share == 0 else math.inf
    return NormalDist(1, 2).inv_cdf(share)


CONTINUOUS: dict[str, tuple[tuple[float, float], Callable[[float], float]]] = {
    "uniform": ((-3, 5), lambda share: 8 * share - 3),
    "normal": ((1, 2), normal_quantile)}


def by_number(make: Any, parameters: tuple[float, ...], dtype: str) -> Callable[[int], Any]:
    return lambda n: make(*parameters, shape=n, dtype=dtype).asnumpy().astype(np.float64)


def by_array(make: Any, parameters: tuple[float, ...], dtype: str) -> Callable[[int], Any]:
    """The second of two rows, whose parameters are others."""
    arrays = [nd.array([0.5, value]) for value in parameters]
    return lambda n: make(*arrays, shape=n, dtype=dtype).asnumpy()[1].astype(np.float64)


@pytest.mark.parametrize("kind", [by_number, by_array])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str, dtype: str, kind: Any) -> None:
    parameters, quantile = CONTINUOUS[name]
    mx.random.seed(31)
    make = kind(getattr(nd.random, name), parameters, dtype)
    buckets, shares = tu.gen_buckets_probs_with_ppf(quantile, 5)
    tu.verify_generator(make, buckets, shares, nsamples=DRAWS, nrepeat=TIMES, success_rate=0.6)
    values = make(DRAWS)
    mean = {"uniform": 1.0, "normal": 1.0}[name]
    deviation = {"uniform": 8 / math.sqrt(12), "normal": 2.0}[name]
    assert abs(values.mean() - mean) < 4 * deviation / math.sqrt(DRAWS)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers(dtype: str) -> None:
    mx.random.seed(32)
    tu.verify_generator(lambda n: nd.random.randint(-3, 4, shape=n, dtype=dtype).asnumpy(),
                        list(range(-3, 4)), [1 / 7] * 7, nsamples=DRAWS, nrepeat=TIMES,
                        success_rate=0.6)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float32", "float64"])
def test_places(dtype: str) -> None:
    mx.random.seed(33)
    shares = [0.1, 0.2, 0.3, 0.05, 0.15, 0.2]
    rows = nd.array([[1, 0, 0, 0, 0, 0], shares])
    tu.verify_generator(
        lambda n: nd.random.multinomial(rows, shape=n, dtype=dtype).asnumpy()[1], list(range(6)),
        shares, nsamples=DRAWS, nrepeat=TIMES, success_rate=0.6)


def test_orders() -> None:
    """Each of the 24 orders of four rows is as frequent as the others, among many rows, too."""
    mx.random.seed(34)
    x = nd.array(np.arange(4))

    def code(order: Any) -> int:
        return int(order @ [64, 16, 4, 1])
    orders = [code(np.array(order)) for order in permutations(range(4))]
    tu.verify_generator(
        lambda n: np.array([code(nd.random.shuffle(x).asnumpy()) for _ in range(n)], np.int64),
        orders, [1 / 24] * 24, nsamples=2400, nrepeat=TIMES, success_rate=0.6)
    places = nd.random.shuffle(nd.arange(DRAWS)).asnumpy()
    drift = np.abs(np.corrcoef(places, np.arange(DRAWS))[0, 1])
    assert drift < 4 / math.sqrt(DRAWS)
