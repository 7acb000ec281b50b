"""Writes mxnet_quantization.json: graphs, thresholds and parameters as MXNet 1.9.1's
contrib.quantization makes them, and what they compute.

Run it with an interpreter that has MXNet: python tests/data/make_mxnet_quantization.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("mxnet_quantization.json")
SHAPE = (4, 4, 6, 6)
ATTRS = ("out_type", "min_calib_range", "max_calib_range", "quantized")

GRAPHS: dict[str, dict[str, Any]] = {
    "smart": {},
    "full": {"quantize_mode": "full"},
    "full uint8": {"quantize_mode": "full", "quantized_dtype": "uint8"},
    "without nodes": {"quantize_mode": "full", "excluded_sym_names": ["conv1", "pool", "sum"]},
    "without operators": {"quantized_dtype": "auto",
                          "excluded_op_names": ["Concat", "elemwise_add", "FullyConnected"]},
    "full without operators": {"quantize_mode": "full", "quantized_dtype": "auto",
                               "excluded_op_names": ["Convolution", "BatchNorm",
                                                     "elemwise_mul"]},
}
CALIBRATED: dict[str, dict[str, Any]] = {
    f"{mode} {dtype}": {"calib_mode": mode, "quantized_dtype": dtype, "quantize_mode": "full"}
    for mode, dtype in (("naive", "int8"), ("naive", "uint8"), ("entropy", "int8"),
                        ("entropy", "auto"))}


def residual(mx: Any) -> Any:
    """What follows a layer in chains, a sum of two branches."""
    data = mx.sym.var("data")
    x = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, name="conv0")
    first = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False, name="bn0"), act_type="relu",
                              name="relu0")
    x = mx.sym.Convolution(first, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True,
                           name="conv1")
    x = mx.sym.Activation(mx.sym.elemwise_add(x, first, name="sum"), act_type="relu", name="relu1")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x, name="flat"), num_hidden=5, name="fc")
    return mx.sym.softmax(x, name="out")


def branches(mx: Any) -> Any:
    """Several outputs of a node, of the graph, operators that MXNet leaves alone, one entry read
    as floats and as bytes."""
    data, ids = mx.sym.var("data"), mx.sym.var("ids")
    left, right = mx.sym.SliceChannel(data, num_outputs=2, axis=1, name="parts")
    left = mx.sym.Convolution(left, kernel=(1, 1), num_filter=3, name="conv0")
    right = mx.sym.Convolution(right, kernel=(3, 3), num_filter=3, pad=(1, 1), name="conv1")
    both = mx.sym.Concat(left, mx.sym.Pooling(right, kernel=(3, 3), pad=(1, 1), pool_type="avg",
                                              name="pool"), dim=1, name="joined")
    turned = mx.sym.transpose(both, axes=(0, 2, 3, 1), name="turned")
    dense = mx.sym.FullyConnected(turned, num_hidden=3, flatten=False, name="fc0")
    curved = mx.sym.Activation(dense, act_type="tanh", name="curved")
    product = mx.sym.elemwise_mul(dense, curved, name="product")
    rows = mx.sym.Embedding(ids, input_dim=7, output_dim=3, name="rows")
    last = mx.sym.FullyConnected(mx.sym.Flatten(rows, name="flat"), num_hidden=4, name="fc1")
    stacked = mx.sym.Concat(last, last, dim=0, name="stacked")
    return mx.sym.Group([product, mx.sym.elemwise_add(left, right, name="sum"), stacked])


def recurrent(mx: Any) -> Any:
    """An LSTM between layers, whose outputs are floats."""
    data = mx.sym.reshape(mx.sym.var("data"), shape=(4, 4, 36), name="rows")
    made = mx.sym.RNN(data, state_size=3, num_layers=1, mode="lstm", state_outputs=True,
                      name="lstm")
    dense = mx.sym.FullyConnected(made[0], num_hidden=2, flatten=False, name="fc")
    return mx.sym.Group([dense, made[1], mx.sym.tanh(made[2], name="curved")])


def simple(mx: Any) -> Any:
    """What MXNet computes in uint8, where what is below 0 becomes 0."""
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv0")
    x = mx.sym.Convolution(x, kernel=(1, 1), num_filter=3, no_bias=True, name="conv1")
    x = mx.sym.Pooling(x, kernel=(2, 2), pool_type="max", name="pool")
    return mx.sym.FullyConnected(mx.sym.Flatten(x, name="flat"), num_hidden=5, name="fc")


def parameters(mx: Any, symbol: Any, shape: tuple[int, ...] = SHAPE) -> tuple[Any, Any]:
    """Arguments and auxiliary states: the same numbers wherever this runs, of few digits, so that
    sums of them have no rounding."""
    rng = np.random.RandomState(5)
    given = {"data": shape} | ({"ids": (2, 3)} if "ids" in symbol.list_arguments() else {})
    shapes, _, aux_shapes = symbol.infer_shape(**given)
    args = {name: mx.nd.array((rng.randint(-9, 10, size) / 16).astype(np.float32))
            for name, size in zip(symbol.list_arguments(), shapes, strict=True)
            if name not in given}
    aux = {name: mx.nd.array((rng.randint(8, 25, size) / 16).astype(np.float32))
           for name, size in zip(symbol.list_auxiliary_states(), aux_shapes, strict=True)}
    return args, aux


def samples(count: int, scale: float = 1.0) -> Any:
    rng = np.random.RandomState(8)
    data = np.abs(rng.standard_normal((count, *SHAPE[1:]))) * scale
    return (np.rint(data * 16) / 16).astype(np.float32)


def nodes(symbol: Any) -> list[Any]:
    """Operator, name, inputs and what was set, node by node; then the outputs."""
    graph = json.loads(symbol.tojson())
    rows: list[Any] = []
    for node in graph["nodes"]:
        attrs = node.get("attrs", {})
        rows.append([node["op"], node["name"], [entry[:2] for entry in node["inputs"]],
                     {key: attrs[key] for key in ATTRS if key in attrs}])
    return [*rows, [head[:2] for head in graph["heads"]]]


def graphs(mx: Any, quantization: Any) -> dict[str, list[Any]]:
    """Quantized graphs without ranges, and what they want the ranges of."""
    made = {}
    for network in (residual, branches, recurrent):
        for name, options in GRAPHS.items():
            if network is recurrent and "without" in name:
                continue
            symbol = network(mx)
            args, aux = parameters(mx, symbol)
            graph, _, _, collector = quantization.quantize_graph(
                symbol, args, aux, calib_mode="naive",
                **{"quantize_mode": "smart", **options})
            made[f"{network.__name__} {name}"] = [nodes(graph), list(collector.include_layer)]
    return made


def iterator(mx: Any) -> Any:
    return mx.io.NDArrayIter(data=samples(12), batch_size=4)


def calibrated(mx: Any, quantization: Any) -> dict[str, list[Any]]:
    """Graphs with ranges, and the parameters of the first of them."""
    made: dict[str, list[Any]] = {}
    for name, options in CALIBRATED.items():
        symbol = residual(mx)
        args, aux = parameters(mx, symbol)
        graph, params, _ = quantization.quantize_model(
            symbol, args, aux, label_names=None, calib_data=iterator(mx), **options)
        told = {} if made else {key: value.asnumpy().ravel().tolist()
                                for key, value in sorted(params.items())}
        made[name] = [nodes(graph), told]
    return made


def outputs(mx: Any, quantization: Any) -> dict[str, Any]:
    """What quantized models give for other samples."""
    symbol = simple(mx)
    args, aux = parameters(mx, symbol)
    # products of numbers this small do not saturate in MXNet where there is no VNNI
    data = samples(8, 0.4)[4:]
    made = {}
    for mode in ("none", "naive", "entropy"):
        graph, params, _ = quantization.quantize_model(
            symbol, args, aux, label_names=None, calib_data=iterator(mx), calib_mode=mode,
            quantized_dtype="uint8")
        executor = graph.bind(mx.cpu(), {**params, "data": mx.nd.array(data)}, grad_req="null")
        made[mode] = executor.forward()[0].asnumpy().tolist()
    return made


def lstm(mx: Any) -> dict[str, Any]:
    """Outputs and states of quantized LSTMs."""
    made = {}
    for bidirectional in (False, True):
        rng = np.random.RandomState(3)
        size = (1 + bidirectional) * 4 * 3 * (5 + 3 + 2)
        data = rng.randint(0, 129, (4, 2, 5)).astype(np.uint8)
        states = [rng.uniform(-1, 1, (1 + bidirectional, 2, 3)) for _ in range(2)]
        given = [mx.nd.array(rng.uniform(-0.5, 0.5, size)), *map(mx.nd.array, states),
                 mx.nd.array([64.0]), mx.nd.array([64.0])]
        outputs = mx.nd.contrib.quantized_rnn(
            mx.nd.array(data, dtype="uint8"), *given, state_size=3, num_layers=1, mode="lstm",
            bidirectional=bidirectional, state_outputs=True)
        made[str(bidirectional)] = [out.asnumpy().tolist() for out in outputs]
    return made


def main() -> None:
    import mxnet as mx
    from mxnet.contrib import quantization
    parts = {"graphs": graphs(mx, quantization), "calibrated": calibrated(mx, quantization),
             "outputs": outputs(mx, quantization), "lstm": lstm(mx)}
    rows = [f"{json.dumps(part)}: {{\n" + ",\n".join(
        f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
        for key, value in content.items()) + "\n}" for part, content in parts.items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
