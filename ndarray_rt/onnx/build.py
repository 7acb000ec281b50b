"""Making the symbols of one segment: operators on values, with shapes known at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .._array.create import array
from .._array.ndarray import NDArray
from ..context import Context
from ..dtypes import dtype_name, find_dtype
from ..fork import renew_in_child
from ..io.foreign import over_numpy
from ..op.infer import run_infer_shape, run_infer_type
from ..op.registry import find
from ..ops.fused.numpy_function import NumpyFunctionParams
from ..symbol.create import call
from ..symbol.node import Entry, Node
from ..symbol.symbol import Symbol
from .graph import Array
from .held import need_room, owner_of
from .values import DType, Value, constant, need_bytes

# constants up to here are known by their contents, so that plans for other shapes share them
_BY_CONTENT = 1 << 16


class Constants:
    """Arrays that plans bind as variables, each once: by name, and kept alive.

    Models that share weights share it, each in its own thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bound: dict[str, NDArray] = {}
        self.arrays: dict[str, Array] = {}
        self._names: dict[Any, list[str]] = {}
        self._spread_bytes = 0
        self._made: dict[tuple[int, str], tuple[Array, Array]] = {}
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child."""
        self._lock = threading.Lock()

    def bound(self, name: str, ctx: Context) -> NDArray:
        """The array of a variable as the engine's, the same for all plans."""
        with self._lock:
            found = self._bound.get(name)
            if found is None:
                made = self.arrays[name]
                if made.nbytes > owner_of(made).nbytes:
                    # one number that stands for many, until now
                    self._spread_bytes += made.nbytes
                    need_room(self._spread_bytes)
                found = self._bound[name] = _in_engine(made, ctx)
            return found

    @property
    def count(self) -> int:
        """How many of them are bound."""
        return len(self._bound)

    def made_of(self, value: Value, how: str, make: Callable[[Array], Array]) -> Array:
        """What `make` makes of a constant, `how` says what that is: once for each array of the
        file, however many nodes ask for it."""
        assert value.const is not None
        if not value.fixed:
            return np.ascontiguousarray(make(value.const))
        key = id(value.const), how
        with self._lock:
            found = self._made.get(key)
            if found is None:
                # with the array itself, so that no other one gets its id
                found = self._made[key] = value.const, np.ascontiguousarray(make(value.const))
            return found[1]

    def name(self, given: Array, hint: str) -> str:
        """The variable of an array. Small ones that are equal have one."""
        key: Any = id(given)
        data = b""
        if given.nbytes <= _BY_CONTENT:
            data = given.tobytes()
            key = given.shape, given.dtype.str, hash(data)
        with self._lock:
            names = self._names.setdefault(key, [])
            for name in names:
                if self.arrays[name] is given or (data and self.arrays[name].tobytes() == data):
                    return name
            found = hint
            while found in self.arrays:
                found = f"{found}_"
            names.append(found)
            self.arrays[found] = given
            return found


def _in_engine(given: Array, ctx: Context) -> NDArray:
    """An array with the contents of a constant: on its memory, which nobody writes to, unless that
    is somebody else's."""
    values = np.ascontiguousarray(given).reshape(given.shape or (1,))
    dtype = find_dtype(values.dtype)
    if values.flags.writeable and values.flags.aligned and values.dtype == dtype:
        return over_numpy(values, dtype, ctx)
    return array(values, ctx, dtype)


class InGraph:
    """A function of tensors as one of the arrays that stand for them in a graph."""

    __slots__ = ("__weakref__", "function", "shapes")

    def __init__(self, function: Any, shapes: Sequence[tuple[int, ...]]) -> None:
        self.function = function
        self.shapes = tuple(shapes)

    def __call__(self, *arrays: Array) -> list[Array]:
        made = self.function(*[array.reshape(shape) for array, shape in zip(
            arrays, self.shapes, strict=True)])
        return [value.reshape(value.shape or (1,)) for value in made]

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, InGraph) and other.function == self.function
                and other.shapes == self.shapes)

    def __hash__(self) -> int:
        return hash((self.function, self.shapes))

    def __repr__(self) -> str:
        return repr(self.function)


class Quantized(NamedTuple):
    """What whole numbers of a graph were made of, and how; `axis` 0 for one scale."""

    data: Value
    scales: Array
    zeros: Array
    axis: int
    dtype: DType


