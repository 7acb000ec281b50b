"""Matrix products."""

from __future__ import annotations

from ..call import Call
from ..table import Refused, exports


def _turned(c: Call, x: str, rank: int) -> str:
    return c.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


@exports("dot")
def dot(c: Call) -> str:
    a, b = c.inputs
    ranks = c.rank(0), c.rank(1)
    if ranks[1] == 1 and ranks[0] == 2 and c.p.transpose_a:
        # ONNX Runtime computes the product of a transposed matrix and a vector wrongly
        return c.op("MatMul", b, a)
    if c.p.transpose_a and ranks[0] > 1:
        if ranks[0] != 2:
            raise Refused(f"transpose_a of rank {ranks[0]}")
        a = _turned(c, a, 2)
    if c.p.transpose_b and ranks[1] > 1:
        if ranks[1] != 2:
            raise Refused(f"transpose_b of rank {ranks[1]}")
        b = _turned(c, b, 2)
    if ranks[1] > 2:
        # the first axis of b is summed over
        before = c.shape(1)
        inner = c.fixed(before[:1], "the first axis of rhs")[0]
        made = c.op("MatMul", a, c.op("Reshape", b, c.ints(inner, -1)))
        return c.op("Reshape", made, c.sizes(c.out_shape(), (c.input(0), c.shape(0)),
                                             (c.input(1), before)))
    made = c.op("MatMul", a, b)
    return c.op("Reshape", made, c.ints(1)) if ranks == (1, 1) else made


@exports("batch_dot")
def batch_dot(c: Call) -> str:
    a, b = c.inputs
    return c.op("MatMul", _turned(c, a, c.rank(0)) if c.p.transpose_a else a,
                _turned(c, b, c.rank(1)) if c.p.transpose_b else b)


@exports("_linalg_gemm2", "_linalg_gemm")
def gemm(c: Call) -> str:
    order = _rows_last_but_one(c.p.axis % c.rank(), c.rank())
    a, b = (c.transpose(c.input(i), order) for i in range(2))
    made = c.op("MatMul", _turned(c, a, c.rank(0)) if c.p.transpose_a else a,
                _turned(c, b, c.rank(1)) if c.p.transpose_b else b)
    made = c.transpose(made, [order.index(axis) for axis in range(c.rank())])
    if c.p.alpha != 1.0:
        made = c.op("Mul", made, c.number(c.p.alpha))
    if c.operator == "_linalg_gemm2":
        return made
    added = c.input(2) if c.p.beta == 1.0 else c.op("Mul", c.input(2), c.number(c.p.beta))
    return c.op("Add", made, added)


def _rows_last_but_one(axis: int, rank: int) -> list[int]:
    """The order of axes in which rows lie where ONNX has them; columns are the last axis."""
    rest = [other for other in range(rank) if other != axis]
    return [*rest[:-1], axis, *rest[-1:]]


@exports("_linalg_syrk")
def syrk(c: Call) -> str:
    a = c.input(0)
    turned = _turned(c, a, c.rank())
    made = c.op("MatMul", *((turned, a) if c.p.transpose else (a, turned)))
    return made if c.p.alpha == 1.0 else c.op("Mul", made, c.number(c.p.alpha))
