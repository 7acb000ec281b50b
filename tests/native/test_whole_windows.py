"""Windows over 8-bit numbers in int32, against sums of Python; what the kernel refuses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.ops.quantization.ranges import rounded
from tests.native.helpers import DTYPES, kernel

BLOCK = lib.NDRT_WHOLE_BLOCK


def pack(weight: Any, groups: int = 1) -> Any:
    """(filters, y, x, channels) as the kernel reads it, and 7 behind it."""
    filters, *window, channels = weight.shape
    made = np.full(lib.ndrt_whole_packed(window, channels, filters, groups) + 1, 7, "i1")
    kernel(lib.NDRT_KERNEL_PACK_WHOLE, (filters, channels, *window, groups),
           [made, np.ascontiguousarray(weight.transpose(0, 3, 1, 2))])
    assert made[-1] == 7
    return made


class Finish(NamedTuple):
    """What becomes of the sums; the functions are (slope, low, high)."""

    dtype: str = "i4"
    scale: Any = None
    scales: Any = None
    shift: Any = None
    added: Any = None
    added_scale: Any = None
    first: tuple[float, float, float] = (1, -np.inf, np.inf)
    last: tuple[float, float, float] = (1, -np.inf, np.inf)
    zeros: tuple[float, float] = (0, 0)


SUMS = Finish()


def run(data: Any, weight: Any, bias: Any, strides: Any, dilate: Any, pad: Any, out: Any,
        nthreads: int = 1, groups: int = 1, finish: Finish = SUMS) -> Any:
    """The kernel's result, and 7 behind it."""
    filters, *window, channels = weight.shape
    slots = max(nthreads, 1)
    nbytes = slots * lib.ndrt_whole_scratch(window, channels)
    scratch = np.full(nbytes + 1, 99, "i1")
    made = np.full(int(np.prod(data.shape[:1] + out)) * filters + 1, 7, finish.dtype)
    dims = (*data.shape[:1], channels * groups, *data.shape[1:3], filters, *window, *strides,
            *dilate, *pad, *out, groups, data.dtype == np.int8, slots, DTYPES[made.dtype],
            0 if finish.added is None else DTYPES[finish.added.dtype])
    kernel(lib.NDRT_KERNEL_WHOLE_WINDOWS, dims,
           [made, np.ascontiguousarray(data), pack(weight, groups), scratch, bias, finish.shift,
            finish.scale, finish.scales, finish.added, finish.added_scale],
           (*finish.first, *finish.last, *finish.zeros), nthreads)
    assert scratch[-1] == 99
    return made


def bent(x: Any, bend: tuple[float, float, float]) -> Any:
    slope, low, high = (np.float32(value) for value in bend)
    return np.minimum(np.maximum(np.where(x < 0, x * slope, x), low), high)


def finished(sums: Any, finish: Finish) -> Any:
    if finish.dtype == "i4":
        return sums
    with np.errstate(all="ignore"):
        y = sums.astype("f4") + (0 if finish.shift is None else finish.shift)
        y = bent(y * (finish.scale if finish.scales is None else finish.scales), finish.first)
        if finish.added is not None:
            y = y + finish.added.astype("f4") * finish.added_scale
        y = bent(y, finish.last)
        return y if finish.dtype == "f4" else rounded(y, np.dtype(finish.dtype))


def wanted(data: Any, weight: Any, bias: Any, strides: Any, dilate: Any, pad: Any, out: Any,
           groups: int = 1) -> Any:
    if groups > 1:
        parts = [wanted(x, w, b, strides, dilate, pad, out) for x, w, b in zip(
            np.split(data, groups, -1), np.split(weight, groups),
            [None] * groups if bias is None else np.split(bias, groups), strict=True)]
        return np.concatenate(parts, -1)
    x, w = data.astype(np.int64), weight.astype(np.int64)
    images, height, width, _ = x.shape
    made = np.zeros((images, *out, len(w)), np.int64)
    for line, column, j, i in np.ndindex(*out, *w.shape[1:3]):
        y = line * strides[0] - pad[0] + j * dilate[0]
        z = column * strides[1] - pad[1] + i * dilate[1]
        if 0 <= y < height and 0 <= z < width:
            made[:, line, column] += x[:, y, z] @ w[:, j, i].T
    sums = made.astype(np.int32)
    if bias is None:
        return sums
    return np.clip(sums.astype(np.int64) + bias, -2**31, 2**31 - 1).astype(np.int32)


