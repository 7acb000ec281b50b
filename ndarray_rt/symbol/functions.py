"""Handwritten functions of `sym`: variables, groups, files, constants, arithmetic."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import TYPE_FLAGS, dtype_name, find_dtype
from ..errors import ParameterError, TypeMismatch, shown
from . import graph_json
from .arithmetic import apply
from .compose import attr_string
from .create import call
from .naming import current_attrs
from .node import Entry, Node
from .symbol import Symbol, group

__all__ = [
    "Group", "Variable", "arange", "eye", "fromjson", "full", "histogram", "hypot", "linspace",
    "load", "load_json", "maximum", "minimum", "ones", "pow", "power", "split_v2", "var", "zeros"]

# MXNet's type flags, as attributes contain them
STORAGE_TYPES = {"default": 0, "row_sparse": 1, "csr": 2}


def var(name: str, attr: Mapping[str, str] | None = None, shape: Any = None,
        lr_mult: float | None = None, wd_mult: float | None = None, dtype: Any = None,
        init: Any = None, stype: str | None = None, **kwargs: Any) -> Symbol:
    """A variable: an input of the graph.

    Parameters
    ----------
    name : str
    attr : dict of str to str
        Attributes.
    shape : tuple of ints
        Serves shape inference where nothing else is given; 0 is an unknown dimension.
    lr_mult, wd_mult : float
        Multipliers of learning rate and weight decay.
    dtype : dtype
        Serves dtype inference where nothing else is given.
    init : Initializer, or the string of its `dumps()`
        How this variable is initialized.
    stype : str
        Storage type; arrays are always dense here.
    **kwargs
        Further attributes; their names begin and end with two underscores.
    """
    if not isinstance(name, str):
        raise TypeMismatch(f"Variable: expected a string for `name`, got {shown(name)}")
    if attr is not None and not isinstance(attr, Mapping):
        raise TypeMismatch(f'Variable "{name}": attr got {shown(attr)}, expected a dict of strings')
    made = Symbol([Entry(Node(None, name), 0)])
    values = current_attrs().get(attr)
    if shape is not None:
        values["__shape__"] = attr_string(shape)
    if lr_mult is not None:
        values["__lr_mult__"] = attr_string(lr_mult)
    if wd_mult is not None:
        values["__wd_mult__"] = attr_string(wd_mult)
    if dtype is not None:
        values["__dtype__"] = str(TYPE_FLAGS[dtype_name(find_dtype(dtype))])
    if init is not None:
        if not isinstance(init, str) and not hasattr(init, "dumps"):
            raise TypeMismatch(f'Variable "{name}": init got {shown(init)}, expected an '
                               "Initializer or the string of its dumps()")
        values["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        if not isinstance(stype, str) or stype not in STORAGE_TYPES:
            raise ParameterError(f'Variable "{name}": stype got {shown(stype)}, '
                                 f"expected one of {', '.join(STORAGE_TYPES)}")
        values["__storage_type__"] = str(STORAGE_TYPES[stype])
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ParameterError(f'Variable "{name}": attribute {key!r} is not supported; further '
                                 "attributes begin and end with two underscores: __yourattr__")
        values[key] = attr_string(value)
    made._set_attr(**values)
    return made


Variable = var
Group = group


def load(fname: str | os.PathLike[str]) -> Symbol:
    """The symbol in a JSON file, of any MXNet 0.8 to 1.9.

    Raises MXNetError if the file can not be read, ModelFormatError if it contains no symbol.
    """
    if not isinstance(fname, (str, os.PathLike)):
        raise TypeMismatch(f"load: fname need to be string, got {fname!r}")
    return Symbol(graph_json.read_file(fname))


def load_json(json_str: str) -> Symbol:
    """The symbol in JSON text. Raises ModelFormatError if there is none."""
    if not isinstance(json_str, str):
        raise TypeMismatch(f"load_json: expected a string, got {json_str!r}")
    return Symbol(graph_json.load_graph(json_str))


fromjson = load_json


# ---- constants --------------------------------------------------------------------------------


def zeros(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Zeros of a shape; float32 unless a dtype is given."""
    return call("_zeros", shape=shape, dtype=_or_float32(dtype), **kwargs)


