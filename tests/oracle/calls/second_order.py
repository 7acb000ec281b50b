"""Gradients of gradients, of all operators that have them in MXNet."""

from __future__ import annotations

from ..call import Array, Call, Given

ANY, ABOVE_0, INSIDE = (-2.0, 2.0), (0.3, 3.0), (-0.9, 0.9)
RANGES = {
    ANY: ("sin", "cos", "tan", "sinh", "cosh", "tanh", "arctan", "radians", "relu", "abs",
          "sigmoid", "square", "expm1", "exp"),
    ABOVE_0: ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "rcbrt", "reciprocal"),
    INSIDE: ("arcsin", "arccos", "arctanh"),
}
# tan's second derivative near its poles
ROUNDING = {"tan": 1e-3, "arcsin": 1e-4, "arccos": 1e-4, "arctanh": 1e-4}
SIGN = "MXNet gives it with the wrong sign"

CALLS = [
    *(Call(name, [Array((2, 3), low, high)], grads=(0,), order=2, head_scale=4.0,
           rtol=ROUNDING.get(name, 0.0))
      for (low, high), names in RANGES.items() for name in names),
    *(Call(name, [Array((2, 3), low, high, dtype="float64")], grads=(0,), order=2, head_scale=4.0)
      for (low, high), names in RANGES.items() for name in names
      if name != "radians"),  # MXNet's factor is a float32 there
    *(Call(name, [Array((2, 3), *ANY)], grads=(0,), order=3, head_scale=4.0)
      for name in ("sin", "cos")),
    Call("arcsinh", [Array((2, 3), *ANY)], grads=(0,), order=2, differs=SIGN),
    Call("arccosh", [Array((2, 3), 1.2, 3.0)], grads=(0,), order=2, differs=SIGN),
    Call("sigmoid", [Array((2, 1, 3), *ANY)], grads=(0,), order=2, grad_req="add"),
    Call("tanh", [Array((3,), *ANY, dtype="float16")], grads=(0,), order=2, head_scale=4.0),
    Call("clip", [Array((2, 3), *ANY)], {"a_min": -0.5, "a_max": 1.0}, grads=(0,), order=2),
    Call("Dropout", [Array((2, 3), *ANY)], {"p": 0.5}, grads=(0,), order=2, train=False),
    *(Call("FullyConnected", [Array(shape), Array((4, width), seed=1), Array((4,), seed=2)],
           {"num_hidden": 4, "flatten": flatten}, grads=grads, order=2, head_scale=8.0)
      for shape, width, flatten in (((3, 2), 2, True), ((2, 3, 2), 6, True), ((2, 3, 2), 2, False))
      for grads in ((0, 1), (1, 0))),
    Call("FullyConnected", [Array((3, 2)), Array((1, 2), seed=1)],
         {"num_hidden": 1, "no_bias": True}, grads=(0, 1), order=2, grad_req="add"),
    Call("relu", [Given([-1.0, 0.0, 2.0])], grads=(0,), order=2),
    Call("abs", [Given([-1.0, 0.0, 2.0])], grads=(0,), order=2),
]
