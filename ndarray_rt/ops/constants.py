"""Numbers that a primitive reads besides its inputs. Knows no operator."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from .._array.layout import AnyArray
from ..native import ffi
from ..op.context import OpContext
from ..storage.desc import MemDesc
from ..storage.handle import Handle
from ..storage.primitive import Primitive
from ..storage.stream import Mem

# A recorded plan keeps its primitives alive, and thereby these.
_kept: WeakKeyDictionary[Primitive, Handle] = WeakKeyDictionary()


def constant(ctx: OpContext, prim: Primitive, desc: MemDesc, values: AnyArray | float) -> Mem:
    """float32 memory with `values`, for the one constant of `prim`; lives as long as that."""
    handle = _kept.get(prim)
    if handle is None:
        handle = Handle(desc.nbytes)
        np.frombuffer(ffi.buffer(handle.ptr, desc.nbytes), np.float32)[:] = values
        handle = _kept.setdefault(prim, handle)
    return Mem(desc, handle.ptr, handle, ctx.stream.epoch)
