"""Python's operators and functions on arrays that MXNet's do not have: NumPy's meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt import autograd, nd
from ndarray_rt.errors import ParameterError, ShapeError, TypeMismatch

INF, NAN = float("inf"), float("nan")


def made(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("a", "b"), [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)),
    ((2, 3), (5, 3, 4)), ((0, 3), (3, 4)), ((5, 0, 3), (5, 3, 4))])
def test_matmul_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = made(*a), made(*b)
    wanted = x @ y
    for got in (nd.array(x) @ nd.array(y), nd.array(x) @ y, x @ nd.array(y)):
        assert isinstance(got, nd.NDArray)
        assert got.shape == (wanted.shape or (1,))
        np.testing.assert_allclose(got.asnumpy().reshape(wanted.shape), wanted, rtol=1e-5,
                                   atol=1e-6)


def test_matmul_has_gradients() -> None:
    x, y = nd.array(made(4, 2, 3)), nd.array(made(3, 5))
    x.attach_grad()
    y.attach_grad()
    with autograd.record():
        z = x @ y
    z.backward()
    ones = np.ones((4, 2, 5), np.float32)
    np.testing.assert_allclose(x.grad.asnumpy(), ones @ y.asnumpy().T, rtol=1e-5)
    np.testing.assert_allclose(y.grad.asnumpy(), np.einsum("bij,bik->jk", x.asnumpy(), ones),
                               rtol=1e-5)


def test_matmul_refuses() -> None:
    with pytest.raises(ShapeError, match="3 columns and 4 rows"):
        nd.ones((2, 3)) @ nd.ones((4, 3))
    with pytest.raises(ShapeError, match="do not broadcast"):
        nd.ones((2, 5, 3)) @ nd.ones((4, 3, 5))
    with pytest.raises(TypeError, match="unsupported operand"):
        nd.ones((2, 3)) @ 3


# quotients below 2**22, which are exact
NUMBERS = st.floats(-50, 50, width=32).filter(lambda x: not x or abs(x) > 1e-4) | (
    st.sampled_from([0.0, 1.0, 0.1, -7.5, INF, -INF, NAN]))


@given(a=st.lists(NUMBERS, min_size=4, max_size=4), b=st.lists(NUMBERS, min_size=4, max_size=4))
def test_floor_division_is_numpys(a: list[float], b: list[float]) -> None:
    x: Any = np.array(a, np.float32).reshape(2, 2)
    y = np.array(b, np.float32).reshape(2, 2)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((nd.array(x) // nd.array(y)).asnumpy(), x // y)
        np.testing.assert_array_equal((nd.array(x) // y).asnumpy(), x // y)
        np.testing.assert_array_equal((x // nd.array(y)).asnumpy(), x // y)
        np.testing.assert_array_equal((nd.array(x) // nd.array(y[:1])).asnumpy(), x // y[:1])
        np.testing.assert_array_equal((nd.array(x) // b[0]).asnumpy(), x // np.float32(b[0]))
        np.testing.assert_array_equal((a[0] // nd.array(y)).asnumpy(), np.float32(a[0]) // y)


def values_of(symbol: Any, **arrays: Any) -> Any:
    return symbol.bind(mx.cpu(), {name: nd.array(x, dtype=x.dtype) for name, x in arrays.items()},
                       grad_req="null").forward()[0].asnumpy()


@given(a=st.lists(NUMBERS, min_size=4, max_size=4), b=st.lists(NUMBERS, min_size=4, max_size=4))
def test_floor_division_of_symbols(a: list[float], b: list[float]) -> None:
    x, y = np.array(a, np.float32), np.array(b, np.float32)
    s, t = mx.sym.var("x"), mx.sym.var("y")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(values_of(s // t, x=x, y=y), x // y)
        np.testing.assert_array_equal(values_of(s // b[0], x=x), x // np.float32(b[0]))
        np.testing.assert_array_equal(values_of(a[0] // s, x=y), np.float32(a[0]) // y)
        np.testing.assert_array_equal(values_of(s // np.array(b[0]), x=x), x // np.float32(b[0]))


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8"])
def test_floor_division_of_symbols_of_integers(dtype: str) -> None:
    least = np.iinfo(dtype).min
    x = np.array([7, -7, 125, least, 3, least], dtype)
    y = np.array([2, 2, -25, 5, least, least], dtype)
    s, t = mx.sym.var("x"), mx.sym.var("y")
    assert values_of(s // t, x=x, y=y).tolist() == (x // y).tolist()
    assert values_of(s // 4, x=x).tolist() == (x // 4).tolist()
    assert values_of(100 // s, x=x).tolist() == (100 // x).tolist()


def test_floor_division_of_symbols_is_read_by_mxnet() -> None:
    """All of its operators are MXNet's; its gradients are 0."""
    s, t = mx.sym.var("x"), mx.sym.var("y")
    made = s // t + 7 // s + s // 2
    assert mx.sym.load_json(made.tojson()).tojson() == made.tojson()
    x, y = nd.array([5.5, -3.0]), nd.array([2.0, 0.7])
    executor = made.simple_bind(mx.cpu(), x=(2,), y=(2,))
    executor.forward(is_train=True, x=x, y=y)
    executor.backward(nd.ones(2))
    assert [grad.asnumpy().tolist() for grad in executor.grad_arrays] == [[0, 0], [0, 0]]
    with pytest.raises(TypeError, match="not supported"):
        s // "two"


