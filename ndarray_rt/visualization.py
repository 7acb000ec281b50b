"""`mx.viz`: a graph as a table of its layers, and as a drawing through graphviz.

Source: MXNet's `mx.visualization`, whose tables and drawings these are. `layouts=True` adds what
an executor chose for each node: the kernel, and the memory layout of what it computes.
"""

from __future__ import annotations

import importlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .context import cpu
from .errors import MissingPackage, ParameterError, ShapeError, TypeMismatch, shown
from .public import shows
from .symbol.graph_json import without_casts
from .symbol.node import Entry, Node, topological
from .symbol.symbol import Symbol

__all__ = ["plot_network", "print_summary"]
__dir__ = shows(globals())

Shapes = Mapping[str, Sequence[int]]

_TITLES = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")
_LAYOUT_TITLE = "Kernel, layout"
# where columns end, in parts of a line: without layouts (MXNet's) and with them
_POSITIONS = (0.44, 0.64, 0.74, 1.0)
_POSITIONS_WITH_LAYOUTS = (0.28, 0.42, 0.50, 0.66, 1.0)
_WEIGHT_ENDS = ("_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean",
                "_running_var", "_running_mean")
_NODE = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034",
         "style": "filled"}
_NO_ATTRS: Mapping[str, str] = {}
_EDGE = {"dir": "back", "arrowtail": "open"}
_INPUT_COLOUR, _OTHER_COLOUR = "#8dd3c7", "#fccde5"
_COLOURS = {
    "Convolution": "#fb8072", "FullyConnected": "#fb8072", "BatchNorm": "#bebada",
    "Activation": "#ffffb3", "LeakyReLU": "#ffffb3", "Pooling": "#80b1d3", "Concat": "#fdb462",
    "Flatten": "#fdb462", "Reshape": "#fdb462", "Softmax": "#b3de69"}


