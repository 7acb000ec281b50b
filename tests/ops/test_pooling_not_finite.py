"""Max pooling of windows of NaN, infinities and the lowest number: one answer on every path."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt import config, nd
from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.storage.kernels.pool import lost_maxima, max_pool
from tests.cases.pooling import outputs
from tests.native.helpers import kernel, over_arrays, run_kernel

INF, NAN = np.inf, np.nan
LOWEST = float(np.finfo(np.float32).min)
RNG = np.random.default_rng(11)
LAYOUTS = {"blocked": {3: "aBc16b", 4: "aBcd16b", 5: "aBcde16b"},
           "last": {3: "acb", 4: "acdb", 5: "acdeb"}}
ODD = [NAN, -INF, INF, LOWEST, -LOWEST, 0.0, -1.0, 2.0]


def starts(dims: Any, params: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Each window, and which of the data it meets, in order."""
    window, stride, pad = params["kernel"], params["stride"], params["pad"]
    counts = [outputs(*axis, params["pooling_convention"])
              for axis in zip(dims, window, stride, pad, strict=True)]
    for at in product(*map(range, counts)):
        first = [i * s - p for i, s, p in zip(at, stride, pad, strict=True)]
        met = [range(max(f, 0), min(f + k, d))
               for f, k, d in zip(first, window, dims, strict=True)]
        yield at, list(product(*met))


def by_hand(x: Any, dy: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    """The output, and the gradient for data of (N, C, *spatial), one window at a time."""
    y, dx = np.full(dy.shape, LOWEST, x.dtype), np.zeros(x.shape, dy.dtype)
    for n, c in product(*map(range, x.shape[:2])):
        for at, met in starts(x.shape[2:], params):
            image, slope = x[n, c], dx[n, c]
            seen = [image[place] for place in met]
            numbers = [value for value in seen if not np.isnan(value)]
            if not seen:
                continue
            best = max(numbers) if numbers else NAN
            found = next(i for i, value in enumerate(seen)
                         if value == best or (np.isnan(best) and np.isnan(value)))
            y[n, c][at] = best
            slope[met[found]] += dy[n, c][at]
    return y, dx


def out_shape(shape: tuple[int, ...], params: dict[str, Any]) -> tuple[int, ...]:
    counts = [outputs(*axis, params["pooling_convention"])
              for axis in zip(shape[2:], params["kernel"], params["stride"], params["pad"],
                              strict=True)]
    return (*shape[:2], *counts)


def last(array: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


def answers(x: Any, dy: Any, params: dict[str, Any], memory: str) -> Iterator[tuple[str, Any, Any]]:
    """What each way of running gives: (name, output, gradient)."""
    more = {"layout": {3: "NWC", 4: "NHWC", 5: "NDHWC"}[x.ndim]} if memory == "NHWC" else {}

    def turn(a: Any) -> Any:
        return last(a) if more else a

    def back(a: Any) -> Any:
        return np.moveaxis(a, -1, 1) if more else a

    def made() -> Any:
        array = nd.array(turn(x))
        if memory in LAYOUTS:
            array.reorder(LAYOUTS[memory][x.ndim])
        return array
    pool = {**params, **more, "pool_type": "max"}
    array = made()
    array.attach_grad()
    with mx.autograd.record():
        y = nd.Pooling(array, **pool)
    y.backward(nd.array(turn(dy)))
    yield "tape", back(y.asnumpy()), back(array.grad.asnumpy())
    yield "inference", back(nd.Pooling(made(), **pool).asnumpy()), None
    symbol = mx.sym.Pooling(mx.sym.var("x"), **pool)
    bound = symbol.simple_bind(mx.cpu(), x=turn(x).shape)
    for run in range(3):
        (y,) = bound.forward(is_train=True, x=made())
        bound.backward(nd.array(turn(dy)))
        yield f"trained {run}", back(y.asnumpy()), back(bound.grad_dict["x"].asnumpy())
    for run in range(3):
        (y,) = bound.forward(x=made())
        yield f"bound {run}", back(y.asnumpy()), None
    cached = mx.nd.CachedOp(symbol)
    for _ in range(3):
        yield "cached", back(cached(made()).asnumpy()), None


def check(x: Any, params: dict[str, Any], memory: str) -> None:
    x = x.astype(np.float32)
    dy = RNG.integers(1, 9, out_shape(x.shape, params)).astype(np.float32)
    want, slope = by_hand(x, dy, params)
    for switch in (True, False):
        with config.override(NDRT_ONEDNN=switch):
            for name, y, dx in answers(x, dy, params, memory):
                np.testing.assert_array_equal(y, want, f"{name}, oneDNN {switch}")
                if dx is not None:
                    np.testing.assert_array_equal(dx, slope, f"{name}, oneDNN {switch}")


WINDOWS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "2-D": ((2, 3, 6, 6), {"kernel": (2, 2), "stride": (2, 2)}),
    "overlapping": ((2, 20, 7, 6), {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}),
    "all around": ((1, 16, 4, 5), {"kernel": (3, 2), "stride": (1, 1), "pad": (2, 1)}),
    "full": ((1, 17, 6, 6), {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1),
                             "pooling_convention": "full"}),
    "whole": ((2, 20, 3, 4), {"kernel": (3, 4)}),
    "more places than a byte has": ((1, 16, 18, 17), {"kernel": (17, 16)}),
    "1-D": ((2, 5, 9), {"kernel": (3,), "stride": (2,), "pad": (1,)}),
    "3-D": ((1, 18, 4, 3, 4), {"kernel": (2, 2, 3), "stride": (2, 1, 1), "pad": (0, 1, 1)}),
    "beyond data": ((1, 2, 3, 3), {"kernel": (2, 2), "stride": (1, 1), "pad": (2, 2)}),
}


