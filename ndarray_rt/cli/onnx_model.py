"""ONNX files, through `ndarray_rt.onnx`."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from ..errors import ModelFormatError, did_you_mean
from ..onnx import load
from ..onnx.package import onnx_package
from ..onnx.reading import read_model
from ..symbol.atomic_file import write_atomic
from .model_file import ONNX, Array, Facts, Model, Slot, Values


class OnnxModel(Model):
    """An ONNX model."""

    kind = ONNX

    def __init__(self, path: str, precision: str | None = None) -> None:
        self.files = (path,)
        self._precision = precision
        self._model: Any = load(path, precision=precision)

    @property
    def inputs(self) -> list[Slot]:
        return [Slot(v.name, v.shape, v.dtype) for v in self._model.inputs]

    @property
    def outputs(self) -> list[Slot]:
        return [Slot(v.name, v.shape, v.dtype) for v in self._model.outputs]

    def run(self, values: Values) -> list[Array]:
        found: list[Array] = self._model.run(values)
        return found

    def again(self) -> OnnxModel:
        return OnnxModel(self.files[0], self._precision)

    def tune(self, values: Values) -> list[Any]:
        found: list[Any] = self._model.tune(**values)
        return found

    def explain(self, values: Values) -> list[Any]:
        found: list[Any] = self._model.explain(**values)
        return found

    def facts(self) -> Facts:
        graph = read_model(self.files[0]).graph
        found = Facts()
        constants = list(graph.constants.values())
        for node in graph.all_nodes():
            if node.op == "Constant":
                constants += [v for v in node.attrs.values() if isinstance(v, np.ndarray)]
            else:
                found.operators[node.op] += 1
        for value in constants:
            found.arrays += 1
            found.parameters += value.size
            found.nbytes += value.nbytes
        return found


def initialisers(path: str) -> dict[str, Array]:
    """The initialisers of a file by name."""
    return read_model(path).graph.constants


def write_parameters(model: str, values: Values, target: str) -> None:
    """Writes a model with these numbers in its initialisers. ModelFormatError for a name that is
    none of them, or for another shape or dtype."""
    package = onnx_package()
    read_model(model)  # checks it
    proto = package.load(model)
    tensors = {tensor.name: tensor for tensor in proto.graph.initializer}
    for name, value in values.items():
        tensor = tensors.get(name)
        if tensor is None:
            raise ModelFormatError(f"it has no initialiser {name!r}"
                                   f"{did_you_mean(name, tensors)}", model)
        dtype = package.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if tuple(tensor.dims) != value.shape or dtype != value.dtype:
            raise ModelFormatError(f"shape {tuple(tensor.dims)} of {dtype}, got {value.shape} of "
                                   f"{value.dtype}", model, f"initialiser {name!r}")
        tensor.CopyFrom(package.numpy_helper.from_array(value, name))

    def write(file: BinaryIO) -> None:
        file.write(proto.SerializeToString())
    write_atomic(target, write)
