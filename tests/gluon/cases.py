"""Layers and losses with small inputs, for MXNet and this package alike: `run` gives all numbers.

This module is read by MXNet's Python too (data/make_mxnet_gluon.py), so it imports neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """A block, made by `build(mx)`, with inputs: shapes, or arrays."""

    name: str
    build: Callable[[Any], Any]
    inputs: tuple[Any, ...]
    hybrid: bool = True  # it can be hybridized
    input_grad: bool = True  # its first input has a gradient
    trains: bool = True  # MXNet can record it


def layer(name: str, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A layer of gluon.nn, gluon.loss or gluon.contrib."""
    def build(mx: Any) -> Any:
        contrib = mx.gluon.contrib
        for module in (mx.gluon.nn, mx.gluon.loss, contrib.nn, contrib.cnn):
            if hasattr(module, name):
                return getattr(module, name)(*args, **kwargs)
        raise AttributeError(name)
    return build


def _dense_net(mx: Any) -> Any:
    net = mx.gluon.nn.HybridSequential()
    with net.name_scope():
        net.add(mx.gluon.nn.Conv2D(4, 3, padding=1, activation="relu"), mx.gluon.nn.BatchNorm(),
                mx.gluon.nn.MaxPool2D(), mx.gluon.nn.Flatten(),
                mx.gluon.nn.Dense(6, activation="tanh"), mx.gluon.nn.Dense(3))
    return net


def _concurrent(mx: Any) -> Any:
    net = mx.gluon.contrib.nn.HybridConcurrent(axis=1)
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(3), mx.gluon.nn.Dense(2, activation="sigmoid"),
                mx.gluon.contrib.nn.Identity())
    return net


X2, X3, X4, X5 = (4, 5), (2, 4, 6), (2, 4, 6, 5), (2, 2, 4, 4, 5)
LABELS = np.array([1, 0, 3, 2], np.float32)
SIGNS = np.array([[1, -1, 1, -1, 1], [-1, -1, 1, 1, 1], [1, 1, 1, 1, -1], [-1, 1, -1, 1, -1]],
                 np.float32)
ZERO_ONE = (SIGNS + 1) / 2
SHARES = np.array([[.1, .2, .3, .4, .5]] * 4, np.float32) / 1.5
WORDS = np.array([[0, 3, 1], [6, 6, 2]], np.float32)
WEIGHTS = np.array([[1.0], [0.5], [2.0], [0.0]], np.float32)

