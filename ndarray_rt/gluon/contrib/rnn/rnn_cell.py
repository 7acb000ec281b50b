"""Variational dropout, an LSTM with a projection, and unrolling by a loop inside of the graph."""

# ruff: noqa: N803, N806 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ....public import shows
from ...errors import Mismatch
from ...parameter import Parameter, ParameterDict, tensor_types
from ...rnn.base_cell import HybridRecurrentCell
from ...rnn.modifier_cells import ModifierCell
from ...rnn.sequences import first_states, format_sequence, mask_behind_end
from ...rnn.stacked_cells import BidirectionalCell

__all__ = ["LSTMPCell", "VariationalDropoutCell", "dynamic_unroll"]
__dir__ = shows(globals())


class VariationalDropoutCell(ModifierCell):
    """Dropout with the same mask at every step (Gal and Ghahramani 2016, arXiv 1512.05287).

    Parameters
    ----------
    base_cell : RecurrentCell
    drop_inputs, drop_states, drop_outputs : float
        The shares dropped from inputs, from the first state and from outputs; 0: no dropout.

    Masks hold until `reset()`, which `unroll` calls. Mismatch for `drop_states` and a
    BidirectionalCell: modify the cells in it.
    """

    def __init__(self, base_cell: Any, drop_inputs: float = 0.0, drop_states: float = 0.0,
                 drop_outputs: float = 0.0) -> None:
        if drop_states and isinstance(base_cell, BidirectionalCell):
            raise Mismatch("BidirectionalCell doesn't support variational state dropout. Please "
                           "add VariationalDropoutCell to the cells underneath instead.")
        super().__init__(base_cell)
        self.drop_inputs = drop_inputs
        self.drop_states = drop_states
        self.drop_outputs = drop_outputs

    def _alias(self) -> str:
        return "vardrop"

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(p_out = {self.drop_outputs}, "
                f"p_state = {self.drop_states})")

    def reset(self) -> None:
        """As RecurrentCell; the next step draws new masks."""
        super().reset()
        self.drop_inputs_mask: Any = None
        self.drop_states_mask: Any = None
        self.drop_outputs_mask: Any = None

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        if self.drop_states:
            if self.drop_states_mask is None:
                self.drop_states_mask = F.Dropout(F.ones_like(states[0]), p=self.drop_states)
            states = [states[0] * self.drop_states_mask, *states[1:]]
        if self.drop_inputs:
            if self.drop_inputs_mask is None:
                self.drop_inputs_mask = F.Dropout(F.ones_like(inputs), p=self.drop_inputs)
            inputs = inputs * self.drop_inputs_mask
        output, after = self.base_cell(inputs, states)
        if self.drop_outputs:
            if self.drop_outputs_mask is None:
                self.drop_outputs_mask = F.Dropout(F.ones_like(output), p=self.drop_outputs)
            output = output * self.drop_outputs_mask
        return output, after

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None,
               valid_length: Any = None) -> tuple[Any, list[Any]]:
        """Drops from the whole sequence at once unless states are dropped; see RecurrentCell."""
        if self.drop_states:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs,
                                  valid_length=valid_length)
        self.reset()
        inputs, axis, F, batch_size = format_sequence(length, inputs, layout, True)
        states = first_states(self, F, begin_state, inputs, batch_size)
        if self.drop_inputs:
            inputs = F.Dropout(inputs, p=self.drop_inputs, axes=(axis,))
        outputs, states = self.base_cell.unroll(length, inputs, states, layout,
                                                merge_outputs=True, valid_length=valid_length)
        if self.drop_outputs:
            outputs = F.Dropout(outputs, p=self.drop_outputs, axes=(axis,))
        if merge_outputs is None:
            merge_outputs = isinstance(outputs, tensor_types)
        outputs = format_sequence(length, outputs, layout, merge_outputs)[0]
        if valid_length is not None:
            outputs = mask_behind_end(F, outputs, length, valid_length, axis, merge_outputs)
        return outputs, states