class GraphBuilder:
    """Makes the nodes of one segment.

    `inputs` are the variables that are fed when it runs: name of the array -> variable.
    """

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self.inputs: dict[str, Symbol] = {}
        self.variables: dict[str, Symbol] = {}
        self.shapes: dict[Entry, tuple[int, ...]] = {}
        self.types: dict[Entry, DType] = {}
        self.quantized: dict[Entry, Quantized] = {}
        self.hint = "node"
        self._used: dict[str, int] = {}

    # ---- values into the graph -----------------------------------------------------------------

    def symbol(self, value: Value) -> Symbol:
        """A value as an entry of this graph."""
        if value.symbol is not None:
            return value.symbol
        if value.const is not None:
            name = self.constants.name(value.const, f"{self.hint}_constant")
            known = self.variables
        else:
            assert value.slot is not None
            name, known = value.slot, self.inputs
        # a tensor of rank 0 and one of shape (1,) are one array
        found = known.get(name)
        if found is None:
            entry = Entry(Node(None, name), 0)
            found = known[name] = Symbol([entry])
            self.shapes[entry], self.types[entry] = value.graph_shape, value.dtype
        return found

    def _name(self) -> str:
        number = self._used.get(self.hint, 0)
        self._used[self.hint] = number + 1
        return f"{self.hint}_{number}" if number else self.hint

    # ---- operators -----------------------------------------------------------------------------

    def ops(self, name: str, *values: Value, **params: Any) -> list[Value]:
        """The visible outputs of an operator of the engine."""
        made = call(name, *[self.symbol(v) for v in values], name=self._name(), **params)
        return self._outputs(made.entries[0].node, len(made.entries))

    def op(self, name: str, *values: Value, **params: Any) -> Value:
        """The first output of an operator of the engine."""
        return self.ops(name, *values, **params)[0]

    def function(self, function: Any, values: Sequence[Value],
                 facts: Sequence[tuple[tuple[int, ...], DType]], draws: bool) -> list[Value]:
        """A function of NumPy arrays as a node."""
        op = find("_numpy_function")
        if not all(v.shape for v in values) or not all(shape for shape, _ in facts):
            function = InGraph(function, [v.shape for v in values])
        params = NumpyFunctionParams(
            num_args=len(values), function=function, draws=draws,
            takes=tuple((v.graph_shape, dtype_name(v.dtype)) for v in values),
            gives=tuple((shape or (1,), dtype_name(dtype)) for shape, dtype in facts))
        node = Node(op, self._name(), {}, params, [self.symbol(v).entries[0] for v in values])
        made = self._outputs(node, len(facts))
        for value, (shape, _) in zip(made, facts, strict=True):
            value.shape = shape
        return made

    def _outputs(self, node: Node, visible: int) -> list[Value]:
        assert node.op is not None
        assert node.params is not None
        count = node.num_outputs
        ins = node.inputs
        shapes = run_infer_shape(node.op, node.params, [self.shapes[e] for e in ins],
                                 [None] * count, node.name)[1]
        types = run_infer_type(node.op, node.params, [self.types[e] for e in ins],
                               [None] * count, node.name)[1]
        # what is no larger than an input is not only described
        given = max((prod(self.shapes[e]) * self.types[e].itemsize for e in ins), default=0)
        made = []
        for entry, shape, dtype in zip(node.outputs, shapes, types, strict=True):
            assert shape is not None
            assert dtype is not None
            if prod(shape) * dtype.itemsize > given:
                need_bytes(shape, dtype)
            self.shapes[entry], self.types[entry] = shape, dtype
            made.append(Value(shape, dtype, symbol=Symbol([entry])))
        return made[:visible]

    # ---- what many operators need --------------------------------------------------------------

    def reshaped(self, value: Value, shape: Sequence[int]) -> Value:
        """The same elements under another shape, which names no dimension that data has anyway, so
        that one graph serves many batch sizes."""
        shape = tuple(shape)
        if value.const is not None:
            if value.fixed and shape and value.const.nbytes > _BY_CONTENT:
                # one array for plans of all shapes
                return constant(self.constants.made_of(
                    value, f"shape {shape}", lambda array: array.reshape(shape)), True)
            return constant(value.const.reshape(shape), value.fixed)
        target, own = shape or (1,), value.graph_shape
        if target != own:
            codes = list(target)
            same = 0
            while same < min(len(own), len(target)) and own[same] == target[same]:
                codes[same] = 0
                same += 1
            if same < len(codes):
                # the longest of the others follows
                free = max(range(same, len(codes)), key=lambda i: codes[i])
                codes[free] = -1
            value = self.op("Reshape", value, shape=tuple(codes))
        return Value(shape, value.dtype, symbol=self.symbol(value))

    def cast(self, value: Value, dtype: DType) -> Value:
        """The numbers in another dtype of floats."""
        if value.const is not None:
            made = self.constants.made_of(value, f"as {dtype}", lambda array: array.astype(dtype))
            return constant(made, value.fixed)
        return self.shaped(self.op("Cast", value, dtype=dtype_name(dtype)), value.shape)

    def alike(self, value: Value, rank: int) -> Value:
        """With axes of length 1 before the others, up to a rank."""
        if value.rank >= rank:
            return value
        return self.reshaped(value, (1,) * (rank - value.rank) + value.shape)

    def transposed(self, value: Value, axes: Sequence[int]) -> Value:
        """Axes in another order."""
        if list(axes) == list(range(value.rank)):
            return value
        if value.const is not None:
            return constant(value.const.transpose(axes), value.fixed)
        return self.op("transpose", value, axes=tuple(axes))

    def shaped(self, value: Value, shape: Sequence[int]) -> Value:
        """A value of the graph whose tensor has this shape: rank 0 is (1,) there."""
        assert prod(shape) == value.size
        if value.graph_shape == (tuple(shape) or (1,)):
            value.shape = tuple(shape)
            return value
        return self.reshaped(value, shape)
