"""Patterns that graphs spell out: what they become, and what looks like them and stays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.op.calibration import SLOW_POST_OPS
from ndarray_rt.passes.pipeline import Optimized

from .pass_checks import DATA, SHAPE, check, conv, operators, optimized

S = mx.sym
X = S.sin(DATA)
ROOT2 = math.sqrt(2)


def constant(value: float, shape: tuple[int, ...] = (1, 1, 1, 1)) -> Any:
    return S.full(shape, value)


# ---- activations --------------------------------------------------------------------------------

GELU: list[Callable[[Any], Any]] = [
    lambda x: x * 0.5 * (1 + S.erf(x / ROOT2)),
    lambda x: 0.5 * (x * (S.erf(x * (1 / ROOT2)) + 1)),
    lambda x: (S.erf(x / 1.41421) + 1.0) * (x * 0.5),
    lambda x: x * (0.5 + 0.5 * S.erf(0.70710678 * x)),
    lambda x: S.broadcast_mul(S.broadcast_mul(x, constant(0.5)), S.broadcast_add(
        S.erf(S.broadcast_div(x, constant(ROOT2))), constant(1))),
]
C = math.sqrt(2 / math.pi)
GELU_TANH: list[Callable[[Any], Any]] = [
    lambda x: 0.5 * x * (1 + S.tanh(C * (x + 0.044715 * x ** 3))),
    lambda x: 0.5 * x * (1 + S.tanh(0.7978846 * (x + 0.044715 * (x * x * x)))),
    lambda x: x * (0.5 * (1 + S.Activation(x * C * (1 + 0.044715 * S.square(x)),
                                           act_type="tanh"))),
]


def behind(done: Optimized) -> Any:
    """The parameters of what the head reads."""
    return done.heads[0].node.inputs[0].node.params


@pytest.mark.parametrize("spelled", GELU)
def test_gelu(spelled: Any) -> None:
    done = check(S.cos(spelled(X)), ["sin", "LeakyReLU", "cos"], data=SHAPE)
    assert behind(done).act_type == "gelu"


@pytest.mark.parametrize("spelled", GELU_TANH)
def test_gelu_by_tanh(spelled: Any) -> None:
    done = check(S.cos(spelled(X)), ["sin", "_fused_elementwise", "cos"], data=SHAPE)
    assert behind(done).post_ops == "gelu_tanh"


FUSED = {
    "swish": lambda x: x * S.sigmoid(x),
    "swish:1.702:0.0": lambda x: S.Activation(1.702 * x, act_type="sigmoid") * x,
    "mish": lambda x: x * S.tanh(S.Activation(x, act_type="softrelu")),
    "hardsigmoid": lambda x: S.clip(x + 3, 0, 6) / 6,
    "hardswish": lambda x: x * S.clip(x + 3, 0, 6) / 6,
}
SAME = [
    ("swish", lambda x: S.elemwise_mul(S.sigmoid(x), x)),
    ("mish", lambda x: S.tanh(S.log(S.exp(x) + 1)) * x),
    ("mish", lambda x: S.tanh(S.log1p(S.exp(x))) * x),
    ("hardsigmoid", lambda x: S.clip(0.2 * x + 0.5, 0, 1)),
    ("hardsigmoid", lambda x: S.clip(x / 6 + 0.5, a_min=0, a_max=1)),
    ("hardsigmoid", lambda x: S._internal._minimum_scalar(S.relu(x + 3), scalar=6) * (1 / 6)),
    ("hardswish", lambda x: (S.clip(x + 3, 0, 6) * x) * (1 / 6)),
    ("hardswish", lambda x: x * (S.clip(x + 3, 0, 6) / 6)),
    ("hardswish", lambda x: x * S.clip(x / 6 + 0.5, 0, 1)),
]


@pytest.mark.parametrize(("name", "spelled"), [*FUSED.items(), *SAME])
def test_other_activations(name: str, spelled: Any) -> None:
    done = check(S.cos(spelled(X)), ["sin", "_fused_elementwise", "cos"], data=SHAPE)
    found = behind(done).post_ops
    assert found.split(":")[0] == name.split(":")[0]


@pytest.mark.parametrize(("name", "spelled"), [
    ("LeakyReLU", lambda x: S.maximum(x, 0.1 * x)),
    ("LeakyReLU", lambda x: S.broadcast_maximum(x * 0.3, x)),
    ("LeakyReLU", lambda x: S.relu(x) - 0.2 * S.relu(-x)),
    ("LeakyReLU", lambda x: S.relu(x) + (-0.2) * S.relu(-1 * x)),
    ("clip", lambda x: S.minimum(S.maximum(x, -0.3), 0.4)),
    ("clip", lambda x: S.maximum(S.minimum(x, 0.4), -0.3)),
    ("clip", lambda x: S.minimum(S.relu(x), 0.4)),
    ("relu", lambda x: S.maximum(x, 0)),
])
def test_what_is_an_operator_already(name: str, spelled: Any) -> None:
    check(S.cos(spelled(X)), ["sin", name, "cos"], data=SHAPE)


@pytest.mark.parametrize("spelled", [
    lambda x: x * 0.5 * (1 + S.erf(x)),
    lambda x: x * (1 + S.erf(x / ROOT2)),
    lambda x: x * 0.5 * (2 + S.erf(x / ROOT2)),
    lambda x: x * 0.5 * (1 + S.erf(S.cos(x) / ROOT2)),
    lambda x: x * 0.5 * (1 - S.erf(x / ROOT2)),
    lambda x: 0.5 * x * (1 + S.tanh(C * (x + 0.05 * x ** 3))),
    lambda x: x * S.sigmoid(x + 1),
    lambda x: x * S.clip(x + 3, 0, 6) / 5,
    lambda x: x * S.clip(x + 3, 1, 6) / 6,
    lambda x: S.clip(x, 0, 1),
    lambda x: S.maximum(x, 1.5 * x),
    lambda x: S.maximum(x, -0.5 * x),
    lambda x: S.maximum(S.minimum(x, -0.4), 0.3),
    lambda x: S.relu(x) - 0.2 * S.relu(x),
])
def test_what_is_nearly_an_activation_stays_right(spelled: Any) -> None:
    done = check(S.cos(spelled(X)), data=SHAPE)
    names = "swish", "mish", "hard", "gelu"
    for node in {entry.node for entry in done.heads[0].node.inputs}:
        assert node.op is not None
        assert node.op.name != "LeakyReLU"
        assert not any(name in getattr(node.params, "post_ops", "") for name in names)


def test_steps_that_are_read_elsewhere_stay() -> None:
    inner = 1 + S.erf(X / ROOT2)
    net = S.Group([S.cos(X * 0.5 * inner), S.cos(inner)])
    assert "LeakyReLU" not in operators(check(net, data=SHAPE).heads)
    gate = S.sigmoid(X, name="gate")
    assert operators(check(S.Group([X * gate, gate]), data=SHAPE).heads).count("sigmoid") == 1


def test_a_gate_that_broadcasts_stays() -> None:
    other = S.Variable("other", shape=(2, 3, 1, 1))
    net = S.broadcast_mul(S.sin(DATA), S.sigmoid(S.mean(S.sin(DATA), axis=(2, 3), keepdims=True)))
    check(net, data=SHAPE)
    check(S.broadcast_mul(S.sin(DATA), S.sigmoid(other)), data=SHAPE)


def test_activations_in_other_dtypes_stay() -> None:
    done = optimized(S.cos(GELU[0](X)), np.float64, data=SHAPE)
    assert "LeakyReLU" not in operators(done.heads)


@pytest.mark.parametrize("spelled", [GELU[0], *FUSED.values()])
def test_activations_go_into_layers(spelled: Any) -> None:
    check(spelled(conv(DATA)), ["_fused_Convolution"], data=SHAPE)
    dense = S.FullyConnected(DATA, num_hidden=7, name="f")
    check(spelled(dense), ["_fused_FullyConnected"], data=(3, 5))


def test_gelu_by_tanh_goes_into_layers_where_it_is_fast_there() -> None:
    check(GELU_TANH[0](conv(DATA)), ["Convolution", "_fused_elementwise"]
          if "gelu_tanh" in SLOW_POST_OPS else ["_fused_Convolution"], data=SHAPE)


# ---- layer norm ---------------------------------------------------------------------------------

ROWS = (2, 4, 6)
GAMMA, BETA = S.Variable("gamma", shape=(6,)), S.Variable("beta", shape=(6,))


def mean(x: Any, axis: int = -1) -> Any:
    return S.mean(x, axis=axis, keepdims=True)


def centered(x: Any) -> Any:
    return S.broadcast_sub(x, mean(x))


def scaled(x: Any) -> Any:
    return S.broadcast_mul(x, GAMMA)


def shifted(x: Any) -> Any:
    return S.broadcast_add(x, BETA)


def variance(c: Any) -> Any:
    return mean(S.square(c))


NORMS: list[Callable[[Any], Any]] = [
    lambda c: shifted(scaled(S.broadcast_div(c, S.sqrt(variance(c) + 1e-5)))),
    lambda c: S.broadcast_add(BETA, S.broadcast_mul(GAMMA, S.broadcast_mul(
        c, S.rsqrt(1e-5 + mean(c * c))))),
    lambda c: shifted(S.broadcast_mul(c, scaled(S.rsqrt(variance(c) + 1e-5)))),
    lambda c: S.broadcast_div(c, (mean(c ** 2) + 1e-6) ** 0.5),
    lambda c: scaled(S.broadcast_mul(c, (variance(c) + 1e-6) ** -0.5)),
    lambda c: shifted(S.broadcast_div(c, S.sqrt(variance(c)))),
    lambda c: S.broadcast_add(scaled(S.broadcast_div(c, S.sqrt(variance(c) + 1e-5))),
                              S.Variable("wide", shape=(1, 1, 6))),
]


@pytest.mark.parametrize("spelled", NORMS)
def test_layer_norm(spelled: Any) -> None:
    done = check(S.cos(spelled(centered(S.sin(DATA)))), data=ROWS)
    left = [name for name in operators(done.heads) if name not in ("_constant", "Reshape", "_ones",
                                                                  "_zeros")]
    assert left == ["sin", "LayerNorm", "cos"]


def test_layer_norm_of_a_mean_taken_twice() -> None:
    x = S.sin(DATA)
    net = S.broadcast_div(centered(x), S.sqrt(variance(centered(x)) + 1e-5))
    assert "LayerNorm" in operators(check(net, data=ROWS).heads)


@pytest.mark.parametrize("spelled", [
    lambda x: S.broadcast_div(S.broadcast_sub(x, mean(x, 1)),
                              S.sqrt(mean(S.square(S.broadcast_sub(x, mean(x, 1))), 1) + 1e-5)),
    lambda x: S.broadcast_div(centered(x), S.sqrt(variance(x) + 1e-5)),
    lambda x: S.broadcast_div(centered(x), variance(centered(x)) + 1e-5),
    lambda x: S.broadcast_mul(centered(x), S.sqrt(variance(centered(x)) + 1e-5)),
    lambda x: S.broadcast_div(2 * centered(x), S.sqrt(variance(centered(x)) + 1e-5)),
])
def test_what_is_nearly_a_layer_norm_stays(spelled: Any) -> None:
    assert "LayerNorm" not in operators(check(spelled(S.sin(DATA)), data=ROWS).heads)


def test_a_layer_norm_whose_steps_are_read_stays() -> None:
    c = centered(S.sin(DATA))
    net = S.Group([NORMS[0](c), S.cos(c)])
    assert "LayerNorm" not in operators(check(net, data=ROWS).heads)


# ---- softmax ------------------------------------------------------------------------------------


def spelled_softmax(x: Any, axis: int, other: int | None = None) -> Any:
    e = S.exp(S.broadcast_sub(x, S.max(x, axis=axis, keepdims=True)))
    return S.broadcast_div(e, S.sum(e, axis=axis if other is None else other, keepdims=True))


@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_softmax(axis: int) -> None:
    check(S.cos(spelled_softmax(S.sin(DATA), axis)), ["sin", "softmax", "cos"], data=ROWS)


def test_what_is_nearly_softmax_stays() -> None:
    assert "softmax" not in operators(
        check(spelled_softmax(S.sin(DATA), 1, 2), data=ROWS).heads)
    e = S.exp(S.sin(DATA))
    bare = S.broadcast_div(e, S.sum(e, axis=1, keepdims=True))
    assert "softmax" not in operators(check(bare, data=ROWS).heads)
