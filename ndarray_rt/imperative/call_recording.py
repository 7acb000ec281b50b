"""Records one operator call, so that native/replay/fast_call.c can repeat it. Looks nothing up.

The call runs in the ordinary way on a stream that notes its steps, and each pointer of these is
found in one of the call's arrays or in its scratch. Special cases are not recorded: operators in
NumPy, those that draw random numbers, steps that point elsewhere.
"""

from __future__ import annotations

import ctypes
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from .._array.ndarray import NDArray
from ..capture.record import Obstacle, record
from ..capture.recorder import Recorder
from ..errors import NdrtError
from ..native import check, ffi, lib, with_gil
from ..op.context import thread_context
from ..op.dispatch import is_watched
from ..op.numbers import Tagged
from ..op.params import Params
from ..op.registry import OpDef
from ..storage.chunk import Chunk
from ..storage.handle import Handle
from ..storage.kernel_call import KernelCall
from ..storage.primitive import Primitive
from ..storage.tmp_mem import TmpMemMgr, align_up
from ..storage.transaction import Step
from ..value_key import NAN, NEGATIVE_ZERO, NUMBER
from .call import depth
from .call_table import KEYED
from .tape import STATE

T = TypeVar("T")

# bytes of inputs and outputs from which the GIL is released during the call
FREES_GIL = 32 << 10
# most inputs and outputs of a recorded call
MAX_ARRAYS = 64
# scratch that is allocated for each call
MAX_SCRATCH = 1 << 20

_ARRAY_SLOTS = ("_chunk", "_shape", "_dtype", "_byte_offset", "_reuse", "_is_part", "_ctx",
                "_entry", "_grad_state")
_CHUNK_SLOTS = ("address", "storage_shape", "dtype", "mkl_mem", "moves", "zero", "_planned",
                "_state", "_bytes")

# operator -> what native code knows about its numbers
numbers: dict[OpDef, Any] = {}

run, _keep, _kinds, copies, again = with_gil(
    "ndrt_call_functions", ctypes.py_object, ctypes.py_object)((
    NDArray, Chunk, tuple(vars(NDArray)[name] for name in _ARRAY_SLOTS),
    tuple(vars(Chunk)[name] for name in _CHUNK_SLOTS), numbers, NUMBER, NEGATIVE_ZERO, NAN))


def know_numbers(op: OpDef) -> None:
    """Tells native code which numbers one recording of this operator can serve."""
    if not op.numbers or op in numbers:
        return
    fields = {f.name: f.metadata["ends"] for f in dataclasses.fields(op.params)}
    # ints and bools are not floats: a number of a kernel must not be replaced by one
    low, high = zip(*(fields[name] or (math.inf, -math.inf) for name in op.numbers), strict=True)
    least, most, zero, nan, apart = op.domain
    numbers[op] = _kinds(op.numbers, low, high, (least, most, float(zero), float(nan)), apart)


def names_in(key: tuple[Any, ...], nattrs: int) -> tuple[str, ...]:
    """The parameters that are numbers which a recorded call takes as arguments.

    A key ends with the name, type and value of each parameter.
    """
    return tuple([key[i] for i in range(len(key) - 3 * nattrs, len(key), 3)
                  if key[i + 1] is NUMBER])


