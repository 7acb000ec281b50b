"""nd: eager operators on NDArrays. Most of this module are the registered operators themselves.

Functions of operators are made when first asked for, so that an operator registered later is here
too; `dir(nd)` lists them all.
"""

from __future__ import annotations

from builtins import slice as py_slice  # noqa: F401 - MXNet's programs import it from here
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from ._array import create as _create
from ._array import ndarray as ndarray
from ._array.create import arange as arange
from ._array.create import concatenate as concatenate
from ._array.create import empty as empty
from ._array.create import eye as eye
from ._array.create import linspace as linspace
from ._array.create import waitall as waitall
from ._array.dlpack import from_dlpack as from_dlpack
from ._array.dlpack import to_dlpack_for_read as to_dlpack_for_read
from ._array.dlpack import to_dlpack_for_write as to_dlpack_for_write
from ._array.interop import from_numpy as from_numpy
from ._array.ndarray import NDArray as NDArray
from ._array.pickling import become
from .context import Context
from .dtypes import find_dtype
from .errors import ParameterError, ShapeError, TypeMismatch, no_storage, shown
from .imperative import (
    control_flow,
    distributions,
    finite,
    old_functions,
    updates,
    zipfian,
)
from .imperative.arithmetic import function
from .imperative.array_methods import copyto, split_at
from .imperative.generated import function_of
from .imperative.invoke import invoke
from .imperative.masks import boolean_mask
from .imperative.tape import needs_record
from .op.arithmetic import BINARY
from .op.dispatch import is_observed
from .op.namespaces import Namespace, OperatorModule, forgets_functions, no_operator
from .op.registry import keep_registered
from .public import loads

if TYPE_CHECKING:
    from os import PathLike

    from ._stubs import nd_contrib, nd_image, nd_linalg
    from ._stubs.nd import *  # noqa: F403
    from .imperative.cached_op import CachedOp as CachedOp

    # names of this module, which `import ... as` does not make for type checkers
    contrib, image, linalg = nd_contrib, nd_image, nd_linalg

_operators = Namespace("", function_of)
forgets_functions(globals())

