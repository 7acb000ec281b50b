"""Which nodes can be done by the primitive before them, and as what post-ops."""

from __future__ import annotations

import math
from typing import Any

from ..ops.fused.post_ops import PostOp
from ..symbol.node import Node

_ACTIVATIONS = {"relu": PostOp("relu"), "sigmoid": PostOp("sigmoid"), "tanh": PostOp("tanh"),
                "softrelu": PostOp("softrelu", 1.0)}
_UNARY = {"relu": PostOp("relu"), "sigmoid": PostOp("sigmoid"), "tanh": PostOp("tanh"),
          "abs": PostOp("abs"), "square": PostOp("square"), "sqrt": PostOp("sqrt"),
          "exp": PostOp("exp"), "negative": PostOp("linear", -1.0, 0.0)}
_BINARY = {"elemwise_add": "add", "broadcast_add": "add", "elemwise_mul": "mul",
           "broadcast_mul": "mul", "elemwise_sub": "sub", "broadcast_sub": "sub",
           "elemwise_div": "div", "broadcast_div": "div"}
COMMUTATIVE = frozenset({"add", "mul"})


def eltwise_of(node: Node) -> PostOp | None:
    """The post-op that does what an elementwise node does, or None."""
    assert node.op is not None
    name, params = node.op.name, node.params
    p: Any = params
    if name == "Activation":
        return _ACTIVATIONS.get(p.act_type)
    if name == "LeakyReLU":
        return {"leaky": PostOp("relu", p.slope), "elu": PostOp("elu", p.slope),
                "gelu": PostOp("gelu")}.get(p.act_type)
    if name == "clip":
        bounded = math.isfinite(p.a_min) and math.isfinite(p.a_max) and p.a_min <= p.a_max
        return PostOp("clip", p.a_min, p.a_max) if bounded else None
    if name in _UNARY:
        return _UNARY[name]
    return _linear_of(name, p)


def _linear_of(name: str, p: Any) -> PostOp | None:
    if not name.endswith("_scalar") or not math.isfinite(p.scalar):
        return None
    scalar = float(p.scalar)
    return {"_plus_scalar": PostOp("linear", 1.0, scalar),
            "_minus_scalar": PostOp("linear", 1.0, -scalar),
            "_rminus_scalar": PostOp("linear", -1.0, scalar),
            "_mul_scalar": PostOp("linear", scalar, 0.0)}.get(name)


def binary_of(node: Node) -> str | None:
    """The name of the post-op that combines two operands as this node does, or None."""
    assert node.op is not None
    return _BINARY.get(node.op.name)
