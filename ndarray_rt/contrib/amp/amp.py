"""Automatic mixed precision, the functions. Source: MXNet's contrib.amp.amp."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from ... import nd
from ... import sym as sym_module
from ...context import Context, cpu
from ...dtypes import FLOAT16, FLOAT32, DType, find_dtype
from ...errors import MXNetError, ParameterError, TypeMismatch, shown
from ...gluon import HybridBlock, SymbolBlock, Trainer
from ...module import BucketingModule
from ...nd import NDArray
from ...op.registry import REGISTRY, find
from ...optimizer import Optimizer
from ...public import shows
from ...symbol.symbol import Symbol
from . import casting, lists
from .loss_scaler import LossScaler
from .reduce_precision import Wanted, mark_params, reduce_precision

__all__ = [
    "convert_bucketing_module", "convert_hybrid_block", "convert_model", "convert_symbol", "init",
    "init_trainer", "list_conditional_fp32_ops", "list_fp32_ops", "list_loss_output_functions",
    "list_lp16_fp32_ops", "list_lp16_ops", "list_lp16_use_fp32_params", "list_widest_type_cast",
    "lists", "scale_loss", "unscale"]
__dir__ = shows(globals())

Conditional = Sequence[tuple[str, str, Sequence[str]]]
# functions of `nd`, and signs, of two arrays that no operator's name stands for
OF_TWO_ARRAYS = ("add", "subtract", "multiply", "divide", "true_divide", "modulo", "power",
                 "maximum", "minimum", "hypot", "equal", "not_equal", "greater", "greater_equal",
                 "lesser", "lesser_equal", "logical_and", "logical_or", "logical_xor")
SIGNS = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "mod", "rmod", "pow",
         "rpow", "eq", "ne", "gt", "ge", "lt", "le")


class _State:
    """What `init` and `init_trainer` have done in this process."""

    def __init__(self) -> None:
        self.casting: casting.Casting | None = None
        # of the first trainer, and of losses that are operators
        self.scaler = LossScaler()
        self.is_scaler_taken = False


_state = _State()


def _reset() -> None:
    """Makes operators what they were before `init`."""
    if _state.casting is not None:
        _state.casting.remove()
    _state.__init__()  # type: ignore[misc]


# ---- lists -------------------------------------------------------------------------------------


def _low_dtype(target_dtype: Any) -> DType:
    dtype = find_dtype(target_dtype)
    if dtype != FLOAT16 and dtype.name != "bfloat16":
        raise ParameterError(f"amp: target_dtype is {dtype}, expected float16 or bfloat16")
    return dtype


def _lists(target_dtype: Any) -> ModuleType:
    return lists.symbol_fp16 if _low_dtype(target_dtype) == FLOAT16 else lists.symbol_bf16


def _list(target_dtype: Any, name: str) -> list[Any]:
    found: list[Any] = getattr(_lists(target_dtype), name)
    return found


def list_lp16_ops(target_dtype: Any) -> list[str]:
    """Operators that run in 16 bits."""
    return _list(target_dtype, "FP16_FUNCS" if _low_dtype(target_dtype) == FLOAT16
                 else "BF16_FUNCS")


def list_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in float32."""
    return _list(target_dtype, "FP32_FUNCS")


def list_lp16_fp32_ops(target_dtype: Any) -> list[str]:
    """Operators that run in the dtype that comes."""
    return _list(target_dtype, "FP16_FP32_FUNCS" if _low_dtype(target_dtype) == FLOAT16
                 else "BF16_FP32_FUNCS")


def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """(operator, parameter, its values) of operators that run in float32 with these values."""
    return _list(target_dtype, "CONDITIONAL_FP32_FUNCS")


def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """Operators that run in the widest dtype of their inputs."""
    return _list(target_dtype, "WIDEST_TYPE_CASTS")


def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """Losses that are operators."""
    return _list(target_dtype, "LOSS_OUTPUT_FUNCTIONS")


def list_lp16_use_fp32_params(target_dtype: Any) -> dict[str, list[str]] | None:
    """Operators with inputs that stay float32: "" for one that does not, else its name."""
    if _low_dtype(target_dtype) == FLOAT16:
        return None
    found: dict[str, list[str]] = lists.symbol_bf16.BF16_USE_FP32_PARAMS
    return found


# ---- training ----------------------------------------------------------------------------------


