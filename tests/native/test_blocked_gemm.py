"""Blocked products of float64 and int32, of matrices and of windows: any shape, steps, what is done
to the result, threads, what the kernels refuse."""

from __future__ import annotations

from math import inf, nan, prod
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.storage.kernels.gemm import blocked_gemm, blocked_windows
from tests.native.helpers import over_arrays, run_kernel

RNG = np.random.default_rng(9)
KINDS = {"f8": lib.NDRT_F64, "i4": lib.NDRT_S32}
FREE = (-inf, inf)
GUARD = 77
BEHIND = 4096  # numbers behind scratch: what is written beyond a small one is far from its end


class Finish(NamedTuple):
    """What is done to a product."""

    alpha: float = 1
    beta: float = 1
    bias: Any = None
    added: Any = None
    bounds: tuple[float, float] = FREE


PLAIN = Finish()


def draw(dtype: str, *shape: int) -> Any:
    if dtype == "f8":
        return RNG.standard_normal(shape)
    return RNG.integers(-2**31, 2**31, shape, dtype="i4")


def steps(x: Any) -> tuple[int, ...]:
    return tuple(stride // x.itemsize for stride in x.strides)


def guarded(n: int, dtype: str, behind: int = 8) -> Any:
    return np.full(n + behind, GUARD, dtype)


def product(a: Any, b: Any, finish: Finish = PLAIN, nthreads: int = 1, gap: int = 0) -> Any:
    """The kernel's, of arrays of four axes; `gap`: elements behind each row of the result."""
    (outer, inner, rows, depth), columns, dtype = a.shape, b.shape[-1], a.dtype.str[1:]
    width, slots = columns + gap, max(nthreads, 1)
    out = guarded(outer * inner * rows * width, dtype)
    made = out[:-8].reshape(outer, inner, rows, width)[..., :columns]
    numbers = lib.ndrt_blocked_scratch(rows, depth, columns, slots)
    scratch = guarded(numbers, dtype, BEHIND)
    added = None
    if finish.added is not None:
        added = np.zeros((outer, inner, rows, width), dtype)
        added[..., :columns] = finish.added
    run_kernel(over_arrays(blocked_gemm)(
        out=out, a=a, b=b, scratch=scratch, bias=finish.bias, added=added,
        products=(outer, inner), rows=rows, depth=depth, columns=columns, a_steps=steps(a),
        b_steps=steps(b), out_steps=(inner * rows * width, rows * width, width), kind=KINDS[dtype],
        slots=slots, alpha=finish.alpha, beta=finish.beta, low=finish.bounds[0],
        high=finish.bounds[1]), nthreads)
    assert (scratch[numbers:] == GUARD).all()
    assert (out[-8:] == GUARD).all()
    if gap:
        assert (out[:-8].reshape(-1, width)[:, columns:] == GUARD).all()
    return made


def turned(x: Any, turn: bool) -> Any:
    """Equal to x; in memory its matrices are transposed."""
    return x.swapaxes(-1, -2).copy().swapaxes(-1, -2) if turn else x


def check(a: Any, b: Any, finish: Finish = PLAIN, nthreads: int = 1, gap: int = 0) -> None:
    made = product(a, b, finish, nthreads, gap)
    want, near = np.matmul(a, b), 0.0
    if a.dtype == np.float64:
        near = 4e-16 * (a.shape[-1] + 8) * np.matmul(abs(a), abs(b)) * abs(finish.alpha) + 1e-15
        want = want * finish.alpha
    if finish.bias is not None:
        want = want + finish.bias
    if finish.added is not None:
        want = want + (finish.added if a.dtype == np.int32 else finish.beta * finish.added)
        near = near + 1e-15 * abs(want)
    if finish.bounds != FREE:
        want = np.clip(want, *finish.bounds)
    if a.dtype == np.int32:
        np.testing.assert_array_equal(made, want)
    else:
        assert (abs(made - want) <= near).all()


sizes = st.integers(1, 40)
dtypes = st.sampled_from(sorted(KINDS))


@given(dtypes, st.integers(1, 3), st.integers(1, 3), sizes, sizes, sizes, st.booleans(),
       st.booleans(), st.integers(0, 5), st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_small_products(dtype: str, outer: int, inner: int, rows: int, depth: int, columns: int,
                        turn_a: bool, turn_b: bool, nthreads: int, gap: int) -> None:
    check(turned(draw(dtype, outer, inner, rows, depth), turn_a),
          turned(draw(dtype, outer, inner, depth, columns), turn_b), nthreads=nthreads, gap=gap)


BLOCK_EDGES = [1, 2, 3, 4, 5, 7, 47, 48, 49, 95, 96, 97, 143, 145, 193, 767, 769]


@given(dtypes, st.sampled_from(BLOCK_EDGES), st.sampled_from([1, 3, 8, 33, 255, 256, 257, 513]),
       st.sampled_from(BLOCK_EDGES), st.booleans(), st.booleans(), st.integers(1, 5))
@settings(max_examples=150, deadline=None)
def test_edges_of_blocks(dtype: str, rows: int, depth: int, columns: int, turn_a: bool,
                         turn_b: bool, nthreads: int) -> None:
    check(turned(draw(dtype, 1, 1, rows, depth), turn_a),
          turned(draw(dtype, 1, 1, depth, columns), turn_b), nthreads=nthreads)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(("rows", "depth", "columns"), [
    (1, 5000, 1), (1, 3000, 700), (700, 3000, 1), (4, 4097, 3), (3, 4096, 1), (600, 9, 2),
    (2, 5000, 30), (50, 4100, 4), (1, 1, 3000), (300, 1, 300), (145, 1, 2), (769, 9, 4)])
def test_thin_and_long(dtype: str, rows: int, depth: int, columns: int) -> None:
    for turn_a in (False, True):
        for turn_b in (False, True):
            check(turned(draw(dtype, 2, 1, rows, depth), turn_a),
                  turned(draw(dtype, 2, 1, depth, columns), turn_b), nthreads=3)


@given(dtypes, sizes, st.integers(1, 90), st.integers(1, 200), st.booleans(), st.booleans(),
       st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_what_is_done_to_the_result(dtype: str, rows: int, depth: int, columns: int,
                                    has_bias: bool, is_added: bool, nthreads: int) -> None:
    a, b = draw(dtype, 2, 1, rows, depth), draw(dtype, 2, 1, depth, columns)
    bias = draw(dtype, columns) if has_bias else None
    added = draw(dtype, 2, 1, rows, columns) if is_added else None
    if dtype == "f8":
        check(a, b, Finish(-0.75, 2.5, bias, added, (-1, 2)), nthreads, 2)
        check(a, b, Finish(1, 1, bias, added, (0, inf)), nthreads)
    check(a, b, Finish(1, 1, bias, added), nthreads)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(130, 300, 800), (3, 300, 800), (60, 20, 30), (300, 600, 2)])
def test_one_result_for_any_number_of_threads(dtype: str, shape: tuple[int, int, int]) -> None:
    rows, depth, columns = shape
    a, b = draw(dtype, 1, 2, rows, depth), draw(dtype, 1, 2, depth, columns)
    one, *others = [product(a, b, nthreads=n) for n in (1, 2, 3, 4, 6, 12)]
    for other in others:
        np.testing.assert_array_equal(one, other)


def test_nan_and_infinities() -> None:
    for rows, columns in ((1, 40), (9, 40), (40, 1), (60, 400)):
        a, b = np.ones((1, 1, rows, 70)), np.ones((1, 1, 70, columns))
        a[0, 0, 0, 3] = nan
        made = product(a, b, Finish(bounds=(0, 6)))[0, 0]
        assert np.isnan(made[0]).all()
        assert (made[1:] == 6).all()
        a[0, 0, 0, 3] = inf
        assert (product(a, b)[0, 0, 0] == inf).all()


@pytest.mark.parametrize("changed", [
    {"rows": 0}, {"depth": -1}, {"columns": 0}, {"products": (0, 1)}, {"a_steps": (0, 0, -1, 1)},
    {"b_steps": (2**62, 2**62, 1, 1), "products": (8, 8)}, {"slots": 0}, {"kind": lib.NDRT_F32},
    {"kind": lib.NDRT_S32, "alpha": 2.0}, {"kind": lib.NDRT_S32, "low": 0.0}, {"a": None}])
def test_refusals(changed: dict[str, Any]) -> None:
    room = np.zeros(4096)
    given_: dict[str, Any] = {
        "out": room, "a": room, "b": room, "scratch": room, "products": (1, 1), "rows": 2,
        "depth": 2, "columns": 2, "a_steps": (0, 0, 2, 1), "b_steps": (0, 0, 2, 1),
        "out_steps": (0, 0, 2), "kind": lib.NDRT_F64, "slots": 1, "alpha": 1.0, "beta": 1.0,
        "low": -inf, "high": inf}
    with pytest.raises(ParameterError, match="blocked GEMM"):
        run_kernel(over_arrays(blocked_gemm)(**(given_ | changed)))


# ---- windows ------------------------------------------------------------------------------------


class Windows(NamedTuple):
    """Kernel, stride, dilation and padding."""

    window: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilate: tuple[int, int] = (1, 1)
    pad: tuple[int, int] = (0, 0)

    def out(self, size: tuple[int, ...]) -> tuple[int, ...]:
        return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in
                     zip(size, *self, strict=True))


