"""Models as text, and comparing what they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx.reference import ReferenceEvaluator

from ndarray_rt.onnx import Model, load


def model_of(text: str, opset: int = 17, ir_version: int = 8) -> Any:
    """A ModelProto from the text of a graph, and of local functions behind it."""
    header = f'<ir_version: {ir_version}, opset_import: ["" : {opset}, "local" : 1]>'
    return onnx.parser.parse_model(header + text)


def loaded(text: str, opset: int = 17, ir_version: int = 8) -> Model:
    """`model_of`, loaded."""
    return load(model_of(text, opset, ir_version))


def assert_equal(got: Any, expected: Any, rtol: float, atol: float) -> None:
    """Shapes and dtypes are the same, and values as near as allowed."""
    if isinstance(expected, (list, tuple)):
        assert isinstance(got, (list, tuple))
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            assert_equal(a, b, rtol, atol)
        return
    if expected is None:
        assert got is None
        return
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if expected.dtype.kind in "OUS":
        np.testing.assert_array_equal(got, expected)
        return
    if expected.dtype.kind not in "c":
        got, expected = got.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


def reference(proto: Any, inputs: dict[str, Any]) -> list[Any]:
    """What ONNX's own evaluator gives."""
    return [*ReferenceEvaluator(proto).run(None, inputs)]


def run_thrice(model: Model, inputs: dict[str, Any], expected: Sequence[Any], rtol: float = 1e-3,
               atol: float = 1e-7) -> None:
    """The first run plans, the second records, the third is replayed."""
    for _ in range(3):
        for got, wanted in zip(model.run(inputs), expected, strict=True):
            assert_equal(got, wanted, rtol, atol)
