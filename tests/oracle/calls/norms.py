"""GroupNorm, InstanceNorm, LayerNorm, BatchNorm, L2Normalization, LRN."""

from __future__ import annotations

from typing import Any

from ..call import Array, Call

X = Array((2, 4, 3, 2), -2, 2)
SEQUENCE = Array((3, 2, 5), -2, 2, seed=1)


def vectors(size: int, dtype: str = "float32") -> list[Any]:
    """gamma and beta."""
    return [Array((size,), 0.5, 1.5, dtype, seed=7), Array((size,), -1, 1, dtype, seed=8)]


def moving(size: int, dtype: str = "float32") -> list[Any]:
    """The moving mean and variance."""
    return [Array((size,), -1, 1, dtype, seed=9), Array((size,), 0.5, 2, dtype, seed=10)]


def of(dtype: str, array: Array = X) -> Array:
    return array._replace(dtype=dtype)


BATCH: list[dict[str, Any]] = [
    {},
    {"fix_gamma": False},
    {"fix_gamma": False, "eps": 0.1, "momentum": 0.5},
    {"fix_gamma": False, "use_global_stats": True},
    {"fix_gamma": False, "output_mean_var": True},
]

CALLS = [
    *(
        Call("GroupNorm", [X, *vectors(groups)], {"num_groups": groups}, (0, 1, 2), head_scale=10)
        for groups in (1, 2, 4)
    ),
    Call(
        "GroupNorm",
        [SEQUENCE, *vectors(2)],
        {"num_groups": 2, "eps": 0.1, "output_mean_var": True},
        (0, 1, 2),
        head_scale=10,
    ),
    Call(
        "GroupNorm",
        [of("float64"), *vectors(2, "float64")],
        {"num_groups": 2},
        (0, 1, 2),
        head_scale=10,
    ),
    Call("GroupNorm", [X, *vectors(2)], {"num_groups": 2}, (0, 1, 2), grad_req="add"),
    Call("InstanceNorm", [X, *vectors(4)], {}, (0, 1, 2), head_scale=10),
    Call("InstanceNorm", [SEQUENCE, *vectors(2)], {"eps": 0.5}, (0, 1, 2), head_scale=10),
    Call("InstanceNorm", [Array((2, 3, 2, 2, 2)), *vectors(3)], {}, (0, 1, 2), head_scale=10),
    *(
        Call("L2Normalization", [data], {"mode": mode}, (0,), head_scale=10)
        for data in (X, SEQUENCE)
        for mode in ("instance", "channel", "spatial")
    ),
    Call("L2Normalization", [Array((3, 4))], {"eps": 0.5}, (0,)),
    Call("L2Normalization", [of("float64")], {"mode": "channel"}, (0,)),
    Call("L2Normalization", [of("float16")], {}, (0,), head_scale=50),
    Call("L2Normalization", [X], {"mode": "spatial"}, (0,), grad_req="add", head_scale=10),
    *(
        Call("LayerNorm", [SEQUENCE, *vectors(size)], {"axis": axis}, (0, 1, 2), head_scale=10)
        for axis, size in ((-1, 5), (0, 3), (1, 2), (-2, 2), (2, 5))
    ),
    Call("LayerNorm", [X, *vectors(2)], {"eps": 0.1, "output_mean_var": True}, (0, 1, 2)),
    Call("LayerNorm", [of("float64"), *vectors(2, "float64")], {}, (0, 1, 2)),
    Call("LayerNorm", [of("float16", SEQUENCE), *vectors(5, "float16")], {}, (0,), head_scale=30),
    Call("LayerNorm", [SEQUENCE, *vectors(5)], {}, (0, 1, 2), grad_req="add", head_scale=10),
    *(
        Call("BatchNorm", [X, *vectors(4), *moving(4)], params, (0, 1, 2), (3, 4), train,
             head_scale=10)
        for params in BATCH
        for train in (True, False)
    ),
    Call("BatchNorm", [SEQUENCE, *vectors(5), *moving(5)], {"axis": -1, "fix_gamma": False},
         (0, 1, 2), (3, 4), head_scale=10),
    Call("BatchNorm", [Array((4, 3)), *vectors(3), *moving(3)], {"fix_gamma": False}, (0, 1, 2),
         (3, 4), head_scale=10),
    Call("BatchNorm", [of("float64"), *vectors(4, "float64"), *moving(4, "float64")],
         {"fix_gamma": False}, (0, 1, 2), (3, 4), head_scale=10),
    # MXNet's variance of float16 is wrong in the fifth digit
    Call("BatchNorm", [of("float16"), *vectors(4), *moving(4)], {"fix_gamma": False}, (0, 1, 2),
         (3, 4), head_scale=100, atol=3e-4),
    Call("BatchNorm", [X, *vectors(4), *moving(4)], {"fix_gamma": False}, (0, 1, 2), (3, 4),
         head_scale=10, grad_req="add"),
    *(
        # a backward behind inference reads in MXNet what no forward has written
        Call("contrib.BatchNormWithReLU", [X, *vectors(4), *moving(4)], params,
             (0, 1, 2) if train else (), (3, 4), train, head_scale=10)
        for params in BATCH
        for train in (True, False)
    ),
    *(
        Call("LRN", [Array((2, 6, 3, 2), -3, 3)], params, (0,), head_scale=10)
        for params in (
            {"nsize": 3},
            {"nsize": 5, "alpha": 0.1, "beta": 0.5, "knorm": 1.0},
            {"nsize": 1, "alpha": 0.5},
        )
    ),
]