def print_summary(symbol: Symbol, shape: Shapes | None = None, line_length: int = 120,
                  positions: Sequence[float] = _POSITIONS, *, layouts: bool = False) -> None:
    """Prints a table: each layer, its output's shape, its parameters, the layers before it.

    `shape` maps names of inputs to shapes; without it no shapes are known, and parameters are
    counted where they do not depend on them. Shapes are shown without the batch. Parameters are
    counted as MXNet counts them: of convolutions, fully connected layers (for the channels of their
    input, however many pixels each has), batch normalisation (two each channel) and embeddings.
    `positions` says where the columns end, in letters or in parts of `line_length`. With `layouts`
    the graph is bound and run once, and a fifth column shows the kernel that each layer runs on and
    the layout of its output, or the layer that does its work.

    TypeMismatch for what is no symbol, ShapeError where `shape` leaves shapes unknown,
    ParameterError for `layouts` without `shape`.
    """
    graph = _Graph("print_summary", symbol, shape, layouts=layouts)
    titles = (*_TITLES, _LAYOUT_TITLE) if layouts else _TITLES
    if layouts and tuple(positions) == _POSITIONS:
        positions = _POSITIONS_WITH_LAYOUTS
    if len(positions) != len(titles):
        raise ParameterError(f"print_summary: positions has {len(positions)} numbers, expected one "
                             f"for each of the {len(titles)} columns")
    if positions[-1] <= 1:
        positions = [int(line_length * part) for part in positions]
    ends = [int(end) for end in positions]

    def line(fields: Sequence[str]) -> None:
        text = ""
        for field, end in zip(fields, ends, strict=True):
            text = (text + field)[:end].ljust(end)
        print(text)

    heads = graph.heads_in_file()
    last = len(graph.order) - 1
    total = 0
    print("_" * line_length)
    line(titles)
    print("=" * line_length)
    for i, node in enumerate(graph.order):
        if node.op is None and i > 0:
            continue
        before = [e for e in node.inputs
                  if e.node.op is not None or graph.place[e.node] in heads]
        count = _num_parameters(node, before, graph)
        total += count
        out = graph.single_shape(node) if node.op is not None or i in heads else ()
        names = [e.node.name for e in before]
        kind = "null" if node.op is None else node.op.name
        extra = [graph.choice(node)] if layouts else []
        line([f"{node.name}({kind})", "x".join(map(str, out[1:])), str(count),
              names[0] if names else "", *extra])
        for name in names[1:]:
            line(["", "", "", name, *[""] * len(extra)])
        print(("=" if i == last else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)


def plot_network(symbol: Symbol, title: str = "plot", save_format: str = "pdf",
                 shape: Shapes | None = None, dtype: Mapping[str, Any] | None = None,
                 node_attrs: Mapping[str, str] = _NO_ATTRS, hide_weights: bool = True, *,
                 layouts: bool = False) -> Any:
    """The graph as a `graphviz.Digraph`; `render()` or `view()` draw it where graphviz is there.

    `shape` and `dtype` map names of inputs to shapes and dtypes: edges show them. `node_attrs` are
    attributes of graphviz for all nodes. `hide_weights` leaves out inputs that are named like
    parameters. With `layouts` (and `shape`) the graph is bound and run once, and nodes show the
    kernel and the layout of their output, or the node that does their work.

    MissingPackage without the package graphviz (the extra `viz`), TypeMismatch for what is no
    symbol, ShapeError where `shape` leaves shapes unknown, ParameterError for `layouts` without
    `shape`. Nodes of one name are drawn as one: a RuntimeWarning.
    """
    try:
        graphviz = importlib.import_module("graphviz")
    except ImportError as error:
        raise MissingPackage.of("plot_network", "graphviz", "viz") from error
    graph = _Graph("plot_network", symbol, shape, dtype, layouts)
    repeated = [name for name, n in Counter(node.name for node in graph.order).items() if n > 1]
    if repeated:
        warnings.warn("There are multiple variables with the same name in your graph, this may "
                      f"result in cyclic graph. Repeated names: {','.join(repeated)}",
                      RuntimeWarning, stacklevel=2)
    dot = graphviz.Digraph(name=title, format=save_format)
    # a weight that is shown has no attributes, so that it is an empty oval
    weights = {node.name for node in graph.order
               if node.op is None and node.name.endswith(_WEIGHT_ENDS)}
    for node in graph.order:
        if node.op is None and node.name in weights:
            continue
        attrs = _NODE | dict(node_attrs)
        if node.op is None:
            attrs |= {"shape": "oval", "fillcolor": _INPUT_COLOUR}
        else:
            attrs["fillcolor"] = _COLOURS.get(node.op.name, _OTHER_COLOUR)
        label = _label(node)
        if layouts and node.op is not None:
            label += f"\n{graph.choice(node)}"
            attrs["fixedsize"] = node_attrs.get("fixedsize", "false")
        dot.node(name=node.name, label=label, **attrs)
    for node, entry in graph.edges():
        if not (hide_weights and entry.node.op is None and entry.node.name in weights):
            dot.edge(tail_name=node.name, head_name=entry.node.name, label=graph.words(entry),
                     **_EDGE)
    return dot


class _Graph:
    """A symbol's nodes, and what is known of what they compute."""

    def __init__(self, function: str, symbol: Symbol, shape: Shapes | None,
                 dtype: Mapping[str, Any] | None = None, layouts: bool = False) -> None:
        if not isinstance(symbol, Symbol):
            raise TypeMismatch(f"{function}: symbol is {shown(symbol)}, expected a Symbol")
        if layouts and shape is None:
            raise ParameterError(f"{function}: layouts needs shape, as the graph is bound for it")
        # what MXNet saves is what MXNet draws: without casts of automatic mixed precision
        self.heads = without_casts(symbol.entries)
        self.order = topological(self.heads)
        self.place = {node: i for i, node in enumerate(self.order)}
        self._shapes: dict[Entry, tuple[int, ...]] = {}
        self._dtypes: dict[Entry, Any] = {}
        self._choices = {} if not layouts or shape is None else _choices(symbol, shape)
        internals = Symbol(self.heads).get_internals()
        if shape is not None:
            _, shapes, _ = internals.infer_shape(**shape)
            if shapes is None:
                raise ShapeError(f"{function}: shape does not say the shapes of all inputs: "
                                 f"{dict(shape)}")
            self._shapes = {entry: found for entry, found
                            in zip(internals.entries, shapes, strict=True) if found is not None}
        if dtype is not None:
            _, dtypes, _ = internals.infer_type(**dtype)
            if dtypes is None:
                raise TypeMismatch(f"{function}: dtype does not say the dtypes of all inputs: "
                                   f"{dict(dtype)}")
            self._dtypes = dict(zip(internals.entries, dtypes, strict=True))

    def heads_in_file(self) -> set[int]:
        """Positions of nodes that MXNet's table takes for outputs.

        It reads the first head in the file, [node, output, version], as three nodes: the first
        node, which is an input, is always among them, and so has a line of its own.
        """
        first = self.heads[0]
        return {self.place[first.node], first.index, 0}

    def shape(self, entry: Entry) -> tuple[int, ...]:
        """The shape of what a node computes, or () where it is not known."""
        return self._shapes.get(entry, ())

    def single_shape(self, node: Node) -> tuple[int, ...]:
        """The shape of a node's output, or () where it has several."""
        several = Entry(node, 1) in self._shapes
        return () if several else self.shape(Entry(node, 0))

    def choice(self, node: Node) -> str:
        """The kernel and the layout that a node was given."""
        return self._choices.get(node.name, "")

    def edges(self) -> Iterator[tuple[Node, Entry]]:
        for node in self.order:
            # MXNet's operator has a second input that only lends its shape
            only_first = node.op is not None and node.op.name == "_contrib_BilinearResize2D"
            for entry in node.inputs[:1] if only_first else node.inputs:
                yield node, entry

    def words(self, entry: Entry) -> str:
        """What an edge says: shape without the batch, and dtype."""
        text = "x".join(map(str, self.shape(entry)[1:]))
        dtype = self._dtypes.get(entry)
        return text if dtype is None else f"{text}({np.dtype(dtype).name})"


def _choices(symbol: Symbol, shape: Shapes) -> dict[str, str]:
    """Kernel and layout, or the node that does the work, for each node's name."""
    explanation = symbol.simple_bind(cpu(), grad_req="null", **shape).explain(repeat=1)
    found = {name: fate if into in ("", name) else f"{fate}: {into}"
             for name, (fate, into) in explanation.origins.items()}
    for row in explanation.rows:
        found[row.node] = f"{row.kernel}, {row.layout_out}"
    return found


def _num_parameters(node: Node, before: Sequence[Entry], graph: _Graph) -> int:
    """How many parameters MXNet counts for a node."""
    p: Any = node.params
    count = _PARAMETERS.get("" if node.op is None else node.op.name)
    if count is None:
        return 0
    # outputs of a node that has several are not looked up
    shapes = [graph.single_shape(entry.node) for entry in before]
    channels = sum(shape[1] for shape in shapes if len(shape) > 1)
    return count(p, channels, graph.single_shape(node))


def _of_convolution(p: Any, channels: int, out: Sequence[int]) -> int:
    weights = channels * p.num_filter // p.num_group
    for size in p.kernel:
        weights *= size
    return int(weights + (0 if p.no_bias else p.num_filter))


def _of_fully_connected(p: Any, channels: int, out: Sequence[int]) -> int:
    return int((channels + (0 if p.no_bias else 1)) * p.num_hidden)


_PARAMETERS: dict[str, Callable[[Any, int, Sequence[int]], int]] = {
    "Convolution": _of_convolution,
    "FullyConnected": _of_fully_connected,
    "BatchNorm": lambda p, channels, out: 2 * out[1] if len(out) > 1 else 0,
    "Embedding": lambda p, channels, out: int(p.input_dim * p.output_dim),
}


def _label(node: Node) -> str:
    """What is written into a node's box."""
    if node.op is None:
        return node.name
    p: Any = node.params
    operator = node.op.name
    if operator == "Convolution":
        return f"Convolution\n{_sizes(p.kernel)}/{_stride(node)}, {p.num_filter}"
    if operator == "FullyConnected":
        return f"FullyConnected\n{p.num_hidden}"
    if operator == "Activation":
        return f"Activation\n{p.act_type}"
    if operator == "LeakyReLU":
        return f"LeakyReLU\n{node.attrs.get('act_type', 'Leaky')}"
    if operator == "Pooling":
        kernel = _sizes(p.kernel) if "kernel" in node.attrs else "[]"
        return f"Pooling\n{p.pool_type}, {kernel}/{_stride(node)}"
    return str(p.op_type) if operator == "Custom" else node.name


def _sizes(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _stride(node: Node) -> str:
    p: Any = node.params
    return _sizes(p.stride) if "stride" in node.attrs else "1"
