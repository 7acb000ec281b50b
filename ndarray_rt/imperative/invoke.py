"""invoke: an eager call of one operator. All computations of users go through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..context import Context
from ..errors import NameMismatch, ParameterError, ShapeError, TypeMismatch, where
from ..op.params import Params
from ..op.registry import OpDef, find
from .call import check_inputs, infer_outputs, parse, run_op
from .dependency import needs_of
from .tape import STATE, check_outputs, needs_record, record

Out = NDArray | Sequence[NDArray] | None


def invoke(op: OpDef | str, inputs: Sequence[NDArray], attrs: Mapping[str, Any],
           out: Out = None, name: str | None = None) -> Any:
    """Runs an operator and returns its visible outputs: an NDArray, or a list of several.

    `inputs` are inputs, then aux states. `attrs` are parameters as Python values or strings;
    every operator accepts `ctx`. With `out` results are stored there, and `out` is returned.
    Everything is checked before anything is computed.
    """
    if isinstance(op, str):
        op = find(op)
    ctx: Context | None = None
    if "ctx" in attrs:
        attrs = dict(attrs)
        ctx = _context(op, attrs)
    params = parse(op, attrs, name)
    check_inputs(op, params, inputs, name)
    return invoke_params(op, params, inputs, out, name, ctx)


def invoke_params(op: OpDef, params: Params, inputs: Sequence[NDArray], out: Out = None,
                  name: str | None = None, ctx: Context | None = None) -> Any:
    """`invoke` with parsed parameters and checked inputs."""
    visible = op.num_visible(params)
    given = None if out is None else _given(op, name, out, visible)
    facts = infer_outputs(op, params, inputs, name, given or ())
    recorded = needs_record(inputs)
    hidden = needs_of(op, params).outputs if recorded and visible < len(facts) else ()
    if ctx is None and inputs:
        ctx = inputs[0].ctx
    outs: list[NDArray] = []
    reqs: list[Req] = []
    for i, (shape, dtype) in enumerate(facts):
        if given is not None and i < len(given):
            _check_out(op, name, given[i], shape, dtype)
            outs.append(given[i])
        else:
            outs.append(new_array(shape, dtype, ctx))
        reqs.append(Req.kWriteTo if i < visible or i in hidden else Req.kNullOp)
    if given is not None:
        check_outputs(given, where(op.name, name))
    run_op(op, params, inputs, outs, reqs, name, STATE.training)
    if recorded:
        record(op, params, inputs, outs, name)
    if out is not None:
        return out
    return outs[0] if visible == 1 else outs[:visible]


def _context(op: OpDef, attrs: dict[str, Any]) -> Context | None:
    """Removes `ctx` from the attributes, unless the operator declares it."""
    ctx = attrs.pop("ctx")
    if isinstance(ctx, str):
        ctx = _parse_context(op, ctx)
    if ctx is not None and not isinstance(ctx, Context):
        raise TypeMismatch(f"{op.name}: ctx must be a Context, got {ctx!r}")
    if ctx is not None:
        ctx.check()
        if "ctx" in op.params.__dataclass_fields__:
            attrs["ctx"] = str(ctx)
    return ctx


def _parse_context(op: OpDef, text: str) -> Context:
    """The Context of 'cpu(0)' or 'cpu'."""
    kind, _, number = text.partition("(")
    try:
        return Context(kind.strip(), int(number.rstrip(") ") or 0))
    except ValueError:
        raise ParameterError(f"{op.name}: ctx got {text!r}, expected a text such as 'cpu(0)'"
                             ) from None


def _given(op: OpDef, name: str | None, out: Any, visible: int) -> list[NDArray]:
    given = [out] if isinstance(out, NDArray) else out
    if not isinstance(given, (list, tuple)) or not all(isinstance(y, NDArray) for y in given):
        raise TypeMismatch(f"{where(op.name, name)}: out must be an NDArray or a list of them, "
                           f"got {out!r}")
    if len(given) != visible:
        raise NameMismatch(f"{where(op.name, name)}: has {visible} output(s), "
                           f"got {len(given)} in out")
    return list(given)


def _check_out(op: OpDef, name: str | None, out: NDArray, shape: tuple[int, ...],
               dtype: Any) -> None:
    if out.shape != shape:
        raise ShapeError(f"{where(op.name, name)}: out has shape {out.shape}, expected {shape} "
                         "from the inputs")
    if out.dtype != dtype:
        raise TypeMismatch(f"{where(op.name, name)}: out has dtype {out.dtype}, expected {dtype} "
                           "from the inputs")
