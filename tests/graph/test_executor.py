"""Executors: binding, requests, what is shared and what is refused."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import NameMismatch, ParameterError, ShapeError, TypeMismatch
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.stream import Stream
from ndarray_rt.testing.faults import live_bytes

AnyArray = np.ndarray[Any, Any]


def small_net() -> mx.sym.Symbol:
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(data, num_hidden=4, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="act")
    return mx.sym.FullyConnected(net, num_hidden=2, name="fc2")


def filled(executor: mx.executor.Executor, seed: int = 0) -> mx.executor.Executor:
    rng = np.random.default_rng(seed)
    for array in (*executor.arg_dict.values(), *executor.aux_dict.values()):
        array[:] = rng.uniform(-1, 1, array.shape)
    return executor


def reference(exe: mx.executor.Executor,
              out_grad: AnyArray) -> tuple[AnyArray, dict[str, AnyArray]]:
    """Output and gradients of small_net by hand."""
    v = {n: a.asnumpy().astype(np.float64) for n, a in exe.arg_dict.items()}
    hidden = np.tanh(v["data"] @ v["fc1_weight"].T + v["fc1_bias"])
    out = hidden @ v["fc2_weight"].T + v["fc2_bias"]
    d_hidden = (out_grad @ v["fc2_weight"]) * (1 - hidden**2)
    return out, {"fc2_weight": out_grad.T @ hidden, "fc2_bias": out_grad.sum(0),
                 "fc1_weight": d_hidden.T @ v["data"], "fc1_bias": d_hidden.sum(0),
                 "data": d_hidden @ v["fc1_weight"]}


def test_forward_and_backward_by_hand() -> None:
    exe = filled(small_net().simple_bind(mx.cpu(), data=(3, 5)))
    out_grad = np.random.default_rng(1).uniform(-1, 1, (3, 2))
    exe.forward(is_train=True)
    exe.backward(mx.nd.array(out_grad))
    out, grads = reference(exe, out_grad)
    np.testing.assert_allclose(exe.outputs[0].asnumpy(), out, rtol=1e-5)
    for name, grad in grads.items():
        np.testing.assert_allclose(exe.grad_dict[name].asnumpy(), grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("form", ["dict", "list"])
def test_requests_by_list_and_dict(form: str) -> None:
    net = small_net()
    names = net.list_arguments()
    by_name = {"data": "null", "fc1_weight": "add", "fc1_bias": "write", "fc2_weight": "add",
               "fc2_bias": "null"}
    req = by_name if form == "dict" else [by_name[n] for n in names]
    exe = filled(net.simple_bind(mx.cpu(), grad_req=req, data=(3, 5)))
    assert exe.grad_dict["data"] is None
    assert exe.grad_dict["fc2_bias"] is None
    out_grad = np.ones((3, 2))
    for _ in range(3):
        exe.forward(is_train=True)
        exe.backward([mx.nd.array(out_grad)])
    _, grads = reference(exe, out_grad)
    for name, times in (("fc1_weight", 3), ("fc1_bias", 1), ("fc2_weight", 3)):
        np.testing.assert_allclose(exe.grad_dict[name].asnumpy(), times * grads[name], rtol=1e-4,
                                   atol=1e-5)


def test_bind_uses_the_arrays_given() -> None:
    net = small_net()
    shapes, _, _ = net.infer_shape(data=(3, 5))
    args = [mx.nd.array(np.random.rand(*s)) for s in shapes]
    grads = {"fc1_weight": mx.nd.zeros((4, 5))}
    exe = net.bind(mx.cpu(), args, args_grad=grads)
    exe.forward(is_train=True)
    first = exe.outputs[0].asnumpy()
    exe.backward(mx.nd.ones((3, 2)))
    assert np.abs(grads["fc1_weight"].asnumpy()).sum() > 0
    args[0] *= 2  # the user's array is the bound one
    exe.forward()
    assert not np.allclose(exe.outputs[0].asnumpy(), first)
    assert exe.arg_arrays[0] is args[0]
    assert exe.output_dict["fc2_output"].shape == (3, 2)


def test_outputs_are_the_same_memory_each_call() -> None:
    exe = filled(small_net().simple_bind(mx.cpu(), grad_req="null", data=(3, 5)))
    held = exe.forward()[0]
    before = held.asnumpy()
    exe.forward(data=np.ones((3, 5)))
    assert not np.array_equal(held.asnumpy(), before)
    np.testing.assert_array_equal(held.asnumpy(), exe.outputs[0].asnumpy())


def test_one_gradient_for_two_arguments() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    exe = (a + b).simple_bind(mx.cpu(), grad_req={"a": "add", "b": "write"}, a=(2, 2), b=(2, 2))
    exe.grad_dict["a"][:] = 10
    exe.forward(is_train=True)
    exe.backward(mx.nd.array([[1, 2], [3, 4]]))
    np.testing.assert_array_equal(exe.grad_dict["a"].asnumpy(), [[11, 12], [13, 14]])
    np.testing.assert_array_equal(exe.grad_dict["b"].asnumpy(), [[1, 2], [3, 4]])


def test_an_argument_used_many_times() -> None:
    x = mx.sym.Variable("x")
    total = x
    for _ in range(12):
        total = total + x * x
    exe = total.simple_bind(mx.cpu(), x=(4,))
    exe.arg_dict["x"][:] = np.array([1, -2, 0.5, 3])
    exe.forward(is_train=True)
    exe.backward(mx.nd.ones((4,)))
    np.testing.assert_allclose(exe.grad_dict["x"].asnumpy(), [25, -47, 13, 73], rtol=1e-6)


def test_an_argument_the_outputs_do_not_depend_on() -> None:
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    net = mx.sym.Group([x * 2, mx.sym.BlockGrad(y)])
    exe = net.simple_bind(mx.cpu(), x=(2,), y=(2,))
    exe.grad_dict["y"][:] = 7
    exe.forward(is_train=True)
    exe.backward([mx.nd.ones((2,)), mx.nd.ones((2,))])
    np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(), [2, 2])
    np.testing.assert_array_equal(exe.grad_dict["y"].asnumpy(), [0, 0])


def test_arguments_that_share_memory() -> None:
    """The same array bound twice, and a gradient array that is an argument's own memory."""
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    x = mx.nd.array([1.0, 2.0, 3.0])
    exe = (a * b).bind(mx.cpu(), {"a": x, "b": x}, args_grad={"a": x}, grad_req="write")
    exe.forward(is_train=True)
    exe.backward(mx.nd.array([1.0, 10.0, 100.0]))
    np.testing.assert_array_equal(x.asnumpy(), [1, 20, 300])


