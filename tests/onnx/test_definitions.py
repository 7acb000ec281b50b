"""Operators where definitions are easily missed: not-a-numbers, ties, tensors without elements."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import onnx.helper as make
import onnx.numpy_helper
import pytest

from ndarray_rt.errors import InputMismatch, ModelFormatError, OutOfMemory
from ndarray_rt.onnx import load

from .helpers import loaded, model_of, reference, run_thrice


def one_node(op: str, inputs: Sequence[Any], opset: int = 20,
             constants: dict[int, Any] | None = None, **attributes: Any) -> Any:
    """A model of one node with these inputs; `constants` by position are in the file."""
    constants = constants or {}
    names = [f"x{i}" if i in constants or a is not None else "" for i, a in enumerate(inputs)]
    given = [make.make_tensor_value_info(
        names[i], make.np_dtype_to_tensor_dtype(a.dtype), [None] * a.ndim)
        for i, a in enumerate(inputs) if a is not None and i not in constants]
    fixed = [onnx.numpy_helper.from_array(a, f"x{i}") for i, a in constants.items()]
    graph = make.make_graph([make.make_node(op, names, ["y"], **attributes)], "g", given,
                            [make.make_tensor_value_info("y", 1, None)], fixed)
    return make.make_model(graph, opset_imports=[make.make_opsetid("", opset)], ir_version=8)


def assert_as_reference(proto: Any, inputs: dict[str, Any], **near: Any) -> None:
    run_thrice(load(proto), inputs, reference(proto, inputs), **near)


@pytest.mark.parametrize(("dtype", "most"), [
    ("float8e4m3fn", 448), ("float8e4m3fnuz", 240), ("float8e5m2", 57344),
    ("float8e5m2fnuz", 57344)])
@pytest.mark.parametrize("source", ["float", "float16", "double"])
def test_floats_of_eight_bits_saturate(dtype: str, most: float, source: str) -> None:
    """The greatest number stands for all that are greater, and for infinity, unless a node says
    otherwise: in each run alike."""
    pytest.importorskip("ml_dtypes")
    x = np.array([np.inf, 65000, 1.0, -0.25, np.nan, -65000, -np.inf],
                 {"float": np.float32, "float16": np.float16, "double": np.float64}[source])
    number = getattr(onnx.TensorProto, dtype.upper())
    plain, kept = (loaded(f"g ({source}[N] x) => ({dtype}[N] y) "
                          f"{{ y = Cast<to = {number}{more}>(x) }}", 19)
                   for more in ("", ", saturate = 0"))
    none = np.inf if dtype == "float8e5m2" else np.nan
    for _ in range(3):
        np.testing.assert_array_equal(plain(x)[0].astype(np.float32),
                                      [most, most, 1, -0.25, np.nan, -most, -most])
        np.testing.assert_array_equal(kept(x)[0].astype(np.float32),
                                      [none, none, 1, -0.25, np.nan, -none, -none])


def test_the_sign_of_what_is_no_number_is_none() -> None:
    x = np.array([np.nan, -np.inf, -0.0, 0, 2, np.inf], np.float32)
    run_thrice(loaded("g (float[N] x) => (float[N] y) { y = Sign(x) }"), {"x": x}, [np.sign(x)])
    half = x.astype(np.float16)
    run_thrice(loaded("g (float16[N] x) => (float16[N] y) { y = Sign(x) }"), {"x": half},
               [np.sign(half)])


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_samples_between_two_places(padding: str, corners: int) -> None:
    """Which is nearer is decided before the place is brought inside."""
    x = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)
    across = np.array([-3, -2, -1.5, -1, -0.5, 0, 0.25, 0.5, 1, 1.5, 2, 3], np.float32)
    grid = np.stack([across, np.full_like(across, 0.1)], -1)[None, None]
    proto = one_node("GridSample", [x, grid], mode="nearest", padding_mode=padding,
                     align_corners=corners)
    assert_as_reference(proto, {"x0": x, "x1": grid}, rtol=0, atol=0)


ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "floor": math.floor, "ceil": math.ceil,
    "round_prefer_floor": lambda place: math.ceil(place - Fraction(1, 2)),
    "round_prefer_ceil": lambda place: math.floor(place + Fraction(1, 2))}


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("scales", [(0.5, 0.6), (1.3, 1.5), (0.7, 2.4)])
def test_resize_around_the_middle(scales: tuple[float, float], rounding: str) -> None:
    """As the definition says by fractions: the place in the middle is no rounding's."""
    x = np.random.default_rng(1).normal(size=(1, 2, 7, 5)).astype(np.float32)
    factors = np.array([1, 1, *scales], np.float32)
    proto = one_node("Resize", [x, None, factors], 18, {2: factors}, mode="nearest",
                     coordinate_transformation_mode="half_pixel_symmetric", nearest_mode=rounding)
    expected = x
    for axis in (2, 3):
        length, scale = x.shape[axis], Fraction(float(factors[axis]))
        size = math.floor(length * scale)
        offset = Fraction(length, 2) * (1 - size / (length * scale))
        places = [offset + (i + Fraction(1, 2)) / scale - Fraction(1, 2) for i in range(size)]
        rows = [min(max(ROUNDINGS[rounding](place), 0), length - 1) for place in places]
        expected = np.take(expected, rows, axis)
    run_thrice(load(proto), {"x0": x}, [expected], rtol=0, atol=0)


