"""Writes a model on 8-bit numbers, with ranges found on samples, and tells what each layer loses by
it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import MXNetError, NameMismatch, ParameterError
from ..model import params_from_file, save_checkpoint
from ..nd import NDArray
from ..symbol.functions import load as load_symbol
from ..symbol.symbol import Symbol
from .arguments import positive, tolerance
from .graphs import SYMBOL
from .inputs import read_array
from .model_file import Array, find_pair, regular
from .output import busy, note, show_json, size_text

NAME, HELP = "quantize", "write a model on 8-bit numbers, and tell what each layer loses"
_MODES = ("naive", "entropy")

LEAST_DECIBELS = 20.0  # below it a warning is told

Params = dict[str, NDArray]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="FILE", help="an .onnx file, or one of MXNet's pair: "
                        "NAME-symbol.json, NAME-0000.params, or NAME alone")
    parser.add_argument("--params", metavar="FILE", help="parameters of MXNet's symbol, where they "
                        "are not beside it")
    parser.add_argument("--data", action="append", required=True, metavar="NAME=FILE",
                        help="samples (.npy, .npz) of an input, along the first axis; again for "
                             "more of them. A model of one input needs no NAME, nor does an .npz "
                             "file with an array for each input")
    parser.add_argument("--output", metavar="NAME",
                        help=f"NAME.onnx, in which layers stand between QuantizeLinear and "
                             f"DequantizeLinear, or NAME{SYMBOL}, beside which NAME-0000.params is "
                             "written (default: the latter, beside the model, -int8 behind its "
                             "name)")
    parser.add_argument("--mode", choices=_MODES, default=_MODES[0],
                        help="ranges: the least and the greatest value, or the threshold of the "
                             "least loss of entropy (default: naive)")
    parser.add_argument("--max-loss", type=tolerance, metavar="L",
                        help="layers stay on floats, those that lose most first, until the outputs "
                             "differ by no more than this part of them (root mean squares)")
    parser.add_argument("--exclude", action="append", default=[], metavar="LAYER",
                        help="a layer that stays on floats; once for each")
    parser.add_argument("--batch", type=positive, default=16, metavar="N",
                        help="how many samples run at once (default: 16)")
    parser.add_argument("--small", action="store_true",
                        help="weights are written as 8-bit numbers, layer by layer: files of a "
                             "quarter. Else layers are fused, which is better and faster")
    parser.add_argument("--threads", type=positive, metavar="N", help="how many compute")


def run(given: argparse.Namespace) -> int:
    if given.threads is not None:
        from ..threads import set_num_threads
        set_num_threads(given.threads)
    from ..contrib.quantization.report import quantize_with_report
    prefix = _prefix(given)
    is_onnx = prefix.endswith(".onnx")
    files = [prefix] if is_onnx else [f"{prefix}{SYMBOL}", f"{prefix}-0000.params"]
    _refuse_to_overwrite(given, files)
    model = _read(given)
    data = _samples(given.data, model.inputs)
    with busy("running layer by layer"):
        made, params, states, report = quantize_with_report(
            model.symbol, model.args, model.aux, data, max_loss=given.max_loss,
            calib_mode=given.mode, excluded_sym_names=given.exclude, batch_size=given.batch,
            fused=not given.small)
    if is_onnx:
        from ..onnx import export
        shapes = model.shapes or {name: ("batch", *x.shape[1:]) for name, x in data.items()}
        export(made, (params, states), prefix, shapes=shapes, dtypes=model.dtypes)
    else:
        save_checkpoint(prefix, 0, made, params, states)
    if given.json:
        show_json({"written": files, "loss": report.loss, "decibels": report.decibels,
                   "samples": report.samples, "bytes": report.quantized_nbytes,
                   "bytes_on_floats": report.nbytes, "excluded": report.excluded,
                   "layers": [{"name": layer.name, "operator": layer.operator, "loss": layer.loss,
                               "decibels": layer.decibels} for layer in report.layers]})
    else:
        print(report)
        if is_onnx:
            note("these are the decibels of the symbol; an ONNX file rounds at other places, and "
                 "may differ from it by a step")
        if report.decibels < LEAST_DECIBELS:
            note(f"the outputs are only {report.decibels:.1f} dB above what they lose; with "
                 "--max-loss 0.03 layers stay on floats until that is 30"
                 + (", and without --small convolutions lose no bias" if given.small else ""))
        print(f"written: {', '.join(files)} ({size_text(sum(map(os.path.getsize, files)))})")
    return 0


def _prefix(given: argparse.Namespace) -> str:
    """What the names of the files that are written begin with; the name of a single file."""
    if given.output is None:
        path: str = given.model
        if path.endswith(".onnx"):
            return path.removesuffix(".onnx") + "-int8"
        return find_pair(path, given.params)[0].removesuffix(".json").removesuffix(
            "-symbol") + "-int8"
    ending = os.path.splitext(given.output)[1]
    if ending not in ("", ".onnx") and not given.output.endswith(SYMBOL):
        raise ParameterError(f"--output got {given.output!r}, expected NAME.onnx, NAME{SYMBOL} or "
                             "NAME alone")
    return str(given.output).removesuffix(SYMBOL)


def _refuse_to_overwrite(given: argparse.Namespace, files: Sequence[str]) -> None:
    """ParameterError where a file of the model would be written over."""
    own = ([given.model] if given.model.endswith(".onnx")
           else find_pair(given.model, given.params))
    for file in files:
        if os.path.exists(file) and any(os.path.samefile(file, read) for read in own):
            raise ParameterError(f"--output: {file!r} is read as the model itself; give another "
                                 "name")


class _Model(NamedTuple):
    """A symbol with its parameters, the names of its inputs, and their shapes and dtypes where the
    file has them."""

    symbol: Symbol
    args: Params
    aux: Params
    inputs: list[str]
    shapes: dict[str, Any] | None = None
    dtypes: dict[str, Any] | None = None


def _read(given: argparse.Namespace) -> _Model:
    """The model of a file."""
    if given.model.endswith(".onnx"):
        if given.params is not None:
            raise ParameterError("--params is for MXNet's models: an .onnx file has its own")
        regular(given.model)
        from ..onnx.as_symbol import as_symbol
        made = as_symbol(given.model)
        return _Model(made.symbol, made.args, made.aux, [info.name for info in made.inputs],
                      {info.name: info.shape for info in made.inputs},
                      {info.name: info.dtype for info in made.inputs})
    symbol_file, params_file = find_pair(given.model, given.params)
    sym = load_symbol(symbol_file)
    args, aux = params_from_file(params_file)
    free = [name for name in sym.list_arguments() if name not in args]
    # labels of losses follow from the others
    return _Model(sym, args, aux,
                  [name for name in free if not name.endswith("label")] or free)


def _samples(texts: list[str], inputs: list[str]) -> Mapping[str, Array]:
    """The samples of each input, those of several files one behind the other."""
    parts: dict[str, list[Any]] = {name: [] for name in inputs}
    for text in texts:
        name, found, path = text.partition("=")
        if found and name in parts and not os.path.exists(text):
            names = [name]
        else:
            path, names = text, inputs
            if len(inputs) > 1 and not text.endswith(".npz"):
                raise NameMismatch(f"--data {text!r} names none of the inputs: "
                                   f"{', '.join(inputs)}")
        regular(path)
        for each in names:
            parts[each].append(read_array(path, each))
    for name, arrays in parts.items():
        if not arrays:
            raise ParameterError(f"there are no samples of the input {name!r}: give --data "
                                 f"{name}=FILE")
        if len({x.shape[1:] for x in arrays}) > 1 or not all(x.ndim for x in arrays):
            raise MXNetError(f"samples of the input {name!r} have different shapes: "
                             f"{', '.join(str(x.shape) for x in arrays)}")
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}
