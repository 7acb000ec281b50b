"""Terms: gradient formulas written as Python arithmetic. Each step emits an operator.

A gradient that is a formula of registered operators has gradients itself, of every order.
Registers no operator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..op.params import Params
from ..op.registry import Emit, GradNode

P = TypeVar("P", bound=Params)


class Term(NamedTuple):
    """An entry and what emits; all terms of a formula have one shape, numbers are plain floats."""

    emit: Emit
    entry: Any

    def __mul__(self, other: Term | float) -> Term:  # type: ignore[override]
        return self._with(other, "elemwise_mul", "_mul_scalar")

    def __rmul__(self, other: float) -> Term:  # type: ignore[override]
        return self * other

    def __add__(self, other: Term | float) -> Term:  # type: ignore[override]
        return self._with(other, "elemwise_add", "_plus_scalar")

    def __radd__(self, other: float) -> Term:
        return self + other

    def __sub__(self, other: Term | float) -> Term:
        return self._with(other, "elemwise_sub", "_minus_scalar")

    def __rsub__(self, other: float) -> Term:
        return self("_rminus_scalar", {"scalar": other})

    def __truediv__(self, other: Term | float) -> Term:
        return self._with(other, "elemwise_div", "_div_scalar")

    def __rtruediv__(self, other: float) -> Term:
        return self("_rdiv_scalar", {"scalar": other})

    def __pow__(self, power: float) -> Term:
        return self("_power_scalar", {"scalar": power})

    def __neg__(self) -> Term:
        return self("negative")

    def __call__(self, op: str, params: Params | Mapping[str, object] | None = None,
                 *more: Term) -> Term:
        """The first output of an operator of this term, and of `more`."""
        entries = [term.entry for term in more]
        return Term(self.emit, self.emit(op, params, self.entry, *entries)[0])

    def _with(self, other: Term | float, op: str, scalar_op: str) -> Term:
        if isinstance(other, Term):
            return self(op, None, other)
        return self(scalar_op, {"scalar": other})


def terms(emit: Emit, *entries: Any) -> list[Term]:
    """Terms of some entries."""
    return [Term(emit, entry) for entry in entries]


def replaced(params: P, **values: Any) -> P:
    """The same parameters but for some."""
    return dataclasses.replace(params, **values)


def product_gradient(forward: str, emit: Emit, node: GradNode, grads: Sequence[Any],
                     backward: str = "") -> list[Any]:
    """The gradient of `backward`(out_grad, a, b), `_backward_<forward>` by default.

    `forward` is linear in a and in b, apart from a bias that it may add; so are the backward's
    results in what they read, and each gradient is one call of `forward` or of its backward.
    """
    dy, a, b = node.inputs
    of_a, of_b, *of_bias = grads
    plain = node.params
    if hasattr(plain, "no_bias"):
        plain = replaced(plain, no_bias=True)
    whole = (Term(emit, emit(forward, node.params, of_a, b, *of_bias)[0])
             + Term(emit, emit(forward, plain, a, of_b)[0]))
    to_a, to_b = emit(backward or f"_backward_{forward}", plain, dy, of_a, of_b)[:2]
    return [whole.entry, to_a, to_b]