numbers = st.integers(1, 3)


bends = st.sampled_from(((1, -np.inf, np.inf), (1, 0, np.inf), (0.25, -np.inf, np.inf),
                         (-2, -3, 90), (0, -np.inf, 6)))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(("i1", "u1")), st.integers(0, 3), st.tuples(*[st.integers(1, 9)] * 2),
       st.integers(1, 37), st.integers(1, 50), st.sampled_from((1, 1, 1, 2, 3, 20)),
       st.tuples(numbers, numbers), st.tuples(numbers, numbers), st.tuples(numbers, numbers),
       st.tuples(*[st.integers(0, 3)] * 2), st.tuples(*[st.integers(1, 7)] * 2), st.booleans(),
       st.integers(0, 3), st.integers(0, 9),
       st.sampled_from(((None, "i4"), (1e-3, "i1"), (2e-4, "u1"), (np.nan, "i1"), (np.nan, "u1"),
                        (np.inf, "i1"), (0.25, "u1"), (1e-3, "f4"), (None, "i1"), (None, "u1"),
                        (None, "f4"))),
       bends, bends, st.sampled_from((None, "i1", "u1")))
def test_equals_numpy(dtype: str, images: int, size: Any, channels: int, filters: int, groups: int,
                      window: Any, strides: Any, dilate: Any, pad: Any, out: Any, with_bias: bool,
                      nthreads: int, seed: int, made_as: Any, first: Any, last: Any, added: Any,
                      ) -> None:
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    if groups > 1:
        channels, filters = max(channels // groups, 1), max(filters // groups, 1) * groups
    data = rng.integers(info.min, info.max + 1, (images, *size, channels * groups)).astype(dtype)
    weight = rng.integers(-128, 128, (filters, *window, channels)).astype("i1")
    bias = rng.integers(-2**31, 2**31, filters).astype("i4") if with_bias else None
    scale, kind = made_as
    finish = SUMS
    if kind != "i4":
        ends = None if added is None else np.iinfo(added)
        finish = Finish(
            kind, None if scale is None else np.array([scale], "f4"),
            rng.uniform(1e-4, 2e-3, filters).astype("f4") if scale is None else None,
            None if with_bias else rng.integers(-9999, 9999, filters).astype("f4"),
            None if ends is None else rng.integers(ends.min, ends.max + 1, (
                images, *out, filters)).astype(added),
            None if ends is None else np.array([0.37], "f4"), first, last)
    made = run(data, weight, bias, strides, dilate, pad, out, nthreads, groups, finish)
    want = finished(wanted(data, weight, bias, strides, dilate, pad, out, groups), finish)
    np.testing.assert_array_equal(made[:-1].reshape(want.shape), want)
    assert made[-1] == 7


# (window, channels, padding, stride): places one behind the other, places and rows of windows,
# rows of nothing but padding, rows that are copied, very short and long ones
LAYERS = [((1, 1), 12, 0, 1), ((1, 1), 13, 0, 2), ((3, 3), 8, 1, 1), ((3, 3), 8, 3, 2),
          ((3, 3), 3, 1, 2), ((7, 7), 3, 3, 2), ((11, 11), 3, 2, 4), ((2, 3), 33, 1, 1)]


@pytest.mark.parametrize(("window", "channels", "pad", "stride"), LAYERS)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
@pytest.mark.parametrize(("kind", "added"), [
    ("u1", None), ("u1", "u1"), ("u1", "i1"), ("i1", None), ("i1", "i1"), ("f4", None)])
def test_what_layers_mostly_are(window: tuple[int, int], channels: int, pad: int, stride: int,
                                dtype: str, kind: str, added: str | None) -> None:
    """A shift and a scale for each filter, whole blocks of filters, images as wide as a tile."""
    rng = np.random.default_rng(channels)
    info = np.iinfo(dtype)
    for filters, side, nthreads in ((32, 14, 1), (80, 13, 2)):
        data = rng.integers(info.min, info.max + 1, (2, side, side, channels)).astype(dtype)
        weight = rng.integers(-128, 128, (filters, *window, channels)).astype("i1")
        out = tuple((side + 2 * pad - k) // stride + 1 for k in window)
        finish = Finish(kind, scales=rng.uniform(1e-4, 2e-3, filters).astype("f4"),
                        shift=rng.integers(-9999, 9999, filters).astype("f4"))
        if added is not None:
            ends = np.iinfo(added)
            summand = rng.integers(ends.min, ends.max + 1, (2, *out, filters)).astype(added)
            finish = finish._replace(added=summand, added_scale=np.array([0.37], "f4"))
        geometry = (stride, stride), (1, 1), (pad, pad), out
        made = run(data, weight, None, *geometry, nthreads, finish=finish)
        want = finished(wanted(data, weight, None, *geometry), finish)
        np.testing.assert_array_equal(made[:-1].reshape(want.shape), want)
        assert made[-1] == 7


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(("i1", "u1")), st.integers(0, 255), st.tuples(*[st.integers(1, 9)] * 2),
       st.integers(1, 37), st.integers(1, 50), st.tuples(numbers, numbers),
       st.tuples(*[st.integers(0, 3)] * 2), st.booleans(), st.integers(0, 3), st.integers(0, 9),
       st.sampled_from(("i1", "u1", "f4")), st.tuples(*[st.integers(0, 255)] * 3))
def test_zero_points(dtype: str, zero: int, size: Any, channels: int, filters: int, window: Any,
                     pad: Any, with_bias: bool, nthreads: int, seed: int, kind: str,
                     ends: Any) -> None:
    """Padding stands for 0, and sums become numbers within bounds, or floats."""
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    zero += info.min
    data = rng.integers(info.min, info.max + 1, (2, *size, channels)).astype(dtype)
    weight = rng.integers(-128, 128, (filters, *window, channels)).astype("i1")
    bias = rng.integers(-2**20, 2**20, filters).astype("i4") if with_bias else None
    factors = (rng.random(filters) / 100).astype("f4")
    geometry = (1, 1), (1, 1), pad, (3, 4)
    start = -128 if kind == "i1" else 0
    out_zero, low, high = ends[0] + start, min(ends[1:]) + start, max(ends[1:]) + start
    last = (1, -np.inf, np.inf) if kind == "f4" else (1, low - out_zero, high - out_zero)
    made = run(data, weight, bias, *geometry, nthreads, 1, Finish(
        kind, scales=factors, last=last, zeros=(zero, 0 if kind == "f4" else out_zero)))
    want = wanted(data.astype(np.int64) - zero, weight, bias, *geometry).astype("f4") * factors
    if kind != "f4":
        want = np.clip(np.rint(want) + out_zero, low, high)
    np.testing.assert_array_equal(made[:-1].reshape(want.shape), want)
    assert made[-1] == 7


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(("i1", "u1")), st.integers(1, 14), st.integers(1, 100), st.integers(1, 40),
       st.integers(0, 255), st.integers(1, 128), st.integers(0, 3), st.integers(0, 99))