LAYERS = [
    Case("dense", layer("Dense", 3), (X2,)),
    Case("dense_relu", layer("Dense", 3, activation="relu", use_bias=False), (X3,)),
    Case("dense_rows", layer("Dense", 3, flatten=False, in_units=6), (X3,)),
    Case("embedding", layer("Embedding", 7, 4), (WORDS,), input_grad=False),
    Case("embedding_sparse", layer("Embedding", 7, 4, sparse_grad=True), (WORDS,),
         input_grad=False),
    Case("flatten", layer("Flatten"), (X4,)),
    Case("dropout_0", layer("Dropout", 0), (X2,)),
    *[Case(f"activation_{kind}", layer("Activation", kind), (X2,))
      for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign")],
    Case("leaky_relu", layer("LeakyReLU", 0.3), (X2,)),
    Case("prelu", layer("PReLU"), (X2,)),
    Case("prelu_channels", layer("PReLU", in_channels=4), (X4,)),
    Case("elu", layer("ELU", 0.7), (X2,)),
    Case("selu", layer("SELU"), (X2,)),
    Case("gelu", layer("GELU"), (X2,)),
    Case("swish", layer("Swish", 1.5), (X2,)),
    Case("batch_norm", layer("BatchNorm"), (X4,)),
    Case("batch_norm_last", layer("BatchNorm", axis=-1, momentum=0.7, epsilon=1e-3), (X4,)),
    Case("batch_norm_plain", layer("BatchNorm", scale=False, center=False), (X2,)),
    Case("batch_norm_global", layer("BatchNorm", use_global_stats=True), (X4,)),
    Case("batch_norm_relu", layer("BatchNormReLU"), (X4,)),
    Case("instance_norm", layer("InstanceNorm", scale=True), (X4,)),
    Case("instance_norm_2", layer("InstanceNorm", axis=2), (X4,)),
    Case("layer_norm", layer("LayerNorm"), (X3,)),
    Case("layer_norm_1", layer("LayerNorm", axis=1, in_channels=4), (X3,)),
    Case("group_norm", layer("GroupNorm", 2), (X4,)),
    Case("sync_batch_norm", layer("SyncBatchNorm", num_devices=1), (X4,)),
    Case("reflection_pad", layer("ReflectionPad2D", 2), (X4,)),
    Case("conv1d", layer("Conv1D", 3, 3, padding=1), (X3,)),
    Case("conv2d", layer("Conv2D", 6, (3, 2), strides=(2, 1), groups=2, activation="relu"), (X4,)),
    Case("conv2d_dilated", layer("Conv2D", 3, 2, dilation=2, use_bias=False), (X4,)),
    Case("conv3d", layer("Conv3D", 3, 2, strides=2), (X5,)),
    Case("conv1d_transpose", layer("Conv1DTranspose", 3, 3, strides=2, output_padding=1), (X3,)),
    Case("conv2d_transpose", layer("Conv2DTranspose", 3, 3, strides=2, padding=1,
                                   output_padding=1), (X4,)),
    Case("conv3d_transpose", layer("Conv3DTranspose", 2, 2), (X5,)),
    *[Case(f"{kind.lower()}_pool{n}d", layer(f"{kind}Pool{n}D", 2), (shape,))
      for kind in ("Max", "Avg") for n, shape in ((1, X3), (2, X4), (3, X5))],
    Case("max_pool2d_ceil", layer("MaxPool2D", 3, 2, 1, ceil_mode=True), (X4,)),
    Case("avg_pool2d_inside", layer("AvgPool2D", 3, 2, 1, count_include_pad=False), (X4,)),
    *[Case(f"global_{kind.lower()}_pool{n}d", layer(f"Global{kind}Pool{n}D"), (shape,))
      for kind in ("Max", "Avg") for n, shape in ((1, X3), (2, X4), (3, X5))],
    Case("lambda", layer("HybridLambda", "tanh"), (X2,)),
    Case("pixel_shuffle1d", layer("PixelShuffle1D", 2), (X3,)),
    Case("pixel_shuffle2d", layer("PixelShuffle2D", (2, 1)), (X4,)),
    Case("pixel_shuffle3d", layer("PixelShuffle3D", (1, 2, 1)), (X5,)),
    Case("deformable", layer("DeformableConvolution", 3, 3, padding=1, activation="relu"), (X4,)),
    Case("deformable_groups", layer("DeformableConvolution", 4, (2, 3), num_deformable_group=2,
                                    use_bias=False, offset_use_bias=False), (X4,)),
    Case("modulated", layer("ModulatedDeformableConvolution", 3, 2, strides=2), (X4,),
         trains=False),
    Case("network", _dense_net, ((2, 3, 8, 8),)),
    Case("concurrent", _concurrent, (X2,)),
]
LOSSES = [
    Case("l2", layer("L2Loss"), (X2, X2)),
    Case("l2_weights", layer("L2Loss", 2.0), (X2, X2, WEIGHTS)),
    Case("l1", layer("L1Loss", weight=0.5, batch_axis=1), (X2, X2)),
    Case("bce", layer("SigmoidBinaryCrossEntropyLoss"), (X2, ZERO_ONE)),
    Case("bce_pos", layer("SigmoidBCELoss"), (X2, ZERO_ONE, WEIGHTS, SHARES)),
    Case("bce_sigmoid", layer("SigmoidBCELoss", from_sigmoid=True), (SHARES, ZERO_ONE)),
    Case("bce_sigmoid_pos", layer("SigmoidBCELoss", from_sigmoid=True),
         (SHARES, ZERO_ONE, WEIGHTS, SHARES)),
    Case("ce", layer("SoftmaxCrossEntropyLoss"), (X2, LABELS)),
    Case("ce_weights", layer("SoftmaxCELoss", weight=3.0), (X2, LABELS, WEIGHTS)),
    Case("ce_axis", layer("SoftmaxCELoss", axis=1), (X3, np.array([[1, 0, 3, 2, 1, 0]] * 2,
                                                                  np.float32))),
    Case("ce_dense", layer("SoftmaxCELoss", sparse_label=False), (X2, SHARES)),
    Case("ce_logits", layer("SoftmaxCELoss", from_logits=True), (X2, LABELS)),
    Case("kl", layer("KLDivLoss"), (X2, SHARES)),
    Case("kl_softmax", layer("KLDivLoss", from_logits=False), (X2, SHARES)),
    Case("ctc", layer("CTCLoss"), ((2, 6, 5), np.array([[1, 0, -1], [3, 2, 1]], np.float32))),
    Case("ctc_tn", layer("CTCLoss", layout="TNC", label_layout="TN", weight=2.0),
         ((6, 2, 5), np.array([[1, 3], [0, 2], [2, 1]], np.float32),
          np.array([6, 4], np.float32), np.array([2, 3], np.float32))),
    Case("huber", layer("HuberLoss", rho=0.4), (X2, X2)),
    Case("hinge", layer("HingeLoss"), (X2, SIGNS)),
    Case("squared_hinge", layer("SquaredHingeLoss", margin=0.5), (X2, SIGNS)),
    Case("logistic", layer("LogisticLoss"), (X2, SIGNS)),
    Case("logistic_binary", layer("LogisticLoss", label_format="binary"), (X2, ZERO_ONE)),
    Case("triplet", layer("TripletLoss", margin=0.5), (X2, X2, X2)),
    Case("poisson", layer("PoissonNLLLoss"), (X2, SHARES)),
    Case("poisson_full", layer("PoissonNLLLoss", from_logits=False, compute_full=True),
         (SHARES, SHARES * 20), trains=False),
    Case("cosine", layer("CosineEmbeddingLoss", margin=0.1),
         (X2, X2, np.array([1, -1, 1, -1], np.float32))),
    Case("sdml", layer("SDMLLoss"), (X2, X2), hybrid=False),
]
CASES = LAYERS + LOSSES


def inputs_of(case: Case) -> list[np.ndarray]:
    """The inputs as numpy arrays."""
    rng = np.random.RandomState(len(case.name))
    return [(rng.uniform(-1, 1, x) if isinstance(x, tuple) else x).astype(np.float32)
            for x in case.inputs]


def set_parameters(mx: Any, block: Any) -> None:
    """Values that follow from names and shapes; variances are positive, fixed gammas ones."""
    for i, (name, param) in enumerate(block.collect_params().items()):
        if name.endswith("gamma") and param.grad_req == "null":
            continue
        value = np.random.RandomState(i).uniform(-1, 1, param.shape)
        if name.endswith("running_var"):
            value = np.abs(value) + 0.5
        param.set_data(mx.nd.array(value))


def run(mx: Any, case: Case, is_hybrid: bool) -> dict[str, np.ndarray]:
    """Output, gradients of the first input and of all parameters, states; and for inference."""
    block = case.build(mx)
    block.initialize()
    xs = [mx.nd.array(x) for x in inputs_of(case)]
    block(*xs)  # shapes follow from it
    set_parameters(mx, block)
    if is_hybrid:
        block.hybridize()
    found = {"inference": block(*xs).asnumpy()}
    if not case.trains:
        return found
    for _ in range(2):  # the second of a hybridized block is recorded
        set_parameters(mx, block)
        if case.input_grad:
            xs[0].attach_grad()
        with mx.autograd.record():
            out = block(*xs)
        head = np.random.RandomState(7).uniform(0.5, 1.5, out.shape).astype(np.float32)
        out.backward(mx.nd.array(head))
        found["output"] = out.asnumpy()
    if case.input_grad:
        found["input_grad"] = xs[0].grad.asnumpy()
    for i, param in enumerate(block.collect_params().values()):
        if param.grad_req == "null":
            found[f"state{i}"] = param.data().asnumpy()
        else:
            grad = param.grad()
            found[f"grad{i}"] = (grad if grad.stype == "default"
                                   else grad.tostype("default")).asnumpy()
    return found


def train(mx: Any, is_hybrid: bool, steps: int = 20) -> dict[str, np.ndarray]:
    """All parameters of a small LeNet after some steps of SGD with momentum."""
    nn, gluon = mx.gluon.nn, mx.gluon
    net = nn.HybridSequential(prefix="lenet_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, activation="tanh"), nn.MaxPool2D(2, 2),
                nn.Conv2D(6, 3, activation="tanh"), nn.BatchNorm(), nn.AvgPool2D(2, 2),
                nn.Flatten(), nn.Dense(16, activation="relu"), nn.Dense(5))
    net.initialize()
    rng = np.random.RandomState(5)
    x = mx.nd.array(rng.uniform(-1, 1, (8, 1, 14, 14)))
    y = mx.nd.array(rng.randint(0, 5, 8))
    net(x)
    for i, (name, param) in enumerate(net.collect_params().items()):
        if name.endswith("weight"):
            value = np.random.RandomState(i).uniform(-0.3, 0.3, param.shape)
            param.set_data(mx.nd.array(value))
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    if is_hybrid:
        net.hybridize()
        loss_of.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd",
                            {"learning_rate": 0.05, "momentum": 0.9, "wd": 1e-3})
    for _ in range(steps):
        with mx.autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(8)
    found = {name: param.data().asnumpy() for name, param in net.collect_params().items()}
    found["loss"] = loss.asnumpy()
    return found
