"""Cells whose products are convolutions of images: ConvRNNCell, ConvLSTMCell, ConvGRUCell."""

from __future__ import annotations

import functools
from typing import Any

from .. import sym
from .base_cell import BaseRNNCell, RNNParams
from .basic_cells import gru_step, lstm_step
from .errors import CellError

Pair = tuple[int, int]
LEAKY = functools.partial(sym.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(BaseRNNCell):
    """The base of convolutional cells.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of the inputs of one step, with the batch size.
    num_hidden : int
        Channels of the output and of each state.
    h2h_kernel, h2h_dilate : pair of int
        Of the convolution of the state, which keeps its size: kernels are odd, CellError otherwise.
    i2h_kernel, i2h_stride, i2h_pad, i2h_dilate : pair of int
        Of the convolution of the inputs.
    i2h_weight_initializer, h2h_weight_initializer : Initializer or its name
    i2h_bias_initializer, h2h_bias_initializer : Initializer or its name
    activation : str or function
        Its name, or what builds it from a symbol.
    prefix, params
        As of `BaseRNNCell`.
    conv_layout : str
        The axes of inputs and states, 'NCHW'.
    """

    _state_count = 1

    def __init__(self, input_shape: Any, num_hidden: int, h2h_kernel: Pair, h2h_dilate: Pair,
                 i2h_kernel: Pair, i2h_stride: Pair, i2h_pad: Pair, i2h_dilate: Pair,
                 i2h_weight_initializer: Any, h2h_weight_initializer: Any,
                 i2h_bias_initializer: Any, h2h_bias_initializer: Any, activation: Any,
                 prefix: str = "", params: RNNParams | None = None,
                 conv_layout: str = "NCHW") -> None:
        super().__init__(prefix=prefix, params=params)
        if any(k % 2 == 0 for k in h2h_kernel):
            raise CellError(f"{type(self).__name__}: Only support odd number, get h2h_kernel= "
                            f"{h2h_kernel}")
        self._num_hidden = num_hidden
        self._input_shape = input_shape
        self._conv_layout = conv_layout
        self._activation = activation
        self._of_input: dict[str, Any] = {
            "kernel": i2h_kernel, "stride": i2h_stride, "pad": i2h_pad, "dilate": i2h_dilate,
            "layout": conv_layout}
        self._of_state: dict[str, Any] = {
            "kernel": h2h_kernel, "dilate": h2h_dilate, "stride": (1, 1), "layout": conv_layout,
            "pad": tuple(d * (k - 1) // 2 for d, k in zip(h2h_dilate, h2h_kernel, strict=True))}
        # the state is as large as what the convolution makes of the inputs
        one: Any = sym.Convolution(data=sym.Variable("data"), num_filter=num_hidden,
                                   **self._of_input)
        self._state_shape = (0, *one.infer_shape(data=input_shape)[1][0][1:])
        self._iW = self._params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self._params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self._params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self._params.get("h2h_bias", init=h2h_bias_initializer)

    @property
    def state_info(self) -> list[Any]:
        """The same shape, that of the convolved inputs, for each state."""
        return [{"shape": self._state_shape, "__layout__": self._conv_layout}
                for _ in range(self._state_count)]

    def _convolved(self, inputs: Any, state: Any, name: str) -> list[Any]:
        """Both convolutions, with their biases."""
        count = self._num_hidden * len(self._gate_names)
        return [sym.Convolution(name=name + kind, data=data, num_filter=count, weight=weight,
                                bias=bias, **settings)
                for data, weight, bias, kind, settings in (
                    (inputs, self._iW, self._iB, "i2h", self._of_input),
                    (state, self._hW, self._hB, "h2h", self._of_state))]

    def __call__(self, inputs: Any, states: Any) -> Any:
        """Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} can not be stepped")


class ConvRNNCell(BaseConvRNNCell):
    """RNNCell with convolutions in the place of products; parameters as BaseConvRNNCell's."""

    _gate_names = ("",)

    def __init__(self, input_shape: Any, num_hidden: int, h2h_kernel: Pair = (3, 3),
                 h2h_dilate: Pair = (1, 1), i2h_kernel: Pair = (3, 3), i2h_stride: Pair = (1, 1),
                 i2h_pad: Pair = (1, 1), i2h_dilate: Pair = (1, 1),
                 i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
                 i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
                 activation: Any = LEAKY, prefix: str = "ConvRNN_",
                 params: RNNParams | None = None, conv_layout: str = "NCHW") -> None:
        super().__init__(input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride,
                         i2h_pad, i2h_dilate, i2h_weight_initializer, h2h_weight_initializer,
                         i2h_bias_initializer, h2h_bias_initializer, activation, prefix, params,
                         conv_layout)

    def __call__(self, inputs: Any, states: Any) -> Any:
        """(output, states) of one step; see BaseRNNCell."""
        name = self._next_name()
        i2h, h2h = self._convolved(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class ConvLSTMCell(BaseConvRNNCell):
    """LSTMCell with convolutions (Shi et al. 2015); parameters as BaseConvRNNCell's."""

    _gate_names = ("_i", "_f", "_c", "_o")
    _state_count = 2

    def __init__(self, input_shape: Any, num_hidden: int, h2h_kernel: Pair = (3, 3),
                 h2h_dilate: Pair = (1, 1), i2h_kernel: Pair = (3, 3), i2h_stride: Pair = (1, 1),
                 i2h_pad: Pair = (1, 1), i2h_dilate: Pair = (1, 1),
                 i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
                 i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
                 activation: Any = LEAKY, prefix: str = "ConvLSTM_",
                 params: RNNParams | None = None, conv_layout: str = "NCHW") -> None:
        super().__init__(input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride,
                         i2h_pad, i2h_dilate, i2h_weight_initializer, h2h_weight_initializer,
                         i2h_bias_initializer, h2h_bias_initializer, activation, prefix, params,
                         conv_layout)

    def __call__(self, inputs: Any, states: Any) -> Any:
        """(output, states) of one step; see BaseRNNCell."""
        name = self._next_name()
        i2h, h2h = self._convolved(inputs, states[0], name)
        return lstm_step(self, i2h + h2h, states[1], name, self._activation,
                         self._conv_layout.find("C"))


class ConvGRUCell(BaseConvRNNCell):
    """GRUCell with convolutions; parameters as BaseConvRNNCell's."""

    _gate_names = ("_r", "_z", "_o")

    def __init__(self, input_shape: Any, num_hidden: int, h2h_kernel: Pair = (3, 3),
                 h2h_dilate: Pair = (1, 1), i2h_kernel: Pair = (3, 3), i2h_stride: Pair = (1, 1),
                 i2h_pad: Pair = (1, 1), i2h_dilate: Pair = (1, 1),
                 i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
                 i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
                 activation: Any = LEAKY, prefix: str = "ConvGRU_",
                 params: RNNParams | None = None, conv_layout: str = "NCHW") -> None:
        super().__init__(input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride,
                         i2h_pad, i2h_dilate, i2h_weight_initializer, h2h_weight_initializer,
                         i2h_bias_initializer, h2h_bias_initializer, activation, prefix, params,
                         conv_layout)

    def __call__(self, inputs: Any, states: Any) -> Any:
        """(output, states) of one step; see BaseRNNCell."""
        name = self._next_name()
        i2h, h2h = self._convolved(inputs, states[0], name)
        axis = self._conv_layout.find("C")
        # as graphs of MXNet have it, which name the usual axis for an LSTM alone
        return gru_step(self, i2h, h2h, states[0], name, self._activation,
                        None if axis == 1 else axis)
