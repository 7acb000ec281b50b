"""A file in Chrome's trace format that is whole after each time events are appended to it.

Source: "Trace Event Format", which Perfetto and chrome://tracing read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

_HEAD = b'{"displayTimeUnit": "ms", "traceEvents": [\n'
_TAIL = b"\n]}\n"


class TraceFile:
    """Begins the file anew at the first `append`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._end = 0  # where the next event goes
        self._pid = os.getpid()

    def append(self, events: Sequence[dict[str, Any]]) -> None:
        """Writes events behind those that are there; OSError leaves these as they were."""
        lines = [json.dumps(event) for event in events]
        if not self._end:
            lines.insert(0, json.dumps({
                "name": "process_name", "ph": "M", "pid": self._pid, "tid": 0,
                "args": {"name": os.path.basename(sys.argv[0]) or "python"}}))
        if not lines:
            return
        text = ",\n".join(lines).encode()
        with open(self._path, "r+b" if self._end else "wb") as file:
            file.seek(self._end)
            file.write((b",\n" if self._end else _HEAD) + text)
            end = file.tell()
            file.write(_TAIL)
        self._end = end