def test_monitor_sees_every_output() -> None:
    exe = filled(small_net().simple_bind(mx.cpu(), grad_req="null", data=(3, 5)))
    plain = exe.forward()[0].asnumpy()
    seen = {}
    exe.set_monitor_callback(lambda name, array: seen.update({name: array.asnumpy()}),
                             monitor_all=True)
    exe.forward()
    assert {"fc1_output", "act_output", "fc2_output"} <= set(seen)
    assert any("fc1_weight" in name for name in seen)
    np.testing.assert_allclose(seen["act_output"], np.tanh(seen["fc1_output"]), rtol=1e-5)
    np.testing.assert_allclose(seen["fc2_output"], plain, rtol=1e-6)  # not fused while it is seen


def test_monitor_of_inputs_tells_the_names_that_mxnet_does() -> None:
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(1, 1), num_filter=2, name="c")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, name="bn"), act_type="relu", name="r")
    parts = mx.sym.split(net, num_outputs=2, name="sp")
    net = mx.sym.concat(mx.sym.broadcast_add(parts[0], parts[1], name="o"), parts[1], data,
                        name="cc", dim=1)
    exe = net.simple_bind(mx.cpu(), data=(2, 3, 4, 4))
    seen = []
    exe.set_monitor_callback(lambda name, array: seen.append(name), monitor_all=True)
    exe.forward()
    assert seen == [
        "data", "c_data", "c_weight", "c_weight", "c_bias", "c_bias", "c_output", "bn_data",
        "bn_gamma", "bn_gamma", "bn_beta", "bn_beta", "bn_moving_mean", "bn_moving_mean",
        "bn_moving_var", "bn_moving_var", "bn_output", "bn_mean", "bn_var", "r_input0", "r_output",
        "sp_data", "sp_output0", "sp_output1", "o_lhs", "o_rhs", "o_output", "cc_arg0", "cc_arg1",
        "data", "cc_arg2", "cc_output"]


