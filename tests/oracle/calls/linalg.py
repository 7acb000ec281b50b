"""Linear algebra: all attributes, batches, gradients, what is not read, singular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..call import Array, Call, Given


def full(dtype: str, *shape: int, seed: int = 0) -> Array:
    return Array(shape, -1.0, 1.0, dtype, seed)


def definite(dtype: str, *shape: int) -> Given:
    """Symmetric, positive definite, with eigenvalues well apart."""
    n = shape[-1]
    a = np.random.RandomState(sum(shape)).uniform(-1, 1, shape)
    made = np.matmul(a, np.swapaxes(a, -1, -2)) + np.diag(np.arange(1, n + 1) * 0.7)
    return Given(made.round(3).tolist(), dtype)


def skewed(dtype: str, *shape: int) -> Given:
    """The same with other numbers in the upper triangle, which are not read."""
    made = definite(dtype, *shape).make()
    return Given((made + np.triu(np.ones_like(made), 1)).round(3).tolist(), dtype)


def triangle(dtype: str, *shape: int) -> Given:
    """With a diagonal away from 0; the other triangle has numbers, too."""
    a = np.random.RandomState(sum(shape) + 1).uniform(-1, 1, shape)
    return Given((a + 2 * np.eye(shape[-1])).round(3).tolist(), dtype)


BOTH = ("float32", "float64")
SIZES = {"float32": ((3, 3), (2, 4, 4)), "float64": ((2, 2, 3, 3), (1, 1))}
NO_ADD = "MXNet does not add here"
FLAGS = [{"transpose": t, "rightside": r, "lower": low, "alpha": 1.5}
         for t in (False, True) for r in (False, True) for low in (False, True)]
SINGULAR = [[1, 1], [1, 1]]


def by_matrix(name: str, make: Any, head_scale: float = 8.0) -> list[Call]:
    return [Call(f"linalg.{name}", [make(dtype, *shape)], {}, (0,), head_scale=head_scale)
            for dtype in BOTH for shape in SIZES[dtype]]


CALLS = [
    Call("linalg.gemm", [full("float32", 2, 3), full("float32", 3, 4), full("float32", 2, 4)],
         {}, (0, 1, 2)),
    *(Call("linalg.gemm", [full(dtype, 2, *((4, 3) if ta else (3, 4))),
                           full(dtype, 2, *((5, 4) if tb else (4, 5)), seed=1),
                           full(dtype, 2, 3, 5, seed=2)],
           {"transpose_a": ta, "transpose_b": tb, "alpha": 2.0, "beta": beta}, (0, 1, 2))
      for dtype in BOTH for ta, tb, beta in ((False, True, 0.5), (True, False, 2.0),
                                             (True, True, 0.0), (False, False, -1.0))),
    Call("linalg.gemm", [full("float32", 3, 2, 4), full("float32", 4, 2, 5),
                         full("float32", 3, 2, 5)], {"axis": 0, "beta": 3.0}, (0, 1, 2)),
    Call("linalg.gemm", [full("float64", 2, 3, 2, 4), full("float64", 2, 4, 2, 5),
                         full("float64", 2, 3, 2, 5)], {"axis": -3}, (0, 1, 2)),
    Call("linalg.gemm", [full("float32", 2, 3), full("float32", 3, 4), full("float32", 2, 4)],
         {"beta": 0.5}, (2,), grad_req="add", differs=NO_ADD),
    *(Call("linalg.gemm2", [full("float64", 2, *((4, 3) if ta else (3, 4))),
                            full("float64", 2, *((5, 4) if tb else (4, 5)), seed=1)],
           {"transpose_a": ta, "transpose_b": tb, "alpha": 0.5}, (0, 1))
      for ta in (False, True) for tb in (False, True)),
    *(Call("linalg.trmm", [triangle(dtype, *batch, 3, 3),
                           full(dtype, *batch, *((4, 3) if flags["rightside"] else (3, 4)))],
           flags, (0, 1)) for dtype, batch in (("float32", (2,)), ("float64", ()))
      for flags in FLAGS),
    *(Call("linalg.trsm", [triangle(dtype, *batch, 3, 3),
                           full(dtype, *batch, *((4, 3) if flags["rightside"] else (3, 4)))],
           flags, (0, 1))
      for dtype, batch in (("float32", (2,)), ("float64", ())) for flags in FLAGS),
    Call("linalg.trsm", [[[2, 9], [0, 0]], [[1, 2, 3], [4, 5, 6]]]),
    *(Call("linalg.syrk", [full(dtype, *shape)], {"transpose": turned, "alpha": alpha}, (0,))
      for dtype, shape, alpha in (("float32", (2, 3), 1.0), ("float64", (2, 4, 3), -2.0))
      for turned in (False, True)),
    *by_matrix("potrf", skewed),
    *by_matrix("potri", triangle),
    *(Call("linalg.potrf", [skewed(dtype, 2, 3, 3)], {"lower": False}, (0,), head_scale=8.0)
      for dtype in BOTH),
    *(Call("linalg.potri", [triangle(dtype, 2, 3, 3)], {"lower": False}, (0,), head_scale=8.0)
      for dtype in BOTH),
    *by_matrix("syevd", skewed),
    Call("linalg.syevd", [[[1, 0], [0, 1]]]),
    Call("linalg.syevd", [[[2, 0], [0, 1]]], {}, (0,)),
    *by_matrix("inverse", triangle),
    *by_matrix("det", triangle),
    *by_matrix("slogdet", triangle),
    *by_matrix("sumlogdiag", triangle),
    Call("linalg.det", [[SINGULAR, [[1, 2], [3, 4]]]], {}, (0,),
         differs="MXNet gives zeros as the gradient of singular matrices"),
    Call("linalg.slogdet", [[SINGULAR, [[1, 2], [4, 3]]]], {}, (0,)),
    Call("linalg.sumlogdiag", [[[-2, 9], [1, 3]]]),
    Call("linalg.inverse", [triangle("float32", 3, 3)], {}, (0,), grad_req="add",
         differs=NO_ADD),
    *(Call("linalg.gelqf", [full(dtype, *shape)], {}, (0,), head_scale=8.0)
      for dtype, shape in (("float32", (2, 3)), ("float64", (2, 3, 5)), ("float32", (3, 3)),
                           ("float64", (1, 4)))),
    *(Call(f"linalg.{name}", [full(dtype, *shape)], {"offset": offset}, (0,))
      for name in ("extractdiag", "makediag") for offset in (0, 1, -2)
      for dtype, shape in (("float32", (4, 4)), ("float64", (2, 3, 3)))),
    *(Call("linalg.extracttrian", [full("float32", *shape)], {"offset": offset, "lower": lower},
           (0,)) for offset in (0, 1, -2) for lower in (False, True)
      for shape in ((4, 4), (2, 3, 3))),
    *(Call("linalg.maketrian", [full("float64", *shape)], {"offset": offset, "lower": lower}, (0,))
      for offset in (0, 1, -2) for lower in (False, True) for shape in ((6,), (2, 3))),
    *(Call(f"linalg_{name}", [definite("float64", 2, 2)])
      for name in ("potrf", "potri", "inverse", "det", "slogdet", "sumlogdiag", "extractdiag")),
    Call("linalg.det", [[SINGULAR, [[1, 2], [3, 4]]]]),
]
