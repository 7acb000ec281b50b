"""Writes a prepared model as ONNX: python -m benchmarks.to_onnx FOLDER MODEL

Runs in an environment with the package `onnx`. The batch stays free, under the name N.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .graph import (
    Array,
    Graph,
    Node,
    Unsupported,
    join_attention,
    lstm_layers,
    plain_reshape,
    read_graph,
)
from .models import BATCH, MODELS, Files, Shape

OPSET, IR_VERSION = 20, 9


class Writer:
    """Collects ONNX nodes and initializers; every name it returns is that of a value."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}

    def add(self, op: str, node: Node, *inputs: str, part: str = "", **attrs: Any) -> str:
        """One ONNX node; `part` tells several of one MXNet node from each other."""
        made = node.name + part
        self.nodes.append(helper.make_node(op, list(inputs), [made], name=made, **attrs))
        return made

    def constant(self, name: str, value: Any) -> str:
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def value(self, name: str) -> str:
        """What a node reads: a parameter becomes an initializer when it is first read."""
        if name in self.graph.params:
            return self.constant(name, self.graph.params[name])
        return name

    def values(self, node: Node) -> list[str]:
        return [self.value(name) for name in node.inputs]


Converter = Callable[[Writer, Node], str]


def _convolution(w: Writer, node: Node) -> str:
    kernel = node.pair("kernel", 1)
    return w.add("Conv", node, *w.values(node), kernel_shape=kernel, strides=node.pair("stride", 1),
                 pads=node.pair("pad", 0) * 2, dilations=node.pair("dilate", 1),
                 group=int(node.attrs.get("num_group", 1)))


def _batch_norm(w: Writer, node: Node) -> str:
    values = w.values(node)
    if node.attrs.get("fix_gamma", True):
        gamma = w.graph.params[node.inputs[1]]
        values[1] = w.constant(f"{node.name}_ones", np.ones_like(gamma))
    return w.add("BatchNormalization", node, *values, epsilon=float(node.attrs.get("eps", 1e-3)))


def _activation(w: Writer, node: Node) -> str:
    names = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh"}
    kind = node.attrs["act_type"]
    if kind not in names:
        raise node.refuse(f"act_type {kind}")
    return w.add(names[kind], node, *w.values(node))


def _leaky_relu(w: Writer, node: Node) -> str:
    if node.attrs["act_type"] != "gelu":
        raise node.refuse(f"act_type {node.attrs['act_type']}")
    return w.add("Gelu", node, w.value(node.inputs[0]))


def _clip(w: Writer, node: Node) -> str:
    low, high = (w.constant(f"{node.name}_{key}", np.float32(node.attrs[key]))
                 for key in ("a_min", "a_max"))
    return w.add("Clip", node, w.value(node.inputs[0]), low, high)


def _pooling(w: Writer, node: Node) -> str:
    kinds = {"max": "Max", "avg": "Average"}
    kind = kinds.get(node.attrs.get("pool_type", "max"))
    if kind is None:
        raise node.refuse(f"pool_type {node.attrs['pool_type']}")
    if node.attrs.get("global_pool"):
        return w.add(f"Global{kind}Pool", node, *w.values(node))
    attrs: dict[str, Any] = {"ceil_mode": int(node.attrs.get("pooling_convention") == "full")}
    if kind == "Average":
        attrs["count_include_pad"] = int(node.attrs.get("count_include_pad", True) is not False)
    return w.add(f"{kind}Pool", node, *w.values(node), kernel_shape=node.pair("kernel", 1),
                 strides=node.pair("stride", 1), pads=node.pair("pad", 0) * 2, **attrs)


def _fully_connected(w: Writer, node: Node) -> str:
    data, weight, *bias = node.inputs
    if node.attrs.get("flatten", True):
        flat = w.add("Flatten", node, w.value(data), part="_flat")
        return w.add("Gemm", node, flat, w.value(weight), *map(w.value, bias), transB=1)
    transposed = w.constant(f"{weight}_transposed", w.graph.params[weight].T)
    if not bias:
        return w.add("MatMul", node, w.value(data), transposed)
    product = w.add("MatMul", node, w.value(data), transposed, part="_product")
    return w.add("Add", node, product, w.value(bias[0]))


def _layer_norm(w: Writer, node: Node) -> str:
    return w.add("LayerNormalization", node, *w.values(node), axis=int(node.attrs.get("axis", -1)),
                 epsilon=float(node.attrs.get("eps", 1e-5)))


