"""RecurrentCell: a block that makes one step of a sequence, and unrolls itself over many."""

# ruff: noqa: N803, N806 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ... import nd
from ..block import Block, HybridBlock
from ..errors import Mismatch
from ..nn import LeakyReLU
from ..parameter import ParameterDict
from .sequences import first_states, format_sequence, mask_behind_end

PLAIN_ACTIVATIONS = ("tanh", "relu", "sigmoid", "softsign")


class RecurrentCell(Block):
    """The base of cells: `output, states = cell(inputs, states)` is one step.

    Parameters
    ----------
    prefix : str
        Before the names of its parameters; None: its class and a number.
    params : ParameterDict
        Those of another cell, to be shared.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Names and counts begin anew, as for another sequence; children too."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state."""
        raise NotImplementedError(f"{type(self).__name__} has no state_info")

    def _check_not_modified(self) -> None:
        if self._modified:
            raise Mismatch("After applying modifier cells (e.g. ZoneoutCell) the base cell cannot "
                           "be called directly. Call the modifier cell instead.")

    def begin_state(self, batch_size: int = 0, func: Any = nd.zeros, **kwargs: Any) -> list[Any]:
        """The states before the first step, each made by `func(name=, shape=, **kwargs)`.

        `batch_size` 0 is for symbols, where it follows from the data. Mismatch for a cell that a
        modifier cell has taken.
        """
        self._check_not_modified()
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}",
                               **{**info, **kwargs}))
        return states

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None,
               valid_length: Any = None) -> tuple[Any, list[Any]]:
        """Runs the cell over `length` steps; gives (outputs, states behind the last step).

        Parameters
        ----------
        length : int
            Number of steps.
        inputs : NDArray, Symbol or list of them
            One with the axes of `layout`, or one of shape (batch_size, ...) for each step.
        begin_state : list
            The states before the first step; None: zeros.
        layout : str
            'NTC' or 'TNC': order of the axes of batch, time and features.
        merge_outputs : bool
            True: outputs are one array with the axes of `layout`; False: a list of steps; None:
            what is faster.
        valid_length : NDArray or Symbol
            (batch_size,), the steps of each sample. Behind them outputs are 0, and states are
            those of the last valid step. None: all have `length` steps.
        """
        self.reset()
        steps, axis, F, batch_size = format_sequence(length, inputs, layout, False)
        states = first_states(self, F, begin_state, steps, batch_size)
        outputs: Any = []
        history = []
        for step in steps[:length]:
            output, states = self(step, states)
            outputs.append(output)
            history.append(states)
        if valid_length is not None:
            states = [F.SequenceLast(F.stack(*state, axis=0), sequence_length=valid_length,
                                     use_sequence_length=True, axis=0)
                      for state in zip(*history, strict=True)]
            outputs = mask_behind_end(F, outputs, length, valid_length, axis, True)
        return format_sequence(length, outputs, layout, merge_outputs)[0], states

    def _get_activation(self, F: Any, inputs: Any, activation: Any, **kwargs: Any) -> Any:
        """An activation by its name, or by a block or function that computes it."""
        if activation in PLAIN_ACTIVATIONS:
            return getattr(F, activation)(inputs, **kwargs)
        if isinstance(activation, str):
            return F.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, LeakyReLU):
            return F.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        return activation(inputs, **kwargs)

    def forward(self, inputs: Any, states: Any) -> Any:
        """One step: (output, states) from inputs of shape (batch_size, ...) and states."""
        self._counter += 1
        return super().forward(inputs, states)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """The base of cells that can run as one graph, by `hybrid_forward(F, inputs, states, ...)`."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """What one step computes, by operators of F; subclasses override it."""
        raise NotImplementedError(f"{type(self).__name__} has no hybrid_forward")
