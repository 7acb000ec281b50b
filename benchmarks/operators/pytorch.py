"""PyTorch's calls, without gradients where the case is not recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .cases import Case


def functions(torch: Any) -> dict[str, Callable[..., Any]]:
    """By operator: a function of tensors and parameters."""
    f = torch.nn.functional
    return {
        "add": lambda a, b: a + b,
        "add_scalar": lambda a: a + 1.5,
        "greater": lambda a, b: a > b,
        "relu": torch.relu,
        "exp": torch.exp,
        "dot": torch.mm,
        "sum": lambda a, axis: torch.sum(a, dim=axis),
        "softmax": lambda a, axis: torch.softmax(a, dim=axis),
        "transpose": lambda a: a.t().contiguous(),
        "broadcast_add": lambda a, b: a + b,
        "take": lambda a, i: torch.index_select(a, 0, i),
        "argmax": lambda a, axis: torch.argmax(a, dim=axis),
        "topk": lambda a, k: torch.topk(a, k, dim=1),
        "cumsum": lambda a, axis: torch.cumsum(a, dim=axis),
        "layer_norm": lambda x, g, b: f.layer_norm(x, g.shape, g, b),
        "convolution": lambda x, w, b: f.conv2d(x, w, b, padding=1),
    }


def load(torch: Any, case: Case) -> tuple[Callable[[int], None], Callable[[], None]]:
    """(so many calls, nothing to wait for)."""
    arrays = [torch.from_numpy(x) for x in case.arrays()]
    function, params = functions(torch)[case.op], case.params
    if case.recorded:
        arrays[0].requires_grad_()

    def repeat(calls: int) -> None:
        with torch.set_grad_enabled(case.recorded):
            for _ in range(calls):
                function(*arrays, **params)
    return repeat, lambda: None