def test_monitor_of_backward_tells_the_names_that_mxnet_does() -> None:
    data = mx.sym.Variable("data")
    net = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=2, name="fc"),
                            act_type="sigmoid", name="act")
    net = mx.sym.Concat(net, mx.sym.tanh(net, name="t"), name="cc")
    net = mx.sym.LinearRegressionOutput(net, name="loss", grad_scale=2)
    wanted = {"fc_weight": "write", "fc_bias": "write"}
    exe = net.simple_bind(mx.cpu(), data=(3, 5), grad_req=wanted)
    exe.arg_dict["fc_weight"][:] = np.linspace(-1, 1, 10).reshape(2, 5)
    exe.arg_dict["data"][:] = np.linspace(-2, 1, 15).reshape(3, 5)
    seen = {}
    exe.forward(is_train=True)
    exe.set_monitor_callback(lambda name, array: seen.update({name: array.asnumpy()}))
    exe.backward()
    weight_grad = exe.grad_dict["fc_weight"].asnumpy()
    exe.set_monitor_callback(None)
    assert [name for name in seen if "sum" not in name] == [
        "loss_backward_output0", "loss_backward_output1", "cc_backward_output0",
        "cc_backward_output1", "t_backward_output", "act_backward_output",
        "fc_backward_output0", "fc_backward_output1", "fc_backward_output2"]
    # the gradient of a label is none; that of data is computed for who looks, and for nobody else
    np.testing.assert_array_equal(seen["loss_backward_output1"], np.zeros((3, 4)))
    np.testing.assert_allclose(
        seen["fc_backward_output0"],
        seen["act_backward_output"] @ exe.arg_dict["fc_weight"].asnumpy(), rtol=1e-5)
    np.testing.assert_array_equal(seen["fc_backward_output1"], weight_grad)
    exe.forward(is_train=True)
    exe.backward()
    np.testing.assert_allclose(exe.grad_dict["fc_weight"].asnumpy(), weight_grad, rtol=1e-6)


def test_copy_params_from_casts_and_refuses_strangers() -> None:
    exe = small_net().simple_bind(mx.cpu(), grad_req="null", data=(3, 5))
    exe.copy_params_from({"fc1_bias": mx.nd.array([1, 2, 3, 4], dtype="float64")})
    np.testing.assert_array_equal(exe.arg_dict["fc1_bias"].asnumpy(), [1, 2, 3, 4])
    with pytest.raises(NameMismatch, match="stranger"):
        exe.copy_params_from({"stranger": mx.nd.ones((1,))})
    exe.copy_params_from({"stranger": mx.nd.ones((1,))}, allow_extra_params=True)


def test_reshape_shares_parameters() -> None:
    exe = filled(small_net().simple_bind(mx.cpu(), data=(4, 5)))
    small = exe.reshape(data=(2, 5))
    small.forward(data=np.ones((2, 5)))
    assert small.outputs[0].shape == (2, 2)
    assert small.arg_dict["fc1_weight"] is exe.arg_dict["fc1_weight"]
    with pytest.raises(ShapeError, match="allow_up_sizing"):
        exe.reshape(data=(8, 5))
    big = exe.reshape(data=(8, 5), allow_up_sizing=True)
    big.forward(is_train=True, data=np.ones((8, 5)))
    np.testing.assert_allclose(big.outputs[0].asnumpy()[0], small.outputs[0].asnumpy()[0],
                               rtol=1e-5)
    with pytest.raises(ShapeError, match="partial_shaping"):
        exe.reshape(data=(4, 4))
    wide = exe.reshape(data=(4, 6), partial_shaping=True, allow_up_sizing=True)
    assert wide.arg_dict["fc1_weight"].shape == (4, 6)


