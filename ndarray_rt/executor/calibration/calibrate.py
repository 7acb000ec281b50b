"""Warm-up of an executor: float32 on batches of data, then 8-bit numbers in the found ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...errors import MXNetError, ParameterError
from ...symbol.node import Entry
from ..monitors import watching
from ..program.program import Watch
from .batches import named_batches
from .collectors import Logger
from .options import Options
from .quantizer import Quantizer

if TYPE_CHECKING:
    from ..executor import Executor


def calibrate(executor: Executor, batches: Any, data_names: Iterable[str] | None,
              options: Options, logger: Logger) -> None:
    """`Executor.calibrate`."""
    runs, bound = executor._runs, executor._bound
    check_inference(executor)
    runs.work.refuse_own_run()
    given = named_batches(batches, data_names, bound.fed, list(bound.args))
    with runs.work.lock, runs.account:
        first = next(given, None)
        if first is None:
            raise ParameterError("calibrate: there is no batch, expected at least 1")
        quantizer = Quantizer(bound.symbol.entries, parameters(executor, first), options, logger)
        before = bound.heads
        try:
            _show(executor, quantizer, chain([first], given))
            executor._compute(quantizer.heads(quantizer.ranges()))
        except BaseException:
            if bound.heads is not before:
                executor._compute(before)
            raise
        if logger:
            for name in quantizer.nodes:
                logger.info(f"{name} is quantized.")


def check_inference(executor: Executor) -> None:
    """MXNetError for an executor that computes gradients."""
    if executor.requests:
        raise MXNetError("calibrate is for inference: this executor computes gradients "
                         f"({', '.join(executor.requests)}); bind one with grad_req='null'")


def parameters(executor: Executor, inputs: Iterable[str]) -> list[str]:
    """The arguments that are no inputs: neither these, nor given to forward so far."""
    data = {*inputs, *executor._bound.fed}
    return [name for name in executor.arg_dict if name not in data]


def switch(executor: Executor, heads: Sequence[Entry], watch: Watch | None) -> None:
    """Lets an executor compute these from now on, and calls `watch` at each step."""
    with executor._runs.work.lock, executor._runs.account:
        if executor._bound.heads != list(heads):
            executor._compute(heads)
        executor._runs.set_watch(watch)


def _show(executor: Executor, quantizer: Quantizer, batches: Iterable[dict[str, Any]]) -> None:
    """Runs the graph on floats on batches, and shows all of it to the collector."""
    runs = executor._runs
    monitor = runs.monitor
    switch(executor, quantizer.floats, watching(quantizer.collector.collect, True))
    try:
        for batch in batches:
            runs.copy_inputs(batch)
            runs.forward(False)
    finally:
        runs.set_watch(monitor)
