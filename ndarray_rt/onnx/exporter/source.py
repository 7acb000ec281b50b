"""What is exported: a graph, its parameters, and the shapes and dtypes of its inputs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._array.create import array
from ..._array.ndarray import NDArray
from ...dtypes import find_dtype
from ...errors import MXNetError, NameMismatch, ParameterError, TypeMismatch, shown
from ...symbol.node import topological
from ...symbol.symbol import Symbol, group
from .dims import Given
from .table import FORMS

Params = dict[str, NDArray]


@dataclass
class Source:
    """A graph with its parameters. `inputs` are names in the order in which shapes are given."""

    symbol: Symbol
    params: Params
    inputs: list[str]
    shapes: dict[str, Given]
    types: dict[str, np.dtype[Any]]


def find_source(model: Any, params: Any, shapes: Any, dtypes: Any) -> Source:
    """Reads what users give; see `export`."""
    kind = _kind(model)
    made_shapes: dict[str, Given] = {}
    made_types: dict[str, np.dtype[Any]] = {}
    if kind == "block":
        symbol, found, inputs = _of_block(model, _count(shapes))
        found.update(_params(params))
    elif kind == "module":
        symbol = model.symbol
        found = _params(params) if params is not None else _params(model.get_params())
        made_shapes, made_types = _of_descriptions(model.data_shapes)
        order = {name: at for at, name in enumerate(made_shapes)}
        inputs = sorted(_free(symbol, found), key=lambda name: order.get(name, len(order)))
    else:
        symbol = model
        if kind == "path":
            from ...symbol.functions import load
            symbol = load(os.fspath(model))
        if params is None:
            raise ParameterError("onnx.export: params is None, expected the parameters of the "
                                 "symbol: a dict, a pair (arg_params, aux_params), or a file")
        found = _params(params)
        inputs = _free(symbol, found)
    made_shapes.update(_by_name(shapes, inputs, "shapes", _shape))
    if dtypes is not None and not isinstance(dtypes, (Mapping, list, tuple)):
        dtypes = [dtypes] * len(inputs)
    made_types.update(_by_name(dtypes, inputs, "dtypes", lambda name, x: find_dtype(x)))
    names = symbol.list_inputs()
    if len(set(names)) != len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise NameMismatch(f"onnx.export: two variables have the name {twice!r}")
    known = set(names) - set(found)
    for name in (*made_shapes, *made_types):
        if name not in known:
            raise NameMismatch(f"onnx.export: there is no input {name!r}; there are: "
                               f"{', '.join(sorted(known))}")
    missing = [name for name in symbol.list_auxiliary_states() if name not in found]
    if missing:
        raise NameMismatch(f"onnx.export: params has no {missing[0]!r}, which the graph needs")
    return Source(symbol, found, inputs, made_shapes, made_types)


def _kind(model: Any) -> str:
    if isinstance(model, Symbol):
        return "symbol"
    if isinstance(model, (str, os.PathLike)):
        return "path"
    if hasattr(model, "collect_params") and hasattr(model, "hybrid_forward"):
        return "block"
    if hasattr(model, "get_params") and hasattr(model, "data_shapes"):
        return "module"
    raise TypeMismatch(f"onnx.export: got {shown(model)}, expected a Symbol, a HybridBlock, a "
                       "Module, or the path of a symbol's file")


# ---- parameters --------------------------------------------------------------------------------


def _params(given: Any) -> Params:
    """Parameters by their names in the graph."""
    if given is None:
        return {}
    if isinstance(given, (str, os.PathLike)):
        from ...nd import load
        given = load(os.fspath(given))
    if isinstance(given, (list, tuple)) and all(isinstance(one, Mapping) for one in given):
        given = {name: value for one in given for name, value in one.items()}
    if not isinstance(given, Mapping):
        raise TypeMismatch(f"onnx.export: params got {shown(given)}, expected a dict of arrays, a "
                           "pair of them, or a file of arrays with names")
    made = {}
    for name, value in given.items():
        plain = name[4:] if name.startswith(("arg:", "aux:")) else name
        value = value.data() if hasattr(value, "grad_req") and hasattr(value, "data") else value
        made[plain] = value if isinstance(value, NDArray) else array(np.asarray(value))
    return made


def _free(symbol: Symbol, params: Mapping[str, Any]) -> list[str]:
    """Variables that are no parameters and that something reads, in order."""
    from .table import load_forms
    load_forms()
    read = {entry.node.name for node in topological(symbol.entries) if node.op is not None
            for i, entry in enumerate(node.inputs)
            if node.op.name not in FORMS or i not in FORMS[node.op.name].ignores}
    read.update(entry.node.name for entry in symbol.entries)
    return [name for name in symbol.list_inputs() if name not in params and name in read]


# ---- blocks and modules ------------------------------------------------------------------------


def _count(shapes: Any) -> int:
    return len(shapes) if isinstance(shapes, (Mapping, list, tuple)) and shapes else 1


def _of_block(block: Any, count: int) -> tuple[Symbol, Params, list[str]]:
    """The graph of a block: as it ran hybridized, else traced with so many inputs."""
    if block._cached_graph and not block._backend:
        inputs, symbol = block._cached_graph
        names = [x.name for x in inputs]
    else:
        from ...sym import var
        names = ["data"] if count == 1 else [f"data{i}" for i in range(count)]
        symbol = _grouped(block(*[var(name) for name in names]))
    found = {}
    used = set(symbol.list_inputs())
    for param in block.collect_params().values():
        if param.name in used:
            try:
                found[param.name] = param.data()
            except MXNetError as error:
                raise ParameterError(f"onnx.export: parameter {param.name!r} has no value yet: "
                                     f"initialize the block and run it once ({error})") from None
    return symbol, found, [name for name in names if name in used]


def _grouped(made: Any) -> Symbol:
    if isinstance(made, Symbol):
        return made
    return group([_grouped(part) for part in made])


def _of_descriptions(given: Any) -> tuple[dict[str, Given], dict[str, np.dtype[Any]]]:
    shapes: dict[str, Given] = {}
    types = {}
    for one in given or []:
        shapes[one[0]] = tuple(one[1])
        if getattr(one, "dtype", None) is not None:
            types[one[0]] = find_dtype(one.dtype)
    return shapes, types


# ---- shapes and dtypes -------------------------------------------------------------------------


def _by_name(given: Any, inputs: Sequence[str], what: str, read: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {name: read(name, value) for name, value in given.items()}
    if isinstance(given, tuple) and what == "shapes" and all(
            size is None or isinstance(size, (int, str)) for size in given):
        given = [given]  # one input's shape
    if not isinstance(given, (list, tuple)) or len(given) != len(inputs):
        raise ParameterError(f"onnx.export: {what} got {shown(given)}, expected one for each of "
                             f"the {len(inputs)} input(s): {', '.join(inputs)}")
    return {name: read(name, value) for name, value in zip(inputs, given, strict=True)}


def _shape(name: str, given: Any) -> Given:
    """A shape; None at the first axis is "batch", elsewhere a name of its own."""
    try:
        sizes = list(given)
    except TypeError:
        sizes = [""]
    made: list[int | str] = []
    for axis, size in enumerate(sizes):
        if size is None or size == -1:
            made.append("batch" if axis == 0 else f"{name}_{axis}")
        elif isinstance(size, str) and size:
            made.append(size)
        elif isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size >= 0:
            made.append(int(size))
        else:
            raise ParameterError(f"onnx.export: the shape of {name!r} got {shown(given)}, expected "
                                 "a tuple of ints, of names and of None for sizes that are free")
    return tuple(made)
