"""RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ops.blas import uses_blas
from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import operator
from ..values import Value
from .activations import _sigmoid, _softplus

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
_WITH_NUMBERS: dict[str, tuple[float | None, float | None]] = {
    "affine": (1.0, 0.0), "leakyrelu": (0.01, None), "thresholdedrelu": (1.0, None),
    "scaledtanh": (1.0, 1.0), "hardsigmoid": (0.2, 0.5), "elu": (1.0, None)}


def _function(name: str, alpha: float | None, beta: float | None) -> Callable[[Array], Array]:
    a = alpha if alpha is not None else 0.0
    b = beta if beta is not None else 0.0
    functions: dict[str, Callable[[Array], Any]] = {
        "sigmoid": _sigmoid, "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0),
        "affine": lambda x: a * x + b, "leakyrelu": lambda x: np.where(x < 0, a * x, x),
        "thresholdedrelu": lambda x: np.where(x > a, x, 0),
        "scaledtanh": lambda x: a * np.tanh(b * x),
        "hardsigmoid": lambda x: np.clip(a * x + b, 0, 1),
        "elu": lambda x: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x),
        "softsign": lambda x: x / (1 + np.abs(x)), "softplus": _softplus}
    return functions[name.lower()]


def _functions(node: Node, kind: str, directions: int) -> list[list[Callable[[Array], Array]]]:
    names = node.attr("activations") or _USUAL[kind] * directions
    alphas, betas = list(node.attr("activation_alpha") or ()), list(
        node.attr("activation_beta") or ())
    made = []
    for name in names:
        alpha, beta = _WITH_NUMBERS.get(name.lower(), (None, None))
        if alpha is not None:
            alpha = alphas.pop(0) if alphas else alpha
        if beta is not None:
            beta = betas.pop(0) if betas else beta
        made.append(_function(name, alpha, beta))
    count = len(_USUAL[kind])
    return [made[d * count:(d + 1) * count] for d in range(directions)]


class _Cell:
    """The weights of one direction and one step with them."""

    def __init__(self, node: Node, w: Array, r: Array, bias: Array | None, peep: Array | None,
                 functions: list[Callable[[Array], Array]]) -> None:
        self.hidden = r.shape[-1]
        self.w, self.r, self.functions = w, r, functions
        rows = w.shape[0]
        self.wb = np.zeros(rows, w.dtype) if bias is None else bias[:rows]
        self.rb = np.zeros(rows, w.dtype) if bias is None else bias[rows:]
        self.peep = np.zeros(3 * self.hidden, w.dtype) if peep is None else peep
        self.clip = node.attr("clip")
        self.couples = bool(node.attr("input_forget", 0))
        self.resets_late = bool(node.attr("linear_before_reset", 0))

    def _limited(self, x: Array) -> Array:
        return x if self.clip is None else np.clip(x, -self.clip, self.clip)

    @uses_blas
    def rnn(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        made = x @ self.w.T + h @ self.r.T + self.wb + self.rb
        return self.functions[0](self._limited(made)), c

    @uses_blas
    def gru(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        n = self.hidden
        f, g = self.functions
        inner = x @ self.w.T + self.wb
        gates = inner[:, :2 * n] + h @ self.r[:2 * n].T + self.rb[:2 * n]
        z, r = np.split(f(self._limited(gates)), 2, 1)
        if self.resets_late:
            new = inner[:, 2 * n:] + r * (h @ self.r[2 * n:].T + self.rb[2 * n:])
        else:
            new = inner[:, 2 * n:] + (r * h) @ self.r[2 * n:].T + self.rb[2 * n:]
        return (1 - z) * g(self._limited(new)) + z * h, c

    @uses_blas
    def lstm(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        f, g, last = self.functions
        i, o, t, new = np.split(x @ self.w.T + h @ self.r.T + self.wb + self.rb, 4, 1)
        pi, po, pf = np.split(self.peep, 3)
        i = f(self._limited(i + pi * c))
        t = 1 - i if self.couples else f(self._limited(t + pf * c))
        cell = t * c + i * g(self._limited(new))
        o = f(self._limited(o + po * cell))
        return o * last(cell), cell


def _run(node: Node, kind: str, x: Array, w: Array, r: Array, bias: Array | None,
         lengths: Array | None, h0: Array | None, c0: Array | None, peep: Array | None,
         ) -> tuple[Array, ...]:
    batchwise = bool(node.attr("layout", 0))
    if batchwise:
        x = x.transpose(1, 0, 2)
        h0, c0 = (None if s is None else s.transpose(1, 0, 2) for s in (h0, c0))
    steps, batch, _ = x.shape
    directions, hidden = w.shape[0], r.shape[-1]
    functions = _functions(node, kind, directions)
    made = np.zeros((steps, directions, batch, hidden), x.dtype)
    last_h = np.zeros((directions, batch, hidden), x.dtype)
    last_c = np.zeros((directions, batch, hidden), x.dtype)
    counts = np.full(batch, steps) if lengths is None else lengths
    for d in range(directions):
        cell = _Cell(node, w[d], r[d], None if bias is None else bias[d],
                     None if peep is None else peep[d], functions[d])
        step = getattr(cell, kind.lower())
        h = last_h[d].copy() if h0 is None else h0[d]
        c = last_c[d].copy() if c0 is None else c0[d]
        backward = node.attr("direction", "forward") == "reverse" or d == 1
        for t in range(steps):
            # of each sequence the part that counts is read backwards
            place = counts - 1 - t if backward else np.full(batch, t)
            valid = (t < counts)[:, None]
            place = np.where(t < counts, place, 0)
            new_h, new_c = step(x[place, np.arange(batch)], h, c)
            h, c = np.where(valid, new_h, h), np.where(valid, new_c, c)
            rows = np.nonzero(valid[:, 0])[0]
            made[place[rows], d, rows] = new_h[rows]
        last_h[d], last_c[d] = h, c
    if batchwise:
        made = made.transpose(2, 0, 1, 3)
        last_h, last_c = last_h.transpose(1, 0, 2), last_c.transpose(1, 0, 2)
    return made, last_h, last_c


@operator("RNN")
def rnn(node: Node, x: Array, w: Array, r: Array, bias: Array | None = None,
        lengths: Array | None = None, h0: Array | None = None) -> tuple[Array, ...]:
    return _run(node, "RNN", x, w, r, bias, lengths, h0, None, None)[:2]


@operator("GRU")
def gru(node: Node, x: Array, w: Array, r: Array, bias: Array | None = None,
        lengths: Array | None = None, h0: Array | None = None) -> tuple[Array, ...]:
    return _run(node, "GRU", x, w, r, bias, lengths, h0, None, None)[:2]


@operator("LSTM")
def lstm(node: Node, x: Array, w: Array, r: Array, bias: Array | None = None,
         lengths: Array | None = None, h0: Array | None = None, c0: Array | None = None,
         peep: Array | None = None) -> tuple[Array, ...]:
    return _run(node, "LSTM", x, w, r, bias, lengths, h0, c0, peep)


def _size(node: Node, x: Array, w: Array, r: Array, *rest: Array | None) -> tuple[list[int], Any]:
    return [*x.shape[:2], w.shape[0], r.shape[-1]], x.dtype


for _operator in (rnn, gru, lstm):
    _operator.sized(_size)


# ---- the engine's RNN ---------------------------------------------------------------------------

# ONNX's gates in the engine's order
_ORDER = {"RNN": (0,), "GRU": (1, 0, 2), "LSTM": (0, 2, 3, 1)}


def _vector(node: Node, kind: str, w: Array, r: Array, bias: Array | None) -> Array:
    """All weights as the engine's RNN takes them."""
    found: Array | None = node.known.get("weights")
    if found is not None:
        return found
    directions, rows, _ = w.shape
    hidden = r.shape[-1]

    def ordered(part: Array) -> Array:
        gates = part.reshape(_GATES[kind], hidden, *part.shape[1:])
        return gates[list(_ORDER[kind])].reshape(-1)
    parts = []
    for d in range(directions):
        parts += [ordered(w[d]), ordered(r[d])]
    for d in range(directions):
        both = np.zeros(2 * rows, w.dtype) if bias is None else bias[d]
        parts += [ordered(both[:rows]), ordered(both[rows:])]
    made: Array = np.concatenate(parts)
    node.known["weights"] = made
    return made


