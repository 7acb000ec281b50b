"""What fails inside an operator says which one it was; sizes beyond memory end at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import (
    NdrtError,
    OutOfMemory,
    ParameterError,
    ShapeError,
    TypeMismatch,
    name_call,
)
from ndarray_rt.op.infer import run_infer_shape, same_type
from ndarray_rt.op.params import NoParams
from ndarray_rt.op.registry import OpDef

nd = mx.nd
X = nd.ones((2, 3))
IMAGES = nd.ones((1, 2, 4, 4))
HUGE = 2**45

CALLS: list[tuple[str, Callable[[], Any]]] = [
    ("gather_nd", lambda: nd.gather_nd(X, nd.full((1, 1), 9))),
    ("gather_nd", lambda: nd.gather_nd(nd.ones((0, 3)), nd.ones((2, 2)))),
    ("scatter_nd", lambda: nd.scatter_nd(nd.ones((1,)), nd.full((1, 1), 9), shape=(3,))),
    ("_contrib_index_copy", lambda: nd.contrib.index_copy(X, nd.array([9]), nd.ones((1, 3)))),
    ("CTCLoss", lambda: nd.CTCLoss(nd.ones((4, 1, 3)), nd.full((1, 2), -9e9))),
    ("_image_random_hue", lambda: nd.image.random_hue(nd.ones((4, 4, 3)), 2, 1)),
    ("_random_uniform_like", lambda: nd.random.uniform_like(X, low=5, high=1)),
    ("_histogram", lambda: nd.histogram(X, bins=0, range=(0, 1))),
    ("tile", lambda: nd.tile(X, reps=(HUGE, 1))),
    ("broadcast_to", lambda: nd.broadcast_to(nd.ones((1, 3)), shape=(HUGE, 3))),
    ("ROIPooling", lambda: nd.ROIPooling(IMAGES, nd.ones((1, 5)), pooled_size=(HUGE, 1),
                                         spatial_scale=1)),
    ("_contrib_arange_like", lambda: nd.contrib.arange_like(X, ctx="None")),
    ("_index", lambda: nd._internal._index(X, key="a", num_args=1)),
]


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_what_fails_inside_names_the_operator(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(NdrtError, match=f"^{name}: "):
        call()


def test_a_node_is_named_and_the_class_stays() -> None:
    net = mx.sym.gather_nd(mx.sym.Variable("x"), mx.sym.Variable("i"), name="look")
    bound = net.bind(mx.cpu(), {"x": X, "i": nd.full((1, 1), 9)}, grad_req="null")
    with pytest.raises(IndexError, match=r'^gather_nd "look": index 9'):
        bound.forward()
    error = ShapeError("take: no")
    name_call(error, "take", "words")
    assert str(error) == "take: no"


def test_counts_beyond_memory_end_at_once() -> None:
    with pytest.raises(ParameterError, match="_split_v2: parameter 'sections'"):
        nd._internal._split_v2(X, indices=(), sections=2**31)
    with pytest.raises(ParameterError, match="_contrib_ROIAlign: parameter 'sample_ratio'"):
        nd.contrib.ROIAlign(IMAGES, nd.ones((1, 5)), pooled_size=(1, 1), spatial_scale=1,
                            sample_ratio=2**31)
    with pytest.raises(OutOfMemory, match=r"^_sample_unique_zipfian: "):
        nd._internal._sample_unique_zipfian(range_max=100, shape=(2**44, 1))
    with pytest.raises(OutOfMemory, match=r"^im2col: "):
        nd.im2col(IMAGES, kernel=(1, 1), pad=(2**40, 2**22), stride=(2**45, 2**45))


def test_im2col_takes_strides_beyond_the_images() -> None:
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    made = nd.im2col(nd.array(x), kernel=(2, 2), stride=(2**40, 2**40))
    assert made.asnumpy().ravel().tolist() == [0, 1, 4, 5]
    back = nd.col2im(made, output_size=(4, 4), kernel=(2, 2), stride=(2**40, 2**40))
    assert back.asnumpy().sum() == 10


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ratio", [0.0, -1.0])
def test_anchors_of_impossible_ratios_warn_of_nothing(ratio: float) -> None:
    made = nd.contrib.MultiBoxPrior(IMAGES, sizes=(0.5,), ratios=(ratio, 1)).asnumpy()
    assert np.isfinite(made.reshape(-1, 2, 4)[:, 1]).all()


def test_proposals_of_an_image_of_no_rows() -> None:
    info = nd.array([[-100.0, 64.0, 1.0]])
    made = nd.contrib.Proposal(nd.ones((1, 2, 4, 4)), nd.zeros((1, 4, 4, 4)), info, scales=(1,),
                               ratios=(1,), rpn_post_nms_top_n=3, output_score=True)
    assert (made[1].asnumpy() == -1).all()


@pytest.mark.parametrize("scale", [np.inf, np.nan, -2.0])
@pytest.mark.parametrize("mode", ["size", "odd_scale"])
def test_images_are_resized_by_finite_numbers(mode: str, scale: float) -> None:
    with pytest.raises(ParameterError,
                       match=f"^_contrib_BilinearResize2D: parameter 'scale_width' got {scale}"):
        nd.contrib.BilinearResize2D(IMAGES, mode=mode, scale_height=2, scale_width=scale)


def test_a_shape_rule_that_comes_out_below_zero_is_refused() -> None:
    def below(p: Any, ins: Any, outs: Any) -> Any:
        return ins, [(2, -3)]
    made = OpDef("made_for_a_test", NoParams, inputs=("data",), infer_shape=below,
                 infer_type=same_type, compute=lambda *_: None, no_gradient="none")
    with pytest.raises(ShapeError, match=r"made_for_a_test: output 0 would have shape \(2, -3\)"):
        run_infer_shape(made, NoParams(), [(2, 3)], [None])


def test_a_symbol_names_the_operator_of_a_wrong_dtype() -> None:
    with pytest.raises(TypeMismatch, match=r'^Cast "to": dtype 8 is none of'):
        mx.sym.Cast(mx.sym.Variable("x"), dtype=8, name="to")


def test_index_arrays_beyond_an_empty_array() -> None:
    index = nd.array([1, 255], dtype="int64")
    with pytest.raises(IndexError, match=r"^_index: .*index 255 is out of bounds"):
        nd._internal._index(nd.ones((2, 16)), index, key=":,@", num_args=2)
    with pytest.raises(ShapeError, match=r"^_index: data has shape \(2, 3\)"):
        nd._internal._index(X, key=str(2**63), num_args=1)


def test_a_new_output_of_all_finite_holds_nothing() -> None:
    for _ in range(20):
        (nd.ones((1,)) * np.nan).asnumpy()  # memory that comes back to the pool
        assert nd.all_finite(X, init_output=False).asscalar() == 1
    held = nd.zeros((1,))
    nd.all_finite(X, init_output=False, out=held)
    assert held.asscalar() == 0


def test_all_numbers_of_a_zipfian_series_come_in_time() -> None:
    numbers, tries = nd._internal._sample_unique_zipfian(range_max=5000, shape=(1, 5000))
    assert sorted(numbers.asnumpy()[0]) == list(range(5000))
    assert tries.asscalar() >= 5000
