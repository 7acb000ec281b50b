"""Fine-tuning from a checkpoint: a ResNet that knows four shapes learns six from a few images.

    python examples/fine_tuning.py --epochs 20 --seed 0 --out runs

The first layers, which come out of the checkpoint, stay as they are (grad_req "null"), those behind
them learn slowly (lr_mult), and a new head learns at full speed. A network of the same form that
begins from scratch on the same images shows what that gains.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import common
import numpy as np
from resnet_shapes import SHAPES, make

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.gluon.model_zoo import vision

KNOWN, FEW, BATCH, EPOCHS_BEFORE = 4, 8, 16, 3


def resnet(classes: int) -> gluon.HybridBlock:
    """A small ResNet v1 of the model zoo; `features` see, `output` names what they see."""
    return vision.ResNetV1(vision.BasicBlockV1, [1, 1, 1], [16, 16, 32, 64], classes=classes,
                           thumbnail=True)


def accuracy(net: gluon.Block, images: np.ndarray, labels: np.ndarray) -> float:
    """The share of images that the network classifies right."""
    return float((net(mx.nd.array(images)).asnumpy().argmax(1) == labels).mean())


def train(net: gluon.Block, images: np.ndarray, labels: np.ndarray, epochs: int, text: str,
          after_epoch: Callable[[], object] = lambda: None) -> None:
    """Trains what of the network is not frozen."""
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(images, labels), BATCH, shuffle=True,
                                 last_batch="discard")
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    schedule = mx.lr_scheduler.CosineScheduler(len(data) * epochs, base_lr=5e-3)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"lr_scheduler": schedule})
    for _ in common.progress(range(epochs), text):
        for x, label in data:
            with autograd.record():
                loss = loss_of(net(x), label)
            loss.backward()
            trainer.step(len(x))
        after_epoch()


def begun(classes: int) -> gluon.HybridBlock:
    """A network that knows nothing."""
    net = resnet(classes)
    net.initialize(mx.init.Xavier(magnitude=2))
    net.hybridize()
    return net


def from_checkpoint(path: Path, classes: int) -> gluon.HybridBlock:
    """A network with the features of the checkpoint and a head that knows nothing."""
    net = resnet(classes)
    net.features.load_parameters(str(path))
    net.output.initialize(mx.init.Xavier(magnitude=2))
    for layer in net.features[:2]:
        layer.collect_params().setattr("grad_req", "null")
    for layer in net.features[2:]:
        layer.collect_params().setattr("lr_mult", 0.2)
    net.hybridize()
    return net


def main() -> None:
    args = common.arguments(__doc__, epochs=20)
    draw = np.random.default_rng(args.seed)
    images, labels = make(2400, draw)
    known = labels < KNOWN
    before = begun(KNOWN)
    train(before, images[known], labels[known], EPOCHS_BEFORE, f"{KNOWN} shapes")
    with tempfile.TemporaryDirectory() as folder:
        path = (args.out or Path(folder)) / "shapes.params"
        before.features.save_parameters(str(path))
        nets = {"from scratch": begun(len(SHAPES)),
                "fine-tuned": from_checkpoint(path, len(SHAPES))}
    few, few_labels = make(FEW * len(SHAPES), draw)
    test, test_labels = make(600, draw)
    curves: dict[str, list[float]] = {}
    for text, net in nets.items():
        scores = curves[text] = []
        train(net, few, few_labels, args.epochs, text,
              lambda net=net, scores=scores: scores.append(accuracy(net, test, test_labels)))
        print(f"{text}: test accuracy {scores[-1]:.4f} after {FEW} images of each shape")
    if args.out is not None:
        common.draw_curves(args.out / "fine_tuning.png", f"Six shapes from {FEW} images each",
                           {"test accuracy": curves})
    print(f"test accuracy {curves['fine-tuned'][-1]:.4f} (seed {args.seed})")


if __name__ == "__main__":
    main()
