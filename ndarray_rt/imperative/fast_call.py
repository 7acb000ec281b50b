"""Imperative calls that were made before, in one native call; the second of its kind is recorded.

What a call does natively depends on the operator, its parameters, the shapes, dtypes and layouts of
its inputs, the mode and the number of threads. The second call of one kind is run the long way on a
stream that notes its steps; from then on native/fast_call.c makes the outputs, takes the leases,
points the steps at the arrays and runs them. Numbers that kernels are given (`OpDef.numbers`) are
arguments of the recording: another number makes no other one. Whatever is unusual goes the long
way: operators in numpy, those that draw random numbers, views of arrays in special layouts, memory
that others hold, observers.
"""

from __future__ import annotations

import ctypes
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import config
from .._array.ndarray import NDArray
from ..errors import NdrtError
from ..native import check, ffi, lib, with_gil
from ..op.context import thread_context
from ..op.dispatch import is_watched
from ..op.numbers import Tagged
from ..op.params import Params
from ..op.registry import OpDef
from ..storage.chunk import Chunk
from ..storage.handle import Handle
from ..storage.parameters import ParameterBlock
from ..storage.primitive import Primitive
from ..storage.stream import Mem, Recording, RecordingStream
from ..storage.tmp_mem import TmpMemMgr, align_up
from ..value_key import NAN, NEGATIVE_ZERO, NUMBER
from .call import UNCACHED, depth, infer_outputs, parse
from .call_table import KEYED
from .dependency import needs_of
from .tape import STATE, needs_record, record

# (operator, inputs, attributes, out): the long way
Slow = Callable[[OpDef, Any, Any, Any], Any]
Out = NDArray | None

# bytes of inputs and outputs from which on others may run Python meanwhile
FREES_GIL = 32 << 10
# inputs and outputs that a recorded call has at most
MAX_ARRAYS = 8
# scratch that is taken anew for each call
MAX_SCRATCH = 1 << 20
TRAINING, RECORDED = 1, 2

_ARRAY_SLOTS = ("_chunk", "_shape", "_dtype", "_byte_offset", "_reuse", "_is_part", "_ctx",
                "_entry", "_grad_state")
_CHUNK_SLOTS = ("address", "storage_shape", "dtype", "mkl_mem", "moves", "zero", "_planned",
                "_state", "_bytes")

# operator -> what native code knows of its numbers
_numbers: dict[OpDef, Any] = {}

_run, _keep, _kinds, copies = with_gil("ndrt_call_functions", ctypes.py_object, ctypes.py_object)((
    NDArray, Chunk, tuple(vars(NDArray)[name] for name in _ARRAY_SLOTS),
    tuple(vars(Chunk)[name] for name in _CHUNK_SLOTS), _numbers, NUMBER, NEGATIVE_ZERO, NAN))


def call(op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], out: Any, slow: Slow) -> Any:
    """The outputs of an operator, as `slow` would give them, by the shortest way that there is."""
    table = STATE.calls
    if table.epoch != config.epoch:
        table.renew()
    flags = TRAINING if STATE.training else 0
    if STATE.recording:
        if out is not None:
            return slow(op, inputs, attrs, out)
        if _is_recorded(inputs):
            return _call_recorded(op, inputs, attrs, slow, flags | RECORDED)
    made = _run(table, op, flags, inputs, attrs, out)
    if made.__class__ is NDArray or made.__class__ is list:
        return made
    return _long_way(made, op, inputs, attrs, out, slow)


def _is_recorded(inputs: tuple[Any, ...]) -> bool:
    for x in inputs:
        if x.__class__ is not NDArray:
            return False
    return needs_record(inputs)


def _call_recorded(op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], slow: Slow,
                   flags: int) -> Any:
    made = _run(STATE.calls, op, flags, inputs, attrs, None)
    if made.__class__ is list:
        params, needs, hidden, names, *_ = made.pop(0)
        for key in names:
            # of numbers that differ; a zero may differ in its sign
            if params.__dict__[key] != attrs[key] or not attrs[key]:
                params = _renumbered(params, names, attrs)
                break
        record(op, params, inputs, made, None, needs, hidden)
        return made[0] if len(made) == 1 else made
    return _long_way(made, op, inputs, attrs, None, slow)


def _long_way(made: Any, op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], out: Any,
              slow: Slow) -> Any:
    if made.__class__ is int:
        check(made, f"Error in operator {op.name}")
    if made.__class__ is tuple and not is_watched():
        if op.numbers and op not in _numbers:
            _numbers[op] = _kinds_of(op)
        if STATE.calls.came_before(made):
            return _note(made, op, inputs, attrs, out, slow)
    return slow(op, inputs, attrs, out)


