"""The executor as a runtime: a case as a graph of one node, bound, run forward and backward.

Uses the package as a user would: `mx.sym`, `bind`, `forward`, `backward`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

import ndarray_rt as mx

from .. import config
from .._array.copy import read_numpy, write_numpy
from .._array.ndarray import NDArray
from .._array.req import GRAD_REQS
from ..dtypes import is_float
from ..op.random_state import default_random_state
from ..op.registry import find
from ..op.signatures import Signature
from ..storage.stream import Stream
from ..symbol.create import call
from .case import Array, Case
from .checks import Bench, Failures
from .compare import assert_close
from .gradient import Slope
from .kind_words import is_special_kind
from .memory_kinds import Made, contents, make
from .runtimes import RUNTIMES, SEED
from .subject import Subject

# an executor may record its second run and replay from the third on
RUNS = {"captured": 3, "planned": 2, "unplanned": 2}
MODES: dict[str, dict[str, bool]] = {
    "captured": {"NDRT_PLAN_MEMORY": True, "NDRT_CAPTURE": True},
    "planned": {"NDRT_PLAN_MEMORY": True, "NDRT_CAPTURE": False},
    "unplanned": {"NDRT_PLAN_MEMORY": False, "NDRT_CAPTURE": False},
}


def modes_of(turn: int) -> dict[str, dict[str, bool]]:
    """Captured, and in turns one of the ways that run steps one by one: these differ in where
    arrays lie, which many calls of a table meet as well as each of them would."""
    return {mode: MODES[mode] for mode in ("captured", ("planned", "unplanned")[turn % 2])}


def symbol_of(case: Case, names: Sequence[str]) -> Any:
    """The operator on variables, by the function that a user finds it under, if there is one."""
    return applied(case, [mx.sym.Variable(name) for name in names])


def applied(case: Case, inputs: Sequence[Any]) -> Any:
    """The operator of a case on symbols."""
    op = find(case.op)
    if not op.is_public:
        return call(case.op, *inputs, name="node", **case.params)
    function = getattr(mx.sym._internal if case.op.startswith("_") else mx.sym, case.op)
    params = op.params.parse(case.params, op.name)
    names = (*op.input_names(params), *op.aux_names(params))
    signature = Signature(op)
    if not signature.takes_any and tuple(signature.inputs[:len(names)]) != names:
        # an input that these parameters do without has its place in the signature
        return function(name="node", **dict(zip(names, inputs, strict=True)), **case.params)
    return function(*inputs, name="node", **case.params)


def chained(case: Case, symbol: Any, names: Sequence[str]) -> Any:
    """The operator between copies, so that its arrays are planned and not the user's."""
    is_aux = set(symbol.list_auxiliary_states())
    inputs = [mx.sym.Variable(name) for name in names]
    node = applied(case, [one if name in is_aux else mx.sym.identity(one, name=f"{name}_copied")
                          for one, name in zip(inputs, names, strict=True)])
    outs = [mx.sym.identity(node[i], name=f"out{i}") for i in range(len(node.list_outputs()))]
    return mx.sym.Group(outs) if len(outs) > 1 else outs[0]


