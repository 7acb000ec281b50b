"""Recurrent cells whose products are convolutions: RNN, LSTM and GRU over 1, 2 or 3 axes."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....base import numeric_types
from ....public import shows
from ...errors import Mismatch
from ...parameter import Parameter, ParameterDict
from ...rnn.base_cell import HybridRecurrentCell

__all__ = ["Conv1DGRUCell", "Conv1DLSTMCell", "Conv1DRNNCell", "Conv2DGRUCell", "Conv2DLSTMCell",
           "Conv2DRNNCell", "Conv3DGRUCell", "Conv3DLSTMCell", "Conv3DRNNCell"]
__dir__ = shows(globals())

Sizes = int | Sequence[int]

_PARAMETERS = """

    Parameters
    ----------
    input_shape : tuple of int
        Shape of the inputs of one step, without the batch size; 0 channels: the first batch says.
    hidden_channels : int
        Channels of the output and of each state.
    i2h_kernel, h2h_kernel : int or tuple of int
        Sizes of the kernels over inputs and states; the latter are odd, so that states keep their
        size. Mismatch for others.
    i2h_pad, i2h_dilate, h2h_dilate : int or tuple of int
    i2h_weight_initializer, h2h_weight_initializer : Initializer or its name
    i2h_bias_initializer, h2h_bias_initializer : Initializer or its name
    conv_layout : str
        The order of the axes.
    activation : str or block
        A name that `Activation` knows, or a block such as LeakyReLU.
    prefix, params
        As of `Block`."""


class _BaseConvRNNCell(HybridRecurrentCell):
    """What they have in common: two convolutions, for the gates of each channel."""

    i2h_weight: Parameter
    gates: int
    state_count = 1

    def __init__(self, dims: int, input_shape: Sequence[int], hidden_channels: int,
                 i2h_kernel: Sizes, h2h_kernel: Sizes, i2h_pad: Sizes, i2h_dilate: Sizes,
                 h2h_dilate: Sizes, i2h_weight_initializer: Any, h2h_weight_initializer: Any,
                 i2h_bias_initializer: Any, h2h_bias_initializer: Any, conv_layout: str,
                 activation: Any, prefix: str | None, params: ParameterDict | None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_channels = hidden_channels
        self._input_shape = input_shape
        self._conv_layout = conv_layout
        self._activation = activation
        i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate = (
            self._of_each_axis(sizes, dims)
            for sizes in (i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate))
        if any(k % 2 == 0 for k in h2h_kernel):
            raise Mismatch(f"{type(self).__name__}: Only support odd number, get h2h_kernel= "
                           f"{h2h_kernel}")
        common = {"stride": (1,) * dims, "layout": conv_layout,
                  "num_filter": hidden_channels * self.gates}
        self._of_input = {"kernel": i2h_kernel, "pad": i2h_pad, "dilate": i2h_dilate, **common}
        self._of_state = {"kernel": h2h_kernel, "dilate": h2h_dilate, **common, "pad": tuple(
            d * (k - 1) // 2 for d, k in zip(h2h_dilate, h2h_kernel, strict=True))}
        self._channel_axis = conv_layout.find("C")
        in_channels = input_shape[self._channel_axis - 1]
        pixels = input_shape[1:] if self._channel_axis == 1 else input_shape[:-1]
        convolved = [x + 2 * p - d * (k - 1) if x else 0 for x, p, d, k in
                     zip(pixels, i2h_pad, i2h_dilate, i2h_kernel, strict=True)]
        self._state_shape = self._placed(hidden_channels, convolved)
        total = hidden_channels * self.gates
        for name, shape, init in (
                ("i2h_weight", (total, *self._placed(in_channels, i2h_kernel)),
                 i2h_weight_initializer),
                ("h2h_weight", (total, *self._placed(hidden_channels, h2h_kernel)),
                 h2h_weight_initializer),
                ("i2h_bias", (total,), i2h_bias_initializer),
                ("h2h_bias", (total,), h2h_bias_initializer)):
            setattr(self, name, self.params.get(name, shape=shape, init=init,
                                                allow_deferred_init=True))

    def _of_each_axis(self, sizes: Sizes, dims: int) -> tuple[int, ...]:
        """A size for each axis of pixels; Mismatch where there are others."""
        if isinstance(sizes, numeric_types):
            return (int(sizes),) * dims
        if len(sizes) != dims:
            raise Mismatch(f"{type(self).__name__}: for {dims}D convolution, the convolution "
                           f"settings can only be either int or list/tuple of length {dims}, got "
                           f"{sizes}")
        return tuple(sizes)

    def _placed(self, channels: int, sizes: Sequence[int]) -> tuple[int, ...]:
        """Channels and pixels in the order of the layout."""
        return (channels, *sizes) if self._channel_axis == 1 else (*sizes, channels)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state, as large as the convolved inputs."""
        return [{"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}
                for _ in range(self.state_count)]

    def __repr__(self) -> str:
        outputs, *shape = self.i2h_weight.shape
        inputs = shape[0 if self._channel_axis == 1 else -1]
        return (f"{type(self).__name__}({inputs or None} -> {outputs}, {self._activation}, "
                f"{self._conv_layout})")

    def _convolved(self, F: Any, inputs: Any, state: Any, weights: tuple[Any, Any],
                   biases: tuple[Any, Any], prefix: str) -> list[Any]:
        """Both convolutions, with their biases."""
        return [F.Convolution(data=data, weight=weight, bias=bias, name=prefix + name, **settings)
                for data, weight, bias, name, settings in zip(
                    (inputs, state), weights, biases, ("i2h", "h2h"),
                    (self._of_input, self._of_state), strict=True)]

    def _gate_parts(self, F: Any, total: Any, name: str) -> Any:
        """The part of each gate."""
        return F.SliceChannel(total, num_outputs=self.gates, axis=self._channel_axis, name=name)


class _ConvRNNCell(_BaseConvRNNCell):
    gates = 1

    def _alias(self) -> str:
        return "conv_rnn"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any,
                       i2h_bias: Any, h2h_bias: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = self._convolved(F, inputs, states[0], (i2h_weight, h2h_weight),
                                   (i2h_bias, h2h_bias), prefix)
        output = self._get_activation(F, i2h + h2h, self._activation, name=f"{prefix}out")
        return output, [output]


class _ConvLSTMCell(_BaseConvRNNCell):
    gates = 4
    state_count = 2

    def _alias(self) -> str:
        return "conv_lstm"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any,
                       i2h_bias: Any, h2h_bias: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = self._convolved(F, inputs, states[0], (i2h_weight, h2h_weight),
                                   (i2h_bias, h2h_bias), prefix)
        parts = self._gate_parts(F, i2h + h2h, f"{prefix}slice")
        gates = [self._get_activation(F, parts[i], self._activation, name=f"{prefix}c")
                 if name == "c" else
                 F.Activation(parts[i], act_type="sigmoid", name=f"{prefix}{name}")
                 for i, name in enumerate("ifco")]
        cell = F.elemwise_add(gates[1] * states[1], gates[0] * gates[2], name=f"{prefix}state")
        output = F.elemwise_mul(gates[3], self._get_activation(F, cell, self._activation),
                                name=f"{prefix}out")
        return output, [output, cell]


class _ConvGRUCell(_BaseConvRNNCell):
    gates = 3

    def _alias(self) -> str:
        return "conv_gru"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any,
                       i2h_bias: Any, h2h_bias: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = self._convolved(F, inputs, states[0], (i2h_weight, h2h_weight),
                                   (i2h_bias, h2h_bias), prefix)
        from_input = self._gate_parts(F, i2h, f"{prefix}i2h_slice")
        from_state = self._gate_parts(F, h2h, f"{prefix}h2h_slice")
        reset, update = (F.Activation(from_input[i] + from_state[i], act_type="sigmoid",
                                      name=f"{prefix}{gate}_act") for i, gate in enumerate("rz"))
        candidate = self._get_activation(F, from_input[2] + reset * from_state[2],
                                         self._activation, name=f"{prefix}h_act")
        output = F.elemwise_add((1.0 - update) * candidate, update * states[0],
                                name=f"{prefix}out")
        return output, [output]


def _over(dims: int, base: type[_BaseConvRNNCell], what: str) -> Any:
    """The class of such cells over that many axes of pixels; type checkers do not see what it
    takes."""
    kind = base.__name__.removeprefix("_Conv")
    axes = "NC" + "DHW"[3 - dims:]

    def __init__(self: Any, input_shape: Sequence[int], hidden_channels: int,  # noqa: N807
                 i2h_kernel: Sizes, h2h_kernel: Sizes, i2h_pad: Sizes = (0,) * dims,
                 i2h_dilate: Sizes = (1,) * dims, h2h_dilate: Sizes = (1,) * dims,
                 i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
                 i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
                 conv_layout: str = axes, activation: Any = "tanh", prefix: str | None = None,
                 params: ParameterDict | None = None) -> None:
        base.__init__(self, dims, input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad,
                      i2h_dilate, h2h_dilate, i2h_weight_initializer, h2h_weight_initializer,
                      i2h_bias_initializer, h2h_bias_initializer, conv_layout, activation, prefix,
                      params)

    name = f"Conv{dims}D{kind}"
    __init__.__qualname__ = f"{name}.__init__"
    return type(name, (base,), {
        "__init__": __init__, "__module__": __name__,
        "__doc__": f"{what} with {dims}D convolutions in the place of products.{_PARAMETERS}\n"})


_RNN = "h' = activation(W x + b + R h + c) (Elman 1990)"
_LSTM = "Long short-term memory (Shi et al. 2015)"
_GRU = "Gated recurrent unit (Cho et al. 2014), its reset gate behind the convolution,"

Conv1DRNNCell = _over(1, _ConvRNNCell, _RNN)
Conv2DRNNCell = _over(2, _ConvRNNCell, _RNN)
Conv3DRNNCell = _over(3, _ConvRNNCell, _RNN)
Conv1DLSTMCell = _over(1, _ConvLSTMCell, _LSTM)
Conv2DLSTMCell = _over(2, _ConvLSTMCell, _LSTM)
Conv3DLSTMCell = _over(3, _ConvLSTMCell, _LSTM)
Conv1DGRUCell = _over(1, _ConvGRUCell, _GRU)
Conv2DGRUCell = _over(2, _ConvGRUCell, _GRU)
Conv3DGRUCell = _over(3, _ConvGRUCell, _GRU)
