"""Recurrent cells and layers give what MXNet 1.9.1 gave (data/make_mxnet_gluon_rnn.py)."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import gluon
from ndarray_rt.gluon import rnn
from ndarray_rt.gluon.errors import Mismatch

from . import cases

DATA = Path(__file__).parents[2] / "data" / "mxnet_gluon_rnn"
HYBRID = pytest.mark.parametrize("is_hybrid", [False, True], ids=["imperative", "hybridized"])


@lru_cache(maxsize=1)
def answers() -> dict[str, np.ndarray]:
    with np.load(DATA / "answers.npz") as data:
        return dict(data)


def compare(got: dict[str, np.ndarray], prefix: str) -> None:
    want = {key.removeprefix(prefix): value for key, value in answers().items()
            if key.startswith(prefix)}
    assert set(got) == set(want)
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=2e-5, atol=5e-6, err_msg=name)


@HYBRID
@pytest.mark.parametrize("has_lengths", [False, True], ids=["whole", "lengths"])
@pytest.mark.parametrize("name", cases.CELLS)
def test_cells(name: str, has_lengths: bool, is_hybrid: bool) -> None:
    compare(cases.run_cell(mx, name, has_lengths, is_hybrid), f"cell.{name}.{has_lengths}.")


@HYBRID
@pytest.mark.parametrize("name", cases.CONVOLUTIONAL)
def test_convolutional_cells(name: str, is_hybrid: bool) -> None:
    got = cases.run_convolutional(mx, name, is_hybrid)
    with np.load(DATA / "convolutional.npz") as want:
        assert {f"{name}.{key}" for key in got} == {
            key for key in want.files if key.startswith(f"{name}.")}
        for key, value in got.items():
            np.testing.assert_allclose(value, want[f"{name}.{key}"], rtol=2e-5, atol=1e-5,
                                       err_msg=key)


@HYBRID
@pytest.mark.parametrize("name", cases.LAYERS)
def test_layers(name: str, is_hybrid: bool) -> None:
    compare(cases.run_layer(mx, name, is_hybrid), f"layer.{name}.")


@pytest.mark.parametrize("name", json.loads((DATA / "names.json").read_text()))
def test_names(name: str) -> None:
    assert cases.names(mx)[name] == json.loads((DATA / "names.json").read_text())[name]


@HYBRID
def test_unfused_layer_equals_the_fused_one(is_hybrid: bool) -> None:
    layer = rnn.LSTM(3, 2, layout="NTC", bidirectional=True, input_size=5)
    layer.initialize()
    stack = layer._unfuse()
    if is_hybrid:
        layer.hybridize()
        stack.hybridize()
    x = mx.nd.random.uniform(-1, 1, shape=(2, 4, 5))
    outputs, _ = stack.unroll(4, x, layout="NTC", merge_outputs=True)
    np.testing.assert_allclose(outputs.asnumpy(), layer(x).asnumpy(), rtol=1e-5, atol=1e-6)


@HYBRID
def test_states_may_be_given_in_one_call_and_not_in_the_next(is_hybrid: bool) -> None:
    layer = rnn.GRU(3, input_size=5)
    layer.initialize()
    if is_hybrid:
        layer.hybridize()
    x = mx.nd.ones((4, 2, 5))
    plain = layer(x).asnumpy()
    output, states = layer(x, layer.begin_state(2))
    np.testing.assert_array_equal(output.asnumpy(), plain)
    np.testing.assert_array_equal(states[0].asnumpy()[0], plain[-1])
    np.testing.assert_array_equal(layer(x).asnumpy(), plain)


@HYBRID
@pytest.mark.parametrize("kind", [rnn.RNN, rnn.LSTM, rnn.GRU])
def test_sequence_length(kind: Any, is_hybrid: bool) -> None:
    layer = kind(3, bidirectional=True, input_size=5, use_sequence_length=True)
    layer.initialize()
    if is_hybrid:
        layer.hybridize()
    x = mx.nd.random.uniform(-1, 1, shape=(4, 2, 5))
    whole = layer(x, sequence_length=mx.nd.array([4, 2])).asnumpy()
    short = layer(x[:2], sequence_length=mx.nd.array([2, 2])).asnumpy()
    assert not whole[2:, 1].any()
    assert whole[2:, 0].any()
    np.testing.assert_allclose(whole[:2, 1], short[:, 1], rtol=1e-5, atol=1e-6)


def test_projection_and_saved_file(tmp_path: Path) -> None:
    layer = rnn.LSTM(6, 2, projection_size=3, bidirectional=True, state_clip_min=-0.5,
                     state_clip_max=0.5)
    layer.initialize()
    x = mx.nd.ones((4, 2, 5))
    output, states = layer(x, layer.begin_state(2))
    assert output.shape == (4, 2, 6)
    assert [state.shape for state in states] == [(4, 2, 3), (4, 2, 6)]
    assert abs(states[1].asnumpy()).max() <= 0.5
    layer.save_parameters(str(tmp_path / "lstm.params"))
    other = rnn.LSTM(6, 2, projection_size=3, bidirectional=True, state_clip_min=-0.5,
                     state_clip_max=0.5)
    other.load_parameters(str(tmp_path / "lstm.params"))
    np.testing.assert_array_equal(other(x).asnumpy(), output.asnumpy())


def test_zoneout_keeps_outputs_and_states() -> None:
    cell = rnn.ZoneoutCell(rnn.RNNCell(200, input_size=5), 0.5, 0.3)
    cell.initialize()
    state = [mx.nd.full((2, 200), 9)]
    with mx.autograd.record():
        output, (after,) = cell(mx.nd.ones((2, 5)), state)
    assert 0.4 < (output.asnumpy() == 0).mean() < 0.6
    assert 0.2 < (after.asnumpy() == 9).mean() < 0.4


def test_refusals() -> None:
    base = rnn.LSTMCell(3)
    rnn.ZoneoutCell(base)
    with pytest.raises(Mismatch, match="Call the modifier cell"):
        base.begin_state(batch_size=2)
    with pytest.raises(Mismatch, match="cannot be modified twice"):
        rnn.ResidualCell(base)
    both = rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2))
    with pytest.raises(Mismatch, match="doesn't support zoneout"):
        rnn.ZoneoutCell(both)
    with pytest.raises(NotImplementedError, match="cannot be stepped"):
        both(mx.nd.ones((2, 3)), [])
    with pytest.raises(Mismatch, match="Invalid layout NCT"):
        rnn.LSTM(3, layout="NCT")
    with pytest.raises(Mismatch, match="activation must be 'relu' or 'tanh', got 'elu'"):
        rnn.RNN(3, activation="elu")
    with pytest.raises(Mismatch, match="length is 3, the NTC input has 4 steps"):
        rnn.GRUCell(3).unroll(3, mx.nd.ones((2, 4, 5)))
    layer = rnn.GRU(3, input_size=5)
    layer.initialize()
    with pytest.raises(Mismatch, match="Invalid recurrent state shape"):
        layer(mx.nd.ones((4, 2, 5)), mx.nd.ones((1, 3, 3)))


def test_zeros_and_ones_take_what_symbols_have() -> None:
    assert mx.nd.zeros((2,), name="x", __layout__="NC").shape == (2,)
    with pytest.raises(TypeError, match="unexpected keyword argument 'shap'"):
        mx.nd.ones((2,), shap=3)


def test_vector_of_two_directions_that_its_length_does_not_allow() -> None:
    parts = [mx.sym.var("a"), mx.sym.var("b"), mx.sym.var("c", shape=(4,))]
    vector = mx.sym._internal._rnn_param_concat(*parts, dim=0)
    with pytest.raises(mx.errors.ShapeError, match="leaves 5 elements for 2 equal inputs"):
        (vector + mx.sym.var("d", shape=(9,))).infer_shape(a=(-1,), b=(-1,))


@pytest.mark.parametrize("kind", [rnn.RNN, rnn.LSTM, rnn.GRU])
def test_a_layer_in_a_block_begins_with_zeros_whichever_way_backward_goes(kind: Any) -> None:
    def gradients(is_hybrid: bool, is_called_twice: bool) -> list[Any]:
        mx.random.seed(0)
        net = gluon.nn.HybridSequential()
        net.add(kind(5, input_size=3))
        net.initialize(mx.init.Uniform(0.5))
        if is_hybrid:
            net.hybridize()
        x = mx.nd.random.uniform(shape=(4, 2, 3))
        params = [p.data() for p in net.collect_params().values()]
        with mx.autograd.record():
            loss = (net(x) ** 2).sum()
            if is_called_twice:
                loss = loss + net(x * 0.5).sum()
        if not is_called_twice:
            return [g.asnumpy() for g in mx.autograd.grad(loss, params)]
        loss.backward()
        return [p.grad.asnumpy() for p in params]

    for is_called_twice in (False, True):
        for got, wanted in zip(gradients(True, is_called_twice), gradients(False, is_called_twice),
                               strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
