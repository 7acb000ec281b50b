"""The recorder: what it hears of operators and of a user's own events, kept until it is dumped."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter, time
from typing import Any, NamedTuple

from .. import fork
from ..errors import MXNetError, ParameterError, shown
from ..imperative.tape import STATE
from ..op.dispatch import Dispatched, observe
from ..op.params import parse_bool, parse_float
from ..storage.handle import memory_stats
from .tables import MEMORY, OPERATOR, Totals
from .trace_file import TraceFile

CUSTOM = "Custom Operator"


class Config(NamedTuple):
    """What `set_config` sets."""

    filename: str = "profile.json"
    profile_all: bool = False
    profile_symbolic: bool = False
    profile_imperative: bool = False
    profile_memory: bool = False
    profile_api: bool = False
    aggregate_stats: bool = False
    continuous_dump: bool = False
    dump_period: float = 1.0

    @property
    def is_all(self) -> bool:
        """Everything is recorded: somebody said so, or did not say what."""
        return self.profile_all or not (self.profile_symbolic or self.profile_imperative
                                        or self.profile_memory or self.profile_api)


def _read(name: str, value: object) -> Any:
    """A value of the configuration."""
    default = Config._field_defaults.get(name)
    if default is None:
        raise ParameterError(f"set_config: {name!r} is no setting of the profiler; there are "
                             f"{', '.join(Config._fields)}, profile_process")
    parse: Callable[[object], Any] = {bool: parse_bool, float: parse_float}.get(
        type(default), _file_name)
    try:
        return parse(value)
    except (TypeError, ValueError, MXNetError):
        wanted = {bool: "a boolean", float: "a float"}.get(type(default), "the name of a file")
        raise ParameterError(f"set_config: {name} is {shown(value)}, expected {wanted}") from None


def _file_name(value: object) -> str:
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise ValueError(value)
    return os.fsdecode(value)


class Recorder:
    """Events since the last dump, totals since the last reset. Any thread may add to them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._config = Config()
        self._is_running = False
        self._is_paused = False
        self._has_run = False  # since the file was ended
        self._stop: Callable[[], None] | None = None
        self._events: list[dict[str, Any]] = []
        self._last_dump = 0.0
        self._file: TraceFile | None = None
        self._scope: ContextVar[str] = ContextVar("profiler_scope", default="")
        # of each thread: seconds that operators took inside the custom operator that runs there
        self._inside: dict[int, float] = {}
        # events carry the time of day
        self._epoch = time() - perf_counter()
        self.totals = Totals()
        fork.renew_in_child(self)

    def _renew_locks(self) -> None:
        """A child writes no file of its parent's, and records only what it is asked to."""
        self._lock = threading.RLock()
        self.totals = Totals()
        self._events, self._file, self._inside = [], None, {}
        self._is_running = self._is_paused = self._has_run = False
        self._subscribe()

    # ---- states ---------------------------------------------------------------------------------

    def configure(self, settings: Mapping[str, object]) -> None:
        made = Config(**{name: _read(name, value) for name, value in settings.items()})
        with self._lock:
            if made.filename != self._config.filename:
                self._file = None
            self._config = made

    def run(self, on: bool) -> None:
        with self._lock:
            self._is_running = on
            # a start is one, whatever an earlier run was left in
            self._is_paused = False
            if on and not self._has_run:
                self._has_run = True
                self._last_dump = perf_counter()
            self._subscribe()

    def pause(self, on: bool) -> None:
        with self._lock:
            self._is_paused = on
            self._subscribe()

    @property
    def is_recording(self) -> bool:
        return self._is_running and not self._is_paused

    def _subscribe(self) -> None:
        """Hears of operators while it records, else not at all."""
        if self.is_recording and self._stop is None:
            self._stop = observe(self._hear)
        elif not self.is_recording and self._stop is not None:
            self._stop()
            self._stop = None

    @contextmanager
    def scope(self, name: str, append: bool) -> Iterator[None]:
        token = self._scope.set(self._scope.get() + name if append else name)
        try:
            yield
        finally:
            self._scope.reset(token)

    # ---- events ---------------------------------------------------------------------------------

    def now(self) -> float:
        """Microseconds, as events carry them."""
        return (self._epoch + perf_counter()) * 1e6

    def add(self, event: dict[str, Any], duration: float | None = None) -> None:
        """Keeps an event, and counts a duration in milliseconds, while it records."""
        with self._lock:
            if not self.is_recording:
                return
            self._events.append({"ts": self.now(), "pid": os.getpid(),
                                 "tid": threading.get_native_id(), **event})
            if self._config.aggregate_stats and duration is not None:
                self.totals.add(event["cat"], event["name"], duration)
            due = (self._config.continuous_dump
                   and perf_counter() - self._last_dump >= self._config.dump_period)
            if due:
                self._write()

    def _hear(self, told: Dispatched) -> None:
        """One operator has run."""
        end = self.now()
        config = self._config
        is_step = bool(told.node)
        if not (config.is_all or config.profile_imperative
                or (is_step and config.profile_symbolic)):
            return
        category, name, seconds = self._name(told)
        kernel = ("+".join(told.impls) or "memory only" if told.reason is None
                  else f"numpy ({told.reason})")
        facts: dict[str, Any] = {
            "kernel": kernel, "layouts in": ", ".join(told.layouts_in),
            "layouts out": ", ".join(told.layouts_out), "reorders": told.reorders}
        if is_step:
            facts["node"] = told.node
        if self._scope.get():
            facts["scope"] = self._scope.get()
        micros = told.seconds * 1e6
        self.add({"name": name, "cat": category, "ph": "X", "ts": end - micros, "dur": micros,
                  "args": facts}, seconds * 1e3)
        if config.is_all or config.profile_memory:
            self._tell_memory()

    def _name(self, told: Dispatched) -> tuple[str, str, float]:
        """Category, name and seconds of a call: a custom operator's are those of its own code."""
        params: Any = told.params
        thread = threading.get_ident()
        # of the gradient they are one level below
        of_custom = {"Custom": params, "_backward_Custom": getattr(params, "forward", None)}
        if told.op.name in of_custom:
            prefix = "_backward_" if told.op.is_backward else ""
            own = told.seconds - self._inside.pop(thread, 0.0)
            kind = of_custom[told.op.name].op_type
            return CUSTOM, f"{prefix}{kind}::pure_python", max(own, 0.0)
        running = STATE.custom
        if running is None:
            return OPERATOR, told.op.name, told.seconds
        self._inside[thread] = self._inside.get(thread, 0.0) + told.seconds
        return CUSTOM, f"{running}::{told.op.name}", told.seconds

    def _tell_memory(self) -> None:
        live = memory_stats()["live"]
        name = "Memory: cpu/0"
        self.add({"name": name, "cat": MEMORY, "ph": "C", "args": {name: live}}, live / 1e3)

    # ---- the file -------------------------------------------------------------------------------

    def dump(self, finished: bool) -> None:
        with self._lock:
            if not self._has_run:
                raise MXNetError("dump: the profiler has not run since its file was ended, "
                                 "configure and start it first")
            self._write()
            if finished:
                self._file, self._has_run = None, False
                self._is_running = False
                self._subscribe()

    def _write(self) -> None:
        """Appends what there is to the file."""
        if self._file is None:
            self._file = TraceFile(self._config.filename)
        self._file.append(self._events)
        self._events = []
        self._last_dump = perf_counter()

    def at_exit(self) -> None:
        """A program that ends while it is profiled leaves a trace."""
        with self._lock:
            if self._is_running and self._events:
                self._write()


RECORDER = Recorder()
atexit.register(RECORDER.at_exit)
