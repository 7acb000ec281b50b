"""The networks that are compared, and the files in which every runner finds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

Shape = tuple[int, ...]
BATCH = -1  # stands in a shape where the batch goes
CLASSES = (BATCH, 1000)


@dataclass(frozen=True)
class Model:
    """A network: its name in `model_zoo.symbols`, its inputs and its output.

    `tokens`: above 0 the input is whole numbers below it, else normal floats. `states`: further
    inputs, zeros. `bound`: what benchmarks/bound calls it.
    """

    zoo: str
    data: Shape = (BATCH, 3, 224, 224)
    output: Shape = CLASSES
    tokens: int = 0
    states: dict[str, Shape] = field(default_factory=dict)
    bound: str | None = None

    def shapes(self, batch: int) -> dict[str, Shape]:
        """The shape of every input."""
        return {name: of_batch(shape, batch)
                for name, shape in {"data": self.data, **self.states}.items()}

    def make_data(self, batch: int) -> npt.NDArray[np.generic]:
        """The input that all runners get: int64 tokens or float32, the same at every call."""
        # unlike Generator, RandomState gives the same numbers in every version of NumPy
        rng = np.random.RandomState(batch)
        shape = of_batch(self.data, batch)
        if self.tokens:
            return rng.randint(0, self.tokens, shape).astype(np.int64)
        return rng.standard_normal(shape).astype(np.float32)


def of_batch(shape: Shape, batch: int) -> Shape:
    """A shape with its batch filled in."""
    return tuple(batch if size == BATCH else size for size in shape)


LSTM_STATE = (2, BATCH, 512)

MODELS: dict[str, Model] = {
    "resnet50": Model("resnet50_v1", bound="resnet50_v1"),
    "vgg16": Model("vgg16", bound="vgg16"),
    "googlenet": Model("googlenet", bound="googlenet"),
    "mobilenet_v2": Model("mobilenetv2_1.0", bound="mobilenet_v2"),
    "densenet121": Model("densenet121"),
    "squeezenet": Model("squeezenet1.0"),
    "lstm": Model("lstm", (64, BATCH, 512), (64, BATCH, 512),
                  states={"rnn_state": LSTM_STATE, "rnn_state_cell": LSTM_STATE}),
    "bert": Model("bert_encoder", (BATCH, 128), (BATCH, 128, 256), tokens=30522),
    "mlp": Model("mlp", (BATCH, 784), (BATCH, 10)),
}


@dataclass(frozen=True)
class Files:
    """Where the parts of one prepared model lie."""

    folder: Path
    model: str

    @property
    def symbol(self) -> Path:
        """MXNet's JSON."""
        return self.folder / f"{self.model}-symbol.json"

    @property
    def params(self) -> Path:
        """MXNet's file of parameters, names with arg: and aux: before them."""
        return self.folder / f"{self.model}-0000.params"

    @property
    def arrays(self) -> Path:
        """The same parameters for NumPy, names without that."""
        return self.folder / f"{self.model}.npz"

    @property
    def onnx(self) -> Path:
        return self.folder / f"{self.model}.onnx"

    @property
    def stamp(self) -> Path:
        """What the others were made from."""
        return self.folder / f"{self.model}.stamp"

    def floats(self, batch: int) -> Path:
        """Parameters and input as benchmarks/bound reads them."""
        return self.folder / f"{self.model}-b{batch}.f32"
