"""Bound: the arrays of one executor by name, and its outputs. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    """A symbol with the arrays of its variables; the arrays stay the user's.

    `requests` are those of arguments that have a gradient, `facts` the shape and dtype of each of
    the symbol's entries. ShapeError where a shape does not follow from those of the arrays.
    """

    def __init__(self, symbol: Symbol, ctx: Context, args: dict[str, NDArray],
                 grads: Mapping[str, NDArray], requests: Mapping[str, Req],
                 aux: dict[str, NDArray], shapes: Mapping[Entry, Shape | None] | None,
                 like: Facts | None) -> None:
        """`shapes` and `like` are of the same symbol: shapes that were inferred for these arrays
        already, facts whose dtypes are these, too, where the variables' are."""
        self.symbol = symbol
        self.ctx = ctx
        self.args = args
        self.grads: dict[str, NDArray | None] = {name: grads.get(name) for name in args}
        self.aux = aux
        self.requests = {n: r for n, r in requests.items() if r != Req.kNullOp and n in grads}
        # arguments and auxiliary states
        self.variables = {**args, **aux}
        known = (infer_shapes(symbol.entries, {n: a.shape for n, a in self.variables.items()})
                 if shapes is None else all_known(shapes))
        self.facts = add_types(symbol.entries, known,
                               {n: a.dtype for n, a in self.variables.items()}, like)
        self.outputs: list[NDArray] = []
        # no array that is written shares memory with another one
        self.is_plain = self._is_plain()
        # arguments whose arrays are other executors' too, until this one is given some
        self.borrowed: set[str] = set()
        # arguments that were given to forward by name, and where they lie
        self._fed: dict[str, Place] = {}

    def _is_plain(self) -> bool:
        written = [a._chunk for a in (*self.gradients(), *self.aux.values())]
        read = {a._chunk for a in self.args.values()}
        return len(set(written)) == len(written) and not read & set(written)

    def make_outputs(self) -> None:
        """An array for each head, zeros; a handle on the user's where the head is a variable."""
        made: dict[Entry, NDArray] = {}
        for i, entry in enumerate(self.symbol.entries):
            if entry not in made:
                made[entry] = (self.variables[entry.node.name].detach() if entry.node.is_variable
                               else new_array(*self.head_facts(i), self.ctx, zero=True))
        self.outputs[:] = [made[entry] for entry in self.symbol.entries]

    def head_facts(self, i: int) -> tuple[tuple[int, ...], Any]:
        """Shape and dtype of an output."""
        head = self.symbol.entries[i]
        return self.facts.shapes[head], self.facts.types[head]

    def gradient(self, name: str) -> NDArray:
        """Where the gradient of an argument goes that has a request."""
        grad = self.grads[name]
        assert grad is not None
        return grad

    def gradients(self) -> list[NDArray]:
        """Those of all requests."""
        return [self.gradient(name) for name in self.requests]

    # ---- inputs -----------------------------------------------------------------------------

    @property
    def fed(self) -> list[str]:
        """Arguments that are inputs: they were given to `forward` by name."""
        return list(self._fed)

    def note_fed(self, names: Iterable[str]) -> None:
        """These arguments are inputs, as they are given to `forward`."""
        self._fed.update({name: place_of(self.variables[name]) for name in names})

    def copy_plain(self, given: Mapping[str, Any]) -> bool:
        """Copies inputs that were given before, where that takes no memory and no check can fail;
        else some are copied."""
        for name, value in given.items():
            place = self._fed.get(name)
            if place is None or not copy_to_place(value, place):
                return False
        return True

    def check_inputs(self, given: Iterable[str]) -> None:
        """NameMismatch for what is no argument."""
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
        """Arrays of its own for the borrowed arguments among these, holding what those do now; says
        whether there were any. What is written to them is not to be seen by others' runs."""
        taken = self.borrowed.intersection(names)
        for name in sorted(taken):
            theirs = self.args[name]
            own = new_array(theirs.shape, theirs.dtype, theirs.ctx)
            copy_value(theirs, own, name)
            self.args[name] = self.variables[name] = own
            self.borrowed.remove(name)
        for i, entry in enumerate(self.symbol.entries if taken else ()):
            if entry.node.is_variable and entry.node.name in taken:
                self.outputs[i] = self.variables[entry.node.name].detach()
        return bool(taken)