def test_small_numbers(dtype: str, rows: int, features: int, columns: int, most: int,
                       most_weight: int, nthreads: int, seed: int) -> None:
    """Whether 16 bits hold sums of a chunk of products differs from chunk to chunk."""
    rng = np.random.default_rng(seed)
    most = most if dtype == "u1" else most // 2
    data = rng.integers(0 if dtype == "u1" else -most, most + 1, (rows, 1, 1, features))
    weight = rng.integers(-most_weight, most_weight, (columns, 1, 1, features)).astype("i1")
    geometry = (1, 1), (1, 1), (0, 0), (1, 1)
    made = run(data.astype(dtype), weight, None, *geometry, nthreads)
    want = wanted(data, weight, None, *geometry)
    np.testing.assert_array_equal(made[:-1].reshape(want.shape), want)


@pytest.mark.parametrize(("dtype", "least"), [("u1", 0), ("i1", 0), ("i1", -60)])
@pytest.mark.parametrize(("x", "w"), [(64, 64), (63, 65), (90, 45), (45, 91), (127, 32), (127, 33)])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("lanes", [(0, 1), (2, 3), (0, 1, 2, 3)])
def test_sums_at_the_ends_of_16_bits(dtype: str, least: int, x: int, w: int, sign: int,
                                     lanes: Any) -> None:
    """8 products of a chunk are just what 16 bits hold, or just beyond."""
    data, weight = np.full((6, 1, 1, 8, 4), least, dtype), np.zeros((16, 1, 1, 8, 4), "i1")
    data[..., lanes], weight[..., lanes] = least + x, sign * w
    made = run(data.reshape(6, 1, 1, 32), weight.reshape(16, 1, 1, 32), None, (1, 1), (1, 1),
               (0, 0), (1, 1))
    assert set(made[:-1].tolist()) == {8 * len(lanes) * sign * (least + x) * w}


