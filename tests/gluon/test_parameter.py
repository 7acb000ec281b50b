"""Parameters, constants, dicts of parameters."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import gluon
from ndarray_rt.errors import Unsupported
from ndarray_rt.gluon import Constant, Parameter, ParameterDict


def test_life_of_a_parameter() -> None:
    p = Parameter("w", shape=(2, 3))
    with pytest.raises(RuntimeError, match="has not been initialized"):
        p.data()
    with pytest.raises(RuntimeError, match="has not been initialized"):
        p.list_ctx()
    p.initialize(init="ones")
    assert p.data().asnumpy().tolist() == [[1, 1, 1], [1, 1, 1]]
    with pytest.warns(UserWarning, match="already initialized"):
        p.initialize(init="zeros")
    p.initialize(init="zeros", force_reinit=True)
    assert not p.data().asnumpy().any()
    p.grad()[:] = 5
    p.zero_grad()
    assert not p.grad().asnumpy().any()
    assert repr(p) == "Parameter w (shape=(2, 3), dtype=<class 'numpy.float32'>)"


def test_deferred() -> None:
    p = Parameter("w", shape=(2, 0), allow_deferred_init=True)
    p.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    with pytest.raises(gluon.DeferredInitializationError):
        p.data()
    assert p.list_ctx() == [mx.cpu(0), mx.cpu(1)]
    p.set_data(mx.nd.ones((2, 4)))
    p._finish_deferred_init()
    assert [x.asnumpy().sum() for x in p.list_data()] == [8, 8]
    with pytest.raises(ValueError, match="invalid shape"):
        Parameter("v", shape=(0,)).initialize()
    with pytest.raises(AssertionError, match="incompatible"):
        p.shape = (3, 4)


def test_contexts() -> None:
    p = Parameter("w", shape=(1,))
    p.initialize(ctx=[mx.cpu(1), mx.cpu(0)], init="ones")
    assert p.data(mx.cpu(1)) is p.list_data()[0]
    with mx.cpu(1):
        assert p.data() is p.list_data()[0]
    p.list_data()[0][:] = 3
    p.reset_ctx(mx.cpu(2))
    assert p.data().asscalar() == 2
    assert p.data().ctx == mx.cpu(2)
    with pytest.raises(mx.MXNetError, match="CPUs only"):
        p.reset_ctx(mx.gpu(0))
    with pytest.raises(TypeError, match="expected a Context"):
        p.reset_ctx("cpu")


def test_cast_keeps_the_gradient() -> None:
    p = Parameter("w", shape=(2,))
    p.initialize()
    p.cast("float64")
    with mx.autograd.record():
        y = (p.data() * 3).sum()
    y.backward()
    assert p.grad().dtype == np.float64
    assert p.grad().asnumpy().tolist() == [3, 3]


def test_grad_req() -> None:
    p = Parameter("w", shape=(2,), differentiable=False)
    assert p.grad_req == "null"
    p.grad_req = "write"
    assert p.grad_req == "null"
    with pytest.raises(AssertionError, match="grad_req"):
        Parameter("w", grad_req="maybe")


def test_storage_types() -> None:
    p = Parameter("w", shape=(3, 2), stype="row_sparse", grad_stype="row_sparse")
    p.initialize(init="ones")
    with pytest.raises(RuntimeError, match="row_sparse_data"):
        p.data()
    assert p.row_sparse_data(mx.nd.array([1])).shape == (3, 2)
    assert len(p.list_row_sparse_data(mx.nd.array([1]))) == 1
    wrong: Any = 1
    with pytest.raises(TypeError, match="row_id"):
        p.row_sparse_data(wrong)
    with pytest.raises(RuntimeError, match="use data"):
        Parameter("v", shape=(2,)).row_sparse_data(mx.nd.array([1]))
    with pytest.raises(Unsupported, match="arrays are dense"):
        Parameter("w", stype="csr")
    with pytest.raises(AssertionError, match="must be one of"):
        Parameter("w", stype="odd")


def test_constant() -> None:
    c = Constant("c", [[1, 2], [3, 4]])
    c.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    assert c.data(mx.cpu(1)).asnumpy().tolist() == [[1, 2], [3, 4]]
    with pytest.warns(UserWarning, match="does not support grad_req"):
        c.grad_req = "write"
    assert c.grad_req == "null"
    assert "__init__" not in c.var().list_attr()


def test_dict_get() -> None:
    params = ParameterDict("net_")
    w = params.get("w", shape=(0, 3))
    assert w.name == "net_w"
    assert params.get("w", shape=(2, 0)) is w
    assert w.shape == (2, 3)
    with pytest.raises(AssertionError, match="'shape'"):
        params.get("w", shape=(4, 3))
    with pytest.raises(AssertionError, match="'dtype'"):
        params.get("w", dtype="float64")
    params.get("w", dtype="float32")
    assert "net_w" in params
    assert len(params) == 1
    shared = ParameterDict("net_", params)
    assert shared.get("w") is w
    other = ParameterDict("net_")
    other.get("w")
    with pytest.raises(AssertionError, match="different Parameters"):
        params.update(other)


def test_dict_constant() -> None:
    params = ParameterDict("net_")
    with pytest.raises(KeyError, match="specify value"):
        params.get_constant("c")
    c = params.get_constant("c", [1.0, 2.0])
    assert params.get_constant("c") is c
    assert params.get_constant("c", mx.nd.array([1, 2])) is c
    with pytest.raises(AssertionError, match="match"):
        params.get_constant("c", [1.0, 3.0])
    params.get("w")
    with pytest.raises(AssertionError, match="not a constant"):
        params.get_constant("w", [1.0])


def test_dict_files(tmp_path: Path) -> None:
    path = str(tmp_path / "d.params")
    params = ParameterDict("net_")
    params.get("w", shape=(2,))
    params.initialize(mx.init.One())
    params.save(path, strip_prefix="net_")
    assert list(mx.nd.load(path)) == ["w"]
    with pytest.raises(ValueError, match="does not start with"):
        params.save(path, strip_prefix="other_")
    params.get("w").set_data(mx.nd.zeros((2,)))
    params.load(path, restore_prefix="net_")
    assert params.get("w").data().asnumpy().tolist() == [1, 1]
    params.get("b", shape=(1,))
    with pytest.raises(AssertionError, match="'b' is missing"):
        params.load(path, restore_prefix="net_")
    params.load(path, restore_prefix="net_", allow_missing=True)
    with pytest.raises(AssertionError, match="restore_prefix"):
        params.load(path, restore_prefix="other_")
    less = ParameterDict("net_")
    with pytest.raises(AssertionError, match="ignore_extra"):
        less.load(path, restore_prefix="net_")
    less.load(path, restore_prefix="net_", ignore_extra=True)
    less.load_dict({"arg:x": mx.nd.ones((1,))}, ignore_extra=True)


def test_dict_for_all() -> None:
    params = ParameterDict()
    params.get("a", shape=(2,))
    params.get("b", shape=(2,), grad_req="null")
    params.setattr("lr_mult", 3)
    assert [p.lr_mult for p in params.values()] == [3, 3]
    params.initialize(ctx=mx.cpu(1))
    params["a"].grad()[:] = 2
    params.zero_grad()
    assert not params["a"].grad().asnumpy().any()
    assert params.list_ctx() == [mx.cpu(1)]
    params.reset_ctx(mx.cpu())
    assert params.list_ctx() == [mx.cpu()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        params.initialize(force_reinit=True)
    assert repr(params).splitlines()[1].strip() == (
        "Parameter a (shape=(2,), dtype=<class 'numpy.float32'>)")


def test_variable_of_a_parameter() -> None:
    p = Parameter("w", shape=(2, 0), lr_mult=2.0, init="ones")
    assert p.var() is p.var()
    assert p.var().list_attr()["__shape__"] == "(2, 0)"
    assert p.var().list_attr()["__lr_mult__"] == "2.0"
    assert p.var().list_attr()["__init__"] == "ones"
