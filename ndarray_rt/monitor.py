"""Monitor: a number of each array that an executor computes, every few batches.

Source: MXNet's `mx.monitor`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from math import sqrt
from typing import Any

from . import nd
from .errors import TypeMismatch
from .nd import NDArray
from .public import shows

__all__ = ["Monitor"]
__dir__ = shows(globals())


def _root_mean_square(x: NDArray) -> NDArray:
    made: NDArray = nd.norm(x) / sqrt(x.size)
    return made


class Monitor:
    """Collects `stat_func(array)` of arrays whose names match `pattern`, each `interval` batches.

    Arrays are the outputs of operators (their inputs too, where `monitor_all` is true), arguments
    and auxiliary states. `stat_func` gives an array or a list of them, by default the root mean
    square. `sort` sorts what is said by name.

        monitor.install(executor)
        monitor.tic(); executor.forward(); monitor.toc_print()
    """

    def __init__(self, interval: int, stat_func: Callable[[NDArray], Any] | None = None,
                 pattern: str = ".*", sort: bool = False, monitor_all: bool = False) -> None:
        self.interval = interval
        self.stat_func = _root_mean_square if stat_func is None else stat_func
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Any] = []

    def stat_helper(self, name: str, array: NDArray) -> None:
        """What executors call with each array that they computed."""
        if self.activated:
            self._take(name, array)

    def _take(self, name: str, array: NDArray) -> None:
        if self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Any) -> None:
        """Watches an executor; several may be watched."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Before a batch: begins to collect if it is the turn of this one."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """After a batch: (batch, name, text of the numbers) of all that was collected."""
        if not self.activated:
            return []
        for exe in self.exes:
            symbol = exe.symbol
            for names, arrays in ((symbol.list_arguments(), exe.arg_arrays),
                                  (symbol.list_auxiliary_states(), exe.aux_arrays)):
                for name, array in zip(names, arrays, strict=True):
                    self._take(name, array)
        self.activated = False
        if self.sort:
            self.queue.sort(key=lambda entry: entry[1])
        said = [(step, name, self._text(name, found)) for step, name, found in self.queue]
        self.queue = []
        return said

    @staticmethod
    def _text(name: str, found: Any) -> str:
        values = found if isinstance(found, list) else [found]
        for value in values:
            if not isinstance(value, NDArray):
                raise TypeMismatch(f"Monitor: stat_func gave a {type(value).__name__} of {name!r}, "
                                   "expected an NDArray or a list of them")
        return "".join(f"{value.asscalar() if value.shape == (1,) else value.asnumpy()}\t"
                       for value in values)

    def toc_print(self) -> None:
        """`toc`, said through `logging`."""
        for step, name, text in self.toc():
            logging.info(f"Batch: {step:7d} {name:30s} {text:s}")
