"""ParameterDict: parameters by name, with a prefix for new ones."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

import numpy as np

from ... import initializer, nd
from ...context import Context
from ...dtypes import find_dtype
from ...errors import ModelFormatError, NameMismatch, ParameterError
from ...nd import NDArray
from ..errors import Mismatch
from ..utils import brief_list, indent
from .constant import Constant
from .parameter import Parameter


def named_arrays(filename: str) -> dict[str, NDArray]:
    """The arrays of a file by name; ModelFormatError where they have none."""
    found = nd.load(filename)
    if isinstance(found, dict):
        return found
    if found:
        raise ModelFormatError("its arrays have no names, which parameters need",
                               f"file {filename!r}")
    return {}


class ParameterDict:
    """Parameters by name, in the order in which they were made.

    `get` puts `prefix` before names. Parameters of `shared`, another ParameterDict, are found
    under their names instead of making new ones.
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._params: dict[str, Parameter] = {}
        self._shared = shared

    def __repr__(self) -> str:
        name = self._prefix + " " if self._prefix else ""
        lines = "\n".join(indent(f"  {value}", 2) for value in self.values())
        return f"{name}(\n{lines}\n)"

    def __getitem__(self, key: str) -> Parameter:
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __bool__(self) -> bool:
        # MXNet's has no length: it is true, empty or not
        return True

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def items(self) -> ItemsView[str, Parameter]:
        """(name, parameter) of all."""
        return self._params.items()

    def keys(self) -> KeysView[str]:
        """All names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """All parameters."""
        return self._params.values()

    @property
    def prefix(self) -> str:
        """What `get` puts before names."""
        return self._prefix

    def _get_impl(self, name: str) -> Parameter | None:
        """A parameter of this dict, or of the shared one, which then is in this one too."""
        found = self._params.get(name)
        if found is None and self._shared is not None:
            found = self._shared._params.get(name)
            if found is not None:
                self._params[name] = found
        return found

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter `prefix + name`, made with these arguments if it is not there.

        For one that is there Mismatch where an argument is another than its own; unknown
        dimensions of shapes are filled in from both.
        """
        name = self.prefix + name
        param = self._get_impl(name)
        if param is None:
            param = self._params[name] = Parameter(name, **kwargs)
            return param
        for key, value in kwargs.items():
            existing = getattr(param, key, None)
            if existing is None:
                setattr(param, key, value)
            elif key == "shape" and (merged := _merge_shapes(value, existing)) is not None:
                param._shape = merged
            elif (value is not None and not _same(key, value, existing)):
                raise Mismatch(f"Cannot retrieve Parameter '{name}' because desired attribute does "
                               f"not match with stored for attribute '{key}': desired '{value}' vs "
                               f"stored '{existing}'.")
        return param

    def get_constant(self, name: str, value: Any = None) -> Parameter:
        """The constant `prefix + name`, made with this value if it is not there.

        NameMismatch where it is not there and there is no value; Mismatch where it has another
        one, or is no constant.
        """
        name = self.prefix + name
        param = self._get_impl(name)
        if param is None:
            if value is None:
                raise NameMismatch(f"No constant named '{name}'. Please specify value if you want "
                                   "to create a new constant.")
            param = self._params[name] = Constant(name, value)
        elif value is not None:
            if not isinstance(param, Constant):
                raise Mismatch(f"Parameter '{name}' already exists but it is not a constant.")
            given = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
            if param.shape != given.shape or not (param.value.asnumpy() == given).all():
                raise Mismatch(f"Constant '{name}' already exists but its value doesn't match new "
                               "value")
        return param

    def update(self, other: Any) -> None:
        """Adds the parameters of another dict; Mismatch where a name is another one's here."""
        for key, value in other.items():
            if self._params.get(key, value) is not value:
                raise Mismatch("Cannot update self with other because they have different "
                               f"Parameters with the same name '{key}'")
        self._params.update(other.items())

    # ---- for all of them ------------------------------------------------------------------------

    def initialize(self, init: Any = initializer.Uniform(), ctx: Any = None,  # noqa: B008
                   verbose: bool = False, force_reinit: bool = False) -> None:
        """Initializes all, by `init` where a parameter has no rule of its own."""
        if verbose:
            init.set_verbosity(verbose=verbose)
        for param in self.values():
            param.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Writes zeros to all gradients."""
        grads = [grad for param in self.values() if param.grad_req != "null"
                 for grad in param._grad or ()]
        if grads:
            nd.reset_arrays(*grads, num_arrays=len(grads))

    def reset_ctx(self, ctx: Any) -> None:
        """Moves all to a context or several ones."""
        for param in self.values():
            param.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """All contexts that one of them is on."""
        return list({ctx: None for param in self.values() for ctx in param.list_ctx()})

    def setattr(self, name: str, value: Any) -> None:
        """Sets an attribute of all, such as `grad_req` or `lr_mult`."""
        for param in self.values():
            setattr(param, name, value)

    # ---- files ----------------------------------------------------------------------------------

    def save(self, filename: str, strip_prefix: str = "") -> None:
        """Writes all to a .params file, `strip_prefix` taken off their names.

        ParameterError where a name does not begin so.
        """
        arrays = {}
        for param in self.values():
            if not param.name.startswith(strip_prefix):
                raise ParameterError(
                    f"Prefix '{strip_prefix}' is to be stripped before saving, but Parameter's "
                    f"name '{param.name}' does not start with '{strip_prefix}'. It may be shared "
                    "from another Block, or a child block was made outside of name_scope()")
            arrays[param.name[len(strip_prefix):]] = param._reduce()
        nd.save(filename, arrays)

    def load(self, filename: str, ctx: Any = None, allow_missing: bool = False,
             ignore_extra: bool = False, restore_prefix: str = "", cast_dtype: bool = False,
             dtype_source: str = "current") -> None:
        """Reads values out of a file that `save`, `export` or a checkpoint wrote.

        `restore_prefix` is put before the names of the file. Mismatch where a parameter is not in
        the file (unless `allow_missing`), or the file has others (unless `ignore_extra`).
        """
        for name in self.keys():
            if not name.startswith(restore_prefix):
                raise Mismatch(f"restore_prefix is '{restore_prefix}' but Parameter's name "
                               f"'{name}' does not start with it")
        self.load_dict(named_arrays(filename), ctx, allow_missing, ignore_extra, restore_prefix,
                       filename, cast_dtype, dtype_source)

    def load_dict(self, param_dict: Any, ctx: Any = None, allow_missing: bool = False,
                  ignore_extra: bool = False, restore_prefix: str = "",
                  filename: str | None = None, cast_dtype: bool = False,
                  dtype_source: str = "current") -> None:
        """Takes values out of a dict of arrays, as `load` does out of a file."""
        pairs = (((key[4:] if key.startswith(("arg:", "aux:")) else key, value)
                  for key, value in param_dict.items())
                 if isinstance(param_dict, Mapping) else param_dict)
        found = {restore_prefix + key: value for key, value in pairs}
        source = f"file: {filename}" if filename else "param_dict"
        length = len(restore_prefix)
        if not allow_missing:
            for name in self.keys():
                if name not in found:
                    raise Mismatch(f"Parameter '{name[length:]}' is missing in {source}, which "
                                   f"contains parameters: {brief_list(found)}. Source and target "
                                   "networks need the same prefix")
        for name, value in found.items():
            if name in self._params:
                self._params[name]._load_init(value, ctx, cast_dtype=cast_dtype,
                                              dtype_source=dtype_source)
            elif not ignore_extra:
                raise Mismatch(f"Parameter '{name[length:]}' loaded from {source} is not present "
                               f"in ParameterDict, choices are: {brief_list(self._params)}. Set "
                               "ignore_extra to True to ignore it; source and target networks need "
                               "the same prefix")


def _merge_shapes(wanted: Any, existing: Any) -> tuple[int, ...] | None:
    """What both shapes say together, None where they do not go together."""
    if wanted is None or len(wanted) != len(existing):
        return None
    merged = []
    for new, old in zip(wanted, existing, strict=True):
        if new != old and new > 0 and old > 0:
            return None
        merged.append(old if new in (0, -1) else new)
    return tuple(merged)


def _same(key: str, value: Any, existing: Any) -> bool:
    if key == "dtype":
        return find_dtype(value) == find_dtype(existing)
    return bool(value == existing)