def whole(params: dict[str, Any]) -> dict[str, Any]:
    rank = len(params["kernel"])
    return {"stride": (1,) * rank, "pad": (0,) * rank, "pooling_convention": "valid", **params}


@pytest.mark.parametrize("memory", ["plain", "last", "blocked", "NHWC"])
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("kind", ["-inf", "nan", "lowest", "mixed"])
def test_every_path(name: str, kind: str, memory: str) -> None:
    shape, params = WINDOWS[name]
    values = {"-inf": [-INF], "nan": [NAN], "lowest": [LOWEST, -INF, NAN], "mixed": ODD}[kind]
    odd = RNG.choice(values, shape)
    # windows of odd numbers only, and of some among others
    x = np.where(RNG.random(shape) < 0.15, RNG.standard_normal(shape), odd)
    check(x, whole(params), memory)
    check(odd, whole(params), memory)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_any_windows(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))

    def numbers(low: int, high: int) -> tuple[int, ...]:
        return tuple(data.draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))
    window, stride, pad = numbers(1, 3), numbers(1, 3), numbers(0, 2)
    room = tuple(max(1, k - 2 * p) for k, p in zip(window, pad, strict=True))
    sides = tuple(r + more for r, more in zip(room, numbers(0, 3), strict=True))
    shape = (data.draw(st.integers(1, 2)), data.draw(st.sampled_from([1, 3, 16, 18])), *sides)
    seed, share = data.draw(st.integers(0, 99)), data.draw(st.sampled_from([0.1, 0.6, 1.0]))
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(shape) < share, rng.choice(ODD, shape), rng.standard_normal(shape))
    convention = data.draw(st.sampled_from(["valid", "full"]))
    check(x, {"kernel": window, "stride": stride, "pad": pad, "pooling_convention": convention},
          data.draw(st.sampled_from(["plain", "last", "blocked", "NHWC"])))


