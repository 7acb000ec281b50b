"""Warm-up of an executor: float32 on batches of data, then 8-bit numbers in the found ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...dtypes import FLOAT32, DType
from ...errors import MXNetError, ParameterError
from ...passes.quantize_dynamic import quantize_dynamic
from ...symbol.node import Entry
from ..checks import check_names
from ..monitors import watching
from ..program.program import Watch
from .batches import default_names, named_batches
from .collectors import Logger
from .options import DYNAMIC, Options
from .quantizer import Quantizer

if TYPE_CHECKING:
    from ..executor import Executor


def calibrate(executor: Executor, batches: Any, data_names: Iterable[str] | None,
              options: Options, logger: Logger) -> None:
    """`Executor.calibrate`."""
    runs, bound = executor._runs, executor._bound
    check_inference(executor)
    runs.work.refuse_own_run()
    if options.calib_mode == DYNAMIC:
        check_no_batches(batches)
        names = default_names(bound.fed, list(bound.args)) if data_names is None else (
            check_names("calibrate: data_names", data_names))
        switch(executor, dynamic_heads(executor, names, options, logger), runs.monitor)
        return
    given = named_batches(batches, data_names, bound.fed, list(bound.args))
    with runs.work.lock, runs.account:
        first = next(given, None)
        if first is None:
            raise ParameterError("calibrate: there is no batch, expected at least 1")
        quantizer = Quantizer(bound.symbol.entries, parameters(executor, first),
                              variable_types(executor), options, logger)
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


def check_no_batches(batches: Any) -> None:
    """ParameterError for data that dynamic quantization does not take."""
    if batches is not None:
        raise ParameterError(f"calibrate: calib_mode={DYNAMIC!r} takes no batches, expected None")


def dynamic_heads(executor: Executor, inputs: Iterable[str], options: Options,
                  logger: Logger) -> list[Entry]:
    """The symbol's graph with dense layers that round their data when they come; `inputs` are no
    weights."""
    data = set(inputs)
    made = quantize_dynamic(
        executor.symbol.entries,
        {name: x.shape for name, x in executor.arg_dict.items()
         if name not in data and x.dtype == FLOAT32},
        "int8" if options.dtype == "int8" else "uint8", options.excluded_names,
        options.excluded_ops)
    if logger:
        for name in made.nodes:
            logger.info(f"{name} is quantized.")
    return made.heads


def check_inference(executor: Executor) -> None:
    """MXNetError for an executor that computes gradients."""
    if executor.requests:
        raise MXNetError("calibrate is for inference: this executor computes gradients "
                         f"({', '.join(executor.requests)}); bind one with grad_req='null'")


def parameters(executor: Executor, inputs: Iterable[str]) -> list[str]:
    """The arguments that are no inputs: neither these, nor given to forward so far."""
    data = {*inputs, *executor._bound.fed}
    return [name for name in executor.arg_dict if name not in data]


def variable_types(executor: Executor) -> dict[str, DType]:
    """The dtypes of arguments and auxiliary states."""
    return {name: x.dtype for name, x in executor._bound.variables.items()}


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
