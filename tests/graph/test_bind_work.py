"""What binding and the first runs cost grows with the number of nodes, not with its square.

Calls of functions are counted, those of C too: unlike times they are the same on any machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import ndarray_rt as mx

SHAPE = (2, 16)
SMALL = 30


def chain(n: int) -> mx.sym.Symbol:
    x = mx.sym.Variable("data")
    for i in range(n):
        x = mx.sym.softmax(x) if i % 2 else x * 1.01
    return x


def layers(n: int) -> mx.sym.Symbol:
    x = mx.sym.Variable("data")
    for i in range(n):
        x = mx.sym.FullyConnected(x, num_hidden=16, name=f"fc{i}")
    return x


def fan_out(n: int) -> mx.sym.Symbol:
    """Many read one value, and its gradient is a sum of many."""
    x = mx.sym.relu(mx.sym.Variable("data"))
    return mx.sym.add_n(*(mx.sym.softmax(x, temperature=1 + i) for i in range(n)))


def kept(n: int) -> mx.sym.Symbol:
    """All values live to the end."""
    x, parts = mx.sym.Variable("data"), []
    for _ in range(n):
        x = mx.sym.softmax(x)
        parts.append(x)
    return mx.sym.add_n(*parts)


def nested(n: int) -> mx.sym.Symbol:
    """The first value is read last, the second one before that, and so on."""
    x, parts = mx.sym.Variable("data"), []
    for _ in range(n // 2):
        x = mx.sym.softmax(x)
        parts.append(x)
    while parts:
        x = mx.sym.softmax(x) + parts.pop()
    return x


def parts(n: int) -> mx.sym.Symbol:
    x = mx.sym.Variable("data")
    for _ in range(n // 2):
        halves = mx.sym.SliceChannel(x, num_outputs=2, axis=1)
        x = mx.sym.Concat(halves[1], halves[0], dim=1)
    return x


def concatenations(n: int) -> mx.sym.Symbol:
    """Each node joins all before it: as many edges as the square of the nodes."""
    found = [mx.sym.Variable("data")]
    for _ in range(int((2 * n) ** 0.5)):
        joined = mx.sym.Concat(*found, dim=1) if len(found) > 1 else found[0]
        found.append(mx.sym.sum(joined, axis=1, keepdims=True))
    return mx.sym.Concat(*found, dim=1)


def outputs(n: int) -> mx.sym.Symbol:
    x, parts = mx.sym.Variable("data"), []
    for _ in range(n):
        x = mx.sym.softmax(x)
        parts.append(x)
    return mx.sym.Group(parts)


def count_calls(run: Callable[[], object]) -> int:
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


def bind(symbol: mx.sym.Symbol, is_train: bool) -> None:
    loaded = mx.sym.load_json(symbol.tojson())
    executor = loaded.simple_bind(mx.cpu(), grad_req="write" if is_train else "null", data=SHAPE)
    for _ in range(3):
        executor.forward(is_train=is_train)
        if is_train:
            executor.backward([mx.nd.ones(out.shape) for out in executor.outputs])


def call(symbol: mx.sym.Symbol, is_train: bool) -> None:
    shapes, _, _ = symbol.infer_shape(data=SHAPE)
    inputs = [mx.nd.ones(shape) for shape in shapes]
    op = mx.nd.CachedOp(symbol)
    for x in inputs:
        x.attach_grad()
    for _ in range(3):
        if is_train:
            with mx.autograd.record():
                made = op(*inputs)
            mx.autograd.backward(made)
        else:
            op(*inputs)


@pytest.mark.parametrize("is_train", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("use", [bind, call])
@pytest.mark.parametrize("graph", [chain, layers, fan_out, kept, nested, parts, concatenations,
                                   outputs])
def test_calls_grow_with_the_graph(graph: Callable[[int], mx.sym.Symbol],
                                   use: Callable[[mx.sym.Symbol, bool], None],
                                   is_train: bool) -> None:
    use(graph(SMALL), is_train)  # what happens once for a process
    small, large = (count_calls(lambda n=n: use(graph(n), is_train))  # type: ignore[misc]
                    for n in (SMALL, 8 * SMALL))
    assert large <= 9 * small, f"{small} -> {large} calls for 8 times the graph"


def test_a_graph_deeper_than_the_stack_of_python() -> None:
    executor = chain(4 * sys.getrecursionlimit()).simple_bind(mx.cpu(), data=SHAPE)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(SHAPE))
    assert executor.forward()[0].shape == SHAPE
