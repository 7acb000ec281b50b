"""Sequences of many lengths with a BucketingModule: one network for each length, shared weights.

    python examples/bucketing.py --epochs 4 --seed 0 --out runs

The sequences count in steps of 1, 2 or 3 from somewhere, modulo 24. Each number but the first two
follows from those before it.
"""

from __future__ import annotations

import common
import numpy as np

import ndarray_rt as mx

NUMBERS, HIDDEN, BATCH = 24, 64, 32
BUCKETS = [6, 10, 16]
PADDING = -1


def make(count: int, draw: np.random.Generator) -> list[list[int]]:
    """Sequences of 4 to 16 numbers."""
    return [[int(n) for n in (draw.integers(NUMBERS) + draw.integers(1, 4) * np.arange(length))
             % NUMBERS] for length in draw.integers(4, BUCKETS[-1] + 1, count)]


def network(length: int) -> tuple[mx.sym.Symbol, tuple[str], tuple[str]]:
    """The network of a bucket: scores of the next number at each step."""
    data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
    x = mx.sym.Embedding(data, input_dim=NUMBERS, output_dim=HIDDEN, name="embedding")
    cell = mx.rnn.LSTMCell(HIDDEN, prefix="lstm_")
    out, _ = cell.unroll(length, inputs=x, merge_outputs=True)
    scores = mx.sym.FullyConnected(mx.sym.reshape(out, shape=(-1, HIDDEN)), num_hidden=NUMBERS,
                                   name="scores")
    return mx.sym.SoftmaxOutput(scores, mx.sym.reshape(label, shape=(-1,)), use_ignore=True,
                                ignore_label=PADDING, normalization="valid",
                                name="softmax"), ("data",), ("softmax_label",)


def iterator(sequences: list[list[int]]) -> mx.io.DataIter:
    return mx.rnn.BucketSentenceIter(sequences, BATCH, buckets=BUCKETS, invalid_label=PADDING)


def accuracy(module: mx.mod.BucketingModule, data: mx.io.DataIter) -> float:
    """The share of numbers, from the third on, that are foretold."""
    right = total = 0
    data.reset()
    for batch in data:
        module.forward(batch, is_train=False)
        found = module.get_outputs()[0].asnumpy().argmax(1)
        label = batch.label[0].asnumpy()
        counts = label != PADDING
        counts[:, 0] = False
        right += ((found.reshape(label.shape) == label) & counts).sum()
        total += counts.sum()
    return float(right / total)


def main() -> None:
    args = common.arguments(__doc__, epochs=4)
    draw = np.random.default_rng(args.seed)
    train, test = iterator(make(3000, draw)), iterator(make(500, draw))
    module = mx.mod.BucketingModule(network, default_bucket_key=train.default_bucket_key)
    module.bind(train.provide_data, train.provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.01,
                                                              "rescale_grad": 1})
    scores = []
    for epoch in range(args.epochs):
        train.reset()
        for batch in common.progress(train, f"epoch {epoch + 1}"):
            module.forward_backward(batch)
            module.update()
        scores.append(accuracy(module, test))
        print(f"epoch {epoch + 1:2d}  test accuracy {scores[-1]:.4f}")
    if args.out is not None:
        common.draw_curves(args.out / "bucketing.png", "Buckets of sequences",
                           {"test accuracy": {"test": scores}})
    print(f"test accuracy {scores[-1]:.4f} (seed {args.seed})")


if __name__ == "__main__":
    main()
