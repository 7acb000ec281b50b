"""Attention on projections that are kept together: (steps, batch, heads * parts * size)."""

from __future__ import annotations

from ..call import Call
from ..table import Refused, exports


def _part(c: Call, i: int, parts: int, part: int) -> str:
    """Queries, keys or values: (batch, heads, steps, size)."""
    heads = c.p.heads
    size, left = divmod(c.fixed(c.shape(i)[2:], "the projection")[0], heads * parts)
    if left:
        raise Refused(f"a projection of another width than {parts} * heads * size")
    made = c.op("Reshape", c.input(i), c.ints(0, 0, heads, parts, size))
    if parts > 1:
        made = c.slice(made, [3], [part], [part + 1])
    return c.op("Transpose", c.squeeze(made, 3), perm=[1, 2, 0, 3])


def _scores(c: Call, queries: str, keys: str, size: int) -> str:
    scaled = c.op("Mul", queries, c.number(size ** -0.5))
    made = c.op("MatMul", scaled, c.transpose(keys, (0, 1, 3, 2)))
    # batch and heads become one axis
    after = c.out_shape()
    batch = c.shape()[1]
    return c.reshape(made, (batch, c.p.heads, *after[1:]), after)


def _mixed(c: Call, values: str, attention: int) -> str:
    scores = c.shape(attention)
    batch = c.shape()[1]
    weights = c.reshape(c.input(attention), scores, (batch, c.p.heads, *scores[1:]))
    made = c.op("Transpose", c.op("MatMul", weights, values), perm=[2, 0, 1, 3])
    return c.op("Reshape", made, c.ints(0, 0, -1))


@exports("_contrib_interleaved_matmul_selfatt_qk")
def self_scores(c: Call) -> str:
    size = c.fixed(c.shape()[2:], "the projection")[0] // (3 * c.p.heads)
    return _scores(c, _part(c, 0, 3, 0), _part(c, 0, 3, 1), size)


@exports("_contrib_interleaved_matmul_selfatt_valatt")
def self_values(c: Call) -> str:
    return _mixed(c, _part(c, 0, 3, 2), 1)


@exports("_contrib_interleaved_matmul_encdec_qk")
def other_scores(c: Call) -> str:
    size = c.fixed(c.shape()[2:], "the projection")[0] // c.p.heads
    return _scores(c, _part(c, 0, 1, 0), _part(c, 1, 2, 0), size)


@exports("_contrib_interleaved_matmul_encdec_valatt")
def other_values(c: Call) -> str:
    return _mixed(c, _part(c, 0, 2, 1), 1)
