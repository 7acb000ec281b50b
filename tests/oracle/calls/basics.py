"""Embedding, take, one_hot, pick, slices, where, SequenceMask, gemm2, attention: odd attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..call import Call, Given


def rows(*shape: int) -> Any:
    return (np.arange(np.prod(shape)) * 7 % 23 / 4 - 2).reshape(shape).tolist()


WILD = [-1.5, -0.5, 0.5, 1.9, 3.2, 7, 1e6, -1e6]
PLACES = [[0, 1, 9, -1], [2, 2, -5, 1.9]]
HEADS, STEPS, BATCH, SIZE = 2, 3, 2, 4

CALLS = [
    Call("Embedding", [WILD, rows(4, 3)], {"input_dim": 4, "output_dim": 3}, (1,)),
    Call(
        "Embedding",
        [Given([-1, 2, 9, 2], "int32"), rows(4, 3)],
        {"input_dim": 4, "output_dim": 3},
        (1,),
    ),
    Call(
        "Embedding", [Given([255, 2], "uint8"), rows(4, 3)], {"input_dim": 4, "output_dim": 3}, (1,)
    ),
    *(
        Call(
            "take", [rows(4, 3), [-1.5, -0.5, 0, 1.9, 3, -9, 9]], {"mode": mode, "axis": axis}, (0,)
        )
        for mode in ("clip", "wrap")
        for axis in (0, 1)
    ),
    Call("take", [rows(2, 3, 2), [[2, 0], [1, 2]]], {"axis": 1}, (0, 1)),
    Call("one_hot", [[-1, -0.5, 0, 1.9, 3, 4]], {"depth": 3}, (0,)),
    Call("one_hot", [[1, 2]], {"depth": 3, "on_value": 8, "off_value": 1.7, "dtype": "int32"}),
    Call("one_hot", [[1, 2]], {"depth": 3, "on_value": 300, "off_value": -1, "dtype": "uint8"}),
    *(
        Call("pick", [rows(2, 3, 4), PLACES], {"axis": 1, "mode": mode, "keepdims": keep}, (0,))
        for mode in ("clip", "wrap")
        for keep in (False, True)
    ),
    Call("slice", [rows(2, 3, 4)], {"begin": (0, 2), "end": (2, 0), "step": (1, -1)}, (0,)),
    Call("slice", [rows(2, 3, 4)], {"begin": (0, None), "end": (2, None), "step": (1, -2)}, (0,)),
    Call("slice", [rows(2, 3)], {"begin": (-1,), "end": (-3,), "step": (-1,)}, (0,)),
    Call("slice_axis", [rows(2, 4)], {"axis": -1, "begin": -3, "end": -1}, (0,)),
    Call("slice_like", [rows(2, 3, 4), rows(1, 2, 9)], {"axes": (-3, -2)}, (0, 1)),
    Call("reshape_like", [rows(2, 12), rows(7, 3, 4)], {"lhs_begin": -1, "rhs_begin": 1}, (0, 1)),
    Call("where", [[0, 1.5, -0.0], rows(3, 2), rows(3, 2)], {}, (0, 1, 2)),
    *(
        Call(
            "SequenceMask",
            [rows(3, 3, 2), [1.9, 0, 3]],
            {"use_sequence_length": True, "value": -1.5, "axis": axis},
            (0, 1),
        )
        for axis in (0, 1)
    ),
    Call(
        "linalg.gemm2",
        [rows(4, 2, 3), rows(4, 2, 5)],
        {"alpha": 2.0, "axis": 0, "transpose_a": True},
        (0, 1),
    ),
    Call("linalg.gemm2", [rows(2, 3, 4, 5), rows(2, 5, 4, 6)], {"axis": 1}, (0, 1)),
    Call("contrib.div_sqrt_dim", [rows(2, 5)], {}, (0,)),
    Call("contrib.arange_like", [rows(2, 5)], {"start": 1.5, "step": -0.1, "repeat": 2}, (0,)),
    Call("contrib.arange_like", [rows(2, 5)], {"axis": -1, "repeat": 2}),
    Call(
        "contrib.interleaved_matmul_selfatt_qk",
        [rows(STEPS, BATCH, 3 * HEADS * SIZE)],
        {"heads": HEADS},
        (0,),
    ),
    Call(
        "contrib.interleaved_matmul_selfatt_valatt",
        [rows(STEPS, BATCH, 3 * HEADS * SIZE), rows(BATCH * HEADS, STEPS, STEPS)],
        {"heads": HEADS},
        (0, 1),
    ),
    Call(
        "contrib.interleaved_matmul_encdec_qk",
        [rows(STEPS, BATCH, HEADS * SIZE), rows(5, BATCH, 2 * HEADS * SIZE)],
        {"heads": HEADS},
        (0, 1),
    ),
    Call(
        "contrib.interleaved_matmul_encdec_valatt",
        [rows(5, BATCH, 2 * HEADS * SIZE), rows(BATCH * HEADS, STEPS, 5)],
        {"heads": HEADS},
        (0, 1),
    ),
]
