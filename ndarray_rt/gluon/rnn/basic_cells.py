"""Cells with weights: RNNCell, LSTMCell, GRUCell."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ..parameter import Parameter, ParameterDict
from .base_cell import HybridRecurrentCell


class GatedCell(HybridRecurrentCell):
    """What they have in common: two matrices and two biases, for `gates` gates of each unit."""

    i2h_weight: Parameter
    h2h_weight: Parameter
    gates: int
    state_count = 1

    def __init__(self, hidden_size: int, i2h_weight_initializer: Any, h2h_weight_initializer: Any,
                 i2h_bias_initializer: Any, h2h_bias_initializer: Any, input_size: int,
                 prefix: str | None, params: ParameterDict | None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        size = self.gates * hidden_size
        for name, shape, init in (("i2h_weight", (size, input_size), i2h_weight_initializer),
                                  ("h2h_weight", (size, hidden_size), h2h_weight_initializer),
                                  ("i2h_bias", (size,), i2h_bias_initializer),
                                  ("h2h_bias", (size,), h2h_bias_initializer)):
            setattr(self, name, self.params.get(name, shape=shape, init=init,
                                                allow_deferred_init=True))

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """(batch_size, hidden_size) for each state."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}
                for _ in range(self.state_count)]

    def _alias(self) -> str:
        return type(self).__name__.removesuffix("Cell").lower()

    def __repr__(self) -> str:
        outputs, inputs = self.i2h_weight.shape
        return f"{type(self).__name__}({inputs or None} -> {outputs}{self._shown_settings()})"

    def _shown_settings(self) -> str:
        return ""

    def _project(self, F: Any, inputs: Any, state: Any, weights: tuple[Any, Any],
                 biases: tuple[Any, Any], prefix: str) -> list[Any]:
        """The products of both matrices, with their biases."""
        return [F.FullyConnected(data=data, weight=weight, bias=bias,
                                 num_hidden=self._hidden_size * self.gates, name=prefix + name)
                for data, weight, bias, name in zip((inputs, state), weights, biases,
                                                    ("i2h", "h2h"), strict=True)]


class RNNCell(GatedCell):
    """h' = activation(W_ih x + b_ih + W_hh h + b_hh) (Elman 1990); one state h.

    Parameters
    ----------
    hidden_size : int
        Size of the output and the state.
    activation : str or block
        'tanh', 'relu' or any that `Activation` knows.
    i2h_weight_initializer, h2h_weight_initializer : Initializer or its name
    i2h_bias_initializer, h2h_bias_initializer : Initializer or its name
    input_size : int
        0: it follows from the first batch.
    prefix, params
        As of `Block`.
    """

    gates = 1

    def __init__(self, hidden_size: int, activation: Any = "tanh",
                 i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
                 i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
                 input_size: int = 0, prefix: str | None = None,
                 params: ParameterDict | None = None) -> None:
        super().__init__(hidden_size, i2h_weight_initializer, h2h_weight_initializer,
                         i2h_bias_initializer, h2h_bias_initializer, input_size, prefix, params)
        self._activation = activation

    def _shown_settings(self) -> str:
        return f", {self._activation}"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, i2h_weight: Any,
                       h2h_weight: Any, i2h_bias: Any, h2h_bias: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = self._project(F, inputs, states[0], (i2h_weight, h2h_weight),
                                 (i2h_bias, h2h_bias), prefix)
        total = F.elemwise_add(i2h, h2h, name=f"{prefix}plus0")
        output = self._get_activation(F, total, self._activation, name=f"{prefix}out")
        return output, [output]


