"""Gradients of integers: slopes are cut to whole numbers before they are multiplied."""

from __future__ import annotations

from ..call import Call, Given

A = Given([5, 7, 3, 2], "int32")
B = Given([1, 2, 3, 2], "int32")

CALLS = [
    *(Call(f"broadcast_{name}", [A, B], grads=(0, 1))
      for name in ("add", "sub", "mul", "mod", "power", "maximum", "minimum", "hypot")),
    *(Call(f"_internal.{name}_scalar", [A], {"scalar": 3}, grads=(0,))
      for name in ("_plus", "_mul", "_mod", "_rmod", "_maximum", "_minimum", "_power")),
    *(Call(name, [A], grads=(0,)) for name in ("square", "abs", "negative", "relu")),
    Call("broadcast_mod", [Given([5, -7, 3, 0], "int32"), Given([0, 0, 2, 0], "int32")],
         grads=(0, 1)),
]
