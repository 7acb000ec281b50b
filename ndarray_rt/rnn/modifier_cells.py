"""Cells without weights: dropout, and modifiers of another cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import sym
from ..base import numeric_types
from ..symbol.symbol import Symbol
from .base_cell import Arrays, BaseRNNCell, RNNParams
from .errors import CellError
from .sequences import format_sequence
from .stacked_cells import BidirectionalCell


class DropoutCell(BaseRNNCell):
    """Dropout of the inputs; it has no states.

    Parameters
    ----------
    dropout : float
        The share that is dropped in training; CellError for what is no number.
    prefix, params
        As of `BaseRNNCell`.
    """

    def __init__(self, dropout: float, prefix: str = "dropout_",
                 params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        if not isinstance(dropout, numeric_types):
            raise CellError(f"DropoutCell: dropout probability must be a number, got {dropout!r}")
        self.dropout = dropout

    @property
    def state_info(self) -> list[Any]:
        """It has none."""
        return []

    def __call__(self, inputs: Any, states: Any) -> Any:
        """(inputs with dropout, states)."""
        if self.dropout > 0:
            inputs = sym.Dropout(data=inputs, p=self.dropout)
        return inputs, states

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """Dropout of the whole sequence at once, where it is one symbol; see BaseRNNCell."""
        self.reset()
        inputs, _ = format_sequence(length, inputs, layout, merge_outputs)
        if isinstance(inputs, Symbol):
            made: tuple[Any, Any] = self(inputs, [])
            return made
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """The base of cells that change what another one does, and use its variables.

    The base cell is no longer to be called itself: CellError.
    """

    def __init__(self, base_cell: BaseRNNCell) -> None:
        self.base_cell = base_cell
        super().__init__()
        base_cell._modified = True

    def reset(self) -> None:
        """As BaseRNNCell; the base cell too."""
        super().reset()
        self.base_cell.reset()

    @contextmanager
    def _unmodified(self) -> Iterator[BaseRNNCell]:
        """The base cell in a `with` block in which it may be called as if it were free."""
        self.base_cell._modified = False
        try:
            yield self.base_cell
        finally:
            self.base_cell._modified = True

    @property
    def params(self) -> RNNParams:
        """The variables of the base cell."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[Any]:
        """Shape and layout of each state of the base cell."""
        return self.base_cell.state_info

    def begin_state(self, init_sym: Callable[..., Any] = sym.zeros,  # type: ignore[override]
                    **kwargs: Any) -> list[Any]:
        """The states of the base cell before the first step; see BaseRNNCell."""
        self._check_not_modified()
        with self._unmodified() as cell:
            name = "init_sym" if isinstance(cell, ModifierCell) else "func"
            return cell.begin_state(**{name: init_sym}, **kwargs)

    def unpack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` with the base cell's weights unpacked; see BaseRNNCell."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` with the base cell's weights packed; see BaseRNNCell."""
        return self.base_cell.pack_weights(args)

    def __call__(self, inputs: Any, states: Any) -> Any:
        """Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} can not be stepped")


class ZoneoutCell(ModifierCell):
    """Keeps units as they were before the step, at random, in training (Krueger et al. 2017).

    `zoneout_outputs` and `zoneout_states` are the shares of kept units. CellError for cells that
    can not be stepped: FusedRNNCell (`unfuse` it), BidirectionalCell and stacks of them (modify
    the cells in it).
    """

    def __init__(self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0,
                 zoneout_states: float = 0.0) -> None:
        if hasattr(base_cell, "unfuse"):
            raise CellError("FusedRNNCell doesn't support zoneout. Please unfuse first.")
        if any(isinstance(cell, BidirectionalCell) for cell in (base_cell, *base_cell._cells)):
            raise CellError("BidirectionalCell doesn't support zoneout since it doesn't support "
                            "step. Please add ZoneoutCell to the cells underneath instead.")
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states

    def reset(self) -> None:
        """As BaseRNNCell; the output before the next step is 0."""
        super().reset()
        self.prev_output: Any = None

    def __call__(self, inputs: Any, states: Any) -> Any:
        """(output, states) of one step; see BaseRNNCell."""
        output, after = self.base_cell(inputs, states)

        def mixed(share: float, new: Any, old: Any) -> Any:
            return sym.where(sym.Dropout(sym.ones_like(new), p=share), new, old)

        if self.zoneout_outputs != 0:
            before = sym.zeros_like(output) if self.prev_output is None else self.prev_output
            output = mixed(self.zoneout_outputs, output, before)
        if self.zoneout_states != 0:
            after = [mixed(self.zoneout_states, new, old)
                     for new, old in zip(after, states, strict=True)]
        self.prev_output = output
        return output, after


class ResidualCell(ModifierCell):
    """Adds the inputs to the outputs of the base cell (Wu et al. 2016, arXiv 1609.08144)."""

    def __init__(self, base_cell: BaseRNNCell) -> None:
        super().__init__(base_cell)

    def __call__(self, inputs: Any, states: Any) -> Any:
        """(output, states) of one step; see BaseRNNCell."""
        output, states = self.base_cell(inputs, states)
        return _with_residual(output, inputs), states

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """The graph of `length` steps of the base cell, the inputs added; see BaseRNNCell."""
        self.reset()
        with self._unmodified() as cell:
            outputs, states = cell.unroll(length, inputs=inputs, begin_state=begin_state,
                                          layout=layout, merge_outputs=merge_outputs)
        if merge_outputs is None:
            merge_outputs = isinstance(outputs, Symbol)
        inputs, _ = format_sequence(length, inputs, layout, merge_outputs)
        if merge_outputs:
            return _with_residual(outputs, inputs), states
        return [_with_residual(x, y) for x, y in zip(outputs, inputs, strict=True)], states


def _with_residual(output: Any, inputs: Any) -> Any:
    return sym.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
