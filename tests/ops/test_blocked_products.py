"""Products and convolutions of float64 and int32 run on kernels, eagerly and in graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from tests.observed import observe_run

RNG = np.random.default_rng(4)
ops = mx.nd

CALLS: dict[str, tuple[list[tuple[int, ...]], Callable[..., Any], Callable[..., Any]]] = {
    "dot": ([(70, 90), (90, 50)], ops.dot, lambda a, b: a @ b),
    "turned": ([(90, 70), (50, 90)],
               lambda a, b: ops.dot(a, b, transpose_a=True, transpose_b=True),
               lambda a, b: a.T @ b.T),
    "vectors": ([(900,), (900,)], ops.dot, lambda a, b: (a @ b).reshape(1)),
    "batch_dot": ([(5, 30, 40), (5, 20, 40)], lambda a, b: ops.batch_dot(a, b, transpose_b=True),
                  lambda a, b: a @ b.swapaxes(1, 2)),
    "dense": ([(6, 300), (70, 300), (70,)],
              lambda x, w, b: ops.FullyConnected(x, w, b, num_hidden=70),
              lambda x, w, b: x @ w.T + b),
    "convolution": ([(2, 5, 9, 11), (8, 5, 3, 3), (8,)],
                    lambda x, w, b: ops.Convolution(x, w, b, kernel=(3, 3), num_filter=8),
                    lambda x, w, b: np.einsum(
                        "nchwij,fcij->nfhw", np.lib.stride_tricks.sliding_window_view(
                            x, (3, 3), axis=(2, 3)), w) + b[:, None, None]),
}
LINALG: dict[str, tuple[list[tuple[int, ...]], Callable[..., Any], Callable[..., Any]]] = {
    "gemm2": ([(3, 20, 4, 30), (3, 30, 4, 10)], lambda a, b: ops.linalg_gemm2(
        a, b, alpha=-1.5, axis=1), lambda a, b: -1.5 * np.einsum("bmak,bkan->bman", a, b)),
    "gemm": ([(20, 30), (30, 10), (20, 10)],
             lambda a, b, c: ops.linalg_gemm(a, b, c, alpha=2.0, beta=0.5),
             lambda a, b, c: 2 * (a @ b) + 0.5 * c),
    "syrk": ([(2, 20, 30)], lambda a: ops.linalg_syrk(a, alpha=3.0),
             lambda a: 3 * (a @ a.swapaxes(1, 2))),
}


def drawn(shapes: list[tuple[int, ...]], dtype: str) -> list[Any]:
    if dtype == "float64":
        return [RNG.standard_normal(shape) for shape in shapes]
    return [RNG.integers(-2**31, 2**31, shape, dtype=dtype) for shape in shapes]


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in CALLS
                                             for dtype in ("float64", "int32")] +
                         [(name, "float64") for name in LINALG])
def test_natively(name: str, dtype: str) -> None:
    shapes, function, wanted = (CALLS | LINALG)[name]
    values = drawn(shapes, dtype)
    arrays = [mx.nd.array(value, dtype=dtype) for value in values]
    made: list[Any] = []
    seen = observe_run(lambda: made.append(function(*arrays)))
    assert ["blocked" in call.kernel for call in seen] == [True], seen
    # replayed from the third time on
    made += [function(*arrays) for _ in range(4)]
    want = wanted(*values)
    for one in made:
        assert one.dtype == np.dtype(dtype)
        if dtype == "int32":
            np.testing.assert_array_equal(one.asnumpy(), want)
        else:
            np.testing.assert_allclose(one.asnumpy(), want, rtol=1e-12, atol=1e-12)


def test_numbers_of_replays_change() -> None:
    values = drawn([(20, 30), (30, 10), (20, 10)], "float64")
    a, b, c = (mx.nd.array(value, dtype="float64") for value in values)
    for alpha in (2.0, 2.0, 2.0, -3.0, 1.0, 0.5):
        made = ops.linalg_gemm(a, b, c, alpha=alpha, beta=alpha / 2).asnumpy()
        want = alpha * (values[0] @ values[1]) + alpha / 2 * values[2]
        np.testing.assert_allclose(made, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("precision", ["float32", "medium"])
def test_a_network_with_its_gradients(precision: str) -> None:
    data = mx.sym.var("data")
    made = mx.sym.Activation(mx.sym.Convolution(data, kernel=(3, 3), num_filter=6, name="c"),
                             act_type="relu")
    made = mx.sym.Activation(mx.sym.FullyConnected(made, num_hidden=9, name="d"), act_type="relu")
    shapes, _, _ = made.infer_shape(data=(3, 4, 7, 6))
    values = {name: RNG.standard_normal(shape) for name, shape in
              zip(made.list_arguments(), shapes, strict=True)}
    results = []
    for native in (True, False):
        with config.override(NDRT_ONEDNN=native):
            args = {name: mx.nd.array(value, dtype="float64") for name, value in values.items()}
            grads = {name: mx.nd.zeros(value.shape, dtype="float64")
                     for name, value in values.items()}
            exe = made.bind(mx.cpu(), args, grads, precision=precision)
            for _ in range(3):
                out = exe.forward(is_train=True)[0]
                exe.backward(mx.nd.ones(out.shape, dtype="float64"))
            inferred = [exe.forward(is_train=False)[0].asnumpy() for _ in range(3)]
            results.append([*inferred, *(grads[name].asnumpy() for name in sorted(grads))])
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)
