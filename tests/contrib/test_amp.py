"""contrib.amp: casts in graphs as MXNet puts them, casts of calls, and losses that are scaled."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.contrib import amp
from ndarray_rt.errors import TypeMismatch
from ndarray_rt.gluon import nn
from tests.data.make_mxnet_amp import FILE, converted, network

ml_dtypes = pytest.importorskip("ml_dtypes")
LOW = ("float16", "bfloat16")


@pytest.fixture
def restored() -> Iterator[None]:
    yield
    amp.amp._reset()


def dtype_of(array: Any) -> str:
    return str(np.dtype(array.dtype))


# ---- graphs ------------------------------------------------------------------------------------


def test_graphs_equal_mxnets() -> None:
    assert converted(mx, amp) == json.loads(FILE.read_text())


def test_a_file_keeps_the_cast_that_is_an_output() -> None:
    layer = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=4, name="f1")
    made = amp.convert_symbol(layer, "float16")
    read = mx.sym.load_json(made.tojson())
    assert read.list_outputs() == made.list_outputs() == ["f1_output_amp_cast_float32_output"]
    assert [node["name"] for node in json.loads(read.tojson())["nodes"]] == [
        "x", "f1_weight", "f1_bias", "f1", "f1_output_amp_cast_float32"]


@pytest.mark.parametrize("dtype", LOW)
def test_lists_hold_every_operator_once(dtype: str) -> None:
    conditional = [name for name, _, _ in amp.list_conditional_fp32_ops(dtype)]
    names = [*amp.list_lp16_ops(dtype), *amp.list_lp16_fp32_ops(dtype), *amp.list_fp32_ops(dtype),
             *amp.list_widest_type_cast(dtype), *conditional]
    assert len(names) == len(set(names))
    public = {name for name in mx.op.registry.REGISTRY.names()
              if mx.op.registry.REGISTRY.is_public(name)}
    assert public - set(names) == {"amp_cast", "amp_multicast"}


@pytest.mark.parametrize(("change", "said"), [
    ({"target_dtype_ops": ["sin"], "fp32_ops": ["sin"]}, "'sin' is in target_dtype_ops and in"),
    ({"fp32_ops": ["elemwise_add"], "target_dtype": "bfloat16"}, "fp32_ops has 'elemwise_add'"),
    ({"target_dtype_ops": ("dot",)}, "expected a list of strs"),
    ({"conditional_fp32_ops": [("Activation", "act_type", "relu")]}, "list of \\(str, str, list"),
    ({"excluded_sym_names": [[1]]}, "excluded_sym_names is"),
    ({"data_names": "data"}, "data_names is"),
])
def test_lists_that_do_not_fit_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        amp.convert_symbol(network(mx), **change)


def test_other_dtypes_are_refused() -> None:
    with pytest.raises(mx.errors.ParameterError, match="float16 or bfloat16"):
        amp.convert_symbol(network(mx), target_dtype="float64")


# ---- models ------------------------------------------------------------------------------------


def small_network() -> Any:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, in_channels=3), nn.BatchNorm(), nn.Activation("relu"), nn.Dense(5))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("cast_params", [False, True])
def test_a_converted_block_computes_nearly_the_same(dtype: str, cast_params: bool) -> None:
    net, data = small_network(), mx.nd.random.uniform(shape=(2, 3, 6, 6))
    wanted = net(data).asnumpy()
    made = amp.convert_hybrid_block(net, dtype, cast_optional_params=cast_params)
    found = made(data)
    assert dtype_of(found) == "float32"
    bound = {"float16": 2e-3, "bfloat16": 2e-2}[dtype]
    np.testing.assert_allclose(found.asnumpy(), wanted, atol=bound * abs(wanted).max())
    assert (found.asnumpy() != wanted).any()
    kinds = {dtype_of(param.data()) for param in made.collect_params().values()}
    assert kinds == ({"float32", dtype} if cast_params else {"float32"})


def test_a_converted_model_runs_in_a_module() -> None:
    data = mx.sym.var("data")
    graph = mx.sym.FullyConnected(mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="cv"),
                                  num_hidden=3, name="fc")
    module = mx.mod.Module(graph, label_names=None)
    module.bind([("data", (2, 3, 5, 5))], for_training=False)
    module.init_params(mx.init.Xavier())
    args, aux = module.get_params()
    graph, args, aux = amp.convert_model(graph, args, aux, "bfloat16", ["Convolution"],
                                         cast_optional_params=True)
    assert dtype_of(args["cv_weight"]) == "bfloat16"
    made = mx.mod.Module(graph, label_names=None)
    made.bind([("data", (2, 3, 5, 5))], for_training=False)
    made.set_params(args, aux)
    batch = mx.io.DataBatch([mx.nd.random.uniform(shape=(2, 3, 5, 5))])
    outputs = []
    for one in (module, made):
        one.forward(batch, is_train=False)
        outputs.append(one.get_outputs()[0].asnumpy())
    np.testing.assert_allclose(outputs[1], outputs[0], atol=2e-2 * abs(outputs[0]).max())


def test_a_converted_bucketing_module_has_every_bucket() -> None:
    def generate(length: int) -> tuple[Any, tuple[str], None]:
        data = mx.sym.reshape(mx.sym.var("data"), shape=(0, -1))
        return mx.sym.FullyConnected(mx.sym.slice_axis(data, axis=1, begin=0, end=2), num_hidden=3,
                                     name="fc"), ("data",), None
    module = mx.mod.BucketingModule(generate, default_bucket_key=4)
    module.bind([("data", (2, 4))], for_training=False)
    module.init_params()
    module.switch_bucket(6, [("data", (2, 6))])
    made = amp.convert_bucketing_module(module, "float16")
    made.bind([("data", (2, 4))], for_training=False)
    made.forward(mx.io.DataBatch([mx.nd.ones((2, 4))], bucket_key=4), is_train=False)
    assert made.get_outputs()[0].shape == (2, 3)


def test_a_block_that_has_not_run_is_refused() -> None:
    with pytest.raises(RuntimeError, match="run forward with this block at least once"):
        amp.convert_hybrid_block(small_network())


# ---- calls -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("dtype", LOW)
def test_calls_cast_their_inputs(dtype: str) -> None:
    plain = mx.nd.FullyConnected
    amp.init(dtype)
    amp.init("bfloat16")  # the first call counts
    x, w = mx.nd.ones((2, 3)), mx.nd.ones((4, 3))
    product = mx.nd.FullyConnected(x, w, num_hidden=4, no_bias=True)
    assert dtype_of(product) == dtype
    assert dtype_of(mx.nd.softmax(product)) == "float32"
    assert dtype_of(mx.nd.Activation(product, act_type="softrelu")) == "float32"
    assert dtype_of(mx.nd.Activation(product, act_type="relu")) == dtype
    assert dtype_of(mx.nd.elemwise_add(product, mx.nd.ones((2, 4)))) == "float32"
    assert dtype_of(mx.nd.elemwise_add(product, product)) == dtype
    assert dtype_of(mx.nd.linalg.gemm2(product, product, transpose_b=True)) == "float32"
    whole = mx.nd.array([1, 2], dtype="int32")
    assert dtype_of(mx.nd.elemwise_mul(whole, whole)) == "int32"
    amp.amp._reset()
    assert mx.nd.FullyConnected is plain


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("dtype", LOW)
def test_signs_and_methods_of_symbols_cast_too(dtype: str) -> None:
    amp.init(dtype)
    x = mx.sym.var("x")
    y = mx.sym.FullyConnected(x, num_hidden=4, no_bias=True, name="d")
    low = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)

    def dtype_of_symbol(symbol: Any) -> Any:
        given = dict.fromkeys(symbol.list_arguments(), "float32")
        return np.dtype(symbol.infer_type(**given)[1][0])
    assert dtype_of_symbol(y) == low
    for made in (x + y, y * x, x > y, mx.sym.maximum(x, y), y ** 2, 2 ** y, 1 / y,
                 y.sum(), y.exp(), y.softmax(), mx.sym.softmax(y)):
        assert dtype_of_symbol(made) == np.float32, made.name
    weight = mx.nd.ones((4, 300))
    executor = (y ** 2).bind(mx.cpu(), {"x": mx.nd.ones((2, 300)), "d_weight": weight})
    assert (executor.forward()[0].asnumpy() == 90000).all()


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("dtype", LOW)
def test_a_residual_around_a_layer(dtype: str, hybridize: bool) -> None:
    amp.init(dtype)

    class Residual(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.layer = nn.Dense(4, in_units=4)

        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            return F.maximum(x + self.layer(x), self.layer(x)) * x
    block = Residual()
    block.initialize(mx.init.One())
    if hybridize:
        block.hybridize()
    made = block(mx.nd.ones((2, 4)))
    assert dtype_of(made) == "float32"
    assert (made.asnumpy() == 5).all()


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("change", [
    {"conditional_fp32_ops": [("x",)]}, {"target_precision_ops": 5}, {"fp32_ops": "exp"},
    {"fp32_ops": [None]}])
def test_an_init_that_is_refused_changes_nothing(change: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="amp: "):
        amp.init("float16", **change)
    x, w = mx.nd.ones((2, 3)), mx.nd.ones((4, 3))
    assert dtype_of(mx.nd.FullyConnected(x, w, num_hidden=4, no_bias=True)) == "float32"
    amp.init("float16")
    assert dtype_of(mx.nd.add_n(mx.nd.ones(1), mx.nd.ones(1, dtype="float16"))) == "float32"


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("dtype", LOW)
def test_training_with_scaled_losses(dtype: str, hybridize: bool) -> None:
    amp.init(dtype)
    mx.random.seed(3)
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="relu"), nn.Dense(2))
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    amp.init_trainer(trainer)
    data = mx.nd.random.normal(shape=(64, 4))
    label = data[:, 0] > 0
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(30):
        with mx.autograd.record():
            loss = loss_of(net(data), label)
            with amp.scale_loss(loss, trainer) as scaled:
                mx.autograd.backward(scaled)
        trainer.step(64)
        losses.append(float(loss.mean().asscalar()))
    assert losses[-1] < 0.5 * losses[0]
    assert all(dtype_of(param.data()) == "float32" for param in net.collect_params().values())


@pytest.mark.usefixtures("restored")
def test_a_step_that_overflows_is_left_out() -> None:
    amp.init("float16")
    weight = mx.gluon.Parameter("w", shape=(2,))
    weight.initialize(mx.init.One())
    trainer = mx.gluon.Trainer([weight], "sgd", {"learning_rate": 1.0})
    amp.init_trainer(trainer)
    for factor, kept in ((float("inf"), True), (1.0, False)):
        with mx.autograd.record():
            loss = (weight.data() * factor).sum()
            with amp.scale_loss(loss, trainer) as scaled:
                scaled.backward()
        before = weight.data().asnumpy()
        trainer.step(1)
        assert (weight.data().asnumpy() == before).all() == kept
    # the halved scale holds from the step after the overflow
    scaler: Any = vars(trainer)["_amp_loss_scaler"]
    assert scaler.loss_scale == 2.0**15


@pytest.mark.usefixtures("restored")
def test_unscaled_gradients_are_those_of_the_loss() -> None:
    amp.init("float16")
    weight = mx.gluon.Parameter("w", shape=(2,))
    weight.initialize(mx.init.One())
    trainer = mx.gluon.Trainer([weight], "sgd", {"learning_rate": 1.0})
    amp.init_trainer(trainer)
    with mx.autograd.record(), amp.scale_loss((weight.data() * 3).sum(), trainer) as scaled:
        scaled.backward()
    assert weight.grad().asnumpy().tolist() == [3 * 2.0**16] * 2
    amp.unscale(trainer)
    assert weight.grad().asnumpy().tolist() == [3.0, 3.0]


@pytest.mark.usefixtures("restored")
def test_losses_that_are_operators(caplog: pytest.LogCaptureFixture) -> None:
    amp.init("float16")
    data, label = mx.nd.ones((2, 3)), mx.nd.zeros((2,))
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.SoftmaxOutput(data, label)
    out.backward()
    assert data.grad.asnumpy()[0, 0] == pytest.approx((1 / 3 - 1) * 2.0**16, rel=1e-3)
    with caplog.at_level(logging.WARNING):
        mx.sym.SoftmaxOutput(mx.sym.var("data"), name="out")
    assert "does not support dynamic loss scaling" in caplog.text


def test_what_is_missing_is_said() -> None:
    weight = mx.gluon.Parameter("w", shape=(2,))
    weight.initialize()
    trainer = mx.gluon.Trainer([weight], "sgd")
    with pytest.raises(mx.MXNetError, match=r"did you forget to call amp.init\(\)"):
        amp.init_trainer(trainer)
    with (pytest.raises(mx.MXNetError, match=r"did you forget to call amp.init_trainer\(\)"),
          amp.scale_loss(mx.nd.ones((1,)), trainer)):
        pass


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("loss", [None, 1.0, [None]])
def test_a_loss_that_is_no_array_is_refused(loss: Any) -> None:
    amp.init("float16")
    weight = mx.gluon.Parameter("w", shape=(2,))
    weight.initialize()
    trainer = mx.gluon.Trainer([weight], "sgd")
    amp.init_trainer(trainer)
    with (pytest.raises(TypeMismatch, match="scale_loss: a loss is of"),
          amp.scale_loss(loss, trainer)):
        pass


def test_needs_no_other_package() -> None:
    program = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np
import ndarray_rt as mx
from ndarray_rt.contrib import amp
bfloat16 = np.dtype([("bfloat16", np.uint16)])
net = mx.sym.FullyConnected(mx.sym.sin(mx.sym.Variable("data")), num_hidden=4)
low = amp.convert_symbol(net, "bfloat16", ["FullyConnected"], ["sin"])
low = mx.sym.load_json(low.tojson(remove_amp_cast=False))
assert '"dtype": "bfloat16"' in low.tojson(remove_amp_cast=False)
executor = low.simple_bind(mx.cpu(), data=(2, 3), grad_req="null")
assert executor.forward()[0].dtype == np.float32
amp.init("bfloat16")
made = mx.nd.FullyConnected(mx.nd.ones((2, 3)), mx.nd.ones((4, 3)), num_hidden=4, no_bias=True)
assert made.dtype == bfloat16
layer = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4)
assert layer.simple_bind(mx.cpu(), x=(2, 3), grad_req="null").forward()[0].dtype == bfloat16
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
