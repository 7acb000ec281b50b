"""What all update operators share: a rule in numpy, a kernel, and how both meet arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import (
    AnyArray,
    get_data,
    get_data_if,
    get_data_reorder,
    need_float32,
    trains_in_layout,
)
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import TypeMismatch
from ...op.context import OpContext
from ...op.infer import TypeList, merge_types, same_shape
from ...op.params import Params
from ...op.registry import OpDef, register
from ...storage.desc import MemDesc, default_desc
from ...storage.kernel_call import KernelCall
from ...storage.stream import Mem
from ..floats import need_float_types, same_float_type, wide

FLOAT32 = np.dtype(np.float32)
NO_GRADIENT = "nothing is differentiated through an optimizer"

CLIP_DOC = "bound of the gradient's elements; below 0: none"
WD_DOC = "weight decay: this part of the weight is added to the gradient"
LAZY_DOC = "says something about sparse gradients only"


def clipped(x: AnyArray, bound: float) -> AnyArray:
    """`x` within [-bound, bound]; a bound below 0 is none."""
    if bound < 0:
        return x
    limit = x.dtype.type(bound)
    made: AnyArray = np.where(x > limit, limit, np.where(x < -limit, -limit, x))
    return made


Kernel = Callable[..., KernelCall]


@cache
def numbers_of(kernel: Kernel) -> tuple[str, ...]:
    """The parameters that a kernel is given as numbers, in the order in which it reads them."""
    return tuple(name for name, kind in kernel.__annotations__.items() if kind == "float")


def numbers_from(kernel: Kernel, p: Params) -> dict[str, Any]:
    """What it is given of an operator's parameters, which have the same names."""
    return {name: getattr(p, name) for name in numbers_of(kernel)}


class Rule(NamedTuple):
    """One optimizer.

    `step(params, [weight, gradient, *states])` gives the new weight, then the new states, in the
    order of operations of the kernel, so that both give the same bits. The kernel's states have
    these names. `is_safe` says that zeros stay zeros: padding may be computed too.
    """

    states: tuple[str, ...]
    step: Callable[[Any, list[AnyArray]], list[AnyArray]]
    kernel: Kernel
    is_safe: Callable[[Any], bool] = lambda p: False

    @property
    def numbers(self) -> tuple[str, ...]:
        return numbers_of(self.kernel)

    def call(self, p: Params, states: Sequence[Mem], **given: Any) -> KernelCall:
        return self.kernel(**given, **dict(zip(self.states, states, strict=True)),
                           **numbers_from(self.kernel, p))


# ---- in numpy -----------------------------------------------------------------------------------


def compute_one(rule: Rule, p: Params, ins: list[AnyArray], out: NumpyOutput) -> None:
    """One weight with its gradient and its states."""
    weight, *states = rule.step(p, [wide(x) for x in ins])
    out.write(weight.astype(ins[0].dtype, copy=False))
    for state, value in zip(ins[2:], states, strict=True):
        state[...] = value


def compute_master(rule: Rule, p: Params, ins: list[AnyArray], out: NumpyOutput) -> None:
    """The same with a master copy of the weight, which is the last of `ins`."""
    weight, grad, *states, master = ins
    # in the width of the copy, which a caller may have made wider
    made, *changed = rule.step(p, [master, grad.astype(master.dtype), *states])
    out.write(made.astype(weight.dtype, copy=False))
    for state, value in zip((*states, master), (*changed, made), strict=True):
        state[...] = value


# ---- in native kernels --------------------------------------------------------------------------


# a weight is brought into a layout so often, with fewer writes in between than these
_MOST_TIMES, _SOON = 2, 64


