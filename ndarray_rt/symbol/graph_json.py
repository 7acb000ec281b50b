"""Graphs to and from MXNet's JSON text. Older versions are upgraded in json_upgrade.py.

The output equals MXNet 1.9.1's for the same graph, byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from ..collector import resting_collector
from ..errors import (
    MissingPackage,
    ModelFormatError,
    MXNetError,
    NameMismatch,
    ParameterError,
)
from ..np_shape import is_np_shape
from ..op.params import Params
from ..op.registry import find
from .atomic_file import write_atomic
from .compose import mutated_inputs, parse_params, set_initializers
from .json_text import parse_json, read_json_bytes
from .json_upgrade import Draft, mark_unknown, upgrade
from .node import Entry, Node, topological
from .subgraph import KEY, SubgraphParams

VERSION = 10901
FILE = "symbol JSON"  # the name of text without a file, in errors
MOST_OUTPUTS = 1 << 20  # of all nodes together, as a few bytes of a file can request many
NUMPY_SHAPE = "is_np_shape"  # the attribute of graphs that were saved under np_shape
# files without a version predate the attribute
OLDEST_VERSION = 800


# ---- writing ----------------------------------------------------------------------------------


def mutation_counts(order: Sequence[Node]) -> dict[Node, list[int]]:
    """For each node and input, how often its variable was written to up to this node."""
    counts: dict[Node, int] = {}
    found: dict[Node, list[int]] = {}
    for node in order:
        if node.op is not None and node.params is not None:
            for i in sorted(mutated_inputs(node.op, node.params)):
                if i < len(node.inputs):
                    counts[node.inputs[i].node] = counts.get(node.inputs[i].node, 0) + 1
            written = mutated_inputs(node.op, node.params)
            found[node] = [counts.get(e.node, 0) if i in written or e.node.is_variable else 0
                           for i, e in enumerate(node.inputs)]
    return found


def _versions(order: Sequence[Node]) -> dict[Node, Sequence[int]]:
    """The counts to write to a file: those that the graph's own file had, else the computed
    ones."""
    found: dict[Node, Sequence[int]] = {**mutation_counts(order)}
    found.update({node: node.versions for node in order
                  if node.versions is not None and len(node.versions) == len(node.inputs)})
    return found


def save_graph(heads: Sequence[Entry], remove_amp_cast: bool = True) -> str:
    """The graph of `heads` as JSON text."""
    parts = _graph_parts(heads, remove_amp_cast, 0)
    attrs = [("mxnet_version", f'["int", {VERSION}]')]
    if is_np_shape():
        attrs.insert(0, (NUMPY_SHAPE, '["int", 1]'))
    return _object([*parts, ("attrs", _object(attrs, 1, len(attrs) > 1))], 0, True)


def _graph_parts(heads: Sequence[Entry], remove_amp_cast: bool, depth: int,
                 ) -> list[tuple[str, str]]:
    """Nodes and heads as JSON text, `depth` levels inside."""
    if remove_amp_cast:
        heads = without_casts(heads)
    order = topological(heads)
    place = {node: i for i, node in enumerate(order)}
    versions = _versions(order)
    rows, nodes = [0], []
    for node in order:
        rows.append(rows[-1] + _outputs_in_file(node))
        nodes.append(_node_text(node, place, versions.get(node, []), depth))
    arg_nodes = [str(place[node]) for node in order if node.is_variable]
    inner = depth + 1
    return [("nodes", _array(nodes, inner, True)),
            ("arg_nodes", _array(arg_nodes, inner)),
            ("node_row_ptr", _array([str(row) for row in rows], inner)),
            ("heads", _array([f"[{place[e.node]}, {e.index}, {_head_version(e, order, versions)}]"
                              for e in heads], inner))]


# operators whose number of hidden outputs differs from MXNet's, and MXNet's number
_OUTPUTS_IN_FILE = {
    "BatchNorm": 3, "BilinearSampler": 2, "CTCLoss": 2, "Correlation": 3, "Dropout": 2,
    "GridGenerator": 2, "GroupNorm": 3, "InstanceNorm": 3, "L2Normalization": 2, "LRN": 2,
    "LayerNorm": 3, "ROIPooling": 2, "SpatialTransformer": 3, "_contrib_BatchNormWithReLU": 4,
    "_contrib_Proposal": 2, "_contrib_box_nms": 2, "sort": 2,
}


def _outputs_in_file(node: Node) -> int:
    """MXNet's number of outputs. Nothing reads it, but files are to be equal."""
    if node.op is None:
        return 1
    if node.op.name == "Pooling":
        # a oneDNN workspace
        p: Any = node.params
        if p.pool_type == "max" and p.kernel and (p.layout or "NC").startswith("NC"):
            return 2
    if node.op.name == "RNN" and node.params is not None:
        return node.op.num_visible(node.params)
    return _OUTPUTS_IN_FILE.get(node.op.name, node.num_outputs)


