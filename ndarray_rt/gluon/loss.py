"""`gluon.loss`: losses as blocks. Each gives one number for each sample of the batch."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from math import pi
from typing import Any

from .. import nd
from ..base import numeric_types
from ..errors import ParameterError, ShapeError, shown
from ..public import shows
from .block import HybridBlock
from .errors import Mismatch

__all__ = [
    "CTCLoss", "CosineEmbeddingLoss", "HingeLoss", "HuberLoss", "KLDivLoss", "L1Loss", "L2Loss",
    "LogisticLoss", "Loss", "PoissonNLLLoss", "SDMLLoss", "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss", "SoftmaxCELoss", "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss", "TripletLoss"]
__dir__ = shows(globals())


def _apply_weighting(F: Any, loss: Any, weight: float | None = None,
                     sample_weight: Any = None) -> Any:
    """The loss times the weights of samples, and times one number."""
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is not None:
        if not isinstance(weight, numeric_types):
            raise Mismatch(f"weight must be a number, got {shown(weight)}")
        loss = loss * weight
    return loss


def _reshape_like(F: Any, x: Any, y: Any) -> Any:
    """x in the shape of y."""
    return x.reshape(y.shape) if F is nd else F.reshape_like(x, y)


def _softplus_of_minus_abs(F: Any, x: Any) -> Any:
    """log(1 + exp(-|x|)), which no x is too large for."""
    return F.Activation(-F.abs(x), act_type="softrelu")


class Loss(HybridBlock):
    """The base of all losses.

    `weight` is a factor of all, `batch_axis` the axis of the samples.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _mean(self, F: Any, loss: Any, sample_weight: Any = None) -> Any:
        """The weighted mean over all axes but that of the samples."""
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no hybrid_forward")


