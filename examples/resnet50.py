"""ResNet-50 as a symbol with random weights: what runs, and how many images a second.

    python examples/resnet50.py --batch 1 --threads 1 --runs 20
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import ndarray_rt as mx

STAGES = ((3, 256), (4, 512), (6, 1024), (3, 2048))


def convolution(data, name: str, filters: int, kernel: int, stride: int = 1):
    """Convolution and batch normalisation."""
    net = mx.sym.Convolution(data, kernel=(kernel, kernel), stride=(stride, stride),
                             pad=(kernel // 2, kernel // 2), num_filter=filters, no_bias=True,
                             name=name)
    return mx.sym.BatchNorm(net, fix_gamma=False, eps=1e-5, name=name + "_bn")


def relu(data, name: str):
    return mx.sym.Activation(data, act_type="relu", name=name)


def bottleneck(data, name: str, filters: int, stride: int, project: bool):
    """1x1, 3x3, 1x1 with a shortcut; the stride is in the first 1x1 (ResNet v1)."""
    net = relu(convolution(data, name + "_conv1", filters // 4, 1, stride), name + "_relu1")
    net = relu(convolution(net, name + "_conv2", filters // 4, 3), name + "_relu2")
    net = convolution(net, name + "_conv3", filters, 1)
    shortcut = convolution(data, name + "_sc", filters, 1, stride) if project else data
    return relu(mx.sym.elemwise_add(net, shortcut, name=name + "_plus"), name + "_relu3")


def resnet50(classes: int = 1000):
    """ResNet-50 v1 (He et al., 2015) with a softmax over its classes."""
    net = mx.sym.Variable("data")
    net = relu(convolution(net, "stem", 64, 7, 2), "stem_relu")
    net = mx.sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max",
                         name="stem_pool")
    for stage, (units, filters) in enumerate(STAGES, 1):
        for unit in range(units):
            stride = 2 if unit == 0 and stage > 1 else 1
            net = bottleneck(net, f"stage{stage}_unit{unit + 1}", filters, stride, unit == 0)
    net = mx.sym.Pooling(net, kernel=(7, 7), pool_type="avg", global_pool=True, name="pool")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=classes, name="fc")
    return mx.sym.softmax(net, name="softmax")


def fill(executor, seed: int = 0) -> None:
    """Random weights that keep activations in range; batch normalisation near identity."""
    rng = np.random.default_rng(seed)
    for name, array in executor.arg_dict.items():
        if name.endswith("weight"):
            scale = (2 / np.prod(array.shape[1:])) ** 0.5
            array[:] = rng.standard_normal(array.shape, np.float32) * np.float32(scale)
        elif name.endswith("gamma"):
            array[:] = 0.5
        elif name == "data":
            array[:] = rng.standard_normal(array.shape, np.float32)
    for name, array in executor.aux_dict.items():
        array[:] = 1 if name.endswith("var") else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--picture", help="file for a picture of what runs: .html or .svg")
    args = parser.parse_args()
    if args.threads:
        mx.set_num_threads(args.threads)
    executor = resnet50().simple_bind(mx.cpu(), grad_req="null",
                                      data=(args.batch, 3, 224, 224))
    fill(executor)
    found = executor.explain(repeat=args.runs)
    print(found)
    if args.picture:
        found.save(args.picture)
    times = []
    for _ in range(args.runs):
        start = time.perf_counter()
        executor.forward()[0].wait_to_read()
        times.append(time.perf_counter() - start)
    middle = sorted(times)[len(times) // 2]
    print(f"batch {args.batch}, {mx.get_num_threads()} thread(s): median {middle * 1e3:.2f} ms, "
          f"best {min(times) * 1e3:.2f} ms, {args.batch / middle:.1f} images/s")


if __name__ == "__main__":
    main()
