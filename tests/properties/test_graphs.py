"""Random whole graphs: however they are executed, the result is that of numpy, node by node."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

import ndarray_rt as mx
from ndarray_rt.op.registry import find
from ndarray_rt.symbol.node import topological
from ndarray_rt.testing.random_graphs import RandomGraph, graphs, random_graph

from ..examples import examples
from .graph_life import REACHED, VARIANTS, WAYS, Ill, Life, variant
from .graph_machine import GraphMachine
from .imperative_graph import ImperativeGraph

EXAMPLES = examples(150)
LIVES = examples(300)
# figures that graphs must be built of, and what must happen to them
FIGURES = ("grouped", "strided", "residual", "same input twice", "shared weight", "chain",
           "several heads", "input as output")
EVENTS = ("captured", "in place", "special", "padded", "view", "view_special", "reshaped", "reused",
          "pinned", "grouped", "backward", "monitored", "tiles", "several executors",
          "reshaped executor", "reshaped to a view", *(f"write by {way}" for way in WAYS))


def lived(graph: RandomGraph, rng: random.Random, steps: int = 8) -> None:
    """A bound graph through runs of all kinds, writes and other bindings."""
    kinds = None if rng.random() < 0.4 else lambda name, options: rng.choice(options)
    way = rng.choice(sorted(VARIANTS))
    with variant(way):
        life = Life(graph, kinds)
        try:
            for _ in range(4):  # plainly, recorded, replayed twice
                life.step(False)
            for turn in range(steps):
                act = rng.choice(("infer", "train", "write", "write", "watch", "reshape", "bind"))
                if act in ("infer", "train"):
                    life.step(act == "train", rng.choice(life.executors))
                elif act == "write":
                    name = rng.choice(sorted(life.graph.args))
                    life.write(name, rng.choice(WAYS), turn)
                    life.step(False)
                elif act == "watch":
                    life.watched_step(rng.random() < 0.5)
                elif act == "reshape":
                    life.reshape(rng.randint(1, 4))
                else:
                    life.bind()
            life.step(True)
        except Ill:
            REACHED["ended ill"] += 1
        finally:
            life.close()


@pytest.mark.parametrize("way", sorted(VARIANTS))
@examples(40)
@given(graph=graphs())
def test_execution_is_naive_execution(way: str, graph: RandomGraph) -> None:
    """Outputs, gradients and aux states of the first training run."""
    with variant(way):
        graph.assert_agrees(graph.run(graph.bind()))


@LIVES
@given(graph=graphs(), seed=st.integers(0, 10**6))
def test_a_graph_lives_as_its_model(graph: RandomGraph, seed: int) -> None:
    """Captured and plain runs, training, writes by all ways, views and layouts, reshapes."""
    lived(graph, random.Random(seed))


@EXAMPLES
@given(graph=graphs())
def test_autograd_agrees(graph: RandomGraph) -> None:
    """One recorded call a node gives what the executor gives."""
    graph.assert_agrees(ImperativeGraph(graph).run())


# their gradient is none of the slope
FORMULAS = {"BlockGrad", "MakeLoss", "make_loss", "SoftmaxOutput", "LinearRegressionOutput",
            "LogisticRegressionOutput", "MAERegressionOutput"}


@EXAMPLES
@given(graph=graphs())
def test_gradients_are_slopes(graph: RandomGraph) -> None:
    """Along a random direction, in float64: sums over paths and shared weights are complete."""
    nodes = topological(graph.symbol.entries)
    assume(not FORMULAS & {node.op.name for node in nodes if node.op is not None})
    names = [name for name in graph.args if not name.startswith("label")]
    naive = replace(graph, requests=dict.fromkeys(names, "write")).naive(np.float64)
    heads = [g.astype(np.float64) for g in graph.head_grads]
    naive.forward(True, graph.seed)
    naive.backward(heads)
    rng = np.random.default_rng(graph.seed)
    ways = {name: rng.uniform(-1, 1, naive.args[name].shape) for name in names}
    terms = np.concatenate([(naive.grads[n] * ways[n]).ravel() for n in names])
    points = {name: naive.args[name].copy() for name in names}

    def value(step: float) -> float:
        naive.args.update({n: points[n] + step * ways[n] for n in names})
        outputs = naive.forward(True, graph.seed)
        return sum(float((y * g).sum()) for y, g in zip(outputs, heads, strict=True))

    # the smaller step where the larger one crosses a kink
    slopes = [(value(step) - value(-step)) / (2 * step) for step in (1e-5, 1e-7)]
    size = float(np.abs(terms).sum()) + float(sum(np.abs(g).sum() for g in heads))
    error = min(abs(slope - float(terms.sum())) for slope in slopes)
    assert error <= 1e-5 * size, f"gradients give {terms.sum()}, slopes are {slopes}"


@EXAMPLES
@given(graph=graphs())
def test_json_keeps_the_graph(graph: RandomGraph) -> None:
    """The graph read from its own JSON has the same names and the same results."""
    symbol = mx.sym.load_json(graph.symbol.tojson())
    assert symbol.list_arguments() == graph.symbol.list_arguments()
    assert symbol.list_auxiliary_states() == graph.symbol.list_auxiliary_states()
    assert symbol.list_outputs() == graph.symbol.list_outputs()
    graph.assert_agrees(graph.run(graph.bind(symbol=symbol)))


@pytest.mark.slow("300 sequences of rules, to see what they meet")
def test_the_machine() -> None:
    """One executor, and others on its arrays, under random rules."""
    REACHED.clear()
    run_state_machine_as_test(GraphMachine, settings=settings(
        max_examples=300, stateful_step_count=20, derandomize=True, deadline=None, database=None))
    for event in ("captured", "backward", "second backward", "second backward refused",
                  "other layout", "other threads", "dropped", "monitored",
                  "reshaped executor", "several executors"):
        assert REACHED[event] > 0, f"never reached: {event}; reached {dict(REACHED)}"


@pytest.mark.slow("300 lives of graphs, to see what they meet")
def test_everything_is_reached() -> None:
    """A property over graphs proves nothing when it never meets what it is about."""
    REACHED.clear()
    features: Counter[str] = Counter()
    unsafe = 0
    for seed in range(300):
        graph = random_graph(seed)
        if graph.unsafe_kink is not None:
            unsafe += 1
            continue
        nodes = topological(graph.symbol.entries)
        features.update({node.op.name for node in nodes if node.op is not None})
        features.update(name for name in FIGURES if graph.features[name])
        lived(graph, random.Random(seed), steps=5)
    assert unsafe < 15, f"{unsafe} of 300 graphs were left out"
    assert REACHED["ended ill"] < 30
    missing = [name for name in FIGURES if not features[name]]
    missing += [event for event in EVENTS if not REACHED[event]]
    assert not missing, f"never reached: {missing}; reached {dict(REACHED)}"
    operators = [name for name in features if name not in FIGURES]
    assert len(operators) >= 55, sorted(operators)
    hidden = [name for name in operators if find(name).visible_outputs is not None]
    assert len(hidden) >= 2, f"with hidden outputs only {hidden}"
    assert any(find(name).aux for name in operators)


def test_one_seed_is_one_graph() -> None:
    first, second = random_graph(11), random_graph(11)
    assert first.symbol.tojson() == second.symbol.tojson()
    assert all((first.args[n] == second.args[n]).all() for n in first.args)


def test_a_wrong_result_is_seen() -> None:
    """The comparison fails on an error of a thousandth of the greatest element."""
    graph = random_graph(3)
    got = graph.run(graph.bind())
    graph.assert_agrees(got)
    worst = abs(got.outputs[0]).max()
    got.outputs[0].flat[0] += 1e-3 * worst
    with pytest.raises(AssertionError, match="output 0: 1 of"):
        graph.assert_agrees(got)
