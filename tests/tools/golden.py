"""Graphs of which MXNet's tables and drawings are kept (tests/data/mxnet_visualization.json)."""

from __future__ import annotations

import contextlib
import io
from typing import Any

SHAPES: dict[str, dict[str, Any]] = {
    "layers": {"data": (1, 3, 28)}, "branches": {"data": (2, 4, 8, 8)},
    "several outputs": {"data": (2, 4, 8, 8)}}


def graphs(mx: Any) -> dict[str, Any]:
    """The graphs, made by this package or by MXNet."""
    data = mx.sym.Variable("data")
    layer = mx.sym.Embedding(data, input_dim=100, output_dim=28, name="words")
    layer = mx.sym.Convolution(layer, num_filter=32, kernel=(3, 3), stride=(2, 2), name="conv")
    layer = mx.sym.Activation(mx.sym.BatchNorm(layer, name="norm"), act_type="relu", name="relu")
    layer = mx.sym.Pooling(layer, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    layer = mx.sym.FullyConnected(layer, num_hidden=10, name="fc", lr_mult=0)
    layers = mx.sym.SliceChannel(layer, num_outputs=10, squeeze_axis=0, name="parts")

    first = mx.sym.Convolution(data, num_filter=8, kernel=(3, 3), pad=(1, 1), no_bias=True,
                               name="first")
    second = mx.sym.Convolution(first, num_filter=8, kernel=(3, 3), pad=(1, 1), num_group=4,
                                name="second")
    leaky = mx.sym.LeakyReLU(mx.sym.elemwise_add(second, first, name="sum"), name="leaky")
    pool = mx.sym.Pooling(leaky, kernel=(1, 1), global_pool=True, pool_type="avg", name="pool")
    scores = mx.sym.FullyConnected(mx.sym.Flatten(pool, name="flat"), num_hidden=3, no_bias=True,
                                   name="scores")
    branches = mx.sym.SoftmaxOutput(scores, name="softmax")
    several = mx.sym.Group([scores, mx.sym.concat(leaky, second, name="both")])
    return {"layers": layers, "branches": branches, "several outputs": several}


def pictures(mx: Any, name: str) -> dict[str, str]:
    """The tables and drawings of one of them, as text."""
    symbol, shape = graphs(mx)[name], SHAPES[name]
    return {"table": _printed(mx, symbol),
            "table with shapes": _printed(mx, symbol, shape, line_length=90),
            "drawing": _drawn(mx, symbol, shape=shape),
            "drawing with weights": _drawn(mx, symbol, title="weights", hide_weights=False,
                                           node_attrs={"fixedsize": "false"})}


def _printed(mx: Any, *args: Any, **kwargs: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        mx.viz.print_summary(*args, **kwargs)
    return out.getvalue()


def _drawn(mx: Any, *args: Any, **kwargs: Any) -> str:
    return str(mx.viz.plot_network(*args, **kwargs).source).strip()
