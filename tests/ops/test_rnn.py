"""What the table of cases can not say of RNN: MXNet's numbers, shapes, kept weights, dropout."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import NdrtError, ParameterError, ShapeError, TypeMismatch
from ndarray_rt.op.dispatch import Dispatched, observe

FOLDER = Path(__file__).parents[1] / "data" / "mxnet_rnn"
Array = np.ndarray[Any, Any]


def _configs() -> Any:
    spec = importlib.util.spec_from_file_location("rnn_configs", FOLDER / "configs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CONFIGS = _configs()
GOLDEN: dict[str, Array] = dict(np.load(FOLDER / "golden.npz"))


def golden(prefix: str) -> dict[str, Array]:
    return {key[len(prefix) + 1:]: value for key, value in GOLDEN.items()
            if key.startswith(f"{prefix}.")}


def assert_near(got: Array, want: Array, what: str) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=what)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", CONFIGS.CONFIGS)
def test_equals_mxnet(name: str, native: bool) -> None:
    """Outputs, states and gradients."""
    params, want = CONFIGS.CONFIGS[name], golden(name)
    arrays = [mx.nd.array(value) for value in CONFIGS.inputs(params)]
    for array in arrays:
        array.attach_grad()
    inputs: dict[str, Any] = dict(zip(("data", "parameters", "state"), arrays, strict=False))
    rest = ["state_cell"] if params["mode"] == "lstm" else []
    inputs |= dict(zip([*rest, "sequence_length"], arrays[3:], strict=False))
    with config.override(NDRT_ONEDNN=native), mx.autograd.record():
        outputs = mx.nd.RNN(**inputs, state_size=6, state_outputs=True, **params)
        got = {f"output{i}": out.asnumpy() for i, out in enumerate(outputs)}
        heads = [mx.nd.array(head) for head in CONFIGS.heads(list(got.values()))]
        mx.autograd.backward(outputs, heads)
    got.update({f"grad{i}": array.grad.asnumpy() for i, array in enumerate(arrays)})
    for key, value in want.items():
        assert_near(got[key], value, f"{name} {key}")


def test_symbol_of_mxnet() -> None:
    """A symbol file of MXNet's runs and gives MXNet's numbers, captured too."""
    symbol = mx.sym.load(str(FOLDER / "lstm-symbol.json"))
    executor = symbol.simple_bind(mx.cpu(), data=(3, 4, 5), grad_req="null")
    rng = np.random.RandomState(7)
    for array in executor.arg_dict.values():
        array[:] = rng.uniform(-1, 1, array.shape)
    for _ in range(4):
        for i, out in enumerate(executor.forward()):
            assert_near(out.asnumpy(), golden("symbol")[str(i)], f"output {i}")


def test_layer_of_gluon() -> None:
    """gluon's exported layer, whose vector of parameters is put together in the graph."""
    symbol = mx.sym.load(str(FOLDER / "gluon_lstm-symbol.json"))
    saved = mx.nd.load(str(FOLDER / "gluon_lstm-0000.params"))
    data, answer = golden("gluon")["data"], golden("gluon")["answer"]
    args = {key.removeprefix("arg:"): value for key, value in saved.items()}
    args |= {name: mx.nd.array(data) if name == "data0" else mx.nd.zeros((4, 3, 6))
             for name in symbol.list_arguments() if name not in args}
    executor = symbol.bind(mx.cpu(), args)
    for _ in range(4):
        assert_near(executor.forward()[0].asnumpy(), answer, "output")


def net(**params: Any) -> mx.sym.Symbol:
    return mx.sym.RNN(mx.sym.Variable("data"), name="rnn", **params)


def bound(rng: np.random.Generator, symbol: mx.sym.Symbol, shape: tuple[int, ...]) -> Any:
    executor = symbol.simple_bind(mx.cpu(), data=shape, grad_req="null")
    for array in executor.arg_dict.values():
        array[:] = rng.uniform(-0.3, 0.3, array.shape)
    return executor


