"""BoundArrays: what an executor is bound to, for its users to see. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .._array.copy import Place, place_of
from .._array.ndarray import NDArray, new_array
from .._array.req import GRAD_REQS, Req
from ..context import Context
from ..errors import NameMismatch, not_picklable
from ..markup import paragraph, table
from ..op.prim_cache import CACHE
from ..storage.account import Account, SessionBytes
from .session import Session
from .values import copy_value

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol


class BoundArrays:
    """A symbol, its arrays by name, its outputs, and what these cost."""

    arg_dict: dict[str, NDArray]
    grad_dict: dict[str, NDArray | None]
    aux_dict: dict[str, NDArray]
    # arguments and auxiliary states
    _bound: dict[str, NDArray]
    # arguments that were given to forward by name, and where they lie
    _fed: dict[str, Place]
    # arguments of a clone whose arrays are other executors' too, as long as it is given none
    _borrowed: set[str]
    _symbol: Symbol
    _ctx: Context
    _requests: dict[str, Req]
    _outputs: list[NDArray]
    _account: Account
    _session: Session

    __reduce_ex__ = not_picklable(
        "an Executor", "save symbol.tojson() and its arrays (nd.save) and bind them again, or use "
        "clone() in this process")

    def __repr__(self) -> str:
        given = [f"{name} {_facts(array)}" for name, array in self.arg_dict.items()]
        made = [f"{name} {_facts(array)}"
                for name, array in zip(self._symbol.list_outputs(), self._outputs, strict=True)]
        parts = [_first(given), f"aux states: {len(self.aux_dict)}", f"outputs: {_first(made)}",
                 f"gradients: {len(self._requests)}"]
        return f"<Executor on {self._ctx}, arguments: {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        """A table of what is bound, for notebooks."""
        words = {request: word for word, request in GRAD_REQS.items()}
        rows = [["argument", name, _facts(array), words[self._requests.get(name, Req.kNullOp)]]
                for name, array in self.arg_dict.items()]
        rows += [["aux state", name, _facts(array), ""] for name, array in self.aux_dict.items()]
        rows += [["output", name, _facts(array), ""]
                 for name, array in zip(self._symbol.list_outputs(), self._outputs, strict=True)]
        return (table(rows, ["what", "name", "array", "gradient"])
                + paragraph(f"Executor on {self._ctx}"))

    @property
    def symbol(self) -> Symbol:
        """The symbol that was bound."""
        return self._symbol

    @property
    def context(self) -> Context:
        """The device the outputs are on."""
        return self._ctx

    @property
    def requests(self) -> dict[str, Req]:
        """The request of each argument that has a gradient."""
        return dict(self._requests)

    @property
    def arg_arrays(self) -> list[NDArray]:
        """Arguments in the order of `list_arguments`."""
        return [self.arg_dict[name] for name in self._symbol.list_arguments()]

    @property
    def grad_arrays(self) -> list[NDArray | None]:
        """Gradients in the order of `list_arguments`; None where there is none."""
        return [self.grad_dict.get(name) for name in self._symbol.list_arguments()]

    @property
    def aux_arrays(self) -> list[NDArray]:
        """Aux states in the order of `list_auxiliary_states`."""
        return [self.aux_dict[name] for name in self._symbol.list_auxiliary_states()]

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs' memory, which the next run overwrites; the same arrays at each call."""
        return self._outputs[:]

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs by name; NameMismatch when two have one name."""
        names = self._symbol.list_outputs()
        if len(set(names)) != len(names):
            raise NameMismatch(f"two outputs have one name: {names}")
        return dict(zip(names, self.outputs, strict=True))

    @property
    def memory_stats(self) -> SessionBytes:
        """Bytes of this executor's own: arena, scratch, packed weights; `live` now, `peak` ever.

        The bound arrays are not among them.
        """
        return self._account.read()

    @property
    def cache_stats(self) -> dict[str, int]:
        """Hits, misses, evictions, groups and entries of this executor's session."""
        return CACHE.stats(self._session.key)

    def _note_fed(self, names: Iterable[str]) -> None:
        """Arguments that are inputs, as they are given to `forward`."""
        self._fed.update({name: place_of(self._bound[name]) for name in names})

    @property
    def borrowed(self) -> frozenset[str]:
        """Arguments whose arrays are other executors' too."""
        return frozenset(self._borrowed)

    def borrow(self, names: Iterable[str]) -> None:
        """The arrays of these arguments are other executors', until this one is given some."""
        self._borrowed = set(names)

    def _own(self, names: Iterable[str]) -> bool:
        """Arrays of its own for the borrowed arguments among these, holding what those do now; says
        whether there were any. What is written to them is not to be seen by others' runs."""
        taken = self._borrowed.intersection(names)
        for name in sorted(taken):
            theirs = self.arg_dict[name]
            own = new_array(theirs.shape, theirs.dtype, theirs.ctx)
            copy_value(theirs, own, name)
            self.arg_dict[name] = self._bound[name] = own
            self._borrowed.remove(name)
        for i, entry in enumerate(self._symbol.entries if taken else ()):
            if entry.node.is_variable and entry.node.name in taken:
                self._outputs[i] = self._bound[entry.node.name].detach()
        return bool(taken)

    def _no_shared_memory(self, grads: Mapping[str, NDArray]) -> bool:
        """No array that is written shares memory with another one that is bound."""
        written = [grads[n]._chunk for n in self._requests]
        written += [a._chunk for a in self.aux_dict.values()]
        read = {a._chunk for a in self.arg_dict.values()}
        return len(set(written)) == len(written) and not read & set(written)


# arguments and outputs that an executor's text names
MOST_NAMED = 3


def _facts(array: NDArray) -> str:
    return f"{array.shape} {array.dtype}"


def _first(texts: list[str]) -> str:
    more = len(texts) - MOST_NAMED
    return ", ".join(texts[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