add = function("add")
subtract = function("subtract")
multiply = function("multiply")
divide = true_divide = function("divide")
modulo = function("modulo")
power = function("power")
maximum = function("maximum")
minimum = function("minimum")
equal = function("equal")
not_equal = function("not_equal")
greater = function("greater")
greater_equal = function("greater_equal")
lesser = function("lesser")
lesser_equal = function("lesser_equal")
logical_and = function("logical_and")
logical_or = function("logical_or")
logical_xor = function("logical_xor")
split_v2 = split_at


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array with the contents of an NDArray, a numpy array, nested lists or a number.

    The dtype is float32 unless told otherwise, but for an NDArray, which keeps its own. A copy
    of an NDArray that has a gradient has one too.
    """
    if isinstance(source_array, NDArray) and needs_record((source_array,)):
        wanted = source_array.dtype if dtype is None else find_dtype(dtype)
        made: NDArray = (copyto(source_array, ctx or source_array.ctx)
                         if wanted == source_array.dtype
                         else invoke("Cast", (source_array,), {"dtype": wanted.name}))
        return made
    return _create.array(source_array, ctx, dtype)


def _dense(stype: str | None) -> None:
    if stype is not None and not (isinstance(stype, str) and stype == "default"):
        raise no_storage(stype)


def _constant(value: int, shape: Any, ctx: Context | None, dtype: Any,
              out: NDArray | None) -> NDArray:
    if out is not None:
        return _create.full(shape, value, out=out)
    if is_observed():
        # who is told of each operator is told of these too
        name = "_ones" if value else "_zeros"
        given = {"ctx": ctx, "dtype": dtype}
        made: NDArray = function_of(name, name)(
            shape=shape, **{key: value for key, value in given.items() if value is not None})
        return made
    return (_create.ones if value else _create.zeros)(shape, ctx, dtype)


def _check_symbol_arguments(what: str, kwargs: dict[str, Any]) -> None:
    """Lets pass what only symbols have, a name and attributes as `__layout__`; else TypeError."""
    for name in kwargs:
        if name != "name" and not (name.startswith("__") and name.endswith("__")):
            raise TypeError(f"{what}() got an unexpected keyword argument {name!r}")


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = None, stype: str | None = None,
          out: NDArray | None = None, **kwargs: Any) -> NDArray:
    """An array of zeros, float32 unless told otherwise.

    A name and attributes (`__layout__`) are taken, as by `sym.zeros`, and change nothing.
    """
    _check_symbol_arguments("zeros", kwargs)
    _dense(stype)
    return _constant(0, shape, ctx, dtype, out)


def ones(shape: Any, ctx: Context | None = None, dtype: Any = None,
         out: NDArray | None = None, **kwargs: Any) -> NDArray:
    """An array of ones, float32 unless told otherwise; a name and attributes change nothing."""
    _check_symbol_arguments("ones", kwargs)
    return _constant(1, shape, ctx, dtype, out)


def full(shape: Any, val: Any, ctx: Context | None = None, dtype: Any = None,
         out: NDArray | None = None) -> NDArray:
    """An array with `val` everywhere, float32 unless told otherwise."""
    return _create.full(shape, val, ctx, dtype, out)


def _axes(value: Any, what: str) -> list[int]:
    """One axis or several of them."""
    try:
        return [index(value)] if hasattr(value, "__index__") else [index(axis) for axis in value]
    except TypeError:
        raise TypeMismatch(f"moveaxis: {what} got {shown(value)}, expected an int or a tuple of "
                           "ints") from None


def moveaxis(tensor: NDArray, source: Any, destination: Any) -> Any:
    """A copy with some axes moved to other places; the others keep their order."""
    if not isinstance(tensor, NDArray):
        raise TypeMismatch(f"moveaxis: tensor got {shown(tensor)}, expected an NDArray")
    sources, targets = _axes(source, "source"), _axes(destination, "destination")
    n = tensor.ndim
    for axis in (*sources, *targets):
        if not -n <= axis < n:
            raise ParameterError(f"moveaxis: axis {axis} of an array of rank {n}")
    sources, targets = [a % n for a in sources], [a % n for a in targets]
    if len(sources) != len(targets) or len(set(sources)) + len(set(targets)) != 2 * len(sources):
        raise ParameterError("moveaxis: source and destination need equally many different axes")
    order = [axis for axis in range(n) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return invoke("transpose", (tensor,), {"axes": tuple(order)})


def histogram(a: NDArray, bins: Any = 10, range: Any = None) -> Any:
    """(counts, edges) of the elements of `a` in `bins` equal bins, or between given edges.

    Without a range both are float32, and the bins go from the least to the greatest element.
    """
    if isinstance(bins, NDArray):
        return invoke("_histogram", (a, bins), {})
    if range is None:
        counts, edges = np.histogram(a.asnumpy(), bins=bins)
        return [array(counts), array(edges)]
    return invoke("_histogram", (a,), {"bin_cnt": bins, "range": tuple(range)})


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Writes one-hot rows for `indices` to `out`."""
    for what, array in (("indices", indices), ("out", out)):
        if not isinstance(array, NDArray):
            raise TypeMismatch(f"onehot_encode: {what} got {shown(array)}, expected an NDArray")
    if out.ndim != 2:
        raise ShapeError(f"onehot_encode: out has shape {out.shape}, expected rank 2")
    attrs = {"depth": out.shape[1], "dtype": out.dtype.name}
    made: NDArray = invoke("one_hot", (indices,), attrs, out=out)
    return made


def reset_arrays(*data: NDArray, num_arrays: int | None = None) -> list[NDArray]:
    """Writes zeros to each of the arrays; there is nothing to give back."""
    if num_arrays is not None and num_arrays != len(data):
        raise ParameterError(f"reset_arrays: num_arrays is {num_arrays}, got {len(data)} array(s)")
    for i, array in enumerate(data):
        if not isinstance(array, NDArray):
            raise TypeMismatch(f"reset_arrays: array {i} got {shown(array)}, expected an NDArray")
    for array in data:
        _create.full(array.shape, 0, out=array)
    return []


def save(fname: str | PathLike[str], data: Any) -> None:
    """Writes a list or dict of arrays, or one array, in MXNet's .params format."""
    from .io.params_file import save as write
    write(fname, data)


