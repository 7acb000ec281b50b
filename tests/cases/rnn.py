"""RNN in each of its modes."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
STATE = 5


def logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def cell(mode: str, xw: Array, hw: Array, h: Array, c: Array, bound: float) -> tuple[Array, Array]:
    """One step for one sequence, gate by gate."""
    x, w = xw.reshape(GATES[mode], -1), hw.reshape(GATES[mode], -1)
    if mode == "rnn_relu":
        return np.where(x[0] + w[0] > 0, x[0] + w[0], 0), c
    if mode == "rnn_tanh":
        return np.tanh(x[0] + w[0]), c
    if mode == "gru":
        reset, update = logistic(x[0] + w[0]), logistic(x[1] + w[1])
        return (1 - update) * np.tanh(x[2] + reset * w[2]) + update * h, c
    i, f, g, o = x + w
    c = np.clip(logistic(f) * c + logistic(i) * np.tanh(g), -bound, bound)
    return logistic(o) * np.tanh(c), c


class Vector:
    """Takes parts from the front of a vector."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def take(self, *shape: int) -> Array:
        count = int(np.prod(shape))
        made, self.values = self.values[:count].reshape(shape), self.values[count:]
        return made


def recurrent(mode: str, layers: int, both: bool, projected: int | None, units: int, data: Array,
              vector: Array, state: Array, state_cell: Array, lengths: Array, bound: float,
              ) -> tuple[Array, Array, Array]:
    rows, hidden, ways = GATES[mode] * units, projected or units, 2 if both else 1
    parts, weights = Vector(vector), []
    for layer in range(layers):
        width = hidden * ways if layer else data.shape[2]
        weights += [[parts.take(rows, width), parts.take(rows, hidden),
                     parts.take(projected, units) if projected else np.eye(units)]
                    for _ in range(ways)]
    biases = [(parts.take(rows), parts.take(rows)) for _ in weights]
    x, last_h, last_c = data, np.empty_like(state), np.empty_like(state_cell)
    for layer in range(layers):
        y = np.zeros((*data.shape[:2], hidden * ways))
        for way in range(ways):
            at = layer * ways + way
            (i2h, h2h, projection), (b_x, b_h) = weights[at], biases[at]
            for n in range(data.shape[1]):
                h, c = state[at, n], state_cell[at, n] if mode == "lstm" else np.zeros(units)
                for t in range(int(lengths[n]))[::-1 if way else 1]:
                    h, c = cell(mode, i2h @ x[t, n] + b_x, h2h @ h + b_h, h, c, bound)
                    h = projection @ h
                    y[t, n, way * hidden:(way + 1) * hidden] = h
                last_h[at, n] = h
                if mode == "lstm":
                    last_c[at, n] = c
        x = y
    return x, last_h, last_c


def case(mode: str, layers: int = 1, both: bool = False, projected: int | None = None,
         shape: tuple[int, int, int] = (3, 2, 4), states: bool = True, native: bool = True,
         dtypes: tuple[str, ...] = ("float32", "float64"), units: int = STATE, note: str = "",
         lengths: list[int] | None = None, bound: float | None = None) -> Case:
    rows, hidden, ways = GATES[mode] * units, projected or units, 2 if both else 1
    size = ways * sum(rows * ((hidden * ways if layer else shape[2]) + hidden + 2)
                      + (projected or 0) * units for layer in range(layers))
    lstm = mode == "lstm"
    inputs = [shape, Input((size,), low=-0.8, high=0.8), (layers * ways, shape[1], hidden)]
    if lstm:
        inputs.append((layers * ways, shape[1], units))
    params = {"mode": mode, "num_layers": layers, "state_size": units, "bidirectional": both,
              "state_outputs": states}
    if projected:
        params["projection_size"] = projected
    if bound:
        params |= {"lstm_state_clip_min": -bound, "lstm_state_clip_max": bound}
    if lengths:
        params["use_sequence_length"] = True
        inputs.append(Input((len(lengths),), dtype="int32", values=lengths))

    def reference(x: Array, w: Array, h: Array, *rest: Array) -> object:
        steps = rest[-1] if lengths else np.full(x.shape[1], len(x))
        made = recurrent(mode, layers, both, projected, units, x, w, h,
                         rest[0] if lstm else np.zeros(0), steps, bound or np.inf)
        return made[:2 + lstm] if states else made[0]
    return Case("RNN", params, inputs, reference=reference, native=native, native_backward=native,
                rtol={"float32": 1e-4, "float16": 2e-2}, atol={"float32": 2e-5, "float16": 2e-2},
                dtypes=dtypes, note=note)


