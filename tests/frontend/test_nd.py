"""nd: functions made from the registry, operators on arrays, calling conventions, errors."""

from __future__ import annotations

import ast
import inspect
import operator
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.op.infer import same_shape, same_type
from ndarray_rt.op.params import NoParams
from ndarray_rt.op.registry import REGISTRY, OpDef, register

nd = mx.nd
anything: Any = nd  # calls that type checkers do not know, and wrong ones
DATA = np.arange(1, 7, dtype=np.float32).reshape(2, 3) / 2


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("other", [2, (2, 3), (1, 3), (2, 1), (1,)])
@pytest.mark.parametrize("function", [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.pow,
    operator.gt, operator.ge, operator.lt, operator.le, operator.eq, operator.ne])
def test_operators_are_numpys(function: Any, other: Any, dtype: str) -> None:
    if dtype == "int32" and function in (operator.truediv, operator.pow):
        return  # MXNet's integer division and powers are tested with their operators
    a = (DATA * 2).astype(dtype)
    b: Any = other if other == 2 else np.arange(2, 2 + np.prod(other)).reshape(other).astype(dtype)
    ours = b if other == 2 else nd.array(b, dtype=dtype)
    for got, expected in ((function(nd.array(a, dtype=dtype), ours), function(a, b)),
                          (function(ours, nd.array(a, dtype=dtype)), function(b, a))):
        assert got.dtype == np.dtype(dtype), "comparisons too, as in MXNet"
        np.testing.assert_allclose(got.asnumpy(), expected.astype(dtype), rtol=1e-5)


def test_unary_operators() -> None:
    x = nd.array([-1, 2])
    assert (-x).asnumpy().tolist() == [1, -2]
    assert abs(x).asnumpy().tolist() == [1, 2]
    rows: Any = x
    assert 2 in rows
    assert 3 not in rows


@pytest.mark.parametrize("array", [DATA, DATA.astype(np.float64), DATA[0], np.float32(2)])
def test_numpy_arrays_count_as_arrays(array: Any) -> None:
    x = nd.array(DATA)
    for got, expected in ((x * array, DATA * array), (array * x, array * DATA),
                          (array - x, array - DATA), (x > array, DATA > array)):  # noqa: SIM300
        assert isinstance(got, nd.NDArray)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got.asnumpy(), expected)


