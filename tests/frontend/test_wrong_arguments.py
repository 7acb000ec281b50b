"""Arguments of a wrong kind: an error of this package that says what was got and expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import errors
from ndarray_rt._array.interop import ShareError
from ndarray_rt.errors import ParameterError, ShapeError, TypeMismatch, shown

nd: Any = mx.nd
sym: Any = mx.sym
X = nd.ones((2, 3))
V = sym.Variable("v")
ARRAY = np.zeros(2)
context: Any = mx.Context
INF, NAN = float("inf"), float("nan")


class Rude:
    """Raises whatever it is asked for."""

    def __repr__(self) -> str:
        raise LookupError

    @property
    def dtype(self) -> Any:
        raise LookupError


CALLS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: nd.full((2,), ()), ShapeError, r"val has shape \(0,\), expected .*\(2,\)"),
    (lambda: nd.full((2,), X), ShapeError, r"val has shape \(2, 3\)"),
    (lambda: nd.full((2,), "x"), TypeMismatch, "val"),
    (lambda: nd.arange(0, INF), ParameterError, "stop got inf, expected a finite number"),
    (lambda: nd.arange(0, NAN), ParameterError, "stop got nan"),
    (lambda: nd.arange(NAN, 1), ParameterError, "start got nan"),
    (lambda: nd.arange(0, 1, NAN), ParameterError, "step got nan"),
    (lambda: nd.arange(0, 1, 0), ParameterError, "no range"),
    (lambda: nd.arange(10**400), ParameterError, "stop got .*finite"),
    (lambda: nd.arange(0, 1e300, 1e-300), ParameterError, "more elements"),
    (lambda: nd.arange(0, 10**30), ShapeError, "more elements"),
    (lambda: nd.arange("x"), TypeMismatch, "stop got 'x', expected a number"),
    (lambda: nd.arange(X), TypeMismatch, r"NDArray of shape \(2, 3\), expected a number"),
    (lambda: nd.arange(0, 5, ARRAY), TypeMismatch, r"step got ndarray of shape \(2,\)"),
    (lambda: nd.arange(0, 5, repeat="a"), TypeMismatch, "repeat got 'a', expected an int"),
    (lambda: nd.arange(0, 5, repeat=0), ParameterError, "repeat got 0"),
    (lambda: nd.linspace(0, 1, -1), ParameterError, "num got -1, expected an int of at least 0"),
    (lambda: nd.linspace(0, 1, 1.5), TypeMismatch, "num got 1.5"),
    (lambda: nd.linspace("a", 1, 3), TypeMismatch, "start got 'a'"),
    (lambda: nd.linspace(0, INF, 3), ParameterError, "stop got inf"),
    (lambda: nd.linspace(0, 1, 10**30), ShapeError, "more elements"),
    (lambda: nd.eye(-1), ParameterError, "N got -1, expected an int of at least 0"),
    (lambda: nd.eye("x"), TypeMismatch, "N got 'x'"),
    (lambda: nd.eye(3, -1), ParameterError, "M got -1"),
    (lambda: nd.eye(3, k="x"), TypeMismatch, "k got 'x', expected an int"),
    (lambda: nd.eye(X), TypeMismatch, "N got NDArray"),
    *[(lambda dtype=dtype: nd.ones((2,), dtype=dtype), TypeMismatch, "none of: float32")
      for dtype in ("(1,", "(1,)f4", "\ud800", {}, {"names": 3}, 10**5000, Rude(), ARRAY)],
    (lambda: nd.zeros((2,), stype=ARRAY), ParameterError, "storage type ndarray of shape"),
    (lambda: nd.moveaxis(X, "x", 0), TypeMismatch, "source got 'x', expected an int or a tuple"),
    (lambda: nd.moveaxis(X, 1.5, 0), TypeMismatch, "source got 1.5"),
    (lambda: nd.moveaxis(X, 0, None), TypeMismatch, "destination got None"),
    (lambda: nd.moveaxis(X, 0, (None,)), TypeMismatch, "destination got"),
    (lambda: nd.moveaxis(3, 0, 0), TypeMismatch, "tensor got 3, expected an NDArray"),
    (lambda: nd.onehot_encode(nd.ones((2,)), nd.ones((3,))), ShapeError,
     r"out has shape \(3,\), expected rank 2"),
    (lambda: nd.onehot_encode(3, X), TypeMismatch, "indices got 3"),
    (lambda: nd.onehot_encode(X, None), TypeMismatch, "out got None"),
    (lambda: nd.concatenate([X], axis="x"), TypeMismatch, "axis got 'x', expected an int"),
    (lambda: nd.concatenate([X], axis=None), TypeMismatch, "axis got None"),
    (lambda: nd.concatenate(X), TypeMismatch, "arrays got NDArray"),
    (lambda: nd.concatenate(3), TypeMismatch, "arrays got 3, expected a list"),
    (lambda: nd.concatenate([nd.array(3)]), ShapeError, "rank 0"),
    *[(lambda name=name: nd.exp(X, name=name), TypeMismatch, "exp: name got .*expected a string")
      for name in (ARRAY, [1], 3, Rude())],
    (lambda: nd.dot(lhs=X, rhs=X, name=ARRAY), TypeMismatch, "name got"),
    (lambda: sym.exp(V, name=ARRAY), TypeMismatch, "name got ndarray of shape"),
    (lambda: sym.zeros((2,), name=3), TypeMismatch, "name got 3"),
    (lambda: sym.exp(V, attr=3), TypeMismatch, "attr got 3, expected a dict"),
    (lambda: sym.Variable(ARRAY), TypeMismatch, "name"),
    (lambda: sym.Variable("a", attr=4), TypeMismatch, "attr got 4"),
    (lambda: sym.Variable("a", init=4), TypeMismatch, "init got 4, expected an Initializer"),
    (lambda: sym.Variable("a", stype=ARRAY), ParameterError, "stype got ndarray"),
    (lambda: sym.full((2,), "x"), ParameterError, "val got 'x', expected a number"),
    (lambda: nd.from_dlpack(X, device=np.array(3)), ParameterError, r"device_type got array\(3\)"),
    (lambda: nd.from_dlpack(X, device=[3]), ParameterError, "device_type got"),
    (lambda: nd.from_dlpack(X, copy=ARRAY), TypeMismatch, "copy got ndarray of shape"),
    (lambda: nd.from_dlpack("x"), TypeMismatch, "expected an object with __dlpack__"),
    (lambda: nd.from_numpy(ARRAY, zero_copy=ARRAY), TypeMismatch, "zero_copy got ndarray"),
    (lambda: X.__dlpack__(copy="x"), TypeMismatch, "copy got 'x', expected True, False or None"),
    (lambda: context("cpu", "x"), ParameterError, "device_id got 'x', expected an int"),
    (lambda: mx.Context(ARRAY), ParameterError, "device_type got ndarray"),
    (lambda: X.reshape("x"), TypeMismatch, "shape got 'x', expected ints"),
    (lambda: X.reshape(None), TypeMismatch, "shape got None"),
    (lambda: X.transpose("x"), TypeMismatch, "axes got 'x', expected ints"),
    (lambda: X.broadcast_to("x"), TypeMismatch, "shape got 'x', expected ints"),
    (lambda: X.tostype(ARRAY), ParameterError, "storage type ndarray"),
    (lambda: len(nd.array(3)), TypeMismatch, "rank 0"),
    (lambda: bool(X), ShapeError, "ambiguous"),
    (lambda: X.asscalar(), ShapeError, "not a scalar"),
    (lambda: nd.eye(X), TypeMismatch, "expected an int"),
]


@pytest.mark.parametrize(("call", "kind", "text"), CALLS)
def test_refused(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        call()
    assert isinstance(caught.value, errors.NdrtError)
    assert (X.asnumpy() == 1).all()


def test_a_used_capsule() -> None:
    capsule = X.__dlpack__()
    nd.from_dlpack(capsule)
    with pytest.raises(ShareError, match="used already"):
        nd.from_dlpack(capsule)


@pytest.mark.parametrize("make", [lambda n: nd.arange(n), lambda n: nd.linspace(0, 1, n),
                                  lambda n: nd.eye(n, 1), lambda n: nd.op._eye(N=n, M=1)])
def test_more_than_there_is_memory(make: Callable[[int], Any]) -> None:
    with pytest.raises(errors.OutOfMemory):
        make((1 << 45) + 1)


def test_what_is_still_taken() -> None:
    assert nd.arange(np.int64(3), nd.array([5])).asnumpy().tolist() == [3, 4]
    assert nd.moveaxis(nd.ones((2, 3, 4)), np.int64(2), [0]).shape == (4, 2, 3)
    assert nd.eye(np.int64(2), 3, -10**30).asnumpy().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert nd.eye(2, k=10**30).asnumpy().tolist() == [[0, 0], [0, 0]]
    assert nd.full((2, 3), [1, 2, 3]).asnumpy().tolist() == [[1, 2, 3]] * 2
    assert nd.concatenate((X, X), axis=np.int64(1)).shape == (2, 6)
    assert X.reshape(np.int64(6)).shape == X.reshape([np.int32(2), 3.0])[0:2].reshape(-1).shape
    assert X.transpose(None).shape == X.transpose().shape == X.transpose((1, 0)).shape == (3, 2)
    assert nd.exp(X, name="given").shape == (2, 3)


def test_shown_is_short() -> None:
    assert shown(list(range(1000))) == "list of length 1000"
    assert shown("x" * 1000) == "str of length 1000"
    assert shown(10**5000) == "<int>"
    assert shown(Rude()) == "<Rude>"
    assert shown(X) == "NDArray of shape (2, 3)"


WRONG_CONTENTS: list[tuple[Callable[[], Any], str]] = [
    (lambda: nd.take(X, nd.array([9]), mode="raise"), "^take: indices holds 9"),
    (lambda: nd.take(X, nd.array([9]), mode="raise", name="rows"), '^take "rows": indices holds 9'),
    (lambda: nd.gather_nd(X, nd.array([[5]])), "^gather_nd: .*5"),
    (lambda: nd.contrib.box_encode(nd.ones((1, 1)), nd.array([[7]]), nd.ones((1, 1, 4)),
                                   nd.ones((1, 1, 4)), nd.zeros((4,)), nd.ones((4,))),
     "^_contrib_box_encode: matches holds 7"),
    (lambda: nd.histogram(X, bins=0, range=(0, 1)), "^_histogram: parameter 'bin_cnt' got 0"),
    (lambda: nd.zeros((2,), ctx="x"), "ctx got 'x'"),
    (lambda: nd.random.uniform(shape=(2,), ctx="x"), "ctx got 'x'"),
]


@pytest.mark.parametrize(("run", "text"), WRONG_CONTENTS)
def test_errors_that_are_found_while_an_operator_computes_name_it(run: Callable[[], Any],
                                                                  text: str) -> None:
    with pytest.raises(errors.MXNetError, match=text):
        run()


@pytest.mark.parametrize("scale", [-1.0, NAN, INF])
def test_scales_of_images_are_numbers_from_0(scale: float) -> None:
    images = nd.ones((1, 1, 4, 4))
    with pytest.raises(ParameterError, match=r"'scale_height' got .* within"):
        nd.contrib.BilinearResize2D(images, scale_height=scale, scale_width=1.0)


def test_steps_of_windows_may_be_longer_than_any_array() -> None:
    x = nd.array(np.arange(16, dtype="f4").reshape(1, 1, 4, 4))
    far = (2**62, 2**62)
    assert nd.Pooling(x, kernel=(2, 2), stride=far, pool_type="max").asnumpy().tolist() == [[[[5]]]]
    first = nd.Pooling_v1(x, kernel=(2, 2), stride=far, pool_type="max")
    assert first.asnumpy().tolist() == [[[[5]]]]
    assert nd.im2col(x, kernel=(2, 2), stride=far).asnumpy().ravel().tolist() == [0, 1, 4, 5]