@pytest.mark.parametrize("function", ["relu", "tanh", "negative", "clip", "sqrt", "softplus"])
def test_functions_behind(function: str) -> None:
    """Fused into pooling, what is made of infinite maxima is what the function makes of them."""
    x = np.where(RNG.random((2, 16, 8, 8)) < 0.2, 3.0, -INF).astype(np.float32)
    x[:, 5:] = LOWEST
    functions: dict[str, Callable[..., Any]] = {
        "relu": mx.sym.relu, "tanh": mx.sym.tanh, "negative": lambda y: y * -2 + 1,
        "clip": lambda y: mx.sym.clip(y, a_min=-9, a_max=2), "sqrt": mx.sym.abs,
        "softplus": lambda y: mx.sym.Activation(y, act_type="softrelu")}
    pooled = mx.sym.Pooling(mx.sym.var("x"), kernel=(2, 2), stride=(2, 2), pool_type="max")
    symbol = functions[function](pooled)
    bound = symbol.bind(mx.cpu(), {"x": nd.array(x)}, grad_req="null")
    got = [bound.forward()[0].asnumpy() for _ in range(3)]
    with config.override(NDRT_ONEDNN=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (want,) = symbol.bind(mx.cpu(), {"x": nd.array(x)}, grad_req="null").forward()
        want = want.asnumpy()
    for each in got:
        np.testing.assert_allclose(each, want, rtol=1e-6)


@pytest.mark.parametrize("nthreads", [1, 2, 5])
def test_kernel(nthreads: int) -> None:
    """What is not lost stays as it is, whatever the number of threads."""
    x = np.full((3, 1, 200, 200, 16), -INF, np.float32)
    x[1] = 5
    out, places = np.full((3, 1, 100, 100, 16), LOWEST, np.float32), np.zeros(3 * 160000, np.uint8)
    out[1] = 5
    places[:] = 7
    run_kernel(over_arrays(lost_maxima)(
        out=out, data=x, places=places, outer=3, lanes=16, sides=(1, 200, 200),
        windows=(1, 100, 100), kernel=(1, 3, 3), stride=(1, 2, 2), pad=(0, 1, 1),
        places_dtype=lib.NDRT_U8), nthreads)
    want = np.full(out.shape, -INF)
    want[1] = 5
    np.testing.assert_array_equal(out, want)
    seen = places.reshape(out.shape)
    assert (seen[1] == 7).all()
    # the first place that is no padding
    assert (seen[0, 0, 0, 0] == 4).all()
    assert (seen[0, 0, 0, 1:] == 3).all()
    assert (seen[0, 0, 1:, 1:] == 0).all()


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_pooling_kernel(data: st.DataObject) -> None:
    """Any number of channels side by side, within bounds, whatever the number of threads."""
    draw = data.draw
    lanes = draw(st.sampled_from([1, 3, 15, 16, 17, 32, 47, 64, 65, 100, 130]))
    window, stride = draw(st.tuples(*[st.integers(1, 4)] * 2)), draw(st.integers(1, 3))
    pad = tuple(draw(st.integers(0, k - 1)) for k in window)
    sides = tuple(max(1, k - 2 * p) + draw(st.integers(0, 6))
                  for k, p in zip(window, pad, strict=True))
    params = whole({"kernel": window, "stride": (stride,) * 2, "pad": pad})
    shape = (2, lanes, *sides)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    x = np.where(rng.random(shape) < 0.4, rng.choice(ODD, shape),
                 rng.standard_normal(shape)).astype(np.float32)
    made = out_shape(shape, params)
    want = by_hand(x, np.zeros(made), params)[0]
    low, high = draw(st.sampled_from([(-INF, INF), (0.0, INF), (-1.0, 0.5), (2.0, 1.0)]))
    want = np.where(want < low, low, want)
    want = np.where(want > high, high, want)
    for nthreads in (1, 3):
        out = np.full((2, *made[2:], lanes), 77, np.float32)
        run_kernel(over_arrays(max_pool)(
            out=out, data=last(x), outer=2, lanes=lanes, sides=(1, *sides), windows=(1, *made[2:]),
            kernel=(1, *window), stride=(1, stride, stride), pad=(0, *pad), low=low,
            high=high), nthreads)
        np.testing.assert_array_equal(np.moveaxis(out, -1, 1), want)


@pytest.mark.parametrize(("at", "number"), [(0, -1), (4, -2), (7, 0), (10, 0), (12, -1),
                                            (3, 2 ** 40)])
def test_kernel_refuses(at: int, number: int) -> None:
    x, out = np.zeros(16, np.float32), np.zeros(4, np.float32)
    scalars = [1, 4, 4, 1, 2, 2, 1, 2, 2, 1, 2, 2, 0, 0, 0]
    kernel(lib.NDRT_KERNEL_LOST_MAXIMA, (1, 1, *scalars), [out, x])
    scalars[at] = number
    with pytest.raises(ParameterError, match="lost maxima"):
        kernel(lib.NDRT_KERNEL_LOST_MAXIMA, (1, 1, *scalars), [out, x])


def test_kernel_refuses_windows_of_many_rows() -> None:
    """Their number is what its memory is for."""
    x, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    for rows in (32, 33):
        scalars = [1, 33, 1, 1, 34 - rows, 1, 1, rows, 1, 1, 1, 1, 0, 0, 0]
        if rows == 32:
            kernel(lib.NDRT_KERNEL_MAX_POOL, (1, 1, *scalars), [out, x], (-INF, INF))
            continue
        with pytest.raises(ParameterError, match="max pooling: windows of more than 32 rows"):
            kernel(lib.NDRT_KERNEL_MAX_POOL, (1, 1, *scalars), [out, x], (-INF, INF))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_windows_of_padding_are_the_lowest_number_of_their_dtype(dtype: str) -> None:
    x = mx.nd.zeros((1, 1, 4, 4), dtype=dtype)
    got = mx.nd.Pooling(x, kernel=(2, 2), pad=(2, 2), pool_type="max").asnumpy()
    assert got[0, 0, 0, 0] == np.finfo(dtype).min
    assert (got[0, 0, 1:3, 1:3] == 0).all()
