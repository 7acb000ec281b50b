"""Cells of several cells: stacked, or one for each direction of time."""

# ruff: noqa: N803, N806 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ..errors import Mismatch
from ..parameter import ParameterDict, tensor_types
from .base_cell import HybridRecurrentCell, RecurrentCell
from .sequences import first_states, format_sequence, mask_behind_end, reverse_steps


class CompoundCell(RecurrentCell):
    """A cell whose states are those of its children, one child's behind the other's."""

    _children: Any

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state of each child."""
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The states before the first step, of all children."""
        self._check_not_modified()
        return [state for cell in self._children.values() for state in cell.begin_state(**kwargs)]


class StackedCell(CompoundCell):
    """What both stacks of cells have in common: each cell reads what the one before put out."""

    def __repr__(self) -> str:
        return self._repr_of(dict(self._children))

    def add(self, cell: Any) -> None:
        """Puts a cell on the stack."""
        self.register_child(cell)

    def __getitem__(self, i: int) -> Any:
        return self._children[str(i)]

    def __len__(self) -> int:
        return len(self._children)

    def __call__(self, inputs: Any, states: Any) -> Any:
        """One step through all cells: (output, states). Mismatch for a BidirectionalCell."""
        self._counter += 1
        after: list[Any] = []
        begin = 0
        for cell in self._children.values():
            if isinstance(cell, BidirectionalCell):
                raise Mismatch(f"{self.name}: a stack with a BidirectionalCell makes no single "
                               "steps, use unroll")
            end = begin + len(cell.state_info())
            inputs, made = cell(inputs, states[begin:end])
            after += made
            begin = end
        return inputs, after

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None,
               valid_length: Any = None) -> tuple[Any, list[Any]]:
        """Unrolls one cell after the other; see RecurrentCell."""
        self.reset()
        inputs, _, F, batch_size = format_sequence(length, inputs, layout, None)
        states = first_states(self, F, begin_state, inputs, batch_size)
        after: list[Any] = []
        begin, last = 0, len(self._children) - 1
        for i, cell in enumerate(self._children.values()):
            end = begin + len(cell.state_info())
            inputs, made = cell.unroll(length, inputs=inputs, begin_state=states[begin:end],
                                       layout=layout,
                                       merge_outputs=merge_outputs if i == last else None,
                                       valid_length=valid_length)
            after += made
            begin = end
        return inputs, after


class SequentialRNNCell(StackedCell):
    """A stack of cells, also of such as can not be hybridized; `add` appends one."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, *args: Any, **kwargs: Any) -> Any:
        """There is none: such a stack is no HybridBlock."""
        raise NotImplementedError("SequentialRNNCell can not be hybridized, use "
                                  "HybridSequentialRNNCell")


class HybridSequentialRNNCell(StackedCell, HybridRecurrentCell):
    """A stack of cells that can be hybridized; `add` appends one."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        return self(inputs, states)


class BidirectionalCell(CompoundCell, HybridRecurrentCell):
    """Two cells over a sequence, one from its end; outputs of both stand beside each other.

    Parameters
    ----------
    l_cell, r_cell : RecurrentCell
        For the way forward and the way back.
    output_prefix : str
        Before the names of outputs.

    It makes no single steps: only `unroll`.
    """

    def __init__(self, l_cell: Any, r_cell: Any, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Any, states: Any) -> Any:
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(forward={self._children['l_cell']}, "
                f"backward={self._children['r_cell']})")

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None,
               valid_length: Any = None) -> tuple[Any, list[Any]]:
        """Unrolls both cells; see RecurrentCell. The way back begins at each sample's end."""
        self.reset()
        steps, axis, F, batch_size = format_sequence(length, inputs, layout, False)
        states = first_states(self, F, begin_state, steps, batch_size)
        l_cell, r_cell = self._children.values()
        middle = len(l_cell.state_info(batch_size))
        forth, l_states = l_cell.unroll(length, inputs=steps, begin_state=states[:middle],
                                        layout=layout, merge_outputs=merge_outputs,
                                        valid_length=valid_length)
        turned, r_states = r_cell.unroll(length, inputs=reverse_steps(steps, valid_length),
                                         begin_state=states[middle:], layout=layout,
                                         merge_outputs=False, valid_length=valid_length)
        back: Any = reverse_steps(turned, valid_length)
        if merge_outputs is None:
            merge_outputs = isinstance(forth, tensor_types)
        if merge_outputs:
            outputs = F.concat(forth, F.stack(*back, axis=axis), dim=2,
                               name=f"{self._output_prefix}out")
        else:
            outputs = [F.concat(one, other, dim=1, name=f"{self._output_prefix}t{i}")
                       for i, (one, other) in enumerate(zip(forth, back, strict=True))]
        if valid_length is not None:
            outputs = mask_behind_end(F, outputs, length, valid_length, axis, merge_outputs)
        return outputs, l_states + r_states
