"""Which nodes can be computed as post-ops of the primitive before them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ..op.calibration import SLOW_POST_OPS
from ..op.elementwise import OPERATIONS, Chain, Place, PostOp, X, Y
from ..op.infer import same_shape
from ..ops.fused.elementwise import FusedElementwiseParams
from ..ops.fused.post_ops import FUNCTIONS
from ..symbol.node import Node
from .rewrite import Facts

COMMUTATIVE = frozenset({"add", "mul"})
LONGEST = 8
_SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)
_LARGEST = 1e37  # larger numbers may overflow in float32 arithmetic
# functions whose post-op has another name, or constants of its own
_NAMED: dict[str, Chain] = {
    "softrelu": (PostOp("softrelu", 1.0),), "negative": (PostOp("linear", -1.0, -0.0),),
    "selu": (PostOp("elu", _SELU[0]), PostOp("linear", _SELU[1]))}

# functions whose constants are passed to the post-op
_NUMBERS = {"elu": 1, "swish": 1, "linear": 2, "hardsigmoid": 2, "hardswish": 2}


def chain_of(node: Node) -> Chain:
    """The post-ops equal to an elementwise node of one argument; () for other nodes, and for those
    that are faster on their own."""
    chain = _chain_of(node)
    return () if is_slow(chain) else chain


def is_slow(chain: Sequence[PostOp]) -> bool:
    """A native kernel is faster than oneDNN with one of these post-ops."""
    return any(op.name in SLOW_POST_OPS for op in chain)


def _chain_of(node: Node) -> Chain:
    assert node.op is not None
    assert node.params is not None
    if isinstance(node.params, FusedElementwiseParams):
        return node.params.chain if len(node.inputs) == 1 else ()
    said = node.op.elementwise_of(node.params)
    if said is None or sum(isinstance(arg, Place) for arg in said.args) != 1:
        return ()
    word, args = said
    numbers = [arg for arg in args if not isinstance(arg, Place)]
    if not all(map(isfinite, numbers)):
        return ()
    if word in _NAMED:
        return _NAMED[word]
    if word == "leaky":
        return (PostOp("relu", *numbers),)
    if word == "clip":
        return (PostOp("clip", *numbers),) if numbers[0] <= numbers[1] else ()
    if len(numbers) == 1 and len(args) == 2:
        found = _with_number(word, numbers[0], isinstance(args[1], Place))
        if found is not None:
            return (found,)
    is_known = word in FUNCTIONS and len(numbers) == _NUMBERS.get(word, 0)
    return (PostOp(word, *numbers),) if is_known else ()


def _with_number(word: str, number: float, turned: bool) -> PostOp | None:
    """An operation of an element and a number; `turned`: the number is the left operand."""
    if abs(number) >= _LARGEST:
        return None
    if word == "add":
        return PostOp("linear", 1.0, number)
    if word == "sub":
        return PostOp("linear", -1.0, number) if turned else PostOp("linear", 1.0, -number)
    if word == "mul":
        # adding -0.0 leaves every product as it is, also the sign of a zero
        return PostOp("linear", number, -0.0)
    if turned:
        return None
    if word == "div" and abs(number) > 1 / _LARGEST:
        return PostOp("linear", 1 / number, -0.0)
    return PostOp("square") if word == "power" and number == 2 else None


def binary_of(node: Node, facts: Facts) -> PostOp | None:
    """The post-op that combines two operands as this node does, or None.

    If shapes are inferred from readers, only operands of equal shape are safe.
    """
    assert node.op is not None
    assert node.params is not None
    said = node.op.elementwise_of(node.params)
    if said is None or said.args != (X, Y) or said.word not in OPERATIONS:
        return None
    if not any(facts.is_open(entry) for entry in node.inputs):
        return PostOp(said.word)
    return PostOp(said.word, 1.0) if node.op.infer_shape is same_shape else None


def joined(chain: Sequence[PostOp], more: Sequence[PostOp]) -> list[PostOp]:
    """Concatenates two chains; a factor followed by a shift becomes one linear function."""
    made = list(chain)
    for op in more:
        last = made[-1] if made else None
        if (last is not None and last.name == op.name == "linear" and not last.beta
                and op.alpha == 1.0):
            made[-1] = PostOp("linear", last.alpha, op.beta)
        else:
            made.append(op)
    return made

