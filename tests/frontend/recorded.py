"""Short forms for tests of the tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ndarray_rt as mx

nd, autograd = mx.nd, mx.autograd


def leaf(values: Any, req: str = "write") -> mx.nd.NDArray:
    x = nd.array(values)
    x.attach_grad(req)
    return x


def grads(x: Any) -> Any:
    return x.grad.asnumpy().tolist()


def recorded(function: Callable[..., Any], *arrays: Any) -> Any:
    with autograd.record():
        return function(*arrays)
