"""dispatch: the one place where an operator is run, natively or in NumPy.

Observers (profiler, tracing, tests) subscribe here; none of them is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from .. import config
from .._array.copy import copy_into
from .._array.ndarray import NDArray, new_array
from .._array.output import Output
from .._array.req import Req
from ..errors import NdrtError, Unsupported, name_call, where
from ..storage.chunk import Chunk
from ..storage.lease import Leases
from .context import INFERENCE, Mode, OpContext
from .fallback import REASONS, fallback_compute
from .kernel_key import KernelKey, expected_kernel, kernel_key
from .params import Params
from .registry import OpDef
from .validate import Validation

if TYPE_CHECKING:
    from .select import Refusal


class Dispatched(NamedTuple):
    """What observers are told about one operator call."""

    op: OpDef
    params: Params
    node: str | None
    key: KernelKey
    reason: str | None  # why NumPy computed it, if it did
    impls: tuple[str, ...]  # primitives (oneDNN's names) and kernels that ran; no reorders
    layouts_in: tuple[str, ...]
    layouts_out: tuple[str, ...]
    reorders: int
    seconds: float
    refused: tuple[Refusal, ...] = ()  # implementations that were not taken, and why


Observer = Callable[[Dispatched], None]
_observers: list[Observer] = []
# observers that must see each call, so that no run may be replayed
_strict: list[Observer] = []


def observe(observer: Observer, replays: bool = False) -> Callable[[], None]:
    """Calls `observer` after each dispatch; returns the function that unsubscribes it.

    Meanwhile no executor replays a recorded run, so that no call is missed, unless `replays`.
    """
    lists = (_observers,) if replays else (_observers, _strict)
    for observers in lists:
        observers.append(observer)
    config.note_change()

    def stop() -> None:
        for observers in lists:
            if observer in observers:
                observers.remove(observer)
        config.note_change()
    return stop


# called before each call with its arrays; returns a function to call after it, or None
Check = Callable[[OpDef, Params, str | None, Sequence[NDArray], Sequence[NDArray], Sequence[Req]],
                 Callable[[], None] | None]
_checks: list[Check] = []


def check_calls(check: Check) -> Callable[[], None]:
    """Lets `check` see the arrays of each call, under its leases; returns the function that ends
    it.

    Meanwhile executors run the graph as it was bound, node by node.
    """
    _checks.append(check)
    unobserve = observe(_ignore)

    def stop() -> None:
        if check in _checks:
            _checks.remove(check)
            unobserve()
    return stop


def _ignore(told: Dispatched) -> None:
    pass


def is_checked() -> bool:
    """Some check sees the arrays of each call."""
    return bool(_checks)


def is_observed() -> bool:
    """Some observer must see each call."""
    return bool(_strict)


def is_watched() -> bool:
    """Calls are observed, printed or compared: all of them must go through `dispatch`."""
    return bool(_observers) or config.NDRT_TRACE or config.NDRT_VALIDATE


def dispatch(op: OpDef, params: Params, ctx: OpContext, ins: Sequence[NDArray],
             outs: Sequence[NDArray], reqs: Sequence[Req], node: str | None = None,
             mode: Mode = INFERENCE) -> None:
    """Runs one operator on `ins` (aux states last), and stores into `outs` as `reqs` say.

    Shapes and dtypes must be right already. An output that shares memory with an input in a way
    that the operator does not support is computed in a temporary and copied, so that the result is
    the same as with separate memory.
    """
    mutated = op.mutated(params)
    if not mutated and all(req == Req.kNullOp for req in reqs):
        return
    in_list, req_list = list(ins), list(reqs)
    if ctx.own_leases:
        written = [out._chunk for out, req in zip(outs, req_list, strict=True) if req]
        written += [in_list[i]._chunk for i in mutated]
        with Leases([array._chunk for array in in_list], written):
            _dispatch_leased(op, params, ctx, in_list, list(outs), req_list, node, mutated, mode)
    else:
        _dispatch_leased(op, params, ctx, in_list, list(outs), req_list, node, mutated, mode)


def dispatch_planned(op: OpDef, params: Params, ctx: OpContext, ins: list[NDArray],
                     outs: list[NDArray], reqs: list[Req], node: str | None,
                     mode: Mode = INFERENCE) -> None:
    """`dispatch` for a caller that has planned all memory sharing and holds all leases."""
    stale: list[Chunk] = []
    busy = False
    for out, req in zip(outs, reqs, strict=True):
        if req == Req.kNullOp:
            continue
        busy = True
        if req == Req.kWriteTo and out._chunk.mkl_mem is not None and not out.is_view:
            stale.append(out._chunk)
    mutated = op.mutated(params)
    if not busy and not mutated:
        return
    call = _Call(op, params, ins, outs, reqs, node, mutated, stale, mode)
    if _observers or config.NDRT_TRACE:
        _execute_observed(call, ctx)
    else:
        _execute(call, ctx)


def _dispatch_leased(op: OpDef, params: Params, ctx: OpContext, ins: list[NDArray],
                     outs: list[NDArray], reqs: list[Req], node: str | None,
                     mutated: tuple[int, ...], mode: Mode) -> None:
    aside, stale = _prepare_outputs(op, params, ins, outs, reqs)
    call = _Call(op, params, ins, outs, reqs, node, mutated, stale, mode)
    if not _observers and not config.NDRT_TRACE:
        _execute(call, ctx)
    else:
        _execute_observed(call, ctx)
    for target, source, req in aside:
        copy_into(source, target, ctx.stream, add=req == Req.kAddTo)


def _prepare_outputs(op: OpDef, params: Params, ins: list[NDArray], outs: list[NDArray],
                     reqs: list[Req],
                     ) -> tuple[list[tuple[NDArray, NDArray, Req]], list[Chunk]]:
    """Resolves memory sharing between inputs and outputs.

    Returns the outputs to compute in temporaries as (target, temporary, request), and the chunks
    whose layout belongs to an earlier life.
    """
    aside: list[tuple[NDArray, NDArray, Req]] = []
    stale: list[Chunk] = []
    in_chunks = {array._chunk for array in ins}
    for i, out in enumerate(outs):
        req = reqs[i]
        if req == Req.kNullOp:
            continue
        shared = out._chunk in in_chunks or any(
            other is not out and other._chunk is out._chunk and reqs[j] for j, other
            in enumerate(outs) if j < i)
        # only imported memory, which is pinned, can belong to two Chunks
        twice = out._chunk.native.pins and any(
            overlap(out, other) for other in (*ins, *outs[:i]))
        if twice or (shared and not _may_share(op, params, i, ins, out, reqs, outs)):
            temporary = new_array(out.shape, out.dtype, out.ctx)
            aside.append((out, temporary, req))
            outs[i] = temporary
            reqs[i] = Req.kWriteTo
        elif shared:
            reqs[i] = Req.kWriteInplace if req == Req.kWriteTo else req
        elif req == Req.kWriteTo and out._reuse:
            stale.append(out._chunk)
    return aside, stale


def overlap(a: NDArray, b: NDArray) -> bool:
    """Arrays of two Chunks overlap in memory, because it was imported twice or exported and back.
    """
    if a._chunk is b._chunk or not b._chunk.native.pins:
        return False
    begin = a._chunk.handle.address + a._byte_offset
    other = b._chunk.handle.address + b._byte_offset
    return begin < other + b.nbytes and other < begin + a.nbytes


def _may_share(op: OpDef, params: Params, i: int, ins: list[NDArray], out: NDArray,
               reqs: list[Req], outs: list[NDArray]) -> bool:
    """Output i has exactly the memory of the input that it may overwrite, and shares with no other.
    """
    if reqs[i] == Req.kAddTo:
        return False
    partner = op.inplace_pairs(params).get(i)
    if partner is None or not _same_place(ins[partner], out):
        return False
    if any(j != i and reqs[j] and other._chunk is out._chunk for j, other in enumerate(outs)):
        return False
    return all(_same_place(array, out) for array in ins if array._chunk is out._chunk)


def _same_place(a: NDArray, b: NDArray) -> bool:
    return (a._chunk is b._chunk and a._byte_offset == b._byte_offset and a.nbytes == b.nbytes
            and a.dtype == b.dtype)


class _Call(NamedTuple):
    """One operator call after its memory sharing was resolved."""

    op: OpDef
    params: Params
    ins: list[NDArray]
    outs: list[NDArray]
    reqs: list[Req]
    node: str | None
    mutated: tuple[int, ...]
    stale: list[Chunk]  # chunks of outputs whose layout belongs to an earlier life
    mode: Mode


def _execute(call: _Call, ctx: OpContext) -> tuple[KernelKey, str | None]:
    """Runs a call; errors name its operator and node."""
    try:
        return _run(call, ctx)
    except NdrtError as error:
        name_call(error, *call.params.told(call.op.name, call.node))
        raise


def _run(call: _Call, ctx: OpContext) -> tuple[KernelKey, str | None]:
    op, params, ins, outs, reqs, node, mutated, stale, mode = call
    ctx.begin(node, ins, mode)
    key, reason, wide = expected_kernel(op, params, ctx, ins, outs)
    if reason is None and op.compute_ex is not None:
        stream = ctx.stream
        validation = Validation(op, params, ctx, ins, outs, reqs) if config.NDRT_VALIDATE else None
        written = [out._chunk for out, req in zip(outs, reqs, strict=True) if req]
        for position in mutated:
            written.append(ins[position]._chunk)
        try:
            stream.hold(written, bool(mutated) or Req.kAddTo in reqs)
            for chunk in stale:
                stream.touch(chunk)
                chunk.invalidate_data()
            if wide is None:
                op.compute_ex(ctx, params, ins,
                              [Output(a, r) for a, r in zip(outs, reqs, strict=True)])
            else:
                wide.compute(outs, reqs, mutated)
            stream.settle()
            if validation is not None:
                validation.compare()
            return key, None
        except Unsupported as refusal:
            stream.drop()
            reason = str(refusal)
            key = kernel_key(ins[0].dtype if ins else outs[0].dtype, False)
        except BaseException:
            stream.drop()
            raise
    REASONS.add(op.name, reason or "")
    ctx.stream.read_in_python()
    if op.pure and ctx.stream.notes_python and not mutated and Req.kAddTo not in reqs:
        fallback_compute(op, params, ctx, key, ins, outs, reqs, reason)
        ctx.stream.settle()
        return key, reason
    ctx.fallbacks += 1
    fallback_compute(op, params, ctx, key, ins, outs, reqs)
    return key, reason


def _execute_observed(call: _Call, ctx: OpContext) -> None:
    op, params, ins, outs, node = call.op, call.params, call.ins, call.outs, call.node
    layouts_in = tuple(_layout(array) for array in ins)
    reorders = ctx.stream.counters.reorders
    checks = [check(op, params, node, ins, outs, call.reqs) for check in tuple(_checks)]
    start = perf_counter()
    key, reason = _execute(call, ctx)
    seconds = perf_counter() - start
    for look_again in checks:
        if look_again is not None:
            look_again()
    told = Dispatched(op, params, node, key, reason, tuple(ctx.stream.impls), layouts_in,
                      tuple(_layout(array) for array in outs),
                      ctx.stream.counters.reorders - reorders, seconds, tuple(ctx.refused))
    for observer in tuple(_observers):
        observer(told)
    if config.NDRT_TRACE:
        print(trace_line(told), file=sys.stderr)


def trace_line(told: Dispatched) -> str:
    """One call as a line: operator, kernel, layouts, reorders, time, refused implementations."""
    kernel = "+".join(told.impls) if told.reason is None else f"numpy ({told.reason})"
    return (f"{where(told.op.name, told.node)}: {kernel}; {', '.join(told.layouts_in)} -> "
            f"{', '.join(told.layouts_out)}; {told.reorders} reorder(s); "
            f"{told.seconds * 1e6:.0f} us"
            + "".join(f"; not {name}: {reason}" for name, reason in told.refused))


def _layout(array: NDArray) -> str:
    desc = array._chunk.mkl_mem
    return "default" if desc is None else desc.layout()
