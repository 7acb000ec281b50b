"""Bound: the arrays of one executor by name, and its outputs. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._array.copy import Place, copy_to_place, place_of
from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..context import Context
from ..errors import NameMismatch
from ..op.registry import Shape
from ..symbol.node import Entry
from .program.bound_graph import Facts, add_types, all_known, infer_shapes
from .values import copy_value

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol


class Bound:
    """A symbol with the arrays of its variables, which belong to the user.

    `heads` are what is computed: those of the symbol, or of its graph on 8-bit numbers. `requests`
    are those of arguments that get a gradient, `facts` the shape and dtype of each entry of that
    graph. ShapeError if a shape does not follow from those of the arrays.
    """

    def __init__(self, symbol: Symbol, ctx: Context, args: dict[str, NDArray],
                 grads: Mapping[str, NDArray], requests: Mapping[str, Req],
                 aux: dict[str, NDArray], shapes: Mapping[Entry, Shape | None] | None,
                 like: Facts | None, heads: Sequence[Entry] | None = None) -> None:
        """`shapes` and `like` belong to the same symbol: `shapes` were inferred for these arrays;
        the dtypes of `like` are used if the variables have the same ones. `heads`: what is computed
        in place of the symbol, of the same variables."""
        self.symbol = symbol
        self.heads = list(symbol.entries if heads is None else heads)
        self.ctx = ctx
        self.args = args
        self.grads: dict[str, NDArray | None] = {name: grads.get(name) for name in args}
        self.aux = aux
        self.requests = {n: r for n, r in requests.items() if r != Req.kNullOp and n in grads}
        # arguments and auxiliary states
        self.variables = {**args, **aux}
        known = self._shapes(self.heads) if shapes is None else all_known(shapes)
        self.facts = self._with_types(self.heads, known, like)
        self.outputs: list[NDArray] = []
        # no array that is written shares memory with another array
        self.is_plain = self._is_plain()
        # arguments whose arrays are shared with other executors, until this one is given values
        self.borrowed: set[str] = set()
        # arguments that were given to forward by name, and their arrays
        self._fed: dict[str, Place] = {}

    def _is_plain(self) -> bool:
        written = [a._chunk for a in (*self.gradients(), *self.aux.values())]
        read = {a._chunk for a in self.args.values()}
        return len(set(written)) == len(written) and not read & set(written)

    def _shapes(self, heads: Sequence[Entry]) -> dict[Entry, tuple[int, ...]]:
        return infer_shapes(heads, {n: a.shape for n, a in self.variables.items()})

    def _with_types(self, heads: Sequence[Entry], shapes: dict[Entry, tuple[int, ...]],
                    like: Facts | None) -> Facts:
        return add_types(heads, shapes, {n: a.dtype for n, a in self.variables.items()}, like)

    def compute(self, heads: Sequence[Entry]) -> None:
        """From now on these are computed, of the same variables and with the same shapes and
        dtypes. MXNetError, and nothing has changed, where an operator does not take its inputs."""
        facts = self._with_types(heads, self._shapes(heads), None)
        self.heads, self.facts = list(heads), facts

    @property
    def is_replaced(self) -> bool:
        """Another graph than the symbol is computed."""
        return self.heads != self.symbol.entries

    def make_outputs(self) -> None:
        """A zeroed array for each head; if the head is a variable, a handle on the user's array."""
        made: dict[Entry, NDArray] = {}
        for i, entry in enumerate(self.heads):
            if entry not in made:
                made[entry] = (self.variables[entry.node.name].detach() if entry.node.is_variable
                               else new_array(*self.head_facts(i), self.ctx, zero=True))
        self.outputs[:] = [made[entry] for entry in self.heads]

    def head_facts(self, i: int) -> tuple[tuple[int, ...], Any]:
        """Shape and dtype of an output."""
        head = self.heads[i]
        return self.facts.shapes[head], self.facts.types[head]

    def gradient(self, name: str) -> NDArray:
        """The array for the gradient of an argument with a request."""
        grad = self.grads[name]
        assert grad is not None
        return grad

    def gradients(self) -> list[NDArray]:
        """The gradient arrays of all requests."""
        return [self.gradient(name) for name in self.requests]

    # ---- inputs -----------------------------------------------------------------------------

    @property
    def fed(self) -> list[str]:
        """Arguments that are inputs: they were given to `forward` by name."""
        return list(self._fed)

    def note_fed(self, names: Iterable[str]) -> None:
        """Notes that these arguments are inputs, as they are given to `forward`."""
        self._fed.update({name: place_of(self.variables[name]) for name in names})

    def copy_plain(self, given: Mapping[str, Any]) -> bool:
        """Copies inputs that were given before, if that allocates nothing and no check can fail;
        returns False otherwise, when some may have been copied."""
        for name, value in given.items():
            place = self._fed.get(name)
            if place is None or not copy_to_place(value, place):
                return False
        return True

    def check_inputs(self, given: Iterable[str]) -> None:
        """NameMismatch for a name that is not an argument."""
        for name in given:
            if name not in self.variables or name in self.aux:
                raise NameMismatch(f"forward: {name!r} is no argument of this symbol; it has: "
                                   f"{', '.join(self.args)}")

    def copy(self, given: Mapping[str, Any]) -> None:
        """Copies inputs into the arguments of these names."""
        for name, value in given.items():
            copy_value(value, self.variables[name], name)
        self.note_fed(given)

    def own(self, names: Iterable[str]) -> bool:
        """Replaces those of these arguments that are borrowed by arrays of its own with the same
        contents, as other executors must not see writes to them; returns whether there were any."""
        taken = self.borrowed.intersection(names)
        for name in sorted(taken):
            theirs = self.args[name]
            own = new_array(theirs.shape, theirs.dtype, theirs.ctx)
            copy_value(theirs, own, name)
            self.args[name] = self.variables[name] = own
            self.borrowed.remove(name)
        for i, entry in enumerate(self.heads if taken else ()):
            if entry.node.is_variable and entry.node.name in taken:
                self.outputs[i] = self.variables[entry.node.name].detach()
        return bool(taken)