class L2Loss(Loss):
    """Half the weight times (label - pred)^2."""

    def __init__(self, weight: float = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        label = _reshape_like(F, label, pred)
        loss = F.square(label - pred)
        half = None if self._weight is None else self._weight / 2
        loss = _apply_weighting(F, loss, half, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class L1Loss(Loss):
    """|label - pred|."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        return self._mean(F, F.abs(_reshape_like(F, label, pred) - pred), sample_weight)


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross entropy of labels in [0, 1] and sigmoid(pred), or pred with `from_sigmoid`.

    `pos_weight` of the call is a factor of what positive labels cost.
    """

    def __init__(self, from_sigmoid: bool = False, weight: float | None = None,
                 batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None,
                       pos_weight: Any = None) -> Any:
        label = _reshape_like(F, label, pred)
        if self._from_sigmoid:
            eps = 1e-12
            positive = F.log(pred + eps) * label
            if pos_weight is not None:
                positive = F.broadcast_mul(positive, pos_weight)
            loss = -(positive + F.log(1.0 - pred + eps) * (1.0 - label))
        elif pos_weight is None:
            loss = F.relu(pred) - pred * label + _softplus_of_minus_abs(F, pred)
        else:
            log_weight = 1 + F.broadcast_mul(pos_weight - 1, label)
            loss = pred - pred * label + log_weight * (_softplus_of_minus_abs(F, pred)
                                                       + F.relu(-pred))
        return self._mean(F, loss, sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """Cross entropy of labels and softmax(pred) along `axis`.

    Labels are class numbers, or with `sparse_label=False` distributions of the shape of `pred`;
    with `from_logits` `pred` is a log_softmax already.
    """

    def __init__(self, axis: int = -1, sparse_label: bool = True, from_logits: bool = False,
                 weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            label = _reshape_like(F, label, pred)
            loss = -(pred * label).sum(axis=self._axis, keepdims=True)
        return self._mean(F, loss, sample_weight)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """The Kullback-Leibler divergence of label from exp(pred), summed up for each sample.

    Without `from_logits` `pred` gets a log_softmax along `axis` first.
    """

    def __init__(self, from_logits: bool = True, axis: int = -1, weight: float | None = None,
                 batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        loss = label * (F.log(label + 1e-12) - pred)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)


class CTCLoss(Loss):
    """Connectionist temporal classification (Graves et al. 2006): labels without places in time.

    `pred` is (N, T, C) or (T, N, C), the last class being the blank; `label` (N, L) or (L, N).
    Lengths come with the call; without them labels end at -1. Source: operator CTCLoss.
    """

    def __init__(self, layout: str = "NTC", label_layout: str = "NT",
                 weight: float | None = None, **kwargs: Any) -> None:
        if layout not in ("NTC", "TNC"):
            raise Mismatch("Only 'NTC' and 'TNC' layouts for pred are supported. Got: "
                           f"{shown(layout)}")
        if label_layout not in ("NT", "TN"):
            raise Mismatch("Only 'NT' and 'TN' layouts for label are supported. Got: "
                           f"{shown(label_layout)}")
        self._layout = layout
        self._label_layout = label_layout
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, pred_lengths: Any = None,
                       label_lengths: Any = None, sample_weight: Any = None) -> Any:
        if self._layout == "NTC":
            pred = F.swapaxes(pred, 0, 1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, 0, 1)
        lengths = {name: value for name, value in (("data_lengths", pred_lengths),
                                                   ("label_lengths", label_lengths))
                   if value is not None}
        loss = F.CTCLoss(pred, label, use_data_lengths=pred_lengths is not None,
                         use_label_lengths=label_lengths is not None, blank_label="last",
                         **lengths)
        return _apply_weighting(F, loss, self._weight, sample_weight)


class HuberLoss(Loss):
    """Quadratic where |label - pred| <= rho, linear beyond (Huber 1964)."""

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0,
                 **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        distance = F.abs(_reshape_like(F, label, pred) - pred)
        loss = F.where(distance > self._rho, distance - 0.5 * self._rho,
                       (0.5 / self._rho) * F.square(distance))
        return self._mean(F, loss, sample_weight)


class HingeLoss(Loss):
    """max(0, margin - pred label) for labels of -1 and 1."""

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0,
                 **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        loss = F.relu(self._margin - pred * _reshape_like(F, label, pred))
        return self._mean(F, loss, sample_weight)


class SquaredHingeLoss(Loss):
    """max(0, margin - pred label)^2 for labels of -1 and 1."""

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0,
                 **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        loss = F.square(F.relu(self._margin - pred * _reshape_like(F, label, pred)))
        return self._mean(F, loss, sample_weight)


class LogisticLoss(Loss):
    """log(1 + exp(-pred label)) for labels of -1 and 1 ('signed'), or of 0 and 1 ('binary')."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0,
                 label_format: str = "signed", **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ParameterError("label_format can only be signed or binary, got "
                                 f"{shown(label_format)}")
        self._label_format = label_format

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        label = _reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        loss = F.relu(pred) - pred * label + _softplus_of_minus_abs(F, pred)
        return self._mean(F, loss, sample_weight)


class TripletLoss(Loss):
    """max(0, |positive - pred|^2 - |negative - pred|^2 + margin) (Schroff et al. 2015)."""

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0,
                 **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, positive: Any, negative: Any) -> Any:
        positive = _reshape_like(F, positive, pred)
        negative = _reshape_like(F, negative, pred)
        loss = F.sum(F.square(positive - pred) - F.square(negative - pred),
                     axis=self._batch_axis, exclude=True)
        return _apply_weighting(F, F.relu(loss + self._margin), self._weight)


class PoissonNLLLoss(Loss):
    """Negative log likelihood of counts by a Poisson distribution; one number for the batch.

    `pred` is the logarithm of the mean, or the mean without `from_logits`. `compute_full` adds
    Stirling's approximation of the term that does not depend on `pred`, for targets above 1.
    """

    def __init__(self, weight: float | None = None, from_logits: bool = True, batch_axis: int = 0,
                 compute_full: bool = False, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(self, F: Any, pred: Any, target: Any, sample_weight: Any = None,
                       epsilon: float = 1e-8) -> Any:
        target = _reshape_like(F, target, pred)
        if self._from_logits:
            loss = F.exp(pred) - target * pred
        else:
            loss = pred - target * F.log(pred + epsilon)
        if self._compute_full:
            stirling = target * F.log(target) - target + 0.5 * F.log(2 * target * pi)
            loss = loss + stirling * (target > 1)
        return F.mean(_apply_weighting(F, loss, self._weight, sample_weight))


class CosineEmbeddingLoss(Loss):
    """1 - cos(input1, input2) for labels of 1, max(0, cos(input1, input2) - margin) for -1."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0, margin: float = 0,
                 **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, input1: Any, input2: Any, label: Any,
                       sample_weight: Any = None) -> Any:
        input1 = _reshape_like(F, input1, input2)
        label = label.reshape((-1, 1))
        cosine = self._cosine_similarity(F, input1, input2)
        same = (1 - cosine) * (label == 1)
        zero = F.array([0]) if F is nd else F.zeros((1, 1))
        other = F.broadcast_maximum(zero, (label == -1) * (cosine - self._margin))
        return _apply_weighting(F, same + other, self._weight, sample_weight)

    def _cosine_similarity(self, F: Any, x: Any, y: Any, axis: int = -1) -> Any:
        lengths = (F.norm(x, axis=axis).reshape((-1, 1))
                   * F.norm(y, axis=axis).reshape((-1, 1)))
        product = F.sum(x * y, axis=axis).reshape((-1, 1))
        least = F.array([1e-12]) if F is nd else F.full((1, 1), 1e-12)
        return product / F.broadcast_maximum(lengths, least)


class SDMLLoss(Loss):
    """Smoothed deep metric learning (Bonadiman et al. 2019, arXiv 1905.12786).

    Rows of the two inputs belong together; each other row is a negative example. The labels are
    smoothed by `smoothing_parameter`. It is not for hybridized blocks: it reads shapes.
    """

    def __init__(self, smoothing_parameter: float = 0.3, weight: float = 1.0, batch_axis: int = 0,
                 **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def _compute_distances(self, x1: Any, x2: Any) -> Any:
        """Squared distances of all rows from all rows."""
        if x1.shape != x2.shape or len(x1.shape) != 2:
            raise ShapeError(f"SDMLLoss: inputs have shapes {x1.shape} and {x2.shape}, expected "
                             "two equal ones of rank 2")
        rows, columns = x1.shape
        full = (rows, rows, columns)
        difference = (x1.expand_dims(1).broadcast_to(full) - x2.expand_dims(0).broadcast_to(full))
        return (difference ** 2).sum(axis=2)

    def _compute_labels(self, F: Any, batch_size: int) -> Any:
        """The smoothed identity."""
        gold = F.eye(batch_size)
        return (gold * (1 - self.smoothing_parameter)
                + (1 - gold) * self.smoothing_parameter / (batch_size - 1))

    def hybrid_forward(self, F: Any, x1: Any, x2: Any) -> Any:
        distances = self._compute_distances(x1, x2)
        labels = self._compute_labels(F, x1.shape[0]).as_in_context(distances.context)
        return self.kl_loss(F.log_softmax(-distances, axis=1), labels)
