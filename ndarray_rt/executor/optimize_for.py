"""Symbol.optimize_for: runs the passes for inference, and computes folded weights once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.ndarray import NDArray, check_shape
from ..dtypes import DType, find_dtype
from ..errors import MXNetError, NameMismatch, ShapeError
from ..op.registry import find
from ..passes import optimize
from ..passes.fuse_layers import fuse_layers
from ..passes.fuse_ranges import fuse_ranges
from ..passes.rewrite import Heads, rewrite
from ..symbol.infer import infer_graph_shapes, infer_graph_types
from ..symbol.node import Entry, Node, topological
from .bind import evaluate
from .checks import check_arrays, check_mapping

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol

BACKENDS = ("ONEDNN", "MKLDNN")
FOR_BYTES = "MKLDNN_QUANTIZE"
LAYER_BACKENDS = ("MKLDNN", FOR_BYTES)
FOLD = "_fold_batch_norm"


def optimize_for(symbol: Symbol, backend: str, args: dict[str, NDArray] | None = None,
                 aux: dict[str, NDArray] | None = None,
                 shape_dict: Mapping[str, Any] | None = None,
                 type_dict: Mapping[str, Any] | None = None) -> Symbol:
    """See Symbol.optimize_for. Raises MXNetError for another backend, ShapeError where the shape
    of a variable can not be inferred, TypeMismatch for parameters that are no dicts of arrays."""
    name = backend.upper() if isinstance(backend, str) else ""
    if name == FOR_BYTES:
        return get_backend_symbol(symbol, backend)
    if name not in BACKENDS:
        raise MXNetError(f"optimize_for: there is no backend {backend!r}, only "
                         f"{', '.join(BACKENDS)} and {FOR_BYTES}")
    given = {**check_arrays("optimize_for: args", args),
             **check_arrays("optimize_for: aux", aux)}
    shapes, types = _facts(symbol, given, check_mapping("optimize_for: shape_dict", shape_dict),
                           check_mapping("optimize_for: type_dict", type_dict))
    skip = () if _can_fold(symbol.entries, given) else ("fold_batch_norms",)
    heads = optimize(symbol.entries, shapes, types, skip).heads
    folded: dict[str, NDArray] = {}
    heads = _fold(type(symbol), heads, given, folded)
    if args is not None:
        args.update(folded)
    return type(symbol)(heads)


def get_backend_symbol(symbol: Symbol, backend: str) -> Symbol:
    """See Symbol.get_backend_symbol. Raises MXNetError for another backend."""
    name = backend.upper() if isinstance(backend, str) else ""
    if name not in LAYER_BACKENDS:
        raise MXNetError(f"get_backend_symbol: there is no backend {backend!r}, only "
                         f"{' and '.join(LAYER_BACKENDS)}")
    for_bytes = name == FOR_BYTES
    heads = fuse_layers(symbol.entries, for_bytes)
    return type(symbol)(fuse_ranges(heads) if for_bytes else heads)


def _facts(symbol: Symbol, given: Mapping[str, NDArray], shape_dict: Mapping[str, Any],
           type_dict: Mapping[str, Any],
           ) -> tuple[dict[str, tuple[int, ...]], dict[str, DType]]:
    """Shapes and dtypes of all variables."""
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    for name in (*shape_dict, *type_dict):
        if name not in names:
            raise NameMismatch(f"optimize_for: {name!r} is no argument; there are: "
                               f"{', '.join(names)}")
    known = {n: a.shape for n, a in given.items() if n in names}
    known.update({n: check_shape(s, f"optimize_for: {n}") for n, s in shape_dict.items()})
    kinds = {n: a.dtype for n, a in given.items() if n in names}
    kinds.update({n: find_dtype(t) for n, t in type_dict.items()})
    shapes: dict[str, tuple[int, ...]] = {}
    for entry, shape in infer_graph_shapes(symbol.entries, known).items():
        if entry.node.is_variable:
            if shape is None or -1 in shape:
                raise ShapeError(f"optimize_for: the shape of {entry.node.name!r} can not be "
                                 f"inferred (known: {shape}): give it in shape_dict")
            shapes[entry.node.name] = shape
    types = {entry.node.name: dtype or np.dtype(np.float32) for entry, dtype
             in infer_graph_types(symbol.entries, kinds).items() if entry.node.is_variable}
    return shapes, types


def _can_fold(heads: Sequence[Entry], given: Mapping[str, NDArray]) -> bool:
    """All parameters of batch norms are given."""
    return all(entry.node.name in given for node in topological(heads)
               if node.op is not None and node.op is find("BatchNorm")
               for entry in node.inputs[1:])


def _fold(make: type[Symbol], heads: Heads, given: Mapping[str, NDArray],
          folded: dict[str, NDArray]) -> Heads:
    """The graph with variables in place of folded weights, whose values go to `folded`."""
    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        if node.op is not find(FOLD) or any(e.node.name not in given for e in inputs):
            return None
        values = evaluate(make(node.outputs), None, **{e.node.name: given[e.node.name]
                                                       for e in inputs})
        made = []
        for part, value in zip(("weight", "bias"), values, strict=True):
            name = f"{node.name}_{part}"
            if name in given:
                raise NameMismatch(f"optimize_for: args has {name!r} already: was the symbol "
                                   "optimized before?")
            folded[name] = value.copy()
            made.append(Entry(Node(None, name), 0))
        return made
    return rewrite(heads, change)