def load(fname: str | PathLike[str], mapped: bool = False) -> Any:
    """Reads a list or dict of arrays that `save`, or MXNet, has written: .params files, and the
    .npz files of MXNet 2. Files of safetensors are read too.

    With `mapped` large arrays of .params files lie on the file's own bytes, privately; nobody may
    shorten the file meanwhile. Raises MXNetError when the file can not be read, ModelFormatError
    when it is damaged or something else.
    """
    from .io.array_file import load as read
    return read(fname, mapped)


def save_npz(fname: str, data: Any) -> None:
    """Writes a dict of arrays, a list of them, or one array, as NumPy's `savez` does."""
    from .io.npz_file import save as write
    write(fname, data)


def save_safetensors(fname: str, data: Any, metadata: dict[str, str] | None = None) -> None:
    """Writes a dict of arrays in the format of the package safetensors, which it needs."""
    from .io.safetensors_file import save as write
    write(fname, data, metadata)


def load_frombuffer(buf: Any) -> Any:
    """Reads what `load` reads from bytes in memory."""
    from .io.params_file import load_frombuffer as read
    return read(buf)


def _set_state(array: NDArray, state: Any) -> None:
    """What pickles of MXNet's arrays call: `state["handle"]` holds the bytes of an array.

    Raises ModelFormatError for other bytes, TypeMismatch for another state.
    """
    from .io.params_file import load_one
    handle = state.get("handle") if isinstance(state, dict) else None
    if not isinstance(handle, (bytes, bytearray)):
        raise TypeMismatch(f"NDArray.__setstate__: state got {shown(state)}, expected a dict with "
                           "bytes as its 'handle'")
    become(array, load_one(bytes(handle)))


# reading files is of this floor, arrays are not
NDArray.__setstate__ = _set_state  # type: ignore[method-assign, assignment]


def _space(name: str, doc: str, space: str, **how: Any) -> OperatorModule:
    return OperatorModule(f"{__name__}.{name}", doc, space, function_of, **how)


op = _space("op", "All operators by their own names.", "", everything=True)


def _cvimdecode(*args: Any, **kwargs: Any) -> Any:
    """The image of a file's bytes; `image.imdecode` says how."""
    from .image.read import cvimdecode
    return cvimdecode(*args, **kwargs)


def _cvimread(*args: Any, **kwargs: Any) -> Any:
    """The image in a file; `image.imread` says how."""
    from .image.read import cvimread
    return cvimread(*args, **kwargs)


_internal = _space("_internal", "Operators whose names begin with _.", "_internal",
                   extra={**old_functions.FUNCTIONS, "_cvimdecode": _cvimdecode,
                          "_cvimread": _cvimread})
if not TYPE_CHECKING:
    contrib = _space("contrib", "Operators called _contrib_...", "contrib", extra={
        **updates.FUNCTIONS, **finite.FUNCTIONS, **control_flow.FUNCTIONS, **zipfian.FUNCTIONS,
        "boolean_mask": boolean_mask})
    linalg = _space("linalg", "Operators called _linalg_...", "linalg")
    image = _space("image", "Operators called _image_...", "image")
sparse = _space("sparse", "Operators of MXNet's sparse namespace, on dense arrays.", "",
                everything=True)
random = _space("random", "Random numbers by distribution.", "random",
                extra=distributions.FUNCTIONS)

_NEEDS = {"histogram": "_histogram", "onehot_encode": "one_hot", "split_v2": "_split_v2"}
keep_registered(globals(), _NEEDS)

_own = [name for name in (
    "NDArray", "arange", "array", "concatenate", "empty", "eye", "from_dlpack", "from_numpy",
    "full", "histogram", "linspace", "load", "load_frombuffer", "moveaxis", "onehot_encode",
    "ones", "save", "save_npz", "save_safetensors", "split_v2", "to_dlpack_for_read",
    "to_dlpack_for_write", "true_divide", "waitall", "zeros", *BINARY, "contrib", "image",
    "linalg", "op", "random", "reset_arrays", "sparse") if name in globals()]

# what most programs do without
_LAZY = {"CachedOp": "imperative.cached_op:CachedOp",
         "_STORAGE_TYPE_STR_TO_ID": "symbol.functions:STORAGE_TYPES"}
_load = loads(globals(), _LAZY)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _LAZY:
        return _load(name)
    made = _operators.find(name)
    if made is None:
        raise no_operator(__name__, name, __dir__)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*_own, "CachedOp", *_operators.names()})

