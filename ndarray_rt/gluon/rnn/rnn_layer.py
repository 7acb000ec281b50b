"""Layers over operator RNN: a whole sequence through all layers and directions at once."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

import re
from typing import Any

from ... import nd, sym
from ...nd import NDArray
from ...public import shows
from ..block import HybridBlock
from ..errors import Mismatch
from ..parameter import Parameter, tensor_types
from . import rnn_cell

__all__ = ["GRU", "LSTM", "RNN"]
__dir__ = shows(globals())

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
NAME = re.compile(r"(l|r)(\d+)_(i2h|h2h|h2r)_(weight|bias)")


class _RNNLayer(HybridBlock):
    """What all have in common; `mode` is that of operator RNN."""

    l0_i2h_weight: Parameter

    def __init__(self, hidden_size: int, num_layers: int, layout: str, dropout: float,
                 bidirectional: bool, input_size: int, i2h_weight_initializer: Any,
                 h2h_weight_initializer: Any, i2h_bias_initializer: Any,
                 h2h_bias_initializer: Any, mode: str, projection_size: int | None,
                 h2r_weight_initializer: Any, lstm_state_clip_min: float | None,
                 lstm_state_clip_max: float | None, lstm_state_clip_nan: bool, dtype: Any,
                 use_sequence_length: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if layout not in ("TNC", "NTC"):
            raise Mismatch(f"Invalid layout {layout}; must be one of ['TNC' or 'NTC']")
        if mode not in GATES:
            raise Mismatch(f"RNN: activation must be 'relu' or 'tanh', got "
                           f"{mode.removeprefix('rnn_')!r}")
        self._hidden_size = hidden_size
        self._projection_size = projection_size or None
        self._num_layers = num_layers
        self._mode = mode
        self._layout = layout
        self._dropout = dropout
        self._dir = 2 if bidirectional else 1
        self._input_size = input_size
        self._initializers = {"i2h_weight_initializer": i2h_weight_initializer,
                              "h2h_weight_initializer": h2h_weight_initializer,
                              "i2h_bias_initializer": i2h_bias_initializer,
                              "h2h_bias_initializer": h2h_bias_initializer}
        self._h2r_weight_initializer = h2r_weight_initializer
        self._lstm_state_clip_min = lstm_state_clip_min
        self._lstm_state_clip_max = lstm_state_clip_max
        self._lstm_state_clip_nan = lstm_state_clip_nan
        self._dtype = dtype
        self._use_sequence_length = use_sequence_length
        self.skip_states: bool | None = None
        self._gates = GATES[mode]
        self._add_parameters()

    @property
    def _state_size(self) -> int:
        """Size of the hidden state, which is that of the output."""
        return self._projection_size or self._hidden_size

    def _add_parameters(self) -> None:
        inputs, size = self._input_size, self._gates * self._hidden_size
        for layer in range(self._num_layers):
            for direction in "lr"[:self._dir]:
                shapes: dict[str, tuple[int, ...]] = {
                    "i2h_weight": (size, inputs), "h2h_weight": (size, self._state_size),
                    "i2h_bias": (size,), "h2h_bias": (size,)}
                for name, shape in shapes.items():
                    self._register_param(f"{direction}{layer}_{name}", shape,
                                         self._initializers[f"{name}_initializer"], self._dtype)
                if self._projection_size:
                    self._register_param(f"{direction}{layer}_h2r_weight",
                                         (self._projection_size, self._hidden_size),
                                         self._h2r_weight_initializer, self._dtype)
            inputs = self._state_size * self._dir

    def _register_param(self, name: str, shape: tuple[int, ...], init: Any,
                        dtype: Any) -> Parameter:
        param = self.params.get(name, shape=shape, init=init, allow_deferred_init=True,
                                dtype=dtype)
        setattr(self, name, param)
        return param

    def __repr__(self) -> str:
        outputs, inputs = self.l0_i2h_weight.shape
        text = f"{inputs or None} -> {outputs // self._gates}, {self._layout}"
        if self._num_layers != 1:
            text += f", num_layers={self._num_layers}"
        if self._dropout != 0:
            text += f", dropout={self._dropout}"
        if self._dir == 2:
            text += ", bidirectional"
        return f"{type(self).__name__}({text})"

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """In files parameters have the names that they have in a stack of cells."""
        if prefix:
            prefix += "."
        made = {}
        for name, param in self._reg_params.items():
            match = NAME.fullmatch(name)
            if match is None:
                made[prefix + name] = param
                continue
            direction, layer, group, kind = match.groups()
            cell = f"{direction}_cell." if self._dir == 2 else ""
            made[f"{prefix}_unfused.{layer}.{cell}{group}_{kind}"] = param
        for name, child in self._children.items():
            made.update(child._collect_params_with_prefix(prefix + name))
        return made

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and dtype of each state: (layers * directions, batch_size, hidden_size)."""
        return [self._state_of(self._state_size, batch_size)]

    def _state_of(self, size: int, batch_size: int) -> dict[str, Any]:
        return {"shape": (self._num_layers * self._dir, batch_size, size), "__layout__": "LNC",
                "dtype": self._dtype}

    def _new_cell(self, **kwargs: Any) -> Any:
        """A cell that computes what one direction of one layer does."""
        if self._mode == "lstm":
            return rnn_cell.LSTMCell(self._hidden_size, **kwargs)
        if self._mode == "gru":
            return rnn_cell.GRUCell(self._hidden_size, **kwargs)
        return rnn_cell.RNNCell(self._hidden_size, activation=self._mode.removeprefix("rnn_"),
                                **kwargs)

    def _unfuse(self) -> rnn_cell.HybridSequentialRNNCell:
        """A stack of cells with the same parameters.

        Mismatch with a projection or clipped states, which cells have not.
        """
        if self._projection_size:
            raise Mismatch("_unfuse does not support projection layer yet!")
        if self._lstm_state_clip_min or self._lstm_state_clip_max:
            raise Mismatch("_unfuse does not support state clipping yet!")
        stack = rnn_cell.HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        with stack.name_scope():
            inputs = self._input_size
            for layer in range(self._num_layers):
                cells = [self._new_cell(prefix=f"{direction}{layer}_", input_size=inputs,
                                        **self._initializers)
                         for direction in "lr"[:self._dir]]
                stack.add(rnn_cell.BidirectionalCell(*cells) if self._dir == 2 else cells[0])
                if self._dropout > 0 and layer + 1 < self._num_layers:
                    stack.add(rnn_cell.DropoutCell(self._dropout))
                inputs = self._hidden_size * self._dir
        return stack

    def cast(self, dtype: Any) -> None:
        """Another dtype for the parameters and the states."""
        super().cast(dtype)
        self._dtype = dtype

    def begin_state(self, batch_size: int = 0, func: Any = nd.zeros, **kwargs: Any) -> list[Any]:
        """The states before the first step, each made by `func(name=, shape=, **kwargs)`."""
        return [func(name=f"{self.prefix}h0_{i}", **{**info, **kwargs})
                for i, info in enumerate(self.state_info(batch_size))]

    def __call__(self, inputs: Any, states: Any = None, sequence_length: Any = None) -> Any:
        """The output, and with `states` also those behind the last step.

        `inputs` has the axes of `layout`; `sequence_length` (N,), where `use_sequence_length` is
        set, has the steps of each sample.
        """
        skip = states is None
        if skip != self.skip_states:
            # a graph gives either the output or also the states
            self._clear_cached_op()
            self.skip_states = skip
        if isinstance(inputs, NDArray):
            batch_size = inputs.shape[self._layout.find("N")]
            if states is None:
                states = self.begin_state(batch_size, ctx=inputs.context, dtype=inputs.dtype)
        elif states is None:
            states = self.begin_state(0, func=sym.zeros)
        if isinstance(states, tensor_types):
            states = [states]
        if self._use_sequence_length:
            return super().__call__(inputs, states, sequence_length)
        return super().__call__(inputs, states)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any,  # type: ignore[override]
                       sequence_length: Any = None, **kwargs: Any) -> Any:
        if F is nd:
            infos = self.state_info(inputs.shape[self._layout.find("N")])
            for state, info in zip(states, infos, strict=False):
                if state.shape != info["shape"]:
                    raise Mismatch(f"Invalid recurrent state shape. Expecting {info['shape']}, "
                                   f"got {state.shape}.")
        output, after = self._run(F, inputs, states, sequence_length, kwargs)
        return output if self.skip_states else (output, after)

    def _run(self, F: Any, inputs: Any, states: Any, sequence_length: Any,
             params: dict[str, Any]) -> tuple[Any, list[Any]]:
        """(output, states behind the last step) by operator RNN."""
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, dim1=0, dim2=1)
        groups = {"weight": ("i2h", "h2h", "h2r") if self._projection_size else ("i2h", "h2h"),
                  "bias": ("i2h", "h2h")}
        vector = F._internal._rnn_param_concat(
            *[params[f"{direction}{layer}_{group}_{kind}"].reshape(-1)
              for kind, names in groups.items() for layer in range(self._num_layers)
              for direction in "lr"[:self._dir] for group in names], dim=0)
        # by its name: of the kinds without a cell's state it is the fourth input, not the fifth
        lengths = {"sequence_length": sequence_length} if self._use_sequence_length else {}
        made = F.RNN(inputs, vector, *states, **lengths,
                     use_sequence_length=self._use_sequence_length, state_size=self._hidden_size,
                     projection_size=self._projection_size,
                     num_layers=self._num_layers, bidirectional=self._dir == 2, p=self._dropout,
                     state_outputs=True, mode=self._mode,
                     lstm_state_clip_min=self._lstm_state_clip_min,
                     lstm_state_clip_max=self._lstm_state_clip_max,
                     lstm_state_clip_nan=self._lstm_state_clip_nan)
        output, after = made[0], [made[1 + i] for i in range(len(self.state_info()))]
        return F.swapaxes(output, dim1=0, dim2=1) if self._layout == "NTC" else output, after


