"""What operators there are, and what they take."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, NamedTuple

from ..op import params
from ..op.registry import REGISTRY
from ..op.signatures import Signature

ARRAY = "NDArray-or-Symbol"
# how MXNet calls what a parameter may be, by how it is read
KINDS = {
    params.parse_bool: "boolean",
    params.parse_float: "float",
    params.parse_floats: "tuple of <float>",
    params.parse_int: "int",
    params.parse_shape: "Shape(tuple)",
    params.parse_axes: "Shape or None",
    str: "string",
}


class OperatorArguments(NamedTuple):
    """How many arguments an operator has, their names, and what each may be."""

    narg: int
    names: list[str]
    types: list[str]


def get_all_registered_operators() -> list[str]:
    """Names of all operators, those that users call."""
    return [name for name in REGISTRY.names() if REGISTRY.is_public(name)]


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Inputs and parameters of an operator, in the order of its function.

    NameMismatch when there is no such operator.
    """
    signature = Signature(REGISTRY.find(op_name))
    names, types = list(signature.inputs), [ARRAY] * len(signature.inputs)
    if signature.takes_any:
        names, types = ["data"], [f"{ARRAY}[]"]
    for field in signature.params:
        if field.name not in names:
            names.append(field.name)
            types.append(f"{_kind(field)}, {_default(field)}")
    return OperatorArguments(len(names), names, types)


def _kind(field: dataclasses.Field[Any]) -> str:
    wants: str = field.metadata["wants"]
    if wants.startswith("one of"):
        names = sorted(re.findall(r"'[^']*'", wants))
        return "{" + ", ".join(["None"] * wants.endswith("None") + names) + "}"
    return KINDS.get(field.metadata["parse"]) or re.sub(r"^an? ", "", wants)


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    value = field.default
    if isinstance(value, bool):
        value = int(value)
    elif isinstance(value, tuple):
        value = list(value)
    return f"optional, default={value!r}"
