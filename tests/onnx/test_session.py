"""InferenceSession and the backend: the interfaces of others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.helper
import pytest

import ndarray_rt.onnx as onnxruntime
from ndarray_rt.errors import NameMismatch, ParameterError, TypeMismatch

from .helpers import model_of

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