def init(target_dtype: Any = "float16", target_precision_ops: Sequence[str] | None = None,
         conditional_fp32_ops: Conditional | None = None,
         fp32_ops: Sequence[str] | None = None) -> None:
    """Makes operators of `mx.nd` and `mx.sym` cast their inputs, once for the whole process.

    Call it before networks are built. Calls after the first do nothing.

    Parameters
    ----------
    target_dtype : 'float16' or 'bfloat16'
    target_precision_ops, fp32_ops : list of str
        Operators that run in `target_dtype` and in float32, instead of those of the lists.
    conditional_fp32_ops : list of (str, str, list of str)
        Operator, parameter, and its values with which the operator runs in float32.

    Raises ParameterError for another dtype, TypeMismatch for lists that are none; then nothing has
    changed.
    """
    if _state.casting is not None:
        return
    low = _low_dtype(target_dtype)
    low_ops = _names("target_precision_ops", target_precision_ops, list_lp16_ops(low))
    in_float32 = _names("fp32_ops", fp32_ops, list_fp32_ops(low))
    conditional = _conditions(list_conditional_fp32_ops(low) if conditional_fp32_ops is None
                              else conditional_fp32_ops)
    widest = list_widest_type_cast(low)
    stays = list_lp16_use_fp32_params(low) or {}
    logging.info("Using AMP")
    made = casting.Casting()
    _state.casting = made
    for name in low_ops:
        made.replace(name, casting.arrays_to(low, stays.get(name, ())))
    for name in in_float32:
        made.replace(name, casting.arrays_to(FLOAT32))
    for name, rules in conditional.items():
        for rule in rules:
            made.replace(name, casting.arrays_to(FLOAT32, condition=rule))
    to_widest = casting.arrays_to_widest(low)
    for name in widest:
        made.replace(name, to_widest)
    for name in OF_TWO_ARRAYS:
        made.put(nd, name, to_widest)
    for name in SIGNS:
        made.put(nd.NDArray, f"__{name}__", to_widest)
    made.change_nodes(casting.NodeCasting(
        _wanted(low, low_ops, in_float32, conditional, []), stays))
    scaler = _state.scaler
    for name in list_loss_output_functions(low):
        made.replace(name, casting.scaled_losses(lambda: scaler.loss_scale))
        made.replace(name, casting.unscaled_losses, sym_module)


def init_trainer(optimizer_or_trainer: Any) -> None:
    """Gives a gluon Trainer a dynamic loss scale: steps with gradients that are not finite are left
    out.

    Raises MXNetError before `init`, TypeMismatch for what is no Trainer.
    """
    if _state.casting is None:
        raise MXNetError("AMP not initialized, did you forget to call amp.init()?")
    trainer = _trainer(optimizer_or_trainer)
    trainer._amp_loss_scaler = LossScaler() if _state.is_scaler_taken else _state.scaler
    _state.is_scaler_taken = True
    trainer._amp_original_scale = trainer._scale


def _trainer(given: Any) -> Any:
    if isinstance(given, Trainer):
        return given
    if isinstance(given, Optimizer):
        raise TypeMismatch("AMP is currently only compatible with Gluon Trainer")
    raise TypeMismatch("optimizer_or_trainer should be a Gluon Trainer or an optimizer, instead is "
                       f"{shown(given)}")


@contextlib.contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """The loss, or the list of losses, times the trainer's loss scale, to call backward on.

    The trainer's next step divides gradients by it. Raises MXNetError before `init_trainer`,
    TypeMismatch for a loss that is no NDArray.
    """
    trainer = optimizer_or_trainer
    scaler = getattr(trainer, "_amp_loss_scaler", None)
    if scaler is None:
        raise MXNetError("Loss scaler is not initialized, did you forget to call "
                         "amp.init_trainer()?")
    losses = loss if isinstance(loss, (list, tuple)) else [loss]
    for one in losses:
        if not isinstance(one, NDArray):
            raise TypeMismatch(f"scale_loss: a loss is of {type(one).__name__}, expected an "
                               "NDArray or a list of them")
    trainer._scale = trainer._amp_original_scale / scaler.loss_scale
    scaled = [one * scaler.loss_scale for one in losses]
    yield scaled if isinstance(loss, (list, tuple)) else scaled[0]


def unscale(optimizer_or_trainer: Any) -> None:
    """Divides gradients by the loss scale now, for those who look at them before the step."""
    trainer = _trainer(optimizer_or_trainer)
    for param in trainer._params:
        if param.grad_req != "null":
            for grad in param.list_grad():
                grad[:] *= trainer._scale
    trainer._scale = 1.0


# ---- inference ---------------------------------------------------------------------------------


