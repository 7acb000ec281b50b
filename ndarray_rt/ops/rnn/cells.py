"""Recurrent layers in numpy: the definition of right, forward and backward.

Everything is at least float32; time is the first axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..._array.layout import AnyArray
from ..blas import uses_blas
from .params import Place, RNNParams


@dataclass
class Weights:
    """The parameters of one layer and direction, or their gradients."""

    i2h: AnyArray  # (rows, inputs)
    h2h: AnyArray  # (rows, hidden)
    projection: AnyArray | None  # (projection_size, state_size)
    i2h_bias: AnyArray  # (rows,)
    h2h_bias: AnyArray  # (rows,)

    @staticmethod
    def of(p: RNNParams, vector: AnyArray, place: Place, inputs: int) -> Weights:
        """Views into the vector of all parameters."""
        def part(at: int, *shape: int) -> AnyArray:
            made: AnyArray = vector[at:at + int(np.prod(shape))].reshape(shape)
            return made
        projection = (None if p.projection_size is None
                      else part(place.projection, p.projection_size, p.state_size))
        return Weights(part(place.i2h, p.rows, inputs), part(place.h2h, p.rows, p.hidden),
                       projection, part(place.i2h_bias, p.rows), part(place.h2h_bias, p.rows))


@dataclass
class Run:
    """One layer and direction over all steps, and what its gradient needs."""

    x: AnyArray  # (T, N, inputs)
    hidden: AnyArray  # (T + 1, N, hidden): the first state, then that of each step
    cell: AnyArray  # (T + 1, N, state_size); lstm
    valid: AnyArray | None  # (T, N, 1): False behind a sequence's end; None: all are as long
    gates: list[tuple[AnyArray, ...]] = field(default_factory=list)


def sigmoid(x: AnyArray) -> AnyArray:
    made: AnyArray = 0.5 * np.tanh(0.5 * x) + 0.5
    return made.astype(x.dtype, copy=False)


def _step(p: RNNParams, run: Run, t: int, xw: AnyArray, hw: AnyArray) -> AnyArray:
    """The state after step t, before projection; xw, hw: products with input and last state."""
    made: AnyArray
    if p.mode in ("rnn_tanh", "rnn_relu"):
        made = np.tanh(xw + hw) if p.mode == "rnn_tanh" else np.maximum(xw + hw, 0)
        return made
    if p.mode == "gru":
        xr, xz, xn = np.split(xw, 3, axis=1)
        hr, hz, hn = np.split(hw, 3, axis=1)
        reset, update = sigmoid(xr + hr), sigmoid(xz + hz)
        new = np.tanh(xn + reset * hn)
        run.gates.append((reset, update, new, hn))
        made = (1 - update) * new + update * run.hidden[t]
        return made
    i, f, g, o = np.split(xw + hw, 4, axis=1)
    i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
    cell = f * run.cell[t] + i * g
    run.cell[t + 1] = _clipped(p, cell)
    made = o * np.tanh(run.cell[t + 1])
    run.gates.append((i, f, g, o, made, cell))
    return made


def _clipped(p: RNNParams, cell: AnyArray) -> AnyArray:
    if p.clip is None:
        return cell
    made: AnyArray = np.clip(cell, *p.clip)
    if p.lstm_state_clip_nan:
        made[np.isnan(made)] = p.clip[0]
    return made


def _kept(valid: AnyArray | None, new: AnyArray, old: AnyArray | float) -> AnyArray:
    """`new`, but `old` for sequences that have ended."""
    made: AnyArray = new if valid is None else np.where(valid, new, old).astype(new.dtype)
    return made


@uses_blas
def forward(p: RNNParams, x: AnyArray, w: Weights, state: AnyArray,
            cell: AnyArray | None, valid: AnyArray | None) -> Run:
    """All steps of one layer and direction, in the order in which they stand in x.

    States stay as they are at steps that are not valid.
    """
    steps, batch = x.shape[:2]
    run = Run(x, np.empty((steps + 1, batch, p.hidden), x.dtype),
              np.empty((steps + 1 if p.is_lstm else 0, batch, p.state_size), x.dtype), valid)
    run.hidden[0] = state
    if cell is not None:
        run.cell[0] = cell
    xw = x @ w.i2h.T + w.i2h_bias
    for t in range(steps):
        made = _step(p, run, t, xw[t], run.hidden[t] @ w.h2h.T + w.h2h_bias)
        made = made if w.projection is None else made @ w.projection.T
        if valid is not None:
            made = _kept(valid[t], made, run.hidden[t])
            if p.is_lstm:
                run.cell[t + 1] = _kept(valid[t], run.cell[t + 1], run.cell[t])
        run.hidden[t + 1] = made
    return run


def outputs(run: Run) -> AnyArray:
    """What one layer and direction puts out: zeros behind a sequence's end."""
    return _kept(run.valid, run.hidden[1:], 0)