def numpy_answer(executor: Any, symbol: mx.sym.Symbol) -> Array:
    with config.override(NDRT_ONEDNN=False):
        found: Array = symbol.bind(mx.cpu(), {
            name: mx.nd.array(a.asnumpy()) for name, a in executor.arg_dict.items()},
        ).forward()[0].asnumpy()
    return found


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
def test_kept_weights_follow_the_vector(mode: str) -> None:
    """What is made of the parameters is made once, and again after a write, captured too (I11)."""
    symbol = net(mode=mode, num_layers=2, state_size=20, bidirectional=True)
    rng = np.random.default_rng(0)
    executor = bound(rng, symbol, (3, 2, 7))
    for written in range(3):
        for run in range(4):
            got = executor.forward()[0].asnumpy()
            np.testing.assert_allclose(got, numpy_answer(executor, symbol), rtol=1e-4, atol=1e-5,
                                       err_msg=f"after {written} writes, run {run}")
        assert executor.capture_state == "captured"
        executor.arg_dict["rnn_parameters"][written:written + 40] = 0.5 * written


@pytest.mark.parametrize("batch", [2, 5])
def test_steady_runs_convert_nothing(batch: int) -> None:
    """After the first run no weight is converted and no primitive is made."""
    symbol = net(mode="lstm", num_layers=2, state_size=32)
    executor = bound(np.random.default_rng(0), symbol, (3, batch, 32))
    told: list[Dispatched] = []
    for _ in range(2):
        stop = observe(told.append)
        executor.forward()
        stop()
    assert told[-1].reorders == 0
    assert [name for name in told[-1].impls if name.startswith(("ref", "simple"))] == []
    # one primitive a layer, or a product and a native kernel
    own = "ndrt:lstm_steps" in told[-1].impls
    assert own == (batch == 2)
    assert len(told[-1].impls) == (4 if own else 2)


def test_dropout_between_layers() -> None:
    """Between layers, in training only; the last layer's outputs and all states are whole."""
    params: dict[str, Any] = {"mode": "rnn_relu", "num_layers": 2, "state_size": 8,
                              "state_outputs": True}
    rng = np.random.default_rng(1)
    size = 8 * (8 + 8 + 2) * 2
    x, w, h = (mx.nd.array(rng.uniform(0.01, 0.1, s)) for s in ((5, 4, 8), size, (2, 4, 8)))
    for native in (True, False):
        with config.override(NDRT_ONEDNN=native):
            plain = mx.nd.RNN(x, w, h, p=0.5, **params)
            same = mx.nd.RNN(x, w, h, **params)
            mx.random.seed(3)
            with mx.autograd.record():
                dropped = mx.nd.RNN(x, w, h, p=0.5, **params)
            mx.random.seed(3)
            with mx.autograd.record():
                again = mx.nd.RNN(x, w, h, p=0.5, **params)
            with mx.autograd.record():
                everything = mx.nd.RNN(x, w, h, p=1, **params)
        np.testing.assert_array_equal(plain[0].asnumpy(), same[0].asnumpy())
        np.testing.assert_array_equal(dropped[0].asnumpy(), again[0].asnumpy())
        assert not np.allclose(dropped[0].asnumpy(), plain[0].asnumpy(), rtol=1e-3)
        assert (dropped[0].asnumpy() > 0).all()
        np.testing.assert_allclose(dropped[1].asnumpy()[0], plain[1].asnumpy()[0], rtol=1e-5)
        assert (everything[0].asnumpy() < plain[0].asnumpy()).all()


def test_gradient_with_dropout() -> None:
    """The gradient goes by the mask that forward drew, natively and in NumPy."""
    params: dict[str, Any] = {"mode": "lstm", "num_layers": 3, "state_size": 6,
                              "bidirectional": True, "p": 0.4}
    rng = np.random.default_rng(2)
    size = 2 * 24 * ((5 + 8) + 2 * (12 + 8))
    values = [rng.uniform(-0.5, 0.5, s) for s in ((4, 3, 5), size, (6, 3, 6), (6, 3, 6))]
    found = []
    for native in (True, False):
        arrays = [mx.nd.array(value) for value in values]
        for array in arrays:
            array.attach_grad()
        mx.random.seed(11)
        with config.override(NDRT_ONEDNN=native), mx.autograd.record():
            y = mx.nd.RNN(*arrays, **params)
            y.backward()
        found.append([y.asnumpy(), *(array.grad.asnumpy() for array in arrays)])
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


LSTM = {"mode": "lstm", "num_layers": 2, "state_size": 4}


