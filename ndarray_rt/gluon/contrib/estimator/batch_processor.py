"""BatchProcessor: what an Estimator does with one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import autograd
from ....context import Context
from ....nd import NDArray
from ....public import shows
from ...utils import split_and_load

__all__ = ["BatchProcessor"]
__dir__ = shows(globals())

Arrays = list[NDArray]


class BatchProcessor:
    """Outputs, losses and gradients for a batch; a subclass may do it in other ways."""

    def __init__(self) -> None:
        pass

    def _get_data_and_label(self, batch: Any, ctx: Sequence[Context],
                            batch_axis: int = 0) -> tuple[Arrays, Arrays]:
        """The first and the second array of a batch, a part on each context."""
        data, label = (split_and_load(one, ctx_list=ctx, batch_axis=batch_axis)
                       for one in (batch[0], batch[1]))
        return data, label

    def evaluate_batch(self, estimator: Any, val_batch: Any,
                       batch_axis: int = 0) -> tuple[Arrays, Arrays, list[Any], list[Any]]:
        """(data, labels, outputs, losses) of the estimator's `val_net`, lists of one a context."""
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        loss = [estimator.val_loss(y_hat, y) for y_hat, y in zip(pred, label, strict=True)]
        return data, label, pred, loss

    def fit_batch(self, estimator: Any, train_batch: Any,
                  batch_axis: int = 0) -> tuple[Arrays, Arrays, list[Any], list[Any]]:
        """As `evaluate_batch` for the estimator's `net`, and computes the gradients."""
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(y_hat, y) for y_hat, y in zip(pred, label, strict=True)]
        for one in loss:
            one.backward()
        return data, label, pred, loss
