"""LeNet on handwritten digits with a Module: a symbol, iterators and `fit`.

    python examples/lenet_module.py --epochs 12 --seed 0 --out runs
"""

from __future__ import annotations

import common
import digits

import ndarray_rt as mx

BATCH = 64


def lenet() -> mx.sym.Symbol:
    """LeNet (LeCun et al., 1998) with rectifiers and max pooling."""
    net = mx.sym.Variable("data")
    for i, filters in enumerate((20, 50), 1):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{i}")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500, name="fc1")
    net = mx.sym.Dropout(mx.sym.Activation(net, act_type="relu", name="relu3"), p=0.25)
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def main() -> None:
    args = common.arguments(__doc__, epochs=12)
    images, labels = digits.load()
    train_at, test_at = common.stratified(labels, args.seed)
    train = mx.io.NDArrayIter(images[train_at], labels[train_at], BATCH, shuffle=True,
                              last_batch_handle="discard")
    test = mx.io.NDArrayIter(images[test_at], labels[test_at], BATCH)
    steps = len(train_at) // BATCH * args.epochs
    module = mx.mod.Module(lenet())
    curves: dict[str, list[float]] = {"training": [], "test": []}
    bar = iter(common.progress(range(steps), "training"))

    def after_batch(param) -> None:
        next(bar)

    def after_epoch(epoch: int, *_) -> None:
        for name, data in (("training", train), ("test", test)):
            curves[name].append(module.score(data, "acc")[0][1])
        train.reset()

    module.fit(train, num_epoch=args.epochs, initializer=mx.init.Xavier(), optimizer="sgd",
               optimizer_params={"lr_scheduler": mx.lr_scheduler.CosineScheduler(
                   steps, base_lr=0.05), "momentum": 0.9, "wd": 1e-4},
               batch_end_callback=after_batch, epoch_end_callback=after_epoch)
    if args.out is not None:
        common.draw_curves(args.out / "lenet_module.png", "LeNet with a Module",
                           {"accuracy": curves})
        module.save_checkpoint(str(args.out / "lenet"), args.epochs)
    print(f"test accuracy {curves['test'][-1]:.4f} (seed {args.seed})")


if __name__ == "__main__":
    main()
