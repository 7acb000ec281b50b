"""One bound graph and its model in numpy: what a user may do with them, done to both and compared.

The model is a NaiveExecutor with the same contents. `Life` is driven by the property tests and by
the state machine.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt._array.interop import ShareError
from ndarray_rt._array.ndarray import NDArray
from ndarray_rt._array.req import Req
from ndarray_rt.errors import MXNetError
from ndarray_rt.executor import Executor
from ndarray_rt.executor.tiles import batch as batch_tiles
from ndarray_rt.op.random_state import default_random_state
from ndarray_rt.storage.stream import Stream
from ndarray_rt.symbol.compose import output_name
from ndarray_rt.testing import naive
from ndarray_rt.testing import random_graphs as model_graphs
from ndarray_rt.testing.case import GROUPED_LAYOUTS, LAYOUTS, WEIGHT_LAYOUTS
from ndarray_rt.testing.compare import assert_close
from ndarray_rt.testing.conditioning import rounding, unsafe_kink
from ndarray_rt.testing.memory_kinds import Made, make, possible
from ndarray_rt.testing.naive import NaiveExecutor, from_numpy_copy
from ndarray_rt.testing.random_graphs import (
    JITTERED,
    ROUNDING,
    RTOL,
    RandomGraph,
    Result,
    Tolerances,
    read,
)

Array = np.ndarray[Any, np.dtype[Any]]
# what was reached, over all examples of a run
REACHED: Counter[str] = Counter()
STREAM = Stream()
# streams of the model and of reading
SCRATCH = (naive._stream, model_graphs._stream)


class Ill(Exception):
    """From here on float32 decides a choice in the graph: nothing can be compared any more."""


def layouts_of(shape: tuple[int, ...]) -> list[str]:
    """Kinds of special memory for an argument of a shape."""
    tags = (*LAYOUTS.get(len(shape), ()), *WEIGHT_LAYOUTS.get(len(shape), ()))
    kinds = [f"special:{tag}" for tag in dict.fromkeys(tags)]
    if len(shape) == 4 and shape[0] % 2 == 0:
        kinds += [f"grouped:2:{tag}" for tag in GROUPED_LAYOUTS[5]]
    return [kind for kind in kinds if possible(kind, shape, np.dtype(np.float32))]


def kinds_of(shape: tuple[int, ...]) -> list[str]:
    """All kinds of memory that an argument of a shape can be bound in."""
    views = [f"view_special:{tag}" for tag in LAYOUTS.get(len(shape), ())
             if possible(f"view_special:{tag}", shape, np.dtype(np.float32))]
    return ["plain", "view", "reshaped", "reused", "pinned", *layouts_of(shape), *views]


class Model:
    """The naive executor, with others beside it that know how far float32 can be trusted."""

    def __init__(self, graph: RandomGraph) -> None:
        self.graph = graph
        self.all: list[NaiveExecutor] = [graph.naive(), graph.naive(np.float64)]
        self.all += [graph.naive(jitter=np.random.default_rng(i)) for i in range(1, JITTERED + 1)]
        self.seed = graph.seed

    @property
    def single(self) -> NaiveExecutor:
        return self.all[0]

    def write(self, name: str, value: Array) -> None:
        for one in self.all:
            place = one.args if name in one.args else one.aux
            place[name] = value.astype(place[name].dtype)

    def forward(self, is_train: bool) -> None:
        self.seed += 1
        self.outputs = [one.forward(is_train, self.seed) for one in self.all]
        runs = [one for i, one in enumerate(self.all) if i != 1]
        if unsafe_kink(runs, self.all[1]) is not None:
            raise Ill

    def backward(self, head_grads: list[Array]) -> None:
        for one in self.all:
            dtype = np.float64 if one is self.all[1] else np.float32
            one.backward([g.astype(dtype) for g in head_grads])

    def results(self) -> tuple[Result, Tolerances]:
        """What is expected now, and how nearly."""
        found = [Result(outputs, dict(one.grads), dict(one.aux))
                 for outputs, one in zip(self.outputs, self.all, strict=True)]
        runs = [result.named() for i, result in enumerate(found) if i != 1]
        return found[0], Tolerances(rounding(runs, found[1].named()))

    def settle(self, got: Result) -> None:
        """Goes on from what the runtime really holds, so that errors do not add up."""
        for one in self.all:
            for place, values in ((one.grads, got.grads), (one.aux, got.aux)):
                for name, value in values.items():
                    if name in place:
                        place[name] = value.astype(place[name].dtype)


class Life:
    """A graph bound once or more on the same arrays, and its model."""

    def __init__(self, graph: RandomGraph,
                 kind_of: Callable[[str, list[str]], str] | None = None) -> None:
        self.graph = graph
        self.model = Model(graph)
        self.made: dict[str, Made] = {}
        self.grads: dict[str, Made] = {}
        for place, contents in ((self.made, graph.args), (self.grads, graph.grads)):
            for name, value in contents.items():
                kind = kind_of(name, kinds_of(value.shape)) if kind_of is not None else "plain"
                place[name] = make(value, kind, STREAM)
                place[name].check()
                REACHED[kind.split(":")[0]] += 1
                desc = place[name].array._chunk.mkl_mem
                REACHED["padded"] += desc is not None and desc.is_padded
        self.exports: list[Any] = []
        self.head_grads = list(graph.head_grads)
        self.ran: Executor | None = None  # whose backward may follow
        self.is_spent = self.went_back = False  # backward ran since, and over forward's memory
        self.executors: list[Executor] = []
        self.bind()

    @property
    def executor(self) -> Executor:
        return self.executors[-1]

    def bind(self, symbol: Any = None) -> None:
        """One more executor, on the same arrays as those before."""
        aux = self.executors[0].aux_dict if self.executors else None
        args = self.executors[0].arg_dict if self.executors else self._arrays(self.made)
        grads = self.executors[0].grad_dict if self.executors else self._arrays(self.grads)
        self.executors.append(self.graph.bind(
            args, {n: g for n, g in grads.items() if g is not None}, aux, symbol))
        REACHED["several executors"] += len(self.executors) > 1

    @staticmethod
    def _arrays(made: dict[str, Made]) -> dict[str, NDArray]:
        return {name: one.array for name, one in made.items()}

    def array(self, name: str) -> NDArray:
        return self.executors[0].arg_dict[name]

    # ---- runs -------------------------------------------------------------------------------

    def forward(self, is_train: bool, executor: Executor | None = None) -> None:
        """Forward on both, and compares outputs and aux states."""
        executor = executor or self.executor
        self.model.forward(is_train)
        default_random_state().seed(self.model.seed)
        self.ran = None
        outputs = [read(out) for out in executor.forward(is_train=is_train)]
        self.ran = executor if is_train else None
        self.is_spent = self.went_back = False
        REACHED["captured"] += not is_train and executor.capture_state == "captured"
        REACHED["tiles"] += not is_train and any(
            step.tile_of is not None for step in executor.inference_plan.steps)
        REACHED["in place"] += any(req == Req.kWriteInplace for step in executor.plan.steps
                                   for req in step.reqs)
        self.compare(executor, outputs)
        self.check_inputs()

    def backward(self) -> None:
        """Backward of the last forward on both, and compares gradients and aux states."""
        executor = self.ran
        assert executor is not None
        outputs = [read(out) for out in executor.outputs]
        if self.is_spent and executor.requests:
            with pytest.raises(MXNetError, match="second time"):
                executor.backward([from_numpy_copy(g) for g in self.head_grads])
            REACHED["second backward refused"] += 1
            return
        REACHED["second backward"] += self.went_back
        self.is_spent, self.went_back = not executor.plan.backward_repeats, True
        self.model.backward(self.head_grads)
        executor.backward([from_numpy_copy(g) for g in self.head_grads])
        self.compare(executor, outputs)
        self.check_inputs()
        REACHED["backward"] += 1

    def step(self, is_train: bool, executor: Executor | None = None) -> None:
        """Forward, and backward where training."""
        self.forward(is_train, executor)
        if is_train:
            self.backward()

    def watched_step(self, is_train: bool) -> None:
        """A run under a monitor, that sees the right value of each node as it is computed."""
        seen: dict[str, Array] = {}
        executor = self.executor
        executor.set_monitor_callback(lambda name, array: seen.setdefault(name, read(array)))
        try:
            self.forward(is_train)
        finally:
            executor.set_monitor_callback(None)
        expected = {output_name(entry): entry for node in self.model.single.order
                    for entry in node.outputs if node.op is not None}
        for name in seen.keys() & expected.keys():
            entry = expected[name]
            runs = [one.values[entry].astype(np.float64) for one in self.model.all]
            wrong = max(np.abs(run - runs[1]).max(initial=0.0) for run in runs)
            allowed = RTOL * np.abs(runs[1]).max(initial=0.0) + ROUNDING * wrong + 1e-30
            assert_close(seen[name], runs[0], 0.0, float(allowed), f"monitored {name}")
            REACHED["monitored"] += 1

    def compare(self, executor: Executor, outputs: list[Array]) -> None:
        got = Result(outputs, {n: read(executor.grad_dict[n]) for n in self.graph.grads},
                     {n: read(executor.aux_dict[n]) for n in self.graph.aux})
        want, tolerances = self.model.results()
        tolerances.check(got, want)
        self.model.settle(got)

    def check_inputs(self) -> None:
        """No run writes to an argument."""
        for name, value in self.model.single.args.items():
            assert read(self.array(name)).tobytes() == value.tobytes(), f"{name} was changed"
        for export, name in self.exports:
            assert np.array_equal(export, self.model.single.args[name]), f"{name} left its export"

    def reshape(self, batch: int) -> bool:
        """Goes on with executors for another batch size, where the graph can have one."""
        old, symbol = self.executor, self.graph.symbol
        shapes = {n: (batch, *old.arg_dict[n].shape[1:]) for n in self.graph.inputs}
        if not shapes or not self._fits(shapes):
            return False
        before = {n: read(a) for n, a in old.arg_dict.items()}
        made = old.reshape(partial_shaping=True, allow_up_sizing=True, **shapes)
        for name, array in made.arg_dict.items():
            value, was = read(array).ravel(), before[name].ravel()
            if value.size <= was.size:
                assert value.tobytes() == was[:value.size].tobytes(), f"reshape changed {name}"
            REACHED["reshaped to a view"] += array.is_view and not old.arg_dict[name].is_view
        rng = np.random.default_rng(batch)
        heads = [rng.uniform(-1, 1, out.shape).astype(np.float32) for out in made.outputs]
        graph = replace(self.graph, args={n: read(a) for n, a in made.arg_dict.items()},
                        grads={n: read(made.grad_dict[n]) for n in self.graph.grads},
                        aux={n: read(a) for n, a in made.aux_dict.items()}, head_grads=heads)
        assert symbol is graph.symbol
        self.graph, self.head_grads, self.executors, self.ran = graph, heads, [made], None
        self.exports.clear()
        self.model = Model(graph)
        REACHED["reshaped executor"] += 1
        return True

    def _fits(self, shapes: dict[str, tuple[int, ...]]) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = self.graph.symbol.infer_shape(**shapes)[0]
            except MXNetError:
                return False
        return found is not None

    # ---- what users do between runs -----------------------------------------------------------

    def fresh(self, name: str, turn: int) -> Array:
        """Other contents of the same kind for an argument."""
        rng = np.random.default_rng([turn, len(name)])
        old = self.model.single.args[name]
        return np.asarray(rng.permutation(old.ravel()).reshape(old.shape), old.dtype)

    def write(self, name: str, way: str, turn: int) -> None:
        """New contents for an argument, by one of the ways that users have."""
        array, value = self.array(name), self.fresh(name, turn)
        if way == "set_item":
            array[:] = value
        elif way == "row" and array.ndim:
            old = self.model.single.args[name].copy()
            old[0] = value[0]
            array[0] = value[0]
            value = old
        elif way == "copyto":
            from_numpy_copy(value).copyto(array)
        elif way == "sgd":
            old = self.model.single.args[name]
            mx.nd.sgd_update(array, from_numpy_copy(value), lr=0.5, wd=0.0, out=array)
            value = np.asarray(old - np.float32(0.5) * value, np.float32)
            got = read(array)
            np.testing.assert_allclose(got, value, rtol=1e-6, atol=1e-6)
            value = got
        elif way == "in place":
            array *= 0.5
            value = self.model.single.args[name] * np.float32(0.5)
        elif way in ("export", "held export"):
            try:
                exported = array.__array__(copy=False)
            except ShareError:
                assert array.is_special
                REACHED["export refused"] += 1
                return
            exported[...] = value
            if way == "held export":
                self.exports.append((exported, name))
        elif way == "params":
            self.executor.copy_params_from({name: from_numpy_copy(value)})
        else:
            array[:] = from_numpy_copy(value)
        self.model.write(name, value)
        self.ran = None
        REACHED[f"write by {way}"] += 1

    def close(self) -> None:
        for made in (*self.made.values(), *self.grads.values()):
            made.release()
        self.exports.clear()


WAYS = ("set_item", "row", "copyto", "sgd", "in place", "export", "held export", "params", "array")
VARIANTS: dict[str, dict[str, bool]] = {
    "all": {}, "numpy": {"NDRT_ONEDNN": False}, "unplanned": {"NDRT_PLAN_MEMORY": False},
    "uncaptured": {"NDRT_CAPTURE": False}, "tiles": {},
    "plain": {"NDRT_PLAN_MEMORY": False, "NDRT_CAPTURE": False},
    "nothing": {"NDRT_ONEDNN": False, "NDRT_PLAN_MEMORY": False, "NDRT_CAPTURE": False}}


@contextmanager
def variant(name: str) -> Iterator[None]:
    """Switches of one way to execute; with "tiles" wherever there can be some."""
    with config.override(**VARIANTS[name]), pytest.MonkeyPatch.context() as patch:
        if name == "tiles":
            patch.setattr(batch_tiles, "shared_cache_bytes", lambda: 1)
        yield
