"""The tape: the graph of what is computed while recording. Computes no gradients itself.

A recorded operator call is a TapeNode: an ordinary graph node that also holds the values that its
gradient will read. Arrays refer to nodes (`NDArray._entry`), never the other way round.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, cast
from weakref import ref

from .._array.create import array as copy_of
from .._array.interop import BEFORE_EXPORT
from .._array.ndarray import NDArray
from .._array.req import Req
from ..context import Context
from ..dtypes import DType
from ..errors import MXNetError
from ..native import ffi, lib
from ..op.params import Params
from ..op.registry import OpDef
from ..storage.chunk import Chunk
from ..symbol.node import Entry, Node
from .call_table import CallTable
from .dependency import Needs, needs_of

IN_PLACE = (
    # programs look for this wording of MXNet's
    "{what}: Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with "
    "autograd, nor is out=, on arrays that are part of a recorded computation: their gradient "
    "would be undefined. Do it outside of the record section, or after backward")


# shapes and dtypes
Facts = Sequence[tuple[tuple[int, ...], DType]]
# an array without memory: shape, dtype, context
Outline = tuple[tuple[int, ...], DType, Context]
# an array with memory: in addition Chunk, offset, whether it is reused, whether it is a part of one
Held = tuple[tuple[int, ...], DType, Context, Chunk, int, bool, bool]


# what each recorded call looks up, as functions without intermediate calls
_writes_at, _writable_pins_at = lib.ndrt_chunk_writes_at, lib.ndrt_chunk_writable_pins_at
_new_entry = partial(tuple.__new__, Entry)


class State(threading.local):
    """The modes of one thread."""

    def __init__(self) -> None:
        self.recording = False
        self.training = False
        # the custom operator whose code runs, named for the profiler
        self.custom: str | None = None
        self.calls = CallTable()


STATE = State()


class Saved:
    """A value that a gradient will read, with its Chunk's write counter.

    Writes through an export go unnoticed, so the value of an array that is exported for writing,
    now or later, is copied before that can happen.
    """

    __slots__ = ("__weakref__", "checked", "chunk", "held", "writes")

    def __init__(self, array: NDArray, checked: bool) -> None:
        self.chunk = chunk = array._chunk
        # not the array itself, as that would make a cycle: arrays own the graph
        self.held: Held = (array._shape, array._dtype, array._ctx, chunk, array._byte_offset,
                           array._reuse, array._is_part)
        self.writes: int = _writes_at(chunk.address)
        self.checked = checked
        if checked:
            if _writable_pins_at(chunk.address):
                self.copy()
            else:
                _exportable.add(ref(self, _forget))

    @property
    def array(self) -> NDArray:
        """The value, whether it was written to or not."""
        return array_of(self.held)

    def copy(self) -> None:
        """Copies the value to memory of its own, unless it is lost already."""
        if self.chunk.writes == self.writes:
            shape, dtype, ctx, *_ = self.held
            made = copy_of(self.array, ctx)
            self.chunk, self.writes = made._chunk, made._chunk.writes
            self.held = (shape, dtype, ctx, self.chunk, made._byte_offset, made._reuse,
                         made._is_part)

    def get(self, what: str) -> NDArray:
        """The value; MXNetError if it was written to since it was saved."""
        return array_of(self.read(what))

    def read(self, what: str) -> Held:
        """Like `get`, without making an array."""
        if self.checked and _writes_at(self.chunk.address) != self.writes:
            raise MXNetError(
                f"{what}: an array of shape {self.held[0]} that its gradient needs was written "
                "to after it was recorded; the gradient would be wrong. Write to a copy, or call "
                "backward first")
        return self.held


def array_of(held: Held) -> NDArray:
    """An array on memory that a graph holds."""
    shape, dtype, ctx, chunk, byte_offset, reuse, is_part = held
    made = NDArray(chunk, shape, dtype, byte_offset, reuse, ctx)
    made._is_part = is_part
    return made


class SavedArrays:
    """`Saved` for arrays that are the same in call after call, noted by one native call.

    They are examined one by one only if one of them was written to or is exported for writing.
    """

    __slots__ = ("__weakref__", "_arrays", "_chunks", "_is_open", "_made", "_writes")

    def __init__(self, arrays: Sequence[NDArray]) -> None:
        self._arrays = list(arrays)
        self._chunks: Any = ffi.new("ndrt_chunk *[]", [x._chunk.native for x in arrays])
        self._writes: Any = ffi.new("uint64_t[]", len(arrays))
        self._made: list[Saved] | None = None
        self._is_open = False
        _noting.add(ref(self, _forget_noting))

    def note(self) -> None:
        """Notes the arrays' present values; forgets what was noted before."""
        self._made = None
        is_calm = lib.ndrt_chunks_note(len(self._arrays), self._chunks, self._writes)
        self._is_open = True
        if not is_calm:
            for array in self._arrays:
                if _writable_pins_at(array._chunk.address):
                    self.before_export(array._chunk)

    def is_unwritten(self) -> bool:
        """Nobody has written to any of them, or could have without notice."""
        return self._made is None and bool(lib.ndrt_chunks_unwritten(
            len(self._arrays), self._chunks, self._writes))

    def saved(self) -> list[Saved]:
        """The noted value of each array."""
        if self._made is None:
            made = []
            for array, writes in zip(self._arrays, self._writes, strict=True):
                one = Saved(array, False)
                one.checked, one.writes = True, writes
                _exportable.add(ref(one, _forget))
                made.append(one)
            self._made = made
        return self._made

    def before_export(self, chunk: Chunk) -> None:
        """Copies the values on this chunk, like `Saved.copy`."""
        if self._is_open and any(array._chunk is chunk for array in self._arrays):
            for one in self.saved():
                if one.chunk is chunk:
                    one.copy()

    def close(self) -> None:
        """The noted values are not needed any more."""
        self._is_open, self._made = False, None


