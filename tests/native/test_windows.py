"""The kernels for convolutions: depthwise ones, and those of images of a few channels."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.ops.nn.conv_geometry import conv_forward, geometry, output_dims
from ndarray_rt.storage.kernels import conv
from tests.native.helpers import from_numpy, kernel, over_arrays, run_kernel

Bounds = tuple[float, float]
FREE = (-inf, inf)


def draw(*shape: int) -> Any:
    """The same for a shape at each call, so that an example that fails does so again."""
    return np.random.default_rng((5, *shape)).standard_normal(shape).astype("f4")


def convolved(x: Any, w: Any, bias: Any, stride: int, pads: tuple[int, int],
              bounds: Bounds = FREE, nthreads: int = 0) -> Any:
    """By the kernel: depthwise where the weight has one channel and the data more."""
    n, c, height, width = x.shape
    filters, window = len(w), w.shape[-1]
    depthwise = w.shape[1] != c
    out = np.full((n, *output_dims((height, width), _geometry(w, stride, pads)), filters), nan,
                  "f4")
    grouped = w[:, None] if depthwise else w
    packed = from_numpy(grouped, "Abcde16a" if depthwise else "Acdb16a").numpy()
    make = conv.depthwise if depthwise else conv.few_channels
    run_kernel(over_arrays(make)(
        out=out, data=np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if depthwise else x,
        weights=packed, bias=bias, images=n, channels=c, height=height, width=width,
        filters=filters, window=window, stride=stride, pad_y=pads[0], pad_x=pads[1], low=bounds[0],
        high=bounds[1]), nthreads)
    return out.transpose(0, 3, 1, 2)


def _geometry(w: Any, stride: int, pads: tuple[int, int], groups: int = 1) -> Any:
    return geometry(w.shape[2:], (stride,) * 2, (), pads, groups)


def by_numpy(x: Any, w: Any, bias: Any, stride: int, pads: tuple[int, int]) -> Any:
    geo = _geometry(w, stride, pads, len(w) if w.shape[1] != x.shape[1] else 1)
    made = conv_forward(x.astype("f8"), w.astype("f8"), geo, output_dims(x.shape[2:], geo))
    return made if bias is None else made + bias[:, None, None]


def check(x: Any, w: Any, stride: int, pads: tuple[int, int]) -> None:
    bias = draw(len(w))
    want = by_numpy(x, w, None, stride, pads)
    # each addition rounds a sum at the size it has: at that of its terms, or of a large result
    steps = w[0].size ** 0.5
    close = {"rtol": 4e-8 * steps, "atol": 4e-6 * steps}
    np.testing.assert_allclose(convolved(x, w, None, stride, pads), want, **close)
    np.testing.assert_allclose(convolved(x, w, bias, stride, pads, (-0.5, 2.0)),
                               np.clip(want + bias[:, None, None], -0.5, 2), **close)


@given(st.integers(1, 3), st.sampled_from([16, 32, 48, 144, 160]), st.integers(1, 40),
       st.integers(1, 40), st.sampled_from([1, 2]), st.integers(0, 4), st.integers(0, 4))
@settings(max_examples=150, deadline=None)
def test_depthwise(n: int, channels: int, height: int, width: int, stride: int, pad_y: int,
                   pad_x: int) -> None:
    if height + 2 * pad_y < 3 or width + 2 * pad_x < 3:
        return
    check(draw(n, channels, height, width), draw(channels, 1, 3, 3), stride, (pad_y, pad_x))


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 45), st.integers(1, 70),
       st.sampled_from([16, 32, 48, 64]), st.integers(1, 11), st.sampled_from([1, 2, 4]),
       st.integers(0, 12), st.integers(0, 12))
@settings(max_examples=150, deadline=None)
def test_few_channels(n: int, channels: int, height: int, width: int, filters: int, window: int,
                      stride: int, pad_y: int, pad_x: int) -> None:
    if min(height + 2 * pad_y, width + 2 * pad_x) < window:
        return
    check(draw(n, channels, height, width), draw(filters, channels, window, window), stride,
          (pad_y, pad_x))


KINDS = {"depthwise": ((2, 48, 9, 11), (48, 1, 3, 3)), "few channels": ((2, 3, 9, 50),
                                                                        (32, 3, 3, 3))}


@pytest.mark.parametrize("kind", KINDS)
def test_one_result_for_any_number_of_threads(kind: str) -> None:
    x, w = draw(*KINDS[kind][0]), draw(*KINDS[kind][1])
    # rows are shared out, and channels too where a thread would get too few rows
    one, *others = [convolved(x, w, None, 1, (1, 1), nthreads=n) for n in (1, 2, 3, 5, 7, 12, 32)]
    for other in others:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("bounds", [FREE, (0, inf), (0, 6)])
@pytest.mark.parametrize("kind", KINDS)
def test_nan_stays_where_it_is_read(kind: str, bounds: Bounds) -> None:
    x, w = draw(*KINDS[kind][0]), draw(*KINDS[kind][1])
    x[1, 2, 4, 5] = nan
    made = convolved(x, w, None, 1, (1, 1), bounds)
    seen = np.zeros(made.shape, bool)
    seen[1, slice(2, 3) if kind == "depthwise" else slice(None), 3:6, 4:7] = True
    np.testing.assert_array_equal(np.isnan(made), seen)


GOOD = {"depthwise": ((1, 16, 5, 5), (0, 1, 16, 3, 1, 1, 1)),
        "few channels": ((1, 3, 5, 5), (0, 1, 16, 3, 1, 1, 1))}
BAD: dict[str, list[tuple[tuple[int, ...], tuple[float, ...]]]] = {
    "depthwise": [((1, 16, 5, 5), (0, 1, 32, 3, 1, 1, 1)), ((1, 8, 5, 5), (0, 1, 8, 3, 1, 1, 1)),
                  ((1, 16, 5, 5), (0, 1, 16, 5, 1, 1, 1)), ((1, 16, 5, 5), (0, 1, 16, 3, 3, 1, 1)),
                  ((1, 16, 2, 5), (0, 1, 16, 3, 1, 0, 1)), ((1, 16, 5, 5), (0, 1, 16, 3, 0, 1, 1)),
                  ((1, 16, 5, 5), (0, 1, 16, 3, 1, -1, 1)), ((0, 16, 5, 5), GOOD["depthwise"][1]),
                  ((1, 16, 5, 5), (0, 1, 16, 3, 1 << 40, 1, 1))],
    "few channels": [((1, 5, 5, 5), (0, 1, 16, 3, 1, 1, 1)), ((1, 3, 5, 5), (0, 1, 8, 3, 1, 1, 1)),
                     ((1, 3, 5, 5), (0, 1, 16, 12, 1, 9, 9)),
                     ((1, 3, 5, 5), (0, 1, 16, 3, 3, 1, 1)),
                     ((1, 3, 5, -1), (0, 1, 16, 3, 1, 1, 1)),
                     ((1, 3, 5, 5), (0, 1, 1 << 40, 3, 1, 1, 1))],
}


@pytest.mark.parametrize(("kind", "dims", "scalars"),
                         [(kind, *bad) for kind, calls in BAD.items() for bad in calls])
def test_refuses(kind: str, dims: tuple[int, ...], scalars: tuple[float, ...]) -> None:
    data = [np.zeros(4096, "f4")] * 3
    which = getattr(lib, "NDRT_KERNEL_" + kind.replace(" ", "_").upper())
    with pytest.raises(ParameterError, match=kind):
        kernel(which, (*dims, *scalars[2:]), data, scalars[:2])
    counts, numbers = (*GOOD[kind][0], *GOOD[kind][1][2:]), GOOD[kind][1][:2]
    kernel(which, counts, data, numbers)
    with pytest.raises(ParameterError, match="-1 threads"):
        kernel(which, counts, data, numbers, nthreads=-1)
