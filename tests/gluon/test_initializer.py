"""Initializers: what they fill arrays with, their texts, their names."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import initializer, registry
from ndarray_rt.initializer import InitDesc


def filled(init: object, shape: tuple[int, ...], name: str = "x_weight",
           **attrs: object) -> np.ndarray:
    array = mx.nd.ones(shape) * 9
    init(InitDesc(name, attrs), array)  # type: ignore[operator]
    return array.asnumpy()


def test_names_decide() -> None:
    init = mx.init.Constant(3)
    for name, value in (("a_weight", 3), ("a_bias", 0), ("a_gamma", 1), ("a_beta", 0),
                        ("a_min", 0), ("a_max", 1)):
        assert (filled(init, (2,), name) == value).all(), name
    with pytest.raises(ValueError, match="Unknown initialization pattern for a_mean"):
        filled(init, (2,), "a_mean")
    assert (filled(init, (2,), "a_mean", __init__="ones") == 1).all()
    assert (filled(init, (2,), "a", __init__='["constant", {"value": 5}]') == 5).all()


@pytest.mark.parametrize(("init", "text"), [
    (mx.init.Zero(), '["zero", {}]'), (mx.init.One(), '["one", {}]'),
    (mx.init.Constant(1), '["constant", {"value": 1}]'),
    (mx.init.Constant(mx.nd.ones((2,))), '["constant", {"value": [1.0, 1.0]}]'),
    (mx.init.Uniform(), '["uniform", {"scale": 0.07}]'),
    (mx.init.Normal(2), '["normal", {"sigma": 2}]'),
    (mx.init.Orthogonal(), '["orthogonal", {"scale": 1.414, "rand_type": "uniform"}]'),
    (mx.init.Xavier(),
     '["xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 3}]'),
    (mx.init.MSRAPrelu(), '["msraprelu", {"factor_type": "avg", "slope": 0.25}]'),
    (mx.init.Bilinear(), '["bilinear", {}]'), (mx.init.LSTMBias(), '["lstmbias", {}]'),
])
def test_dumps_and_create(init: initializer.Initializer, text: str) -> None:
    if text == '["lstmbias", {}]':
        text = '["lstmbias", {"forget_bias": 1.0}]'
    assert init.dumps() == text
    made = initializer.create(text)
    assert type(made) is type(init)
    assert made.dumps() == text
    assert mx.init.Xavier() == mx.init.Xavier() != mx.init.Xavier(magnitude=2)


def test_spreads() -> None:
    mx.random.seed(1)
    shape = (40, 30, 3, 3)
    uniform = filled(mx.init.Uniform(0.5), shape)
    assert -0.5 <= uniform.min() < -0.49
    assert 0.49 < uniform.max() < 0.5
    assert abs(filled(mx.init.Normal(0.2), shape).std() - 0.2) < 0.01
    fan_in, fan_out = 30 * 9, 40 * 9
    for factor, fan in (("avg", (fan_in + fan_out) / 2), ("in", fan_in), ("out", fan_out)):
        bound = np.sqrt(3 / fan)
        found = filled(mx.init.Xavier(factor_type=factor), shape)
        assert 0.99 * bound < np.abs(found).max() <= bound * (1 + 1e-6)
        found = filled(mx.init.Xavier("gaussian", factor), shape)
        assert abs(found.std() / bound - 1) < 0.05
    found = filled(mx.init.MSRAPrelu("in", 0.5), shape)
    assert abs(found.std() / np.sqrt(2 / 1.25 / fan_in) - 1) < 0.05
    for rule in (mx.init.Xavier("odd"), mx.init.Xavier(factor_type="odd")):
        with pytest.raises(ValueError, match="odd"):
            filled(rule, shape)
    with pytest.raises(ValueError, match="at least 2D"):
        filled(mx.init.Xavier(), (3,))


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("shape", [(4, 6), (6, 2, 2), (5, 5)])
def test_orthogonal(kind: str, shape: tuple[int, ...]) -> None:
    found = filled(mx.init.Orthogonal(2.0, kind), shape).reshape(shape[0], -1)
    product = found @ found.T if found.shape[0] <= found.shape[1] else found.T @ found
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_bilinear() -> None:
    row = np.array([0.25, 0.75, 0.75, 0.25])
    found = filled(mx.init.Bilinear(), (2, 1, 4, 4))
    assert (found == np.outer(row, row)).all()


def test_lstm_bias() -> None:
    assert filled(mx.init.LSTMBias(2.0), (8,)).tolist() == [0, 0, 2, 2, 0, 0, 0, 0]


def test_fused_rnn() -> None:
    # input 3, hidden 2, one layer, both directions
    size = 2 * (4 * 2 * (3 + 2) + 2 * 4 * 2)
    rule = mx.init.FusedRNN(mx.init.Constant(5), 2, 1, "lstm", True, forget_bias=7.0)
    found = filled(rule, (size,), "rnn_parameters", __init__=rule.dumps())
    assert (found[:80] == 5).all()
    bias = found[80:].reshape(4, 4, 2)
    assert (bias[:, 1] == 7).all()
    assert not bias[:, [0, 2, 3]].any()
    with pytest.raises(mx.MXNetError, match="81 parameters"):
        filled(rule, (81,))
    assert json.loads(rule.dumps())[1]["init"] == '["constant", {"value": 5}]'


def test_load(tmp_path: Path) -> None:
    path = str(tmp_path / "x.params")
    mx.nd.save(path, {"arg:a": mx.nd.ones((2,)), "aux:b": mx.nd.zeros((2,))})
    init = mx.init.Load(path, default_init=mx.init.Constant(4))
    assert filled(init, (2,), "a").tolist() == [1, 1]
    assert filled(init, (2,), "b").tolist() == [0, 0]
    assert filled(init, (2,), "c_weight").tolist() == [4, 4]
    with pytest.raises(AssertionError, match="Shape mismatch"):
        filled(init, (3,), "a")
    with pytest.raises(AssertionError, match="no default"):
        filled(mx.init.Load({}), (3,), "a")


def test_mixed() -> None:
    init = mx.init.Mixed(["a.*", ".*"], [mx.init.One(), mx.init.Constant(2)])
    assert filled(init, (1,), "a_weight").tolist() == [1]
    assert filled(init, (1,), "b_weight").tolist() == [2]
    with pytest.raises(ValueError, match="did not match"):
        filled(mx.init.Mixed(["a"], [mx.init.One()]), (1,), "b_weight")
    with pytest.raises(AssertionError, match="2 patterns"):
        mx.init.Mixed(["a", "b"], [mx.init.One()])
    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize(mx.init.One())
    assert net.weight.data().asnumpy().tolist() == [[1, 1], [1, 1]]


def test_legacy_names() -> None:
    array = mx.nd.ones((2,)) * 9
    with pytest.warns(DeprecationWarning, match="InitDesc"):
        mx.init.One()("a_moving_mean", array)
    assert array.asnumpy().tolist() == [0, 0]
    with (pytest.warns(DeprecationWarning, match="InitDesc"),
          pytest.raises(ValueError, match="pattern")):
        mx.init.One()("odd", array)


def test_verbosity(caplog: pytest.LogCaptureFixture) -> None:
    init = mx.init.One().set_verbosity(True)
    with caplog.at_level(logging.INFO):
        filled(init, (4,))
    assert "Initialized x_weight as weight: 1.0" in caplog.text


def test_register() -> None:
    @mx.init.register
    class Sevens(mx.init.Initializer):
        def _init_weight(self, name: object, arr: mx.nd.NDArray) -> None:
            arr[:] = 7

    try:
        assert filled(mx.init.One(), (2,), __init__="sevens").tolist() == [7, 7]
        with pytest.warns(UserWarning, match="takes the place"):
            mx.init.register(Sevens)
        with pytest.raises(AssertionError, match="subclass"):
            mx.init.register(int)
    finally:
        registry._REGISTRY[mx.init.Initializer].pop("sevens")
    with pytest.raises(AssertionError, match="sevens is not registered"):
        initializer.create("sevens")
    with pytest.raises(AssertionError, match="further arguments"):
        initializer.create(mx.init.One(), 3)
    assert "xavier" in registry.get_registry(mx.init.Initializer)
    with pytest.raises(NotImplementedError, match="override"):
        filled(mx.init.Initializer(), (1,))
