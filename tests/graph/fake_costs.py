"""A small network, and costs of its layers in place of measuring them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.executor.explain.measure import Call, Measured, Part
from ndarray_rt.executor.layout.choose import LAYOUTS
from ndarray_rt.executor.program.plan import Step
from ndarray_rt.executor.tuning import search as tuning_runs
from ndarray_rt.op.choose import prefers_channels_last
from ndarray_rt.op.context import OpContext

needs_a_choice = pytest.mark.skipif(not prefers_channels_last(), reason="one variant is best here")
FILTERS = (20, 24, 16, 8)
TOLD: Any = None  # what a call was told does not matter here


def network() -> mx.sym.Symbol:
    """Layers that the passes fuse, a side branch, and what follows convolutions in their layout."""
    y = mx.sym.Variable("data")
    for i, filters in enumerate(FILTERS):
        y = mx.sym.Convolution(y, kernel=(3, 3), num_filter=filters, pad=(1, 1), name=f"c{i}",
                               no_bias=i % 2 == 1)
        if i == 1:
            y = mx.sym.BatchNorm(y, fix_gamma=False, eps=1e-3, name="bn")
            y = mx.sym.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
            kept = y
        elif i < 3:
            y = mx.sym.Activation(y, act_type="relu", name=f"r{i}")
    y = mx.sym.Concat(y, kept, name="both")
    return mx.sym.FullyConnected(y, num_hidden=5, name="fc")


def filled(executor: mx.executor.Executor) -> mx.executor.Executor:
    rng = np.random.default_rng(3)
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        array[:] = rng.uniform(0.5, 1.5, array.shape) if name.endswith(
            ("gamma", "var")) else rng.uniform(-1, 1, array.shape)
    return executor


def bound(grad_req: str = "null", batch: int = 2, **more: Any) -> mx.executor.Executor:
    return filled(network().simple_bind(mx.cpu(), grad_req=grad_req, data=(batch, 3, 8, 8), **more))


def naive(executor: mx.executor.Executor) -> np.ndarray[Any, Any]:
    with config.override(NDRT_ONEDNN=False):
        made = executor.symbol.bind(mx.cpu(), executor.arg_dict, grad_req="null",
                                    aux_states=executor.aux_dict)
        return made.forward()[0].asnumpy()


def check(executor: mx.executor.Executor) -> None:
    want = naive(executor)
    for _ in range(3):
        np.testing.assert_allclose(executor.forward()[0].asnumpy(), want, rtol=1e-4,
                                   atol=1e-4 * np.abs(want).max())
    assert executor.capture_state == "captured", executor.capture_state


def values(executor: mx.executor.Executor) -> dict[str, np.ndarray[Any, Any]]:
    return {name: array.asnumpy().copy()
            for name, array in {**executor.arg_dict, **executor.aux_dict}.items()}


def variants(executor: mx.executor.Executor) -> tuple[str, ...]:
    return tuple(layouts_of(executor.inference_plan.steps))


def layouts_of(steps: Iterable[Step]) -> list[str]:
    return [step.variant for step in steps if step.variant in LAYOUTS]


class Fake:
    """Costs of layers (channels-last, blocked) by name, in place of measuring."""

    def __init__(self, costs: Mapping[str, tuple[float, float]],
                 monkeypatch: pytest.MonkeyPatch) -> None:
        self.costs = costs
        self.runs = 0
        monkeypatch.setattr(tuning_runs, "measure", self.measure)
        monkeypatch.setattr(tuning_runs, "measure_reorders", lambda: ((1e-9, 1.0), (1e9, 1.0)))

    def measure(self, parts: Sequence[Part], ctx: OpContext, repeat: int,
                **how: Any) -> list[Measured]:
        self.runs += 1
        return [self._part(part) for part in parts]

    def _part(self, part: Part) -> Measured:
        part.run()  # all of it works, too
        labels = layouts_of(part.planned)
        return Measured([Call(planned, step, TOLD, 0, 0, (), self._time(planned.node, labels))
                         for planned, step in zip(part.planned, part.steps, strict=True)],
                        self.total(labels), 0.0, "")

    def _time(self, node: Any, labels: Sequence[str]) -> float:
        """The layers of different filters are c0 to c3; pooling has the layout of c1."""
        if "Convolution" in node.op.name:
            at = FILTERS.index(node.params.num_filter)
            return self.costs[f"c{at}"][LAYOUTS.index(labels[at])]
        if node.name == "pool":
            return self.costs.get("pool", (0, 0))[LAYOUTS.index(labels[1])]
        return 0.0

    def total(self, labels: Sequence[str]) -> float:
        """c0 - c1 - pool - c2 - c3 - both, and from pool to both; a reorder costs 1."""
        names = ["c0", "c1", "c2", "c3", "pool"]
        own = sum(self.costs.get(name, (0, 0))[LAYOUTS.index(label)]
                  for name, label in zip(names, [*labels, labels[1]], strict=True))
        return own + sum(labels[a] != labels[b] for a, b in [(0, 1), (1, 2), (2, 3), (1, 3)])

    def best(self) -> Any:
        # a mixed plan is to be better by a percent
        least = min(map(self.total, itertools.product(LAYOUTS, repeat=len(FILTERS))))
        return pytest.approx(least, rel=0.0102)


def fake(monkeypatch: pytest.MonkeyPatch, seed: int = 0) -> Fake:
    rng = np.random.default_rng(seed)
    return Fake({name: tuple(rng.uniform(0.1, 8, 2)) for name in ("c0", "c1", "pool", "c2", "c3")},
                monkeypatch)
