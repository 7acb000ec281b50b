"""InferenceSession and the backend: the interfaces of others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.helper
import pytest

import ndarray_rt.onnx as onnxruntime
from ndarray_rt.errors import NameMismatch, ParameterError, ShapeError, TypeMismatch

from .helpers import loaded, model_of

TWO = "g (float[batch,3] x) => (float[batch,3] double, float[batch,3] half) {" \
      " two = Constant<value_float = 2.0>() double = Mul(x, two) half = Div(x, two) }"
X = np.array([[1, 2, 3]], np.float32)


def test_a_program_for_onnx_runtime(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(TWO).SerializeToString())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.x", "1")
    session = onnxruntime.InferenceSession(
        str(path), sess_options=options, providers=onnxruntime.get_available_providers())
    given, = session.get_inputs()
    assert (given.name, given.shape, given.type) == ("x", ["batch", 3], "tensor(float)")
    assert [out.name for out in session.get_outputs()] == ["double", "half"]
    double, half = session.run(None, {given.name: X})
    np.testing.assert_array_equal(double, X * 2)
    np.testing.assert_array_equal(half, X / 2)
    np.testing.assert_array_equal(session.run(["half"], {"x": X})[0], X / 2)
    np.testing.assert_array_equal(session.run(["half", "double"], {"x": X})[1], X * 2)
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert session.get_modelmeta().graph_name == "g"
    assert onnxruntime.get_device() == "CPU"


def test_wrong_arguments() -> None:
    session = onnxruntime.InferenceSession(model_of(TWO).SerializeToString())
    with pytest.raises(NameMismatch, match="no output 'third'"):
        session.run(["third"], {"x": X})
    with pytest.raises(ParameterError, match="unknown option"):
        onnxruntime.InferenceSession(model_of(TWO).SerializeToString(), colour="red")
    with pytest.raises(NameMismatch, match="no entry"):
        onnxruntime.SessionOptions().get_session_config_entry("nothing")


def test_backend() -> None:
    backend = onnxruntime.backend
    model = model_of(TWO)
    assert backend.is_compatible(model)
    assert not backend.is_compatible(model, "CUDA")
    assert not backend.is_compatible(model_of("g (float x) => (float y) { y = Nothing(x) }"))
    assert backend.supports_device("CPU:0")
    for inputs in ([X], {"x": X}, X):
        np.testing.assert_array_equal(backend.prepare(model).run(inputs)[0], X * 2)
    np.testing.assert_array_equal(backend.run_model(model, [X])[1], X / 2)
    node = onnx.helper.make_node("Add", ["a", "b"], ["c"])
    np.testing.assert_array_equal(backend.run_node(node, [X, X])[0], X * 2)
    with pytest.raises(TypeMismatch, match="device"):
        backend.prepare(model, "CUDA")


OVERRIDABLE = """g (float[N,2] x, float[2] w = {1, 2}, int64[1] axes = {1})
    => (float[A] y, float z) {
    p = Mul(x, w) y = ReduceSum<keepdims = 0>(p, axes) v = Add(w, w)
    t = Constant<value_int = 2>() yes = Constant<value = bool {1}>() r = ReduceMax<keepdims = 0>(x)
    z = Loop(t, yes, r) <body = b (int64 i, bool c, float s) => (bool go, float e) {
        go = Greater(s, r) u = Add(w, v) m = ReduceMax<keepdims = 0>(u) e = Add(s, m) }>
}"""


def test_values_of_the_file_may_be_given() -> None:
    model = loaded(OVERRIDABLE)
    x = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    own, other = np.array([1, 2], np.float32), np.array([10, -1], np.float32)
    assert [info.name for info in model.inputs] == ["x"]
    assert [info.name for info in model.overridable] == ["w", "axes"]
    session = onnxruntime.InferenceSession(model_of(OVERRIDABLE).SerializeToString())
    assert [info.name for info in session.get_overridable_initializers()] == ["w", "axes"]
    for w in (own, other, own, other + 1):
        for made in (model(x, w=w), session.run(None, {"x": x, "w": w})):
            np.testing.assert_allclose(made[0], x @ w)
            np.testing.assert_allclose(made[1], 6 + 3 * w.max())
        np.testing.assert_allclose(model(x)[0], x @ own)
    down, _ = model(x=x, axes=np.array([0]))
    np.testing.assert_allclose(down, (x * own).sum(0))
    down, _ = model.clone()({"x": x, "axes": np.array([0]), "w": other})
    np.testing.assert_allclose(down, (x * other).sum(0))
    assert len(model.tune(x, w=other)) > 0
    with pytest.raises(ShapeError, match="'w'"):
        model(x, w=np.ones(3, np.float32))
    with pytest.raises(NameMismatch, match="'x' is missing"):
        model(w=own)


def test_values_of_old_files_are_theirs() -> None:
    model = loaded("g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Mul(x, w) }",
                   ir_version=3)
    assert not model.overridable
    with pytest.raises(NameMismatch, match="no input 'w'"):
        model(np.ones(2, np.float32), w=np.ones(2, np.float32))


def test_lists_become_the_dtype_of_the_input() -> None:
    model = loaded("g (float[N] x, int32 k) => (float[N] y) { f = Cast<to = 1>(k) y = Mul(x, f) }")
    for given in ([1.5, 2], (1.5, 2)):
        made, = model(given, 2)
        assert made.dtype == np.float32
        np.testing.assert_array_equal(made, [3, 4])
    assert model([], 2)[0].shape == (0,)
    for wrong in (2.5, 1 << 40, [2], np.int64(2)):
        with pytest.raises((TypeMismatch, ShapeError), match="'k'"):
            model([1.0], wrong)
    with pytest.raises(TypeMismatch, match="'x'"):
        model(np.ones(2), 2)
