"""`export_model` and `get_operator_support` with MXNet's parameters."""

from __future__ import annotations

import logging
import os
from typing import Any

import numpy as np

from ...errors import ParameterError, shown
from ..package import onnx_package
from .model_file import NEWEST_OPSET, OLDEST_OPSET, USUAL_OPSET, export, write
from .table import load_forms


def export_model(sym: Any, params: Any, in_shapes: Any = None, in_types: Any = np.float32,
                 onnx_file_path: str | os.PathLike[str] = "model.onnx", verbose: bool = False,
                 dynamic: bool = False, dynamic_input_shapes: Any = None,
                 run_shape_inference: bool = False, input_type: Any = None,
                 input_shape: Any = None) -> str | os.PathLike[str]:
    """Writes the ONNX model of a symbol; the path is returned. `export` says more, and does more.

    `sym` is a Symbol or the path of its file, `params` a dict, a pair of dicts, or the path of a
    file. `in_shapes` and `in_types` are those of the inputs in order, without labels; one type
    stands for all. With `dynamic` sizes are free where `dynamic_input_shapes` has None or a name,
    without it each size that the graph allows to be free. `input_type` and `input_shape` are old
    names of in_types and in_shapes. Operators are those of set 17. Raises what `export` raises.
    """
    shapes = in_shapes if input_shape is None else input_shape
    types = in_types if input_type is None else input_type
    if shapes is None:
        raise ParameterError("onnx.export_model: in_shapes is None, expected a shape for each "
                             "input")
    shapes = [tuple(shape) for shape in shapes]
    if isinstance(types, (list, tuple)) and len(types) != len(shapes):
        raise ParameterError(f"onnx.export_model: in_types got {shown(types)}, expected one or "
                             f"{len(shapes)} from in_shapes")
    if dynamic:
        made = (_as_free_as_can_be(sym, params, shapes, types) if dynamic_input_shapes is None else
                export(sym, params, shapes=[tuple(shape) for shape in dynamic_input_shapes],
                       dtypes=types))
    else:
        made = export(sym, params, shapes=shapes, dtypes=types)
    if run_shape_inference:
        onnx = onnx_package()
        made = onnx.shape_inference.infer_shapes(made)
    write(made, onnx_file_path)
    if verbose:
        logging.info("ONNX model %s: %d nodes, input shapes %s", onnx_file_path,
                     len(made.graph.node), shapes)
    return onnx_file_path


def _as_free_as_can_be(sym: Any, params: Any, shapes: list[tuple[int, ...]], types: Any) -> Any:
    """First axes free together, then each other one with which the graph still goes."""
    best: list[list[Any]] = [list(shape) for shape in shapes]
    made = export(sym, params, shapes=[tuple(one) for one in best], dtypes=types)
    trials = [[(i, 0) for i, shape in enumerate(shapes) if shape]]
    trials += [[(i, axis)] for i, shape in enumerate(shapes) for axis in range(1, len(shape))]
    for places in trials:
        tried = [list(one) for one in best]
        for i, axis in places:
            tried[i][axis] = None
        try:
            made = export(sym, params, shapes=[tuple(one) for one in tried], dtypes=types)
        except (ParameterError, ValueError, NotImplementedError):
            continue
        best = tried
    return made


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Names of the operators that have a form in ONNX; the same for each operator set from 13 on.

    Raises ParameterError for an operator set that nothing is written in.
    """
    version = USUAL_OPSET if opset_version is None else opset_version
    if version < OLDEST_OPSET:
        raise ParameterError(f"onnx.get_operator_support: opset_version got {shown(version)}, "
                             f"expected {OLDEST_OPSET} to {NEWEST_OPSET}")
    return sorted(load_forms())
