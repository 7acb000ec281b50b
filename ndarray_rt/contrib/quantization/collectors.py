"""Runs a module on data for calibration, and shows a collector what it computes."""

from __future__ import annotations

from typing import Any

from ...errors import ParameterError
from ...executor.calibration.collectors import Logger
from ...io import DataIter


def _collect_layer_statistics(mod: Any, data: DataIter, collector: Any,
                              max_num_examples: int | None = None, logger: Logger = None) -> int:
    """Shows a collector what a bound module computes of data; how many samples that were."""
    if not isinstance(data, DataIter):
        raise ParameterError("Only supports data as a type of DataIter, while received type "
                             f"{type(data)}")
    executor = mod._exec_group.execs[0]
    executor.set_monitor_callback(collector.collect, monitor_all=True)
    batches = examples = 0
    try:
        for batch in data:
            mod.forward(data_batch=batch, is_train=False)
            batches += 1
            examples += data.batch_size
            if max_num_examples is not None and examples >= max_num_examples:
                break
    finally:
        executor.set_monitor_callback(None)
    if not batches:
        raise ParameterError("calib_data has no batch left, expected at least 1: was it reset?")
    if logger is not None:
        logger.info(f"Collected statistics from {batches} batches with batch_size="
                    f"{data.batch_size}")
    return examples
