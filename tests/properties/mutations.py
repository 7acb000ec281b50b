"""Switching off one rule of the array contract at a time, to see that tests notice.

As a pytest plugin: `pytest -p tests.properties.mutations --mutation "view rule" tests/ndarray`. As
a program (`make mutate`) it says for each mutation which tests of the array contract fail; with
`--quick` it only sees to it that the state machine, or what is named here, does; `--only "view
rule"` tries one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from ndarray_rt._array import interop, layout
from ndarray_rt._array.ndarray import NDArray
from ndarray_rt._array.output import Output
from ndarray_rt._array.req import Req
from ndarray_rt.capture import deferred, recorder
from ndarray_rt.capture.deferred import Deferred
from ndarray_rt.capture.recipe import Recipe
from ndarray_rt.capture.replay import Guards, Replay
from ndarray_rt.errors import OutOfMemory, Unsupported
from ndarray_rt.executor.program.prologue import Prologue
from ndarray_rt.native import ffi, lib
from ndarray_rt.op import dispatch
from ndarray_rt.op.context import OpContext
from ndarray_rt.ops.tensor import concat, joins
from ndarray_rt.storage import chunk as chunk_module
from ndarray_rt.storage import stream as stream_module
from ndarray_rt.storage.chunk import Chunk
from ndarray_rt.storage.desc import MemDesc
from ndarray_rt.storage.lease import Leases
from ndarray_rt.storage.primitive import Primitive
from ndarray_rt.storage.stream import Mem, Stream
from ndarray_rt.storage.tmp_mem import TmpMemMgr
from ndarray_rt.storage.transaction import Transaction
from ndarray_rt.testing.layout_model import offsets
from tests.capture import test_deferred
from tests.graph import test_computed_weights, test_executor, test_inference, test_joins
from tests.properties.storage.machine import StorageMachine

# where the array contract is tested
ALL = ("tests/storage", "tests/ndarray", "tests/properties/test_storage_machine.py",
       "tests/properties/test_layout_round_trip.py", "tests/ops/test_dispatch.py",
       "tests/ops/test_regressions.py", "tests/graph/test_executor.py", "tests/graph/test_joins.py",
       "tests/graph/test_inference.py", "tests/graph/test_computed_weights.py",
       "tests/graph/test_runs_ahead.py", "tests/native/test_chunk.py")


Patch = pytest.MonkeyPatch


def run_machine() -> None:
    """The state machine, until it fails; the smallest example is of no interest."""
    run_state_machine_as_test(StorageMachine, settings=settings(
        max_examples=1000, stateful_step_count=40, derandomize=True, deadline=None,
        database=None, phases=(Phase.generate,)))


@dataclass(frozen=True)
class Mutation:
    """A rule that can be switched off, and what must fail then."""

    rule: str
    apply: Callable[[Patch], None]
    noticed_by: Callable[[], None] = run_machine


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


class _Without:
    """A native library with another function in place of one of its own, or with none."""

    def __init__(self, library: Any, name: str, other: Callable[..., object] = _nothing) -> None:
        self._library = library
        setattr(self, name, other)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)


# ---- what each one switches off -----------------------------------------------------------------


def no_views(patch: Patch) -> None:
    patch.setattr(NDArray, "is_view", property(lambda self: False))


def readers_in_the_way(patch: Patch) -> None:
    patch.setattr(layout, "Exclusive", lambda chunk, held: nullcontext(True))


def no_version(patch: Patch) -> None:
    def place(chunk: Any, data: Any, special: int) -> None:
        chunk.data, chunk.layout = data, special
    patch.setattr(chunk_module, "lib", _Without(lib, "ndrt_chunk_place", place))


def _captured_without(patch: Patch, **others: Any) -> None:
    """Recorded runs that watch other things than they should."""
    begin = Replay.__init__

    def careless(self: Replay, recipe: Recipe, guards: Guards) -> None:
        begin(self, recipe, guards._replace(**others))
    patch.setattr(Replay, "__init__", careless)


def no_version_check(patch: Patch) -> None:
    _captured_without(patch, own=[], reachable=[])


def no_source_check(patch: Patch) -> None:
    _captured_without(patch, sources={})


def folded_for_ever(patch: Patch) -> None:
    patch.setattr(Prologue, "is_current", lambda self: not self.steps or self._changes is not None)


def scratch_of_nobody(patch: Patch) -> None:
    for module in (stream_module, recorder, deferred):
        patch.setattr(module, "TmpMemMgr", lambda estimate=0, keep=False: TmpMemMgr(0))


def no_pins(patch: Patch) -> None:
    patch.setattr(interop, "_pin_capsule", _nothing)
    patch.setattr(Chunk, "pin", _nothing)
    patch.setattr(Chunk, "unpin", _nothing)


def no_invalidation(patch: Patch) -> None:
    patch.setattr(Chunk, "invalidate_data", _nothing)


def dirty_padding(patch: Patch) -> None:
    reorder = Stream.reorder

    def dirty(self: Stream, prim: Primitive, src: Mem, dst: Mem,
              now: bool = False) -> None:
        reorder(self, prim, src, dst, now)
        self.flush()
        if dst.desc.is_padded:
            cells = np.frombuffer(ffi.buffer(dst.ptr, dst.desc.nbytes), np.uint8)
            cells = cells.reshape(prod(dst.desc.padded_dims), -1)
            used = np.zeros(len(cells), bool)
            used[offsets(dst.desc)] = True
            cells[~used] = 1
    patch.setattr(Stream, "reorder", dirty)


def no_write_counter(patch: Patch) -> None:
    patch.setattr(Chunk, "wrote", _nothing)
    patch.setattr(Transaction, "count_writes", _nothing)


def packed_for_ever(patch: Patch) -> None:
    patch.setattr(Chunk, "changes", property(lambda self: 0))


def computed_once(patch: Patch) -> None:
    patch.setattr(OpContext, "is_constant",
                  lambda self, w: not self.is_train and w._grad_state is None)


def layouts_of_what_never_ran(patch: Patch) -> None:
    put_back = Deferred.put_back

    def careless(self: Deferred) -> None:
        self._undo.clear()
        put_back(self)
    patch.setattr(Deferred, "put_back", careless)


def no_leases(patch: Patch) -> None:
    patch.setattr(Leases, "__enter__", lambda self: True)


def memory_for_ever(patch: Patch) -> None:
    patch.setattr(Stream, "_check", _nothing)


def null_writes(patch: Patch) -> None:
    begin = Output.__init__

    def writing(self: Output, array: NDArray, req: Req) -> None:
        begin(self, array, req or Req.kWriteTo)
    patch.setattr(Output, "__init__", writing)


def outputs_over_inputs(patch: Patch) -> None:
    patch.setattr(dispatch, "_may_share", lambda *args: True)


def joins_unseen(patch: Patch) -> None:
    seen = joins.joined_in_place

    def unseen(parts: Any, axis: int, whole: NDArray, stream: Stream) -> MemDesc | None:
        try:
            return seen(parts, axis, whole, stream)
        except Unsupported:
            return layout.get_data(whole, stream).desc
    patch.setattr(concat, "joined_in_place", unseen)


def layout_before_memory(patch: Patch) -> None:
    reorder = Chunk.reorder

    def careless(self: Chunk, desc: MemDesc, stream: Stream) -> None:
        try:
            reorder(self, desc, stream)
        except OutOfMemory:
            self.mkl_mem = None if desc.is_default else desc
            raise
    patch.setattr(Chunk, "reorder", careless)


def follows_every_change() -> None:
    test_executor.test_a_captured_run_sees_every_change()


def follows_parameters() -> None:
    test_inference.test_written_parameters_are_folded_anew_and_nothing_is_recorded_again()


def follows_computed_weights() -> None:
    test_computed_weights.test_each_run_has_its_own_weights("window", True)


def puts_back_what_never_ran() -> None:
    with Patch.context() as patch:
        test_deferred.test_an_interrupt_leaves_each_array_as_it_was_or_as_it_is_to_be(
            2, "at the end", patch)


def copies_what_lies_elsewhere() -> None:
    test_joins.test_all_others_are_copied([test_joins.IMAGE] * 2, [test_joins.LAST] * 2,
                                          [test_joins.NBYTES, 0], 0)


def keeps_scratch() -> None:
    test_inference.test_a_recorded_run_owns_its_scratch()


MUTATIONS = {
    "view rule": Mutation("I3: views see only the default layout", no_views),
    "beside readers": Mutation("I3: only who is alone converts", readers_in_the_way),
    "version": Mutation("I4: pointer and layout bump the version", no_version),
    "version check": Mutation("I4: a replay compares versions", no_version_check,
                              follows_every_change),
    "sources": Mutation("I11: a replay compares what it was computed from", no_source_check,
                        follows_parameters),
    "folded weights": Mutation("I11: folded weights compare the counter", folded_for_ever,
                               follows_parameters),
    "plan's scratch": Mutation("a recorded run owns its scratch", scratch_of_nobody,
                               keeps_scratch),
    "pin": Mutation("I5: exported bytes stay", no_pins),
    "invalidation": Mutation("I6: what is overwritten loses its layout first", no_invalidation),
    "null": Mutation("I6: kNullOp touches nothing", null_writes),
    "overlap": Mutation("I6: outputs over inputs give what numpy would", outputs_over_inputs),
    "concat": Mutation("parts are taken for the whole only where they lie as it does",
                      joins_unseen, copies_what_lies_elsewhere),
    "stale memory": Mutation("I7: memory of an earlier call is refused", memory_for_ever),
    "leases": Mutation("I8: readers and writers hold leases", no_leases),
    "padding": Mutation("I2: reorders leave padding zero", dirty_padding),
    "no memory": Mutation("I10: a layout is noted when the conversion is done",
                          layout_before_memory),
    "write counter": Mutation("I11: writes are counted", no_write_counter),
    "packed copy": Mutation("I11: packed copies compare the counter", packed_for_ever),
    "computed weights": Mutation("what a run computes is packed anew in each run", computed_once,
                                 follows_computed_weights),
    "steps that never ran": Mutation("I10: memory and layouts are as they were before them",
                                     layouts_of_what_never_ran, puts_back_what_never_ran),
}


# ---- the plugin ---------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutation", choices=sorted(MUTATIONS), default=None)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    name = config.getoption("--mutation")
    if name:
        settings.register_profile("mutant", settings(), phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutant")
        MUTATIONS[name].apply(Patch())


def failing(name: str, tests: tuple[str, ...], seconds: float) -> list[str]:
    """Which of the tests fail with a mutation."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider",
         "-p", "tests.properties.mutations", "--mutation", name, *tests],
        capture_output=True, text=True, timeout=seconds, check=False)
    found = [line.split()[1] for line in run.stdout.splitlines()
             if line.startswith(("FAILED ", "ERROR "))]
    if run.returncode not in (0, 1):
        raise RuntimeError(f"the run with {name!r} ended with {run.returncode}:\n"
                           f"{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return found


def is_noticed(mutation: Mutation) -> bool:
    """Does what must fail fail, in this process?"""
    with Patch.context() as patch:
        mutation.apply(patch)
        try:
            mutation.noticed_by()
        except Exception:
            return True
    return False


def main(names: Sequence[str], quick: bool) -> None:
    missed = []
    for name in names:
        mutation = MUTATIONS[name]
        if quick:
            noticed = is_noticed(mutation)
            print(f"{name} ({mutation.rule}): {'noticed' if noticed else 'missed'}", flush=True)
        else:
            found = failing(name, ALL, 900)
            noticed = bool(found)
            print(f"{name} ({mutation.rule}): {len(found)} failed", *found, sep="\n    ",
                  flush=True)
        if not noticed:
            missed.append(name)
    if missed:
        raise SystemExit(f"nothing noticed that these were off: {', '.join(missed)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=sorted(MUTATIONS), nargs="+", default=list(MUTATIONS))
    given = parser.parse_args()
    main(given.only, given.quick)
