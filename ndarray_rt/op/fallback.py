"""fallback_compute: an operator in NumPy, whatever layouts its arrays have."""

from __future__ import annotations

import threading
from collections import Counter

import numpy as np

from .._array.bare import cast
from .._array.layout import AnyArray, elements
from .._array.ndarray import NDArray
from .._array.output import NumpyOutput
from .._array.req import Req
from ..dtypes import is_bare, need_numbers
from ..errors import OutOfMemory, where
from ..fork import renew_in_child
from ..storage.chunk import Chunk
from .context import OpContext
from .kernel_key import KernelKey, transform
from .params import Params
from .registry import OpDef

# reasons may contain shapes: beyond this many texts, new ones are counted together
MAX_REASONS = 1024
OTHER_REASONS = "other reasons"
# NumPy's messages for arrays larger than the address space
_TOO_LARGE = ("array is too big", "Maximum allowed dimension exceeded",
              "maximum supported dimension")


class Reasons:
    """How often each operator ran in NumPy, and why."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """Called in a forked child."""
        self._lock = threading.Lock()

    def add(self, op: str, reason: str) -> None:
        key = op, reason
        with self._lock:
            if len(self._counts) >= MAX_REASONS and key not in self._counts:
                key = op, OTHER_REASONS
            self._counts[key] += 1

    def as_dict(self) -> dict[tuple[str, str], int]:
        """(operator, reason) -> times."""
        with self._lock:
            return dict(self._counts)

    def reset(self) -> None:
        with self._lock:
            self._counts.clear()


REASONS = Reasons()


def fallback_compute(op: OpDef, params: Params, ctx: OpContext, key: KernelKey,
                     ins: list[NDArray], outs: list[NDArray], reqs: list[Req],
                     reason: str | None = None) -> None:
    """Runs `compute` on default-layout inputs and stores the results as the requests say.

    With a `reason` the stream notes the call as a step of inference that replays run again, on the
    same memory, each time counted under that reason: for operators that write to no inputs, and
    requests that add to no output.

    Inputs in a special layout are read through private copies. Inputs that the operator writes to
    are converted in place first. Outputs end in the default layout.
    """
    stream = ctx.stream
    for position in op.mutated(params):
        need_numbers(ins[position].dtype)
        chunk = ins[position]._chunk
        chunk.reorder_to_default(stream)
        chunk.wrote()
    arrays = transform(ins, key, stream)
    outputs = [NumpyOutput(array, req) for array, req in zip(outs, reqs, strict=True)]
    _compute(op, params, ctx, arrays, outputs)
    _detach_shared(outputs)
    for output in outputs:
        output.commit(stream)
    if reason is None:
        return
    targets = [(output, elements(output.array)) for output in outputs if output.requested]
    mode = ctx.mode

    def again() -> None:
        ctx.mode = mode
        REASONS.add(op.name, reason)
        for output, _ in targets:
            output.value = None
        _compute(op, params, ctx, arrays, outputs)
        for output, _ in targets:
            if output.value is not None and any(
                    np.may_share_memory(output.value, target) for _, target in targets):
                output.own()
        with np.errstate(all="ignore"):
            for output, target in targets:
                if output.value is not None:
                    target[...] = cast(output.value, target.dtype) if is_bare(
                        target.dtype) else output.value
    stream.note(again)


def _compute(op: OpDef, params: Params, ctx: OpContext, arrays: list[AnyArray],
             outputs: list[NumpyOutput]) -> None:
    try:
        with np.errstate(all="ignore"):
            op.compute(ctx, params, arrays, outputs)
    except OutOfMemory:
        raise
    except (MemoryError, ValueError) as error:
        if isinstance(error, ValueError) and not str(error).startswith(_TOO_LARGE):
            raise
        raise OutOfMemory(f"{where(op.name, ctx.node_name)}: there is no memory for what numpy "
                          "computes on the way") from None


def _detach_shared(outputs: list[NumpyOutput]) -> None:
    """Copies values that storing another output, or themselves, would change while they are read.
    """
    allocated = [o for o in outputs if o.value is not None and o.array._chunk.is_allocated]
    for output in outputs:
        if output.value is None:
            continue
        for other in allocated:
            own: Chunk = other.array._chunk
            special = own.mkl_mem is not None
            if special or np.may_share_memory(output.value, elements(other.array)):
                if other is output and _is_same(output):
                    continue
                output.own()
                break


def _is_same(output: NumpyOutput) -> bool:
    """The value already is the memory that it is to be stored in."""
    target, value = elements(output.array), output.value
    return (value is not None and value.dtype == target.dtype and value.strides == target.strides
            and value.__array_interface__["data"][0] == target.__array_interface__["data"][0]
            and output.req != Req.kAddTo)
