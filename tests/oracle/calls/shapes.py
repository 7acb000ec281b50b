"""The same elements under other shapes and in other orders, parts and joins, repeated axes."""

from __future__ import annotations

from ..call import Array, Call

A = Array((2, 3, 4))
FOUR = Array((2, 3, 4, 2))
KINDS = ("float64", "float16", "int32", "uint8", "int64")


def whole(*shape: int, dtype: str) -> Array:
    return Array(shape, 0, 9, dtype, whole=True)


CODES = [(4, 6), (0, -1), (-1, 0), (-2,), (-2, 1, 1), (-3, 4), (0, -3), (-4, 1, 2, -2),
         (2, -4, -1, 3, -2), (0, 0, -4, 2, 2), (-1,)]
BACK = [(-1, 0), (0, -1), (0, 0, -1), (-3, 0), (0, -3), (-1, 0, 0), (-2,), (6, -1)]

CALLS = [
    *(Call("reshape", [A], {"shape": codes}, (0,)) for codes in CODES),
    *(Call("reshape", [A], {"shape": codes, "reverse": True}, (0,)) for codes in BACK),
    Call("reshape", [FOUR], {"shape": (-3, -3)}, (0,)),
    Call("reshape", [FOUR], {"shape": (0, -4, 3, 1, -3)}, (0,)),
    Call("Reshape", [A], {"target_shape": (2, 0)}, (0,)),
    Call("Reshape", [A], {"target_shape": (7, 0), "keep_highest": True}, (0,)),
    Call("reshape", [A], {"shape": (4, 6)}, (0,), grad_req="add"),
    *(Call("transpose", [A], params, (0,)) for params in (
        {}, {"axes": (1, 0, 2)}, {"axes": (0, 2, 1)}, {"axes": (2, 0, 1)})),
    Call("transpose", [FOUR], {"axes": (0, 2, 3, 1)}, (0,), grad_req="add"),
    *(Call("SwapAxis", [A], {"dim1": a, "dim2": b}, (0,)) for a, b in ((0, 2), (1, 2), (0, 0))),
    Call("swapaxes", [A], {"dim1": -1, "dim2": 0}, (0,)),
    *(Call("expand_dims", [A], {"axis": axis}, (0,)) for axis in (0, 3, -1, -4)),
    Call("squeeze", [Array((1, 2, 1, 3))], {}, (0,)),
    *(Call("squeeze", [Array((1, 2, 1, 3))], {"axis": axis}, (0,)) for axis in (0, -2, (0, 2))),
    Call("squeeze", [Array((1, 1))], {}, (0,)),
    Call("Flatten", [A], {}, (0,)), Call("flatten", [Array((3,))], {}, (0,)),
    *(Call("concat", [Array((2, 1, 2)), Array((2, 3, 2), seed=1)], {"dim": dim}, (0, 1))
      for dim in (1, -2)),
    Call("Concat", [A, A, A], {"dim": 0}, (0, 1, 2), grad_req="add"), Call("concat", [A], {}, (0,)),
    *(Call("split", [Array((4, 6))], {"num_outputs": n, "axis": axis}, (0,))
      for n, axis in ((2, 0), (3, 1), (2, -1), (1, 1))),
    Call("SliceChannel", [Array((2, 3, 2))], {"num_outputs": 3, "squeeze_axis": True}, (0,)),
    Call("reshape_like", [Array((2, 3, 4)), Array((4, 6))], {}, (0,)),
    Call("reshape_like", [Array((30, 7)), Array((15, 2, 4))],
         {"lhs_begin": 0, "lhs_end": 1, "rhs_begin": 0, "rhs_end": 2}, (0,)),
    Call("broadcast_to", [Array((2, 1, 3))], {"shape": (2, 4, 3)}, (0,)),
    Call("broadcast_to", [Array((1, 3))], {"shape": (5, 0)}, (0,), grad_req="add"),
    Call("broadcast_axis", [Array((1, 2, 1))], {"axis": (0, 2), "size": (3, 2)}, (0,)),
    Call("broadcast_axes", [Array((1, 2))], {"axis": 0, "size": 3}, (0,)),
    Call("broadcast_like", [Array((1, 3, 1)), Array((2, 3, 4))], {}, (0, 1)),
    Call("broadcast_like", [Array((1, 3)), Array((5, 2))], {"lhs_axes": (0,), "rhs_axes": (-1,)},
         (0, 1)),
    *(Call("slice", [A], params, (0,)) for params in (
        {"begin": (0, 1), "end": (2, 3)}, {"begin": (None, -2), "end": (None, None)},
        {"begin": (0, None, 3), "end": (1, None, 0), "step": (1, 2, -2)}, {"begin": 1, "end": 9},
        {"begin": (None, -1), "end": (None, -4), "step": (None, -2)})),
    Call("slice", [A], {"begin": (0, 1), "end": (2, 3)}, (0,), grad_req="add"),
    *(Call("slice_axis", [A], {"axis": axis, "begin": begin, "end": end}, (0,))
      for axis, begin, end in ((0, 1, 2), (-1, -3, None), (1, 0, -1))),
    Call("slice_like", [A, Array((1, 2, 3))], {}, (0, 1)),
    Call("slice_like", [A, Array((1, 2))], {"axes": (0, 1)}, (0,)),
    *(Call(op, [whole(2, 3, 4, dtype=kind)], params, (0,)) for kind in KINDS for op, params in (
        ("reshape", {"shape": (0, -1)}), ("transpose", {"axes": (2, 0, 1)}),
        ("slice", {"begin": (0, 1), "end": (2, 3)}), ("slice_axis", {"axis": 1, "begin": 1,
                                                                    "end": 3}),
        ("expand_dims", {"axis": 1}), ("SwapAxis", {"dim1": 0, "dim2": 2}))),
    *(Call("concat", [whole(2, 3, dtype=kind)] * 2, {"dim": 1}, (0, 1)) for kind in KINDS),
    *(Call("split", [whole(2, 4, dtype=kind)], {"num_outputs": 2}, (0,)) for kind in KINDS),
    *(Call("broadcast_to", [whole(1, 3, dtype=kind)], {"shape": (2, 3)}) for kind in KINDS),
    *(Call("_internal._arange", [], params) for params in (
        {"start": 5}, {"start": 0.5, "stop": 5.5, "step": 1.5, "dtype": "int32"},
        {"start": 5, "stop": 0, "step": -2, "repeat": 2}, {"start": 1, "stop": 2, "step": 0.1,
                                                          "dtype": "float64"})),
    *(Call("_internal._linspace", [], params) for params in (
        {"start": 0, "stop": 1, "num": 5}, {"start": 1, "stop": -1, "num": 4, "endpoint": False},
        {"start": 0, "stop": 10, "num": 4, "dtype": "int32"}, {"start": 2, "stop": 9, "num": 1},
        {"start": 0, "stop": 1, "num": 7, "dtype": "float64"})),
    *(Call("_internal._eye", [], {"N": 3, "M": 4, "k": k, "dtype": kind})
      for k, kind in ((0, "float32"), (2, "float64"), (-1, "int32"))),
    *(Call("_internal._full", [], {"shape": (2, 3), "value": 2.5, "dtype": kind})
      for kind in ("float32", "float64", "float16", "int32", "uint8")),
    Call("_internal._zeros", [], {"shape": (2, 3), "dtype": "int64"}),
    Call("_internal._ones", [], {"shape": (2,)}),
]
