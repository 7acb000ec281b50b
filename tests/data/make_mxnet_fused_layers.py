"""Writes mxnet_fused_layers.json: graphs with fused layers as MXNet 1.9.1 writes them, on floats
and quantized, and what the quantized ones compute.

Run it with an interpreter that has MXNet, built with oneDNN:
python tests/data/make_mxnet_fused_layers.py

Data of layers is at most 127: without VNNI oneDNN's sums of two products end at 16 bits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("mxnet_fused_layers.json")
SHAPE = (2, 3, 6, 6)
OPTIONS: dict[str, dict[str, Any]] = {
    "naive": {"calib_mode": "naive", "quantized_dtype": "auto"},
    "by rows": {"calib_mode": "naive", "quantized_dtype": "auto",
                "quantize_granularity": "channel-wise"},
    "without": {"calib_mode": "none", "quantized_dtype": "uint8"},
}


def residual(mx: Any) -> Any:
    """All that is fused into convolutions, a summand on the left, and a layer that stays alone."""
    data = mx.sym.var("data")
    x = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, name="conv0")
    first = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False, name="bn0"), act_type="relu",
                              name="relu0")
    x = mx.sym.Convolution(first, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True,
                           name="conv1")
    x = mx.sym.Activation(mx.sym.elemwise_add(first, mx.sym.BatchNorm(x, name="bn1"), name="sum"),
                          act_type="relu", name="relu1")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    x = mx.sym.Convolution(x, kernel=(1, 1), num_filter=3, name="conv2")
    x = mx.sym.clip(x, a_min=0, a_max=2, name="cut")
    x = mx.sym.FullyConnected(mx.sym.Dropout(mx.sym.Flatten(x, name="flat"), name="drop"),
                              num_hidden=5, name="fc0")
    x = mx.sym.Activation(mx.sym.identity(x, name="same"), act_type="relu", name="relu2")
    return mx.sym.FullyConnected(x, num_hidden=4, no_bias=True, name="fc1")


def joined(mx: Any) -> Any:
    """Branches that are concatenated, whose ranges are made one."""
    data = mx.sym.var("data")
    parts = [mx.sym.Activation(mx.sym.Convolution(data, kernel=(1, 1), num_filter=count,
                                                  name=f"conv{count}"),
                               act_type="relu", name=f"relu{count}") for count in (2, 3, 4)]
    parts[1] = mx.sym.Pooling(parts[1], kernel=(3, 3), pad=(1, 1), pool_type="max", name="pool")
    both = mx.sym.Concat(*parts, dim=1, name="joined")
    return mx.sym.Convolution(both, kernel=(3, 3), num_filter=2, name="last")


def elementwise(mx: Any) -> Any:
    """Functions behind dense layers and convolutions; some are fused on floats only."""
    data = mx.sym.var("data")
    heads = [mx.sym.LeakyReLU(mx.sym.Convolution(data, kernel=(3, 3), num_filter=2, name="conv0"),
                              act_type="leaky", name="leaky"),
             mx.sym.Activation(mx.sym.Convolution(data, kernel=(3, 3), num_filter=2, name="conv1"),
                               act_type="sigmoid", name="sigmoid")]
    for i, function in enumerate((mx.sym.abs, mx.sym.square, mx.sym.exp)):
        dense = mx.sym.FullyConnected(data, num_hidden=3, name=f"fc{i}")
        heads.append(function(dense, name=f"function{i}"))
    dense = mx.sym.FullyConnected(data, num_hidden=3, name="fc3")
    heads.append(mx.sym.LeakyReLU(dense, act_type="elu", name="elu"))
    # read twice, so that nothing is fused into it
    dense = mx.sym.FullyConnected(data, num_hidden=3, name="fc4")
    heads += [mx.sym.sin(dense, name="sin"), mx.sym.tanh(dense, name="tanh")]
    return mx.sym.Group(heads)


def single(mx: Any) -> Any:
    """Layers that read the data alone."""
    data = mx.sym.var("data")
    x = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
    dense = mx.sym.FullyConnected(data, num_hidden=3, name="fc")
    return mx.sym.Group([mx.sym.Activation(x, act_type="relu", name="relu"),
                         mx.sym.BatchNorm(mx.sym.Convolution(
                             data, kernel=(1, 1), num_filter=2, no_bias=True, name="conv0"),
                             fix_gamma=False, name="norm"), dense])


def attention(mx: Any) -> Any:
    """Products of attention, whose results are read as floats and as 8-bit numbers."""
    x = mx.sym._internal._minus_scalar(mx.sym.var("data"), scalar=0.5, name="centred")
    x = mx.sym.reshape(x, shape=(6, 2, 18), name="steps")
    scores = mx.sym.contrib.interleaved_matmul_selfatt_qk(x, heads=2, name="scores")
    shares = mx.sym.softmax(scores, name="shares")
    mixed = mx.sym.contrib.interleaved_matmul_selfatt_valatt(x, shares, heads=2, name="mixed")
    others = [mx.sym.contrib.interleaved_matmul_selfatt_qk(x, heads=3, name=name)
              for name in ("others", "same")]
    return mx.sym.Group([
        mx.sym.FullyConnected(mixed, num_hidden=3, flatten=False, name="fc0"),
        mx.sym.elemwise_add(*others, name="sum"),
        mx.sym.contrib.interleaved_matmul_selfatt_valatt(
            x, mx.sym.BlockGrad(shares, name="stopped"), heads=2, name="last")])


NETWORKS = {"single": single, "residual": residual, "joined": joined, "elementwise": elementwise,
            "attention": attention}


def parameters(mx: Any, symbol: Any) -> tuple[Any, Any]:
    """The same numbers wherever this runs, of few digits."""
    rng = np.random.RandomState(5)
    shapes, _, aux_shapes = symbol.infer_shape(data=SHAPE)
    args, aux = {}, {}
    for name, size in zip(symbol.list_arguments(), shapes, strict=True):
        low, high = (8, 25) if name.endswith("gamma") else (-9, 13)
        args[name] = mx.nd.array(rng.randint(low, high, size) / 32)
    for name, size in zip(symbol.list_auxiliary_states(), aux_shapes, strict=True):
        aux[name] = mx.nd.array(rng.randint(8, 25, size) / 16)
    del args["data"]
    return args, aux


def samples() -> Any:
    rng = np.random.RandomState(8)
    return (rng.randint(0, 65, SHAPE) / 64).astype(np.float32)


def quantized(mx: Any, quantization: Any, network: str, options: str) -> Any:
    """(symbol, parameters, auxiliary states); calibrated on more than twice the samples."""
    symbol = NETWORKS[network](mx)
    args, aux = parameters(mx, symbol)
    data = mx.io.NDArrayIter(data=samples() * 2.25, batch_size=2)
    return quantization.quantize_model_mkldnn(
        symbol, args, aux, label_names=None, calib_data=data, quantize_mode="full",
        **OPTIONS[options])


def inputs(params: Any, options: str) -> Any:
    """What a quantized graph runs on. Without calibration data has a range of its own: one large
    number, beside which there are zeros, makes that twice as wide as the others need it."""
    data = samples()
    if options == "without":
        data[0, :, 0, 0] = 2.0, 0, 0
    return {**params, "data": data}


def made(mx: Any, quantization: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"graphs": {}, "quantized": {}}
    for name, network in NETWORKS.items():
        for backend in ("MKLDNN", "MKLDNN_QUANTIZE"):
            found["graphs"][f"{name} {backend}"] = json.loads(
                network(mx).get_backend_symbol(backend).tojson())
        for options in OPTIONS:
            if options == "without" and name != "single":
                continue
            symbol, params, aux = quantized(mx, quantization, name, options)
            graph = symbol.get_internals()
            given = {key: mx.nd.array(value, dtype=value.dtype)
                     for key, value in inputs(params, options).items()}
            executor = graph.bind(mx.cpu(), given, aux_states=aux, grad_req="null")
            found["quantized"][f"{name}, {options}"] = {
                "graph": json.loads(symbol.tojson()),
                "params": {key: [str(np.dtype(value.dtype)), list(value.shape),
                                 value.asnumpy().ravel().tolist()]
                           for key, value in sorted(params.items())},
                "aux": {key: value.asnumpy().tolist() for key, value in sorted(aux.items())},
                "outputs": {key: [str(np.dtype(value.dtype)), value.asnumpy().tolist()]
                            for key, value in zip(graph.list_outputs(), executor.forward(),
                                                  strict=True)
                            if key not in params and key not in aux}}
    return found


def main() -> None:
    import mxnet as mx
    from mxnet.contrib import quantization
    parts = made(mx, quantization)
    rows = [f"{json.dumps(part)}: {{\n" + ",\n".join(
        f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
        for key, value in content.items()) + "\n}" for part, content in parts.items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
