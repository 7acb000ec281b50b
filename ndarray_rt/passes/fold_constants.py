"""Constant folding: computes nodes that depend on no variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._array.copy import read_elements
from .._array.layout import AnyArray
from .._array.ndarray import MAX_DIMS, NDArray, new_array
from .._array.req import Req
from ..errors import NdrtError
from ..op.context import OpContext
from ..op.dispatch import dispatch
from ..op.infer import known, run_infer_shape, run_infer_type
from ..op.prim_cache import PrimCache
from ..op.registry import find
from ..ops.fused.constant import ConstantParams
from ..symbol.node import Entry, Node, topological
from .rewrite import Facts, Heads, make, replace

LARGEST = 1 << 22  # bytes of one constant, as graphs are also saved as text


def fold_constants(heads: Sequence[Entry], facts: Facts) -> Heads:
    """Each maximal part of the graph without variables and random numbers becomes a `_constant`.

    Shapes must follow from parameters alone, so that the graph stays valid for data of another
    shape. An output of the graph keeps its node.
    """
    values = _values(heads)
    kept = {entry.node for entry in facts.heads}

    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        if node not in values or node in kept or node.op is find("_constant"):
            return None
        if all(reader in values and reader not in kept
               for entry in node.outputs for reader in facts.readers(entry)):
            return None
        made = []
        for i, array in enumerate(values[node]):
            name = node.name if i == 0 else f"{node.name}_{i}"
            made.append(Entry(make("_constant", ConstantParams.of(array), [], name), 0))
        return made
    return replace(heads, change)


def _values(heads: Sequence[Entry]) -> dict[Node, list[AnyArray]]:
    """The outputs of all nodes that can be computed now."""
    found: dict[Node, list[NDArray]] = {}
    ctx = OpContext(cache=PrimCache())
    for node in topological(heads):
        if _is_constant(node, found):
            outs = _run(ctx, node, [found[e.node][e.index] for e in node.inputs])
            if outs is not None:
                found[node] = outs
    return {node: [read_elements(out, ctx.stream) for out in outs] for node, outs in found.items()}


def _is_constant(node: Node, found: Mapping[Node, object]) -> bool:
    op, params = node.op, node.params
    if op is None or params is None or op.is_random or op.mutated(params) or not op.pure:
        return False
    return all(entry.node in found for entry in node.inputs)


def _run(ctx: OpContext, node: Node, ins: list[NDArray]) -> list[NDArray] | None:
    """A node's outputs; None if they are too large, if their shape is unknown, or after an error,
    which running the graph will report."""
    op, params = node.op, node.params
    assert op is not None
    assert params is not None
    count = len(node.outputs)
    try:
        _, shapes = run_infer_shape(op, params, [x.shape for x in ins], [None] * count)
        _, dtypes = run_infer_type(op, params, [x.dtype for x in ins], [None] * count)
        outs = []
        for shape, dtype in zip(shapes, dtypes, strict=True):
            if shape is None or dtype is None or not known(shape) or not _fits(shape, dtype):
                return None
            outs.append(new_array(shape, dtype))
        dispatch(op, params, ctx, ins, outs, [Req.kWriteTo] * count, node.name)
    except NdrtError:
        return None
    return outs


def _fits(shape: tuple[int, ...], dtype: object) -> bool:
    size = getattr(dtype, "itemsize", 8)
    for dim in shape:
        size *= dim
    return 0 < size <= LARGEST and 0 < len(shape) <= MAX_DIMS
