"""Checks of a Python function of arrays: every kind of memory in, gradients into every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from .. import config
from .._array.copy import read_numpy
from .._array.ndarray import NDArray
from ..op.infer import same_shape, same_type
from ..op.params import NoParams
from ..op.registry import OpDef
from ..storage.stream import Stream
from .case import Array, Case
from .checks import Failures, no_leak
from .compare import assert_close
from .computation import Computation, Eager, as_heads
from .memory_kinds import Made, Snapshot, assert_around_unchanged, contents, make
from .numeric_gradient import differences, gradients, plain, trainable
from .operator import run_steps
from .report import Ran, Report
from .subject import Subject, widen

LIBRARIES = {"numpy": False, "native": True}  # name -> value of NDRT_ONEDNN


def check_function(function: Callable[..., Any], case: Case) -> Report:
    """All checks of a function; `case` has its inputs and what must hold. See check_operator."""
    computation = Eager(function, case.op)
    steps: list[Callable[[], Ran]] = [lambda: run_slopes(computation, case)]
    for library, dtype in product(LIBRARIES, case.dtypes):
        steps.append(lambda library=library, dtype=dtype:  # type: ignore[misc]
                     run_values(computation, case, library, dtype))
    for library in LIBRARIES:
        steps.append(lambda library=library:  # type: ignore[misc]
                     run_gradients(computation, case, library))
    return run_steps(case.id, steps)


def run_slopes(computation: Computation, case: Case) -> Ran:
    """The gradients are the slopes, in float64."""
    if "gradient" in case.exempt:
        return Ran("gradient", "float64", 0, case.exempt["gradient"])
    with no_leak():
        compared, grads = differences(computation, case)
        reason = "" if any(g is not None for g in grads) else "no input has a gradient"
    return Ran("gradient", "float64", compared, reason)


def run_values(computation: Computation, case: Case, library: str, dtype: str) -> Ran:
    """The results in one dtype, with inputs in every kind of memory."""
    what = "forward" if dtype == case.dtypes[0] else f"forward in {dtype}"
    if library in case.exempt:
        return Ran(what, library, 0, case.exempt[library])
    failures = Failures()
    with no_leak():
        FunctionBench(computation, case, dtype).check_values(failures, library)
    failures.settle()
    return Ran(what, library, failures.count)


def run_gradients(computation: Computation, case: Case, library: str) -> Ran:
    """The gradients in the first dtype, into every kind of memory and with each request."""
    reason = case.exempt.get(library) or case.exempt.get("gradient")
    if reason:
        return Ran("backward", library, 0, reason)
    failures = Failures()
    with no_leak():
        FunctionBench(computation, case, case.dtypes[0]).check_gradients(failures, library)
    failures.settle()
    return Ran("backward", library, failures.count,
               "" if failures.count else "no input has a gradient")


class FunctionBench:
    """One function with contents in one dtype and what must come out."""

    def __init__(self, computation: Computation, case: Case, dtype: str) -> None:
        self.computation = computation
        self.case = case
        self.dtype = dtype
        self.stream = Stream()
        values = case.draw(dtype)
        self.subject = stand_in(case, values, dtype)
        self.subject.want = self._wanted(values)
        self.grads: list[Array | None] = []

    def _wanted(self, values: Sequence[Array]) -> list[Array | None]:
        case = self.case
        if case.reference is None:
            with config.override(NDRT_ONEDNN=False):
                return self._read(self.computation.forward(plain(values), case.is_train))
        given = [v.copy() if case.exact else widen(v) for v in values]
        with np.errstate(all="ignore"):
            made = case.reference(*given)
        made = list(made) if isinstance(made, (tuple, list)) else [made]
        return [None if m is None else np.asarray(m) for m in made]

    def _read(self, outs: Sequence[NDArray]) -> list[Array | None]:
        return [read_numpy(y, self.stream) for y in outs]

    def check_values(self, failures: Failures, library: str) -> None:
        """The results are right for inputs in every kind of memory, which stay as they are."""
        with config.override(NDRT_ONEDNN=LIBRARIES[library]):
            self._check_kinds(failures)
            self._check_same_input_twice(failures)

    def _check_kinds(self, failures: Failures) -> None:
        for kinds in self.subject.kinds_of_inputs():
            with failures.trying("/".join(dict.fromkeys(kinds))):
                made = self._inputs(kinds)
                try:
                    self._call(made)
                finally:
                    for one in made:
                        one.release()

    def _inputs(self, kinds: Sequence[str]) -> list[Made]:
        made = [make(value, kind, self.stream)
                for value, kind in zip(self.subject.values, kinds, strict=True)]
        for one in made:
            one.check()
        return made

    def _call(self, made: list[Made]) -> None:
        writes = [one.array._chunk.writes for one in made]
        first = self.computation.forward([one.array for one in made], self.case.is_train)
        self._compare(first, "output")
        bits = [y.tobytes() for y in self._read(first) if y is not None]
        self._unchanged(made, writes)
        again = self.computation.forward([one.array for one in made], self.case.is_train)
        self._compare(again, "a second call's output")
        assert [y.tobytes() for y in self._read(first) if y is not None] == bits, (
            "a second call changed the result of the first")

    def _compare(self, outs: Sequence[NDArray], what: str) -> None:
        want = self.subject.want
        assert len(outs) == len(want), f"gave {len(outs)} arrays, expected {len(want)}"
        for i, (out, right) in enumerate(zip(outs, want, strict=True)):
            if right is not None:
                got = contents(Made(out, out, "plain"), self.stream)
                self.subject.compare(got, right, None, f"{what} {i}")
        if self.case.check is not None:
            self.case.check([v.copy() for v in self.subject.values],
                            [y for y in self._read(outs) if y is not None])

    def _unchanged(self, made: list[Made], writes: list[int]) -> None:
        for i, one in enumerate(made):
            got = contents(one, self.stream)
            assert got.tobytes() == self.subject.values[i].tobytes(), f"input {i} was changed"
            assert one.array._chunk.writes == writes[i], f"input {i} counts a write"
            assert_around_unchanged(one, self.stream)
            if one.kind == "pinned":
                assert one.array._chunk.handle.address == one.address, (
                    f"input {i}: exported bytes were moved")

    def _check_same_input_twice(self, failures: Failures) -> None:
        """One array as two inputs gives what two equal arrays give."""
        values = self.subject.values
        if len(values) < 2 or (values[0].shape, values[0].dtype) != (
                values[1].shape, values[1].dtype) or self.subject.groups:
            return
        with failures.trying("inputs 0 and 1 are one array"):
            arrays = plain([values[0], values[0], *values[2:]])
            want = self._read(self.computation.forward(arrays, self.case.is_train))
            arrays[1] = arrays[0]
            got = self._read(self.computation.forward(arrays, self.case.is_train))
            for i, (y, right) in enumerate(zip(got, want, strict=True)):
                assert y is not None
                self.subject.compare(y, np.asarray(right), None, f"output {i}")

    # ---- gradients ------------------------------------------------------------------------

    def _find_gradients(self) -> None:
        """What must come out: NumPy's gradients, in float64, of the same contents."""
        values = self.subject.values
        wanted = trainable(self.computation, self.case, values)
        with config.override(NDRT_ONEDNN=False):
            self.grads = gradients(self.computation, [widen(v) for v in values], wanted)

    def check_gradients(self, failures: Failures, library: str) -> None:
        """Gradients of inputs of each kind, into arrays of each kind, with each request."""
        self._find_gradients()
        with config.override(NDRT_ONEDNN=LIBRARIES[library]):
            self._check_gradients(failures)

    def _check_gradients(self, failures: Failures) -> None:
        trained = [i for i, grad in enumerate(self.grads) if grad is not None]
        if not trained:
            return
        combos = self.subject.kinds_of_inputs()
        plans: list[tuple[list[str], list[str], tuple[str, ...]]] = []
        for turn, kinds in enumerate(combos):
            for request in ("write", "add"):
                plans.append((kinds, combos[(turn + 1) % len(combos)], (request,) * len(trained)))
        if len(trained) <= 3:
            plans += [(combos[0], combos[0], reqs) for reqs
                      in product(("null", "write", "add"), repeat=len(trained))]
        for in_kinds, grad_kinds, reqs in plans:
            what = (f"{'/'.join(dict.fromkeys(in_kinds))}, gradients "
                    f"{'/'.join(dict.fromkeys(grad_kinds))}, {','.join(reqs)}")
            with failures.trying(what):
                self._backward(in_kinds, grad_kinds, dict(zip(trained, reqs, strict=True)))

    def _backward(self, in_kinds: list[str], grad_kinds: list[str], reqs: dict[int, str]) -> None:
        made, rng = self._inputs(in_kinds), np.random.default_rng(5)
        priors = {i: np.asarray(rng.uniform(-1, 1, self.subject.values[i].shape),
                                self.subject.values[i].dtype) for i in reqs}
        grads = {i: make(priors[i], grad_kinds[i], self.stream) for i in reqs}
        before = {i: Snapshot.of(grads[i].array) for i, req in reqs.items() if req == "null"}
        try:
            self.computation.backward([one.array for one in made], as_heads,
                                      {i: one.array for i, one in grads.items()}, reqs)
            for i, one in grads.items():
                if reqs[i] == "null":
                    assert Snapshot.of(one.array) == before[i], (
                        f"gradient {i} was touched despite 'null'")
                else:
                    self._close(i, one, priors[i] if reqs[i] == "add" else None)
                assert_around_unchanged(one, self.stream)
                got = contents(made[i], self.stream)
                assert got.tobytes() == self.subject.values[i].tobytes(), (
                    f"backward changed input {i}")
        finally:
            for one in (*made, *grads.values()):
                one.release()

    def _close(self, i: int, one: Made, prior: Array | None) -> None:
        got, want = contents(one, self.stream), self.grads[i]
        assert want is not None
        if prior is not None:
            want = want + prior
        rtol, atol = self.case.tolerance(got.dtype.name)
        assert_close(got, want, 5 * rtol, 5 * atol, f"gradient of input {i}")


def stand_in(case: Case, values: list[Array], dtype: str) -> Subject:
    """A Subject that has inputs and tolerances, and no operator that anybody could run."""
    def refuse(ctx: Any, p: Any, ins: Any, outs: Any) -> None:
        raise AssertionError(f"{case.op} is no operator")
    op = OpDef(case.op, NoParams, inputs=(), infer_shape=same_shape, infer_type=same_type,
               compute=refuse)
    groups = {i: given.weight_groups for i, given in enumerate(case.all_inputs())
              if given.weight_groups > 1}
    return Subject(op, NoParams(), values, [case.tags(i) for i in range(len(values))], dtype,
                   case.is_train, "auto", case.tolerance, [], exact=case.exact, groups=groups)
