"""ndarray_rt's calls, and MXNet's, which are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .cases import Case


def functions(mx: Any) -> dict[str, Callable[..., Any]]:
    """By operator: a function of arrays and parameters."""
    nd = mx.nd
    return {
        "add": lambda a, b: a + b,
        "add_scalar": lambda a: a + 1.5,
        "greater": lambda a, b: a > b,
        "relu": nd.relu,
        "exp": nd.exp,
        "dot": nd.dot,
        "sum": nd.sum,
        "softmax": nd.softmax,
        "transpose": nd.transpose,
        "broadcast_add": nd.broadcast_add,
        "take": nd.take,
        "argmax": nd.argmax,
        "topk": lambda a, k: nd.topk(a, k=k, axis=1),
        "cumsum": nd.cumsum,
        "layer_norm": lambda x, g, b: nd.LayerNorm(x, g, b, axis=-1),
        "convolution": lambda x, w, b: nd.Convolution(x, w, b, kernel=(3, 3), pad=(1, 1),
                                                      num_filter=8),
    }


def load(mx: Any, case: Case) -> tuple[Callable[[], Any], Callable[[], None]]:
    """(one call, waiting for all calls before)."""
    arrays = [mx.nd.array(x, dtype=x.dtype) for x in case.arrays()]
    function, params = functions(mx)[case.op], case.params
    mx.nd.waitall()
    return lambda: function(*arrays, **params), mx.nd.waitall
