"""The graph of a whole model, with its inputs, outputs and constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import Unsupported
from ...symbol.infer import infer_graph_types
from ...symbol.node import Entry, topological
from ..package import onnx_package
from .dims import find_shapes
from .shared import Shared
from .source import Source
from .writer import Writer

_NODES_SHOWN = 100


def model_graph(source: Source, opset: int) -> Any:
    """The GraphProto. Raises Unsupported with all nodes that have no form."""
    symbol, params = source.symbol, source.params
    heads = symbol.entries
    variables = [node for node in topological(heads) if node.is_variable]
    fixed = {node.name: params[node.name].shape for node in variables if node.name in params}
    shapes, trials = find_shapes(heads, fixed, source.shapes)
    types = infer_graph_types(heads, {**{name: params[name].dtype for name in fixed},
                                      **source.types})
    names = symbol.list_outputs()
    shared = Shared(opset, source.shapes, trials, [*(node.name for node in variables), *names])
    writer = Writer(shared, heads, params, shapes, types)
    refused = writer.convert()
    if refused:
        shown = refused[:_NODES_SHOWN]
        if len(refused) > len(shown):
            shown.append(f"and {len(refused) - len(shown)} more")
        raise Unsupported(f"{len(refused)} node(s) can not be exported to ONNX operator set "
                          f"{opset}:\n  " + "\n  ".join(shown))
    outputs = writer.give(names)
    given = [node for node in variables if node.name not in params
             and (writer.reads(node.name) or node.name in source.shapes)]
    # in the order in which a block or module takes them, not that of their first use
    order = {name: at for at, name in enumerate(source.inputs)}
    given.sort(key=lambda node: order.get(node.name, len(order)))
    inputs = [writer.info(node.name, Entry(node, 0)) for node in given]
    onnx = onnx_package()
    tensors = [onnx.numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), key)
               for key, value in shared.initialisers.items()]
    return onnx.helper.make_graph(writer.nodes, symbol.name or "graph", inputs, outputs, tensors)
