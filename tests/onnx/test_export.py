"""What `export` takes, writes and refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import NameMismatch, ParameterError, ShapeError, TypeMismatch, Unsupported
from ndarray_rt.gluon import nn

from .exported import check_symbol, random_params, same_as

X = np.random.default_rng(3).normal(size=(4, 6)).astype(np.float32)


def perceptron() -> Any:
    data = mx.sym.var("data")
    hidden = mx.sym.FullyConnected(data, num_hidden=5, name="fc1")
    hidden = mx.sym.Activation(hidden, act_type="relu")
    scores = mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(scores, name="softmax")


def values(**shapes: Any) -> dict[str, Any]:
    return random_params(perceptron(), data=(4, 6), softmax_label=(4,), **shapes)


def softmax(x: np.ndarray, params: dict[str, Any]) -> list[np.ndarray]:
    p = {name: value.asnumpy() for name, value in params.items()}
    hidden = np.maximum(x @ p["fc1_weight"].T + p["fc1_bias"], 0)
    scores = np.exp(hidden @ p["fc2_weight"].T + p["fc2_bias"])
    return [scores / scores.sum(1, keepdims=True)]


def test_names_are_those_of_the_graph_and_labels_are_gone() -> None:
    params = values()
    model = mx.onnx.export(perceptron(), params, shapes={"data": (None, 6)})
    assert [info.name for info in model.graph.input] == ["data"]
    assert [info.name for info in model.graph.output] == ["softmax_output"]
    assert {tensor.name for tensor in model.graph.initializer} == set(params)
    assert model.producer_name == "ndarray_rt"
    same_as(model, lambda x: softmax(x, params), [[X], [X[:1]]])


@pytest.mark.parametrize("form", ["dict", "prefixes", "pair", "file"])
def test_forms_of_parameters(form: str, tmp_path: Path) -> None:
    params = values()
    given: Any = params
    if form == "prefixes":
        given = {f"arg:{name}": value for name, value in params.items()}
    elif form == "pair":
        given = (params, {})
    elif form == "file":
        given = tmp_path / "x.params"
        mx.nd.save(str(given), {f"arg:{name}": value for name, value in params.items()})
    path = tmp_path / "x.onnx"
    made = mx.onnx.export(perceptron(), given, path, shapes=[(4, 6)])
    assert onnx.load(path) == made
    same_as(made, lambda x: softmax(x, params), [[X]])


def test_symbol_file_and_numpy_parameters(tmp_path: Path) -> None:
    params = values()
    perceptron().save(str(tmp_path / "x-symbol.json"))
    model = mx.onnx.export(tmp_path / "x-symbol.json",
                           {name: value.asnumpy() for name, value in params.items()},
                           shapes=[("n", 6)])
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    same_as(model, lambda x: softmax(x, params), [[X]])


def test_module_knows_its_shapes() -> None:
    module = mx.mod.Module(perceptron())
    module.bind([("data", (4, 6))], [("softmax_label", (4,))])
    module.init_params(mx.init.Normal(0.5))
    model = mx.onnx.export(module)
    same_as(model, lambda x: softmax(x, module.get_params()[0]), [[X]])


def test_hybridized_block_with_several_inputs() -> None:
    class Two(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:  # noqa: N803
            return F.broadcast_mul(x, y), x + 1

    net = Two()
    for hybrid in (False, True):
        net.hybridize(hybrid)
        net(mx.nd.ones((4, 6)), mx.nd.ones((4, 1)))
        model = mx.onnx.export(net, shapes=[(None, 6), (None, 1)])
        assert [info.name for info in model.graph.input] == ["data0", "data1"]
        same_as(model, lambda x, y: [x * y, x + 1], [[X, X[:, :1]]])


@pytest.mark.parametrize("hybrid", [False, True])
def test_inputs_are_in_the_order_of_the_block_not_of_their_use(hybrid: bool,
                                                              tmp_path: Path) -> None:
    class Later(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, pair: Any) -> Any:  # noqa: N803
            first, second = pair
            return F.broadcast_sub(F.broadcast_sub(second, first),
                                   F.sum(x, axis=1, keepdims=True))

    net: mx.gluon.Block = Later()
    net.hybridize(hybrid)
    given: list[Any] = [mx.nd.array(X), [mx.nd.array(X[:, :1] + 2), mx.nd.array(X[:, 2:4])]]
    expected = net(*given).asnumpy()
    if not hybrid:
        net = Flat(Later())
    path = tmp_path / "later.onnx"
    model = mx.onnx.export(net, path=path, shapes=[(None, 6), (None, 1), (None, 2)])
    names = ["data0", "data1", "data2"]
    assert [info.name for info in model.graph.input] == names
    assert [one.name for one in mx.onnx.InferenceSession(path).get_inputs()] == names
    arrays = [given[0], *given[1]]
    got = mx.onnx.load(path)(*(array.asnumpy() for array in arrays))
    np.testing.assert_allclose(got[0], expected, rtol=1e-6, atol=1e-6)
    block = mx.contrib.onnx.import_to_gluon(str(path), mx.cpu())
    np.testing.assert_allclose(block(*arrays).asnumpy(), expected, rtol=1e-6, atol=1e-6)


class Flat(mx.gluon.HybridBlock):
    """A block of a list as one of an argument each."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def hybrid_forward(self, F: Any, x: Any, a: Any, b: Any) -> Any:  # noqa: N803
        return self.inner(x, [a, b])


