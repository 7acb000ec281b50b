"""Cells with weights: RNNCell, LSTMCell, GRUCell; and what they share with convolutional ones."""

from __future__ import annotations

from typing import Any

from .. import sym
from ..initializer import LSTMBias
from .base_cell import BaseRNNCell, RNNParams, gate_parts


def lstm_step(cell: BaseRNNCell, total: Any, memory: Any, name: str, activation: Any,
              axis: int | None = None) -> tuple[Any, list[Any]]:
    """(output, states) of an LSTM from what its gates add up to."""
    parts = gate_parts(cell, total, f"{name}slice", axis)
    gates = [cell._get_activation(part, activation if gate == "c" else "sigmoid",
                                  name=f"{name}{gate}")
             for gate, part in zip("ifco", parts, strict=True)]
    after = sym.elemwise_add(gates[1] * memory, gates[0] * gates[2], name=f"{name}state")
    output = sym.elemwise_mul(gates[3], cell._get_activation(after, activation),
                              name=f"{name}out")
    return output, [output, after]


def gru_step(cell: BaseRNNCell, i2h: Any, h2h: Any, before: Any, name: str, activation: Any,
             axis: int | None = None) -> tuple[Any, list[Any]]:
    """(output, states) of a GRU from both products of its gates."""
    from_input = gate_parts(cell, i2h, f"{name}_i2h_slice", axis)
    from_state = gate_parts(cell, h2h, f"{name}_h2h_slice", axis)
    reset, update = (
        sym.Activation(from_input[i] + from_state[i], act_type="sigmoid", name=f"{name}_{gate}_act")
        for i, gate in enumerate("rz"))
    candidate = cell._get_activation(from_input[2] + reset * from_state[2], activation,
                                     name=f"{name}_h_act")
    output = sym.elemwise_add((1.0 - update) * candidate, update * before, name=f"{name}out")
    return output, [output]


class _DenseCell(BaseRNNCell):
    """Two matrices and two biases, for the gates of each unit."""

    _state_count = 1

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None,
                 bias_init: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        self._iW = self._params.get("i2h_weight")
        self._hW = self._params.get("h2h_weight")
        self._iB = self._params.get("i2h_bias", init=bias_init)
        self._hB = self._params.get("h2h_bias")

    @property
    def state_info(self) -> list[Any]:
        """(batch_size, num_hidden) for each state."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}
                for _ in range(self._state_count)]

    def _project(self, inputs: Any, state: Any, name: str) -> list[Any]:
        """The products of both matrices, with their biases."""
        return [sym.FullyConnected(data=data, weight=weight, bias=bias, name=name + kind,
                                   num_hidden=self._num_hidden * len(self._gate_names))
                for data, weight, bias, kind in ((inputs, self._iW, self._iB, "i2h"),
                                                 (state, self._hW, self._hB, "h2h"))]


class RNNCell(_DenseCell):
    """h' = activation(W_ih x + b_ih + W_hh h + b_hh) (Elman 1990); one state h.

    Parameters
    ----------
    num_hidden : int
        Size of the output and the state.
    activation : str or function
        'tanh', 'relu' or any that `Activation` knows; or what builds it from a symbol.
    prefix, params
        As of `BaseRNNCell`.
    """

    _gate_names = ("",)

    def __init__(self, num_hidden: int, activation: Any = "tanh", prefix: str = "rnn_",
                 params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    def __call__(self, inputs: Any, states: Any) -> Any:
        """(output, states) of one step; see BaseRNNCell."""
        name = self._next_name()
        i2h, h2h = self._project(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(_DenseCell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997); states h and c.

    Parameters
    ----------
    num_hidden : int
        Size of the output and of each state.
    prefix, params
        As of `BaseRNNCell`.
    forget_bias : float
        The first bias of the forget gate (Jozefowicz et al. 2015).

    Gates stand in the order input, forget, cell, output.
    """

    _gate_names = ("_i", "_f", "_c", "_o")
    _state_count = 2

    def __init__(self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None,
                 forget_bias: float = 1.0) -> None:
        super().__init__(num_hidden, prefix, params, LSTMBias(forget_bias=forget_bias))

    def __call__(self, inputs: Any, states: Any) -> Any:
        """(output, states) of one step; see BaseRNNCell."""
        name = self._next_name()
        i2h, h2h = self._project(inputs, states[0], name)
        return lstm_step(self, i2h + h2h, states[1], name, "tanh")


class GRUCell(_DenseCell):
    """Gated recurrent unit (Cho et al. 2014), its reset gate behind the matrix product; one state.

    Parameters as RNNCell's, without activation. Gates stand in the order reset, update, new.
    """

    _gate_names = ("_r", "_z", "_o")

    def __init__(self, num_hidden: int, prefix: str = "gru_",
                 params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)

    def __call__(self, inputs: Any, states: Any) -> Any:
        """(output, states) of one step; see BaseRNNCell."""
        name = self._next_name()
        # with an underscore more, as graphs of MXNet have it
        i2h, h2h = self._project(inputs, states[0], f"{name}_")
        return gru_step(self, i2h, h2h, states[0], name, "tanh")
