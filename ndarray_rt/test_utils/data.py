"""Data sets from local files, and batches for measuring. Nothing is downloaded."""

from __future__ import annotations

import bz2
import gzip
import os
import shutil
import struct
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import config
from ..errors import Unsupported
from ..gluon.utils import download as _local
from ..io import DataBatch, DataIter, MNISTIter

_FOLDER = "data"
_HOST = "http://data.mxnet.io"
_MODELS = {f"imagenet1k-{name}": f"imagenet/{path}" for name, path in {
    "inception-bn": "inception-bn/Inception-BN-0126",
    **{f"resnet-{n}": f"resnet/{n}-layers/resnet-{n}-0000" for n in (18, 34, 50, 101, 152)},
    **{f"resnext-{n}": f"resnext/{n}-layers/resnext-{n}-0000" for n in ("50", "101")},
    "resnext-101-64x4d": "resnext/101-layers/resnext-101-64x4d-0000"}.items()}
_MODELS |= {"imagenet11k-resnet-152": "imagenet-11k/resnet-152/resnet-152-0000"}
_MODELS |= {f"imagenet11k-place365ch-resnet-{n}": f"imagenet-11k-place365-ch/resnet-{n}-0000"
            for n in (152, 50)}


class DummyIter(DataIter):
    """The first batch of another iterator, without end: for measuring without reading."""

    def __init__(self, real_iter: Any) -> None:
        super().__init__()
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.batch_size = real_iter.batch_size
        self.the_batch: DataBatch = next(real_iter)

    def __iter__(self) -> DummyIter:
        return self

    def next(self) -> DataBatch:
        """The batch, each time the same."""
        return self.the_batch


def download(url: str, fname: str | None = None, dirname: str | None = None,
             overwrite: bool = False, retries: int = 5) -> str:
    """The name of the file that `url` was saved to before: `fname`, in `dirname` if that is given.

    Unsupported, which names the file, where it is not there: nothing is downloaded.
    """
    name = url.split("/")[-1] if fname is None else fname
    path = name if dirname is None else os.path.join(dirname, name)
    return _local(url, path, overwrite=overwrite, retries=retries)


def download_model(model_name: str, dst_dir: str = "./",
                   meta_info: Mapping[str, Mapping[str, str]] | None = None) -> tuple[Any, int]:
    """(prefix, 0) of a model whose symbol and parameters lie in `dst_dir`.

    `meta_info` maps names of models to {"symbol": url, "params": url}, by default those of MXNet's
    site. (None, 0) for a name that is not there, Unsupported where a file is not.
    """
    if meta_info is None:
        base = f"{_HOST}/models/"
        meta_info = {name: {"symbol": f"{base}{path[:-5]}-symbol.json",
                            "params": f"{base}{path}.params"} for name, path in _MODELS.items()}
    if model_name not in meta_info:
        return None, 0
    prefix = os.path.join(dst_dir, model_name)
    urls = meta_info[model_name]
    for part, end in (("symbol", "-symbol.json"), ("params", "-0000.params")):
        if part not in urls:
            raise AssertionError(f"download_model: {model_name} has no url of its {part}")
        download(urls[part], prefix + end)
    return prefix, 0


# ---- MNIST, CIFAR-10 ----------------------------------------------------------------------------


def get_mnist() -> dict[str, Any]:
    """MNIST from its four gzip files in the current folder.

    train_data and test_data are float32 (samples, 1, 28, 28) from 0 to 1; train_label and
    test_label are int8. Unsupported, which names the file, where one is not there.
    """
    found: dict[str, Any] = {}
    for part, name in (("train", "train"), ("test", "t10k")):
        with gzip.open(download(f"{_HOST}/data/mnist/{name}-labels-idx1-ubyte.gz")) as file:
            file.read(8)
            labels = np.frombuffer(file.read(), np.int8)
        with gzip.open(download(f"{_HOST}/data/mnist/{name}-images-idx3-ubyte.gz")) as file:
            _, _, rows, columns = struct.unpack(">IIII", file.read(16))
            images = np.frombuffer(file.read(), np.uint8).reshape(len(labels), 1, rows, columns)
        found[f"{part}_data"] = images.astype(np.float32) / 255
        found[f"{part}_label"] = labels
    return found


def get_mnist_pkl() -> None:
    """Sees that data/mnist.pkl.gz is there; Unsupported where it is not."""
    download("http://deeplearning.net/data/mnist/mnist.pkl.gz", dirname=_FOLDER)


def get_mnist_ubyte() -> None:
    """Sees that MNIST's four files are in the folder data, unpacks data/mnist.zip where not.

    Unsupported where neither is there.
    """
    files = [f"{name}-{kind}-ubyte" for name in ("train", "t10k")
             for kind in ("images-idx3", "labels-idx1")]
    _unpacked(files, f"{_HOST}/mxnet/data/mnist.zip")


def get_cifar10() -> None:
    """Sees that CIFAR-10's records are in data/cifar, unpacks data/cifar10.zip where not.

    Unsupported where neither is there.
    """
    files = [f"cifar/{name}" for name in ("train.rec", "test.rec", "train.lst", "test.lst")]
    _unpacked(files, f"{_HOST}/mxnet/data/cifar10.zip")


def _unpacked(files: list[str], url: str) -> None:
    if all(os.path.exists(os.path.join(_FOLDER, name)) for name in files):
        return
    with zipfile.ZipFile(download(url, dirname=_FOLDER)) as archive:
        archive.extractall(_FOLDER)


def get_mnist_iterator(batch_size: int, input_shape: tuple[int, ...], num_parts: int = 1,
                       part_index: int = 0) -> tuple[Any, Any]:
    """Iterators over MNIST's training and test images in the folder data (`get_mnist_ubyte`).

    Images are flat unless `input_shape` has three dimensions; training is shuffled, and both read
    part `part_index` of `num_parts`.
    """
    get_mnist_ubyte()

    def over(name: str, **more: Any) -> Any:
        return MNISTIter(image=f"{_FOLDER}/{name}-images-idx3-ubyte",
                         label=f"{_FOLDER}/{name}-labels-idx1-ubyte", input_shape=input_shape,
                         batch_size=batch_size, flat=len(input_shape) != 3, num_parts=num_parts,
                         part_index=part_index, **more)
    return over("train", shuffle=True), over("t10k")


# ---- archives -----------------------------------------------------------------------------------


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Unpacks an archive that lies in `data_dir` into that folder.

    Unsupported, which names the file, where it is not there.
    """
    path = download(url, fname=data_origin_name, dirname=data_dir)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Unpacks `data_origin_name` in `data_dir` to `data_name` there, and removes it.

    Does nothing where that is there already; Unsupported where neither is.
    """
    target = os.path.join(data_dir, data_name)
    if os.path.exists(target):
        return
    source = download(url, fname=data_origin_name, dirname=data_dir)
    with bz2.open(source) as packed, open(target, "wb") as file:
        shutil.copyfileobj(packed, file)
    os.remove(source)


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """The path of MXNet's tool im2rec.py below the folder that a variable names.

    Unsupported where it is not there.
    """
    home = config.get_variable(home_env)
    if home is not None:
        for folder in (home, os.path.join(home, "..", "..")):
            path = os.path.join(folder, "tools", "im2rec.py")
            if os.path.isfile(path):
                return path
    raise Unsupported(f"get_im2rec_path: {home_env} names no folder with tools/im2rec.py")
