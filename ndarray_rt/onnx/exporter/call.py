"""Call: the node that is being written, as its operator's form sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph import Array
from ..package import onnx_package
from .dims import Dim, Size, Sizes
from .table import Refused

if TYPE_CHECKING:
    from ...symbol.node import Node
    from .writer import Writer


class Call:
    """One node: its inputs and outputs, and what makes nodes of ONNX that are named after it."""

    def __init__(self, writer: Writer, node: Node) -> None:
        assert node.op is not None
        assert node.params is not None
        self.writer = writer
        self.node = node
        self.opset = writer.shared.opset
        self.operator = node.op.name
        self.p: Any = node.params
        self.count = len(node.inputs)

    # ---- inputs and outputs --------------------------------------------------------------------

    def input(self, i: int) -> str:
        """The tensor of an input."""
        return self.writer.tensor(self.node.inputs[i])

    @property
    def inputs(self) -> list[str]:
        """The tensors of all inputs."""
        return [self.input(i) for i in range(self.count)]

    def shape(self, i: int = 0) -> Sizes:
        """The shape of an input."""
        return self.writer.shape(self.node.inputs[i])

    def rank(self, i: int = 0) -> int:
        """The rank of an input."""
        return len(self.shape(i))

    def dtype(self, i: int = 0) -> np.dtype[Any]:
        """The dtype of an input."""
        return self.writer.dtype(self.node.inputs[i])

    def out_shape(self, i: int = 0) -> Sizes:
        """The shape of an output."""
        return self.writer.shape(self.node.outputs[i])

    def out_dtype(self, i: int = 0) -> np.dtype[Any]:
        """The dtype of an output."""
        return self.writer.dtype(self.node.outputs[i])

    def value(self, i: int) -> Array | None:
        """The array that an input is, where it depends on parameters alone."""
        entry = self.node.inputs[i]
        return self.writer.value(entry) if self.writer.is_constant(entry) else None

    def is_zeros(self, i: int) -> bool:
        """An input is all zeros."""
        op = self.node.inputs[i].node.op
        return op is not None and op.name in ("_zeros", "zeros_like")

    def fixed(self, sizes: Sequence[Size], what: str) -> list[int]:
        """Sizes that must not be free here."""
        made = []
        for size in sizes:
            if isinstance(size, Dim):
                raise Refused(f"{what} must be fixed, and {str(size) or 'a size of it'} is free")
            made.append(size)
        return made

    def run(self, *arrays: Array) -> Array:
        """What the node's operator gives for other inputs."""
        return self.writer.run(self.node, arrays)

    # ---- making nodes --------------------------------------------------------------------------

    def op(self, name: str, *inputs: str, **attrs: Any) -> str:
        """A node of ONNX; its only output."""
        return self.writer.add(name, inputs, self.node.name, **attrs)[0]

    def ops(self, name: str, count: int, *inputs: str, **attrs: Any) -> list[str]:
        """A node with several outputs."""
        return self.writer.add(name, inputs, self.node.name, count, **attrs)

    def const(self, value: Any, dtype: Any = None) -> str:
        """A constant."""
        return self.writer.shared.initialiser(np.asarray(value, dtype), f"{self.node.name}_const")

    def ints(self, *values: int) -> str:
        """A vector of whole numbers, as shapes and axes are."""
        return self.const(np.array(values, np.int64))

    def number(self, value: float, i: int = 0) -> str:
        """A number of the dtype of an input."""
        return self.const(np.array(value, self.dtype(i)))

    def cast(self, x: str, dtype: Any) -> str:
        """In another dtype."""
        return self.op("Cast", x, to=int(onnx_package().helper.np_dtype_to_tensor_dtype(
            np.dtype(dtype))))

    def whole(self, i: int) -> str:
        """An input in int64."""
        return self.input(i) if self.dtype(i) == np.int64 else self.cast(self.input(i), np.int64)

    # ---- shapes --------------------------------------------------------------------------------

    def transpose(self, x: str, axes: Sequence[int]) -> str:
        """Axes in another order."""
        return x if list(axes) == list(range(len(axes))) else self.op("Transpose", x,
                                                                     perm=list(axes))

    def unsqueeze(self, x: str, *axes: int) -> str:
        """New axes of length 1."""
        return self.op("Unsqueeze", x, self.ints(*axes))

    def squeeze(self, x: str, *axes: int) -> str:
        """Without axes of length 1."""
        return self.op("Squeeze", x, self.ints(*axes))

    def reshape(self, x: str, before: Sequence[Size], after: Sequence[Size]) -> str:
        """The same elements under another shape."""
        if tuple(before) == tuple(after):
            return x
        free = [i for i, size in enumerate(after) if isinstance(size, Dim)]
        codes = [0 if isinstance(size, Dim) else size for size in after]
        moved = [i for i in free if i >= len(before) or before[i] != after[i]]
        if 0 not in [size for size in (*before, *after) if not isinstance(size, Dim)]:
            if len(free) == 1:
                codes[free[0]] = -1
                return self.op("Reshape", x, self.ints(*codes))
            if len(moved) <= 1:
                for i in moved:
                    codes[i] = -1
                return self.op("Reshape", x, self.ints(*codes))
        return self.op("Reshape", x, self.sizes(after, (x, before)),
                       allowzero=1 if self.opset >= 14 and not free else None)

    def sizes(self, shape: Sequence[Size], *sources: tuple[str, Sequence[Size]]) -> str:
        """A shape as a tensor; free sizes are those of inputs of the model, or of the sources."""
        if not any(isinstance(size, Dim) for size in shape):
            return self.ints(*[size for size in shape if isinstance(size, int)])
        parts = [self.ints(size) if isinstance(size, int) else self._size(size, sources)
                 for size in shape]
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def _size(self, dim: Dim, sources: Sequence[tuple[str, Sequence[Size]]]) -> str:
        found = self.writer.size_tensor(dim, self.node.name)
        if found is not None:
            return found
        for tensor, shape in sources:
            if dim in shape:
                return self.writer.size_of(tensor, list(shape).index(dim), self.node.name)
        raise Refused("a free size of its output follows from no size of an input")

    def slice(self, x: str, axes: Sequence[int], begins: Sequence[int], ends: Sequence[int],
              steps: Sequence[int] | None = None) -> str:
        """A part along some axes."""
        more = [] if steps is None or all(s == 1 for s in steps) else [self.ints(*steps)]
        return self.op("Slice", x, self.ints(*begins), self.ints(*ends), self.ints(*axes), *more)

    def split(self, x: str, sizes: Sequence[int], axis: int) -> list[str]:
        """Parts of these sizes."""
        if len(sizes) == 1:
            return [x]
        return self.ops("Split", len(sizes), x, self.ints(*sizes), axis=axis)

    def pad(self, x: str, begins: Sequence[int], ends: Sequence[int], value: float,
            mode: str = "constant") -> str:
        """More at the ends of all axes."""
        if not any((*begins, *ends)):
            return x
        more = [self.number(value)] if mode == "constant" else []
        return self.op("Pad", x, self.ints(*begins, *ends), *more, mode=mode)

    def reduce(self, name: str, x: str, axes: Sequence[int] | None, keepdims: bool) -> str:
        """ReduceSum and its like over axes, None: all."""
        if axes is None:
            return self.op(name, x, keepdims=int(keepdims))
        if name == "ReduceSum" or self.opset >= 18:
            return self.op(name, x, self.ints(*axes), keepdims=int(keepdims))
        return self.op(name, x, axes=list(axes), keepdims=int(keepdims))
