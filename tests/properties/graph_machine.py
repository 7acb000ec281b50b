"""One bound graph under random use: the state machine. The model is numpy, node by node."""

from __future__ import annotations

import gc
import sys

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import ndarray_rt as mx
from ndarray_rt.native import lib
from ndarray_rt.op.context import thread_context
from ndarray_rt.op.prim_cache import CACHE
from ndarray_rt.storage.handle import memory_stats
from ndarray_rt.storage.lease import Leases
from ndarray_rt.testing.memory_kinds import layout_of
from ndarray_rt.testing.random_graphs import RandomGraph, graphs

from .graph_life import REACHED, SCRATCH, STREAM, VARIANTS, WAYS, Ill, Life, layouts_of, variant


def live_bytes() -> int:
    """Live bytes without the scratch that threads and tests keep between calls."""
    gc.collect()
    CACHE.clear_released()
    gc.collect(0)
    for stream in (STREAM, thread_context().stream, *SCRATCH):
        stream.tmp.release()
    return memory_stats()["live"]


class GraphMachine(RuleBasedStateMachine):
    """Rules are what users and their training loops do to a bound graph."""

    def __init__(self) -> None:
        super().__init__()
        self.threads = mx.get_num_threads()
        self.way = "all"
        self.turn = 0
        self.is_over = False

    @initialize(graph=graphs(), special=st.booleans(), data=st.data())
    def begin(self, graph: RandomGraph, special: bool, data: st.DataObject) -> None:
        def kind_of(name: str, kinds: list[str]) -> str:
            return data.draw(st.sampled_from(kinds), f"kind of {name}")
        self.live_before = live_bytes()
        self.life = Life(graph, kind_of if special else None)

    def _do(self, what: str, *args: object) -> None:
        """Runs a method of the life with the switches that are set."""
        if self.is_over:
            return
        try:
            with variant(self.way):
                getattr(self.life, what)(*args)
        except Ill:
            self.is_over = True
            REACHED["ended ill"] += 1

    # ---- runs -------------------------------------------------------------------------------

    @rule(data=st.data(), times=st.integers(1, 4))
    def infer(self, data: st.DataObject, times: int) -> None:
        executor = data.draw(st.sampled_from(range(len(self.life.executors))), "executor")
        for _ in range(times):
            self._do("forward", False, self.life.executors[executor])

    @rule(data=st.data())
    def train_forward(self, data: st.DataObject) -> None:
        executor = data.draw(st.sampled_from(range(len(self.life.executors))), "executor")
        self._do("forward", True, self.life.executors[executor])

    @precondition(lambda self: self.life.ran is not None)
    @rule()
    def backward(self) -> None:
        """Once or again: the forward stays good for more than one."""
        self._do("backward")

    @rule(is_train=st.booleans())
    def watch(self, is_train: bool) -> None:
        """A monitor is installed for one run."""
        self._do("watched_step", is_train)

    # ---- between runs -----------------------------------------------------------------------

    @rule(data=st.data(), way=st.sampled_from(WAYS))
    def write(self, data: st.DataObject, way: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.life.graph.args)), "argument")
        self.turn += 1
        self._do("write", name, way, self.turn)

    @rule()
    def release_exports(self) -> None:
        self.life.exports.clear()

    @rule(data=st.data())
    def relayout(self, data: st.DataObject) -> None:
        """A bound array is brought into another layout, as another reader of it may do."""
        name = data.draw(st.sampled_from(sorted(self.life.graph.args)), "argument")
        array = self.life.array(name)
        kinds = layouts_of(array.shape)
        chunk = array._chunk
        if (not kinds or array.is_view or array._reuse or chunk.pins or chunk.native.packers
                or chunk.storage_shape != array.shape):
            return
        desc = layout_of(data.draw(st.sampled_from(kinds), "layout"), array.shape, array.dtype)
        assert desc is not None
        STREAM.begin_operator()
        with Leases([], [chunk]):
            if chunk.is_special:
                chunk.reorder_to_default(STREAM)
            chunk.reorder(desc, STREAM)
        REACHED["other layout"] += 1

    @rule(batch=st.integers(1, 4))
    def reshape(self, batch: int) -> None:
        self._do("reshape", batch)

    @precondition(lambda self: len(self.life.executors) < 3)
    @rule()
    def bind_another(self) -> None:
        self._do("bind")

    @precondition(lambda self: len(self.life.executors) > 1)
    @rule()
    def drop(self) -> None:
        """One executor dies; the others live on."""
        gone = self.life.executors.pop()
        if self.life.ran is gone:
            self.life.ran = None
        REACHED["dropped"] += 1

    @rule(way=st.sampled_from(sorted(VARIANTS)))
    def switch(self, way: str) -> None:
        """Runs and binds with other switches from now on."""
        self.way = way

    @rule(threads=st.sampled_from((1, 2)))
    def set_threads(self, threads: int) -> None:
        mx.set_num_threads(threads)
        REACHED["other threads"] += threads != self.threads

    @invariant()
    def arguments_show_the_model(self) -> None:
        if hasattr(self, "life") and not self.is_over:
            self.life.check_inputs()

    @invariant()
    def leases_are_given_back(self) -> None:
        if hasattr(self, "life"):
            for array in self.life.executor.arg_arrays:
                assert lib.ndrt_chunk_lease(array._chunk.native) == 0

    def teardown(self) -> None:
        mx.set_num_threads(self.threads)
        if hasattr(self, "life"):
            self.life.close()
            del self.life
        if sys.exc_info()[0] is None and hasattr(self, "live_before"):
            left = live_bytes() - self.live_before
            assert left <= 0, f"{left} bytes are still live"
