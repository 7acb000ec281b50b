"""Trains LeNet on real handwritten digits, then classifies with it, and shows what ran.

    python examples/train_digits.py --epochs 12 --seed 0 --out runs

Gradients are accumulated over micro-batches (grad_req="add"), the update is SGD with momentum.
After each epoch everything is saved; --resume goes on from there to the same bits as if it had
never stopped.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import common
import digits
import numpy as np

import ndarray_rt as mx

BATCH, MICRO = 64, 16
LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.02, 0.9, 1e-4


def lenet() -> mx.sym.Symbol:
    """LeNet (LeCun et al., 1998) with rectifiers and max pooling."""
    net = mx.sym.Variable("data")
    for name, filters in (("1", 20), ("2", 50)):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, name="conv" + name)
        net = mx.sym.Activation(net, act_type="relu", name="relu" + name)
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max",
                             name="pool" + name)
    net = mx.sym.Flatten(net, name="flatten")
    net = mx.sym.FullyConnected(net, num_hidden=500, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu3")
    net = mx.sym.Dropout(net, p=0.25, name="dropout")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def initialize(executor, names: list[str]) -> None:
    """Weights after He et al. (2015), biases zero; drawn from mx.random."""
    for name in names:
        array = executor.arg_dict[name]
        if name.endswith("bias"):
            array[:] = 0
        else:
            fan_in = int(np.prod(array.shape[1:]))
            array[:] = mx.nd.random.normal(0, (2 / fan_in) ** 0.5, shape=array.shape)


class Checkpoint:
    """Parameters, momentum, random state and the number of finished epochs, in one file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "digits.params"

    def save(self, epoch: int, params: dict, momenta: dict, curve: list) -> None:
        seed, position = mx.random.get_state()
        state = {f"arg:{name}": array for name, array in params.items()}
        state.update({f"momentum:{name}": array for name, array in momenta.items()})
        state["random"] = mx.nd.array(np.array([seed, position], np.int64), dtype="int64")
        state["epoch"] = mx.nd.array(np.array([epoch], np.int64), dtype="int64")
        state["curve"] = mx.nd.array(np.array(curve, np.float64).reshape(-1, 3), dtype="float64")
        mx.nd.save(str(self.path), state)

    def load(self, seed: int, params: dict, momenta: dict) -> tuple[int, list]:
        """Fills params and momenta; returns the number of finished epochs and their curve."""
        if not self.path.is_file():
            sys.exit(f"--resume: there is no checkpoint {self.path}; train without --resume first")
        try:
            state = mx.nd.load(str(self.path))
        except mx.MXNetError as error:
            sys.exit(f"--resume: {error}")
        if "random" not in state or "curve" not in state:
            sys.exit(f"--resume: {self.path} is no checkpoint of this program")
        saved = int(state["random"].asnumpy()[0])
        if saved != seed:
            sys.exit(f"--resume: {self.path} was trained with --seed {saved}, not {seed}")
        for name in params:
            state[f"arg:{name}"].copyto(params[name])
            state[f"momentum:{name}"].copyto(momenta[name])
        mx.random.set_state(tuple(int(word) for word in state["random"].asnumpy()))
        return int(state["epoch"].asnumpy()[0]), state["curve"].asnumpy().tolist()


def accuracy(executor, images: np.ndarray, labels: np.ndarray, batch: int) -> float:
    """The share of images that the executor's first output classifies right."""
    right = 0
    for start in range(0, len(images), batch):
        part = images[start:start + batch]
        executor.forward(is_train=False, data=np.resize(part, (batch, *part.shape[1:])))
        found = executor.outputs[0].asnumpy()[:len(part)].argmax(axis=1)
        right += int((found == labels[start:start + batch]).sum())
    return right / len(images)


