"""Block: a piece of a network, with parameters and children. Runs operator by operator."""

from __future__ import annotations

import re
import warnings
from collections import OrderedDict
from typing import Any

from ... import initializer, nd
from ...errors import ParameterError, TypeMismatch
from ..errors import Mismatch
from ..parameter import Parameter, ParameterDict
from ..parameter.parameter_dict import named_arrays
from ..utils import HookHandle, brief_list, indent
from .scope import BlockScope


class Block:
    """The base of all layers and networks: subclass it and override `forward`.

    Blocks and parameters that are set as attributes belong to it: `self.fc = nn.Dense(3)`. Inside
    of `with self.name_scope():` children are named after it.

    Parameters
    ----------
    prefix : str
        Before the names of its parameters and children; None: its class and a number.
    params : ParameterDict
        Those of another block, to be shared.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._empty_prefix = prefix == ""
        self._prefix, self._params = BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = BlockScope.of(self)
        self._children: OrderedDict[str, Block] = OrderedDict()
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: OrderedDict[int, Any] = OrderedDict()
        self._forward_pre_hooks: OrderedDict[int, Any] = OrderedDict()

    def __repr__(self) -> str:
        return self._repr_of({name: value for name, value in self.__dict__.items()
                              if isinstance(value, Block)})

    def _repr_of(self, children: dict[str, Block]) -> str:
        lines = "\n".join(f"  ({name}): {indent(repr(block), 2)}"
                          for name, block in children.items())
        return f"{type(self).__name__}(\n{lines}\n)"

    def __setattr__(self, name: str, value: Any) -> None:
        """Registers blocks and parameters; an attribute that is one stays one of its kind."""
        existing = getattr(self, name, None)
        if isinstance(existing, (Parameter, Block)) and not isinstance(value, type(existing)):
            raise TypeMismatch(f"Changing attribute type for {name} from {type(existing)} to "
                               f"{type(value)} is not allowed.")
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if name in self._reg_params:
                raise Mismatch(f"Overriding Parameter attribute {name} is not allowed. To share "
                               "parameters between blocks, give 'params' when the Block is made.")
            self._reg_params[name] = value
        super().__setattr__(name, value)

    def _alias(self) -> str:
        """What names of such blocks begin with."""
        return type(self).__name__.lower()

    # ---- names, parameters, children ------------------------------------------------------------

    @property
    def prefix(self) -> str:
        """What the names of its parameters and children begin with."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without '_' at its end."""
        return self._name

    def name_scope(self) -> BlockScope:
        """The `with` block in which its children and parameters are made."""
        return self._scope

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without those of children."""
        return self._params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """All parameters, those of children too; with `select` those whose name it matches.

        `select` is a regular expression for the beginning of names: ".*weight|.*bias".
        """
        self._check_container_with_block()
        made = ParameterDict(self._params.prefix)
        if not select:
            made.update(self.params)
        else:
            pattern = re.compile(select)
            made.update({name: value for name, value in self.params.items()
                         if pattern.match(name)})
        for child in self._children.values():
            made.update(child.collect_params(select=select))
        return made

    def _check_container_with_block(self) -> None:
        """Warns of children in lists and dicts, whose parameters nobody finds."""
        children = set(map(id, self._children.values()))

        def has_unknown(data: Any) -> bool:
            if isinstance(data, Block):
                return id(data) not in children
            if isinstance(data, dict):
                data = data.values()
            elif not isinstance(data, (list, tuple)):
                return False
            return any(has_unknown(item) for item in data)

        for name, value in self.__dict__.items():
            if (isinstance(value, (list, tuple, dict)) and name != "_children"
                    and not name.startswith("__") and has_unknown(value)):
                warnings.warn(f'"{type(self).__name__}.{name}" is an unregistered container with '
                              "Blocks: its Blocks are not registered automatically. Use "
                              "register_child(), nn.Sequential or nn.HybridSequential instead.",
                              stacklevel=3)

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters by the attributes that lead to them: {'features.0.weight': ...}."""
        if prefix:
            prefix += "."
        made = {prefix + key: value for key, value in self._reg_params.items()}
        for name, child in self._children.items():
            made.update(child._collect_params_with_prefix(prefix + name))
        return made

    def register_child(self, block: Any, name: str | None = None) -> None:
        """Makes a block a child; setting it as an attribute does so too."""
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn: Any) -> Any:
        """Calls `fn` with each child, and theirs, and then with this block, which it gives."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def initialize(self, init: Any = initializer.Uniform(), ctx: Any = None,  # noqa: B008
                   verbose: bool = False, force_reinit: bool = False) -> None:
        """Initializes all parameters; see `ParameterDict.initialize`."""
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Switches all HybridBlocks among the children to being run as one graph each."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def cast(self, dtype: Any) -> None:
        """Another dtype for all parameters."""
        for child in self._children.values():
            child.cast(dtype)
        for param in self.params.values():
            param.cast(dtype)

    # ---- layouts --------------------------------------------------------------------------------

    @property
    def is_mkldnn(self) -> bool:
        """One of its parameters, or of its children's, is in a layout of oneDNN's."""
        return any(param.is_mkldnn for param in self.collect_params().values())

    def to_mkldnn(self, insert: bool = False) -> Block:
        """Lets training leave the parameters in layouts of oneDNN's; gives the block itself.

        See `Parameter.to_mkldnn`; the switch NDRT_TRAINING_LAYOUTS says what holds where neither
        this nor `to_dense` was called. With `insert` blocks that bring the data into a layout of
        oneDNN's and back are put around the layers of containers that compute in them: for looking
        into a network and for measuring, as layers do that by themselves where it pays.
        """
        for param in self.collect_params().values():
            param.to_mkldnn()
        if insert:
            from ..nn.mkldnn import insert_conversions
            insert_conversions(self)
        return self

    def to_dense(self) -> Block:
        """Brings the parameters to the default layout, and lets training leave them in it.

        Blocks that `to_mkldnn(insert=True)` put between layers go. Gives the block itself.
        """
        from ..nn.mkldnn import remove_conversions
        remove_conversions(self)
        for param in self.collect_params().values():
            param.to_dense()
        return self

    # ---- files ----------------------------------------------------------------------------------

    def save_parameters(self, filename: str, deduplicate: bool = False) -> None:
        """Writes all parameters, under the attributes that lead to them.

        With `deduplicate` one that is there several times is written once, under its last name.
        """
        params = self._collect_params_with_prefix()
        if deduplicate:
            last = {value: key for key, value in params.items()}
            params = {key: value for value, key in last.items()}
        nd.save(filename, {key: value._reduce() for key, value in params.items()})

    def save_params(self, filename: str) -> None:
        """Writes all parameters under their names. Deprecated: use `save_parameters`."""
        warnings.warn("save_params is deprecated. Please use save_parameters, or export if it is "
                      "to be loaded by SymbolBlock later.", stacklevel=2)
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_parameters(self, filename: str, ctx: Any = None, allow_missing: bool = False,
                        ignore_extra: bool = False, cast_dtype: bool = False,
                        dtype_source: str = "current") -> None:
        """Reads values that `save_parameters` or `save_params` wrote.

        Parameters need not be initialized before; those that are not will be on `ctx`. Raises
        Mismatch where one is not in the file, unless `allow_missing`, and ParameterError where the
        file has others, unless `ignore_extra`. Dtypes must be equal, unless `cast_dtype`: then
        that of the parameter ('current') or of the file ('saved') is kept.
        """
        loaded = named_arrays(filename)
        params = self._collect_params_with_prefix()
        if not loaded and not params:
            return
        if not any("." in name for name in loaded):
            # names of parameters, not the attributes that lead to them
            self.collect_params().load(filename, ctx, allow_missing, ignore_extra, self.prefix,
                                       cast_dtype=cast_dtype, dtype_source=dtype_source)
            return
        if not allow_missing:
            # a parameter that is there several times may be in the file once
            found = {params[name] for name in loaded if name in params}
            for name, param in params.items():
                if param not in found:
                    raise Mismatch(f"Parameter '{name}' is missing in file '{filename}', which "
                                   f"contains parameters: {brief_list(loaded)}. Set "
                                   "allow_missing=True to ignore missing parameters.")
        for name, value in loaded.items():
            if name in params:
                params[name]._load_init(value, ctx, cast_dtype=cast_dtype,
                                        dtype_source=dtype_source)
            elif not ignore_extra:
                raise ParameterError(f"Parameter '{name}' loaded from file '{filename}' is not "
                                     "present in this block, which contains parameters: "
                                     f"{brief_list(params)}. Set ignore_extra=True to ignore it.")

    def load_params(self, filename: str, ctx: Any = None, allow_missing: bool = False,
                    ignore_extra: bool = False) -> None:
        """Reads values. Deprecated: use `load_parameters`."""
        warnings.warn("load_params is deprecated. Please use load_parameters.", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Writes `<prefix>-model.json`, names and graphs, and `<prefix>-model.params`, values."""
        from .model_file import save
        save(self, prefix)

    def load(self, prefix: str) -> None:
        """Reads what `save` wrote of a block that was made in the same way."""
        from .model_file import load
        load(self, prefix)

    # ---- running --------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        """Runs hooks before, `forward`, and hooks after."""
        if self._forward_pre_hooks:
            for hook in tuple(self._forward_pre_hooks.values()):
                hook(self, args)
        out = self.forward(*args)
        if self._forward_hooks:
            for hook in tuple(self._forward_hooks.values()):
                hook(self, args, out)
        return out

    def forward(self, *args: Any) -> Any:
        """What the block computes; subclasses override it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def register_forward_pre_hook(self, hook: Any) -> HookHandle:
        """Has `hook(block, inputs)` called before each forward; the handle takes it off."""
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        return handle

    def register_forward_hook(self, hook: Any) -> HookHandle:
        """Has `hook(block, inputs, outputs)` called after each forward; the handle takes it off."""
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        return handle

    def register_op_hook(self, callback: Any, monitor_all: bool = False) -> None:
        """Has `callback(name, operator, array)` called for outputs inside of hybridized children.

        With `monitor_all` for inputs too.
        """
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def summary(self, *inputs: Any) -> None:
        """Prints output shapes and numbers of parameters, layer by layer, for these inputs.

        The block must not be hybridized: Mismatch.
        """
        from .summary import print_summary
        print_summary(self, inputs)
