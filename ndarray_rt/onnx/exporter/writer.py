"""Writer: makes the ONNX graph of a symbol. What operators become stands in ops/."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._array.create import array
from ..._array.ndarray import NDArray
from ...context import cpu
from ...dtypes import DType
from ...symbol.node import Entry, Node, topological
from ...symbol.symbol import Symbol
from ..graph import Array
from ..package import onnx_package
from .dims import Dim, Size, Sizes
from .shared import Shared
from .table import FORMS, Refused


class Writer:
    """One graph of a model: `heads` are what it gives.

    `params` are the arrays of variables that are constants, by name. `known` are tensors of
    variables that are not called as they are here: those that a graph inside of a node, whose
    `outer` is set, takes from its node.
    """

    def __init__(self, shared: Shared, heads: Sequence[Entry], params: Mapping[str, NDArray],
                 shapes: Mapping[Entry, Sizes | None], types: Mapping[Entry, DType | None],
                 outer: Writer | None = None, known: Mapping[Entry, str] | None = None) -> None:
        self.shared = shared
        self.heads = list(heads)
        self.params = params
        self.shapes = shapes
        self.types = types
        self.outer = outer
        self.order = topological(heads)
        self.nodes: list[Any] = []
        self.refused: set[Node] = set()
        self._helper = onnx_package().helper
        self._tensors: dict[Entry, str] = dict(known or {})
        self._constants: dict[Entry, bool] = {}
        self._values: dict[Entry, Array] = {}

    # ---- names and nodes -----------------------------------------------------------------------

    def add(self, op: str, inputs: Sequence[str], hint: str, count: int = 1,
            **attrs: Any) -> list[str]:
        """A node of ONNX; the names of its outputs."""
        name = self.shared.name(hint)
        outs = [name, *(self.shared.name(f"{hint}_out{i}") for i in range(1, count))]
        self.nodes.append(self.node(op, inputs, outs, **attrs))
        return outs

    def node(self, op: str, inputs: Sequence[str], outs: Sequence[str], **attrs: Any) -> Any:
        """A node of ONNX with outputs of these names; it is not among the graph's yet."""
        return self._helper.make_node(
            op, list(inputs), list(outs), name=outs[0],
            **{key: value for key, value in attrs.items() if value is not None})

    # ---- what is known of entries --------------------------------------------------------------

    def shape(self, entry: Entry) -> Sizes:
        """The shape of an entry; Refused where it does not follow from what was given."""
        found = self.shapes[entry]
        if found is None:
            raise Refused(f"the shape of {entry.node.name!r} does not follow from the shapes given")
        return found

    def dtype(self, entry: Entry) -> np.dtype[Any]:
        """The dtype of an entry."""
        found = self.types[entry]
        if found is None:
            raise Refused(f"the dtype of {entry.node.name!r} does not follow from what was given")
        return found

    def is_constant(self, entry: Entry) -> bool:
        """It depends on parameters alone."""
        found = self._constants.get(entry)
        if found is None:
            node = entry.node
            shape = self.shapes[entry]
            if node.op is None:
                found = node.name in self.params
            else:
                assert node.params is not None
                found = (shape is not None and all(isinstance(size, int) for size in shape)
                         and not node.op.draws(node.params)
                         and all(self.is_constant(e) for e in node.inputs))
            self._constants[entry] = found
        return found

    def value(self, entry: Entry) -> Array:
        """The array that a constant is."""
        found = self._values.get(entry)
        if found is None:
            node = entry.node
            found = (self._computed(entry) if node.op is not None else
                     self.params[node.name].asnumpy())
            self._values[entry] = found
        return found

    def _computed(self, entry: Entry) -> Array:
        symbol = Symbol([entry])
        names = symbol.list_inputs()
        args = {name: self.params[name] for name in names}
        aux = set(symbol.list_auxiliary_states())
        made = symbol.bind(cpu(), {name: x for name, x in args.items() if name not in aux},
                           grad_req="null", aux_states={name: args[name] for name in aux})
        shape = self.shape(entry)
        found: Array = made.forward(is_train=False)[0].asnumpy()
        return found.reshape([int(size) for size in shape if isinstance(size, int)])

    def run(self, node: Node, arrays: Sequence[Array]) -> Array:
        """What a node's operator gives for these arrays."""
        variables = {f"in{i}": array(x, dtype=x.dtype) for i, x in enumerate(arrays)}
        made = Node(node.op, node.name, {}, node.params,
                    [Entry(Node(None, name), 0) for name in variables])
        executor = Symbol([Entry(made, 0)]).bind(cpu(), variables, grad_req="null")
        found: Array = executor.forward(is_train=False)[0].asnumpy()
        return found

    def tensor(self, entry: Entry) -> str:
        """The name of an entry in ONNX."""
        found = self._tensors.get(entry)
        if found is None:
            if self.is_constant(entry):
                node = entry.node
                if node.op is None:
                    found = node.name
                    self.shared.initialisers[found] = self.value(entry)
                else:
                    found = self.shared.initialiser(self.value(entry), node.name)
            else:
                found = entry.node.name  # an input of the model
            self._tensors[entry] = found
        return found

    def filled(self, value: float, dtype: np.dtype[Any]) -> Any:
        """The tensor of one number that ConstantOfShape takes."""
        return onnx_package().numpy_helper.from_array(np.array([value], dtype))

    def size_tensor(self, dim: Dim, hint: str) -> str | None:
        """A free size as a tensor of one whole number; None where it is not known from inputs."""
        if self.outer is not None:
            return self.outer.size_tensor(dim, hint)  # graphs inside see what stands before them
        if not dim.names:
            return None
        sizes = self.shared.sizes
        key = str(dim)
        if key not in sizes:
            made = ""
            for name in dim.names:
                one = self._named_size(name, hint)
                made = self.add("Mul", [made, one], hint)[0] if made else one
            if dim.factor != 1:
                factor = self.shared.initialiser(np.array([dim.factor], np.int64), hint)
                made = self.add("Mul", [made, factor], hint)[0]
            sizes[key] = made
        return sizes[key]

    def _named_size(self, name: str, hint: str) -> str:
        sizes = self.shared.sizes
        if name not in sizes:
            source, axis = next((source, shape.index(name))
                                for source, shape in self.shared.given.items() if name in shape)
            sizes[name] = self.size_of(source, axis, hint)
        return sizes[name]

    def size_of(self, tensor: str, axis: int, hint: str) -> str:
        """The size of an axis of a tensor, as a tensor of one whole number."""
        shape = self.add("Shape", [tensor], hint)[0]
        index = self.shared.initialiser(np.array([axis], np.int64), hint)
        return self.add("Gather", [shape, index], hint, axis=0)[0]

    # ---- the graph -----------------------------------------------------------------------------

    def convert(self) -> list[str]:
        """Makes nodes for all that the heads need; a line for each node that has no form."""
        from .call import Call
        refused = []
        for node in self._needed():
            try:
                form = FORMS.get(node.op.name) if node.op is not None else None
                if form is None:
                    raise Refused("the operator has no form in ONNX here")
                made = form.function(Call(self, node))
                tensors = [made] if isinstance(made, str) else list(made)
            except Refused as error:
                assert node.op is not None
                refused.append(f'{node.op.name} "{node.name}": {error}')
                self.refused.add(node)
                tensors = [node.name] * node.num_outputs
            self._tensors.update(zip(node.outputs, tensors, strict=False))
        return refused or self._without_tensor()

    def _needed(self) -> list[Node]:
        """The nodes that are to be written, in order."""
        for node in self.order:  # each after its inputs, so that nothing recurses deeply
            for entry in node.outputs:
                self.is_constant(entry)
        wanted = {entry.node for entry in self.heads if not self.is_constant(entry)}
        found = []
        for node in reversed(self.order):
            if node not in wanted or node.op is None:
                continue
            found.append(node)
            form = FORMS.get(node.op.name)
            for i, entry in enumerate(node.inputs):
                if (form is None or i not in form.ignores) and not self.is_constant(entry):
                    wanted.add(entry.node)
        self._read = {node.name for node in wanted if node.op is None}
        return found[::-1]

    def _without_tensor(self) -> list[str]:
        """Outputs that are used and that their nodes' forms do not give."""
        found = []
        used = {entry for node in self._needed() for entry in node.inputs} | {*self.heads}
        for entry in used:
            node = entry.node
            if (node.op is not None and entry not in self._tensors and not self.is_constant(entry)
                    and any(out in self._tensors for out in node.outputs)):
                found.append(f'{node.op.name} "{node.name}": its output {entry.index} has no form '
                             "in ONNX here")
        return sorted(found)

    def reads(self, name: str) -> bool:
        """Something that was written reads the variable of this name."""
        return name in self._read

    def give(self, names: Sequence[str]) -> list[Any]:
        """Gives the heads these names, where no other tensor has them; the outputs' types."""
        outputs: list[Any] = []
        tensors = []
        for entry, output in zip(self.heads, names, strict=True):
            made = self.tensor(entry)
            if output == made or output in [info.name for info in outputs]:
                output = self.shared.name(f"{output}_output" if entry.node.op is None else output)
            outputs.append(self.info(output, entry))
            tensors.append(made)
        self.close(tensors, [info.name for info in outputs])
        return outputs

    def close(self, tensors: Sequence[str], names: Sequence[str]) -> None:
        """The graph gives these tensors under these names; what nothing reads goes."""
        for tensor, name in zip(tensors, names, strict=True):
            self.nodes.append(self._helper.make_node("Identity", [tensor], [name], name=name))
        self._join_ends(set(names))
        self._drop_unused(set(names))

    def _join_ends(self, outputs: set[str]) -> None:
        """What an Identity at the end only renames gets the name itself."""
        makers = {out: node for node in self.nodes for out in node.output}
        # inside of a node nobody sees a new name
        inside = {name for node in self.nodes for graph in graphs_of(node) for name in reads(graph)}
        kept = []
        renamed: dict[str, str] = {}
        for node in self.nodes:
            source = node.input[0] if node.input else ""
            if (node.op_type == "Identity" and node.output[0] in outputs and source in makers
                    and source not in outputs and source not in renamed and source not in inside):
                renamed[source] = node.output[0]
            else:
                kept.append(node)
        for node in kept:
            for names in (node.input, node.output):
                for i, each in enumerate(names):
                    names[i] = renamed.get(each, each)
        self.nodes = kept

    def _drop_unused(self, wanted: set[str]) -> None:
        kept = []
        for node in reversed(self.nodes):
            if any(out in wanted for out in node.output):
                wanted.update(node.input)
                wanted.update(name for graph in graphs_of(node) for name in reads(graph))
                kept.append(node)
        self.nodes = kept[::-1]
        if self.outer is None:
            self.shared.keep(wanted)

    def info(self, name: str, entry: Entry) -> Any:
        """The type of an entry under a name."""
        return self.typed(name, self.dtype(entry), self.shapes[entry])

    def typed(self, name: str, dtype: DType, shape: Sizes | None) -> Any:
        """A tensor's type."""
        def shown(size: Size) -> int | str | None:
            return (str(size) or None) if isinstance(size, Dim) else size
        kind = self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self._helper.make_tensor_value_info(
            name, kind, None if shape is None else [shown(size) for size in shape])


def graphs_of(node: Any) -> list[Any]:
    """The graphs inside of a node."""
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def reads(graph: Any) -> Iterable[str]:
    """Names that a graph reads, those of its own among them."""
    for node in graph.node:
        yield from node.input
        for inner in graphs_of(node):
            yield from reads(inner)
    for output in graph.output:
        yield output.name
