"""Symbol.optimize_for: the same outputs from fewer steps, with weights folded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import MXNetError, NameMismatch, ShapeError, TypeMismatch
from ndarray_rt.model_zoo import symbols

SHAPE = (2, 3, 8, 8)


def network() -> Any:
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=20, name="c")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="b")
    return mx.sym.Dropout(mx.sym.Activation(net, act_type="relu", name="r"), name="d")


def parameters(net: Any, **shapes: tuple[int, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(0)
    arg_shapes, _, aux_shapes = net.infer_shape(**shapes)

    def made(name: str, shape: tuple[int, ...]) -> Any:
        fan = max(1, int(np.prod(shape[1:])))
        value = rng.standard_normal(shape) * np.sqrt(2 / fan)
        return mx.nd.array(np.abs(value) + 0.5 if name.endswith(("var", "gamma")) else value)
    return ({n: made(n, s) for n, s in zip(net.list_arguments(), arg_shapes, strict=True)
             if n not in shapes},
            {n: made(n, s) for n, s in zip(net.list_auxiliary_states(), aux_shapes, strict=True)})


def outputs(net: Any, args: Any, aux: Any, runs: int = 3, **data: Any) -> Any:
    executor = net.bind(mx.cpu(), {**args, **data}, grad_req="null", aux_states=aux)
    for _ in range(runs):
        found = executor.forward()[0].asnumpy()
    return executor, found


def test_weights_are_folded_once() -> None:
    net, x = network(), mx.nd.array(np.random.default_rng(1).standard_normal(SHAPE))
    args, aux = parameters(net, data=SHAPE)
    _, want = outputs(net, args, aux, data=x)
    fast = net.optimize_for("ONEDNN", args, aux, shape_dict={"data": SHAPE})
    assert fast.list_arguments() == ["data", "b_folded_weight", "b_folded_bias"]
    assert fast.list_auxiliary_states() == []
    assert {"b_folded_weight", "b_folded_bias"} <= set(args)
    executor, got = outputs(fast, args, {}, data=x)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert [step.node.op.name for step in executor.plan.steps] == ["_fused_Convolution", "Dropout"]
    assert executor.capture_state == "captured"
    again = mx.sym.load_json(fast.tojson())
    np.testing.assert_array_equal(outputs(again, args, {}, data=x)[1], got)


def test_without_parameters_batch_norms_stay() -> None:
    net = network()
    fast = net.optimize_for("mkldnn", shape_dict={"data": SHAPE})
    assert fast.list_arguments() == net.list_arguments()
    assert fast.list_auxiliary_states() == net.list_auxiliary_states()


@pytest.mark.parametrize("name", ["resnet18_v1", "resnet18_v2", "mobilenetv2_0.25",
                                  "squeezenet1.1"])
def test_networks_keep_their_scores(name: str) -> None:
    net = symbols.get_symbol(name, classes=10)
    shape = (2, 3, 224, 224) if name.startswith("squeeze") else (2, 3, 64, 64)
    args, aux = parameters(net, data=shape)
    x = mx.nd.array(np.random.default_rng(2).standard_normal(shape))
    _, want = outputs(net, args, aux, data=x)
    fast = net.optimize_for("ONEDNN", args, aux, shape_dict={"data": shape})
    executor, got = outputs(fast, args, {n: aux[n] for n in fast.list_auxiliary_states()}, data=x)
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * np.abs(want).max())
    assert len(executor.plan.steps) < 0.7 * len(net.bind(
        mx.cpu(), {**args, "data": x}, grad_req="null", aux_states=aux).plan.steps)


def test_bad_arguments_are_named() -> None:
    net = network()
    args, aux = parameters(net, data=SHAPE)
    with pytest.raises(MXNetError, match="no backend 'TensorRT', only ONEDNN"):
        net.optimize_for("TensorRT")
    with pytest.raises(ShapeError, match=r"'data' can not be inferred.*shape_dict"):
        net.optimize_for("ONEDNN")
    with pytest.raises(NameMismatch, match="'image' is no argument"):
        net.optimize_for("ONEDNN", shape_dict={"image": SHAPE})
    with pytest.raises(TypeMismatch, match="args got a list, expected a dict"):
        net.optimize_for("ONEDNN", list(args.values()), aux, shape_dict={"data": SHAPE})
    with pytest.raises(TypeMismatch, match=r"aux\['b_moving_var'\] is a ndarray"):
        net.optimize_for("ONEDNN", args, {**aux, "b_moving_var": np.ones(20)},
                         shape_dict={"data": SHAPE})
    net.optimize_for("ONEDNN", args, aux, shape_dict={"data": SHAPE})
    with pytest.raises(NameMismatch, match="'b_folded_weight' already"):
        net.optimize_for("ONEDNN", args, aux, shape_dict={"data": SHAPE})
