"""The standard interface of the onnx package: `ndarray_rt.onnx.backend.run_model(model, inputs)`.

Functions and classes as in `onnx.backend.base`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ..errors import MXNetError, TypeMismatch, shown
from ..public import shows
from .graph import Array
from .model import Model, load
from .package import onnx_package

_Backend: Any = object
_BackendRep: Any = object
# without the package nobody misses its classes: what uses these asks for it, and says so
with suppress(ImportError):
    from onnx.backend import base

    _Backend, _BackendRep = base.Backend, base.BackendRep

__all__ = ["NdrtBackend", "NdrtBackendRep", "is_compatible", "prepare", "run_model", "run_node",
           "supports_device"]
__dir__ = shows(globals())


class NdrtBackendRep(_BackendRep):  # type: ignore[misc]
    """A model that is ready: `run(inputs)`."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Array, ...]:
        """The outputs for a list of inputs in order, a dict by name, or a single array."""
        if isinstance(inputs, Mapping):
            return tuple(self.model(inputs))
        if isinstance(inputs, (list, tuple)):
            return tuple(self.model(*inputs))
        return tuple(self.model(inputs))


class NdrtBackend(_Backend):  # type: ignore[misc]
    """Runs ONNX models on the CPU."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Every node of the model can run."""
        try:
            load(model)
        except MXNetError:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> NdrtBackendRep:
        """The model, ready to run. Raises what `load` raises."""
        _check_device(cls, device)
        return NdrtBackendRep(load(model))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any,
                  ) -> tuple[Array, ...]:
        """The outputs of a model, once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str = "CPU",
                 outputs_info: Sequence[Any] | None = None, **kwargs: Any) -> tuple[Array, ...]:
        """The outputs of one node."""
        _check_device(cls, device)
        onnx = onnx_package()
        helper = onnx.helper
        arrays = [np.asarray(value) for value in (
            inputs.values() if isinstance(inputs, Mapping) else inputs)]
        names = [name for name in node.input if name]
        given = [helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, arrays, strict=True)]
        made = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "node", given, made)
        version = min(onnx.defs.onnx_opset_version(), kwargs.get("opset_version", 1 << 30))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
        return tuple(load(model)(*arrays))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """The CPU alone computes."""
        return device.split(":")[0] == "CPU"


def _check_device(backend: Any, device: str) -> None:
    if not backend.supports_device(device):
        raise TypeMismatch(f"device got {shown(device)}, expected 'CPU'")


is_compatible = NdrtBackend.is_compatible
prepare = NdrtBackend.prepare
run_model = NdrtBackend.run_model
run_node = NdrtBackend.run_node
supports_device = NdrtBackend.supports_device
