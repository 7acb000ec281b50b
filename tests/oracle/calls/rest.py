"""What no other family has."""

from __future__ import annotations

from ..call import Array, Call

IMAGES = Array((1, 2, 5, 5))

CALLS = [
    Call("_internal._mod", [Array((2, 3), seed=1), Array((2, 3), low=0.2, seed=2)], grads=(0, 1)),
    # MXNet's own fails for float16 on CPUs
    Call("amp_multicast", [Array((2,)), Array((3,), seed=1)], {"num_outputs": 2}, grads=(0, 1)),
    Call("Pooling_v1", [IMAGES], {"kernel": (2, 2), "pool_type": "max"}, grads=(0,)),
    Call("Pooling_v1", [IMAGES], {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1),
                                  "pool_type": "avg"}, grads=(0,)),
    Call("Pooling_v1", [IMAGES], {"kernel": (2, 2), "stride": (2, 2), "pool_type": "sum",
                                  "pooling_convention": "full"}, grads=(0,)),
]