def convolved(x: Any, w: Any, bias: Any, geo: Windows, bounds: tuple[float, float] = FREE,
              nthreads: int = 1) -> Any:
    """The kernel's: x (images, groups, channels, y, x), w (groups, filters, channels, y, x)."""
    images, groups, channels, *size = x.shape
    filters, out, dtype = w.shape[1], geo.out(tuple(size)), x.dtype.str[1:]
    slots = max(nthreads, 1)
    count = images * groups * filters * prod(out)
    made = guarded(count, dtype)
    numbers = lib.ndrt_blocked_scratch(filters, channels * prod(geo.window), prod(out), slots)
    scratch = guarded(numbers, dtype, BEHIND)
    run_kernel(over_arrays(blocked_windows)(
        out=made, data=x, weights=w, scratch=scratch, bias=bias, images=images, groups=groups,
        channels=channels, filters=filters, size=size, **geo._asdict(), out_size=out,
        kind=KINDS[dtype], slots=slots, low=bounds[0], high=bounds[1]), nthreads)
    assert (scratch[numbers:] == GUARD).all()
    assert (made[count:] == GUARD).all()
    return made[:count].reshape(images, groups, filters, *out)


def summed(x: Any, w: Any, geo: Windows) -> Any:
    padded = np.pad(x, ((0, 0), (0, 0), (0, 0), *((p, p) for p in geo.pad)))
    out = geo.out(x.shape[3:])
    made = np.zeros((len(x), *w.shape[:2], *out), x.dtype)
    for y, z in np.ndindex(*geo.window):
        first = y * geo.dilate[0], z * geo.dilate[1]
        rows, columns = (slice(at, at + (n - 1) * step + 1, step)
                         for at, n, step in zip(first, out, geo.stride, strict=True))
        part = padded[..., rows, columns]
        made += np.einsum("gfc,ngcyx->ngfyx", w[..., y, z], part)
    return made


