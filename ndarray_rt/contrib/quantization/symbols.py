"""Graphs and parameters of quantized models."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any

from ... import nd
from ...dtypes import FLOAT32
from ...errors import NameMismatch, ShapeError, TypeMismatch, shown
from ...executor.calibration.collectors import Logger
from ...executor.calibration.names import unknown_names
from ...executor.calibration.options import Table, as_numbers, check_kind, check_names
from ...io import DataDesc
from ...nd import NDArray
from ...passes.quantize import Wanted, calibrate, quantize
from ...symbol.compose import input_names, mutated_inputs
from ...symbol.node import topological
from ...symbol.symbol import Symbol

# what inputs of layers are called that are parameters
PARAMETERS = ("weight", "bias", "gamma", "beta", "parameters")


def check_symbol(sym: Any) -> None:
    """TypeMismatch for anything but a symbol."""
    if not isinstance(sym, Symbol):
        raise TypeMismatch(f"sym is {shown(sym)}, expected a Symbol")


def check_params(sym: Symbol, data_names: Collection[str], arg_params: Mapping[str, NDArray],
                 aux_params: Mapping[str, NDArray]) -> None:
    """NameMismatch for a parameter of a layer that is not given, TypeMismatch for what is none."""
    check_arrays("arg_params", arg_params)
    check_arrays("aux_params", aux_params)
    for node in topological(sym.entries):
        if node.op is None or node.params is None:
            continue
        written = mutated_inputs(node.op, node.params)
        for i, (what, entry) in enumerate(zip(input_names(node.op, node.params), node.inputs,
                                              strict=False)):
            name = entry.node.name
            if not entry.node.is_variable or name in data_names:
                continue
            given, of = (aux_params, "aux_params") if i in written else (arg_params, "arg_params")
            if name not in given and (i in written or what in PARAMETERS):
                raise NameMismatch(f"{node.op.name} {node.name!r}: {what} {name!r} is not in {of}; "
                                   "data is named in data_names")


def check_arrays(what: str, given: Any) -> dict[str, NDArray]:
    """The same; TypeMismatch for anything but arrays by name."""
    if not isinstance(given, dict):
        raise TypeMismatch(f"{what} is {shown(given)}, expected a dict of NDArrays")
    for name, value in given.items():
        if not isinstance(value, NDArray):
            raise TypeMismatch(f"parameter {name!r} is {shown(value)}, expected an NDArray")
    return given


def check_known(sym: Symbol, arg_params: Mapping[str, NDArray],
                names: Mapping[str, Collection[str]]) -> None:
    """NameMismatch for an argument that is neither a parameter nor has one of the names."""
    for name in sym.list_arguments():
        if name not in arg_params and not any(name in given for given in names.values()):
            told = " and ".join(f"{what} ({', '.join(given) or 'none'})"
                                for what, given in names.items())
            raise NameMismatch(f"argument {name!r} of sym is neither in arg_params nor in {told}")


def check_shapes(sym: Symbol, descs: Collection[DataDesc], params: Mapping[str, NDArray]) -> None:
    """ShapeError where data of these shapes does not go with the parameters."""
    known = {desc.name: desc.shape for desc in descs if desc.name in sym.list_arguments()}
    shapes, _, aux = sym.infer_shape_partial(**known)
    names = [*sym.list_arguments(), *sym.list_auxiliary_states()]
    for name, shape in zip(names, [*(shapes or ()), *(aux or ())], strict=False):
        if name in params and shape and 0 not in shape and params[name].shape != shape:
            told = ", ".join(f"{data} of shape {size}" for data, size in known.items())
            raise ShapeError(f"calib_data has {told}, which takes {name} of shape {shape}, but "
                             f"the parameter has shape {params[name].shape}")


def _quantize_symbol(sym: Symbol, ctx: Any, excluded_symbols: list[str] | None = None,
                     excluded_operators: list[str] | None = None,
                     offline_params: Collection[str] | None = None,
                     quantized_dtype: str = "int8", quantize_mode: str = "smart",
                     quantize_granularity: str = "tensor-wise", logger: Logger = None,
                     ) -> tuple[Symbol, list[str]]:
    """A graph on 8-bit numbers, and the names of the outputs of `sym` whose ranges it wants."""
    check_symbol(sym)
    check_kind(quantized_dtype, quantize_granularity)
    # MXNet's programs name nodes of several networks at once
    for wrong in unknown_names(sym.entries, check_names(excluded_symbols, "excluded_symbols",
                                                        "symbols")):
        warnings.warn(f"excluded from quantization: there is no node {wrong}", stacklevel=3)
    made = quantize(sym.entries, Wanted(
        quantized_dtype, quantize_mode,
        frozenset(check_names(excluded_symbols, "excluded_symbols", "symbols")),
        frozenset(check_names(excluded_operators, "excluded_operators", "operators")),
        frozenset(offline_params or ()), quantize_granularity == "channel-wise"))
    if logger:
        for name in made.nodes:
            logger.info(f"{name} is quantized.")
    return Symbol(made.heads), made.calibrated


def _calibrate_quantized_sym(qsym: Symbol, th_dict: Table | None) -> Symbol:
    """A quantized graph with the ranges that calibration found, by names of outputs."""
    if not th_dict:
        return qsym
    return Symbol(calibrate(qsym.entries, as_numbers(th_dict)))


def _quantize_params(qsym: Symbol, params: Mapping[str, NDArray], th_dict: Table,
                     ) -> dict[str, NDArray]:
    """What a quantized graph takes of parameters: as they are, or as int8 with their ranges."""
    made: dict[str, NDArray] = {}
    ranges = as_numbers(th_dict)
    for name in qsym.list_arguments():
        plain = name.removesuffix("_quantize")
        output = name[:-len("_min")]
        if name in params:
            made[name] = params[name]
        elif plain != name and plain in params:
            param = params[plain]
            if param.dtype != FLOAT32:
                raise TypeMismatch(f"parameter {plain!r} has dtype {param.dtype}, expected "
                                   "float32: no other is quantized")
            for end, array in zip(("", "_min", "_max"), nd.contrib.quantize(
                    param, nd.min(param), nd.max(param), out_type="int8"), strict=True):
                made[name + end] = array
        elif name.endswith(("_min", "_max")) and output in ranges:
            made[name] = nd.array([ranges[output][name.endswith("_max")]])
    return made
