"""Metrics of classes and of their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import nd
from ..errors import ParameterError, ShapeError
from .base import EvalMetric, alias, check_label_shapes, register

Names = Sequence[str] | None


@register
@alias("acc")
class Accuracy(EvalMetric):
    """The share of labels that are the largest output along `axis`, or, where shapes are equal, the
    output itself."""

    def __init__(self, axis: int = 1, name: str = "accuracy", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, axis=axis, has_global_stats=True)
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=True):
            values = pred.asnumpy()
            if pred.shape != label.shape:
                values = values.argmax(axis=self.axis)
            found = values.astype("int32").ravel()
            wanted = label.asnumpy().astype("int32").ravel()
            check_label_shapes(wanted, found)
            self._count((found == wanted).sum(), len(found))


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """The share of labels among the `top_k` largest outputs of a row."""

    def __init__(self, top_k: int = 1, name: str = "top_k_accuracy", output_names: Names = None,
                 label_names: Names = None) -> None:
        if top_k <= 1:
            raise ParameterError(f"TopKAccuracy: top_k is {top_k}: Please use Accuracy if top_k is "
                                 "no more than 1")
        super().__init__(name, output_names, label_names, top_k=top_k, has_global_stats=True)
        self.top_k = top_k
        self.name += f"_{top_k}"

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=True):
            if len(pred.shape) > 2:
                raise ShapeError("TopKAccuracy: Predictions should be no more than 2 dims, got "
                                 f"shape {pred.shape}")
            values = pred.asnumpy().astype("float32")
            wanted = label.asnumpy().astype("int32").ravel()
            check_label_shapes(wanted, values)
            if values.ndim == 1:
                # as in MXNet: places in the order of the values
                order = np.argpartition(values, -self.top_k)
                self._count((order == wanted).sum(), len(values))
                continue
            last = min(values.shape[1], self.top_k)
            largest = np.argpartition(values, -last, axis=1)[:, -last:]
            self._count((largest == wanted[:, None]).sum(), len(values))


class _Counts:
    """True and false positives and negatives."""

    def __init__(self) -> None:
        self.true_positives = self.false_positives = 0
        self.true_negatives = self.false_negatives = 0

    def add(self, wanted: Any, found: Any) -> None:
        self.true_positives += int((found & wanted).sum())
        self.false_positives += int((found & ~wanted).sum())
        self.true_negatives += int((~found & ~wanted).sum())
        self.false_negatives += int((~found & wanted).sum())

    @property
    def total(self) -> int:
        return (self.true_positives + self.false_positives + self.true_negatives
                + self.false_negatives)

    @property
    def fscore(self) -> float:
        """The harmonic mean of precision and recall."""
        found = self.true_positives + self.false_positives
        wanted = self.true_positives + self.false_negatives
        precision = self.true_positives / found if found else 0.0
        recall = self.true_positives / wanted if wanted else 0.0
        both = precision + recall
        return 2 * precision * recall / both if both > 0 else 0.0

    @property
    def correlation(self) -> float:
        """Matthews's; a sum of counts that is 0 counts as 1."""
        if not self.total:
            return 0.0
        tp, fp = self.true_positives, self.false_positives
        tn, fn = self.true_negatives, self.false_negatives
        product = 1.0
        for term in (tp + fp, tp + fn, tn + fp, tn + fn):
            product *= term or 1
        return (tp * tn - fp * fn) / math.sqrt(product)


class _Binary(EvalMetric):
    """A score of counts: the mean of the scores of batches ('macro'), or of all ('micro')."""

    _score: str

    def __init__(self, name: str, output_names: Names, label_names: Names, average: str) -> None:
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        batch = _Counts()
        for label, pred in zip(labels, preds, strict=True):
            wanted = label.asnumpy().astype("int32")
            values = pred.asnumpy()
            check_label_shapes(wanted, values)
            if len(np.unique(wanted)) > 2:
                raise ParameterError(f"{type(self).__name__} currently only supports binary "
                                     f"classification, got labels {np.unique(wanted)[:10]}")
            for counts in (batch, self._local, self._global):
                counts.add(wanted.ravel() == 1, values.argmax(axis=1).ravel() == 1)
        if self.average == "macro":
            self._count(getattr(batch, self._score), 1)
        else:
            self.sum_metric = getattr(self._local, self._score) * self._local.total
            self.global_sum_metric = getattr(self._global, self._score) * self._global.total
            self.num_inst, self.global_num_inst = self._local.total, self._global.total

    def reset(self) -> None:
        self._global = _Counts()
        super().reset()

    def reset_local(self) -> None:
        self._local = _Counts()
        super().reset_local()


@register
class F1(_Binary):
    """The harmonic mean of precision and recall of two classes; `average` is 'macro' or 'micro'."""

    _score = "fscore"

    def __init__(self, name: str = "f1", output_names: Names = None, label_names: Names = None,
                 average: str = "macro") -> None:
        super().__init__(name, output_names, label_names, average)


