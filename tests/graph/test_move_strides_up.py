"""Strides of 1x1 convolutions move into what makes the pixels that they read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.model_zoo import symbols
from ndarray_rt.passes import Optimized
from ndarray_rt.symbol.node import topological
from ndarray_rt.symbol.symbol import Symbol
from tests.graph.pass_checks import check, optimized

DATA = mx.sym.var("data")
SHAPE = (2, 16, 9, 11)


def conv(x: Symbol, name: str, kernel: int = 1, stride: Any = (1, 1), **params: Any) -> Symbol:
    params = {"num_filter": 16, "pad": (kernel // 2,) * 2, **params}
    return mx.sym.Convolution(x, kernel=(kernel, kernel), stride=stride, name=name, **params)


def block(x: Symbol) -> Symbol:
    """Ends in a sum of which nothing is known yet."""
    made = mx.sym.relu(conv(x, "a"))
    made = mx.sym.relu(conv(made, "b", 3))
    return mx.sym.relu(conv(made, "c") + x)


def strides(done: Optimized) -> dict[str, tuple[int, ...]]:
    """By the names of the layers as they were."""
    stage = done.stage("move_strides_up")
    nodes: list[Any] = topological(stage.after)
    return {node.name: node.params.stride for node in nodes
            if node.op is not None and node.op.name in ("Convolution", "Pooling")}


def test_a_residual_block_computes_what_is_read() -> None:
    shared = block(DATA)
    net = mx.sym.Group([conv(shared, "d", stride=(2, 2)), conv(shared, "e", stride=(2, 2))])
    found = strides(check(net, data=SHAPE))
    pooling = [name for name in found if name.endswith("_pixels")]
    assert len(pooling) == 1
    assert found == {"a": (1, 1), "b": (2, 2), "c": (1, 1), "d": (1, 1), "e": (1, 1),
                     pooling[0]: (2, 2)}


def test_strides_multiply() -> None:
    net = conv(conv(conv(DATA, "a", 3, (2, 1)), "b", stride=(2, 2)), "c", stride=(1, 3))
    assert strides(check(net, data=SHAPE)) == {"a": (4, 6), "b": (1, 1), "c": (1, 1)}


@pytest.mark.parametrize("net", [
    pytest.param(mx.sym.Group([conv(block(DATA), "d", stride=(2, 2)), DATA + 1]), id="data"),
    pytest.param(conv(conv(DATA, "a", 3, num_group=4), "d", stride=(3, 2)), id="groups"),
    pytest.param(conv(conv(DATA, "a", 3, dilate=(2, 2), pad=(3, 3)), "d", stride=(2, 2)),
                 id="dilated"),
    pytest.param(conv(mx.sym.broadcast_mul(conv(DATA, "a", 3), mx.sym.mean(
        DATA, axis=(2, 3), keepdims=True)), "d", stride=(2, 2)), id="gate"),
])
def test_moves(net: Symbol) -> None:
    assert strides(check(net, data=SHAPE))["d"] == (1, 1)


def both(*make: Any) -> Symbol:
    made = conv(DATA, "a", 3)
    return mx.sym.Group([one(made) for one in make])


@pytest.mark.parametrize("net", [
    pytest.param(both(lambda x: conv(x, "d", stride=(2, 2)), lambda x: x), id="an output"),
    pytest.param(both(lambda x: conv(x, "d", stride=(2, 2)), lambda x: conv(x, "e", 3, (2, 2))),
                 id="a larger window"),
    pytest.param(both(lambda x: conv(x, "d", stride=(2, 2)),
                      lambda x: conv(x, "e", stride=(2, 1))), id="another stride"),
    pytest.param(both(lambda x: conv(x, "d", stride=(2, 2), pad=(1, 1))), id="padding"),
    pytest.param(conv(mx.sym.relu(DATA), "d", stride=(2, 2)), id="no layer before it"),
    pytest.param(conv(mx.sym.softmax(conv(DATA, "a", 3), axis=3), "d", stride=(2, 2)),
                 id="pixels that depend on each other"),
    pytest.param(conv(mx.sym.broadcast_add(conv(DATA, "a", 3), mx.sym.mean(
        DATA, axis=3, keepdims=True)), "d", stride=(2, 2)), id="one number for a row of pixels"),
])
def test_stays(net: Symbol) -> None:
    done = check(net, data=SHAPE)
    stage = done.stage("move_strides_up")
    assert stage.after == stage.before


def test_thinning_changes_no_pixel() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 3e38, 1e-37, -1.5], np.float32)
    x = np.tile(values, (1, 16, 6, 1))
    made = mx.nd.Pooling(mx.nd.array(x), kernel=(1, 1), stride=(2, 1), pool_type="avg")
    np.testing.assert_array_equal(made.asnumpy(), x[:, :, ::2])


def test_the_blocks_of_resnets() -> None:
    """Three of them of which the next one reads a quarter: 0.75 of 7.7 GFLOP."""
    net = symbols.get_symbol("resnet50_v1")
    found = strides(optimized(net, data=(1, 3, 224, 224)))
    assert sum(name.endswith("_pixels") for name in found) == 3
    assert sum(stride == (2, 2) for stride in found.values()) == 3 + 3 + 2
