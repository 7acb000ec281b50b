"""The finder of NaN and infinity names the call that made it, everywhere, and changes nothing."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, config, nd, sym
from ndarray_rt.debug import NonFiniteError, find_nonfinite


def test_imperative_code() -> None:
    x = nd.array([[1.0, 4.0], [-1.0, 0.0]])
    with find_nonfinite():
        nd.sqrt(nd.abs(x))
        with pytest.raises(NonFiniteError) as caught:
            nd.exp(nd.log(x))
    found = caught.value.found
    assert (found.op, found.output, found.nans, found.infs) == ("log", "output", 1, 1)
    assert (found.size, found.at) == (4, (1, 0))
    assert found.inputs == ("data (2, 2) float32 in [-1, 4]",)
    assert found.location.startswith(f"{__file__}:")
    for text in ("log", "1 NaN and 1 infinite of 4 elements", "(1, 0)", "test_nonfinite.py"):
        assert text in str(caught.value)
    assert np.isnan(nd.log(x).asnumpy()).any(), "it is over with the block"


def test_calls_that_were_made_many_times() -> None:
    """They go a short way otherwise."""
    x = nd.array([-1.0] * 16)
    for _ in range(5):
        nd.sqrt(x)
        x + x
    with find_nonfinite(), pytest.raises(NonFiniteError, match="sqrt made 16 NaN"):
        nd.sqrt(x)
    y = nd.full((16,), 3e38)
    for _ in range(5):
        y + y
    with find_nonfinite(), pytest.raises(NonFiniteError, match="made 16 infinite"):
        y + y


def test_lists_instead_of_raising() -> None:
    x = nd.array([0.0, 1.0])
    with find_nonfinite(raises=False) as finder:
        y = 2 / x
        z = y - y  # of infinity: not the first
        nd.log(x - 1)
        nd.sum(z)
    assert [found.op for found in finder.found] == ["_rdiv_scalar", "log"]
    assert finder.first is not None
    assert finder.first.params["scalar"] == "2.0"
    assert finder.first.inputs == ("data (2,) float32 in [0, 1]",)


def test_only_nan() -> None:
    with find_nonfinite(raises=False, infinite=False) as finder:
        y = 1 / nd.zeros((2,))
        nd.elemwise_sub(y, y + 1)
    assert [(found.op, found.nans) for found in finder.found] == [("elemwise_sub", 2)]


def test_what_is_asked_for_is_not_found() -> None:
    with find_nonfinite():
        mask = nd.full((2, 2), -np.inf)
        x = nd.where(nd.array([[1.0, 0.0], [0.0, 1.0]]), nd.ones((2, 2)), mask)
        nd.softmax(x)
        nd.Cast(nd.array([1, 2]), dtype="int32")


def test_backward_of_imperative_code() -> None:
    x = nd.array([0.0, 4.0])
    x.attach_grad()
    with find_nonfinite():
        with autograd.record():
            y = nd.sqrt(x).sum()
        with pytest.raises(NonFiniteError, match=r"_backward_sqrt.*made 1 infinite of 2"):
            y.backward()


def test_into_an_output_that_is_added_to() -> None:
    x = nd.array([3e38], dtype="float32")
    x.attach_grad(grad_req="add")
    x.grad[:] = 3e38
    with autograd.record():
        y = x * 3e38
    with find_nonfinite(), pytest.raises(NonFiniteError):
        y.backward()


def test_other_threads_are_left_alone() -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            nd.log(nd.array([-1.0])).asnumpy()
        except BaseException as error:
            errors.append(error)
    with find_nonfinite():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not errors


def bound(**kwargs: Any) -> Any:
    x = sym.Variable("x")
    hidden = sym.FullyConnected(x, num_hidden=3, name="hidden")
    risky = sym.sqrt(hidden - 1, name="risky")
    return sym.sum(sym.relu(risky, name="after"), name="total").simple_bind(
        mx.cpu(), x=(2, 4), **kwargs)


@pytest.mark.parametrize("runs", [0, 1, 3])
def test_an_executor_names_the_node(runs: int) -> None:
    executor = bound()
    executor.arg_dict["x"][:] = 1
    for _ in range(runs):
        executor.forward()
    found = executor.find_nonfinite()
    assert found is not None
    assert (found.op, found.node, found.nans) == ("sqrt", "risky", 6)
    assert "risky" in str(found)
    executor.arg_dict["hidden_bias"][:] = 2
    assert executor.find_nonfinite() is None
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), 6, rtol=1e-5)
    assert executor.find_nonfinite(x=np.full((2, 4), np.inf)) is None, "inputs are to be finite"


def test_an_executor_in_training() -> None:
    x = sym.Variable("x")
    net = sym.sqrt(sym.BatchNorm(x * x, name="norm", fix_gamma=False), name="root")
    executor = net.simple_bind(mx.cpu(), x=(4, 2), grad_req="add")
    executor.arg_dict["x"][:] = np.arange(8).reshape(4, 2)
    executor.arg_dict["norm_gamma"][:] = 0
    executor.grad_dict["x"][:] = 7
    before = {name: array.asnumpy() for name, array in executor.aux_dict.items()}
    found = executor.find_nonfinite(is_train=True)
    assert found is not None
    assert (found.op, found.node) == ("_backward_sqrt", "root_backward")
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), np.full((4, 2), 7))
    for name, array in executor.aux_dict.items():
        np.testing.assert_array_equal(array.asnumpy(), before[name])


def test_an_error_leaves_an_executor_usable() -> None:
    executor = bound(grad_req="null")
    executor.arg_dict["x"][:] = 1
    for _ in range(3):
        executor.forward()
    with find_nonfinite(), pytest.raises(NonFiniteError, match="risky"):
        executor.forward()
    executor.arg_dict["hidden_bias"][:] = 1
    for _ in range(4):
        assert executor.forward()[0].asnumpy().tolist() == [0.0]
    if config.NDRT_CAPTURE and config.NDRT_ONEDNN:
        assert executor.capture_state == "captured"


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_dtypes(dtype: str) -> None:
    with find_nonfinite(), pytest.raises(NonFiniteError, match=dtype):
        nd.log(nd.array([-1.0], dtype=dtype))
