"""Which operators of which operator sets there are, and why not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import MissingPackage, TypeMismatch, Unsupported
from .graph import Graph, ModelFile, Node
from .index import NEWEST, TEXTS, VERSIONS
from .ops import load_family
from .package import NEWEST_OPSET, onnx_package
from .table import SPECIAL, TABLE, Operator
from .values import SequenceValue, Value

# those that operators here are of
_DOMAINS = ("", "com.microsoft")
# the first operator set whose forms are read
_OLDEST_OPSET = 6


def find_operator(node: Node) -> Operator | None:
    """The operator of a node, None where there is none of that name."""
    if node.domain in _DOMAINS:
        load_family(node.op)
    return TABLE.get((node.domain, node.op))


def find_special(node: Node) -> Callable[[Any, Node, list[Any]], None] | None:
    """What carries out a node that needs the planner, None for all others."""
    if not node.domain:
        load_family(node.op)
    return SPECIAL.get((node.domain, node.op))


class _Definition(NamedTuple):
    """Since which operator set an operator is what it is, and whether it is made of others."""

    since: int
    is_function: bool


@lru_cache(maxsize=512)
def _definitions(op: str) -> list[_Definition]:
    """All of them, the oldest first."""
    return [_Definition(int(word.rstrip("f")), word.endswith("f"))
            for word in VERSIONS.get(op, "").split()]


def _definition(op: str, opset: int) -> _Definition | None:
    """The definition in an operator set, None where there is none."""
    if opset <= NEWEST:
        return next((found for found in reversed(_definitions(op)) if found.since <= opset), None)
    try:
        schema = onnx_package().defs.get_schema(op, opset, "")
    except MissingPackage:
        raise
    except Exception:  # a class of the package's own
        return None
    return _Definition(schema.since_version,
                       schema.has_function or schema.has_context_dependent_function)


@lru_cache(maxsize=4096)
def refusal(domain: str, op: str, opset: int) -> str | None:
    """Why an operator of an operator set is not here, or None."""
    if domain:
        if domain in _DOMAINS:
            load_family(op)
        return (None if (domain, op) in TABLE or (domain, op) in SPECIAL
                else f"operators of the domain {domain} are not here")
    if opset > NEWEST:
        newest = max(onnx_package().defs.onnx_opset_version(), NEWEST)
        if opset > newest:
            return (f"operator set {opset} is newer than {newest}, the newest that the installed "
                    "onnx package knows")
    found = _definition(op, opset)
    if found is None:
        return f"operator set {opset} has no such operator"
    if found.since > NEWEST_OPSET:
        return (f"its definition changed in operator set {found.since}; known are those up to "
                f"{NEWEST_OPSET}")
    if opset < _OLDEST_OPSET:
        newer = _definition(op, _OLDEST_OPSET)
        if newer is not None and newer.since != found.since:
            return (f"its definition changed in operator set {newer.since}; known are "
                    f"those from {_OLDEST_OPSET} on")
    if load_family(op) or found.is_function:
        return None
    return "it is not here"


def check_texts(node: Node, ins: Sequence[Value | None]) -> None:
    """TypeMismatch for text where numbers are computed with, and for numbers that are no text."""
    if node.domain:
        return
    kinds = TEXTS.get(node.op, "")
    for i, value in enumerate(ins):
        if value is None:
            continue
        kind = kinds[i] if i < len(kinds) else kinds[-1] if kinds.endswith("a") else "n"
        is_text = value.dtype.kind == "O"
        if kind == ("n" if is_text else "t"):
            raise TypeMismatch(f"input {i} is {'text' if is_text else value.dtype}, expected "
                               f"{'numbers' if is_text else 'text'}")


def check_supported(file: ModelFile) -> None:
    """Unsupported, which lists each node that can not run: name, operator, operator set, reason.
    """
    lines = []
    for node in _called_nodes(file):
        if (node.domain, node.op, node.overload) in file.functions:
            continue
        reason = refusal(node.domain, node.op, node.opset)
        if reason is not None:
            lines.append(f"{node.place}: {_full_name(node)}, operator set {node.opset}: {reason}")
    if lines:
        raise Unsupported(f"{file.file}: {len(lines)} node(s) can not run:\n  "
                          + "\n  ".join(lines))


def _full_name(node: Node) -> str:
    return f"{node.domain}.{node.op}" if node.domain else node.op


def _called_nodes(file: ModelFile) -> Iterable[Node]:
    """Nodes of the graph and of functions that it calls."""
    seen: set[tuple[str, str, str]] = set()
    waiting: list[Graph] = [file.graph]
    while waiting:
        for node in waiting.pop().all_nodes():
            yield node
            key = node.domain, node.op, node.overload
            if key in file.functions and key not in seen:
                seen.add(key)
                waiting.append(file.functions[key])


def schema_function(node: Node, ins: Sequence[Any]) -> Graph | None:
    """What ONNX defines an operator by, where that is a function of other operators."""
    key = ("schema", tuple((v.shape, v.dtype) if isinstance(v, Value) else None for v in ins))
    if key not in node.known:
        node.known[key] = _schema_function(node, ins)
    found: Graph | None = node.known[key]
    return found


def _schema_function(node: Node, ins: Sequence[Any]) -> Graph | None:
    onnx = onnx_package()
    schema = onnx.defs.get_schema(node.op, node.opset, node.domain)
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= node.opset]
        if versions:
            return _function_of(node, schema.get_function_with_opset_version(max(versions)))
    if not schema.has_context_dependent_function:
        return None
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= node.opset]
    if not versions:
        return None
    proto = onnx.helper.make_node(node.op, list(node.inputs), list(node.outputs),
                                  domain=node.domain, **_attributes(node))
    types = [_type_proto(onnx, value).SerializeToString() for value in ins]
    return _function_of(node, schema.get_context_dependent_function_with_opset_version(
        max(versions), proto.SerializeToString(), types))


def _function_of(node: Node, text: Any) -> Graph:
    """A schema's function for a node: without outputs that the node leaves out, for which it may
    lack the nodes."""
    from .reading import read_function
    proto = text
    if isinstance(text, bytes):
        proto = onnx_package().FunctionProto()
        proto.ParseFromString(text)
    wanted = [i for i, name in enumerate(node.outputs) if name]
    del proto.output[wanted[-1] + 1:]
    return read_function(proto.SerializeToString())


def _attributes(node: Node) -> dict[str, Any]:
    helper = onnx_package().numpy_helper
    return {name: helper.from_array(value) if isinstance(value, np.ndarray) else value
            for name, value in node.attrs.items()}


def _type_proto(onnx: Any, value: Any) -> Any:
    if isinstance(value, SequenceValue):
        item = value.items[0] if value.items else None
        return onnx.helper.make_sequence_type_proto(_type_proto(onnx, item))
    if value is None:
        return onnx.TypeProto()
    return onnx.helper.make_tensor_type_proto(
        onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
