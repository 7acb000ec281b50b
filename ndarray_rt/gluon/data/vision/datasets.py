"""Data sets of images in files of this machine; nothing is downloaded."""

from __future__ import annotations

import os
import tarfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .... import nd
from ....base import data_dir
from ....errors import MXNetError, ParameterError
from ....image.read import imdecode, imread
from ....io.file_iters import read_idx
from ....public import shows
from ....recordio import unpack
from ..dataset import Dataset, RecordFileDataset

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "ImageFolderDataset",
           "ImageRecordDataset"]
__dir__ = shows(globals())

PIXELS = 3 * 32 * 32


def _default(name: str) -> str:
    return os.path.join(data_dir(), "datasets", name)


class _LabelledImages(Dataset):
    """Pairs of an image (height, width, channels) of uint8 and a label of int32."""

    def __init__(self, root: str, train: bool, transform: Callable[..., Any] | None) -> None:
        self._root = os.path.expanduser(root)
        self._train = train
        self._transform = transform
        pixels, labels = self._read()
        self._data = nd.array(pixels, dtype="uint8")
        self._label = labels.astype(np.int32)

    def _read(self) -> tuple[Any, Any]:
        """All images and labels."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._label)

    def __getitem__(self, idx: Any) -> Any:
        sample = self._data[idx], self._label[idx]
        return sample if self._transform is None else self._transform(*sample)


class MNIST(_LabelledImages):
    """Handwritten digits: images (28, 28, 1) of uint8, and labels of int32.

    `root` holds train-images-idx3-ubyte and train-labels-idx1-ubyte, or t10k-... for
    `train=False`, each perhaps with .gz at its end. `transform(image, label)` gives the sample.
    Raises MXNetError for a missing file, ParameterError for one of another form.
    """

    def __init__(self, root: str = _default("mnist"), train: bool = True,
                 transform: Callable[..., Any] | None = None) -> None:
        super().__init__(root, train, transform)

    def _read(self) -> tuple[Any, Any]:
        part = "train" if self._train else "t10k"
        pixels = read_idx(self._path(f"{part}-images-idx3-ubyte"), 3)
        labels = read_idx(self._path(f"{part}-labels-idx1-ubyte"), 1)
        if len(pixels) != len(labels):
            raise ParameterError(f"{type(self).__name__}: {len(pixels)} images, but {len(labels)} "
                                 f"labels in {self._root!r}")
        return pixels[..., None], labels

    def _path(self, name: str) -> str:
        plain = os.path.join(self._root, name)
        return plain if os.path.exists(plain) else f"{plain}.gz"


class FashionMNIST(MNIST):
    """Pictures of clothes in the files and the form of MNIST."""

    def __init__(self, root: str = _default("fashion-mnist"), train: bool = True,
                 transform: Callable[..., Any] | None = None) -> None:
        super().__init__(root, train, transform)


class CIFAR10(_LabelledImages):
    """Photographs of ten kinds: images (32, 32, 3) of uint8, and labels of int32.

    `root` holds data_batch_1.bin to data_batch_5.bin, or test_batch.bin for `train=False`, itself
    or in cifar-10-batches-bin; or cifar-10-binary.tar.gz with them, which is read as it is.
    `transform(image, label)` gives the sample. Raises MXNetError for a missing file,
    ParameterError for one of another form.
    """

    _folder = "cifar-10-batches-bin"
    _archive = "cifar-10-binary.tar.gz"
    _train_files = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
    _test_files: tuple[str, ...] = ("test_batch.bin",)
    _labels = 1  # bytes before the pixels
    _label_at = 0

    def __init__(self, root: str = _default("cifar10"), train: bool = True,
                 transform: Callable[..., Any] | None = None) -> None:
        super().__init__(root, train, transform)

    def _read(self) -> tuple[Any, Any]:
        names = self._train_files if self._train else self._test_files
        rows = np.concatenate([self._rows(name) for name in names])
        pixels = rows[:, self._labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return pixels, rows[:, self._label_at]

    def _rows(self, name: str) -> Any:
        content = self._content(name)
        size = PIXELS + self._labels
        if not content or len(content) % size:
            raise ParameterError(f"{type(self).__name__}: {name!r} in {self._root!r} has "
                                 f"{len(content)} bytes, expected a multiple of {size}")
        return np.frombuffer(content, np.uint8).reshape(-1, size)

    def _content(self, name: str) -> bytes:
        for path in (os.path.join(self._root, name), os.path.join(self._root, self._folder, name)):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    return file.read()
        archive = os.path.join(self._root, self._archive)
        try:
            with tarfile.open(archive) as tar:
                for member in tar:
                    if os.path.basename(member.name) == name and member.isfile():
                        found = tar.extractfile(member)
                        assert found is not None
                        return found.read()
        except FileNotFoundError:
            pass
        except (OSError, EOFError, tarfile.TarError) as error:
            raise ParameterError(f"{type(self).__name__}: {archive!r}: {error}") from None
        raise MXNetError(f"{type(self).__name__}: there is no {os.path.join(self._root, name)!r}, "
                         f"nor is it in {archive!r}; expected a file of the binary version, with "
                         f"{self._labels} byte(s) of labels and {PIXELS} of pixels an image")


class CIFAR100(CIFAR10):
    """As CIFAR10, in train.bin and test.bin: 20 coarse labels, or 100 with `fine_label`."""

    _folder = "cifar-100-binary"
    _archive = "cifar-100-binary.tar.gz"
    _train_files = ("train.bin",)
    _test_files = ("test.bin",)
    _labels = 2

    def __init__(self, root: str = _default("cifar100"), fine_label: bool = False,
                 train: bool = True, transform: Callable[..., Any] | None = None) -> None:
        self._label_at = int(fine_label)
        super().__init__(root, train, transform)


class ImageRecordDataset(RecordFileDataset):
    """Images in a file of records: pairs of an image (height, width, channels) and its label.

    `flag` 1 gives three channels, red first, 0 one of grey; `transform(image, label)` gives the
    sample. A label is a number, or an array of several. Needs Pillow. Raises MXNetError for a
    record that is no image. Source: MXNet's ImageRecordDataset.
    """

    def __init__(self, filename: str, flag: int = 1,
                 transform: Callable[..., Any] | None = None) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: Any) -> Any:
        header, content = unpack(super().__getitem__(idx))
        sample = imdecode(content, self._flag), header.label
        return sample if self._transform is None else self._transform(*sample)


class ImageFolderDataset(Dataset):
    """Images in folders, one for each class: pairs of an image (height, width, channels) and the
    number of its folder.

    `synsets` are the folders' names in order, `items` pairs of a path and a number. `flag` and
    `transform` are as for ImageRecordDataset. What is no folder in `root`, and no .jpg, .jpeg or
    .png in those, is told by a warning. Needs Pillow. Source: MXNet's ImageFolderDataset.
    """

    _endings = (".jpg", ".jpeg", ".png")

    def __init__(self, root: str, flag: int = 1,
                 transform: Callable[..., Any] | None = None) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        self._transform = transform
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        self._list()

    def _list(self) -> None:
        try:
            names = sorted(os.listdir(self._root))
        except OSError as error:
            raise MXNetError(f"ImageFolderDataset: {self._root!r}: {error.strerror}; expected a "
                             "folder of folders of images") from None
        for name in names:
            folder = os.path.join(self._root, name)
            if not os.path.isdir(folder):
                warnings.warn(f"Ignoring {folder}, which is not a directory.", stacklevel=4)
                continue
            label = len(self.synsets)
            self.synsets.append(name)
            for file in sorted(os.listdir(folder)):
                path = os.path.join(folder, file)
                ending = os.path.splitext(file)[1]
                if ending.lower() not in self._endings:
                    warnings.warn(f"Ignoring {path} of type {ending}. Only support "
                                  f"{', '.join(self._endings)}", stacklevel=4)
                    continue
                self.items.append((path, label))

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, idx: Any) -> Any:
        path, label = self.items[idx]
        sample = imread(path, self._flag), label
        return sample if self._transform is None else self._transform(*sample)