@pytest.mark.parametrize("zeros", [(-1, 0), (0.5, 0), (0, 256), (256, 0), (np.nan, 0)])
def test_refuses_zero_points(zeros: tuple[float, float]) -> None:
    data, weight = np.zeros((1, 1, 1, 2), "u1"), np.zeros((4, 1, 1, 2), "i1")
    with pytest.raises(ParameterError, match="whole windows: the zero points"):
        run(data, weight, None, (1, 1), (1, 1), (0, 0), (1, 1), finish=Finish(
            "u1", scale=np.ones(1, "f4"), zeros=zeros))


@pytest.mark.parametrize(("dtype", "x", "w"), [
    ("u1", 255, 127), ("u1", 255, -128), ("i1", 127, 127), ("i1", -128, -128), ("i1", -128, 127)])
@pytest.mark.parametrize("rows", range(1, 8))
def test_ends_do_not_saturate(dtype: str, x: int, w: int, rows: int) -> None:
    data, weight = np.full((rows, 1, 1, 64), x, dtype), np.full((17, 1, 1, 64), w, "i1")
    made = run(data, weight, None, (1, 1), (1, 1), (0, 0), (1, 1))
    assert set(made[:-1].tolist()) == {64 * x * w}


def test_sums_come_round() -> None:
    data, weight = np.full((1, 1, 1, 70000), 255, "u1"), np.full((1, 1, 1, 70000), 127, "i1")
    made = run(data, weight, None, (1, 1), (1, 1), (0, 0), (1, 1))
    assert made[0] == 70000 * 255 * 127 - 2**32


def test_a_bias_ends_where_int32_does() -> None:
    data, weight = np.ones((1, 1, 1, 2), "i1"), np.array([[1], [-1]] * 4, "i1")
    bias = np.array([2**31 - 1, -2**31, -2**31, 2**31 - 1, 2**31 - 3, 2 - 2**31, 5, -5], "i4")
    weight = np.repeat(weight, 2, 1).reshape(8, 1, 1, 2)
    made = run(data, weight, bias, (1, 1), (1, 1), (0, 0), (1, 1))
    assert made[:-1].tolist() == [2**31 - 1, -2**31, 2 - 2**31, 2**31 - 3, 2**31 - 1, -2**31, 7, -7]


