"""compare_optimizer tells optimizers that step differently from those that do not."""

from __future__ import annotations

from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt.errors import Unsupported
from ndarray_rt.test_utils import compare_optimizer


class Slow(mx.optimizer.SGD):
    """SGD by its formula, which changes the gradient that it is given."""

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._update_count(index)
        grad *= self.rescale_grad
        weight[:] -= self._get_lr(index) * (grad + self._get_wd(index) * weight)


def test_equal_steps() -> None:
    options: dict[str, Any] = {"learning_rate": 0.1, "wd": 0.01, "rescale_grad": 0.5}
    compare_optimizer(Slow(**options), mx.optimizer.SGD(**options), (3, 4), "float32")
    compare_optimizer(mx.optimizer.SGD(**options), mx.optimizer.SGD(**options),
                      [(3, 4), (5,)], "float32", ntensors=2)


def test_other_steps() -> None:
    with pytest.raises(AssertionError):
        compare_optimizer(mx.optimizer.SGD(learning_rate=0.1), mx.optimizer.SGD(learning_rate=0.2),
                          (3,), "float32")
    with pytest.raises(Unsupported, match="row_sparse"):
        compare_optimizer(mx.optimizer.SGD(), mx.optimizer.SGD(), (3,), "float32",
                          g_stype="row_sparse")
