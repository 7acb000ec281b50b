"""What executors, symbols and explain show of themselves, and what refuses to be pickled."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt import nd
from ndarray_rt.errors import NameMismatch, ParameterError, TypeMismatch


def net() -> mx.sym.Symbol:
    data = mx.sym.Variable("data")
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=4, name="fc"),
                               act_type="relu", name="act<1>")
    return mx.sym.BatchNorm(hidden, name="bn")


def test_an_executor_says_what_it_is() -> None:
    made = net().simple_bind(mx.cpu(), data=(2, 3))
    assert repr(made) == (
        "<Executor on cpu(0), arguments: data (2, 3) float32, fc_weight (4, 3) float32, fc_bias "
        "(4,) float32 and 2 more; aux states: 2; outputs: bn_output (2, 4) float32; gradients: 5>")
    made = net().simple_bind(mx.cpu(), data=(2, 3), grad_req="null")
    assert repr(made).endswith("gradients: 0>")


def test_html_of_executors_symbols_and_explain() -> None:
    made = net().simple_bind(mx.cpu(), data=(2, 3), grad_req={"fc_weight": "add"})
    html = made._repr_html_()
    assert html.count("<tr>") == 1 + 5 + 2 + 1
    assert "<td>fc_weight</td><td>(4, 3) float32</td><td>add</td>" in html
    html = net()._repr_html_()
    assert "<td>act&lt;1&gt;</td><td>Activation</td><td>fc</td>" in html
    html = made.explain(repeat=1)._repr_html_()
    assert html.count("<svg") == 1
    assert html.count("<table") == 1
    chain = mx.sym.Variable("x")
    for _ in range(300):
        chain = chain + 1
    assert chain._repr_html_().count("<tr>") == 1 + 200
    assert "101 nodes before these" in chain._repr_html_()


def runners() -> list[tuple[Any, str]]:
    data = mx.sym.Variable("data")
    bound = (data * 2).simple_bind(mx.cpu(), data=(2,), grad_req="null")
    training = mx.sym.FullyConnected(data, num_hidden=2, name="fc").simple_bind(
        mx.cpu(), data=(2, 3))
    return [(bound, "tojson"), (nd.CachedOp(data * 2), "symbol"),
            (mx.executor.ExecutorPool(bound, 1), "each process"),
            (training.bind_update("sgd_update", lr=0.1), "states")]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_runs_refuses_pickle_and_says_what_to_do(protocol: int) -> None:
    for value, hint in runners():
        with pytest.raises(TypeMismatch, match=f"neither pickled nor copied: .*{hint}"):
            pickle.dumps(value, protocol)
        with pytest.raises(TypeMismatch, match=hint):
            copy.deepcopy(value)


def test_names_like_it_are_named() -> None:
    dense: Any = nd.FullyConnected
    with pytest.raises(ParameterError, match=r"unknown parameter 'num_hiden'; .*mean 'num_hidden'"):
        dense(nd.ones((2, 3)), nd.ones((4, 3)), no_bias=True, num_hiden=4)
    with pytest.raises(NameMismatch, match="'Convolutoin' is not registered; did you mean 'Conv"):
        mx.op.find("Convolutoin")
    with pytest.raises(NameMismatch, match="did you mean 'resnet18_v1'"):
        mx.model_zoo.symbols.get_symbol("resnet18v1")
