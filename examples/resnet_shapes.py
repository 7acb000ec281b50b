"""A ResNet on coloured images of 32x32 pixels that are made here: which shape is it?

    python examples/resnet_shapes.py --epochs 3 --seed 0 --out runs
"""

from __future__ import annotations

import common
import numpy as np

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.gluon.model_zoo import vision

SHAPES = ("disc", "ring", "square", "frame", "triangle", "cross")
SIZE, BATCH = 32, 32


def outline(shape: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which places, counted from the middle in radii, belong to a shape."""
    far, wide = np.hypot(x, y), np.maximum(abs(x), abs(y))
    return {"disc": far < 1, "ring": (far < 1) & (far > 0.6), "square": wide < 0.85,
            "frame": (wide < 0.9) & (wide > 0.5), "triangle": (y < 0.7) & (abs(x) * 1.6 < y + 0.9),
            "cross": (wide < 1) & ((abs(x) < 0.3) | (abs(y) < 0.3))}[shape]


def make(count: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(images (count, 3, 32, 32), numbers of their shapes): turned, light on dark, in noise."""
    images, labels = np.empty((count, 3, SIZE, SIZE), np.float32), np.arange(count) % len(SHAPES)
    at = np.arange(SIZE) - SIZE / 2
    for image, label in zip(images, labels, strict=True):
        radius, angle = draw.uniform(7, 11), draw.uniform(-0.3, 0.3)
        y, x = np.meshgrid(at - draw.uniform(-4, 4), at - draw.uniform(-4, 4), indexing="ij")
        turned = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        inside = outline(SHAPES[label], *(axis / radius for axis in turned))
        # light on dark
        colours = draw.uniform(0.6, 1, 3), draw.uniform(0, 0.4, 3)
        image[:] = np.where(inside, colours[0][:, None, None], colours[1][:, None, None])
    images += draw.normal(0, 0.1, images.shape).astype(np.float32)
    return images, labels.astype(np.float32)


def resnet() -> gluon.HybridBlock:
    """A small ResNet v1 of the model zoo, for small images (thumbnail)."""
    return vision.ResNetV1(vision.BasicBlockV1, [1, 1, 1], [16, 16, 32, 64],
                           classes=len(SHAPES), thumbnail=True)


def main() -> None:
    args = common.arguments(__doc__, epochs=3)
    draw = np.random.default_rng(args.seed)
    images, labels = make(1800, draw)
    x_test, y_test = make(300, draw)
    train = gluon.data.DataLoader(gluon.data.ArrayDataset(images, labels), BATCH, shuffle=True,
                                  last_batch="discard")
    net = resnet()
    net.initialize(mx.init.Xavier(magnitude=2))
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    schedule = mx.lr_scheduler.CosineScheduler(len(train) * args.epochs, base_lr=5e-3)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"lr_scheduler": schedule})
    losses, scores = [], []
    for epoch in range(args.epochs):
        mean = mx.metric.Loss()
        for x, label in common.progress(train, f"epoch {epoch + 1}"):
            with autograd.record():
                loss = loss_of(net(x), label)
            loss.backward()
            trainer.step(len(x))
            mean.update(None, [loss])
        found = net(mx.nd.array(x_test)).asnumpy().argmax(1)
        losses.append(mean.get()[1])
        scores.append(float((found == y_test).mean()))
        print(f"epoch {epoch + 1:2d}  loss {losses[-1]:.4f}  test accuracy {scores[-1]:.4f}")
    if args.out is not None:
        common.draw_images(args.out / "shapes.png", "What the network is asked",
                           x_test[:24].transpose(0, 2, 3, 1))
        common.draw_curves(args.out / "resnet_shapes.png", "A ResNet on shapes", {
            "training loss": {"training": losses}, "test accuracy": {"test": scores}})
    print(f"test accuracy {scores[-1]:.4f} (seed {args.seed})")


if __name__ == "__main__":
    main()
