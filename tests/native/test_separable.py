"""The kernel for depthwise separable convolutions: the bits of the three that it stands for."""

from __future__ import annotations

from math import inf, nan
from typing import Any, NamedTuple

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.storage.kernel_call import KernelCall
from ndarray_rt.storage.kernels import conv
from ndarray_rt.storage.kernels.gemm import packed_gemm
from tests.native.helpers import from_numpy, over_arrays, run_kernel

pytestmark = pytest.mark.skipif(
    not has_avx512(), reason="the kernel is for AVX-512")
RNG = np.random.default_rng(5)
BOUNDS = ((0, 6), (-0.5, inf), (-inf, inf))
RELU6 = BOUNDS[0]


class Problem(NamedTuple):
    images: int
    channels: int
    height: int
    width: int
    between: int  # 0: the depthwise convolution reads the data
    filters: int
    stride: int
    pads: tuple[int, int]

    @property
    def middle(self) -> int:
        return self.between or self.channels

    def out(self) -> tuple[int, int]:
        rows, columns = ((side + 2 * pad - 3) // self.stride + 1
                         for side, pad in zip((self.height, self.width), self.pads, strict=True))
        return rows, columns


class Arrays(NamedTuple):
    """Weights are packed; None for what is not given."""

    data: Any
    weights: list[Any]
    biases: list[Any]
    added: Any


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def arrays(p: Problem, biases: tuple[bool, bool, bool], added: bool) -> Arrays:
    weights = [None if not p.between else packed(draw(p.between, p.channels), "AB16b32a"),
               packed(draw(p.middle, 1, 1, 3, 3), "Abcde16a"),
               packed(draw(p.filters, p.middle), "AB16b16a")]
    given = [draw(n) if wanted else None for n, wanted in
             zip((p.middle, p.middle, p.filters), biases, strict=True)]
    if not p.between:
        given[0] = None
    return Arrays(draw(p.images, p.height, p.width, p.channels), weights, given,
                  draw(p.images, *p.out(), p.filters) if added else None)


def packed(weight: Any, tag: str) -> Any:
    owner = from_numpy(weight, tag)  # its bytes end with it
    return owner.numpy().copy()


def one_after_the_other(p: Problem, a: Arrays, bounds: Any) -> Any:
    rows, columns = p.out()
    x = a.data
    if p.between:
        x = product(x, a.weights[0], a.biases[0], None, p.between, 32, bounds[0])
    wide = np.full((p.images, rows, columns, p.middle), nan, "f4")
    run_kernel(over_arrays(conv.depthwise)(
        out=wide, data=x, weights=a.weights[1], bias=a.biases[1], images=p.images,
        channels=p.middle, height=p.height, width=p.width, filters=p.middle, window=3,
        stride=p.stride, pad_y=p.pads[0], pad_x=p.pads[1], low=bounds[1][0], high=bounds[1][1]))
    return product(wide, a.weights[2], a.biases[2], a.added, p.filters, 16, bounds[2])


def product(x: Any, weight: Any, bias: Any, added: Any, columns: int, width: int,
            bounds: tuple[float, float]) -> Any:
    out = np.full((*x.shape[:-1], columns), nan, "f4")
    rows = x.size // x.shape[-1]
    run_kernel(over_arrays(packed_gemm)(
        out=out, data=x, weights=weight, bias=bias, added=added, rows=rows, features=x.shape[-1],
        columns=columns, width=width, groups=1, shuffled=1, low=bounds[0], high=bounds[1]))
    return out


def call_of(p: Problem, a: Arrays, out: Any, scratch: Any, bounds: Any, slots: int, /,
            **other: Any) -> KernelCall:
    """The call for a problem, with other numbers where they are given."""
    named: dict[str, Any] = {
        "images": p.images, "channels": p.channels, "height": p.height, "width": p.width,
        "between": p.middle, "filters": p.filters, "stride": p.stride, "pad_y": p.pads[0],
        "pad_x": p.pads[1], "expansion_width": 32 if p.between else 0, "projection_width": 16,
        "slots": slots}
    limits = dict(zip(("expansion_low", "expansion_high", "depthwise_low", "depthwise_high", "low",
                       "high"), (b for pair in bounds for b in pair), strict=True))
    return conv.separable(
        out=out, data=a.data, scratch=scratch, depthwise=a.weights[1], projection=a.weights[2],
        expansion=a.weights[0] if p.between else None, expansion_bias=a.biases[0],
        depthwise_bias=a.biases[1], projection_bias=a.biases[2], added=a.added, **named | other,
        **limits)


def separable(p: Problem, a: Arrays, bounds: Any, nthreads: int = 0, slots: int = 8) -> Any:
    rows, columns = p.out()
    out = np.full((p.images + 1, rows, columns, p.filters), nan, "f4")
    numbers = lib.ndrt_separable_scratch(p.middle, (p.height, p.width), (rows, columns), p.stride)
    scratch = np.full(slots * numbers + 1, nan, "f4")
    run_kernel(call_of(p, a, out, scratch, bounds, slots), nthreads)
    assert np.isnan(out[p.images]).all(), "wrote behind the result"
    assert np.isnan(scratch[-1]), "wrote behind the scratch"
    return out[:p.images]


