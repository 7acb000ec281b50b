"""Cells of gluon.contrib.rnn, and unrolling by a loop."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.gluon import rnn
from ndarray_rt.gluon.contrib import rnn as contrib_rnn
from ndarray_rt.gluon.contrib.rnn import LSTMPCell, VariationalDropoutCell, dynamic_unroll
from ndarray_rt.gluon.errors import Mismatch


def test_cell_with_a_projection_equals_the_fused_layer() -> None:
    layer = rnn.LSTM(6, projection_size=3, layout="NTC", input_size=5, prefix="lstm_")
    layer.initialize()
    cell = LSTMPCell(6, 3, prefix="lstm_l0_")
    cell.initialize()
    x = mx.nd.random.uniform(-1, 1, shape=(2, 4, 5))
    cell.unroll(4, x)  # shapes follow from it
    for name, param in cell.collect_params().items():
        param.set_data(layer.collect_params()[name].data())
    outputs, states = cell.unroll(4, x, merge_outputs=True)
    np.testing.assert_allclose(outputs.asnumpy(), layer(x).asnumpy(), rtol=1e-5, atol=1e-6)
    assert [state.shape for state in states] == [(2, 3), (2, 6)]
    assert repr(cell) == "LSTMPCell(5 -> 24 -> 3)"


@pytest.mark.parametrize("has_lengths", [False, True], ids=["whole", "lengths"])
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
def test_dynamic_unroll_equals_unroll(layout: str, has_lengths: bool) -> None:
    cell = rnn.LSTMCell(3, input_size=5)
    cell.initialize()
    x = mx.nd.random.uniform(-1, 1, shape=(4, 4, 5))
    lengths = mx.nd.array([4, 2, 1, 3]) if has_lengths else None
    begin = [mx.nd.ones((4, 3)), mx.nd.zeros((4, 3))]
    want, last = cell.unroll(4, x, begin, layout, True, lengths)
    got, states = dynamic_unroll(cell, x, begin, layout=layout, valid_length=lengths)
    for one, other in zip([got, *states], [want, *last], strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", ["TNC", "NTC"])
def test_dynamic_unroll_drops_the_same_at_every_step(layout: str) -> None:
    cell = rnn.RNNCell(30, input_size=5, i2h_bias_initializer="ones")
    cell.initialize()
    x = mx.nd.ones((4, 4, 5))
    with mx.autograd.record():
        outputs, _ = dynamic_unroll(cell, x, cell.begin_state(4), drop_outputs=0.5, layout=layout)
    is_zero = outputs.asnumpy() == 0
    first = is_zero[:1] if layout == "TNC" else is_zero[:, :1]
    np.testing.assert_array_equal(is_zero, np.broadcast_to(first, is_zero.shape))
    assert 0.3 < first.mean() < 0.7


@pytest.mark.parametrize("drop_states", [0, 0.4])
def test_variational_dropout_holds_its_masks(drop_states: float) -> None:
    cell = VariationalDropoutCell(rnn.RNNCell(50, input_size=5, i2h_bias_initializer="ones"),
                                  drop_states=drop_states, drop_outputs=0.5)
    cell.initialize()
    with mx.autograd.record():
        outputs, _ = cell.unroll(3, mx.nd.ones((2, 3, 5)), merge_outputs=True)
    is_zero = outputs.asnumpy() == 0
    np.testing.assert_array_equal(is_zero, np.broadcast_to(is_zero[:, :1], is_zero.shape))
    assert 0.2 < is_zero.mean() < 0.8
    both = rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2))
    with pytest.raises(Mismatch, match="variational state dropout"):
        VariationalDropoutCell(both, drop_states=0.5)


def test_wrong_settings_of_convolutional_cells_are_named() -> None:
    with pytest.raises(Mismatch, match="odd number"):
        contrib_rnn.Conv2DGRUCell((3, 4, 4), 2, 3, (2, 3))
    with pytest.raises(Mismatch, match=r"length 1, got \(1, 2\)"):
        contrib_rnn.Conv1DLSTMCell((3, 4), 2, 3, 3, i2h_pad=(1, 2))


def test_convolutional_cells_are_classes_as_others() -> None:
    cell = contrib_rnn.Conv1DRNNCell((3, 4), 2, 3, 3)
    assert pickle.loads(pickle.dumps(contrib_rnn.Conv1DRNNCell)) is type(cell)
    assert repr(cell) == "Conv1DRNNCell(3 -> 2, tanh, NCW)"
    assert cell.name.startswith("conv_rnn")
    assert cell.state_info(5) == [{"shape": (5, 2, 2), "__layout__": "NCW"}]
    leaky = contrib_rnn.Conv1DRNNCell((3, 4), 2, 3, 3, activation=mx.gluon.nn.LeakyReLU(0.5))
    leaky.initialize()
    assert leaky(mx.nd.ones((5, 3, 4)), leaky.begin_state(5))[0].shape == (5, 2, 2)