class RNN(_RNNLayer):
    """Layers of RNNCell (Elman 1990).

    Parameters
    ----------
    hidden_size : int
        Size of the states.
    num_layers : int
    activation : str
        'relu' or 'tanh'.
    layout : str
        'TNC' or 'NTC': order of the axes of time, batch and features of input and output.
    dropout : float
        The share dropped from the outputs of all layers but the last.
    bidirectional : bool
        A second direction, whose outputs stand behind those of the first.
    i2h_weight_initializer, h2h_weight_initializer : Initializer or its name
    i2h_bias_initializer, h2h_bias_initializer : Initializer or its name
    input_size : int
        0: it follows from the first batch.
    dtype : dtype or str
        Of parameters and states.
    use_sequence_length : bool
        Calls have a third argument (N,), the steps of each sample.

    Mismatch for another layout or activation. Source: operator RNN.
    """

    def __init__(self, hidden_size: int, num_layers: int = 1, activation: str = "relu",
                 layout: str = "TNC", dropout: float = 0, bidirectional: bool = False,
                 i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
                 i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
                 input_size: int = 0, dtype: Any = "float32", **kwargs: Any) -> None:
        super().__init__(hidden_size, num_layers, layout, dropout, bidirectional, input_size,
                         i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
                         h2h_bias_initializer, f"rnn_{activation}", None, None, None, None, False,
                         dtype, **kwargs)


