"""adamw_update of nd.contrib and of sym.contrib: one body for arrays and symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def functions(F: Function, factor: Function) -> tuple[Function, Function]:  # noqa: N803
    """adamw_update and mp_adamw_update.

    `F(operator, *inputs, **parameters)` calls an operator; `factor(rescale_grad, like)` is the
    input that it takes for a number.
    """
    def adamw_update(weight: Any, grad: Any, mean: Any, var: Any, rescale_grad: Any, lr: float,
                     eta: float, *, name: str | None = None, **params: Any) -> Any:
        """A step of AdamW; `rescale_grad` is a number, or an array (a symbol) of one element.

        mean and var change; of a symbol they are auxiliary states. Source: MXNet's
        contrib.adamw_update.
        """
        return F("_adamw_update", weight, grad, mean, var, factor(rescale_grad, weight), name=name,
                 lr=lr, eta=eta, **params)

    def mp_adamw_update(weight: Any, grad: Any, mean: Any, var: Any, weight32: Any,
                        rescale_grad: Any, lr: float, eta: float, *, name: str | None = None,
                        **params: Any) -> Any:
        """As adamw_update, on a master copy `weight32`, which changes, too."""
        return F("_mp_adamw_update", weight, grad, mean, var, weight32,
                 factor(rescale_grad, weight), name=name, lr=lr, eta=eta, **params)
    return adamw_update, mp_adamw_update
