"""CheckpointHandler: the block and the trainer in files, the best of them, and going on from them.
"""

from __future__ import annotations

import os
import re
import warnings
from math import inf, isnan
from typing import Any

from ....errors import ParameterError
from ....metric import EvalMetric
from ...errors import Mismatch
from .events import BatchEnd, EpochEnd, TrainBegin

MODES = ("auto", "min", "max")


class Improvement:
    """Whether less or more of a metric is better.

    `mode` 'auto' decides by its name: more is better of accuracies and F1 scores.
    """

    def __init__(self, handler: str, monitor: EvalMetric, mode: str) -> None:
        if mode not in MODES:
            warnings.warn(f"{handler} mode {mode} is unknown, fallback to auto mode.",
                          RuntimeWarning, stacklevel=3)
            mode = "auto"
        name = str(monitor.get()[0]).lower()
        self.is_more_better = mode == "max" or (mode == "auto" and ("acc" in name or "f1" in name))
        if mode == "auto":
            used, other, instead = (("greater", "less", "min") if self.is_more_better else
                                    ("less", "greater", "max"))
            warnings.warn(f"`{used}` operator will be used to determine if {monitor.get()[0]} has "
                          f"improved. Please specify `mode='{instead}'` to use the `{other}` "
                          "operator.", stacklevel=3)
        self.worst = -inf if self.is_more_better else inf

    def is_better(self, value: float, best: float) -> bool:
        """Is a value better than the best one so far?"""
        return value > best if self.is_more_better else value < best


