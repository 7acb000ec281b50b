"""Origins: what the passes did to each node, found without their help."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.executor.explain.flops import flops
from ndarray_rt.op.registry import REGISTRY, find

from .test_explain import bind

DATA = mx.sym.Variable("data")


def origins(net: Any, **shapes: tuple[int, ...]) -> dict[str, tuple[str, str]]:
    return dict(bind(net, **shapes).explain(repeat=1).origins)


def relu(x: Any, name: str) -> Any:
    return mx.sym.Activation(x, act_type="relu", name=name)


def dense(x: Any, name: str, units: int = 6) -> Any:
    return mx.sym.FullyConnected(x, num_hidden=units, name=name)


def test_dropped() -> None:
    net = dense(mx.sym.Dropout(mx.sym.BlockGrad(dense(DATA, "f1"), name="block"), name="drop"),
                "f2")
    assert origins(net, data=(2, 3)) == {
        "f1": ("kept", "f1"), "block": ("dropped", "f1"), "drop": ("dropped", "f1"),
        "f2": ("kept", "f2")}


def test_merged() -> None:
    net = mx.sym.concat(mx.sym.sin(DATA, name="s1"), mx.sym.sin(DATA, name="s2"), dim=1, name="c")
    assert origins(net, data=(2, 3)) == {
        "s1": ("kept", "s1"), "s2": ("merged", "s1"), "c": ("kept", "c")}


def test_fused_with_a_sum() -> None:
    first = dense(DATA, "f1")
    net = relu(mx.sym.elemwise_add(first, dense(first, "f2"), name="plus"), "r")
    assert origins(net, data=(2, 6)) == {
        "f1": ("kept", "f1"), "f2": ("fused", "r"), "plus": ("fused", "r"), "r": ("kept", "r")}


def test_what_was_merged_follows_what_it_was_merged_with() -> None:
    """Two equal layers: the first stays, and a later pass gives it another name."""
    weight, bias = mx.sym.Variable("w"), mx.sym.Variable("v")
    a = mx.sym.FullyConnected(DATA, weight, bias, num_hidden=6, name="f1")
    b = mx.sym.FullyConnected(DATA, weight, bias, num_hidden=6, name="f2")
    net = mx.sym.concat(relu(a, "r1"), relu(b, "r2"), dim=1, name="c")
    found = origins(net, data=(2, 3))
    assert found["f2"][0] == found["r2"][0] == "merged"
    assert found["f1"] == ("fused", "r1")
    assert found["f2"][1] == found["r2"][1] == "r1"


def test_two_transposes() -> None:
    net = mx.sym.sin(mx.sym.transpose(mx.sym.transpose(DATA, axes=(1, 0), name="t1"),
                                      axes=(1, 0), name="t2"), name="s")
    found = origins(net, data=(2, 3))
    assert found["s"] == ("kept", "s")
    assert {found["t1"][0], found["t2"][0]} == {"dropped"}


# ---- arithmetic ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("op", "params", "ins", "outs", "wanted"), [
    ("Convolution", {"kernel": (3, 3), "num_filter": 8, "num_group": 2},
     [(2, 4, 9, 9), (8, 2, 3, 3)], [(2, 8, 7, 7)], 2 * 2 * 8 * 49 * 2 * 9),
    ("Deconvolution", {"kernel": (2, 2), "num_filter": 5, "stride": (2, 2)},
     [(1, 4, 3, 3), (4, 5, 2, 2)], [(1, 5, 6, 6)], 2 * 4 * 9 * 5 * 4),
    ("FullyConnected", {"num_hidden": 7}, [(2, 3, 4), (7, 12)], [(2, 7)], 2 * 2 * 7 * 12),
    ("dot", {}, [(2, 3), (3, 4)], [(2, 4)], 2 * 2 * 4 * 3),
    ("dot", {"transpose_a": True}, [(3, 2), (3, 4)], [(2, 4)], 2 * 2 * 4 * 3),
    ("batch_dot", {}, [(5, 2, 3), (5, 3, 4)], [(5, 2, 4)], 2 * 5 * 2 * 4 * 3),
    ("batch_dot", {"transpose_a": True}, [(5, 3, 2), (5, 3, 4)], [(5, 2, 4)], 2 * 5 * 2 * 4 * 3),
    ("Activation", {"act_type": "relu"}, [(2, 3)], [(2, 3)], 0),
])
def test_flops(op: str, params: dict[str, Any], ins: Any, outs: Any, wanted: int) -> None:
    def counted(name: str, ins: Any, outs: Any, requested: list[bool]) -> int:
        return flops(find(name), find(name).params.parse(params, name), ins, outs, requested)

    assert counted(op, ins, outs, [True] * len(outs)) == wanted
    if f"_fused_{op}" in REGISTRY:
        assert counted(f"_fused_{op}", ins, outs, [True]) == wanted
    if f"_backward_{op}" in REGISTRY:
        backward = [outs[0], *ins]
        assert counted(f"_backward_{op}", backward, ins, [True, True]) == 2 * wanted
        assert counted(f"_backward_{op}", backward, ins, [False, True]) == wanted


def test_flops_of_resnet50_are_the_known_ones() -> None:
    net = mx.model_zoo.symbols.get_symbol("resnet50_v1")
    internals = net.get_internals()
    _, shapes, _ = internals.infer_shape(data=(1, 3, 224, 224))
    known: dict[str, Any] = dict(zip(internals.list_outputs(), shapes, strict=True))
    total = 0
    for entry in internals.entries:
        node = entry.node
        if node.op is not None and node.params is not None:
            ins = [known.get(e.node.name) or known[f"{e.node.name}_output"] for e in node.inputs]
            total += flops(node.op, node.params, ins, [known[f"{node.name}_output"]], [True])
    assert np.isclose(total, 7.72e9, rtol=0.01)
