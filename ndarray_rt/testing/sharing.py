"""Checks of arrays that share memory: an output that is an input, overlaps, one array twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .._array.copy import read_numpy
from .._array.ndarray import new_array
from .._array.req import Req
from .failures import Failures
from .memory_kinds import make
from .overlaps import FLAT_KINDS, ROW_KINDS, overlapping, why_no_overlap

if TYPE_CHECKING:
    from .checks import Bench

WRITES = (Req.kWriteTo, Req.kAddTo, Req.kWriteInplace)


def check_sharing(bench: Bench, failures: Failures) -> None:
    """Outputs on the memory of inputs, promised pairs and others, wholly and in part."""
    subject = bench.subject
    kinds = subject.kinds_of_inputs()
    seen = 0
    for o, prior in enumerate(bench.priors):
        for i, value in enumerate(subject.values):
            if i in subject.mutated:
                continue
            if value.shape == prior.shape and value.dtype == prior.dtype:
                # each kind with each request for the first pair, the others take turns; so do all
                # on NumPy, which meets the same memory whatever the operator is
                takes_turns = seen > 0 or not bench.runtime.sees_layouts
                for k, in_kinds in enumerate(kinds):
                    for req in (Req((subject.turn + seen + k) % 4),) if takes_turns else Req:
                        _share(bench, failures, in_kinds, i, o, _only(bench, o, req))
                for req in WRITES if 1 < len(bench.priors) <= 4 else ():
                    # what shares memory must not be written before all others have read it
                    _share(bench, failures, kinds[(subject.turn + req) % len(kinds)], i, o,
                           _only(bench, o, req, Req.kWriteTo))
                seen += 1
            if i + o <= 2:
                _overlap(bench, failures, i, o)


def _only(bench: Bench, o: int, req: Req, others: Req = Req.kNullOp) -> list[Req]:
    return [req if i == o else others for i in range(len(bench.priors))]


def _share(bench: Bench, failures: Failures, kinds: list[str], i: int, o: int,
           reqs: list[Req]) -> None:
    what = (f"output {o} is input {i}, {'/'.join(dict.fromkeys(kinds))}, "
            f"{','.join(req.name for req in reqs)}")
    if not failures.wants(what):
        return
    with failures.trying(what, f"{bench.runtime.name}: output is input, {reqs[o].name}"):
        ins, outs = bench.inputs(kinds), bench.outputs("plain", True)
        if i in bench.subject.op.ignored(bench.subject.params) and reqs[o] in (
                Req.kAddTo, Req.kNullOp):
            ins[i].release()
            ins[i] = make(bench.subject.values[i], kinds[i], bench.stream)
        outs[o] = ins[i]
        try:
            bench.call(ins, outs, reqs, what, aliased=True)
        finally:
            for made in ins:
                made.release()


def _overlap(bench: Bench, failures: Failures, i: int, o: int) -> None:
    """Input and output share some bytes."""
    subject, value, prior = bench.subject, bench.subject.values[i], bench.priors[o]
    special = [f"overlap:{kind}" for kind in subject.special_kinds(i)
               if kind.startswith("special:")]
    kinds = [*ROW_KINDS, *special[:1]] if value.shape == prior.shape else []
    kinds += FLAT_KINDS
    for k, kind in enumerate(kinds):
        reason = why_no_overlap(kind, value, prior)
        if reason is not None:
            failures.skip(f"overlap of input and output: {reason}", 2)
            continue
        for before in (True, False):
            req = WRITES[(subject.turn + k + before) % 3]
            what = (f"output {o} begins {'before' if before else 'after'} input {i} that it "
                    f"overlaps, {kind}, {req.name}")
            if not failures.wants(what):
                continue
            with failures.trying(what, f"{bench.runtime.name}: overlap, {req.name}"):
                ins = bench.inputs(["plain"] * len(subject.values))
                outs = bench.outputs("plain", True)
                ins[i], outs[o] = overlapping(value, prior, kind, before, bench.stream)
                bench.call(ins, outs, _only(bench, o, req), what, aliased=True)


def check_overlapping_outputs(bench: Bench, failures: Failures) -> None:
    """Two outputs share some bytes: they are written one after the other."""
    subject, stream = bench.subject, bench.stream
    if len(bench.priors) < 2 or any(want is None for want in subject.want[:2]) or len(
            subject.want) < 2:
        return
    a, b = bench.priors[:2]
    kinds = [*ROW_KINDS, *FLAT_KINDS] if a.shape == b.shape else FLAT_KINDS
    for k, kind in enumerate(kinds):
        reason = why_no_overlap(kind, a, b)
        if reason is not None:
            failures.skip(f"overlap of two outputs: {reason}")
            continue
        req = (Req.kWriteTo, Req.kAddTo)[(subject.turn + k) % 2]
        what = f"outputs 0 and 1 overlap, {kind}, {req.name}"
        if not failures.wants(what):
            continue
        with failures.trying(what, f"{bench.runtime.name}: outputs overlap, {req.name}"):
            ins = bench.inputs(subject.kinds_of_inputs()[0])
            outs = bench.outputs("plain", True)
            outs[0], outs[1] = overlapping(a, b, kind, bool(k % 2), stream)
            for made in outs[:2]:
                made.check()
            base = outs[0].base
            flat = read_numpy(base, stream).astype(np.float64).ravel()
            for made, want in zip(outs[:2], subject.want, strict=False):
                assert want is not None
                start = made.array._byte_offset // a.dtype.itemsize
                part = slice(start, start + made.array.size)
                flat[part] = want.ravel() + (flat[part] if req == Req.kAddTo else 0)
            bench.runtime.run(subject.op, subject.params, [made.array for made in ins],
                              [made.array for made in outs],
                              [req, req, *[Req.kNullOp] * (len(outs) - 2)])
            subject.compare(read_numpy(base, stream).ravel(), flat, None, what, exact=False)


def check_same_input_twice(bench: Bench, failures: Failures) -> None:
    """One array as two inputs."""
    subject = bench.subject
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
        what = f"inputs 0 and 1 are one array, {kinds[0]}"
        if not failures.wants(what):
            continue
        with failures.trying(what, f"{bench.runtime.name}: one array as two inputs"):
            ins = bench.inputs(kinds)
            ins[1].release()
            ins[1] = ins[0]
            arrays = [made.array for made in ins]
            outs = [new_array(s, d) for s, d in zip(subject.out_shapes, subject.out_dtypes,
                                                   strict=True)]
            bench.runtime.run(subject.op, subject.params, arrays, outs,
                              [Req.kWriteTo] * len(outs))
            for i, expected in enumerate(want):
                if expected is not None:
                    subject.compare(read_numpy(outs[i], bench.stream), expected, None,
                                    f"output {i}")
            ins[0].release()


SHARING: tuple[Callable[[Bench, Failures], None], ...] = (
    check_sharing, check_overlapping_outputs, check_same_input_twice)