_exportable: set[ref[Saved]] = set()
_forget = _exportable.discard
_noting: set[ref[SavedArrays]] = set()
_forget_noting = _noting.discard


def _before_export(chunk: Chunk) -> None:
    for found in tuple(_exportable):
        saved = found()
        if saved is not None and saved.chunk is chunk and saved.checked:
            saved.copy()
    for noting in tuple(_noting):
        arrays = noting()
        if arrays is not None:
            arrays.before_export(chunk)


BEFORE_EXPORT.append(_before_export)


class GradState:
    """The gradient array of an array, and its request.

    `fresh`: a backward has written it since the user set this to False.
    """

    __slots__ = ("array", "fresh", "req")

    def __init__(self, array: NDArray, req: Req) -> None:
        self.array = array
        self.req = req
        self.fresh = False


class TapeVariable(Node):
    """An array that no recorded call computed: a leaf with a gradient, or a constant."""

    __slots__ = ("grad", "needs_grad", "output_facts", "saved")

    cleared = False

    def __init__(self, array: NDArray, grad: GradState | None) -> None:
        # Node.__init__ inlined, as each recorded call makes some
        self.op = self.params = None
        self.name, self.attrs, self.inputs, self._outputs = "", {}, [], 1
        self.output_facts: list[Outline] = [(array._shape, array._dtype, array._ctx)]
        self.grad = grad
        self.needs_grad = grad is not None and grad.req != Req.kNullOp
        self.saved: list[Saved | None] = [None]


class TapeNode(Node):
    """A recorded operator call."""

    __slots__ = ("cleared", "needs_grad", "output_facts", "saved")

    def __init__(self, op: OpDef, params: Params, inputs: list[Entry], name: str,
                 outputs: Sequence[NDArray], hidden: Facts = ()) -> None:
        # Node.__init__ inlined, as each recorded call makes one
        self.op = op
        self.name = name
        self._attrs = {}
        self.params = params
        self.inputs = inputs
        self._outputs = 0
        self.output_facts: list[Outline] = [(y._shape, y._dtype, y._ctx) for y in outputs]
        for shape, dtype in hidden:
            self.output_facts.append((shape, dtype, outputs[0]._ctx))
        self.saved: list[Saved | None] = [None] * len(self.output_facts)
        self.cleared = False
        self.needs_grad = True

    def clear(self) -> None:
        """Drops inputs and values, after a backward that does not retain the graph."""
        self.cleared = True
        self.needs_grad = False
        self.inputs = []
        self.params = None  # for a Python call they hold everything that it saved
        self.saved = [None] * len(self.saved)


