"""A runner's process: started, asked, stopped while others have their turn, ended."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .runner import HERE, last_line

LOAD_TIMEOUT, TURN_TIMEOUT = 900.0, 900.0
TICKS = os.sysconf("SC_CLK_TCK")


class RunnerFailed(Exception):
    """A runner ended or did not answer; the message is the last it said."""


@dataclass(frozen=True)
class Turn:
    """Times of single steps, and how many cores others kept busy meanwhile."""

    milliseconds: list[float]
    others: float


def busy_seconds() -> float:
    """CPU time that all processes of the machine have used."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _, _, irq, softirq = map(int, stat.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / TICKS


class RunnerProcess:
    """One live runner; see serve.py for what is said on its pipes.

    It is in a process group of its own, all of which is stopped except in its turns: threads that
    wait actively would else take a core from whoever has the turn.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self.log = log
        self._started = time.perf_counter()
        with log.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                command, env=dict(env), cwd=HERE.parent, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=errors, preexec_fn=os.setpgrp)
        self._text = b""
        self.first_s = 0.0

    def wait_ready(self) -> dict[str, Any]:
        """What the runner says when it has its first result; leaves it stopped."""
        try:
            found = self._read(LOAD_TIMEOUT)
        except RunnerFailed:
            self.kill()
            raise
        self.first_s = time.perf_counter() - self._started
        self._stop()
        assert isinstance(found, dict)
        return found

    def take_turn(self, warmup: int, steps: int, case: str = "") -> Turn:
        """Runs some steps that are not timed and some that are; leaves the runner stopped.

        `case` says of what, to runners that have several.
        """
        self._signal(signal.SIGCONT)
        own, busy, start = self._cpu_seconds(), busy_seconds(), time.perf_counter()
        self._write(f"{case} {warmup} {steps}\n".lstrip())
        times = self._read(TURN_TIMEOUT)
        passed = time.perf_counter() - start
        others = busy_seconds() - busy - (self._cpu_seconds() - own)
        self._stop()
        assert isinstance(times, list)
        return Turn(times, max(0.0, others / passed))

    def peak_mb(self) -> float:
        """The most memory that was ever resident."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return 0.0

    def end(self) -> dict[str, Any]:
        """Ends the runner; what it has to tell about itself."""
        self._signal(signal.SIGCONT)
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            found = self._read(TURN_TIMEOUT)
            self._process.wait(timeout=60)
        finally:
            self.kill()
        assert isinstance(found, dict)
        return found

    def kill(self) -> None:
        """Ends the runner's processes whatever they do."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _stop(self) -> None:
        """Returns when all threads of the runner have stopped, or it has ended."""
        self._signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _cpu_seconds(self) -> float:
        # what ended is not waited for before kill(), so the file stays
        text = Path(f"/proc/{self._process.pid}/stat").read_text("ascii")
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure("ended") from None

    def _read(self, timeout: float) -> Any:
        assert self._process.stdout is not None
        until = time.monotonic() + timeout
        while b"\n" not in self._text:
            ready, _, _ = select.select([self._process.stdout], [], [],
                                        max(0.0, until - time.monotonic()))
            if not ready:
                raise self._failure(f"said nothing for {timeout:g} s")
            got = os.read(self._process.stdout.fileno(), 1 << 16)
            if not got:
                raise self._failure("ended")
            self._text += got
        line, _, self._text = self._text.partition(b"\n")
        return json.loads(line)

    def _failure(self, what: str) -> RunnerFailed:
        said = last_line(self.log.read_text(encoding="utf-8", errors="replace"))
        return RunnerFailed(f"{what}: {said[:200]}")
