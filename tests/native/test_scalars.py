"""Kernels of a number and an array: powers to half a unit, all dtypes as NumPy, any threads."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from tests.native.helpers import kernel

N, FROM = 40003, lib.NDRT_FUNCTION_POWER_FROM
SPECIAL = np.array([0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, np.inf, -np.inf, np.nan, 1e-40], "f4")
VALUES = np.concatenate([SPECIAL, np.random.default_rng(1).normal(0, 3, N).astype("f4"),
                         np.exp(np.random.default_rng(2).normal(0, 9, N)).astype("f4")])
NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, 2.5, 0.1, 30.0, np.inf, -np.inf, np.nan]
Function = Callable[[Any, Any], Any]


def on_threads(which: int, scalars: list[float], x: Any, dims: list[int] | None = None) -> Any:
    made = []
    for nthreads in (1, 2, 3):
        out = np.empty_like(x)
        kernel(which, dims or [x.size], [out, x], scalars, nthreads)
        made.append(out)
    for other in made[1:]:
        np.testing.assert_array_equal(made[0].view("u1"), other.view("u1"))
    return made[0]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("which", "function"), [
    (lib.NDRT_FUNCTION_POWER, np.power), (FROM, lambda x, p: p ** x),
    (lib.NDRT_FUNCTION_HYPOT, np.hypot)])
def test_half_a_unit_in_the_last_place(which: int, function: Function, number: float) -> None:
    # as an exponent a denormal may be taken for 0, of which 0 to the power is 1
    x = VALUES[np.abs(VALUES) != np.float32(1e-40)] if which == FROM else VALUES
    out = on_threads(lib.NDRT_KERNEL_FUNCTION, [number, 0], x, [x.size, which])
    with np.errstate(all="ignore"):
        wide = function(x.astype("f8"), np.full(x.shape, np.float32(number), "f8"))
        want = wide.astype("f4")
    known = np.isfinite(want) & (np.abs(want) > 1.2e-38)
    error = np.abs(out[known] - wide[known]) / np.spacing(np.abs(want[known]))
    assert error.max(initial=0) < 0.52
    np.testing.assert_array_equal(out[~np.isfinite(want)], want[~np.isfinite(want)])
    tiny = np.abs(want) < 1.1e-38  # denormals may be taken for 0
    assert (np.abs(out[tiny]) <= 1.2e-38).all()
    zeros = tiny & (wide == 0)
    np.testing.assert_array_equal(np.signbit(out[zeros]), np.signbit(want[zeros]))


COMMON: dict[int, Function] = {
    lib.NDRT_FUNCTION_ADD: operator.add, lib.NDRT_FUNCTION_SUB: operator.sub,
    lib.NDRT_FUNCTION_RSUB: lambda x, p: p - x, lib.NDRT_FUNCTION_MUL: operator.mul,
    lib.NDRT_FUNCTION_MAX: np.maximum, lib.NDRT_FUNCTION_MIN: np.minimum,
    lib.NDRT_FUNCTION_EQ: operator.eq, lib.NDRT_FUNCTION_NE: operator.ne,
    lib.NDRT_FUNCTION_GT: operator.gt, lib.NDRT_FUNCTION_GE: operator.ge,
    lib.NDRT_FUNCTION_LT: operator.lt, lib.NDRT_FUNCTION_LE: operator.le,
    lib.NDRT_FUNCTION_AND: np.logical_and, lib.NDRT_FUNCTION_OR: np.logical_or,
    lib.NDRT_FUNCTION_XOR: np.logical_xor}
OF_FLOATS: dict[int, Function] = {
    lib.NDRT_FUNCTION_DIV: operator.truediv, lib.NDRT_FUNCTION_RDIV: lambda x, p: p / x,
    lib.NDRT_FUNCTION_HYPOT: np.hypot}
KINDS = {"f8": lib.NDRT_F64, "f2": lib.NDRT_F16, "i8": lib.NDRT_INDEX_S64, "i4": lib.NDRT_S32,
         "i1": lib.NDRT_S8, "u1": lib.NDRT_U8}


@pytest.mark.parametrize("dtype", KINDS)
def test_other_dtypes_as_numpy(dtype: str) -> None:
    whole = dtype[0] in "iu"
    x = (np.arange(N) % 251 - (0 if dtype == "u1" else 120)).astype(dtype) if whole else (
        VALUES.astype("f8").clip(-6e4, 6e4).astype(dtype))
    numbers = (0.0, 1.0, 3.0, 77.0) if whole else (0.0, -1.0, 2.5, 0.1, 1 / 3, np.inf, np.nan)
    for which, function in {**COMMON, **({} if whole else OF_FLOATS)}.items():
        for number in numbers:
            out = on_threads(lib.NDRT_KERNEL_SCALAR, [number], x, [x.size, KINDS[dtype], which])
            with np.errstate(all="ignore"):
                want = function(x, np.array(number).astype(dtype)).astype(dtype)
            np.testing.assert_array_equal(out, want, f"{dtype} {which} {number}")


def test_numbers_are_rounded_to_half_once() -> None:
    x = np.zeros(1, "f2")
    # beside the middle of two halves, where a float is the middle
    for number in (1 + 2.0**-11 + 2.0**-40, 1 + 3 * 2.0**-11 - 2.0**-40, -1 - 2.0**-11 - 2.0**-40):
        out = on_threads(lib.NDRT_KERNEL_SCALAR, [number], x,
                         [x.size, lib.NDRT_F16, lib.NDRT_FUNCTION_ADD])
        assert out[0] == np.float64(number).astype("f2")


@pytest.mark.parametrize("first", [0.0, 1e4, -1e6, np.nan])
@pytest.mark.parametrize("width", [1, 7, 64, 5000])
def test_rows_along_the_last_axis(width: int, first: float) -> None:
    x = np.random.default_rng(width).normal(3, 1, (37, width)).astype("f4")
    x[:, 0] = first
    gamma, beta = np.linspace(-1, 2, width, dtype="f4"), np.linspace(0, 1, width, dtype="f4")
    wide = x.astype("f8")
    mean, std = wide.mean(axis=1), np.sqrt(wide.var(axis=1) + 0.5)
    made = []
    for nthreads in (1, 2, 3):
        out, means, stds = np.empty_like(x), np.empty(37, "f4"), np.empty(37, "f4")
        kernel(lib.NDRT_KERNEL_NORM_LAST, [37, width], [out, x, gamma, beta, means, stds], [0.5],
               nthreads)
        np.testing.assert_allclose(means, mean, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(stds, std, rtol=1e-5)
        want = (wide - mean[:, None]) / std[:, None] * gamma + beta
        np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-4)
        made.append(out.tobytes())
    assert len(set(made)) == 1


@pytest.mark.parametrize("dims", [[3, 20, 1, 5], [2, 300, 1, 4], [2, 20, 700, 5], [2, 3, 4, 9],
                                  [1, 4, 1, 1]])
def test_responses(dims: list[int]) -> None:
    outer, channels, inner, nsize = dims
    x = np.random.default_rng(sum(dims)).normal(0, 2, (outer, channels, inner)).astype("f4")
    for alpha, beta, knorm in ((0.5, 0.75, 2.0), (0.1, 1.25, 1.0), (0.0, 0.5, 3.0)):
        out = on_threads(lib.NDRT_KERNEL_LRN, [alpha, beta, knorm], x, dims)
        reach, want = (nsize - 1) // 2, np.empty(x.shape)
        for c in range(channels):
            around = x[:, max(0, c - reach):c + reach + 1].astype("f8")
            want[:, c] = x[:, c] / (knorm + alpha / nsize * (around**2).sum(axis=1)) ** beta
        np.testing.assert_allclose(out, want, rtol=2e-6)


@pytest.mark.parametrize(("which", "dims", "scalars", "match"), [
    (lib.NDRT_KERNEL_SCALAR, [4, lib.NDRT_S32, lib.NDRT_FUNCTION_POWER], [1], "no function"),
    (lib.NDRT_KERNEL_SCALAR, [4, lib.NDRT_F32, lib.NDRT_FUNCTION_ADD], [1], "no function"),
    (lib.NDRT_KERNEL_SCALAR, [4, lib.NDRT_F64, 1000], [1], "no function"),
    (lib.NDRT_KERNEL_SCALAR, [4, -1, lib.NDRT_FUNCTION_ADD], [1], "no function"),
    (lib.NDRT_KERNEL_SCALAR, [-1, lib.NDRT_F64, lib.NDRT_FUNCTION_ADD], [1], "below 0"),
    (lib.NDRT_KERNEL_NORM_LAST, [-1, 2], [1], "below 0"),
    (lib.NDRT_KERNEL_NORM_LAST, [1 << 40, 1 << 40], [1], "more elements"),
    (lib.NDRT_KERNEL_LRN, [1, 1, 1, 0], [1, 1, 1], "below 1"),
    (lib.NDRT_KERNEL_LRN, [1, -1, 1, 3], [1, 1, 1], "below 0"),
    (lib.NDRT_KERNEL_LRN, [1 << 30, 1 << 30, 1 << 30, 3], [1, 1, 1], "more elements")])
def test_refusals(which: int, dims: list[int], scalars: list[float], match: str) -> None:
    x = np.zeros(4, "f8")
    with pytest.raises(ParameterError, match=match):
        kernel(which, dims, [x] * 6, scalars)
