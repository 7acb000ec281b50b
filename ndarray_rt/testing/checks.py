"""The checks that each operator call must pass, whatever its memory is like and is asked to do."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np

from ..ndarray.copy import read_numpy
from ..ndarray.ndarray import NDArray, new_array
from ..ndarray.req import Req
from ..op.context import thread_context
from ..op.prim_cache import CACHE
from ..storage.handle import memory_stats
from ..storage.stream import ImmediateStream
from .case import Array
from .memory_kinds import Made, Snapshot, assert_around_unchanged, contents, make, possible
from .runtimes import Runtime
from .subject import Subject

# above this many elements not every pair of kinds is tried, but each kind with two others
SMALL = 4096


class Failures:
    """Collects failures of many combinations, so that one run shows their pattern."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.count = 0

    @contextmanager
    def trying(self, what: str) -> Iterator[None]:
        self.count += 1
        try:
            yield
        except AssertionError as error:
            self.found.append(f"[{what}] {error}")
        except Exception as error:
            raise RuntimeError(f"[{what}] {type(error).__name__}: {error}") from error

    def settle(self) -> None:
        """Fails with the first few when there are any."""
        if self.found:
            shown = "\n".join(self.found[:6])
            raise AssertionError(f"{len(self.found)} of {self.count} combinations fail:\n{shown}")


def _live() -> int:
    gc.collect()
    # sessions of executors that are gone leave the store at its next use
    CACHE.clear_released()
    # primitives with their constants, and scratch, that this thread keeps between imperative calls
    context = thread_context()
    context.cache.clear(context.session)
    context.stream.tmp.release()
    gc.collect(0)
    return memory_stats()["live"]


@contextmanager
def no_leak() -> Iterator[None]:
    """Live bytes are the same afterwards."""
    before = _live()
    yield
    after = _live()
    assert after == before, f"{after - before} bytes more are live than before"