def _kinds_of(op: OpDef) -> Any:
    """What native code has to know to tell which numbers a recording of this operator serves."""
    fields = {f.name: f.metadata["ends"] for f in dataclasses.fields(op.params)}
    # whole numbers and truth values are no floats: a kernel's number may not become one of them
    low, high = zip(*(fields[name] or (math.inf, -math.inf) for name in op.numbers), strict=True)
    least, most, zero, nan, apart = op.domain
    return _kinds(op.numbers, low, high, (least, most, float(zero), float(nan)), apart)


def _renumbered(params: Params, names: Sequence[str], attrs: Mapping[str, Any]) -> Params:
    """Parameters with the numbers of another call of the kind."""
    made = object.__new__(params.__class__)
    own = made.__dict__
    own.update(params.__dict__)
    if "_hash" in own:
        del own["_hash"]
    for name in names:
        own[name] = float(attrs[name])
    return made


# ---- recording ----------------------------------------------------------------------------------


class _NotedScratch(TmpMemMgr):
    """Scratch that remembers its pieces: (address, bytes). Each is a buffer of its own."""

    __slots__ = ("pieces",)

    def __init__(self) -> None:
        super().__init__(0, keep=True)
        self.pieces: list[tuple[int, int]] = []

    def alloc(self, nbytes: int) -> tuple[Any, Handle]:
        ptr, owner = super().alloc(nbytes)
        self.pieces.append((_address(ptr), nbytes))
        return ptr, owner


class _NotedRecording(Recording):
    """A recording that remembers the arguments of its steps, and the numbers of its kernels."""

    __slots__ = ("arguments", "numbers", "tags")

    def __init__(self, scratch: list[TmpMemMgr]) -> None:
        super().__init__(scratch)
        self.arguments: list[list[int]] = []
        # (call of a kernel, its scalar, which of the operator's numbers that is)
        self.tags: list[tuple[Any, int, int]] = []
        # the same with the step in place of the call
        self.numbers: list[tuple[int, int, int]] = []

    def add(self, prim: Primitive | None, nargs: int, packed: Any) -> None:
        super().add(prim, nargs, packed)
        pointers = packed.data if prim is None else [packed[i].data for i in range(nargs)]
        self.numbers += [(len(self.arguments), scalar, number)
                         for call, scalar, number in self.tags if call is packed]
        self.arguments.append([_address(ptr) for ptr in pointers])


class _NotingStream(RecordingStream):
    """Records one operator call, and what it writes to."""

    __slots__ = ("calls", "written")

    def __init__(self) -> None:
        super().__init__(0)
        self.tmp = _NotedScratch()
        self.recording = _NotedRecording([self.tmp])
        self.calls = 0
        self.written: list[Chunk] = []

    def _kernel_call(self, kernel: int, dims: Sequence[int], data: Sequence[Mem],
                     scalars: Sequence[float], parameters: ParameterBlock | None) -> Any:
        packed = super()._kernel_call(kernel, dims, data, scalars, parameters)
        recording = self.recording
        assert isinstance(recording, _NotedRecording)
        recording.tags += [(packed, i, value.place) for i, value in enumerate(scalars)
                           if type(value) is Tagged]
        return packed

    def begin_operator(self) -> None:
        super().begin_operator()
        self.calls += 1

    def hold(self, written: Sequence[Chunk], early: bool) -> None:
        super().hold(written, early)
        self.written = list(written)


def _address(ptr: Any) -> int:
    return int(ffi.cast("intptr_t", ptr))


def _note(key: tuple[Any, ...], op: OpDef, inputs: tuple[NDArray, ...], attrs: Mapping[str, Any],
          out: Out, slow: Slow) -> Any:
    """The long way, on a stream that notes the steps; what they are is kept, if they can be."""
    ctx = thread_context(depth())
    plain, fallbacks = ctx.stream, ctx.fallbacks
    stream = _NotingStream()
    before = [x._chunk.version for x in inputs]
    lookups = ctx.lookups
    # a key ends with the name, the type and the value of each parameter
    names = tuple([key[i] for i in range(len(key) - 3 * len(attrs), len(key), 3)
                   if key[i + 1] is NUMBER])
    given = {**attrs, **{name: Tagged.of(attrs[name], op.numbers.index(name)) for name in names}}
    ctx.stream, ctx.numbers_vary = stream, bool(names)
    try:
        result = slow(op, inputs, given, out)
    finally:
        ctx.stream, ctx.numbers_vary = plain, False
        stream.count_for(plain)
    if [x._chunk.version for x in inputs] != before:
        return result  # an input was converted: the next call finds it as it will stay
    if ctx.fallbacks != fallbacks or stream.calls != 1 or "ctx" in attrs or op.name in UNCACHED:
        STATE.calls.offer(key, None)
        return result
    try:
        made = _made(op, inputs, attrs, result, stream, ctx.lookups - lookups, names)
    except (MemoryError, NdrtError):
        return result  # the call itself is done
    nbytes = sum([prim.nbytes for prim in stream.recording.issued if isinstance(prim, Primitive)])
    forget = STATE.calls.offer(key, made, nbytes)
    if made is not None and made is not KEYED:
        ctx.group().tell_leaving(forget)
    return result


