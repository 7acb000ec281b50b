"""NDArray's methods and operators, installed on the class when the package is imported.

Floor 2 knows no operators, so that the import goes this way round. Methods that are an operator of
the same name are made from its nd function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from .._array import as_text, dlpack, interop, pickling
from .._array.create import array
from .._array.indexing import (
    Key,
    assign,
    check_arrays,
    fast_view,
    makes_view,
    parse_key,
    view_of,
)
from .._array.ndarray import NDArray
from .._array.numpy_functions import array_function
from ..errors import MXNetError, ShapeError, TypeMismatch
from ..op.arithmetic import ARITHMETIC, COMPARED
from ..op.arithmetic import METHODS as METHODS_OF_BOTH
from ..op.registry import REGISTRY, find
from . import arithmetic, python_operators
from . import array_methods as methods
from .call import parse
from .fast_call import call_named
from .generated import make_function
from .invoke import invoke
from .tape import check_outputs, needs_record, record
from .ufuncs import array_ufunc

# methods that are the operator of their name
OPERATOR_METHODS = (*METHODS_OF_BOTH, "dot", "erf", "erfinv", "gamma", "gammaln")


# ---- arithmetic -----------------------------------------------------------------------------


def _operator(kind: str, swap: bool = False) -> Callable[[NDArray, Any], Any]:
    if swap:
        def method(self: NDArray, other: Any) -> Any:
            return arithmetic.binary(kind, other, self)
    else:
        def method(self: NDArray, other: Any) -> Any:
            return arithmetic.binary(kind, self, other)
    return method


def _in_place(kind: str) -> Callable[[NDArray, Any], Any]:
    def method(self: NDArray, other: Any) -> Any:
        return arithmetic.binary(kind, self, other, self)
    return method


def _comparison(kind: str) -> Callable[[NDArray, Any], Any]:
    def method(self: NDArray, other: Any) -> Any:
        made = arithmetic.binary(kind, self, other)
        if made is NotImplemented:
            # otherwise Python would compare identities
            raise TypeMismatch(f"an NDArray can not be compared with {other!r}")
        return made
    return method


def _arithmetic() -> dict[str, Callable[..., Any]]:
    made: dict[str, Callable[..., Any]] = {}
    for name, kind in ARITHMETIC:
        made[f"__{name}__"] = _operator(kind)
        made[f"__r{name}__"] = _operator(kind, swap=True)
        made[f"__i{name}__"] = _in_place(kind)
    for name, kind in COMPARED:
        made[f"__{name}__"] = (_comparison if name in ("eq", "ne") else _operator)(kind)
    return made


def _neg(self: NDArray) -> Any:
    return call_named("_mul_scalar", (self,), {"scalar": -1.0})


def _abs(self: NDArray) -> Any:
    return call_named("abs", (self,), {})


# ---- as Python values -----------------------------------------------------------------------


def _bool(self: NDArray) -> bool:
    if self.size == 0:
        return False
    if self.size == 1:
        return bool(self.asscalar())
    raise ShapeError("The truth value of an NDArray with multiple elements is ambiguous.")


def asscalar(self: NDArray) -> Any:
    """The one element as a numpy scalar."""
    if self.size != 1:
        raise ShapeError(f"The current array is not a scalar: it has shape {self.shape}")
    return interop.asnumpy(self).reshape(-1)[0]


def item(self: NDArray) -> Any:
    """The one element as a Python number."""
    return asscalar(self).item()


def _index(self: NDArray) -> int:
    if self.size != 1 or self.dtype.kind not in "iu":
        raise TypeMismatch("only arrays of one whole number can be an index")
    return int(asscalar(self))


def _iter(self: NDArray) -> Iterator[NDArray]:
    for i in range(len(self)):
        yield self[i]


def _contains(self: NDArray, value: Any) -> bool:
    return bool((interop.asnumpy(self) == _plain(value)).any())


def _plain(value: Any) -> Any:
    return interop.asnumpy(value) if isinstance(value, NDArray) else value


def tolist(self: NDArray) -> Any:
    """The elements as Python numbers, in lists nested as deep as the rank."""
    return interop.asnumpy(self).tolist()


# ---- indexing -------------------------------------------------------------------------------


def getitem(self: NDArray, key: Any) -> NDArray:
    """self[key]: a view for a contiguous basic key, else a copy."""
    made = fast_view(self, key)
    parsed: Key | None = None
    if made is None:
        parsed = parse_key(key)
        if parsed.is_basic:
            made = view_of(self, parsed)
        else:
            check_arrays(self, parsed)
        if made is None:
            arrays = [array(index, self.ctx, index.dtype) for index in parsed.arrays]
            taken: NDArray = call_named("_index", (self, *arrays), {
                "key": parsed.text(), "num_args": 1 + len(arrays)})
            return taken
    if needs_record((self,)):
        text = (parse_key(key) if parsed is None else parsed).text()
        op = find("_index")
        record(op, parse(op, {"key": text}, None), [self], [made])
    return made


def setitem(self: NDArray, key: Any, value: Any) -> None:
    """self[key] = value, into the memory that self shares with its views."""
    check_outputs((self,), "x[...] = y")
    if isinstance(value, NDArray) and needs_record((value,)):
        _assign_recorded(self, key, value)
        return
    assign(self, parse_key(key), value)


def _assign_recorded(x: NDArray, key: Any, value: NDArray) -> None:
    """While recording, a value with a gradient can only be assigned to a whole array."""
    if not (key is Ellipsis or (isinstance(key, slice) and key == slice(None))):
        # programs look for this wording of MXNet's
        raise MXNetError("x[...] = y: Inplace operations (+=, -=, x[:]=, etc) are not supported "
                         "when recording with autograd, where y has a gradient and x[...] is a "
                         "part of an array; use concat, stack or where")
    if value.dtype != x.dtype:
        value = value.astype(x.dtype)
    if value.shape != x.shape:
        value = value.broadcast_to(x.shape)
    invoke("_copy", (value,), {}, out=x)


def slice_assign(self: NDArray, rhs: NDArray, begin: Any, end: Any, step: Any = ()) -> NDArray:
    """Writes rhs to the part of this array that `slice` would return; returns this array."""
    return cast(NDArray, invoke("_slice_assign", (self, rhs),
                                {"begin": begin, "end": end, "step": step}, self))


def slice_assign_scalar(self: NDArray, value: float, begin: Any, end: Any,
                        step: Any = ()) -> NDArray:
    """Writes a number to the part of this array that `slice` would return; returns this array."""
    return cast(NDArray, invoke("_slice_assign_scalar", (self,),
                                {"scalar": value, "begin": begin, "end": end, "step": step}, self))


# ---- installing -----------------------------------------------------------------------------


METHODS: dict[str, Any] = {
    **_arithmetic(),
    "__neg__": _neg, "__abs__": _abs, "__bool__": _bool, "__float__": lambda x: float(asscalar(x)),
    "__int__": lambda x: int(asscalar(x)), "__index__": _index, "__iter__": _iter,
    "__contains__": _contains, "__repr__": as_text.text, "__str__": as_text.text,
    "__format__": as_text.formatted, "_repr_html_": as_text.html, "tolist": tolist,
    "__matmul__": python_operators.matmul,
    "__rmatmul__": lambda x, other: python_operators.matmul(other, x),
    "__floordiv__": python_operators.floor_divide,
    "__rfloordiv__": lambda x, other: python_operators.floor_divide(other, x),
    "__ifloordiv__": python_operators.in_place_floor_divide,
    "__round__": python_operators.rounded,
    "_basic_indexing_slice_is_contiguous": staticmethod(makes_view),
    "__reduce_ex__": pickling.reduce, "__copy__": pickling.copied,
    "__deepcopy__": pickling.deepcopied, "__getitem__": getitem, "__setitem__": setitem,
    "__array__": interop.to_array, "__buffer__": interop.to_buffer,
    "__array_function__": array_function, "__array_ufunc__": array_ufunc,
    "__dlpack__": dlpack.dlpack, "__dlpack_device__": dlpack.dlpack_device,
    "to_dlpack_for_read": dlpack.to_dlpack_for_read,
    "to_dlpack_for_write": dlpack.to_dlpack_for_write,
    "T": property(methods.transposed), "grad": property(methods.grad),
    "_fresh_grad": property(methods.fresh_grad, methods.set_fresh_grad),
    "writable": property(lambda x: True, doc="True: each array can be written to."),
    "asnumpy": interop.asnumpy, "asscalar": asscalar, "item": item,
    **{name: getattr(methods, name) for name in (
        "as_in_context", "astype", "attach_grad", "backward", "broadcast_to", "copy", "copyto",
        "expand_dims", "flatten", "reorder", "reorder_to_default", "reshape", "split_v2",
        "squeeze", "to_dense", "to_mkldnn", "tostype", "transpose")},
    "slice_assign": slice_assign, "slice_assign_scalar": slice_assign_scalar,
    "as_in_ctx": methods.as_in_context, "wait_to_read": methods.nothing,
    "wait_to_write": methods.nothing, "as_nd_ndarray": methods.as_self,
}


def _operator_method(name: str) -> Callable[..., Any]:
    made: list[Callable[..., Any]] = []

    def method(self: NDArray, *args: Any, **kwargs: Any) -> Any:
        if not made:
            made.append(make_function(find(name), name))
        if kwargs.get("dtype", self) is None:
            del kwargs["dtype"]  # NumPy's functions call methods with dtype=None
        return made[0](self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"nd.{name} of this array."
    return method


def install() -> None:
    """Adds the methods to NDArray, except those whose operators are not registered."""
    for name in OPERATOR_METHODS:
        if name in REGISTRY:
            setattr(NDArray, name, _operator_method(name))
    for name, method in METHODS.items():
        setattr(NDArray, name, method)

