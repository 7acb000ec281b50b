"""test_utils: data sets from local files, matrices, blocks hybridized and not."""

from __future__ import annotations

import bz2
import gzip
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import test_utils


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    return tmp_path


def images(count: int) -> tuple[bytes, bytes]:
    """MNIST's two files, for small tests."""
    pixels = np.arange(count * 784, dtype=np.uint32).astype(np.uint8).tobytes()
    return (struct.pack(">IIII", 2051, count, 28, 28) + pixels,
            struct.pack(">II", 2049, count) + bytes(i % 10 for i in range(count)))


def test_mnist_from_gzip_files(folder: Path) -> None:
    with pytest.raises(mx.MXNetError, match="train-labels-idx1-ubyte"):
        test_utils.get_mnist()
    for name, count in (("train", 12), ("t10k", 12)):
        for kind, data in zip(("images-idx3", "labels-idx1"), images(count), strict=True):
            with gzip.open(folder / f"{name}-{kind}-ubyte.gz", "wb") as file:
                file.write(data)
    found = test_utils.get_mnist()
    assert found["train_data"].shape == (12, 1, 28, 28)
    assert found["train_data"].dtype == np.float32
    assert found["train_data"][0, 0, 0, 5] == np.float32(5 / 255)
    assert found["test_label"].tolist() == [*range(10), 0, 1]


def test_mnist_from_an_archive(folder: Path) -> None:
    with pytest.raises(mx.MXNetError, match=r"mnist\.zip"):
        test_utils.get_mnist_ubyte()
    with zipfile.ZipFile(folder / "data" / "mnist.zip", "w") as archive:
        for name, count in (("train", 12), ("t10k", 12)):
            for kind, data in zip(("images-idx3", "labels-idx1"), images(count), strict=True):
                archive.writestr(f"{name}-{kind}-ubyte", data)
    train, test = test_utils.get_mnist_iterator(4, (784,))
    assert [batch.data[0].shape for batch in train] == [(4, 784)] * 3
    assert len(list(test)) == 3
    whole, _ = test_utils.get_mnist_iterator(4, (1, 28, 28), num_parts=3, part_index=1)
    assert [batch.data[0].shape for batch in whole] == [(4, 1, 28, 28)]


def test_other_files(folder: Path) -> None:
    for missing in (test_utils.get_cifar10, test_utils.get_mnist_pkl):
        with pytest.raises(mx.MXNetError, match="does not use the network"):
            missing()
    (folder / "d.bz2").write_bytes(bz2.compress(b"1 2"))
    test_utils.get_bz2_data(".", "d", "http://x/d.bz2", "d.bz2")
    assert (folder / "d").read_bytes() == b"1 2"
    assert not (folder / "d.bz2").exists()
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        archive.writestr("inner", "3")
    test_utils.get_zip_data(".", "http://x/z.zip", "z.zip")
    assert (folder / "inner").read_text() == "3"
    assert test_utils.download_model("nobody's") == (None, 0)
    with pytest.raises(mx.MXNetError, match="imagenet1k-resnet-18-symbol"):
        test_utils.download_model("imagenet1k-resnet-18")
    for end in ("symbol.json", "0000.params"):
        (folder / f"imagenet1k-resnet-18-{end}").touch()
    assert test_utils.download_model("imagenet1k-resnet-18") == ("./imagenet1k-resnet-18", 0)
    with pytest.raises(mx.MXNetError, match="im2rec"):
        test_utils.get_im2rec_path("NO_SUCH_VARIABLE")


def test_one_batch_for_ever() -> None:
    real = mx.io.NDArrayIter(np.arange(8).reshape(4, 2), np.arange(4), 2)
    dummy = test_utils.DummyIter(real)
    first = dummy.next()
    assert all(dummy.next() is first for _ in range(5))
    assert dummy.provide_data == real.provide_data
    assert iter(dummy) is dummy


def test_matrices() -> None:
    np.random.seed(3)
    q = test_utils.new_orthonormal_matrix_2d(5)
    np.testing.assert_allclose(q @ q.T, np.eye(5), atol=1e-12)
    symmetric = test_utils.new_sym_matrix_with_real_eigvals_nd((2, 3, 4, 4))
    assert symmetric.shape == (2, 3, 4, 4)
    np.testing.assert_allclose(symmetric, symmetric.swapaxes(-1, -2), atol=1e-12)
    values = np.linalg.eigvals(test_utils.new_matrix_with_real_eigvals_nd((3, 4, 4)))
    assert np.abs(values.imag).max() < 1e-9
    assert np.abs(values.real).max() <= 10
    assert test_utils.get_identity_mat_batch(3).asnumpy().tolist() == [np.eye(3).tolist()] * 2


def test_hybridized_and_not() -> None:
    def net(prefix: str) -> mx.gluon.HybridBlock:
        return mx.gluon.nn.Dense(3, activation="tanh", prefix=prefix)

    x = [mx.nd.array(np.linspace(-1, 1, 8).reshape(2, 4))]
    test_utils.check_gluon_hybridize_consistency(net, x)
    with pytest.raises(AssertionError):
        test_utils.check_gluon_hybridize_consistency(net, x, numpy_func=lambda a: a[:, :3] + 7)

    class Wrong(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):  # type: ignore[no-untyped-def]  # noqa: N803
            return x * (2 if F is mx.nd else 3)

    with pytest.raises(AssertionError):
        test_utils.check_gluon_hybridize_consistency(Wrong, x)


def test_places_and_shapes() -> None:
    text = test_utils.locationError(np.ones((2, 2)), np.zeros((2, 2)), (0, 1), ("p", "q"), True)
    assert text == "Location of maximum error: (0, 1), p=1.00000000, q=0.00000000"
    test_utils.checkShapes(np.ones(2), np.zeros(2))
    with pytest.raises(AssertionError, match=r"\(2,\)"):
        test_utils.checkShapes(np.ones(2), np.zeros(3))
    assert not test_utils.has_tvm_ops()
    assert not test_utils.is_cd_run()