def tagged(op: OpDef, attrs: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The parameters, with those numbers tagged."""
    return {**attrs, **{name: Tagged.of(attrs[name], op.numbers.index(name)) for name in names}}


class _NotedScratch(TmpMemMgr):
    """Scratch that remembers its pieces as (address, bytes); each is a separate buffer."""

    __slots__ = ("pieces",)

    def __init__(self) -> None:
        super().__init__(0, keep=True)
        self.pieces: list[tuple[int, int]] = []

    def alloc(self, nbytes: int) -> tuple[Any, Handle]:
        ptr, owner = super().alloc(nbytes)
        self.pieces.append((_address(ptr), nbytes))
        return ptr, owner


def _address(ptr: Any) -> int:
    return int(ffi.cast("intptr_t", ptr))


class Told(NamedTuple):
    """Description of a call that was made: outputs that were not requested are None.

    `inputs` are None if only their shapes are read; `kept` is what the recorded call returns, for
    the tape, when it is repeated.
    """

    params: Params
    inputs: Sequence[NDArray | None]
    outs: Sequence[NDArray | None]
    kept: tuple[Any, ...] = ()


def is_to_note(made: object, op: OpDef) -> bool:
    """Native code did not make the call, and returned a key: it is worth recording now.

    Raises the error of a status that it returned.
    """
    if made.__class__ is int:
        check(made, f"Error in operator {op.name}")
    if made.__class__ is not tuple or is_watched():
        return False
    know_numbers(op)
    return STATE.calls.came_before(made)


def note(key: tuple[Any, ...], op: OpDef, watched: Sequence[NDArray], names: tuple[str, ...],
         run: Callable[[], T], tell: Callable[[T], Told | None]) -> T:
    """Runs the call in the ordinary way and keeps its noted steps if they can be repeated.

    `watched` are all given arrays. `names` are the numbers that may change in later calls; `run`
    passes them to the operator as Tagged.
    """
    ctx = thread_context(depth())
    scratch = _NotedScratch()
    recorder, results = Recorder(scratch=scratch), list[T]()
    before = [x._chunk.version for x in watched]
    lookups = ctx.lookups
    ctx.numbers_vary = bool(names)
    try:
        recipe = record(lambda _: results.append(run()), ctx, (), recorder)
    finally:
        ctx.numbers_vary = False
    result, = results
    if [x._chunk.version for x in watched] != before:
        return result  # an array was converted: the next call finds it in its final layout
    try:
        told = (None if isinstance(recipe, Obstacle) or recorder.operators != 1
                else tell(result))
        made = told and _made(op, told, recorder, scratch, ctx.lookups - lookups, names)
    except (MemoryError, NdrtError):
        return result  # the call itself has succeeded
    nbytes = sum([prim.nbytes for prim in recorder.recording.issued if isinstance(prim, Primitive)])
    forget = STATE.calls.offer(key, made, nbytes)
    if made is not None and made is not KEYED:
        ctx.group().tell_leaving(forget)
    return result


def _made(op: OpDef, told: Told, recorder: Recorder, scratch: _NotedScratch, hits: int,
          names: tuple[str, ...]) -> Any:
    """What the table keeps of a call that was noted; None where it can not be done again.

    KEYED where its kernels are not given all the numbers of these names: they are in primitives, or
    in something that was computed from them.
    """
    params, inputs, outs, _ = told
    recording, steps = recorder.recording, recorder.steps
    changed = op.mutated(params)
    plan = recording.native_plan()
    written = [*[y for y in outs if y is not None], *[inputs[i] for i in changed]]
    if (not steps or op.draws(params) or max(len(inputs), len(outs)) > MAX_ARRAYS
            or [None if x is None else x._chunk for x in written] != recorder.written):
        return None
    bindings = _bindings(inputs, outs, steps, scratch)
    if bindings is None:
        return None
    # (step, its scalar, which of the operator's numbers that is)
    numbered = [(at, i, value.place) for at, step in enumerate(steps)
                if isinstance(step.given, KernelCall)
                for i, value in enumerate(step.given.numbers) if type(value) is Tagged]
    given = {number for _, _, number in numbered}
    if not given.issuperset(op.numbers.index(name) for name in names):
        return KEYED
    found, size = bindings
    layouts = [None if y is None else y._chunk.mkl_mem for y in outs]
    sizes = [0 if y is None else max(y.nbytes, 0 if layout is None else layout.nbytes)
             for y, layout in zip(outs, layouts, strict=True)]
    arrays = (ffi.new("size_t[]", sizes),
              ffi.new("int64_t[]", [0 if layout is None else layout.id for layout in layouts]),
              ffi.new("ndrt_binding[]", found), ffi.new("ndrt_numbering[]", numbered))
    nbytes = sum(x.nbytes for x in (*inputs, *outs) if x is not None)
    spec = ffi.new("ndrt_call_spec *", {
        "plan": plan, "frees_gil": nbytes >= FREES_GIL,
        "ninputs": len(inputs), "noutputs": len(outs), "nbytes": arrays[0], "layouts": arrays[1],
        "nbindings": len(found), "bindings": arrays[2],
        "changed": sum([1 << i for i in changed]), "scratch": size,
        "hits": hits, "nnumbers": len(numbered), "numbers": arrays[3]})
    facts = tuple([None if y is None else (y.shape, y.dtype, layout, y.nbytes)
                   for y, layout in zip(outs, layouts, strict=True)])
    return _keep(_address(spec), facts, (*told.kept, plan, tuple(recording.issued)))


def _bindings(inputs: Sequence[NDArray | None], outs: Sequence[NDArray | None],
              steps: Sequence[Step], noted: _NotedScratch,
              ) -> tuple[list[tuple[int, int, int, int, int]], int] | None:
    """(step, argument, kind, index, offset) of each pointer, and bytes of scratch.

    None where a pointer is of none of the call's arrays, or may be of two.
    """
    places: list[tuple[int, int, int, int, int]] = []  # begin, end, kind, index, offset
    begins = set()
    for kind, arrays in ((lib.NDRT_BIND_INPUT, inputs), (lib.NDRT_BIND_OUTPUT, outs)):
        for i, x in enumerate(arrays):
            if x is None:
                continue
            begin = x._chunk.handle.address + x._byte_offset
            special = x._chunk.mkl_mem
            end = begin + max(x.nbytes, 1 if special is None else special.nbytes)
            if begin not in begins:
                begins.add(begin)
                places.append((begin, end, kind, i, 0))
    scratch = 0
    for begin, size in noted.pieces:
        places.append((begin, begin + max(size, 1), lib.NDRT_BIND_SCRATCH, 0, scratch))
        scratch = align_up(scratch + size)
    if scratch > MAX_SCRATCH:
        return None
    made = []
    for at, step in enumerate(steps):
        pointers = (step.packed.data if step.prim is None else
                    [step.packed[i].data for i in range(step.nargs)])
        for argument, address in enumerate(map(_address, pointers)):
            if not address:
                continue
            hits = [place for place in places if place[0] <= address < place[1]]
            if len(hits) != 1:
                return None
            begin, _, kind, i, offset = hits[0]
            made.append((at, argument, kind, i, offset + address - begin))
    return made, scratch

