"""Layouts as a user of blocks sees them: to_mkldnn, to_dense, conversions between layers, NumPy."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, config, gluon
from ndarray_rt.gluon import nn
from tests.observed import Call, observe_run

SHAPE = (4, 16, 10, 10)
B = TypeVar("B", bound=gluon.Block)


def network(**options: Any) -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(20, 3, activation="relu", **options), nn.MaxPool2D(2),
                nn.Conv2D(8, 1), nn.Flatten(), nn.Dense(5))
    return net


def filled(net: B) -> B:
    net.initialize()
    net(data())
    rng = np.random.default_rng(0)
    for _, param in sorted(net.collect_params().items()):
        param.set_data(mx.nd.array(rng.uniform(-0.3, 0.3, param.shape)))
    return net


def data() -> mx.nd.NDArray:
    return mx.nd.array(np.random.default_rng(1).standard_normal(SHAPE))


def step(net: gluon.Block, trainer: gluon.Trainer | None = None) -> mx.nd.NDArray:
    with autograd.record():
        loss = (net(data()) ** 2).sum()
    loss.backward()
    if trainer is not None:
        trainer.step(SHAPE[0])
    return loss


def layouts(net: gluon.Block) -> set[str]:
    return {array.layout for p in net.collect_params().values()
            for array in (*p.list_data(), *p.list_grad())}


@pytest.mark.parametrize("switch", [True, False])
@pytest.mark.parametrize("is_hybrid", [True, False])
def test_what_a_block_is_told_wins_over_the_switch(switch: bool, is_hybrid: bool) -> None:
    with config.override(NDRT_TRAINING_LAYOUTS=switch):
        nets = [filled(network()) for _ in range(3)]
        assert nets[0].to_mkldnn() is nets[0]
        assert nets[1].to_dense() is nets[1]
        assert nets[0].is_mkldnn
        assert not nets[1].is_mkldnn
        values = []
        for net in nets:
            if is_hybrid:
                net.hybridize()
            trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.001})
            for _ in range(3):
                step(net, trainer)
            values.append([p.data().asnumpy() for p in net.collect_params().values()])
        assert nets[0].is_mkldnn
        assert not nets[1].is_mkldnn
        assert nets[2].is_mkldnn is switch
    for other in values[1:]:
        for x, y in zip(values[0], other, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def test_parameters_come_and_go() -> None:
    net = filled(network())
    before = [p.data().asnumpy() for p in net.collect_params().values()]
    net.to_mkldnn()
    assert len(layouts(net)) > 1
    assert net[0].weight.is_mkldnn
    assert not net[0].bias.is_mkldnn
    assert not net[4].weight.is_mkldnn, "products read their weights as they are"
    net.to_dense()
    assert layouts(net) == {"default"}
    assert all((p.data().asnumpy() == x).all()
               for p, x in zip(net.collect_params().values(), before, strict=True))


def test_what_is_told_before_the_parameters_are_there_holds() -> None:
    net = network()
    assert net.to_mkldnn() is net
    assert not net.is_mkldnn
    assert filled(net)[0].weight.is_mkldnn or net[0].weight._is_trained_in_layout
    net.initialize(force_reinit=True)
    assert net[0].weight.is_mkldnn
    net.cast("float64")
    assert not net.is_mkldnn, "float64 has no other layouts"
    net.cast("float32")
    assert net[0].weight.is_mkldnn


def test_few_channels_are_not_padded() -> None:
    net = nn.Conv2D(32, 3, in_channels=3)
    net.initialize()
    net.to_mkldnn()
    assert net.weight.data()._chunk.nbytes == net.weight.data().nbytes


@pytest.mark.parametrize("layout", [None, "nhwc", "nChw16c"])
def test_explicit_blocks(layout: str | None) -> None:
    x = data()
    into, back = nn.Dense2Mkldnn(layout), nn.Mkldnn2Dense()
    x.attach_grad()
    with autograd.record():
        y = into(x)
        z = back(y)
        (z * x).sum().backward()
    assert y.layout == (layout or "nhwc")
    assert y.is_mkldnn
    assert not z.is_mkldnn
    assert (z.asnumpy() == x.asnumpy()).all()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * x.asnumpy())
    assert (into(mx.nd.ones((2, 3))).asnumpy() == 1).all(), "without another layout it is a copy"
    assert repr(into) == f"Dense2Mkldnn({layout or 'channels-last'})"


def test_a_layout_that_does_not_exist() -> None:
    with pytest.raises(mx.MXNetError, match="no_such"):
        nn.Dense2Mkldnn("no_such")(data())


@pytest.mark.parametrize("is_hybrid", [True, False])
def test_conversions_are_put_around_supported_layers(is_hybrid: bool, tmp_path: Any) -> None:
    net = filled(network())
    want = step(net).asnumpy()
    grads = [p.grad().asnumpy() for p in net.collect_params().values()]
    names = list(net.collect_params().keys())
    net.save_parameters(str(tmp_path / "before"))
    net.to_mkldnn(insert=True)
    assert [type(layer).__name__ for layer in net] == [
        "Dense2Mkldnn", "Conv2D", "MaxPool2D", "Conv2D", "Mkldnn2Dense", "Flatten", "Dense"]
    if is_hybrid:
        net.hybridize()
    np.testing.assert_allclose(step(net).asnumpy(), want, rtol=1e-5)
    for p, grad in zip(net.collect_params().values(), grads, strict=True):
        np.testing.assert_allclose(p.grad().asnumpy(), grad, rtol=1e-4, atol=1e-4)
    assert list(net.collect_params().keys()) == names
    net.save_parameters(str(tmp_path / "after"))
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    net.to_mkldnn(insert=True)
    assert len(net) == 7, "once is enough"
    net.to_dense()
    assert len(net) == 5
    np.testing.assert_allclose(step(net).asnumpy(), want, rtol=1e-5)


def in_numpy(rows: list[Call]) -> list[str]:
    return [row.op for row in rows if row.kernel == "numpy: use_onednn=False"]


@pytest.mark.parametrize("is_hybrid", [True, False])
def test_a_layer_without_onednn(is_hybrid: bool) -> None:
    """It alone runs in NumPy, backward too, with the results that it has with oneDNN."""
    want = step(filled(network())).asnumpy()
    net = filled(network(use_onednn=False))
    assert net[0].use_onednn is False
    if is_hybrid:
        net.hybridize()
    step(net)
    assert in_numpy(observe_run(lambda: step(net))) == [
        "Convolution", "Activation", "_backward_Activation", "_backward_Convolution"]
    np.testing.assert_allclose(step(net).asnumpy(), want, rtol=1e-5)
    assert in_numpy(observe_run(lambda: net(data()))) == ["Convolution", "Activation"]
    net[0].use_onednn = True
    if is_hybrid:
        net.hybridize()
    assert in_numpy(observe_run(lambda: step(net))) == []


@pytest.mark.parametrize("is_hybrid", [True, False])
def test_a_network_without_onednn(is_hybrid: bool) -> None:
    net = filled(network())
    want = step(net).asnumpy()
    net.use_onednn = False
    if is_hybrid:
        net.hybridize()
    rows = observe_run(lambda: net(data()))
    assert len(rows) >= 6
    assert len(in_numpy(rows)) == len(rows)
    np.testing.assert_allclose(step(net).asnumpy(), want, rtol=1e-5)


def test_layers_take_the_option() -> None:
    for layer in (nn.Dense(3, use_onednn=False), nn.MaxPool2D(use_onednn=False),
                  nn.BatchNorm(use_onednn=False), nn.Activation("relu", use_onednn=False),
                  nn.Conv2DTranspose(3, 3, use_onednn=False)):
        assert layer.use_onednn is False


def test_the_attribute_survives_a_file(tmp_path: Any) -> None:
    net = filled(network(use_onednn=False))
    net.hybridize()
    net(data())
    net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"],
                                      str(tmp_path / "net-0000.params"))
    assert in_numpy(observe_run(lambda: again(data()))) == ["Convolution", "Activation"]


def test_exported_weights_stay_where_they_are() -> None:
    net = nn.Conv2D(8, 3, in_channels=16)
    net.initialize()
    seen = np.asarray(net.weight.data(), copy=False)
    net.to_mkldnn()
    assert not net.weight.is_mkldnn
    net.weight.data()[:] = 2
    assert seen.min() == seen.max() == 2
