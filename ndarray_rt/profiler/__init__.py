"""`mx.profiler`: what runs when, as a trace for Perfetto or chrome://tracing, and as totals.

    mx.profiler.set_config(profile_all=True, aggregate_stats=True, filename="trace.json")
    mx.profiler.set_state("run")
    ...
    print(mx.profiler.dumps())
    mx.profiler.dump()

Each step of an executor, of a hybridized block and each call of an operator is an event with its
kernel, the layouts of its arrays and the conversions between them. Executors run step by step
meanwhile, not from their recordings, so that each step can be told of: times are those of the
operators with Python's share. `executor.explain()` measures the recorded run. A profiler that
does not run costs nothing.

Source: MXNet's `mx.profiler`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import MXNetError, ParameterError, shown
from ..public import shows
from .objects import Counter, Domain, Event, Frame, Marker, Task
from .recorder import RECORDER
from .tables import FORMATS, SORTS

__all__ = ["Counter", "Domain", "Event", "Frame", "Marker", "Task", "dump", "dump_profile", "dumps",
           "pause", "profiler_set_config", "profiler_set_state", "resume", "scope", "set_config",
           "set_kvstore_handle", "set_state"]
__dir__ = shows(globals())

_STATES = {"stop": False, "run": True}


def set_config(**kwargs: Any) -> None:
    """Sets what is recorded, and the file that `dump` writes.

    `filename` (profile.json); `profile_symbolic`: steps of executors and hybridized blocks;
    `profile_imperative`: those, and calls of operators; `profile_memory`: bytes of live arrays;
    `profile_all`: all of it, as it is where none is given; `profile_api` is accepted: there is no
    C API below the calls. `aggregate_stats`: totals for `dumps`. `continuous_dump`: events are
    appended to the file each `dump_period` seconds (1.0). `profile_process`: "worker".

    What is not named keeps MXNet's default. ParameterError for an unknown name or an unreadable
    value; it is an MXNetError.
    """
    _of_worker("set_config", kwargs.pop("profile_process", "worker"))
    RECORDER.configure(kwargs)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """"run" starts the profiler, "stop" stops it. KeyError for another state."""
    _of_worker("set_state", profile_process)
    RECORDER.run(_STATES[state])


def pause(profile_process: str = "worker") -> None:
    """Records nothing until `resume`; executors replay their recordings meanwhile."""
    _of_worker("pause", profile_process)
    RECORDER.pause(True)


def resume(profile_process: str = "worker") -> None:
    """Ends what `pause` began."""
    _of_worker("resume", profile_process)
    RECORDER.pause(False)


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Writes the events since the last dump to the file: JSON in Chrome's trace format.

    The file is whole after each dump. `finished` stops the profiler and ends the file: the next
    one begins anew. MXNetError where the profiler has not run since the file was ended, OSError
    where the file can not be written.
    """
    _of_worker("dump", profile_process)
    RECORDER.dump(finished)


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total",
          ascending: bool = False) -> str:
    """Totals of what was recorded with `aggregate_stats`, as a table or as JSON.

    Each kind has its names with count, total, least, greatest and mean milliseconds (of memory:
    kB), sorted by "total", "avg", "min", "max" or "count". Empty where there is nothing. `reset`
    forgets them afterwards. ParameterError, which is an MXNetError, for another format or order.
    """
    for name, value, known in (("format", format, FORMATS), ("sort_by", sort_by, tuple(SORTS)),
                               ("ascending", ascending, (False, True)),
                               ("reset", reset, (False, True))):
        if value not in known:
            raise ProfilerArgument(f"dumps: {name} is {shown(value)}, expected one of "
                                   f"{', '.join(map(repr, known))}")
    return RECORDER.totals.text(format, sort_by, ascending, reset)


@contextmanager
def scope(name: str = "<unk>:", append_mode: bool = False) -> Iterator[None]:
    """Events of operators in this thread say that they ran in this scope.

    `append_mode` appends the name to that of the scope around it. MXNet 1.9.1 has none.
    """
    with RECORDER.scope(name, append_mode):
        yield


def set_kvstore_handle(handle: Any) -> None:
    """Accepted: there are no servers of a kvstore to be profiled."""


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """`set_config` as it was called once: `mode` is "symbolic", "imperative", "all" and so on."""
    _is_deprecated("profiler_set_config", "set_config")
    set_config(**{f"profile_{mode}": True, "filename": filename})


def profiler_set_state(state: str = "stop") -> None:
    """`set_state` as it was called once."""
    _is_deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile() -> None:
    """`dump` as it was called once."""
    _is_deprecated("dump_profile", "dump")
    dump(True)


class ProfilerArgument(ParameterError, AssertionError):
    """An argument that is none of those that there are."""


def _of_worker(function: str, process: str) -> None:
    if process == "server":
        raise MXNetError(f"{function}: there is no server of a kvstore to be profiled, "
                         "profile_process is 'worker'")
    if process != "worker":
        raise KeyError(process)


def _is_deprecated(old: str, new: str) -> None:
    warnings.warn(f"profiler.{old}() is deprecated. Please use profiler.{new}() instead",
                  stacklevel=3)
