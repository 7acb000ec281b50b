"""_contrib_hawkesll: how likely points in time are under self-exciting processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import INT32
from ...errors import OutOfBounds, where
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, need_rank
from ...op.params import NoParams
from ...op.registry import Emit, GradNode, OpDef, register
from ..floats import need_float_types

INPUTS = ("lda", "alpha", "beta", "state", "lags", "marks", "valid_length", "max_time")
RANKS = (2, 1, 1, 2, 2, 2, 1, 1)
MARKS = INPUTS.index("marks")
GRADS = ("lda", "alpha", "beta", "state", "lags", "max_time")


def _shapes(n: int, t: int, k: int) -> ShapeList:
    return [(n, k), (k,), (k,), (n, k), (n, t), (n, t), (n,), (n,)]


def infer_shape(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    n = t = k = -1
    # what one shape says the next ones are held against
    for at, (name, rank) in enumerate(zip(INPUTS, RANKS, strict=True)):
        need_rank(ins[at], (rank,), name)
        found = merge(ins[at], _shapes(n, t, k)[at], f"{name} and the shapes before it")
        if ins[at] is not None and found is not None:
            if name in ("lda", "state"):
                n, k = found
            elif name in ("lags", "marks"):
                n, t = found
            elif name in ("alpha", "beta"):
                k, = found
            else:
                n, = found
    likelihood = merge(outs[0], (n,), "shapes of the likelihood")
    state = merge(outs[1], (n, k), "shapes of out_state")
    n = max(n, likelihood[0], state[0])  # type: ignore[index]
    k = max(k, state[1])  # type: ignore[index]
    return _shapes(n, t, k), [(n,), (n, k)]


def infer_type(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[:MARKS], *ins[MARKS + 1:], *outs])
    need_float_types([one])
    marks = merge_types([ins[MARKS], INT32])
    return [one] * MARKS + [marks] + [one] * 2, [one, one]


class Step(NamedTuple):
    """The j-th point of each sample that has one; the last step is the end of time."""

    at: Any  # where it is in arrays (n, k)
    passed: AnyArray  # time since the last point of the same mark
    state: AnyArray  # before the step
    rate: AnyArray  # beta
    decay: AnyArray  # exp(-beta passed)
    j: int  # -1: the end


class Process:
    """One pass over the points, forwards; `steps` are what it saw."""

    def __init__(self, ctx: OpContext, ins: list[AnyArray]) -> None:
        lda, alpha, beta, state, lags, marks, length, end = (
            x if i == MARKS else x.astype(np.float64) for i, x in enumerate(ins))
        samples, points = lags.shape
        marks_of = lda.shape[1]
        self.lda, self.alpha, self.state = lda, alpha, state.copy()
        self.likelihood = np.zeros(samples)
        # NaN counts as none
        self.length = np.clip(np.nan_to_num(length), 0, points)
        self._check(ctx, marks, marks_of)
        self.steps: list[Step] = []
        last, now = np.zeros_like(lda), np.zeros(samples)
        for j in range(points):
            rows = np.flatnonzero(j < self.length)
            at = rows, marks[rows, j]
            now[rows] += lags[rows, j]
            step = self._step(at, now[rows] - last[at], beta[at[1]], j)
            intensity = lda[at] + alpha[at[1]] * step.rate * step.state * step.decay
            self.likelihood[rows] += np.log(intensity) - self._expected(step)
            self.state[at] = 1 + step.state * step.decay
            last[at] = now[rows]
        step = self._step(..., end[:, None] - last, np.broadcast_to(beta, lda.shape), -1)
        self.likelihood -= self._expected(step).sum(1)
        self.state = step.state * step.decay

    def _check(self, ctx: OpContext, marks: AnyArray, marks_of: int) -> None:
        used = marks[np.arange(marks.shape[1]) < self.length[:, None]]
        if used.size and not 0 <= used.min() <= used.max() < marks_of:
            raise OutOfBounds(f"{where('_contrib_hawkesll', ctx.node_name)}: marks has numbers "
                              f"from {used.min()} to {used.max()}, expected them within "
                              f"[0, {marks_of}) from lda {self.lda.shape}")

    def _step(self, at: Any, passed: AnyArray, rate: AnyArray, j: int) -> Step:
        made = Step(at, passed, self.state[at].copy(), rate, np.exp(-rate * passed), j)
        self.steps.append(made)
        return made

    def alpha_at(self, at: Any) -> AnyArray:
        """alpha of the marks of a step."""
        found: AnyArray = np.broadcast_to(self.alpha, self.lda.shape)[at]
        return found

    def _expected(self, step: Step) -> AnyArray:
        """How many points were expected since the last one of the same mark."""
        made: AnyArray = (self.lda[step.at] * step.passed
                          + self.alpha_at(step.at) * step.state * (1 - step.decay))
        return made


def compute(ctx: OpContext, p: NoParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    done = Process(ctx, ins)
    outs[0].write(done.likelihood.astype(ins[0].dtype))
    outs[1].write(done.state.astype(ins[0].dtype))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    heads = [emit.zeros_like(out) if grad is None else grad
             for grad, out in zip(out_grads, node.outputs, strict=True)]
    made = dict(zip(GRADS, emit("_backward_hawkesll", None, *heads, *node.inputs), strict=True))
    return [made.get(name) for name in INPUTS]


def infer_shape_backward(p: NoParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    given = dict(zip(GRADS, outs, strict=True))
    data, heads = infer_shape(p, [merge(shape, given.get(name), f"{name} and its gradient")
                                  for name, shape in zip(INPUTS, ins[2:], strict=True)], ins[:2])
    return [*heads, *data], [data[INPUTS.index(name)] for name in GRADS]


def infer_type_backward(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    known = [*ins[:2], *outs]
    data, heads = infer_type(p, ins[2:], known[:2])
    one = merge_types([heads[0], *known])
    data, heads = infer_type(p, [*data[:MARKS - 1], one, *data[MARKS:]], heads)
    return [*heads, *data], [heads[0]] * len(GRADS)


class Slopes:
    """One pass over the steps, backwards: what comes back to each input."""

    def __init__(self, done: Process, likelihood: AnyArray, state: AnyArray,
                 lags: AnyArray) -> None:
        self.done, self.head = done, likelihood
        shape = done.lda.shape
        # alpha and beta are shared by the samples: of each its own, for the sum
        self.lda, self.alpha, self.beta = (np.zeros(shape) for _ in range(3))
        self.state = np.zeros(shape)
        self.lags, self.end = np.zeros(lags.shape), np.zeros(len(lags))
        last, now = np.zeros(shape), np.zeros(len(lags))
        for step, to_state in self._steps(state):
            passed = self._back(step, to_state)
            if step.j < 0:
                self.end = passed.sum(1)
                last -= passed
                continue
            rows = step.at[0]
            now[rows] += passed + last[step.at]
            last[step.at] = -passed
            self.lags[rows, step.j] = now[rows]

    def _steps(self, state: AnyArray) -> Iterator[tuple[Step, AnyArray]]:
        self.state[...] = state
        for step in reversed(self.done.steps):
            yield step, self.state[step.at].copy()

    def _back(self, step: Step, to_state: AnyArray) -> AnyArray:
        """What comes back to the time that passed; the other sums grow."""
        at, (lda, alpha) = step.at, (self.done.lda[step.at], self.done.alpha_at(step.at))
        head = np.broadcast_to(self.head[:, None], self.lda.shape)[at]
        # of the number of points that were expected
        less = 1 - step.decay
        to_decay = to_state * step.state + head * alpha * step.state
        self.lda[at] -= head * step.passed
        self.alpha[at] -= head * step.state * less
        new = to_state * step.decay - head * alpha * less
        to_rate = np.zeros_like(step.rate)
        if step.j >= 0:
            # of the logarithm of the intensity
            share = head / (lda + alpha * step.rate * step.state * step.decay)
            self.lda[at] += share
            self.alpha[at] += share * step.rate * step.state * step.decay
            to_rate = share * alpha * step.state * step.decay
            to_decay = to_decay + share * alpha * step.rate * step.state
            new = new + share * alpha * step.rate * step.decay
        self.state[at] = new
        self.beta[at] += to_rate - to_decay * step.passed * step.decay
        passed: AnyArray = -head * lda - to_decay * step.rate * step.decay
        return passed


def compute_backward(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    likelihood, state = (x.astype(np.float64) for x in ins[:2])
    made = Slopes(Process(ctx, ins[2:]), likelihood, state, ins[2 + INPUTS.index("lags")])
    for out, value in zip(outs, (made.lda, made.alpha.sum(0), made.beta.sum(0), made.state,
                                 made.lags, made.end), strict=True):
        out.write(value.astype(ins[0].dtype))


register(OpDef("_contrib_hawkesll", NoParams, inputs=INPUTS, outputs=("output", "out_state"),
               infer_shape=infer_shape, infer_type=infer_type, compute=compute, gradient=gradient,
               doc="The logarithm of the likelihood of points in time under self-exciting "
                   "(Hawkes) processes.\n\nFor n samples of t points with one of k marks each: lda "
                   "(n, k) the intensities without points, alpha (k,) how many points one brings "
                   "about, beta (k,) how fast that decays, state (n, k) what came before, lags (n, "
                   "t) the times between points, marks (n, t) int32, valid_length (n,) how many "
                   "points count, max_time (n,) the end of time. Gives the likelihoods (n,) and "
                   "the states at the end (n, k); the other arrays have one float dtype. "
                   "OutOfBounds for other marks. Source: Hawkes 1971; MXNet's _contrib_hawkesll; "
                   "numpy."))
register(OpDef("_backward_hawkesll", NoParams, inputs=("out_grad", "out_state_grad", *INPUTS),
               outputs=tuple(f"{name}_grad" for name in GRADS),
               infer_shape=infer_shape_backward, infer_type=infer_type_backward,
               compute=compute_backward, is_backward=True,
               no_gradient="MXNet has no second-order gradient of it",
               doc="The gradients of _contrib_hawkesll's inputs."))
