"""Each operator with a form in ONNX, on the harness's cases: the model gives what it gives."""

from __future__ import annotations

from collections import defaultdict
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import Unsupported
from ndarray_rt.onnx.exporter.model_file import NEWEST_OPSET, USUAL_OPSET
from ndarray_rt.onnx.exporter.table import load_forms
from ndarray_rt.op.registry import find
from ndarray_rt.symbol.node import Entry, Node
from ndarray_rt.symbol.symbol import Symbol
from ndarray_rt.testing.case import Case
from tests.case_table import all_cases

from .exported import TOLERANCE, bound

# what ONNX Runtime refuses, or computes otherwise: lengths of no steps, outputs without elements
NOT_IN_ONNX_RUNTIME = ("sequence_length", "nothing-left")


# those on 8-bit numbers want constant ranges: tests/onnx/test_export_quantized.py
NAMES = sorted(name for name in load_forms()
               if not ("quantize" in name or name.startswith("_sg_mkldnn_")))


def cases_by_operator() -> dict[str, list[Case]]:
    found = defaultdict(list)
    for case in all_cases():
        name = find(case.op).name
        if name in NAMES and all(usual(x) for x in case.draw("float32")):
            found[name].append(case)
    return found


def usual(x: np.ndarray) -> bool:
    """Not empty, and no infinities or numbers that overflow, with which each runtime has its own
    way."""
    return x.size > 0 and (x.dtype.kind != "f" or bool(
        np.isfinite(x).all() and np.abs(x.astype(np.float64)).max() < 1e15))


CASES = cases_by_operator()


def graph_of(case: Case) -> Symbol:
    op = find(case.op)
    params = op.params.parse(case.params, case.op)
    inputs = [Entry(Node(None, f"in{i}"), 0) for i in range(len(case.all_inputs()))]
    node = Node(op, "node", {}, params, inputs)
    return Symbol([Entry(node, i) for i in range(op.num_visible(params))])


def export_case(case: Case) -> tuple[Any, list[np.ndarray], dict[str, np.ndarray]]:
    """(model, what the operator gives, the model's inputs)."""
    graph = graph_of(case)
    given = dict(zip([f"in{i}" for i in range(len(case.all_inputs()))], case.draw("float32"),
                     strict=True))
    states = set(graph.list_auxiliary_states()) | ({"in1"} if case.op == "RNN" else set())
    params = {name: mx.nd.array(given[name], dtype=given[name].dtype) for name in states}
    fed = {name: x for name, x in given.items() if name not in states}
    model = mx.onnx.export(graph, params, shapes={name: x.shape for name, x in fed.items()},
                           dtypes={name: x.dtype for name, x in fed.items()},
                           opset=NEWEST_OPSET if "Deformable" in case.op else USUAL_OPSET)
    expected = bound(graph, params, list(fed))(*fed.values())
    names = {info.name for info in model.graph.input}
    return model, expected, {name: x for name, x in fed.items() if name in names}


def assert_same(case: Case, got: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(got) == len(expected), case.id
    for a, b in zip(got, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), case.id
        # of numbers that cancel out, what was added counts
        sizes = [np.abs(x.astype(np.float64)).max(initial=0)
                 for x in (b, *case.draw("float32")[:1])]
        near = TOLERANCE if b.dtype != np.float16 else 4e-3
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=0,
                                   atol=near * max(sizes), err_msg=case.id)


@pytest.mark.parametrize("name", NAMES)
def test_operator(name: str) -> None:
    """All cases but those that are refused with a reason, of which there is another."""
    exported = 0
    for case in CASES[name]:
        try:
            model, expected, inputs = export_case(case)
        except Unsupported:
            continue
        exported += 1
        assert_same(case, mx.onnx.load(model).run(inputs), expected)
        if find_spec("onnxruntime") and not any(word in case.id for word in NOT_IN_ONNX_RUNTIME):
            import onnxruntime
            session = onnxruntime.InferenceSession(model.SerializeToString(),
                                                   providers=["CPUExecutionProvider"])
            assert_same(case, session.run(None, inputs), expected)
    assert exported


def test_most_cases_are_exported() -> None:
    """What is refused are forms that ONNX has not: whole numbers, channels last, clipped cells."""
    refused = 0
    for cases in CASES.values():
        for case in cases:
            try:
                export_case(case)
            except Unsupported:
                refused += 1
    assert refused <= 0.07 * sum(map(len, CASES.values()))
