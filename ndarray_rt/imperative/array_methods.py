"""NDArray's methods for shape, copies, layouts and gradients. Arithmetic is in methods.py."""

from __future__ import annotations

import warnings
from math import prod
from operator import index
from typing import Any

from .._array.access import Access
from .._array.copy import copy_into, copy_plain
from .._array.create import zeros
from .._array.layout import named_desc
from .._array.ndarray import NDArray, new_array
from .._array.new_shape import reshaped
from .._array.req import parse_grad_req
from ..context import Context
from ..dtypes import find_dtype
from ..errors import MXNetError, NdrtError, ShapeError, TypeMismatch, no_storage, shown
from ..op.infer import normalize_axis
from ..op.registry import find
from .backward import backward as run_backward
from .call import infer_outputs, parse
from .fast_call import call_named
from .invoke import invoke
from .tape import check_outputs, needs_record, record, set_variable


def _ints(values: Any, what: str) -> tuple[int, ...]:
    """One int or several; TypeMismatch for anything else."""
    try:
        if hasattr(values, "__index__") and not getattr(values, "ndim", 0):
            return (index(values),)
        return tuple(value if type(value) is int else int(_whole(value)) for value in values)
    except (TypeError, ValueError):
        raise TypeMismatch(f"{what} got {shown(values)}, expected ints") from None


def _whole(value: Any) -> Any:
    """A value that int() accepts; text is refused."""
    if isinstance(value, (str, bytes)):
        raise TypeError
    return value


# ---- shape ----------------------------------------------------------------------------------


def reshape(self: NDArray, *shape: Any, **kwargs: Any) -> NDArray:
    """A view of another shape; takes MXNet's codes 0, -1, -2, -3, -4 and `reverse`."""
    if "shape" in kwargs:
        if shape:
            raise TypeMismatch("reshape: got the shape twice")
        shape = (kwargs.pop("shape"),)
    reverse = kwargs.pop("reverse", False)
    if kwargs:
        raise TypeMismatch(f"Got unknown keywords in reshape: {', '.join(kwargs)}. Accepted "
                           "keyword arguments are 'shape' and 'reverse'.")
    codes = _ints(shape[0] if len(shape) == 1 else shape, "reshape: shape")
    return _view_as(self, reshaped(self.shape, codes, bool(reverse)))


def _view_as(x: NDArray, shape: tuple[int, ...]) -> NDArray:
    made = x._view_as(shape)
    if needs_record((x,)):
        op = find("Reshape")
        record(op, parse(op, {"shape": shape}, None), [x], [made])
    return made


def transpose(self: NDArray, *axes: Any, **kwargs: Any) -> Any:
    """A copy with axes in another order, reversed when none is given."""
    if "axes" in kwargs:
        axes = (kwargs.pop("axes"),)
    if kwargs:
        raise TypeMismatch(f"transpose: unknown keywords {', '.join(kwargs)}")
    given = axes[0] if len(axes) == 1 else axes
    wanted = () if given is None else _ints(given, "transpose: axes")
    return call_named("transpose", (self,), {"axes": wanted})


def flatten(self: NDArray, inplace: bool = False, **kwargs: Any) -> Any:
    """All axes but the first as one: a copy, or with `inplace` a view."""
    made = _with_operator("Flatten", self, inplace, kwargs)
    return made if made is not None else _view_as(
        self, (self.shape[0], prod(self.shape[1:])) if self.ndim else (1, 1))


def expand_dims(self: NDArray, axis: int, inplace: bool = False, **kwargs: Any) -> Any:
    """A new axis of size 1 at `axis`: a copy, or with `inplace` a view."""
    made = _with_operator("expand_dims", self, inplace, {"axis": axis, **kwargs})
    if made is not None:
        return made
    at = normalize_axis(index(axis), self.ndim + 1)
    return _view_as(self, (*self.shape[:at], 1, *self.shape[at:]))


