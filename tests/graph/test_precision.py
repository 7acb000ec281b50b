"""The precision of executors: what computes in what, how far off that is, and who says it."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.cpu_level import Level
from ndarray_rt.errors import ParameterError
from ndarray_rt.executor.pool import ExecutorPool
from ndarray_rt.op.fallback import REASONS
from ndarray_rt.precision import Precision, find_precision, has_low_products

SHAPE = (2, 3, 32, 32)
# of the largest number of an output: each number that is stored is up to 2**-9 off
TOLERANCE = 0.03


def network() -> mx.sym.Symbol:
    """All that the lists tell apart: layers, norms that are folded and one that is not, a sum, an
    activation that is float32, pooling, a joint, softmax."""
    data = mx.sym.var("data")
    x = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=16, name="conv0")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="folded")
    x = mx.sym.Activation(x, act_type="relu", name="relu0")
    y = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=16, no_bias=True, name="conv1")
    x = mx.sym.elemwise_add(x, y, name="sum")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="norm")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    joined = mx.sym.Concat(x, mx.sym.LeakyReLU(x, act_type="elu", name="elu"), dim=1, name="join")
    x = mx.sym.FullyConnected(joined, num_hidden=10, name="dense")
    return mx.sym.softmax(x, name="prob")


def bound(net: mx.sym.Symbol, precision: Any = None, **shapes: Any) -> Any:
    ex = net.simple_bind(mx.cpu(), grad_req="null", precision=precision,
                         **(shapes or {"data": SHAPE}))
    fill(ex)
    return ex


def fill(ex: Any) -> None:
    rng = np.random.default_rng(5)
    for name, x in sorted({**ex.arg_dict, **ex.aux_dict}.items()):
        low = 0.5 if name.endswith(("gamma", "var")) else -1.0
        fan = np.prod(x.shape[1:]) if name.endswith("weight") else 1
        x[:] = rng.uniform(low, 1.0, x.shape) / np.sqrt(fan)


def relative(got: Any, want: Any) -> float:
    a, b = got.asnumpy(), want.asnumpy()
    assert a.dtype == b.dtype == np.float32
    return float(np.abs(a - b).max() / np.abs(b).max())


# ---- what is computed ---------------------------------------------------------------------------


def test_operators_run_in_what_the_lists_say() -> None:
    rows = {row.node: row.dtype for row in bound(network(), "bfloat16").explain(repeat=1).rows}
    low = {"relu0", "sum", "norm", "pool", "dense"}
    assert {name for name, dtype in rows.items() if dtype == "bfloat16"} == low
    assert rows["prob"] == rows["elu"] == rows["join"] == "float32"
    casts = {dtype for name, dtype in rows.items() if "->" in dtype}
    assert casts == {"float32 -> bfloat16", "bfloat16 -> float32"}


def test_parameters_are_rounded_once_and_writes_to_them_seen() -> None:
    ex, strict = bound(network(), "bfloat16"), bound(network(), "strict")
    for _ in range(4):
        ex.forward()
        strict.forward()
    assert ex.capture_state == "captured"
    steps = ex.inference_plan.steps
    first = ex.inference_plan.num_prologue
    rounded = [step.node.op.name for step in steps if step.node.op.name == "_round_weight"]
    assert rounded == [s.node.op.name for s in steps[:first] if s.node.op.name == "_round_weight"]
    assert len(rounded) == 5  # of three layers, two of which have a bias, one that was folded
    before = ex.outputs[0].copy()
    for name in ("conv1_weight", "dense_bias", "folded_moving_var", "norm_gamma", "conv0_weight"):
        for one in (ex, strict):
            x = {**one.arg_dict, **one.aux_dict}[name]
            x[:] = x * 1.5
        assert relative(ex.forward()[0], strict.forward()[0]) < TOLERANCE
        assert not np.array_equal(ex.outputs[0].asnumpy(), before.asnumpy())


@pytest.mark.parametrize("name", ["resnet18_v1", "resnet18_v2", "mobilenet0.25", "mobilenetv2_0.25",
                                  "squeezenet1.1", "densenet121"])
def test_networks_of_the_zoo(name: str) -> None:
    net = mx.gluon.model_zoo.vision.get_model(name, classes=10)
    mx.random.seed(3)
    net.initialize(mx.init.Xavier())
    side = 224 if name.startswith(("densenet", "squeezenet")) else 64
    x = mx.nd.array(np.random.default_rng(2).uniform(-1, 1, (2, 3, side, side)))
    net.hybridize(precision="strict")
    want = net(x)
    net.hybridize(precision="bfloat16")
    REASONS.reset()
    for _ in range(4):
        got = net(x)
    assert REASONS.as_dict() == {}
    assert [state["forward, inference"] for state in net._cached_op.capture_states] == ["captured"]
    assert 0 < relative(got, want) < TOLERANCE


def test_strict_and_float32_are_one() -> None:
    want = bound(network()).forward()[0].asnumpy()
    for precision in ("strict", "float32", Precision.STRICT):
        np.testing.assert_array_equal(bound(network(), precision).forward()[0].asnumpy(), want)


def test_medium() -> None:
    ex, strict = bound(network(), "medium"), bound(network(), "strict")
    for _ in range(3):
        error = relative(ex.forward()[0], strict.forward()[0])
    assert error < TOLERANCE
    explanation = ex.explain(repeat=1)
    assert {row.dtype for row in explanation.rows} == {"float32"}
    if not has_low_products():
        assert error == 0
        assert "no bfloat16 products" in explanation.totals["precision"]


def test_medium_asks_onednn_for_low_products(monkeypatch: pytest.MonkeyPatch) -> None:
    # a CPU without them computes in float32, whatever it is asked for
    strict = bound(network(), "strict")
    want = strict.forward()[0]
    monkeypatch.setattr(Level.AVX512_BF16, "is_here", True)
    ex = bound(network(), "medium")
    for _ in range(3):
        ex.forward()
    assert relative(ex.outputs[0], want) < TOLERANCE
    kernels = {row.node: row for row in ex.explain(repeat=1).rows}
    assert "ndrt" not in kernels["dense"].kernel
    assert any("bfloat16 products" in reason for _, reason in kernels["dense"].refused)


def test_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_here, made in ((True, Precision.BFLOAT16), (False, Precision.FLOAT32)):
        monkeypatch.setattr(Level.AVX512_BF16, "is_here", is_here)
        assert find_precision("auto", "test") is made
        assert bound(network(), "auto").precision is made


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_graphs_of_other_dtypes_stay(dtype: str) -> None:
    data = mx.sym.var("data", dtype=dtype)
    net = mx.sym.FullyConnected(mx.sym.FullyConnected(data, num_hidden=8), num_hidden=3)
    ex = net.simple_bind(mx.cpu(), grad_req="null", type_dict={"data": dtype}, data=(2, 4),
                         precision="bfloat16")
    rng = np.random.default_rng(1)
    for x in ex.arg_dict.values():
        x[:] = rng.uniform(-1, 1, x.shape)
    got = ex.forward()[0].asnumpy()
    with config.override(NDRT_SKIP_PASSES="all"):
        plain = net.bind(mx.cpu(), ex.arg_dict, grad_req="null").forward()[0].asnumpy()
    assert got.dtype == dtype
    np.testing.assert_allclose(got, plain, 2e-3 if dtype == "float16" else 1e-12)
    assert "no layer" in ex.explain(repeat=1).totals["precision"]


def test_integers_and_dtypes_that_meet() -> None:
    """Casts are for floats alone, and where two dtypes meet they become float32."""
    data, index = mx.sym.var("data"), mx.sym.var("index", dtype="int32")
    x = mx.sym.FullyConnected(data, num_hidden=4, name="dense")
    x = mx.sym.where(mx.sym.cast(index, dtype="float32") > 1, x, data)
    y = mx.sym.FullyConnected(mx.sym.Concat(x, mx.sym.relu(x), dim=1), num_hidden=4, name="last")
    net = mx.sym.Group([y, mx.sym.argmax(y, axis=1), mx.sym.cast(index, dtype="int32"), x])
    made = []
    for precision in ("bfloat16", "strict"):
        ex = net.simple_bind(mx.cpu(), grad_req="null", precision=precision, data=(3, 4),
                             index=(3, 4), type_dict={"index": "int32"})
        fill(ex)
        ex.arg_dict["index"][:] = np.arange(12).reshape(3, 4) % 4
        made.append([y.asnumpy() for y in ex.forward()])
    for low, full in zip(*made, strict=True):
        assert low.dtype == full.dtype
        np.testing.assert_allclose(low, full, atol=TOLERANCE * np.abs(full).max())


def test_every_step_is_validated() -> None:
    ex = bound(network(), "bfloat16")
    with config.override(NDRT_VALIDATE=True):
        ex.forward()


def test_the_error_is_reported() -> None:
    (low,) = bound(network(), "bfloat16").check_precision()
    assert low.name == "prob_output"
    assert low.is_finite_alike
    assert 0 < low.relative == low.difference / low.largest < TOLERANCE
    assert bound(network(), "float32").check_precision()[0].relative == 0


def test_training_is_float32() -> None:
    made = []
    for precision in ("bfloat16", "strict"):
        ex = network().simple_bind(mx.cpu(), data=SHAPE, precision=precision)
        fill(ex)
        ex.forward(is_train=True)
        ex.backward(mx.nd.ones((2, 10)))
        made.append([ex.outputs[0].asnumpy(), ex.grad_dict["conv0_weight"].asnumpy()])
    for low, full in zip(*made, strict=True):
        np.testing.assert_array_equal(low, full)


# ---- who says it --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["high", "half", ""])
def test_a_wrong_name_is_refused(name: str) -> None:
    match = "three bfloat16 products" if name == "high" else "expected one of strict, float32"
    for make in (lambda: bound(network(), name),
                 lambda: mx.gluon.nn.Dense(3).hybridize(precision=name),
                 lambda: find_precision(name, "test")):
        with pytest.raises(ParameterError, match=match):
            make()
    if name:
        with pytest.raises(ValueError, match=match):
            config.set("NDRT_PRECISION", name)
        done = subprocess.run(
            [sys.executable, "-c", "import ndarray_rt"], capture_output=True, text=True,
            env={"NDRT_PRECISION": name}, check=False, timeout=120)
        assert done.returncode
        assert f"NDRT_PRECISION='{name}'" in done.stderr
    with pytest.raises(ParameterError, match="expected one of"):
        bound(network(), 16)


def test_the_process_says_it_where_nobody_else_does() -> None:
    with config.override(NDRT_PRECISION="bfloat16"):
        ex, strict = bound(network()), bound(network(), "strict")
        net = mx.gluon.nn.Dense(3, in_units=4)
        net.initialize()
        net.hybridize()
        net(mx.nd.ones((2, 4)))
        assert net._cached_op is not None
        assert net._cached_op.precision is ex.precision is Precision.BFLOAT16
    assert strict.precision is Precision.STRICT
    assert bound(network()).precision is Precision.FLOAT32
    # what was bound stays what it is
    assert 0 < relative(ex.forward()[0], strict.forward()[0]) < TOLERANCE


def test_executors_made_of_others_have_their_precision() -> None:
    ex = bound(network(), "bfloat16")
    want = ex.forward()[0].asnumpy()
    data = ex.arg_dict["data"]
    assert ex.clone(["data"]).precision is Precision.BFLOAT16
    np.testing.assert_array_equal(ex.clone(["data"]).forward()[0].asnumpy(), want)
    wider = ex.reshape(data=(4, *SHAPE[1:]), allow_up_sizing=True)
    got = wider.forward(data=mx.nd.concat(data, data, dim=0))[0].asnumpy()
    assert wider.precision is Precision.BFLOAT16
    np.testing.assert_allclose(got, np.concatenate([want, want]), atol=0.01)


def test_many_threads() -> None:
    ex, strict = bound(network(), "bfloat16"), bound(network(), "strict")
    rng = np.random.default_rng(9)
    batches = [mx.nd.array(rng.uniform(-1, 1, SHAPE)) for _ in range(12)]
    with ExecutorPool(ex, size=3, inputs=["data"]) as pool, ThreadPoolExecutor(3) as threads:
        made = list(threads.map(lambda x: pool.run(data=x)[0], batches))
    for x, got in zip(batches, made, strict=True):
        assert relative(got, strict.forward(data=x)[0]) < TOLERANCE


def test_onnx_models(tmp_path: Any) -> None:
    pytest.importorskip("onnx")
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(8, 3, in_channels=3, activation="relu"), mx.gluon.nn.Dense(4))
    net.initialize(mx.init.Xavier())
    x = np.random.default_rng(1).uniform(-1, 1, SHAPE).astype("f4")
    net.hybridize()
    want = net(mx.nd.array(x)).asnumpy()
    file = str(tmp_path / "net.onnx")
    net.export(str(tmp_path / "net"))
    symbol, params = str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0000.params")
    mx.contrib.onnx.export_model(symbol, params, [SHAPE], np.float32, file)
    model = mx.onnx.load(file, precision="bfloat16")
    session = mx.onnx.InferenceSession(file, precision="bfloat16")
    assert model.precision is model.clone().precision is Precision.BFLOAT16
    for got in (model(x)[0], session.run(None, {model.inputs[0].name: x})[0]):
        assert got.dtype == np.float32
        assert 0 < np.abs(got - want).max() < TOLERANCE * np.abs(want).max()
    with pytest.raises(ParameterError, match="three bfloat16 products"):
        mx.onnx.load(file, precision="high")


def test_needs_no_other_package() -> None:
    program = """