def train(args: argparse.Namespace) -> tuple[dict, list]:
    """Trains as asked; returns the parameters and, for each epoch, (loss, training and test
    accuracy)."""
    images, labels = digits.load()
    train_at, test_at = common.stratified(labels, args.seed)
    net = lenet()
    names = [n for n in net.list_arguments() if n not in ("data", "softmax_label")]
    requests = dict.fromkeys(names, "add")
    executor = net.simple_bind(mx.cpu(), grad_req=requests, data=(MICRO, 1, 28, 28),
                               softmax_label=(MICRO,))
    params = {name: executor.arg_dict[name] for name in names}
    momenta = {name: mx.nd.zeros(array.shape) for name, array in params.items()}
    checkpoint = Checkpoint(args.out)
    mx.random.seed(args.seed)
    initialize(executor, names)
    first, curve = checkpoint.load(args.seed, params, momenta) if args.resume else (0, [])
    for name in names:
        executor.grad_dict[name][:] = 0
    for epoch in range(first, args.epochs):
        start, loss = time.time(), 0.0
        # an order that needs no state of its own: the same one after a resume
        order = np.random.default_rng([args.seed, epoch]).permutation(train_at)
        batches = [order[i:i + BATCH] for i in range(0, len(order) - BATCH + 1, BATCH)]
        rate = LEARNING_RATE * (0.1 if epoch >= 0.75 * args.epochs else 1.0)
        for batch in common.progress(batches, f"epoch {epoch + 1}"):
            for i in range(0, BATCH, MICRO):
                at = batch[i:i + MICRO]
                executor.forward(is_train=True, data=images[at], softmax_label=labels[at])
                executor.backward()
                found = executor.outputs[0].asnumpy()[np.arange(MICRO), labels[at].astype(int)]
                loss -= float(np.log(np.maximum(found, 1e-12)).sum())
            for name in names:
                mx.nd.sgd_mom_update(params[name], executor.grad_dict[name], momenta[name],
                                     out=params[name], lr=rate, momentum=MOMENTUM,
                                     wd=WEIGHT_DECAY, rescale_grad=1 / BATCH)
                executor.grad_dict[name][:] = 0
        seen = len(batches) * BATCH
        curve.append([loss / seen, accuracy(executor, images[train_at], labels[train_at], MICRO),
                      accuracy(executor, images[test_at], labels[test_at], MICRO)])
        print(f"epoch {epoch + 1:2d}  loss {curve[-1][0]:.4f}  training accuracy "
              f"{curve[-1][1]:.4f}  test accuracy {curve[-1][2]:.4f}  "
              f"{time.time() - start:.1f} s", flush=True)
        checkpoint.save(epoch + 1, params, momenta, curve)
    return params, curve


def classify(args: argparse.Namespace, params: dict) -> float:
    """Classifies the test images with weights in the layout oneDNN wants; prints what ran."""
    images, labels = digits.load()
    _, test_at = common.stratified(labels, args.seed)
    batch = 40
    executor = lenet().simple_bind(mx.cpu(), grad_req="null", data=(batch, 1, 28, 28),
                                   softmax_label=(batch,))
    executor.copy_params_from(params)
    score = accuracy(executor, images[test_at], labels[test_at], batch)
    print(f"\ninference, batch {batch}, {mx.get_num_threads()} thread(s); weights now in: "
          + ", ".join(f"{name} {weight_layout(executor.arg_dict[name])}" for name in params
                      if name.endswith("weight")))
    print(executor.explain(repeat=20))
    return score


def weight_layout(array) -> str:
    """oneDNN's name of the layout that a weight is in, such as Ohwi64o."""
    desc = array._chunk.mkl_mem
    return "default" if desc is None else desc.layout(weights=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1,
                        help="1 is best for images this small")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder for the results")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    args = parser.parse_args()
    mx.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    start = time.time()
    params, curve = train(args)
    score = classify(args, params)
    loss, *scores = zip(*curve, strict=True)
    common.draw_curves(args.out / "digits_curve.png", "LeNet on 1,797 handwritten digits", {
        "training loss": {"training": loss},
        "accuracy": dict(zip(("training", "test"), scores, strict=True))})
    print(f"test accuracy {score:.4f} (seed {args.seed}, {time.time() - start:.1f} s)")


if __name__ == "__main__":
    main()
