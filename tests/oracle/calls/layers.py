"""Convolution, Deconvolution, FullyConnected."""

from __future__ import annotations

from typing import Any

from ..call import Array, Call

X1, X2, X3 = Array((2, 4, 9), -1, 1), Array((2, 4, 7, 6), -1, 1), Array((1, 2, 4, 5, 4), -1, 1)


def conv(data: Array, weight: tuple[int, ...], train: bool = True, **params: Any) -> Call:
    """A convolution with `weight`, and a bias."""
    bias = [] if params.get("no_bias") else [Array((weight[0],), seed=3)]
    inputs = [data, Array(weight, seed=2), *bias]
    return Call("Convolution", inputs,
                {"kernel": weight[2:], "num_filter": weight[0], **params},
                tuple(range(len(inputs))), train=train, head_scale=50, rtol=1e-4)


def deconv(data: Array, weight: tuple[int, ...], bias: bool = False, **params: Any) -> Call:
    groups = params.get("num_group", 1)
    filters = weight[1] * groups
    inputs = [data, Array(weight, seed=2), *([Array((filters,), seed=3)] if bias else [])]
    return Call("Deconvolution", inputs,
                {"kernel": weight[2:], "num_filter": filters, "no_bias": not bias, **params},
                tuple(range(len(inputs))), head_scale=50, rtol=1e-4)


def dense(data: Array, weight: tuple[int, int], **params: Any) -> Call:
    bias = [] if params.get("no_bias") else [Array(weight[:1], seed=3, dtype=data.dtype)]
    inputs = [data, Array(weight, seed=2, dtype=data.dtype), *bias]
    return Call("FullyConnected", inputs, {"num_hidden": weight[0], **params},
                tuple(range(len(inputs))), head_scale=20)


CALLS = [
    conv(X2, (6, 4, 3, 2)),
    conv(X2, (6, 4, 3, 3), stride=(2, 1), pad=(1, 2)),
    conv(X2, (6, 2, 3, 3), num_group=2, pad=(1, 1), no_bias=True),
    conv(X2, (4, 1, 3, 3), num_group=4, dilate=(2, 1)),
    conv(X2, (3, 4, 1, 1), stride=(2, 2)),
    conv(X2, (6, 4, 3, 2), train=False, dilate=(2, 2)),
    conv(X1, (5, 4, 3), stride=(2,), pad=(1,)),
    conv(X3, (3, 2, 2, 3, 2), pad=(1, 0, 1)),
    conv(X2, (6, 4, 3, 2), layout="NCHW", workspace=512, cudnn_tune="off"),
    Call("Convolution", [X2._replace(dtype="float64"), Array((2, 4, 2, 2), dtype="float64")],
         {"kernel": (2, 2), "num_filter": 2, "no_bias": True}, (0, 1)),
    conv(X2, (2, 4, 2, 2))._replace(grad_req="add"),
    deconv(X2, (4, 3, 3, 2)),
    deconv(X2, (4, 3, 3, 3), True, stride=(2, 3), pad=(1, 1), adj=(1, 2)),
    deconv(X2, (4, 2, 2, 2), num_group=2, stride=(2, 2)),
    deconv(X2, (4, 3, 3, 2), dilate=(2, 1)),
    deconv(X1, (4, 2, 3), True, stride=(2,), pad=(1,)),
    deconv(X2, (4, 1, 2, 2))._replace(grad_req="add"),
    dense(X2, (5, 168)),
    dense(Array((3, 4)), (2, 4), no_bias=True),
    dense(Array((2, 3, 4)), (5, 4), flatten=False),
    dense(Array((3, 4), dtype="float64"), (2, 4)),
    dense(Array((3, 4)), (2, 4))._replace(grad_req="add"),
]
