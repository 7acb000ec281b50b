"""The PyPI package `onnx`, for what files alone do not say: imported when it is needed."""

from __future__ import annotations

from types import ModuleType

from ..errors import MissingPackage

# the newest operator set whose definitions are known here
NEWEST_OPSET = 26


def onnx_package() -> ModuleType:
    """The package; MissingPackage where it is not installed."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise MissingPackage.of("reading ONNX models", "onnx", "onnx") from error
    found: ModuleType = onnx  # where it is not installed, mypy knows nothing of it
    return found