@pytest.mark.parametrize(("params", "given", "arguments", "outputs"), [
    # as MXNet infers them
    ({**LSTM, "bidirectional": True, "state_outputs": True, "use_sequence_length": True},
     {"data": (5, 2, 3)}, [(5, 2, 3), (736,), (4, 2, 4), (4, 2, 4), (2,)],
     [(5, 2, 8), (4, 2, 4), (4, 2, 4)]),
    ({**LSTM, "projection_size": 2, "state_outputs": True}, {"data": (5, 2, 3)},
     [(5, 2, 3), (224,), (2, 2, 2), (2, 2, 4)], [(5, 2, 2), (2, 2, 2), (2, 2, 4)]),
    (LSTM, {"data": (0, 0, 3)}, [(0, 0, 3), (304,), (2, 0, 4), (2, 0, 4)], [(0, 0, 4)]),
    # and further: the batch from a state, the input's length from the vector
    (LSTM, {"data": (5, 0, 0), "rnn_state": (2, 3, 4), "rnn_parameters": (304,)},
     [(5, 3, 3), (304,), (2, 3, 4), (2, 3, 4)], [(5, 3, 4)]),
    ({**LSTM, "mode": "gru"}, {"data": (5, 2, 3)}, [(5, 2, 3), (228,), (2, 2, 4)], [(5, 2, 4)]),
])
def test_shapes(params: dict[str, Any], given: dict[str, tuple[int, ...]],
                arguments: list[tuple[int, ...]], outputs: list[tuple[int, ...]]) -> None:
    found = net(**params).infer_shape_partial(**given)
    assert found[0] == arguments
    assert found[1] == outputs


def test_names() -> None:
    symbol = net(**LSTM, state_outputs=True, use_sequence_length=True, p=0.5)
    assert symbol.list_arguments() == ["data", "rnn_parameters", "rnn_state", "rnn_state_cell",
                                       "rnn_sequence_length"]
    assert symbol.list_outputs() == ["rnn_output", "rnn_state_output", "rnn_statecell_output"]
    assert net(**LSTM, p=0.5).list_outputs() == ["rnn_output"]
    lengths: Callable[..., Any] = net(**LSTM, use_sequence_length=True).infer_type
    kinds = lengths(data="float32", rnn_sequence_length="int32")[0]
    assert [np.dtype(kind).name for kind in kinds] == ["float32"] * 4 + ["int32"]


@pytest.mark.parametrize(("params", "given", "error", "text"), [
    (LSTM, {"data": (5, 2)}, ShapeError, r"rnn.*data has shape \(5, 2\), expected rank 3"),
    (LSTM, {"data": (5, 2, 3), "rnn_state": (1, 2, 4)}, ShapeError,
     r"state has shape \(1, 2, 4\), expected \(2, 2, 4\)"),
    (LSTM, {"data": (5, 2, 3), "rnn_parameters": (9,)}, ShapeError,
     r"parameters has shape \(9,\), expected \(304,\)"),
    (LSTM, {"data": (5, 2, 0), "rnn_parameters": (5,)}, ShapeError,
     r"parameters has shape \(5,\), expected 256 elements and 16 for each"),
    ({**LSTM, "mode": "gru", "projection_size": 2}, {}, ParameterError,
     "rnn.*'projection_size' got '?2, expected None with 'gru'"),
    ({**LSTM, "num_layers": 0}, {}, ParameterError, "'num_layers' got '?0"),
    ({**LSTM, "lstm_state_clip_max": 1}, {}, ParameterError, "got None and 1.0, expected both"),
    ({**LSTM, "lstm_state_clip_min": 2, "lstm_state_clip_max": 1}, {}, ParameterError,
     "got 2.0 and 1.0, expected both, the first not above the second"),
    ({**LSTM, "mode": "gru", "lstm_state_clip_min": -1, "lstm_state_clip_max": 1}, {},
     ParameterError, "got -1.0 and 1.0, expected None with 'gru'"),
    ({**LSTM, "p": 1.5}, {}, ParameterError, "'p' got '?1.5"),
    ({**LSTM, "mode": "lstn"}, {}, ParameterError, "'mode' got 'lstn'"),
])
def test_refusals(params: dict[str, Any], given: dict[str, tuple[int, ...]],
                  error: type[NdrtError], text: str) -> None:
    with pytest.raises(error, match=text):
        net(**params).infer_shape(**given)