def test_eval() -> None:
    x = mx.sym.Variable("x")
    out, = (x * 2 + 1).eval(x=mx.nd.array([1.0, 2.0]))
    np.testing.assert_array_equal(out.asnumpy(), [3, 5])


def test_bad_bindings_are_refused_before_anything_happens() -> None:
    net = small_net()
    with pytest.raises(NameMismatch, match="dada"):
        net.simple_bind(mx.cpu(), dada=(3, 5))
    with pytest.raises(ShapeError, match="can not be inferred"):
        net.simple_bind(mx.cpu())
    with pytest.raises(ShapeError, match="fc1"):
        net.simple_bind(mx.cpu(), data=(3, 5), fc1_weight=(4, 6))
    with pytest.raises(ParameterError, match="sometimes"):
        net.simple_bind(mx.cpu(), grad_req="sometimes", data=(3, 5))
    with pytest.raises(mx.MXNetError, match="gpu"):
        net.simple_bind(mx.gpu(), data=(3, 5))
    with pytest.raises(NameMismatch, match="fc1_weight"):
        net.bind(mx.cpu(), {"data": mx.nd.ones((3, 5))})
    shapes, _, _ = net.infer_shape(data=(3, 5))
    args = [mx.nd.ones(s) for s in shapes]
    with pytest.raises(ParameterError, match="expected 5"):
        net.bind(mx.cpu(), args[:3])
    with pytest.raises(ShapeError, match="args_grad"):
        net.bind(mx.cpu(), args, args_grad={"data": mx.nd.ones((2, 5))})
    with pytest.raises(TypeMismatch, match="expected an NDArray"):
        net.bind(mx.cpu(), [np.ones(s) for s in shapes])
    with pytest.raises(ShapeError, match="fc1"):
        net.bind(mx.cpu(), [mx.nd.ones((3, 6)), *args[1:]])


def test_bad_calls_lose_nothing() -> None:
    exe = filled(small_net().simple_bind(mx.cpu(), data=(3, 5)))
    before = {n: a.asnumpy() for n, a in exe.arg_dict.items()}
    with pytest.raises(mx.MXNetError, match="out_grads"):
        exe.backward()
    with pytest.raises(NameMismatch, match="dada"):
        exe.forward(dada=np.ones((3, 5)))
    with pytest.raises(ShapeError, match=r"\(3, 4\)"):
        exe.forward(data=np.ones((3, 4)))
    with pytest.raises(TypeMismatch, match="data"):
        exe.forward(data=np.array([["a"] * 5] * 3))
    exe.forward(is_train=True)
    with pytest.raises(mx.MXNetError, match="out_grads"):
        exe.backward()
    with pytest.raises(ShapeError, match="out_grads"):
        exe.backward(mx.nd.ones((3, 3)))
    for name, value in before.items():
        np.testing.assert_array_equal(exe.arg_dict[name].asnumpy(), value)
    exe.forward(is_train=True)
    exe.backward(mx.nd.ones((3, 2)))