def _head_version(entry: Entry, order: Sequence[Node],
                  versions: Mapping[Node, Sequence[int]]) -> int:
    """The version of a head: for a variable, how often it is written to."""
    if not entry.node.is_variable:
        return 0
    return max((counts[i] for node, counts in versions.items()
                for i, e in enumerate(node.inputs) if e.node is entry.node), default=0)


def _node_text(node: Node, place: Mapping[Node, int], versions: Sequence[int],
               depth: int) -> str:
    parts = [("op", _string("null" if node.op is None else node.op.name)),
             ("name", _string(node.name))]
    if node.attrs:
        items = [(key, _string(node.attrs[key])) for key in sorted(node.attrs)]
        parts.append(("attrs", _object(items, depth + 3, len(items) > 1)))
    inputs = [f"[{place[e.node]}, {e.index}, {version}]"
              for e, version in zip(node.inputs, versions, strict=True)]
    parts.append(("inputs", _array(inputs, depth + 3)))
    if isinstance(node.params, SubgraphParams):
        graphs = [_object(_graph_parts(graph.heads, False, depth + 4), depth + 4, True)
                  for graph in node.params.graphs]
        parts.append(("subgraphs", _array(graphs, depth + 3, True)))
    return _object(parts, depth + 2, True)


_ESCAPES = str.maketrans({"\r": "\\r", "\n": "\\n", "\\": "\\\\", "\t": "\\t", '"': '\\"'})


def _string(text: str) -> str:
    # MXNet writes all other characters unescaped in UTF-8, and reads no other escapes
    return f'"{text.translate(_ESCAPES)}"'


def _object(items: Sequence[tuple[str, str]], depth: int, multi_line: bool) -> str:
    return _joined("{}", [f"{_string(key)}: {value}" for key, value in items], depth, multi_line)


def _array(items: Sequence[str], depth: int, multi_line: bool | None = None) -> str:
    """An array; with more than ten items, one per line."""
    return _joined("[]", items, depth, len(items) > 10 if multi_line is None else multi_line)


def _joined(ends: str, items: Sequence[str], depth: int, multi_line: bool) -> str:
    if not multi_line or not items:
        return ends[0] + ", ".join(items) + ends[1]
    indent = "\n" + "  " * (depth + 1)
    return ends[0] + ", ".join(indent + item for item in items) + "\n" + "  " * depth + ends[1]


def without_casts(heads: Sequence[Entry]) -> list[Entry]:
    """The graph without amp_cast and amp_multicast nodes, except those that are its outputs; the
    same entries if it has none."""
    order = topological(heads)
    if not any(_is_cast(node) for node in order):
        return list(heads)
    moved: dict[Entry, Entry] = {}
    for node in order:
        inputs = [moved[e] for e in node.inputs]
        if _is_cast(node):
            # output i of either is input i, cast
            moved.update({entry: inputs[entry.index] for entry in node.outputs})
        elif inputs == node.inputs:
            moved.update({entry: entry for entry in node.outputs})
        else:
            made = Node(node.op, node.name, node.attrs, node.params, inputs)
            moved.update({entry: Entry(made, entry.index) for entry in node.outputs})
    kept = {e.node: e.node.over([moved[source] for source in e.node.inputs])
            for e in heads if _is_cast(e.node)}
    return [Entry(kept[e.node], e.index) if e.node in kept else moved[e] for e in heads]


def _is_cast(node: Node) -> bool:
    return node.op is not None and node.op.name in ("amp_cast", "amp_multicast")


