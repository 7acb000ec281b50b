"""An operator in Python inside of a network: a softmax whose gradient is that of its loss.

    python examples/custom_operator.py --epochs 15 --seed 0 --out runs
"""

from __future__ import annotations

import common
import digits
import numpy as np

import ndarray_rt as mx

BATCH = 64


class Softmax(mx.operator.CustomOp):
    """Probabilities; backward gives what the cross entropy with the labels gives."""

    def forward(self, is_train, req, in_data, out_data, aux):
        scores = in_data[0].asnumpy()
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], mx.nd.array(e / e.sum(axis=1, keepdims=True)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        slope, label = out_data[0].asnumpy(), in_data[1].asnumpy().astype(int)
        slope[np.arange(len(label)), label] -= 1
        self.assign(in_grad[0], req[0], mx.nd.array(slope))


@mx.operator.register("own_softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    """What the operator takes and gives."""

    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], [in_shape[0][0]]], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


def main() -> None:
    args = common.arguments(__doc__, epochs=15)
    table, labels = digits.table()
    train_at, test_at = common.stratified(labels, args.seed)
    train = mx.io.NDArrayIter(table[train_at], labels[train_at], BATCH, shuffle=True,
                              last_batch_handle="discard")
    test = mx.io.NDArrayIter(table[test_at], labels[test_at], BATCH)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=64, name="fc1")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="relu"), num_hidden=10, name="fc2")
    net = mx.sym.Custom(net, mx.sym.Variable("softmax_label"), op_type="own_softmax",
                        name="softmax")
    module = mx.mod.Module(net)
    scores = []
    bar = iter(common.progress(range(args.epochs), "epochs"))

    def after_epoch(*_) -> None:
        next(bar)
        scores.append(module.score(test, "acc")[0][1])

    module.fit(train, num_epoch=args.epochs, initializer=mx.init.Xavier(), optimizer="adam",
               optimizer_params={"learning_rate": 5e-3}, epoch_end_callback=after_epoch)
    if args.out is not None:
        common.draw_curves(args.out / "custom_operator.png", "An operator in Python",
                           {"test accuracy": {"test": scores}})
    print(f"test accuracy {scores[-1]:.4f} (seed {args.seed})")


if __name__ == "__main__":
    main()