class LSTMPCell(HybridRecurrentCell):
    """An LSTM whose hidden state is projected (Sak et al. 2014, arXiv 1402.1128).

    Parameters
    ----------
    hidden_size, projection_size : int
        Sizes of the cell and of the output; states are (batch_size, projection_size) and
        (batch_size, hidden_size).
    i2h_weight_initializer, h2h_weight_initializer : Initializer or its name
    h2r_weight_initializer : Initializer or its name
        Of the projection.
    i2h_bias_initializer, h2h_bias_initializer : Initializer or its name
    input_size : int
        0: it follows from the first batch.
    prefix, params
        As of `Block`.
    """

    i2h_weight: Parameter
    h2r_weight: Parameter

    def __init__(self, hidden_size: int, projection_size: int, i2h_weight_initializer: Any = None,
                 h2h_weight_initializer: Any = None, h2r_weight_initializer: Any = None,
                 i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
                 input_size: int = 0, prefix: str | None = None,
                 params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        self._projection_size = projection_size
        size = 4 * hidden_size
        for name, shape, init in (
                ("i2h_weight", (size, input_size), i2h_weight_initializer),
                ("h2h_weight", (size, projection_size), h2h_weight_initializer),
                ("h2r_weight", (projection_size, hidden_size), h2r_weight_initializer),
                ("i2h_bias", (size,), i2h_bias_initializer),
                ("h2h_bias", (size,), h2h_bias_initializer)):
            setattr(self, name, self.params.get(name, shape=shape, init=init,
                                                allow_deferred_init=True))

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the projected hidden state and of the cell."""
        return [{"shape": (batch_size, size), "__layout__": "NC"}
                for size in (self._projection_size, self._hidden_size)]

    def _alias(self) -> str:
        return "lstmp"

    def __repr__(self) -> str:
        outputs, inputs = self.i2h_weight.shape
        return (f"{type(self).__name__}({inputs or None} -> {outputs} -> "
                f"{self.h2r_weight.shape[0]})")

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any,
                       h2r_weight: Any, i2h_bias: Any, h2h_bias: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = (F.FullyConnected(data=data, weight=weight, bias=bias,
                                     num_hidden=4 * self._hidden_size, name=prefix + name)
                    for data, weight, bias, name in ((inputs, i2h_weight, i2h_bias, "i2h"),
                                                     (states[0], h2h_weight, h2h_bias, "h2h")))
        parts = F.SliceChannel(i2h + h2h, num_outputs=4, name=f"{prefix}slice")
        gates = [F.Activation(parts[i], act_type="tanh" if name == "c" else "sigmoid",
                              name=prefix + name) for i, name in enumerate("ifco")]
        cell = F.elemwise_add(gates[1] * states[1], gates[0] * gates[2], name=f"{prefix}state")
        hidden = F.elemwise_mul(gates[3], F.Activation(cell, act_type="tanh"),
                                name=f"{prefix}hidden")
        projected = F.FullyConnected(data=hidden, num_hidden=self._projection_size,
                                     weight=h2r_weight, no_bias=True, name=f"{prefix}out")
        return projected, [projected, cell]


def dynamic_unroll(cell: Any, inputs: Any, begin_state: Any, drop_inputs: float = 0,
                   drop_outputs: float = 0, layout: str = "TNC",
                   valid_length: Any = None) -> tuple[Any, Any]:
    """Unrolls a cell by `contrib.foreach`: the graph has one step, whatever the length.

    Parameters
    ----------
    cell : RecurrentCell
    inputs : NDArray or Symbol
        A sequence with the axes of `layout`; 'TNC' needs no transposition.
    begin_state : list
        The states before the first step.
    drop_inputs, drop_outputs : float
        The shares dropped from inputs and outputs, the same at every step.
    layout : str
        'NTC' or 'TNC'.
    valid_length : NDArray or Symbol
        (batch_size,), the steps of each sample: outputs behind them are 0, states those of the
        last one.

    Gives (outputs with the axes of `layout`, states). Source: operator _foreach.
    """
    inputs, axis, F, _ = format_sequence(None, inputs, layout, True)
    if axis:
        inputs = F.swapaxes(inputs, dim1=0, dim2=axis)
    # behind the exchange of axes time is the first one
    if drop_inputs:
        inputs = F.Dropout(inputs, p=drop_inputs, axes=(0,))
    if valid_length is None:
        outputs, states = F.contrib.foreach(cell, inputs, begin_state)
    else:
        def step(x: Any, states: Any) -> Any:
            *before, count = states
            output, after = cell(x, before)
            is_valid = F.broadcast_greater(valid_length, count)
            kept = [F.where(is_valid, new, old) for new, old in zip(after, before, strict=True)]
            return output, [*kept, count + 1]

        outputs, states = F.contrib.foreach(step, inputs, [*begin_state, F.zeros((1,))])
        states = states[:-1]
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(0,))
    if axis:
        outputs = F.swapaxes(outputs, dim1=0, dim2=axis)
    if valid_length is not None:
        outputs = mask_behind_end(F, outputs, 0, valid_length, axis, True)
    return outputs, states