# ---- tensors without elements -------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [
    ((0, 3, 4), (4, 5)), ((3, 4), (4, 0)), ((2, 0, 3, 4), (2, 1, 4, 5)), ((3, 0), (0, 5)),
    ((2, 0, 1, 0, 17), (17, 3)), ((0,), (0,)), ((2, 3, 0), (0, 4))], ids=str)
@pytest.mark.parametrize("is_constant", [False, True])
def test_products_without_elements(a: Any, b: Any, is_constant: bool) -> None:
    x, w = np.ones(a, np.float32), np.ones(b, np.float32)
    proto = one_node("MatMul", [x, w], constants={1: w} if is_constant else None)
    run_thrice(load(proto), {"x0": x} if is_constant else {"x0": x, "x1": w}, [np.matmul(x, w)])


def test_a_network_on_a_batch_without_pictures() -> None:
    model = loaded("g (float[N,3,5,5] x, float[4,3,3,3] w) => (float[N,16] y, float[N,4,2,2] p) {"
                   " c = Conv(x, w) r = Relu(c) p = MaxPool<kernel_shape = [2,2]>(r)"
                   " f = Flatten(p) y = Softmax(f) }")
    w = np.ones((4, 3, 3, 3), np.float32)
    for n in (0, 2, 0):
        y, p = model(np.ones((n, 3, 5, 5), np.float32), w)
        assert y.shape == (n, 16)
        assert p.shape == (n, 4, 2, 2)
        np.testing.assert_allclose(y, np.full((n, 16), 1 / 16))


def test_pools_gathers_and_pads_without_elements() -> None:
    x = np.zeros((0, 3, 5, 5), np.float32)
    run_thrice(loaded("g (float[N,3,5,5] x) => (float[N,3,4,4] y) {"
                      " y = MaxPool<kernel_shape = [2,2]>(x) }"), {"x": x},
               [np.zeros((0, 3, 4, 4), np.float32)])
    run_thrice(loaded("g (float[5,3] x, int64[N,2] i) => (float[N] y) { y = GatherND(x, i) }"),
               {"x": np.ones((5, 3), np.float32), "i": np.zeros((0, 2), np.int64)},
               [np.zeros(0, np.float32)])
    run_thrice(loaded("g (float[N,3] x) => (float[A,B] y) {"
                      " p = Constant<value = int64[4] {1, 1, 1, 1}>() y = Pad(x, p) }"),
               {"x": np.zeros((0, 3), np.float32)}, [np.zeros((2, 5), np.float32)])


