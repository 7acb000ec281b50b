"""Clones of an executor, and a pool of them, for threads that share one set of weights."""

from __future__ import annotations

from collections.abc import Iterable
from queue import SimpleQueue
from typing import Any

from .._array.ndarray import NDArray, new_array
from ..errors import MXNetError, NameMismatch, ParameterError, TypeMismatch, not_picklable
from ..fork import renew_in_child
from ..native import lib
from .executor import Executor
from .values import copy_value

# each clone has an arena and outputs of its own: more of them must be a mistake
MOST_CLONES = 1024


def clone_executor(old: Executor, inputs: Iterable[str]) -> Executor:
    """`Executor.clone`."""
    if old.requests:
        raise MXNetError("clone is for inference: this executor computes gradients "
                         f"({', '.join(old.requests)}); bind one with grad_req='null'")
    names = list(inputs)
    for name in names:
        if name not in old.arg_dict:
            raise NameMismatch(f"clone: {name!r} is no argument of this symbol; it has: "
                               f"{', '.join(old.arg_dict)}")
    args = dict(old.arg_dict)
    for name in names:
        given = old.arg_dict[name]
        args[name] = new_array(given.shape, given.dtype, given.ctx)
        copy_value(given, args[name], name)
    made = Executor(old.symbol, old.context, args, {}, {}, dict(old.aux_dict),
                    old._sharing(memory=False), precision=old.precision)
    made._bound.note_fed(names)
    made._bound.borrowed.update(args.keys() - names)
    return made


class ExecutorPool:
    """Clones of one executor, for any number of threads.

        with mx.executor.ExecutorPool(executor, size=4) as pool:
            outputs = pool.run(data=x)          # from any thread

    A run takes a free clone, or waits for one. Each clone computes with the current number of
    threads: for throughput, use as many clones as cores and `set_num_threads(1)`.
    """

    __reduce_ex__ = not_picklable("an ExecutorPool", "make one in each process")

    def __init__(self, executor: Executor, size: int | None = None,
                 inputs: Iterable[str] | None = None) -> None:
        """`size` clones, by default as many as threads are set; `inputs` as for `clone`.

        The first of them runs once, so that weights are packed before others read them.
        TypeMismatch for anything but an executor, ParameterError for a size that is not an int from
        1 to 1,024, and what `Executor.clone` raises.
        """
        if not isinstance(executor, Executor):
            raise TypeMismatch(f"ExecutorPool: executor got a {type(executor).__name__}, expected "
                               "an Executor")
        size = min(MOST_CLONES, int(lib.ndrt_threads_get())) if size is None else size
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_CLONES:
            raise ParameterError(f"ExecutorPool: size got {size!r}, expected an int from 1 to "
                                 f"{MOST_CLONES}")
        first = executor.clone(inputs)
        first.forward()
        self._clones = [first, *(first.clone() for _ in range(size - 1))]
        self._free = self._filled()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child: all clones are free, whatever other threads did with them."""
        self._free = self._filled()

    def _filled(self) -> SimpleQueue[Executor]:
        queue: SimpleQueue[Executor] = SimpleQueue()
        for clone in self._clones:
            queue.put(clone)
        return queue

    @property
    def size(self) -> int:
        """The most runs at the same time; 0 once the pool is closed."""
        return len(self._clones)

    def run(self, **inputs: Any) -> list[NDArray]:
        """`forward(**inputs)` of a free clone; returns copies of its outputs.

        An input that is not given has the value that this clone was given last. MXNetError if the
        pool is closed.
        """
        free = self._free
        taken: list[Executor] = []
        try:
            if self._clones:
                # an interrupt is served once the clone is in the list
                taken.extend(map(free.get, (True,)))
            if not self._clones:
                raise MXNetError("ExecutorPool: run after close")
            made = []
            for name, output in zip(taken[0].symbol.list_outputs(), taken[0].forward(**inputs),
                                    strict=True):
                made.append(new_array(output.shape, output.dtype, output.ctx))
                copy_value(output, made[-1], name)
            return made
        finally:
            if taken:
                free.put(taken[0])

    def close(self) -> None:
        """Frees the clones' memory; runs in progress finish."""
        self._clones = []
        self._free = SimpleQueue()

    def __enter__(self) -> ExecutorPool:
        return self

    def __exit__(self, *error: object) -> None:
        """Closes it."""
        self.close()
