"""Resize in all its modes, as the reference of the onnx package has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import onnx.helper as make
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import InputMismatch, ModelFormatError
from ndarray_rt.onnx import load

from .helpers import reference

PLACES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
          "asymmetric", "tf_crop_and_resize")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
FACTORS = (0.25, 0.3, 0.5, 0.6, 0.7, 0.75, 1.0, 1.3, 1.5, 2.0, 2.4, 3.0)


def model_of(rank: int, values: dict[int, Any], dtype: int, **attributes: Any) -> Any:
    """A model of one Resize whose other inputs, by their places, are constants."""
    names = ["x", "", "", ""]
    tensors = []
    for i, value in values.items():
        names[i] = f"v{i}"
        tensors.append(make.make_tensor(names[i], 7 if i == 3 else 1, [len(value)], value))
    node = make.make_node("Resize", names[:max(values) + 1], ["y"], **attributes)
    graph = make.make_graph([node], "g", [make.make_tensor_value_info("x", dtype, [None] * rank)],
                            [make.make_tensor_value_info("y", dtype, None)], tensors)
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 19)], ir_version=9)


@st.composite
def resizes(draw: Any) -> tuple[Any, Any, dict[str, Any], int]:
    """A model, data, its attributes, and the shortest output."""
    rank = draw(st.integers(1, 4))
    dims = tuple(draw(st.lists(st.integers(1, 9), min_size=rank, max_size=rank)))
    axes = list(draw(st.permutations(range(rank))))[:draw(st.integers(1, rank))]
    has_axes = draw(st.booleans())
    if not has_axes:
        axes = list(range(rank))
    mode = draw(st.sampled_from(("nearest", "linear", "cubic")))
    where = draw(st.sampled_from(PLACES))
    how: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": where}
    if mode == "nearest":
        how["nearest_mode"] = draw(st.sampled_from(ROUNDINGS))
    else:
        how["antialias"] = draw(st.integers(0, 1))
        how["exclude_outside"] = draw(st.integers(0, 1))
    if mode == "cubic":
        how["cubic_coeff_a"] = draw(st.sampled_from((-0.75, -0.5)))
    if has_axes:
        how["axes"] = axes
    values: dict[int, Any] = {}
    if where == "tf_crop_and_resize":
        first = [draw(st.sampled_from((0.0, 0.1, -0.2, 0.25))) for _ in axes]
        values[1] = first + [draw(st.sampled_from((1.0, 0.75, 1.25))) for _ in axes]
        how["extrapolation_value"] = 7.0
    if draw(st.booleans()):
        values[2] = [draw(st.sampled_from(FACTORS)) for _ in axes]
        lengths = [math.floor(dims[a] * float(np.float32(f)))
                   for a, f in zip(axes, values[2], strict=True)]
    else:
        values[3] = lengths = [draw(st.integers(1, 14)) for _ in axes]
        policy = draw(st.sampled_from(("stretch", "not_larger", "not_smaller")))
        how["keep_aspect_ratio_policy"] = policy
        if policy != "stretch":
            ratios = [n / dims[a] for a, n in zip(axes, lengths, strict=True)]
            ratio = min(ratios) if policy == "not_larger" else max(ratios)
            lengths = [int(ratio * dims[a] + 0.5) for a in axes]
    dtype = draw(st.sampled_from(("float32", "float64", "uint8", "int8")))
    source = np.random.default_rng(draw(st.integers(0, 99)))
    x = np.asarray(source.normal(size=dims) * 40).astype(np.int8 if "8" in dtype else dtype)
    proto = model_of(rank, values, make.np_dtype_to_tensor_dtype(np.dtype(dtype)), **how)
    return proto, x.astype(dtype), how, min(lengths)


def is_between(proto: Any, x: Any, wrong: Any) -> Any:
    """Where a place of the output is, on some axis, just between two of data or on one of them, but
    for a rounding: the reference itself takes others then than it has weights for.

    The roundings are those of float64, and of the length of a region of tf_crop_and_resize, which
    the reference takes in float32: just between, or outside, is then what is so with one of the two
    lengths and not with the other."""
    linear = onnx.ModelProto()
    linear.CopyFrom(proto)
    linear.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    attributes = linear.graph.node[0].attribute
    kept = [a for a in attributes if a.name in (
        "coordinate_transformation_mode", "axes", "keep_aspect_ratio_policy")]
    del attributes[:]
    attributes.extend([*kept, make.make_attribute("mode", "linear"),
                       make.make_attribute("extrapolation_value", math.nan)])
    exact = onnx.ModelProto()
    exact.CopyFrom(linear)
    for tensor in exact.graph.initializer:
        if tensor.name == "v1":
            region = onnx.numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(onnx.numpy_helper.from_array(region, "v1"))
    found = np.zeros(wrong.shape, bool)
    for places in np.indices(x.shape):
        halves = [reference(each, {"x": places.astype(np.float64)})[0] * 2
                  for each in (linear, exact)]
        low, high = np.minimum(*halves), np.maximum(*halves)
        found |= np.ceil(low - 1e-9) <= np.floor(high + 1e-9)
        found |= np.isnan(halves[0]) != np.isnan(halves[1])
    return found


def in_the_middle() -> tuple[Any, Any, dict[str, Any], int]:
    """A region's end that lies in the middle of two numbers, and before it for the reference."""
    how = {"mode": "nearest", "coordinate_transformation_mode": "tf_crop_and_resize",
           "nearest_mode": "round_prefer_ceil"}
    proto = model_of(1, {1: [0.1, 0.75], 3: [2]}, onnx.TensorProto.FLOAT, **how)
    return proto, np.arange(3, dtype=np.float32), how, 2


