"""Executor: a symbol bound to arrays. Plans nothing itself and knows no operator."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from .. import config
from .._array.copy import Place, copy_to_place
from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..capture.replay import DONE, NOTHING_RAN, UNFINISHED, Captured
from ..context import Context
from ..errors import NameMismatch
from ..fork import renew_in_child
from ..native import lib
from ..op.context import OpContext
from ..op.dispatch import is_checked
from ..op.kept_runs import KeptRuns
from ..op.packing import PackedStore
from ..op.random_state import RandomState, random_state
from ..op.registry import Shape
from ..storage.account import Account
from ..storage.stream import BUDGET, ImmediateStream
from ..storage.tmp_mem import TmpMemMgr
from ..symbol.node import Entry
from .checks import check_callback, check_names, check_repeat, find_params
from .find_nonfinite import Finding
from .memory.workspace import Workspace, new_number
from .monitors import Monitor, watching
from .program.bound_graph import BoundGraph, Facts, add_types, all_known, build_graph, infer_shapes
from .program.inference import InferenceGraph, build_inference, shared_prologue
from .program.plan import Plan
from .program.program import Program, Watch
from .session import Session
from .training.trainer import TrainingRuns
from .tuning.table import TUNING_RUNS
from .values import copy_value

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol
    from .explain import Explanation
    from .tuning.search import Tuned

_replay = lib.ndrt_replay_run


class Executor(TrainingRuns, Finding):
    """Runs a bound symbol forward and backward. Made by `Symbol.bind` and `Symbol.simple_bind`.

    The bound arrays stay the user's: changes to them are seen by the next run. The outputs are
    the executor's memory, the same at each call. Runs of one executor are serialised.

    `forward(is_train=False)` runs what the passes make of the graph (docs/executor.md), all else
    the graph as it is. Either program is made when it is first needed. `trained` are arguments
    that something else trains: inference does not convert them in place. `random` is where random
    numbers come from, if not from the process's stream.
    """

    def __init__(self, symbol: Symbol, ctx: Context, args: dict[str, NDArray],
                 grads: dict[str, NDArray], requests: dict[str, Req], aux: dict[str, NDArray],
                 like: Executor | None = None, shared: Executor | None = None,
                 session: Session | None = None, trained: Collection[str] = (),
                 random: RandomState | None = None, tune: bool = False,
                 shapes: Mapping[Entry, Shape | None] | None = None) -> None:
        """`like` is an executor of the same symbol over the same parameters: what it has folded,
        packed and planned is used again. The memory of `shared` is used for intermediate values;
        the two never run at the same time, and neither's backward may follow the other's run.
        `trained` are parameters that others write to, so that they are not packed in place. With
        `tune` the first run for inference tunes. `shapes` are those of the symbol's entries where
        they were inferred for these arrays already."""
        self._symbol = symbol
        self._ctx = ctx.check()
        self.arg_dict = args
        self.grad_dict = {name: grads.get(name) for name in args}
        self.aux_dict = aux
        self._requests = {n: r for n, r in requests.items() if r != Req.kNullOp and n in grads}
        self._bound = {**args, **aux}
        known = (infer_shapes(symbol.entries, {n: a.shape for n, a in self._bound.items()})
                 if shapes is None else all_known(shapes))
        self._facts: Facts = add_types(
            symbol.entries, known, {n: a.dtype for n, a in self._bound.items()},
            None if like is None else like._facts)
        self._variables = {entry.node.name: entry for entry in known if entry.node.is_variable}
        self._graph: BoundGraph | None = None
        self._backward_repeats = False
        if self._requests:
            self._bound_graph()
        self._number = new_number()
        self._work: Workspace = Workspace() if shared is None else shared._work
        self._work.has_backward |= bool(self._requests)
        self._account = Account(f"executor {self._number}: {', '.join(symbol.list_outputs())}")
        with self._account:
            needed: list[int] = [] if self._graph is None else list(self._graph.head_grads)
            self._head_grads = {i: new_array(*self._head_facts(i), self._ctx) for i in needed}
            self._outputs = self._make_outputs()
        self._session = session or (Session() if like is None else like._session)
        self._context = OpContext(ImmediateStream(TmpMemMgr(account=self._account)),
                                  session=self._session.key,
                                  random=random or random_state(self._ctx),
                                  shapes=tuple(a.shape for a in self._bound.values()))
        self._context.keep_plain = frozenset(
            args[name]._chunk.native.id for name in (*self._requests, *trained))
        if self._requests:
            self._context.kept_runs = KeptRuns()
        self._context.packed = PackedStore(None if like is None else like._context.packed)
        self._plainly_bound = self._no_shared_memory(grads)
        self._full: Program | None = None
        # for inference; None where the passes are switched off
        self._lean: Program | None = None
        self._inference: InferenceGraph | None = None
        self._lean_switches: tuple[str, bool, bool] | None = None
        self._model = None if like is None else like._as_model()
        self._is_to_tune = tune
        self._monitor: Watch | None = None
        # the mode of the last run, None where it did not finish; nothing was kept for backward yet
        self._ran: bool | None = False
        self._is_spent = False
        # the stream of plain runs; a run that is recorded has another one
        self._stream = self._context.stream
        self._is_running = False
        # the recording of an inference run that may be replayed as it is while the epoch is this
        self._ready: Captured | None = None
        self._ready_epoch = -1
        self._chain = self._left = self._head_feed = None
        self._zeroed: dict[str, int] = {}
        self._fed: dict[str, Place] = {}
        self._borrowed: set[str] = set()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child, a run that another thread was in the midst of is not there any more.

        Its arrays hold what they held then, and the next runs settle and record anew.
        """
        if self._is_running:
            self._is_running = False
            self._context.stream = self._stream
            self._ran = None
            self._ready = self._chain = self._left = None
            for program in self._programs():
                program.restart("a fork interrupted a run")

    # ---- what is bound ----------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The steps and the memory plan of the graph as it was bound, printable."""
        return self._bound_graph().plan

    @property
    def inference_plan(self) -> Plan:
        """The steps and the memory plan that `forward(is_train=False)` runs, printable."""
        with self._work.lock, self._account:
            return self._program_for(False).plan

    @property
    def capture_state(self) -> str:
        """'captured' when inference runs are replayed from a recording, else why they are not."""
        with self._work.lock:
            program = self._lean or self._full
            return (NOTHING_RAN if program is None
                    else program.inference_state(self._monitor is not None))

    @property
    def capture_states(self) -> dict[str, str]:
        """'captured', or why not, for each part of the graph that ran: forward or backward, in
        training or inference."""
        with self._work.lock:
            return {name: reason for program in (self._full, self._lean) if program is not None
                    for name, reason in program.capture_states(
                        self._monitor is not None).items()}

    @property
    def counters(self) -> dict[str, int]:
        """What the runs did so far: primitives, kernels, callbacks, reorders."""
        with self._work.lock:
            for program in self._programs():
                program.count_replays()
            return self._stream.counters.as_dict()

    # ---- running ----------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Computes the outputs; `kwargs` are copied into the arguments of those names first."""
        work = self._work
        lock = work.lock
        if lock._is_owned():
            work.refuse_own_run()
        with lock:
            if kwargs and not self._copy_plain(kwargs):
                with self._account:
                    self._copy_inputs(kwargs)
            ready = self._ready
            if ready is not None and not is_train and self._ready_epoch == config.epoch:
                # nothing but this and native code until the outputs are there
                self._ran = None
                work.last = self._number
                try:
                    result = _replay(ready.native, BUDGET, 0)
                    if result == UNFINISHED:
                        self._finish_replay(ready)
                        result = DONE
                except BaseException:
                    ready.leases.give_back()
                    raise
                if result == DONE:
                    self._ran = False
                    return self._outputs[:]
            elif is_train and self._replay_forward():
                self._ran = True
                return self._outputs[:]
            with self._account:
                if self._is_to_tune and not is_train:
                    self._tune(TUNING_RUNS)
                self._run_forward(bool(is_train))
                self._ran = bool(is_train)
        return self._outputs[:]

    def _run_forward(self, is_train: bool, kept: bool = False) -> None:
        self._ready = self._left = None
        self._ran, self._is_spent = None, False
        self._work.last = self._number
        program = self._full_program() if kept else self._program_for(is_train)
        if program is self._full:
            self._chain = None
        self._is_running = True
        try:
            program.run_forward(is_train, self._monitor)
        finally:
            self._is_running = False
        if not is_train and not kept and self._monitor is None:
            # the epoch first: a switch that changes in between makes it stale
            self._ready_epoch = config.epoch
            self._ready = program.ready()

    def _finish_replay(self, ready: Captured) -> None:
        """The rest of a run that is so long that signals are served meanwhile, or calls Python."""
        # long ones go the way of all others from now on, which costs little beside their length
        self._ready, self._is_running = None, True
        try:
            ready.finish()
            self._ready = ready if ready.has_stops else None
        finally:
            self._is_running = False

    # ---- programs -----------------------------------------------------------------------------

    def _programs(self) -> list[Program]:
        return [p for p in (self._lean, self._full) if p is not None]

    def _program_for(self, is_train: bool) -> Program:
        """Inference takes the optimized graph; a monitor is to see each node as it was bound."""
        looked_at = self._monitor is not None or is_checked()
        if is_train or looked_at or not config.NDRT_ONEDNN:
            return self._full_program()
        switches = (config.NDRT_SKIP_PASSES, config.NDRT_PLAN_MEMORY, config.NDRT_BATCH_TILES)
        if self._lean_switches != switches:
            self._make_lean()
            self._lean_switches = switches
        return self._lean or self._full_program()

    def _make_lean(self, planned: InferenceGraph | None = None) -> None:
        """`planned` is a graph of this executor's own that is to be planned anew."""
        for program in self._programs():
            program.count_replays()
        model, self._model = self._model, None
        if self._lean is not None:
            model = None  # it was made under other switches, or with other layouts
        self._lean = self._inference = None
        like = planned if model is None else model[0]
        graph = build_inference(self._symbol.entries, self._bound, self._outputs, self._facts, like)
        if graph is not None:
            prologue = None if model is None else shared_prologue(graph, *model)
            self._lean = Program(graph.plan, graph.given, self._context, self._ctx,
                                 self._plainly_bound, self._work.arena(), prologue,
                                 None if prologue is None or model is None else model[1])
            self._work.add(self._lean.state)
        self._inference = graph

    def _as_model(self) -> tuple[InferenceGraph, Program] | None:
        """What an executor for other shapes may go on with."""
        if self._inference is None or self._lean is None:
            return None
        return self._inference, self._lean

    def _bound_graph(self) -> BoundGraph:
        """The graph as it was bound, planned; for inference alone it may never be needed."""
        if self._graph is None:
            self._graph = build_graph(self._symbol.entries, self._requests, self._facts)
            self._backward_repeats = self._graph.plan.backward_repeats
        return self._graph

    def _full_program(self) -> Program:
        if self._full is None:
            graph = self._bound_graph()
            given = {entry: self._bound[name] for name, entry in graph.variables.items()}
            given.update({graph.head_grads[i]: a for i, a in self._head_grads.items()})
            for name, entry in graph.grads.items():
                grad = self.grad_dict[name]
                assert grad is not None
                given[entry] = grad
            for entry, array in zip(self._symbol.entries, self._outputs, strict=True):
                given.setdefault(entry, array)
            self._full = Program(graph.plan, given, self._context, self._ctx,
                                 self._plainly_bound, self._work.arena())
            self._work.add(self._full.state)
        return self._full

    # ---- tuning -----------------------------------------------------------------------------

    def tune(self, repeat: int = TUNING_RUNS) -> Tuned:
        """Chooses layouts and kernels of inference by measuring them here; returns what it found.

        Runs the graph for inference with what is bound, `repeat` times and a few times more in
        each family of layouts, and once more so in the plan that is cheapest by the times of its
        nodes; then with our kernels and with oneDNN's, where layers have both. The one with the
        shortest run is taken, for this executor and for all that are bound later for the same
        graph, shapes and number of threads. Bound arrays and outputs stay what they are; backward
        needs another forward after this. ParameterError unless `repeat` is a number from 1 up.
        """
        check_repeat("tune", repeat)
        self._work.refuse_own_run()
        with self._work.lock, self._account:
            return self._tune(repeat)

    def _tune(self, repeat: int) -> Tuned:
        from .tuning.search import nothing_to_tune, tune_layouts
        self._is_to_tune = False
        program, graph = self._program_for(False), self._inference
        if graph is None or program is not self._lean:
            return nothing_to_tune("inference runs the graph as it was bound")
        # the arena is written to
        self._ran = None
        self._work.last = self._number
        found = tune_layouts(graph, self._ctx, self._plainly_bound, self._work.arena(), repeat)
        if found.changed:
            self._ready = None
            for program in self._programs():
                program.restart("tuning changed the layouts")
            assert self._context.packed is not None
            self._context.packed.clear()
            # what stops this half-way leaves it to the next run
            switches, self._lean_switches = self._lean_switches, None
            self._make_lean(graph)
            self._lean_switches = switches
        return found

    # ---- arrays in --------------------------------------------------------------------------

    def copy_params_from(self, arg_params: Mapping[str, NDArray],
                         aux_params: Mapping[str, NDArray] | None = None,
                         allow_extra_params: bool = False) -> None:
        """Copies parameters into the bound arrays, cast to their dtypes.

        NameMismatch for a name that is not bound, unless extra ones are allowed.
        """
        self._work.refuse_own_run()
        for name, value, array in [
                *find_params(arg_params, self.arg_dict, "argument", allow_extra_params),
                *find_params(aux_params, self.aux_dict, "auxiliary state", allow_extra_params)]:
            with self._work.lock:
                copy_value(value, array, name)

    def set_monitor_callback(self, callback: Monitor, monitor_all: bool = False) -> None:
        """Calls `callback(name, array)` with each output as it is computed, inputs too if all."""
        check_callback("set_monitor_callback", callback)
        self.set_watch(None if callback is None else watching(callback, monitor_all))

    def set_watch(self, watch: Watch | None) -> None:
        """Calls `watch` with each step, before it is run and after; runs are not recorded then."""
        with self._work.lock:
            self._ready = self._chain = self._left = None
            self._monitor = watch

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False,
                **kwargs: Any) -> Executor:
        """An executor for other input shapes that shares this one's memory.

        That of intermediate values too, where no gradients are wanted: the two take turns then,
        whatever threads they are called from. Outputs are each one's own. Smaller arrays are views
        of the old ones; larger ones need `allow_up_sizing` and are new. Arguments not named change
        shape only with `partial_shaping`.
        """
        from .bind import reshape_executor
        with self._work.lock, self._account:
            self._take_over(kwargs)
        return reshape_executor(self, partial_shaping, allow_up_sizing, kwargs)

    @property
    def _lends_memory(self) -> bool:
        """Others may use the memory of this one's intermediate values: no backward needs them."""
        return not self._work.has_backward

    def clone(self, inputs: Iterable[str] | None = None) -> Executor:
        """An executor on the same parameters, with inputs, outputs and memory of its own.

        For threads that compute at the same time: weights, what is folded and packed of them, and
        primitives are shared. `inputs` are the arguments that it gets arrays of its own for, with
        what they hold now: those given to `forward` by name so far, if it is None. All other
        arrays it shares until its own `forward` or `reshape` is given one. Only for inference:
        MXNetError where gradients are wanted, NameMismatch for what is no argument, TypeMismatch
        for what is no list of names.
        """
        from .pool import clone_executor
        names = None if inputs is None else check_names("clone: inputs", inputs)
        with self._work.lock, self._account:
            self._program_for(False)
        return clone_executor(self, self._fed if names is None else names)

    def debug_str(self) -> str:
        """The plan as text, and how much memory it takes."""
        plan = self.plan
        return f"{plan}\nTotal {plan.planned_bytes >> 20} MB allocated"

    def get_optimized_symbol(self) -> Symbol:
        """What inference runs: the symbol after the passes, fused operators among its nodes."""
        with self._work.lock, self._account:
            program, graph = self._program_for(False), self._inference
            heads = (self._symbol.entries if graph is None or program is not self._lean
                     else graph.optimized.heads)
            return type(self._symbol)(heads)

    @overload
    def explain(self, pass_name: None = None, *, is_train: bool = False,
                repeat: int = 10) -> Explanation: ...
    @overload
    def explain(self, pass_name: str, *, is_train: bool = False, repeat: int = 10) -> str: ...

    def explain(self, pass_name: str | None = None, *, is_train: bool = False,
                repeat: int = 10) -> Explanation | str:
        """What each step of a run does, with kernels, layouts, reorders and measured times.

        Runs `forward(is_train)`, and backward where gradients are wanted, `repeat` times and a few
        times more with what is bound. Bound arrays and the random stream stay what they are;
        outputs are those of the last run, and backward needs another forward after this.
        With the name of a pass: what the graph for inference was before and after it, as text.
        """
        from .explain import Subject, explain, explain_pass
        self._work.refuse_own_run()
        with self._work.lock, self._account:
            program = self._program_for(is_train and pass_name is None)
            used = self._inference if program is self._lean else None
            optimized = None if used is None else used.optimized
            if pass_name is not None:
                return explain_pass(pass_name, self._symbol.entries, self._bound, optimized)
            self._ran = None
            runs = [lambda: self._run_forward(is_train)]
            if is_train and self._requests:
                runs.append(lambda: self._run_backward(True))
            arrays = [*self._bound.values(), *(self.grad_dict[name] for name in self._requests)]
            return explain(Subject(
                self._symbol.entries, optimized, program, is_train, runs,
                [a for a in arrays if a is not None], [*self._head_grads.values()],
                self._context), check_repeat("explain", repeat))

    def _copy_plain(self, given: Mapping[str, Any]) -> bool:
        """Copies inputs that were given before, where that takes no memory and no check can fail;
        else some are copied."""
        for name, value in given.items():
            place = self._fed.get(name)
            if place is None or not copy_to_place(value, place):
                return False
        return True

    def _copy_inputs(self, given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in self._bound or name in self.aux_dict:
                raise NameMismatch(f"forward: {name!r} is no argument of this symbol; it has: "
                                   f"{', '.join(self.arg_dict)}")
        self._take_over(given)
        for name, value in given.items():
            copy_value(value, self._bound[name], name)
        self._note_fed(given)

    def _take_over(self, names: Iterable[str]) -> None:
        """Arrays of its own for borrowed arguments; what runs is planned anew over them."""
        if not self._own(names):
            return
        self._model = self._as_model() or self._model
        for program in self._programs():
            program.restart("an input got an array of its own")
        self._full = self._lean = self._inference = None
        self._lean_switches = self._ready = self._chain = self._left = None

    # ---- making -----------------------------------------------------------------------------

    def _head_facts(self, i: int) -> tuple[tuple[int, ...], Any]:
        head = self._symbol.entries[i]
        return self._facts.shapes[head], self._facts.types[head]

    def _make_outputs(self) -> list[NDArray]:
        """An array for each head, zeros; a handle on the user's where the head is a variable."""
        given = {entry: self._bound[name] for name, entry in self._variables.items()}
        made: dict[Entry, NDArray] = {}
        for i, entry in enumerate(self._symbol.entries):
            if entry not in made:
                made[entry] = (given[entry].detach() if entry in given
                               else new_array(*self._head_facts(i), self._ctx, zero=True))
        return [made[entry] for entry in self._symbol.entries]