@register
class MCC(_Binary):
    """Matthews's correlation of two classes; `average` is 'macro' or 'micro'."""

    _score = "correlation"

    def __init__(self, name: str = "mcc", output_names: Names = None, label_names: Names = None,
                 average: str = "macro") -> None:
        super().__init__(name, output_names, label_names, average)


@register
class PCC(EvalMetric):
    """Matthews's correlation of any number of classes, from the whole confusion matrix.

    Source: MXNet's PCC; Gorodkin, Comparing two K-category assignments, 2004.
    """

    def __init__(self, name: str = "pcc", output_names: Names = None, label_names: Names = None,
                 has_global_stats: bool = True) -> None:
        self.k = 2
        self.lcm: Any = None  # confusion matrices: since reset_local, since reset
        self.gcm: Any = None
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=True):
            wanted = label.asnumpy().astype("int32")
            values = pred.asnumpy()
            found = (values.argmax(axis=1) if values.shape != wanted.shape
                     else values.astype("int32"))
            self._grow(int(max(found.max(), wanted.max())) + 1)
            batch = np.zeros((self.k, self.k))
            np.add.at(batch, (found.ravel(), wanted.ravel()), 1)
            self.lcm += batch
            self.gcm += batch
        self.num_inst += 1
        self.global_num_inst += 1

    def _grow(self, classes: int) -> None:
        more = classes - self.k
        if more > 0:
            self.lcm, self.gcm = (np.pad(x, ((0, more), (0, more))) for x in (self.lcm, self.gcm))
            self.k = classes

    @staticmethod
    def _correlation(matrix: Any) -> float:
        n = matrix.sum()
        x, y = matrix.sum(axis=1), matrix.sum(axis=0)
        of_x, of_y = np.sum(x * (n - x)), np.sum(y * (n - y))
        if of_x == 0 or of_y == 0:
            return float("nan")
        return float(np.sum(matrix.diagonal() * n - x * y) / (of_x * of_y) ** 0.5)

    @property
    def sum_metric(self) -> float:
        """The local correlation times the number of updates."""
        value: float = self._correlation(self.lcm) * self.num_inst
        return value

    @property
    def global_sum_metric(self) -> float:
        """The global correlation times the number of updates."""
        value: float = self._correlation(self.gcm) * self.global_num_inst
        return value

    def reset(self) -> None:
        self.global_num_inst = 0.0
        self.gcm = np.zeros((self.k, self.k))
        self.reset_local()

    def reset_local(self) -> None:
        self.num_inst = 0.0
        self.lcm = np.zeros((self.k, self.k))


@register
class Perplexity(EvalMetric):
    """exp of the mean negative logarithm of the probabilities of the labels.

    Labels equal to `ignore_label` do not count, unless it is None. Classes lie along `axis`.
    """

    def __init__(self, ignore_label: int | None, axis: int = -1, name: str = "perplexity",
                 output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label,
                         has_global_stats=True)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        check_label_shapes(labels, preds)
        loss, count = 0.0, 0
        for label, pred in zip(labels, preds, strict=True):
            if label.size * pred.shape[-1] != pred.size:
                raise ShapeError(f"Perplexity: shape mismatch: {label.shape} vs. {pred.shape}")
            flat = label.as_in_context(pred.context).reshape((label.size,))
            picked = nd.pick(pred, flat.astype("int32"), axis=self.axis).asnumpy()
            if self.ignore_label is not None:
                counted = flat.asnumpy() != self.ignore_label
                picked = picked.ravel()[counted]
            loss -= float(np.log(np.maximum(np.float32(1e-10), picked)).sum())
            count += picked.size
        self._count(loss, count)

    def get(self) -> tuple[str, float]:
        return self.name, _exp_of_mean(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[str, float]:
        return self.name, _exp_of_mean(self.global_sum_metric, self.global_num_inst)


def _exp_of_mean(total: float, count: int) -> float:
    return math.exp(total / count) if count else float("nan")


class _LogLikelihood(EvalMetric):
    """The mean of -log(probability of the label + eps) over rows of probabilities."""

    def __init__(self, eps: float, name: str, output_names: Names, label_names: Names) -> None:
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=True):
            wanted, values = label.asnumpy().ravel().astype(np.int64), pred.asnumpy()
            check_label_shapes(wanted, values)
            picked = values[np.arange(len(wanted)), wanted]
            self._count((-np.log(picked + self.eps)).sum(), len(wanted))


@register
@alias("ce")
class CrossEntropy(_LogLikelihood):
    """The mean of -log(probability of the label + eps)."""

    def __init__(self, eps: float = 1e-12, name: str = "cross-entropy", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_LogLikelihood):
    """The same as CrossEntropy, under the name of the loss."""

    def __init__(self, eps: float = 1e-12, name: str = "nll-loss", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(eps, name, output_names, label_names)
