"""FusedRNNCell: all layers and steps in one operator, and their cells apart."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

from .. import nd, sym
from ..errors import ShapeError
from ..initializer import FusedRNN
from .base_cell import Arrays, BaseRNNCell, RNNParams, taken
from .basic_cells import GRUCell, LSTMCell, RNNCell
from .errors import CellError
from .modifier_cells import DropoutCell
from .sequences import format_sequence
from .stacked_cells import BidirectionalCell, SequentialRNNCell

_GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"),
          "gru": ("_r", "_z", "_o")}


class FusedRNNCell(BaseRNNCell):
    """Layers of cells whose sequences one operator `RNN` computes; it can not be stepped.

    Parameters
    ----------
    num_hidden : int
        Size of the output of a direction.
    num_layers : int
    mode : str
        'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
    bidirectional : bool
        Outputs of both directions stand one behind the other.
    dropout : float
        The share of the inputs of layers behind the first that is dropped in training.
    get_next_state : bool
        Whether `unroll` gives states.
    forget_bias : float
        The first bias of an LSTM's forget gates.
    prefix : str
        Before all names; None: the mode and an underscore.
    params : RNNParams
        Variables of another cell, to be shared.
    """

    def __init__(self, num_hidden: int, num_layers: int = 1, mode: str = "lstm",
                 bidirectional: bool = False, dropout: float = 0.0, get_next_state: bool = False,
                 forget_bias: float = 1.0, prefix: str | None = None,
                 params: RNNParams | None = None) -> None:
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        # it also knows the parts of the vector of parameters
        self._initializer = FusedRNN(None, num_hidden, num_layers, mode, bidirectional,
                                     forget_bias)
        self._gate_names = _GATES[mode]
        self._parameter: Any = self._params.get("parameters", init=self._initializer)

    @property
    def state_info(self) -> list[Any]:
        """(layers and directions, batch_size, num_hidden) for each state."""
        shape = (self._num_layers * (2 if self._bidirectional else 1), 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"}
                for _ in range(2 if self._mode == "lstm" else 1)]

    def unpack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` with the arrays of the cells that `unfuse` makes, gate by gate.

        NameMismatch where the vector of parameters is missing, MXNetError where its size is wrong.
        """
        args = args.copy()
        packed, at = taken(args, self._parameter.name), 0
        for name, shape in self._initializer.parts(self._initializer.num_input(packed.size)):
            args[self._prefix + name] = packed[at:at + prod(shape)].reshape(shape).copy()
            at += prod(shape)
        return args

    def pack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` with one vector of all parameters: `unpack_weights`, undone.

        NameMismatch where an array is missing, ShapeError where it has another shape.
        """
        args = args.copy()
        first = f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"
        num_input = taken(args.copy(), first).shape[1]
        parts = []
        for name, shape in self._initializer.parts(num_input):
            part = taken(args, self._prefix + name)
            if part.shape != shape:
                raise ShapeError(f"pack_weights: {self._prefix}{name} has shape {part.shape}, "
                                 f"expected {shape}")
            parts.append(part.reshape((-1,)))
        args[self._parameter.name] = nd.concatenate(parts)
        return args

    def __call__(self, inputs: Any, states: Any) -> Any:
        """Raises NotImplementedError: `unroll` it, or step the cells of `unfuse`."""
        raise NotImplementedError("FusedRNNCell cannot be stepped. Please use unroll")

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """The graph of `length` steps: (outputs, states), no states without `get_next_state`.

        See BaseRNNCell.
        """
        self.reset()
        inputs, axis = format_sequence(length, inputs, layout, True)
        if axis not in (0, 1):
            raise CellError(f"FusedRNNCell.unroll: Unsupported layout {layout}")
        if axis == 1:
            warnings.warn("NTC layout detected. Consider using TNC for FusedRNNCell for faster "
                          "speed", stacklevel=2)
            inputs = sym.swapaxes(inputs, dim1=0, dim2=1)
        states = self.begin_state() if begin_state is None else begin_state
        names = ("state", "state_cell") if self._mode == "lstm" else ("state",)
        made = sym.RNN(data=inputs, parameters=self._parameter, state_size=self._num_hidden,
                       num_layers=self._num_layers, bidirectional=self._bidirectional,
                       p=self._dropout, state_outputs=self._get_next_state, mode=self._mode,
                       name=f"{self._prefix}rnn", **dict(zip(names, states, strict=False)))
        outputs, after = made, []
        if self._get_next_state:
            outputs, after = made[0], [made[i + 1] for i in range(len(names))]
            for state in after:
                state._set_attr(__layout__="LNC")
        if axis == 1:
            outputs = sym.swapaxes(outputs, dim1=0, dim2=1)
        return format_sequence(length, outputs, layout, merge_outputs)[0], after

    def unfuse(self) -> SequentialRNNCell:
        """The layers as cells that can be stepped, with the names that `unpack_weights` gives."""
        stack = SequentialRNNCell()
        for i in range(self._num_layers):
            left = self._cell(f"{self._prefix}l{i}_")
            if self._bidirectional:
                right = self._cell(f"{self._prefix}r{i}_")
                stack.add(BidirectionalCell(left, right,
                                            output_prefix=f"{self._prefix}bi_l{i}_"))
            else:
                stack.add(left)
            if self._dropout > 0 and i != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{i}_"))
        return stack

    def _cell(self, prefix: str) -> BaseRNNCell:
        if self._mode == "lstm":
            return LSTMCell(self._num_hidden, prefix=prefix)
        if self._mode == "gru":
            return GRUCell(self._num_hidden, prefix=prefix)
        return RNNCell(self._num_hidden, activation=self._mode.removeprefix("rnn_"), prefix=prefix)
