"""Checks of metrics that an Estimator and its handlers share."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ....errors import ParameterError
from ....metric import Accuracy, CompositeEvalMetric, EvalMetric
from ...loss import SoftmaxCrossEntropyLoss


def check_metrics(metrics: Any) -> list[EvalMetric]:
    """A list of metrics from one, several or none; ParameterError for anything else."""
    if isinstance(metrics, CompositeEvalMetric):
        return [one for inner in metrics.metrics for one in check_metrics(inner)]
    if isinstance(metrics, EvalMetric):
        return [metrics]
    found = metrics or []
    if isinstance(found, str) or not all(isinstance(one, EvalMetric) for one in found):
        raise ParameterError("metrics must be a Metric or a list of Metric, refer to "
                             f"metric.EvalMetric: {metrics}")
    made: list[EvalMetric] = found
    return made


def check_handler_metrics(handler: Any, known: Collection[EvalMetric]) -> None:
    """The metrics of a handler must be the estimator's own: ParameterError otherwise."""
    for attribute in dir(handler):
        if "metric" not in attribute:
            continue
        found = getattr(handler, attribute)
        for one in found if isinstance(found, list) else [found] if found else ():
            if one not in known:
                raise ParameterError(
                    f"Event handler {type(handler).__name__} refers to a metric instance {one} "
                    "outside of the known training and validation metrics. Please use the metrics "
                    "from estimator.train_metrics and estimator.val_metrics instead.")


def suggest_metric_for_loss(loss: Any) -> EvalMetric | None:
    """Accuracy for a loss of classes."""
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None