def _embedding(w: Writer, node: Node) -> str:
    return w.add("Gather", node, w.value(node.inputs[1]), w.value(node.inputs[0]))


def _reshape(w: Writer, node: Node) -> str:
    shape = w.constant(f"{node.name}_shape", np.array(plain_reshape(node), np.int64))
    return w.add("Reshape", node, w.value(node.inputs[0]), shape)


def _attention(w: Writer, node: Node) -> str:
    query, key, value = w.values(node)
    scale = w.constant(f"{node.name}_scale", np.float32(node.attrs["scale"]))
    scaled = w.add("Mul", node, query, scale, part="_scaled")
    turned = w.add("Transpose", node, key, part="_turned", perm=[0, 1, 3, 2])
    scores = w.add("MatMul", node, scaled, turned, part="_scores")
    weights = w.add("Softmax", node, scores, part="_weights", axis=-1)
    return w.add("MatMul", node, weights, value)


def _rnn(w: Writer, node: Node) -> str:
    size, data = int(node.attrs["state_size"]), w.value(node.inputs[0])

    def in_onnx_order(gates: Array) -> Array:
        """Input, output, forget, candidate."""
        given, forget, candidate, output = gates.reshape(4, size, -1)
        found: Array = np.concatenate([given, output, forget, candidate])
        return found

    direction = w.constant(f"{node.name}_direction", np.array([1], np.int64))
    layers = lstm_layers(node, w.graph)
    for i, layer in enumerate(layers):
        biases = [in_onnx_order(b).ravel() for b in (layer.input_bias, layer.hidden_bias)]
        arrays = (in_onnx_order(layer.from_input), in_onnx_order(layer.from_hidden),
                  np.concatenate(biases))
        names = [w.constant(f"{node.name}_{kind}{i}", array[None])
                 for kind, array in zip(("W", "R", "B"), arrays, strict=True)]
        data = w.add("LSTM", node, data, *names, part=f"_layer{i}", hidden_size=size)
        end = "" if i + 1 == len(layers) else f"_squeezed{i}"
        data = w.add("Squeeze", node, data, direction, part=end)
    return data


def _same(op: str, **attrs: Any) -> Converter:
    def convert(w: Writer, node: Node) -> str:
        return w.add(op, node, *w.values(node), **attrs)
    return convert


CONVERTERS: dict[str, Converter] = {
    "Convolution": _convolution, "BatchNorm": _batch_norm, "Activation": _activation,
    "LeakyReLU": _leaky_relu, "clip": _clip, "Pooling": _pooling,
    "FullyConnected": _fully_connected, "LayerNorm": _layer_norm, "Embedding": _embedding,
    "Reshape": _reshape, "reshape": _reshape, "attention": _attention, "RNN": _rnn,
    "Flatten": _same("Flatten"), "Dropout": _same("Identity"), "elemwise_add": _same("Add"),
    "_plus": _same("Add"), "broadcast_add": _same("Add"),
    "Concat": lambda w, node: w.add("Concat", node, *w.values(node),
                                    axis=int(node.attrs.get("dim", 1))),
    "transpose": lambda w, node: w.add("Transpose", node, *w.values(node),
                                       perm=list(node.attrs["axes"])),
    "softmax": lambda w, node: w.add("Softmax", node, *w.values(node),
                                     axis=int(node.attrs.get("axis", -1))),
}


def convert(graph: Graph, name: str) -> Any:
    """The ONNX model of a graph; Unsupported for what has no converter."""
    model, graph = MODELS[name], join_attention(graph)
    writer = Writer(graph)
    for node in graph.nodes:
        if node.op not in CONVERTERS:
            raise Unsupported(f"{node.op} {node.name}: no converter to ONNX")
        CONVERTERS[node.op](writer, node)
    kind = TensorProto.INT64 if model.tokens else TensorProto.FLOAT
    made = helper.make_graph(writer.nodes, name, [_info("data", kind, model.data)],
                             [_info(graph.output, TensorProto.FLOAT, model.output)],
                             list(writer.initializers.values()))
    found = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)],
                              ir_version=IR_VERSION)
    onnx.checker.check_model(found)
    return found


def _info(name: str, kind: int, shape: Shape) -> Any:
    return helper.make_tensor_value_info(name, kind,
                                         ["N" if size == BATCH else size for size in shape])


def main() -> None:
    name = sys.argv[2]
    files = Files(Path(sys.argv[1]), name)
    onnx.save(convert(read_graph(files), name), files.onnx)


if __name__ == "__main__":
    main()
