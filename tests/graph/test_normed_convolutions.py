"""Products of what is joined and normalized: primitives serve all batches of large images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.op import calibration
from ndarray_rt.ops.fused import normed_convolution
from ndarray_rt.ops.nn.pointwise_convolution import product
from ndarray_rt.symbol.symbol import Symbol
from tests.graph.kernel_checks import RNG, check_other_batches, check_right

LARGE, SMALL = (6, 23, 25), (6, 5, 4)


def dense_block(layers: int = 9) -> Symbol:
    """Each layer reads all tensors before it: the last one more than one call gathers."""
    joined = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=8, name="first")
    for i in range(layers):
        normed = mx.sym.BatchNorm(joined, fix_gamma=False, name=f"norm{i}")
        made = mx.sym.Convolution(mx.sym.relu(normed), kernel=(1, 1), num_filter=4 + i,
                                  no_bias=True, name=f"conv{i}")
        joined = mx.sym.Concat(joined, made, dim=1)
    return made


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The products that oneDNN makes, of large images all."""
    monkeypatch.setattr(calibration, "MOST_NORMED_PIXELS", 512)
    primitives: list[Any] = []

    def noted(*args: Any) -> Any:
        primitives.append(product(*args))
        return primitives[-1]
    monkeypatch.setattr(normed_convolution, "product", noted)
    return primitives


@pytest.mark.parametrize("shape", [LARGE, SMALL], ids=["large", "small"])
@pytest.mark.parametrize("batch", [1, 3, 40])
@pytest.mark.usefixtures("threads")
def test_is_right(shape: tuple[int, ...], batch: int) -> None:
    kernels = check_right(dense_block(), (batch, *shape))
    assert any("concat_scaled" in kernel for kernel in kernels)


@pytest.mark.parametrize("batches", [(2, 1, 5), (1, 4)])
@pytest.mark.usefixtures("threads")
def test_other_batches_of_large_images_make_and_pack_nothing(batches: tuple[int, ...],
                                                             made: list[Any]) -> None:
    check_other_batches(dense_block(2), LARGE, batches)
    assert len(made) == 1, "the first layer reads one tensor"


def test_strips_end_with_a_shorter_one(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "STRIP_BYTES", 4096)
    check_right(dense_block(2), (2, *LARGE))
    assert len(made) == len({prim.dst.dims[0] for prim in made}) == 2


def test_an_image_is_computed_alike_in_any_batch() -> None:
    executor = dense_block().simple_bind(mx.cpu(), grad_req="null", data=(4, *LARGE))
    for array in executor.arg_dict.values():
        array[:] = RNG.standard_normal(array.shape)
    whole = executor.forward(is_train=False)[0].asnumpy()
    images = executor.arg_dict["data"].asnumpy()
    alone = executor.reshape(data=(1, *LARGE))
    for image, wanted in zip(images, whole, strict=True):
        found = alone.forward(is_train=False, data=mx.nd.array(image[None]))[0].asnumpy()
        np.testing.assert_array_equal(found[0], wanted)
