"""Windows of 8-bit numbers, a filter for each channel: as the tests of whole_windows have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from tests.native.helpers import DTYPES, kernel
from tests.native.test_whole_windows import STRAIGHT, Finish, bends, finished, wanted

BLOCK = 16


def run(data: Any, weight: Any, bias: Any, strides: Any, dilate: Any, pad: Any, out: Any,
        nthreads: int, finish: Finish) -> Any:
    """The kernel's result, and 7 behind it."""
    window, channels = weight.shape[:2], weight.shape[2]
    nbytes = lib.ndrt_whole_depthwise_scratch(channels, window[0] * window[1])
    scratch = np.full(nbytes, 99, "i1")
    made = np.full(int(np.prod(data.shape[:1] + out)) * channels + 1, 7, finish.dtype)
    dims = (*data.shape[:1], channels, *data.shape[1:3], *window, *strides, *dilate, *pad, *out,
            data.dtype == np.int8, DTYPES[made.dtype],
            0 if finish.added is None else DTYPES[finish.added.dtype])
    kernel(lib.NDRT_KERNEL_WHOLE_DEPTHWISE, dims,
           [made, data, weight, scratch, bias, finish.shift, finish.scale, finish.scales,
            finish.added, finish.added_scale], (*finish.first, *finish.last, *finish.zeros),
           nthreads)
    return made


numbers = st.integers(1, 3)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(("i1", "u1")), st.integers(0, 3), st.tuples(*[st.integers(1, 9)] * 2),
       st.integers(16, 150), st.tuples(st.integers(1, 4), st.integers(1, 4)),
       *[st.tuples(numbers, numbers)] * 2, st.tuples(*[st.integers(0, 3)] * 2),
       st.tuples(*[st.integers(1, 7)] * 2), st.booleans(), st.integers(0, 3), st.integers(0, 9),
       st.sampled_from((None, "i4", "f4", "i1", "u1")), bends, bends,
       st.sampled_from((None, "i1", "u1")), st.integers(0, 255))
def test_equals_numpy(dtype: str, images: int, size: Any, channels: int, window: Any, strides: Any,
                      dilate: Any, pad: Any, out: Any, with_bias: bool, nthreads: int, seed: int,
                      kind: Any, first: Any, last: Any, added: Any, zero: int) -> None:
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    data = rng.integers(info.min, info.max + 1, (images, *size, channels)).astype(dtype)
    weight = rng.integers(-128, 128, (*window, channels)).astype("i1")
    bias = rng.integers(-2**31, 2**31, channels).astype("i4") if with_bias else None
    zero += int(info.min)
    finish = Finish(zeros=(zero, 0))
    if kind not in (None, "i4"):
        ends = None if added is None else np.iinfo(added)
        finish = Finish(
            kind, None if seed % 2 else np.array([3e-3], "f4"),
            rng.uniform(1e-4, 2e-3, channels).astype("f4") if seed % 2 else None,
            None if with_bias else rng.integers(-9999, 9999, channels).astype("f4"),
            None if ends is None else rng.integers(ends.min, ends.max + 1, (
                images, *out, channels)).astype(added),
            None if ends is None else np.array([0.37], "f4"), first, last, (zero, 0))
    made = run(data, weight, bias, strides, dilate, pad, out, nthreads, finish)
    filters = np.ascontiguousarray(weight.transpose(2, 0, 1)[..., None])
    want = finished(wanted(data.astype(np.int64) - zero, filters, bias, strides, dilate, pad, out,
                           channels), finish)
    np.testing.assert_array_equal(made[:-1].reshape(want.shape), want)
    assert made[-1] == 7


GOOD = [1, 16, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0, 3, 3, 1, lib.NDRT_S32, 0]


@pytest.mark.parametrize(("at", "value", "error"), [
    *((at, -1, "a number is out of range") for at in (0, *range(2, 14))),
    (1, 15, "15 channels, expected at least 16"), (4, 122, "windows of more than 121 places"),
    (15, lib.NDRT_F16, "a kind that there is no form for"), (0, 2**31, "out of range")])
def test_refuses(at: int, value: int, error: str) -> None:
    dims = list(GOOD)
    dims[at] = value
    with pytest.raises(ParameterError, match=f"whole depthwise: .*{error}"):
        kernel(lib.NDRT_KERNEL_WHOLE_DEPTHWISE, dims, [np.zeros(999, "i4")] * 5, STRAIGHT)


@pytest.mark.parametrize("zeros", [(-129, 0), (0.5, 0), (0, 256), (128, 0), (np.nan, 0)])
def test_refuses_zero_points(zeros: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="whole depthwise: the zero points"):
        kernel(lib.NDRT_KERNEL_WHOLE_DEPTHWISE, GOOD, [np.zeros(999, "i4")] * 5,
               (*STRAIGHT, *zeros))


def test_refuses_arrays_that_are_missing() -> None:
    some = np.zeros(999, "i4")
    with pytest.raises(ParameterError, match="array 3 has no bytes"):
        kernel(lib.NDRT_KERNEL_WHOLE_DEPTHWISE, GOOD, [some] * 3, STRAIGHT)
    with pytest.raises(ParameterError, match="a summand without its scale"):
        kernel(lib.NDRT_KERNEL_WHOLE_DEPTHWISE, [*GOOD[:-2], lib.NDRT_S8, lib.NDRT_S8],
               [*[some] * 4, None, None, some, None, some], STRAIGHT)
