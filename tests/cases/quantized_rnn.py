"""_contrib_quantized_rnn, number by number in Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input
from tests.cases.quantization import ends, fit, whole

STATE, FEATURES = 3, 5
SCALE, SHIFT = 60.0, 70.0


def taken(values: Any, rows: int, columns: int) -> list[list[float]]:
    """Rows from the front of what is left of the parameters."""
    return [[float(next(values)) for _ in range(columns)] for _ in range(rows)]


def byte(x: float) -> int:
    return fit(x * SCALE + SHIFT, "uint8")


def back(x: int) -> float:
    return (x - SHIFT) / SCALE


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def step(x: Sequence[int], h: Sequence[int], c: Sequence[float], weights: tuple[Any, Any],
         bias: Any, scales: Sequence[float]) -> tuple[list[int], list[float]]:
    """Hidden states and cells after a step of a sequence."""
    gates = []
    for row, (left, right) in enumerate(zip(*weights, strict=True)):
        rounded = [fit(w * scales[row], "int8") for w in (*left, *right)]
        total = sum(w * (v - SHIFT) for w, v in zip(rounded, (*x, *h), strict=True))
        gates.append(total / (SCALE * scales[row]) + bias[row])
    i, f, g, o = (gates[k * STATE:(k + 1) * STATE] for k in range(4))
    cells = [logistic(f[k]) * c[k] + logistic(i[k]) * math.tanh(g[k]) for k in range(STATE)]
    return [byte(logistic(o[k]) * math.tanh(cells[k])) for k in range(STATE)], cells


def reference(layers: int, directions: int, with_states: bool) -> Callable[..., Any]:
    def compute(data: Array, parameters: Array, state: Array, cell: Array, scale: Array,
                shift: Array) -> Any:
        assert (scale[0], shift[0]) == (SCALE, SHIFT)
        values = iter(parameters)
        count = layers * directions
        weights = [(taken(values, 4 * STATE, FEATURES if at < directions else STATE * directions),
                    taken(values, 4 * STATE, STATE)) for at in range(count)]
        biases = [np.sum(taken(values, 2, 4 * STATE), axis=0) for _ in range(count)]
        scales = [127 / max(abs(w) for parts in weights for part in parts for w in part[row])
                  for row in range(4 * STATE)]
        x = data.astype(int)
        last_h, last_c = np.zeros(state.shape), np.zeros(cell.shape)
        for layer in range(layers):
            made = np.zeros((*x.shape[:2], STATE * directions), int)
            for direction, n in np.ndindex(directions, x.shape[1]):
                at = layer * directions + direction
                h, c = [byte(v) for v in state[at, n]], list(cell[at, n])
                for t in range(len(x))[::-1 if direction else 1]:
                    h, c = step(x[t, n], h, c, weights[at], biases[at], scales)
                    made[t, n, direction * STATE:(direction + 1) * STATE] = h
                last_h[at, n], last_c[at, n] = [back(v) for v in h], c
            x = made
        out = np.vectorize(back)(x)
        return (out, last_h, last_c) if with_states else out
    return compute


def lstm(layers: int, bidirectional: bool, with_states: bool) -> Case:
    directions = 1 + bidirectional
    size = sum(4 * STATE * ((STATE * directions if layer else FEATURES) + STATE + 2) * directions
               for layer in range(layers))
    states = [Input((layers * directions, 2, STATE), "float32", -1, 1) for _ in range(2)]
    return Case(
        "_contrib_quantized_rnn",
        {"state_size": STATE, "num_layers": layers, "bidirectional": bidirectional,
         "mode": "lstm", "state_outputs": with_states},
        [whole((4, 2, FEATURES), "uint8"), Input((size,), "float32", -1, 1), *states,
         *ends(SCALE, SHIFT)],
        reference=reference(layers, directions, with_states), dtypes=("float32",), no_grad={0},
        exempt={"gradient": "it is for inference"}, native=True, rtol=1e-5, atol=1e-6)


CASES = [lstm(*kind) for kind in ((1, False, False), (1, True, True), (2, True, False),
                                  (2, False, True))]
