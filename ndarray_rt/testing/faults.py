"""Faults on purpose: what must hold when the n-th allocation fails or an interrupt comes.

A scenario is made anew for each n: some arrays and something to run on them. After a fault every
array must be readable and hold what it held before or what an undisturbed run gives; no lease and
no pin may stay; the next run must be right; no memory may be lost.

    def scenario():
        x, y = mx.nd.ones((2, 3)), mx.nd.zeros((2, 3))
        return Scenario({"x": x, "y": y}, lambda: my_operator(x, out=y))

    check_allocations(scenario)
    check_interrupts(scenario)
"""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from .._array.access import Access
from .._array.copy import read_numpy, write_numpy
from .._array.ndarray import NDArray
from ..dtypes import is_float
from ..native import lib
from ..op.prim_cache import CACHE
from ..storage.desc import clear_desc_caches
from ..storage.handle import Handle, memory_stats
from ..storage.reorder import REORDERS
from .case import Array

# C functions that allocate what an operator works on: cffi's and numpy's
ALLOCATING = frozenset(("new", "empty", "zeros", "array", "copy", "astype", "concatenate"))
MANY = 100_000


@dataclass
class Scenario:
    """Arrays that a user can reach, and something to run on them.

    `recover` is what a user must do after a fault before it can run again.
    """

    arrays: Mapping[str, NDArray]
    run: Callable[[], object]
    recover: Callable[[], object] | None = None
    rtol: float = 1e-5
    atol: float = 1e-6


class Fault:
    """Makes one thing fail in a `with` (this one none); `happened` says if it came to that."""

    happened = False

    def __enter__(self) -> Fault:
        return self

    def __exit__(self, *error: object) -> None:
        """Lets nothing fail any more."""


class FailingAllocation(Fault):
    """The allocation after `n` others fails in the native layer: buffers, layouts, primitives."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __enter__(self) -> FailingAllocation:
        lib.ndrt_memory_fail_after(self._n)
        return self

    def __exit__(self, *error: object) -> None:
        try:
            for _ in range(100):  # it strikes now, if it did not before
                Handle(1)
            self.happened = True
        except MemoryError:
            self.happened = False
        finally:
            lib.ndrt_memory_fail_after(-1)


class FailingCall(Fault):
    """An exception where Python code of the package calls, after `n` others of these places.

    `MemoryError` comes in place of a C function that allocates. Anything else comes where the
    interpreter looks for signals: when a function is entered, and when a C function has returned.
    Not in autograd's `__exit__`: nothing can be done about what comes between the end of a user's
    `with` block and the first line of that.
    """

    def __init__(self, n: int, error: type[BaseException]) -> None:
        self._left = n
        self._error = error
        self._allocations = issubclass(error, MemoryError)

    def __enter__(self) -> FailingCall:
        # where Python drops an exception (in a finalizer) nobody need see or keep it
        self._hook = sys.unraisablehook
        sys.unraisablehook = lambda unraisable: None
        sys.setprofile(self._event)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        sys.unraisablehook = self._hook

    def _event(self, frame: FrameType, event: str, arg: Any) -> None:
        if not frame.f_globals.get("__name__", "").startswith("ndarray_rt.") or (
                frame.f_code.co_filename == __file__):
            return
        if frame.f_code.co_name == "__exit__" and frame.f_globals["__name__"].endswith("autograd"):
            return
        if self._allocations:
            if event != "c_call" or arg.__name__ not in ALLOCATING:
                return
        elif event not in ("call", "c_return"):
            return
        if not self._left:
            self.happened = True
            raise self._error("on purpose")
        self._left -= 1


def contents(arrays: Mapping[str, NDArray]) -> dict[str, Array]:
    """What a reader sees, by name."""
    found = {}
    for name, array in arrays.items():
        with Access(read=(array,)) as stream:
            found[name] = read_numpy(array, stream)
    return found


def live_bytes() -> int:
    """Bytes in use when nothing is kept for nobody."""
    gc.collect()
    CACHE.clear_released()
    gc.collect()
    return memory_stats()["live"]


def forget_caches() -> None:
    """Empties what is kept between calls, so that a scenario meets every allocation."""
    clear_desc_caches()
    REORDERS.clear()
    CACHE.clear("imperative")


def check_allocations(make: Callable[[], Scenario], cold: bool = True, step: int = 1) -> int:
    """Every native allocation fails once, then every one of Python's; gives how often that was."""
    return (check_faults(make, FailingAllocation, MemoryError, cold, step)
            + check_faults(make, lambda n: FailingCall(n, MemoryError), MemoryError, cold, step))


def check_interrupts(make: Callable[[], Scenario], cold: bool = False, step: int = 1) -> int:
    """An interrupt comes at each place (or each `step`-th) where it can; gives how often."""
    return check_faults(make, lambda n: FailingCall(n, KeyboardInterrupt), KeyboardInterrupt, cold,
                        step)


def check_faults(make: Callable[[], Scenario], fault: Callable[[int], Fault],
                 error: type[BaseException], cold: bool = True, step: int = 1) -> int:
    """One kind of fault for n = 0, `step`, 2 `step` ... until the scenario ends before it."""
    new = _undisturbed(make)
    if cold:
        forget_caches()
    _one(make, Fault(), error, new, -1)  # leaves behind what each of the following may
    usual = live_bytes()
    for n in itertools.count(0, step):
        assert n < MANY, "the scenario never ends without a fault"
        if cold:
            forget_caches()
        happened = _one(make, fault(n), error, new, n)
        left = live_bytes() - usual
        assert left <= 0, f"fault {n}: {left} bytes more are live than after an undisturbed run"
        if not happened:
            return n // step
    return 0


def _undisturbed(make: Callable[[], Scenario]) -> dict[str, Array]:
    scenario = make()
    scenario.run()
    return contents(scenario.arrays)


def _one(make: Callable[[], Scenario], fault: Fault, error: type[BaseException],
         new: Mapping[str, Array], n: int) -> bool:
    scenario = make()
    old = contents(scenario.arrays)
    natives = {name: array._chunk.native for name, array in scenario.arrays.items()}
    pins = {name: native.pins for name, native in natives.items()}
    try:
        with fault:
            scenario.run()
    except error as found:
        found.__traceback__ = None  # its frames hold what the run worked on
    gc.collect()
    for name, native in natives.items():
        assert lib.ndrt_chunk_lease(native) == 0, f"fault {n}: {name} is still leased"
        assert native.pins == pins[name], f"fault {n}: {name} is still pinned"
    for name, value in contents(scenario.arrays).items():
        assert _same(value, old[name]) or _near(value, new[name], scenario), (
            f"fault {n}: {name} holds neither its old nor its new value:\n{value}")
    for name, array in scenario.arrays.items():
        with Access(written=(array,)) as stream:
            write_numpy(array, old[name], stream)
    if scenario.recover is not None:
        scenario.recover()
    scenario.run()
    for name, value in contents(scenario.arrays).items():
        assert _near(value, new[name], scenario), f"after fault {n}: {name} is wrong:\n{value}"
    return fault.happened


def _same(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a, b, equal_nan=is_float(a.dtype)))


def _near(a: Array, b: Array, scenario: Scenario) -> bool:
    return bool(np.allclose(a.astype(np.float64), b.astype(np.float64), scenario.rtol,
                            scenario.atol, equal_nan=True))


__all__ = ["FailingAllocation", "FailingCall", "Fault", "Scenario", "check_allocations",
           "check_faults", "check_interrupts", "contents", "forget_caches", "live_bytes"]
