"""One operator call of a gradient; each output is made, written, added to or left out.

A call that was made before is repeated natively (native/replay/call_again.c), like imperative calls
(fast_call.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from .. import config
from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..context import Context
from ..op.params import Params
from ..op.registry import OpDef
from .call import infer_outputs, run_op
from .call_recording import Told, again, is_to_note, names_in, note, tagged
from .fast_call import TRAINING
from .tape import STATE, Held, Outline, array_of

# an input: an array, or the facts of one that the tape holds or whose values are not read
Given = NDArray | Held | Outline
# for an output: True to make it, None if it is not wanted, or the array to store it in
Wish = NDArray | Literal[True] | None


class Call(NamedTuple):
    """The constant part of a gradient's operator call. `attrs` are the parameters."""

    op: OpDef
    params: Params
    attrs: dict[str, Any]
    name: str


def run(call: Call, ins: tuple[Given, ...], wishes: tuple[Wish, ...], adds: int, ctx: Context,
        is_train: bool) -> list[NDArray | None]:
    """The outputs; bit i of `adds` is set if output i is added to its array.

    An array that does not fit the output is left alone, and a new one is made.
    """
    table = STATE.calls
    if table.epoch != config.epoch:
        table.renew()
    op = call.op
    made = again(table, op, TRAINING if is_train else 0, ins, call.attrs, wishes, adds, ctx)
    if made.__class__ is list:
        return made
    if is_to_note(made, op) and op.pure:
        return _note(made, call, ins, wishes, adds, ctx, is_train)
    return _run_long(call, call.params, arrays_of(ins), wishes, adds, ctx, is_train)


def arrays_of(ins: Sequence[Given]) -> list[NDArray]:
    """The inputs as arrays; those whose values are not read have no memory."""
    return [x if isinstance(x, NDArray) else array_of(x) if len(x) == 7 else new_array(*x)
            for x in ins]


def _note(key: tuple[Any, ...], call: Call, ins: Sequence[Given], wishes: Sequence[Wish],
          adds: int, ctx: Context, is_train: bool) -> list[NDArray | None]:
    op, params, attrs, _ = call
    names = names_in(key, len(attrs))
    given = arrays_of(ins)
    marked = _with_values(params, tagged(op, attrs, names)) if names else params
    read = [None if isinstance(x, tuple) and len(x) == 3 else array
            for x, array in zip(ins, given, strict=True)]
    targets = [y for y in wishes if isinstance(y, NDArray)]

    def tell(outs: Sequence[NDArray | None]) -> Told | None:
        if any(y is not wish for y, wish in zip(outs, wishes, strict=True)
               if isinstance(wish, NDArray)):
            return None
        return Told(params, read, outs)
    return note(key, op, [*[x for x in read if x is not None], *targets], names,
                lambda: _run_long(call, marked, given, wishes, adds, ctx, is_train), tell)


def _with_values(params: Params, values: Mapping[str, Any]) -> Params:
    """Parameters of the same class with other values, without parsing."""
    made = object.__new__(params.__class__)
    made.__dict__.update(values)
    return made


def _run_long(call: Call, params: Params, ins: Sequence[NDArray], wishes: Sequence[Wish],
              adds: int, ctx: Context, is_train: bool) -> list[NDArray | None]:
    outs: list[NDArray] = []
    reqs: list[Req] = []
    facts = infer_outputs(call.op, params, ins, call.name)
    for i, (wish, (shape, dtype)) in enumerate(zip(wishes, facts, strict=True)):
        if isinstance(wish, NDArray) and wish._shape == shape and wish._dtype == dtype:
            outs.append(wish)
            reqs.append(Req.kAddTo if adds >> i & 1 else Req.kWriteTo)
            continue
        outs.append(new_array(shape, dtype, ctx))
        reqs.append(Req.kNullOp if wish is None else Req.kWriteTo)
    run_op(call.op, params, ins, outs, reqs, call.name, is_train)
    return [y if req else None for y, req in zip(outs, reqs, strict=True)]