def conv_net() -> mx.sym.Symbol:
    net = mx.sym.Variable("data")
    for i, filters in enumerate((20, 8)):
        net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=filters, pad=(1, 1), name=f"c{i}")
        net = mx.sym.BatchNorm(net, fix_gamma=False, name=f"bn{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"r{i}")
    return mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")


def test_weights_are_converted_once() -> None:
    exe = filled(conv_net().simple_bind(mx.cpu(), grad_req="null", data=(2, 3, 8, 8)))
    first = exe.forward()[0].asnumpy()
    plain = {n: a.asnumpy() for n, a in exe.arg_dict.items()}
    # folded copies are packed, and the user's arrays as they were
    assert not exe.arg_dict["c1_weight"].is_mkldnn
    exe.forward()
    before = exe.counters["reorders"]
    for _ in range(20):
        exe.forward()
    # what is left is the reorder of the user's plain input
    assert exe.counters["reorders"] - before == 20
    np.testing.assert_array_equal(exe.outputs[0].asnumpy(), first)
    for name, value in plain.items():
        np.testing.assert_array_equal(exe.arg_dict[name].asnumpy(), value)
    exe.arg_dict["c1_weight"][:] = 0.5  # a write is seen, packed or not
    changed = exe.forward()[0].asnumpy()
    assert not np.allclose(changed, first)
    exe.arg_dict["c1_weight"][:] = plain["c1_weight"]
    np.testing.assert_array_equal(exe.forward()[0].asnumpy(), first)


def test_a_weight_that_is_written_to_again_and_again_is_packed_beside() -> None:
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=32, no_bias=True, name="c0")
    exe = filled(net.simple_bind(mx.cpu(), grad_req="null", data=(1, 16, 8, 8)))
    weight, reorders = exe.arg_dict["c0_weight"], []
    for i in range(8):
        weight[:] = np.random.default_rng(i).normal(size=weight.shape)
        before = exe.counters["reorders"]
        found = exe.forward()[0].asnumpy()
        reorders.append(exe.counters["reorders"] - before)
        expected = mx.nd.Convolution(exe.arg_dict["data"], weight.copy(), no_bias=True,
                                     kernel=(3, 3), num_filter=32).asnumpy()
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert exe.capture_state == "captured"
    # the input's and the new weight's, and those in one native call
    assert len(set(reorders[2:])) == 1
    before = exe.counters["reorders"]
    exe.forward()
    assert exe.counters["reorders"] - before < reorders[-1]


def test_weights_shared_with_training_stay_plain() -> None:
    net = conv_net()
    train = filled(net.simple_bind(mx.cpu(), data=(2, 3, 8, 8)))
    train.forward(is_train=False)
    assert not train.arg_dict["c1_weight"].is_mkldnn
    out = train.forward(is_train=False)[0].asnumpy()
    view = train.arg_dict["c1_weight"][2:3]
    view *= 3
    assert not np.allclose(train.forward(is_train=False)[0].asnumpy(), out)


def test_live_bytes_do_not_grow() -> None:
    exe = filled(conv_net().simple_bind(mx.cpu(), data=(2, 3, 8, 8)))
    grads = [mx.nd.ones(o.shape) for o in exe.outputs]

    def step() -> None:
        exe.forward(is_train=True)
        exe.backward(grads)
        exe.forward(is_train=False)
    for _ in range(5):
        step()
    before = live_bytes()
    for _ in range(200):
        step()
    assert live_bytes() == before


def test_a_released_executor_gives_its_memory_back() -> None:
    gc.collect()
    filled(conv_net().simple_bind(mx.cpu(), data=(2, 3, 8, 8))).forward()
    gc.collect()
    before = mx.memory_stats()["live"]
    for _ in range(3):
        filled(conv_net().simple_bind(mx.cpu(), data=(4, 3, 16, 16))).forward()
    gc.collect()
    assert mx.memory_stats()["live"] <= before


def test_the_third_inference_run_is_one_native_call() -> None:
    exe = filled(conv_net().simple_bind(mx.cpu(), grad_req="null", data=(2, 3, 8, 8)))
    data = np.random.default_rng(5).uniform(-1, 1, (4, 2, 3, 8, 8))
    wanted = []
    with config.override(NDRT_CAPTURE=False):
        wanted = [exe.forward(data=d)[0].asnumpy() for d in data]
    assert exe.capture_state != "captured"
    for d, want in zip(data, wanted, strict=True):
        np.testing.assert_array_equal(exe.forward(data=d)[0].asnumpy(), want)
    assert exe.capture_state == "captured"
    before = exe.counters
    exe.forward()
    # two convolutions that do all that follows them, and the pooling, which is a kernel
    assert exe.counters["primitives"] == before["primitives"] + 2
    assert exe.counters["kernels"] == before["kernels"] + 1


