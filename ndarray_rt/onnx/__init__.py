"""ONNX models: `ndarray_rt.onnx.load(path)(x)`, or `InferenceSession` as in ONNX Runtime; `export`.

Loaded when it is first used. Writing, and some of reading, needs the package onnx
(`pip install 'ndarray_rt[onnx]'`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..public import loads, shows
from .model import Model, load

if TYPE_CHECKING:
    from .exporter.model_file import export
    from .exporter.mxnet_names import export_model, get_operator_support
    from .session import (
        ExecutionMode,
        GraphOptimizationLevel,
        InferenceSession,
        NodeArg,
        RunOptions,
        SessionOptions,
        get_available_providers,
        get_device,
    )

__all__ = ["ExecutionMode", "GraphOptimizationLevel", "InferenceSession", "Model", "NodeArg",
           "RunOptions", "SessionOptions", "backend", "export",
           "export_model", "get_available_providers", "get_device", "get_operator_support", "load"]

_SESSION = ("ExecutionMode", "GraphOptimizationLevel", "InferenceSession", "NodeArg", "RunOptions",
            "SessionOptions", "get_available_providers", "get_device")

__getattr__ = loads(globals(), {
    "backend": "backend", "export": "exporter.model_file:export",
    "export_model": "exporter.mxnet_names:export_model",
    "get_operator_support": "exporter.mxnet_names:get_operator_support",
    **{name: f"session:{name}" for name in _SESSION}})
__dir__ = shows(globals())
