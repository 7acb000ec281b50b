"""SymbolBlock: a block made of a symbol, such as one read from a file."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ... import sym
from ...dtypes import find_dtype, is_half
from ...errors import MXNetError, TypeMismatch, shown
from ...nd import NDArray
from ...symbol.symbol import Symbol
from ..errors import Mismatch
from ..parameter import ParameterDict
from .formats import flatten, regroup
from .hybrid_block import HybridBlock

# what normalisation keeps in float32
_NORM_STATES = {"running_var": "running_mean", "moving_var": "moving_mean"}


class SymbolBlock(HybridBlock):
    """A block that computes `outputs` from `inputs`; the other variables are its parameters.

    Parameters
    ----------
    outputs : Symbol or list of Symbols
    inputs : Symbol or list of Symbols
        Variables of the graph.
    params : ParameterDict
        Where parameters are found by name, before new ones are made.
    """

    def __init__(self, outputs: Any, inputs: Any, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=None, params=None)
        self._prefix = ""
        self._params = ParameterDict("", params)
        if isinstance(inputs, Symbol) and len(inputs.list_outputs()) == 1:
            inputs = [inputs]
        if isinstance(outputs, (list, tuple)) and len(outputs) == 1:
            outputs = outputs[0]
        variables, self._in_format = flatten(inputs, "input")
        results, self._out_format = flatten(outputs, "output")
        for variable in variables:
            if len(variable.get_internals().list_outputs()) != 1:
                raise Mismatch(f"Input symbols must be variable, but {variable} is an output of "
                               "operators")
        out = sym.Group(results) if len(results) > 1 else results[0]
        for node in out.get_internals():
            if node.attr("__storage_type__") == "1":
                raise Mismatch(f"SymbolBlock doesn't support Parameter '{node.name}' because its "
                               "storage type is 'row_sparse'.")
        names = {variable.name for variable in variables}
        arguments, states = out.list_arguments(), out.list_auxiliary_states()
        argument_types, state_types = _types(variables, out, len(arguments), len(states))
        for name, dtype in zip(arguments, argument_types, strict=True):
            if name not in names:
                self.params.get(name, allow_deferred_init=True, dtype=dtype)
        for name, dtype in zip(states, state_types, strict=True):
            if name not in names:
                self.params.get(name, grad_req="null", allow_deferred_init=True, dtype=dtype)
        self._cached_graph = variables, out
        length = _common_prefix(list(self._params))
        self._reg_params = {name[length:]: param for name, param in self._params.items()}

    @staticmethod
    def imports(symbol_file: str, input_names: Any, param_file: str | None = None,
                ctx: Any = None, allow_missing: bool = False,
                ignore_extra: bool = False) -> SymbolBlock:
        """The block that `export` (or a checkpoint) has written.

        Parameters
        ----------
        symbol_file : str
            `...-symbol.json`.
        input_names : str or list of str
            Names of the variables that are data.
        param_file : str
            `...-0000.params`; without it the parameters are not initialized.
        ctx : Context or list of them
        allow_missing, ignore_extra : bool
            Parameters that the file has not, or has besides, are no error.
        """
        graph = sym.load(symbol_file)
        if isinstance(input_names, str):
            input_names = [input_names]
        dtype = np.float32 if param_file is None else None
        made = SymbolBlock(graph, [sym.var(name, dtype=dtype) for name in input_names])
        if param_file is not None:
            made.collect_params().load(param_file, ctx, allow_missing, ignore_extra,
                                       cast_dtype=True, dtype_source="saved")
        return made

    def __repr__(self) -> str:
        inputs, out = self._cached_graph
        return (f"{type(self).__name__}(\n{out} : {len(inputs)} -> "
                f"{len(out.list_outputs())}\n)")

    def _clear_cached_op(self) -> None:
        # the graph can not be traced again
        graph = getattr(self, "_cached_graph", ())
        super()._clear_cached_op()
        self._cached_graph = graph

    def cast(self, dtype: Any) -> None:
        """Another dtype for all parameters; to 16 bits not for those of batch normalisation."""
        super().cast(dtype)
        if not is_half(find_dtype(dtype)):
            return
        names = self._cached_graph[1].list_inputs()
        for name in names:
            for variance, mean in _NORM_STATES.items():
                prefix = name.removesuffix(variance)
                family = [prefix + part for part in (variance, mean, "gamma", "beta")]
                if prefix != name and all(member in names for member in family):
                    for member in family:
                        self.params.get(member).cast("float32")

    def forward(self, x: Any, *args: Any) -> Any:
        """Runs the graph on arrays, or puts symbols in the place of its inputs."""
        if isinstance(x, NDArray):
            return self._call_cached_op(x, *args)
        if not isinstance(x, Symbol):
            raise TypeMismatch("HybridBlock requires the first argument to forward be either "
                               f"Symbol or NDArray, but got {shown(x)}")
        given, form = flatten([x, *args], "input")
        if form != self._in_format:
            raise Mismatch(f"Invalid input format: got {form}, expected {self._in_format}")
        variables, out = self._cached_graph
        made = copy.copy(out)
        made._compose(**{variable.name: value
                         for variable, value in zip(variables, given, strict=True)})
        return regroup(list(made), self._out_format)

    def reset_ctx(self, ctx: Any) -> None:
        """Moves all parameters to a context or several ones; those of a backend too."""
        params = {param.name: param for is_data, param in self._cached_op_args if not is_data}
        params.update(self.collect_params().items())
        for param in params.values():
            param.reset_ctx(ctx)


def _types(inputs: list[Any], out: Symbol, num_arguments: int,
           num_states: int) -> tuple[list[Any], list[Any]]:
    """Dtypes of arguments and aux states where they follow from the inputs', else float32."""
    arguments: Any = None
    states: Any = None
    known = {}
    for variable in inputs:
        found = variable.infer_type_partial()[0]
        if found and found[0] is not None:
            known[variable.name] = found[0]
    if len(known) == len(inputs):
        try:
            arguments, _, states = out.infer_type_partial(**known)
        except MXNetError:
            arguments = states = None
    return (_or_float32(arguments, num_arguments), _or_float32(states, num_states))


def _or_float32(found: Any, count: int) -> list[Any]:
    types = list(found) if found is not None else [None] * count
    return [np.float32 if dtype is None else dtype for dtype in types]


def _common_prefix(names: list[str]) -> int:
    """How many characters all names begin with together."""
    first, last = min(names, default=""), max(names, default="")
    return next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b),
                min(len(first), len(last)))
