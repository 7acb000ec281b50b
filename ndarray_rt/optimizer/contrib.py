"""Optimizers of `mx.optimizer.contrib`."""

from __future__ import annotations

from typing import Any

from .. import nd
from ..errors import ParameterError, ShapeError
from ..nd import NDArray
from .base import Optimizer, register


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one rate a row of a matrix: the mean of squares over each row is summed.

    Takes no weight decay. Source: MXNet's GroupAdaGrad; Duchi et al., JMLR 2011.
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The sums, of shape (rows, 1)."""
        if len(weight.shape) != 2:
            raise ShapeError(f"GroupAdaGrad: weight {index!r} has shape {weight.shape}, expected "
                             "a matrix")
        return nd.zeros((weight.shape[0], 1), ctx=weight.context, dtype=weight.dtype)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        self._update_count(index)
        lr = self._get_lr(index)
        if self._get_wd(index) != 0:
            raise ParameterError("GroupAdaGrad: Weight decay is not supported for GroupAdaGrad")
        grad = self._scaled(grad)
        state[:] += nd.mean(nd.square(grad), axis=1, keepdims=True)
        weight[:] -= lr * grad / nd.sqrt(state + self.float_stable_eps)
