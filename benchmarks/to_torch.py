"""A prepared model as a torch module, whose forward is the calls that one would write by hand."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import fx, nn

from .graph import Graph, Node, Unsupported, join_attention, lstm_layers, plain_reshape


class Builder:
    """Puts calls into an fx graph, which torch turns into Python source."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.root, self.calls = nn.Module(), fx.Graph()
        self.users = graph.count_users()
        self.made: dict[str, Any] = {"data": self.calls.placeholder("data")}

    def value(self, name: str) -> Any:
        """A node's result, or a parameter, which becomes one of the module when first read."""
        if name not in self.made:
            if name not in self.graph.params:
                raise Unsupported(f"{name} is neither a parameter nor a node")
            tensor = torch.from_numpy(self.graph.params[name])
            self.root.register_parameter(name, nn.Parameter(tensor, requires_grad=False))
            self.made[name] = self.calls.get_attr(name)
        return self.made[name]

    def values(self, node: Node) -> list[Any]:
        return [self.value(name) for name in node.inputs]

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.calls.call_function(function, args, kwargs)

    def may_overwrite(self, name: str) -> bool:
        """Whether a node is the only reader of a result that is no view of something else."""
        return name not in self.graph.params and name != "data" and self.users[name] == 1


Converter = Callable[[Builder, Node], Any]


def _convolution(b: Builder, node: Node) -> Any:
    data, weight, *bias = b.values(node)
    return b.call(F.conv2d, data, weight, bias[0] if bias else None, node.pair("stride", 1),
                  node.pair("pad", 0), node.pair("dilate", 1), int(node.attrs.get("num_group", 1)))


def _batch_norm(b: Builder, node: Node) -> Any:
    data, gamma, beta, mean, variance = b.values(node)
    scale = None if node.attrs.get("fix_gamma", True) else gamma
    return b.call(F.batch_norm, data, mean, variance, scale, beta, False, 0.0,
                  float(node.attrs.get("eps", 1e-3)))


def _activation(b: Builder, node: Node) -> Any:
    kind = node.attrs["act_type"]
    if kind == "relu":
        return b.call(F.relu, *b.values(node), inplace=b.may_overwrite(node.inputs[0]))
    functions = {"sigmoid": torch.sigmoid, "tanh": torch.tanh}
    if kind not in functions:
        raise node.refuse(f"act_type {kind}")
    return b.call(functions[kind], *b.values(node))


def _leaky_relu(b: Builder, node: Node) -> Any:
    if node.attrs["act_type"] != "gelu":
        raise node.refuse(f"act_type {node.attrs['act_type']}")
    return b.call(F.gelu, b.value(node.inputs[0]))


def _clip(b: Builder, node: Node) -> Any:
    return b.call(F.hardtanh, b.value(node.inputs[0]), float(node.attrs["a_min"]),
                  float(node.attrs["a_max"]), inplace=b.may_overwrite(node.inputs[0]))


def _pooling(b: Builder, node: Node) -> Any:
    data, kind = b.value(node.inputs[0]), node.attrs.get("pool_type", "max")
    if kind not in ("max", "avg"):
        raise node.refuse(f"pool_type {kind}")
    if node.attrs.get("global_pool"):
        function = F.adaptive_max_pool2d if kind == "max" else F.adaptive_avg_pool2d
        return b.call(function, data, 1)
    attrs: dict[str, Any] = {"ceil_mode": node.attrs.get("pooling_convention") == "full"}
    if kind == "avg":
        attrs["count_include_pad"] = node.attrs.get("count_include_pad", True) is not False
    return b.call(F.max_pool2d if kind == "max" else F.avg_pool2d, data, node.pair("kernel", 1),
                  node.pair("stride", 1), node.pair("pad", 0), **attrs)


def _fully_connected(b: Builder, node: Node) -> Any:
    data, *parameters = b.values(node)
    # of what is flat already, flattening would be a call for nothing
    source = b.graph.by_name.get(node.inputs[0])
    is_flat = source is not None and source.op in ("Flatten", "FullyConnected")
    if node.attrs.get("flatten", True) and not is_flat:
        data = b.call(torch.flatten, data, 1)
    return b.call(F.linear, data, *parameters)


def _layer_norm(b: Builder, node: Node) -> Any:
    if int(node.attrs.get("axis", -1)) != -1:
        raise node.refuse("only of the last dimension")
    data, gamma, beta = b.values(node)
    return b.call(F.layer_norm, data, (b.graph.params[node.inputs[1]].size,), gamma, beta,
                  float(node.attrs.get("eps", 1e-5)))


def _embedding(b: Builder, node: Node) -> Any:
    return b.call(F.embedding, *b.values(node))


def _reshape(b: Builder, node: Node) -> Any:
    data = b.value(node.inputs[0])
    sizes = [b.calls.call_method("size", (data, i)) if size == 0 else size
             for i, size in enumerate(plain_reshape(node))]
    return b.calls.call_method("reshape", (data, *sizes))


def _attention(b: Builder, node: Node) -> Any:
    return b.call(F.scaled_dot_product_attention, *b.values(node), scale=node.attrs["scale"])


def _rnn(b: Builder, node: Node) -> Any:
    layers = lstm_layers(node, b.graph)
    size = int(node.attrs["state_size"])
    module = nn.LSTM(layers[0].from_input.shape[1], size, len(layers))
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    for i, layer in enumerate(layers):
        arrays = (layer.from_input, layer.from_hidden, layer.input_bias, layer.hidden_bias)
        for kind, array in zip(kinds, arrays, strict=True):
            getattr(module, f"{kind}_l{i}").data.copy_(torch.from_numpy(array))
    b.root.add_module(node.name, module)
    return b.call(operator.getitem, b.calls.call_module(node.name, (b.value(node.inputs[0]),)), 0)


def _concat(b: Builder, node: Node) -> Any:
    return b.call(torch.cat, b.values(node), int(node.attrs.get("dim", 1)))


def _add(b: Builder, node: Node) -> Any:
    return b.call(operator.add, *b.values(node))


def _nothing(b: Builder, node: Node) -> Any:
    return b.value(node.inputs[0])


CONVERTERS: dict[str, Converter] = {
    "Convolution": _convolution, "BatchNorm": _batch_norm, "Activation": _activation,
    "LeakyReLU": _leaky_relu, "clip": _clip, "Pooling": _pooling,
    "FullyConnected": _fully_connected, "LayerNorm": _layer_norm, "Embedding": _embedding,
    "Reshape": _reshape, "reshape": _reshape, "attention": _attention, "RNN": _rnn,
    "Concat": _concat, "elemwise_add": _add, "_plus": _add, "broadcast_add": _add,
    "Dropout": _nothing,
    "Flatten": lambda b, node: b.call(torch.flatten, *b.values(node), 1),
    "transpose": lambda b, node: b.call(torch.permute, *b.values(node), tuple(node.attrs["axes"])),
    "softmax": lambda b, node: b.call(torch.softmax, *b.values(node),
                                      int(node.attrs.get("axis", -1))),
}


def convert(graph: Graph) -> fx.GraphModule:
    """The module of a graph, for inference; Unsupported for what has no converter."""
    graph = join_attention(graph)
    builder = Builder(graph)
    for node in graph.nodes:
        if node.op not in CONVERTERS:
            raise Unsupported(f"{node.op} {node.name}: no converter to torch")
        builder.made[node.name] = CONVERTERS[node.op](builder, node)
    builder.calls.output(builder.made[graph.output])
    return fx.GraphModule(builder.root, builder.calls).eval()
