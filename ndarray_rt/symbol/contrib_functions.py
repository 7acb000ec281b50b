"""Handwritten functions of sym.contrib: AdamW, rand_zipfian, and what graphs can not express."""

from __future__ import annotations

from typing import Any

from ..errors import MXNetError
from ..op import adamw, zipfian
from .create import call
from .functions import full
from .symbol import Symbol


class DynamicShape(MXNetError):
    """A shape that depends on the values of arrays, which graphs do not support."""


def _factor(rescale_grad: Any, _: Symbol) -> Symbol:
    """rescale_grad as the input that the operators take."""
    return rescale_grad if isinstance(rescale_grad, Symbol) else full((1,), rescale_grad)


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
    *adamw.functions(call, _factor), boolean_mask, rand_zipfian)}
