"""The checks that each operator call must pass, whatever its memory is like and is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from .._array.copy import read_numpy
from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..dtypes import is_float
from ..storage.stream import Stream
from .case import Array
from .covering import rows
from .failures import Failures, no_leak
from .kind_words import met_pair, word_of
from .memory_kinds import Made, Snapshot, assert_around_unchanged, contents, make, why_not
from .runtimes import Runtime
from .sharing import SHARING
from .subject import Subject
from .tally import TALLY

__all__ = ["Bench", "Failures", "no_leak"]


class Bench:
    """One subject on one runtime."""

    def __init__(self, subject: Subject, runtime: Runtime) -> None:
        self.subject = subject
        self.runtime = runtime
        self.stream = Stream()
        rng = np.random.default_rng(7)
        self.priors = [self._prior(rng, shape, dtype) for shape, dtype
                       in zip(subject.out_shapes, subject.out_dtypes, strict=True)]
        self._hidden: list[Array] | None = None

    @staticmethod
    def _prior(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """What an output holds before the call."""
        if is_float(dtype):
            return rng.uniform(-1, 1, shape).astype(dtype)
        return rng.integers(0, 2 if dtype.kind == "b" else 5, shape).astype(dtype)

    # ---- arrays ---------------------------------------------------------------------------

    def inputs(self, kinds: Sequence[str]) -> list[Made]:
        ignored = self.subject.op.ignored(self.subject.params)
        made = []
        for i, (value, kind) in enumerate(zip(self.subject.values, kinds, strict=True)):
            if i in ignored and is_float(value.dtype):
                value = np.full_like(value, np.nan)
            made.append(make(value, kind, self.stream))
        return made

    def outputs(self, kind: str, keep: bool) -> list[Made]:
        made = []
        for prior in self.priors:
            value = prior
            if not keep and is_float(prior.dtype):
                value = np.full_like(prior, np.nan)
            fits = kind if why_not(kind, prior.shape, prior.dtype) is None else "plain"
            made.append(make(value, fits, self.stream, output=True, keep=keep))
        return made

    # ---- one call -------------------------------------------------------------------------

    def call(self, ins: list[Made], outs: list[Made], reqs: list[Req], what: str,
             aliased: bool = False) -> None:
        """Runs the call and checks everything that must hold after any call."""
        subject, stream = self.subject, self.stream
        self._count(ins, outs, reqs)
        before_ins = [read_numpy(made.base, stream).tobytes() for made in ins]
        priors = [contents(made, stream) if req == Req.kAddTo else None
                  for made, req in zip(outs, reqs, strict=True)]
        before = [Snapshot.of(made.array) for made in outs]
        writes = [made.array._chunk.writes for made in (*ins, *outs)]
        # only now: reading what they hold must not have changed what they are
        for made in (*ins, *outs):
            made.check()
        told = self.runtime.run(subject.op, subject.params, [m.array for m in ins],
                                [m.array for m in outs], reqs)
        if told is not None:
            promised = subject.is_of_table([made.kind for made in ins]) and not any(
                made.kind == "reused:kept" for made in outs)
            self.runtime.assert_library(told, subject.must if promised else "auto")
        for i, (made, req) in enumerate(zip(outs, reqs, strict=True)):
            if req == Req.kNullOp:
                if not aliased:
                    assert Snapshot.of(made.array) == before[i], f"kNullOp output {i} was touched"
            else:
                now = made.array._chunk.writes
                assert now > writes[len(ins) + i], f"output {i}: the write was not counted"
        results = [contents(made, stream) if req else None
                   for made, req in zip(outs, reqs, strict=True)]
        for i, made in enumerate(outs):
            self._check_memory(made, results[i], f"{what}: output {i}")
        for made in (*ins, *outs):
            made.check_after()
        self._check_results(results, priors, what)
        self._check_inputs(ins, outs, before_ins, writes, aliased, what)

    def _count(self, ins: list[Made], outs: list[Made], reqs: list[Req]) -> None:
        """Which kinds of memory meet which requests, and which operator runs where."""
        asked = {req.name for req in reqs}
        TALLY.meet(f"{self.subject.op.name} on {self.runtime.name}")
        for made in ins:
            for req in asked:
                TALLY.meet(met_pair("input", made.kind, req))
        for made, one in zip(outs, reqs, strict=True):
            TALLY.meet(met_pair("output", made.kind, one.name))

    def _check_memory(self, made: Made, result: Array | None, what: str) -> None:
        assert_around_unchanged(made, self.stream)
        if made.exported is not None and result is not None:
            same = made.exported.tobytes() == result.tobytes()
            assert same, f"{what}: the export does not see the result"

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
        written = {id(made.array._chunk) for made in outs} if aliased else set()
        for i, made in enumerate(ins):
            if i in subject.mutated:
                assert made.array._chunk.writes > writes[i], (
                    f"{what}: the write to input {i} was not counted")
                if i in subject.after:
                    subject.compare(contents(made, stream), subject.after[i], None,
                                    f"{what}: input {i} afterwards")
            elif id(made.array._chunk) not in written:
                same = read_numpy(made.base, stream).tobytes() == before[i]
                assert same, f"{what}: input {i} was changed"
                assert made.array._chunk.writes == writes[i], f"{what}: input {i} counts a write"

    # ---- many calls -----------------------------------------------------------------------

    def check_kinds(self, failures: Failures) -> None:
        """All kinds of inputs and outputs with all requests, as covering.py chooses them."""
        subject, name = self.subject, self.runtime.name
        in_kinds, out_kinds = subject.kinds_of_inputs(), self._out_kinds(failures)
        for reason in subject.skipped_inputs:
            failures.skip(reason, len(Req))
        for i, o, r in rows(len(in_kinds), len(out_kinds), len(Req), subject.turn):
            self.try_kinds(failures, in_kinds[i], out_kinds[o], [Req(r)] * len(self.priors),
                      f"{name}: {Req(r).name}")

    def _out_kinds(self, failures: Failures) -> list[str]:
        """Kinds that some output can be of."""
        kinds = []
        for kind in self.subject.kinds_of_outputs():
            reasons = [why_not(kind, prior.shape, prior.dtype) for prior in self.priors]
            if all(reasons):
                failures.skip(f"output of kind {word_of(kind)}: {reasons[0]}", len(Req))
            else:
                kinds.append(kind)
        return kinds

    def possible_kind(self, kind: str) -> str:
        """That kind, or plain where no output can be of it."""
        fits = any(why_not(kind, prior.shape, prior.dtype) is None for prior in self.priors)
        return kind if fits else "plain"

    def check_pair(self, failures: Failures, in_kinds: list[str], out_kind: str) -> None:
        """One combination of kinds, written and added to."""
        for req in (Req.kWriteTo, Req.kAddTo):
            self.try_kinds(failures, in_kinds, out_kind, [req] * len(self.priors),
                      f"{self.runtime.name}: {self.subject.dtype}")

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
            turn += self.subject.turn
            self.try_kinds(failures, kinds[turn % len(kinds)], out_kinds[turn % len(out_kinds)],
                      list(reqs), f"{self.runtime.name}: a request for each output")

    def try_kinds(self, failures: Failures, in_kinds: list[str], out_kind: str,
                  reqs: list[Req], group: str, of: str = "") -> None:
        """One call; `group` is what it is counted under, `of` what else its failure names."""
        names = ",".join(dict.fromkeys(req.name for req in reqs))
        if len(set(reqs)) > 1:
            names = ",".join(req.name for req in reqs)
        what = f"{of} {'/'.join(dict.fromkeys(in_kinds))} -> {out_kind}, {names}".strip()
        if not failures.wants(what):
            return
        with failures.trying(what, group):
            keep = Req.kAddTo in reqs or Req.kNullOp in reqs
            ins = self.inputs(in_kinds)
            outs = self.outputs(out_kind, keep)
            try:
                self.call(ins, outs, reqs, what)
            finally:
                for made in (*ins, *outs):
                    made.release()

    def result(self) -> list[Array]:
        """Every output of one plain call, hidden ones too."""
        ins = [made.array for made in self.inputs(["plain"] * len(self.subject.values))]
        outs: list[NDArray] = [new_array(s, d) for s, d in zip(
            self.subject.out_shapes, self.subject.out_dtypes, strict=True)]
        self.runtime.run(self.subject.op, self.subject.params, ins, outs,
                         [Req.kWriteTo] * len(outs))
        return [read_numpy(out, self.stream) for out in outs]

    def all_checks(self) -> list[Callable[[Failures], None]]:
        return [self.check_kinds, self.check_requests,
                *(partial(check, self) for check in SHARING)]