few = st.integers(1, 3)


@given(dtypes, few, few, st.integers(1, 7), st.integers(1, 9), st.tuples(few, few),
       st.tuples(few, few), st.tuples(few, few), st.tuples(st.integers(0, 4), st.integers(0, 4)),
       st.integers(1, 20), st.integers(1, 20), st.booleans(), st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_windows(dtype: str, images: int, groups: int, channels: int, filters: int, window: Any,
                 stride: Any, dilate: Any, pad: Any, height: int, width: int, has_bias: bool,
                 nthreads: int) -> None:
    geo = Windows(window, stride, dilate, pad)
    if min(geo.out((height, width))) < 1:
        return
    x = draw(dtype, images, groups, channels, height, width)
    w = draw(dtype, groups, filters, channels, *window)
    bias = draw(dtype, groups, filters) if has_bias else None
    want = summed(x, w, geo)
    if bias is not None:
        want += bias[:, :, None, None]
    made = convolved(x, w, bias, geo, nthreads=nthreads)
    if dtype == "i4":
        np.testing.assert_array_equal(made, want)
        return
    np.testing.assert_allclose(made, want, rtol=0, atol=1e-13)
    bounded = convolved(x, w, bias, geo, (0, 1), nthreads)
    np.testing.assert_allclose(bounded, np.clip(want, 0, 1), rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("geo", [Windows((3, 3), pad=(1, 1)), Windows((1, 1)),
                                 Windows((1, 1), (2, 2)), Windows((5, 2), (1, 3), pad=(9, 40))])
def test_many_windows(dtype: str, geo: Windows) -> None:
    x, w = draw(dtype, 2, 1, 40, 30, 37), draw(dtype, 1, 101, 40, *geo.window)
    want = summed(x, w, geo)
    for nthreads in (1, 3):
        made = convolved(x, w, None, geo, nthreads=nthreads)
        if dtype == "i4":
            np.testing.assert_array_equal(made, want)
        else:
            np.testing.assert_allclose(made, want, rtol=0, atol=1e-11)


@pytest.mark.parametrize("changed", [
    {"images": 0}, {"channels": 0}, {"window": (0, 1)}, {"stride": (1, 0)}, {"pad": (-1, 0)},
    {"size": (2**31, 1)}, {"slots": 0}, {"kind": lib.NDRT_F32},
    {"kind": lib.NDRT_S32, "high": 1.0}, {"weights": None}])
def test_windows_that_are_refused(changed: dict[str, Any]) -> None:
    room = np.zeros(4096)
    given_: dict[str, Any] = {
        "out": room, "data": room, "weights": room, "scratch": room, "images": 1, "groups": 1,
        "channels": 1, "filters": 1, "size": (2, 2), "window": (1, 1), "stride": (1, 1),
        "dilate": (1, 1), "pad": (0, 0), "out_size": (2, 2), "kind": lib.NDRT_F64, "slots": 1,
        "low": -inf, "high": inf}
    with pytest.raises(ParameterError, match="blocked"):
        run_kernel(over_arrays(blocked_windows)(**(given_ | changed)))
