"""Making symbols from operators: names, attributes of the scope, inputs. Holds no operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import TypeMismatch, name_call, shown
from ..op.registry import OpDef, find
from ..op.signatures import check_name, dtype_text
from .compose import hidden_key, node_attrs, operator_node, single_entry
from .naming import current_attrs, current_names
from .node import Node
from .symbol import Symbol

# called with each new operator node, for mixed precision
_changes: list[Callable[[Node], None]] = []


def change_new_nodes(change: Callable[[Node], None]) -> Callable[[], None]:
    """Calls `change` with each node that users' calls make; returns the function that ends it."""
    _changes.append(change)
    return lambda: _changes.remove(change)


def create(op: OpDef, hint: str, args: Sequence[Symbol] = (),
           named: Mapping[str, Symbol] | None = None, params: Mapping[str, Any] | None = None,
           name: str | None = None, attr: Mapping[str, str] | None = None) -> Symbol:
    """The visible outputs of a new node of `op`.

    The node is named `name`, or by this thread's NameManager after `hint`.
    """
    check_name(op, name)
    if attr is not None and not isinstance(attr, Mapping):
        raise TypeMismatch(f"{op.name}: attr got {shown(attr)}, expected a dict of strings")
    name = current_names().get(name, hint)
    given = dict(params or {})
    if "dtype" in given:
        try:
            given["dtype"] = dtype_text(given["dtype"])
        except TypeMismatch as error:
            name_call(error, op.name, name)
            raise
    attrs = node_attrs(given)
    attrs.update({hidden_key(k): v for k, v in current_attrs().get(attr).items()})
    placed = [single_entry(s.entries, f'{op.name} "{name}": input {i}')
              for i, s in enumerate(args)]
    inputs = {key: single_entry(s.entries, f'{op.name} "{name}": {key}')
              for key, s in (named or {}).items()}
    node = operator_node(op, attrs, name, placed, inputs)
    assert node.params is not None
    for change in _changes:
        change(node)
    return Symbol(node.outputs[:op.num_visible(node.params)])


def call(op_name: str, *args: Symbol, hint: str | None = None, name: str | None = None,
         attr: Mapping[str, str] | None = None, **params: Any) -> Symbol:
    """Calls an operator by name on positional inputs, for code of this package."""
    op = find(op_name)
    if op.num_args is not None:
        params.setdefault(op.num_args, len(args))
    return create(op, (hint or op_name).lower(), args, None, params, name, attr)
