"""Short ways to call the native layer from its tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndarray_rt.cpu_level import lanes
from ndarray_rt.native import call, ffi, lib, own
from ndarray_rt.storage.kernel_call import KernelCall

F32 = lib.NDRT_F32
U8 = lib.NDRT_U8
DTYPES = {
    np.dtype("f4"): F32,
    np.dtype("u1"): U8,
    np.dtype("i1"): lib.NDRT_S8,
    np.dtype("i4"): lib.NDRT_S32,
}


def packed_columns(matrix: Any, width: int) -> Any:
    """The transpose of a matrix (columns, features) in blocks of `width` columns. Padded features
    are NaN: nothing reads them."""
    columns, features = matrix.shape
    padded = np.full((-(-columns // width) * width, -(-features // lanes()) * lanes()), np.nan,
                     "f4")
    padded[:, :features] = 0
    padded[:columns, :features] = matrix
    return np.ascontiguousarray(padded.reshape(-1, width, padded.shape[1]).transpose(0, 2, 1))


class Desc:
    """A layout with its reference."""

    def __init__(self, pointer: Any) -> None:
        self.ptr = own(pointer, lib.ndrt_desc_free)
        self.info = lib.ndrt_desc_read(pointer)

    def list(self, field: str, n: int | None = None) -> list[int]:
        return list(getattr(self.info, field)[0 : self.info.ndims if n is None else n])

    def permuted(self, *axes: int) -> Desc:
        return new_desc(lib.ndrt_desc_permuted, self.ptr, list(axes))

    def reshaped(self, *dims: int) -> Desc:
        return new_desc(lib.ndrt_desc_reshaped, self.ptr, len(dims), list(dims))


def new_desc(fn: Any, *args: Any) -> Desc:
    out = ffi.new("ndrt_desc **")
    call(fn, *args, out, what="desc")
    return Desc(out[0])


def desc(dims: Any, tag: str | None = None, strides: Any = None, dtype: int = F32) -> Desc:
    if tag is not None:
        return new_desc(lib.ndrt_desc_tagged, dtype, len(dims), list(dims), tag.encode())
    given = ffi.NULL if strides is None else list(strides)
    return new_desc(lib.ndrt_desc_strided, dtype, len(dims), list(dims), given)


def buffer(nbytes: int, zero: bool = True) -> Any:
    out = ffi.new("ndrt_buffer **")
    call(lib.ndrt_buffer_new, nbytes, int(zero), out, what="buffer")
    return own(out[0], lib.ndrt_buffer_free)


class Array:
    """Bytes in a layout."""

    def __init__(self, layout: Desc, data: Any = None) -> None:
        self.desc = layout
        self.buffer = buffer(layout.info.nbytes)
        if data is not None:
            self.bytes()[:] = np.ascontiguousarray(data).tobytes()

    def bytes(self) -> Any:
        return ffi.buffer(self.buffer.data, self.desc.info.nbytes)

    def numpy(self, dtype: Any = "f4") -> Any:
        """The bytes as they lie there."""
        return np.frombuffer(self.bytes(), dtype=dtype)


class Prim:
    """A primitive from the fields of ndrt_spec; a tuple becomes an array field."""

    def __init__(self, kind: int, **fields: Any) -> None:
        spec = ffi.new("ndrt_spec *")
        self.keep: list[Any] = [fields]
        spec.kind = kind
        for name, value in fields.items():
            if name == "srcs":
                spec.nsrcs = len(value)
                spec.srcs = self.kept("ndrt_desc *[]", [d.ptr for d in value])
            elif name == "scales":
                spec.scales = self.kept("float[]", value)
            elif name == "post_ops":
                spec.npost_ops = len(value)
                spec.post_ops = self.kept("ndrt_post_op[]", value)
            elif isinstance(value, Desc):
                setattr(spec, name, value.ptr)
            elif isinstance(value, tuple):
                getattr(spec, name)[0 : len(value)] = value
            else:
                setattr(spec, name, value)
        out = ffi.new("ndrt_prim **")
        call(lib.ndrt_prim_new, spec, out, what="prim")
        self.ptr = own(out[0], lib.ndrt_prim_free)

    def kept(self, ctype: str, value: Any) -> Any:
        array = ffi.new(ctype, value)
        self.keep.append(array)
        if ctype.startswith("ndrt_desc"):
            return ffi.cast("const ndrt_desc *const *", array)
        return array

    def impl(self) -> str:
        return bytes(ffi.string(lib.ndrt_prim_impl(self.ptr))).decode()

    def desc(self, arg: int) -> Desc | None:
        out = ffi.new("ndrt_desc **")
        call(lib.ndrt_prim_desc, self.ptr, arg, out, what="query")
        return Desc(out[0]) if out[0] else None

    def args(self, args: dict[int, Array]) -> tuple[int, Any]:
        scratch = self.desc(lib.NDRT_ARG_SCRATCHPAD)
        if scratch is not None and lib.NDRT_ARG_SCRATCHPAD not in args:
            args = {**args, lib.NDRT_ARG_SCRATCHPAD: Array(scratch)}
        self.keep.append(args)
        rows = [(arg, a.desc.ptr, a.buffer.data) for arg, a in args.items()]
        return len(rows), ffi.new("ndrt_arg[]", rows)

    def run(self, args: dict[int, Array]) -> None:
        call(lib.ndrt_prim_run, self.ptr, *self.args(args), what="run")


def reorder(src: Array, layout: Desc) -> Array:
    dst = Array(layout)
    prim = Prim(lib.NDRT_REORDER, src=src.desc, dst=layout)
    prim.run({lib.NDRT_ARG_SRC: src, lib.NDRT_ARG_DST: dst})
    return dst


def from_numpy(data: Any, tag: str | None = None) -> Array:
    """A copy of a NumPy array, in row-major order or in the layout `tag`."""
    data = np.ascontiguousarray(data)
    plain = Array(desc(data.shape, dtype=DTYPES[data.dtype]), data)
    return plain if tag is None else reorder(plain, desc(data.shape, tag, dtype=DTYPES[data.dtype]))


def to_numpy(array: Array, dtype: Any = "f4") -> Any:
    dims = array.desc.list("dims")
    plain = reorder(array, desc(dims, dtype=array.desc.info.dtype))
    return plain.numpy(dtype).reshape(dims).copy()


def kernel(number: int, counts: Any, data: Any, numbers: Any = (), nthreads: int = 0) -> None:
    """Runs one of ndrt_kernel_id over NumPy arrays, in place; whatever fits or not."""
    run_kernel(KernelCall(number, tuple(data), tuple(counts), tuple(numbers)), nthreads)


def over_arrays(kernel: Callable[..., KernelCall]) -> Callable[..., KernelCall]:
    """The function of a kernel, to be called with NumPy arrays in place of memories."""
    return kernel


def run_kernel(given: KernelCall, nthreads: int = 0) -> None:
    """Runs a call, made over NumPy arrays in place of memories, in place."""
    made = ffi.new("ndrt_kernel_call *", {"kernel": given.kernel, "nthreads": nthreads,
                                          "counts": given.counts, "numbers": given.numbers})
    arrays: tuple[Any, ...] = given.arrays
    for i, array in enumerate(arrays):
        if array is not None:
            made.data[i] = ffi.cast("void *", array.ctypes.data)
    call(lib.ndrt_kernel_run, made, what="kernel")
