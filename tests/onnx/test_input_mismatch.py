"""Inputs that a good model can not run on: InputMismatch, which names the node and the shapes."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
import ndarray_rt.onnx as onnxruntime
from ndarray_rt.errors import InputMismatch, ModelFormatError, ShapeError
from ndarray_rt.onnx import load

from .helpers import loaded, model_of

PICTURES = """g (float[B,1,H,W] x) => (float[B,1,P,Q] y) {
    w = Constant<value = float[1,1,3,3] {1, 1, 1, 1, 1, 1, 1, 1, 1}>() y = Conv(x, w) }"""
RUNS: dict[str, Callable[[Any, Any], Any]] = {
    "Model": lambda proto, x: load(proto)(x),
    "InferenceSession": lambda proto, x: onnxruntime.InferenceSession(
        proto.SerializeToString()).run(None, {"x": x}),
    "backend": lambda proto, x: onnxruntime.backend.run_model(proto, [x]),
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("shape", [(1, 1, 5, 0), (1, 1, 5, 2), (1, 2, 5, 5)])
def test_pictures_that_a_window_does_not_fit(run: str, shape: tuple[int, ...]) -> None:
    proto = model_of(PICTURES.replace("[B,1,H", "[B,C,H"))
    with pytest.raises(InputMismatch, match="Conv") as error:
        RUNS[run](proto, np.zeros(shape, np.float32))
    assert not isinstance(error.value, ModelFormatError)
    assert isinstance(error.value, ShapeError)
    assert "Conv" in error.value.place
    assert error.value.inputs == {"x": str(shape)}
    assert str(error.value).endswith(f"; given: x {shape}")


def test_the_model_goes_on() -> None:
    model = loaded(PICTURES)
    good = np.ones((1, 1, 5, 5), np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(model(good)[0], np.full((1, 1, 3, 3), 9))
        with pytest.raises(InputMismatch):
            model(good[:, :, :2])


def test_a_batch_that_is_too_large() -> None:
    model = load(model_of("g (float[B,2] x) => (float[B,C] y) {"
                          " s = Constant<value_ints = [1, 99]>() y = Tile(x, s) }"),
                 max_bytes=1 << 12)
    assert model(np.ones((5, 2), np.float32))[0].shape == (5, 198)
    with pytest.raises(InputMismatch, match=r"Tile .*max_bytes.*given: x \(6, 2\)"):
        model(np.ones((6, 2), np.float32))


def test_constants_of_a_batch_count_with_those_of_the_file() -> None:
    """`c` is the file's own, but there is no room for it beside what follows from the batch."""
    model = load(model_of(
        "g (float[B] x) => (float[C] y) { n = Shape(x) a = Constant<value_floats = [3.0]>()"
        " b = Expand(a, n) d = Neg(b) k = Constant<value_ints = [512]>()"
        " z = ConstantOfShape<value = float[1] {2}>(k) c = Neg(z)"
        " y = Concat<axis = 0>(d, c) }", 13), max_bytes=1 << 13)
    assert model(np.ones(100, np.float32))[0].shape == (612,)
    with pytest.raises(InputMismatch, match="max_bytes"):
        model(np.ones(1800, np.float32))


def test_a_rank_that_only_a_node_knows() -> None:
    proto = model_of("g (float[N] x) => (float[M] y) { y = Transpose<perm = [1, 0]>(x) }")
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    model = load(proto)
    assert model(np.ones((2, 3), np.float32))[0].shape == (3, 2)
    with pytest.raises(InputMismatch, match=r"Transpose .*given: x \(2,\)"):
        model(np.ones(2, np.float32))


def test_what_a_run_finds_behind_data() -> None:
    """Shapes of what was computed decide: the rest is planned while it runs."""
    model = loaded("g (float[N] x, float[M] z) => (float[K] y) { i = NonZero(x)"
                   " f = Constant<value_ints = [-1]>() r = Reshape(i, f) c = Cast<to = 1>(r)"
                   " y = Add(c, z) }")
    x, z = np.array([1, 0, 1], np.float32), np.ones(2, np.float32)
    np.testing.assert_array_equal(model(x, z)[0], [1, 3])
    with pytest.raises(InputMismatch, match=r"Add .*given: x \(3,\), z \(3,\)"):
        model(x, np.ones(3, np.float32))


def test_what_no_inputs_mend_stays_a_fault_of_the_model() -> None:
    """A node that reads what the file holds, and nothing else."""
    model = loaded("g (float[N] x) => (float[N] y) { a = Constant<value_floats = [1.0, 2.0]>()"
                   " b = Constant<value_floats = [1.0, 2.0, 3.0]>() c = Add(a, b) y = Add(x, c) }")
    with pytest.raises(ModelFormatError, match="Add"):
        model(np.zeros(2, np.float32))


def test_importing_a_model_gives_no_inputs() -> None:
    proto = model_of("g (float[N,4] x) => (float[M] y) { s = Constant<value_ints = [7, 11, -1]>()"
                     " y = Reshape(x, s) }")
    with pytest.raises(ModelFormatError, match="Reshape"):
        mx.contrib.onnx.import_model(proto)


def test_sequences_show_the_shapes_of_their_items() -> None:
    proto = model_of("g (float[N] x) => (float[M] y) { y = ConcatFromSequence<axis = 0>(x) }")
    info = proto.graph.input[0].type
    element = info.tensor_type.elem_type
    info.Clear()
    info.sequence_type.elem_type.tensor_type.elem_type = element
    with pytest.raises(InputMismatch, match=r"given: x \[\(2, 2\), \(3,\)\]"):
        load(proto)([np.ones((2, 2), np.float32), np.ones(3, np.float32)])


def test_it_can_be_pickled() -> None:
    error = InputMismatch("no window", "net.onnx", "Conv 'a'", {"x": "(1, 0)"})
    assert str(error) == "net.onnx: Conv 'a': no window; given: x (1, 0)"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.inputs, again.place) == (str(error), error.inputs, error.place)


@pytest.mark.parametrize(("text", "shape", "expected"), [
    ("y = Softmax<axis = 1>(x)", (0, 3, 4), (0, 3, 4)),
    ("y = GroupNormalization<num_groups = 1>(x, s, s) s = Constant<value_floats = [1.0]>()",
     (0, 1, 4), (0, 1, 4)),
    ("y = InstanceNormalization(x, s, s) s = Constant<value_floats = [1.0]>()", (1, 1, 0),
     (1, 1, 0)),
    ("y = MeanVarianceNormalization<axes = [0, 2]>(x)", (1, 1, 0), (1, 1, 0)),
    ("y = GlobalAveragePool(x)", (1, 1, 0), (1, 1, 1)),
    ("y = ReduceMean<axes = [2]>(x)", (1, 1, 0), (1, 1, 1)),
    ("y = GatherND<batch_dims = 1>(x, i) i = ConstantOfShape<value = int64[1] {0}>(n)"
     " n = Constant<value_ints = [0, 5, 1]>()", (0, 3, 4), (0, 5, 4))])
def test_arrays_without_elements_run(text: str, shape: tuple[int, ...],
                                     expected: tuple[int, ...]) -> None:
    opset = 18 if "Group" in text else 12
    model = loaded(f"g (float[A,B,C] x) => (float[D,E,F] y) {{ {text} }}", opset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made, = model(np.ones(shape, np.float32))
    assert made.shape == expected
    assert np.isnan(made).all()
