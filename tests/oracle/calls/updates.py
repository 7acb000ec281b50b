"""Steps of optimizers: scaled, clipped, with decay; many weights; master copies; odd numbers."""

from __future__ import annotations

from typing import Any

from ..call import Array, Call, Given

SHAPE = (2, 3)


def some(seed: int, dtype: str = "float32", low: float = -1.0, shape: Any = SHAPE) -> Array:
    return Array(shape, low, 1.0, dtype, seed)


def state(seed: int, dtype: str = "float32") -> Array:
    return some(seed, dtype, 0.1)


COMMON = {"lr": 0.125, "wd": 0.25, "rescale_grad": 0.5}
CLIPS: tuple[dict[str, Any], ...] = ({}, {"clip_gradient": 0.25}, {"clip_gradient": 0.0})
# operator -> (states, parameters)
RULES: dict[str, tuple[int, dict[str, Any]]] = {
    "sgd_update": (0, {}), "sgd_mom_update": (1, {"momentum": 0.75}),
    "nag_mom_update": (1, {"momentum": 0.75}), "signsgd_update": (0, {}),
    "signum_update": (1, {"momentum": 0.75, "wd_lh": 0.125}),
    "adam_update": (2, {"beta1": 0.75, "beta2": 0.875, "epsilon": 0.0625}),
    "rmsprop_update": (1, {"gamma1": 0.75, "epsilon": 0.0625}),
    "ftrl_update": (2, {"lamda1": 0.25, "beta": 0.5}),
}
MASTERS = {"mp_sgd_update": (0, {}), "mp_sgd_mom_update": (1, {"momentum": 0.75}),
           "mp_nag_mom_update": (1, {"momentum": 0.75})}


def plain(op: str, dtype: str = "float32", **more: Any) -> Call:
    states, own = RULES[op]
    ins = [some(0, dtype), some(1, dtype), *(state(2 + i, dtype) for i in range(states))]
    return Call(op, ins, {**COMMON, **own, **more}, after=tuple(range(2, 2 + states)))


def master(op: str, dtype: str = "float16", **more: Any) -> Call:
    states, own = MASTERS[op]
    ins = [some(0, dtype), some(1, dtype), *(state(2 + i) for i in range(states)), some(0)]
    return Call(op, ins, {**COMMON, **own, **more}, after=tuple(range(2, 3 + states)))


ALEX = {"gamma1": 0.75, "gamma2": 0.875, "epsilon": 1.0}
SMALL = [Given([[0.1, -0.2, 0.3], [-0.1, 0.2, 0.0]])]
FTML = {"lr": 0.125, "wd": 0.25, "rescale_grad": 0.5, "t": 3}


def many(op: str, states: int, narrow: str, tail: list[Any], **params: Any) -> Call:
    """Two weights of different shapes."""
    ins: list[Any] = []
    for i, shape in enumerate((SHAPE, (4,))):
        ins += [some(10 * i, narrow, shape=shape), some(10 * i + 1, narrow, shape=shape)]
        wide = "float32" if "mp_" in op else narrow
        ins += [some(10 * i + 2 + j, wide, 0.1, shape) for j in range(states)]
        ins += [some(10 * i, shape=shape)] if "mp_" in op else []
    stride = len(ins) // 2
    after = [i * stride + j for i in range(2) for j in range(2, stride)]
    return Call(op, [*ins, *tail], params, after=tuple(after), out=(0, stride))


SCALED = {"rescale_grad": 0.5, "clip_gradient": 0.25}
LISTS = {"lrs": (0.125, 0.25), "wds": (0.0, 0.5)}
LOADED = [Given([0.125, 0.25]), Given([0.0, 0.5])]
ADAMW = {"lr": 0.125, "eta": 0.75, "wd": 0.25, "beta1": 0.75, "beta2": 0.875, "epsilon": 0.0625}
ADAMW_MANY = {**LISTS, "etas": (0.75, 1.0), "num_weights": 2, "beta1": 0.75, "beta2": 0.875}
LAMB = {"t": 2, "wd": 0.25, "rescale_grad": 0.5}
LAMB_MANY = {"learning_rates": (0.125, 0.25), "wds": (0.0, 0.5), "step_count": (1, 3),
             "num_tensors": 2, "rescale_grad": 0.5}

