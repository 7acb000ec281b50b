"""check_consistency: one result, whatever the dtype, library, plan, threads and kind of memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from .. import config
from .._array.copy import read_numpy
from ..errors import ParameterError
from ..op.registry import OpDef, find
from ..storage.stream import Stream
from ..symbol.functions import Variable
from ..symbol.generated import function_of
from ..threads import set_num_threads
from .case import Array, Case
from .checks import Failures, no_leak
from .compare import assert_close
from .computation import Computation, Graph, computation_of
from .function import LIBRARIES, stand_in
from .memory_kinds import contents, make
from .numeric_gradient import gradients, plain, trainable
from .operator import as_inputs, registered
from .report import Ran, Report

# ways of running a graph: switches
EXECUTIONS: dict[str, dict[str, bool]] = {
    "unplanned": {"NDRT_PLAN_MEMORY": False, "NDRT_CAPTURE": False},
    "planned": {"NDRT_PLAN_MEMORY": True, "NDRT_CAPTURE": False},
    "captured": {"NDRT_PLAN_MEMORY": True, "NDRT_CAPTURE": True},
}


@dataclass(frozen=True)
class Truth:
    """What must come out, in the widest dtype."""

    outputs: list[Array]
    grads: list[Array | None]


def check_consistency(what: Any, inputs: Any, params: Mapping[str, Any] | None = None, *,
                      dtypes: Sequence[str] = ("float16", "float32", "float64"),
                      threads: Sequence[int] = (1, 2), with_gradients: bool = True,
                      is_train: bool = False, no_grad: Collection[str | int] = (),
                      rtol: Any = None, atol: Any = None, seed: int = 0) -> Report:
    """Runs one computation in many ways, which must all give one result.

    `what` is a Python function of NDArrays, a Symbol, the name of an operator or an OpDef;
    `inputs` has a shape, an Input, an array or a list for each input (of a Symbol: its arguments,
    then its aux states). The ways: each of `dtypes` for the inputs that have none of their own;
    oneDNN on and off; each number of `threads`; inputs in every kind of memory; graphs unplanned,
    planned and captured (an operator is run eagerly and as a graph). All start from the same
    contents, which every dtype can hold.

    What must come out is one plain run on NumPy in the widest dtype. Outputs agree within the
    tolerance of their dtype (`rtol` and `atol`: a number, or one for each dtype by name);
    gradients, in training mode, within five times that. `no_grad` has positions or names of
    inputs whose gradients are not compared.

    Returns a Report. Raises AssertionError naming the way, the output and its worst element.
    """
    if not dtypes:
        raise ParameterError("check_consistency: dtypes is empty")
    name = what if isinstance(what, str) else getattr(what, "name", None) or getattr(
        what, "__name__", type(what).__name__)
    case = Case(str(name), {}, as_inputs(inputs), is_train=is_train, seed=seed, rtol=rtol,
                atol=atol, no_grad=frozenset(no_grad), dtypes=tuple(dtypes))
    if isinstance(what, OpDef):
        with registered(what):
            return _check(_computations(what, params), case, threads, with_gradients)
    return _check(_computations(what, params), case, threads, with_gradients)


def _computations(what: Any, params: Mapping[str, Any] | None) -> list[Computation]:
    """All ways of running it: an operator is a graph of one node, too."""
    made = [computation_of(what, params)]
    if isinstance(what, (str, OpDef)):
        name = what if isinstance(what, str) else what.name
        made.append(_graph_of(name, dict(params or {})))
    return made


def _graph_of(op: str, params: dict[str, Any]) -> Graph:
    """An operator as a graph of one node, with its inputs in the operator's order."""
    found = find(op)
    parsed = found.params.parse(params, op)
    names = [*found.input_names(parsed), *found.aux_names(parsed)]
    made = function_of(op)(*[Variable(name) for name in names], name="node", **params)
    return Graph(made, op, names)


