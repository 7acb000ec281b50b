"""Normalisations."""

from __future__ import annotations

import numpy as np

from ..call import Call
from ..dims import Dim
from ..table import Refused, exports


@exports("BatchNorm", "_contrib_SyncBatchNorm", "_contrib_BatchNormWithReLU")
def batch_norm(c: Call) -> str:
    x, gamma, *rest = c.inputs
    axis, rank = getattr(c.p, "axis", 1) % c.rank(), c.rank()
    if c.p.fix_gamma:
        gamma = c.const(np.ones(c.fixed(c.shape(1), "gamma"), c.dtype(1)))
    order = [0, axis, *(i for i in range(1, rank) if i != axis)] if axis else [0]
    if not axis:
        raise Refused("axis 0: ONNX normalizes along axis 1")
    made = c.op("BatchNormalization", c.transpose(x, order), gamma, *rest, epsilon=c.p.eps)
    made = c.transpose(made, [order.index(i) for i in range(rank)])
    return c.op("Relu", made) if c.operator == "_contrib_BatchNormWithReLU" else made


@exports("LayerNorm")
def layer_norm(c: Call) -> str:
    axis, rank = c.p.axis % c.rank(), c.rank()
    x, gamma, beta = c.inputs
    if axis == rank - 1 and c.opset >= 17:
        return c.op("LayerNormalization", x, gamma, beta, axis=-1, epsilon=c.p.eps)
    away = c.op("Sub", x, c.reduce("ReduceMean", x, [axis], True))
    spread = c.reduce("ReduceMean", c.op("Mul", away, away), [axis], True)
    made = c.op("Div", away, c.op("Sqrt", c.op("Add", spread, c.number(c.p.eps))))
    if axis != rank - 1:
        gamma, beta = (c.reshape(v, c.shape(1), (*c.shape(1), *(1,) * (rank - 1 - axis)))
                       for v in (gamma, beta))
    return c.op("Add", c.op("Mul", made, gamma), beta)


@exports("InstanceNorm")
def instance_norm(c: Call) -> str:
    return c.op("InstanceNormalization", *c.inputs, epsilon=c.p.eps)


@exports("GroupNorm")
def group_norm(c: Call) -> str:
    x, gamma, beta = c.inputs
    shape, groups = c.shape(), c.p.num_groups
    batch = shape[0]
    ones, zeros = (c.const(np.full(groups, value, c.dtype())) for value in (1, 0))
    grouped = c.op("Reshape", x, c.ints(0, groups, -1))
    made = c.op("InstanceNormalization", grouped, ones, zeros, epsilon=c.p.eps)
    channels = c.fixed(shape[1:2], "the number of channels")[0]
    # gamma and beta have a number for each group
    made = c.op("Reshape", made, c.sizes((batch, groups, channels // groups, *shape[2:]),
                                         (x, shape)))
    view = (groups, *(1,) * (len(shape) - 1))
    made = c.op("Mul", made, c.reshape(gamma, c.shape(1), view))
    made = c.op("Add", made, c.reshape(beta, c.shape(2), view))
    return c.op("Reshape", made, c.sizes(shape, (x, shape)))


@exports("L2Normalization")
def l2_normalization(c: Call) -> str:
    x, rank = c.input(0), c.rank()
    axes = {"instance": list(range(1, rank)), "channel": [1],
            "spatial": list(range(2, rank))}[c.p.mode]
    square = c.op("Mul", x, x)
    total = c.reduce("ReduceSum", square, axes, True) if axes else square
    return c.op("Div", x, c.op("Sqrt", c.op("Add", total, c.number(c.p.eps))))


@exports("LRN")
def lrn(c: Call) -> str:
    if c.p.nsize % 2 == 0:
        raise Refused("nsize is even: ONNX has another channel at the other end then")
    x, shape = c.input(0), c.shape()
    if len(shape) != 4:
        x = c.op("Reshape", x, c.ints(0, 0, -1, 1) if len(shape) > 2 else c.ints(0, 0, 1, 1))
    made = c.op("LRN", x, size=c.p.nsize, alpha=c.p.alpha, beta=c.p.beta, bias=c.p.knorm)
    return made if len(shape) == 4 else c.op("Reshape", made, c.sizes(shape, (c.input(0), shape)))


@exports("moments")
def moments(c: Call) -> list[str]:
    x = c.input(0)
    axes = None if c.p.axes is None else [axis % c.rank() for axis in c.p.axes]
    mean = c.reduce("ReduceMean", x, axes, True)
    away = c.op("Sub", x, mean)
    spread = c.reduce("ReduceMean", c.op("Mul", away, away), axes, True)
    if c.p.keepdims:
        return [mean, spread]
    before = tuple(1 if axes is None or i in axes else size for i, size in enumerate(c.shape()))
    return [_shaped(c, made, before, i) for i, made in enumerate((mean, spread))]


def _shaped(c: Call, x: str, before: tuple[int | Dim, ...], i: int) -> str:
    return c.reshape(x, before, c.out_shape(i))