PROBLEMS = st.builds(
    Problem, st.integers(1, 3), st.sampled_from([16, 48]), st.integers(1, 25), st.integers(1, 25),
    st.sampled_from([0, 16, 48, 144]), st.integers(1, 50), st.sampled_from([1, 2]),
    st.tuples(st.integers(0, 4), st.integers(0, 4))).filter(
        lambda p: p.height + 2 * p.pads[0] >= 3 and p.width + 2 * p.pads[1] >= 3)


@hypothesis.given(PROBLEMS, st.tuples(*[st.booleans()] * 3), st.booleans(),
                  st.permutations(BOUNDS), st.integers(0, 9), st.integers(1, 8))
@hypothesis.settings(max_examples=200, deadline=None)
def test_gives_the_bits_of_three_kernels(p: Problem, biases: tuple[bool, bool, bool], added: bool,
                                         bounds: Any, nthreads: int, slots: int) -> None:
    a = arrays(p, biases, added)
    np.testing.assert_array_equal(separable(p, a, bounds, nthreads, slots),
                                  one_after_the_other(p, a, bounds))


@pytest.mark.parametrize("p", [
    Problem(1, 16, 112, 112, 96, 24, 2, (1, 1)), Problem(2, 24, 56, 56, 144, 24, 1, (1, 1)),
    Problem(4, 32, 28, 28, 0, 64, 1, (1, 1)), Problem(1, 33, 1, 200, 32, 7, 2, (1, 0))])
@pytest.mark.parametrize("nthreads", [1, 2, 5])
def test_large_images(p: Problem, nthreads: int) -> None:
    a = arrays(p, (True, True, True), True)
    np.testing.assert_array_equal(separable(p, a, BOUNDS, nthreads),
                                  one_after_the_other(p, a, BOUNDS))


@pytest.mark.parametrize(("change", "error"), [
    ({"height": 0}, "out of range"), ({"channels": -1}, "out of range"),
    ({"images": 1 << 31}, "out of range"), ({"between": 40}, "40"), ({"stride": 3}, "out of range"),
    ({"pads": (-1, 0)}, "out of range"), ({"height": 2, "pads": (0, 0)}, "images of 2 x 9"),
    ({"filters": 0}, "out of range"), ({"between": 0, "channels": 20}, "20 channels")])
def test_refuses_what_does_not_fit(change: dict[str, Any], error: str) -> None:
    p = Problem(1, 16, 9, 9, 32, 8, 1, (1, 1))
    a = arrays(p, (False, False, False), False)
    wrong = p._replace(**change)
    rows = np.zeros(1 << 12, "f4")
    with pytest.raises(ParameterError, match=error):
        run_kernel(call_of(wrong, a, rows, rows, (RELU6,) * 3, 1))


SOUND = Problem(1, 16, 3, 3, 32, 8, 1, (1, 1))


def small() -> Arrays:
    zeros = np.zeros(1 << 12, "f4")
    return Arrays(zeros, [zeros] * 3, [None] * 3, None)


@pytest.mark.parametrize(("name", "value"), [
    ("between", 0), ("filters", 1 << 40), ("stride", 3), ("expansion_width", 20),
    ("expansion_width", 0), ("projection_width", 0), ("projection_width", 24), ("slots", 0),
    ("pad_y", -1)])
def test_refuses_numbers_out_of_range(name: str, value: int) -> None:
    out = np.zeros(1 << 12, "f4")
    run_kernel(call_of(SOUND, small(), out, out, (RELU6,) * 3, 1))
    with pytest.raises(ParameterError):
        run_kernel(call_of(SOUND, small(), out, out, (RELU6,) * 3, 1, **{name: value}))


def test_refuses_no_bytes_and_threads_below_0() -> None:
    out = np.zeros(1 << 12, "f4")
    sound = call_of(SOUND, small(), out, out, (RELU6,) * 3, 1)
    with pytest.raises(ParameterError, match="array 4 has no bytes"):
        run_kernel(sound._replace(arrays=(*sound.arrays[:4], None, *sound.arrays[5:])))
    with pytest.raises(ParameterError, match="-1 threads"):
        run_kernel(sound, -1)


@pytest.mark.parametrize(("between", "data", "out", "stride"), [
    (0, (9, 9), (9, 9), 1), (16, (-1, 9), (9, 9), 1), (16, (9, 9), (9, 1 << 31), 1),
    (16, (9, 9), (9, 9), 3), (1 << 62, (9, 9), (9, 9), 1), (1 << 30, (9, 1 << 30), (9, 9), 1)])
def test_no_scratch_for_what_is_refused(between: int, data: tuple[int, int], out: tuple[int, int],
                                        stride: int) -> None:
    assert lib.ndrt_separable_scratch(between, data, out, stride) == 0


def test_low_images_need_less_scratch() -> None:
    needed = [lib.ndrt_separable_scratch(16, (height, 100), (height, 100), 1)
              for height in (1, 2, 4, 100, 1000)]
    assert needed == [16 * 100 * rows for rows in (1 + 1, 2 + 2, 4 + 4, 6 + 4, 6 + 4)]
