"""Runs many cases by every implementation, in processes that may die of it."""

from __future__ import annotations

import json
import mmap
import os
import signal
import struct
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ndarray_rt.errors import NdrtError, Unsupported
from ndarray_rt.native import lib, text
from ndarray_rt.storage.primitive import Primitive

from .case import Case
from .examine import Examiner
from .guarded import Guarded
from .space import Space

Work = tuple[Space, int]  # a case by the number of its combination

HANGS_AFTER = 60  # seconds
RENEWED_AFTER = 2000  # cases: oneDNN keeps some code for as long as its process lives
CHOSEN = -1  # in place of an implementation's number: the one that operators get


@dataclass(frozen=True)
class Finding:
    """Something wrong with one implementation in one case."""

    space: str
    number: int
    implementation: int
    impl: str  # oneDNN's name
    fault: str
    known: str  # what the table of faulty kernels says of it; "" for nothing
    case: str


class _Progress:
    """What a process is doing: it is read when that process is dead."""

    _DOING = struct.Struct("qq120s120s")
    _RUNS = struct.Struct("q")

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, mmap.PAGESIZE)
        self.tell(0, 0)

    def tell(self, at: int, implementation: int, impl: str = "", known: str = "") -> None:
        self._DOING.pack_into(self._shared, 0, at, implementation, impl.encode(), known.encode())

    def told(self) -> tuple[int, int, str, str]:
        at, implementation, impl, known = self._DOING.unpack_from(self._shared, 0)
        return at, implementation, impl.rstrip(b"\0").decode(), known.rstrip(b"\0").decode()

    def count(self) -> None:
        """One run more."""
        self._RUNS.pack_into(self._shared, self._DOING.size, self.runs + 1)

    @property
    def runs(self) -> int:
        runs: int = self._RUNS.unpack_from(self._shared, self._DOING.size)[0]
        return runs


class _Job:
    """A share of the work, done by processes one after another. This one runs nothing native."""

    def __init__(self, work: Sequence[Work], path: Path, chosen: bool) -> None:
        self.work = work
        self.path = path
        self.first = CHOSEN if chosen else 0
        self.progress = _Progress()

    def run(self) -> None:
        """All of it, whatever dies of it."""
        at, implementation = 0, self.first
        while at < len(self.work):
            self.progress.tell(at, implementation)
            status = self._in_child(at, implementation, self.progress)
            at, implementation, impl, known = self.progress.told()
            if status == 0:
                implementation = self.first
                continue
            space, number = self.work[at]
            if not os.WIFSIGNALED(status):
                raise RuntimeError(f"the check itself failed at {space.name} {number}")
            fault = self._cause(signal.Signals(os.WTERMSIG(status)), at, implementation)
            self._write(asdict(Finding(space.name, number, implementation, impl, fault, known,
                                       str(space.case(number)))))
            implementation += 1
            if self.first == CHOSEN:
                at, implementation = at + 1, CHOSEN
        self._write({"runs": self.progress.runs})

    def _cause(self, died_of: signal.Signals, at: int, implementation: int) -> str:
        if died_of == signal.SIGALRM:
            return "never ends"
        if died_of != signal.SIGSEGV:
            return f"dies of {died_of.name}"
        again = self._in_child(at, implementation, _Progress(), alone=True)
        return "reads beyond its memory" if again == 0 else "writes beyond its memory"

    def _in_child(self, start: int, implementation: int, progress: _Progress,
                  alone: bool = False) -> int:
        """The wait status of a process that examines the cases from `start` on, the first of them
        from an implementation on; or that one `alone`, with guards that may be read."""
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the C library's last words
                self._examine(start, implementation, progress, alone)
                status = 0
            except BaseException as error:
                print(f"{progress.told()}: {error!r}", flush=True)
            finally:
                os._exit(status)
        return os.waitpid(pid, 0)[1]

    def _examine(self, start: int, implementation: int, progress: _Progress, alone: bool) -> None:
        examiner = Examiner(Guarded(may_read=alone))
        end = start + 1 if alone else min(len(self.work), start + RENEWED_AFTER)
        for at in range(start, end):
            space, number = self.work[at]
            progress.tell(at, implementation)
            case = space.case(number)
            while case is not None:
                signal.alarm(HANGS_AFTER)
                progress.tell(at, implementation)
                try:
                    prim = case.chosen() if implementation == CHOSEN else case.primitive(
                        implementation)
                except Unsupported:
                    break
                known = text(lib.ndrt_prim_fault(prim.ptr))
                progress.tell(at, implementation, prim.impl, known)
                progress.count()
                for fault in _faults(examiner, case, prim):
                    self._write(asdict(Finding(space.name, number, implementation, prim.impl,
                                               fault, known, str(case))))
                if alone or implementation == CHOSEN:
                    break
                implementation += 1
            implementation = self.first
        progress.tell(end, self.first)

    def _write(self, record: dict[str, object]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def _faults(examiner: Examiner, case: Case, prim: Primitive) -> list[str]:
    try:
        return examiner.faults(case, prim)
    except NdrtError as error:
        return [f"raises {type(error).__name__}: {str(error).rsplit(':', 1)[-1].strip()}"]


def examine(work: Sequence[Work], folder: Path, processes: int, chosen: bool = False,
            ) -> Iterator[tuple[list[Finding], int]]:
    """Findings and the number of runs, of one process after another as they end.

    `chosen` examines the implementations that operators get, else all that oneDNN has.
    """
    children = {}
    try:
        for share in range(processes):
            path = folder / f"{share}.jsonl"
            path.touch()
            pid = os.fork()
            if pid == 0:
                _work_and_exit(_Job(work[share::processes], path, chosen))
            children[pid] = path
        while children:
            pid, status = os.wait()
            path = children.pop(pid)
            if status:
                raise RuntimeError("a process of the check failed; what it said is above")
            yield _read(path)
    finally:
        for pid in children:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _work_and_exit(job: _Job) -> None:
    status = 1
    try:
        os.setpgid(0, 0)  # so that its own processes can be ended with it
        job.run()
        status = 0
    except BaseException as error:
        print(repr(error), flush=True)
    finally:
        os._exit(status)


def _read(path: Path) -> tuple[list[Finding], int]:
    findings, runs = [], 0
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "runs" in record:
            runs += record["runs"]
        else:
            findings.append(Finding(**record))
    return findings, runs