@settings(max_examples=200, deadline=None)
@example(in_the_middle())
@given(resizes())
def test_as_the_reference(case: tuple[Any, Any, dict[str, Any], int]) -> None:
    proto, x, how, shortest = case
    where = how["coordinate_transformation_mode"]
    assume(shortest > 0)
    # of one place the definition says 0, and the reference what it says of others
    assume(where != "pytorch_half_pixel" or shortest > 1)
    expected = reference(proto, {"x": x})[0]
    # it computes weights of the cubic mode in float32
    atol = 1e-3 if how["mode"] == "cubic" else 1e-4
    model = load(proto)
    for _ in range(3):
        found = model(x)[0]
        assert found.dtype == expected.dtype
        wrong = ~np.isclose(found, expected, rtol=1e-5, atol=atol)
        if x.dtype.kind != "f" and how["mode"] != "nearest":
            # whole numbers are rounded: to another one only from the middle between two
            proto.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
            before = reference(proto, {"x": x.astype(np.float64)})[0]
            wrong &= (np.abs(before - np.floor(before) - 0.5) > atol) | (
                np.abs(found.astype(int) - expected) > 1)
        assert not wrong.any() or is_between(proto, x, wrong)[wrong].all()


def test_a_region_changes_no_sizes() -> None:
    """As ONNX's own inference of shapes and others have it."""
    proto = model_of(1, {1: [0.25, 0.75], 2: [2.0]}, onnx.TensorProto.FLOAT, mode="linear",
                     coordinate_transformation_mode="tf_crop_and_resize")
    found = load(proto)(np.arange(8, dtype=np.float32))[0]
    np.testing.assert_allclose(found, np.linspace(1.75, 5.25, 16), rtol=1e-6)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_a_long_axis_is_no_matrix(mode: str) -> None:
    """A matrix would have 40 GB."""
    count = 1 << 16
    proto = model_of(3, {2: [1.0, 1.0, 1.25]}, onnx.TensorProto.FLOAT, mode=mode)
    x = np.arange(count, dtype=np.float32).reshape(1, 1, count)
    found = load(proto, max_bytes=1 << 20)(x)[0]
    middle = (np.arange(count * 5 // 4) + 0.5) / 1.25 - 0.5
    np.testing.assert_allclose(found[0, 0, 9:-9], middle[9:-9], atol=0.1)


@pytest.mark.parametrize(("values", "attributes", "words"), [
    ({2: [2.0]}, {"mode": "area"}, "'area' is none of nearest"),
    ({2: [2.0]}, {"coordinate_transformation_mode": "x"}, "'x' is none of half_pixel"),
    ({2: [2.0]}, {"nearest_mode": "x"}, "'x' is none of round_prefer_floor"),
    ({3: [4]}, {"keep_aspect_ratio_policy": "x"}, "'x' is none of stretch")])
def test_what_no_resize_has(values: dict[int, Any], attributes: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelFormatError, match=words):
        load(model_of(1, values, onnx.TensorProto.FLOAT, **attributes))(np.ones(3, np.float32))


@pytest.mark.parametrize(("values", "words"), [
    ({2: [-1.0]}, "a scale of -1"), ({2: [math.inf]}, "a scale of inf"),
    ({2: [math.nan]}, "a scale of nan"), ({3: [-4]}, "shape")])
def test_sizes_that_no_resize_gives(values: dict[int, Any], words: str) -> None:
    with pytest.raises(InputMismatch, match=words):
        load(model_of(1, values, onnx.TensorProto.FLOAT))(np.ones(3, np.float32))
