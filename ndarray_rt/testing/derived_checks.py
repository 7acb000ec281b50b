"""Running calls that nobody wrote: other shapes (derive.py) and every dtype, on all runtimes.

What one numpy call gives is the truth for the others. A call may be refused by an error of the
package; any other exception is a failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._array.req import Req
from ..dtypes import TYPE_FLAGS, find_dtype, is_float
from ..errors import MissingPackage, NdrtError, TypeMismatch
from .case import Case, as_input
from .checks import Bench
from .derive import derived
from .executor import ExecutorBench, modes_of
from .failures import Failures
from .runtimes import RUNTIMES
from .subject import Subject, subject_of

DTYPES = tuple(TYPE_FLAGS)
KINDS = 3  # so many kinds of inputs are tried for a derived shape, others for the next shape


def truth(subject: Subject) -> str | None:
    """Fills in what one plain numpy call gives; the reason where it is refused."""
    runtime = RUNTIMES["numpy"](subject.is_train)
    try:
        subject.want = list(Bench(subject, runtime).result())
    except NdrtError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        runtime.close()
    return None


def check_shapes(case: Case, failures: Failures) -> None:
    """Every shape that the call bears, on numpy, oneDNN and in the executor."""
    for name, made in derived(case):
        if isinstance(made, str):
            failures.skip(f"shape inference refuses: {_form(made)}")
            continue
        subject = subject_of(made, made.dtypes[0])
        with failures.trying(f"{name}: {made.id}", "derived shape: numpy alone"):
            refusal = truth(subject)
        if refusal is not None:
            failures.skip(f"compute refuses: {_form(refusal)}")
            continue
        if subject.want:
            _run_kinds(subject, f"{name}: {made.id}", failures)
            _run_executor(made, subject, failures)


def _run_kinds(subject: Subject, what: str, failures: Failures) -> None:
    ins, outs = subject.kinds_of_inputs(), subject.kinds_of_outputs()
    for name in RUNTIMES:
        runtime = RUNTIMES[name](subject.is_train)
        bench = Bench(subject, runtime)
        for k in range(KINDS):
            turn = subject.turn + k
            reqs = [Req(1 + turn % 3)] * len(subject.out_shapes)
            bench.try_kinds(failures, ins[turn % len(ins)] if k else ins[0],
                            bench.possible_kind(outs[(turn // 3) % len(outs)]), reqs,
                            f"{name}: derived shape", what)
        runtime.close()


def _run_executor(case: Case, subject: Subject, failures: Failures) -> None:
    count = len(modes_of(subject.turn))
    if "executor" in case.exempt:
        failures.skip(case.exempt["executor"], count)
        return
    try:
        bench = ExecutorBench(case, subject)
    except NdrtError as error:
        failures.skip(f"the gradient refuses: {_form(str(error))}", count)
        return
    bench.check_modes(failures)


def check_dtypes(case: Case, failures: Failures, dtypes: Sequence[str] = DTYPES) -> None:
    """Every dtype that the call bears and its author has not listed, plainly and as views."""
    if case.inputs and all(as_input(value).dtype for value in case.inputs):
        return  # all dtypes are fixed by the case
    for dtype in dtypes:
        if dtype in case.dtypes:
            continue
        try:
            find_dtype(dtype)
        except MissingPackage as error:
            failures.skip(str(error))
            continue
        try:
            subject = subject_of(replace(case, reference=None, after=None, check=None,
                                         native="auto", exact=False), dtype)
            assert subject.out_dtypes
        except TypeMismatch as error:
            failures.skip(f"type inference refuses: {_form(str(error))}")
            continue
        except AssertionError as error:
            if "infer_type changed" not in str(error):
                raise
            failures.skip("another input has a fixed dtype")
            continue
        refusal = truth(subject)
        if refusal is not None:
            failures.skip(f"compute refuses: {_form(refusal)}")
            continue
        _check_reference(case, subject, failures)
        run_two(subject, "native", failures, subject.dtype)


def _check_reference(case: Case, subject: Subject, failures: Failures) -> None:
    """Floats of another width agree with the reference too."""
    if case.reference is None or not is_float(find_dtype(subject.dtype)) or case.exact or not all(
            np.isfinite(value).all() for value in subject.values):
        return  # whole numbers wrap around, and what is too large for a dtype is infinite in it
    full = subject_of(case, subject.dtype)
    what = f"{subject.dtype}: {case.id}"
    if not failures.wants(what):
        return
    with failures.trying(what, f"{subject.dtype}: against the reference"):
        for i, (got, want) in enumerate(zip(subject.want, full.want, strict=False)):
            if got is not None and want is not None:
                full.compare(got, want, None, f"output {i}")


def run_two(subject: Subject, runtime_name: str, failures: Failures, of: str = "") -> None:
    """Written from plain inputs, added to from inputs of a kind that the call's turn decides."""
    runtime = RUNTIMES[runtime_name](subject.is_train)
    bench = Bench(subject, runtime)
    ins, outs = subject.kinds_of_inputs(), subject.kinds_of_outputs()
    for k, req in enumerate((Req.kWriteTo, Req.kAddTo)):
        turn = subject.turn + k
        bench.try_kinds(failures, ins[turn % len(ins)] if k else ins[0],
                        bench.possible_kind(outs[turn % len(outs)]),
                        [req] * len(subject.out_shapes), f"{runtime_name}: {subject.dtype}", of)
    runtime.close()


def _form(text: str) -> str:
    """A reason without its numbers, so that equal ones are counted together."""
    short = "".join("#" if c.isdigit() else c for c in text)
    while "##" in short:
        short = short.replace("##", "#")
    return short.replace("#, ", "").replace("(#,)", "(#)")[:110]
