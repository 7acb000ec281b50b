"""Rules are asked once for one answer; nodes spell their parameters when somebody asks."""

from __future__ import annotations

from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt.dtypes import FLOAT32
from ndarray_rt.errors import MXNetError
from ndarray_rt.op.infer import run_infer_shape
from ndarray_rt.passes import optimize
from ndarray_rt.passes.rewrite import make
from ndarray_rt.symbol import infer
from ndarray_rt.symbol.infer import Answers, infer_graph_shapes, infer_graph_types
from ndarray_rt.symbol.node import topological


def network() -> mx.sym.Symbol:
    net = mx.sym.var("data")
    for i in range(3):
        net = mx.sym.Convolution(net, num_filter=4, kernel=(3, 3), pad=(1, 1), name=f"conv{i}")
        net = mx.sym.Activation(mx.sym.BatchNorm(net, name=f"norm{i}"), act_type="relu")
    return mx.sym.FullyConnected(net, num_hidden=5, name="fc")


def facts(net: mx.sym.Symbol) -> dict[str, tuple[int, ...]]:
    args, _, aux = net.infer_shape(data=(2, 3, 8, 8))
    return dict(zip(net.list_arguments(), args, strict=True)) | dict(
        zip(net.list_auxiliary_states(), aux, strict=True))


def test_answers_are_those_of_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    net = network()
    shapes, answers = facts(net), Answers()
    asked: list[Any] = []

    def rule(op: Any, *rest: Any) -> Any:
        asked.append(op)
        return run_infer_shape(op, *rest)
    monkeypatch.setattr(infer, "run_infer_shape", rule)
    expected = infer_graph_shapes(net.entries, shapes)
    alone = len(asked)
    for _ in range(2):
        assert infer_graph_shapes(net.entries, shapes, answers) == expected
    assert len(asked) == 2 * alone
    # other shapes are other questions
    wider = {**shapes, "data": (5, 3, 8, 8)}
    assert infer_graph_shapes(net.entries, wider, answers) == infer_graph_shapes(
        net.entries, wider)
    types = dict.fromkeys(shapes, FLOAT32)
    assert infer_graph_types(net.entries, types, answers=answers) == infer_graph_types(
        net.entries, types)


def test_what_does_not_fit_is_found_with_answers() -> None:
    net = network()
    shapes, answers = facts(net), Answers()
    infer_graph_shapes(net.entries, shapes, answers)
    with pytest.raises(MXNetError, match="conv1"):
        infer_graph_shapes(net.entries, {**shapes, "conv1_weight": (4, 9, 3, 3)}, answers)


def test_equal_operators_with_other_parameters_are_told_apart() -> None:
    x = mx.sym.var("x")
    answers = Answers()
    for size, expected in ((2, (1, 3, 4, 4)), (4, (1, 3, 2, 2))):
        net = mx.sym.Pooling(x, kernel=(size, size), stride=(size, size))
        found = infer_graph_shapes(net.entries, {"x": (1, 3, 8, 8)}, answers)
        assert found[net.entries[0]] == expected


def test_nodes_of_passes_have_the_strings_of_their_parameters() -> None:
    net = network()
    shapes = facts(net)
    heads = optimize(net.entries, shapes, dict.fromkeys(shapes, FLOAT32)).heads
    made = [node for node in topological(heads) if node.op is not None and node.op.is_fused]
    assert made
    for node in made:
        assert node.op is not None
        assert node.params is not None
        assert node.attrs == node.params.to_attrs()
        again = make(node.op.name, node.params, node.inputs, "again").over(node.inputs)
        assert again.attrs == node.attrs
        assert not again.is_in_numpy
