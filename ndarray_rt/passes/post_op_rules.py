"""Which nodes can be done by the primitive before them, and as what post-ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..ops.fused.post_ops import Chain, PostOp, parse_chain
from ..symbol.node import Node
from .rewrite import Facts

_ACTIVATIONS = {"relu": PostOp("relu"), "sigmoid": PostOp("sigmoid"), "tanh": PostOp("tanh"),
                "softrelu": PostOp("softrelu", 1.0)}
# not exp: oneDNN's makes infinity of NaN
_UNARY = {"relu": PostOp("relu"), "sigmoid": PostOp("sigmoid"), "tanh": PostOp("tanh"),
          "abs": PostOp("abs"), "square": PostOp("square"), "sqrt": PostOp("sqrt"),
          "negative": PostOp("linear", -1.0, -0.0)}
_BINARY = {"elemwise_add": "add", "broadcast_add": "add", "elemwise_mul": "mul",
           "broadcast_mul": "mul", "elemwise_sub": "sub", "broadcast_sub": "sub",
           "elemwise_div": "div", "broadcast_div": "div"}
COMMUTATIVE = frozenset({"add", "mul"})
LONGEST = 8
_SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)
_LARGEST = 1e37  # numbers beyond it are not what they say in float32


def chain_of(node: Node) -> Chain:
    """The post-ops that do what an elementwise node of one argument does; () for other nodes."""
    assert node.op is not None
    name = node.op.name
    p: Any = node.params
    if name == "_fused_elementwise":
        return parse_chain(p.post_ops) if len(node.inputs) == 1 else ()
    if name == "LeakyReLU" and p.act_type == "selu":
        return PostOp("elu", _SELU[0]), PostOp("linear", _SELU[1])
    one = _eltwise(name, p)
    return () if one is None else (one,)


def _eltwise(name: str, p: Any) -> PostOp | None:
    if name == "Activation":
        return _ACTIVATIONS.get(p.act_type)
    if name == "LeakyReLU":
        return {"leaky": PostOp("relu", p.slope), "elu": PostOp("elu", p.slope),
                "gelu": PostOp("gelu"), "rrelu": PostOp("relu", p.mean_slope),
                }.get(p.act_type)
    if name == "clip":
        bounded = math.isfinite(p.a_min) and math.isfinite(p.a_max) and p.a_min <= p.a_max
        return PostOp("clip", p.a_min, p.a_max) if bounded else None
    if name == "hard_sigmoid":
        return PostOp("hardsigmoid", p.alpha, p.beta)
    if name in _UNARY:
        return _UNARY[name]
    return _linear_of(name, p)


def _linear_of(name: str, p: Any) -> PostOp | None:
    if not name.endswith("_scalar") or not abs(p.scalar) < _LARGEST:
        return None
    scalar = float(p.scalar)
    if name == "_div_scalar":
        return PostOp("linear", 1 / scalar, -0.0) if abs(scalar) > 1 / _LARGEST else None
    if name == "_power_scalar":
        return PostOp("square") if scalar == 2 else None
    return {"_plus_scalar": PostOp("linear", 1.0, scalar),
            "_minus_scalar": PostOp("linear", 1.0, -scalar),
            "_rminus_scalar": PostOp("linear", -1.0, scalar),
            # a product plus -0.0 is the product, whatever the sign of its zero
            "_mul_scalar": PostOp("linear", scalar, -0.0)}.get(name)


def binary_of(node: Node, facts: Facts) -> PostOp | None:
    """The post-op that combines two operands as this node does, or None.

    Where shapes follow from readers only operands of one shape can be told from each other.
    """
    assert node.op is not None
    name = _BINARY.get(node.op.name)
    if name is None or not any(facts.is_open(entry) for entry in node.inputs):
        return None if name is None else PostOp(name)
    return PostOp(name, 1.0) if node.op.name.startswith("elemwise") else None


def joined(chain: Sequence[PostOp], more: Sequence[PostOp]) -> list[PostOp]:
    """One chain after the other; a shift after a factor is one function with it."""
    made = list(chain)
    for op in more:
        last = made[-1] if made else None
        if (last is not None and last.name == op.name == "linear" and not last.beta
                and op.alpha == 1.0):
            made[-1] = PostOp("linear", last.alpha, op.beta)
        else:
            made.append(op)
    return made


def takes_operand(layer: str, params: Any, out: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """oneDNN has code for an operand of this shape behind a layer; `shape` broadcasts to `out`."""
    if len(shape) != len(out) or any(a not in (1, b) for a, b in zip(shape, out, strict=True)):
        return False
    is_row = all(dim == 1 for dim in shape[:-1])
    if layer in ("_fused_Convolution", "_fused_Deconvolution"):
        return shape == out or all(dim == 1 for i, dim in enumerate(shape) if i != 1)
    if layer == "_fused_FullyConnected":
        return shape == out or (is_row and shape[-1] == out[-1])
    if layer == "_fused_dot":
        return len(out) == 2 and (shape == out or is_row)
    if layer == "_fused_batch_dot":
        if len(out) != 3 or params.join:
            return False
        column = shape[0] == out[0] and shape[1] == 1 and shape[2] == out[2]
        return shape == out or is_row or (column and not params.heads)
    return False
