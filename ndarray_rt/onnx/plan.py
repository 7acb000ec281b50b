"""Plans: what runs for inputs of certain shapes, step by step. Decides nothing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.interop import ShareError, export
from ..errors import InputMismatch, NdrtError, OutOfBounds, OutOfMemory, ShapeError
from .graph import Array, Node
from .values import DType, need_bytes

if TYPE_CHECKING:
    from ..executor.executor import Executor

# what steps hand on: arrays, and sequences of them, by name
Table = dict[str, Any]

# runs after which an executor's arrays stay in the layouts that they are in
_SETTLED = 4
# continuations that one fork keeps: for so many different shapes of what was computed before
MOST_WAYS = 32


class NodeCall:
    """The function of a node with its constants put in: takes the other inputs in order.

    Two calls are equal when they compute the same.
    """

    __slots__ = ("__weakref__", "count", "given", "has_known_size", "node", "operator")

    def __init__(self, operator: Any, node: Node, given: Sequence[Any], count: int,
                 has_known_size: bool = True) -> None:
        """`given` has an array, None for an input that is left out, or a number for the argument
        that takes the place. Without a known size each call looks how large its results are."""
        self.operator = operator
        self.node = node
        self.given = tuple(given)
        self.count = count
        self.has_known_size = has_known_size

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        ins = [args[g] if g.__class__ is int else g for g in self.given]
        try:
            if not self.has_known_size:
                need_bytes(*self.operator.size_function(self.node, *ins))
            made = self.operator.function(self.node, *ins)
        except InputMismatch as error:
            raise InputMismatch(error.reason, error.file,
                                error.place or str(self.node)) from error.__cause__
        except NdrtError:
            raise
        except MemoryError as error:
            raise OutOfMemory(f"{self.node}: {error}") from error
        except (IndexError, OverflowError) as error:
            raise OutOfBounds(f"{self.node}: {error}") from error
        except (ValueError, TypeError, ArithmeticError, KeyError, AttributeError,
                AssertionError) as error:
            raise ShapeError(f"{self.node}: {error}") from error
        if not isinstance(made, tuple):
            made = (made,)
        if len(made) < self.count:
            raise ShapeError(f"{self.node}: has {self.count} outputs, the operator gives "
                             f"{len(made)}")
        return tuple(np.asarray(value) if isinstance(value, (np.generic, np.ndarray)) else value
                     for value in made[:self.count])

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, NodeCall) and other.node is self.node
            and other.operator is self.operator and len(other.given) == len(self.given)
            and all(a is b or (isinstance(a, int) and a == b) or (
                isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype == b.dtype
                and a.nbytes <= 1 << 16 and np.array_equal(a, b))
                for a, b in zip(self.given, other.given, strict=True)))

    def __hash__(self) -> int:
        return hash(id(self.node))

    def __repr__(self) -> str:
        return f"<{self.operator.name} {self.node.name or self.node.outputs[0]}>"


# operators that give the elements of their first input under another shape
_RESHAPING = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})


def shortened(call: NodeCall, takes: DType, shape: tuple[int, ...], dtype: DType,
              ) -> Callable[[Array], tuple[Array]] | None:
    """What a node of one result does with its first input, where all else is known, in one call of
    NumPy: small steps are so short that finding out what to do takes most of their time."""
    if len(call.given) == 0 or call.given[0].__class__ is not int or any(
            g.__class__ is int for g in call.given[1:]):
        return None
    if call.operator.name in _RESHAPING:
        return lambda x: (x.reshape(shape),)
    # of NumPy's own dtypes: to floats of eight bits Cast saturates, whatever kind they say they are
    if call.operator.name == "Cast" and all(
            kind.isbuiltin == 1 and kind.kind in "biuf" for kind in (takes, dtype)):
        return lambda x: (x.astype(dtype),)
    return None


@dataclass(eq=False)
class Segment:
    """A graph of the engine. `inputs` are names in the table and in the graph at once; `outputs`
    are (name in the table, shape of the tensor).

    Inputs are written to, and outputs read, through exported views: a copy by NumPy takes less than
    a microsecond, which models of little work wait for.
    """

    executor: Executor
    inputs: list[str]
    outputs: list[tuple[str, tuple[int, ...]]]

    def __post_init__(self) -> None:
        self._feeds = [(name, export(self.executor.arg_dict[name])) for name in self.inputs]
        self._views: list[tuple[str, Array]] | None = None
        self._runs = 0

    def run(self, table: Table) -> None:
        for name, view in self._feeds:
            np.copyto(view, table[name])
        self.executor.forward()
        if self._views is not None:
            for name, view in self._views:
                table[name] = view.copy()
            return
        for (name, shape), array in zip(self.outputs, self.executor.outputs, strict=True):
            table[name] = array.asnumpy().reshape(shape)
        self._runs += 1
        if self._runs == _SETTLED:
            self._look()

    def _look(self) -> None:
        """Takes views of the outputs, once runs have settled in which layouts they are."""
        arrays = self.executor.outputs
        if any(array.is_special for array in arrays):
            return
        with suppress(ShareError):
            self._views = [(name, export(array, writable=False).reshape(shape))
                           for (name, shape), array in zip(self.outputs, arrays, strict=True)]


@dataclass(eq=False)
class HostStep:
    """A function of NumPy arrays between two graphs."""

    call: Callable[..., Sequence[Any]]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    of: NodeCall | None = None  # what the function is a short form of

    def run(self, table: Table) -> None:
        made = self.call(*[table[name] for name in self.inputs])
        for name, value in zip(self.outputs, made, strict=False):
            if name:
                table[name] = value


@dataclass(eq=False)
class Fork:
    """The rest of a plan depends on what was computed: on shapes, or on values.

    `plan_rest` makes it for what is in the table.
    """

    names: tuple[str, ...]
    by_value: bool
    plan_rest: Callable[[Table], Plan]
    ways: OrderedDict[Any, Plan] = field(default_factory=OrderedDict)

    def rest(self, table: Table) -> Plan:
        key = tuple(_key(table[name], self.by_value) for name in self.names)
        found = self.ways.get(key)
        if found is None:
            found = self.plan_rest(table)
            self.ways[key] = found
            while len(self.ways) > MOST_WAYS:
                self.ways.popitem(last=False)
        else:
            self.ways.move_to_end(key)
        return found


def _key(value: Any, by_value: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_key(item, by_value) for item in value)
    if value is None:
        return None
    if by_value:
        return value.shape, value.dtype.str, value.tobytes()
    return value.shape, value.dtype.str


@dataclass(frozen=True)
class Copied:
    """A result that is copied out of the table: it is an input, or is handed out twice."""

    name: str


@dataclass(eq=False)
class Plan:
    """Steps in order, then a fork or the results: names in the table, or constants."""

    steps: list[Segment | HostStep] = field(default_factory=list)
    fork: Fork | None = None
    results: list[Any] = field(default_factory=list)

    def run(self, table: Table) -> list[Any]:
        """The results for the arrays in the table, which gets all that is computed."""
        plan = self
        with np.errstate(all="ignore"):
            while True:
                for step in plan.steps:
                    step.run(table)
                if plan.fork is None:
                    return [result_of(result, table) for result in plan.results]
                plan = plan.fork.rest(table)

    def drop_unused(self) -> None:
        """Takes away steps in NumPy that nothing reads; of a plan without a fork."""
        used = set(_names(self.results))
        kept: list[Segment | HostStep] = []
        for step in reversed(self.steps):
            if isinstance(step, HostStep) and not used.intersection(step.outputs):
                continue
            used.update(step.inputs)
            kept.append(step)
        self.steps = kept[::-1]

    def segments(self) -> list[Segment]:
        """The graphs of this plan, and of what came after its forks."""
        found = [step for step in self.steps if isinstance(step, Segment)]
        if self.fork is not None:
            for rest in self.fork.ways.values():
                found += rest.segments()
        return found


def _names(results: Sequence[Any]) -> Iterator[str]:
    """Names in the table that results have."""
    for result in results:
        if isinstance(result, str):
            yield result
        elif isinstance(result, Copied):
            yield result.name
        elif isinstance(result, list):
            yield from _names(result)


def result_of(result: Any, table: Table) -> Any:
    """An array of the table by its name, a constant, or a list of results."""
    if isinstance(result, str):
        return table[result]
    if isinstance(result, list):
        return [result_of(item, table) for item in result]
    if isinstance(result, Copied):
        return np.array(table[result.name])
    return None if result is None else np.array(result)
