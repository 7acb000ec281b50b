"""Tables and drawings of graphs are MXNet's; with layouts they say what an executor chose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ndarray_rt as mx
from ndarray_rt.errors import MissingPackage, ParameterError, ShapeError, TypeMismatch

from . import golden

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "mxnet_visualization.json").read_text())


@pytest.mark.parametrize("name", list(GOLDEN))
def test_as_in_mxnet(name: str) -> None:
    pytest.importorskip("graphviz")
    assert golden.pictures(mx, name) == GOLDEN[name]


def test_layouts_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    net = golden.graphs(mx)["branches"]
    mx.viz.print_summary(net, golden.SHAPES["branches"], layouts=True)
    lines = {line.split("(")[0]: line for line in capsys.readouterr().out.splitlines()}
    explained = {row.node: row for row in net.simple_bind(
        mx.cpu(), grad_req="null", **golden.SHAPES["branches"]).explain(repeat=1).rows}
    row = explained["first"]
    assert lines["first"].rstrip().endswith(f"{row.kernel}, {row.layout_out}")
    # the sum is done by the activation's step
    assert lines["sum"].rstrip().endswith("fused: leaky")


def test_layouts_in_the_drawing() -> None:
    pytest.importorskip("graphviz")
    source = mx.viz.plot_network(golden.graphs(mx)["branches"], shape=golden.SHAPES["branches"],
                                 dtype={"data": "float32"}, layouts=True).source
    assert "fused: leaky" in source
    assert "4x8x8(float32)" in source


def test_names_twice() -> None:
    pytest.importorskip("graphviz")
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
    net = mx.sym.FullyConnected(net, num_hidden=2, name="fc")
    with pytest.warns(RuntimeWarning, match="multiple variables with the same name.*fc"):
        mx.viz.plot_network(net)


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "graphviz", None)
    with pytest.raises(MissingPackage, match=r"ndarray_rt\[viz\]"):
        mx.viz.plot_network(mx.sym.Variable("x"))


def test_wrong_arguments() -> None:
    x = mx.sym.Variable("x")
    with pytest.raises(TypeMismatch, match="print_summary: symbol is 3"):
        mx.viz.print_summary(3)
    with pytest.raises(ParameterError, match="layouts needs shape"):
        mx.viz.print_summary(x, layouts=True)
    with pytest.raises(ParameterError, match="2 numbers"):
        mx.viz.print_summary(x, positions=(0.5, 1.0))
    with (pytest.raises(ShapeError, match="shapes of all inputs"),
          pytest.warns(UserWarning, match="Cannot decide shape")):
        mx.viz.print_summary(x + mx.sym.Variable("y", shape=(0,)), shape={})
