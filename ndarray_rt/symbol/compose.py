"""Makes operator nodes and composes graphs. Knows nothing of users' symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import MXNetError, NameMismatch, TypeMismatch, where
from ..op.params import NoParams, Params, attr_text
from ..op.registry import OpDef
from .node import Entry, Node, topological

# Attributes of nodes that are not parameters: stored between double underscores.
HIDDEN_KEYS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")

ZERO, ONE = '["zero", {}]', '["one", {}]'


def _prelu(attrs: Mapping[str, str]) -> dict[int, str]:
    return {1: '["Constant", {"value": 0.25}]'}


def _upsampling(attrs: Mapping[str, str]) -> dict[int, str]:
    return {1: '["bilinear", {}]'} if attrs.get("sample_type") == "bilinear" else {}


def _batch_norm(attrs: Mapping[str, str]) -> dict[int, str]:
    return {3: ZERO, 4: ONE}


# operator -> (attributes -> initializer of a variable at an input position)
_INITIALIZERS: dict[str, Callable[[Mapping[str, str]], dict[int, str]]] = {
    "BatchNorm": _batch_norm,
    "BatchNorm_v1": _batch_norm,
    "_contrib_SyncBatchNorm": _batch_norm,
    "_contrib_BatchNormWithReLU": _batch_norm,
    "LeakyReLU": _prelu,
    "UpSampling": _upsampling,
}


def attr_string(value: object) -> str:
    """A user's value as the string that a node stores, in MXNet's form.

    A list stays a list in the text, so that files are equal byte for byte.
    """
    if isinstance(value, list):
        return f"[{', '.join(attr_text(item) for item in value)}]"
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    return attr_text(value)


def hidden_key(name: str) -> str:
    """The key under which an attribute is stored; MXNetError for one that belongs to a variable."""
    for key in HIDDEN_KEYS:
        if name.startswith(key):
            return f"__{name}__"
        if name.endswith(key) and not name.startswith("__"):
            owner = name[:-len(key) - 1]
            raise MXNetError(f"attribute {name!r} belongs to a variable: use "
                             f"w = Variable(..., {key}=...) and give the operator {owner}=w")
    return name


def parse_params(op: OpDef, attrs: Mapping[str, str], name: str | None) -> Params:
    """The parameters that a node's attributes specify.

    An operator without parameters accepts any attribute, as in MXNet.
    """
    if op.params is NoParams:
        return NoParams()
    return op.params.parse(attrs, op.name, name)


def input_names(op: OpDef, params: Params) -> tuple[str, ...]:
    """Names of the inputs, then of the aux states."""
    return (*op.input_names(params), *op.aux_names(params))


def mutated_inputs(op: OpDef, params: Params) -> set[int]:
    """Positions of the inputs that count as aux states: declared ones and those written to."""
    aux = len(op.aux_names(params))
    if not aux:
        return set(op.mutated(params))
    first = len(op.input_names(params))
    return {*range(first, first + aux), *op.mutated(params)}


def operator_node(op: OpDef, attrs: dict[str, str], name: str, args: Sequence[Entry] = (),
                  named: Mapping[str, Entry] | None = None) -> Node:
    """A node of `op`. Inputs that are not given become variables named `<node>_<input>`, with the
    node's attributes.

    Raises NameMismatch for an unknown input, ParameterError for bad parameters.
    """
    named = named or {}
    params = parse_params(op, attrs, name)
    wanted = op.num_inputs(params)
    if len(args) > wanted:
        names = () if op.num_args is not None else input_names(op, params)
        raise NameMismatch(f"{where(op.name, name)}: takes {wanted} input(s)"
                           f"{_listed(names)}, got {len(args)}")
    names = input_names(op, params)
    free = names[len(args):]
    for key in named:
        if key not in free:
            raise NameMismatch(f"{where(op.name, name)}: there is no input {key!r}"
                               f"{_listed(free)}")
    inputs = list(args)
    for key in free:
        given = named.get(key)
        inputs.append(Entry(Node(None, f"{name}_{key}" if name else key, dict(attrs)), 0)
                      if given is None else given)
    node = Node(op, name, attrs, params, inputs)
    check_mutated(node)
    set_initializers(node)
    return node


def _listed(names: Sequence[str]) -> str:
    return f": {', '.join(names)}" if names else ""


def check_mutated(node: Node) -> None:
    """MXNetError if an operator would write to something other than a variable."""
    if node.op is None or node.params is None:
        return
    for i in mutated_inputs(node.op, node.params):
        if i < len(node.inputs) and not node.inputs[i].node.is_variable:
            name = input_names(node.op, node.params)[i]
            raise MXNetError(f"{where(node.op.name, node.name)}: {name} is written to and must "
                             f"be a variable, got an output of {node.inputs[i].node!r}")


def initializers(op: OpDef, attrs: Mapping[str, str]) -> dict[int, str]:
    """How an operator wants the variables at some of its inputs initialized."""
    find = _INITIALIZERS.get(op.name)
    return {} if find is None else find(attrs)


def set_initializers(node: Node) -> None:
    """Stores on variables how their operator wants them initialized, unless specified already."""
    if node.op is None:
        return
    for i, text in initializers(node.op, node.attrs).items():
        if i < len(node.inputs) and node.inputs[i].node.is_variable:
            node.inputs[i].node.attrs.setdefault("__init__", text)


def copy_graph(heads: Sequence[Entry]) -> list[Entry]:
    """The same graph in new nodes."""
    made: dict[Node, Node] = {}
    for node in topological(heads):
        inputs = [Entry(made[e.node], e.index) for e in node.inputs]
        made[node] = Node(node.op, node.name, dict(node.attrs), node.params, inputs)
        made[node].versions = node.versions
    return [Entry(made[e.node], e.index) for e in heads]


def variables(heads: Sequence[Entry]) -> list[Node]:
    """All variables that the entries need, in order."""
    return [node for node in topological(heads) if node.is_variable]


def arguments_and_aux(heads: Sequence[Entry]) -> tuple[list[Node], list[Node]]:
    """The variables that operators only read, and those that they write to, in order."""
    order = topological(heads)
    written: set[Node] = set()
    for node in order:
        if node.op is not None and node.params is not None:
            written.update(node.inputs[i].node for i in mutated_inputs(node.op, node.params)
                           if i < len(node.inputs))
    args: list[Node] = []
    aux: list[Node] = []
    for node in order:
        if node.is_variable:
            (aux if node in written else args).append(node)
    return args, aux


def replace_variables(heads: list[Entry], args: Sequence[Entry],
                      named: Mapping[str, Entry]) -> list[Entry]:
    """Replaces variables by entries, in the existing nodes; returns the new heads.

    `args` replace the first variables in order, `named` those of these names. Raises NameMismatch
    for unknown variables.
    """
    found = variables(heads)
    if len(args) > len(found):
        raise NameMismatch(f"compose: {len(args)} inputs for {len(found)} variable(s)"
                           f"{_listed([v.name for v in found])}")
    plan: dict[Node, Entry] = dict(zip(found, args, strict=False))
    names = {variable.name for variable in found}
    for key in named:
        if key not in names:
            raise NameMismatch(f"compose: there is no variable {key!r}"
                               f"{_listed([v.name for v in found])}")
    plan.update({v: named[v.name] for v in found if v.name in named})
    # a replacement may itself depend on a node of this graph, which must not be changed twice
    for node in topological(heads):
        if any(e.node in plan for e in node.inputs):
            node.inputs = [plan.get(e.node, e) for e in node.inputs]
            check_mutated(node)
    return [plan.get(e.node, e) for e in heads]


def single_entry(entries: Sequence[Entry], what: str) -> Entry:
    """The one entry of an input; TypeMismatch for a group."""
    if len(entries) != 1:
        raise TypeMismatch(f"{what} has {len(entries)} outputs, expected one: "
                           "choose one by index or name")
    return entries[0]


def output_name(entry: Entry) -> str:
    """MXNet's name of an entry: a variable's own, else `<node>_<output>`."""
    node = entry.node
    if node.op is None or node.params is None:
        return node.name
    name = node.op.output_names(node.params)[entry.index]
    return f"{node.name}_{name}" if node.name else name


def node_attrs(values: Mapping[str, Any]) -> dict[str, str]:
    """Attributes of a new operator node from what a user gave."""
    return {hidden_key(k): attr_string(v) for k, v in values.items()}