def test_a_part_without_elements_of_data_with_some() -> None:
    model = loaded("g (float[4,3] x) => (float[0,3] e, float[4,3] y) {"
                   " a = Constant<value_ints = [2]>() e = Slice(x, a, a)"
                   " j = Concat<axis = 0>(e, x) y = Relu(j) }")
    x = np.ones((4, 3), np.float32)
    run_thrice(model, {"x": x}, [np.zeros((0, 3), np.float32), x])


# ---- sizes and bodies ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "y = Add(column, row)", "y = Max(column, row)", "y = Pow(column, row)", "y = Less(column, row)",
    "c = Cast<to = 9>(column) y = Where(c, column, row)", "y = MatMul(column, row)",
    'y = Einsum<equation = "ab,bc->ac">(column, row)',
    'y = Einsum<equation = "a...,...c">(column, row)'])
def test_sizes_are_looked_at_before_constants_are_computed(text: str) -> None:
    """A tebibyte: it would not be there."""
    proto = model_of("g (float[N] x) => (float[A,B] y) {"
                     " size = Constant<value_ints = [2000000]>() ones = ConstantOfShape(size)"
                     " first = Constant<value_ints = [-1, 1]>() column = Reshape(ones, first)"
                     " second = Constant<value_ints = [1, -1]>() row = Reshape(ones, second)"
                     f" {text} }}")
    with pytest.raises(ModelFormatError, match="max_bytes"):
        load(proto, max_bytes=1 << 30)(np.ones(2, np.float32))


@pytest.mark.parametrize(("equation", "shapes"), [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ii->i", [(3, 3)]),
    ("...ij,...jk->...ik", [(5, 2, 3), (1, 3, 4)]), ("b...,b", [(2, 3, 4), (2,)]),
    (" i j -> j i ", [(2, 3)]), ("i,i->", [(3,), (3,)]), ("ba", [(2, 3)])])
def test_sizes_of_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape, np.float32) for shape in shapes]
    proto = one_node("Einsum", arrays, constants=dict(enumerate(arrays)), equation=equation)
    run_thrice(load(proto), {}, [np.einsum(equation.replace(" ", ""), *arrays)])


def test_no_memory_is_an_error_of_ours() -> None:
    model = load(model_of("g (int64[A,1] a, int64[1,B] b) => (int64[A,B] y) { y = Add(a, b) }"),
                 max_bytes=1 << 62)
    whole = np.zeros(1, np.int64)
    wide = np.lib.stride_tricks.as_strided(whole, (1 << 28,), (0,))
    with pytest.raises(OutOfMemory, match="Add"):
        model(wide[:, None], wide[None])


@pytest.mark.parametrize("body", [
    # rows of different lengths
    "l, y = Loop(n, yes, x) <body = b (int64 i, bool c, float[k] s) => (bool go, float[m] t,"
    " float[m] r) { go = Identity(c) t = Concat<axis = 0>(s, s) r = Identity(t) }>",
    # a condition without elements
    "z = Constant<value_ints = [0]>() y = Loop(n, yes, x) <body = b (int64 i, bool c, float[k] s)"
    " => (bool go, float[m] t) { e = ConstantOfShape(z) go = Cast<to = 9>(e) t = Neg(s) }>",
    # an axis that is not there
    "y = Scan<num_scan_inputs = 1, scan_input_axes = [5], body = b (float[] s) => (float[] t) {"
    " t = Neg(s) }>(x)",
    # an axis of the result that is not there
    "y = Scan<num_scan_inputs = 1, scan_output_axes = [5], body = b (float[] s) => (float[] t) {"
    " t = Neg(s) }>(x)"])
