"""Metrics of numbers: errors, correlation, losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import nd
from ..nd import NDArray
from ..ops.blas import uses_blas
from .base import EvalMetric, alias, check_label_shapes, register

Names = Sequence[str] | None


class _Error(EvalMetric):
    """The mean over batches of an error of label - prediction."""

    def __init__(self, name: str, output_names: Names, label_names: Names) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _error(self, difference: Any) -> Any:
        raise NotImplementedError

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=True):
            wanted, found = (x.reshape(-1, 1) if x.ndim == 1 else x
                             for x in (label.asnumpy(), pred.asnumpy()))
            self._count(self._error(wanted - found), 1)


@register
class MAE(_Error):
    """The mean absolute error."""

    def __init__(self, name: str = "mae", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: Any) -> Any:
        return np.abs(difference).mean()


@register
class MSE(_Error):
    """The mean squared error."""

    def __init__(self, name: str = "mse", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: Any) -> Any:
        return (difference**2.0).mean()


@register
class RMSE(_Error):
    """The root of the mean squared error; over batches the mean of the roots."""

    def __init__(self, name: str = "rmse", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference: Any) -> Any:
        return np.sqrt((difference**2.0).mean())


@uses_blas
def _correlation(x: Any, y: Any) -> Any:
    return np.corrcoef(x, y)[0, 1]


@register
@alias("pearsonr")
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation: the mean over batches ('macro'), or of all values ('micro').

    The sums of 'micro' are updated as in Welford, Technometrics 1962.
    """

    def __init__(self, name: str = "pearsonr", output_names: Names = None,
                 label_names: Names = None, average: str = "macro") -> None:
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def reset(self) -> None:
        super().reset()
        if self.average == "micro":
            self.reset_micro()

    def reset_micro(self) -> None:
        """Forgets the sums of all values."""
        self._sse_p = self._mean_p = self._sse_l = self._mean_l = self._conv = 0.0
        self._pred_nums = self._label_nums = 0

    def update_variance(self, new_values: Any, *aggregate: Any) -> tuple[int, Any, Any]:
        """(count, mean, sum of squared deviations) with these values."""
        count, mean, squares = aggregate
        count += len(new_values)
        before = new_values - mean
        mean += np.sum(before / count)
        squares += np.sum(before * (new_values - mean))
        return count, mean, squares

    def update_cov(self, label: Any, pred: Any) -> None:
        """Adds the products of deviations, labels' from their new mean."""
        self._conv += np.sum((label - self._mean_l) * (pred - self._mean_p))

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=True):
            check_label_shapes(label, pred, False, True)
            wanted = label.asnumpy().ravel().astype(np.float64)
            found = pred.asnumpy().ravel().astype(np.float64)
            if self.average == "macro":
                self._count(_correlation(found, wanted), 1)
                continue
            self._count(0.0, 1)
            self._label_nums, self._mean_l, self._sse_l = self.update_variance(
                wanted, self._label_nums, self._mean_l, self._sse_l)
            self.update_cov(wanted, found)
            self._pred_nums, self._mean_p, self._sse_p = self.update_variance(
                found, self._pred_nums, self._mean_p, self._sse_p)

    def get(self) -> tuple[str, Any]:
        if self.average == "macro" or self.num_inst == 0:
            name: str
            name, value = super().get()
            return name, value
        n = self._label_nums
        deviations = np.sqrt(self._sse_p / (n - 1)) * np.sqrt(self._sse_l / (n - 1))
        return self.name, self._conv / ((n - 1) * deviations)

    def get_global(self) -> tuple[str, Any]:
        """The same as `get` for 'micro', whose sums are of all values since the last reset."""
        if self.average == "macro":
            return super().get_global()
        return self.get()


@register
class Loss(EvalMetric):
    """The mean of the outputs, which are losses; labels do not count."""

    def __init__(self, name: str = "loss", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _: Any, preds: Any) -> None:
        for pred in [preds] if isinstance(preds, NDArray) else preds:
            self._count(nd.sum(pred).asscalar(), pred.size)


@register
class Torch(Loss):
    """An old name of Loss."""

    def __init__(self, name: str = "torch", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """An old name of Loss."""

    def __init__(self, name: str = "caffe", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)
