"""ndarray_rt's calls, and MXNet's, which are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .cases import Case


def functions(mx: Any) -> dict[str, Callable[..., Any]]:
    """By operator: a function of arrays and parameters."""
    nd = mx.nd

    def nd_(name: str) -> Any:
        # a version that lacks an operator can still be measured with the others
        return getattr(nd, name, None)
    return {
        "add": lambda a, b: a + b,
        "add_scalar": lambda a: a + 1.5,
        "greater": lambda a, b: a > b,
        "relu": nd_("relu"),
        "exp": nd_("exp"),
        "dot": nd_("dot"),
        "sum": nd_("sum"),
        "softmax": nd_("softmax"),
        "transpose": nd_("transpose"),
        "broadcast_add": nd_("broadcast_add"),
        "take": nd_("take"),
        "argmax": nd_("argmax"),
        "topk": lambda a, k: nd.topk(a, k=k, axis=1),
        "cumsum": nd_("cumsum"),
        "layer_norm": lambda x, g, b: nd.LayerNorm(x, g, b, axis=-1),
        "convolution": lambda x, w, b: nd.Convolution(x, w, b, kernel=(3, 3), pad=(1, 1),
                                                      num_filter=8),
    }


def load(mx: Any, case: Case) -> tuple[Callable[[int], None], Callable[[], None]]:
    """(so many calls, waiting for all calls before)."""
    arrays = [mx.nd.array(x, dtype=x.dtype) for x in case.arrays()]
    function, params = functions(mx)[case.op], case.params
    if case.recorded:
        arrays[0].attach_grad()

    def plainly(calls: int) -> None:
        for _ in range(calls):
            function(*arrays, **params)

    def recorded(calls: int) -> None:
        with mx.autograd.record():
            plainly(calls)
    mx.nd.waitall()
    return recorded if case.recorded else plainly, mx.nd.waitall
