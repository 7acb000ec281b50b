"""contrib.quantization: blocks of gluon on 8-bit numbers."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import gluon
from ndarray_rt.contrib import quantization
from ndarray_rt.contrib.quantization import quantize_net_v2
from ndarray_rt.errors import ParameterError, ShapeError, TypeMismatch
from ndarray_rt.gluon import nn

SHAPE = (4, 3, 8, 8)


def network() -> Any:
    mx.random.seed(3)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(6, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(2),
                nn.Conv2D(5, 1, use_bias=False), nn.Dense(7))
    net.initialize(mx.init.Xavier())
    return net


def samples(count: int = 12) -> Any:
    return np.random.RandomState(1).uniform(0, 1, (count, *SHAPE[1:])).astype(np.float32)


class Two(gluon.HybridBlock):
    """A block of two inputs."""

    def __init__(self) -> None:
        super().__init__(prefix="two_")
        with self.name_scope():
            self.left = nn.Dense(4)
            self.right = nn.Dense(4)

    def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:  # noqa: N803
        return F.concat(self.left(x), self.right(y), dim=1)


def loader(count: int = 12, labels: bool = True, batch_size: int = 4) -> Any:
    arrays = [samples(count), np.arange(count)] if labels else [samples(count)]
    return gluon.data.DataLoader(gluon.data.ArrayDataset(*arrays), batch_size=batch_size)


def is_near(found: Any, wanted: Any, share: float = 0.05) -> bool:
    off = np.linalg.norm(found.asnumpy() - wanted.asnumpy())
    return bool(off < share * np.linalg.norm(wanted.asnumpy()))


def iterator(name: str = "data") -> Any:
    return mx.io.NDArrayIter({name: samples()}, batch_size=4)


@pytest.mark.parametrize("mode", ["none", "naive", "entropy"])
@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
def test_a_block_gives_what_it_gave(mode: str, granularity: str) -> None:
    net, x = network(), mx.nd.array(samples(4))
    want = net(x)
    made = quantize_net_v2(net, calib_mode=mode, calib_data=loader(),
                           quantize_granularity=granularity)
    assert isinstance(made, gluon.SymbolBlock)
    assert is_near(made(x), want, 0.15 if mode == "entropy" else 0.05)
    made.hybridize()
    first = made(x).asnumpy()
    np.testing.assert_array_equal(made(x).asnumpy(), first)
    np.testing.assert_allclose(net(x).asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)


def test_shapes_are_enough_without_calibration() -> None:
    net, x = network(), mx.nd.array(samples(4))
    want = net(x)
    for given in (mx.io.DataDesc("data", SHAPE), ("data", SHAPE)):
        assert is_near(quantize_net_v2(net, data_shapes=[given])(x), want)
    assert is_near(quantize_net_v2(net, data_shapes=[("data", SHAPE)], calib_mode=None)(x), want)


def test_data_comes_in_several_ways() -> None:
    """A DataIter, whatever it calls its data; loaders with and without labels, and lists."""
    net, x = network(), mx.nd.array(samples(4))
    wanted = quantize_net_v2(net, calib_mode="naive", calib_data=iterator())(x).asnumpy()
    for data in (iterator("pixels"), loader(), loader(labels=False), loader(batch_size=5),
                 [(mx.nd.array(samples()),)], [mx.nd.array(samples())]):
        made = quantize_net_v2(net, calib_mode="naive", calib_data=data)
        np.testing.assert_array_equal(made(x).asnumpy(), wanted)


def test_clips_of_a_sample_count_as_samples() -> None:
    net, x = network(), mx.nd.array(samples(4))
    want = net(x)
    clips = [mx.nd.array(samples(12).reshape(2, 6, *SHAPE[1:])), mx.nd.zeros(2)]
    assert is_near(quantize_net_v2(net, calib_mode="naive", calib_data=[clips])(x), want)


@pytest.mark.parametrize("mode", ["naive", "entropy"])
@pytest.mark.parametrize("labels", [False, True])
def test_volumes_stay_whole_where_the_block_takes_them(mode: str, labels: bool) -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv3D(6, 2, activation="relu"), nn.Dense(5))
    net.initialize(mx.init.Xavier())
    volumes = np.random.RandomState(2).uniform(0, 1, (6, 2, 3, 4, 5)).astype(np.float32)
    arrays = [volumes, np.arange(6)] if labels else [volumes]
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(*arrays), batch_size=3)
    made = quantize_net_v2(net, calib_mode=mode, calib_data=data)
    x = mx.nd.array(volumes)
    assert is_near(made(x), net(x), 0.1)


@pytest.mark.parametrize("labels", [False, True])
def test_a_block_of_several_inputs(labels: bool) -> None:
    net = Two()
    net.initialize(mx.init.Xavier())
    rng = np.random.RandomState(0)
    x, y = (rng.uniform(-1, 1, (6, width)).astype(np.float32) for width in (3, 5))
    want = net(mx.nd.array(x), mx.nd.array(y))
    arrays = [x, y, np.arange(6)] if labels else [x, y]
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(*arrays), batch_size=3)
    made = quantize_net_v2(net, calib_mode="naive", calib_data=data)
    assert is_near(made(mx.nd.array(x), mx.nd.array(y)), want)


def test_layers_stay_on_floats(caplog: pytest.LogCaptureFixture) -> None:
    net, x = network(), mx.nd.array(samples(4))
    want = net(x).asnumpy()
    given: list[str] = ["net_dense0_fwd"]
    with caplog.at_level(logging.INFO):
        made = quantize_net_v2(net, exclude_layers=given, exclude_layers_match=["conv"],
                               exclude_operators=["Pooling"], quantize_mode="smart",
                               data_shapes=[("data", SHAPE)], logger=logging.getLogger("net"))
    np.testing.assert_allclose(made(x).asnumpy(), want, rtol=1e-5, atol=1e-6)
    assert given == ["net_dense0_fwd"]
    assert "net_conv0_fwd" in caplog.text
    assert not [name for name in made.collect_params() if "quantize" in name]


def test_a_collector_of_ones_own() -> None:
    class Widest:
        def __init__(self) -> None:
            self.min_max_dict: dict[str, tuple[float, float]] = {}

        def collect(self, name: str, arr: Any) -> None:
            self.min_max_dict[name] = (-8.0, 8.0)

    made = quantize_net_v2(network(), calib_mode="customize", calib_data=loader(),
                           LayerOutputCollector=Widest())
    found = {value for attrs in made._cached_graph[1].attr_dict().values()
             for key, value in attrs.items() if key.endswith("_range")}
    # what ends in relu begins at 0
    assert found == {"-8.000000", "0.000000", "8.000000"}


def test_the_older_name_warns() -> None:
    with pytest.warns(UserWarning, match="please use quantize_net_v2"):
        made = quantization.quantize_net(network(), data_shapes=[("data", SHAPE)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = quantize_net_v2(network(), data_shapes=[("data", SHAPE)])
    x = mx.nd.array(samples(4))
    np.testing.assert_array_equal(made(x).asnumpy(), again(x).asnumpy())


def test_a_quantized_block_can_be_exported(tmp_path: Any) -> None:
    made = quantize_net_v2(network(), calib_mode="naive", calib_data=loader())
    made.hybridize()
    x = mx.nd.array(samples(4))
    want = made(x).asnumpy()
    made.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), "data",
                                      str(tmp_path / "net-0000.params"))
    np.testing.assert_array_equal(again(x).asnumpy(), want)


@pytest.mark.parametrize(("change", "error", "said"), [
    ({}, ParameterError, "data_shapes required"),
    ({"calib_mode": "naive"}, ParameterError, "calib_data must be provided"),
    ({"calib_data": 3}, TypeMismatch, "calib_data is not a valid iterator"),
    ({"calib_data": []}, ParameterError, "calib_data has no batch, expected at least 1"),
    ({"calib_mode": "best", "calib_data": [mx.nd.ones(SHAPE)]}, ParameterError,
     "unknown calibration mode best received"),
    ({"num_calib_examples": 0}, ParameterError, "num_calib_examples got 0"),
    ({"calib_mode": "customize", "calib_data": [mx.nd.ones(SHAPE)]}, ParameterError,
     "LayerOutputCollector must be provided when calib_mode=customize"),
    ({"calib_data": [None]}, TypeMismatch, "^a batch of calib_data has None, expected NDArrays"),
    ({"calib_mode": "naive", "calib_data": [mx.nd.ones(SHAPE), mx.nd.ones((4, 3, 6, 6))]},
     ShapeError, r"a batch of calib_data has data0? \(4, 3, 6, 6\), but the network was traced for "
                 r"data0? \(4, 3, 8, 8\) float32: "),
    ({"exclude_layers": "conv"}, ParameterError, "exclude_layers must be a list of strings"),
    ({"exclude_layers_match": "conv"}, ParameterError, "exclude_layers_match must be a list"),
    ({"ctx": [mx.cpu()]}, ParameterError, "currently only supports single ctx"),
    ({"quantized_dtype": "int4", "data_shapes": [("data", SHAPE)]}, ParameterError,
     "unknown quantized_dtype int4")])
def test_wrong_arguments_are_named(change: dict[str, Any], error: type[Exception], said: str,
                                   ) -> None:
    with pytest.raises(error, match=said):
        quantize_net_v2(network(), **change)


DATA_SHAPES: list[tuple[Any, type[Exception], str]] = [
    (("data", SHAPE), TypeMismatch, "data_shapes has 'data', expected DataDesc or"),
    ("data", TypeMismatch, "data_shapes got 'data', expected a list"),
    ({"data": SHAPE}, TypeMismatch, "data_shapes got {'data': .*}, expected a list"),
    (5, TypeMismatch, "data_shapes got 5, expected a list"),
    ([], ParameterError, "data_shapes is empty"),
    ([SHAPE], TypeMismatch, r"data_shapes has \(4, 3, 8, 8\), expected DataDesc or"),
    ([("data",)], TypeMismatch, r"data_shapes has \('data',\), expected DataDesc or"),
    ([("data", "abc")], ShapeError, "data_shapes: 'data': shape got 'abc', expected ints"),
    ([("data", (4, -1, 8, 8))], ShapeError, r"'data': shape got \(4, -1, 8, 8\), expected ints"),
    ([("data", (0, 3, 8, 8))], ShapeError, r"'data' has shape \(0, 3, 8, 8\), expected sizes of"),
    ([mx.io.DataDesc("data", SHAPE, "flot")], TypeMismatch,
     "data_shapes: 'data': dtype 'flot' is none of"),
    ([("data", (4, 3))], ShapeError, r"network does not take data \(4, 3\) float32: "),
    ([mx.io.DataDesc("data", SHAPE, "float64")], TypeMismatch,
     r"network does not take data \(4, 3, 8, 8\) float64: ")]


@pytest.mark.parametrize(("given", "error", "said"), DATA_SHAPES)
@pytest.mark.parametrize("make", [quantize_net_v2, quantization.quantize_dynamic])
def test_wrong_descriptions_of_data_are_named(make: Any, given: Any, error: type[Exception],
                                              said: str) -> None:
    with pytest.raises(error, match=said):
        make(network(), data_shapes=given)


def test_an_input_that_is_not_described_is_named() -> None:
    net = Two()
    net.initialize()
    with pytest.raises(TypeMismatch, match=r"network does not take x \(2, 3\) float32: .*'y'"):
        quantize_net_v2(net, data_shapes=[("x", (2, 3))])
    with pytest.raises(ShapeError, match=r"take x \(2, 3\) float32, y \(3, 5\) float32: "):
        quantize_net_v2(net, data_shapes=[("x", (2, 3)), ("y", (3, 5))])


def test_what_is_no_block_is_refused() -> None:
    symbol: Any = mx.sym.var("x")
    with pytest.raises(TypeMismatch, match="expected a HybridBlock"):
        quantize_net_v2(symbol, data_shapes=[("data", SHAPE)])


@pytest.mark.parametrize("mode", ["naive", "entropy"])
@pytest.mark.parametrize("dtype", ["int8", "auto"])
def test_a_layer_behind_relu_reads_its_range_from_0(mode: str, dtype: str) -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.Conv2D(4, 3))
    net.initialize(mx.init.Xavier())
    x = mx.nd.array(samples())
    right = net(x)
    made = quantize_net_v2(net, dtype, calib_data=iterator(), calib_mode=mode)
    assert is_near(made(x), right, 0.2)


class Gate(gluon.HybridBlock):
    """A product of what is never below 0 with what is."""

    def __init__(self) -> None:
        super().__init__(prefix="gate_")
        with self.name_scope():
            self.conv = nn.Conv2D(4, 1)
            self.gated = nn.Conv2D(4, 1, activation="relu")
            self.dense = nn.Dense(3)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return self.dense(self.conv(x) * self.gated(x))


@pytest.mark.parametrize("dtype", ["int8", "auto"])
def test_a_product_that_would_read_uint8_stays_on_floats(dtype: str) -> None:
    net = Gate()
    net.initialize(mx.init.Xavier())
    x = mx.nd.array(samples())
    right = net(x)
    made = quantize_net_v2(net, dtype, calib_data=iterator(), calib_mode="naive")
    assert is_near(made(x), right, 0.1)


def test_parameters_know_their_shapes() -> None:
    net = network()
    net(mx.nd.array(samples()))
    made = quantize_net_v2(net, calib_data=iterator(), calib_mode="naive")
    params = made.collect_params()
    assert {name: param.shape for name, param in params.items()} == {
        name: param.data().shape for name, param in params.items()}


@pytest.mark.parametrize("mode", ["naive", "entropy"])
def test_data_that_is_not_finite_is_named(mode: str) -> None:
    net = network()
    data = samples()
    net(mx.nd.array(data))
    data[2, 1, 0, 0] = np.nan
    with pytest.raises(ParameterError, match="calibration: data has values that are not finite"):
        quantize_net_v2(net, calib_data=mx.io.NDArrayIter(data, batch_size=4), calib_mode=mode)


@pytest.mark.parametrize(("data", "said"), [
    (mx.nd.array(samples()), "calib_data is an NDArray"),
    ([samples(4)], "a batch of calib_data has")])
def test_what_gives_no_batches_is_refused(data: Any, said: str) -> None:
    net = network()
    net(mx.nd.array(samples()))
    with pytest.raises(TypeMismatch, match=said):
        quantize_net_v2(net, calib_data=data, calib_mode="naive")
