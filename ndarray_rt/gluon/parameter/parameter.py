"""Parameter: the data and gradient of one parameter, a copy of each on each context."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import autograd, initializer, nd, sym
from ...context import Context, cpu, current_context
from ...dtypes import find_dtype
from ...errors import MXNetError, ParameterError, TypeMismatch, Unsupported, shown
from ...nd import NDArray
from ...np_shape import is_np_shape
from ..errors import DeferredInitializationError, Mismatch, NotInitialized
from ..utils import shape_is_known

# of which oneDNN makes no blocks
FEW_CHANNELS = 4
Deferred = tuple[Any, list[Context], Any, NDArray | None]
STORAGE_TYPES = ("default", "row_sparse", "csr")


class Parameter:
    """A parameter of blocks: its value on each context, its gradients, how it is initialized.

    Parameters
    ----------
    name : str
    grad_req : 'write', 'add' or 'null'
        What backward does with its gradient.
    shape : int or tuple of ints
        Where 0 (under np_shape -1) is not known before the first batch of data.
    dtype : dtype
    lr_mult, wd_mult : float
        Multipliers of learning rate and weight decay.
    init : Initializer, its name or its dumps()
        None: the one that `initialize` is given.
    allow_deferred_init : bool
        With an unknown shape `initialize` waits for the first batch; else it raises.
    differentiable : bool
        False: `grad_req` is 'null' always.
    stype, grad_stype : 'default' or 'row_sparse'
        Data and gradients are dense always; 'row_sparse' only says by which methods the data is
        asked for. 'csr' raises Unsupported.
    """

    def __init__(self, name: str, grad_req: str = "write", shape: Any = None,
                 dtype: Any = np.float32, lr_mult: float = 1.0, wd_mult: float = 1.0,
                 init: Any = None, allow_deferred_init: bool = False,
                 differentiable: bool = True, stype: str = "default",
                 grad_stype: str = "default") -> None:
        for what, kind in (("grad_stype", grad_stype), ("stype", stype)):
            if kind not in STORAGE_TYPES:
                raise Mismatch(f"{what} for Parameter '{name}' must be one of 'default', "
                               f"'row_sparse', or 'csr', but got {shown(kind)}")
            if kind == "csr":
                raise Unsupported(f"Parameter '{name}': {what} 'csr' is not supported, arrays are "
                                  "dense here: see docs/porting.md")
        self._var: Any = None
        self._data: list[NDArray] | None = None
        self._grad: list[NDArray] | None = None
        self._ctx_list: list[Context] = []
        self._trainer: Any = None
        self._deferred_init: Deferred | tuple[()] = ()
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        self._grad_req: str | None = None
        self._shape: Any = (shape,) if isinstance(shape, int) else shape
        self.name = name
        self._dtype = dtype
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.grad_req = grad_req
        self.init = init
        self._stype = stype
        self._grad_stype = grad_stype
        # whether training may leave it in a layout of oneDNN's; None: the switch says
        self._is_trained_in_layout: bool | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name} (shape={self.shape}, dtype={self.dtype})"

    # ---- facts ----------------------------------------------------------------------------------

    @property
    def grad_req(self) -> Any:
        """'write', 'add' or 'null': what backward does with the gradient."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in ("write", "add", "null"):
            raise Mismatch(f"grad_req must be one of 'write', 'add', or 'null', but got "
                           f"{shown(req)}")
        if not self._differentiable:
            req = "null"
        if self._grad_req == req:
            return
        self._grad_req = req
        if self._data is None:
            return
        if req == "null":
            self._grad = None
            self._data = [array.detach() for array in self._data]
        else:
            self._init_grad()

    @property
    def dtype(self) -> Any:
        """The dtype; setting it casts."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> Any:
        """The shape, with 0 (under np_shape -1) where it is not known; None: nothing is known."""
        if self._shape is None or not is_np_shape():
            return self._shape
        return tuple(-1 if dim == 0 else dim for dim in self._shape)

    @shape.setter
    def shape(self, new_shape: Any) -> None:
        old = self._shape
        if old is not None and not (len(old) == len(new_shape) and all(
                before in (-1, 0, now) for now, before in zip(new_shape, old, strict=True))):
            raise Mismatch(f"Parameter '{self.name}': Expected shape {old} is incompatible with "
                           f"given shape {new_shape}.")
        self._shape = new_shape

    @property
    def stype(self) -> str:
        """The storage type that was asked for; the data is dense."""
        return self._stype

    @property
    def grad_stype(self) -> str:
        """The storage type that was asked for of gradients; they are dense."""
        return self._grad_stype

    @property
    def is_mkldnn(self) -> bool:
        """Its data is in a layout of oneDNN's, on each context."""
        return bool(self._data) and all(array.is_mkldnn for array in self._data or ())

    def to_mkldnn(self) -> None:
        """Lets training leave data, gradient and states of the optimizer in layouts of oneDNN's.

        Weights of convolutions are brought into one at once, if they are initialized and nobody
        has exported their memory; the first step chooses the one that its kernels write gradients
        in. All else stays in the default layout, which its kernels read. What is read or saved of
        it is the same.
        """
        self._set_layouts(True)

    def to_dense(self) -> None:
        """Brings data and gradient to the default layout, and lets training leave them in it."""
        self._set_layouts(False)

    def _set_layouts(self, may_stay: bool | None) -> None:
        self._is_trained_in_layout = may_stay
        if may_stay is None:
            return
        for array in (*(self._data or ()), *(self._grad or ())):
            array._chunk.is_trained_in_layout = may_stay
            if not may_stay:
                array.reorder_to_default()
            elif (array.dtype == np.float32 and array.ndim >= 3 and not array.is_mkldnn
                    and not array._chunk.pins):
                array.reorder(_weight_layout(array.shape))

    def _set_trainer(self, trainer: Any) -> None:
        if self._stype != "default" and self._trainer and trainer and self._trainer is not trainer:
            raise NotInitialized(f"Parameter '{self.name}' has a trainer already, and a "
                                 f"{self._stype} Parameter can not have more than one")
        self._trainer = trainer

    # ---- initialization -------------------------------------------------------------------------

    def initialize(self, init: Any = None, ctx: Any = None,
                   default_init: Any = initializer.Uniform(), force_reinit: bool = False) -> None:  # noqa: B008
        """Makes data and gradients on a context or several ones, and fills the data.

        `init` wins over the parameter's own rule, that one over `default_init`. What has data is
        left as it is, with a warning, unless `force_reinit`. Where the shape is not known yet this
        happens with the first batch of data, if that is allowed; else ParameterError.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(f"Parameter '{self.name}' is already initialized, ignoring. Set "
                          "force_reinit=True to re-initialize.", stacklevel=2)
            return
        self._data = self._grad = None
        if init is None:
            init = default_init if self.init is None else self.init
        if not shape_is_known(self.shape) and not self._allow_deferred_init:
            raise ParameterError(f"Cannot initialize Parameter '{self.name}' because it has "
                                 f"invalid shape: {self.shape}.")
        self._deferred_init = (init, _contexts(ctx), default_init, None)
        if shape_is_known(self.shape):
            self._finish_deferred_init()

    def _finish_deferred_init(self) -> None:
        """Makes data and gradients, now that the shape is known."""
        if not self._deferred_init:
            return
        init, ctx, default_init, data = self._deferred_init
        self._deferred_init = ()
        if not shape_is_known(self.shape):
            raise Mismatch(f"Cannot initialize Parameter '{self.name}' because it has invalid "
                           f"shape: {self.shape}. Please specify in_units, in_channels, etc for "
                           "`Block`s.")
        with autograd.pause():
            if data is None:
                data = nd.zeros(self.shape, ctx=cpu(), dtype=self.dtype)
                rule = default_init if callable(default_init) else initializer.create(default_init)
                rule(initializer.InitDesc(self.name, {"__init__": init}), data)
            self._init_impl(data, ctx)

    def _init_impl(self, data: NDArray, ctx_list: Sequence[Context]) -> None:
        """Takes copies of `data` on all contexts."""
        self._ctx_list = list(ctx_list)
        self._data = [data.copyto(ctx) for ctx in self._ctx_list]
        self._init_grad()
        self._set_layouts(self._is_trained_in_layout)

    def _init_grad(self) -> None:
        if self.grad_req == "null":
            self._grad = None
            return
        assert self._data is not None
        self._grad = [nd.zeros(x.shape, ctx=x.ctx, dtype=x.dtype) for x in self._data]
        autograd.mark_variables(self._data, self._grad, self.grad_req)

    def _load_init(self, data: NDArray, ctx: Any, cast_dtype: bool = False,
                   dtype_source: str = "current") -> None:
        """Takes a value out of a file; Mismatch where shape, dtype or contexts differ."""
        failed = f"Failed loading Parameter '{self.name}' from saved params"
        if cast_dtype and dtype_source not in ("current", "saved"):
            raise Mismatch(f"{failed}: dtype_source got {shown(dtype_source)}, expected 'current' "
                           "or 'saved'")
        if self.shape:
            unknown = -1 if is_np_shape() else 0
            if any(own not in (unknown, there)
                   for own, there in zip(self.shape, data.shape, strict=False)):
                raise Mismatch(f"{failed}: shape incompatible expected {self.shape} vs saved "
                               f"{data.shape}")
            self.shape = tuple(there if own == unknown else own
                               for own, there in zip(self.shape, data.shape, strict=False))
        if self.dtype and find_dtype(self.dtype) != data.dtype:
            if not cast_dtype:
                raise Mismatch(f"{failed}: dtype incompatible expected {self.dtype} vs saved "
                               f"{data.dtype}. Set cast_dtype=True to cast the dtype of saved "
                               "params.")
            if dtype_source == "current":
                data = data.astype(self.dtype, copy=False)
            else:
                self.dtype = data.dtype
        wanted = None if ctx is None else _contexts(ctx)
        known = (self._deferred_init[1] if self._deferred_init else
                 None if self._data is None else self._ctx_list)
        if wanted is not None and known is not None and set(wanted) != set(known):
            raise Mismatch(f"Failed to load Parameter '{self.name}' on {wanted} because it was "
                           f"previously initialized on {known}.")
        if self._data is None:
            self._init_impl(data, known or wanted or [cpu()])
        else:
            self.set_data(data)
        self._deferred_init = ()

    def reset_ctx(self, ctx: Any) -> None:
        """Moves the parameter to a context or several ones; gradients become zero."""
        contexts = _contexts(ctx)
        if self._data:
            data = self._reduce()
            with autograd.pause():
                self._init_impl(data, contexts)
        elif self._deferred_init:
            init, _, default_init, value = self._deferred_init
            self._deferred_init = (init, contexts, default_init, value)
        else:
            raise ParameterError(f"Cannot reset context for Parameter '{self.name}' because it has "
                                 "not been initialized.")

    def cast(self, dtype: Any) -> None:
        """Another dtype for data and gradients."""
        self._dtype = dtype
        if self._data is None:
            return
        with autograd.pause():
            self._data = [x.astype(dtype) for x in self._data]
            if self._grad is not None:
                self._grad = [x.astype(dtype) for x in self._grad]
                autograd.mark_variables(self._data, self._grad, self.grad_req)
        self._set_layouts(self._is_trained_in_layout)

    # ---- values ---------------------------------------------------------------------------------

    def _check_initialized(self) -> None:
        """Raises where there is no data."""
        if self._data is not None:
            return
        if self._deferred_init:
            raise DeferredInitializationError(
                f"Parameter '{self.name}' has not been initialized yet because initialization was "
                "deferred: its shape follows from the first batch of data. Pass one through the "
                "network before you access it, or give in_units, in_channels, etc. to the layers")
        raise NotInitialized(
            f"Parameter '{self.name}' has not been initialized. Initialize parameters and make "
            "the Trainer with Block.collect_params(): Block.params has not those of child blocks")

    def _check_and_get(self, arrays: list[NDArray] | None, ctx: Any) -> Any:
        """All of `arrays` (ctx is list), or the one on a context (None: the current one)."""
        if arrays is None:
            self._check_initialized()
            raise NotInitialized(f"Parameter '{self.name}' has no such array")
        if ctx is list:
            return arrays
        if ctx is None:
            if len(arrays) == 1:
                return arrays[0]
            ctx = current_context()
        if not isinstance(ctx, Context):
            raise TypeMismatch(f"Parameter '{self.name}': ctx got {shown(ctx)}, expected a Context")
        # all kinds of CPU contexts with one number are one place
        for array, own in zip(arrays, self._ctx_list, strict=True):
            if own.device_id == ctx.device_id and ctx.device_typeid & 1 == own.device_typeid & 1:
                return array
        raise NotInitialized(f"Parameter '{self.name}' was not initialized on context {ctx}. It "
                             f"was only initialized on {self._ctx_list}.")

    def _need_stype(self, is_sparse: bool, method: str, instead: str) -> None:
        if (self._stype != "default") is not is_sparse:
            raise MXNetError(f"Parameter '{self.name}': Cannot return a copy via {method}() "
                             f"because its storage type is {self._stype}. Please use {instead}() "
                             "instead.")

    def data(self, ctx: Any = None) -> NDArray:
        """The value on a context (None: the current one)."""
        arrays = self._data
        # what each call of a hybridized block asks for each of its parameters
        if arrays is not None and len(arrays) == 1 and self._stype == "default" and (
                ctx is None or ctx is arrays[0].ctx):
            return arrays[0]
        if self._stype != "default":
            self._need_stype(False, "data", "row_sparse_data")
        found: NDArray = self._check_and_get(self._data, ctx)
        return found

    def list_data(self) -> list[NDArray]:
        """The values on all contexts."""
        self._need_stype(False, "list_data", "list_row_sparse_data")
        found: list[NDArray] = self._check_and_get(self._data, list)
        return found

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """The value of a 'row_sparse' parameter on the context of `row_id`: all rows, dense."""
        self._need_stype(True, "row_sparse_data", "data")
        found: NDArray = self._check_and_get(self._data, _rows(row_id).ctx)
        return found

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """The values of a 'row_sparse' parameter on all contexts: all rows, dense."""
        self._need_stype(True, "list_row_sparse_data", "list_data")
        _rows(row_id)
        found: list[NDArray] = self._check_and_get(self._data, list)
        return found

    def _grads(self, ctx: Any) -> Any:
        if self._data is not None and self._grad is None:
            raise NotInitialized(f"Cannot get gradient array for Parameter '{self.name}' because "
                                 "grad_req='null'")
        return self._check_and_get(self._grad, ctx)

    def grad(self, ctx: Any = None) -> NDArray:
        """The gradient on a context (None: the current one)."""
        found: NDArray = self._grads(ctx)
        return found

    def list_grad(self) -> list[NDArray]:
        """The gradients on all contexts."""
        found: list[NDArray] = self._grads(list)
        return found

    def list_ctx(self) -> list[Context]:
        """The contexts that it is, or will be, initialized on."""
        if self._data is not None:
            return self._ctx_list
        if not self._deferred_init:
            raise NotInitialized(f"Parameter '{self.name}' has not been initialized")
        return self._deferred_init[1]

    def set_data(self, data: Any) -> None:
        """Writes a value to the copies on all contexts."""
        self.shape = data.shape
        if self._data is None:
            if not self._deferred_init:
                raise Mismatch(f"Parameter '{self.name}' has not been initialized")
            init, ctx, default_init, _ = self._deferred_init
            self._deferred_init = (init, ctx, default_init, data)
            return
        trainer = self._trainer
        # a kvstore that updates has a copy of its own
        if (trainer and trainer._kv_initialized and trainer._update_on_kvstore
                and self not in trainer._params_to_init):
            trainer._reset_kvstore()
        for array in self._data:
            array[:] = data

    def zero_grad(self) -> None:
        """Writes zeros to the gradients."""
        for grad in self._grad or ():
            grad[:] = 0

    def _reduce(self) -> NDArray:
        """The mean of all copies, as an array on cpu(0)."""
        arrays = self._check_and_get(self._data, list)
        with autograd.pause():
            copies = [x.copyto(cpu()) for x in arrays]
            if len(copies) == 1:
                made: NDArray = copies[0]
                return made
            mean: NDArray = nd.add_n(*copies) / len(copies)
            return mean

    def var(self) -> Any:
        """The variable of symbols that stands for this parameter; always the same one."""
        if self._var is None:
            self._var = sym.var(self.name, shape=self.shape, dtype=self.dtype,
                                lr_mult=self.lr_mult, wd_mult=self.wd_mult, init=self.init,
                                stype=self._stype)
        return self._var


def _contexts(ctx: Any) -> list[Context]:
    """A context, several ones, or None (the current one) as a list."""
    if ctx is None:
        return [current_context()]
    found = [ctx] if isinstance(ctx, Context) else list(ctx)
    for one in found:
        if not isinstance(one, Context):
            raise TypeMismatch(f"ctx got {shown(one)}, expected a Context such as mx.cpu()")
    return found


def _weight_layout(shape: tuple[int, ...]) -> str:
    """The layout that oneDNN writes gradients of a convolution's weight in, for most of them."""
    window = "cdefghijkl"[:len(shape) - 2]
    # so few channels are not put into blocks
    return f"A{window}b16a" if shape[1] <= FEW_CHANNELS else f"AB{window}16b16a"


def _rows(row_id: Any) -> NDArray:
    if not isinstance(row_id, NDArray):
        raise TypeMismatch(f"row_id must have NDArray type, but {shown(row_id)} is given")
    return row_id
