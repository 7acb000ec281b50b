"""Slopes at NaN: where MXNet's are NaN, and where they are 0."""

from __future__ import annotations

from ..call import Call, Given

NAN, INF = float("nan"), float("inf")
HOLES = [[NAN, 2, INF, -1], [0, NAN, -INF, 3]]

CALLS = [Call("relu", [Given(HOLES, dtype)], {}, (0,))
         for dtype in ("float32", "float64", "float16")]
CALLS += [Call("relu", [Given(HOLES)], {}, (0,), grad_req="add")]
CALLS += [Call("abs", [Given(HOLES, dtype)], {}, (0,)) for dtype in ("float64", "float16")]
CALLS += [Call("Activation", [Given(HOLES, "float64")], {"act_type": "relu"}, (0,)),
          Call("Activation", [Given(HOLES, "float16")], {"act_type": "relu"}, (0,),
               differs="16 bits are computed in float32, where NaN becomes 0")]
