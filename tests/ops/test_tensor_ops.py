"""What the tables of cases can not say of the tensor operators: refusals, sharing, inference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt import autograd, config, nd
from ndarray_rt._array.copy import read_numpy, write_numpy
from ndarray_rt._array.ndarray import new_array
from ndarray_rt._array.req import Req
from ndarray_rt.errors import NdrtError, ParameterError, ShapeError, TypeMismatch
from ndarray_rt.op.context import OpContext
from ndarray_rt.op.dispatch import dispatch
from ndarray_rt.op.infer import run_infer_shape, run_infer_type
from ndarray_rt.op.registry import find
from ndarray_rt.storage.desc import tagged_desc

FLOAT32 = np.dtype(np.float32)
Shapes = list[tuple[int, ...] | None]


def infer(op: str, params: dict[str, Any], ins: Shapes, outs: Shapes | None = None,
          ) -> tuple[Shapes, Shapes]:
    found = find(op)
    parsed = found.params.parse(params, op, "n1")
    unknown: Shapes = [None] * len(found.output_names(parsed))
    return run_infer_shape(found, parsed, ins, outs or unknown, "n1")


@pytest.mark.parametrize(("op", "params", "ins", "error", "text"), [
    ("elemwise_add", {}, [(2, 3), (3, 2)], ShapeError,
     r"input 1 has shape \(3, 2\), expected \(2, 3\)"),
    ("broadcast_add", {}, [(2, 3), (4, 3)], ShapeError, r"rhs has shape \(4, 3\)"),
    ("_plus_scalar", {"scalar": "x"}, [(2,)], ParameterError, "'scalar' got 'x'"),
    ("_plus_scalar", {"skalar": 1}, [(2,)], ParameterError, "unknown parameter 'skalar'"),
    ("add_n", {"num_args": 0}, [], ParameterError, "'num_args' got 0"),
    ("clip", {"a_min": 0}, [(2,)], ParameterError, "'a_max' is missing"),
    ("Cast", {"dtype": "number"}, [(2,)], ParameterError, "'dtype' got 'number'"),
    ("Concat", {"num_args": 2, "dim": 2}, [(2, 3), (2, 3)], ShapeError, "dim 2"),
    ("Concat", {"num_args": 2, "dim": 0}, [(2, 3), (2, 2)], ShapeError, "arg1 has shape"),
    ("SliceChannel", {"num_outputs": 2}, [(2, 3)], ShapeError, "num_outputs=2"),
    ("SliceChannel", {"num_outputs": 1, "squeeze_axis": True}, [(2, 3)], ShapeError, "expected 1"),
    ("Reshape", {"shape": (7,)}, [(2, 3)], ShapeError, "6 elements, expected 7"),
    ("Reshape", {"shape": (5, -1)}, [(2, 3)], ShapeError, "does not divide"),
    ("Reshape", {"shape": (-1, -1)}, [(2, 3)], ShapeError, "more than one"),
    ("Reshape", {"shape": (0, 0, 0)}, [(2, 3)], ShapeError, "data has rank 2"),
    ("Reshape", {"shape": (-4, 4, 2, 0)}, [(2, 3)], ShapeError, "does not divide"),
    ("Reshape", {"shape": (-4, 2)}, [(2, 3)], ShapeError, "needs two numbers"),
    ("Reshape", {"shape": (-1,)}, [(2, 0)], None, ""),
    ("Reshape", {"shape": (0, -1)}, [(0, 3)], ShapeError, "does not divide"),
    ("Flatten", {}, [()], ShapeError, "rank 0"),
    ("expand_dims", {"axis": 3}, [(2, 3)], ShapeError, "axis 3"),
    ("squeeze", {"axis": 1}, [(1, 2)], ShapeError, "expected 1 along axis 1"),
    ("squeeze", {"axis": (0, -2)}, [(1, 2)], ShapeError, "twice"),
    ("transpose", {"axes": (0, 0)}, [(2, 3)], ShapeError, "twice"),
    ("transpose", {"axes": (0,)}, [(2, 3)], ShapeError, "axes="),
    ("SwapAxis", {"dim1": 4}, [(2, 3)], ShapeError, "dim 4"),
    ("dot", {}, [(2, 3), (2, 3)], ShapeError, "expected 3"),
    ("dot", {"transpose_a": True}, [(3,), (3,)], ShapeError, "vectors"),
    ("batch_dot", {}, [(2, 3), (3, 2)], ShapeError, "at least 3"),
    ("batch_dot", {}, [(2, 3, 4), (3, 4, 5)], ShapeError, "fits lhs"),
    ("_arange", {"start": 5, "stop": 0}, [], ShapeError, "name no values"),
    ("_arange", {"start": 0, "stop": "inf"}, [], ShapeError, "name no values"),
    ("_full", {"shape": (2,)}, [], ParameterError, "'value' is missing"),
    ("_zeros", {"shape": (-2,)}, [], ParameterError, "'shape' got"),
    ("_random_uniform", {"low": 2, "high": 1, "shape": 2}, [], ShapeError, "above"),
    ("_random_normal", {"scale": 0, "shape": 2}, [], ParameterError, "scale"),
    ("broadcast_to", {"shape": (2, 4)}, [(1, 3)], ShapeError, "broadcasts to"),
    ("broadcast_axis", {"axis": 1, "size": 4}, [(1, 3)], ShapeError, "expected 1 along axis 1"),
    ("broadcast_like", {"lhs_axes": (0,), "rhs_axes": (5,)}, [(1, 3), (4,)], ShapeError,
     "rhs_axes"),
    ("Embedding", {"input_dim": 4}, [(2,), (4, 3)], ParameterError, "'output_dim' is missing"),
    ("Embedding", {"input_dim": 4, "output_dim": 3}, [(2,), (5, 3)], ShapeError,
     r"weight has shape \(5, 3\)"),
    ("take", {"axis": 2}, [(2, 3), (4,)], ShapeError, "axis 2"),
    ("take", {}, [(0, 3), (4,)], ShapeError, "nothing can be taken"),
    ("take", {"mode": "round"}, [(2, 3), (4,)], ParameterError, "'mode' got 'round'"),
    ("one_hot", {"depth": -1}, [(2,)], ParameterError, "'depth' got -1"),
    ("pick", {"axis": 1}, [(2, 3), (3,)], ShapeError, r"index has shape \(3,\)"),
    ("pick", {"axis": 1}, [(2, 0), (2,)], ShapeError, "nothing can be picked"),
    ("slice", {"begin": (0, 1), "end": 2}, [(3, 3)], ShapeError, "differ in length"),
    ("slice", {"begin": (0, 1), "end": (1, 2)}, [(3,)], ShapeError, "expected rank 2"),
    ("slice", {"begin": 0, "end": 2, "step": 0}, [(3,)], ShapeError, "has a 0"),
    ("slice", {"begin": "x", "end": 2}, [(3,)], ParameterError, "'begin' got 'x'"),
    ("slice_axis", {"axis": 0, "begin": 2, "end": 1}, [(3,)], ShapeError, "no part of axis 0"),
    ("slice_axis", {"axis": 0, "begin": 0, "end": 4}, [(3,)], ShapeError, "no part of axis 0"),
    ("slice_like", {}, [(3, 4), (3,)], ShapeError, "expected rank 2"),
    ("slice_like", {"axes": 1}, [(3, 4), (3, 5)], ShapeError, "at most 4 along axis 1"),
    ("reshape_like", {}, [(2, 3), (7,)], ShapeError, "6 elements, expected 7"),
    ("reshape_like", {"lhs_begin": 1, "lhs_end": 1}, [(2, 3), (6,)], ShapeError, "no axes of lhs"),
    ("where", {}, [(3,), (2, 3), (2, 3)], ShapeError, r"condition has shape \(3,\)"),
    ("SequenceMask", {"axis": 2}, [(2, 3, 4)], ShapeError, "axis=2"),
    ("SequenceMask", {"use_sequence_length": True}, [(2, 3), (2,)], ShapeError,
     r"sequence_length has shape \(2,\)"),
    ("_contrib_arange_like", {"axis": 5}, [(2, 3)], ShapeError, "axis 5"),
    ("_linalg_gemm2", {"axis": 1}, [(2, 3), (3, 4)], ShapeError, "axis of the columns"),
    ("_linalg_gemm2", {}, [(2, 3), (2, 4)], ShapeError, "fits A"),
    ("_contrib_interleaved_matmul_selfatt_qk", {"heads": 9}, [(3, 2, 24)], ShapeError,
     "multiple of 3 . heads = 27"),
    ("_contrib_interleaved_matmul_encdec_qk", {"heads": 2}, [(3, 2, 8), (5, 2, 8)], ShapeError,
     r"keys_values has shape \(5, 2, 8\)"),
    ("_contrib_interleaved_matmul_selfatt_valatt", {"heads": 2}, [(3, 2, 24), (4, 3, 5)],
     ShapeError, r"attention has shape \(4, 3, 5\)"),
])
def test_wrong_calls(op: str, params: dict[str, Any], ins: Shapes,
                     error: type[NdrtError] | None, text: str) -> None:
    if error is None:
        infer(op, params, ins)
        return
    with pytest.raises(error, match=text) as caught:
        infer(op, params, ins)
    assert str(caught.value).startswith(f'{op} "n1": ')


def test_taking_beyond_the_axis_raises_where_asked() -> None:
    ctx, op = OpContext(), find("take")
    a, indices, out = (new_array(shape, FLOAT32) for shape in ((3, 2), (2,), (2, 2)))
    write_numpy(indices, np.array([0.0, 3.0], np.float32), ctx.stream)
    write_numpy(out, np.ones((2, 2), np.float32), ctx.stream)
    with pytest.raises(ShapeError, match="indices holds 3, expected 0 to 2"):
        dispatch(op, op.params.parse({"mode": "raise"}, "take"), ctx, [a, indices], [out],
                 [Req.kWriteTo])
    assert (read_numpy(out, ctx.stream) == 1).all()


def test_dtypes_do_not_mix() -> None:
    op = find("broadcast_add")
    with pytest.raises(TypeMismatch, match="float32 and int32"):
        run_infer_type(op, op.params(), [FLOAT32, np.dtype(np.int32)], [None])
    gemm2 = find("_linalg_gemm2")
    with pytest.raises(TypeMismatch, match="neither float32 nor float64"):
        run_infer_type(gemm2, gemm2.params(), [np.dtype(np.int32)] * 2, [None])
    normal = find("_random_normal")
    with pytest.raises(TypeMismatch, match="int32"):
        run_infer_type(normal, normal.params.parse({"dtype": "int32"}, "n"), [], [None])


@pytest.mark.parametrize(("op", "params", "ins", "outs", "want"), [
    ("elemwise_add", {}, [None, (2, -1)], [(-1, 3)], ([(2, 3), (2, 3)], [(2, 3)])),
    ("Reshape", {"shape": (2, 12)}, [(-1, 3, 4)], [None], ([(2, 3, 4)], [(2, 12)])),
    ("Reshape", {"shape": (-1, 12)}, [(-1, 3, 4)], [(5, 12)], ([(5, 3, 4)], [(5, 12)])),
    ("Reshape", {"shape": (0, -1)}, [(-1, 3, 4)], [None], ([(-1, 3, 4)], [(-1, -1)])),
    ("transpose", {"axes": (1, 0)}, [None], [(2, 3)], ([(3, 2)], [(2, 3)])),
    ("Concat", {"num_args": 2}, [(2, 3), (-1, -1)], [(2, 7)], ([(2, 3), (2, 4)], [(2, 7)])),
    ("SliceChannel", {"num_outputs": 2}, [(-1, 4, -1)], [(3, 2, -1), (-1, 2, 5)],
     ([(3, 4, 5)], [(3, 2, 5), (3, 2, 5)])),
    ("expand_dims", {"axis": 0}, [None], [(1, 3)], ([(3,)], [(1, 3)])),
    ("_zeros", {"shape": (0, 4)}, [], [(5, -1)], ([], [(5, 4)])),
    ("broadcast_add", {}, [(-1, 3), (2, 1)], [None], ([(-1, 3), (2, 1)], [(2, 3)])),
    ("broadcast_add", {}, [None, (2, 1)], [(2, 3)], ([None, (2, 1)], [(2, 3)])),
    ("_arange", {"start": 1, "infer_range": True}, [], [(5,)], ([], [(5,)])),
])
def test_partial_shapes(op: str, params: dict[str, Any], ins: Shapes, outs: Shapes,
                        want: tuple[Shapes, Shapes]) -> None:
    assert infer(op, params, ins, outs) == want


@pytest.mark.parametrize("tag", [None, "acdb", "aBcd16b"])
@pytest.mark.parametrize(("op", "params", "shape"), [
    ("_copy", {}, (2, 20, 3, 5)), ("Flatten", {}, (2, 300)),
    ("Reshape", {"shape": (-1, 5)}, (120, 5)),
    ("expand_dims", {"axis": 1}, (2, 1, 20, 3, 5)), ("BlockGrad", {}, (2, 20, 3, 5)),
])
def test_identities_in_place(op: str, params: dict[str, Any], shape: tuple[int, ...],
                             tag: str | None) -> None:
    """Memory is left as it is where it holds the new shape too: in the default layout, and in a
    dense one where only axes of size 1 come or go. Else it goes to the new shape's default one."""
    ctx = OpContext()
    value = np.arange(600, dtype=np.float32).reshape(2, 20, 3, 5)
    x = new_array(value.shape, FLOAT32)
    write_numpy(x, value, ctx.stream)
    if tag is not None:
        x._chunk.reorder(tagged_desc(FLOAT32, value.shape, tag), ctx.stream)
    y = x._as_array(shape, FLOAT32)
    version = x._chunk.version
    ctx.stream.counters.reset()
    definition = find(op)
    dispatch(definition, definition.params.parse(params, op), ctx, [x], [y], [Req.kWriteTo])
    counters = ctx.stream.counters
    if tag is None or shape == value.shape:
        assert counters.kernels == counters.reorders == 0
        assert x._chunk.version == version
    elif tag == "acdb" and op == "expand_dims":
        assert counters.kernels == counters.reorders == 0
        assert x._chunk.mkl_mem is tagged_desc(FLOAT32, value.shape, tag).reshaped(shape)
        assert x._chunk.version > version
    else:
        assert not x._chunk.is_special
    assert np.array_equal(read_numpy(y, ctx.stream), value.reshape(shape))


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(("op", "dtype", "length"), [
    (op, dtype, length) for op in ("argmax", "argmin", "topk", "argsort")
    for dtype, length in (("uint8", 256), ("int8", 128), ("float16", 2048))
])
def test_places_that_a_dtype_does_not_hold(op: str, dtype: str, length: int, native: bool) -> None:
    """They are refused, and the last one that it holds is right."""
    order: dict[str, dict[str, Any]] = {
        "topk": {"dtype": dtype}, "argsort": {"dtype": dtype, "is_ascend": False}}
    if op == "argsort" and dtype == "int8":
        pytest.skip("int8 is no dtype of places")
    at_end = np.zeros(length, dtype)
    at_end[-1] = 1
    x = nd.array(1 - at_end if op == "argmin" else at_end, dtype=dtype)
    one_more = nd.zeros(length + 1, dtype=dtype)
    function = getattr(nd, op)
    params = order.get(op, {"axis": 0})
    if dtype == "int8" and op == "topk":
        params = {"dtype": "int32"}
    with config.override(NDRT_ONEDNN=native):
        assert int(function(x, **params)[0].asscalar()) == length - 1
        if params.get("dtype") == "int32":
            return
        with pytest.raises(ShapeError, match=f"expected at most {length} places"):
            function(one_more, **params)