def convert_symbol(sym: Symbol, target_dtype: Any = "float16",
                   target_dtype_ops: Sequence[str] | None = None,
                   fp32_ops: Sequence[str] | None = None,
                   conditional_fp32_ops: Conditional | None = None,
                   excluded_sym_names: Sequence[str] | None = None,
                   data_names: Sequence[str] | None = None,
                   cast_optional_params: bool = False) -> Symbol:
    """A graph with casts around the operators that run in 16 bits; outputs are float32.

    Parameters
    ----------
    sym : Symbol
        A graph in float32.
    target_dtype : 'float16' or 'bfloat16'
    target_dtype_ops, fp32_ops : list of str
        Operators that run in `target_dtype` and in float32, instead of those of the lists.
    conditional_fp32_ops : list of (str, str, list of str)
        Operator, parameter, and its values with which the operator runs in float32.
    excluded_sym_names : list of str
        Nodes that stay float32.
    data_names : list of str
        Variables that are data; by default those without a dtype noted.
    cast_optional_params : bool
        Parameters that nobody wants in float32 are to be given in `target_dtype`; what each is to
        be is noted on its variable. Else they are cast in the graph.

    Raises ParameterError for another dtype, TypeMismatch (an AssertionError, as MXNet's) for lists
    that are none, have an operator in common, or name one that can not be chosen.
    """
    if not isinstance(sym, Symbol):
        raise _BadArgument(f"convert_symbol: sym is {shown(sym)}, expected a Symbol")
    low = _low_dtype(target_dtype)
    low_ops = _names("target_dtype_ops", target_dtype_ops, list_lp16_ops(low))
    in_float32 = _names("fp32_ops", fp32_ops, list_fp32_ops(low))
    excluded = _names("excluded_sym_names", excluded_sym_names, [])
    conditional = _conditions(list_conditional_fp32_ops(low) if conditional_fp32_ops is None
                              else conditional_fp32_ops)
    _check_lists(low, {"target_dtype_ops": low_ops, "fp32_ops": in_float32,
                       "conditional_fp32_ops": list(conditional)})
    attrs = sym.attr_dict()
    inputs = sym.list_inputs()
    if data_names is not None:
        data_names = _names("data_names", list(data_names) if isinstance(data_names, (tuple, set))
                            else data_names, ())
    else:
        data_names = [name for name in inputs if "__dtype__" not in attrs.get(name, {})]
    wanted = _wanted(low, low_ops, in_float32, conditional, excluded)
    heads = reduce_precision(sym.entries, wanted, frozenset(data_names), cast_optional_params)
    mark_params(heads, low, data_names, set(inputs) - set(data_names), cast_optional_params)
    return Symbol(heads)


def _wanted(low: DType, low_ops: Sequence[str], in_float32: Sequence[str],
            conditional: Mapping[str, Sequence[tuple[str, Sequence[str]]]],
            excluded: Sequence[str]) -> Wanted:
    widest = list_widest_type_cast(low)
    listed = {*low_ops, *in_float32, *list_lp16_fp32_ops(low), *widest, *conditional}
    return Wanted(low, _ops(low_ops, listed), _ops(in_float32, listed), _ops(widest, listed),
                  {find(name).name: rules for name, rules in conditional.items()
                   if name in REGISTRY}, frozenset(excluded))


class _BadArgument(TypeMismatch, AssertionError):
    """MXNet asserts these."""


def _names(what: str, given: Sequence[str] | None, default: Sequence[str]) -> list[str]:
    if given is None:
        return list(default)
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise _BadArgument(f"amp: {what} is {shown(given)}, expected a list of strs")
    return given


def _conditions(given: Conditional) -> dict[str, list[tuple[str, Sequence[str]]]]:
    made: dict[str, list[tuple[str, Sequence[str]]]] = {}
    if not isinstance(given, list):
        raise _BadArgument(f"amp: conditional_fp32_ops is {shown(given)}, expected a list")
    for one in given:
        try:
            name, key, values = one
        except (TypeError, ValueError):
            name = key = values = None
        if not (isinstance(name, str) and isinstance(key, str) and isinstance(values, list)):
            raise _BadArgument("amp: conditional_fp32_ops should be a list of (str, str, list of "
                               f"str), got {shown(one)}")
        made.setdefault(name, []).append((key, values))
    return made


def _check_lists(low: DType, given: Mapping[str, Sequence[str]]) -> None:
    """_BadArgument for an operator in two lists, and for one that may be in none."""
    known = {*list_lp16_ops(low), *list_fp32_ops(low), *list_lp16_fp32_ops(low),
             *(name for name, _, _ in list_conditional_fp32_ops(low))}
    where: dict[str, str] = {}
    for what, names in given.items():
        for name in names:
            if where.setdefault(name, what) != what:
                raise _BadArgument(f"convert_symbol: operator {name!r} is in {where[name]} and in "
                                   f"{what}; lists may not have one in common")
            if name not in known:
                raise _BadArgument(
                    f"convert_symbol: {what} has {name!r}, expected operators of "
                    "amp.list_lp16_ops, list_fp32_ops, list_lp16_fp32_ops or "
                    f"list_conditional_fp32_ops of {low}")


def _ops(names: Sequence[str], listed: Collection[str]) -> frozenset[str]:
    """Operators' own names for names; an alias counts where the own name is in no list."""
    found = [(name, find(name).name) for name in names if name in REGISTRY]
    return frozenset(own for name, own in found if name == own or own not in listed)


