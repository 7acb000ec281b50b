"""Functions that training calls at the end of batches and epochs. Source: MXNet's `mx.callback`.

Those of batches get an object with `epoch`, `nbatch`, `eval_metric` and `locals`; those of epochs
get (epoch, symbol, arg_params, aux_params). What they say goes to `logging`.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any

from .model import save_checkpoint
from .public import shows

__all__ = ["LogValidationMetricsCallback", "ProgressBar", "Speedometer", "do_checkpoint",
           "log_train_metric", "module_checkpoint"]
__dir__ = shows(globals())


def module_checkpoint(mod: Any, prefix: str, period: int = 1,
                      save_optimizer_states: bool = False) -> Callable[..., None]:
    """After each `period` epochs `mod.save_checkpoint(prefix, epoch)`."""
    period = int(max(1, period))

    def save(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return save


def do_checkpoint(prefix: str, period: int = 1) -> Callable[..., None]:
    """After each `period` epochs writes prefix-symbol.json and prefix-<epoch>.params."""
    period = int(max(1, period))

    def save(iter_no: int, sym: Any, arg: Any, aux: Any) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return save


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """At each `period`-th batch says the metric, whose local part `auto_reset` resets."""
    def log(param: Any) -> None:
        if param.nbatch % period != 0 or param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
        if auto_reset:
            param.eval_metric.reset_local()

    return log


class Speedometer:
    """At each `frequent`-th batch says how many samples a second there were, and the metric.

    `auto_reset` resets the metric's local part each time.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self.init = False
        self.tic = 0.0
        self.last_count = 0

    def __call__(self, param: Any) -> None:
        count = param.nbatch
        if self.last_count > count:  # another epoch began
            self.init = False
        self.last_count = count
        if not self.init:
            self.init = True
            self.tic = time.time()
            return
        if count % self.frequent != 0:
            return
        passed = time.time() - self.tic
        speed = self.frequent * self.batch_size / passed if passed else math.inf
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
        else:
            said = param.eval_metric.get_name_value()
            first = 0
            if self.auto_reset:
                param.eval_metric.reset_local()
                first = count - self.frequent
            logging.info("Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(said),
                         param.epoch, first, count, speed, *(x for pair in said for x in pair))
        self.tic = time.time()


class ProgressBar:
    """Says at each batch which part of `total` batches is done, as a bar of `length` characters."""

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total

    def __call__(self, param: Any) -> None:
        done = param.nbatch / float(self.total)
        filled = round(self.bar_len * done)
        logging.info("[%s] %s%s\r", "=" * filled + "-" * (self.bar_len - filled),
                     math.ceil(100.0 * done), "%")


class LogValidationMetricsCallback:
    """Says the metric at the end of an evaluation."""

    def __call__(self, param: Any) -> None:
        if not param.eval_metric:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
