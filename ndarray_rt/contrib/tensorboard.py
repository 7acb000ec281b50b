"""`contrib.tensorboard`: metrics for TensorBoard, through whichever writer is installed.

Source: MXNet's `contrib.tensorboard`.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import MissingPackage
from ..public import shows

__all__ = ["LogMetricsCallback"]
__dir__ = shows(globals())

# modules with a SummaryWriter, in the order in which they are looked for
_WRITERS = ("mxboard", "tensorboardX", "torch.utils.tensorboard")


def _writer(logging_dir: str) -> Any:
    for name in _WRITERS:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return module.SummaryWriter(logging_dir)
    raise MissingPackage("LogMetricsCallback writes through one of the packages mxboard, "
                         "tensorboardX and torch with tensorboard, and none of them is installed")


class LogMetricsCallback:
    """A callback for batches or epochs that writes the values of the metric.

    Each is a scalar of its name (after `prefix-`, if there is a prefix), at the number of the
    epoch, in files in `logging_dir`. MissingPackage where no writer is installed.
    """

    def __init__(self, logging_dir: str, prefix: str | None = None) -> None:
        self.prefix = prefix
        self.summary_writer = _writer(logging_dir)

    def __call__(self, param: Any) -> None:
        """Writes what a BatchEndParam's metric says; nothing where it has none."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, global_step=param.epoch)
