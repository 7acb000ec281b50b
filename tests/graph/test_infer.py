"""Inference over graphs: forwards, backwards, defaults, errors, backward nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt.symbol.infer as graph_infer
from ndarray_rt import sym
from ndarray_rt.errors import MXNetError, ParameterError, ShapeError, TypeMismatch
from ndarray_rt.op.infer import run_infer_shape
from ndarray_rt.symbol import Symbol
from ndarray_rt.symbol.gradient import gradient_graph
from ndarray_rt.symbol.infer import infer_graph_shapes, infer_graph_types
from ndarray_rt.symbol.node import Entry, Node

from . import golden

F32, F64, I32 = np.dtype("float32"), np.dtype("float64"), np.dtype("int32")


def conv(data: Symbol, filters: int = 4, name: str = "c") -> Symbol:
    made: Symbol = sym.Convolution(data, kernel=(3, 3), num_filter=filters, name=name)
    return made


def relu(data: Symbol, name: str = "r") -> Symbol:
    made: Symbol = sym.Activation(data, act_type="relu", name=name)
    return made


@pytest.mark.parametrize("which", golden.NAMES)
def test_as_mxnet(which: str) -> None:
    made, wanted = golden.build(which), golden.answers(which)
    known = {name: tuple(shape) for name, shape in wanted["known"].items()}

    def lists(result: object) -> object:
        return [[list(shape) for shape in part] for part in result]  # type: ignore[attr-defined]
    assert lists(made.infer_shape(**known)) == wanted["shapes"]
    assert lists(made.get_internals().infer_shape(**known)) == wanted["internal_shapes"]
    types: Any = made.infer_type(**dict.fromkeys(known, "float32"))
    assert [[np.dtype(t).name for t in part] for part in types] == wanted["types"]


def test_forward_and_by_position() -> None:
    net = conv(sym.var("x"))
    wanted: Any = ([(2, 3, 8, 8), (4, 3, 3, 3), (4,)], [(2, 4, 6, 6)], [])
    assert net.infer_shape(x=(2, 3, 8, 8)) == wanted
    assert net.infer_shape((2, 3, 8, 8)) == wanted
    assert net.infer_shape((2, 3, 8, 8), None, (4,)) == wanted
    assert net.infer_shape(x=(2, 0, 8, 8), c_weight=(4, 3, 3, 3)) == wanted


def test_backward() -> None:
    x, y = sym.var("x"), sym.var("y")
    both = sym.elemwise_add(relu(x, "a"), relu(y, "b"))
    assert both.infer_shape(x=(2, 3))[0] == [(2, 3), (2, 3)]
    assert both.infer_shape(x=(2, 0), y=(0, 3))[1] == [(2, 3)]
    # from the end of a chain to its beginning, through many nodes
    net = x
    for i in range(20):
        net = relu(net, f"r{i}")
    assert sym.elemwise_add(net, y).infer_shape(y=(7,))[0] == [(7,), (7,)]


def test_too_little_is_a_warning() -> None:
    net = conv(sym.var("x"))
    with pytest.warns(UserWarning, match=r"(?s)Cannot decide shape.*x: \(\)"):
        assert net.infer_shape() == (None, None, None)
    with pytest.warns(UserWarning, match=r"x: \(0, 3, 8, 8\)"):
        assert net.infer_shape(x=(0, 3, 8, 8)) == (None, None, None)
    assert net.infer_shape_partial(x=(0, 3, 8, 8)) == (
        [(0, 3, 8, 8), (4, 3, 3, 3), (4,)], [(0, 4, 6, 6)], [])
    alone = sym.var("x")
    assert alone.infer_shape_partial() == ([()], [()], [])
    with pytest.warns(UserWarning, match="x: None"):
        assert alone.infer_type() == (None, None, None)
    assert alone.infer_type_partial() == ([None], [None], [])


def test_long_lists_of_unknowns_are_cut() -> None:
    group = sym.Group([sym.var(f"v{i}") for i in range(30)])
    with pytest.warns(UserWarning, match="v9: .*\n.*\\.\\.\\.$"):
        group.infer_shape()


def test_errors_name_everything() -> None:
    net = conv(relu(conv(sym.var("x"), 4, "first")), 8, "second")
    with pytest.raises(ShapeError) as caught:
        net.infer_shape(x=(2, 3, 8, 8), second_weight=(8, 5, 3, 3))
    text = str(caught.value)
    assert 'Convolution "second": weight has shape (8, 5, 3, 3), expected (8, 4, 3, 3)' in text
    assert 'data: r_output has shape (2, 4, 6, 6), from Activation "r"' in text
    assert "weight: second_weight has shape (8, 5, 3, 3), from what was given" in text


def test_a_value_used_twice_must_agree() -> None:
    x = sym.var("x")
    narrow, wide = conv(x, 4, "a"), sym.Convolution(x, kernel=(3,), num_filter=4, name="b")
    with pytest.raises(ShapeError, match='"b"'):
        sym.Group([narrow, wide]).infer_shape(x=(1, 1, 8, 8))
    assert isinstance(ShapeError(""), (MXNetError, ValueError))


def test_bad_calls() -> None:
    net = conv(sym.var("x"))
    with pytest.raises(MXNetError, match="there is no argument 'nope'; there are x, c_weight"):
        net.infer_shape(nope=(1, 2))
    with pytest.raises(ValueError, match="position or by name"):
        net.infer_shape((1, 2), c_weight=(3,))
    with pytest.raises(TypeError, match="shapes are tuples"):
        net.infer_shape(x=[1, 2])
    with pytest.raises(TypeError, match="shapes are tuples"):
        net.infer_shape(x=(1.5, 2))
    with pytest.raises(MXNetError, match="4 shapes for 3"):
        net.infer_shape((1,), (1,), (1,), (1,))
    with pytest.raises(TypeError):
        net.infer_type(x="complex64")
    with pytest.raises(MXNetError, match="nope"):
        net.infer_type(nope="float32")


def test_shape_attributes() -> None:
    x = sym.var("x", shape=(2, 0))
    assert x.infer_shape_partial()[0] == [(2, 0)]
    both = sym.elemwise_add(x, sym.var("y"))
    assert both.infer_shape(y=(0, 5))[0] == [(2, 5), (2, 5)]
    # what is given in full wins over the attribute
    full = sym.elemwise_add(sym.var("q", shape=(2, 5)), sym.var("y"))
    assert full.infer_shape(q=(4, 3))[0] == [(4, 3), (4, 3)]
    assert full.infer_shape(q=(0, 5))[0] == [(2, 5), (2, 5)]
    assert full.infer_shape(q=(0, 7))[0] == [(2, 5), (2, 5)]
    assert sym.var("s", shape=3).infer_shape()[0] == [(3,)]
    with pytest.raises(ParameterError, match="__shape__"):
        sym.var("b", attr={"__shape__": "wide"}).infer_shape()


def test_zero_is_a_real_dimension_inside() -> None:
    net = relu(sym.var("x"))
    table = infer_graph_shapes(net.entries, {"x": (0, 3)})
    assert table[net.entries[0]] == (0, 3)
    assert infer_graph_shapes(net.entries, {"x": (-1, 3)})[net.entries[0]] == (-1, 3)
    assert infer_graph_shapes(net.entries, {})[net.entries[0]] is None


def test_a_rule_that_says_all_at_once_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def counted(op: Any, params: Any, ins: Any, outs: Any, node: str | None = None) -> Any:
        asked.append(node)
        return run_infer_shape(op, params, ins, outs, node)
    monkeypatch.setattr(graph_infer, "run_infer_shape", counted)
    net = relu(conv(relu(sym.var("x"), "first")))
    assert net.infer_shape(x=(2, 3, 8, 8))[0] == [(2, 3, 8, 8), (4, 3, 3, 3), (4,)]
    assert asked == ["first", "c", "r"]


def test_what_one_rule_says_is_held_against_another() -> None:
    """A weight that the first layer has told is wrong for the second one."""
    x, w = sym.var("x"), sym.var("w")
    first = sym.Convolution(x, w, kernel=(3, 3), num_filter=4, no_bias=True, name="first")
    second = sym.Convolution(first, w, kernel=(3, 3), num_filter=4, no_bias=True, name="second")
    assert second.infer_shape(x=(2, 4, 9, 9))[1] == [(2, 4, 5, 5)]
    with pytest.raises(ShapeError, match=r"second.*weight has shape"):
        second.infer_shape(x=(2, 3, 9, 9))


def test_types() -> None:
    x, y = sym.var("x"), sym.var("y")
    both = sym.elemwise_add(x, y)
    assert both.infer_type(x="int32") == ([np.int32, np.int32], [np.int32], [])
    assert both.infer_type("float16") == ([np.float16, np.float16], [np.float16], [])
    with pytest.raises(TypeMismatch, match=r'elemwise_add ".*dtypes disagree') as caught:
        both.infer_type(x="int32", y="float32")
    assert "from what was given" in str(caught.value)
    noted = sym.elemwise_add(sym.var("q", dtype="float64"), y)
    assert noted.infer_type()[0] == [np.float64, np.float64]
    assert sym.var("q", dtype="float64").infer_type(q="int32")[0] == [np.int32]
    with pytest.raises(ParameterError, match="__dtype__"):
        sym.var("b", attr={"__dtype__": "99"}).infer_type()


def test_default_types() -> None:
    x, y, z = sym.var("x"), sym.var("y", dtype="float64"), sym.var("z")
    pair = sym.Group([relu(x), sym.elemwise_add(y, z)])
    table = infer_graph_types(pair.entries, {})
    assert [table[e] for e in pair.entries] == [F32, F64]
    assert infer_graph_types(pair.entries, {"x": I32})[x.entries[0]] == I32
    assert infer_graph_types(pair.entries, {}, default=None)[x.entries[0]] is None


def test_backward_nodes() -> None:
    x = sym.var("x")
    net = relu(conv(x))
    wanted = [Entry(v.entries[0].node, 0) for v in (x, net.get_internals()["c_weight"],
                                                   net.get_internals()["c_bias"])]
    head_grad = Entry(Node(None, "head_grad"), 0)
    grads = gradient_graph(net.entries, [head_grad], wanted)
    heads = [*net.entries, *(g for g in grads if g is not None)]
    shapes = infer_graph_shapes(heads, {"x": (2, 3, 8, 8), "head_grad": (2, 4, 6, 6)})
    types = infer_graph_types(heads, {"x": F64})
    for variable, grad in zip(wanted, grads, strict=True):
        assert grad is not None
        assert shapes[grad] == shapes[variable]
        assert types[grad] == F64


@given(st.integers(1, 5), st.integers(1, 5), st.integers(3, 9), st.integers(3, 9),
       st.lists(st.booleans(), min_size=4, max_size=4))
def test_what_is_hidden_is_found_again(n: int, c: int, h: int, w: int, hide: list[bool]) -> None:
    """Shapes split over two inputs of a sum give what the whole shape gives."""
    shape = (n, c, h, w)
    x, y = sym.var("x"), sym.var("y")
    net = conv(sym.elemwise_add(x, y))
    left = tuple(0 if cut else dim for cut, dim in zip(hide, shape, strict=True))
    right = tuple(dim if cut else 0 for cut, dim in zip(hide, shape, strict=True))
    assert net.infer_shape(x=left, y=right) == net.infer_shape(x=shape)
