"""Native kernels against NumPy, at any number of threads with the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.op.normal import standard_normal
from ndarray_rt.storage.kernel_call import KernelCall
from ndarray_rt.storage.kernels import elementwise, optimizer
from ndarray_rt.storage.kernels import random as draws
from tests.native.helpers import kernel, over_arrays, run_kernel

SIZES = [0, 1, 63, 64, 1000, 40_001]
f4 = np.float32


def random(n: int, count: int, seed: int = 1) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(n).astype("f4") for _ in range(count)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("nthreads", [1, 2, 3])
def test_add_to_and_blend(n: int, nthreads: int) -> None:
    a, b = random(n, 2)
    expected = a + b
    run_kernel(elementwise.add_to(out=a, data=b, n=n), nthreads)
    np.testing.assert_array_equal(a, expected)
    expected = f4(0.9) * a + f4(0.1) * b
    run_kernel(elementwise.blend(out=a, data=b, n=n, a=0.9, b=0.1), nthreads)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("n", [*SIZES, 300_001])
def test_copy_and_zero(n: int) -> None:
    a = np.random.default_rng(0).integers(0, 256, n + 8).astype("u1")
    b = np.full(n + 8, 7, "u1")
    run_kernel(over_arrays(elementwise.copy)(out=b, data=a, nbytes=n), 2)
    np.testing.assert_array_equal(b[:n], a[:n])
    assert (b[n:] == 7).all()
    expected = a.copy()
    expected[5 : 5 + n] = a[:n]
    run_kernel(over_arrays(elementwise.copy)(out=a[5:], data=a, nbytes=n), 2)
    np.testing.assert_array_equal(a, expected)
    run_kernel(over_arrays(elementwise.zero)(out=b, nbytes=n), 2)
    assert not b[:n].any()
    assert (b[n:] == 7).all()


def clip(g: Any, bound: float) -> Any:
    return g if bound < 0 else np.clip(g, -f4(bound), f4(bound))


@pytest.mark.parametrize("bound", [-1.0, 0.0, 0.5])
@pytest.mark.parametrize("n", [7, 40_001])
def test_sgd(n: int, bound: float) -> None:
    weight, grad, momentum = random(n, 3)
    out = np.empty_like(weight)
    lr, wd, rescale = f4(0.1), f4(0.01), f4(0.25)
    step = lr * rescale * grad if bound < 0 else lr * clip(rescale * grad, bound)
    run_kernel(optimizer.sgd(out=out, weight=weight, grad=grad, count=n, lr=lr, wd=wd,
                             rescale_grad=rescale, clip_gradient=bound))
    np.testing.assert_array_equal(out, (1 - lr * wd) * weight - step)
    moved = f4(0.9) * momentum - lr * wd * weight - step
    expected = weight + moved
    run_kernel(optimizer.sgd_mom(
        out=weight, weight=weight, grad=grad, mom=momentum, count=n, lr=lr, wd=wd,
        rescale_grad=rescale, clip_gradient=bound, momentum=0.9))
    np.testing.assert_array_equal(momentum, moved)
    np.testing.assert_array_equal(weight, expected)


@pytest.mark.parametrize("bound", [-1.0, 0.5])
def test_adam(bound: float) -> None:
    n = 40_001
    weight, grad, mean, var = random(n, 4)
    var = np.abs(var)
    lr, wd, rescale, b1, b2, eps = (f4(v) for v in (0.1, 0.01, 0.25, 0.9, 0.999, 1e-8))
    g = clip(rescale * grad + wd * weight, bound)
    m, v = b1 * mean + (1 - b1) * g, b2 * var + (1 - b2) * g * g
    expected = weight - lr * m / (np.sqrt(v) + eps)
    run_kernel(optimizer.adam(
        out=weight, weight=weight, grad=grad, mean=mean, var=var, count=n, lr=lr, wd=wd,
        rescale_grad=rescale, clip_gradient=bound, beta1=b1, beta2=b2, epsilon=eps))
    np.testing.assert_array_equal(mean, m)
    np.testing.assert_array_equal(var, v)
    np.testing.assert_array_equal(weight, expected)


def philox_numpy(n: int, key: int, counter: int) -> Any:
    mask = np.uint64(0xFFFFFFFF)
    block = np.uint64(counter) + np.arange((n + 3) // 4, dtype="u8")
    x = [block & mask, block >> np.uint64(32), np.zeros_like(block), np.zeros_like(block)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * x[0], np.uint64(0xCD9E8D57) * x[2]
        x = [(b >> np.uint64(32)) ^ x[1] ^ np.uint64(k0), b & mask,
             (a >> np.uint64(32)) ^ x[3] ^ np.uint64(k1), a & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(x, 1).ravel()[:n].astype("u4")


def test_philox_known_answer() -> None:
    out = np.empty(4, "u4")
    run_kernel(over_arrays(draws.philox)(out=out, n=4, key=0, counter=0))
    assert [f"{w:08x}" for w in out] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


@pytest.mark.parametrize("n", [1, 3, 64, 65, 1000, 100_003])
@pytest.mark.parametrize(("key", "counter"), [(0, 0), (0x299F31D0A4093822, 5), (7, 0xFFFFFFFE)])
def test_philox(n: int, key: int, counter: int) -> None:
    expected = philox_numpy(n, key, counter)
    for nthreads in (1, 2):
        out = np.zeros(n + 1, "u4")
        run_kernel(over_arrays(draws.philox)(out=out, n=n, key=key, counter=counter), nthreads)
        np.testing.assert_array_equal(out[:n], expected)
        assert out[n] == 0


def drawn(which: Callable[..., KernelCall], nthreads: int, **given: Any) -> int:
    """Runs a kernel that draws from stream 7 at block 5; gives the block behind what it drew."""
    stream = np.array([7, 5], "u8")
    run_kernel(which(stream=stream, n=given["out"].size, **given), nthreads)
    assert stream[0] == 7
    return int(stream[1])


@pytest.mark.parametrize("n", [1, 3, 64, 65, 1000, 100_003])
@pytest.mark.parametrize("nthreads", [1, 2])
def test_dropout(n: int, nthreads: int) -> None:
    words = philox_numpy(n, 7, 5) >> np.uint32(8)
    expected = np.where(words < 3 << 22, f4(4 / 3), f4(0))
    mask, out = np.full(n, 9, "f4"), np.full(n, 9, "f4")
    x = random(n, 1)[0]
    behind = 5 + (n + 3) // 4
    numbers = {"bound": 3 << 22, "factor": f4(4 / 3)}
    assert drawn(draws.dropout_mask, nthreads, out=mask, **numbers) == behind
    np.testing.assert_array_equal(mask, expected)
    mask[:] = 9
    assert drawn(draws.dropout, nthreads, out=out, mask=mask, data=x, **numbers) == behind
    np.testing.assert_array_equal(mask, expected)
    np.testing.assert_array_equal(out, x * expected)


@pytest.mark.parametrize("n", [1, 2, 5, 64, 1001, 100_003])
def test_distributions_have_the_bits_of_numpy(n: int) -> None:
    words = philox_numpy(n + n % 2, 7, 5)
    out = np.zeros(n, "f4")
    for nthreads in (1, 2):
        drawn(draws.uniform, nthreads, out=out, low=-2, width=5, limit=2.5)
        unit = (words[:n] >> np.uint32(8)) * 2.0**-24
        np.testing.assert_array_equal(out, np.minimum((-2 + 5 * unit).astype("f4"), f4(2.5)))
        drawn(draws.normal, nthreads, out=out, loc=0.5, scale=3)
        np.testing.assert_array_equal(out, (0.5 + 3 * standard_normal(words)[:n]).astype("f4"))


def test_normal_numbers_are_those_of_the_formula() -> None:
    words = np.concatenate([philox_numpy(100_000, 3, 0), np.array(
        [0, 0, 1, 1 << 29, 0xFFFFFFFF, 0xFFFFFFFF, 0x7FFFFFFF, 3 << 30], "u4")])
    radius = np.sqrt(-2 * np.log((words[::2] + 1.0) * 2.0**-32))
    angle = words[1::2] * (2 * np.pi * 2.0**-32)
    got = standard_normal(words)
    np.testing.assert_allclose(got[::2], radius * np.cos(angle), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(got[1::2], radius * np.sin(angle), rtol=1e-13, atol=1e-14)


def test_fill() -> None:
    out = np.zeros(1000, "f4")
    run_kernel(over_arrays(elementwise.fill)(out=out, n=999, value=0.1))
    assert (out[:999] == f4(0.1)).all()
    assert out[999] == 0


@pytest.mark.parametrize(
    ("rows", "channels"), [(0, 3), (1, 1), (5, 7), (1000, 3), (70_001, 17), (3, 0)]
)
def test_bias_grad(rows: int, channels: int) -> None:
    grad = random(rows * channels, 1)[0].reshape(rows, channels)
    results = []
    for nthreads in (1, 2, 3):
        out = np.full(channels, np.nan, "f4")
        run_kernel(over_arrays(elementwise.bias_grad)(
            out=out, data=grad, rows=rows, channels=channels), nthreads)
        results.append(out)
    np.testing.assert_allclose(results[0], grad.astype("f8").sum(0), rtol=1e-5, atol=1e-4)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@pytest.mark.parametrize("rows", [7, 255, 512, 2001])
@pytest.mark.parametrize("channels", [3, 300])
def test_sums_of_nearly_equal_rows_are_rounded_once(rows: int, channels: int) -> None:
    """What E[x^2] - E[x]^2 is taken of must not lose a digit for every row."""
    x = (0.7 + 1e-3 * random(rows * channels, 1)[0].reshape(rows, channels)).astype("f4")
    out = np.empty(channels, "f4")
    run_kernel(over_arrays(elementwise.bias_grad)(out=out, data=x, rows=rows, channels=channels))
    np.testing.assert_allclose(out, x.astype("f8").sum(0), rtol=1.2e-7)


def test_same_bits_at_any_number_of_threads() -> None:
    n = 123_457
    results = []
    for nthreads in (1, 2, 5):
        weight, grad, mean, var = random(n, 4)
        run_kernel(optimizer.adam(
            out=weight, weight=weight, grad=grad, mean=mean, var=abs(var), count=n, lr=0.1,
            wd=0.01, rescale_grad=1, clip_gradient=-1, beta1=0.9, beta2=0.999, epsilon=1e-8),
            nthreads)
        results.append(weight)
    assert all((r == results[0]).all() for r in results)


def test_refusals() -> None:
    a = np.zeros(4, "f4")
    with pytest.raises(ParameterError, match="kernel 999 is none"):
        kernel(999, [4], [a])
    with pytest.raises(ParameterError, match="a count below 0"):
        run_kernel(over_arrays(elementwise.zero)(out=a, nbytes=-1))
    with pytest.raises(ParameterError, match="array 0 has no bytes"):
        run_kernel(over_arrays(elementwise.zero)(out=None, nbytes=4))


@pytest.mark.parametrize("channels", [1, 64, 255, 600])
def test_sums_over_rows_need_no_memory(channels: int) -> None:
    """The bits are the same when there is none for the blocks' sums."""
    rng = np.random.default_rng(channels)
    rows = rng.standard_normal((1000, channels)).astype(np.float32)
    made = []
    for n in (-1, 0):
        out = np.empty(channels, np.float32)
        lib.ndrt_memory_fail_after(n)
        run_kernel(over_arrays(elementwise.bias_grad)(
            out=out, data=rows, rows=1000, channels=channels), 2)
        lib.ndrt_memory_fail_after(-1)
        made.append(out)
    assert made[0].tobytes() == made[1].tobytes()
    np.testing.assert_allclose(made[0], rows.sum(0, np.float64), rtol=1e-5, atol=1e-4)
