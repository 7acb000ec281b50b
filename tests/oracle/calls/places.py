"""gather_nd, scatter_nd, index_copy, positions, ends of sequences, choices by place."""

from __future__ import annotations

from ..call import Array, Call, Given

A = Array((3, 4))
KINDS = ("float64", "float16", "int32", "int64", "uint8")
STEPS = Array((3, 2, 2))
LENGTHS = {"use_sequence_length": True}


def whole(*shape: int, dtype: str) -> Array:
    return Array(shape, 0, 9, dtype, whole=True)


CALLS = [
    Call("gather_nd", [A, Given([[0, 2, 2], [1, 3, -1]])]),
    Call("gather_nd", [A, Given([[0, 2, 2], [1, 3, 0]])], {}, (0, 1)),
    Call("gather_nd", [A, Given([[0, 2, 2], [1, 3, 3]])], {}, (0,), grad_req="add"),
    Call("gather_nd", [A, Given([[[0, 2], [1, 1]]])], {}, (0,)),
    Call("gather_nd", [A, Given([[0, 1.9]])], {}, (0,)),
    Call("gather_nd", [Array((2, 3, 4)), Given([[1, 0], [2, 2]], "int32")], {}, (0,)),
    *(Call("gather_nd", [A, Given([[1, 2], [0, 3]], kind)], {}, (0,)) for kind in KINDS),
    *(Call("gather_nd", [whole(3, 4, dtype=kind), Given([[1, 1], [0, 0]])], {}, (0,))
      for kind in KINDS[:4]),
    Call("scatter_nd", [Given([1, 2, 3]), Given([[0, 2, 1], [1, 3, 3]])], {"shape": (3, 4)},
         (0, 1)),
    Call("scatter_nd", [Array((2, 4)), Given([[3, 0]])], {"shape": (5, 4)}, (0,)),
    Call("scatter_nd", [Array((2, 2, 3)), Given([[[1, 0], [3, 2]]], "int64")], {"shape": (4, 3)},
         (0,), grad_req="add"),
    *(Call("scatter_nd", [Given([1, 2], kind), Given([[2, 0]], kind)], {"shape": (4,)}, (0,))
      for kind in KINDS),
    Call("batch_take", [A, Given([1, -1, 9], "int32")]),
    Call("shape_array", [Array((2, 3, 4))], {}, (0,)), Call("size_array", [A], {}, (0,)),
    Call("contrib.index_array", [Array((2, 3))]),
    Call("contrib.index_array", [Array((2, 3, 2))], {"axes": (2, -3)}),
    Call("contrib.index_array", [Array((2,))], {"axes": 0}),
    Call("contrib.boolean_mask", [A, Given([1, 0, 2])], {}, (0,)),
    Call("contrib.boolean_mask", [A, Given([-1, 0, 0.5])], {}, (0,)),
    Call("contrib.boolean_mask", [whole(3, 4, dtype="int32"), Given([0, 1, 1], "int32")], {}, (0,)),
    Call("contrib.index_copy", [A, Given([2, 0]), Array((2, 4), seed=1)], {}, (0, 1, 2)),
    Call("contrib.index_copy", [A, Given([2, 2]), Array((2, 4), seed=1)], {}, (0, 2)),
    Call("contrib.index_copy", [A, Given([1, 0], "int32"), Array((2, 4), seed=1)], {}, (0, 2)),
    *(Call("contrib.index_copy", [whole(3, 2, dtype=kind), Given([2, 1], kind),
                                  whole(2, 2, dtype=kind)], {}, (0, 2)) for kind in KINDS),
    Call("ravel_multi_index", [Given([[1, 0], [2, 3]])], {"shape": (3, 4)}),
    Call("ravel_multi_index", [Given([[1.7, 0], [0.9, 1]])], {"shape": (3, 4)}),
    Call("ravel_multi_index", [Given([[1, 0], [2, 3]], "int64")], {"shape": (-1, 4)}),
    Call("unravel_index", [Given([7, 3, 20, -1])], {"shape": (3, 4)}),
    Call("unravel_index", [Given([7, 3, 40])], {"shape": (-1, 4)}),
    Call("unravel_index", [Given([7.9, 23])], {"shape": (2, 3, 4)}),
    *(Call("unravel_index", [Given([7, 3], kind)], {"shape": (3, 4)}) for kind in KINDS),
    Call("SequenceLast", [STEPS]),
    Call("SequenceLast", [STEPS, Given([1, 3])], LENGTHS, (0, 1)),
    Call("SequenceLast", [STEPS, Given([1.9, 2.2])], LENGTHS, (0,), grad_req="add"),
    Call("SequenceLast", [STEPS, Given([1, 2, 2])], {**LENGTHS, "axis": 1}),
    Call("SequenceReverse", [STEPS], {}, (0,)),
    Call("SequenceReverse", [STEPS, Given([1, 3])], LENGTHS, (0, 1)),
    Call("SequenceReverse", [STEPS, Given([2, 3], "int32")], LENGTHS, (0,), grad_req="add"),
    *(Call(op, [whole(3, 2, 2, dtype=kind), Given([1, 3], kind)], LENGTHS)
      for op in ("SequenceLast", "SequenceReverse") for kind in KINDS),
    *(Call("SequenceMask", [STEPS, Given(ends)], {**LENGTHS, "axis": axis, "value": -1.5}, (0, 1))
      for axis, ends in ((0, [1, 3]), (1, [1, 2, 0]))),
    Call("SequenceMask", [STEPS], {}, (0,)),
    *(Call("SequenceMask", [whole(3, 2, dtype=kind), Given([1, 3], kind)], LENGTHS)
      for kind in KINDS),
    *(Call("take", [whole(3, 2, dtype=kind), Given([2, 0, 2], kind)], {}, (0,)) for kind in KINDS),
    Call("take", [Array((2, 3, 2)), Given([[2, 0], [1, 2]])], {"axis": -2}, (0,), grad_req="add"),
    Call("take", [A, Given([1, 2])], {"mode": "raise"}, (0,)),
    *(Call("pick", [whole(3, 2, dtype=kind), Given([1, 0, 1], kind)], {}, (0,)) for kind in KINDS),
    Call("pick", [Array((2, 3, 4)), Given([[0, 1, 2, 9]] * 2)], {"axis": -2}, (0,), grad_req="add"),
    Call("pick", [A, Given([1, 0, 2])], {"axis": 1, "keepdims": True}, (0,)),
    Call("choose_element_0index", [A, Given([1, 0, 2])], {}, (0,)),
    *(Call("one_hot", [Given([1, 0, 2], kind)], {"depth": 3, "dtype": kind}) for kind in KINDS),
    Call("one_hot", [Given([[1, 5], [-1, 0]])], {"depth": 2, "on_value": 3, "off_value": -1}, (0,)),
    *(Call("where", [Given([0, 1, 2], kind), whole(3, dtype=kind), whole(3, dtype=kind)], {},
           (1, 2)) for kind in KINDS),
    Call("where", [Given([[0, 1], [-0.5, 0]]), Array((2, 2)), Array((2, 2), seed=1)], {}, (0, 1, 2),
         grad_req="add"),
    *(Call("Embedding", [Given([1, 0, 1], kind), Array((2, 3))],
           {"input_dim": 2, "output_dim": 3}, (1,)) for kind in KINDS),
    Call("Embedding", [Given([1, 0, 1]), Array((2, 3), dtype="float64")],
         {"input_dim": 2, "output_dim": 3, "dtype": "float64"}, (1,), grad_req="add"),
]
