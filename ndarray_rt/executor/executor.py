"""Executor: a symbol bound to arrays. Plans nothing itself and knows no operator."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import config
from ..context import Context
from ..errors import MXNetError, NameMismatch, ShapeError, TypeMismatch
from ..fork import renew_in_child
from ..ndarray.access import Access
from ..ndarray.copy import copy_into, write_numpy
from ..ndarray.ndarray import NDArray, new_array
from ..ndarray.req import Req
from ..op.context import OpContext
from ..op.dispatch import dispatch, dispatch_planned, is_observed
from ..op.packing import PackedStore
from ..op.prim_cache import CACHE
from ..storage.account import Account, SessionBytes
from ..storage.chunk import Chunk
from ..storage.lease import Leases
from ..storage.stream import ImmediateStream, RecordingStream
from ..storage.tmp_mem import TmpMemMgr
from .build import BoundGraph, build_graph
from .captured import Capture, Captured
from .plan import Kind, Plan, Step
from .session import Session
from .state import State

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol

# of executors, for the names of their accounts
_numbers = itertools.count(1)
Monitor = Callable[[str, NDArray], None]


class Executor:
    """Runs a bound symbol forward and backward. Made by `Symbol.bind` and `Symbol.simple_bind`.

    The bound arrays stay the user's: changes to them are seen by the next run. The outputs are
    the executor's memory, the same at each call. Runs of one executor are serialised.
    """

    def __init__(self, symbol: Symbol, ctx: Context, args: dict[str, NDArray],
                 grads: dict[str, NDArray], requests: dict[str, Req], aux: dict[str, NDArray],
                 session: Session | None = None) -> None:
        self._symbol = symbol
        self._ctx = ctx.check()
        self.arg_dict = args
        self.grad_dict: dict[str, NDArray | None] = {name: grads.get(name) for name in args}
        self.aux_dict = aux
        self._requests = {n: r for n, r in requests.items() if r != Req.kNullOp and n in grads}
        bound = {**args, **aux}
        self._graph: BoundGraph = build_graph(
            symbol.entries, self._requests, {n: a.shape for n, a in bound.items()},
            {n: a.dtype for n, a in bound.items()})
        self._account = Account(f"executor {next(_numbers)}: {', '.join(symbol.list_outputs())}")
        with self._account:
            self._head_grads = {i: new_array(*self._head_facts(i), ctx)
                                for i in self._graph.head_grads}
        external = {entry: bound[name] for name, entry in self._graph.variables.items()}
        external.update({self._graph.head_grads[i]: a for i, a in self._head_grads.items()})
        external.update({entry: grads[name] for name, entry in self._graph.grads.items()})
        with self._account:
            self._state = State(self._graph.plan, external, self._ctx)
        self._steps = [_BoundStep(step, self._state) for step in self._graph.plan.steps]
        self._session = Session() if session is None else session
        self._context = OpContext(ImmediateStream(TmpMemMgr(account=self._account)),
                                  session=self._session.key,
                                  shapes=tuple(a.shape for a in bound.values()))
        self._context.keep_plain = frozenset(
            args[name].chunk.native.id for name in self._requests)
        self._context.packed = PackedStore()
        self._context.own_leases = False
        self._plainly_bound = self._no_shared_memory(grads)
        self._leases = self._make_leases(grads)
        self._lock = threading.RLock()
        self._capture = Capture()
        self._monitor: Monitor | None = None
        self._monitor_all = False
        self._ran_training = False
        self._is_spent = False
        self._backward_repeats = self._graph.plan.backward_repeats
        # the stream of plain runs; a run that is recorded has another one
        self._stream = self._context.stream
        self._is_running = False
        renew_in_child(self)

    def renew_locks(self) -> None:
        """In a forked child: a run that another thread was in the midst of is not there any more.

        Its arrays hold what they held then, and the next runs settle and record anew.
        """
        # whatever it says of itself: a thread that was given the lock notes so a little later
        self._lock = threading.RLock()
        if self._is_running:
            self._is_running = False
            self._context.stream = self._stream
            self._ran_training = False
            self._capture.restart("a fork interrupted a run")

    # ---- what is bound ----------------------------------------------------------------------

    @property
    def symbol(self) -> Symbol:
        return self._symbol

    @property
    def context(self) -> Context:
        return self._ctx

    @property
    def requests(self) -> dict[str, Req]:
        """The request of each argument that has a gradient."""
        return dict(self._requests)

    @property
    def session(self) -> Session:
        """What the primitives of this executor and of those reshaped from it are kept under."""
        return self._session

    @property
    def plan(self) -> Plan:
        """The steps and the memory plan, printable."""
        return self._graph.plan

    @property
    def arg_arrays(self) -> list[NDArray]:
        """Arguments in the order of `list_arguments`."""
        return [self.arg_dict[name] for name in self._symbol.list_arguments()]

    @property
    def grad_arrays(self) -> list[NDArray | None]:
        """Gradients in the order of `list_arguments`; None where there is none."""
        return [self.grad_dict.get(name) for name in self._symbol.list_arguments()]

    @property
    def aux_arrays(self) -> list[NDArray]:
        """Aux states in the order of `list_auxiliary_states`."""
        return [self.aux_dict[name] for name in self._symbol.list_auxiliary_states()]

    @property
    def outputs(self) -> list[NDArray]:
        """Handles on the outputs' memory, which the next run overwrites."""
        return [self._state.arrays[i].detach() for i in self._graph.plan.heads]

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs by name; NameMismatch when two have one name."""
        names = self._symbol.list_outputs()
        if len(set(names)) != len(names):
            raise NameMismatch(f"two outputs have one name: {names}")
        return dict(zip(names, self.outputs, strict=True))

    @property
    def capture_state(self) -> str:
        """'captured' when runs are replayed from a recording, else why they are not."""
        return self._capture.reason

    @property
    def counters(self) -> dict[str, int]:
        """What the runs did so far: primitives, kernels, callbacks, reorders."""
        return self._context.stream.counters.as_dict()

    @property
    def memory_stats(self) -> SessionBytes:
        """Bytes of this executor's own: arena, scratch, packed weights; `live` now, `peak` ever.

        The bound arrays are not among them.
        """
        return self._account.read()

    @property
    def cache_stats(self) -> dict[str, int]:
        """Hits, misses, evictions, groups and entries of this executor's session."""
        return CACHE.stats(self._session.key)

    # ---- running ----------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Computes the outputs; `kwargs` are copied into the arguments of those names first."""
        self._refuse_own_run()
        with self._lock, self._account:
            self._copy_inputs(kwargs)
            self._ran_training = self._is_spent = False
            self._run(0, self._graph.plan.num_forward, is_train)
            self._ran_training = is_train
        return self.outputs

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Computes the gradients of the last `forward(is_train=True)` into the bound arrays.

        `out_grads`: one array, or a list with one an output; loss operators need none.
        MXNetError without such a forward, and a second time after one where the memory plan
        lets backward take over memory of forward's.
        """
        if not self._requests:
            return
        if self._is_spent:
            raise MXNetError("backward a second time after one forward: the first one took over "
                             "memory of forward's; call forward(is_train=True) again, or bind with "
                             "NDRT_PLAN_MEMORY=0")
        if not self._ran_training:
            raise MXNetError("backward needs a forward(is_train=True) before it: the last forward "
                             "was for inference or did not finish")
        given = self._head_gradients(out_grads)
        self._refuse_own_run()
        with self._lock, self._account:
            for i, array in self._head_grads.items():
                self._copy(given[i], array, f"out_grads[{i}]")
            for name in self._graph.zero_grads:
                if self._requests[name] != Req.kAddTo:
                    grad = self.grad_dict[name]
                    assert grad is not None
                    self._copy(np.zeros(grad.shape, grad.dtype), grad, name)
            # a backward that stops half-way has used up some of what it reads, too
            self._is_spent = not self._backward_repeats
            self._run(self._graph.plan.num_forward, len(self._steps), is_train)

    def _refuse_own_run(self) -> None:
        """MXNetError instead of a run inside a run of the same thread."""
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise MXNetError("this executor is running in this very thread: a monitor, an "
                             "operator or a signal handler can not run it again")

    def _run(self, start: int, stop: int, is_train: bool) -> None:
        ctx = self._context
        ctx.is_train = is_train
        self._is_running = True
        try:
            ctx.begin_run()
            if self._monitor is not None:
                self._run_monitored(start, stop)
            elif self._plainly_bound:
                ctx.own_leases = False
                with self._leases:
                    if start == 0 and not is_train and self._may_capture():
                        self._run_captured(stop)
                    else:
                        self._run_steps(start, stop)
            else:
                ctx.own_leases = True
                for step in self._steps[start:stop]:
                    dispatch(step.op, step.params, ctx, step.ins, step.outs, step.reqs, step.name)
        finally:
            self._is_running = False

    def _run_steps(self, start: int, stop: int) -> None:
        ctx = self._context
        for step in self._steps[start:stop]:
            dispatch_planned(step.op, step.params, ctx, step.ins, step.outs, step.reqs, step.name)

    @staticmethod
    def _may_capture() -> bool:
        return (config.NDRT_CAPTURE and config.NDRT_ONEDNN and not config.NDRT_TRACE
                and not config.NDRT_VALIDATE and not is_observed())

    def _run_captured(self, stop: int) -> None:
        """The first run takes the ordinary path, the second is recorded, the others replay it."""
        ready = self._capture.ready()
        if ready is not None:
            ready.replay()
            self._context.stream.counters.add(ready.counters)
        elif self._capture.should_record:
            self._record(stop)
        else:
            self._run_steps(0, stop)
            self._capture.ran_plainly()

    def _record(self, stop: int) -> None:
        ctx = self._context
        chunks = self._chunks_of(stop)
        before = sum(chunk.moves for chunk in chunks)
        fallbacks, plain = ctx.fallbacks, self._stream
        stream = RecordingStream(plain.tmp.estimate)
        ctx.stream = stream
        try:
            self._run_steps(0, stop)
        finally:
            ctx.stream = plain
            plain.counters.add(stream.counters.as_dict())
        if stream.recording.failed is not None:
            self._capture.ran_plainly()  # the run is done; the next one is recorded
        elif ctx.fallbacks != fallbacks or stream.recording.segments != 1:
            self._capture.refuse("a step runs in Python")
        elif sum(chunk.moves for chunk in chunks) != before:
            self._capture.refuse("a step moves memory")
        else:
            natives = {chunk.native.id: chunk.native for chunk in chunks}
            assert ctx.packed is not None
            sources = [(natives[i], changes) for i, changes in ctx.packed.sources()
                       if i in natives]
            self._capture.keep(Captured(stream, chunks, self._written(stop), sources))

    def _written(self, stop: int) -> list[Chunk]:
        """The chunks that users can reach and that the first `stop` steps write to."""
        planned = {storage.chunk for storage in self._state.storages}
        heads = {self._state.arrays[i].chunk for i in self._graph.plan.heads}
        found: list[Chunk] = []
        for step in self._steps[:stop]:
            found += [out.chunk for out, req in zip(step.outs, step.reqs, strict=True) if req]
            found += [step.ins[i].chunk for i in step.op.mutated(step.params)]
        return [chunk for chunk in dict.fromkeys(found) if chunk in heads or chunk not in planned]

    def _chunks_of(self, stop: int) -> list[Chunk]:
        """Every chunk that the first `stop` steps touch, once."""
        arrays = [array for step in self._steps[:stop] for array in (*step.ins, *step.outs)]
        return list(dict.fromkeys(array.chunk for array in arrays))

    def _run_monitored(self, start: int, stop: int) -> None:
        assert self._monitor is not None
        self._context.own_leases = True
        for step in self._steps[start:stop]:
            if self._monitor_all:
                for array, name in zip(step.ins, step.in_names, strict=True):
                    self._monitor(name, array)
            dispatch(step.op, step.params, self._context, step.ins, step.outs, step.reqs,
                     step.name)
            for array, name, req in zip(step.outs, step.out_names, step.reqs, strict=True):
                if req != Req.kNullOp:
                    self._monitor(name, array)

    # ---- arrays in --------------------------------------------------------------------------

    def copy_params_from(self, arg_params: Mapping[str, NDArray],
                         aux_params: Mapping[str, NDArray] | None = None,
                         allow_extra_params: bool = False) -> None:
        """Copies parameters into the bound arrays, cast to their dtypes.

        NameMismatch for a name that is not bound, unless extra ones are allowed.
        """
        self._refuse_own_run()
        for given, bound, what in ((arg_params, self.arg_dict, "argument"),
                                   (aux_params or {}, self.aux_dict, "auxiliary state")):
            for name, value in given.items():
                if name in bound:
                    with self._lock:
                        self._copy(value, bound[name], name)
                elif not allow_extra_params:
                    raise NameMismatch(f"copy_params_from: {name!r} is no {what} of this symbol")

    def set_monitor_callback(self, callback: Monitor, monitor_all: bool = False) -> None:
        """Calls `callback(name, array)` with each output as it is computed, inputs too if all."""
        self._monitor = callback
        self._monitor_all = monitor_all

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False,
                **kwargs: Any) -> Executor:
        """An executor for other input shapes that shares this one's memory.

        Smaller arrays are views of the old ones; larger ones need `allow_up_sizing` and are new.
        Arguments not named change shape only with `partial_shaping`.
        """
        from .bind import reshape_executor
        return reshape_executor(self, partial_shaping, allow_up_sizing, kwargs)

    def debug_str(self) -> str:
        """The plan as text."""
        return str(self.plan)

    def _copy_inputs(self, given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in self.arg_dict:
                raise NameMismatch(f"forward: {name!r} is no argument of this symbol; it has: "
                                   f"{', '.join(self.arg_dict)}")
        for name, value in given.items():
            self._copy(value, self.arg_dict[name], name)

    def _copy(self, value: Any, target: NDArray, name: str) -> None:
        if not isinstance(value, NDArray):
            try:
                value = np.asarray(value)
            except ValueError:
                raise TypeMismatch(f"{name}: got a {type(value).__name__}, "
                                   "expected an array") from None
            if value.dtype.kind not in "biuf" and value.dtype.name != "bfloat16":
                raise TypeMismatch(f"{name}: got an array of {value.dtype}, expected numbers")
        if value.shape != target.shape:
            raise ShapeError(f"{name} has shape {value.shape}, expected {target.shape} "
                             "as it was bound")
        if isinstance(value, NDArray):
            if value.chunk is target.chunk and value.byte_offset == target.byte_offset:
                return
            with Access(read=(value,), written=(target,)) as stream:
                copy_into(value, target, stream)
        else:
            with Access(written=(target,)) as stream:
                write_numpy(target, value, stream)

    def _head_gradients(self, out_grads: Any) -> dict[int, Any]:
        if out_grads is None:
            if self._head_grads:
                name = self._symbol.list_outputs()[next(iter(self._head_grads))]
                raise MXNetError(f"backward: output {name!r} is no loss, so out_grads must be "
                                 "given (or wrap the output in make_loss)")
            return {}
        if isinstance(out_grads, Mapping):
            names = self._symbol.list_outputs()
            out_grads = [out_grads.get(name) for name in names]
        elif isinstance(out_grads, (NDArray, np.ndarray)):
            out_grads = [out_grads]
        given = dict(enumerate(out_grads))
        for i in self._head_grads:
            if given.get(i) is None:
                raise MXNetError(f"backward: out_grads[{i}] is missing, and output "
                                 f"{self._symbol.list_outputs()[i]!r} is no loss")
        if len(given) > len(self._graph.plan.heads):
            raise MXNetError(f"backward: {len(given)} out_grads for "
                             f"{len(self._graph.plan.heads)} output(s)")
        return given

    # ---- making -----------------------------------------------------------------------------

    def _head_facts(self, i: int) -> tuple[tuple[int, ...], Any]:
        value = self._graph.plan.values[self._graph.plan.heads[i]]
        return value.shape, value.dtype

    def _no_shared_memory(self, grads: Mapping[str, NDArray]) -> bool:
        """No array that is written shares memory with another one that is bound."""
        written = [grads[n].chunk for n in self._requests]
        written += [a.chunk for a in self.aux_dict.values()]
        read = {a.chunk for a in self.arg_dict.values()}
        heads = [self._state.arrays[i].chunk for i in self._graph.plan.heads]
        return (len(set(written)) == len(written) and not read & set(written)
                and not set(heads) & set(written))

    def _make_leases(self, grads: Mapping[str, NDArray]) -> Leases:
        written: list[Chunk] = [grads[n].chunk for n in self._requests]
        mutated = {index for step in self._graph.plan.steps
                   for index in _mutated_values(step)}
        written += [self._state.arrays[i].chunk for i in mutated]
        written += [self._state.arrays[i].chunk for i in self._graph.plan.heads
                    if self._graph.plan.values[i].kind is Kind.OUTPUT]
        read = [a.chunk for a in (*self.arg_dict.values(), *self.aux_dict.values())]
        return Leases(read, written)


def _mutated_values(step: Step) -> Sequence[int]:
    op, params = step.node.op, step.node.params
    if op is None or params is None:
        return ()
    return [step.ins[position] for position in op.mutated(params)]


class _BoundStep:
    """A step with its arrays."""

    __slots__ = ("in_names", "ins", "name", "op", "out_names", "outs", "params", "reqs")

    def __init__(self, step: Step, state: State) -> None:
        op, params = step.node.op, step.node.params
        assert op is not None
        assert params is not None
        self.op = op
        self.params = params
        self.name = step.node.name
        self.ins = [state.arrays[i] for i in step.ins]
        self.outs = [state.arrays[i] for i in step.outs]
        self.reqs = step.reqs
        names = (*op.input_names(params), *op.aux_names(params))
        self.in_names = [f"{self.name}_{name}" for name in names]
        outs = op.output_names(params)
        self.out_names = [f"{self.name}_output" if len(outs) == 1 else f"{self.name}_{name}"
                          for name in outs]