CASES = [case(mode, layers, both) for mode in GATES for layers, both in ((1, False), (2, True))]
CASES += [
    case("lstm", states=False),
    case("gru", 2, states=False, dtypes=("float32", "float16")),
    case("lstm", 2, both=True, projected=3),
    case("lstm", projected=3, states=False),
    case("rnn_tanh", shape=(1, 1, 1), note="one of each"),
    case("lstm", 2, units=16, note="whole blocks"),
    case("lstm", units=16, shape=(2, 5, 3), states=False, note="whole blocks, more samples"),
    case("lstm", shape=(3, 0, 4), native=False, note="no batch"),
]
CASES += [case(mode, 2, both=True, lengths=[3, 0, 1], shape=(3, 3, 2), native=False)
          for mode in GATES]
CASES += [
    case("lstm", 2, both=True, projected=3, lengths=[1, 3], native=False),
    case("gru", lengths=[2, 3], states=False, native=False),
    case("lstm", 2, both=True, bound=0.1, native=False),
    case("lstm", bound=0.2, lengths=[3, 1], native=False, dtypes=("float32", "float16")),
    case("lstm", bound=0.1, projected=3, states=False, native=False),
]


def masked(mode: str, holds: bool, shape: tuple[int, int, int] = (4, 2, 3), units: int = STATE,
           states: bool = True, dtype: str = "bool") -> Case:
    """One layer; which steps count is drawn anew for each sequence."""
    rows, lstm = GATES[mode] * units, mode == "lstm"
    size = rows * (shape[2] + units + 2)
    counts = np.random.default_rng(units).integers(0, 2, (*shape[:2], 1))
    inputs = [shape, Input((size,), low=-0.8, high=0.8), (1, shape[1], units),
              *([(1, shape[1], units)] if lstm else []),
              Input(counts.shape, dtype=dtype, values=counts.tolist())]

    def reference(x: Array, vector: Array, state: Array, *rest: Array) -> object:
        parts = Vector(vector)
        i2h, h2h = parts.take(rows, shape[2]), parts.take(rows, units)
        b_x, b_h = parts.take(rows), parts.take(rows)
        h = np.array(state)
        c = np.array(rest[0]) if lstm else np.zeros((1, shape[1], units))
        y = np.zeros((*shape[:2], units))
        for t in range(shape[0]):
            for n in range(shape[1]):
                if counts[t, n]:
                    h[0, n], c[0, n] = cell(mode, i2h @ x[t, n] + b_x, h2h @ h[0, n] + b_h,
                                            h[0, n], c[0, n], np.inf)
                y[t, n] = h[0, n] if holds or counts[t, n] else 0
        return (y, h, c)[:2 + lstm] if states else y
    return Case("_masked_RNN", {"mode": mode, "num_layers": 1, "state_size": units,
                                "state_outputs": states, "holds": holds}, inputs,
                reference=reference, native="auto", rtol={"float32": 1e-4},
                atol={"float32": 2e-5}, dtypes=("float32", "float64"))


CASES += [
    masked("lstm", False, units=16), masked("lstm", True, units=32, shape=(5, 3, 2), dtype="uint8"),
    masked("lstm", True, shape=(3, 6, 2), states=False), masked("gru", False),
    masked("rnn_relu", True, dtype="int32"), masked("rnn_tanh", False, states=False),
]
