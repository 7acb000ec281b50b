"""explain: measures an executor's program and describes it as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..._array.ndarray import NDArray
from ...native import kernel_name, lib
from ...op.context import OpContext
from ...passes import Optimized
from ...passes.pipeline import LOWERING
from ...precision import Precision, has_low_products
from ...storage.primitive import Arg, Kind, Primitive
from ...symbol.node import Entry, Node
from ..program import plan as planning
from ..program.program import Program
from ..program.step import BoundStep
from ..values import copy_value
from .explanation import Explanation, Reorder, Row
from .flops import flops
from .measure import Call, Measured, Part, measure
from .origins import Fate, Origins, trace_origins
from .peak import peak_gflops

_WEIGHTS = ("weight", "parameters")


@dataclass
class Subject:
    """What is explained: a program, the graph that it came from, and the functions that run it.

    `runs` runs forward and, if that is explained too, backward. `arrays` are all bound arrays,
    `head_grads` the gradients of outputs that backward reads.
    """

    heads: Sequence[Entry]
    optimized: Optimized | None
    program: Program
    is_train: bool
    runs: Sequence[Callable[[], None]]
    arrays: Sequence[NDArray]
    head_grads: Sequence[NDArray]
    context: OpContext
    precision: Precision

    @property
    def plan(self) -> planning.Plan:
        return self.program.plan


def explain(subject: Subject, repeat: int) -> Explanation:
    """Runs the parts several times and describes each step; bound arrays keep their contents.

    The caller holds the executor's lock.
    """
    for array in subject.head_grads:
        copy_value(np.ones(array.shape, array.dtype), array, "explain")
    # recordings are dropped below: count what their replays did first
    subject.program.count_replays()
    parts = _parts(subject)
    measured = _measure_unchanged(subject, parts, repeat)
    threads = lib.ndrt_threads_get()
    peak = peak_gflops(threads)
    plan = subject.plan
    origins = trace_origins(subject.heads,
                            () if subject.optimized is None else subject.optimized.stages,
                            {step.node.name for step in plan.steps[:plan.num_prologue]})
    total = sum(call.milliseconds for part in measured for call in part.calls)
    groups = [group for part in measured for group in _groups(part.calls)]
    rows = [_row(group, subject, origins, peak, total) for group in groups]
    return Explanation(rows, _edges(groups), _totals(subject, measured, rows, origins, threads),
                       {name: (o.fate.value, o.into) for name, o in origins.outcomes.items()})


def _parts(subject: Subject) -> list[Part]:
    program, plan = subject.program, subject.plan
    spans = [(plan.num_prologue, plan.num_forward), (plan.num_forward, len(plan.steps))]
    captures = [program.forward_capture(subject.is_train), program.backward_capture()]
    return [Part(plan.steps[begin:end], program.steps[begin:end], capture, run)
            for (begin, end), capture, run in zip(spans, captures, subject.runs, strict=False)]


def _measure_unchanged(subject: Subject, parts: Sequence[Part], repeat: int) -> list[Measured]:
    """Measures, and restores what the runs write: bound arrays and the random stream."""
    written = set(Program.written([step for part in parts for step in part.steps]))
    kept = [(array, array.copy()) for array in subject.arrays if array._chunk in written]
    random = subject.context.random
    state = random.get_state()
    # no context manager, as an interrupt may come before its exit has begun
    try:
        return measure(parts, subject.context, repeat)
    finally:
        try:
            random.set_state(state)
            _put_back(kept)
        except BaseException:
            # a failed allocation or an interrupt may come in the first attempt
            random.set_state(state)
            _put_back(kept)
            raise


def _put_back(kept: Sequence[tuple[NDArray, NDArray]]) -> None:
    for array, before in kept:
        copy_value(before, array, "explain")


# ---- rows ---------------------------------------------------------------------------------------


def _groups(calls: Sequence[Call]) -> list[list[Call]]:
    """Calls of one node in all tiles as one group, at the position of the first call."""
    found: dict[Node, list[Call]] = {}
    for call in calls:
        found.setdefault(call.planned.tile_of or call.planned.node, []).append(call)
    return list(found.values())


def _row(group: Sequence[Call], subject: Subject, origins: Origins, peak: float,
         total: float) -> Row:
    call, tiles = group[0], len(group)
    planned, step, told = call.planned, call.step, call.told
    wanted = [bool(req) for req in step.reqs]
    values = subject.plan.values
    ins = [values[i].shape for i in planned.ins]
    outs = [values[i].shape for i in planned.outs]
    prims = [issued for one in group for issued in one.issued if isinstance(issued, Primitive)]
    work = tiles * flops(step.op, step.params, ins, outs, wanted)
    is_float = all(out.dtype == "float32" for out in step.outs)
    milliseconds = sum(one.milliseconds for one in group)
    seconds = milliseconds / 1e3
    reorders = [Reorder(prim.src.layout(), prim.dst.layout(), prim.dst.nbytes)
                for prim in prims if prim.kind is Kind.REORDER]
    if tiles > 1:
        outs = [(tiles * shape[0], *shape[1:]) for shape in outs]
    return Row(
        node=step.name, operator=step.op.name,
        fused_from=(step.name,) if planned.is_backward else origins.of(step.name),
        is_backward=planned.is_backward, dtype=_dtype(step), kernel=_kernel(call),
        is_reference=any(prim.is_reference for prim in prims),
        layout_in=told.layouts_in[0] if told.layouts_in else "-",
        layout_out=",".join(dict.fromkeys(told.layouts_out)) or "-",
        layout_weights=_weights_layout(call, prims, subject), weights=_weights(call, subject),
        reorders=reorders, milliseconds=milliseconds,
        share_of_time=milliseconds / total if total else 0.0,
        flops=work, shapes=tuple(outs), tiles=tiles,
        refused=tuple((name, reason) for name, reason in told.refused),
        bytes=tiles * (sum(array.nbytes for array in step.ins)
                       + sum(array.nbytes for array, want in zip(step.outs, wanted, strict=True)
                             if want)),
        share_of_peak=work / seconds / 1e9 / peak if work and seconds and is_float else None)


def _dtype(step: BoundStep) -> str:
    """The dtype of the outputs, preceded by that of the first input if it differs."""
    made = ",".join(dict.fromkeys(out.dtype.name for out, req in
                                  zip(step.outs, step.reqs, strict=True) if req))
    read = step.ins[0].dtype.name if step.ins else made
    return made if read == made else f"{read} -> {made}"


def _precision(subject: Subject) -> str:
    """The precision of the program; if it is not the requested one, why."""
    asked = subject.precision
    if subject.optimized is None:
        return f"{Precision.STRICT.value}: the graph runs as it was bound" + (
            "" if asked in (Precision.STRICT, Precision.FLOAT32) else f", not in {asked.value}")
    if asked is Precision.MEDIUM and not has_low_products():
        return "medium, as float32: this CPU has no bfloat16 products"
    if asked is Precision.BFLOAT16:
        if all(stage.before == stage.after for stage in subject.optimized.stages
               if stage.name == LOWERING):
            return "bfloat16, as float32: no layer of this graph computes in it"
        if not has_low_products():
            return "bfloat16, through float32: this CPU has no bfloat16 products"
    return asked.value


def _kernel(call: Call) -> str:
    """oneDNN's names of what ran, or numpy with the reason."""
    if call.told.key.library == "numpy":
        return f"numpy: {call.told.reason}"
    names = []
    for issued in call.issued:
        if not isinstance(issued, Primitive):
            names.append(kernel_name(issued))
        elif issued.kind is not Kind.REORDER:
            names.append(issued.impl)
    return "+".join(dict.fromkeys(names)) or "memory only"


