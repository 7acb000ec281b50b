"""Handwritten functions of sym.contrib: AdamW, rand_zipfian, and what graphs can not express."""

from __future__ import annotations

from typing import Any

from ..errors import MXNetError
from ..op import zipfian
from .create import call
from .functions import full
from .symbol import Symbol


class DynamicShape(MXNetError):
    """A shape that depends on the values of arrays, which graphs do not support."""


def _factor(rescale_grad: Any) -> Symbol:
    """rescale_grad as the input that the operators take."""
    return rescale_grad if isinstance(rescale_grad, Symbol) else full((1,), rescale_grad)


def adamw_update(weight: Symbol, grad: Symbol, mean: Symbol, var: Symbol, rescale_grad: Any,
                 lr: float, eta: float, *, name: str | None = None, **params: Any) -> Symbol:
    """A step of AdamW; `rescale_grad` is a number or a symbol of one element.

    mean and var are auxiliary states. Source: MXNet's sym.contrib.adamw_update.
    """
    return call("_adamw_update", weight, grad, mean, var, _factor(rescale_grad), name=name,
                lr=lr, eta=eta, **params)


def mp_adamw_update(weight: Symbol, grad: Symbol, mean: Symbol, var: Symbol, weight32: Symbol,
                    rescale_grad: Any, lr: float, eta: float, *, name: str | None = None,
                    **params: Any) -> Symbol:
    """A step of AdamW on a master copy; `rescale_grad` is a number or a symbol of one element.

    mean, var and weight32 are auxiliary states. Source: MXNet's sym.contrib.mp_adamw_update.
    """
    return call("_mp_adamw_update", weight, grad, mean, var, weight32, _factor(rescale_grad),
                name=name, lr=lr, eta=eta, **params)


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> list[Any]:
    """`num_sampled` classes of [0, range_max) with replacement, and how often each is expected.

    As nd.contrib.rand_zipfian. Source: MXNet's sym.contrib.rand_zipfian.
    """
    return zipfian.rand_zipfian(call, Symbol, true_classes, num_sampled, range_max)


def boolean_mask(*args: Any, **params: Any) -> Symbol:
    """Raises DynamicShape: the number of selected rows is not known before the graph runs."""
    raise DynamicShape(
        "boolean_mask: its shape follows from the values of the mask, and a symbol's shapes are "
        "known when it is bound; use nd.contrib.boolean_mask on arrays, or in a graph where or "
        "SequenceMask, which keep the shape")


FUNCTIONS = {made.__name__: made for made in (
    adamw_update, mp_adamw_update, boolean_mask, rand_zipfian)}
