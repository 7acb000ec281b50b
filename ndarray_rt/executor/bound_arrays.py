"""BoundArrays: what an executor is bound to, for its users to see. Runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._array.ndarray import NDArray
from .._array.req import Req
from ..context import Context
from ..errors import NameMismatch
from ..op.prim_cache import CACHE
from ..storage.account import Account, SessionBytes
from .session import Session

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol


class BoundArrays:
    """A symbol, its arrays by name, its outputs, and what these cost."""

    arg_dict: dict[str, NDArray]
    grad_dict: dict[str, NDArray | None]
    aux_dict: dict[str, NDArray]
    _symbol: Symbol
    _ctx: Context
    _requests: dict[str, Req]
    _outputs: list[NDArray]
    _account: Account
    _session: Session

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
    def session(self) -> Session:
        """What the primitives of this executor and of those reshaped from it are kept under."""
        return self._session

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
