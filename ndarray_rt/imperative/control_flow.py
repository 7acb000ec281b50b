"""nd.contrib.foreach, while_loop and cond: plain loops and branches, recorded step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.create import zeros
from .._array.ndarray import NDArray
from ..errors import ParameterError, ShapeError, TypeMismatch, shown
from ..symbol.nested import check_functions, flatten, limit_of, pair_of, regroup
from .invoke import invoke


def joined(steps: Sequence[NDArray], what: str, length: int | None = None) -> NDArray:
    """Stacks arrays of one shape along a new axis 0; with `length`, padded by zeros at the end."""
    shapes = {x.shape for x in steps}
    if len(shapes) > 1:
        raise ShapeError(f"{what}: outputs of different steps have the shapes "
                         f"{', '.join(map(str, sorted(shapes)))}, expected one")
    parts = [invoke("expand_dims", (x,), {"axis": 0}) for x in steps]
    if length is not None and length > len(steps):
        first = steps[0]
        parts.append(zeros((length - len(steps), *first.shape), first.ctx, first.dtype))
    made: NDArray = invoke("Concat", parts, {"dim": 0, "num_args": len(parts)})
    return made


def step_of(data: NDArray, i: int) -> NDArray:
    """Row `i` of axis 0."""
    made: NDArray = data[i]
    return made


def is_true(value: NDArray, what: str) -> bool:
    """The truth of an array of one element, or of a number."""
    if isinstance(value, (bool, int, float, np.generic)):
        return bool(value)
    if not isinstance(value, (NDArray, np.ndarray)):
        raise TypeMismatch(f"{what} got {shown(value)}, expected an NDArray of one element")
    if value.size != 1:
        raise ShapeError(f"{what} has shape {value.shape}, expected one element")
    return bool(value.reshape(-1)[0] if isinstance(value, np.ndarray) else value.asscalar())


def foreach(body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any,
            ) -> tuple[Any, Any]:
    """A loop over axis 0 of `data`.

    `body(step, states)` gives (outputs, new states). Returns the outputs of all steps, joined along
    a new axis 0, and the last states. `data`, states and outputs are arrays or nested lists.
    """
    check_functions("foreach", body=body)
    flat, form = flatten(data, NDArray, "foreach: data")
    if any(not x.shape for x in flat):
        raise ShapeError("foreach: the data hold an array of rank 0, expected an axis 0 to loop "
                         "over")
    _, state_form = flatten(init_states, NDArray, "foreach: init_states")
    lengths = {len(x) for x in flat}
    if len(lengths) != 1:
        raise ShapeError(f"foreach: the data have the lengths {sorted(lengths)}, expected one")
    states = init_states
    made: list[list[NDArray]] = []
    out_form: Any = []
    for i in range(lengths.pop()):
        outs, states = pair_of(body(regroup([step_of(x, i) for x in flat], form), states),
                               "foreach: body")
        found, out_form = flatten(outs, NDArray, "foreach: the outputs of body")
        if flatten(states, NDArray, "foreach: the states of body")[1] != state_form:
            raise ShapeError("foreach: the states that body gives are nested otherwise than "
                             "init_states")
        if made and len(made[0]) != len(found):
            raise ShapeError(f"foreach: body gave {len(found)} outputs after {len(made[0])}")
        made.append(found)
    outputs = [joined(steps, "foreach") for steps in zip(*made, strict=True)]
    return regroup(outputs, out_form), states


def while_loop(cond: Callable[..., Any], func: Callable[..., tuple[Any, Any]], loop_vars: Any,
               max_iterations: int | None = None) -> tuple[Any, Any]:
    """A loop that runs as long as `cond(*loop_vars)` is not 0.

    `func(*loop_vars)` gives (outputs, new loop_vars). Returns the outputs of all steps, joined
    along a new axis 0 of length `max_iterations` and 0 where no step was, and the last loop_vars.
    """
    check_functions("while_loop", cond=cond, func=func)
    limit = limit_of(max_iterations)
    flat, form = flatten(loop_vars, NDArray, "while_loop: loop_vars")
    if not flat:
        raise ParameterError("while_loop: loop_vars is empty")
    values = loop_vars
    made: list[list[NDArray]] = []
    out_form: Any = []
    for _ in range(limit):
        arguments = [values] if form is None else values
        if not is_true(cond(*arguments), "while_loop: the condition"):
            break
        outs, values = pair_of(func(*arguments), "while_loop: func")
        found, out_form = flatten([] if outs is None else outs, NDArray,
                                  "while_loop: the outputs of func")
        new, _ = flatten([] if values is None else values, NDArray,
                         "while_loop: the loop_vars of func")
        if len(new) != len(flat):
            raise ShapeError(f"while_loop: func gave {len(new)} loop_vars, expected {len(flat)}")
        values = regroup(new, form)
        if made and len(made[0]) != len(found):
            raise ShapeError(f"while_loop: func gave {len(found)} outputs after {len(made[0])}")
        made.append(found)
    outputs = [joined(steps, "while_loop", limit) for steps in zip(*made, strict=True)]
    return regroup(outputs, out_form), values


def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """What `then_func()` gives where `pred` is not 0, else what `else_func()` gives."""
    check_functions("cond", then_func=then_func, else_func=else_func)
    return then_func() if is_true(pred, "cond: pred") else else_func()


FUNCTIONS = {"foreach": foreach, "while_loop": while_loop, "cond": cond}
