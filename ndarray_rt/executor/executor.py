"""Executor: a symbol bound to arrays. Plans nothing itself and knows no operator."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from .. import config
from .._array.ndarray import NDArray
from .._array.req import Req
from ..capture.capture import NOTHING_RAN
from ..capture.replay import DONE, UNFINISHED
from ..context import Context
from ..errors import NameMismatch, not_picklable
from ..native import lib
from ..op.context import OpContext
from ..op.kept_runs import KeptRuns
from ..op.packing import PackedStore
from ..op.prim_cache import CACHE
from ..op.random_state import RandomState, random_state
from ..op.registry import Shape
from ..precision import Precision, find_precision
from ..storage.account import Account, SessionBytes
from ..storage.stream import BUDGET, Stream
from ..storage.tmp_mem import TmpMemMgr
from ..symbol.node import Entry
from .as_text import as_html, as_text
from .bound import Bound
from .checks import check_callback, check_names, check_repeat, find_params
from .memory.workspace import Workspace, new_number
from .monitors import Monitor, watching
from .program.inference_program import InferenceProgram
from .program.plan import Plan
from .program.program import Watch
from .program.training_program import TrainingProgram
from .runs import Runs
from .session import Session
from .sharing import Sharing
from .training.trainer import Trainer
from .training.update import Update
from .tuning.table import TUNING_RUNS
from .values import copy_value

if TYPE_CHECKING:
    from ..op.nonfinite import NonFinite
    from ..symbol.symbol import Symbol
    from .calibration.collectors import Logger
    from .explain import Explanation
    from .precision_check import OutputError
    from .tuning.search import Tuned

_replay = lib.ndrt_replay_run


class Executor:
    """Runs a bound symbol forward and backward. Made by `Symbol.bind` and `Symbol.simple_bind`.

    The bound arrays belong to the user: the next run sees changes to them. The outputs are the
    executor's memory, the same arrays at each call. Runs of one executor are serialised.

    `forward(is_train=False)` runs the graph that the passes produce (docs/executor.md), everything
    else the graph as it was bound. Each program is made on first use.
    """

    __reduce_ex__ = not_picklable(
        "an Executor", "save symbol.tojson() and its arrays (nd.save) and bind them again, or use "
        "clone() in this process")

    def __init__(self, symbol: Symbol, ctx: Context, args: dict[str, NDArray],
                 grads: dict[str, NDArray], requests: dict[str, Req], aux: dict[str, NDArray],
                 share: Sharing | None = None, trained: Collection[str] = (),
                 random: RandomState | None = None, tune: bool = False,
                 shapes: Mapping[Entry, Shape | None] | None = None,
                 precision: str | Precision | None = None) -> None:
        """`share`: what is taken over from other executors. `trained`: arguments that something
        else trains, so that inference does not convert them in place. `random`: the source of
        random numbers, by default the process's stream. With `tune` the first run for inference
        tunes. `shapes`: those of the symbol's entries if already inferred for these arrays.
        `precision`: a `ndarray_rt.precision.Precision` or its name."""
        share = share or Sharing()
        self._session = share.session
        self._bound = bound = Bound(symbol, ctx.check(), args, grads, requests, aux, shapes,
                                    share.facts, share.heads)
        self.arg_dict = bound.args
        # None without a request; Any, so that who has asked for a gradient need not ask again
        self.grad_dict: dict[str, NDArray | Any] = bound.grads
        self.aux_dict = bound.aux
        self._outputs = bound.outputs
        self._training = TrainingProgram(bound)
        work = share.workspace
        work.has_backward |= bool(bound.requests)
        number = new_number()
        account = Account(f"executor {number}: {', '.join(symbol.list_outputs())}")
        with account:
            self._training.make_head_grads()
            bound.make_outputs()
        context = OpContext(Stream(TmpMemMgr(account=account)), session=share.session.key,
                            random=random or random_state(ctx),
                            shapes=tuple(a.shape for a in bound.variables.values()))
        context.keep_plain = frozenset(
            args[name]._chunk.native.id for name in (*bound.requests, *trained))
        if bound.requests:
            context.kept_runs = KeptRuns()
        context.packed = PackedStore(share.packed)
        self._inference = InferenceProgram(bound, context, work, share.model,
                                           find_precision(precision, "bind"))
        self._runs = Runs(bound, context, account, work, number, self._inference,
                          self._training)
        self._trainer = Trainer(bound, self._runs, share.session)
        # the next run for inference tunes first
        self._is_to_tune = tune

    def _sharing(self, memory: bool = True) -> Sharing:
        """What executors of the same symbol and parameters can share. With `memory` also the memory
        of intermediate values, unless a backward needs it."""
        work = self._runs.work
        return Sharing(self._session, work if memory and not work.has_backward else Workspace(),
                       self._bound.facts, self._runs.context.packed, self._inference.as_model(),
                       self._bound.heads if self._bound.is_replaced else None)

    # ---- what is bound ----------------------------------------------------------------------

    def __repr__(self) -> str:
        return as_text(self._bound)

    def _repr_html_(self) -> str:
        """A table of what is bound, for notebooks."""
        return as_html(self._bound)

    @property
    def symbol(self) -> Symbol:
        """The symbol that was bound."""
        return self._bound.symbol

    @property
    def context(self) -> Context:
        """The device the outputs are on."""
        return self._bound.ctx

    @property
    def requests(self) -> dict[str, Req]:
        """The request of each argument that has a gradient."""
        return dict(self._bound.requests)

    @property
    def precision(self) -> Precision:
        """The precision of inference."""
        return self._inference.precision

    @property
    def arg_arrays(self) -> list[NDArray]:
        """Arguments in the order of `list_arguments`."""
        return [self.arg_dict[name] for name in self._bound.symbol.list_arguments()]

    @property
    def grad_arrays(self) -> list[NDArray | Any]:
        """Gradients in the order of `list_arguments`; None where there is none."""
        return [self.grad_dict.get(name) for name in self._bound.symbol.list_arguments()]

    @property
    def aux_arrays(self) -> list[NDArray]:
        """Aux states in the order of `list_auxiliary_states`."""
        return [self.aux_dict[name] for name in self._bound.symbol.list_auxiliary_states()]

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs' memory, which the next run overwrites; the same arrays at each call."""
        return self._outputs[:]

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs by name; NameMismatch when two have one name."""
        names = self._bound.symbol.list_outputs()
        if len(set(names)) != len(names):
            raise NameMismatch(f"two outputs have one name: {names}")
        return dict(zip(names, self.outputs, strict=True))

    @property
    def memory_stats(self) -> SessionBytes:
        """Bytes of this executor's own: arena, scratch, packed weights; `live` now, `peak` ever.

        The bound arrays are not among them.
        """
        return self._runs.account.read()

    @property
    def cache_stats(self) -> dict[str, int]:
        """Hits, misses, evictions, groups and entries of this executor's session."""
        return CACHE.stats(self._session.key)

    @property
    def plan(self) -> Plan:
        """The steps and the memory plan of the graph as it was bound, printable."""
        return self._training.graph().plan

    @property
    def inference_plan(self) -> Plan:
        """The steps and the memory plan that `forward(is_train=False)` runs, printable."""
        with self._runs.work.lock, self._runs.account:
            return self._runs.program_for(False).plan

    @property
    def capture_state(self) -> str:
        """'captured' when inference runs are replayed from a recording, else why they are not."""
        runs = self._runs
        with runs.work.lock:
            program = self._inference.program or self._training.program
            return (NOTHING_RAN if program is None
                    else program.inference_state(runs.monitor is not None))

    @property
    def capture_states(self) -> dict[str, str]:
        """'captured', or why not, for each part of the graph that ran: forward or backward, in
        training or inference."""
        runs = self._runs
        with runs.work.lock:
            return {name: reason for program in reversed(runs.programs())
                    for name, reason in program.capture_states(runs.monitor is not None).items()}

    @property
    def counters(self) -> dict[str, int]:
        """What the runs did so far: primitives, kernels, callbacks, reorders."""
        runs = self._runs
        with runs.work.lock:
            for program in runs.programs():
                program.count_replays()
            return runs.stream.counters.as_dict()

    @property
    def borrowed(self) -> frozenset[str]:
        """Arguments whose arrays are shared with other executors, until this one is given
        values."""
        return frozenset(self._bound.borrowed)

    # ---- running ----------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Computes the outputs; `kwargs` are copied into the arguments of those names first."""
        runs = self._runs
        work = runs.work
        lock = work.lock
        if lock._is_owned():
            work.refuse_own_run()
        with lock:
            if kwargs and not self._bound.copy_plain(kwargs):
                with runs.account:
                    runs.copy_inputs(kwargs)
            ready = runs.ready
            if ready is not None and not is_train and ready.epoch == config.epoch:
                # fast path: only this and native code run until the outputs are there
                runs.ran = None
                work.last = runs.number
                try:
                    result = _replay(ready.native, BUDGET, 0)
                    if result == UNFINISHED:
                        runs.finish(ready)
                        result = DONE
                except BaseException:
                    ready.leases.give_back()
                    raise
                if result == DONE:
                    runs.ran = False
                    return self._outputs[:]
            elif is_train and self._trainer.replay_forward():
                return self._outputs[:]
            with runs.account:
                if self._is_to_tune and not is_train:
                    self._tune(TUNING_RUNS)
                runs.forward(bool(is_train))
        return self._outputs[:]

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Computes the gradients of the last `forward` into the bound arrays.

        `out_grads`: one array, or a list with one per output; loss operators need none.
        MXNetError after a forward that did not finish, and for a second backward if the memory plan
        lets backward overwrite what forward left. An inference run keeps nothing for backward, so
        after one, and without any forward, backward first runs the graph as it was bound with the
        present inputs.
        """
        self._trainer.backward(out_grads, bool(is_train))

    def bind_update(self, op_name: str, states: Mapping[str, Any] | None = None, *,
                    names: Iterable[str] | None = None,
                    lr_mult: Mapping[str, float | NDArray] | None = None,
                    wd_mult: Mapping[str, float | NDArray] | None = None, **numbers: Any) -> Update:
        """A step of an optimizer for the arguments `names`, or for all that have a gradient.

        `op_name` is an update operator such as "adam_update", `numbers` are its parameters.
        `states` maps an argument to the operator's state arrays, in its order; zeros by default.
        `lr_mult` and `wd_mult` are factors by argument. MXNetError if no gradients are computed,
        NameMismatch for an argument without one, ShapeError and TypeMismatch for arrays that do not
        fit, TypeMismatch for names that are no list, states that are no dict of lists, and factors
        that are not numbers, ParameterError for a wrong parameter.
        """
        return self._trainer.bind_update(op_name, states, names, lr_mult, wd_mult, numbers)

    def train_step(self, update: Update | None = None, *, out_grads: Any = None,
                   **inputs: Any) -> list[NDArray]:
        """forward(is_train=True), backward and `update` in one call; gives the outputs.

        `inputs` are copied into the arguments of those names first; `out_grads` as for backward.
        Once recorded, the three are three native calls. MXNetError without gradients, TypeMismatch
        for an update that is not from `bind_update`, ParameterError for one of another executor,
        unless both are bound to the same weights and gradients.
        """
        self._trainer.step(update, out_grads, inputs)
        return self._outputs[:]

    # ---- numbers of 8 bits ------------------------------------------------------------------

    def calibrate(self, batches: Iterable[Any] | None, *, calib_mode: str = "naive",
                  quantized_dtype: str = "auto", quantize_mode: str = "smart",
                  excluded_sym_names: list[str] | None = None,
                  excluded_op_names: list[str] | None = None,
                  quantize_granularity: str = "channel-wise", fused: bool = True,
                  data_names: Iterable[str] | None = None, logger: Logger | None = None) -> None:
        """Runs the symbol on batches, records ranges, and computes with 8-bit numbers from then on.

        `batches`: an iterable of dicts by argument, arrays, or lists of arrays, or a DataIter, all
        of the bound shapes. `data_names`: which arguments arrays without names are, by default
        those given to `forward` so far, else "data" or the only one. All other arguments are
        parameters: of these, layers read 8-bit copies, made anew when one is written to. `fused`:
        as `contrib.quantization.quantize_model_mkldnn`; all else as `quantize_model` there
        (docs/quantization.md). With `calib_mode="dynamic"` and None for batches dense layers round
        their data in the range of each row when they come, and all else stays on floats. What
        there was for float32 is dropped: primitives, packed weights.

        The bound inputs hold the last batch then; `reshape` and `clone` give executors on 8-bit
        numbers. If it raises, the executor computes what it did before: MXNetError if there are
        gradients, ParameterError for options that can not be meant, no batch, values that are not
        finite, TypeMismatch for what are no batches, NameMismatch for what is no argument,
        ShapeError.
        """
        from .calibration.calibrate import calibrate
        from .calibration.options import Options
        calibrate(self, batches, data_names, Options.checked(
            calib_mode, quantized_dtype, quantize_mode, excluded_sym_names, excluded_op_names,
            quantize_granularity, fused), logger)

    @property
    def is_quantized(self) -> bool:
        """Calibrated: it computes with 8-bit numbers."""
        return self._bound.is_replaced

    def _compute(self, heads: Sequence[Entry]) -> None:
        """Computes this graph in place of the symbol, and drops programs, primitives and packed
        weights of another one; the caller holds the lock."""
        session = Session()
        self._runs.compute(heads, session.key)
        self._session, self._trainer = session, Trainer(self._bound, self._runs, session)

    # ---- inspecting runs --------------------------------------------------------------------

    def tune(self, repeat: int = TUNING_RUNS) -> Tuned:
        """Chooses layouts and kernels of inference by measuring them; returns what it found.

        Runs inference on the bound arrays, `repeat` times and a few times more in each layout,
        again in the plan that is cheapest by the measured times of its nodes, then with native
        kernels and with oneDNN's where layers have both. The plan with the shortest run is used by
        this executor and by all bound later to the same graph, shapes and number of threads. Bound
        arrays and outputs keep their contents; backward needs another forward after this.
        ParameterError unless `repeat` is an int from 1 up.
        """
        check_repeat("tune", repeat)
        runs = self._runs
        runs.work.refuse_own_run()
        with runs.work.lock, runs.account:
            return self._tune(repeat)

    def _tune(self, repeat: int) -> Tuned:
        self._is_to_tune = False
        return self._runs.tune(repeat)

    @overload
    def explain(self, pass_name: None = None, *, is_train: bool = False,
                repeat: int = 10) -> Explanation: ...
    @overload
    def explain(self, pass_name: str, *, is_train: bool = False, repeat: int = 10) -> str: ...

    def explain(self, pass_name: str | None = None, *, is_train: bool = False,
                repeat: int = 10) -> Explanation | str:
        """What each step of a run does, with kernels, layouts, reorders and measured times.

        Runs `forward(is_train)`, and backward if gradients are computed, `repeat` times and a few
        times more on the bound arrays. These and the random stream keep their state; outputs are
        those of the last run, and backward needs another forward after this. With the name of a
        pass: the graph for inference before and after that pass, as text.
        """
        from .explain import Subject, explain, explain_pass
        runs, bound = self._runs, self._bound
        runs.work.refuse_own_run()
        with runs.work.lock, runs.account:
            program = runs.program_for(is_train and pass_name is None)
            used = self._inference.graph if program is self._inference.program else None
            optimized = None if used is None else used.optimized
            if pass_name is not None:
                return explain_pass(pass_name, bound.heads, bound.variables, optimized)
            runs.ran = None
            parts = [lambda: runs.run_forward(is_train)]
            if is_train and bound.requests:
                parts.append(lambda: self._trainer.run_backward(True))
            return explain(Subject(
                bound.heads, optimized, program, is_train, parts,
                [*bound.variables.values(), *bound.gradients()],
                [*self._training.head_grads.values()], runs.context, self.precision),
                check_repeat("explain", repeat))

    def check_precision(self) -> list[OutputError]:
        """Runs inference on the bound arrays in this executor's precision and in strict float32,
        and returns the difference of each output."""
        from .precision_check import compare_with_strict
        self._runs.work.refuse_own_run()
        return compare_with_strict(self)

    def find_nonfinite(self, is_train: bool = False, out_grads: Any = None, infinite: bool = True,
                       **kwargs: Any) -> NonFinite | None:
        """The first node that produces NaN or infinity from finite inputs, or None.

        Runs forward, with `is_train` backward too, on the bound arrays; `kwargs` are copied into
        the arguments of those names first, as in forward. Head gradients default to ones. The graph
        runs as it was bound, node by node. Gradients and aux states have their former contents
        afterwards. With `infinite=False` only NaN counts.
        """
        from .find_nonfinite import find_nonfinite
        return find_nonfinite(self, is_train, out_grads, infinite, kwargs)

    # ---- inputs and parameters --------------------------------------------------------------

    def copy_params_from(self, arg_params: Mapping[str, NDArray],
                         aux_params: Mapping[str, NDArray] | None = None,
                         allow_extra_params: bool = False) -> None:
        """Copies parameters into the bound arrays, cast to their dtypes.

        NameMismatch for a name that is not bound, unless extra ones are allowed.
        """
        self._runs.work.refuse_own_run()
        for name, value, array in [
                *find_params(arg_params, self.arg_dict, "argument", allow_extra_params),
                *find_params(aux_params, self.aux_dict, "auxiliary state", allow_extra_params)]:
            with self._runs.work.lock:
                copy_value(value, array, name)

    def set_monitor_callback(self, callback: Monitor | None, monitor_all: bool = False) -> None:
        """Calls `callback(name, array)` for each output when it is computed; with `monitor_all` for
        inputs too."""
        check_callback("set_monitor_callback", callback)
        self.set_watch(None if callback is None else watching(callback, monitor_all))

    def set_watch(self, watch: Watch | None) -> None:
        """Calls `watch` before and after each step; runs are not recorded then."""
        with self._runs.work.lock:
            self._runs.set_watch(watch)

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False,
                **kwargs: Any) -> Executor:
        """An executor for other input shapes that shares this one's memory.

        If no gradients are computed they also share the memory of intermediate values, and then
        take turns, whatever threads call them. Outputs are never shared. Smaller arrays are views
        of the old ones; larger ones are new and need `allow_up_sizing`. Arguments that are not
        named change shape only with `partial_shaping`.
        """
        from .bind import reshape_executor
        with self._runs.work.lock, self._runs.account:
            self._runs.take_over(kwargs)
        return reshape_executor(self, partial_shaping, allow_up_sizing, kwargs)

    def clone(self, inputs: Iterable[str] | None = None) -> Executor:
        """An executor on the same parameters, with inputs, outputs and memory of its own.

        For threads that compute at the same time: they share the weights, what is folded and packed
        from them, and the primitives. `inputs` are the arguments for which it gets its own arrays,
        with the present contents; None: those given to `forward` by name so far. All other arrays
        are shared until its own `forward` or `reshape` is given a value. Only for inference:
        MXNetError if gradients are computed, NameMismatch for a name that is not an argument,
        TypeMismatch for anything but a list of names.
        """
        from .pool import clone_executor
        names = None if inputs is None else check_names("clone: inputs", inputs)
        with self._runs.work.lock, self._runs.account:
            self._runs.program_for(False)
        return clone_executor(self, self._bound.fed if names is None else names)

    def debug_str(self) -> str:
        """The plan as text, and its memory."""
        plan = self.plan
        return f"{plan}\nTotal {plan.planned_bytes >> 20} MB allocated"

    def get_optimized_symbol(self) -> Symbol:
        """The symbol that inference runs, after all passes, with fused operators among its
        nodes."""
        runs, graph_of = self._runs, self._inference
        with runs.work.lock, runs.account:
            program = runs.program_for(False)
            heads = (self._bound.heads
                     if graph_of.graph is None or program is not graph_of.program
                     else graph_of.graph.optimized.heads)
            return type(self.symbol)(heads)
