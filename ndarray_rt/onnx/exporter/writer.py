"""Writer: makes the ONNX graph of a symbol. What operators become stands in ops/."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._array.create import array
from ..._array.ndarray import NDArray
from ...context import cpu
from ...errors import Unsupported
from ...symbol.infer import infer_graph_types
from ...symbol.node import Entry, Node, topological
from ...symbol.symbol import Symbol
from ..graph import Array
from ..package import onnx_package
from .dims import Dim, Given, Size, Sizes, find_shapes
from .table import FORMS, Refused

# initialisers up to here are shared where they are equal
_SHARED_BYTES = 1 << 16
_NODES_SHOWN = 100


class Writer:
    """One export. `given` are shapes of inputs, `types` dtypes of them, by name."""

    def __init__(self, symbol: Symbol, params: Mapping[str, NDArray], given: Mapping[str, Given],
                 types: Mapping[str, np.dtype[Any]], opset: int) -> None:
        self.symbol = symbol
        self.params = params
        self.opset = opset
        self.given = given
        heads = symbol.entries
        self.order = topological(heads)
        fixed = {node.name: params[node.name].shape for node in self.order
                 if node.is_variable and node.name in params}
        self.shapes = find_shapes(heads, fixed, given)
        self.types = infer_graph_types(heads, {**{name: params[name].dtype for name in fixed},
                                               **types})
        self.nodes: list[Any] = []
        self._helper = onnx_package().helper
        self._tensors: dict[Entry, str] = {}
        self._constants: dict[Entry, bool] = {}
        self._values: dict[Entry, Array] = {}
        self._initialisers: dict[str, Array] = {}
        self._shared: dict[Any, str] = {}
        self._sizes: dict[str, str] = {}
        self._taken = {node.name for node in self.order if node.is_variable}
        self._taken.update(symbol.list_outputs())

    # ---- names and nodes -----------------------------------------------------------------------

    def name(self, hint: str) -> str:
        """A name that nothing else has."""
        made, number = hint, 0
        while made in self._taken:
            number += 1
            made = f"{hint}_{number}"
        self._taken.add(made)
        return made

    def add(self, op: str, inputs: Sequence[str], hint: str, count: int = 1,
            **attrs: Any) -> list[str]:
        """A node of ONNX; the names of its outputs."""
        name = self.name(hint)
        outs = [name, *(self.name(f"{hint}_out{i}") for i in range(1, count))]
        self.nodes.append(self._helper.make_node(
            op, list(inputs), outs, name=name,
            **{key: value for key, value in attrs.items() if value is not None}))
        return outs

    def initialiser(self, value: Any, hint: str) -> str:
        """A constant; small ones that are equal are one."""
        made = np.asarray(value)
        key: Any = None
        if made.nbytes <= _SHARED_BYTES:
            key = made.shape, made.dtype.str, hashlib.sha256(made.tobytes()).digest()
            if key in self._shared:
                return self._shared[key]
        name = self.name(hint)
        self._initialisers[name] = made
        if key is not None:
            self._shared[key] = name
        return name

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
                    self._initialisers[found] = self.value(entry)
                else:
                    found = self.initialiser(self.value(entry), node.name)
            else:
                found = entry.node.name  # an input of the model
            self._tensors[entry] = found
        return found

    def filled(self, value: float, dtype: np.dtype[Any]) -> Any:
        """The tensor of one number that ConstantOfShape takes."""
        return onnx_package().numpy_helper.from_array(np.array([value], dtype))

    def size_tensor(self, dim: Dim, hint: str) -> str | None:
        """A free size as a tensor of one whole number; None where it is not known from inputs."""
        if not dim.names:
            return None
        key = str(dim)
        if key not in self._sizes:
            made = ""
            for name in dim.names:
                one = self._named_size(name, hint)
                made = self.add("Mul", [made, one], hint)[0] if made else one
            if dim.factor != 1:
                factor = self.initialiser(np.array([dim.factor], np.int64), hint)
                made = self.add("Mul", [made, factor], hint)[0]
            self._sizes[key] = made
        return self._sizes[key]

    def _named_size(self, name: str, hint: str) -> str:
        if name not in self._sizes:
            source, axis = next((source, shape.index(name)) for source, shape in self.given.items()
                                if name in shape)
            self._sizes[name] = self.size_of(source, axis, hint)
        return self._sizes[name]

    def size_of(self, tensor: str, axis: int, hint: str) -> str:
        """The size of an axis of a tensor, as a tensor of one whole number."""
        shape = self.add("Shape", [tensor], hint)[0]
        index = self.initialiser(np.array([axis], np.int64), hint)
        return self.add("Gather", [shape, index], hint, axis=0)[0]

    # ---- the graph -----------------------------------------------------------------------------

    def write(self, name: str) -> Any:
        """The GraphProto. Raises Unsupported with all nodes that have no form."""
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
                tensors = [node.name] * node.num_outputs
            self._tensors.update(zip(node.outputs, tensors, strict=False))
        if not refused:
            refused = self._without_tensor()
        if refused:
            shown = refused[:_NODES_SHOWN]
            if len(refused) > len(shown):
                shown.append(f"and {len(refused) - len(shown)} more")
            raise Unsupported(f"{len(refused)} node(s) can not be exported to ONNX operator set "
                              f"{self.opset}:\n  " + "\n  ".join(shown))
        return self._graph(name)

    def _needed(self) -> list[Node]:
        """The nodes that are to be written, in order."""
        for node in self.order:  # each after its inputs, so that nothing recurses deeply
            for entry in node.outputs:
                self.is_constant(entry)
        wanted = {entry.node for entry in self.symbol.entries if not self.is_constant(entry)}
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
        used = {entry for node in self._needed() for entry in node.inputs} | {
            *self.symbol.entries}
        for entry in used:
            node = entry.node
            if (node.op is not None and entry not in self._tensors and not self.is_constant(entry)
                    and any(out in self._tensors for out in node.outputs)):
                found.append(f'{node.op.name} "{node.name}": its output {entry.index} has no form '
                             "in ONNX here")
        return sorted(found)

    def _graph(self, name: str) -> Any:
        outputs: list[Any] = []
        for entry, output in zip(self.symbol.entries, self.symbol.list_outputs(), strict=True):
            made = self.tensor(entry)
            if output == made or output in [info.name for info in outputs]:
                output = self.name(f"{output}_output" if entry.node.op is None else output)
            self.nodes.append(self._helper.make_node("Identity", [made], [output], name=output))
            outputs.append(self._info(output, entry))
        self._join_ends({info.name for info in outputs})
        self._drop_unused({info.name for info in outputs})
        inputs = [self._info(node.name, Entry(node, 0)) for node in self.order
                  if node.is_variable and node.name not in self.params
                  and (node.name in self._read or node.name in self.given)]
        tensors = [onnx_package().numpy_helper.from_array(np.ascontiguousarray(value).reshape(
            value.shape), key) for key, value in self._initialisers.items()]
        return self._helper.make_graph(self.nodes, name, inputs, outputs, tensors)

    def _join_ends(self, outputs: set[str]) -> None:
        """What an Identity at the end only renames gets the name itself."""
        makers = {out: node for node in self.nodes for out in node.output}
        kept = []
        renamed: dict[str, str] = {}
        for node in self.nodes:
            source = node.input[0] if node.input else ""
            if (node.op_type == "Identity" and node.output[0] in outputs and source in makers
                    and source not in outputs and source not in renamed):
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
                kept.append(node)
        self.nodes = kept[::-1]
        self._initialisers = {name: value for name, value in self._initialisers.items()
                              if name in wanted}

    def _info(self, name: str, entry: Entry) -> Any:
        def shown(size: Size) -> int | str | None:
            return (str(size) or None) if isinstance(size, Dim) else size
        kind = self._helper.np_dtype_to_tensor_dtype(self.dtype(entry))
        shape = self.shapes[entry]
        return self._helper.make_tensor_value_info(
            name, kind, None if shape is None else [shown(size) for size in shape])
