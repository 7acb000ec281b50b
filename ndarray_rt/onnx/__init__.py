"""ONNX models: `ndarray_rt.onnx.load(path)(x)`, or `InferenceSession` as in ONNX Runtime; `export`.

Loaded when it is first used; needs the package onnx (`pip install 'ndarray_rt[onnx]'`).
"""

from __future__ import annotations

from ..public import loads, shows
from .exporter.model_file import export
from .exporter.mxnet_names import export_model, get_operator_support
from .model import Model, load
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

__getattr__ = loads(globals(), {"backend": "backend"})
__dir__ = shows(globals())