def write_file(fname: str | os.PathLike[str], text: str) -> None:
    """Writes a text file atomically."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ParameterError(f"a name has surrogates, which no file can hold: {error}") from None

    def write(file: BinaryIO) -> None:
        file.write(data)
    write_atomic(fname, write)


# ---- reading ----------------------------------------------------------------------------------


@resting_collector()
def load_graph(text: str, what: str = FILE) -> list[Entry]:
    """The heads of the graph in JSON text; `what` names the text in errors.

    Raises ModelFormatError, which says what is wrong and where, for text that is not such a graph,
    or has operators that are not registered or do not accept their inputs or attributes.
    """
    with _told_of(what):
        data = parse_json(text, what)
        if not isinstance(data, dict):
            raise ModelFormatError(f"expected an object, got {type(data).__name__}", what)
        version = _version(data)
        return _loaded(data, version, NUMPY_SHAPE in (data.get("attrs") or {}))


def load_graphs(text: str) -> list[list[Entry]]:
    """The heads of each graph of a list in JSON text."""
    with _told_of(FILE):
        graphs = parse_json(text, FILE)
        if not isinstance(graphs, list):
            raise ModelFormatError(f"expected a list, got {type(graphs).__name__}", FILE)
        return [_subgraph(graph, "a node") for graph in graphs]


@contextmanager
def _told_of(what: str) -> Iterator[None]:
    """Turns all errors about a graph into ModelFormatErrors that name the file."""
    try:
        yield
    except ModelFormatError as error:
        if error.file:
            raise
        raise ModelFormatError(error.reason, what, error.place) from None
    except MissingPackage:
        raise
    except MXNetError as error:
        # errors of parameters name the node themselves
        raise ModelFormatError(str(error), what) from None
    except RecursionError:
        raise ModelFormatError("graphs are nested too deeply", what) from None


def _loaded(data: Mapping[str, Any], version: int, numpy_shape: bool = True) -> list[Entry]:
    drafts = [_draft(i, item) for i, item in enumerate(_list(data, "nodes", "the file"))]
    heads = [_entry(item, drafts, f"heads[{i}]")
             for i, item in enumerate(_list(data, "heads", "the file"))]
    if not heads:
        raise ModelFormatError("heads is empty: the graph has no output")
    for i in _list(data, "arg_nodes", "the file"):
        if not _is_index(i, drafts) or drafts[i].op_name != "null":
            raise ModelFormatError(f"arg_nodes names {i!r}, which is no variable")
    for draft in drafts:
        draft.inputs = [_entry(item, drafts, f'input {i} of node "{draft.name}"')
                        for i, item in enumerate(draft.raw_inputs)]
    order = _ordered(drafts, heads)
    for i in order:
        if drafts[i].op_name != "null":
            drafts[i].op = _operator(drafts[i])
    upgrade(drafts, order, version)
    if is_np_shape() and not numpy_shape:
        mark_unknown(drafts)
    return _built(drafts, order, heads)


def _list(data: Mapping[str, Any], key: str, owner: str) -> list[Any]:
    if key not in data:
        raise ModelFormatError(f"{owner} has no {key!r}")
    value = data[key]
    if not isinstance(value, list):
        raise ModelFormatError(f"{key!r} of {owner} is {type(value).__name__}, "
                               "expected a list")
    return value


def _draft(number: int, item: Any) -> Draft:
    owner = f"node {number}"
    if not isinstance(item, dict):
        raise ModelFormatError(f"{owner} is {type(item).__name__}, expected an object")
    for key in ("op", "name"):
        if not isinstance(item.get(key), str):
            raise ModelFormatError(f"{owner} has no {key!r}, or it is no string")
    owner = f'node "{item["name"]}"'
    if item.get("control_deps"):
        raise ModelFormatError(f"{owner} ({item['op']}) has 'control_deps': dependencies "
                               "in files are not supported")
    attrs: dict[str, str] = {}
    # "param" (before 0.9) is used only if the newer keys are missing
    for key in ("param", "attr", "attrs"):
        value = item.get(key) or {}
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise ModelFormatError(f"{key!r} of {owner} is no object of strings")
        attrs.update(value)
    made = Draft(item["op"], item["name"], attrs, _list(item, "inputs", owner))
    if item.get("subgraphs"):
        made.subgraphs = [_subgraph(graph, owner) for graph in _list(item, "subgraphs", owner)]
    return made


def _subgraph(data: Any, owner: str) -> list[Entry]:
    """The heads of a graph contained in a node."""
    if not isinstance(data, dict):
        raise ModelFormatError(f"a graph of {owner} is {type(data).__name__}, expected "
                               "an object")
    return _loaded(data, VERSION)


def _is_index(value: Any, things: Sequence[Any]) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)
            and 0 <= value < len(things))


def _entry(item: Any, drafts: Sequence[Draft], owner: str) -> tuple[int, int]:
    """(node, output) from [node, output] or [node, output, version]."""
    if (not isinstance(item, list) or not 2 <= len(item) <= 3
            or not all(type(v) is int for v in item)):
        raise ModelFormatError(f"{owner} is {item!r}, "
                               "expected [node, output, version]")
    if not _is_index(item[0], drafts):
        raise ModelFormatError(f"{owner} names node {item[0]}, "
                               f"but there are {len(drafts)} nodes")
    return item[0], item[1]


def _ordered(drafts: Sequence[Draft], heads: Sequence[tuple[int, int]]) -> list[int]:
    """The nodes that the heads need, each after its inputs; ParameterError for a cycle."""
    order: list[int] = []
    state: dict[int, int] = {}  # 1: its inputs are being visited, 2: done
    for head, _ in heads:
        stack = [(head, iter(drafts[head].inputs))] if head not in state else []
        state.setdefault(head, 1)
        while stack:
            node, inputs = stack[-1]
            for source, _ in inputs:
                if state.get(source) == 1:
                    raise ModelFormatError(f'node "{drafts[source].name}" is an input '
                                           "of itself: the graph has a cycle")
                if source not in state:
                    state[source] = 1
                    stack.append((source, iter(drafts[source].inputs)))
                    break
            else:
                state[node] = 2
                order.append(node)
                stack.pop()
    return order


def _operator(draft: Draft) -> Any:
    try:
        return find(draft.op_name)
    except NameMismatch:
        raise ModelFormatError(f'node "{draft.name}": operator {draft.op_name!r} is not '
                               "registered") from None


def _version(data: Mapping[str, Any]) -> int:
    attrs = data.get("attrs") or {}
    value = attrs.get("mxnet_version", ["int", OLDEST_VERSION]) if isinstance(attrs, dict) else None
    if (not isinstance(value, list) or len(value) != 2 or not isinstance(value[1], int)):
        raise ModelFormatError(f"attrs has mxnet_version {value!r}, "
                               f'expected ["int", {VERSION}]')
    return value[1]


def _params(draft: Draft) -> Params:
    assert draft.op is not None
    if not issubclass(draft.op.params, SubgraphParams):
        if draft.subgraphs:
            raise ModelFormatError(f'node "{draft.name}" ({draft.op_name}) has graphs inside: only '
                                   "_foreach, _while_loop and _cond have those here")
        return parse_params(draft.op, draft.attrs, draft.name)
    given = {**draft.attrs, KEY: draft.subgraphs}
    made: Params = draft.op.params.parse(given, draft.op.name, draft.name)
    return made


def _built(drafts: list[Draft], order: Sequence[int],
           heads: Sequence[tuple[int, int]]) -> list[Entry]:
    """Makes nodes of drafts; checks the numbers of inputs and outputs."""
    made: dict[int, Node] = {}
    outputs = 0

    def entry_of(place: tuple[int, int], owner: str) -> Entry:
        node = made[place[0]]
        if not 0 <= place[1] < node.num_outputs:
            raise ModelFormatError(f'{owner} names output {place[1]} of node '
                                   f'"{node.name}", which has {node.num_outputs}')
        return Entry(node, place[1])

    for i in order:
        draft = drafts[i]
        if draft.op is None:
            if draft.inputs:
                raise ModelFormatError(f'variable "{draft.name}" has inputs')
            made[i] = Node(None, draft.name, {**draft.attrs, **draft.unread})
            continue
        params = _params(draft)
        draft.attrs.update(draft.unread)
        wanted = draft.op.num_inputs(params)
        inputs = [entry_of(place, f'input {n} of node "{draft.name}"')
                  for n, place in enumerate(draft.inputs)]
        inputs += [Entry(Node(None, name, dict(draft.attrs)), 0) for name in draft.missing]
        # MXNet loads files that lack inputs, and reports them in shape inference
        states = len(draft.op.aux_names(params)) if draft.op.num_args is None else 0
        if not wanted - states <= len(inputs) <= wanted:
            raise ModelFormatError(f'node "{draft.name}" ({draft.op.name}) has '
                                   f"{len(inputs)} inputs, expected {wanted}")
        made[i] = Node(draft.op, draft.name, draft.attrs, params, inputs)
        outputs += made[i].num_outputs
        if outputs > MOST_OUTPUTS:
            raise ModelFormatError(f'node "{draft.name}" ({draft.op.name}): up to it nodes have '
                                   f"{outputs} outputs, at most {MOST_OUTPUTS} are read")
        if draft.missing:
            set_initializers(made[i])
    found = [entry_of(place, f"heads[{n}]") for n, place in enumerate(heads)]
    _keep_versions(drafts, made, found)
    return found


def _keep_versions(drafts: Sequence[Draft], made: Mapping[int, Node],
                   heads: Sequence[Entry]) -> None:
    """Stores the file's write counts on nodes where they differ, to write the file unchanged."""
    counted = mutation_counts(topological(heads))
    for i, node in made.items():
        if node.op is None:
            continue
        given = [item[2] if len(item) > 2 else 0 for item in drafts[i].raw_inputs]
        given += [0] * len(drafts[i].missing)
        if given != counted.get(node):
            node.versions = tuple(given)


def read_file(fname: str | os.PathLike[str]) -> list[Entry]:
    """The heads of the graph in a file; MXNetError if it can not be read, ModelFormatError if it is
    not such a graph."""
    what = f"symbol file {os.fspath(fname)!r}"
    return load_graph(read_json_bytes(fname, what), what)