def test_inputs_of_a_module_are_in_its_order() -> None:
    first, second = mx.sym.var("first"), mx.sym.var("second")
    module = mx.mod.Module(second - first, data_names=("first", "second"), label_names=None)
    module.bind([("first", (4, 6)), ("second", (4, 6))], for_training=False)
    module.init_params()
    model = mx.onnx.export(module)
    assert [info.name for info in model.graph.input] == ["first", "second"]


def test_outputs_that_are_inputs_parameters_or_there_twice() -> None:
    a, w = mx.sym.var("a"), mx.sym.var("w")
    made = mx.sym.exp(a, name="e")
    model = mx.onnx.export(mx.sym.Group([a, w, made, made, mx.sym.identity(made, name="same")]),
                           {"w": mx.nd.ones((2,))}, shapes={"a": (4, 6)})
    same_as(model, lambda x: [x, np.ones(2, np.float32), *[np.exp(x)] * 3], [[X]])


def test_what_follows_from_parameters_is_computed() -> None:
    w = mx.sym.var("w")
    made = mx.sym.broadcast_add(mx.sym.var("a"), mx.sym.exp(w) * mx.sym.arange(6))
    model = mx.onnx.export(made, {"w": mx.nd.ones((6,))}, shapes={"a": (4, 6)})
    assert [node.op_type for node in model.graph.node] == ["Add"]
    same_as(model, lambda x: [x + np.e * np.arange(6, dtype=np.float32)], [[X]])


def test_two_free_sizes_and_their_product() -> None:
    made = mx.sym.reshape(mx.sym.var("a"), shape=(-3, 0))
    model = check_symbol(made, {"a": ("n", "t", 6)},
                         [[X.reshape(2, 2, 6)], [X.reshape(1, 4, 6)]])
    assert model.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "n*t"


def test_other_dtypes() -> None:
    made = mx.sym.broadcast_add(mx.sym.var("a") * 2.5, mx.sym.var("w"))
    model = mx.onnx.export(made, {"w": mx.nd.ones((6,), dtype="float64")}, shapes={"a": (4, 6)},
                           dtypes="float64")
    same_as(model, lambda x: [x * 2.5 + 1], [[X.astype(np.float64)]])


