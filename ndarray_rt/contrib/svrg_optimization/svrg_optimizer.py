"""Optimizers of an SVRGModule's store: one for weights, one that keeps whole gradients."""

from __future__ import annotations

import inspect
from typing import Any

from ...errors import NameMismatch
from ...nd import NDArray
from ...optimizer import Optimizer, create, register
from ...public import shows

__all__: list[str] = []
__dir__ = shows(globals())

_OF_ALL = frozenset(inspect.signature(Optimizer.__init__).parameters) - {"self"}


@register
class _AssignmentOptimizer(Optimizer):
    """The weight becomes the gradient: a store with it adds up what contexts push."""

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        weight[:] = grad


@register
class _SVRGOptimizer(Optimizer):
    """Steps weights by `default_optimizer`; what is called ..._full becomes its gradient.

    Parameters
    ----------
    default_optimizer : str or Optimizer
    kwargs
        Of the optimizer, where it is given by name.
    """

    def __init__(self, default_optimizer: Any = "sgd", **kwargs: Any) -> None:
        super().__init__(**{key: value for key, value in kwargs.items() if key in _OF_ALL})
        self.default_opt: Optimizer = (create(default_optimizer, **kwargs)
                                       if isinstance(default_optimizer, str)
                                       else default_optimizer)
        self.aux_opt: Optimizer = create(_AssignmentOptimizer.__name__)

    def _of(self, index: Any) -> Optimizer:
        name = index if index in self.idx2name.values() else self.idx2name.get(index)
        if name is None:
            raise NameMismatch(f"SVRG: there is no weight {index!r} in param_idx2name")
        return self.aux_opt if "full" in name else self.default_opt

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return self._of(index).create_state(index, weight)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        self._of(index).update(index, weight, grad, state)
