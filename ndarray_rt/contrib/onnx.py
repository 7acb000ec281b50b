"""`mx.contrib.onnx`: MXNet's names for reading and writing ONNX models (docs/onnx.md)."""

from __future__ import annotations

from ..onnx.as_symbol import get_model_metadata, import_model, import_to_gluon
from ..onnx.exporter.mxnet_names import export_model
from ..public import shows

__all__ = ["export_model", "get_model_metadata", "import_model", "import_to_gluon"]
__dir__ = shows(globals())