class LSTM(_RNNLayer):
    """Layers of LSTMCell (Hochreiter and Schmidhuber 1997), with a projection (Sak et al. 2014).

    Parameters as RNN's, and

    projection_size : int
        Size of the hidden state and the output after the matrix h2r; None: no such matrix.
    h2r_weight_initializer : Initializer or its name
    state_clip_min, state_clip_max : float
        The cell is clipped to them at each step; None: it is not.
    state_clip_nan : bool
        NaN in the cell is clipped too.
    """

    def __init__(self, hidden_size: int, num_layers: int = 1, layout: str = "TNC",
                 dropout: float = 0, bidirectional: bool = False, input_size: int = 0,
                 i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
                 i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
                 projection_size: int | None = None, h2r_weight_initializer: Any = None,
                 state_clip_min: float | None = None, state_clip_max: float | None = None,
                 state_clip_nan: bool = False, dtype: Any = "float32", **kwargs: Any) -> None:
        super().__init__(hidden_size, num_layers, layout, dropout, bidirectional, input_size,
                         i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
                         h2h_bias_initializer, "lstm", projection_size, h2r_weight_initializer,
                         state_clip_min, state_clip_max, state_clip_nan, dtype, **kwargs)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and dtype of the hidden state and of the cell."""
        return [self._state_of(self._state_size, batch_size),
                self._state_of(self._hidden_size, batch_size)]


class GRU(_RNNLayer):
    """Layers of GRUCell (Cho et al. 2014); parameters as RNN's, without activation."""

    def __init__(self, hidden_size: int, num_layers: int = 1, layout: str = "TNC",
                 dropout: float = 0, bidirectional: bool = False, input_size: int = 0,
                 i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
                 i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
                 dtype: Any = "float32", **kwargs: Any) -> None:
        super().__init__(hidden_size, num_layers, layout, dropout, bidirectional, input_size,
                         i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
                         h2h_bias_initializer, "gru", None, None, None, None, False, dtype,
                         **kwargs)
