"""What is trained: networks by name, their data, labels and first weights, for every framework."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

LEARNING_RATE, MOMENTUM, DECAY = 0.01, 0.9, 1e-4


@dataclass(frozen=True)
class Task:
    """A network of ten or more classes. `data`: the shape of its input, `axis` that of samples."""

    data: tuple[int, ...]
    axis: int = 0
    classes: int = 10

    def make_data(self, batch: int) -> Floats:
        """The batch that all steps train on."""
        shape = (*self.data[:self.axis], batch, *self.data[self.axis:])
        return np.random.RandomState(batch).standard_normal(shape).astype(np.float32)

    def make_labels(self, batch: int) -> Floats:
        """A class for each sample."""
        return np.random.RandomState(batch + 1).randint(0, self.classes, batch).astype(np.float32)


TASKS = {
    "lenet": Task((1, 28, 28)),
    "mlp": Task((784,)),
    "lstm": Task((35, 512), axis=1),
    "resnet50": Task((3, 224, 224), classes=1000),
}


def make_weights(shapes: Sequence[tuple[int, ...]]) -> list[Floats | None]:
    """Values of all parameters, in the order of the layers: He's for weights.

    None for a vector, which keeps what its layer begins with: zeros, or ones.
    """
    rng = np.random.RandomState(0)
    return [None if len(shape) == 1 else
            (rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)
            for shape in shapes]