def _made(op: OpDef, inputs: tuple[NDArray, ...], attrs: Mapping[str, Any], result: Any,
          stream: _NotingStream, hits: int, names: tuple[str, ...]) -> Any:
    """What the table keeps of a call that was noted; None where it can not be done again.

    `names` are the numbers that it is to be done again with. KEYED where its kernels are not given
    all of these: they are in primitives, or in something that was computed from them.
    """
    params = parse(op, attrs, None)
    recording = stream.recording
    assert isinstance(recording, _NotedRecording)
    outs = [result] if isinstance(result, NDArray) else list(result)
    changed = op.mutated(params)
    plan = recording.native_plan()
    if (recording.failed is not None or plan is None or not recording.arguments
            or op.draws(params) or max(len(inputs), len(outs)) > MAX_ARRAYS
            or [x._chunk for x in (*outs, *[inputs[i] for i in changed])] != stream.written):
        return None
    bindings = _bindings(inputs, outs, stream)
    if bindings is None:
        return None
    given = {number for _, _, number in recording.numbers}
    if not given.issuperset(op.numbers.index(name) for name in names):
        return KEYED
    found, scratch = bindings
    nbytes = sum(x.nbytes for x in (*inputs, *outs))
    sizes = [max(y.nbytes, 0 if y._chunk.mkl_mem is None else y._chunk.mkl_mem.nbytes)
             for y in outs]
    arrays = (ffi.new("size_t[]", sizes),
              ffi.new("int64_t[]", [0 if y._chunk.mkl_mem is None else y._chunk.mkl_mem.id
                                    for y in outs]),
              ffi.new("ndrt_binding[]", found), ffi.new("ndrt_numbering[]", recording.numbers))
    spec = ffi.new("ndrt_call_spec *", {
        "plan": plan, "frees_gil": nbytes >= FREES_GIL,
        "ninputs": len(inputs), "noutputs": len(outs), "nbytes": arrays[0], "layouts": arrays[1],
        "nbindings": len(found), "bindings": arrays[2],
        "changed": sum([1 << i for i in changed]), "scratch": scratch,
        "hits": hits, "nnumbers": len(recording.numbers), "numbers": arrays[3]})
    facts = tuple((y.shape, y.dtype, y._chunk.mkl_mem, y.nbytes) for y in outs)
    hidden = infer_outputs(op, params, inputs)[len(outs):] if inputs else []
    return _keep(_address(spec), facts, (params, needs_of(op, params), hidden, names, plan,
                                          tuple(recording.issued)))


def _bindings(inputs: Sequence[NDArray], outs: Sequence[NDArray], stream: _NotingStream,
              ) -> tuple[list[tuple[int, int, int, int, int]], int] | None:
    """(step, argument, kind, index, offset) of each pointer, and bytes of scratch.

    None where a pointer is of none of the call's arrays, or may be of two.
    """
    places: list[tuple[int, int, int, int, int]] = []  # begin, end, kind, index, offset
    begins = set()
    for kind, arrays in ((lib.NDRT_BIND_INPUT, inputs), (lib.NDRT_BIND_OUTPUT, outs)):
        for i, x in enumerate(arrays):
            begin = x._chunk.handle.address + x._byte_offset
            special = x._chunk.mkl_mem
            end = begin + max(x.nbytes, 1 if special is None else special.nbytes)
            if begin not in begins:
                begins.add(begin)
                places.append((begin, end, kind, i, 0))
    scratch = 0
    tmp = stream.tmp
    assert isinstance(tmp, _NotedScratch)
    for begin, size in tmp.pieces:
        places.append((begin, begin + max(size, 1), lib.NDRT_BIND_SCRATCH, 0, scratch))
        scratch = align_up(scratch + size)
    if scratch > MAX_SCRATCH:
        return None
    made = []
    recording = stream.recording
    assert isinstance(recording, _NotedRecording)
    for step, arguments in enumerate(recording.arguments):
        for argument, address in enumerate(arguments):
            if not address:
                continue
            hits = [place for place in places if place[0] <= address < place[1]]
            if len(hits) != 1:
                return None
            begin, _, kind, i, offset = hits[0]
            made.append((step, argument, kind, i, offset + address - begin))
    return made, scratch

