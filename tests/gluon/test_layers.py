"""Layers: what they refuse, how they show themselves, contrib layers. Numbers: test_golden.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import gluon
from ndarray_rt.gluon import nn
from ndarray_rt.gluon.contrib import nn as contrib


@pytest.mark.parametrize("make", [
    lambda: nn.Conv1D(2, 3, layout="NWC"), lambda: nn.Conv2D(2, (3,)),
    lambda: nn.Conv2D(2, 3, layout="CHWN"), lambda: nn.MaxPool2D((2,)),
    lambda: nn.AvgPool1D(2, layout="odd"), lambda: nn.GlobalAvgPool3D("odd"),
    lambda: nn.Conv2DTranspose(2, 3, output_padding=(1,)), lambda: nn.LeakyReLU(-1),
    lambda: nn.ReflectionPad2D((1, 2)), lambda: nn.Lambda("odd"), lambda: nn.HybridLambda("odd"),
    lambda: contrib.PixelShuffle2D((1, 2, 3)), lambda: gluon.loss.CTCLoss("odd"),
    lambda: gluon.loss.CTCLoss(label_layout="odd")])
def test_what_is_refused(make: Any) -> None:
    with pytest.raises(AssertionError):
        make()


def test_functions_as_layers() -> None:
    x = mx.nd.array([[-1.0, 2.0]])
    net = nn.HybridSequential()
    net.add(nn.HybridLambda("relu"), nn.HybridLambda(lambda ops, x: ops.square(x) + 1))
    plain = net(x).asnumpy()
    net.hybridize()
    assert net(x).asnumpy().tolist() == plain.tolist() == [[1, 5]]
    assert nn.Lambda("abs")(x).asnumpy().tolist() == [[1, 2]]
    assert nn.Lambda(lambda x: x * 2)(x).asnumpy().tolist() == [[-2, 4]]
    assert repr(nn.HybridLambda("relu")) == "HybridLambda(relu)"
    for kind in (nn.Lambda, nn.HybridLambda):
        with pytest.raises(ValueError, match="Unrecognized function"):
            kind(3)


def test_dropout_draws_in_training_only() -> None:
    layer = nn.Dropout(0.5)
    layer.hybridize()
    x = mx.nd.ones((50, 50))
    assert (layer(x).asnumpy() == 1).all()
    with mx.autograd.record():
        first, second = layer(x).asnumpy(), layer(x).asnumpy()
    assert set(np.unique(first)) == {0, 2}
    assert (first != second).any()


def test_reprs() -> None:
    assert repr(nn.Embedding(3, 4)) == "Embedding(3 -> 4, float32)"
    assert repr(nn.Dropout(0.5)) == "Dropout(p = 0.5, axes=())"
    assert repr(nn.BatchNorm(in_channels=4)) == (
        "BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False, "
        "in_channels=4)")
    assert repr(nn.LayerNorm()) == (
        "LayerNorm(eps=1e-05, axis=-1, center=True, scale=True, in_channels=0)")
    assert repr(nn.AvgPool1D()) == (
        "AvgPool1D(size=(2,), stride=(2,), padding=(0,), ceil_mode=False, global_pool=False, "
        "pool_type=avg, layout=NCW)")
    assert repr(nn.Conv2D(4, 3, groups=2, dilation=2, activation="relu", in_channels=2)) == (
        "Conv2D(1 -> 4, kernel_size=(3, 3), stride=(1, 1), dilation=(2, 2), groups=2, "
        "Activation(relu))")
    assert repr(gluon.loss.L2Loss()) == "L2Loss(batch_axis=0, w=1.0)"
    assert repr(contrib.PixelShuffle1D(2)) == "PixelShuffle1D(2)"
    assert repr(contrib.PixelShuffle3D(2)) == "PixelShuffle3D((2, 2, 2))"


def test_sparse_embedding_is_dense() -> None:
    layer = contrib.SparseEmbedding(5, 2)
    layer.initialize()
    words = mx.nd.array([1, 4, 1])
    with mx.autograd.record():
        layer(words).sum().backward()
    assert layer.weight.grad().asnumpy().tolist() == [[0, 0], [2, 2], [0, 0], [0, 0], [1, 1]]
    assert repr(layer) == "SparseEmbedding(5 -> 2, float32)"


def test_concurrent() -> None:
    net = contrib.Concurrent(axis=0)
    net.add(contrib.Identity(), nn.Lambda("negative"))
    assert net(mx.nd.array([[1, 2]])).asnumpy().tolist() == [[1, 2], [-1, -2]]


def test_sync_batch_norm_warns_without_a_number() -> None:
    with pytest.warns(UserWarning, match="num_devices"):
        assert contrib.SyncBatchNorm()._kwargs["ndev"] == 1


def test_kept_shapes_of_weights() -> None:
    assert nn.Conv2D(4, 3, layout="NHWC").weight.shape == (4, 3, 3, 0)
    assert nn.Conv3DTranspose(4, 3, layout="NDHWC", in_channels=2).weight.shape == (2, 3, 3, 3, 4)
    assert nn.Conv2DTranspose(4, 3, groups=2).weight.shape == (0, 2, 3, 3)
    assert nn.Conv3D(4, (1, 2, 3), groups=2, in_channels=6).weight.shape == (4, 3, 1, 2, 3)


def test_poisson_loss_has_a_gradient_with_stirlings_term() -> None:
    pred, target = mx.nd.array([[0.5, 2.0]]), mx.nd.array([[3.0, 1.0]])
    pred.attach_grad()
    with mx.autograd.record():
        gluon.loss.PoissonNLLLoss(compute_full=True)(pred, target).backward()
    expected = (np.exp([[0.5, 2.0]]) - [[3, 1]]) / 2
    np.testing.assert_allclose(pred.grad.asnumpy(), expected, rtol=1e-6)
