"""The executor as a runtime: a case as a graph of one node, bound, run forward and backward.

Uses the package as a user would: `mx.sym`, `bind`, `forward`, `backward`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

import ndarray_rt as mx

from ..ndarray.copy import read_numpy, write_numpy
from ..ndarray.ndarray import NDArray
from ..ndarray.req import GRAD_REQS
from ..op.random_state import default_random_state
from ..storage.stream import ImmediateStream
from .case import Array, Case
from .checks import Failures
from .compare import assert_close
from .gradient import Slope
from .memory_kinds import Made, contents, make
from .runtimes import SEED
from .subject import Subject

RUNS = 3  # an executor may record its second run and replay from the third on


def symbol_of(case: Case, names: Sequence[str]) -> Any:
    """The operator on variables, by the function that a user finds it under."""
    space = mx.sym._internal if case.op.startswith("_") else mx.sym
    function = getattr(space, case.op)
    return function(*[mx.sym.Variable(name) for name in names], name="node", **case.params)


class ExecutorBench:
    """One case as a bound graph."""

    def __init__(self, case: Case, subject: Subject) -> None:
        self.case = case
        self.subject = subject
        self.stream = ImmediateStream()
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
                and any(self.subject.values[i].dtype.kind == "f" for i in range(self.num_inputs)))

    def trainable(self) -> list[int]:
        """Inputs that may have a gradient."""
        is_aux = set(self.symbol.list_auxiliary_states())
        return [i for i in range(self.num_inputs) if self.names[i] not in is_aux
                and self.subject.values[i].dtype.kind == "f"]

    def bind(self, made: list[Made], grads: dict[int, Made], reqs: dict[int, str]) -> Any:
        names = self.names
        # inputs that the operator writes to count as aux states of a symbol
        is_aux = set(self.symbol.list_auxiliary_states())
        args = {n: m.array for n, m in zip(names, made, strict=True) if n not in is_aux}
        aux = {n: m.array for n, m in zip(names, made, strict=True) if n in is_aux}
        requests = {n: reqs.get(i, "null") for i, n in enumerate(names) if n in args}
        return self.symbol.bind(mx.cpu(), args=args, aux_states=aux, grad_req=requests,
                                args_grad={names[i]: m.array for i, m in grads.items()})

    def refill(self, made: list[Made]) -> None:
        for one, value in zip(made, self.subject.values, strict=True):
            write_numpy(one.array, value, self.stream)

    def check_forward(self, failures: Failures) -> None:
        """Forward on all kinds of bound arrays, several times."""
        for kinds in self._kinds():
            with failures.trying(f"executor forward, {'/'.join(dict.fromkeys(kinds))}"):
                made = [make(v, k, self.stream)
                        for v, k in zip(self.subject.values, kinds, strict=True)]
                for one in made:
                    one.check()
                executor = self.bind(made, {}, {})
                for run in range(RUNS):
                    if run:
                        self.refill(made)
                    self.forward(executor, made, self.case.is_train)
                for one in made:
                    one.release()

    def _kinds(self) -> list[list[str]]:
        found: dict[tuple[str, ...], list[str]] = {}
        for kinds in self.subject.kinds_of_inputs():
            found.setdefault(tuple(kinds), kinds)
        return list(found.values())

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
        kinds = self._kinds()
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
        for in_kinds, grad_kinds, combo in plans:
            what = (f"executor backward, {'/'.join(dict.fromkeys(in_kinds))}, gradients "
                    f"{'/'.join(dict.fromkeys(grad_kinds))}, {','.join(combo)}")
            with failures.trying(what):
                self._backward(in_kinds, grad_kinds, dict(zip(trainable, combo, strict=True)))

    def _backward(self, in_kinds: list[str], grad_kinds: list[str], reqs: dict[int, str]) -> None:
        values, stream = self.subject.values, self.stream
        rng = np.random.default_rng(5)
        made = [make(v, k, stream) for v, k in zip(values, in_kinds, strict=True)]
        priors = {i: np.asarray(rng.uniform(-1, 1, values[i].shape), values[i].dtype) for i in reqs}
        grads = {i: make(priors[i], grad_kinds[i], stream) for i in reqs}
        executor = self.bind(made, grads, reqs)
        assert self.slope is not None
        heads = [make(w, "plain", stream).array for w in self.slope.weights[:self.visible]]
        for run in range(RUNS):
            if run:
                self.refill(made)
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
