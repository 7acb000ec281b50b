"""Runs a case by one implementation in guarded memory, and says what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

from ndarray_rt.native import call, ffi, lib
from ndarray_rt.storage.desc import FORMAT_BLOCKED, MemDesc
from ndarray_rt.storage.primitive import Arg, Primitive
from ndarray_rt.testing.layout_model import offsets

from .case import Array, Case
from .guarded import UNUSED, Guarded, Piece

FLOAT_BYTES = 4
# asked for only where a case has values: oneDNN does not check such numbers
_NUMBERED = (Arg.MULTIPLE_SRC, Arg.POST_OP)
_NUMBERS = sorted({int(arg) for arg in Arg} - set(_NUMBERED))


def name_of(number: int) -> str:
    """An argument in words."""
    if number >= Arg.POST_OP:
        return f"post-op {number // Arg.POST_OP - 1}"
    if number >= Arg.MULTIPLE_SRC:
        return f"source {number - Arg.MULTIPLE_SRC}"
    return Arg(number).name.lower()


@lru_cache(maxsize=1024)
def places(desc: MemDesc) -> Array:
    """Where the elements are, in the order of the dims."""
    if desc.format != FORMAT_BLOCKED:
        raise ValueError(f"{desc!r} is no layout that elements have places in")
    return offsets(desc)


@lru_cache(maxsize=1024)
def padding(desc: MemDesc) -> Array:
    """Where no element is."""
    free = np.ones(desc.nbytes // FLOAT_BYTES, bool)
    free[places(desc)] = False
    return np.flatnonzero(free)


class _Argument:
    """One argument in guarded memory, with what it was before."""

    def __init__(self, number: int, desc: MemDesc, piece: Piece) -> None:
        self.number = number
        self.desc = desc
        self.piece = piece
        self.before: Array | None = None

    def give(self, values: Array) -> None:
        cells = self.piece.bytes.view(np.float32)
        cells[:] = 0
        cells[places(self.desc)] = values.reshape(self.desc.dims)
        self.before = self.piece.bytes.copy()

    def give_bytes(self, values: Array) -> None:
        self.piece.bytes[:] = values
        self.before = values

    def taken(self) -> Array:
        cells: Array = self.piece.bytes.view(np.float32)[places(self.desc)]
        return cells

    def is_changed(self) -> bool:
        return self.before is not None and not np.array_equal(self.before, self.piece.bytes)


class Examiner:
    """Runs cases one after another in the same guarded memory."""

    def __init__(self, memory: Guarded) -> None:
        self.memory = memory

    def faults(self, case: Case, prim: Primitive) -> list[str]:
        """What is wrong: each a sentence without numbers of the case."""
        workspace = None
        if case.forward is not None:
            forward = case.forward
            made = forward.chosen()
            arguments = self._run(forward, made, None)
            workspace = next((a.piece.bytes.copy() for a in arguments
                              if a.number == Arg.WORKSPACE), None)
        wanted = prim.desc_or_none(Arg.WORKSPACE)
        if case.forward is not None and wanted is not None and (
                workspace is None or len(workspace) != wanted.nbytes):
            return []  # made for the workspace of another forward
        return list(_judge(case, self._run(case, prim, workspace)))

    def _run(self, case: Case, prim: Primitive, workspace: Array | None) -> list[_Argument]:
        arguments: list[_Argument] = []
        numbered = sorted(number for number in case.inputs if number >= min(_NUMBERED))
        for number in [*_NUMBERS, *numbered]:
            desc = prim.desc_or_none(number)
            if desc is None:
                continue
            if _is_absent(case, number):
                continue
            piece = self.memory.piece(len(arguments), desc.nbytes)
            argument = _Argument(number, desc, piece)
            if number in case.inputs:
                argument.give(case.inputs[number])
            elif number == Arg.WORKSPACE and workspace is not None:
                argument.give_bytes(workspace)
            arguments.append(argument)
        rows = ffi.new("ndrt_arg[]", [
            (a.number, a.desc.ptr, ffi.cast("void *", a.piece.address)) for a in arguments])
        call(lib.ndrt_prim_run, prim.ptr, len(arguments), rows, what=str(case))
        return arguments


_LEFT_OUT = (Arg.SCALE, Arg.SHIFT, Arg.DIFF_SCALE, Arg.DIFF_SHIFT)


def _is_absent(case: Case, number: int) -> bool:
    """oneDNN names a layout for it, and does not use it."""
    return number in _LEFT_OUT and number not in case.inputs and number not in case.outputs


def _judge(case: Case, arguments: list[_Argument]) -> Iterator[str]:
    for a in arguments:
        name = name_of(a.number)
        where = a.piece.overrun()
        if where:
            yield f"writes to {name} {where}"
        if a.is_changed() and a.number not in case.outputs:
            yield f"changes {name}, which it should read"
    for a in arguments:
        if a.number in case.outputs:
            wrong = _wrongness(a, case.outputs, case.tolerance)
            if wrong:
                yield f"{name_of(a.number)} {wrong}"


def _wrongness(a: _Argument, outputs: Mapping[int, Array], tolerance: float) -> str:
    got, wanted = a.taken(), outputs[a.number].reshape(a.desc.dims)
    if a.desc.is_padded and a.piece.bytes.view(np.float32)[padding(a.desc)].any():
        return "has padding that is not zero"
    if not np.isfinite(got).all():
        raw = np.full(FLOAT_BYTES, UNUSED, np.uint8).view(np.uint32)
        return ("is not written in part" if (got.view(np.uint32) == raw).any()
                else "is made of memory that nobody wrote")
    error = np.abs(got.astype(np.float64) - wanted).max(initial=0)
    allowed = tolerance * max(1.0, float(np.abs(wanted).max(initial=0)))
    return "is wrong" if error > allowed else ""
