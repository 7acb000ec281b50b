"""`export` and `export_model`: ONNX models of symbols, blocks and modules."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from ...errors import ParameterError, TypeMismatch, shown
from ...symbol.atomic_file import write_atomic
from ..package import onnx_package
from .model_graph import model_graph
from .source import Source, find_source
from .table import load_forms

# operator sets that the forms are written for
OLDEST_OPSET, NEWEST_OPSET, USUAL_OPSET = 13, 21, 17
# a file of protobuf has at most 2 GiB: from here on weights go to a file beside it
_MOST_BYTES = 2_000_000_000


def export(model: Any, params: Any = None, path: str | os.PathLike[str] | None = None, *,
           shapes: Any = None, dtypes: Any = None, opset: int = USUAL_OPSET) -> Any:
    """Makes an ONNX model for inference, writes it to `path` (None: nowhere), and returns it.

    `model` is a Symbol, a HybridBlock, a Module, or the path of a symbol's file; `params` what the
    graph needs of arrays: a dict, with names as in checkpoints or plain, a pair of dicts
    (arg_params, aux_params), or a file; blocks and modules have their own. `shapes` are those of
    the inputs, in order or by name: a size may be an int, a name such as "batch", or None, for any
    size ("batch" where it is the first); the same name is the same size. Modules know theirs.
    `dtypes` are those of the inputs, in order, by name, or one for all; what does not follow
    otherwise is float32. `opset` is the version of ONNX's operators, 13 to 21.

    Names of inputs and outputs are those of the graph; labels of losses are no inputs. Returns
    the `onnx.ModelProto`, which `onnx.checker` has passed. Raises Unsupported with a list of all
    nodes that have no form in ONNX, before anything is written; MissingPackage without the package
    onnx; ParameterError, NameMismatch, ShapeError and TypeMismatch for arguments that do not fit.
    """
    onnx_package()
    if isinstance(opset, bool) or not isinstance(opset, int) or not (
            OLDEST_OPSET <= opset <= NEWEST_OPSET):
        raise ParameterError(f"onnx.export: opset got {shown(opset)}, expected an int from "
                             f"{OLDEST_OPSET} to {NEWEST_OPSET}")
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise TypeMismatch(f"onnx.export: path got {shown(path)}, expected a path or None")
    load_forms()
    source = find_source(model, params, shapes, dtypes)
    made = _model(source, opset)
    if path is not None:
        write(made, path)
    return made


def _model(source: Source, opset: int) -> Any:
    onnx = onnx_package()
    from ... import __version__
    graph = model_graph(source, opset)
    imports = [onnx.helper.make_opsetid("", opset)]
    made = onnx.helper.make_model(
        graph, opset_imports=imports, producer_name="ndarray_rt", producer_version=__version__,
        ir_version=onnx.helper.find_min_ir_version_for(imports))
    if made.ByteSize() < _MOST_BYTES:
        onnx.checker.check_model(made, full_check=True)
    return made


def write(model: Any, path: str | os.PathLike[str]) -> None:
    """Writes a ModelProto to a file; weights of large ones to another beside it, `<name>.data`."""
    onnx = onnx_package()
    target = os.fspath(path)
    if model.ByteSize() < _MOST_BYTES:
        data = model.SerializeToString()

        def fill(file: BinaryIO) -> None:
            file.write(data)
        write_atomic(target, fill)
        return
    copy = type(model)()
    copy.CopyFrom(model)  # saving moves the weights out of it
    onnx.save_model(copy, target, save_as_external_data=True,
                    location=f"{os.path.basename(target)}.data")
    onnx.checker.check_model(target, full_check=True)
