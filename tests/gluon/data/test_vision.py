"""Data sets of images in files, and transforms."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.gluon.data import DataLoader, vision
from ndarray_rt.gluon.data.vision import transforms

BYTES = np.random.RandomState(0).randint(0, 256, (12, 9, 3)).astype("uint8")


def image() -> mx.nd.NDArray:
    return mx.nd.array(BYTES, dtype="uint8")


@pytest.mark.parametrize("packed", [False, True])
def test_mnist(tmp_path: Path, packed: bool) -> None:
    pixels = np.random.randint(0, 256, (4, 28, 28)).astype("uint8")
    labels = np.array([3, 1, 4, 1], "uint8")
    for name, rows in (("images-idx3", pixels), ("labels-idx1", labels)):
        head = bytes([0, 0, 8, rows.ndim]) + np.array(rows.shape, ">u4").tobytes()
        content = head + rows.tobytes()
        path = tmp_path / f"t10k-{name}-ubyte{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(content) if packed else content)
    made = vision.MNIST(str(tmp_path), train=False)
    pixel, label = made[2]
    assert (len(made), pixel.shape, label, label.dtype) == (4, (28, 28, 1), 4, np.int32)
    np.testing.assert_array_equal(pixel.asnumpy()[..., 0], pixels[2])
    loader = DataLoader(made.transform_first(transforms.ToTensor()), 2, num_workers=1)
    batches = list(loader)
    assert batches[1][0].shape == (2, 1, 28, 28)
    np.testing.assert_allclose(batches[1][0].asnumpy()[:, 0], pixels[2:] / 255, rtol=1e-6)
    with pytest.raises(mx.MXNetError, match=r"train-images-idx3-ubyte.*form idx"):
        vision.FashionMNIST(str(tmp_path))


@pytest.mark.parametrize("packed", [False, True])
def test_cifar(tmp_path: Path, packed: bool) -> None:
    rows = np.random.randint(0, 256, (2, 3074)).astype("uint8")
    (tmp_path / "train.bin").write_bytes(rows.tobytes())
    if packed:
        with tarfile.open(tmp_path / "cifar-100-binary.tar.gz", "w:gz") as tar:
            tar.add(tmp_path / "train.bin", "cifar-100-binary/train.bin")
        (tmp_path / "train.bin").unlink()
    for fine in (False, True):
        pixel, label = vision.CIFAR100(str(tmp_path), fine_label=fine)[1]
        assert label == rows[1, int(fine)]
        np.testing.assert_array_equal(pixel.asnumpy(),
                                      rows[1, 2:].reshape(3, 32, 32).transpose(1, 2, 0))
    with pytest.raises(mx.MXNetError, match=r"data_batch_1\.bin.*binary version"):
        vision.CIFAR10(str(tmp_path))
    (tmp_path / "test_batch.bin").write_bytes(b"short")
    with pytest.raises(mx.MXNetError, match="5 bytes, expected a multiple of 3073"):
        vision.CIFAR10(str(tmp_path), train=False)


def test_compose_hybridizes_neighbours() -> None:
    blocks = [transforms.CenterCrop(6), transforms.ToTensor(), transforms.Normalize(0.5, 2.0)]
    made = transforms.Compose(blocks)
    assert (len(blocks), len(made)) == (3, 2)
    expected = (BYTES[3:9, 1:7].transpose(2, 0, 1) / 255 - 0.5) / 2
    np.testing.assert_allclose(made(image()).asnumpy(), expected, atol=1e-6)


def test_normalize_each_channel() -> None:
    x = np.random.rand(2, 3, 4, 5).astype("float32")
    made = transforms.Normalize((0, 1, 2), (3, 2, 1))(mx.nd.array(x)).asnumpy()
    expected = (x - np.arange(3).reshape(3, 1, 1)) / np.array([3, 2, 1]).reshape(3, 1, 1)
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("transform", "shape"), [
    (transforms.Resize(5), (5, 5, 3)), (transforms.Resize((5, 7)), (7, 5, 3)),
    (transforms.Resize(6, keep_ratio=True), (8, 6, 3)),
    (transforms.CenterCrop((20, 30)), (30, 20, 3)),
    (transforms.CropResize(1, 2, 4, 5), (5, 4, 3)),
    (transforms.CropResize(1, 2, 4, 5, size=(8, 3)), (3, 8, 3)),
    (transforms.RandomResizedCrop((4, 6)), (6, 4, 3)),
    (transforms.RandomResizedCrop(4, scale=(2.0, 3.0), interpolation=10), (4, 4, 3)),
    (transforms.RandomFlipLeftRight(), BYTES.shape),
    (transforms.RandomFlipTopBottom(), BYTES.shape),
    (transforms.RandomBrightness(0.5), BYTES.shape), (transforms.RandomContrast(0.5), BYTES.shape),
    (transforms.RandomSaturation(0.5), BYTES.shape), (transforms.RandomHue(0.5), BYTES.shape),
    (transforms.RandomColorJitter(0.1, 0.2, 0.3, 0.4), BYTES.shape),
    (transforms.RandomLighting(0.5), BYTES.shape),
    (transforms.RandomApply([transforms.Resize(5)], p=1.0), (5, 5, 3)),
    (transforms.RandomApply(transforms.Resize(5), p=-1.0), BYTES.shape)],
    ids=lambda value: type(value).__name__)
def test_shapes(transform: object, shape: tuple[int, ...]) -> None:
    made = transform(image())  # type: ignore[operator]
    assert (made.shape, np.dtype(made.dtype)) == (shape, np.uint8)


def test_rotate_by_right_angles() -> None:
    x = np.random.rand(2, 3, 7, 7).astype("float32")
    made = transforms.Rotate(90)(mx.nd.array(x)).asnumpy()
    np.testing.assert_allclose(made, np.rot90(x, 1, (2, 3)), atol=1e-4)
    single = transforms.Rotate(90)(mx.nd.array(x[0])).asnumpy()
    np.testing.assert_array_equal(single, made[0])
    ones = mx.nd.ones((1, 1, 8, 12))
    # MXNet 1.9.1 measures corners from the pixels' edges: those of the output touch the padding
    inner = transforms.Rotate(30, zoom_in=True)(ones).asnumpy()[0, 0]
    np.testing.assert_allclose(inner[[0, 7], [0, 11]], 0.92265, atol=1e-5)
    inner[[0, 7], [0, 11]] = 1
    np.testing.assert_allclose(inner, 1, atol=1e-5)
    assert transforms.Rotate(30, zoom_out=True)(ones).asnumpy()[0, 0, 0, 0] == 0
    assert transforms.RandomRotation((-10, 10))(mx.nd.array(x)).shape == x.shape
    assert transforms.RandomRotation((-10, 10), rotate_with_proba=0)(ones) is ones
    with pytest.raises(TypeError, match="only supports float32"):
        transforms.Rotate(5)(image())
    with pytest.raises(ValueError, match="ordered tuple"):
        transforms.RandomRotation((10, -10))
    with pytest.raises(ValueError, match="cannot be both"):
        transforms.Rotate(5, True, True)(ones)
