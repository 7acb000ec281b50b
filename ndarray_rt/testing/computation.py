"""Computation: something that gives arrays from arrays, and its gradients, in one form.

A Python function and an operator run eagerly, under autograd; a Symbol is bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import ndarray_rt as mx

from .. import autograd
from .._array.ndarray import NDArray
from ..errors import NameMismatch, TypeMismatch
from ..imperative.invoke import invoke
from ..imperative.tape import is_recorded
from ..op.random_state import default_random_state
from ..op.registry import OpDef, find
from ..symbol.symbol import Symbol
from .runtimes import SEED

RUNS = 3  # an executor may record its second run and replay from the third on


class Computation(ABC):
    """Arrays to arrays. Each call draws the same random numbers."""

    name: str
    runs_graph = False

    def names(self, count: int) -> list[str]:
        """What to call its inputs in messages."""
        return [f"input {i}" for i in range(count)]

    def differentiable(self, count: int) -> Sequence[int]:
        """Positions of inputs that may have a gradient: all but aux states."""
        return range(count)

    @abstractmethod
    def forward(self, ins: Sequence[NDArray], is_train: bool) -> list[NDArray]:
        """The visible outputs."""

    @abstractmethod
    def backward(self, ins: Sequence[NDArray], heads: Callable[[Sequence[NDArray]], list[NDArray]],
                 grads: Mapping[int, NDArray], reqs: Mapping[int, str]) -> list[NDArray]:
        """The outputs, after their gradients went to `grads`, as `reqs` ask.

        `heads` makes the gradients of the outputs from the outputs. Runs in training mode.
        """


class Eager(Computation):
    """A Python function of arrays."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = name
        self._function = function

    def forward(self, ins: Sequence[NDArray], is_train: bool) -> list[NDArray]:
        default_random_state().seed(SEED)
        with autograd.train_mode() if is_train else autograd.predict_mode():
            return self._listed(self._function(*ins))

    def backward(self, ins: Sequence[NDArray], heads: Callable[[Sequence[NDArray]], list[NDArray]],
                 grads: Mapping[int, NDArray], reqs: Mapping[int, str]) -> list[NDArray]:
        # handles of their own, so that the caller's arrays stay unknown to the tape
        given = [x.detach() for x in ins]
        autograd.mark_variables([given[i] for i in grads], list(grads.values()),
                                [reqs[i] for i in grads])
        default_random_state().seed(SEED)
        with autograd.record():
            outs = self._listed(self._function(*given))
        live = [(y, dy) for y, dy in zip(outs, heads(outs), strict=True) if is_recorded(y)]
        if live:
            autograd.backward([y for y, _ in live], [dy for _, dy in live])
        return [y.detach() for y in outs]

    def _listed(self, made: Any) -> list[NDArray]:
        outs = list(made) if isinstance(made, (list, tuple)) else [made]
        for i, y in enumerate(outs):
            if not isinstance(y, NDArray):
                raise TypeMismatch(f"{self.name}: output {i} is a {type(y).__name__}, expected an "
                                   "NDArray")
        return outs


class Operator(Eager):
    """An operator, called eagerly: inputs, then aux states."""

    def __init__(self, op: OpDef, params: Mapping[str, Any]) -> None:
        super().__init__(lambda *ins: invoke(op, ins, params), op.name)
        parsed = op.params.parse(dict(params), op.name)
        self._inputs = op.input_names(parsed)
        self._aux = op.aux_names(parsed)
        self._mutated = op.mutated(parsed)

    def names(self, count: int) -> list[str]:
        return [*self._inputs, *self._aux]

    def differentiable(self, count: int) -> Sequence[int]:
        return [i for i in range(len(self._inputs)) if i not in self._mutated]


class Graph(Computation):
    """A Symbol; its inputs are its arguments, then its aux states, or as `order` names them."""

    runs_graph = True

    def __init__(self, symbol: Symbol, name: str = "", order: Sequence[str] = ()) -> None:
        self._symbol = symbol
        self._args = symbol.list_arguments()
        self._aux = symbol.list_auxiliary_states()
        self._order = list(order) or [*self._args, *self._aux]
        self.name = name or symbol.name or "symbol"

    def names(self, count: int) -> list[str]:
        return self._order

    def differentiable(self, count: int) -> Sequence[int]:
        return [i for i, name in enumerate(self._order) if name in self._args]

    def forward(self, ins: Sequence[NDArray], is_train: bool) -> list[NDArray]:
        args, aux = self._split(ins)
        executor = self._symbol.bind(mx.cpu(), args, aux_states=aux, grad_req="null")
        for _ in range(RUNS):
            default_random_state().seed(SEED)
            outs: list[NDArray] = executor.forward(is_train=is_train)
        return outs

    def backward(self, ins: Sequence[NDArray], heads: Callable[[Sequence[NDArray]], list[NDArray]],
                 grads: Mapping[int, NDArray], reqs: Mapping[int, str]) -> list[NDArray]:
        args, aux = self._split(ins)
        executor = self._symbol.bind(
            mx.cpu(), args, aux_states=aux,
            args_grad={self._order[i]: g for i, g in grads.items()},
            grad_req={self._order[i]: req for i, req in reqs.items()})
        # what is added to comes out right after one run only
        for _ in range(1 if "add" in reqs.values() else RUNS):
            default_random_state().seed(SEED)
            outs: list[NDArray] = executor.forward(is_train=True)
            executor.backward(heads(outs))
        return outs

    def _split(self, ins: Sequence[NDArray]) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        if len(ins) != len(self._order):
            raise NameMismatch(f"{self.name}: got {len(ins)} inputs, expected one for each of "
                               f"{', '.join(self._order)}")
        given = dict(zip(self._order, ins, strict=True))
        return ({name: given[name] for name in self._args},
                {name: given[name] for name in self._aux})


def computation_of(what: Any, params: Mapping[str, Any] | None = None) -> Computation:
    """A Symbol as a graph; an operator by name or OpDef, or a function, eagerly."""
    if isinstance(what, Symbol):
        _no_params(params, "Symbol")
        return Graph(what)
    if isinstance(what, (str, OpDef)):
        return Operator(find(what) if isinstance(what, str) else what, dict(params or {}))
    if callable(what):
        _no_params(params, "Python function")
        return Eager(what, getattr(what, "__name__", type(what).__name__))
    raise TypeMismatch(f"got {type(what).__name__}, expected a function of NDArrays, a Symbol, "
                       "the name of an operator or an OpDef")


def _no_params(params: Mapping[str, Any] | None, what: str) -> None:
    if params:
        raise TypeMismatch(f"a {what} has no params")


def head_weights(shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype[Any]],
                 ) -> list[np.ndarray[Any, np.dtype[Any]]]:
    """Gradients of outputs, away from zero, the same at each call."""
    rng = np.random.default_rng(3)
    return [np.asarray(rng.uniform(0.5, 1.5, shape) * np.where(rng.random(shape) < 0.5, -1, 1))
            .astype(dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]


def as_heads(outs: Sequence[NDArray]) -> list[NDArray]:
    """`head_weights` as arrays for these outputs."""
    values = head_weights([y.shape for y in outs], [y.dtype for y in outs])
    return [mx.nd.array(value, dtype=value.dtype) for value in values]
