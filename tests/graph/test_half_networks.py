"""Graphs of float16 and bfloat16 are fused, laid out and recorded as those of float32 are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.dtypes import find_dtype
from ndarray_rt.op.fallback import REASONS
from ndarray_rt.testing.case import RTOL

pytest.importorskip("ml_dtypes")
over_halves = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
SHAPE = (2, 16, 10, 10)


def residual_block() -> mx.sym.Symbol:
    """Convolutions with what is fused into them: norms, activations, a sum; then a dense layer."""
    data = mx.sym.var("data")
    x = data
    for i in range(2):
        x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=16, no_bias=i == 0,
                               name=f"conv{i}")
        x = mx.sym.BatchNorm(x, fix_gamma=False, name=f"norm{i}")
        if i == 0:
            x = mx.sym.Activation(x, act_type="relu")
    x = mx.sym.Activation(x + data, act_type="relu")
    x = mx.sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1))
    return mx.sym.FullyConnected(x, num_hidden=10, name="dense")


def attention() -> mx.sym.Symbol:
    """A softmax of products, layer normalization and gelu."""
    x = mx.sym.reshape(mx.sym.var("data"), shape=(2, 16, 100))
    scores = mx.sym.softmax(mx.sym.batch_dot(x, x, transpose_b=True) * 0.1)
    x = mx.sym.LayerNorm(x + mx.sym.batch_dot(scores, x), name="norm")
    x = mx.sym.FullyConnected(x, num_hidden=24, flatten=False, name="dense")
    return mx.sym.LeakyReLU(x, act_type="gelu")


def bound(net: mx.sym.Symbol, dtype: str) -> Any:
    """An executor for inference; the numbers are the same in each dtype, up to rounding."""
    ex = net.simple_bind(mx.cpu(), grad_req="null", type_dict={"data": dtype}, data=SHAPE)
    rng = np.random.default_rng(5)
    for name, x in sorted({**ex.arg_dict, **ex.aux_dict}.items()):
        low = 0.5 if name.endswith(("gamma", "var")) else -1.0
        values = rng.uniform(low, 1.0, x.shape) / (12 if name.endswith("weight") else 1)
        x[:] = mx.nd.array(values).astype(x.dtype)
    return ex


def close(got: mx.nd.NDArray, want: mx.nd.NDArray) -> None:
    tolerance = RTOL[got.dtype.name]
    y = want.asnumpy()
    np.testing.assert_allclose(got.asnumpy().astype("f4"), y, tolerance,
                               tolerance * float(np.abs(y).max()))


@over_halves
@pytest.mark.parametrize("make", [residual_block, attention])
def test_has_the_steps_and_numbers_of_float32(make: Any, dtype: str) -> None:
    half, full = bound(make(), dtype), bound(make(), "float32")
    REASONS.reset()
    for _ in range(4):
        close(half.forward()[0], full.forward()[0])
    assert REASONS.as_dict() == {}
    assert half.outputs[0].dtype == find_dtype(dtype)
    assert half.capture_state == "captured"
    names = [[(step.node.op.name, step.variant) for step in ex.plan.steps] for ex in (half, full)]
    assert names[0] == names[1]


@over_halves
@pytest.mark.parametrize("make", [residual_block, attention])
def test_equals_the_graph_as_it_is(make: Any, dtype: str) -> None:
    with config.override(NDRT_SKIP_PASSES="all"):
        plain = bound(make(), dtype).forward()[0]
    close(bound(make(), dtype).forward()[0], plain.astype("float32"))


@over_halves
@pytest.mark.parametrize("name", ["conv0_weight", "conv1_bias", "norm0_moving_var", "norm1_gamma",
                                  "dense_weight", "data"])
def test_a_write_is_seen_by_recorded_runs(name: str, dtype: str) -> None:
    both = [bound(residual_block(), one) for one in (dtype, "float32")]
    for turn in range(7):
        if turn >= 4:
            for ex in both:
                x = {**ex.arg_dict, **ex.aux_dict}[name]
                x[:] = x * 1.5
        half, full = (ex.forward()[0] for ex in both)
        close(half, full)


def test_a_network_of_the_zoo_is_cast_but_for_its_norms() -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(8, 3, in_channels=3), mx.gluon.nn.BatchNorm(in_channels=8))
    net.cast("bfloat16")
    kinds = {name.rsplit("_", 1)[-1]: find_dtype(p.dtype)
             for name, p in net.collect_params().items()}
    half, full = find_dtype("bfloat16"), find_dtype("float32")
    assert kinds == {"weight": half, "bias": half, "gamma": full, "beta": full, "mean": full,
                     "var": full}


@over_halves
def test_a_cast_network_is_initialized_and_run(dtype: str) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(8, 3, in_channels=3), mx.gluon.nn.BatchNorm(in_channels=8),
            mx.gluon.nn.Dense(4))
    net.cast(dtype)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    data = mx.nd.array(np.random.default_rng(1).uniform(-1, 1, (2, 3, 8, 8))).astype(dtype)
    for _ in range(4):
        made = net(data)
    assert made.dtype == find_dtype(dtype)
    weight = net[0].weight.data().asnumpy().astype("f4")
    assert len(np.unique(weight)) > weight.size // 8
    net.cast("float32")
    close(made, net(data.astype("float32")))
