"""Dynamic quantization: 8-bit weights of dense layers, data rounded when they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from ...context import Context
from ...dtypes import FLOAT32
from ...errors import ParameterError, TypeMismatch, shown
from ...executor import evaluate
from ...executor.calibration.collectors import Logger
from ...executor.calibration.options import check_kind, check_names
from ...gluon import HybridBlock, SymbolBlock
from ...passes.quantize_dynamic import quantize_dynamic as quantized_layers
from ...passes.quantize_dynamic import with_variables
from ...symbol.symbol import Symbol
from .inputs import described
from .model import CPU, Params, check_context
from .net import as_block, traced, values_of
from .symbols import check_arrays


@overload
def quantize_dynamic(model: Symbol, arg_params: Params, *, quantized_dtype: str = "auto",
                     excluded_sym_names: list[str] | None = None,
                     excluded_op_names: list[str] | None = None, logger: Logger = None,
                     ) -> tuple[Symbol, Params]: ...
@overload
def quantize_dynamic(model: HybridBlock, *, data_shapes: Sequence[Any],
                     quantized_dtype: str = "auto", excluded_sym_names: list[str] | None = None,
                     excluded_op_names: list[str] | None = None, ctx: Any = CPU,
                     logger: Logger = None) -> SymbolBlock: ...


def quantize_dynamic(model: Any, arg_params: Params | None = None, *,
                     data_shapes: Sequence[Any] | None = None, quantized_dtype: str = "auto",
                     excluded_sym_names: list[str] | None = None,
                     excluded_op_names: list[str] | None = None, ctx: Any = CPU,
                     logger: Logger = None) -> Any:
    """A model whose dense layers have 8-bit weights and round their data when they come.

    No data for calibration is needed: each row is rounded in its own range. Layers are
    FullyConnected, and dot with a matrix of parameters; all else stays on floats.

    Parameters
    ----------
    model : a Symbol, or a HybridBlock with initialized parameters, which keeps them.
    arg_params : the parameters of a Symbol. Those of layers must be float32.
    data_shapes : DataDesc or (name, shape) of each input of a block.
    quantized_dtype : what data become: "int8", around 0; "uint8" or "auto": with a zero point.
    excluded_sym_names, excluded_op_names : nodes and operators that stay on floats.
    ctx, logger : where parameters of a block are; gets the names of layers.

    Returns (symbol, parameters), or a SymbolBlock. Raises TypeMismatch for another model,
    ParameterError for arguments that can not be meant.
    """
    names = check_names(excluded_sym_names, "excluded_sym_names", "symbols")
    operators = check_names(excluded_op_names, "excluded_op_names", "operators")
    check_kind(quantized_dtype, "tensor-wise")
    dtype = "int8" if quantized_dtype == "int8" else "uint8"
    if isinstance(model, HybridBlock):
        check_context(ctx)
        if data_shapes is None:
            raise ParameterError("data_shapes required")
        graph, inputs = traced(model, described("data_shapes", data_shapes), ctx)
        args, aux = values_of(model, graph)
        made, params = _quantized(graph, args, dtype, names, operators, ctx, logger)
        return as_block(made, inputs, {**params, **aux}, ctx)
    if not isinstance(model, Symbol):
        raise TypeMismatch(f"model is {shown(model)}, expected a Symbol or a HybridBlock")
    return _quantized(model, check_arrays("arg_params", arg_params), dtype, names, operators, CPU,
                      logger)


def _quantized(graph: Symbol, args: Params, dtype: str, names: Sequence[str],
               operators: Sequence[str], ctx: Context, logger: Logger) -> tuple[Symbol, Params]:
    made = quantized_layers(
        graph.entries, {name: value.shape for name, value in args.items()
                        if value.dtype == FLOAT32}, dtype, names, operators)
    if logger:
        for name in made.nodes:
            logger.info(f"{name} is quantized.")
    heads, weights = with_variables(made.heads)
    taken = sorted({*graph.list_inputs()} & weights.keys())
    if taken:
        raise ParameterError(f"the name of the input {taken[0]!r} is needed for 8-bit weights")
    done = Symbol(heads)
    found = {name: args[name] for name in done.list_arguments() if name in args}
    for name, entry in weights.items():
        source = entry.node.inputs[0].node.name
        found[name], = evaluate(Symbol([entry]), ctx, **{source: args[source]})
    return done, found
