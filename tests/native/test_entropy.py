"""The least loss of entropy over a histogram, against NumPy's; what the kernel refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.ops.quantization.calibrate import CalibrateEntropyParams, compute
from tests.native.helpers import kernel


class Kept:
    """An output that NumPy writes."""

    value: Any = None

    def write(self, value: Any) -> None:
        self.value = value[0]


def wanted(hist: Any, edges: Any, levels: int) -> list[float]:
    outs: Any = [Kept(), Kept()]
    compute(None, CalibrateEntropyParams(num_quantized_bins=levels),  # type: ignore[arg-type]
            [hist, edges], outs)
    return [out.value for out in outs]


def found(hist: Any, edges: Any, levels: int, nthreads: int = 1) -> list[float]:
    slots = max(nthreads, 1)
    outs = [np.full(2, 7, "f4") for _ in range(2)]
    scratch = np.full((2 * slots + 1) * hist.size + 1, 7, "f4")
    kernel(lib.NDRT_KERNEL_LEAST_LOSS, (hist.size, levels, slots), [*outs, hist, edges, scratch],
           (), nthreads)
    assert [out[1] for out in outs] == [7, 7]
    assert scratch[-1] == 7
    return [out[0] for out in outs]


@pytest.mark.parametrize("kind", ["normal", "sparse", "edge", "zeros", "not a number"])
@pytest.mark.parametrize(("bins", "levels"), [(3, 2), (21, 5), (301, 20), (301, 51), (401, 401)])
@pytest.mark.parametrize("nthreads", [1, 2])
def test_equals_numpy(kind: str, bins: int, levels: int, nthreads: int) -> None:
    rng = np.random.default_rng(bins)
    values = {"normal": rng.standard_normal(4000), "sparse": rng.uniform(-1, 1, 17),
              "edge": np.full(50, 0.999), "zeros": np.zeros(0),
              "not a number": rng.standard_normal(50)}[kind]
    counts, edges = np.histogram(values, bins=bins, range=(-1, 1))
    hist, edges = counts.astype("f4"), edges.astype("f4")
    if kind == "not a number":
        hist[bins // 3] = np.nan
    assert found(hist, edges, levels, nthreads) == wanted(hist, edges, levels)


@pytest.mark.parametrize(("dims", "said"), [
    ((4, 2, 1), "4 bins for 2 levels"), ((3, 5, 1), "3 bins for 5"), ((3, 1, 1), "3 bins for 1"),
    ((2**31 + 1, 5, 1), "bins for 5 levels"), ((3, 2, 0), "0 slots")])
def test_refuses(dims: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=f"least loss: .*{said}"):
        kernel(lib.NDRT_KERNEL_LEAST_LOSS, dims, [np.zeros(9, "f4")] * 5, ())


def test_refuses_too_few_arrays() -> None:
    with pytest.raises(ParameterError, match="least loss: array 4 has no bytes"):
        kernel(lib.NDRT_KERNEL_LEAST_LOSS, (3, 2, 1), [np.zeros(9, "f4")] * 4, ())
