"""Whole numbers in ONNX: what floats are read from and written to, between which layers stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ...dtypes import FLOAT32, INT32, DType
from ...op.params import Params
from ...op.registry import find
from ...ops.quantization.ranges import HALF_OVER, widest
from ...ops.quantization.whole_layers import MOST, Ends
from ...symbol.infer import infer_graph_types
from ...symbol.node import Entry, Node
from ..graph import Array
from .call import Call
from .dims import Dim, Size, Sizes, inner_shapes
from .inner import Tensor
from .table import Refused
from .writer import Writer

# what the greatest absolute value of a range is in steps
Most = Mapping[Any, np.float32]
UNKNOWN = "the range of {} is known only when it runs: calibrate the model"


def range_of(c: Call, low: int) -> Ends:
    """The range whose ends are the inputs `low` and the one behind it; Refused where it is not
    known."""
    found = []
    for i in (low, low + 1):
        source = c.node.inputs[i].node
        if source in c.writer.refused:
            return np.float32(-1), np.float32(1)  # that node is told already
        value = c.value(i)
        if value is None:
            value = c.writer.shared.initialisers.get(c.input(i))
        if value is None or not np.isfinite(value).all():
            raise Refused(UNKNOWN.format(f"{source.name!r}"))
        found.append(np.float32(value.reshape(-1)[0]))
    return found[0], found[1]


def step_of(dtype: DType, ends: Ends, most: Most = HALF_OVER) -> np.float32:
    """What 1 stands for."""
    top = widest(*ends)
    made: np.float32 = np.float32(top / most[dtype]) if top else np.float32(1 / MOST)
    return made


def from_steps(c: Call, whole: str, dtype: DType, shape: Sizes, steps: Any) -> Tensor:
    """Whole numbers as floats: one step, or one for each of axis 0."""
    steps = np.asarray(steps, np.float32)
    steps = steps.reshape(()) if steps.size == 1 else steps
    given = [whole, c.const(steps)]
    if dtype != INT32:
        given.append(c.const(np.zeros(steps.shape, dtype)))
    made = c.op("DequantizeLinear", *given, axis=0 if steps.ndim else None)
    return Tensor(made, FLOAT32, shape)


def in_floats(c: Call, i: int, low: int, most: Most = HALF_OVER) -> Tensor:
    """An input of 8 bits as floats; its range begins at the input `low`."""
    dtype = c.dtype(i)
    return from_steps(c, c.input(i), dtype, c.shape(i), step_of(dtype, range_of(c, low), most))


def to_steps(c: Call, floats: str, dtype: DType, ends: Ends, most: Most = HALF_OVER,
             told: Ends | None = None) -> list[str]:
    """Floats as 8-bit numbers of a range, and the ends of that which is `told`."""
    step = step_of(dtype, ends, most)
    made = c.op("QuantizeLinear", floats, c.const(step), c.const(0, dtype))
    return [made, *range_tensors(c, told or ends)]


def range_tensors(c: Call, ends: Ends) -> list[str]:
    """The ends of a range as constants, where `range_of` looks for them."""
    return [c.const(np.array([end], np.float32)) for end in ends]


# ---- operators on floats ------------------------------------------------------------------------


def layered(c: Call, head: Entry, tensors: Mapping[str, Tensor]) -> str:
    """The tensor of a graph whose variables are tensors."""
    outer = c.writer
    shapes = inner_shapes([head], {name: tensor.shape for name, tensor in tensors.items()},
                          outer.shared.trials)
    types = infer_graph_types([head], {name: tensor.dtype for name, tensor in tensors.items()})
    known = {entry: tensors[entry.node.name].name for entry in shapes if entry.node.is_variable}
    writer = Writer(outer.shared, [head], {}, shapes, types, outer, known)
    refused = writer.convert()
    if refused:
        raise Refused("; ".join(refused))
    outer.nodes += writer.nodes
    return writer.tensor(head)


def on_floats(c: Call, operator: str, params: Params, *tensors: Tensor) -> str:
    """What an operator makes of tensors."""
    names = [f"in{i}" for i in range(len(tensors))]
    node = Node(find(operator), c.node.name, {}, params,
                [Entry(Node(None, name), 0) for name in names])
    return layered(c, Entry(node, 0), dict(zip(names, tensors, strict=True)))


def times(sizes: Sequence[Size]) -> Size:
    """The product of sizes."""
    trials = max((len(size.values) for size in sizes if isinstance(size, Dim)), default=0)
    if not trials:
        return prod(size for size in sizes if isinstance(size, int))
    if len(sizes) == 1:
        return sizes[0]
    return Dim(tuple(prod(size.values[i] if isinstance(size, Dim) else size for size in sizes)
                     for i in range(trials)))


def constant(c: Call, i: int, name: str) -> Array:
    """The array that an input is; Refused where it depends on the inputs of the model."""
    value = c.value(i)
    if value is None:
        raise Refused(f"its {name} is not constant")
    return value
