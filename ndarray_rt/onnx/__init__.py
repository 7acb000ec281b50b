"""ONNX models: `ndarray_rt.onnx.load(path)(x)`, or `InferenceSession` as in ONNX Runtime.

Loaded when it is first used; needs the package onnx (`pip install 'ndarray_rt[onnx]'`).
"""

from __future__ import annotations

from ..public import loads, shows
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
           "RunOptions", "SessionOptions", "backend", "get_available_providers", "get_device",
           "load"]

__getattr__ = loads(globals(), {"backend": "backend"})
__dir__ = shows(globals())
