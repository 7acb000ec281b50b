"""One test for each bug that once gave wrong numbers, crashed or lost state."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt._array.interop import from_numpy
from ndarray_rt._array.ndarray import NDArray
from ndarray_rt.errors import NdrtError, ParameterError, ShapeError
from ndarray_rt.executor.executor import Executor


def _bound(w: NDArray, x: NDArray, grad_req: str = "null") -> Executor:
    net = mx.sym.Convolution(mx.sym.Variable("data"), mx.sym.Variable("w"), kernel=(3, 3),
                             num_filter=16, no_bias=True)
    grads = {"w": mx.nd.zeros(w.shape)} if grad_req != "null" else None
    exe: Executor = net.bind(mx.cpu(), {"data": x, "w": w}, args_grad=grads,
                             grad_req={"data": "null", "w": grad_req})
    return exe


def test_a_view_of_an_executors_output_in_a_special_layout_has_its_numbers() -> None:
    # the storage behind it has bytes as its dtype, and was converted as if its contents had too
    exe = _bound(mx.nd.ones((16, 8, 3, 3)), mx.nd.ones((4, 8, 5, 5)))
    exe.forward()
    out = exe.outputs[0]
    assert out.is_special
    np.testing.assert_array_equal(out[0:1].asnumpy(), np.full((1, 16, 3, 3), 72))
    np.testing.assert_array_equal(out.reshape((-1,)).asnumpy(), np.full(4 * 16 * 9, 72))
    np.testing.assert_array_equal(out.asnumpy(), np.full((4, 16, 3, 3), 72))


def test_a_write_to_a_view_of_an_executors_output_keeps_the_rest() -> None:
    exe = _bound(mx.nd.ones((16, 8, 3, 3)), mx.nd.ones((4, 8, 5, 5)))
    exe.forward()
    out = exe.outputs[0]
    out[1] += 1
    np.testing.assert_array_equal(out.asnumpy()[:, 0, 0, 0], [72, 73, 72, 72])


def test_a_weight_written_through_an_export_that_is_gone_is_packed_again() -> None:
    # the export ended before the next run, and nothing told that there had been writes
    w = mx.nd.ones((16, 8, 3, 3))
    exe = _bound(w, mx.nd.ones((1, 8, 5, 5)), "write")
    for value in range(5):
        seen = np.asarray(w, copy=False)
        seen[:] = value
        del seen
        exe.forward()
        np.testing.assert_array_equal(exe.outputs[0].asnumpy(), np.full((1, 16, 3, 3), 72 * value))


def test_two_weights_that_are_parts_of_one_array_are_packed_apart() -> None:
    both = mx.nd.ones((32, 8, 3, 3))
    both[16:] = 5
    data = mx.sym.Variable("data")
    net = mx.sym.Group([
        mx.sym.Convolution(data, mx.sym.Variable(name), kernel=(3, 3), num_filter=16, no_bias=True)
        for name in ("first", "second")])
    exe = net.bind(mx.cpu(), {"data": mx.nd.ones((1, 8, 5, 5)), "first": both[:16],
                              "second": both[16:]}, grad_req="null")
    for _ in range(4):
        exe.forward()
        assert [out[0, 0, 0, 0].asscalar() for out in exe.outputs] == [72, 360]
    both[16:] = 2
    exe.forward()
    assert [out[0, 0, 0, 0].asscalar() for out in exe.outputs] == [72, 144]


def test_a_weight_on_a_part_of_a_numpy_array_follows_writes_to_the_whole() -> None:
    whole = np.ones((17, 8, 3, 3), np.float32)
    exe = _bound(from_numpy(whole[1:]), mx.nd.ones((1, 8, 5, 5)))
    for value in range(5):
        whole[:] = value
        exe.forward()
        np.testing.assert_array_equal(exe.outputs[0].asnumpy(), np.full((1, 16, 3, 3), 72 * value))


def test_an_export_that_only_read_does_not_spoil_the_tape() -> None:
    w = mx.nd.array([1.0, 2.0, 3.0])
    w.attach_grad()
    with mx.autograd.record():
        y = (w * w).sum()
    assert float(np.mean(np.asarray(w))) == 2
    y.backward()
    np.testing.assert_array_equal(w.grad.asnumpy(), [2, 4, 6])


@pytest.mark.parametrize(("dtype", "expected"), [("float32", 0.0), ("float64", np.nan)])
@pytest.mark.parametrize("native", [True, False])
def test_relu_of_nan_is_mxnets(dtype: str, expected: float, native: bool) -> None:
    """MXNet 1.9.1 gives 0 in float32, where oneDNN computes it, and NaN in other dtypes."""
    with config.override(NDRT_ONEDNN=native):
        y = mx.nd.Activation(mx.nd.array([np.nan, 1], dtype=dtype), act_type="relu")
    np.testing.assert_array_equal(y.asnumpy(), [expected, 1])


def test_sigmoid_of_truth_values() -> None:
    x = mx.nd.array(np.array([False, True]), dtype="bool")
    assert mx.nd.Activation(x, act_type="sigmoid").asnumpy().tolist() == [True, True]


def test_dropout_of_an_array_of_rank_0() -> None:
    x = mx.nd.array(np.float32(3.0).reshape(()))
    with mx.autograd.record():
        y = mx.nd.Dropout(x, p=0.5)
    assert y.shape == ()
    assert float(y.asnumpy()) in (0.0, 6.0)


@pytest.mark.parametrize("shape", [(2, 3, 1, 2, 1, 2), (1, 3, 1, 1, 1, 1, 1, 2)])
def test_prelu_of_more_dims_than_onednn_takes(shape: tuple[int, ...]) -> None:
    x = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    gamma = np.array([0.5, 0.25, 2], np.float32)
    y = mx.nd.LeakyReLU(mx.nd.array(x), mx.nd.array(gamma), act_type="prelu").asnumpy()
    slope = gamma.reshape(1, 3, *[1] * (len(shape) - 2))
    np.testing.assert_allclose(y, np.where(x > 0, x, x * slope), rtol=1e-6)


def test_results_of_more_than_12_dims_are_refused_by_name() -> None:
    x = mx.nd.ones((1,) * 12)
    with pytest.raises(ShapeError, match=r"expand_dims.* rank 13, expected at most 12"):
        mx.nd.expand_dims(x, axis=0)
    with pytest.raises(ShapeError, match=r"dot.* rank 22, expected at most 12"):
        mx.nd.dot(x, x)
    with pytest.raises(ShapeError, match="rank 13"):
        mx.sym.expand_dims(mx.sym.Variable("x"), axis=0).infer_shape(x=x.shape)


@pytest.mark.parametrize("shape", [(0, 3, 2, 2), (2, 0, 2, 2)])
def test_gradient_of_global_max_pooling_without_elements(shape: tuple[int, ...]) -> None:
    x = mx.nd.zeros(shape)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Pooling(x, pool_type="max", global_pool=True, kernel=(1, 1))
    y.backward()
    assert x.grad.shape == shape


def test_views_of_more_than_12_dims_are_refused() -> None:
    """Exports have room for 12."""
    x = mx.nd.ones((2, 3))
    makes: list[Callable[[], Any]] = [
        lambda: x.reshape((1,) * 11 + (2, 3)), lambda: x[(None,) * 11],
        lambda: x.reshape((1,) * 18 + (2, 3))]
    for make in makes:
        with pytest.raises(ShapeError, match="expected at most 12"):
            make()


@pytest.mark.parametrize("again", [
    lambda exe: exe.forward(), lambda exe: exe.copy_params_from({"x": mx.nd.ones((2, 3))})])
def test_a_run_inside_a_run_of_one_executor_is_refused(again: Any) -> None:
    exe = mx.sym.tanh(mx.sym.relu(mx.sym.Variable("x"))).simple_bind(mx.cpu(), x=(2, 3))
    exe.set_monitor_callback(lambda name, array: again(exe))
    with pytest.raises(mx.MXNetError, match="running in this very thread"):
        exe.forward()
    exe.set_monitor_callback(None)
    assert exe.forward()[0].asnumpy().tolist() == [[0, 0, 0]] * 2


def test_a_pickle_with_another_order_of_bytes_is_no_surprise() -> None:
    bad = pickle.dumps(mx.nd.ones(3)).replace(b"little", b"lottle")
    with pytest.raises(NdrtError, match="the order of bytes is 'lottle'"):
        pickle.loads(bad)


def test_scores_that_are_no_numbers_come_last_in_negative_mining() -> None:
    # natively the order of those that compare with nothing was left to chance
    anchors = np.random.default_rng(0).random((1, 40, 4), dtype=np.float32)
    anchors[..., 2:] += anchors[..., :2]
    labels = np.array([[[1, 0.1, 0.1, 0.4, 0.5]]], np.float32)
    pred = np.random.default_rng(1).standard_normal((1, 3, 40)).astype(np.float32)
    pred[:, :, ::3] = np.nan
    found = []
    for native in (True, False):
        with config.override(NDRT_ONEDNN=native):
            made = mx.nd.contrib.MultiBoxTarget(*map(mx.nd.array, (anchors, labels, pred)),
                                                negative_mining_ratio=3)
        found.append([y.asnumpy() for y in made])
    for ours, want in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, want)


def test_thresholds_of_boxes_have_single_precision() -> None:
    # what single precision can not tell from 0 switched suppression on in numpy only
    prob = np.random.default_rng(0).random((1, 3, 9), dtype=np.float32)
    shifts = np.zeros((1, 36), np.float32)
    anchors = np.tile(np.array([0.1, 0.1, 0.6, 0.7], np.float32), (1, 9, 1))
    found = []
    for native in (True, False):
        with config.override(NDRT_ONEDNN=native):
            made = mx.nd.contrib.MultiBoxDetection(*map(mx.nd.array, (prob, shifts, anchors)),
                                                   nms_threshold=1e-300)
        found.append(made.asnumpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_wrong_counts_of_parts_and_classes_are_refused() -> None:
    with pytest.raises(ParameterError, match="'sections' got 2147483648"):
        mx.nd.split_v2(mx.nd.ones((4, 4)), 2**31)
    with pytest.raises(ShapeError, match="_contrib_MultiBoxTarget: cls_pred has shape"):
        mx.nd.contrib.MultiBoxTarget(mx.nd.ones((1, 3, 4)), mx.nd.ones((1, 1, 5)),
                                     mx.nd.zeros((1, 0, 3)))


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1e-300), (1.0, 1e-30), (1e-20, 1e20)])
def test_gemm_with_factors_far_apart(alpha: float, beta: float) -> None:
    # the product times alpha / beta left single precision
    a, c = np.full((2, 2), 3, np.float32), np.zeros((2, 2), np.float32)
    made = mx.nd.linalg.gemm(mx.nd.array(a), mx.nd.array(a), mx.nd.array(c), alpha=alpha, beta=beta)
    np.testing.assert_allclose(made.asnumpy(), np.full((2, 2), 18 * alpha), rtol=1e-5)


@pytest.mark.parametrize("height", [np.nan, np.inf])
def test_sizes_of_images_that_are_not_finite_are_refused(height: float) -> None:
    info = mx.nd.array([[height, 32, 1]])
    with pytest.raises(ParameterError, match=r"^_contrib_Proposal: im_info holds"):
        mx.nd.contrib.Proposal(mx.nd.ones((1, 24, 2, 2)), mx.nd.zeros((1, 48, 2, 2)), info)


@pytest.mark.parametrize("compute", [
    lambda x: x * 2, lambda x: x / 4, mx.nd.negative, mx.nd.degrees, lambda x: x.__imul__(3)])
def test_products_leave_the_sign_of_zero_in_any_layout(
        compute: Callable[[NDArray], NDArray]) -> None:
    # oneDNN's linear function added +0
    values = np.array([-0.0, 0.0, -1.0, 2.0] * 6, np.float32).reshape(2, 3, 4)
    want = np.signbit(compute(mx.nd.array(values)).asnumpy())
    plain = mx.nd.array(values)
    for x in (plain, plain.to_mkldnn("acb"), plain.to_mkldnn("aBc8b")):
        made = compute(x).asnumpy()
        np.testing.assert_array_equal(np.signbit(made), want)
        np.testing.assert_array_equal(want, np.signbit(values) ^ want[0, 0, 3])


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 2), (2, 3, 2, 4), (2, 3, 1, 2, 2)])
def test_softmax_output_goes_over_a_sample_in_inference_as_in_training(
        shape: tuple[int, ...]) -> None:
    net = mx.sym.SoftmaxOutput(mx.sym.Variable("data"), name="softmax")
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=shape)
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    want = np.exp(data) / np.exp(data).reshape(2, -1).sum(1).reshape(2, *[1] * (len(shape) - 1))
    for is_train in (False, True):
        got = executor.forward(is_train=is_train, data=data)[0].asnumpy()
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize(("given", "size"), [
    ({"scale_height": 2}, (4, 1)), ({"scale_width": 2}, (1, 6)), ({"height": 4, "scale_width": 2},
                                                                 (4, 6))])
def test_bilinear_resize_takes_one_scale(given: dict[str, Any], size: tuple[int, int]) -> None:
    made = mx.nd.contrib.BilinearResize2D(mx.nd.ones((1, 2, 2, 3)), **given)
    assert made.shape == (1, 2, *size)
    assert (made.asnumpy() == 1).all()


def test_arrays_have_a_rank_of_at_most_12() -> None:
    assert mx.nd.exp(mx.nd.zeros((1,) * 12)).shape == (1,) * 12
    with pytest.raises(ShapeError, match="has rank 13, expected at most 12"):
        mx.nd.zeros((1,) * 13)
    with pytest.raises(ShapeError, match="expected at most 12"):
        mx.nd.zeros((1,) * 12).expand_dims(0)
