"""A training that goes on from its last checkpoint, if there is one, as a user would write it.

    python -m tests.training.resumable DOOR OPTIMIZER FOLDER [KILLED_IN]

In epoch KILLED_IN it ends by SIGKILL, two batches behind the checkpoint of the epoch before. What
it has at the end is in FOLDER/last.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.gluon import nn

EPOCHS, BATCHES, BATCH = 4, 5, 8
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.9, "wd": 1e-3}, "nag": {"momentum": 0.9}, "adam": {}, "rmsprop": {}}


def schedule() -> Any:
    return mx.lr_scheduler.FactorScheduler(step=3, factor=0.8, base_lr=0.02)


def network() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(20, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(2),
                nn.Conv2D(24, 3), nn.Dropout(0.4), nn.Flatten(), nn.Dense(5))
    return net


def batches(epoch: int) -> Iterator[tuple[mx.nd.NDArray, mx.nd.NDArray]]:
    """An order that needs no state of its own."""
    rng = np.random.default_rng([1, epoch])
    for _ in range(BATCHES):
        labels = rng.integers(0, 5, BATCH)
        data = rng.standard_normal((BATCH, 16, 10, 10)) + labels[:, None, None, None] / 5
        yield mx.nd.array(data), mx.nd.array(labels)


class Random:
    """The state of the generator, of which masks of dropout are drawn, in a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "random.txt"

    def save(self, epoch: int) -> None:
        self.path.write_text(" ".join(map(str, (epoch, *mx.random.get_state()))))

    def load(self) -> int:
        """The number of finished epochs."""
        if not self.path.exists():
            return 0
        epoch, *state = map(int, self.path.read_text().split())
        mx.random.set_state((state[0], state[1]))
        return epoch


class Gluon:
    def __init__(self, optimizer: str, folder: Path, is_hybrid: bool = True) -> None:
        self.folder = folder
        self.net = network()
        self.net.initialize(mx.init.Xavier())
        if is_hybrid:
            self.net.hybridize()
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        self.trainer = gluon.Trainer(self.net.collect_params(), optimizer, {
            **OPTIMIZERS[optimizer], "lr_scheduler": schedule()})

    def load(self, epoch: int) -> None:
        self.net.load_parameters(str(self.folder / "net.params"))
        self.trainer.load_states(str(self.folder / "net.states"))

    def save(self, epoch: int) -> None:
        self.net.save_parameters(str(self.folder / "net.params"))
        self.trainer.save_states(str(self.folder / "net.states"))

    def step(self, x: mx.nd.NDArray, y: mx.nd.NDArray) -> None:
        with autograd.record():
            loss = self.loss(self.net(x), y)
        loss.backward()
        self.trainer.step(BATCH)

    def last(self) -> dict[str, mx.nd.NDArray]:
        return {name: p.data() for name, p in self.net.collect_params().items()}


class Imperative(Gluon):
    def __init__(self, optimizer: str, folder: Path) -> None:
        super().__init__(optimizer, folder, is_hybrid=False)


class Module:
    def __init__(self, optimizer: str, folder: Path) -> None:
        self.prefix = str(folder / "net")
        self.optimizer = optimizer
        symbol = mx.sym.SoftmaxOutput(network()(mx.sym.var("data")), name="softmax")
        self.module = self._bound(mx.mod.Module(symbol))
        self.module.init_params(mx.init.Xavier())
        self._begin(0)

    def _bound(self, module: Any) -> Any:
        module.bind([("data", (BATCH, 16, 10, 10))], [("softmax_label", (BATCH,))])
        return module

    def _begin(self, epoch: int) -> None:
        # as with MXNet, files of a Module's states do not say how many steps were done
        self.module.init_optimizer(optimizer=self.optimizer, optimizer_params={
            **OPTIMIZERS[self.optimizer], "lr_scheduler": schedule(),
            "begin_num_update": epoch * BATCHES})

    def load(self, epoch: int) -> None:
        self.module = self._bound(mx.mod.Module.load(self.prefix, epoch,
                                                     load_optimizer_states=True))
        self._begin(epoch)

    def save(self, epoch: int) -> None:
        self.module.save_checkpoint(self.prefix, epoch, save_optimizer_states=True)

    def step(self, x: mx.nd.NDArray, y: mx.nd.NDArray) -> None:
        self.module.forward_backward(mx.io.DataBatch([x], [y]))
        self.module.update()

    def last(self) -> dict[str, mx.nd.NDArray]:
        args, aux = self.module.get_params()
        return {**args, **aux}


DOORS: dict[str, Any] = {"gluon": Gluon, "imperative": Imperative, "module": Module}


def main(door: str, optimizer: str, folder: Path, killed_in: int) -> None:
    mx.random.seed(5)
    training, random = DOORS[door](optimizer, folder), Random(folder)
    # deferred initialization draws, too: it is done before the state is set
    if door != "module":
        training.net(next(batches(0))[0])
    first = random.load()
    if first:
        training.load(first)
    for epoch in range(first, EPOCHS):
        for number, (x, y) in enumerate(batches(epoch)):
            if epoch == killed_in and number == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            training.step(x, y)
        training.save(epoch + 1)
        random.save(epoch + 1)
    mx.nd.save(str(folder / "last"), training.last())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
