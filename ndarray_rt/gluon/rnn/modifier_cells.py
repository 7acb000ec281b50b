"""Cells without weights: dropout, and modifiers of another cell."""

# ruff: noqa: N803, N806 - F is what all blocks call the module of operators
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ... import sym
from ...base import numeric_types
from ..errors import Mismatch
from ..parameter import ParameterDict, tensor_types
from .base_cell import HybridRecurrentCell
from .sequences import format_sequence, mask_behind_end
from .stacked_cells import BidirectionalCell


class DropoutCell(HybridRecurrentCell):
    """Dropout of the inputs; it has no states.

    Parameters
    ----------
    rate : float
        The share that is dropped; Mismatch for what is no number.
    axes : tuple of ints
        Axes along which one mask holds.
    prefix, params
        As of `Block`.
    """

    def __init__(self, rate: float, axes: Any = (), prefix: str | None = None,
                 params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        if not isinstance(rate, numeric_types):
            raise Mismatch(f"DropoutCell: rate must be a number, got {rate!r}")
        self._rate = rate
        self._axes = axes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """It has none."""
        return []

    def _alias(self) -> str:
        return "dropout"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        if self._rate > 0:
            inputs = F.Dropout(data=inputs, p=self._rate, axes=self._axes,
                               name=f"t{self._counter}_fwd")
        return inputs, states

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None,
               valid_length: Any = None) -> tuple[Any, list[Any]]:
        """Dropout of the whole sequence at once, where it is one array; see RecurrentCell."""
        self.reset()
        inputs, _, F, _ = format_sequence(length, inputs, layout, merge_outputs)
        if isinstance(inputs, tensor_types):
            made: tuple[Any, list[Any]] = self.hybrid_forward(F, inputs, begin_state or [])
            return made
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


@contextmanager
def unmodified(cell: Any) -> Iterator[None]:
    """The `with` block in which a modifier cell may call its base cell as if it were free."""
    cell._modified = False
    try:
        yield
    finally:
        cell._modified = True


class ModifierCell(HybridRecurrentCell):
    """The base of cells that change what another one does, and use its parameters.

    The base cell is no longer to be called itself: Mismatch. A cell is modified once: Mismatch.
    """

    def __init__(self, base_cell: Any) -> None:
        if base_cell._modified:
            raise Mismatch(f"Cell {base_cell.name} is already modified. One cell cannot be "
                           "modified twice")
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> ParameterDict:
        """Those of the base cell."""
        params: ParameterDict = self.base_cell.params
        return params

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state of the base cell."""
        info: list[dict[str, Any]] = self.base_cell.state_info(batch_size)
        return info

    def begin_state(self, func: Any = sym.zeros, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The states of the base cell before the first step; see RecurrentCell."""
        self._check_not_modified()
        with unmodified(self.base_cell):
            states: list[Any] = self.base_cell.begin_state(func=func, **kwargs)
        return states

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no hybrid_forward")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """Keeps units as they were before the step, at random (Krueger et al. 2017).

    `zoneout_outputs` and `zoneout_states` are the shares of kept units. Mismatch for a
    BidirectionalCell: modify the cells in it.
    """

    def __init__(self, base_cell: Any, zoneout_outputs: float = 0.0,
                 zoneout_states: float = 0.0) -> None:
        if isinstance(base_cell, BidirectionalCell):
            raise Mismatch("BidirectionalCell doesn't support zoneout since it doesn't support "
                           "step. Please add ZoneoutCell to the cells underneath instead.")
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self._prev_output: Any = None

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(p_out={self.zoneout_outputs}, "
                f"p_state={self.zoneout_states}, {self.base_cell})")

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        """As RecurrentCell; the output before the next step is 0."""
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        made, after = self.base_cell(inputs, states)

        def mixed(share: float, new: Any, old: Any) -> Any:
            return F.where(F.Dropout(F.ones_like(new), p=share), new, old)

        output = made
        if self.zoneout_outputs != 0:
            before = F.zeros_like(made) if self._prev_output is None else self._prev_output
            output = mixed(self.zoneout_outputs, made, before)
        if self.zoneout_states != 0:
            after = [mixed(self.zoneout_states, new, old)
                     for new, old in zip(after, states, strict=True)]
        self._prev_output = output
        return output, after


class ResidualCell(ModifierCell):
    """Adds the inputs to the outputs of the base cell (Wu et al. 2016, arXiv 1609.08144)."""

    def __init__(self, base_cell: Any) -> None:
        super().__init__(base_cell)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None,
               valid_length: Any = None) -> tuple[Any, list[Any]]:
        """Unrolls the base cell and adds the inputs, 0 behind the end; see RecurrentCell."""
        self.reset()
        with unmodified(self.base_cell):
            outputs, states = self.base_cell.unroll(
                length, inputs=inputs, begin_state=begin_state, layout=layout,
                merge_outputs=merge_outputs, valid_length=valid_length)
        if merge_outputs is None:
            merge_outputs = isinstance(outputs, tensor_types)
        inputs, axis, F, _ = format_sequence(length, inputs, layout, merge_outputs)
        if valid_length is not None:
            inputs = mask_behind_end(F, inputs, length, valid_length, axis, merge_outputs)
        if merge_outputs:
            return F.elemwise_add(outputs, inputs), states
        return [F.elemwise_add(x, y) for x, y in zip(outputs, inputs, strict=True)], states
