"""Weights of bfloat16 with float32 copies: steps that are too small for bfloat16 add up."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx

pytest.importorskip("ml_dtypes")
RULES = {"sgd": {}, "sgd with momentum": {"momentum": 0.9}, "nag": {"momentum": 0.9}, "adam": {},
         "adamax": {}, "rmsprop": {}, "ftrl": {}, "lamb": {}, "lars": {"momentum": 0.9},
         "signum": {}, "adagrad": {}}
STEPS = 12


def trained(rule: str, dtype: str, multi_precision: bool) -> tuple[Any, Any]:
    """The weight after some steps, and what the updater keeps of it."""
    name = rule.split()[0]
    optimizer = mx.optimizer.create(name, learning_rate=1e-3, wd=1e-3, **RULES[rule],
                                    multi_precision=multi_precision)
    updater = mx.optimizer.get_updater(optimizer)
    rng = np.random.default_rng(4)
    weight = mx.nd.array(rng.uniform(0.5, 2, (6, 5))).astype("bfloat16").astype(dtype)
    for _ in range(STEPS):
        grad = mx.nd.array(rng.uniform(0.1, 1, (6, 5))).astype("bfloat16").astype(dtype)
        updater(0, grad, weight)
    return weight.astype("float32").asnumpy(), updater.states[0]


@pytest.mark.parametrize("rule", RULES)
def test_follows_float32(rule: str) -> None:
    full, _ = trained(rule, "float32", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, _ = trained(rule, "bfloat16", True)
    # the weight is the float32 copy, rounded once
    np.testing.assert_allclose(low, full, 2.0**-8)


def test_without_a_copy_it_is_said() -> None:
    with pytest.warns(UserWarning, match="Accumulating with bfloat16"):
        trained("sgd", "bfloat16", False)


def test_small_steps_add_up() -> None:
    weight = mx.nd.ones((4,), dtype="bfloat16")
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1e-3, multi_precision=True))
    for _ in range(100):
        updater(0, mx.nd.ones((4,), dtype="bfloat16"), weight)
    assert abs(weight.astype("float32").asnumpy() - 0.9).max() < 2.0**-9
