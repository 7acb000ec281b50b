"""Pooling: kinds, conventions, counts of padding."""

from __future__ import annotations

from typing import Any

from ..call import Array, Call

X1, X2, X3 = Array((2, 4, 9), -1, 1), Array((2, 4, 7, 6), -1, 1), Array((1, 2, 4, 5, 4), -1, 1)
POOLS: list[tuple[Array, dict[str, Any]]] = [
    *((X2, {"kernel": (3, 2), "stride": (2, 2), "pad": (1, 1), "pooling_convention": how})
      for how in ("valid", "full")),
    (X2, {"kernel": (2, 2)}),
    (X2, {"global_pool": True, "kernel": (1, 1)}),
    (X2, {"global_pool": True}),
    (X1, {"kernel": (3,), "stride": (2,), "pad": (1,)}),
    (X3, {"kernel": (2, 3, 2), "stride": (1, 2, 2), "pad": (0, 1, 1)}),
]

CALLS = [
    *(
        Call("Pooling", [data], {"pool_type": kind, **params}, (0,), head_scale=10)
        for data, params in POOLS
        for kind in ("max", "avg", "sum")
    ),
    *(
        Call("Pooling", [X2], {"kernel": (3, 2), "pool_type": "lp", "p_value": p, "stride": (2, 2)},
             (0,), head_scale=10, rtol=1e-3)
        for p in (1, 2, 3)
    ),
    *(
        Call("Pooling", [X2], {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1),
                               "pool_type": "avg", "count_include_pad": count,
                               "pooling_convention": how}, (0,), head_scale=10)
        for count in (True, False)
        for how in ("valid", "full")
    ),
    Call("Pooling", [X2._replace(dtype="float64")], {"kernel": (2, 2), "pool_type": "avg"}, (0,)),
    Call("Pooling", [X2], {"kernel": (2, 2), "pool_type": "max"}, (0,), grad_req="add"),
]
