"""Handlers of the events of training: metrics, validation, logs, checkpoints, when to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf, isnan
from typing import Any

from ....errors import ParameterError
from ....metric import CompositeEvalMetric, EvalMetric
from ....metric import Loss as LossMetric
from ....public import shows
from .checkpoint_handler import CheckpointHandler, Improvement, warn_not_updated
from .events import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    TrainBegin,
    TrainEnd,
)
from .utils import check_metrics

__all__ = ["BatchBegin", "BatchEnd", "CheckpointHandler", "EarlyStoppingHandler", "EpochBegin",
           "EpochEnd", "EventHandler", "GradientUpdateHandler", "LoggingHandler", "MetricHandler",
           "StoppingHandler", "TrainBegin", "TrainEnd", "ValidationHandler"]
__dir__ = shows(globals())


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends training after `max_epoch` epochs or `max_batch` batches, which `fit` says anew."""

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch = max_epoch
        self.max_batch = max_batch
        self.current_batch = 0
        self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.max_epoch = estimator.max_epoch
        self.max_batch = estimator.max_batch
        self.current_batch = 0
        self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_batch += 1
        if self.current_batch == self.max_batch:
            self.stop_training = True
        return self.stop_training

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_epoch += 1
        if self.current_epoch == self.max_epoch:
            self.stop_training = True
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Resets metrics before each epoch and updates them after each batch.

    Metrics of losses take the losses, others labels and outputs.
    """

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics = check_metrics(metrics)
        # before handlers that read the metrics
        self.priority = priority

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            if isinstance(metric, LossMetric):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Evaluates after each `epoch_period` epochs, and each `batch_period` batches.

    `eval_fn(val_data=, batch_axis=, event_handlers=)` does it, most often `Estimator.evaluate`.
    None as a period: not at those events.
    """

    def __init__(self, val_data: Any, eval_fn: Callable[..., Any], epoch_period: int | None = 1,
                 batch_period: int | None = None, priority: float = -1000,
                 event_handlers: Any = None) -> None:
        self.val_data = val_data
        self.eval_fn = eval_fn
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = 0
        self.current_epoch = 0
        # before handlers that read the metrics
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_batch = 0
        self.current_epoch = 0

    def _evaluate(self, estimator: Any) -> None:
        self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis,
                     event_handlers=self.event_handlers)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._evaluate(estimator)

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._evaluate(estimator)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Says by the estimator's logger how training goes.

    `log_interval` is 'epoch', or after how many batches it says so; ParameterError for others.
    `metrics` are those whose values are said.
    """

    def __init__(self, log_interval: Any = "epoch", metrics: Any = None,
                 priority: float = inf) -> None:
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ParameterError("log_interval must be either an integer or string 'epoch', got "
                                 f"{log_interval!r}")
        self.metrics = check_metrics(metrics)
        self.batch_index = 0
        self.current_epoch = 0
        self.processed_samples = 0
        # after all other handlers
        self.priority = priority
        self.log_interval = log_interval
        self.log_interval_time = 0.0

    def _values(self) -> str:
        return ", ".join(f"{name}: {value:.4f}" for metric in self.metrics
                         for name, value in metric.get_name_value())

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.train_start = time.time()
        trainer = estimator.trainer
        estimator.logger.info("Training begin: using optimizer %s with current learning rate %.4f ",
                              type(trainer.optimizer).__name__, trainer.learning_rate)
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self.current_epoch = 0
        self.batch_index = 0
        self.processed_samples = 0
        self.log_interval_time = 0.0

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        estimator.logger.info("Train finished using total %ds with %d epochs. %s",
                              time.time() - self.train_start, self.current_epoch, self._values())

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(self.log_interval, int):
            self.batch_start = time.time()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(self.log_interval, int):
            self.processed_samples += kwargs["batch"][0].shape[0]
            self.log_interval_time += time.time() - self.batch_start
            if self.batch_index % self.log_interval == 0:
                estimator.logger.info(
                    "[Epoch %d][Batch %d][Samples %s] time/interval: %.3fs %s", self.current_epoch,
                    self.batch_index, self.processed_samples, self.log_interval_time,
                    self._values())
                self.log_interval_time = 0.0
        self.batch_index += 1

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.epoch_start = time.time()
        # an estimator names its metrics by what they are for
        if any("training" in metric.name for metric in self.metrics):
            estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f",
                                  self.current_epoch, estimator.trainer.learning_rate)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        estimator.logger.info("[Epoch %d] Finished in %.3fs, %s", self.current_epoch,
                              time.time() - self.epoch_start, self._values())
        self.current_epoch += 1
        self.batch_index = 0


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends training when a metric improves no more.

    Parameters
    ----------
    monitor : EvalMetric
        One of the estimator's metrics, no CompositeEvalMetric: ParameterError.
    min_delta : float
        Improvements up to this one do not count.
    patience : int
        How many epochs without an improvement end training; 0 and 1: the first one.
    mode : str
        'min', 'max', or 'auto': whether less or more is better, by the metric's name.
    baseline : float
        What the first epoch is compared with.
    """

    def __init__(self, monitor: Any, min_delta: float = 0, patience: int = 0, mode: str = "auto",
                 baseline: float | None = None) -> None:
        if not isinstance(monitor, EvalMetric):
            raise ParameterError("Please provide one of the metric objects from "
                                 "estimator.train_metrics and estimator.val_metrics as monitor.")
        if isinstance(monitor, CompositeEvalMetric):
            raise ParameterError("CompositeEvalMetric is not supported for EarlyStoppingHandler, "
                                 "please specify a simple metric instead.")
        self.monitor = monitor
        self.baseline = baseline
        self.patience = patience
        self._improvement = Improvement("EarlyStopping", monitor, mode)
        self.monitor_op = self._improvement.is_better
        self.min_delta = min_delta if self._improvement.is_more_better else -min_delta
        self.wait = 0
        self.stopped_epoch = 0
        self.current_epoch = 0
        self.stop_training = False
        self.best = self._improvement.worst

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.wait = 0
        self.stopped_epoch = 0
        self.current_epoch = 0
        self.stop_training = False
        self.best = self._improvement.worst if self.baseline is None else self.baseline

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        name, value = self.monitor.get()
        if isnan(value):
            warn_not_updated(name)
        elif self.monitor_op(value - self.min_delta, self.best):
            self.best = value
            self.wait = 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.stopped_epoch > 0:
            estimator.logger.info("[Epoch %d] EarlyStoppingHanlder: early stopping due to %s not "
                                  "improving", self.stopped_epoch, self.monitor.get()[0])


class GradientUpdateHandler(BatchEnd):
    """Steps the estimator's trainer after each batch, before all other handlers."""

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        losses = kwargs["loss"]
        estimator.trainer.step(sum(one.shape[0] for one in (
            losses if isinstance(losses, list) else [losses])))