def test_floor_division_in_place() -> None:
    x = nd.array([[5.5, -3.0], [7.0, 1.0]])
    row = x[0]
    row //= 2
    assert x.asnumpy().tolist() == [[2, -2], [7, 1]]
    whole = nd.array([9, -9], dtype="int32")
    whole //= nd.array([2, 2], dtype="int32")
    assert whole.asnumpy().tolist() == [4, -5]
    with pytest.raises(TypeError):
        row //= "two"


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int8"])
def test_floor_division_of_integers(dtype: str) -> None:
    x = np.array([7, 100, 3, 0, 125], dtype)
    y = np.array([2, 7, 5, 3, 25], dtype)
    ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    for by in (5, 7):
        assert (nd.array(ends, dtype=dtype) // by).asnumpy().tolist() == (ends // by).tolist()
        assert (by // nd.array(ends[1:], dtype=dtype)).asnumpy().tolist() == [0]
    assert (nd.array(x, dtype=dtype) // nd.array(y, dtype=dtype)).asnumpy().tolist() == (
        x // y).tolist()
    if dtype != "uint8":
        assert (nd.array(-x, dtype=dtype) // 4).asnumpy().tolist() == (-x // 4).tolist()


def test_floor_division_has_gradient_zero() -> None:
    x = nd.array([5.5, -3.0])
    x.attach_grad()
    with autograd.record():
        y = (x // 2) * 3 + x
    y.backward()
    assert x.grad.asnumpy().tolist() == [1, 1]


def test_rounding_is_numpys() -> None:
    x = np.array([0.5, 1.5, -2.5, 2.345, 17.0], np.float32)
    assert round(nd.array(x)).asnumpy().tolist() == np.round(x).tolist()
    np.testing.assert_allclose(round(nd.array(x), 2).asnumpy(), np.round(x, 2), rtol=1e-6)
    assert round(nd.array(x), -1).asnumpy().tolist() == np.round(x, -1).tolist()
    whole = nd.array([14, 15, 26], dtype="int32")
    assert round(whole).asnumpy().tolist() == [14, 15, 26]
    assert round(whole, -1).asnumpy().tolist() == np.round([14, 15, 26], -1).tolist()
    bad: Any
    for bad in (1.5, 400, "1"):
        with pytest.raises(ParameterError, match="ndigits"):
            round(nd.array(x), bad)


def test_tolist() -> None:
    assert nd.array([[1, 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert nd.array([7], dtype="int64").tolist() == [7]
    assert nd.ones((1, 2, 3, 3)).to_mkldnn().tolist() == np.ones((1, 2, 3, 3)).tolist()


def test_format() -> None:
    assert format(nd.array([3.14159]), ".3f") == "3.142"
    assert f"{nd.array([12], dtype='int32'):05d}" == "00012"
    assert f"{nd.array([[1, 2.5]]):.2f}" == "[[1.00 2.50]]"
    x = nd.array([1, 2])
    assert f"{x}" == str(x)
    with pytest.raises(ParameterError, match="does not go with float32"):
        format(x, "d")


class Foreign:
    """An array of another library: all that is asked of one is `__dlpack__`."""

    def __init__(self, plain: np.ndarray[Any, Any], refuses: bool = False) -> None:
        self.plain, self.refuses = plain, refuses

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self.refuses:
            raise RuntimeError("can't export tensors that require gradient, use tensor.detach()")
        return self.plain.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.plain.__dlpack_device__()


def test_arrays_of_other_libraries() -> None:
    x, other = nd.array([[1, 2], [3, 4]]), Foreign(np.array([10.0, 20.0]))
    assert (x + other).asnumpy().tolist() == [[11, 22], [13, 24]]
    assert (other - x).asnumpy().tolist() == [[9, 18], [7, 16]]
    assert (x + other).dtype == np.float32
    assert (x @ Foreign(np.eye(2))).asnumpy().tolist() == x.tolist()
    with pytest.raises(TypeMismatch, match=r"Foreign beside an NDArray: .*detach"):
        x * Foreign(np.ones(2), refuses=True)
    with pytest.raises(TypeError):
        x + object()


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    x = mx.nd.array([1, 2])
    assert (x + torch.tensor([1.0, 2.0])).asnumpy().tolist() == [2, 4]
    with pytest.raises(TypeMismatch, match="detach"):
        x + torch.tensor([1.0, 2.0], requires_grad=True)
