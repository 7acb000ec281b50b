"""From a file, bytes or a ModelProto to a ModelFile: everything is checked on the way."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from .._array.ndarray import has_arrays
from ..errors import ModelFormatError, TypeMismatch, shown
from .graph import Array, Graph, ModelFile, Node, Reference, ValueInfo
from .messages import FunctionProto, ModelProto
from .tensors import TensorReader, dtype_of_kind
from .wire import WrongBytes, read_bytes, read_file

_DEEPEST = 64
_LONGEST_NAME = 1 << 16
_LARGEST_STREAM = (1 << 31) - 1  # more has no message of this format


class Kind(IntEnum):
    """What an attribute is."""

    FLOAT, INT, STRING, TENSOR, GRAPH = 1, 2, 3, 4, 5
    FLOATS, INTS, STRINGS, TENSORS, GRAPHS = 6, 7, 8, 9, 10
    SPARSE_TENSOR, TYPE_PROTO = 11, 13


def read_model(source: Any) -> ModelFile:
    """All that `source` (a path, bytes or a ModelProto) says.

    Raises ModelFormatError for what is no model, or one that contradicts itself, OSError where a
    file can not be read.
    """
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        with open(path, "rb") as opened:
            found = os.fstat(opened.fileno())
            if stat.S_ISREG(found.st_mode):
                proto = _parsed(path.name, lambda made: read_file(
                    made, opened.fileno(), found.st_size))
                return _Reader(proto, path.name, path.parent).model()
            # what is endless is read as a whole, or not at all
            data = opened.read(_LARGEST_STREAM + 1)
        if len(data) > _LARGEST_STREAM:
            raise ModelFormatError(f"is no file, and gives more than {_LARGEST_STREAM} bytes",
                                   path.name)
        proto = _parsed(path.name, lambda made: read_bytes(made, data))
        return _Reader(proto, path.name, path.parent).model()
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        proto = _parsed("model", lambda made: read_bytes(made, data))
        return _Reader(proto, "model", None).model()
    package = sys.modules.get("onnx")  # who has a ModelProto has imported it
    if package is not None and isinstance(source, package.ModelProto):
        return _Reader(source, "model", None).model()
    raise TypeMismatch(f"onnx.load: got {shown(source)}, expected a path, bytes or a ModelProto")


def _parsed(file: str, fill: Callable[[ModelProto], None]) -> ModelProto:
    made = ModelProto()
    try:
        fill(made)
    except WrongBytes as error:
        raise ModelFormatError(f"is no ONNX model: {error}", file) from None
    return made


class _Reader:
    """Reads one ModelProto."""

    def __init__(self, proto: Any, file: str, folder: Path | None) -> None:
        self.proto = proto
        self.file = file
        self.tensors = TensorReader(file, folder)

    def error(self, reason: str, place: str = "") -> ModelFormatError:
        return ModelFormatError(reason, self.file, place)

    def model(self) -> ModelFile:
        proto = self.proto
        if not proto.HasField("graph"):
            raise self.error("is no ONNX model: it has no graph")
        opsets = self._opsets(proto.opset_import, "opset_import")
        if not opsets:
            if proto.ir_version >= 3:
                raise self.error("says no operator set", "opset_import")
            opsets = {"": 1}
        functions = {}
        for made in proto.functions:
            place = f"function {made.domain}.{made.name}"
            key = (_domain(made.domain), made.name, getattr(made, "overload", ""))
            if key in functions:
                raise self.error("is there twice", place)
            functions[key] = self._function(made, opsets, place)
        graph = self._graph(proto.graph, opsets, "", frozenset(), 0)
        known = {*graph.constants}
        inputs = [self._value_info(v) for v in proto.graph.input if v.name not in known]
        # before version 4 every initialiser was an input too, and none of them to be given
        overridable = [self._value_info(v) for v in proto.graph.input
                       if v.name in known and proto.ir_version >= 4]
        graph.inputs = [v.name for v in inputs]
        return ModelFile(graph, inputs, [self._value_info(v) for v in proto.graph.output],
                         opsets, functions, self._metadata(), self.file, overridable)

    def _metadata(self) -> dict[str, Any]:
        proto = self.proto
        return {"producer_name": proto.producer_name, "producer_version": proto.producer_version,
                "graph_name": proto.graph.name, "graph_description": proto.graph.doc_string,
                "description": proto.doc_string, "domain": proto.domain,
                "version": proto.model_version, "ir_version": proto.ir_version,
                "custom": {p.key: p.value for p in proto.metadata_props}}

    def _opsets(self, entries: Iterable[Any], place: str) -> dict[str, int]:
        made: dict[str, int] = {}
        for entry in entries:
            if entry.version < 1:
                raise self.error(f"operator set {entry.domain or 'ai.onnx'} has the version "
                                 f"{entry.version}", place)
            made[_domain(entry.domain)] = entry.version
        return made

    def _value_info(self, info: Any) -> ValueInfo:
        kind = info.type.WhichOneof("value") or "tensor_type"
        word = {"tensor_type": "tensor", "sparse_tensor_type": "sparse tensor"}.get(
            kind, kind.removesuffix("_type"))
        if word != "tensor" or not info.type.HasField("tensor_type"):
            return ValueInfo(info.name, None, None, word)
        tensor = info.type.tensor_type
        try:
            dtype = dtype_of_kind(tensor.elem_type)
        except KeyError:
            dtype = None
        if not tensor.HasField("shape"):
            return ValueInfo(info.name, dtype, None)
        dims: list[int | str | None] = []
        for dim in tensor.shape.dim:
            which = dim.WhichOneof("value")
            if which == "dim_value":
                # below 0 as some writers note an unknown one
                dims.append(dim.dim_value if dim.dim_value >= 0 else None)
            else:
                dims.append(dim.dim_param or None if which else None)
        return ValueInfo(info.name, dtype, tuple(dims))

    # ---- graphs --------------------------------------------------------------------------------

    def _function(self, proto: Any, opsets: Mapping[str, int], place: str) -> Graph:
        own = {**opsets, **self._opsets(proto.opset_import, place)}
        attributes: dict[str, Any] = dict.fromkeys(proto.attribute)
        for attribute in getattr(proto, "attribute_proto", ()):
            attributes[attribute.name] = self._attribute(attribute, own, place, frozenset(), 0)
        nodes = self._nodes(proto.node, own, place, {*proto.input}, 0)
        # an output that nothing computes is one that a call may not ask for
        return Graph(proto.name, list(proto.input), list(proto.output), nodes, {}, attributes)

    def _graph(self, proto: Any, opsets: Mapping[str, int], place: str, outer: AbstractSet[str],
               depth: int) -> Graph:
        if depth > _DEEPEST:
            raise self.error(f"graphs are nested more than {_DEEPEST} deep", place)
        constants: dict[str, Array] = {}
        for tensor in proto.initializer:
            if tensor.name in constants:
                raise self.error("there are two of this name", f"initializer {tensor.name!r:.200}")
            constants[tensor.name] = self.tensors.read(tensor, f"initializer {tensor.name!r:.200}")
        for sparse in proto.sparse_initializer:
            name = sparse.values.name
            constants[name] = self._sparse(sparse, f"sparse_initializer {name!r:.200}")
        inputs = [v.name for v in proto.input]
        if len(set(inputs)) != len(inputs):
            raise self.error("two inputs have one name", place or "graph")
        inside = {*inputs, *constants}
        nodes = self._nodes(proto.node, opsets, place, inside | outer, depth)
        made = Graph(proto.name, inputs, [v.name for v in proto.output], nodes, constants,
                     infos=[self._value_info(v) for v in proto.output])
        for node in nodes:
            inside.update(node.outputs)
        for name in made.outputs:
            if not name or (name not in inside and name not in outer):
                raise self.error(f"the output {name!r:.200} is computed nowhere", place or "graph")
        return made

    def _nodes(self, protos: Iterable[Any], opsets: Mapping[str, int], place: str,
               outer: AbstractSet[str], depth: int) -> list[Node]:
        given = list(protos)
        order = self._sorted(given, outer, place)
        seen = set(outer)
        made = []
        for number in order:
            proto = given[number]
            where = self._place(proto, number, place)
            node = self._node(proto, opsets, where, seen, depth)
            made.append(node)
            seen.update(node.outputs)
        return made

    def _place(self, proto: Any, number: int, place: str) -> str:
        name = proto.name or next(iter(proto.output), "")
        mine = f"node {number} ({name!r:.100})"
        return f"{place}/{mine}" if place else mine

    def _sorted(self, protos: list[Any], outer: AbstractSet[str], place: str) -> list[int]:
        """Their order; ModelFormatError for names that are there twice, and for cycles."""
        maker: dict[str, int] = {}
        for i, proto in enumerate(protos):
            for name in proto.output:
                if len(name) > _LONGEST_NAME:
                    raise self.error(f"a name of {len(name)} characters", self._place(
                        proto, i, place))
                if name and (name in maker or (name in outer and depth_of(place) == 0)):
                    raise self.error(f"the value {name!r:.200} is computed twice",
                                     self._place(proto, i, place))
                if name:
                    maker[name] = i
        needs = [[maker[name] for name in dict.fromkeys(_reads(proto)) if name in maker]
                 for proto in protos]
        if all(j < i for i, before in enumerate(needs) for j in before):
            return list(range(len(protos)))
        return self._depth_first(protos, needs, place)

    def _depth_first(self, protos: list[Any], needs: list[list[int]], place: str) -> list[int]:
        order: list[int] = []
        state = [0] * len(protos)  # 1: under way, 2: done
        for first in range(len(protos)):
            stack = [(first, iter(needs[first]))] if not state[first] else []
            state[first] = state[first] or 1
            while stack:
                i, rest = stack[-1]
                for j in rest:
                    if state[j] == 1:
                        raise self.error("the graph has a cycle", self._place(protos[j], j, place))
                    if not state[j]:
                        state[j] = 1
                        stack.append((j, iter(needs[j])))
                        break
                else:
                    state[i] = 2
                    order.append(i)
                    stack.pop()
        return order

    def _node(self, proto: Any, opsets: Mapping[str, int], place: str, outer: AbstractSet[str],
              depth: int) -> Node:
        domain = _domain(proto.domain)
        attrs: dict[str, Any] = {}
        for attribute in proto.attribute:
            if attribute.name in attrs:
                raise self.error(f"has the attribute {attribute.name!r:.200} twice", place)
            attrs[attribute.name] = self._attribute(attribute, opsets, place, outer, depth)
        node = Node(proto.op_type, domain, opsets.get(domain, 0), proto.name, tuple(proto.input),
                    tuple(proto.output), attrs, place, overload=getattr(proto, "overload", ""))
        missing = [name for name in node.reads() if name not in outer]
        if missing:
            raise self.error(f"reads {missing[0]!r:.200}, which is computed nowhere", place)
        if domain == _domain(""):
            self._check_bodies(node)
        return node

    def _check_bodies(self, node: Node) -> None:
        """ModelFormatError where graphs inside of a node take or give another number of values
        than the node has for them."""
        outputs, before = len(node.outputs), 0
        if node.op == "Loop":
            outputs += 1  # the condition
        if node.op == "Scan" and node.opset < 9:
            before = 1  # lengths of sequences
        for word in ("then_branch", "else_branch", "body"):
            graph = node.attrs.get(word)
            if not isinstance(graph, Graph):
                continue
            inputs = 0 if node.op == "If" else len(node.inputs) - before
            if len(graph.inputs) != inputs or len(graph.outputs) < outputs:
                raise self.error(f"{word} has {len(graph.inputs)} inputs and "
                                 f"{len(graph.outputs)} outputs, expected {inputs} and "
                                 f"{outputs}", node.place)

    def _attribute(self, proto: Any, opsets: Mapping[str, int], place: str, outer: AbstractSet[str],
                   depth: int) -> Any:
        kind = proto.type
        where = f"{place}: attribute {proto.name!r:.100}"
        if proto.ref_attr_name:
            return Reference(proto.ref_attr_name)
        if kind == Kind.FLOAT:
            return proto.f
        if kind == Kind.INT:
            return proto.i
        if kind == Kind.STRING:
            return proto.s.decode("utf-8", "replace")
        if kind == Kind.TENSOR:
            return self.tensors.read(proto.t, where)
        if kind == Kind.SPARSE_TENSOR:
            return self._sparse(proto.sparse_tensor, where)
        if kind == Kind.GRAPH:
            return self._graph(proto.g, opsets, where, outer, depth + 1)
        if kind == Kind.FLOATS:
            return list(proto.floats)
        if kind == Kind.INTS:
            return list(proto.ints)
        if kind == Kind.STRINGS:
            return [text.decode("utf-8", "replace") for text in proto.strings]
        if kind == Kind.TENSORS:
            return [self.tensors.read(t, where) for t in proto.tensors]
        if kind == Kind.GRAPHS:
            return [self._graph(g, opsets, where, outer, depth + 1) for g in proto.graphs]
        if kind == Kind.TYPE_PROTO:
            return proto.tp
        return self._untyped(proto, where)

    def _untyped(self, proto: Any, place: str) -> Any:
        """Files of the first version do not say which field of an attribute counts."""
        for field, take in (("ints", list), ("floats", list), ("strings", list)):
            if getattr(proto, field):
                return take(getattr(proto, field))
        for field in ("f", "i", "s"):
            if proto.HasField(field):
                value = getattr(proto, field)
                return value.decode("utf-8", "replace") if field == "s" else value
        if proto.HasField("t"):
            return self.tensors.read(proto.t, place)
        raise self.error(f"has the unknown type {proto.type}", place)

    def _sparse(self, proto: Any, place: str) -> Array:
        """A sparse tensor as a dense one."""
        values = self.tensors.read(proto.values, place)
        indices = self.tensors.read(proto.indices, place)
        shape = tuple(proto.dims)
        size = 1
        for dim in shape:
            size *= dim
        if (any(dim < 0 for dim in shape) or not has_arrays(shape)
                or size > max(1 << 24, 64 * values.size)):
            raise self.error(f"a sparse tensor of shape {shape} is too large", place)
        made = np.zeros(size, values.dtype)
        if indices.ndim == 2:
            if indices.shape != (values.size, len(shape)):
                raise self.error("a sparse tensor has other indices than values", place)
            try:
                indices = np.ravel_multi_index(tuple(indices.T), shape)
            except ValueError:
                raise self.error("a sparse tensor has indices out of range", place) from None
        if indices.shape != (values.size,) or (
                indices.size and not 0 <= indices.min() <= indices.max() < size):
            raise self.error("a sparse tensor has indices out of range", place)
        made[indices] = values.reshape(-1)
        return made.reshape(shape)


def depth_of(place: str) -> int:
    """How many nodes a place lies inside of."""
    return place.count("node ")


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _reads(proto: Any) -> Iterable[str]:
    """Names that a node reads, those of graphs inside of it too."""
    yield from (name for name in proto.input if name)
    for attribute in proto.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
            inside = {v.name for v in graph.input} | {t.name for t in graph.initializer}
            for node in graph.node:
                for name in _reads(node):
                    if name not in inside:
                        yield name
                inside.update(node.output)
            for output in graph.output:
                if output.name not in inside:
                    yield output.name


def read_function(text: bytes) -> Graph:
    """The graph of a FunctionProto."""
    proto: Any = FunctionProto()
    read_bytes(proto, text)
    return _Reader(ModelProto(), proto.name, None)._function(proto, {}, proto.name)