def test_what_is_packed() -> None:
    """Four numbers of a row side by side, for all filters of a block; sums of weights behind."""
    weight = np.arange(-64, 80, dtype="i1").reshape(4, 2, 2, 9)
    made = pack(weight, 2)[:-1]
    depth = 40
    blocks = made[:2 * depth * BLOCK].reshape(2, depth // 4, BLOCK, 4)
    flat = np.pad(weight.reshape(2, 2, 36), ((0, 0), (0, 0), (0, 4)))
    np.testing.assert_array_equal(
        blocks[:, :, :2].transpose(0, 2, 1, 3).reshape(2, 2, depth), flat)
    assert not blocks[:, :, 2:].any()
    sums = made[-2 * 2 * BLOCK * 2 * 2:].view("i2").reshape(2, 2, BLOCK, 2)
    groups = np.pad(flat, ((0, 0), (0, 0), (0, 24))).reshape(2, 2, 2, 2, 16).sum(-1)
    np.testing.assert_array_equal(sums[:, :, :2].transpose(0, 2, 1, 3), groups)
    assert not sums[:, :, 2:].any()


def test_long_rows_are_packed() -> None:
    """With AVX-512 VNNI a row of more than 64 numbers is filled up to fours, else all of them."""
    weight = np.random.default_rng(0).integers(-99, 99, (1, 2, 2, 33)).astype("i1")
    if lib.ndrt_cpu_features() & lib.NDRT_HAS_AVX512_VNNI:
        flat = np.pad(weight.reshape(2, 66), ((0, 0), (0, 2))).ravel()
    else:
        flat = np.pad(weight.ravel(), (0, 4))
    made = pack(weight)[:136 * BLOCK].reshape(34, BLOCK, 4)
    np.testing.assert_array_equal(made[:, 0].ravel(), flat)
    assert not made[:, 1:].any()


@pytest.mark.parametrize(("at", "value", "error"), [
    *((at, 0, "a number is out of range") for at in range(5)), (4, 3, "out of range"),
    (0, 2**31, "out of range"), (1, 2**31 - 2, "more elements than can be")])
def test_packing_refuses(at: int, value: int, error: str) -> None:
    dims = [4, 2, *[2**30 if value == 2**31 - 2 else 2] * 2, 2]
    dims[at] = value
    with pytest.raises(ParameterError, match=f"pack whole: .*{error}"):
        kernel(lib.NDRT_KERNEL_PACK_WHOLE, dims, [np.zeros(99, "i4")] * 2)
    assert lib.ndrt_whole_packed(dims[2:4], dims[1], dims[0], dims[4]) == 0


GOOD = [1, 2, 3, 3, 4, 1, 1, 1, 1, 1, 1, 0, 0, 3, 3, 1, 1, 1, lib.NDRT_S32, 0]
STRAIGHT = (1, -np.inf, np.inf) * 2


def refuse(error: str, dims: list[int], arrays: list[Any], numbers: Any = STRAIGHT) -> None:
    with pytest.raises(ParameterError, match=f"whole windows: .*{error}"):
        kernel(lib.NDRT_KERNEL_WHOLE_WINDOWS, dims, arrays, numbers)


@pytest.mark.parametrize(("at", "value", "error"), [
    *((at, -1, "a number is out of range") for at in range(15)), (17, 0, "out of range"),
    (15, 0, "0 groups of 2 channels and 4 filters"), (15, 4, "4 groups of 2 channels"),
    (18, lib.NDRT_F16, "a kind that there is no form for"),
    (0, 2**31, "out of range"), (17, 2**31 - 1, "more elements than can be")])
def test_refuses(at: int, value: int, error: str) -> None:
    dims = [2**30 if value == 2**31 - 1 and place in (1, 5) else given
            for place, given in enumerate(GOOD)]
    dims[at] = value
    refuse(error, dims, [np.zeros(99, "i4")] * 5)


def test_refuses_too_few_arrays() -> None:
    refuse("array 3 has no bytes", GOOD, [np.zeros(99, "i4")] * 3)


def test_refuses_8_bits_without_a_scale() -> None:
    refuse("a kind that there is no form for", [*GOOD[:-2], lib.NDRT_S8, 0],
           [np.zeros(99, "i4")] * 4)


def test_refuses_what_is_not_done_to_sums_of_int32() -> None:
    some = np.zeros(99, "i4")
    refuse("only a bias is added", GOOD, [some] * 6)
    refuse("only a bias is added", GOOD, [some] * 4, (1, 0, np.inf, 1, -np.inf, np.inf))


def test_refuses_a_summand_that_it_can_not_add() -> None:
    some, dims = np.zeros(99, "i4"), [*GOOD[:-2], lib.NDRT_S8, lib.NDRT_S8]
    refuse("a summand without its scale", dims, [*[some] * 4, None, None, some, None, some])
    refuse("a summand of a kind", [*dims[:-1], lib.NDRT_F32],
           [*[some] * 4, None, None, some, None, some, some])
