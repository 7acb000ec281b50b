"""Estimator: trains and evaluates a block over loaders of batches."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from typing import Any

from ....context import Context, cpu
from ....errors import MXNetError, ParameterError
from ....metric import EvalMetric
from ....metric import Loss as LossMetric
from ....public import shows
from ...data import DataLoader
from ...errors import Mismatch
from ...loss import Loss
from ...trainer import Trainer
from .batch_processor import BatchProcessor
from .event_handler import (
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    ValidationHandler,
)
from .events import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    TrainBegin,
    TrainEnd,
    check_event_handlers,
)
from .utils import check_handler_metrics, check_metrics, suggest_metric_for_loss

__all__ = ["Estimator"]
__dir__ = shows(globals())

_LOADER = ("Estimator only support input as Gluon DataLoader. Alternatively, you can transform "
           "your DataIter or any NDArray into Gluon DataLoader. Refer to gluon.data.DataLoader")


class Estimator:
    """Training and evaluation of a block, with handlers that are called at their events.

    Parameters
    ----------
    net : Block
    loss : Loss
    train_metrics, val_metrics : EvalMetric or list of them
        None: what suits the loss, and the loss itself; for validation copies of those of training.
    initializer : Initializer
        For parameters that have no values yet.
    trainer : Trainer
        None: sgd with a learning rate of 0.001, with a warning.
    context : Context or list of Context
        Where it computes; a list shares out each batch. None: cpu().
    val_net, val_loss : Block, Loss
        For validation, where they are others.
    batch_processor : BatchProcessor
        What does a batch; anything with methods `fit_batch` and `evaluate_batch`.

    `logger` writes to the standard output. Raises ParameterError for arguments of other kinds.
    """

    logger: Any = None

    def __init__(self, net: Any, loss: Any, train_metrics: Any = None, val_metrics: Any = None,
                 initializer: Any = None, trainer: Any = None, context: Any = None,
                 val_net: Any = None, val_loss: Any = None, batch_processor: Any = None) -> None:
        self.net = net
        self.loss = self._check_loss(loss)
        self._train_metrics = check_metrics(train_metrics)
        self._val_metrics = check_metrics(val_metrics)
        self._add_default_training_metrics()
        self._add_validation_metrics()
        self.val_loss = self.loss if val_loss is None else self._check_loss(val_loss)
        self.val_net = self.net if val_net is None else val_net
        # each estimator has its own, which the program may add handlers to
        self.logger = logging.Logger(name="Estimator", level=logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.context = self._check_context(context)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self.batch_processor = self._check_batch_processor(batch_processor)
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0

    # ---- what it is made of -------------------------------------------------------------------

    def _check_loss(self, loss: Any) -> Any:
        if not isinstance(loss, Loss):
            raise ParameterError(f"loss must be a Loss, refer to gluon.loss.Loss:{loss}")
        return loss

    def _check_context(self, context: Any) -> list[Context]:
        if not context:
            return [cpu()]
        found = [context] if isinstance(context, Context) else context
        if not isinstance(found, list) or not all(isinstance(one, Context) for one in found):
            raise ParameterError("context must be a Context or a list of Context, for example "
                                 "mx.cpu() or [mx.gpu(0), mx.gpu(1)], refer to mxnet.Context:"
                                 f"{context}")
        for one in found:
            if not str(one).startswith("cpu"):
                raise Mismatch(f"{one} is not available, please make sure your context is in one "
                               "of: mx.cpu()")
        return found

    def _check_batch_processor(self, processor: Any) -> Any:
        if processor is None:
            return BatchProcessor()
        if not all(callable(getattr(processor, name, None))
                   for name in ("fit_batch", "evaluate_batch")):
            raise ParameterError("Customized Batch Processor must contain fit_batch() and "
                                 "evaluate_batch() methods")
        return processor

    def _is_initialized(self) -> bool:
        try:
            for param in self.net.collect_params().values():
                param.list_ctx()
        except MXNetError:
            return False
        return True

    def _initialize(self, initializer: Any) -> None:
        if not self._is_initialized():
            given = {"init": initializer} if initializer else {}
            self.net.initialize(ctx=self.context, **given)
        elif initializer:
            warnings.warn("Network already fully initialized, skipping initialization. You don't "
                          "need to pass initializer if you already initialized your net. You can "
                          "use net.initialize(init=your_initializer, force_reinit=True) to force "
                          "re-initialize.", stacklevel=3)

    def _check_trainer(self, trainer: Any) -> Trainer:
        if trainer is None:
            warnings.warn("No trainer specified, default SGD optimizer with learning rate 0.001 is "
                          "used.", stacklevel=3)
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ParameterError("Trainer must be a Gluon Trainer instance, refer to gluon.Trainer:"
                                 f"{trainer}")
        return trainer

    def _add_default_training_metrics(self) -> None:
        if not self._train_metrics:
            suggested = suggest_metric_for_loss(self.loss)
            self._train_metrics = [] if suggested is None else [suggested]
            self._train_metrics.append(LossMetric(self.loss.name.rstrip("1234567890")))
        for metric in self._train_metrics:
            metric.name = f"training {metric.name}"

    def _add_validation_metrics(self) -> None:
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
        for metric in self._val_metrics:
            metric.name = (metric.name.replace("training", "validation")
                           if "training" in metric.name else f"validation {metric.name}")

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """The metrics of training; their names begin with 'training'."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """The metrics of validation; their names begin with 'validation'."""
        return self._val_metrics

    # ---- training and evaluation --------------------------------------------------------------

    def evaluate(self, val_data: Any, batch_axis: int = 0, event_handlers: Any = None) -> None:
        """Computes `val_metrics` over a DataLoader.

        Handlers besides those given: a MetricHandler and a LoggingHandler, unless there are ones.
        ParameterError for data that are no DataLoader.
        """
        if not isinstance(val_data, DataLoader):
            raise ParameterError(_LOADER)
        for metric in self.val_metrics:
            metric.reset()
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(
            self._prepare_default_validation_handlers(event_handlers))
        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            for handler in batch_end:
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for handler in epoch_end:
            handler.epoch_end(self)

    def fit(self, train_data: Any, val_data: Any = None, epochs: int | None = None,
            event_handlers: Any = None, batches: int | None = None, batch_axis: int = 0) -> None:
        """Trains on a DataLoader for a number of epochs or of batches.

        Handlers besides those given: a StoppingHandler, and where there are none of that kind a
        GradientUpdateHandler, a MetricHandler, a LoggingHandler and, for `val_data`, a
        ValidationHandler. Training ends when one says so after a batch or an epoch.
        ParameterError for data that are no DataLoader, and unless one of `epochs` and `batches`
        is given.
        """
        if not isinstance(train_data, DataLoader):
            raise ParameterError(_LOADER)
        if (not epochs) == (not batches):
            raise ParameterError("Fit only support exactly one type of iteration, train by number "
                                 "of epochs or number of batches. Please specify one and only one "
                                 "of: epochs or batches.")
        self.max_epoch = epochs
        self.max_batch = batches
        self.batch_axis = batch_axis
        train_begin, epoch_begin, batch_begin, batch_end, epoch_end, train_end = (
            self._categorize_handlers(self._prepare_default_handlers(val_data, event_handlers)))
        for handler in train_begin:
            handler.train_begin(self)
        is_over = False
        while not is_over:
            for handler in epoch_begin:
                handler.epoch_begin(self)
            batch = None
            for batch in train_data:
                for handler in batch_begin:
                    handler.batch_begin(self, batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                # all are called, also where the first one ends training
                said = [handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
                        for handler in batch_end]
                if any(said):
                    break
            if batch is None:
                raise ParameterError("Estimator.fit: train_data has no batch")
            said = [handler.epoch_end(self) for handler in epoch_end]
            is_over = any(said)
        for handler in train_end:
            handler.train_end(self)

    # ---- handlers -----------------------------------------------------------------------------

    def _prepare_default_handlers(self, val_data: Any, event_handlers: Any) -> list[Any]:
        handlers = check_event_handlers(event_handlers)
        default: list[Any] = [StoppingHandler(self.max_epoch, self.max_batch)]
        if not _has(handlers, GradientUpdateHandler):
            default.append(GradientUpdateHandler())
        if not _has(handlers, MetricHandler):
            default.append(MetricHandler(metrics=self.train_metrics))
        if val_data and not _has(handlers, ValidationHandler):
            default.append(ValidationHandler(val_data=val_data, eval_fn=self.evaluate))
        if not _has(handlers, LoggingHandler):
            default.append(LoggingHandler(metrics=self.train_metrics))
        return self._ordered(handlers, default, [*self.train_metrics, *self.val_metrics])

    def _prepare_default_validation_handlers(self, event_handlers: Any) -> list[Any]:
        handlers = check_event_handlers(event_handlers)
        default: list[Any] = []
        if not _has(handlers, MetricHandler):
            default.append(MetricHandler(metrics=self.val_metrics))
        if not _has(handlers, LoggingHandler):
            default.append(LoggingHandler(metrics=self.val_metrics))
        return self._ordered(handlers, default, self.val_metrics)

    @staticmethod
    def _ordered(handlers: list[Any], default: list[Any], known: list[EvalMetric]) -> list[Any]:
        """All handlers by priority. Those of the user's are to use known metrics, beside others."""
        joined = [*handlers, *default]
        if handlers and default:
            for handler in joined:
                check_handler_metrics(handler, known)
        return sorted(joined, key=lambda handler: getattr(handler, "priority", 0))

    def _categorize_handlers(self, event_handlers: Any) -> tuple[list[Any], ...]:
        """The handlers of each event."""
        return tuple([handler for handler in event_handlers if isinstance(handler, kind)]
                     for kind in (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd))


def _has(handlers: list[Any], kind: type) -> bool:
    return any(isinstance(handler, kind) for handler in handlers)
