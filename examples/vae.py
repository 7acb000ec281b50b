"""A variational autoencoder on handwritten digits: codes of 8 numbers, learned without labels.

    python examples/vae.py --epochs 40 --seed 0 --out runs

After Kingma and Welling (2014, arXiv 1312.6114). What the codes are worth is measured by
classifying held-out images by the labels of their nearest neighbours among the codes.
"""

from __future__ import annotations

import common
import digits
import numpy as np

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.gluon import nn

CODE, HIDDEN, BATCH, NEIGHBOURS = 8, 256, 64, 5


class VAE(gluon.HybridBlock):
    """Gives logits of the pixels, and how far the distribution of codes is from the prior."""

    def __init__(self, pixels: int, **kwargs) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.encoder = nn.HybridSequential(prefix="encoder_")
            self.decoder = nn.HybridSequential(prefix="decoder_")
            with self.encoder.name_scope():
                self.encoder.add(nn.Dense(HIDDEN, activation="tanh"), nn.Dense(2 * CODE))
            with self.decoder.name_scope():
                self.decoder.add(nn.Dense(HIDDEN, activation="tanh"), nn.Dense(pixels))

    def hybrid_forward(self, F, x):  # noqa: N803
        found = self.encoder(x)
        mean = F.slice_axis(found, axis=1, begin=0, end=CODE)
        log_variance = F.slice_axis(found, axis=1, begin=CODE, end=None)
        # a draw from the distribution, through which gradients pass
        code = mean + F.exp(log_variance / 2) * F.random.normal_like(mean)
        divergence = (F.exp(log_variance) + mean ** 2 - 1 - log_variance).sum(axis=1) / 2
        return self.decoder(code), divergence


def losses(net: VAE, x: mx.nd.NDArray) -> mx.nd.NDArray:
    """The negative evidence lower bound of each image, in nats."""
    loss_of = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    logits, divergence = net(x)
    return loss_of(logits, x) * x.shape[1] + divergence


def codes(net: VAE, pixels: np.ndarray) -> np.ndarray:
    """The mean code of each image."""
    return net.encoder(mx.nd.array(pixels)).asnumpy()[:, :CODE]


def classified(known: np.ndarray, labels: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """For each code that is asked for, the label that most of its nearest neighbours have."""
    far = ((asked[:, None] - known[None]) ** 2).sum(-1)
    nearest = labels[far.argsort(1)[:, :NEIGHBOURS]].astype(int)
    return np.array([np.bincount(votes, minlength=10).argmax() for votes in nearest])


def main() -> None:
    args = common.arguments(__doc__, epochs=40)
    pixels, labels = digits.table()
    train_at, test_at = common.stratified(labels, args.seed)
    train = gluon.data.DataLoader(gluon.data.ArrayDataset(pixels[train_at]), BATCH, shuffle=True,
                                  last_batch="discard")
    net = VAE(pixels.shape[1])
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 2e-3})
    x_test = mx.nd.array(pixels[test_at])
    bounds: dict[str, list[float]] = {"training": [], "test": []}
    for _ in common.progress(range(args.epochs), "epochs"):
        mean = mx.metric.Loss()
        for x in train:
            with autograd.record():
                loss = losses(net, x)
            loss.backward()
            trainer.step(len(x))
            mean.update(None, [loss])
        bounds["training"].append(mean.get()[1])
        bounds["test"].append(float(losses(net, x_test).asnumpy().mean()))
    found = classified(codes(net, pixels[train_at]), labels[train_at], codes(net, pixels[test_at]))
    right = float((found == labels[test_at]).mean())
    print(f"held-out images: {bounds['test'][-1]:.2f} nats at most")
    if args.out is not None:
        common.draw_curves(args.out / "vae.png", "A variational autoencoder",
                           {"loss: nats of an image": bounds})
        drawn = net.decoder(mx.nd.random.normal(shape=(24, CODE)))
        again = net(x_test[:12])[0]
        images = np.concatenate([pixels[test_at[:12]], again.sigmoid().asnumpy(),
                                 drawn.sigmoid().asnumpy()])
        common.draw_images(args.out / "vae_images.png",
                           "Digits, the same out of their codes, and codes drawn at random",
                           images.reshape(-1, 8, 8))
    print(f"test accuracy {right:.4f} (seed {args.seed})")


if __name__ == "__main__":
    main()