def ones(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Ones of a shape; float32 unless a dtype is given."""
    return call("_ones", shape=shape, dtype=_or_float32(dtype), **kwargs)


def full(shape: Any, val: float, dtype: Any = None, **kwargs: Any) -> Symbol:
    """One value everywhere; float32 unless a dtype is given."""
    try:
        value = float(val)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"full: val got {shown(val)}, expected a number") from None
    return call("_full", shape=shape, dtype=_or_float32(dtype), value=value, **kwargs)


def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None,  # noqa: N803 - MXNet's names
        **kwargs: Any) -> Symbol:
    """Ones on diagonal k of N rows and M (0: N) columns, zeros elsewhere."""
    return call("_eye", N=N, M=M, k=k, dtype=_or_float32(dtype), **kwargs)


def arange(start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1,
           infer_range: bool = False, name: str | None = None, dtype: Any = None) -> Symbol:
    """start, start + step, ... before stop, each `repeat` times; arange(n) counts from 0.

    `infer_range`: the number of elements is inferred from the shape that readers need.
    """
    return call("_arange", name=name, start=start, stop=stop, step=step, repeat=repeat,
                infer_range=infer_range, dtype=_or_float32(dtype))


def linspace(start: float, stop: float, num: int, endpoint: bool = True,
             name: str | None = None, dtype: Any = None) -> Symbol:
    """`num` evenly spaced values from start to stop, which is among them if `endpoint`."""
    return call("_linspace", name=name, start=start, stop=stop, num=num, endpoint=endpoint,
                dtype=_or_float32(dtype))


def _or_float32(dtype: Any) -> Any:
    return "float32" if dtype is None else dtype


# ---- functions of symbols and numbers -----------------------------------------------------------


def _either(kind: str, plain: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if isinstance(left, Symbol) or isinstance(right, Symbol):
        return apply(kind, left, right)
    try:
        return plain(left, right)
    except TypeError:
        raise TypeMismatch(f"types ({type(left).__name__}, {type(right).__name__}) not supported"
                           ) from None


def power(base: Any, exp: Any) -> Any:
    """base ** exp of symbols or numbers; does not broadcast."""
    return _either("power", lambda a, b: a ** b, base, exp)


pow = power


def maximum(left: Any, right: Any) -> Any:
    """The larger of each pair, of symbols or numbers; does not broadcast."""
    return _either("maximum", lambda a, b: a if a > b else b, left, right)


def minimum(left: Any, right: Any) -> Any:
    """The smaller of each pair, of symbols or numbers; does not broadcast."""
    return _either("minimum", lambda a, b: a if a < b else b, left, right)


def hypot(left: Any, right: Any) -> Any:
    """sqrt(left ** 2 + right ** 2) of symbols or numbers; does not broadcast."""
    return _either("hypot", np.hypot, left, right)


def split_v2(ary: Symbol, indices_or_sections: int | Sequence[int], axis: int = 0,
             squeeze_axis: bool = False) -> Symbol:
    """Splits along an axis into equal sections (an int), or before each of some indices."""
    if not isinstance(ary, Symbol):
        raise TypeMismatch(f"split_v2: expected a Symbol, got {ary!r}")
    indices: list[int] = []
    sections = 0
    if isinstance(indices_or_sections, int):
        sections = indices_or_sections
    elif isinstance(indices_or_sections, (tuple, list)):
        indices = [0, *indices_or_sections]
    else:
        raise ParameterError("split_v2: indices_or_sections must be an int or a tuple of ints, "
                             f"got {indices_or_sections!r}")
    return call("_split_v2", ary, indices=indices, axis=axis, squeeze_axis=squeeze_axis,
                sections=sections)


def histogram(a: Symbol, bins: Any = 10, range: Any = None,
              **kwargs: Any) -> Symbol:
    """How many values fall into each bin: `bins` equal ones in `range`, or between edges."""
    if isinstance(bins, Symbol):
        return call("_histogram", a, bins, **kwargs)
    if not isinstance(bins, int):
        raise ParameterError(f"histogram: bins must be an int or a Symbol, got {bins!r}")
    if range is None:
        raise ParameterError("histogram: a range is needed, as a symbol has no values yet")
    return call("_histogram", a, bin_cnt=bins, range=range, **kwargs)
