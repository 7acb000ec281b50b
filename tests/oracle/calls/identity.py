"""Operators that give their input, and what becomes of its gradient."""

from __future__ import annotations

from ..call import Array, Call

DATA = Array((2, 3))

CALLS = [
    Call("contrib.gradientmultiplier", [DATA], {"scalar": -1.5}, grads=(0,)),
    Call("identity", [DATA], grads=(0,)),
    Call("BlockGrad", [DATA], grads=(0,)),
    Call("make_loss", [DATA], grads=(0,)),
    Call("zeros_like", [DATA], grads=(0,)),
    Call("ones_like", [DATA], grads=(0,)),
    Call("contrib.isinf", [[1, float("inf"), -float("inf"), float("nan")]]),
    Call("contrib.isnan", [[1, float("inf"), -float("inf"), float("nan")]]),
    Call("contrib.isfinite", [[1, float("inf"), -float("inf"), float("nan")]]),
]