def _mode(node: Node, kind: str, directions: int) -> str | None:
    """The engine's word for the cell, None where it has none."""
    names = [name.lower() for name in node.attr("activations") or _USUAL[kind] * directions]
    if kind == "RNN":
        return f"rnn_{names[0]}" if set(names) in ({"tanh"}, {"relu"}) else None
    usual = [name.lower() for name in _USUAL[kind] * directions]
    return kind.lower() if names == usual else None


def _symbols(kind: str) -> Callable[..., Any]:
    def symbol(b: GraphBuilder, node: Node, x: Value, w: Value, r: Value,
               bias: Value | None = None, lengths: Value | None = None, h0: Value | None = None,
               c0: Value | None = None, peep: Value | None = None) -> Any:
        given = [v for v in (w, r, bias) if v is not None]
        mode = _mode(node, kind, w.shape[0])
        steps = x.shape[1 if node.attr("layout", 0) else 0]
        if lengths is not None and lengths.const is not None and (lengths.const == steps).all():
            lengths = None
        if (mode is None or not x.is_float or peep is not None
                or any(v.const is None for v in given) or node.attr("clip")
                or node.attr("input_forget", 0)
                or (kind == "GRU" and not node.attr("linear_before_reset", 0))):
            return None
        assert w.const is not None
        assert r.const is not None
        vector = _vector(node, kind, w.const, r.const, None if bias is None else bias.const)
        batchwise = bool(node.attr("layout", 0))
        data = b.transposed(x, (1, 0, 2)) if batchwise else x
        steps, batch, _ = data.shape
        directions, hidden = w.shape[0], r.shape[-1]
        backward = node.attr("direction", "forward") == "reverse"
        more = [] if lengths is None else [lengths]

        def turned(value: Value) -> Value:
            """Each sequence from its end to its beginning."""
            if lengths is None:
                return b.op("reverse", value, axis=0)
            return b.op("SequenceReverse", value, lengths, use_sequence_length=True)
        if backward:
            data = turned(data)
        states = []
        for state in (h0, c0)[:2 if kind == "LSTM" else 1]:
            if state is None:
                zeros = np.zeros((directions, batch, hidden), x.dtype)
                state = Value(zeros.shape, zeros.dtype, const=zeros)
            elif batchwise:
                state = b.transposed(state, (1, 0, 2))
            states.append(state)
        weights = Value(vector.shape, vector.dtype, const=vector)
        made = b.ops("RNN", data, weights, *states, *more, state_size=hidden, num_layers=1,
                     mode=mode, bidirectional=directions == 2, state_outputs=True,
                     use_sequence_length=lengths is not None)
        whole = made[0]
        if backward:
            whole = turned(whole)
        if directions == 1:
            whole = b.reshaped(whole, (steps, 1, batch, hidden))
        else:
            parts = b.reshaped(whole, (steps, batch, directions, hidden))
            whole = b.transposed(parts, (0, 2, 1, 3))
        lasts = made[1:]
        if batchwise:
            whole = b.transposed(whole, (2, 0, 1, 3))
            lasts = [b.transposed(v, (1, 0, 2)) for v in lasts]
        return (whole, *lasts)
    return symbol


rnn.symbol(_symbols("RNN"))
gru.symbol(_symbols("GRU"))
lstm.symbol(_symbols("LSTM"))
