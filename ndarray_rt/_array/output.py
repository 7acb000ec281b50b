"""Outputs: an array with its request, for the native path and for NumPy. Knows no operator."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

from ..dtypes import FLOAT32, is_bare, need_numbers
from ..errors import ShapeError
from ..storage.desc import MemDesc
from ..storage.stream import Mem, Stream
from .layout import (
    AnyArray,
    create_data,
    elements,
    get_data_if,
    numbers,
    overwrite,
    plain_numpy,
    trains_in_layout,
    write_mem,
)
from .ndarray import NDArray
from .req import Req


class Requested:
    """An array that an operator call writes to, and its request."""

    __slots__ = ("array", "req")

    def __init__(self, array: NDArray, req: Req) -> None:
        self.array = array
        self.req = req

    @property
    def requested(self) -> bool:
        """False for kNullOp: nothing needs to be computed."""
        return self.req != Req.kNullOp

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


class Output(Requested):
    """One output of one operator call, on the native path.

    `open(desc, stream)` and `open_weight_grad(desc, stream)` are context managers: they provide
    memory in that layout, and on exit store it as the request says (MXNet's CreateMKLDNNMem and
    CommitOutput). In the stream's transaction nothing is written before the operator has finished.
    """

    __slots__ = ()

    def open(self, desc: MemDesc, stream: Stream,
             inplace_of: Mem | None = None) -> OpenOutput:
        """Memory for writing `desc`; `inplace_of` is the input's memory that it may share."""
        return OpenOutput(self, desc, stream, inplace_of)

    def open_weight_grad(self, desc: MemDesc, stream: Stream) -> OpenOutput:
        """Like `open` if training may leave the gradient in this layout, which the optimizer then
        gives to the weight too; else the array ends in the default layout."""
        return OpenOutput(self, desc, stream, None,
                          keep_default=not trains_in_layout(self.array))


class OpenOutput:
    """The context manager of `Output.open`."""

    __slots__ = ("_add", "_copy", "_desc", "_inplace_of", "_keep_default", "_mem", "_output",
                 "_stream")

    def __init__(self, output: Output, desc: MemDesc, stream: Stream,
                 inplace_of: Mem | None, keep_default: bool = False) -> None:
        self._output = output
        self._desc = desc
        self._stream = stream
        self._inplace_of = inplace_of
        self._keep_default = keep_default
        self._copy = self._add = False

    def __enter__(self) -> Mem:
        req, array, desc, stream = (self._output.req, self._output.array, self._desc,
                                    self._stream)
        mem: Mem | None = None
        if req == Req.kWriteTo:
            if desc.is_default or not self._keep_default:
                mem = create_data(array, desc, stream)
            self._copy = mem is None
        elif req == Req.kWriteInplace:
            mem = self._inplace(array)
            self._copy = mem is None
        elif req == Req.kAddTo:
            self._add = True
        self._mem = mem if mem is not None else stream.scratch(desc)
        return self._mem

    def _inplace(self, array: NDArray) -> Mem | None:
        """The shared memory, if input, output and primitive agree on the layout."""
        source = self._inplace_of
        if source is None or source.desc is not self._desc:
            return None
        special = array._chunk.mkl_mem
        if special is not None and special is not self._desc:
            return None
        # the rank is that of the layout
        own = get_data_if(array, self._desc, self._stream)
        if own is None or own.ptr != source.ptr:
            return None
        self._stream.open(array._chunk)
        return own

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is not None:
            return
        array, stream, mem = self._output.array, self._stream, self._mem
        if self._add:
            write_mem(array, mem, stream, add=True)
        elif self._copy:
            if not array.is_view and not self._keep_default:
                target = create_data(array, mem.desc, stream)
                if target is not None:
                    write_mem(array, mem, stream)
                    return
            if not array.is_view:
                stream.open(array._chunk)
                array._chunk.invalidate_data()
                array._chunk.check_and_alloc(array.nbytes)
            write_mem(array, mem, stream)


class NumpyOutput(Requested):
    """One output of one operator call, on the NumPy path.

    `write(value)` keeps the value; `commit` stores it as the request says after `compute` has
    finished, so that an output that shares memory with an input does not change it too early.
    """

    __slots__ = ("_room", "value")

    def __init__(self, array: NDArray, req: Req) -> None:
        super().__init__(array, req)
        self.value: AnyArray | None = None
        self._room: AnyArray | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype in which `compute` works: float32 if NumPy does not know the array's."""
        return FLOAT32 if is_bare(self.array.dtype) else self.array.dtype

    def room(self, dtype: np.dtype[Any]) -> AnyArray | None:
        """The output's own memory, for computing the value in place before passing it to `write`;
        its contents are garbage. None if that is not possible: `dtype` differs, or the present
        contents are needed until the value is complete.
        """
        array, chunk = self.array, self.array._chunk
        if (self.req != Req.kWriteTo or chunk.is_allocated or array.is_view
                or array.dtype != dtype or is_bare(dtype) or not array.size):
            return None
        chunk.check_and_alloc()
        self._room = elements(array)
        return self._room

    def write(self, value: Any) -> None:
        """Sets the computed value, which must have exactly the output's shape."""
        if self.req == Req.kNullOp:
            return
        made = np.asarray(value)
        need_numbers(made.dtype)
        if made.shape != self.array.shape:
            raise ShapeError(f"compute gave shape {made.shape}, "
                             f"inference said {self.array.shape}")
        self.value = made

    def own(self) -> None:
        """Copies the value, so that later changes of inputs do not affect it."""
        if self.value is not None:
            self.value = np.array(self.value)

    def commit(self, stream: Stream) -> None:
        """Stores or adds the value; the Chunk has the default layout afterwards."""
        if self.value is None:
            return
        array, chunk = self.array, self.array._chunk
        if self._room is not None and _is_same(self.value, self._room):
            chunk.wrote()
            return
        if self.req != Req.kAddTo:
            overwrite(array, self.value, stream)
            return
        chunk.reorder_to_default(stream)
        if is_bare(array.dtype):
            overwrite(array, numbers(array, stream) + self.value, stream)
            return
        target = plain_numpy(array)
        with np.errstate(all="ignore"):
            chunk.wrote()
            np.add(target, self.value, out=target, casting="unsafe")


def _is_same(a: AnyArray, b: AnyArray) -> bool:
    """The same elements in memory, regardless of shape; both are contiguous."""
    return (a.dtype == b.dtype and a.nbytes == b.nbytes and a.flags.c_contiguous
            and bool(a.ctypes.data == b.ctypes.data))
