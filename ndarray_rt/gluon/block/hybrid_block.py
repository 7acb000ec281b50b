"""HybridBlock: a block that can run as one graph, through a CachedOp."""

from __future__ import annotations

import warnings
from typing import Any

from ... import nd, sym
from ...context import Context, current_context
from ...errors import MXNetError, ParameterError
from ...nd import NDArray
from ...precision import find_precision
from ...symbol.contrib_functions import DynamicShape
from ...symbol.naming import AttrScope
from ...symbol.node import USE_ONEDNN
from ...symbol.symbol import Symbol
from ..errors import DeferredInitializationError
from ..parameter import Parameter, ParameterDict
from .block import Block
from .formats import flatten, kinds_of, regroup, without_none


class HybridBlock(Block):
    """The base of layers that run operator by operator, or, after `hybridize()`, as one graph.

    A subclass overrides `hybrid_forward(F, x, ..., **params)`, F being `mx.nd` or `mx.sym`, and the
    parameters coming by the names of the attributes they were set to. A hybridized block is traced
    with symbols at its first call; later ones are one call of a CachedOp, which binds parameters
    and their gradients where they are and copies the data.

    With `use_onednn=False` it and its children run in NumPy, backward too: for debugging and
    measurement. It is an attribute that can be set at any time.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None, *,
                 use_onednn: bool = True) -> None:
        super().__init__(prefix=prefix, params=params)
        self._use_onednn = bool(use_onednn)
        self._cached_graph: Any = ()
        self._cached_op: nd.CachedOp | None = None
        # for each input of the op: (it is data, its position) or (it is not, a Parameter)
        self._cached_op_args: list[tuple[bool, Any]] = []
        self._out_format: Any = None
        self._in_format: Any = None
        self._active = False
        self._is_dynamic = False  # shapes follow from values, so that there is no graph
        self._flags: list[tuple[str, Any]] = []
        self._callback: Any = None
        self._monitor_all = False
        self._backend: str | None = None
        self._backend_opts: dict[str, Any] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, HybridBlock):
            self._clear_cached_op()

    @property
    def use_onednn(self) -> bool:
        """False: it and its children run in NumPy."""
        return self._use_onednn

    @use_onednn.setter
    def use_onednn(self, use: bool) -> None:
        self._use_onednn = bool(use)
        # a block around it that was traced already has to be hybridized again
        self._clear_cached_op()

    def register_child(self, block: Any, name: str | None = None) -> None:
        """Makes a HybridBlock a child; ParameterError for any other block."""
        if not isinstance(block, HybridBlock):
            raise ParameterError("Children of HybridBlock must also be HybridBlock, but "
                                 f"{block} has type {type(block)}. If you are using Sequential, "
                                 "please try HybridSequential instead.")
        super().register_child(block, name)
        self._clear_cached_op()

    def hybridize(self, active: bool = True, backend: str | None = None, clear: bool = True,
                  static_alloc: bool = False, static_shape: bool = False, inline_limit: int = 2,
                  forward_bulk_size: int | None = None, backward_bulk_size: int | None = None,
                  precision: str | None = None, **kwargs: Any) -> None:
        """Switches to running as one graph, or back; children too.

        `backend` is one of `Symbol.optimize_for`, with `kwargs` as its options; the flags are
        those of CachedOp. `precision` is what inference computes in (docs/precision.md). With
        `clear` the graph is traced anew at the next call.
        """
        if precision is not None:
            find_precision(precision, "hybridize")
        if kwargs:
            self._backend_opts = kwargs
        self._backend = backend
        self._active = active
        self._flags = [("static_alloc", static_alloc), ("static_shape", static_shape),
                       ("inline_limit", inline_limit)]
        for name, value in (("forward_bulk_size", forward_bulk_size),
                            ("backward_bulk_size", backward_bulk_size),
                            ("precision", precision)):
            if value is not None:
                self._flags.append((name, value))
        if clear:
            self._clear_cached_op()
        if active and (self._forward_hooks or self._forward_pre_hooks):
            warnings.warn(f'"{self}" is being hybridized while still having forward hook/pre-hook. '
                          f'If "{self}" is a child of HybridBlock, the hooks will not take effect.',
                          stacklevel=2)
        super().hybridize(active, static_alloc=static_alloc, static_shape=static_shape,
                          inline_limit=inline_limit, forward_bulk_size=forward_bulk_size,
                          backward_bulk_size=backward_bulk_size, precision=precision)

    def optimize_for(self, x: Any, *args: Any, backend: str | None = None, clear: bool = False,
                     static_alloc: bool = False, static_shape: bool = False,
                     inline_limit: int = 2, forward_bulk_size: int | None = None,
                     backward_bulk_size: int | None = None, **kwargs: Any) -> None:
        """Hybridizes and optimizes the graph with a backend for such inputs; runs nothing."""
        if not backend:
            raise ParameterError('Must specify "backend" to optimize_for')
        self.hybridize(True, backend, clear, static_alloc, static_shape, inline_limit,
                       forward_bulk_size, backward_bulk_size, **kwargs)
        self._check_inputs((x, *args))
        self._build_cache(x, *args)

    def cast(self, dtype: Any) -> None:
        """Another dtype for all parameters."""
        self._clear_cached_op()
        super().cast(dtype)

    def register_op_hook(self, callback: Any, monitor_all: bool = False) -> None:
        """Has `callback(name, operator, array)` called for outputs inside of the graph.

        Names are bytes, as MXNet gives them. With `monitor_all` it is called for inputs too.
        """
        self._callback, self._monitor_all = callback, monitor_all
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    # ---- the graph ------------------------------------------------------------------------------

    def _clear_cached_op(self) -> None:
        self._cached_graph = ()
        self._cached_op = None
        self._cached_op_args = []
        self._is_dynamic = False

    def _has_graph(self, *args: Any) -> bool:
        """Can the block be traced? If not, it runs operator by operator, and children as graphs."""
        if self._cached_op is None and not self._is_dynamic:
            try:
                self._get_graph(*args)
            except DynamicShape:
                self._is_dynamic = True
        return not self._is_dynamic

    def _get_graph(self, *args: Any) -> Any:
        """(variables of the inputs, the outputs as a group); traced once."""
        if not self._cached_graph:
            flat, self._in_format = flatten(args, "input")
            count = sum(arg is not None for arg in flat)
            if not count:
                raise ParameterError(f"All args are None and we do not support such a case. "
                                     f"Received args={args}")
            names = ["data"] if count == 1 else [f"data{i}" for i in range(count)]
            inputs = [sym.var(name) for name in names]
            rest = iter(inputs)
            nested = regroup([None if arg is None else next(rest) for arg in flat],
                             self._in_format)
            params = {name: param.var() for name, param in self._reg_params.items()}
            out = self._traced(*nested, **params)
            outputs, self._out_format = flatten(out, "output")
            self._cached_graph = inputs, sym.Group(outputs)
        return self._cached_graph

    def _infer_attrs(self, method: str, attr: str, args: Any) -> None:
        """Sets shapes or dtypes of parameters as they follow from arrays."""
        inputs, out = self._get_graph(*args)
        given = [arg for arg in flatten(args, "input")[0] if arg is not None]
        known = {x.name: getattr(arg, attr) for x, arg in zip(inputs, given, strict=True)}
        with warnings.catch_warnings(record=True) as caught:
            found, _, states = getattr(out, method)(**known)
        if found is None:
            raise ParameterError(str(caught[0].message) if caught else
                                 f"{self.name}: {attr}s of parameters do not follow from the data")
        by_name = dict(zip(out.list_arguments(), found, strict=True))
        by_name.update(zip(out.list_auxiliary_states(), states, strict=True))
        for param in self.collect_params().values():
            if param.name in by_name:
                setattr(param, attr, by_name[param.name])

    def infer_shape(self, *args: Any) -> None:
        """Sets the shapes of parameters as they follow from these inputs."""
        self._infer_attrs("infer_shape", "shape", args)

    def infer_type(self, *args: Any) -> None:
        """Sets the dtypes of parameters as they follow from these inputs."""
        self._infer_attrs("infer_type", "dtype", args)

    def _deferred_infer_shape(self, *args: Any) -> None:
        try:
            self.infer_shape(*args)
        except Exception as error:
            raise ParameterError("Deferred initialization failed because shape cannot be inferred. "
                                 f"{error}") from error

    def _build_cache(self, *args: Any) -> None:
        """Makes the CachedOp, after initializing what waited for the shapes of the data."""
        data, out = self._get_graph(*args)
        flat = [arg for arg in flatten(args, "input")[0] if arg is not None]
        positions = {x.name: i for i, x in enumerate(data)}
        params = self._graph_params(positions, out)
        try:
            for name in out.list_inputs():
                if name in params:
                    params[name]._check_initialized()
        except DeferredInitializationError:
            self._deferred_infer_shape(*args)
            for name in out.list_inputs():
                if name in params:
                    params[name]._finish_deferred_init()
        if self._backend:
            out = self._optimize(out, positions, flat, params)
            self._cached_graph = data, out
        self._cached_op_args = [(True, positions[name]) if name in positions
                                else (False, params[name]) for name in out.list_inputs()]
        flags = [("data_indices", self._places(is_data=True)),
                 ("param_indices", self._places(is_data=False)), *self._flags]
        self._cached_op = nd.CachedOp(out, flags)

    def _places(self, is_data: bool) -> list[int]:
        return [i for i, (found, _) in enumerate(self._cached_op_args) if found is is_data]

    def _graph_params(self, positions: dict[str, int], out: Symbol) -> dict[str, Parameter]:
        """The parameters by name; warns of what the graph does not use, refuses what is unknown."""
        if self._cached_op_args:
            params = {param.name: param for is_data, param in self._cached_op_args if not is_data}
        else:
            params = dict(self.collect_params().items())
        used = set(out.list_inputs())
        unknown = used.difference(params, positions)
        if unknown:
            raise ParameterError(f"Unknown input to HybridBlock: {', '.join(sorted(unknown))}")
        unused = [f"{i}-th" for name, i in positions.items() if name not in used]
        if unused:
            warnings.warn(f"The {', '.join(unused)} input to HybridBlock is not used by any "
                          "computation. Is this intended?", stacklevel=6)
        unused = [name for name in params if name not in used]
        if unused:
            warnings.warn(f"Parameter {', '.join(unused)} is not used by any computation. Is this "
                          "intended?", stacklevel=6)
        return params

    def _optimize(self, out: Symbol, positions: dict[str, int], flat: list[Any],
                  params: dict[str, Parameter]) -> Symbol:
        """The graph as the backend makes it; parameters that it adds go to `params`."""
        ctx = next((arg.ctx for arg in flat if isinstance(arg, NDArray)), None)
        values: dict[str, NDArray] = {}
        shapes: dict[str, tuple[int, ...]] = {}
        for name in out.list_inputs():
            if name not in positions:
                values[name] = params[name].data(ctx)
            elif isinstance(flat[positions[name]], NDArray):
                shapes[name] = flat[positions[name]].shape
        states = set(out.list_auxiliary_states())
        arguments = {name: x for name, x in values.items() if name not in states}
        aux = {name: x for name, x in values.items() if name in states}
        made = out.optimize_for(self._backend or "", arguments, aux, ctx, shapes,
                                **self._backend_opts)
        for name in made.list_inputs():
            if name not in params and name not in positions:
                value = arguments[name] if name in arguments else aux[name]
                params[name] = Parameter(name, shape=value.shape, dtype=value.dtype)
                params[name]._load_init(value, value.ctx)
        return made

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Writes `<path>-symbol.json` and `<path>-<epoch, 4 digits>.params`.

        `SymbolBlock.imports`, `Module` and MXNet read them. The block must have run hybridized:
        MXNetError.
        """
        if not self._cached_graph or self._cached_op is None:
            raise MXNetError("Please first call block.hybridize() and then run forward with this "
                             "block at least once before calling export.")
        out = self._cached_graph[1]
        out.save(f"{path}-symbol.json", remove_amp_cast=remove_amp_cast)
        states = set(out.list_auxiliary_states())
        nd.save(f"{path}-{epoch:04d}.params",
                {("aux:" if param.name in states else "arg:") + param.name: param._reduce()
                 for is_data, param in self._cached_op_args if not is_data})

    # ---- running --------------------------------------------------------------------------------

    def _check_inputs(self, args: Any) -> Any:
        """(are they symbols, context of the first array); ParameterError for a mixture."""
        has_symbol, has_array, contexts = kinds_of(args)
        if has_symbol and has_array:
            raise ParameterError("In HybridBlock, we do not support mixed NDArrays and Symbols "
                                 "types for the input. Please check the type of the args.")
        if not (has_symbol or has_array):
            raise ParameterError("In HybridBlock, there must be one NDArray or one Symbol in the "
                                 "input. Please check the type of the args.")
        if self._active and len(contexts) > 1:
            raise ParameterError("Found multiple contexts in the input. After hybridized, the "
                                 "HybridBlock only supports one input context, got "
                                 f"{', '.join(map(str, contexts))}")
        return has_symbol, next(iter(contexts), None)

    def _call_cached_op(self, *args: Any) -> Any:
        """Runs the graph on arrays."""
        if self._cached_op is None:
            self._build_cache(*args)
        op = self._cached_op
        assert op is not None
        if self._callback is not None:
            op._register_op_hook(self._callback, self._monitor_all)
        kinds = [x.__class__ for x in args]
        if self._in_format == [0] * len(args) and kinds.count(NDArray) == len(args):
            data = list(args)
        else:
            data = self._checked_data(args)
        ctx = data[0].ctx
        out = op(*[data[what] if is_data else what.data(ctx)
                   for is_data, what in self._cached_op_args], default_ctx=ctx)
        form = self._out_format
        if form == 0:
            return out
        if form == [0]:
            return [out]
        return regroup([out] if isinstance(out, NDArray) else out, self._out_format)

    def _checked_data(self, args: Any) -> list[NDArray]:
        """The arrays among the arguments; ParameterError where they are nested in another way."""
        flat, form = flatten(args, "input")
        if form != self._in_format and not without_none(form, self._in_format):
            raise ParameterError("The argument structure of HybridBlock does not match the cached "
                                 f"version. Stored format = {self._in_format}, input format = "
                                 f"{form}")
        return [arg for arg in flat if arg is not None]

    def _traced(self, *args: Any, **params: Any) -> Any:
        """What `hybrid_forward` makes of symbols."""
        with self.name_scope():
            if self._use_onednn:
                return self.hybrid_forward(sym, *args, **params)
            with AttrScope(**{USE_ONEDNN: "False"}):
                return self.hybrid_forward(sym, *args, **params)

    def forward(self, x: Any, *args: Any) -> Any:
        """Runs `hybrid_forward` on arrays, operator by operator or as one graph, or on symbols."""
        ctx = _context_of(x, args)
        if ctx is not None:  # most layers; the same as below, sooner
            is_symbol = False
        else:
            is_symbol, ctx = self._check_inputs((x, *args))
        if is_symbol:
            variables = {name: param.var() for name, param in self._reg_params.items()}
            return self._traced(x, *args, **variables)
        # what runs in NumPy is a graph, whose nodes say so, of its gradient too
        if (self._active or not self._use_onednn) and self._has_graph(x, *args):
            return self._call_cached_op(x, *args)
        if ctx is current_context():
            return self._run_eagerly(ctx, x, args)
        with ctx:
            return self._run_eagerly(ctx, x, args)

    def _run_eagerly(self, ctx: Any, x: Any, args: tuple[Any, ...]) -> Any:
        try:
            params = {name: param.data(ctx) for name, param in self._reg_params.items()}
        except DeferredInitializationError:
            self._deferred_infer_shape(x, *args)
            for param in self.params.values():
                param._finish_deferred_init()
            params = {name: param.data(ctx) for name, param in self._reg_params.items()}
        return self.hybrid_forward(nd, x, *args, **params)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N803
        """What the block computes, by operators of F; subclasses override it."""
        raise NotImplementedError(f"{type(self).__name__} has no hybrid_forward")


def _context_of(x: Any, args: tuple[Any, ...]) -> Context | None:
    """The context of arguments that are arrays alone; None where that takes a closer look."""
    if x.__class__ is not NDArray:
        return None
    ctx: Context = x._ctx
    for other in args:
        if other.__class__ is not NDArray or other._ctx is not ctx:
            return None
    return ctx