@pytest.mark.parametrize(("name", "function"), [
    ("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("divide", np.divide),
    ("true_divide", np.divide), ("modulo", np.mod), ("power", np.power), ("maximum", np.maximum),
    ("minimum", np.minimum), ("equal", np.equal), ("not_equal", np.not_equal),
    ("greater", np.greater), ("greater_equal", np.greater_equal), ("lesser", np.less),
    ("lesser_equal", np.less_equal), ("logical_and", np.logical_and),
    ("logical_or", np.logical_or), ("logical_xor", np.logical_xor)])
def test_two_sided_functions(name: str, function: Any) -> None:
    f = getattr(nd, name)
    x = nd.array(DATA)
    row = np.array([1, 2, 1], np.float32)
    for got, expected in ((f(x, nd.array(row)), function(DATA, row)),
                          (f(x, 1.5), function(DATA, np.float32(1.5))),
                          (f(1.5, x), function(np.float32(1.5), DATA))):
        np.testing.assert_allclose(got.asnumpy(), expected.astype(np.float32))
    assert f(2, 3) == function(2.0, 3.0)
    with pytest.raises(TypeError, match="not supported"):
        f("a", x)


def test_inputs_and_parameters_by_position_and_name() -> None:
    x = nd.array(DATA)
    w = nd.array(np.ones((4, 3)))
    expected = DATA @ np.ones((3, 4), np.float32)
    calls: list[Callable[[], Any]] = [
        lambda: nd.FullyConnected(x, w, num_hidden=4, no_bias=True),
        lambda: anything.FullyConnected(x, w, None, 4, True),
        lambda: nd.FullyConnected(weight=w, data=x, num_hidden=4, no_bias=True),
        lambda: anything.FullyConnected(x, weight=w, num_hidden="4", no_bias="True"),
        lambda: anything.FullyConnected(x, w, bias=None, num_hidden=4, no_bias=1),
        lambda: anything.FullyConnected(x, w, nd.zeros((4,)), 4),
        lambda: anything.FullyConnected(x, w, nd.zeros((4,)), num_hidden=4, name="fc",
                                        __tag__="a"),
        lambda: nd.op.FullyConnected(x, w, num_hidden=4, no_bias=True, ctx=mx.cpu())]
    for call in calls:
        np.testing.assert_allclose(call().asnumpy(), expected)


@pytest.mark.parametrize(("call", "text"), [
    (lambda x: nd.FullyConnected(x, x, num_hidden=2), "missing: bias"),
    (lambda x: nd.FullyConnected(x, x, bias=x, num_hidden=2, no_bias=True), "not among them: bias"),
    (lambda x: nd.FullyConnected(x, num_hidden=2, no_bias=True), "missing: weight"),
    (lambda x: nd.FullyConnected(x, x, no_bias=True), "'num_hidden' is missing"),
    (lambda x: anything.relu(), r"takes 1 inputs \(data\), got 0"),
    (lambda x: nd.relu(x, x), "at most 1 positional"),
    (lambda x: anything.relu(x, data=x), "two values for 'data'"),
    (lambda x: anything.relu(3), "'data' must be NDArray, got 3"),
    (lambda x: anything.relu(DATA), "'data' must be NDArray"),
    (lambda x: nd.Activation(x, act_type="nothing"), "act_type.*'relu'"),
    (lambda x: anything.Activation(x, nothing="relu"), "unknown parameter 'nothing'"),
    (lambda x: anything.concat([x, x], dim=0), "one by one"),
    (lambda x: nd.broadcast_add(x, nd.ones((2,))), r"broadcast_add: .*\(2,\)"),
    (lambda x: nd.elemwise_add(x, x.astype("float64")), "dtypes disagree"),
    (lambda x: nd.elemwise_add(x, x.astype("float64"), name="sum1"), 'elemwise_add "sum1"'),
    (lambda x: nd.relu(x, ctx="gpu(0)"), "CPUs only"),
    (lambda x: nd.relu(x, ctx=3), "ctx"),
    (lambda x: x + nd.ones((3, 2)), "broadcast_add")])
def test_errors_say_what_is_wrong(call: Any, text: str) -> None:
    with pytest.raises(mx.MXNetError, match=text):
        call(nd.array(DATA))


def test_several_outputs() -> None:
    x = nd.array(DATA)
    parts = nd.SliceChannel(x, num_outputs=3, axis=1)
    assert isinstance(parts, list)
    assert [p.asnumpy().ravel().tolist() for p in parts] == DATA.T.tolist()
    assert isinstance(nd.SliceChannel(x, num_outputs=1), nd.NDArray)
    outs = [nd.zeros((2, 1)) for _ in range(3)]
    assert nd.SliceChannel(x, num_outputs=3, axis=1, out=outs) is outs
    assert outs[2].asnumpy().ravel().tolist() == DATA[:, 2].tolist()


def test_variadic() -> None:
    x = nd.array(DATA)
    np.testing.assert_array_equal(nd.concat(x, x, x, dim=0).asnumpy(), np.concatenate([DATA] * 3))
    np.testing.assert_array_equal(nd.add_n(x, x, x).asnumpy(), DATA * 3)
    np.testing.assert_array_equal(nd.concat(*[x] * 2, dim=1, num_args=2).asnumpy(),
                                  np.concatenate([DATA] * 2, 1))


def test_the_long_name_is_the_same_module() -> None:
    import ndarray_rt.ndarray.contrib  # type: ignore[import-not-found]

    import ndarray_rt.ndarray
    import ndarray_rt.ndarray as long_name
    from ndarray_rt.ndarray import NDArray, relu

    assert long_name is ndarray_rt.ndarray is mx.nd
    assert ndarray_rt.ndarray.contrib is nd.contrib
    assert NDArray is mx.nd.NDArray is mx.ndarray.NDArray
    assert relu is nd.relu


def test_namespaces() -> None:
    x = nd.array(DATA)
    assert nd._internal._plus_scalar(x, scalar=1).asnumpy().tolist() == (DATA + 1).tolist()
    assert nd.op.relu(x).shape == (2, 3)
    assert mx.ndarray is nd
    for name in ("relu", "Activation", "zeros", "array", "random", "concat", "NDArray"):
        assert name in dir(nd)
    assert "_plus_scalar" in dir(nd._internal)
    assert not any(name.startswith("_backward") for name in (*dir(nd), *dir(nd._internal)))
    for name in ("nothing", "_plus_scalar", "__nothing__"):
        with pytest.raises(AttributeError, match=name):
            getattr(nd, name)
    with pytest.raises(AttributeError, match="nothing"):
        nd.random.nothing  # noqa: B018
    star: dict[str, Any] = {}
    exec("from ndarray_rt.nd import *", star)
    assert star["relu"] is nd.relu


def test_every_function_has_a_signature_and_a_text() -> None:
    for name in dir(nd.op):
        function = getattr(nd.op, name)
        if not inspect.isroutine(function):
            continue
        assert len(inspect.getdoc(function) or "") > 30, name
        parameters = inspect.signature(function).parameters
        assert {"out", "name"} <= set(parameters), name
    signature = inspect.signature(nd.FullyConnected)
    assert list(signature.parameters)[:4] == ["data", "weight", "bias", "num_hidden"]
    assert "num_hidden : an int" in str(nd.FullyConnected.__doc__)


def test_methods_are_there() -> None:
    x = nd.array(DATA)
    np.testing.assert_allclose(x.sum(axis=1).asnumpy(), DATA.sum(1))
    np.testing.assert_allclose(x.mean().asnumpy(), [DATA.mean()])
    np.testing.assert_allclose(x.max(axis=0, keepdims=True).asnumpy(), DATA.max(0, keepdims=True))
    np.testing.assert_allclose(x.clip(1, 2).asnumpy(), DATA.clip(1, 2))
    np.testing.assert_allclose(x.exp().log().asnumpy(), DATA, rtol=1e-5)
    np.testing.assert_array_equal(x.T.asnumpy(), DATA.T)
    np.testing.assert_array_equal(x.transpose((1, 0)).asnumpy(), DATA.T)
    np.testing.assert_array_equal(x.transpose(1, 0).asnumpy(), DATA.T)
    np.testing.assert_array_equal(x.transpose().asnumpy(), DATA.T)
    np.testing.assert_array_equal(x[0].broadcast_to((2, 3)).asnumpy(), [DATA[0]] * 2)
    assert x.expand_dims(0).shape == (1, 2, 3)
    assert x.flatten().shape == (2, 3)
    assert x.zeros_like().asnumpy().sum() == 0
    assert x.ones_like().asnumpy().sum() == 6
    assert (x.stype, x.ndim, x.size, x.writable) == ("default", 2, 6, True)
    x.wait_to_read()
    nd.waitall()
    assert nd.arange(3).T.shape == (3,)
    assert not hasattr(x, "nothing")
    with pytest.raises(mx.MXNetError, match="storage type"):
        x.tostype("csr")


def test_an_operator_registered_later_is_there_at_once() -> None:
    def compute(ctx: Any, p: Any, ins: Any, outs: Any) -> None:
        outs[0].write(ins[0] * 10)
    register(OpDef("times_ten_test", NoParams, inputs=("data",), infer_shape=same_shape,
                   infer_type=same_type, compute=compute, doc="Ten times data.",
                   no_gradient="a test"))
    try:
        x = nd.array(DATA)
        assert nd.times_ten_test(x).asnumpy().tolist() == (DATA * 10).tolist()
        assert "times_ten_test" in dir(nd)
        x.attach_grad()
        with mx.autograd.record():
            y = nd.times_ten_test(x)
        with pytest.raises(mx.MXNetError, match="times_ten_test has no gradient: a test"):
            y.backward()
    finally:
        REGISTRY.unregister("times_ten_test")
    with pytest.raises(AttributeError, match="no such operator"):
        nd.times_ten_test  # noqa: B018 - gone with the operator


def test_an_operator_that_calls_operators() -> None:
    """Custom operators do: the inner call must not take the outer one's scratch."""
    def compute(ctx: Any, p: Any, ins: Any, outs: Any) -> None:
        inner = nd.relu(nd.array(ins[0]).to_mkldnn())
        outs[0].write(inner.asnumpy() + ins[0])
    register(OpDef("nested_test", NoParams, inputs=("data",), infer_shape=same_shape,
                   infer_type=same_type, compute=compute, doc="relu(data) + data",
                   no_gradient="a test"))
    try:
        data = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(np.float32)
        got = nd.nested_test(nd.array(data).to_mkldnn())
        np.testing.assert_array_equal(got.asnumpy(), np.maximum(data, 0) + data)
    finally:
        REGISTRY.unregister("nested_test")


def test_scalars_of_one_value_but_two_signs() -> None:
    x = nd.array([1.0])
    assert np.isinf((x / 0.0).asscalar())
    assert (x / 0.0).asscalar() > 0
    assert (x / -0.0).asscalar() < 0
    assert np.isnan((x * float("nan")).asscalar())


def test_zero_sized_and_rank_zero() -> None:
    assert (nd.zeros((0, 3)) + 1).shape == (0, 3)
    assert nd.relu(nd.zeros((0,))).shape == (0,)
    assert (nd.array(3) * 2).asscalar() == 6
    assert (nd.ones((0, 3)) + nd.ones((1, 3))).shape == (0, 3)


def test_threads() -> None:
    x = nd.array(np.random.default_rng(0).normal(size=(4, 8, 9, 9)))
    expected = np.maximum(x.asnumpy(), 0) * 2
    failed: list[Any] = []

    def work() -> None:
        for _ in range(50):
            y = nd.Activation(x, "relu")
            if not np.array_equal((y + y).asnumpy(), expected):
                failed.append(y)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_thread_settings() -> None:
    before = mx.get_num_threads()
    assert mx.set_num_threads(1) == before
    try:
        assert mx.get_num_threads() == 1
        assert nd.relu(nd.array(DATA)).shape == (2, 3)
        with pytest.raises(mx.MXNetError, match="set_num_threads"):
            mx.set_num_threads(-1)
        for many in (max(257, 4 * (os.cpu_count() or 1) + 1), 1025, 1 << 70):
            with pytest.raises(mx.MXNetError, match=r"set_num_threads.* expected 1 to"):
                mx.set_num_threads(many)
        assert mx.get_num_threads() == 1
    finally:
        mx.set_num_threads(before)


def test_public_names() -> None:
    assert mx.cpu() == mx.Context("cpu", 0)
    assert mx.num_gpus() == 0
    assert mx.base.MXNetError is mx.MXNetError
    assert {"live", "peak", "cached"} <= set(mx.memory_stats())
    assert mx.rnd is mx.random
    with pytest.raises(AttributeError, match="nothing"):
        mx.nothing  # noqa: B018


def test_names_of_nd_are_there_for_type_checkers() -> None:
    """A checker takes an import for public only where it is written `x as x`, or assigned."""
    tree = ast.parse(Path(nd.__file__).read_text(encoding="utf-8"))
    imported = [alias for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
                for alias in node.names]
    hidden = {alias.asname or alias.name for alias in imported if alias.name != alias.asname}
    assert not hidden & set(nd.__all__) - {"*"}


@pytest.mark.parametrize("name", ["shape", "dtype", "ctx", "context"])
def test_facts_are_read_only(name: str) -> None:
    x = nd.ones((2, 3))
    with pytest.raises(AttributeError, match=name):
        setattr(x, name, (3, 2))
    assert (x.shape, x.size) == ((2, 3), 6)
