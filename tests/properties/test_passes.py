"""Random graphs after the passes: the results are those of numpy, node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.op import calibration
from ndarray_rt.op.choose import prefers_channels_last
from ndarray_rt.passes import PASSES, optimize
from ndarray_rt.passes.pipeline import LOWERING
from ndarray_rt.symbol.node import topological
from ndarray_rt.symbol.symbol import Symbol
from ndarray_rt.testing.graph_steps import STEPS
from ndarray_rt.testing.naive import from_numpy_copy
from ndarray_rt.testing.random_graphs import RandomGraph, graphs, random_graph
from ndarray_rt.testing.spelled_steps import SPELLED

from ..examples import examples

# more of what passes change: steps are drawn by their number
ALL = {**STEPS, **SPELLED, **{f"{name} again": step for name, step in SPELLED.items()}}


@pytest.fixture(autouse=True, scope="module")
def _small_images_count() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(calibration, "LEAST_BETWEEN", 0)
        yield


# tests/graph/test_precision.py is about the one that rounds
EXACT = [name for name in PASSES if name != LOWERING]


def optimized(graph: RandomGraph, skip: Any = ()) -> Any:
    contents = {**graph.args, **graph.aux}
    return optimize(graph.symbol.entries, {n: v.shape for n, v in contents.items()},
                    {n: v.dtype for n, v in contents.items()}, skip)


def assert_same(graph: RandomGraph, heads: Any) -> None:
    """Three inference runs (the last is captured) of the graph of `heads` against numpy."""
    net = Symbol(heads)
    contents = {n: from_numpy_copy(v) for n, v in {**graph.args, **graph.aux}.items()}
    with config.override(NDRT_SKIP_PASSES="all"):
        executor = net.bind(mx.cpu(), args={n: contents[n] for n in net.list_arguments()},
                            grad_req="null", aux_states={
                                n: contents[n] for n in net.list_auxiliary_states()})
        for _ in range(3):
            mx.random.seed(graph.seed)
            outputs = [out.asnumpy() for out in executor.forward()]
    exact = graph.naive(np.float64).forward(False, graph.seed)
    rough = graph.naive(jitter=np.random.default_rng(0)).forward(False, graph.seed)
    for got, want, noisy in zip(outputs, exact, rough, strict=True):
        scale = float(np.abs(want).max(initial=0.0))
        error = float(np.abs(noisy - want).max(initial=0.0))
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-4 * scale + 8 * error + 1e-30)


@examples(300)
@given(graph=graphs(max_steps=14, steps=ALL))
def test_optimized_graphs_are_the_naive_run(graph: RandomGraph) -> None:
    done = optimized(graph)
    assert_same(graph, done.heads)
    assert Symbol(done.heads).list_outputs() == graph.symbol.list_outputs()


@pytest.mark.parametrize("name", EXACT)
@examples(60)
@given(graph=graphs(max_steps=14, steps=ALL))
def test_each_pass_alone_is_the_naive_run(name: str, graph: RandomGraph) -> None:
    done = optimized(graph, [other for other in PASSES if other != name])
    assert [stage.name for stage in done.stages] == [name]
    assert_same(graph, done.heads)


@pytest.mark.slow("500 graphs, to see what passes meet")
def test_every_pass_meets_what_it_is_about() -> None:
    """A property over graphs proves nothing when no pass changes them."""
    reached: Counter[str] = Counter()
    for seed in range(500):
        graph = random_graph(seed, 14, ALL)
        done = optimized(graph)
        reached.update(stage.name for stage in done.stages if stage.after != stage.before)
        reached.update({node.op.name for node in topological(done.heads) if node.op is not None})
    wanted = [*EXACT, "_constant", "_fold_batch_norm", "LayerNorm", "_fused_elementwise",
              "_fused_Convolution", "_fused_Deconvolution", "_fused_FullyConnected",
              "_fused_BatchNorm", "_fused_Pooling", "_fused_dot", "_fused_batch_dot"]
    # the graphs are on floats: tests/graph/test_fuse_requantize.py has those on 8-bit numbers
    wanted.remove("fuse_requantize")
    if not prefers_channels_last():
        wanted.remove("fuse_separable_convolutions")
    missing = [name for name in wanted if reached[name] < 3]
    assert not missing, f"hardly ever reached: {missing}; reached {dict(reached)}"