class ExecutorBench:
    """One case as a bound graph."""

    def __init__(self, case: Case, subject: Subject) -> None:
        self.case = case
        self.subject = subject
        self.stream = Stream()
        op, params = subject.op, subject.params
        self.num_inputs = len(op.input_names(params))
        self.names = [f"{'x' if i < self.num_inputs else 'aux'}{i}"
                      for i in range(len(subject.values))]
        self.symbol = symbol_of(case, self.names)
        self.visible = op.num_visible(params)
        self.slope: Slope | None = None
        self.grads: list[Array | None] = []
        self.after: dict[int, Array] = {}
        if op.gradient is not None and self._differentiable():
            self.slope = Slope(case, subject.dtype)
            self.grads, _ = self.slope.own()
            self.after = self.slope.after
            self.slope.runtime.close()

    def _differentiable(self) -> bool:
        return ("gradient" not in self.case.exempt
                and any(is_float(self.subject.values[i].dtype) for i in range(self.num_inputs)))

    def trainable(self) -> list[int]:
        """Inputs that may have a gradient."""
        is_aux = set(self.symbol.list_auxiliary_states())
        return [i for i in range(self.num_inputs) if self.names[i] not in is_aux
                and is_float(self.subject.values[i].dtype)]

    def bind(self, made: list[Made], grads: dict[int, Made], reqs: dict[int, str]) -> Any:
        names = self.names
        # inputs that the operator writes to count as aux states of a symbol
        is_aux = set(self.symbol.list_auxiliary_states())
        args = {n: m.array for n, m in zip(names, made, strict=True) if n not in is_aux}
        aux = {n: m.array for n, m in zip(names, made, strict=True) if n in is_aux}
        requests = {n: reqs.get(i, "null") for i, n in enumerate(names) if n in args}
        return self.symbol.bind(mx.cpu(), args=args, aux_states=aux, grad_req=requests,
                                args_grad={names[i]: m.array for i, m in grads.items()})

    def refill(self, made: list[Made], values: Sequence[Array], all_of_them: bool) -> None:
        """Writes inputs anew: those that runs write to, or all (which ends special layouts)."""
        for i, (one, value) in enumerate(zip(made, values, strict=True)):
            if all_of_them or i in self.subject.mutated or i in self.after:
                write_numpy(one.array, value, self.stream)
                one.array._chunk.wrote()

    def poison(self, executor: Any) -> None:
        """Garbage in the outputs, so that a run that forgets to write them is seen."""
        for out in executor.outputs:
            if is_float(out.dtype) and out._chunk.is_allocated and not out.is_special:
                write_numpy(out, np.full(out.shape, np.nan, out.dtype), self.stream)

    def check_chained(self, failures: Failures) -> None:
        """Forward and backward where the executor plans the operator's own arrays."""
        kinds = self.subject.kinds_of_inputs()
        single, self.symbol = self.symbol, chained(self.case, self.symbol, self.names)
        trainable = self.trainable() if self.slope is not None else []
        for turn, (mode, switches) in enumerate(modes_of(self.subject.turn).items()):
            for request in ("write", "add"):
                some = kinds[(self.subject.turn + turn) % len(kinds)]
                what = (f"executor {mode}, between copies, {'/'.join(dict.fromkeys(some))}, "
                        f"{request}")
                if not failures.wants(what):
                    continue
                with failures.trying(what, f"executor {mode}: between copies"), config.override(
                        **switches):
                    self._forward_of(some, mode)
                    if trainable:
                        self._backward(some, kinds[0], dict.fromkeys(trainable, request),
                                       RUNS[mode])
        self.symbol = single

    def check_forward(self, failures: Failures) -> None:
        """Forward on all kinds of bound arrays, in the modes of their turn, several times."""
        for turn, reason in enumerate(self.subject.skipped_inputs, self.subject.turn):
            failures.skip(reason, len(modes_of(turn)))
        for turn, kinds in enumerate(self.subject.kinds_of_inputs(), self.subject.turn):
            for mode, switches in modes_of(turn).items():
                what = f"executor forward {mode}, {'/'.join(dict.fromkeys(kinds))}"
                if not failures.wants(what):
                    continue
                with failures.trying(what, f"executor {mode}: forward"), config.override(
                        **switches):
                    self._forward_of(kinds, mode)

    def check_modes(self, failures: Failures) -> None:
        """Forward and backward on plain arrays, in the modes of the call's turn."""
        kinds = self.subject.kinds_of_inputs()[0]
        trainable = self.trainable() if self.slope is not None else []
        for mode, switches in modes_of(self.subject.turn).items():
            what = f"executor {mode}: {self.case.id}"
            if not failures.wants(what):
                continue
            with failures.trying(what, f"executor {mode}: derived shape"), config.override(
                    **switches):
                self._forward_of(kinds, mode)
                if trainable:
                    self._backward(kinds, kinds, dict.fromkeys(trainable, "add"), RUNS[mode])

    def _forward_of(self, kinds: list[str], mode: str) -> None:
        values = self.subject.values
        made = [make(v, k, self.stream) for v, k in zip(values, kinds, strict=True)]
        for one in made:
            one.check()
        executor = self.bind(made, {}, {})
        for run in range(RUNS[mode]):
            if run:
                self.refill(made, values, all_of_them=False)
                self.poison(executor)
            self.forward(executor, made, self.case.is_train)
            for one in made:
                one.check_after()
        self._check_mode(executor, kinds, mode)
        if mode == "captured" and self.other is not None:
            self.refill(made, self.other[0], all_of_them=True)
            self.poison(executor)
            outs = executor.forward(is_train=self.case.is_train)
            for i, (out, want) in enumerate(zip(outs, self.other[1], strict=False)):
                self._close(self.read(out), want, f"output {i} for other inputs")
        for one in made:
            one.release()

    def _check_mode(self, executor: Any, kinds: list[str], mode: str) -> None:
        """What ran is what was meant: captured where all steps are native and inputs stay."""
        state = executor.capture_state
        if mode != "captured":
            assert state != "captured", f"{mode}, and yet captured"
        elif (self.subject.must is True and not self.subject.mutated and not self.case.is_train
              and not self.subject.op.draws(self.subject.params)
                and not any(is_special_kind(kind) or kind in ("pinned", "pinned:view")
                          for kind in kinds)):
            # of what a user may write to at any time, no packed copy can be trusted
            assert state == "captured", f"not captured: {state}"

    @cached_property
    def other(self) -> tuple[list[Array], list[Array]] | None:
        """Other contents of the inputs, and what a plain numpy call makes of them."""
        subject = self.subject
        if subject.mutated or subject.op.draws(subject.params) or not subject.values:
            return None
        values = [np.roll(v, 1) for v in subject.values]
        runtime = RUNTIMES["numpy"](subject.is_train)
        try:
            return values, Bench(replace(subject, values=values), runtime).result()
        finally:
            runtime.close()

    def forward(self, executor: Any, made: list[Made], is_train: bool) -> None:
        default_random_state().seed(SEED)
        outs = executor.forward(is_train=is_train)
        assert len(outs) == self.visible
        if is_train == self.case.is_train:
            for i, out in enumerate(outs):
                want = self.subject.want[i] if i < len(self.subject.want) else None
                got = self.read(out)
                assert got.dtype == self.subject.out_dtypes[i]
                if want is not None:
                    self.subject.compare(got, want, None, f"output {i}")
            for i, want in self.subject.after.items():
                self.subject.compare(contents(made[i], self.stream), want, None,
                                     f"input {i} afterwards")
        for i, one in enumerate(made):
            if i not in self.subject.mutated:
                same = self.read(one.array).tobytes() == self.subject.values[i].tobytes()
                assert same, f"forward changed input {i}"

    def read(self, array: NDArray) -> Array:
        return read_numpy(array, self.stream)

    def check_backward(self, failures: Failures) -> None:
        """Backward into all kinds of gradient arrays, with each combination of requests."""
        if self.slope is None:
            return
        trainable = self.trainable()
        kinds = self.subject.kinds_of_inputs()
        if len(trainable) <= 3:
            combos = list(product(("null", "write", "add"), repeat=len(trainable)))
        else:
            combos = [tuple("write" if i == j else "null" for i in range(len(trainable)))
                      for j in range(len(trainable))]
            combos += [("write",) * len(trainable), ("add",) * len(trainable)]
        plans = [(list(kinds[0]), list(kinds[0]), combo) for combo in combos]
        for turn, in_kinds in enumerate(kinds):
            request = ("write", "add")[turn % 2]
            plans.append((list(in_kinds), list(kinds[(turn + 1) % len(kinds)]),
                          (request,) * len(trainable)))
        for turn, (in_kinds, grad_kinds, combo) in enumerate(plans):
            mode = list(MODES)[(turn + self.subject.turn) % len(MODES)]
            what = (f"executor backward {mode}, {'/'.join(dict.fromkeys(in_kinds))}, gradients "
                    f"{'/'.join(dict.fromkeys(grad_kinds))}, {','.join(combo)}")
            if not failures.wants(what):
                continue
            with failures.trying(what, f"executor {mode}: backward"), config.override(
                    **MODES[mode]):
                self._backward(in_kinds, grad_kinds, dict(zip(trainable, combo, strict=True)),
                               RUNS[mode])

    def _backward(self, in_kinds: list[str], grad_kinds: list[str], reqs: dict[int, str],
                  runs: int) -> None:
        values, stream = self.subject.values, self.stream
        rng = np.random.default_rng(5)
        made = [make(v, k, stream) for v, k in zip(values, in_kinds, strict=True)]
        priors = {i: np.asarray(rng.uniform(-1, 1, values[i].shape), values[i].dtype) for i in reqs}
        grads = {i: make(priors[i], grad_kinds[i], stream) for i in reqs}
        executor = self.bind(made, grads, reqs)
        assert self.slope is not None
        heads = [make(w, "plain", stream).array for w in self.slope.weights[:self.visible]]
        for one in (*made, *grads.values()):
            one.check()
        for run in range(runs):
            if run:
                self.refill(made, values, all_of_them=False)
                self.poison(executor)
                for i, one in grads.items():
                    write_numpy(one.array, priors[i], stream)
            self.forward(executor, made, is_train=True)
            executor.backward(heads)
            for i, one in grads.items():
                self._check_gradient(i, one, priors[i], reqs[i])
            if any(req != "null" for req in reqs.values()):
                for i, want in self.after.items():
                    self._close(contents(made[i], stream), want, f"input {i} afterwards")
            for one in (*made, *grads.values()):
                one.check_after()
        for one in (*made, *grads.values()):
            one.release()

    def _check_gradient(self, i: int, one: Made, prior: Array, req: str) -> None:
        got = contents(one, self.stream)
        if req == "null":
            assert got.tobytes() == prior.tobytes(), f"gradient {i} was written despite 'null'"
            return
        own = self.grads[i]
        want = np.zeros(prior.shape) if own is None else own.astype(np.float64)
        if req == "add":
            want = want + prior
        self._close(got, want, f"gradient {i}")

    def _close(self, got: Array, want: Array, what: str) -> None:
        rtol, atol = self.case.tolerance(got.dtype.name)
        assert_close(got, want, 5 * rtol, 5 * atol, what)


assert set(GRAD_REQS) == {"null", "write", "add"}