class LSTMCell(GatedCell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997); states h and c.

    Parameters as RNNCell's; `activation` is that of the input and the cell,
    `recurrent_activation` that of the gates, which stand in the order input, forget, cell, output.
    """

    gates = 4
    state_count = 2

    def __init__(self, hidden_size: int, i2h_weight_initializer: Any = None,
                 h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros",
                 h2h_bias_initializer: Any = "zeros", input_size: int = 0,
                 prefix: str | None = None, params: ParameterDict | None = None,
                 activation: Any = "tanh", recurrent_activation: Any = "sigmoid") -> None:
        super().__init__(hidden_size, i2h_weight_initializer, h2h_weight_initializer,
                         i2h_bias_initializer, h2h_bias_initializer, input_size, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, i2h_weight: Any,
                       h2h_weight: Any, i2h_bias: Any, h2h_bias: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = self._project(F, inputs, states[0], (i2h_weight, h2h_weight),
                                 (i2h_bias, h2h_bias), prefix)
        total = F.elemwise_add(i2h, h2h, name=f"{prefix}plus0")
        parts = F.SliceChannel(total, num_outputs=4, name=f"{prefix}slice")
        gates = [self._get_activation(F, parts[i],
                                      self._activation if name == "c"
                                      else self._recurrent_activation, name=prefix + name)
                 for i, name in enumerate("ifco")]
        cell = F.elemwise_add(F.elemwise_mul(gates[1], states[1], name=f"{prefix}mul0"),
                              F.elemwise_mul(gates[0], gates[2], name=f"{prefix}mul1"),
                              name=f"{prefix}state")
        shown = self._get_cell_activation(F, cell, f"{prefix}activation0")
        hidden = F.elemwise_mul(gates[3], shown, name=f"{prefix}out")
        return hidden, [hidden, cell]

    def _get_cell_activation(self, F: Any, cell: Any, name: str) -> Any:
        """That of the cell: by operator Activation where it has a name, as MXNet's graphs have."""
        if isinstance(self._activation, str):
            return F.Activation(cell, act_type=self._activation, name=name)
        return self._get_activation(F, cell, self._activation, name=name)


class GRUCell(GatedCell):
    """Gated recurrent unit (Cho et al. 2014), its reset gate behind the matrix product; one state.

    Parameters as RNNCell's, without activation. Gates stand in the order reset, update, new.
    """

    gates = 3

    def __init__(self, hidden_size: int, i2h_weight_initializer: Any = None,
                 h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros",
                 h2h_bias_initializer: Any = "zeros", input_size: int = 0,
                 prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(hidden_size, i2h_weight_initializer, h2h_weight_initializer,
                         i2h_bias_initializer, h2h_bias_initializer, input_size, prefix, params)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, i2h_weight: Any,
                       h2h_weight: Any, i2h_bias: Any, h2h_bias: Any) -> Any:
        prefix = f"t{self._counter}_"
        before = states[0]
        i2h, h2h = self._project(F, inputs, before, (i2h_weight, h2h_weight),
                                 (i2h_bias, h2h_bias), prefix)
        from_input = F.SliceChannel(i2h, num_outputs=3, name=f"{prefix}i2h_slice")
        from_state = F.SliceChannel(h2h, num_outputs=3, name=f"{prefix}h2h_slice")
        reset, update = (
            F.Activation(F.elemwise_add(from_input[i], from_state[i], name=f"{prefix}plus{i}"),
                         act_type="sigmoid", name=f"{prefix}{gate}_act")
            for i, gate in enumerate("rz"))
        candidate = F.Activation(
            F.elemwise_add(from_input[2],
                           F.elemwise_mul(reset, from_state[2], name=f"{prefix}mul0"),
                           name=f"{prefix}plus2"),
            act_type="tanh", name=f"{prefix}h_act")
        ones = F.ones_like(update, name=f"{prefix}ones_like0")
        hidden = F.elemwise_add(
            F.elemwise_mul(F.elemwise_sub(ones, update, name=f"{prefix}minus0"), candidate,
                           name=f"{prefix}mul1"),
            F.elemwise_mul(update, before, name=f"{prefix}mul20"), name=f"{prefix}out")
        return hidden, [hidden]
