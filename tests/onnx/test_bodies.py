"""Graphs inside of nodes that take or give another number of values than the node."""

from __future__ import annotations

import pytest

from ndarray_rt.errors import ModelFormatError
from ndarray_rt.onnx import load

from .helpers import model_of

IF = """g (float[2] x) => (float[2] y) {
    c = Constant<value = bool[1] {1}>()
    y = If(c)<then_branch = a () => (float[2] p) { p = Relu(x) },
              else_branch = b () => (float[2] q) { q = Neg(x) }>
}"""
LOOP = """g (float[2] x, int64[1] n) => (float[2] y) {
    c = Constant<value = bool[1] {1}>()
    y = Loop(n, c, x)<body = t (int64[1] i, bool[1] d, float[2] a) => (bool[1] e, float[2] b) {
        e = Identity(d)
        b = Add(a, a)
    }>
}"""
SCAN = """g (float[2] x, float[3, 2] z) => (float[2] y) {
    y = Scan<num_scan_inputs = 1, body = t (float[2] a, float[2] v) => (float[2] b) {
        b = Add(a, v)
    }>(x, z)
}"""


@pytest.mark.parametrize(("text", "words"), [
    (IF, "then_branch has 0 inputs and 0 outputs, expected 0 and 1"),
    (LOOP, "body has 3 inputs and 0 outputs, expected 3 and 2"),
    (SCAN, "body has 2 inputs and 0 outputs, expected 2 and 1")])
def test_a_body_without_outputs(text: str, words: str) -> None:
    model = model_of(text)
    load(model)
    node = model.graph.node[-1]
    body = next(a.g for a in node.attribute if a.name in ("then_branch", "body"))
    del body.output[:]
    with pytest.raises(ModelFormatError, match=words):
        load(model)


@pytest.mark.parametrize("text", [IF, LOOP, SCAN])
def test_a_body_with_another_input(text: str) -> None:
    model = model_of(text)
    node = model.graph.node[-1]
    body = next(a.g for a in node.attribute if a.name in ("then_branch", "body"))
    body.input.add().name = "more"
    with pytest.raises(ModelFormatError, match=r"has \d inputs and"):
        load(model)