def _cast_params(sym: Symbol, names: Sequence[str], params: dict[str, Any]) -> None:
    """Casts parameters to the dtypes noted on the variables of a converted graph."""
    attrs = sym.attr_dict()
    for name in names:
        noted = attrs.get(name, {}).get("__dtype__", "-1")
        if name in params and noted != "-1":
            params[name] = params[name].astype(find_dtype(int(noted)), copy=False)


def convert_model(sym: Symbol, arg_params: dict[str, Any], aux_params: dict[str, Any],
                  target_dtype: Any = "float16", target_dtype_ops: Sequence[str] | None = None,
                  fp32_ops: Sequence[str] | None = None,
                  conditional_fp32_ops: Conditional | None = None,
                  excluded_sym_names: Sequence[str] | None = None,
                  cast_optional_params: bool = False,
                  ) -> tuple[Symbol, dict[str, Any], dict[str, Any]]:
    """(graph, arguments, auxiliary states) of a model in mixed precision.

    Parameters are those of `convert_symbol`; every variable that is no parameter is data. The dicts
    are those given, with other arrays in them.
    """
    for value, kind, what in ((sym, Symbol, "sym"), (arg_params, dict, "arg_params"),
                              (aux_params, dict, "aux_params")):
        if not isinstance(value, kind):
            raise _BadArgument(f"convert_model: {what} is {shown(value)}, expected a "
                               f"{kind.__name__}")
    data = [name for name in sym.list_inputs()
            if name not in arg_params and name not in aux_params]
    made = convert_symbol(sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops,
                          excluded_sym_names, data, cast_optional_params)
    _cast_params(made, made.list_arguments(), arg_params)
    _cast_params(made, made.list_auxiliary_states(), aux_params)
    return made, arg_params, aux_params


def convert_hybrid_block(block: Any, target_dtype: Any = "float16",
                         target_dtype_ops: Sequence[str] | None = None,
                         fp32_ops: Sequence[str] | None = None,
                         conditional_fp32_ops: Conditional | None = None,
                         excluded_sym_names: Sequence[str] | None = None,
                         ctx: Context | None = None,
                         cast_optional_params: bool = False) -> Any:
    """A SymbolBlock in mixed precision with the parameters of a block that has run hybridized.

    Parameters are those of `convert_symbol`; `ctx` is where its parameters are to be, the CPU.
    Raises MXNetError for a block that has not run.
    """
    if not isinstance(block, HybridBlock):
        raise _BadArgument(f"convert_hybrid_block: block is {shown(block)}, expected a HybridBlock")
    if not block._cached_graph:
        raise MXNetError("Please first call block.hybridize() and then run forward with this block "
                         "at least once before calling export.")
    inputs, graph = block._cached_graph
    made = convert_symbol(graph, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops,
                          excluded_sym_names, [one.name for one in inputs], cast_optional_params)
    found = {name: param._reduce() for name, param in block.collect_params().items()}
    _cast_params(made, made.list_inputs(), found)
    result = SymbolBlock(made, inputs)
    for name, param in result.collect_params().items():
        if name in found and find_dtype(param.dtype) != find_dtype(found[name].dtype):
            param.cast(found[name].dtype)
    result.collect_params().load_dict(found, cpu() if ctx is None else ctx)
    return result


def convert_bucketing_module(bucketing_mod: Any, target_dtype: Any = "float16",
                             target_dtype_ops: Sequence[str] | None = None,
                             fp32_ops: Sequence[str] | None = None,
                             conditional_fp32_ops: Conditional | None = None,
                             excluded_sym_names: Sequence[str] | None = None,
                             cast_optional_params: bool = False) -> BucketingModule:
    """A BucketingModule in mixed precision, with the parameters of one that has them.

    Parameters are those of `convert_symbol`.
    """
    if not isinstance(bucketing_mod, BucketingModule) or not bucketing_mod._buckets:
        raise _BadArgument("convert_bucketing_module: expected a BucketingModule that is bound, "
                           f"got {shown(bucketing_mod)}")
    if not bucketing_mod.params_initialized:
        raise _BadArgument("convert_bucketing_module: parameters of bucketing_mod should be "
                           "initialized")
    args, aux = bucketing_mod.get_params()
    graphs = {}
    for key, module in bucketing_mod._buckets.items():
        graphs[key], args, aux = convert_model(
            module.symbol, args, aux, target_dtype, target_dtype_ops, fp32_ops,
            conditional_fp32_ops, excluded_sym_names, cast_optional_params)
    return BucketingModule.load_dict(
        graphs, bucketing_mod._sym_gen, bucketing_mod._default_bucket_key, args, aux,
        **bucketing_mod._options)