def refuses_one(p: Any, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def refuses_master(ins: Sequence[NDArray], narrow: int = 2) -> str | None:
    """The first `narrow` arrays must be float16, the others float32."""
    for array in ins[:narrow]:
        if array.dtype.name != "float16":
            return f"dtype {array.dtype} is not float16"
    return need_float32(*ins[narrow:])


def _common_layout(rule: Rule, p: Params, ins: Sequence[NDArray], out: Output,
                   ctx: OpContext) -> MemDesc:
    """The gradient's layout where the weight stays in layouts, else the weight's; the default one
    where a state is not in it and can not be brought into it."""
    weight, grad, *states = ins
    plain = default_desc(weight.dtype, weight.shape)
    # zeros must stay zeros where there is padding, also with the numbers of later runs
    vary = ctx.numbers_vary or ctx.parameters is not None
    is_safe = rule.is_safe(p) and (not vary or rule.is_safe(None))
    desc = grad._chunk.mkl_mem
    if (desc is not None and not grad.is_view and (is_safe or not desc.is_padded)
            and out.array._chunk is weight._chunk and trains_in_layout(weight)
            and all(x._chunk.mkl_mem is desc or not (x.is_view or x._chunk.native.pins)
                    for x in (weight, *states))
            and (weight._chunk.mkl_mem is desc or _is_worth_bringing(weight, grad))):
        for x in (weight, *states):
            own = x._chunk.mkl_mem
            if own is not None and own.dims != desc.dims:
                x._chunk.reorder_to_default(ctx.stream)
            x._chunk.reorder(desc, ctx.stream)
        return desc
    desc = get_data(weight, ctx.stream).desc
    if any(get_data_if(state, desc, ctx.stream) is None for state in states):
        return plain
    return desc if is_safe or not desc.is_padded else plain


def _is_worth_bringing(weight: NDArray, grad: NDArray) -> bool:
    """Notes that the weight is to be brought into the gradient's layout.

    False, now and from now on, where it keeps losing it: a weight that somebody writes to, or looks
    at through a view, between steps goes to the default layout each time.
    """
    chunk = weight._chunk
    times, writes = chunk.brought
    times = times + 1 if times and chunk.writes - writes < _SOON else 1
    chunk.brought = times, chunk.writes
    if times <= _MOST_TIMES:
        return True
    if chunk.is_trained_in_layout is None:
        chunk.is_trained_in_layout = grad._chunk.is_trained_in_layout = False
    return False


def plain_states(states: Sequence[NDArray], ctx: OpContext) -> list[Mem]:
    """Memory of arrays that change, in the default layout."""
    for state in states:
        state._chunk.reorder_to_default(ctx.stream)
    return [get_data(state, ctx.stream) for state in states]


def default_mem(x: NDArray, ctx: OpContext) -> Mem:
    """Memory of an array that is read, in the default layout."""
    return get_data_reorder(x, default_desc(x.dtype, x.shape), ctx.stream)


def run_one(rule: Rule, ctx: OpContext, p: Params, ins: Sequence[NDArray], out: Output,
            **sources: NDArray | int) -> None:
    """One weight with its gradient and its states, in whatever layout they share.

    `sources` are what the kernel takes numbers from that arrays hold, and which of them.
    """
    desc = _common_layout(rule, p, ins, out, ctx)
    states = (plain_states(ins[2:], ctx) if desc.is_default
              else [get_data_reorder(state, desc, ctx.stream) for state in ins[2:]])
    weight = get_data_reorder(ins[0], desc, ctx.stream)
    grad = get_data_reorder(ins[1], desc, ctx.stream)
    more = _sources(sources, ctx)
    with out.open(desc, ctx.stream, inplace_of=weight) as y:
        ctx.kernel(rule.call(p, states, out=y, weight=weight, grad=grad, count=desc.nbytes // 4,
                             **more), ctx.parameters)


def _sources(given: dict[str, NDArray | int], ctx: OpContext) -> dict[str, Mem | int]:
    return {name: default_mem(x, ctx) if isinstance(x, NDArray) else x
            for name, x in given.items()}


def run_master(rule: Rule, ctx: OpContext, p: Params, ins: Sequence[NDArray], out: Output,
               **sources: NDArray | int) -> None:
    """The same with a weight and a gradient of 16 bits, and a master copy as the last of `ins`."""
    desc = default_desc(ins[0].dtype, ins[0].shape)
    *states, master = plain_states(ins[2:], ctx)
    weight = get_data_reorder(ins[0], desc, ctx.stream)
    grad = get_data_reorder(ins[1], desc, ctx.stream)
    more = _sources(sources, ctx)
    with out.open(desc, ctx.stream, inplace_of=weight) as y:
        ctx.kernel(rule.call(p, states, out=y, weight=master, grad=grad, count=desc.nelems,
                             half_grad=True, half_out=True, **more), ctx.parameters)


# ---- registration -------------------------------------------------------------------------------


def master_types(p: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    """Weight, gradient and output have one floating-point dtype, all behind them is float32."""
    one = merge_types([*ins[:2], *outs])
    need_float_types([one])
    for dtype in ins[2:]:
        if dtype is not None and dtype != FLOAT32:
            raise TypeMismatch(f"states and master copy must be float32, got {dtype}")
    return [one, one, *[FLOAT32] * (len(ins) - 2)], [one]


def _compute_one(rule: Rule, ctx: OpContext, p: Params, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    compute_one(rule, p, ins, outs[0])


def _compute_master(rule: Rule, ctx: OpContext, p: Params, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    compute_master(rule, p, ins, outs[0])


def _run_one(rule: Rule, ctx: OpContext, p: Params, ins: list[NDArray],
             outs: list[Output]) -> None:
    run_one(rule, ctx, p, ins, outs[0])


def _run_master(rule: Rule, ctx: OpContext, p: Params, ins: list[NDArray],
                outs: list[Output]) -> None:
    run_master(rule, ctx, p, ins, outs[0])


def _states_text(states: tuple[str, ...]) -> str:
    return "" if not states else f" {' and '.join(states)}: arrays of the same shape that change."


def register_one(name: str, params: type[Params], rule: Rule, formula: str) -> None:
    """The operator for one weight."""
    register(OpDef(name, params, inputs=("weight", "grad", *rule.states),
                   infer_shape=same_shape, infer_type=same_float_type,
                   compute=partial(_compute_one, rule), compute_ex=partial(_run_one, rule),
                   refuses=refuses_one, inplace={0: 0},
                   mutates=tuple(range(2, 2 + len(rule.states))), numbers=rule.numbers,
                   no_gradient=NO_GRADIENT,
                   doc=f"The weight after one step: {formula}.\n\ng is rescale_grad grad, "
                       "clipped; the weight itself changes only when it is given as out."
                       f"{_states_text(rule.states)} Source: MXNet's {name}; a native kernel."))


def register_master(name: str, params: type[Params], rule: Rule, of: str) -> None:
    """The operator for one weight with a master copy."""
    register(OpDef(name, params, inputs=("weight", "grad", *rule.states, "weight32"),
                   infer_shape=same_shape, infer_type=master_types,
                   compute=partial(_compute_master, rule), compute_ex=partial(_run_master, rule),
                   refuses=lambda p, ins: refuses_master(ins), inplace={0: 0}, ignores=(0,),
                   mutates=tuple(range(2, 3 + len(rule.states))), numbers=rule.numbers,
                   no_gradient=NO_GRADIENT,
                   doc=f"{of} of a weight that has a master copy in float32.\n\nThe step is done "
                       "on weight32, which changes; what it gives is rounded to the weight's "
                       f"dtype, float16 for one.{_states_text(rule.states)} Source: MXNet's "
                       f"{name}; a native kernel."))
