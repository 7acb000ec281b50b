"""topk, sort, argsort: what is returned, axes, dtypes, gradients. Ties only in short rows."""

from __future__ import annotations

from ..call import Array, Call, Given

A = Given([[3, 1, 2, 3.5], [1, 1, 5, 5]])
LONG = Array((2, 3, 30), -5, 5)
KINDS = ("float64", "int32", "int64", "uint8", "int8")

CALLS = [
    *(Call("topk", [A], {"k": 2, "ret_typ": kind, **more}, (0,))
      for kind in ("indices", "value", "both", "mask")
      for more in ({}, {"is_ascend": True}, {"axis": 0, "k": 1}, {"axis": None, "k": 3},
                   {"k": 0})),
    *(Call("topk", [LONG], {"k": 7, "axis": axis, "ret_typ": "both", "is_ascend": up}, (0,))
      for axis in (-1, 2) for up in (False, True)),
    Call("topk", [LONG], {"k": 2, "axis": 1, "ret_typ": "value"}, (0,)),
    Call("topk", [LONG], {"k": 2, "axis": -3, "ret_typ": "mask"}, (0,)),
    Call("topk", [LONG], {"k": 2, "ret_typ": "value"}, (0,), grad_req="add"),
    Call("topk", [A], {"k": -1}),
    *(Call("topk", [LONG], {"k": 3, "dtype": kind})
      for kind in ("uint8", "int32", "int64", "float16", "float64")),
    Call("topk", [Array((256,))], {"dtype": "uint8"}),
    *(Call("topk", [Given(A.values, kind)], {"k": 2, "ret_typ": "both"}, (0,))
      for kind in (*KINDS, "float16")),
    *(Call(op, [LONG], {"axis": axis, "is_ascend": up}, (0,)) for op in ("sort", "argsort")
      for axis in (-1, 0, 1, None) for up in (True, False)),
    *(Call(op, [Given(A.values, kind)], {}) for op in ("sort", "argsort") for kind in KINDS),
    *(Call("sort", [Array((3, 5), dtype=kind)], {"axis": 0}, (0,)) for kind in ("float64",)),
    *(Call("argsort", [A], {"dtype": kind, "is_ascend": False})
      for kind in ("uint8", "int32", "int64", "float16", "float64")),
    Call("argsort", [[0.0, -0.0, 0.0, -0.0]]),
]
