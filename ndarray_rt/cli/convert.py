"""Writes parameters in another format: MXNet's .params, .safetensors, .npz, or the initialisers of
an .onnx file, whose graph is that of --model. They are read from all of those. Writes whole models
too: MXNet's pair of files as an .onnx file, and an .onnx file as NAME-symbol.json with its
parameters."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..context import cpu
from ..dtypes import DType, dtype_name, find_dtype
from ..errors import ModelFormatError, ParameterError, TypeMismatch
from ..io.foreign import over_numpy
from ..nd import NDArray, load, save, save_npz, save_safetensors
from .graphs import SYMBOL, from_onnx, is_model, to_onnx
from .model_file import regular
from .output import progress, show_json, size_text

NAME, HELP = "convert", "write parameters or a model in another format"
_WRITERS: dict[str, Callable[[str, Any], None]] = {
    ".params": save, ".safetensors": save_safetensors, ".npz": save_npz}
PREFIXES = ("arg:", "aux:")
ONNX = ".onnx"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="A", help=f"a file: {', '.join([*_WRITERS, ONNX])}, or "
                        "MXNet's model: NAME-symbol.json, or NAME alone")
    parser.add_argument("target", metavar="B", help=f"a file: {', '.join([*_WRITERS, ONNX])}, or "
                        f"NAME{SYMBOL}")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1,3,224,224",
                        help="from MXNet's model to ONNX: the shape of an input; once for each")
    parser.add_argument("--opset", type=int, default=17, metavar="N",
                        help="from MXNet's model to ONNX: the version of ONNX's operators, 13 to "
                             "21 (17)")
    parser.add_argument("--model", metavar="FILE", help="for an .onnx file: the model whose "
                        "initialisers of these names get the numbers")
    parser.add_argument("--strip-prefix", action="store_true",
                        help="names without the 'arg:' and 'aux:' of MXNet's checkpoints")
    parser.add_argument("--add-prefix", metavar="AUX,AUX", nargs="?", const="",
                        help="names with 'arg:' before them, as MXNet's checkpoints have it, and "
                             "with 'aux:' those that end in one of these (by default moving_mean, "
                             "moving_var, running_mean and running_var)")


def run(given: argparse.Namespace) -> int:
    ending = os.path.splitext(given.target)[1]
    if ending == ONNX and given.model is None and is_model(given.source):
        return to_onnx(given)
    if given.target.endswith(SYMBOL) and given.source.endswith(ONNX):
        return from_onnx(given)
    if ending not in (*_WRITERS, ONNX):
        raise ParameterError(f"{given.target!r} ends in {ending!r}, expected one of "
                             f"{', '.join([*_WRITERS, ONNX])}, or for an ONNX model {SYMBOL}")
    if (given.model is not None) != (ending == ONNX):
        raise ParameterError("an .onnx file needs a graph: give --model with it, and with it alone")
    found = renamed(read(given.source), given)
    if ending == ONNX:
        from .onnx_model import write_parameters
        regular(given.model)
        write_parameters(given.model, {name: x.asnumpy() for name, x in found.items()},
                         given.target)
    else:
        _WRITERS[ending](given.target, found)
    numbers, nbytes = (sum(getattr(x, what) for x in found.values()) for what in ("size",
                                                                                 "nbytes"))
    if given.json:
        show_json({"written": given.target, "arrays": {
            name: {"shape": list(x.shape), "dtype": dtype_name(x.dtype)}
            for name, x in found.items()}})
    else:
        print(f"written: {given.target}: {len(found)} arrays, {numbers:,} numbers "
              f"({size_text(nbytes)})")
    return 0


def read(path: str) -> dict[str, NDArray]:
    """The parameters of a file by name. ModelFormatError where they have no names."""
    regular(path)
    if path.endswith(ONNX):
        return _initialisers(path)
    found = load(path)
    if isinstance(found, dict):
        return found
    raise ModelFormatError("its arrays have no names", repr(path))


def _initialisers(path: str) -> dict[str, NDArray]:
    from .onnx_model import initialisers
    found = initialisers(path)
    return {name: over_numpy(np.array(value, order="C"), _dtype(name, value), cpu())
            for name, value in progress(found.items(), "arrays", len(found))}


def _dtype(name: str, value: np.ndarray[Any, Any]) -> DType:
    try:
        return find_dtype(value.dtype)
    except TypeMismatch as error:
        raise TypeMismatch(f"{name!r}: {error}") from None


def renamed(found: Mapping[str, NDArray], given: argparse.Namespace) -> dict[str, NDArray]:
    """Parameters under the names that were asked for; ParameterError where two would be one."""
    if given.strip_prefix and given.add_prefix is not None:
        raise ParameterError("--strip-prefix and --add-prefix do the opposite of each other")
    made: dict[str, Any] = {}
    for name, value in found.items():
        new = name
        if given.strip_prefix and name.startswith(PREFIXES):
            new = name[4:]
        elif given.add_prefix is not None and not name.startswith(PREFIXES):
            new = ("aux:" if name.endswith(_aux(given.add_prefix)) else "arg:") + name
        if new in made:
            raise ParameterError(f"two arrays would have the name {new!r}")
        made[new] = value
    return made


def _aux(text: str) -> tuple[str, ...]:
    given = tuple(filter(None, text.split(",")))
    return given or ("moving_mean", "moving_var", "running_mean", "running_var")