def _weights_layout(call: Call, prims: Sequence[Primitive], subject: Subject) -> str:
    """The layout in which the layer's primitive or kernel reads its weights."""
    at = _weights_at(call)
    if at is None:
        return "-"
    array, store = call.step.ins[at], subject.context.packed
    descs = [prim.desc_or_none(Arg.WEIGHTS) for prim in prims if prim.kind is not Kind.REORDER]
    # for a native kernel: the layout of the array, or of its packed copy
    descs.append(array._chunk.mkl_mem)
    if store is not None and not subject.is_train:
        descs += store.layouts(array)
    desc = next((desc for desc in descs if desc is not None), None)
    return "-" if desc is None else desc.layout(weights=True, groups=desc.ndims > array.ndim)


def _weights_at(call: Call) -> int | None:
    names = call.step.op.input_names(call.step.params)
    return next((i for i, name in enumerate(names) if name in _WEIGHTS), None)


def _weights(call: Call, subject: Subject) -> str:
    """How the weights came into that layout."""
    at = _weights_at(call)
    if at is None:
        return "-"
    if subject.plan.values[call.planned.ins[at]].kind is planning.Kind.CONSTANT:
        return "folded"
    array, packed = call.step.ins[at], subject.context.packed
    if array.is_special:
        return "in place"
    # training reads the weight itself, whatever inference has packed
    is_copied = not subject.is_train and packed is not None and bool(packed.layouts(array))
    return "private copy" if is_copied else "no"


def _edges(groups: Sequence[Sequence[Call]]) -> list[tuple[int, int]]:
    """Pairs (row, row that reads its result), each once."""
    made = {value: i for i, group in enumerate(groups)
            for call in group for value in call.planned.outs}
    found = {(made[value], i): None for i, group in enumerate(groups)
             for call in group for value in call.planned.ins if value in made}
    return list(found)


# ---- totals -------------------------------------------------------------------------------------


def _totals(subject: Subject, measured: Sequence[Measured], rows: Sequence[Row], origins: Origins,
            threads: int) -> Mapping[str, object]:
    peak = peak_gflops(threads)
    steps = sum(row.milliseconds for row in rows)
    run = sum(part.milliseconds for part in measured)
    work = sum(row.flops for row in rows)
    rate = work / run / 1e6 if run else 0.0
    plan = subject.plan
    return {
        "steps": sum(row.tiles for row in rows), "nodes": len(origins.outcomes),
        **{fate.value: origins.count(fate) for fate in Fate},
        "prologue": plan.num_prologue,
        "milliseconds": steps, "run_milliseconds": run,
        "overhead_milliseconds": sum(part.overhead for part in measured),
        "is_replayed": all(part.state == "captured" for part in measured),
        "capture": [part.state for part in measured],
        "threads": threads, "precision": _precision(subject), "peak_gflops": peak,
        "flops": work, "gflops": rate, "share_of_peak": rate / peak,
        "bytes": sum(row.bytes for row in rows),
        "reorders": sum(len(row.reorders) for row in rows),
        "reorder_bytes": sum(row.reorder_bytes for row in rows),
        "reference": sum(row.is_reference for row in rows),
        "numpy": sum(row.is_numpy for row in rows),
        "weights": dict(Counter(row.weights for row in rows if row.weights != "-")),
        "activation_bytes": plan.planned_bytes, "unshared_bytes": plan.naive_bytes,
        "folded_bytes": plan.constant_bytes,
    }