def test_bodies_that_do_not_go_together(body: str) -> None:
    model = loaded("g (float[K] x, int64[M] n) => (float[A] y) {"
                   f" yes = Constant<value = bool {{1}}>() {body} }}")
    with pytest.raises(InputMismatch, match=r"Loop|Scan"):
        model(np.ones(3, np.float32), np.array([2, 0, 0, 0, 0], np.int64))


def deform_inputs(rank: int, group: int, parts: int) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Inputs of a DeformConv and its attributes: each axis with other pads, strides, dilations."""
    drawn = np.random.default_rng(rank)
    kernel = (2, 3, 1)[:rank]
    pads = [1, 0, 1][:rank] + [0, 2, 1][:rank]
    dims = [6, 7, 3][:rank]
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, (2, 1, 1), strict=False)]
    outs = [(n + pads[i] + pads[rank + i] - extents[i]) // s + 1
            for i, (n, s) in enumerate(zip(dims, (2, 1, 1), strict=False))]
    points = math.prod(kernel)
    shapes = [(2, 4, *dims), (6, 4 // group, *kernel), (2, parts * points * rank, *outs), (6,),
              (2, parts * points, *outs)]
    arrays = [drawn.normal(size=shape).astype(np.float32) for shape in shapes]
    return arrays, {"pads": pads, "strides": [2, 1, 1][:rank], "dilations": [2, 1, 1][:rank],
                    "group": group, "offset_group": parts, "kernel_shape": kernel}


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_deformed_windows_without_offsets_are_plain_ones(rank: int) -> None:
    (x, w, offset, bias, _), attributes = deform_inputs(rank, 2, 2)
    del attributes["offset_group"]
    offset = np.zeros((2, offset.shape[1] // 2, *offset.shape[2:]), np.float32)
    plain = one_node("Conv", [x, w, bias], opset=19, **attributes)
    expected = load(plain).run({"x0": x, "x1": w, "x2": bias})
    run_thrice(load(one_node("DeformConv", [x, w, offset, bias], opset=19, **attributes)),
               {"x0": x, "x1": w, "x2": offset, "x3": bias}, expected, atol=1e-5)


@pytest.mark.parametrize(("group", "parts"), [(1, 1), (2, 1), (1, 2), (2, 4)])
def test_deformed_windows_of_groups(group: int, parts: int) -> None:
    """NumPy's form, with pads of its own on each side, and the engine's, on padded data."""
    arrays, attributes = deform_inputs(2, group, parts)
    inputs = {f"x{i}": a for i, a in enumerate(arrays)}
    expected = reference(one_node("DeformConv", arrays, opset=19, **attributes), inputs)
    for dtype in (np.float32, np.float64):
        given = [a.astype(dtype) for a in arrays]
        run_thrice(load(one_node("DeformConv", given, opset=19, **attributes)),
                   {f"x{i}": a for i, a in enumerate(given)},
                   [y.astype(dtype) for y in expected], atol=1e-5)
    pads = attributes.pop("pads")
    padded = np.pad(arrays[0], [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    run_thrice(load(one_node("DeformConv", [padded, *arrays[1:]], opset=19, **attributes)),
               {**inputs, "x0": padded}, expected, atol=1e-5)


def test_deformed_windows_with_other_offsets_are_refused() -> None:
    (x, w, offset, *_), attributes = deform_inputs(2, 1, 1)
    model = load(one_node("DeformConv", [x, w, offset], opset=19, **attributes))
    with pytest.raises(InputMismatch, match=r"offsets \(2, 11, .*expected \(2, 12,"):
        model.run({"x0": x, "x1": w, "x2": offset[:, 1:]})


@pytest.mark.parametrize(("mode", "expected"), [
    ("TF", [3, 0, 2]), ("IDF", [0.5, 0, 4]), ("TFIDF", [1.5, 0, 8])])
def test_counts_of_ngrams(mode: str, expected: list[float]) -> None:
    """The word 5, the pairs (7, 5), which is there at both distances, and (9, 5)."""
    x = np.array([5, 7, 5, 5], np.int64)
    proto = one_node("TfIdfVectorizer", [x], opset=9, mode=mode, min_gram_length=1,
                     max_gram_length=2, max_skip_count=1, ngram_counts=[0, 1],
                     pool_int64s=[5, 7, 5, 9, 5], ngram_indexes=[0, 2, 1],
                     weights=[0.5, 4.0, 2.0])
    made, = load(proto).run({"x0": x})
    np.testing.assert_array_equal(made, np.array(expected, np.float32))


@pytest.mark.parametrize("op", ["RandomNormal", "RandomUniform"])
def test_random_numbers_of_a_shape(op: str) -> None:
    model = load(model_of(f"g (float[3] x) => (float[2,3] y) {{ r = {op}<shape = [2, 3],"
                          " seed = 7.0>() y = Add(r, x) }"))
    zeros = np.zeros(3, np.float32)
    first, = model(zeros)
    assert len(np.unique(first)) == 6
    for _ in range(2):
        np.testing.assert_array_equal(model(zeros)[0], first)
    np.testing.assert_allclose(model(zeros + 1)[0], first + 1, atol=1e-6)


def test_pixels_of_what_is_no_image() -> None:
    pytest.importorskip("PIL")
    stream = np.arange(30, dtype=np.uint8)
    for form, depth in (("RGB", 3), ("BGR", 3), ("Grayscale", 1)):
        made, = load(one_node("ImageDecoder", [stream], pixel_format=form)).run({"x0": stream})
        assert made.shape == (0, 0, depth)
        assert made.dtype == np.uint8
    with pytest.raises(ModelFormatError, match="pixel_format 'YUV'"):
        load(one_node("ImageDecoder", [stream], pixel_format="YUV")).run({"x0": stream})


@pytest.mark.parametrize("form", ["RGB", "Grayscale"])
def test_pixels_count_before_they_are_read(form: str) -> None:
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    image.new("RGB", (1000, 1200)).save(file, "png")
    stream = np.frombuffer(file.getvalue(), np.uint8)
    proto = one_node("ImageDecoder", [stream], pixel_format=form)
    assert load(proto, max_bytes=1 << 24).run({"x0": stream})[0].shape[:2] == (1200, 1000)
    with pytest.raises(InputMismatch, match=r"\(1200, 1000, 3\).*max_bytes"):
        load(proto, max_bytes=1 << 21).run({"x0": stream})


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 4), (2, 0, 4), (2, 3, 0)], ids=str)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("opset", [11, 12, 13])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax_of_no_elements(op: str, opset: int, axis: int | None,
                                shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    run_thrice(load(one_node(op, [x], opset, **attributes)), {"x0": x}, [x])


@pytest.mark.parametrize(("own", "target", "expected"), [
    ((0, 4, 6), (0, -1), (0, 24)), ((0, 4, 6), (0, 12, -1), (0, 12, 2)),
    ((2, 0, 6), (0, 0, -1), (2, 0, 6)), ((2, 0, 6), (0, -1), (2, 0)), ((0, 4), (-1, 4), (0, 4))],
    ids=str)
def test_reshape_of_no_elements(own: tuple[int, ...], target: tuple[int, ...],
                                expected: tuple[int, ...]) -> None:
    """Dimensions that stay say nothing about the one that is found, as with any other batch."""
    x = np.zeros(own, np.float32)
    proto = one_node("Reshape", [x, np.array(target)], constants={1: np.array(target)})
    run_thrice(load(proto), {"x0": x}, [np.zeros(expected, np.float32)])


def test_reshape_that_nothing_tells() -> None:
    """With a 0 that is meant, any number would do; the message names the node once."""
    x, target = np.zeros((0, 4), np.float32), np.array([0, -1])
    proto = one_node("Reshape", [x, target], constants={1: target}, allowzero=1)
    with pytest.raises(InputMismatch, match="does not become") as caught:
        load(proto)(x)
    assert str(caught.value).count("Reshape node 0") == 1


EMPTY_BATCHES: dict[str, tuple[list[tuple[int, ...]], tuple[int, ...], dict[str, Any]]] = {
    "GroupNormalization": ([(0, 4, 3), (4,), (4,)], (0, 4, 3), {"num_groups": 2}),
    "DeformConv": ([(0, 2, 3, 3), (3, 2, 1, 1), (0, 2, 3, 3)], (0, 3, 3, 3), {}),
    "Flatten": ([(0, 4, 3)], (0, 12), {}),
    "GlobalMaxPool": ([(0, 4, 3, 3)], (0, 4, 1, 1), {}),
    "Transpose": ([(0, 4, 3)], (3, 0, 4), {"perm": [2, 0, 1]}),
}


@pytest.mark.parametrize("op", EMPTY_BATCHES)
def test_empty_batches(op: str) -> None:
    shapes, expected, attributes = EMPTY_BATCHES[op]
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    model = load(one_node(op, arrays, 21, **attributes))
    run_thrice(model, {f"x{i}": a for i, a in enumerate(arrays)}, [np.zeros(expected, np.float32)])


@pytest.mark.parametrize("batch", [0, 1])
def test_gathers_from_no_rows(batch: int) -> None:
    x, places = np.zeros((0, 3, 4), np.float32), np.zeros((0, 1), np.int64)
    expected = np.zeros((0, 3, 4) if batch == 0 else (0, 4), np.float32)
    run_thrice(load(one_node("GatherND", [x, places], batch_dims=batch)),
               {"x0": x, "x1": places}, [expected])


def test_message_names_the_node_once() -> None:
    x = np.zeros((0, 3), np.float32)
    with pytest.raises(InputMismatch, match="empty sequence") as caught:
        load(one_node("ArgMax", [x], axis=0))(x)
    assert str(caught.value).count("ArgMax node 0") == 1


@pytest.mark.parametrize("size", [(1, 3, 4, 5), (2, 3, 4, 1), (2, 1, 3, 2, 4), (1, 1, 1, 3, 2)],
                         ids=str)
@pytest.mark.parametrize("corners", [None, 0, 1])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # in the reference
def test_affine_grid(is_known: bool, corners: int | None, size: tuple[int, ...]) -> None:
    axes, dims = len(size) - 2, np.array(size)
    theta = np.random.default_rng(0).standard_normal((size[0], axes, axes + 1)).astype(np.float32)
    proto = one_node("AffineGrid", [theta, dims], constants={1: dims} if is_known else {},
                     **({} if corners is None else {"align_corners": corners}))
    given = {"x0": theta} if is_known else {"x0": theta, "x1": dims}
    assert_as_reference(proto, given, atol=1e-6)


def test_affine_grid_of_no_rows_and_of_wrong_shapes() -> None:
    theta, size = np.zeros((0, 2, 3), np.float32), np.array([0, 3, 4, 5])
    proto = one_node("AffineGrid", [theta, size])
    run_thrice(load(proto), {"x0": theta, "x1": size}, [np.zeros((0, 4, 5, 2), np.float32)])
    with pytest.raises(InputMismatch, match=r"theta of shape \(0, 2, 3\), expected \(1, 2, 3\)"):
        load(one_node("AffineGrid", [theta, size + 1], constants={1: size + 1}))(theta)
    with pytest.raises(InputMismatch, match="expected 4 or 5 numbers"):
        load(one_node("AffineGrid", [theta, size[:3]], constants={1: size[:3]}))(theta)


def test_functions_of_schemas_with_outputs_left_out() -> None:
    x, labels = np.arange(8, dtype=np.float32).reshape(2, 4), np.array([1, 3])
    assert_as_reference(one_node("SoftmaxCrossEntropyLoss", [x, labels], 13, reduction="none"),
                        {"x0": x, "x1": labels})
