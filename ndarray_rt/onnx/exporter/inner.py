"""Graphs inside of nodes: those of loops and branches as graphs of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._array.create import array
from ...dtypes import DType
from ...symbol.infer import infer_graph_types
from ...symbol.node import Entry
from ...symbol.subgraph import Subgraph
from ..package import onnx_package
from .call import Call
from .dims import Sizes, inner_shapes
from .table import Refused
from .writer import Writer


class Tensor(NamedTuple):
    """A tensor of ONNX, and what is known of it."""

    name: str
    dtype: DType
    shape: Sizes


def converted(c: Call, graph: Subgraph, places: Sequence[int],
              own: Mapping[int, Tensor]) -> tuple[Writer, list[Tensor]]:
    """The nodes of a graph inside of a node, and its outputs.

    Variables take the inputs of the node whose numbers are `places`; for some of these another
    tensor stands in the graph, `own`. Raises Refused with all nodes that have no form.
    """
    outer = c.writer
    params, known, shapes, types = {}, {}, {}, {}
    for variable, i in zip(graph.variables, places, strict=True):
        tensor = own.get(i) or Tensor(c.input(i), c.dtype(i), c.shape(i))
        source = c.node.inputs[i]
        if i not in own and outer.is_constant(source):
            found = outer.params.get(source.node.name) if source.node.is_variable else None
            if found is None:
                value = outer.value(source)
                found = array(value, dtype=value.dtype)
            params[variable.name] = found
        known[Entry(variable, 0)] = tensor.name
        shapes[variable.name], types[variable.name] = tensor.shape, tensor.dtype
    writer = Writer(outer.shared, graph.heads, params,
                    inner_shapes(graph.heads, shapes, outer.shared.trials),
                    infer_graph_types(graph.heads, types), outer, known)
    refused = writer.convert()
    if refused:
        raise Refused("of its graphs: " + "; ".join(refused))
    return writer, [Tensor(writer.tensor(head), writer.dtype(head), writer.shape(head))
                    for head in graph.heads]


def closed(c: Call, writer: Writer, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Any:
    """The GraphProto of what was written, with these inputs and outputs."""
    # what comes from outside or goes through needs a name of its own
    names = [writer.shared.name(f"{c.node.name}_given{i}") for i in range(len(outs))]
    writer.close([tensor.name for tensor in outs], names)
    return onnx_package().helper.make_graph(
        writer.nodes, writer.shared.name(f"{c.node.name}_graph"),
        [writer.typed(*tensor) for tensor in ins],
        [writer.typed(name, tensor.dtype, tensor.shape)
         for name, tensor in zip(names, outs, strict=True)])


def truth(writer: Writer, tensor: Tensor, hint: str) -> str:
    """A tensor of one element as a condition."""
    made = tensor.name
    if tensor.dtype != np.bool_:
        made = writer.add("Cast", [made], hint, to=onnx_package().TensorProto.BOOL)[0]
    if tensor.shape == ():
        return made
    shape = writer.shared.initialiser(np.zeros(0, np.int64), hint)
    return writer.add("Reshape", [made, shape], hint)[0]
