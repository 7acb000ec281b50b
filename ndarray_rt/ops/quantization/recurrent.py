"""_contrib_quantized_rnn: LSTM over uint8, with int8 weights and states of floats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import FLOAT32, INT8, UINT8
from ...errors import ParameterError, where
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList
from ...op.params import boolean, params_class
from ...op.registry import OpDef, register
from ..blas import uses_blas
from ..rnn import params as recurrent
from ..rnn.cells import Weights, sigmoid
from ..rnn.params import RNNParams, places
from . import byte_lstm
from .ranges import WHOLE, ends_shape, floats_type, need_dtype, rounded, value_of

P = TypeVar("P", bound="QuantizedRNNParams")
QUANTIZATION = ("min_data", "max_data")
INPUTS = ("data", "parameters", "state", "state_cell", *QUANTIZATION)
# MXNet's spelling
OUTPUTS = ("output", "state_output", "statecell_ouput")


def is_plain_lstm(p: RNNParams) -> bool:
    """What there is a quantized form of."""
    return (p.is_lstm and p.projection_size is None and p.clip is None
            and not p.use_sequence_length)


@params_class
class QuantizedRNNParams(RNNParams):
    """RNN's parameters, of an LSTM without projection, bounds of cells and lengths."""

    quantized: bool = boolean(True, doc="written by MXNet; no effect here")

    @classmethod
    def parse(cls: type[P], attrs: Mapping[str, object], op: str, node: str | None = None) -> P:
        made = super().parse(attrs, op, node)
        if not is_plain_lstm(made):
            raise ParameterError(f"{where(op, node)}: expected mode 'lstm' without "
                                 "projection_size, lstm_state_clip_min, lstm_state_clip_max and "
                                 "use_sequence_length")
        return made


def output_names(p: QuantizedRNNParams) -> tuple[str, ...]:
    return OUTPUTS if p.state_outputs else OUTPUTS[:1]


def infer_shape(p: QuantizedRNNParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    hidden = len(recurrent.output_names(p)) - len(outs)
    made, results = recurrent.infer_shape(p, ins[:4], [*outs, *[None] * hidden])
    return [*made, *ends_shape(ins[4:], QUANTIZATION)], results[:len(outs)]


def infer_type(p: QuantizedRNNParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return ([need_dtype(ins[0], (UINT8,), "data"), *floats_type(ins[1:], INPUTS[1:])],
            floats_type(outs, OUTPUTS))


def compute(ctx: OpContext, p: QuantizedRNNParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    data, vector, state, cell = ins[:4]
    numbers = Numbers(value_of(ins[4]), value_of(ins[5]))
    weights = _weights(p, vector, data.shape[2])
    scales = _scales(weights)
    hidden, cells, x = [], [], data
    for layer in range(p.num_layers):
        made = []
        for direction in range(p.directions):
            at = layer * p.directions + direction
            step = -1 if direction else 1
            y, last = _run(x[::step], weights[at], scales, state[at], cell[at], numbers)
            made.append(y[::step])
            # an array without steps leaves the states as they are
            hidden.append(numbers.back(y[-1]) if len(y) else state[at])
            cells.append(last)
        x = np.concatenate(made, axis=2)
    values = (numbers.back(x), np.stack(hidden), np.stack(cells))
    for out, value in zip(outs, values, strict=False):
        out.write(value.astype(FLOAT32, copy=False))


class Numbers:
    """How floats become uint8, and come back: times a scale, plus a shift."""

    def __init__(self, scale: np.float32, shift: np.float32) -> None:
        if not 0 < scale < np.inf:
            raise ParameterError(f"min_data, the scale of data, is {scale:g}, expected a finite "
                                 "number above 0")
        self.scale = scale
        self.shift = shift

    def of(self, x: AnyArray) -> AnyArray:
        with np.errstate(all="ignore"):
            return rounded(x * self.scale + self.shift, UINT8)

    def back(self, x: AnyArray) -> AnyArray:
        with np.errstate(all="ignore"):
            made: AnyArray = (x.astype(FLOAT32) - self.shift) / self.scale
        return made


def _weights(p: QuantizedRNNParams, vector: AnyArray, features: int) -> list[Weights]:
    """Of each layer and direction."""
    return [Weights.of(p, vector, place, p.layer_input(layer, features))
            for layer, row in enumerate(places(p, features)) for place in row]


def _scales(weights: list[Weights]) -> AnyArray:
    """What weights of a gate's output are multiplied by: the same in all layers and directions."""
    most = np.max([np.maximum(abs(w.i2h).max(axis=1, initial=0), abs(w.h2h).max(axis=1))
                   for w in weights], axis=0)
    with np.errstate(all="ignore"):
        made: AnyArray = WHOLE[INT8] / most
    # weights may be nothing but 0, or as good as that
    return np.where((most > 0) & ~np.isinf(made), made, np.float32(1))


@uses_blas
def _run(x: AnyArray, w: Weights, scales: AnyArray, state: AnyArray, cell: AnyArray,
         numbers: Numbers) -> tuple[AnyArray, AnyArray]:
    """The outputs of all steps as uint8, and the last cell. Sums are exact, in float64."""
    with np.errstate(all="ignore"):
        i2h, h2h = (rounded(part * scales[:, None], INT8).astype(np.float64)
                    for part in (w.i2h, w.h2h))
        around = np.float64(numbers.shift) * (i2h.sum(axis=1) + h2h.sum(axis=1))
        step = numbers.scale * scales
        bias = w.i2h_bias + w.h2h_bias
        last = numbers.of(state)
        made = np.empty((len(x), *last.shape), np.uint8)
        for t, one in enumerate(x):
            sums = one.astype(np.float64) @ i2h.T + last.astype(np.float64) @ h2h.T
            gates = ((sums - around) / step).astype(FLOAT32) + bias
            i, f, g, o = np.split(gates, 4, axis=1)
            cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
            last = made[t] = numbers.of(sigmoid(o) * np.tanh(cell))
    return made, cell


register(OpDef(
    "_contrib_quantized_rnn", QuantizedRNNParams, inputs=INPUTS, outputs=output_names,
    infer_shape=infer_shape, infer_type=infer_type, compute=compute,
    compute_ex=byte_lstm.compute_ex, refuses=byte_lstm.refuses,
    no_gradient="it is for inference, and MXNet has none",
    doc="LSTM over 8-bit numbers.\n\n"
        "data (T, N, I), uint8, which stands for (data - shift) / scale; parameters, state and "
        "state_cell as in RNN, float32; min_data and max_data (1,), which are scale and shift. "
        "Weights are rounded to int8, with a scale for each output of each gate, and so are "
        "hidden states, as data is, at each step; sums are exact, biases, gates and cells float32. "
        "The output (T, N, state_size * directions) is float32, of whole steps of data; with "
        "state_outputs also the last states. For inference. Source: MXNet's "
        "_contrib_quantized_rnn."))