def _slopes(p: RNNParams, run: Run, t: int, dh: AnyArray, dc: AnyArray | None,
            ) -> tuple[AnyArray, AnyArray, AnyArray | None, AnyArray | None]:
    """Gradients of xw, of hw, of the last state apart from hw, and of the last cell."""
    if p.mode == "rnn_tanh":
        slope = dh * (1 - run.hidden[t + 1] ** 2)
        return slope, slope, None, None
    if p.mode == "rnn_relu":
        slope = dh * (run.hidden[t + 1] > 0)
        return slope, slope, None, None
    if p.mode == "gru":
        reset, update, new, hn = run.gates[t]
        d_new = dh * (1 - update) * (1 - new ** 2)
        d_reset = d_new * hn * reset * (1 - reset)
        d_update = dh * (run.hidden[t] - new) * update * (1 - update)
        return (np.concatenate([d_reset, d_update, d_new], axis=1),
                np.concatenate([d_reset, d_update, d_new * reset], axis=1), dh * update, None)
    i, f, g, o, _, cell = run.gates[t]
    squashed = np.tanh(run.cell[t + 1])
    dc = dh * o * (1 - squashed ** 2) + (0 if dc is None else dc)
    if p.clip is not None:
        dc = np.where((cell >= p.clip[0]) & (cell <= p.clip[1]), dc, 0)
    slope = np.concatenate([dc * g * i * (1 - i), dc * run.cell[t] * f * (1 - f),
                            dc * i * (1 - g ** 2), dh * squashed * o * (1 - o)], axis=1)
    return slope, slope, None, dc * f


@uses_blas
def backward(p: RNNParams, run: Run, w: Weights, out_grad: AnyArray, state_grad: AnyArray | None,
             cell_grad: AnyArray | None, into: Weights,
             ) -> tuple[AnyArray, AnyArray, AnyArray | None]:
    """Gradients of x, of the first state and of the first cell; those of weights go to `into`.

    out_grad (T, N, hidden), state_grad and cell_grad: of the last ones.
    """
    steps, batch = run.x.shape[:2]
    dtype = run.x.dtype
    dxw = np.empty((steps, batch, p.rows), dtype)
    dhw = np.empty_like(dxw)
    dh = np.zeros((batch, p.hidden), dtype) if state_grad is None else state_grad
    dc = cell_grad
    if p.is_lstm and dc is None:
        dc = np.zeros((batch, p.state_size), dtype)
    for t in reversed(range(steps)):
        valid = None if run.valid is None else run.valid[t]
        after_h, after_c = dh, dc
        dh = _kept(valid, dh + out_grad[t], 0)
        if w.projection is not None and into.projection is not None:
            into.projection += dh.T @ run.gates[t][4]
            dh = dh @ w.projection
        d_input, d_hidden, apart, dc = _slopes(p, run, t, dh, dc)
        dxw[t], dhw[t] = _kept(valid, d_input, 0), _kept(valid, d_hidden, 0)
        dh = dhw[t] @ w.h2h
        if apart is not None:
            dh = dh + apart
        dh = _kept(valid, dh, after_h)
        if dc is not None and after_c is not None:
            dc = _kept(valid, dc, after_c)
    count = steps * batch
    flat_x, flat_h = dxw.reshape(count, p.rows), dhw.reshape(count, p.rows)
    into.i2h += flat_x.T @ run.x.reshape(count, run.x.shape[2])
    into.h2h += flat_h.T @ run.hidden[:-1].reshape(count, p.hidden)
    into.i2h_bias += flat_x.sum(axis=0)
    into.h2h_bias += flat_h.sum(axis=0)
    return dxw @ w.i2h, dh, dc
