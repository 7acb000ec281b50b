"""Operators that choose, order and move elements, as scripts call them; what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import ParameterError, ShapeError, TypeMismatch

A = np.arange(12, dtype="f4").reshape(3, 4)


def nd(values: Any, dtype: str = "float32") -> Any:
    return mx.nd.array(values, dtype=dtype)


def equal(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(got.asnumpy(), np.asarray(want))


def test_boolean_mask() -> None:
    x, mask = nd(A), nd([1, 0, -0.5])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.contrib.boolean_mask(x, mask)
    equal(y, A[[0, 2]])
    y.backward(nd([[1, 2, 3, 4], [5, 6, 7, 8]]))
    equal(x.grad, [[1, 2, 3, 4], [0] * 4, [5, 6, 7, 8]])
    assert mx.nd.contrib.boolean_mask(x, nd([0, 0, 0], "int32")).shape == (0, 4)
    for index, error in ((nd([1, 0]), ShapeError), (nd([[1, 0, 1]]), ShapeError),
                         ([1, 0, 1], TypeMismatch)):
        with pytest.raises(error, match="boolean_mask: index"):
            mx.nd.contrib.boolean_mask(x, index)
    with pytest.raises(ParameterError, match="axis got 1"):
        mx.nd.contrib.boolean_mask(x, mask, axis=1)


def test_methods() -> None:
    x = nd(A)
    equal(x.topk(k=2), [[3, 2]] * 3)
    equal(x.topk(axis=0, k=1, ret_typ="value"), A[2:])
    values, places = x.topk(k=1, ret_typ="both", dtype="int64")
    equal(values, A[:, 3:])
    assert places.dtype == np.int64
    equal(x.sort(is_ascend=False), A[:, ::-1])
    equal(x.argsort(axis=0), [[0] * 4, [1] * 4, [2] * 4])
    equal(x.tile(reps=(2, 1)), np.tile(A, (2, 1)))
    equal(x.repeat(repeats=2, axis=1), A.repeat(2, 1))
    equal(x.flip(axis=1), A[:, ::-1])
    equal(x.diag(), [0, 5, 10])
    equal(x.shape_array(), [3, 4])
    equal(x.size_array(), [12])
    image = x.reshape((1, 1, 3, 4))
    assert image.pad(mode="edge", pad_width=(0, 0, 0, 0, 1, 1, 2, 2)).shape == (1, 1, 5, 8)
    equal(image.space_to_depth(1).depth_to_space(1), A.reshape(1, 1, 3, 4))
    first, second = x.split_v2(2, axis=1)
    equal(first, A[:, :2])
    equal(second, A[:, 2:])
    assert [part.shape for part in x.split_v2((1, 1), axis=1)] == [(3, 1), (3, 0), (3, 3)]


def test_symbols() -> None:
    x = mx.sym.Variable("x")
    assert mx.sym.topk(x, ret_typ="both", name="t").list_outputs() == ["t_output0", "t_output1"]
    assert mx.sym.topk(x, ret_typ="value", name="t").list_outputs() == ["t_output0"]
    assert mx.sym.topk(x, name="t").list_outputs() == ["t_output"]
    assert mx.sym.sort(x, name="s").list_outputs() == ["s_output0"]
    assert mx.sym.stack(num_args=2, name="s").list_arguments() == ["s_arg0", "s_arg1"]
    made = mx.sym.split_v2(x, (1, 3), axis=1)
    assert made.infer_shape(x=(2, 5))[1] == [(2, 1), (2, 2), (2, 2)]
    executor = x.topk(k=2, ret_typ="value").simple_bind(mx.cpu(), x=(2, 5))
    for _ in range(3):
        values = np.random.default_rng(1).permutation(10).reshape(2, 5).astype("f4")
        (out,) = executor.forward(is_train=True, x=nd(values))
        equal(out, np.sort(values)[:, :2:-1])
        executor.backward(mx.nd.ones((2, 2)))
        equal(executor.grad_dict["x"], values >= np.sort(values)[:, 3:4])


def test_written_in_place() -> None:
    x = nd(A)
    mx.nd._internal._scatter_set_nd(x, nd([-1, -2]), nd([[0, 2], [1, 3]]), shape=(3, 4), out=x)
    want = A.copy()
    want[[0, 2], [1, 3]] = -1, -2
    equal(x, want)


@pytest.mark.parametrize(("made", "error", "text"), [
    (lambda x: mx.nd.gather_nd(x, nd([[3], [0]])), IndexError, "index 3 is out of bounds for axis"),
    (lambda x: mx.nd.gather_nd(x, nd([[0], [-5]])), IndexError, "index -5 .* with size 4"),
    (lambda x: mx.nd.gather_nd(x, nd([0, 1])), ShapeError, "expected rank 2 at least"),
    (lambda x: mx.nd.gather_nd(x, nd([[0]] * 3)), ShapeError, "more coordinates than data"),
    (lambda x: mx.nd.scatter_nd(x, nd([[0, 1, 7]]), shape=(5, 4)), IndexError, "index 7"),
    (lambda x: mx.nd.scatter_nd(x, nd([[0, 1]]), shape=(5, 4)), ShapeError, "what indices name"),
    (lambda x: mx.nd.contrib.index_copy(x, nd([3]), nd([[1] * 4])), IndexError, "holds 3"),
    (lambda x: mx.nd.contrib.index_copy(x, nd([1]), nd([[1] * 3])), ShapeError, "new_tensor"),
    (lambda x: mx.nd.topk(x, k=5), ShapeError, "at least k=5 elements"),
    (lambda x: mx.nd.topk(x, axis=2), ShapeError, "axis 2"),
    (lambda x: mx.nd.topk(x, ret_typ="all"), ParameterError, "'ret_typ' got 'all'"),
    (lambda x: mx.nd.pad(x, mode="edge", pad_width=(0, 0, 1, 1)), ShapeError, "rank 4 or 5"),
    (lambda x: mx.nd.pad(x.reshape((1, 1, 3, 4)), mode="edge", pad_width=(0, 0, 1, 1) * 2),
     ShapeError, "0 for the first two axes"),
    (lambda x: mx.nd.pad(x.reshape((1, 1, 3, 4)), mode="reflect",
                         pad_width=(0, 0, 0, 0, 3, 0, 0, 0)), ShapeError, "more elements"),
    (lambda x: mx.nd.diag(x, k=4), ShapeError, "no diagonal k=4"),
    (lambda x: mx.nd.diag(x, axis1=1, axis2=-1), ShapeError, "are one axis"),
    (lambda x: mx.nd.stack(x, x, axis=3), ShapeError, "axis 3"),
    (lambda x: mx.nd.stack(x, nd([1])), ShapeError, "shapes of the inputs disagree"),
    (lambda x: mx.nd.tile(x, reps=(-1, 1)), ParameterError, "'reps' got"),
    (lambda x: mx.nd.repeat(x, repeats=-1), ParameterError, "'repeats' got -1"),
    (lambda x: mx.nd.depth_to_space(x.reshape((1, 12, 1, 1)), block_size=5), ShapeError, "block"),
    (lambda x: mx.nd.split_v2(x, 3, axis=1), ShapeError, "a multiple of sections=3"),
    (lambda x: mx.nd.split_v2(x, (3, 1), axis=1), ShapeError, "rising numbers"),
    (lambda x: mx.nd.split_v2(x, 2, axis=1, squeeze_axis=True), ShapeError, "parts of length 1"),
    (lambda x: mx.nd.SequenceLast(x, nd([1]), use_sequence_length=True), ShapeError, "sequence_le"),
    (lambda x: mx.nd.SequenceReverse(x, axis=1), ParameterError, "'axis' got 1"),
    (lambda x: mx.nd.Crop(x.reshape((1, 1, 3, 4)), h_w=(4, 4)), ShapeError, "height 4 from 0"),
    (lambda x: mx.nd.im2col(x.reshape((1, 1, 3, 4)), kernel=(4, 1)), ShapeError, "does not fit"),
    (lambda x: mx.nd.unravel_index(x, shape=(3, 0)), ShapeError, "has no places"),
    (lambda x: mx.nd.ravel_multi_index(x, shape=(3, 4)), ShapeError, r"expected \(2, n\)"),
    (lambda x: mx.nd.khatri_rao(x, x[:, :2]), ShapeError, "columns of the matrices"),
    (lambda x: mx.nd.batch_take(x, nd([0, 1, 2])), TypeMismatch, "int32"),
])
def test_refusals(made: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        made(nd(A))