def test_numbers_of_places_that_a_dtype_does_not_hold() -> None:
    columns = nd.array([[1, 50], [2, 91]], dtype="float16")
    with pytest.raises(ShapeError, match="does not hold each place"):
        nd.ravel_multi_index(columns, shape=(100, 100))
    assert nd.ravel_multi_index(columns, shape=(100, 20)).asnumpy().tolist() == [22, 1091]
    with pytest.raises(ShapeError, match="does not hold each place"):
        nd.unravel_index(nd.array([6148], dtype="float16"), shape=(5000, 3))
    with pytest.raises(ShapeError, match="more places than can be counted"):
        nd.unravel_index(nd.array([1]), shape=(10**10, 10**10, 10**10))


def test_scores_of_a_width_that_heads_do_not_divide() -> None:
    """As in MXNet elements are read one after the other: 17 numbers of a step leave 2 heads 5 of
    them, and those of the last steps have no gradient."""
    x = np.random.default_rng(3).normal(size=(4, 2, 17)).astype("f4")
    split = x.reshape(-1)[:4 * 2 * 12].reshape(4, 4, 3, 2).transpose(1, 2, 0, 3)
    for is_native in (True, False):
        data = nd.array(x)
        data.attach_grad()
        with config.override(NDRT_ONEDNN=is_native), autograd.record():
            y = nd.contrib.interleaved_matmul_selfatt_qk(data, heads=2)
            y.backward()
        want = split[:, 0] @ split[:, 1].transpose(0, 2, 1) / np.sqrt(2)
        np.testing.assert_allclose(y.asnumpy(), want, rtol=1e-5, atol=1e-6)
        grad = data.grad.asnumpy().reshape(-1)
        assert not grad[4 * 2 * 12:].any()
        sums = grad[:4 * 2 * 12].reshape(4, 4, 3, 2).transpose(1, 2, 0, 3)
        for part, other in ((0, 1), (1, 0)):
            each = split[:, other].sum(1, keepdims=True) / np.sqrt(2)
            np.testing.assert_allclose(sums[:, part], np.repeat(each, 4, 1), rtol=1e-5, atol=1e-5)
        assert not sums[:, 2].any()