def test_lengths_by_position() -> None:
    """As gluon calls it: what a mode does without takes no place."""
    params = CONFIGS.CONFIGS["lengths"]
    arrays = [mx.nd.array(value) for value in CONFIGS.inputs(params)]
    got = mx.nd.RNN(*arrays, state_size=6, **params)
    assert_near(got.asnumpy(), golden("lengths")["output0"], "output")


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("mode", CONFIGS.GATES)
def test_each_sequence_ends_where_it_says(mode: str, native: bool) -> None:
    """A batch of sequences is what each of them gives alone, whatever stands behind its end."""
    rng = np.random.default_rng(3)
    params: dict[str, Any] = {"mode": mode, "num_layers": 2, "state_size": 6, "bidirectional": True,
              "state_outputs": True}
    lengths = [4, 1, 3]
    made = CONFIGS.inputs({"mode": mode, "num_layers": 2, "bidirectional": True})
    data, vector, *states = made
    for n, length in enumerate(lengths):
        data[length:, n] = np.nan
    together = [mx.nd.array(value) for value in made]
    w = mx.nd.array(vector)
    w.attach_grad(grad_req="add")
    for array in together:
        array.attach_grad()
    heads = [rng.uniform(-1, 1, (4, 3, 12)), *[rng.uniform(-1, 1, (4, 3, 6)) for _ in states]]
    with config.override(NDRT_ONEDNN=native):
        with mx.autograd.record():
            got = mx.nd.RNN(*[*together, mx.nd.array(lengths, dtype="int32")],
                            use_sequence_length=True, **params)
        mx.autograd.backward(got, [mx.nd.array(head) for head in heads])
        assert not got[0].asnumpy()[1:, 1].any()
        assert not together[0].grad.asnumpy()[1:, 1].any()
        for n, length in enumerate(lengths):
            alone = [mx.nd.array(data[:length, n:n + 1]),
                     *(mx.nd.array(state[:, n:n + 1]) for state in states)]
            for array in alone:
                array.attach_grad()
            with mx.autograd.record():
                want = mx.nd.RNN(alone[0], w, *alone[1:], **params)
            mx.autograd.backward(want, [mx.nd.array(heads[0][:length, n:n + 1]),
                                        *(mx.nd.array(head[:, n:n + 1]) for head in heads[1:])])
            assert_near(got[0].asnumpy()[:length, n:n + 1], want[0].asnumpy(), "output")
            for last, one in zip(got[1:], want[1:], strict=True):
                assert_near(last.asnumpy()[:, n:n + 1], one.asnumpy(), "last state")
            assert_near(together[0].grad.asnumpy()[:length, n:n + 1], alone[0].grad.asnumpy(),
                        "gradient of data")
            for state, one in zip(together[2:], alone[1:], strict=True):
                assert_near(state.grad.asnumpy()[:, n:n + 1], one.grad.asnumpy(), "of a state")
        assert_near(together[1].grad.asnumpy(), w.grad.asnumpy(), "gradient of parameters")


def test_lengths_beyond_the_steps_count_as_all() -> None:
    data, *rest = (mx.nd.array(value) for value in CONFIGS.inputs(CONFIGS.CONFIGS["gru_1"]))
    params: dict[str, Any] = {"mode": "gru", "num_layers": 1, "state_size": 6}
    whole = mx.nd.RNN(data, *rest, **params).asnumpy()
    lengths = mx.nd.array([1e30, float("nan"), -3.0])
    got = mx.nd.RNN(data, *[*rest, lengths], use_sequence_length=True, **params).asnumpy()
    np.testing.assert_allclose(got[:, 0], whole[:, 0], rtol=1e-5)
    assert not got[:, 1:].any()


def test_cells_of_nan_are_clipped_where_wanted() -> None:
    """Else NaN stays in the state."""
    arrays = [mx.nd.array(value) for value in CONFIGS.inputs(CONFIGS.CONFIGS["clipped"])]
    arrays[3][0, 1, 2] = float("nan")
    params: dict[str, Any] = {
        "mode": "lstm", "num_layers": 1, "state_size": 6, "state_outputs": True,
        "lstm_state_clip_min": -0.5, "lstm_state_clip_max": 0.25}
    cell = mx.nd.RNN(*arrays, **params)[2].asnumpy()
    assert np.isnan(cell[0, 1]).all()
    assert not np.isnan(cell[0, [0, 2]]).any()
    cell = mx.nd.RNN(*arrays, **params, lstm_state_clip_nan=True)[2].asnumpy()
    assert cell.min() >= -0.5
    assert cell.max() <= 0.25


def test_refuses_integers() -> None:
    with pytest.raises(TypeMismatch, match="int32 is not a floating-point"):
        net(**LSTM).infer_type(data="int32")
