"""0 and () mean "unknown" to shape inference of symbols: what MXNet 1.9.1 answers, as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt import sym
from ndarray_rt.symbol import Symbol

A, B = sym.var("a"), sym.var("b")
UNKNOWN: Any = (None, None, None)
SYMBOLS: dict[str, Callable[[], Symbol]] = {
    "FullyConnected": lambda: sym.FullyConnected(A, num_hidden=4, name="fc"),
    "broadcast_add": lambda: sym.broadcast_add(A, B),
    "elemwise_add": lambda: sym.elemwise_add(A, B),
    "sum": lambda: sym.sum(A, axis=1),
    "Reshape": lambda: sym.Reshape(A, shape=(-1, 2)),
    "Convolution": lambda: sym.Convolution(A, kernel=(3, 3), num_filter=8, name="c"),
}
# symbol, shapes given, answer of infer_shape, answer of infer_shape_partial
ANSWERS: list[tuple[str, dict[str, tuple[int, ...]], Any, Any]] = [
    ("FullyConnected", {"a": (0, 3)}, UNKNOWN, ([(0, 3), (4, 3), (4,)], [(0, 4)], [])),
    ("FullyConnected", {"a": (2, 3)}, ([(2, 3), (4, 3), (4,)], [(2, 4)], []),
     ([(2, 3), (4, 3), (4,)], [(2, 4)], [])),
    ("broadcast_add", {"a": (0, 3)}, UNKNOWN, ([(0, 3), ()], [()], [])),
    ("broadcast_add", {"a": (), "b": (2, 3)}, UNKNOWN, ([(), (2, 3)], [()], [])),
    ("broadcast_add", {"a": (0, 3), "b": (0, 3)}, UNKNOWN, ([(0, 3), (0, 3)], [(0, 3)], [])),
    ("elemwise_add", {"a": (0, 3), "b": (2, 0)}, ([(2, 3), (2, 3)], [(2, 3)], []),
     ([(2, 3), (2, 3)], [(2, 3)], [])),
    ("elemwise_add", {"a": (0, 3)}, UNKNOWN, ([(0, 3), (0, 3)], [(0, 3)], [])),
    ("elemwise_add", {"a": (), "b": (2, 3)}, ([(2, 3), (2, 3)], [(2, 3)], []),
     ([(2, 3), (2, 3)], [(2, 3)], [])),
    ("elemwise_add", {"a": (0, 3), "b": (4, 3)}, ([(4, 3), (4, 3)], [(4, 3)], []),
     ([(4, 3), (4, 3)], [(4, 3)], [])),
    ("sum", {"a": (0, 3)}, UNKNOWN, ([(0, 3)], [(0,)], [])),
    ("sum", {"a": (2, 0)}, UNKNOWN, ([(2, 0)], [(2,)], [])),
    ("sum", {"a": ()}, UNKNOWN, ([()], [()], [])),
    ("Reshape", {"a": (0, 3)}, UNKNOWN, ([(0, 3)], [(0, 2)], [])),
    ("Reshape", {"a": (4, 0)}, UNKNOWN, ([(4, 0)], [(0, 2)], [])),
    ("Reshape", {"a": ()}, UNKNOWN, ([()], [()], [])),
    ("Convolution", {"a": (0, 3, 5, 5)}, UNKNOWN,
     ([(0, 3, 5, 5), (8, 3, 3, 3), (8,)], [(0, 8, 3, 3)], [])),
    ("Convolution", {"a": (2, 0, 5, 5)}, UNKNOWN,
     ([(2, 0, 5, 5), (8, 0, 3, 3), (8,)], [(2, 8, 3, 3)], [])),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "given", "full", "partial"), ANSWERS)
def test_as_mxnet(name: str, given: dict[str, tuple[int, ...]], full: Any, partial: Any) -> None:
    made = SYMBOLS[name]()
    assert made.infer_shape(**given) == full
    assert made.infer_shape_partial(**given) == partial


def test_a_convolution_without_stride_tells_its_data_from_its_output() -> None:
    data = mx.sym.Variable("a", shape=(0, 10, 0, 0))
    made = mx.sym.Convolution(data, num_filter=21, kernel=(3, 3), pad=(1, 1), name="c")
    other = mx.sym.Variable("other", shape=(5, 21, 32, 30))
    net = made + other
    shapes = dict(zip(net.list_arguments(), net.infer_shape()[0], strict=True))
    assert shapes["a"] == (5, 10, 32, 30)
