"""Writes ndarray_rt/_stubs/*.pyi: the functions of nd and sym, and NDArray's methods, typed."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, fields
from math import isfinite
from pathlib import Path
from typing import Any

from ndarray_rt import nd, sym
from ndarray_rt.imperative import control_flow, finite, updates, zipfian
from ndarray_rt.imperative.methods import OPERATOR_METHODS
from ndarray_rt.op.registry import REGISTRY, OpDef
from ndarray_rt.op.signatures import Signature, public_name
from ndarray_rt.symbol import contrib_functions as sym_contrib
from ndarray_rt.symbol import control_flow as sym_control_flow

STUBS = Path(nd.__file__).parent / "_stubs"
MANY = 2
SPACES = ("", "linalg", "contrib", "image")
HEAD = '''# Written by `make docs` from the registry.
from collections.abc import Sequence
from typing import Any

from {module} import {array}

_Ints = int | Sequence[int]
_Bounds = int | None | Sequence[int | None]
'''
TYPES = (("a bool", "bool"), ("a float", "float"), ("an int, a tuple", "_Ints"),
         ("a tuple of ints or None", "_Bounds"),
         ("an int", "int"), ("a tuple of ints", "_Ints"), ("a string", "str"), ("one of", "str"))


def type_of(field: Field[Any]) -> str:
    """The Python type of what a parameter takes."""
    wants = field.metadata["wants"]
    made = next((kind for words, kind in TYPES if wants.startswith(words)), "Any")
    return f"{made} | None" if wants.endswith("None") and made not in ("Any", "_Bounds") else made


def default_of(field: Field[Any]) -> str:
    value = field.default
    plain = isinstance(value, (bool, int, str, type(None)))
    finite = isinstance(value, float) and isfinite(value)
    return repr(value) if plain or finite else "..."


def arguments(op: OpDef, array: str) -> Iterator[str]:
    """The arguments of an operator's function, each with type and default."""
    signature = Signature(op)
    # a symbol makes variables of inputs that are not given
    optional = callable(op.inputs) or callable(op.aux) or array == "Symbol"
    if signature.takes_any:
        yield f"*data: {array}"
    for name in signature.inputs:
        yield f"{name}: {array} | None = None" if optional else f"{name}: {array}"
    if not signature.takes_any and (callable(op.inputs) or len(signature.inputs) > MANY):
        # called as f(x, *others, parameter=...), which no checker can tell from parameters in place
        yield "*"
    for field in fields(op.params):
        if field.name in signature.inputs or keyword.iskeyword(field.name):
            continue
        if field.default is MISSING and not optional:
            yield f"{field.name}: {type_of(field)}"
        else:
            default = "..." if field.default is MISSING else default_of(field)
            yield f"{field.name}: {type_of(field)} = {default}"


def result_of(op: OpDef, array: str) -> str:
    if callable(op.outputs) or callable(op.visible_outputs):
        return "Any"
    count = len(op.outputs) if op.visible_outputs is None else op.visible_outputs
    return array if count == 1 or array == "Symbol" else f"list[{array}]"


def ordered(given: list[str]) -> list[str]:
    """Arguments without a default first, where Python wants them."""
    if given[-1:] == ["*"]:
        return given[:-1]
    if any(arg.startswith("*") for arg in given):
        return given
    return [*(a for a in given if " = " not in a), *(a for a in given if " = " in a)]


def function(op: OpDef, name: str, array: str, more: tuple[str, ...], method: bool = False) -> str:
    """The stub of one function."""
    args = ordered(list(arguments(op, array)))
    if method:
        args = ["self", *args[1:]]
    args += [arg for arg in more if arg.split(":")[0] not in {a.split(":")[0] for a in args}]
    if op.name == "Custom":
        args.append("**params: Any")  # what its class takes
    elif Signature(op).takes_any:
        args.append(f"**inputs: {array}")
    lines, line, width = [], f"def {name}(", 94 if method else 98
    tail = f") -> {result_of(op, array)}: ..."
    for i, arg in enumerate(args):
        piece = arg + (", " if i + 1 < len(args) else tail)
        if len(line) + len(piece) > width:
            lines.append(line.rstrip())
            line = "    "
        line += piece
    return "\n".join([*lines, line])


def names_of(space: str, taken: set[str]) -> list[tuple[str, OpDef]]:
    """(public name, operator) of a namespace, without what is written by hand."""
    found = {}
    for name in REGISTRY.names():
        op = REGISTRY.find(name)
        if op.is_public and public_name(name)[0] == space:
            found[public_name(name)[1]] = op
        elif op.is_public and space and name.startswith(f"{space}_"):
            found[name.removeprefix(f"{space}_")] = op
    return sorted((name, op) for name, op in found.items()
                  if name.isidentifier() and not keyword.iskeyword(name) and name not in taken)


def module(space: str, array: str, source: str, more: tuple[str, ...], taken: set[str]) -> str:
    made = [function(op, name, array, more) for name, op in names_of(space, taken)]
    return HEAD.format(module=source, array=array) + "\n" + "\n".join(made) + "\n"


def more_of_contrib(functions: Iterable[str]) -> str:
    """Functions of contrib that are no operators, and take what no stub can say."""
    return "".join(f"def {name}(*args: Any, **kwargs: Any) -> Any: ...\n"
                   for name in sorted(functions))


def methods() -> str:
    """The methods of NDArray that are operators."""
    lines = [HEAD.format(module="ndarray_rt._array.ndarray", array="NDArray"),
             "class OperatorMethods:"]
    for name in sorted(OPERATOR_METHODS):
        if name not in REGISTRY:
            continue
        stub = function(REGISTRY.find(name), name, "NDArray", OF_ND, method=True)
        lines += ["    " + line for line in stub.splitlines()]
    return "\n".join(lines) + "\n"


OF_ND = ("out: Any = None", "name: str | None = None", "ctx: Any = None")
OF_SYM = ("name: str | None = None", "attr: dict[str, str] | None = None")


def write() -> int:
    """Writes all files; how many functions there are."""
    count = 0
    for space in SPACES:
        word = f"_{space}" if space else ""
        by_hand = {name for name in vars(nd) if not hasattr(vars(nd)[name], "_operator")}
        texts = {
            f"nd{word}": module(space, "NDArray", "ndarray_rt._array.ndarray", OF_ND,
                                by_hand if not space else set()),
            f"sym{word}": module(space, "Symbol", "ndarray_rt.symbol.symbol", OF_SYM,
                                 set(vars(sym)["BY_HAND"]) if not space else set()),
        }
        if space == "contrib":
            texts["nd_contrib"] += more_of_contrib(
                {**updates.FUNCTIONS, **finite.FUNCTIONS, **control_flow.FUNCTIONS,
                 **zipfian.FUNCTIONS, "boolean_mask": None})
            texts["sym_contrib"] += more_of_contrib(
                {**sym_control_flow.FUNCTIONS, **sym_contrib.FUNCTIONS})
        for name, text in texts.items():
            (STUBS / f"{name}.pyi").write_text(text, encoding="utf-8")
            count += text.count("\ndef ")
    (STUBS / "methods.pyi").write_text(methods(), encoding="utf-8")
    return count
