"""Kernels of reduce/math.c and elementwise/math_point.c: values, threads, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import NdrtError
from ndarray_rt.native import call, ffi, lib

KINDS = {"float32": lib.NDRT_F32, "float64": lib.NDRT_F64, "int32": lib.NDRT_S32}
PARTS = ((1, 5, 1), (3, 5000, 1), (2, 300, 70), (1, 4, 700), (70, 9, 1), (2, 130, 1))


def kernel(number: int, dims: Any, arrays: list[Any], scalars: Any = (), nthreads: int = 1) -> None:
    packed = ffi.new("ndrt_kernel_call *")
    packed.kernel, packed.nthreads = number, nthreads
    packed.counts, packed.numbers = list(dims), [float(value) for value in scalars]
    for i, array in enumerate(arrays):
        packed.data[i] = ffi.NULL if array is None else ffi.cast("void *", array.ctypes.data)
    call(lib.ndrt_kernel_run, packed, what="kernel")


def drawn(part: Any, dtype: str) -> Any:
    return np.random.default_rng(1).integers(-90, 90, part).astype(dtype)


@pytest.mark.parametrize("nthreads", [1, 3])
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("part", PARTS, ids=str)
def test_along_an_axis(part: tuple[int, int, int], dtype: str, nthreads: int) -> None:
    x, kind = drawn(part, dtype), KINDS[dtype]
    small = np.empty((part[0], part[2]), dtype)
    room = np.empty(part[0] * -(-part[1] // lib.NDRT_REDUCE_BLOCK))
    for what, function in ((lib.NDRT_REDUCE_SUM, np.sum), (lib.NDRT_REDUCE_MAX, np.max),
                           (lib.NDRT_REDUCE_MIN, np.min)):
        kernel(lib.NDRT_KERNEL_REDUCE, [*part, kind, what], [small, x, room], [1], nthreads)
        np.testing.assert_array_equal(small, function(x, axis=1))
    if dtype != "int32":
        kernel(lib.NDRT_KERNEL_REDUCE, [*part, kind, lib.NDRT_REDUCE_NORM1], [small, x, room], [1],
               nthreads)
        np.testing.assert_array_equal(small, np.abs(x).sum(1))
        kernel(lib.NDRT_KERNEL_REDUCE, [*part, kind, lib.NDRT_REDUCE_NORM2], [small, x, room],
               [0.5], nthreads)
        np.testing.assert_allclose(small, np.sqrt((x * x).sum(1)) / 2, rtol=1e-6)
    for is_min, find in ((0, np.argmax), (1, np.argmin)):
        kernel(lib.NDRT_KERNEL_ARG_EXTREME, [*part, kind, is_min], [small, x], (), nthreads)
        np.testing.assert_array_equal(small, find(x, axis=1))
    large = np.empty_like(x)
    for back in (0, 1):
        kernel(lib.NDRT_KERNEL_RUNNING_SUM, [*part, kind, back], [large, x], (), nthreads)
        step = -1 if back else 1
        np.testing.assert_array_equal(large, np.cumsum(x[:, ::step], 1, x.dtype)[:, ::step])


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_nan_wins(part: tuple[int, int, int]) -> None:
    x = drawn(part, "float32")
    x[:, part[1] // 2] = np.nan
    x[:, -1] = np.nan
    small = np.empty((part[0], part[2]), np.float32)
    room = np.empty(part[0] * -(-part[1] // lib.NDRT_REDUCE_BLOCK))
    for what in (lib.NDRT_REDUCE_MAX, lib.NDRT_REDUCE_MIN):
        kernel(lib.NDRT_KERNEL_REDUCE, [*part, lib.NDRT_F32, what], [small, x, room], [1])
        assert np.isnan(small).all()
    for is_min in (0, 1):
        kernel(lib.NDRT_KERNEL_ARG_EXTREME, [*part, lib.NDRT_F32, is_min], [small, x])
        assert (small == part[1] // 2).all()


@pytest.mark.parametrize("nthreads", [1, 3])
def test_exp(nthreads: int) -> None:
    x = np.concatenate([np.linspace(-110, 95, 40001), [np.nan, np.inf, -np.inf, 0, -0.0]])
    x = x.astype(np.float32)
    out = np.empty_like(x)
    kernel(lib.NDRT_KERNEL_EXP, [x.size], [out, x], (), nthreads)
    with np.errstate(all="ignore"):
        want = np.exp(x.astype(np.float64))
        np.testing.assert_allclose(out, want.astype(np.float32), rtol=3e-7, atol=2**-126)


@pytest.mark.parametrize("nthreads", [1, 3])
@pytest.mark.parametrize("part", [(1, 300, 70), (2, 5, 1500), (3, 4, 1)], ids=str)
def test_softmax(part: tuple[int, int, int], nthreads: int) -> None:
    x = drawn(part, "float32") / 9
    e = np.exp((x - x.max(1, keepdims=True)).astype(np.float64) * 2)
    out = x.copy()
    kernel(lib.NDRT_KERNEL_SOFTMAX_COLUMNS, [*part, 0], [out, out], [0.5, 1], nthreads)
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-30)
    kernel(lib.NDRT_KERNEL_SOFTMAX_COLUMNS, [*part, 1], [out, x], [0.5, 1], nthreads)
    np.testing.assert_allclose(out, np.log(e / e.sum(1, keepdims=True)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("log", [0, 1])
@pytest.mark.parametrize("part", [(1, 300, 70), (2, 5, 1500), (3, 4, 1), (2, 9001, 1), (0, 3, 1),
                                  (2, 3, 0), (40, 17, 64)], ids=str)
def test_softmax_grad(part: tuple[int, int, int], log: int) -> None:
    x, dy = drawn(part, "float32") / 9, drawn(part, "float32")
    e = np.exp(x.astype(np.float64))
    size = e / e.sum(1, keepdims=True)
    y = (np.log(size) if log else size).astype(np.float32)
    if log:
        want = dy - size * dy.sum(1, keepdims=True, dtype=np.float64)
    else:
        want = size * (dy - (size * dy).sum(1, keepdims=True))
    made = []
    for nthreads in (1, 3):
        out = dy.copy()  # in place of dy
        kernel(lib.NDRT_KERNEL_SOFTMAX_GRAD, [*part, log], [out, y, out], [0.5, -1], nthreads)
        np.testing.assert_allclose(out, -2 * want, rtol=2e-5, atol=1e-5 * np.abs(dy).max(initial=1))
        made.append(out)
    np.testing.assert_array_equal(*made)


ARITHMETIC = {
    lib.NDRT_ARITHMETIC_ADD: np.add, lib.NDRT_ARITHMETIC_SUB: np.subtract,
    lib.NDRT_ARITHMETIC_MUL: np.multiply, lib.NDRT_ARITHMETIC_MAX: np.maximum,
    lib.NDRT_ARITHMETIC_MIN: np.minimum, lib.NDRT_ARITHMETIC_EQ: np.equal,
    lib.NDRT_ARITHMETIC_NE: np.not_equal, lib.NDRT_ARITHMETIC_GT: np.greater,
    lib.NDRT_ARITHMETIC_GE: np.greater_equal, lib.NDRT_ARITHMETIC_LT: np.less,
    lib.NDRT_ARITHMETIC_LE: np.less_equal}


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("what", ARITHMETIC)
def test_arithmetic(what: int, dtype: str) -> None:
    a, b = drawn(40001, dtype), drawn(40001, dtype)[::-1].copy()
    if dtype == "int32":
        a[0], b[0] = 2**31 - 1, 2**31 - 1
    else:
        a[:3], b[:3] = [np.nan, 1, np.nan], [1, np.nan, np.nan]
    out = np.empty_like(a)
    kernel(lib.NDRT_KERNEL_ARITHMETIC, [a.size, KINDS[dtype], what], [out, a, b], (), 3)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, ARITHMETIC[what](a, b).astype(dtype))


def test_exp_of_what_is_subnormal() -> None:
    x = np.array([-87, -88, -90, -95, -100, -103, -103.9, -104, -150, 88.7, 89], np.float32)
    out = np.empty_like(x)
    lib.ndrt_flush_subnormals_set(0)
    try:
        kernel(lib.NDRT_KERNEL_EXP, [x.size], [out, x], (), 2)
    finally:
        lib.ndrt_flush_subnormals_set(1)
    with np.errstate(all="ignore"):
        want = np.exp(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(out, want, 2e-7, 1.5e-45)


def test_step_grad() -> None:
    grad, data = drawn(40001, "float32"), drawn(40001, "float32")[::-1].copy()
    data[:5] = [np.nan, np.inf, -np.inf, -0.5, 0.25]
    grad[1:3] = np.inf
    out = np.empty_like(grad)
    kernel(lib.NDRT_KERNEL_STEP_GRAD, [grad.size, 0], [out, grad, data],
           [-0.5, 0.25], 3)
    np.testing.assert_array_equal(out, np.where((data < -0.5) | (data > 0.25), 0, grad))
    for step, slope in ((lib.NDRT_STEP_ABS, np.nan_to_num(np.sign(data), nan=0)),
                        (lib.NDRT_STEP_RELU, np.where(np.isnan(data), data, data > 0))):
        kernel(lib.NDRT_KERNEL_STEP_GRAD, [grad.size, step], [out, grad, data], (), 3)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(out, grad * slope)


@pytest.mark.parametrize(("number", "counts", "text"), [
    (lib.NDRT_KERNEL_REDUCE, [1, -1, 1, lib.NDRT_F32, 0], "a count below 0"),
    (lib.NDRT_KERNEL_REDUCE, [1, 0, 1, lib.NDRT_F32, 0], "an axis of length 0"),
    (lib.NDRT_KERNEL_REDUCE, [2**40, 2**40, 1, lib.NDRT_F32, 0], "more elements than can be"),
    (lib.NDRT_KERNEL_REDUCE, [1, 2, 1, lib.NDRT_F16, 0], "numbers of kind 1"),
    (lib.NDRT_KERNEL_REDUCE, [1, 2, 1, lib.NDRT_F32, 9], "none of its kinds is 9"),
    (lib.NDRT_KERNEL_STEP_GRAD, [2, 9], "none of its kinds is 9"),
    (lib.NDRT_KERNEL_ARITHMETIC, [2, lib.NDRT_F16, 0], "numbers of kind 1"),
    (lib.NDRT_KERNEL_ARITHMETIC, [2, lib.NDRT_F32, 0], "array 0 has no bytes"),
])
def test_what_can_not_be_is_refused(number: int, counts: list[int], text: str) -> None:
    with pytest.raises(NdrtError, match=text):
        kernel(number, counts, [None, None, None])
