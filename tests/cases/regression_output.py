"""Losses of numbers: linear, logistic, mean absolute error."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Native


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


FORWARD = {"LinearRegressionOutput": lambda x: x, "MAERegressionOutput": lambda x: x,
           "LogisticRegressionOutput": sigmoid}


def backward(op: str, x: Array, label: Array, scale: float) -> Array:
    difference = FORWARD[op](x) - label.reshape(x.shape)
    if op == "MAERegressionOutput":
        difference = np.where(difference > 0, 1.0, -1.0)
    return difference * scale / max(1, label[0].size if label.size else 1)


def case(op: str, data: tuple[int, ...], label: tuple[int, ...], scale: float = 1.0,
         native: Native = True, values: object = None) -> Case:
    # sigmoid(0) is not 0: padded layouts are left before, and that counts as oneDNN
    return Case(op, {"grad_scale": scale},
                [Input(data, values=values), Input(label, values=values)],
                reference=lambda x, t: FORWARD[op](x),
                gradients=lambda x, t, dy: (backward(op, x, t, scale), None),
                native=native, native_backward=native)


SHAPES = (((4,), (4,)), ((4, 1), (4,)), ((4, 3), (4, 3)), ((2, 3, 4), (2, 12)),
          ((2, 20, 3, 2), (2, 20, 3, 2)), ((2, 5, 3, 2), (2, 30)), ((2, 3, 2, 2, 2), (2, 3, 8)))
CASES = [case(op, data, label) for op in FORWARD for data, label in SHAPES]
CASES += [case(op, (4, 3), (4, 3), 2.5) for op in FORWARD]
CASES += [case(op, (0, 3), (0, 3), native=False) for op in FORWARD]
# where data and label are equal the sign is negative
CASES += [case("MAERegressionOutput", (2, 2), (2, 2), values=[1, 2, 3, 4])]
