"""_foreach, _while_loop and _cond: graphs inside of nodes, as text."""

from __future__ import annotations

import numpy as np

import ndarray_rt as mx
from ndarray_rt.testing.case import Array, Case, Input

X, S, W, STEP = (mx.sym.Variable(name) for name in ("x", "s", "w", "i"))


def graphs(*made: mx.sym.Symbol) -> str:
    return f"[{', '.join(symbol.tojson() for symbol in made)}]"


def scan(x: Array, s: Array, w: Array) -> tuple[Array, Array]:
    """The outputs of all steps and the last state of s * w + x."""
    outs = []
    for row in x:
        s = s * w + row
        outs.append(np.tanh(s))
    return np.stack(outs), s


_STATE = S * W + X
CASES = [
    Case("_foreach",
         {"num_args": 4, "num_outputs": 2, "num_out_data": 1, "in_data_locs": (2,),
          "in_state_locs": (0,), "remain_locs": (1,),
          "subgraphs": graphs(mx.sym.Group([mx.sym.tanh(_STATE), mx.sym.identity(_STATE)]))},
         [Input((3, *shape)), Input(shape), Input(shape)], reference=scan,
         dtypes=("float32", "float64"), native=False)
    for shape in ((4,), (2, 3))
]


def powers(i: Array, s: Array, w: Array) -> tuple[Array, Array, Array]:
    """s w, s w^2, s w^3, and zeros up to five steps."""
    steps = [s * w, s * w**2, s * w**3]
    return np.stack([*steps, 0 * s, 0 * s]), i + 3, steps[-1]


_POWER = S * W
CASES += [
    Case("_while_loop",
         {"num_args": 5, "num_outputs": 3, "num_out_data": 1, "max_iterations": 5,
          "cond_input_locs": (0,), "func_input_locs": (1, 2, 0), "func_var_locs": (2, 0),
          "subgraphs": graphs(
              STEP < 3, mx.sym.Group([mx.sym.identity(_POWER), STEP + 1, _POWER]))},
         [Input((1,), values=[0]), Input((2, 3)), Input((2, 3))], reference=powers, no_grad={0},
         dtypes=("float32", "float64"), native=False),
    *(Case("_cond",
           {"num_args": 6, "num_outputs": 1, "cond_input_locs": (0,), "then_input_locs": (1, 2),
            "else_input_locs": (2,),
            "subgraphs": graphs(mx.sym.identity(STEP), X * W, W + 1)},
           [Input((1,), values=[test]), Input((2, 3)), Input((2, 3))],
           reference=lambda i, x, w: x * w if i[0] else w + 1, no_grad={0},
           dtypes=("float32", "float64"), native=False) for test in (1, 0)),
]
