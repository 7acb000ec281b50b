"""Calls of operators whose meaning is subtle; MXNet and this package answer them alike.

Each is (operator, its namespace, parameters, inputs, positions that have gradients); an input is a
nested list, or (dtype, nested list). Head gradients are 1, 2, 3, ...
"""

from __future__ import annotations

from typing import Any

import numpy as np


def rows(*shape: int) -> Any:
    return (np.arange(np.prod(shape)) * 7 % 23 / 4 - 2).reshape(shape).tolist()


WILD = [-1.5, -0.5, 0.5, 1.9, 3.2, 7, 1e6, -1e6]
PLACES = [[0, 1, 9, -1], [2, 2, -5, 1.9]]
HEADS, STEPS, BATCH, SIZE = 2, 3, 2, 4

CALLS: list[tuple[str, str, dict[str, Any], list[Any], tuple[int, ...]]] = [
    ("Embedding", "", {"input_dim": 4, "output_dim": 3}, [WILD, rows(4, 3)], (1,)),
    ("Embedding", "", {"input_dim": 4, "output_dim": 3}, [("int32", [-1, 2, 9, 2]), rows(4, 3)],
     (1,)),
    ("Embedding", "", {"input_dim": 4, "output_dim": 3}, [("uint8", [255, 2]), rows(4, 3)], (1,)),
    *(("take", "", {"mode": mode, "axis": axis}, [rows(4, 3), [-1.5, -0.5, 0, 1.9, 3, -9, 9]],
       (0,)) for mode in ("clip", "wrap") for axis in (0, 1)),
    ("take", "", {"axis": 1}, [rows(2, 3, 2), [[2, 0], [1, 2]]], (0, 1)),
    ("one_hot", "", {"depth": 3}, [[-1, -0.5, 0, 1.9, 3, 4]], (0,)),
    ("one_hot", "", {"depth": 3, "on_value": 8, "off_value": 1.7, "dtype": "int32"}, [[1, 2]], ()),
    ("one_hot", "", {"depth": 3, "on_value": 300, "off_value": -1, "dtype": "uint8"}, [[1, 2]],
     ()),
    *(("pick", "", {"axis": 1, "mode": mode, "keepdims": keep}, [rows(2, 3, 4), PLACES], (0,))
      for mode in ("clip", "wrap") for keep in (False, True)),
    ("slice", "", {"begin": (0, 2), "end": (2, 0), "step": (1, -1)}, [rows(2, 3, 4)], (0,)),
    ("slice", "", {"begin": (0, None), "end": (2, None), "step": (1, -2)}, [rows(2, 3, 4)], (0,)),
    ("slice", "", {"begin": (-1,), "end": (-3,), "step": (-1,)}, [rows(2, 3)], (0,)),
    ("slice_axis", "", {"axis": -1, "begin": -3, "end": -1}, [rows(2, 4)], (0,)),
    ("slice_like", "", {"axes": (-3, -2)}, [rows(2, 3, 4), rows(1, 2, 9)], (0, 1)),
    ("reshape_like", "", {"lhs_begin": -1, "rhs_begin": 1}, [rows(2, 12), rows(7, 3, 4)], (0, 1)),
    ("where", "", {}, [[0, 1.5, -0.0], rows(3, 2), rows(3, 2)], (0, 1, 2)),
    *(("SequenceMask", "", {"use_sequence_length": True, "value": -1.5, "axis": axis},
       [rows(3, 3, 2), [1.9, 0, 3]], (0, 1)) for axis in (0, 1)),
    ("gemm2", "linalg", {"alpha": 2.0, "axis": 0, "transpose_a": True},
     [rows(4, 2, 3), rows(4, 2, 5)], (0, 1)),
    ("gemm2", "linalg", {"axis": 1}, [rows(2, 3, 4, 5), rows(2, 5, 4, 6)], (0, 1)),
    ("div_sqrt_dim", "contrib", {}, [rows(2, 5)], (0,)),
    ("arange_like", "contrib", {"start": 1.5, "step": -0.1, "repeat": 2}, [rows(2, 5)], (0,)),
    ("arange_like", "contrib", {"axis": -1, "repeat": 2}, [rows(2, 5)], ()),
    ("interleaved_matmul_selfatt_qk", "contrib", {"heads": HEADS},
     [rows(STEPS, BATCH, 3 * HEADS * SIZE)], (0,)),
    ("interleaved_matmul_selfatt_valatt", "contrib", {"heads": HEADS},
     [rows(STEPS, BATCH, 3 * HEADS * SIZE), rows(BATCH * HEADS, STEPS, STEPS)], (0, 1)),
    ("interleaved_matmul_encdec_qk", "contrib", {"heads": HEADS},
     [rows(STEPS, BATCH, HEADS * SIZE), rows(5, BATCH, 2 * HEADS * SIZE)], (0, 1)),
    ("interleaved_matmul_encdec_valatt", "contrib", {"heads": HEADS},
     [rows(5, BATCH, 2 * HEADS * SIZE), rows(BATCH * HEADS, STEPS, 5)], (0, 1)),
]


def answer(mx: Any, call: tuple[str, str, dict[str, Any], list[Any], tuple[int, ...]]) -> Any:
    """{dtype, shape and values of the output; gradients} as `mx` gives them."""
    name, space, params, inputs, with_gradient = call
    arrays = []
    for given in inputs:
        dtype, values = given if isinstance(given, tuple) else ("float32", given)
        arrays.append(mx.nd.array(np.array(values), dtype=dtype))
    for position in with_gradient:
        arrays[position].attach_grad()
    with mx.autograd.record():
        made = getattr(getattr(mx.nd, space) if space else mx.nd, name)(*arrays, **params)
    if with_gradient:
        made.backward(mx.nd.array(np.arange(1, made.size + 1).reshape(made.shape)))
    return {"dtype": np.dtype(made.dtype).name, "shape": list(made.shape),
            "values": made.asnumpy().ravel().tolist(),
            "gradients": [arrays[i].grad.asnumpy().ravel().tolist() for i in with_gradient]}
