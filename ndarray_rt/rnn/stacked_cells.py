"""Cells of cells: one after the other, and both directions."""

from __future__ import annotations

from typing import Any

from .. import sym
from ..symbol.symbol import Symbol
from .base_cell import Arrays, BaseRNNCell, RNNParams
from .errors import CellError
from .sequences import format_sequence, split_steps


class _CellOfCells(BaseRNNCell):
    """What cells of cells have in common: states and weights of all of them in order."""

    def __init__(self, params: RNNParams | None) -> None:
        super().__init__(prefix="", params=params)
        self._override_cell_params = params is not None
        self._cells: list[BaseRNNCell] = []

    def _share(self, cell: BaseRNNCell) -> None:
        """The cell's variables become this one's, and the other way round."""
        if self._override_cell_params:
            if not cell._own_params:
                raise CellError(f"Either specify params for {type(self).__name__} or child cells, "
                                "not both.")
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)

    @property
    def state_info(self) -> list[Any]:
        """Shape and layout of the states of all cells."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The states of all cells before the first step; see BaseRNNCell."""
        self._check_not_modified()
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` with the weights of all cells unpacked; see BaseRNNCell."""
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return args

    def pack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` with the weights of all cells packed; see BaseRNNCell."""
        for cell in self._cells:
            args = cell.pack_weights(args)
        return args

    def _states_of_each(self, states: Any) -> list[Any]:
        """The part of the states that each cell has."""
        parts, at = [], 0
        for cell in self._cells:
            count = len(cell.state_info)
            parts.append(states[at:at + count])
            at += count
        return parts


class SequentialRNNCell(_CellOfCells):
    """Cells one after the other: the output of one is the input of the next.

    `params` are variables for all cells that are added; a cell that has its own then: CellError.
    """

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)

    def add(self, cell: BaseRNNCell) -> None:
        """Puts a cell behind the last one."""
        self._cells.append(cell)
        self._share(cell)

    def __call__(self, inputs: Any, states: Any) -> Any:
        """(output, states) of one step of all cells; CellError where one can not be stepped."""
        self._counter += 1
        after = []
        for cell, own in zip(self._cells, self._states_of_each(states), strict=True):
            if isinstance(cell, BidirectionalCell):
                raise CellError("SequentialRNNCell: a BidirectionalCell can not be stepped. Please "
                                "use unroll")
            inputs, own = cell(inputs, own)
            after.extend(own)
        return inputs, after

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """The graph of `length` steps, cell by cell; see BaseRNNCell."""
        self.reset()
        states = self.begin_state() if begin_state is None else begin_state
        after = []
        for i, own in enumerate(self._states_of_each(states)):
            merge = merge_outputs if i == len(self._cells) - 1 else None
            inputs, own = self._cells[i].unroll(length, inputs=inputs, begin_state=own,
                                                layout=layout, merge_outputs=merge)
            after.extend(own)
        return inputs, after


class BidirectionalCell(_CellOfCells):
    """One cell over a sequence and one over the reversed sequence, outputs put together.

    Parameters
    ----------
    l_cell, r_cell : BaseRNNCell
        For the sequence, and for the reversed one.
    params : RNNParams
        Variables for both; cells that have their own then: CellError.
    output_prefix : str
        Before the names of outputs.
    """

    def __init__(self, l_cell: BaseRNNCell, r_cell: BaseRNNCell, params: RNNParams | None = None,
                 output_prefix: str = "bi_") -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._cells = [l_cell, r_cell]
        for cell in self._cells:
            self._share(cell)

    def __call__(self, inputs: Any, states: Any) -> Any:
        """Raises NotImplementedError: it needs the whole sequence."""
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """The graph of `length` steps in both directions; states are a list of both cells' lists.

        See BaseRNNCell.
        """
        self.reset()
        steps, axis = format_sequence(length, inputs, layout, False)
        begin = self.begin_state() if begin_state is None else begin_state
        outputs: list[Any] = []
        states = []
        for cell, own, sequence in zip(self._cells, self._states_of_each(begin),
                                       (steps, list(reversed(steps))), strict=True):
            made, after = cell.unroll(length, inputs=sequence, begin_state=own, layout=layout,
                                      merge_outputs=merge_outputs)
            outputs.append(made)
            states.append(after)
        if merge_outputs is None:
            merge_outputs = all(isinstance(made, Symbol) for made in outputs)
            if not merge_outputs:
                outputs = [split_steps(made, axis, length) if isinstance(made, Symbol) else made
                           for made in outputs]
        left, right = outputs
        if merge_outputs:
            joined: Any = sym.Concat(left, sym.reverse(right, axis=axis), dim=2,
                                     name=f"{self._output_prefix}out")
        else:
            joined = [sym.Concat(one, other, dim=1, name=f"{self._output_prefix}t{i}")
                      for i, (one, other) in enumerate(zip(left, reversed(right), strict=True))]
        return joined, states
