"""Symbolic cells give the graphs and numbers of MXNet 1.9.1 (data/make_mxnet_cells.py)."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.errors import MXNetError, NameMismatch, ShapeError
from ndarray_rt.rnn.errors import CellError

from . import cases

DATA = Path(__file__).parents[1] / "data" / "mxnet_cells"
DENSE = [name for name in cases.CELLS if not name.startswith("conv")]


@lru_cache(maxsize=1)
def answers() -> dict[str, np.ndarray]:
    with np.load(DATA / "answers.npz") as data:
        return dict(data)


def compare(got: dict[str, np.ndarray], prefix: str) -> None:
    want = {key.removeprefix(prefix): value for key, value in answers().items()
            if key.startswith(prefix)}
    assert set(got) == set(want)
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=2e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", cases.CELLS)
def test_graphs(name: str) -> None:
    assert cases.graph(mx, name, "free") == json.loads((DATA / "graphs.json").read_text())[name]


@pytest.mark.parametrize(("name", "how"), [
    (name, how) for name in cases.CELLS for how in cases.ways(name)])
def test_numbers(name: str, how: str) -> None:
    if (name, how) == ("conv_gru", "free") and not has_avx512():
        pytest.skip("MXNet's own float32 is further from float64 than the tolerance: see below")
    compare(cases.run(mx, name, how), f"{name}.{how}.")


def test_gradients_of_a_convolutional_gru_are_those_of_float64() -> None:
    """Sums of terms that cancel out: numbers near 0 beside others near 100 have their error."""
    exact = cases.run(mx, "conv_gru", "free", "float64")
    for name, got in cases.run(mx, "conv_gru", "free").items():
        error = 8 * np.finfo(np.float32).eps * np.abs(exact[name]).max()
        np.testing.assert_allclose(got, exact[name], rtol=0, atol=error, err_msg=name)
        np.testing.assert_allclose(answers()[f"conv_gru.free.{name}"], exact[name], rtol=0,
                                   atol=error, err_msg=name)


@pytest.mark.parametrize("name", DENSE)
def test_unpacked_weights(name: str) -> None:
    compare(cases.unpacked(mx, name), f"{name}.unpacked.")


@pytest.mark.parametrize("name", DENSE)
def test_packed_again(name: str) -> None:
    cell, _ = cases.unroll(mx, name, "merged")
    unpacked = {key: mx.nd.array(value) for key, value in cases.unpacked(mx, name).items()}
    packed = cell.pack_weights(unpacked)
    assert not set(packed) & {key for key in unpacked if "_i2h_" in key and name.startswith("fu")}
    again = cell.unpack_weights(packed)
    assert set(again) == set(unpacked)
    for key, value in unpacked.items():
        np.testing.assert_array_equal(again[key].asnumpy(), value.asnumpy())


@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_fused_equals_unfused(mode: str, bidirectional: bool) -> None:
    fused = mx.rnn.FusedRNNCell(4, 2, mode, bidirectional, prefix="f_")
    data = mx.sym.Variable("data")
    together = fused.unroll(3, data, layout="TNC", merge_outputs=True)[0]
    apart = fused.unfuse().unroll(3, data, layout="TNC", merge_outputs=True)[0]
    shape = (3, 2, 5)
    size = together.infer_shape(data=shape)[0][together.list_arguments().index("f_parameters")]
    args = {"f_parameters": mx.nd.random.uniform(-1, 1, shape=size)}
    x = mx.nd.random.uniform(-1, 1, shape=shape)
    one = together.bind(mx.cpu(), {"data": x, **args, **_zeros(together, shape)}).forward()[0]
    weights = fused.unfuse().pack_weights(fused.unpack_weights(args))
    other = apart.bind(mx.cpu(), {"data": x, **weights, **_zeros(apart, shape)}).forward()[0]
    np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)


def _zeros(symbol: Any, shape: Any) -> dict[str, Any]:
    """States that are inputs."""
    return {name: mx.nd.zeros(found) for name, found in
            zip(symbol.list_arguments(), symbol.infer_shape(data=shape)[0], strict=True)
            if "begin_state" in name}


def test_first_biases_of_forget_gates() -> None:
    fused = mx.rnn.FusedRNNCell(4, 2, forget_bias=3.0, prefix="f_")
    outputs = fused.unroll(2, mx.sym.Variable("data"), layout="TNC", merge_outputs=True)[0]
    module = mx.mod.Module(outputs, label_names=None)
    module.bind([("data", (2, 3, 5))])
    module.init_params(mx.init.Xavier())
    found = fused.unpack_weights(module.get_params()[0])
    for layer in (0, 1):
        assert (found[f"f_l{layer}_i2h_f_bias"].asnumpy() == 3).all()
        assert (found[f"f_l{layer}_i2h_i_bias"].asnumpy() == 0).all()
        assert abs(found[f"f_l{layer}_i2h_i_weight"].asnumpy()).max() > 0


@pytest.mark.parametrize("build", [
    lambda: mx.rnn.RNNCell(50), lambda: mx.rnn.ConvLSTMCell((2, 3, 4, 4), 2),
    lambda: _of(mx.rnn.SequentialRNNCell(), mx.rnn.RNNCell(50))], ids=["rnn", "conv", "stack"])
def test_zoneout_keeps_what_was(build: Any) -> None:
    """Some of the outputs, which begin at 0."""
    cell = mx.rnn.ZoneoutCell(build(), zoneout_outputs=0.5, zoneout_states=0.5)
    is_image = isinstance(cell.base_cell, mx.rnn.BaseConvRNNCell)
    shape = (2, 3, 4, 4) if is_image else (2, 5)
    inputs = [mx.sym.Variable(f"x{i}") for i in range(2)]
    for _ in range(2):  # names begin anew
        outputs, _ = cell.unroll(2, inputs)
    group = mx.sym.Group(outputs)
    executor = group.simple_bind(mx.cpu(), x0=shape, x1=shape)
    for array in executor.arg_dict.values():
        array[:] = mx.nd.random.uniform(0.5, 1, shape=array.shape)
    first = executor.forward(is_train=True)[0].asnumpy()
    assert 0 < (first == 0).mean() < 1
    assert (executor.forward(is_train=False)[0].asnumpy() != 0).all()
    assert len(set(group.get_internals().list_outputs())) == len(
        group.get_internals().list_outputs())


def _of(stack: Any, cell: Any) -> Any:
    stack.add(cell)
    return stack


def test_states_that_are_inputs_and_given_functions() -> None:
    cell = mx.rnn.ResidualCell(mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(5)))
    names = [state.name for state in cell.begin_state(mx.sym.Variable)]
    assert names == ["lstm_begin_state_0", "lstm_begin_state_1"]
    assert cell.state_shape == [(0, 5), (0, 5)]
    stack = _of(mx.rnn.SequentialRNNCell(), mx.rnn.GRUCell(5))
    state, = mx.rnn.ResidualCell(stack).begin_state(mx.sym.ones)
    assert state.name == "gru_begin_state_0"
    output, states = stack(mx.sym.Variable("x"), [mx.sym.Variable("h")])
    assert output.list_outputs() == states[0].list_outputs() == ["gru_t0_out_output"]


def test_shared_variables() -> None:
    params = mx.rnn.RNNParams("shared_")
    cells = [mx.rnn.LSTMCell(4, prefix=prefix, params=params) for prefix in ("a_", "b_")]
    x = mx.sym.Variable("x")
    outputs = mx.sym.Group([cell.unroll(1, [x])[0][0] for cell in cells])
    assert outputs.list_arguments().count("shared_i2h_weight") == 1
    assert params.get("i2h_weight") is cells[0].params.get("i2h_weight")
    stack = mx.rnn.SequentialRNNCell(params=params)
    with pytest.raises(CellError, match="not both"):
        stack.add(cells[0])
    stack.add(mx.rnn.RNNCell(4))
    assert "shared_i2h_bias" in stack.params._params


@pytest.mark.parametrize(("wrong", "error", "text"), [
    (lambda rnn: rnn.FusedRNNCell(3)(None, []), NotImplementedError, "cannot be stepped"),
    (lambda rnn: rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(2))(None, []),
     NotImplementedError, "cannot be stepped"),
    (lambda rnn: rnn.ZoneoutCell(rnn.FusedRNNCell(3)), AssertionError, "unfuse first"),
    (lambda rnn: rnn.ZoneoutCell(cases.CELLS["stack"](rnn)), AssertionError, "underneath"),
    (lambda rnn: rnn.DropoutCell("much"), AssertionError, "must be a number, got 'much'"),
    (lambda rnn: rnn.RNNCell(3).unroll(2, None), AssertionError, "inputs is None"),
    (lambda rnn: rnn.RNNCell(3).unroll(2, [mx.sym.var("x")]), AssertionError,
     "length is 2, got 1 inputs"),
    (lambda rnn: rnn.RNNCell(3).unroll(2, mx.sym.Group([mx.sym.var("x")] * 2)), AssertionError,
     "grouped symbol"),
    (lambda rnn: rnn.ConvRNNCell(cases.IMAGE, 4, h2h_kernel=(2, 3)), AssertionError, "odd number"),
    (lambda rnn: rnn.FusedRNNCell(3, mode="mlp"), ValueError, "mode got 'mlp'"),
    (lambda rnn: rnn.RNNCell(3).unpack_weights({}), KeyError, "'rnn_i2h_weight'"),
    (lambda rnn: rnn.FusedRNNCell(3).unpack_weights({"lstm_parameters": mx.nd.ones((7,))}),
     MXNetError, "7 parameters"),
    (lambda rnn: rnn.BaseRNNCell()(None, []), NotImplementedError, "BaseRNNCell"),
    (lambda rnn: cases.CELLS["stack"](rnn)(mx.sym.var("x"), [mx.sym.var("h")] * 5),
     AssertionError, "BidirectionalCell can not be stepped")])
def test_wrong_use_is_named(wrong: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        wrong(mx.rnn)


def test_a_modified_cell_is_not_called() -> None:
    cell = mx.rnn.RNNCell(3)
    mx.rnn.ZoneoutCell(cell)
    with pytest.raises(CellError, match="modifier cell instead"):
        cell.begin_state()


def test_weights_of_other_shapes_are_not_packed() -> None:
    fused = mx.rnn.FusedRNNCell(4, prefix="f_")
    weights = {key: mx.nd.ones(shape) for key, shape in (
        (f"f_l0_{of}_{gate}_{kind}", ((4, 5 if of == "i2h" else 4) if kind == "weight" else (4,)))
        for of in ("i2h", "h2h") for gate in "ifco" for kind in ("weight", "bias"))}
    assert fused.pack_weights(weights)["f_parameters"].shape == (4 * 4 * (5 + 4 + 2),)
    with pytest.raises(ShapeError, match=r"f_l0_h2h_c_bias has shape \(3,\), expected \(4,\)"):
        fused.pack_weights({**weights, "f_l0_h2h_c_bias": mx.nd.ones((3,))})
    del weights["f_l0_h2h_c_bias"]
    with pytest.raises(NameMismatch, match="f_l0_h2h_c_bias"):
        fused.pack_weights(weights)


def test_checkpoints_hold_unpacked_weights(tmp_path: Path) -> None:
    prefix = str(tmp_path / "net")
    fused = mx.rnn.FusedRNNCell(4, prefix="f_")
    symbol, _ = fused.unroll(2, mx.sym.Variable("data"), layout="TNC", merge_outputs=True)
    args = {"f_parameters": mx.nd.random.uniform(shape=(4 * 4 * 11,))}
    save = mx.rnn.do_rnn_checkpoint([fused], prefix, period=2)
    for epoch in range(2):
        save(epoch, symbol, args, {})
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["net-0002.params",
                                                                  "net-symbol.json"]
    assert "f_l0_h2h_f_weight" in mx.model.load_params(prefix, 2)[0]
    found, packed, aux = mx.rnn.load_rnn_checkpoint(fused, prefix, 2)
    assert found.tojson() == symbol.tojson()
    assert aux == {}
    np.testing.assert_array_equal(packed["f_parameters"].asnumpy(), args["f_parameters"].asnumpy())


def test_the_older_name_of_unroll() -> None:
    with pytest.warns(UserWarning, match="rnn_unroll is deprecated"):
        outputs, _ = mx.rnn.rnn_unroll(mx.rnn.RNNCell(3), 2, input_prefix="of_")
    assert {"of_t0_data", "of_t1_data"} <= set(mx.sym.Group(outputs).list_arguments())
    with pytest.warns(UserWarning, match="TNC for FusedRNNCell"):
        mx.rnn.FusedRNNCell(3).unroll(2, mx.sym.Variable("data"))
