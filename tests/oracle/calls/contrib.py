"""Operators of contrib that stand alone, and forms of others for sparse arrays, of dense ones."""

from __future__ import annotations

from ..call import Array, Call, Given

X = Array((3, 4), -3, 3)
MARKS = Given([[0, 1, 1, 0, 1], [1, 1, 0, 1, 0]], "int32")
RATES = [Array((2, 2), 0.5, 2), Array((2,), 0.2, 0.6, seed=1), Array((2,), 0.5, 1.5, seed=2),
         Array((2, 2), 0, 1, seed=3), Array((2, 5), 0.1, 1, seed=4), MARKS, Given([5, 3]),
         Given([6, 7])]

CALLS = [
    *(Call(f"contrib.{name}_ste", [given], {}, (0,)) for name in ("round", "sign")
      for given in (X, Array((3, 4), -3, 3, "float64"), Array((5,), -3, 3, "float16"),
                    Given([-2.5, -0.5, 0, 0.5, 1.5]))),
    *(Call(f"contrib.{name}_ste", [Given([-2, 0, 3], "int32")]) for name in ("round", "sign")),
    Call("contrib.hawkesll", RATES, rtol=1e-4),
    Call("contrib.SparseEmbedding", [Given([0, 2, 1, 2]), Array((3, 2))],
         {"input_dim": 3, "output_dim": 2}),
    Call("contrib.SparseEmbedding", [Given([-1, 1.9, 5]), Array((3, 2))],
         {"input_dim": 3, "output_dim": 2}),
    Call("cast_storage", [X], {"stype": "default"}, (0,)),
    Call("_internal._scatter_plus_scalar", [X], {"scalar": 1.5}, (0,)),
    Call("_internal._scatter_minus_scalar", [X], {"scalar": 1.5}, (0,)),
    Call("_internal._scatter_elemwise_div", [X, Array((3, 4), 0.2, 1, seed=1)], {}, (0, 1)),
    Call("_internal._onehot_encode", [Given([1, 0, 7]), Array((3, 4))]),
]
