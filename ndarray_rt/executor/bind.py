"""Binding: from a symbol, shapes and arrays to an Executor, with all checks. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.ndarray import NDArray, check_shape, new_array
from .._array.req import Req, parse_grad_req
from ..collector import resting_collector
from ..context import Context, current_context
from ..dtypes import DType, find_dtype
from ..errors import (
    MXNetError,
    NameMismatch,
    NdrtError,
    ParameterError,
    ShapeError,
    TypeMismatch,
    name_call,
)
from ..op.registry import Shape
from ..precision import Precision, find_precision
from ..symbol.compose import arguments_and_aux, variables
from ..symbol.infer import infer_graph_shapes, infer_graph_types
from ..symbol.node import Entry
from .checks import check_arrays, check_mapping, check_names
from .executor import Executor
from .sharing import Sharing

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol


def parse_requests(grad_req: Any, names: Sequence[str]) -> dict[str, Req]:
    """A request for each argument, from a string, a list in their order, or a dict by name.

    Names that a dict leaves out get no gradient; names that are not arguments are ignored, as
    in MXNet.
    """
    if isinstance(grad_req, str):
        return dict.fromkeys(names, parse_grad_req(grad_req))
    if isinstance(grad_req, Mapping):
        return {n: parse_grad_req(grad_req.get(n, "null"), f"grad_req of {n!r}") for n in names}
    if isinstance(grad_req, (list, tuple)):
        if len(grad_req) != len(names):
            raise ParameterError(f"grad_req has {len(grad_req)} entries, expected {len(names)}, "
                                 f"one for each of: {', '.join(names)}")
        return {n: parse_grad_req(r, f"grad_req of {n!r}")
                for n, r in zip(names, grad_req, strict=True)}
    raise ParameterError(f"grad_req got {grad_req!r}, expected a string, list or dict")


def _named(given: Any, names: Sequence[str], what: str, complete: bool) -> dict[str, NDArray]:
    """Arrays by name from a list in the order of `names` or from a dict."""
    if given is None:
        given = {}
    if isinstance(given, Mapping):
        made = dict(given)
    elif isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ParameterError(f"bind: {what} has {len(given)} arrays, expected {len(names)}, "
                                 f"one for each of: {', '.join(names)}")
        made = dict(zip(names, given, strict=True))
    else:
        raise TypeMismatch(f"bind: {what} got {type(given).__name__}, expected a list or dict")
    missing = [name for name in names if made.get(name) is None]
    if missing and complete:
        raise NameMismatch(f"bind: {what} has no array for {missing[0]!r}; needed are: "
                           f"{', '.join(names)}")
    found: dict[str, NDArray] = {}
    for name in names:
        array = made.get(name)
        if array is None:
            continue
        if not isinstance(array, NDArray):
            raise TypeMismatch(f"bind: {what}[{name!r}] is a {type(array).__name__}, "
                               "expected an NDArray")
        found[name] = array
    return found


def _variable_names(symbol: Symbol) -> tuple[list[str], list[str]]:
    """`list_arguments` and `list_auxiliary_states`, from one walk through the graph."""
    args, aux = arguments_and_aux(symbol.entries)
    return [node.name for node in args], [node.name for node in aux]


def _unique(names: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise NameMismatch(f"bind: two {what} have the name {name!r}")
        seen.add(name)


@resting_collector()
def bind(symbol: Symbol, ctx: Context | None, args: Any, args_grad: Any = None,
         grad_req: Any = "write", aux_states: Any = None, group2ctx: Any = None,
         shared_exec: Executor | None = None, tune: bool = False,
         precision: str | Precision | None = None) -> Executor:
    """An Executor over the arrays given; see MXNet's Symbol.bind.

    With `tune` its first run for inference calls `Executor.tune`. `precision` is what inference
    computes in, by default what NDRT_PRECISION says (docs/precision.md).
    """
    names, aux_names = _variable_names(symbol)
    _unique([*names, *aux_names], "arguments")
    arrays = _named(args, names, "args", complete=True)
    aux = _named(aux_states, aux_names, "aux_states", complete=True)
    grads = _named(args_grad, names, "args_grad", complete=False)
    requests = parse_requests(grad_req, names)
    _group_contexts(group2ctx, "bind")
    _check_shared(shared_exec, "bind")
    for name, grad in grads.items():
        if grad.shape != arrays[name].shape:
            raise ShapeError(f"bind: args_grad[{name!r}] has shape {grad.shape}, expected "
                             f"{arrays[name].shape} from args[{name!r}]")
        if grad.dtype != arrays[name].dtype:
            raise TypeMismatch(f"bind: args_grad[{name!r}] has dtype {grad.dtype}, expected "
                               f"{arrays[name].dtype} from args[{name!r}]")
    shapes = infer_graph_shapes(symbol.entries,
                                {n: a.shape for n, a in {**arrays, **aux}.items()})
    return Executor(symbol, _context_of(ctx, "bind"), arrays, grads, requests, aux,
                    _memory_of(shared_exec), tune=bool(tune), shapes=shapes, precision=precision)


def _context_of(ctx: Any, what: str) -> Context:
    if ctx is None:
        return current_context()
    if not isinstance(ctx, Context):
        raise TypeMismatch(f"{what}: ctx got {ctx!r:.80}, expected a Context such as mx.cpu()")
    return ctx.check()


def _memory_of(shared: Executor | None) -> Sharing | None:
    """The memory of intermediate values shared with another executor of any symbol."""
    return None if shared is None else Sharing(workspace=shared._runs.work)


def _check_shared(shared: Any, what: str) -> None:
    if shared is not None and not isinstance(shared, Executor):
        raise TypeMismatch(f"{what}: shared_exec got a {type(shared).__name__}, expected an "
                           "Executor")


@resting_collector()
def simple_bind(symbol: Symbol, ctx: Context | None, grad_req: Any = "write",
                type_dict: Mapping[str, Any] | None = None, stype_dict: Any = None,
                group2ctx: Any = None, shared_arg_names: Iterable[str] | None = None,
                shared_exec: Executor | None = None,
                shared_buffer: dict[str, NDArray] | None = None, tune: bool = False,
                precision: str | Precision | None = None, **shapes: Any) -> Executor:
    """An Executor over new zeroed arrays, their shapes inferred from those given by name.

    With `tune` its first run for inference calls `Executor.tune`. `precision` is what inference
    computes in, by default what NDRT_PRECISION says (docs/precision.md).
    """
    precision = find_precision(precision, "simple_bind")
    ctx = _context_of(ctx, "simple_bind")
    names, aux_names = _variable_names(symbol)
    _unique([*names, *aux_names], "arguments")
    for stype in check_mapping("simple_bind: stype_dict", stype_dict).values():
        if stype != "default":
            raise MXNetError(f"simple_bind: storage type {stype!r} is not available, "
                             "only 'default'")
    _check_shared(shared_exec, "simple_bind")
    known = {*names, *aux_names}
    # keyword arguments that are neither arguments nor shapes are ignored, as in MXNet
    given = {name: check_shape(shape, f"simple_bind: {name}") for name, shape in shapes.items()
             if name in known or isinstance(shape, (tuple, list))}
    for name in given:
        if name not in known:
            raise NameMismatch(f"simple_bind: {name!r} is no argument; there are: "
                               f"{', '.join([*names, *aux_names])}")
    table, of_name = _inferred_shapes(symbol, given, [*names, *aux_names], "simple_bind")
    arg_types, aux_types = _inferred_types(
        symbol, check_mapping("simple_bind: type_dict", type_dict), names, aux_names)
    requests = parse_requests(grad_req, names)
    if shared_buffer is not None:
        check_arrays("simple_bind: shared_buffer", shared_buffer)
    shared_names = check_names("simple_bind: shared_arg_names", shared_arg_names or ())
    reuse = _Reuse(ctx, _places(symbol, _group_contexts(group2ctx, "simple_bind")), shared_exec,
                   set(shared_names), shared_buffer)
    args = {n: reuse.array(n, of_name[n], t) for n, t in zip(names, arg_types, strict=True)}
    grads = {n: reuse.grad(n, args[n]) for n in names if requests[n] != Req.kNullOp}
    aux = {n: reuse.aux(n, of_name[n], t) for n, t in zip(aux_names, aux_types, strict=True)}
    return Executor(symbol, ctx, args, grads, requests, aux, _memory_of(shared_exec),
                    tune=bool(tune), shapes=table, precision=precision)


def _inferred_shapes(symbol: Symbol, given: Mapping[str, tuple[int, ...]], names: Sequence[str],
                     what: str) -> tuple[dict[Entry, Shape | None], dict[str, tuple[int, ...]]]:
    """The shape of each entry, and those of the variables by name, all of which must be known.

    ShapeError, whose text begins with `what`, if one is not.
    """
    table = infer_graph_shapes(symbol.entries, given)
    found = {entry.node.name: shape for entry, shape in table.items() if entry.node.is_variable}
    made: dict[str, tuple[int, ...]] = {}
    for name in names:
        shape = found.get(name)
        if shape is None or -1 in shape:
            raise ShapeError(f"{what}: the shape of {name!r} can not be inferred "
                             f"(known: {shape}) from {dict(given)}")
        made[name] = shape
    return table, made


def _inferred_types(symbol: Symbol, given: Mapping[str, Any], names: Sequence[str],
                    aux_names: Sequence[str]) -> tuple[list[DType], list[DType]]:
    known = {name: find_dtype(value) for name, value in given.items()}
    for name in known:
        if name not in names and name not in aux_names:
            raise NameMismatch(f"simple_bind: type_dict has {name!r}, which is no argument")
    found = {entry.node.name: dtype for entry, dtype in
             infer_graph_types(symbol.entries, known).items() if entry.node.is_variable}
    float32 = np.dtype(np.float32)
    return ([found.get(n) or float32 for n in names], [found.get(n) or float32 for n in aux_names])


def _group_contexts(given: Any, what: str) -> dict[str, Context]:
    """The context of each group of variables (attribute ctx_group)."""
    return {group: _context_of(ctx, f"{what}: group2ctx[{group!r}]")
            for group, ctx in check_mapping(f"{what}: group2ctx", given).items()}


def _places(symbol: Symbol, contexts: Mapping[str, Context]) -> dict[str, Context]:
    """The contexts of variables that belong to a group, by name."""
    found = {}
    for node in variables(symbol.entries):
        context = contexts.get(node.attrs.get("__ctx_group__", ""))
        if context is not None:
            found[node.name] = context
    return found


class _Reuse:
    """Arrays for simple_bind: those of a shared executor and buffer that fit, else new ones.

    `places` are the contexts of new arrays, by name, that are not `ctx`.
    """

    def __init__(self, ctx: Context, places: Mapping[str, Context], shared: Executor | None,
                 names: set[str], buffer: dict[str, NDArray] | None) -> None:
        self.ctx = ctx
        self.places = places
        self.shared = shared
        self.names = names
        self.buffer = buffer

    def array(self, name: str, shape: tuple[int, ...], dtype: DType) -> NDArray:
        if name in self.names:  # a parameter; the buffer is for inputs
            found = None if self.shared is None else self.shared.arg_dict.get(name)
            if found is not None and found.shape == shape and found.dtype == dtype:
                return found
            return self._new(name, shape, dtype)
        if self.buffer is not None:
            found = self.buffer.get(name)
            if found is not None and found.dtype == dtype and found.size >= prod(shape):
                return found if found.shape == shape else found._view_as(shape)
            self.buffer[name] = self._new(name, shape, dtype)
            return self.buffer[name]
        return self._new(name, shape, dtype)

    def grad(self, name: str, arg: NDArray) -> NDArray:
        if self.shared is not None and name in self.names:
            found = self.shared.grad_dict.get(name)
            if found is not None and found.shape == arg.shape and found.dtype == arg.dtype:
                return found
        return self._new(name, arg.shape, arg.dtype)

    def aux(self, name: str, shape: tuple[int, ...], dtype: DType) -> NDArray:
        if self.shared is not None:
            found = self.shared.aux_dict.get(name)
            if found is not None and found.shape == shape and found.dtype == dtype:
                return found
        return self._new(name, shape, dtype)

    def _new(self, name: str, shape: tuple[int, ...], dtype: DType) -> NDArray:
        return new_array(shape, dtype, self.places.get(name, self.ctx), zero=True)


@resting_collector()
def reshape_executor(old: Executor, partial_shaping: bool, allow_up_sizing: bool,
                     given: Mapping[str, Any]) -> Executor:
    """`Executor.reshape`."""
    symbol = old.symbol
    shapes = {name: check_shape(shape, f"reshape: {name}") for name, shape in given.items()}
    for name in shapes:
        if name not in old.arg_dict:
            raise NameMismatch(f"reshape: {name!r} is no argument of this symbol")
    names, aux_names = _variable_names(symbol)
    try:
        table, of_name = _inferred_shapes(symbol, shapes, [*names, *aux_names], "reshape")
    except NdrtError as error:
        name_call(error, "reshape")
        raise

    def fitted(name: str, array: NDArray, shape: tuple[int, ...], named: bool) -> NDArray:
        if array.shape == shape:
            return array
        if not named and not partial_shaping:
            raise ShapeError(f"reshape: the shape of {name!r} changes from {array.shape} to "
                             f"{shape} though it was not named: use partial_shaping=True")
        if prod(shape) <= array.size:
            return array._view_as(shape)
        if not allow_up_sizing:
            raise ShapeError(f"reshape: {name!r} grows from {array.shape} to {shape}: use "
                             "allow_up_sizing=True for new memory")
        return new_array(shape, array.dtype, array.ctx, zero=True)

    args, grads = {}, {}
    for name in names:
        args[name] = fitted(name, old.arg_dict[name], of_name[name], name in shapes)
        grad = old.grad_dict.get(name)
        if grad is not None:
            grads[name] = fitted(name, grad, of_name[name], name in shapes)
    aux = {name: fitted(name, old.aux_dict[name], of_name[name], False) for name in aux_names}
    made = Executor(symbol, old.context, args, grads, old.requests, aux, old._sharing(),
                    shapes=None if old._bound.is_replaced else table, precision=old.precision)
    made._bound.borrowed.update(old.borrowed)
    made.set_watch(old._runs.monitor)
    return made


def evaluate(symbol: Symbol, ctx: Context | None = None, **kwargs: NDArray) -> list[NDArray]:
    """The outputs of a symbol for the arrays given by name, once."""
    known = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    for name in kwargs:
        if name not in known:
            raise NameMismatch(f"eval: {name!r} is no argument; there are: {', '.join(known)}")
    executor = bind(symbol, ctx, kwargs, grad_req="null",
                    aux_states={n: kwargs[n] for n in symbol.list_auxiliary_states()
                                if n in kwargs})
    return executor.forward()
