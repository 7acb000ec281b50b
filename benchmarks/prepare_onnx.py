"""Makes an ONNX model where it has to be made, and draws its inputs:
python -m benchmarks.prepare_onnx FOLDER BATCH WORD, the word as on the command line of benchmarks.

Runs in the environment of ndarray_rt, with the package onnx.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from .onnx_files import (
    DIM,
    INPUT,
    LIGHT,
    SIZES,
    Inputs,
    OnnxFile,
    Shape,
    inputs_path,
    parse,
)


class Open(Exception):
    """An input whose shape is not known."""


def make_zoo(name: str, path: Path) -> None:
    """Exports a network of the model zoo with drawn weights, for any batch size."""
    import ndarray_rt as mx

    mx.random.seed(5)
    size = SIZES.get(name, 224)
    net = getattr(mx.gluon.model_zoo.vision, name)()
    net.initialize(mx.init.Xavier(magnitude=2))
    net(mx.nd.zeros((1, 3, size, size)))
    source = np.random.default_rng(5)
    for param in net.collect_params().values():
        if "running_mean" in param.name:
            param.set_data(mx.nd.array(source.standard_normal(param.shape) * 0.1))
        elif "running_var" in param.name:
            param.set_data(mx.nd.array(source.uniform(0.7, 1.5, param.shape)))
    mx.onnx.export(net, path=path, shapes=[("batch", 3, size, size)])


def make_light(name: str, path: Path) -> None:
    """Writes a light network of the package onnx with drawn weights."""
    import onnx
    from onnx.backend.test.loader import DATA_DIR

    from .light import with_weights

    onnx.save(with_weights(Path(DATA_DIR) / "light" / f"light_{name}.onnx"), path)


def draw_inputs(model: Any, batch: int, given: Mapping[str, Shape],
                ranges: Mapping[str, tuple[int, int]] = MappingProxyType({}),
                ) -> tuple[Inputs, dict[str, int]]:
    """Contents for each input of an `onnx.ModelProto`, and what its named dimensions became,
    without names that stand for several sizes, as "?" may.

    Floats are normal, whole numbers from their range, or 0 and 1. The first dimension of an input
    is the batch where the file leaves it open. Open when another one is neither in the file nor
    given, or something is given for what the model does not have.
    """
    import onnx.helper

    rng = np.random.RandomState(batch)
    inputs: Inputs = {}
    dims = {name: shape[0] for name, shape in given.items() if len(shape) == 1}
    taken: dict[str, set[int]] = {}
    fixed = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        if value.name in fixed:
            continue
        tensor = value.type.tensor_type
        shape = given.get(value.name) or tuple(
            _size(value.name, i, dim, batch, dims) for i, dim in enumerate(tensor.shape.dim))
        for dim, size in zip(tensor.shape.dim, shape, strict=True):
            if dim.dim_param:
                dims.setdefault(dim.dim_param, size)
                taken.setdefault(dim.dim_param, set()).add(size)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        least, greatest = ranges.get(value.name, (0, 1))
        drawn = (rng.standard_normal(shape) if dtype.kind == "f"
                 else rng.randint(least, greatest + 1, shape))
        inputs[value.name] = np.asarray(drawn).astype(dtype)
    known = {*inputs, *taken}
    unknown = [name for name in (*given, *ranges) if name not in known]
    if unknown:
        raise Open(f"the model has no {', '.join(map(repr, unknown))}; it has {sorted(known)}")
    return inputs, {name: min(sizes) for name, sizes in taken.items() if len(sizes) == 1}


def _size(name: str, position: int, dim: Any, batch: int, dims: Mapping[str, int]) -> int:
    if dim.dim_value > 0:
        return int(dim.dim_value)
    if dim.dim_param in dims:
        return dims[dim.dim_param]
    if position == 0:
        return batch
    raise Open(f"dimension {position} of {name!r} is open: give {dim.dim_param or '?'}=SIZE or "
               f"{name}=SIZExSIZE... behind an @")


def prepare(folder: Path, batch: int, file: OnnxFile) -> None:
    """The model, unless it is there, and its inputs for a batch size."""
    import onnx

    path = file.path(folder)
    if file.kind and not path.exists():
        make = make_light if file.kind == LIGHT else make_zoo
        make(file.source.partition(":")[2], path)
    model = onnx.load(path, load_external_data=False)
    inputs, dims = draw_inputs(model, batch, dict(file.dims()), file.ranges())
    arrays: dict[str, Any] = {INPUT + name: value for name, value in inputs.items()}
    arrays |= {DIM + name: np.asarray(size) for name, size in dims.items()}
    np.savez(inputs_path(folder, file.name, batch), **arrays)


def main() -> None:
    folder, batch, word = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    try:
        (file,) = parse(word)
        prepare(folder, batch, file)
    except Open as open_:
        sys.exit(str(open_))


if __name__ == "__main__":
    main()