CALLS = [
    *(plain(op, **clip) for op in RULES for clip in CLIPS),
    *(plain(op, "float64") for op in RULES),
    *(plain(op, "float16") for op in RULES),
    Call("sgd_update", [some(0), some(1)], {"lr": 0.5}),
    plain("rmsprop_update", clip_weights=0.5),
    *(Call("rmspropalex_update", [some(0), some(1), state(2), *SMALL, some(4)],
           {**COMMON, **ALEX, **more}, after=(2, 3, 4))
      for more in ({}, {"clip_gradient": 0.25}, {"clip_weights": 0.5})),
    *(Call("ftml_update", [some(0, dtype), some(1, dtype), state(2, dtype), state(3, dtype),
                           some(4, dtype)], {**FTML, **more}, after=(2, 3, 4), rtol=1e-4)
      for dtype in ("float32", "float64") for more in ({}, {"clip_grad": 0.25, "epsilon": 0.125})),
    *(master(op, **clip) for op in MASTERS for clip in CLIPS),
    *(master(op, "float32") for op in MASTERS),
    *(Call("lamb_update_phase1", [some(0, dtype), some(1, dtype), some(2, dtype),
                                  state(3, dtype)], {**LAMB, **more}, after=(2, 3), rtol=1e-4)
      for dtype in ("float32", "float64")
      for more in ({}, {"clip_gradient": 0.25}, {"bias_correction": False})),
    *(Call("lamb_update_phase2", [some(0), some(1), Given([1.5]), Given([r2])],
           {"lr": 0.125, **more})
      for r2 in (0.5, 0.0) for more in ({}, {"lower_bound": 2.0}, {"upper_bound": 1.0})),
    Call("mp_lamb_update_phase1", [some(0, "float16"), some(1, "float16"), some(2), state(3),
                                   some(0)], LAMB, after=(2, 3, 4), rtol=1e-4),
    Call("mp_lamb_update_phase2", [some(0, "float16"), some(1), Given([1.5]), Given([0.5]),
                                   some(0)], {"lr": 0.125, "upper_bound": 1.0}, after=(4,)),
    *(Call("_internal._adamw_update", [some(0), some(1), some(2), state(3), Given([0.5])],
           {**ADAMW, **more}, after=(2, 3)) for more in ({}, {"clip_gradient": 0.25})),
    *(Call("_internal._mp_adamw_update", [some(0, "float16"), some(1, "float16"), some(2),
                                          state(3), some(0), Given([0.5])],
           {**ADAMW, **more}, after=(2, 3, 4)) for more in ({}, {"clip_gradient": 0.25})),
    many("multi_sgd_update", 0, "float32", [], **LISTS, **SCALED, num_weights=2),
    many("multi_sgd_mom_update", 1, "float32", [], **LISTS, **SCALED, num_weights=2, momentum=0.75),
    many("multi_mp_sgd_update", 0, "float16", [], **LISTS, num_weights=2),
    many("multi_mp_sgd_mom_update", 1, "float16", [], **LISTS, **SCALED, num_weights=2,
         momentum=0.75),
    many("preloaded_multi_sgd_update", 0, "float32", LOADED, **SCALED, num_weights=2),
    many("preloaded_multi_sgd_mom_update", 1, "float32", LOADED, num_weights=2, momentum=0.75),
    many("preloaded_multi_mp_sgd_update", 0, "float16", LOADED, num_weights=2),
    many("preloaded_multi_mp_sgd_mom_update", 1, "float16", LOADED, **SCALED, num_weights=2,
         momentum=0.75),
    many("_internal._multi_adamw_update", 2, "float32", [Given([0.5])], **ADAMW_MANY),
    many("_internal._multi_mp_adamw_update", 2, "float16", [Given([0.5])], **ADAMW_MANY),
    many("_internal._multi_lamb_update", 2, "float32", [], **LAMB_MANY),
    many("_internal._multi_lamb_update", 2, "float32", [], **LAMB_MANY, bias_correction=False,
         lower_bound=0.5, upper_bound=0.75, clip_gradient=0.25),
    many("_internal._multi_mp_lamb_update", 2, "float16", [], **LAMB_MANY),
    # MXNet rounds the squares to float16
    *(Call("multi_sum_sq", [some(0, dtype), some(1, dtype, shape=(5,))], {"num_arrays": 2},
           rtol=2e-4 if dtype == "float16" else 0.0)
      for dtype in ("float32", "float16", "float64")),
    Call("multi_lars", [Given([0.5, 0.25, 1.0]), Given([4.0, 0.0, 1.0]), Given([1.0, 1.0, 0.0]),
                        Given([0.125, 0.0, 0.5])], {"eta": 0.5, "eps": 0.25, "rescale_grad": 2.0}),
    Call("reset_arrays", [some(0), some(1, shape=(4,))], {"num_arrays": 2}, after=(0, 1)),
]
