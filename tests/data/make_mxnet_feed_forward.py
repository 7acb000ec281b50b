"""Writes mxnet_feed_forward/. Run with the real MXNet 1.9.1: python make_mxnet_feed_forward.py

trained.npz: parameters before and after training of a FeedForward over an iterator, its outputs,
scores, and the batches that callbacks saw. model_2.bin, model_4.bin: the model pickled by
protocols 2 and 4. adam.bin: one that was not trained, with an optimizer as an object and several
initializers.
"""

import pathlib
import pickle

import mxnet as mx
import numpy as np

OUT = pathlib.Path(__file__).parent / "mxnet_feed_forward"
CPUS = {"one": [mx.cpu()], "two": [mx.cpu(0), mx.cpu(1)]}


def network() -> mx.sym.Symbol:
    x = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=False, name="bn")
    x = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=8, name="fc1"), act_type="tanh")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=3, name="fc2"), name="softmax")


def main() -> None:
    OUT.mkdir(exist_ok=True)
    drawn = np.random.RandomState(0)
    data = drawn.rand(46, 4).astype("float32")
    label = data[:, :3].argmax(1).astype("float32")
    shapes, _, _ = network().infer_shape(data=(10, 4))
    args = {name: drawn.uniform(-0.5, 0.5, shape).astype("float32")
            for name, shape in zip(network().list_arguments(), shapes)  # noqa: B905
            if name not in ("data", "softmax_label")}
    aux = {"bn_moving_mean": np.zeros(4, "float32"), "bn_moving_var": np.ones(4, "float32")}
    found = {"data": data, "label": label}
    found.update({"before." + name: value for name, value in args.items()})
    for how, contexts in CPUS.items():
        for epoch_size in (None, 7):
            seen: list[tuple[int, int]] = []
            model = mx.model.FeedForward(
                network(), contexts, num_epoch=4, epoch_size=epoch_size, learning_rate=0.3,
                momentum=0.9, numpy_batch_size=10,
                arg_params={name: mx.nd.array(value) for name, value in args.items()},
                aux_params={name: mx.nd.array(value) for name, value in aux.items()})
            model.fit(mx.io.NDArrayIter(data, label, 10), eval_data=(data, label),
                      batch_end_callback=lambda p, seen=seen: seen.append((p.epoch, p.nbatch)),
                      eval_end_callback=None)
            key = f"{how}.{epoch_size}."
            for params in (model.arg_params, model.aux_params):
                found.update({key + name: value.asnumpy() for name, value in params.items()})
            found[key + "seen"] = np.array(seen)
            found[key + "outputs"] = model.predict(data)
            found[key + "score"] = np.array(
                model.score(mx.io.NDArrayIter(data, label, 10)))
    np.savez_compressed(OUT / "trained.npz", **found)
    for protocol in (2, 4):
        (OUT / f"model_{protocol}.bin").write_bytes(pickle.dumps(model, protocol))
    adam = mx.optimizer.Adam(learning_rate=0.125, lr_scheduler=mx.lr_scheduler.FactorScheduler(9))
    other = mx.model.FeedForward(network(), num_epoch=2, optimizer=adam, initializer=mx.init.Mixed(
        [".*bias", ".*"], [mx.init.Constant(0.5), mx.init.Xavier(magnitude=2)]))
    (OUT / "adam.bin").write_bytes(pickle.dumps(other, 4))


if __name__ == "__main__":
    main()
