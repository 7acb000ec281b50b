"""Upgrades symbol files of older MXNet versions as 1.9.1 does. Reads no text."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import NdrtError
from ..op.registry import OpDef
from .compose import HIDDEN_KEYS, initializers, input_names, parse_params

LONGEST_SHAPE = 1000  # characters; more dimensions than an array can have


@dataclass
class Draft:
    """A node as in a file: inputs are (node number, output number)."""

    op_name: str
    name: str
    attrs: dict[str, str]
    raw_inputs: list[Any]
    op: OpDef | None = None
    inputs: list[tuple[int, int]] = field(default_factory=list)
    subgraphs: list[Any] = field(default_factory=list)  # heads of the graphs that it contains
    missing: list[str] = field(default_factory=list)  # variables that the file leaves out
    unread: dict[str, str] = field(default_factory=dict)  # attributes that are not parameters


def upgrade(drafts: Sequence[Draft], order: Sequence[int], version: int) -> None:
    """Changes drafts in place; `order` are those in use, inputs first."""
    nodes = [drafts[i] for i in order]
    if version < 10901:
        for draft in nodes:
            _hide_keys(draft, drafts)
    if version < 905:
        for draft in nodes:
            # the axis was an int then, with -1 for all axes
            if draft.op_name in ("argmin", "argmax") and draft.attrs.get("axis") == "-1":
                del draft.attrs["axis"]
    if version < 900:
        for draft in nodes:
            _add_missing(draft)
    if version < 904:
        for draft in nodes:
            _add_initializers(draft, drafts)


def mark_unknown(drafts: Sequence[Draft]) -> None:
    """Converts shapes of variables from 0 and () for unknown to np_shape's -1 and None."""
    for draft in drafts:
        text = draft.attrs.get("__shape__")
        if draft.op_name != "null" or text is None or len(text) > LONGEST_SHAPE:
            continue
        try:
            dims = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue  # reported when the shape is used
        if isinstance(dims, (tuple, list)):
            draft.attrs["__shape__"] = str(tuple(dim or -1 for dim in dims) or None)


def _names(draft: Draft) -> tuple[str, ...]:
    """Names of the inputs; () if the parameters do not parse, which is reported later."""
    if draft.op is None:
        return ()
    try:
        params = parse_params(draft.op, draft.attrs, draft.name)
    except NdrtError:
        return ()
    if draft.op.num_args is not None and draft.op.num_inputs(params) != len(draft.inputs):
        # a wrong count may exceed what the file could hold
        return ()
    return input_names(draft.op, params)


def _hide_keys(draft: Draft, drafts: Sequence[Draft]) -> None:
    """`lr_mult` becomes `__lr_mult__`; `weight_lr_mult` moves to the variable at input weight.

    Keys that belong to no input stay, and are not parameters.
    """
    found = {key: value for key, value in draft.attrs.items()
             if key.startswith(HIDDEN_KEYS) or key.endswith(HIDDEN_KEYS)}
    for key in found:
        del draft.attrs[key]
    names = _names(draft) if found else ()
    for key, value in found.items():
        if key in HIDDEN_KEYS:
            draft.attrs[f"__{key}__"] = value
            continue
        hidden = next((h for h in HIDDEN_KEYS if key.endswith(f"_{h}")), None)
        owner = key[:-len(hidden) - 1] if hidden is not None else None
        if owner in names and names.index(owner) < len(draft.inputs):
            source = drafts[draft.inputs[names.index(owner)][0]]
            if source.op is None and source.op_name == "null":
                source.attrs[f"__{hidden}__"] = value
                continue
        draft.unread[key] = value


def _add_missing(draft: Draft) -> None:
    """Adds aux states, which were not written before 0.9; counted inputs have none."""
    if draft.op is not None and draft.op.num_args is not None:
        return
    names = _names(draft)
    draft.missing = [f"{draft.name}_{name}" if draft.name else name
                     for name in names[len(draft.inputs):]]


def _add_initializers(draft: Draft, drafts: Sequence[Draft]) -> None:
    """Adds initializers to variables, which operators specify since 0.9.4."""
    if draft.op is None:
        return
    for i, text in initializers(draft.op, draft.attrs).items():
        if i < len(draft.inputs) and drafts[draft.inputs[i][0]].op_name == "null":
            drafts[draft.inputs[i][0]].attrs.setdefault("__init__", text)
