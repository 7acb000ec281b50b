"""Runs of optimizers that this package and the real MXNet 1.9.1 both do: `mx` is either of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

STEPS = 20
SHAPES = ((4, 5), (4, 1), (5, 3))
NAMES = {0: "a_weight", 1: "a_bias", 2: "b_gamma"}

PLAIN: list[tuple[str, dict[str, Any]]] = [
        ("sgd", {}), ("sgd", {"momentum": 0.9}),
        ("sgd", {"momentum": 0.9, "clip_gradient": 0.3, "wd": 0.01}), ("ccsgd", {}),
        ("nag", {}), ("nag", {"momentum": 0.9, "clip_gradient": 0.5}),
        ("signum", {}), ("signum", {"momentum": 0.0}), ("signum", {"wd_lh": 0.1, "wd": 0.01}),
        ("ftml", {}), ("ftml", {"clip_gradient": 0.2, "wd": 0.01}),
        ("lars", {"momentum": 0.9, "wd": 0.01}), ("lars", {"eta": 0.1, "eps": 0.01}),
        ("lbsgd", {"momentum": 0.9}), ("lbsgd", {"batch_scale": 2, "warmup_strategy": "power2"}),
        ("lbsgd", {"warmup_strategy": "lars", "wd": 0.01}),
        ("lbsgd", {"warmup_strategy": "sqrt", "warmup_epochs": 1, "batch_scale": 3}),
        ("dcasgd", {"wd": 0.01}), ("adam", {}), ("adam", {"wd": 0.1, "clip_gradient": 0.5}),
        ("adagrad", {"wd": 0.01}), ("rmsprop", {}), ("rmsprop", {"clip_gradient": 0.2}),
        ("rmsprop", {"centered": True, "clip_weights": 0.8}),
        ("adadelta", {"wd": 0.01, "clip_gradient": 0.4}), ("ftrl", {"wd": 0.1}),
        ("ftrl", {"learning_rate": 0.5, "lamda1": 0.1, "beta": 2}),
        ("adamax", {"wd": 0.1}), ("nadam", {"clip_gradient": 0.5}), ("lamb", {}),
        ("lamb", {"lower_bound": 0.1, "upper_bound": 2.0, "wd": 0.01}),
        ("lamb", {"bias_correction": False}), ("test", {}), ("groupadagrad", {}),
        ("sgd", {"momentum": 0.9, "schedule": True}), ("adam", {"schedule": True}),
        ("lars", {"momentum": 0.9, "schedule": True})]
HALF: list[tuple[str, dict[str, Any]]] = [
    ("sgd", {}), ("sgd", {"momentum": 0.9}), ("nag", {"momentum": 0.9}), ("adam", {}),
    ("lamb", {"wd": 0.01})]
# (optimizer, its parameters, dtype of the weights)
CASES: list[tuple[str, dict[str, Any], str]] = [
    *((name, params, "float32") for name, params in PLAIN),
    *((name, {**params, "multi_precision": True}, "float16") for name, params in HALF)]

# the momentum is corrected at the call that sees the new rate: by weights one by one the first one
DEPENDS_ON_CALLS = [case for case in CASES if case[0] == "lars" and "schedule" in case[1]]

SCHEDULES: list[tuple[str, dict[str, Any]]] = [
    ("FactorScheduler", {"step": 3, "factor": 0.5, "stop_factor_lr": 0.01, "base_lr": 0.1}),
    ("MultiFactorScheduler", {"step": [2, 7, 8], "factor": 0.1, "base_lr": 0.3,
                              "warmup_steps": 3, "warmup_begin_lr": 0.01}),
    ("PolyScheduler", {"max_update": 20, "base_lr": 0.5, "pwr": 3, "final_lr": 0.05,
                       "warmup_steps": 5, "warmup_mode": "constant"}),
    ("CosineScheduler", {"max_update": 20, "base_lr": 0.5, "final_lr": 0.05, "warmup_steps": 5}),
]

PICKLED = ("sgd", "adam", "lamb")


def name_of(case: tuple[str, dict[str, Any], str]) -> str:
    name, params, dtype = case
    return " ".join([name, *(f"{key}={value}" for key, value in params.items()),
                     *([] if dtype == "float32" else [dtype])])


def make(mx: Any, name: str, params: dict[str, Any]) -> Any:
    params = dict(params)
    if params.pop("schedule", False):
        params["lr_scheduler"] = mx.lr_scheduler.FactorScheduler(3, 0.7, base_lr=0.1)
    return mx.optimizer.create(name, rescale_grad=0.5, param_idx2name=NAMES, **params)


def run(mx: Any, case: tuple[str, dict[str, Any], str], together: bool = False) -> list[Any]:
    """The weights after so many steps, one weight after the other, or all in one call."""
    name, params, dtype = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        updater = mx.optimizer.get_updater(make(mx, name, params))
        drawn = np.random.RandomState(7)
        weights = [mx.nd.array(drawn.randn(*shape), dtype=dtype) for shape in SHAPES]
        for _ in range(STEPS):
            grads = [mx.nd.array(drawn.randn(*shape), dtype=dtype) for shape in SHAPES]
            if together:
                updater(list(range(len(SHAPES))), grads, weights)
            else:
                for i, (grad, weight) in enumerate(zip(grads, weights)):  # noqa: B905
                    updater(i, grad, weight)
    return weights


def rates(mx: Any, name: str, params: dict[str, Any]) -> list[float]:
    schedule = getattr(mx.lr_scheduler, name)(**params)
    return [float(schedule(step)) for step in range(1, 25)]


def trained(mx: Any, name: str) -> Any:
    """An updater after three steps of two weights, with a schedule."""
    updater = mx.optimizer.get_updater(make(mx, name, {
        **({"momentum": 0.9} if name == "sgd" else {}), "schedule": True, "wd": 0.01}))
    drawn = np.random.RandomState(3)
    for _ in range(3):
        for i, shape in enumerate(((2, 3), (4,))):
            updater(i, mx.nd.array(drawn.randn(*shape)), mx.nd.array(drawn.randn(*shape)))
    return updater
