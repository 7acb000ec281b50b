"""Warm-up of a model: float32 on batches of inputs, then 8-bit numbers in the found ranges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.ndarray import NDArray
from ..errors import ParameterError, TypeMismatch, shown
from ..executor.calibration.batches import EXPECTED
from ..executor.calibration.calibrate import (
    check_no_batches,
    dynamic_heads,
    switch,
    variable_types,
)
from ..executor.calibration.collectors import Logger
from ..executor.calibration.options import DYNAMIC, Options, Table
from ..executor.calibration.quantizer import Quantizer
from ..executor.monitors import watching

if TYPE_CHECKING:
    from ..executor.executor import Executor
    from .model import Model


class Watching:
    """Shows one collector what all graphs of a model compute while it is calibrated."""

    def __init__(self, options: Options, logger: Logger) -> None:
        self._options = options
        self._logger = logger
        self._seen: list[tuple[Executor, Quantizer]] = []

    def bound(self, executor: Executor, inputs: Collection[str]) -> None:
        """A graph was bound; `inputs` are the arguments that are no constants of the model."""
        quantizer = _quantizer(executor, inputs, self._options, self._logger)
        if self._seen:
            quantizer.collect_with(self._seen[0][1])
        self._seen.append((executor, quantizer))
        switch(executor, quantizer.floats, watching(quantizer.collector.collect, True))

    def finish(self) -> Calibrated:
        """Quantizes all graphs in the ranges that were seen."""
        if not self._seen:
            raise ParameterError("calibrate: the model has no graph: NumPy computes all of it")
        ranges = self._seen[0][1].ranges()
        for executor, quantizer in self._seen:
            switch(executor, quantizer.heads(ranges), None)
        return Calibrated(self._options, ranges)

    def give_up(self) -> None:
        """Leaves all graphs on floats."""
        for executor, _ in self._seen:
            switch(executor, executor.symbol.entries, None)


class Calibrated:
    """How the graphs of a model are quantized: in these ranges. Those of other names, which only
    graphs for other shapes have, are looked for whenever such a graph runs."""

    def __init__(self, options: Options, ranges: Table) -> None:
        self._options = options
        self._ranges = ranges

    def bound(self, executor: Executor, inputs: Collection[str]) -> None:
        """Quantizes a graph that was bound, unless it came of one that is."""
        if not executor.is_quantized:
            quantizer = _quantizer(executor, inputs, self._options, None)
            switch(executor, quantizer.heads(self._ranges), None)


class DynamicLayers:
    """Quantizes dense layers of each graph that is bound: they round their data when they come."""

    def __init__(self, options: Options, logger: Logger) -> None:
        self._options = options
        self._logger = logger

    def bound(self, executor: Executor, inputs: Collection[str]) -> None:
        """A graph was bound."""
        if not executor.is_quantized:
            switch(executor, dynamic_heads(executor, inputs, self._options, self._logger), None)


def _quantizer(executor: Executor, inputs: Collection[str], options: Options,
               logger: Logger) -> Quantizer:
    return Quantizer(executor.symbol.entries,
                     [name for name in executor.arg_dict if name not in inputs],
                     variable_types(executor), options, logger)


def calibrate(model: Model, batches: Any, options: Options, logger: Logger) -> None:
    """`Model.calibrate`; the caller holds the model's lock."""
    if options.calib_mode == DYNAMIC:
        check_no_batches(batches)
        model._forget_plans()
        model._loaded.on_bound = DynamicLayers(options, logger)
        return
    if (isinstance(batches, (str, bytes, Mapping, np.ndarray, NDArray))
            or not isinstance(batches, Iterable)):
        raise TypeMismatch(f"calibrate: batches got {shown(batches)}, {EXPECTED}")
    loaded, watching_all = model._loaded, Watching(options, logger)
    model._forget_plans()
    loaded.on_bound = watching_all
    try:
        count = 0
        for batch in batches:
            model(*_arguments(batch))
            count += 1
        if not count:
            raise ParameterError("calibrate: there is no batch, expected at least 1")
        loaded.on_bound = watching_all.finish()
        # models that take more inputs are made anew, in the found ranges
        model._taking.clear()
    except BaseException:
        watching_all.give_up()
        model._forget_plans()
        raise


def _arguments(batch: Any) -> Sequence[Any]:
    """A batch as what a model is called with."""
    data = getattr(batch, "data", None)
    if isinstance(data, (list, tuple)):
        return data  # of a DataIter
    return batch if isinstance(batch, (list, tuple)) else [batch]
