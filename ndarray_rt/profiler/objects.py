"""A user's own events: tasks, frames, events, counters and markers, each in a domain.

They are recorded while the profiler runs; otherwise they do nothing.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

from ..errors import ParameterError, TypeMismatch, shown
from ..public import shows
from .recorder import RECORDER

__all__ = ["Counter", "Domain", "Event", "Frame", "Marker", "Task"]
__dir__ = shows(globals())

_ids = itertools.count(1)
# how far a marker reaches, and what the format calls that
_SCOPES = {"global": "g", "process": "p", "thread": "t", "task": "t", "marker": "t"}


class Domain:
    """A group of tasks, frames, counters and markers; its name is their category."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeMismatch(f"Domain: name is {shown(name)}, expected a string")
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """A Task of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A Frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> Counter:
        """A Counter of this domain, with a first value if there is to be one."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A Marker of this domain."""
        return Marker(self, name)


class _Named:
    """Something with a name and the category of a domain."""

    _kind: ClassVar[str] = ""

    def __init__(self, domain: Domain, name: str) -> None:
        what = type(self).__name__
        if not isinstance(domain, Domain):
            raise TypeMismatch(f"{what}: domain is {shown(domain)}, expected a Domain")
        if not isinstance(name, str):
            raise TypeMismatch(f"{what}: name is {shown(name)}, expected a string")
        self.name = name
        self.domain = domain

    def __str__(self) -> str:
        return self.name

    def _event(self, phase: str, **more: Any) -> dict[str, Any]:
        return {"name": self.name, "cat": self.domain.name + self._kind, "ph": phase, **more}


class _Span(_Named):
    """From a start to a stop, which may be in another thread."""

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(domain, name)
        self._id = next(_ids)
        self._start: float | None = None

    def start(self) -> None:
        """Begins the span; a second start begins it anew."""
        self._start = RECORDER.now() if RECORDER.is_recording else None

    def stop(self) -> None:
        """Ends the span; does nothing where none was begun."""
        if self._start is None:
            return
        begin, end = self._start, RECORDER.now()
        self._start = None
        RECORDER.add(self._event("b", id=self._id, ts=begin))
        RECORDER.add(self._event("e", id=self._id, ts=end), (end - begin) / 1e3)


class Task(_Span):
    """A piece of work with a name; all its spans count as one in the totals."""


class Frame(_Span):
    """One of many like spans, such as the making of one picture after the other."""

    _kind = ",frame"


class Event:
    """A span of one thread, without a domain."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeMismatch(f"Event: name is {shown(name)}, expected a string")
        self.name = name
        self._start: float | None = None

    def __str__(self) -> str:
        return self.name

    def start(self) -> None:
        """Begins the span; a second start begins it anew."""
        self._start = RECORDER.now() if RECORDER.is_recording else None

    def stop(self) -> None:
        """Ends the span; does nothing where none was begun."""
        if self._start is None:
            return
        duration = RECORDER.now() - self._start
        RECORDER.add({"name": self.name, "cat": "event", "ph": "X", "ts": self._start,
                      "dur": duration}, duration / 1e3)
        self._start = None


class Counter(_Named):
    """A whole number that changes over time; it counts whether the profiler runs or not."""

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        super().__init__(domain, name)
        self._value = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: int) -> None:
        """Sets the number; what int() can not read is a ValueError."""
        self._value = int(value)
        RECORDER.add(self._event("C", args={self.name: self._value}), self._value / 1e3)

    def increment(self, delta: int = 1) -> None:
        """Adds to the number."""
        self.set_value(self._value + int(delta))

    def decrement(self, delta: int = 1) -> None:
        """Takes from the number."""
        self.set_value(self._value - int(delta))

    def __iadd__(self, delta: int) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> Counter:
        self.decrement(delta)
        return self


class Marker(_Named):
    """Marks instants of time."""

    _kind = ",instant_marker"

    def mark(self, scope: str = "process") -> None:
        """Marks this instant, for the "global", "process", "thread", "task" or "marker".

        ParameterError for another scope.
        """
        if scope not in _SCOPES:
            raise ParameterError(f"Marker.mark: scope is {shown(scope)}, expected one of "
                                 f"{', '.join(_SCOPES)}")
        RECORDER.add(self._event("i", s=_SCOPES[scope]))
