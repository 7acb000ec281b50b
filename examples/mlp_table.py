"""A multi-layer perceptron on a table: 64 columns of numbers, ten classes.

    python examples/mlp_table.py --epochs 20 --seed 0 --out runs

The table is that of the digits, whose columns are pixels; nothing here knows that.
"""

from __future__ import annotations

import common
import digits
import numpy as np

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.gluon import nn

BATCH = 32


def main() -> None:
    args = common.arguments(__doc__, epochs=20)
    table, labels = digits.table()
    train_at, test_at = common.stratified(labels, args.seed)
    # each column with the mean and deviation of what is trained on
    mean, deviation = table[train_at].mean(0), table[train_at].std(0)
    table = (table - mean) / np.maximum(deviation, 1e-3)
    data = gluon.data.ArrayDataset(table[train_at], labels[train_at])
    train = gluon.data.DataLoader(data, BATCH, shuffle=True, last_batch="discard")
    x_test, y_test = mx.nd.array(table[test_at]), labels[test_at]
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(128, activation="relu"), nn.Dropout(0.3),
                nn.Dense(64, activation="relu"), nn.Dropout(0.2), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 2e-3})
    losses, scores = [], []
    for epoch in range(args.epochs):
        total = 0.0
        for x, label in common.progress(train, f"epoch {epoch + 1}"):
            with autograd.record():
                loss = loss_of(net(x), label).mean()
            loss.backward()
            trainer.step(1)
            total += loss.asscalar()
        losses.append(total / len(train))
        scores.append(float((net(x_test).asnumpy().argmax(1) == y_test).mean()))
    if args.out is not None:
        common.draw_curves(args.out / "mlp_table.png", "A perceptron on a table", {
            "training loss": {"training": losses}, "test accuracy": {"test": scores}})
    print(f"test accuracy {scores[-1]:.4f} (seed {args.seed})")


if __name__ == "__main__":
    main()