def entry_of(x: NDArray) -> Entry | None:
    """The place of x in a recorded graph that still lives, or None."""
    found = x._entry
    if found is None:
        return None
    if isinstance(found, ref):
        node = found()
        return None if node is None else Entry(node, 0)
    return None if found.node.cleared else found


def is_recorded(x: NDArray) -> bool:
    """x has a gradient, or was computed from an array that has."""
    entry = entry_of(x)
    return entry is not None and tape_node(entry).needs_grad


def tape_node(entry: Entry) -> TapeNode | TapeVariable:
    """The node of an entry of the tape."""
    return cast("TapeNode | TapeVariable", entry.node)


def set_variable(x: NDArray, grad: NDArray | None, req: Req) -> None:
    """Makes x a leaf with gradient array `grad`. Forgets how x was computed."""
    state = None if grad is None else GradState(grad, req)
    x._grad_state = state
    x._entry = Entry(TapeVariable(x, state), 0)


def check_outputs(outputs: Sequence[NDArray], what: str) -> None:
    """MXNetError if recording and one of these arrays is part of a recorded graph."""
    if STATE.recording:
        for y in outputs:
            if entry_of(y) is not None:
                raise MXNetError(IN_PLACE.format(what=what))


def needs_record(inputs: Sequence[NDArray]) -> bool:
    """Recording is on, and one of the inputs has a gradient."""
    if STATE.recording:
        for x in inputs:
            found: Any = x._entry
            # constants are held by weak references
            if found.__class__ is Entry and found[0].needs_grad:  # type: ignore[attr-defined]
                return True
    return False


def record(op: OpDef, params: Params, inputs: Sequence[NDArray], outputs: Sequence[NDArray],
           name: str | None = None, needs: Needs | None = None, hidden: Facts = ()) -> None:
    """Puts a call that was made on the tape; `needs_record(inputs)` must hold.

    `inputs` are inputs and aux states, `outputs` all outputs, including hidden ones. `needs` says
    what the gradient reads, if that differs from the operator's declaration. `hidden` are shapes
    and dtypes of further outputs that were not made, as the gradient needs nothing else of them.
    """
    if needs is None:
        needs = needs_of(op, params)
    read, made, unchecked = needs
    entries: list[Entry] = []
    for i, x in enumerate(inputs):
        entry: Any = x._entry
        if entry.__class__ is not Entry or entry[0].cleared:  # type: ignore[attr-defined]
            entry = constant(x)
        if i in read:
            node, index = entry
            saved = node.saved[index]
            if saved is None:
                node.saved[index] = Saved(x, i not in unchecked)
            elif i in unchecked:
                saved.checked = False
            elif (saved.checked and node.__class__ is TapeVariable
                  and saved.writes != x._chunk.writes):
                entry = _renewed(x, node)
        entries.append(entry)
    node = TapeNode(op, params, entries, name or "", outputs, hidden)
    for i, y in enumerate(outputs):
        if i in made:
            node.saved[i] = Saved(y, True)
        y._entry = _new_entry((node, i))


def constant(x: NDArray) -> Entry:
    """The entry of an array that was not recorded, or whose graph is gone."""
    entry = entry_of(x)
    if entry is None:
        entry = _new_entry((TapeVariable(x, None), 0))
        # held weakly: a constant is part of the graph only as long as the graph lives
        x._entry = ref(entry.node)
    return entry


def _renewed(x: NDArray, old: TapeVariable) -> Entry:
    """A new entry for a leaf that was written to, as it has another value from here on.

    Calls recorded with the old one may never be differentiated, for example after an exception.
    """
    node = TapeVariable(x, old.grad)
    entry = Entry(node, 0)
    x._entry = entry if node.grad is not None else ref(node)
    node.saved[0] = Saved(x, True)
    return entry