def test_a_captured_run_sees_every_change() -> None:
    exe = filled(conv_net().simple_bind(mx.cpu(), grad_req="null", data=(2, 3, 8, 8)))

    def both() -> None:
        """Captured as far as possible, and step by step."""
        got = exe.forward()[0].asnumpy()
        with config.override(NDRT_CAPTURE=False):
            want = exe.forward()[0].asnumpy()
        np.testing.assert_array_equal(got, want)
    for _ in range(4):
        both()
    assert exe.capture_state == "captured"
    changes: list[Callable[[], object]] = [
        lambda: exe.arg_dict["data"].__imul__(2),
        lambda: exe.arg_dict["c1_weight"].__iadd__(0.25),
        lambda: exe.arg_dict["c0_weight"].__setitem__(1, 3.0),
        lambda: exe.aux_dict["bn0_moving_mean"].__iadd__(1),
        lambda: exe.arg_dict["data"]._chunk.reorder(
            tagged_desc(np.dtype(np.float32), (2, 3, 8, 8), "acdb"), Stream()),
        lambda: exe.outputs[0][1].asnumpy(), lambda: exe.outputs[0].__setitem__(0, 7.0),
        lambda: mx.set_num_threads(2), lambda: mx.set_num_threads(1)]
    for change in changes:
        change()
        for _ in range(3):
            both()


@pytest.mark.parametrize("runs", [1, 3])
def test_changes_of_threads_never_stop_capture(runs: int) -> None:
    """However few runs there are for each number of threads."""
    x = mx.nd.ones((2, 3))
    exe = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2).simple_bind(
        mx.cpu(), grad_req="null", data=x.shape)
    before = mx.get_num_threads()
    try:
        for threads in (1, 2) * 6:
            mx.set_num_threads(threads)
            for _ in range(runs):
                exe.forward(data=x)
            assert runs == 1 or exe.capture_state == "captured"
        for _ in range(3):
            exe.forward(data=x)
        assert exe.capture_state == "captured"
    finally:
        mx.set_num_threads(before)


def test_a_read_of_a_view_leaves_a_captured_layout_alone() -> None:
    exe = filled(conv_net().simple_bind(mx.cpu(), grad_req="null", data=(2, 3, 8, 8)))
    for _ in range(3):
        exe.forward()
    whole = exe.outputs[0].asnumpy()
    for _ in range(5):
        np.testing.assert_array_equal(exe.outputs[0][1].asnumpy(), whole[1])
        exe.arg_dict["c1_weight"][2].asnumpy()
        exe.forward()
    assert exe.capture_state == "captured"


@pytest.mark.parametrize("between", ["nothing", "a run step by step"])
def test_training_is_captured_whole(between: str) -> None:
    """Forward and backward use one memory in turn, in other layouts: both stay recorded."""
    nets = [filled(conv_net().simple_bind(mx.cpu(), data=(2, 3, 8, 8))) for _ in range(2)]
    for i in range(8):
        results = []
        for captured, exe in zip((True, False), nets, strict=True):
            with config.override(NDRT_CAPTURE=captured):
                exe.arg_dict["data"][:] = i / 8
                y = exe.forward(is_train=True)[0]
                one = mx.nd.ones(y.shape)
            plain = between == "a run step by step" and i == 5
            with config.override(NDRT_CAPTURE=captured and not plain):
                exe.backward(one)
            results.append([y.asnumpy(), *(g.asnumpy() for g in exe.grad_arrays)])
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    states = nets[0].capture_states
    assert states["forward, training"] == states["backward, training"] == "captured"


def test_ten_thousand_runs_take_no_memory() -> None:
    exe = filled(small_net().simple_bind(mx.cpu(), grad_req="null", data=(3, 5)))
    for _ in range(3):
        exe.forward()
    gc.collect()
    before = mx.memory_stats()["live"]
    for _ in range(10_000):
        exe.forward()
    with config.override(NDRT_CAPTURE=False):
        for _ in range(1000):
            exe.forward()
    gc.collect()
    assert mx.memory_stats()["live"] == before


def test_a_reshaped_executor_keeps_its_monitor() -> None:
    exe = filled(small_net().simple_bind(mx.cpu(), grad_req="null", data=(3, 5)))
    seen = []
    exe.set_monitor_callback(lambda name, array: seen.append((mx.base.py_str(name), array.shape)))
    exe.reshape(data=(2, 5)).forward()
    assert ("fc1_output", (2, 4)) in seen
    assert mx.base.py_str(b"fc1_output") == "fc1_output"
