"""LeNet on handwritten digits with gluon: a hybridized block, a DataLoader and a Trainer.

    python examples/lenet_gluon.py --epochs 12 --seed 0 --out runs
"""

from __future__ import annotations

import common
import digits

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.gluon import nn

BATCH = 64


def lenet() -> nn.HybridSequential:
    """LeNet (LeCun et al., 1998) with rectifiers and max pooling."""
    net = nn.HybridSequential()
    with net.name_scope():
        for filters in (20, 50):
            net.add(nn.Conv2D(filters, 5, activation="relu"), nn.MaxPool2D(2, 2))
        net.add(nn.Flatten(), nn.Dense(500, activation="relu"), nn.Dropout(0.25), nn.Dense(10))
    return net


def accuracy(net: gluon.Block, data: gluon.data.DataLoader) -> float:
    """The share of images that the network classifies right."""
    metric = mx.metric.Accuracy()
    for images, labels in data:
        metric.update([labels], [net(images)])
    return metric.get()[1]


def main() -> None:
    args = common.arguments(__doc__, epochs=12)
    images, labels = digits.load()
    parts = [gluon.data.ArrayDataset(images[at], labels[at])
             for at in common.stratified(labels, args.seed)]
    train = gluon.data.DataLoader(parts[0], BATCH, shuffle=True, last_batch="discard")
    test = gluon.data.DataLoader(parts[1], BATCH)
    net = lenet()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    steps = len(train) * args.epochs
    schedule = mx.lr_scheduler.CosineScheduler(steps, base_lr=0.05)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {
        "lr_scheduler": schedule, "momentum": 0.9, "wd": 1e-4})
    losses, scores = [], []
    for epoch in range(args.epochs):
        mean = mx.metric.Loss()
        for x, label in common.progress(train, f"epoch {epoch + 1}"):
            with autograd.record():
                loss = loss_of(net(x), label)
            loss.backward()
            trainer.step(len(x))
            mean.update(None, [loss])
        losses.append(mean.get()[1])
        scores.append(accuracy(net, test))
        print(f"epoch {epoch + 1:2d}  loss {losses[-1]:.4f}  test accuracy {scores[-1]:.4f}")
    if args.out is not None:
        common.draw_curves(args.out / "lenet_gluon.png", "LeNet with gluon", {
            "training loss": {"training": losses}, "test accuracy": {"test": scores}})
    print(f"test accuracy {scores[-1]:.4f} (seed {args.seed})")


if __name__ == "__main__":
    main()