class Bench:
    """One subject on one runtime."""

    def __init__(self, subject: Subject, runtime: Runtime) -> None:
        self.subject = subject
        self.runtime = runtime
        self.stream = ImmediateStream()
        rng = np.random.default_rng(7)
        self.priors = [self._prior(rng, shape, dtype) for shape, dtype
                       in zip(subject.out_shapes, subject.out_dtypes, strict=True)]
        self._hidden: list[Array] | None = None

    @staticmethod
    def _prior(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """What an output holds before the call."""
        if dtype.kind == "f":
            return rng.uniform(-1, 1, shape).astype(dtype)
        return rng.integers(0, 2 if dtype.kind == "b" else 5, shape).astype(dtype)

    # ---- arrays ---------------------------------------------------------------------------

    def inputs(self, kinds: Sequence[str]) -> list[Made]:
        ignored = self.subject.op.ignored(self.subject.params)
        made = []
        for i, (value, kind) in enumerate(zip(self.subject.values, kinds, strict=True)):
            if i in ignored and value.dtype.kind == "f":
                value = np.full_like(value, np.nan)
            made.append(make(value, kind, self.stream))
        return made

    def outputs(self, kind: str, keep: bool) -> list[Made]:
        made = []
        for prior in self.priors:
            value = prior
            if not keep and prior.dtype.kind == "f":
                value = np.full_like(prior, np.nan)
            fits = kind if possible(kind, prior.shape, prior.dtype) else "plain"
            made.append(make(value, fits, self.stream, output=True, keep=keep))
        return made

    # ---- one call -------------------------------------------------------------------------

    def call(self, ins: list[Made], outs: list[Made], reqs: list[Req], what: str,
             aliased: bool = False) -> None:
        """Runs the call and checks everything that must hold after any call."""
        subject, stream = self.subject, self.stream
        for made in (*ins, *outs):
            made.check()
        before_ins = [read_numpy(made.base, stream).tobytes() for made in ins]
        priors = [contents(made, stream) if req == Req.kAddTo else None
                  for made, req in zip(outs, reqs, strict=True)]
        before = [Snapshot.of(made.array) for made in outs]
        writes = [made.array.chunk.writes for made in (*ins, *outs)]
        told = self.runtime.run(subject.op, subject.params, [m.array for m in ins],
                                [m.array for m in outs], reqs)
        if told is not None:
            self.runtime.assert_library(told, subject.must)
        for i, (made, req) in enumerate(zip(outs, reqs, strict=True)):
            if req == Req.kNullOp:
                if not aliased:
                    assert Snapshot.of(made.array) == before[i], f"kNullOp output {i} was touched"
            else:
                now = made.array.chunk.writes
                assert now > writes[len(ins) + i], f"output {i}: the write was not counted"
        results = [contents(made, stream) if req else None
                   for made, req in zip(outs, reqs, strict=True)]
        for i, made in enumerate(outs):
            self._check_memory(made, results[i], f"{what}: output {i}")
        self._check_results(results, priors, what)
        self._check_inputs(ins, outs, before_ins, writes, aliased, what)

    def _check_memory(self, made: Made, result: Array | None, what: str) -> None:
        assert_around_unchanged(made, self.stream)
        if made.kind == "pinned" and result is not None:
            chunk = made.array.chunk
            assert chunk.handle.address == made.address, f"{what}: exported bytes were moved"
            exported = bytes(chunk.handle.buffer())[:result.nbytes]
            assert exported == result.tobytes(), f"{what}: the export does not see the result"

    def _check_results(self, results: list[Array | None], priors: list[Array | None],
                       what: str) -> None:
        subject = self.subject
        for i, (got, prior) in enumerate(zip(results, priors, strict=True)):
            if got is None:
                continue
            assert got.dtype == subject.out_dtypes[i]
            want = subject.want[i] if i < len(subject.want) else None
            if want is not None:
                subject.compare(got, want, prior, f"{what}: output {i}")
        if subject.check is not None and all(r is not None for r in results) and not any(
                p is not None for p in priors):
            subject.check([v.copy() for v in subject.values], [r for r in results if r is not None])

    def _check_inputs(self, ins: list[Made], outs: list[Made], before: list[bytes],
                      writes: list[int], aliased: bool, what: str) -> None:
        subject, stream = self.subject, self.stream
        written = {id(made.array.chunk) for made in outs} if aliased else set()
        for i, made in enumerate(ins):
            if i in subject.mutated:
                assert made.array.chunk.writes > writes[i], (
                    f"{what}: the write to input {i} was not counted")
                if i in subject.after:
                    subject.compare(contents(made, stream), subject.after[i], None,
                                    f"{what}: input {i} afterwards")
            elif id(made.array.chunk) not in written:
                same = read_numpy(made.base, stream).tobytes() == before[i]
                assert same, f"{what}: input {i} was changed"
                assert made.array.chunk.writes == writes[i], f"{what}: input {i} counts a write"

    # ---- many calls -----------------------------------------------------------------------

    def check_kinds(self, failures: Failures) -> None:
        """All kinds of inputs and outputs, written and added to."""
        ins_kinds, out_kinds = self.subject.kinds_of_inputs(), self.subject.kinds_of_outputs()
        size = sum(v.size for v in self.subject.values) + sum(p.size for p in self.priors)
        # numpy sees only the default layout: one path in and one path out
        thin = size > SMALL or not self.runtime.sees_layouts
        for i, in_kinds in enumerate(ins_kinds):
            for j, out_kind in enumerate(out_kinds):
                turn = (i + j) % len(out_kinds)
                for req in (Req.kWriteTo, Req.kAddTo):
                    if thin and turn != (0 if req == Req.kWriteTo else 1) and i and j:
                        continue
                    self._try(failures, in_kinds, out_kind, [req] * len(self.priors))

    def check_pair(self, failures: Failures, in_kinds: list[str], out_kind: str) -> None:
        """One combination of kinds, written and added to."""
        for req in (Req.kWriteTo, Req.kAddTo):
            self._try(failures, in_kinds, out_kind, [req] * len(self.priors))

    def check_null(self, failures: Failures) -> None:
        """kNullOp leaves every kind of output as it is."""
        for in_kinds in self.subject.kinds_of_inputs()[:1]:
            for out_kind in self.subject.kinds_of_outputs():
                self._try(failures, in_kinds, out_kind, [Req.kNullOp] * len(self.priors))

    def check_requests(self, failures: Failures) -> None:
        """Each output's request is independent of the others'."""
        n = len(self.priors)
        if n < 2:
            return
        combos = (list(product((Req.kNullOp, Req.kWriteTo, Req.kAddTo), repeat=n)) if n <= 3 else
                  [tuple(Req.kWriteTo if i == j else Req.kNullOp for i in range(n))
                   for j in range(n)])
        kinds = self.subject.kinds_of_inputs()
        out_kinds = self.subject.kinds_of_outputs()
        for turn, reqs in enumerate(combos):
            self._try(failures, kinds[0], "plain", list(reqs))
            self._try(failures, kinds[turn % len(kinds)], out_kinds[turn % len(out_kinds)],
                      list(reqs))

    def _try(self, failures: Failures, in_kinds: list[str], out_kind: str,
             reqs: list[Req]) -> None:
        names = ",".join(dict.fromkeys(req.name for req in reqs))
        if len(set(reqs)) > 1:
            names = ",".join(req.name for req in reqs)
        what = f"{'/'.join(dict.fromkeys(in_kinds))} -> {out_kind}, {names}"
        with failures.trying(what):
            keep = Req.kAddTo in reqs or Req.kNullOp in reqs
            ins = self.inputs(in_kinds)
            outs = self.outputs(out_kind, keep)
            try:
                self.call(ins, outs, reqs, what)
            finally:
                for made in (*ins, *outs):
                    made.release()

    # ---- shared memory --------------------------------------------------------------------

    def check_sharing(self, failures: Failures) -> None:
        """Outputs on the memory of inputs: promised pairs, not promised ones, overlapping views."""
        subject = self.subject
        for o, (shape, dtype) in enumerate(zip(subject.out_shapes, subject.out_dtypes,
                                               strict=True)):
            for i, value in enumerate(subject.values):
                if value.shape != shape or value.dtype != dtype or i in subject.mutated:
                    continue
                promised = subject.op.inplace.get(o) == i
                for req in ((Req.kWriteInplace, Req.kWriteTo, Req.kAddTo) if promised
                            else (Req.kWriteTo, Req.kAddTo)):
                    self._share(failures, i, o, self._only(o, req))
                    if 1 < len(self.priors) <= 4:
                        # what shares memory must not be written before all others have read it
                        self._share(failures, i, o, self._only(o, req, Req.kWriteTo))
                if shape and shape[0]:
                    self._overlap(failures, i, o, self._only(o, Req.kWriteTo))

    def _only(self, o: int, req: Req, others: Req = Req.kNullOp) -> list[Req]:
        return [req if i == o else others for i in range(len(self.priors))]

    def _share(self, failures: Failures, i: int, o: int, reqs: list[Req]) -> None:
        for kinds in self.subject.kinds_of_inputs():
            what = (f"output {o} is input {i}, {'/'.join(dict.fromkeys(kinds))}, "
                    f"{','.join(req.name for req in reqs)}")
            with failures.trying(what):
                ins, outs = self.inputs(kinds), self.outputs("plain", True)
                if i in self.subject.op.ignored(self.subject.params) and reqs[o] == Req.kAddTo:
                    ins[i] = make(self.subject.values[i], kinds[i], self.stream)
                outs[o] = ins[i]
                try:
                    self.call(ins, outs, reqs, what, aliased=True)
                finally:
                    for made in ins:
                        made.release()

    def _overlap(self, failures: Failures, i: int, o: int, reqs: list[Req]) -> None:
        """Input and output are views of one array, one row apart."""
        value, stream = self.subject.values[i], self.stream
        for shift in (1, -1):
            what = f"output {o} overlaps input {i} by {shift}, kWriteTo"
            with failures.trying(what):
                whole = np.zeros((len(value) + 2, *value.shape[1:]), value.dtype)
                whole[1:-1] = value
                base = make(whole, "plain", stream).array
                ins, outs = self.inputs(["plain"] * len(self.subject.values)), self.outputs(
                    "plain", True)
                ins[i] = Made(base.rows(1, 1 + len(value)), base, "view")
                start = 1 + shift
                outs[o] = Made(base.rows(start, start + len(value)), base, "view")
                self.call(ins, outs, reqs, what, aliased=True)

    def check_same_input_twice(self, failures: Failures) -> None:
        """One array as two inputs."""
        subject = self.subject
        if subject.recompute is None or len(subject.values) < 2 or subject.mutated:
            return
        a, b = subject.values[:2]
        if a.shape != b.shape or a.dtype != b.dtype or subject.groups:
            return
        values = [a, a, *subject.values[2:]]
        try:
            want = subject.recompute(values)
        except Exception:
            return  # the reference does not bear it, so neither need the operator
        for kinds in subject.kinds_of_inputs():
            with failures.trying(f"inputs 0 and 1 are one array, {kinds[0]}"):
                ins = self.inputs(kinds)
                ins[1].release()
                ins[1] = ins[0]
                arrays = [made.array for made in ins]
                outs = [new_array(s, d) for s, d in zip(subject.out_shapes, subject.out_dtypes,
                                                       strict=True)]
                self.runtime.run(subject.op, subject.params, arrays, outs,
                                 [Req.kWriteTo] * len(outs))
                for i, expected in enumerate(want):
                    if expected is not None:
                        subject.compare(read_numpy(outs[i], self.stream), expected, None,
                                        f"output {i}")
                ins[0].release()

    def result(self) -> list[Array]:
        """Every output of one plain call, hidden ones too."""
        ins = [made.array for made in self.inputs(["plain"] * len(self.subject.values))]
        outs: list[NDArray] = [new_array(s, d) for s, d in zip(
            self.subject.out_shapes, self.subject.out_dtypes, strict=True)]
        self.runtime.run(self.subject.op, self.subject.params, ins, outs,
                         [Req.kWriteTo] * len(outs))
        return [read_numpy(out, self.stream) for out in outs]

    def all_checks(self) -> list[Callable[[Failures], None]]:
        return [self.check_kinds, self.check_null, self.check_requests, self.check_sharing,
                self.check_same_input_twice]