def warn_not_updated(name: Any) -> None:
    """Warns of a metric that nobody counts with."""
    warnings.warn(f"{name} is not updated, make sure you pass one of the metric objects from "
                  "estimator.train_metrics and estimator.val_metrics as monitor.", RuntimeWarning,
                  stacklevel=3)


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Writes the block's parameters and the trainer's states, and the graph of a hybridized block.

    Files are prefix-epoch<e>batch<b>.params and .states, prefix-best likewise, prefix-symbol.json.

    Parameters
    ----------
    model_dir : str
        The folder, which is made where it is not there.
    model_prefix : str
    monitor : EvalMetric
        Of the estimator's metrics, for `save_best`: ParameterError without one.
    verbose : int
        1: says what it writes.
    save_best : bool
        Whether the best checkpoint by the monitor is kept besides.
    mode : str
        'min', 'max', or 'auto': whether less or more is better, by the metric's name.
    epoch_period, batch_period : int
        After how many epochs or batches it writes; None: not at those.
    max_checkpoints : int
        How many are kept besides the best one; older ones are removed.
    resume_from_checkpoint : bool
        Whether training goes on from the last checkpoint in the folder, for the rest of epochs or
        batches. Training by epochs needs an epoch period alone, by batches a batch period alone:
        Mismatch.
    """

    def __init__(self, model_dir: str, model_prefix: str = "model", monitor: Any = None,
                 verbose: int = 0, save_best: bool = False, mode: str = "auto",
                 epoch_period: int | None = 1, batch_period: int | None = None,
                 max_checkpoints: int = 5, resume_from_checkpoint: bool = False) -> None:
        os.makedirs(model_dir, exist_ok=True)
        if save_best and not isinstance(monitor, EvalMetric):
            raise ParameterError("To save best model only, please provide one of the metric "
                                 "objects from estimator.train_metrics and estimator.val_metrics "
                                 "as monitor.")
        self.monitor = monitor
        self.verbose = verbose
        self.model_dir = model_dir
        self.model_prefix = model_prefix
        self.save_best = save_best
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = 0
        self.current_epoch = 0
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        self.trained_epoch = self.trained_batch = -1
        if save_best:
            self._improvement = Improvement("ModelCheckpoint", monitor, mode)
            self.monitor_op = self._improvement.is_better
            self.best = self._improvement.worst

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_epoch = 0
        self.current_batch = 0
        if self.save_best:
            self.best = self._improvement.worst
        if self.resume_from_checkpoint:
            wanted, other = ((self.batch_period, self.epoch_period) if estimator.max_batch else
                             (self.epoch_period, self.batch_period))
            if not wanted or other:
                raise Mismatch(
                    "To use resume from checkpoint, you must only specify the same type of period "
                    "you used for training. For example, if you are training based on number of "
                    "epochs, you must save only based on epochs, and set batch_period to None.")
            self._resume_from_checkpoint(estimator)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.current_batch == 0:  # the graph is known after the first batch
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    # ---- writing ------------------------------------------------------------------------------

    def _save_checkpoint(self, estimator: Any) -> None:
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            epoch += self.trained_epoch + 1
            # at the end of an epoch the batch is counted already
            batch += max(self.trained_batch, 0) if estimator.max_epoch else self.trained_batch + 1
        prefix = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._save_params_and_trainer(estimator, prefix)
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: trained total %d batches, saving "
                                  "model at %s with prefix: %s", self.current_epoch,
                                  self.current_batch + 1, self.model_dir, prefix)
        if self.save_best:
            self._save_best(estimator)

    def _save_best(self, estimator: Any) -> None:
        name, value = self.monitor.get()
        if isnan(value):
            warn_not_updated(name)
            return
        if self.monitor_op(value, self.best):
            prefix = f"{self.model_prefix}-best"
            self._save_params_and_trainer(estimator, prefix)
            said = (f"{name} improved from {self.best:0.5f} to {value:0.5f}, updating best model "
                    f"at {self.model_dir} with prefix: {prefix}")
            self.best = value
        else:
            said = f"{name} did not improve from {self.best:0.5f}, skipping updating best model"
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: %s", self.current_epoch, said)

    def _save_symbol(self, estimator: Any) -> None:
        fname = os.path.join(self.model_dir, f"{self.model_prefix}-symbol.json")
        graph = getattr(estimator.net, "_cached_graph", ())
        if graph:
            graph[1].save(fname)
        else:
            estimator.logger.info(
                "Model architecture(symbol file) is not saved, please use HybridBlock to construct "
                "your model, and call net.hybridize() before passing to Estimator in order to save "
                "model architecture as %s.", fname)

    def _path(self, prefix: str, ending: str) -> str:
        return os.path.join(self.model_dir, f"{prefix}.{ending}")

    def _save_params_and_trainer(self, estimator: Any, prefix: str) -> None:
        estimator.net.save_parameters(self._path(prefix, "params"))
        estimator.trainer.save_states(self._path(prefix, "states"))
        if prefix == f"{self.model_prefix}-best":
            return
        if prefix in self.saved_checkpoints:
            self.saved_checkpoints.remove(prefix)
        self.saved_checkpoints.append(prefix)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            oldest = self.saved_checkpoints.pop(0)
            for ending in ("params", "states"):
                if os.path.exists(self._path(oldest, ending)):
                    os.remove(self._path(oldest, ending))

    # ---- reading ------------------------------------------------------------------------------

    def _found(self) -> list[tuple[int, int]]:
        """(epoch, batch) of the checkpoints in the folder; ParameterError for other names."""
        found = []
        start = f"{self.model_prefix}-epoch"
        for name in os.listdir(self.model_dir):
            if not (name.startswith(start) and name.endswith(".params")):
                continue
            match = re.fullmatch(r"(\d+)batch(\d+)\.params", name.removeprefix(start))
            if match is None:
                raise ParameterError(
                    f"Error parsing checkpoint file {name!r}, please check your checkpoints have "
                    "the format: {model_name}-epoch{epoch_number}batch{batch_number}.params, there "
                    "should also be a .states file for each .params file")
            found.append((int(match[1]), int(match[2])))
        return sorted(found)

    def _resume_from_checkpoint(self, estimator: Any) -> None:
        found = self._found()
        what, limit = (("batch", estimator.max_batch) if estimator.max_batch else
                       ("epoch", estimator.max_epoch))
        unit = "batches" if what == "batch" else "epochs"
        if not found:
            self.trained_epoch = self.trained_batch = -1
            estimator.logger.info("CheckpointHandler: No checkpoint found, training from scratch "
                                  "for %d %s", limit, unit)
            return
        self.saved_checkpoints = [f"{self.model_prefix}-epoch{epoch}batch{batch}"
                                  for epoch, batch in found]
        self.trained_epoch, self.trained_batch = found[-1]
        done = self.trained_batch if what == "batch" else self.trained_epoch
        if done >= limit - 1:
            raise ParameterError(
                f"Found checkpoint with maximum number of {what} {limit} reached, please specify "
                "resume_from_checkpoint=False (default value) if you wan to train from scratch.")
        left = limit - done - 1
        setattr(estimator, f"max_{what}", left)
        params, states = (self._path(self.saved_checkpoints[-1], ending)
                          for ending in ("params", "states"))
        if not os.path.exists(states):
            raise Mismatch(f"Failed to load checkpoint, {states} does not exist")
        estimator.net.load_parameters(params, ctx=estimator.context)
        estimator.trainer.load_states(states)
        estimator.logger.warning("CheckpointHandler: Checkpoint resumed from epoch %d batch %d, "
                                 "continue to train for %d %s", self.trained_epoch,
                                 self.trained_batch, left, unit)