def _check(computations: Sequence[Computation], case: Case, threads: Sequence[int],
           with_gradients: bool) -> Report:
    by_width = sorted(case.dtypes, key=lambda name: np.dtype(name).itemsize)
    narrow, wide = by_width[0], by_width[-1]
    values = case.draw(narrow)
    report, failures = Report(case.id), Failures()
    wanted = trainable(computations[0], case, values) if with_gradients else []
    with no_leak():
        with _settings("numpy", "unplanned", 1):
            truth = _truth(computations[0], case, _in_dtype(case, values, wide), wanted)
        for computation, dtype, library, count in product(computations, case.dtypes, LIBRARIES,
                                                          threads):
            way = _Way(computation, case, _in_dtype(case, values, dtype), dtype)
            for execution in EXECUTIONS if computation.runs_graph else ("eager",):
                before = failures.count
                with _settings(library, execution, count):
                    way.check(failures, f"{dtype}, {execution} on {library}, {count} thread(s)",
                              truth, wanted)
                report.parts.append(Ran(f"{dtype} with {count} thread(s)",
                                        f"{execution} on {library}", failures.count - before))
            way.stream.tmp.release()
    failures.settle()
    return report


def _in_dtype(case: Case, values: Sequence[Array], dtype: str) -> list[Array]:
    return [value.astype(given.dtype_in(dtype))
            for value, given in zip(values, case.all_inputs(), strict=True)]


def _truth(computation: Computation, case: Case, values: list[Array],
           wanted: Sequence[int]) -> Truth:
    stream = Stream()
    outs = [read_numpy(y, stream) for y in computation.forward(plain(values), case.is_train)]
    return Truth(outs, gradients(computation, values, wanted) if wanted else [])


@contextmanager
def _settings(library: str, execution: str, threads: int) -> Iterator[None]:
    before = set_num_threads(threads)
    try:
        with config.override(NDRT_ONEDNN=LIBRARIES[library], **EXECUTIONS.get(execution, {})):
            yield
    finally:
        set_num_threads(before)


class _Way:
    """One computation in one dtype under the settings of the moment."""

    def __init__(self, computation: Computation, case: Case, values: list[Array],
                 dtype: str) -> None:
        self.computation = computation
        self.case = case
        self.values = values
        self.stream = Stream()
        found = {tuple(kinds): kinds
                 for kinds in stand_in(case, values, dtype).kinds_of_inputs()}
        self.combos = list(found.values())

    def check(self, failures: Failures, what: str, truth: Truth, wanted: Sequence[int]) -> None:
        for kinds in self.combos:
            with failures.trying(f"{what}, {'/'.join(dict.fromkeys(kinds))}"):
                made = [make(value, kind, self.stream)
                        for value, kind in zip(self.values, kinds, strict=True)]
                try:
                    for one in made:
                        one.check()
                    outs = self.computation.forward([one.array for one in made],
                                                    self.case.is_train)
                    self._compare([read_numpy(y, self.stream) for y in outs], truth.outputs,
                                  "output", 1)
                    if not self.case.is_train:
                        for i, one in enumerate(made):
                            same = contents(one, self.stream).tobytes() == self.values[i].tobytes()
                            assert same, f"input {i} was changed"
                finally:
                    for one in made:
                        one.release()
        if wanted:
            with failures.trying(f"{what}, gradients"):
                got = gradients(self.computation, self.values, wanted)
                self._compare(got, truth.grads, "gradient of input", 5)

    def _compare(self, got: Sequence[Array | None], want: Sequence[Array | None], what: str,
                 times: float) -> None:
        assert len(got) == len(want), f"gave {len(got)} arrays, expected {len(want)}"
        for i, (y, right) in enumerate(zip(got, want, strict=True)):
            assert (y is None) == (right is None), f"{what} {i}: is there in one way only"
            if y is None or right is None:
                continue
            rtol, atol = self.case.tolerance(y.dtype.name)
            assert_close(y, right, times * rtol, times * atol, f"{what} {i}")

