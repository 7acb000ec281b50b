"""Imperative calls that were made before run as one native call; the second of a kind is recorded.

What a call does natively depends on the operator, its parameters, the shapes, dtypes and layouts of
its inputs, the mode and the number of threads. The second call of a kind runs in the ordinary way
on a stream that notes its steps; from then on native/replay/fast_call.c makes the outputs, acquires
the leases, binds the steps to the arrays and runs them. Numbers for kernels (`OpDef.numbers`) are
arguments of a recording, so that other numbers need no other recording. Special cases run in the
ordinary way: operators in NumPy, those that draw random numbers, views of arrays in special
layouts, memory that others hold, observers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import config
from .._array.ndarray import NDArray
from ..op.params import Params
from ..op.registry import OpDef, find
from .call import infer_outputs, parse
from .call_recording import Told, is_to_note, names_in, note, run, tagged
from .dependency import needs_of
from .invoke import invoke
from .tape import STATE, needs_record, record

# (operator, inputs, attributes, out): the ordinary way
Slow = Callable[[OpDef, Any, Any, Any], Any]
Out = NDArray | None

# flags of calls, as in native/replay/fast_call.c. NAMED: the last inputs were given by name, so
# that the recording is not used for a call that gives others by name
TRAINING, RECORDED, NAMED = 1, 2, 8


def call(op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], out: Any, slow: Slow,
         flags: int = 0) -> Any:
    """The outputs of an operator, as `slow` would return them, by the fastest way available."""
    table = STATE.calls
    if table.epoch != config.epoch:
        table.renew()
    if STATE.training:
        flags |= TRAINING
    if STATE.recording:
        if out is not None:
            return slow(op, inputs, attrs, out)
        if _is_recorded(inputs):
            return _call_recorded(op, inputs, attrs, slow, flags | RECORDED)
    made = run(table, op, flags, inputs, attrs, out)
    if made.__class__ is NDArray or made.__class__ is list:
        return made
    return _long_way(made, op, inputs, attrs, out, slow)


def call_named(name: str, inputs: tuple[Any, ...], attrs: dict[str, Any], out: Any = None) -> Any:
    """`call` of an operator by name."""
    return call(find(name), inputs, attrs, out, invoke)


def _is_recorded(inputs: tuple[Any, ...]) -> bool:
    for x in inputs:
        if x.__class__ is not NDArray:
            return False
    return needs_record(inputs)


def _call_recorded(op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], slow: Slow,
                   flags: int) -> Any:
    made = run(STATE.calls, op, flags, inputs, attrs, None)
    if made.__class__ is list:
        params, needs, hidden, names, *_ = made.pop(0)
        for key in names:
            # the numbers that differ; zeros may differ in their sign
            if params.__dict__[key] != attrs[key] or not attrs[key]:
                params = _renumbered(params, names, attrs)
                break
        record(op, params, inputs, made, None, needs, hidden)
        return made[0] if len(made) == 1 else made
    return _long_way(made, op, inputs, attrs, None, slow)


def _long_way(made: Any, op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], out: Any,
              slow: Slow) -> Any:
    if is_to_note(made, op):
        return _note(made, op, inputs, attrs, out, slow)
    return slow(op, inputs, attrs, out)


def _renumbered(params: Params, names: Sequence[str], attrs: Mapping[str, Any]) -> Params:
    """Parameters with the numbers of another call of the same kind."""
    made = object.__new__(params.__class__)
    own = made.__dict__
    own.update(params.__dict__)
    if "_hash" in own:
        del own["_hash"]
    for name in names:
        own[name] = float(attrs[name])
    return made


def _note(key: tuple[Any, ...], op: OpDef, inputs: tuple[NDArray, ...], attrs: Mapping[str, Any],
          out: Out, slow: Slow) -> Any:
    names = names_in(key, len(attrs))

    def tell(result: Any) -> Told | None:
        if "ctx" in attrs or not op.pure:
            return None
        params = parse(op, attrs, None)
        outs = [result] if isinstance(result, NDArray) else list(result)
        hidden = infer_outputs(op, params, inputs)[len(outs):] if inputs else []
        return Told(params, inputs, outs, (params, needs_of(op, params), hidden, names))
    return note(key, op, inputs, names,
                lambda: slow(op, inputs, tagged(op, attrs, names), out), tell)