def test_weights_of_a_large_model_lie_beside_it(tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    from ndarray_rt.onnx.exporter import model_file
    monkeypatch.setattr(model_file, "_MOST_BYTES", 100)
    net = nn.HybridSequential()
    net.add(nn.Dense(100, in_units=6))
    net.initialize()
    path = tmp_path / "large.onnx"
    made = mx.onnx.export(net, path=path, shapes=[(None, 6)])
    assert (tmp_path / "large.onnx.data").exists()
    assert len(made.graph.initializer[0].raw_data) > 0
    expected = net(mx.nd.array(X)).asnumpy()
    np.testing.assert_allclose(mx.onnx.load(path)(X)[0], expected, atol=1e-6)


# ---- refusals ----------------------------------------------------------------------------------


def test_all_nodes_without_a_form_are_listed_and_nothing_is_written(tmp_path: Path) -> None:
    a = mx.sym.var("a")
    made = mx.sym.Group([mx.sym.exp(mx.sym.gamma(a, name="one")),
                         mx.sym.Dropout(a, p=0.5, mode="always", name="two")])
    path = tmp_path / "x.onnx"
    with pytest.raises(Unsupported) as raised:
        mx.onnx.export(made, {}, path, shapes=[(4, 6)])
    text = str(raised.value)
    assert text.startswith("2 node(s)")
    assert 'gamma "one": the operator has no form' in text
    assert 'Dropout "two": mode \'always\' draws' in text
    assert not path.exists()


def test_an_output_that_is_not_given_is_told() -> None:
    made = mx.sym.BatchNorm(mx.sym.var("a"), name="bn", output_mean_var=True)
    with pytest.raises(Unsupported, match='BatchNorm "bn": its output 1 has no form'):
        mx.onnx.export(made[1], random_params(made, a=(4, 6)), shapes=[(4, 6)])


def test_unsupported_node_behind_a_label_is_of_no_matter() -> None:
    out = mx.sym.LinearRegressionOutput(mx.sym.var("a"), mx.sym.gamma(mx.sym.var("label")))
    same_as(mx.onnx.export(out, {}, shapes={"a": (4, 6)}), lambda x: [x], [[X]])


@pytest.mark.parametrize(("change", "error", "text"), [
    ({"opset": 12}, ParameterError, "opset got 12, expected an int from 13 to 21"),
    ({"opset": True}, ParameterError, "opset got True"),
    ({"path": 5}, TypeMismatch, "path got 5"),
    ({"params": None}, ParameterError, "params is None"),
    ({"params": 5}, TypeMismatch, "params got 5"),
    ({"model": 5}, TypeMismatch, "got 5, expected a Symbol"),
    ({"shapes": [(4, 6), (3,)]}, ParameterError, r"one for each of the 1 input\(s\): data"),
    ({"shapes": {"date": (4, 6)}}, NameMismatch, "there is no input 'date'"),
    ({"shapes": [(4, 6.5)]}, ParameterError, "the shape of 'data' got"),
    ({"shapes": [(4, 7)]}, ShapeError, "fc1"),
    ({"shapes": [(4, None)]}, ShapeError, "does not go with free sizes"),
    ({"shapes": None}, Unsupported, "does not follow from the shapes given"),
    ({"dtypes": ["float32", "int8"]}, ParameterError, "dtypes got"),
])
def test_bad_arguments(change: dict[str, Any], error: type[Exception], text: str) -> None:
    given: dict[str, Any] = {"model": perceptron(), "params": values(), "shapes": [(4, 6)]}
    given.update(change)
    with pytest.raises(error, match=text):
        mx.onnx.export(given.pop("model"), **given)


def test_two_variables_of_one_name() -> None:
    made = mx.sym.var("a") + mx.sym.var("a")
    with pytest.raises(NameMismatch, match="two variables have the name 'a'"):
        mx.onnx.export(made, {}, shapes={"a": (4, 6)})


def test_block_without_values() -> None:
    with pytest.raises(ParameterError, match="initialize the block and run it once"):
        mx.onnx.export(nn.Dense(3), shapes=[(4, 6)])


def test_which_axes_go_must_not_depend_on_a_free_size() -> None:
    made = mx.sym.squeeze(mx.sym.var("a"), name="gone")
    with pytest.raises(Unsupported, match='squeeze "gone": without axis, and a size is free'):
        mx.onnx.export(made, {}, shapes=[(None, 1, 6)])


@pytest.mark.parametrize("opset", [13, 15])
def test_what_an_operator_set_has_not(opset: int) -> None:
    data, grid = mx.sym.var("a"), mx.sym.var("b")
    made = mx.sym.BilinearSampler(data, grid, name="sampled")
    with pytest.raises(Unsupported, match=f"set {opset}:\n.*from operator set 16 on"):
        mx.onnx.export(made, {}, shapes=[(1, 1, 4, 4), (1, 2, 3, 3)], opset=opset)
