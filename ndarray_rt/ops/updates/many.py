"""Steps of many weights in one call: multi_*, preloaded_multi_*, with master copies and without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError, TypeMismatch
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, same_shape
from ...op.params import Params, boolean, how_many, number, numbers, params_class
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ..floats import same_float_type, wide
from .adamw import AdamWParams, adamw_rule, check_factor
from .adaptive import BETA1_DOC, BETA2_DOC, EPSILON_DOC
from .lamb import (
    LOWER_DOC,
    UPPER_DOC,
    Phase1Params,
    Phase2Params,
    direction,
    norm_of,
    run_direction,
    run_step,
    scaled_step,
)
from .momentum import MOMENTUM_DOC, RESCALE_DOC, SGD, SGD_MOM, SGDMomParams, SGDParams
from .norms import run_sum
from .rule import (
    CLIP_DOC,
    FLOAT32,
    NO_GRADIENT,
    Rule,
    compute_master,
    compute_one,
    default_mem,
    master_types,
    plain_states,
    refuses_master,
    run_master,
    run_one,
)

LRS_DOC, WDS_DOC = "a learning rate for each weight", "a weight decay for each weight"
COUNT_DOC = "how many weights there are"


@params_class
class MultiSGDParams(Params):
    lrs: tuple[float, ...] = numbers(doc=LRS_DOC)
    wds: tuple[float, ...] = numbers(doc=WDS_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    num_weights: int = how_many(1, doc=COUNT_DOC)


@params_class
class MultiSGDMomParams(Params):
    lrs: tuple[float, ...] = numbers(doc=LRS_DOC)
    wds: tuple[float, ...] = numbers(doc=WDS_DOC)
    momentum: float = number(0.0, doc=MOMENTUM_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    num_weights: int = how_many(1, doc=COUNT_DOC)


@params_class
class PreloadedSGDParams(Params):
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    num_weights: int = how_many(1, doc=COUNT_DOC)


@params_class
class PreloadedSGDMomParams(Params):
    momentum: float = number(0.0, doc=MOMENTUM_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    num_weights: int = how_many(1, doc=COUNT_DOC)


@params_class
class MultiAdamWParams(Params):
    lrs: tuple[float, ...] = numbers(doc=LRS_DOC)
    beta1: float = number(0.9, doc=BETA1_DOC)
    beta2: float = number(0.999, doc=BETA2_DOC)
    epsilon: float = number(1e-8, doc=EPSILON_DOC)
    wds: tuple[float, ...] = numbers(doc=WDS_DOC)
    etas: tuple[float, ...] = numbers(doc="a factor of step and decay for each weight")
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    num_weights: int = how_many(1, doc=COUNT_DOC)


@params_class
class MultiLAMBParams(Params):
    learning_rates: tuple[float, ...] = numbers(doc=LRS_DOC)
    beta1: float = number(0.9, doc=BETA1_DOC)
    beta2: float = number(0.999, doc=BETA2_DOC)
    epsilon: float = number(1e-6, doc=EPSILON_DOC)
    wds: tuple[float, ...] = numbers(doc=WDS_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    lower_bound: float = number(-1.0, doc=LOWER_DOC)
    upper_bound: float = number(-1.0, doc=UPPER_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    bias_correction: bool = boolean(True, doc="whether means are corrected for their beginning")
    step_count: tuple[float, ...] = numbers(doc="number of the step of each weight, from 1")
    num_tensors: int = how_many(1, doc=COUNT_DOC)


class Many(NamedTuple):
    """One operator for many weights.

    `states` are those of one weight, `tail` the inputs behind all weights, `lists` the parameters
    that have a number for each weight. `one(params, i, tail)` is the rule of one weight with its
    parameters, `source(i, tail)` where its kernel finds numbers.
    """

    states: tuple[str, ...]
    lists: tuple[str, ...]
    tail: tuple[str, ...] = ()
    has_master: bool = False
    counter: str = "num_weights"

    @property
    def names(self) -> tuple[str, ...]:
        """Inputs of one weight."""
        return ("weight", "grad", *self.states, *(("weight32",) if self.has_master else ()))

    def number(self, p: Any) -> int:
        return int(getattr(p, self.counter))

    def inputs(self, p: Any) -> tuple[str, ...]:
        return (*(f"{name}_{i}" for i in range(self.number(p)) for name in self.names),
                *self.tail)

    def group(self, i: int, arrays: Sequence[Any]) -> list[Any]:
        """Inputs of one weight."""
        stride = len(self.names)
        return list(arrays[i * stride:(i + 1) * stride])

    def mutated(self, p: Any) -> tuple[int, ...]:
        stride = len(self.names)
        return tuple(i * stride + j for i in range(self.number(p)) for j in range(2, stride))

    def tail_of(self, arrays: Sequence[Any]) -> list[Any]:
        return list(arrays[len(arrays) - len(self.tail):])

    def infer_shape(self, p: Any, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
        n = self.number(p)
        for name in self.lists:
            if len(getattr(p, name)) != n:
                raise ShapeError(f"{name} has {len(getattr(p, name))} number(s), expected {n}: "
                                 "one for each weight")
        made: ShapeList = []
        found: ShapeList = []
        for i in range(n):
            group, out = same_shape(p, self.group(i, ins), [outs[i]])
            made += group
            found += out
        tail = [check_factor(x) if name == "rescale_grad" else merge(x, (n,), name)
                for name, x in zip(self.tail, self.tail_of(ins), strict=True)]
        return [*made, *tail], found

    def infer_type(self, p: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
        rule = master_types if self.has_master else same_float_type
        made: TypeList = []
        found: TypeList = []
        for i in range(self.number(p)):
            group, out = rule(p, self.group(i, ins), [outs[i]])
            made += group
            found += out
        for name, dtype in zip(self.tail, self.tail_of(ins), strict=True):
            if dtype is not None and dtype != FLOAT32:
                raise TypeMismatch(f"{name} must be float32, got {dtype}")
        return [*made, *[FLOAT32] * len(self.tail)], found

    def refuses(self, p: Any, ins: list[NDArray]) -> str | None:
        for i in range(self.number(p)):
            group = self.group(i, ins)
            reason = refuses_master(group) if self.has_master else need_float32(*group)
            if reason is not None:
                return reason
        return None


OneOf = Callable[[Any, int, Sequence[AnyArray] | None], tuple[Rule, Params]]


def _compute(many: Many, one: OneOf, ctx: OpContext, p: Any, ins: list[AnyArray],
             outs: list[NumpyOutput]) -> None:
    step = compute_master if many.has_master else compute_one
    tail = many.tail_of(ins)
    for i, out in enumerate(outs):
        step(*one(p, i, tail), many.group(i, ins), out)


def _run(many: Many, one: OneOf, ctx: OpContext, p: Any, ins: list[NDArray],
         outs: list[Output]) -> None:
    step = run_master if many.has_master else run_one
    sources: dict[str, NDArray | int] = dict(zip(many.tail, many.tail_of(ins), strict=True))
    for i, out in enumerate(outs):
        rule, params = one(p, i, None)
        if "lrs" in sources:
            sources["which"] = i + 1
        step(rule, ctx, params, many.group(i, ins), out, **sources)


def _outputs(many: Many, p: Any) -> tuple[str, ...]:
    return tuple(f"output{i}" for i in range(many.number(p)))


def _register(name: str, params: type[Params], many: Many, compute: Any, compute_ex: Any,
              what: str) -> None:
    stride = len(many.names)
    arrays = ", ".join(many.names)
    tail = "".join(f", {name}" for name in many.tail)
    register(OpDef(name, params, inputs=many.inputs, outputs=partial(_outputs, many),
                   takes_any=True, infer_shape=many.infer_shape, infer_type=many.infer_type,
                   compute=compute, compute_ex=compute_ex, refuses=many.refuses,
                   inplace=lambda p: {i: i * stride for i in range(many.number(p))},
                   mutates=many.mutated, no_gradient=NO_GRADIENT,
                   ignores=(lambda p: tuple(i * stride for i in range(many.number(p))))
                   if many.has_master else (),
                   doc=f"{what} of {many.counter} weights in one call.\n\nThe inputs are {arrays} "
                       f"of one weight after the other{tail}; there is an output for each weight. "
                       f"States and master copies change. Source: MXNet's {name}; a native "
                       "kernel for each weight."))


# ---- SGD ----------------------------------------------------------------------------------------


def _sgd(p: Any, i: int, tail: Sequence[AnyArray] | None) -> tuple[Rule, Params]:
    if isinstance(p, (MultiSGDParams, MultiSGDMomParams)):
        lr, wd = p.lrs[i], p.wds[i]
    else:
        lr, wd = (0.0, 0.0) if tail is None else (float(tail[0][i]), float(tail[1][i]))
    common: dict[str, Any] = {"lr": lr, "wd": wd, "rescale_grad": p.rescale_grad,
              "clip_gradient": p.clip_gradient}
    if isinstance(p, (MultiSGDMomParams, PreloadedSGDMomParams)):
        return SGD_MOM, SGDMomParams(**{**common, "momentum": p.momentum})
    return SGD, SGDParams(**common)


for _is_mp in (False, True):
    for _states, _plain, _preloaded, _word in (
            ((), MultiSGDParams, PreloadedSGDParams, "sgd_update"),
            (("mom",), MultiSGDMomParams, PreloadedSGDMomParams, "sgd_mom_update")):
        _name = f"multi_{'mp_' if _is_mp else ''}{_word}"
        _many = Many(_states, ("lrs", "wds"), (), _is_mp)
        _register(_name, _plain, _many, partial(_compute, _many, _sgd), partial(_run, _many, _sgd),
                  f"{'mp_' if _is_mp else ''}{_word}")
        _many = Many(_states, (), ("lrs", "wds"), _is_mp)
        _register(f"preloaded_{_name}", _preloaded, _many, partial(_compute, _many, _sgd),
                  partial(_run, _many, _sgd), f"{'mp_' if _is_mp else ''}{_word}")

# ---- AdamW --------------------------------------------------------------------------------------


def _adamw(p: MultiAdamWParams, i: int, tail: Sequence[AnyArray] | None) -> tuple[Rule, Params]:
    values = {"lr": p.lrs[i], "beta1": p.beta1, "beta2": p.beta2, "epsilon": p.epsilon,
              "wd": p.wds[i], "eta": p.etas[i], "clip_gradient": p.clip_gradient}
    return adamw_rule(None if tail is None else tail[0]), AdamWParams(**values)


for _is_mp in (False, True):
    _many = Many(("mean", "var"), ("lrs", "wds", "etas"), ("rescale_grad",), _is_mp)
    _word = "_multi_mp_adamw_update" if _is_mp else "_multi_adamw_update"
    _register(_word, MultiAdamWParams, _many, partial(_compute, _many, _adamw),
              partial(_run, _many, _adamw), _word.replace("multi_", ""))

# ---- LAMB ---------------------------------------------------------------------------------------


def _phases(p: MultiLAMBParams, i: int) -> tuple[Phase1Params, Phase2Params]:
    first: dict[str, Any] = {
        "beta1": p.beta1, "beta2": p.beta2, "epsilon": p.epsilon, "t": p.step_count[i],
        "bias_correction": p.bias_correction, "wd": p.wds[i], "rescale_grad": p.rescale_grad,
        "clip_gradient": p.clip_gradient}
    second = {"lr": p.learning_rates[i], "lower_bound": p.lower_bound,
              "upper_bound": p.upper_bound}
    return Phase1Params(**first), Phase2Params(**second)


def _compute_lamb(many: Many, ctx: OpContext, p: MultiLAMBParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    for i, out in enumerate(outs):
        weight, grad, mean, var, *master = many.group(i, ins)
        first, second = _phases(p, i)
        old = master[0] if master else wide(weight)
        step, new_mean, new_var = direction(
            first, [old, grad.astype(old.dtype), wide(mean), wide(var)])
        made = scaled_step(second, old, step, norm_of(old), norm_of(step))
        out.write(made.astype(weight.dtype, copy=False))
        mean[...], var[...] = new_mean, new_var
        if master:
            master[0][...] = made


def _run_lamb(many: Many, ctx: OpContext, p: MultiLAMBParams, ins: list[NDArray],
              outs: list[Output]) -> None:
    stream = ctx.stream
    one = default_desc(FLOAT32, (1,))
    for i, out in enumerate(outs):
        weight, grad, mean, var, *master = many.group(i, ins)
        first, second = _phases(p, i)
        desc = default_desc(weight.dtype, weight.shape)
        given, g = default_mem(weight, ctx), default_mem(grad, ctx)
        states = plain_states([mean, var, *master], ctx)
        old = states.pop() if master else given
        step = stream.scratch(default_desc(FLOAT32, weight.shape))
        norms = [stream.scratch(one), stream.scratch(one)]
        with out.open(desc, stream, inplace_of=given) as y:
            run_direction(ctx, first, step, old, g, states, bool(master))
            run_sum(ctx, norms[0], old, weight.size, False, True)
            run_sum(ctx, norms[1], step, weight.size, False, True)
            run_step(ctx, second, y, old, step, norms, half_out=bool(master))


for _is_mp in (False, True):
    _many = Many(("mean", "var"), ("learning_rates", "wds", "step_count"), (), _is_mp,
                 "num_tensors")
    _word = "_multi_mp_lamb_update" if _is_mp else "_multi_lamb_update"
    _register(_word, MultiLAMBParams, _many, partial(_compute_lamb, _many),
              partial(_run_lamb, _many), "A whole step of LAMB")