def squeeze(self: NDArray, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Any:
    """Without axes of size 1, all of them or those named: a copy, or with `inplace` a view."""
    made = _with_operator("squeeze", self, inplace, {"axis": axis, **kwargs})
    if made is not None:
        return made
    op = find("squeeze")
    (shape, _), = infer_outputs(op, op.params.parse({"axis": axis}, op.name), [self])
    return _view_as(self, shape)


def _with_operator(name: str, x: NDArray, inplace: bool, attrs: dict[str, Any]) -> Any:
    """The operator's result; None if a view is wanted."""
    out, node = attrs.pop("out", None), attrs.pop("name", None)
    if not inplace:
        return (call_named(name, (x,), attrs, out) if node is None
                else invoke(name, (x,), attrs, out, node))
    if set(attrs) - {"axis"} or out is not None:
        raise TypeMismatch(f"{name}: inplace makes a view, and takes nothing but an axis")
    return None


def broadcast_to(self: NDArray, shape: Any) -> Any:
    """A copy repeated to `shape`; a 0 in it keeps that dimension."""
    target = _ints(shape, "broadcast_to: shape")
    if len(target) < self.ndim:
        raise ShapeError(f"broadcast_to: shape {self.shape} has more dimensions than {target}")
    # the operator requires equal rank
    source = _view_as(self, (1,) * (len(target) - self.ndim) + self.shape)
    return call_named("broadcast_to", (source,), {"shape": target})


def split_v2(self: NDArray, indices_or_sections: Any, axis: int = 0,
             squeeze_axis: bool = False) -> Any:
    """Pieces along an axis: a number of equal ones, or split at the given indices."""
    return split_at(self, indices_or_sections, axis, squeeze_axis)


def split_at(ary: NDArray, indices_or_sections: Any, axis: int = 0,
             squeeze_axis: bool = False) -> Any:
    """nd.split_v2."""
    if isinstance(indices_or_sections, int):
        attrs: dict[str, Any] = {"indices": (0,), "sections": indices_or_sections}
    elif isinstance(indices_or_sections, (tuple, list)):
        attrs = {"indices": (0, *indices_or_sections), "sections": 0}
    else:
        raise TypeMismatch("split_v2: indices_or_sections must be an int or a tuple of ints, "
                           f"got {indices_or_sections!r}")
    return call_named("_split_v2", (ary,), {**attrs, "axis": axis, "squeeze_axis": squeeze_axis})


def transposed(self: NDArray) -> Any:
    """The axes in reverse order, copied; the array itself below rank 2."""
    return self if self.ndim < 2 else call_named("transpose", (self,), {})


# ---- copies, dtypes, places -------------------------------------------------------------------


def plain_copy(x: NDArray, ctx: Context) -> NDArray:
    made = new_array(x.shape, x.dtype, ctx)
    with Access(read=(x,), written=(made,)) as stream:
        copy_into(x, made, stream)
    return made


def copy(self: NDArray) -> NDArray:
    """A copy with memory of its own."""
    made: NDArray = copyto(self, self.ctx)
    return made


def copyto(self: NDArray, other: NDArray | Context) -> Any:
    """Copies into another array of equal shape, casting; or into a new one on a Context."""
    if isinstance(other, Context):
        other.check()
        if needs_record((self,)):
            made: NDArray = call_named("_copy", (self,), {})
            made._ctx = other
            return made
        return plain_copy(self, other)
    if not isinstance(other, NDArray):
        raise TypeMismatch(f"copyto does not support type {type(other)}")
    if other is self:
        warnings.warn("You are attempting to copy an array to itself", RuntimeWarning,
                      stacklevel=2)
        return False
    if other.shape != self.shape:
        raise ShapeError(f"copyto: shape {self.shape} into shape {other.shape}")
    check_outputs((other,), "copyto")
    if needs_record((self,)):
        source = self if self.dtype == other.dtype else astype(self, other.dtype)
        invoke("_copy", (source,), {}, out=other)
        return other
    if copy_plain(self, other):
        return other
    with Access(read=(self,), written=(other,)) as stream:
        copy_into(self, other, stream)
    return other


def astype(self: NDArray, dtype: Any, copy: bool = True) -> NDArray:
    """The contents in another dtype; the array itself if it has it already and not `copy`."""
    wanted = find_dtype(dtype)
    if wanted == self.dtype:
        return self.copy() if copy else self
    made: NDArray = call_named("Cast", (self,), {"dtype": wanted.name})
    return made


def as_in_context(self: NDArray, context: Context) -> NDArray:
    """The array itself if it is on that context, else a copy."""
    if not isinstance(context, Context):
        raise TypeMismatch(f"as_in_context: expected a Context, got {context!r}")
    return self if self.ctx == context else copyto(self, context)


def tostype(self: NDArray, stype: str) -> NDArray:
    """A copy; there is only the storage type 'default'."""
    if not isinstance(stype, str) or stype != "default":
        raise no_storage(stype)
    return copy(self)


def nothing(self: NDArray) -> None:
    """Returns at once: execution is synchronous."""


def as_self(self: NDArray) -> NDArray:
    """The array itself: there is one kind of arrays."""
    return self


# ---- layouts --------------------------------------------------------------------------------


def to_mkldnn(self: NDArray, layout: str | None = None) -> NDArray:
    """A copy in a layout of oneDNN: channels-last, or the one with the given name.

    Names are those that `layout` returns, such as 'nhwc', 'nChw16c' or 'default', oneDNN's names of
    weight layouts, such as 'OIhw16i16o', and its tags, such as 'aBcd16b'. The array itself if it
    has that layout already. Results computed from it are the same. Raises ParameterError for a name
    that is not a layout of this rank.
    """
    if layout == "default":
        return to_dense(self)
    desc = named_desc(self, layout, "to_mkldnn")
    if self._chunk.mkl_mem is desc and not self.is_view:
        return self
    made = plain_copy(self, self.ctx)
    reorder(made, layout)
    return made


def to_dense(self: NDArray) -> NDArray:
    """A copy in the default layout; the array itself if it has that already."""
    if not self.is_special:
        return self
    made = plain_copy(self, self.ctx)
    reorder_to_default(made)
    return made


def reorder(self: NDArray, layout: str | None = None) -> None:
    """Converts the array's own memory to a layout; names are those of `to_mkldnn`."""
    if layout == "default":
        reorder_to_default(self)
        return
    desc = named_desc(self, layout, "reorder")
    if self.is_view:
        raise NdrtError("reorder: a view sees only the default layout; reorder its base")
    with Access(written=(self,)) as stream:
        current = self._chunk.mkl_mem
        if current is not None and current.dims != desc.dims:
            self._chunk.reorder_to_default(stream)
        self._chunk.reorder(desc, stream)


def reorder_to_default(self: NDArray) -> None:
    """Converts the array's own memory to the default layout."""
    with Access(written=(self,)) as stream:
        self._chunk.reorder_to_default(stream)


# ---- gradients ------------------------------------------------------------------------------


def attach_grad(self: NDArray, grad_req: str = "write", stype: str | None = None) -> None:
    """Makes the array a leaf with a gradient array of zeros, `.grad`.

    `grad_req`: 'write' overwrites it at each backward, 'add' adds to it, 'null' leaves it alone.
    """
    if stype is not None and not (isinstance(stype, str) and stype == "default"):
        raise no_storage(stype, "attach_grad")
    req = parse_grad_req(grad_req)
    set_variable(self, zeros(self.shape, self.ctx, self.dtype), req)


def grad(self: NDArray) -> NDArray | None:
    """The gradient array, None without attach_grad."""
    return None if self._grad_state is None else self._grad_state.array


def fresh_grad(self: NDArray) -> bool:
    """Whether backward has written the gradient array since this was set to False."""
    return self._grad_state is not None and self._grad_state.fresh


def set_fresh_grad(self: NDArray, fresh: bool) -> None:
    if self._grad_state is None:
        raise MXNetError("_fresh_grad: the array has no gradient, which attach_grad or "
                         "mark_variables would give it")
    self._grad_state.fresh = bool(fresh)


def backward(self: NDArray, out_grad: NDArray | None = None, retain_graph: bool = False,
             train_mode: bool = True) -> None:
    """Computes the gradients of this array for all arrays with attach_grad."""
    run_backward([self], [out_grad], retain_graph, train_mode)