import sys
sys.modules["ml_dtypes"] = None
from tests.graph.test_precision import bound, network, relative, TOLERANCE
ex, strict = bound(network(), "bfloat16"), bound(network(), "strict")
for _ in range(4):
    assert 0 < relative(ex.forward()[0], strict.forward()[0]) < TOLERANCE
assert ex.capture_state == "captured"
assert {row.dtype for row in ex.explain(repeat=1).rows} >= {"bfloat16", "float32"}
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_weights_in_layouts_of_training_are_rounded_anew() -> None:
    """A copy that a layer put into its layout, of a weight that an update put into another."""
    x = mx.nd.array(np.random.RandomState(0).uniform(-1, 1, (4, 3, 14, 14)))
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=16, no_bias=True,
                             name="c")
    executor = net.simple_bind(mx.cpu(), data=x.shape, precision="bfloat16",
                               grad_req={"data": "null", "c_weight": "write"})
    weight = executor.arg_dict["c_weight"]
    weight[:] = mx.nd.array(np.random.RandomState(1).normal(0, 0.3, weight.shape))
    for _ in range(4):
        executor.forward(is_train=True, data=x)
        executor.backward([mx.nd.ones(executor.outputs[0].shape)])
        mx.nd.sgd_update(weight, executor.grad_dict["c_weight"], lr=0.01, out=weight)
        got = executor.forward(data=x)[0].asnumpy()
        want = mx.nd.Convolution(x, weight, kernel=(3, 3), num_filter=16, no_bias=True).asnumpy()
        np.testing.assert_allclose(got, want, rtol=0, atol=0.02 * np.abs(want).max())
