"""Times of training by layer: python -m benchmarks.layers --models vgg16 googlenet resnet18_v1

A step of training is forward, backward and an update by SGD with momentum. Each operator call is
timed by itself, without recording, natively and (with --numpy) as NumPy computes it. A row is a
node of the network with what backward and the update do for it; times are medians over steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.model_zoo import symbols
from ndarray_rt.op.dispatch import Dispatched, observe

from ..options import positive

MODELS = ("vgg16", "googlenet", "resnet18_v1")
INPUTS = ("data", "softmax_label")
# what a network of such windows needs at least
LEAST_SIZE = {"googlenet": 224, "alexnet": 224, "squeezenet1.0": 224, "squeezenet1.1": 224}
BACKWARD = "_backward"


class Step:
    """One network, bound, with weights by He: a call is one step of training."""

    def __init__(self, model: str, batch: int, size: int, classes: int = 10) -> None:
        net = mx.sym.SoftmaxOutput(symbols.get_symbol(model, classes=classes), name="softmax")
        shape = (batch, 3, size, size)
        self.executor = net.simple_bind(mx.cpu(), data=shape, grad_req={
            name: "null" if name in INPUTS else "write" for name in net.list_arguments()})
        rng = np.random.default_rng(0)
        for name, array in self.executor.arg_dict.items():
            if name == "softmax_label":
                array[:] = rng.integers(0, classes, array.shape)
            elif array.ndim == 1:
                array[:] = float(name.endswith("gamma"))
            else:
                scale = 1.0 if name == "data" else np.sqrt(2 / np.prod(array.shape[1:]))
                array[:] = rng.standard_normal(array.shape) * scale
        for name, array in self.executor.aux_dict.items():
            array[:] = float(name.endswith("var"))
        self.update = self.executor.bind_update("sgd_mom_update", lr=1e-3, momentum=0.9,
                                                rescale_grad=1 / batch)

        # the layer that reads each parameter
        self.readers = {entry.node.name: step.node.name
                        for step in self.executor.plan.steps if not step.is_backward
                        for entry in step.node.inputs if entry.node.is_variable}

    def __call__(self) -> None:
        self.executor.train_step(self.update)


def layer_of(told: Dispatched, readers: Mapping[str, str]) -> tuple[str, int]:
    """(the node that a call works for, 0 in forward, 1 in backward, 2 for its update)."""
    node = told.node or told.op.name
    if told.op.is_update:
        return readers[node], 2
    name, mark, _ = node.partition(BACKWARD)
    return name, int(bool(mark))


def times_of(step: Step, warm_up: int, steps: int) -> dict[str, list[float]]:
    """Milliseconds of forward, backward and update by node, in the order of forward."""
    found: list[dict[str, list[float]]] = []

    def note(told: Dispatched) -> None:
        name, part = layer_of(told, step.readers)
        found[-1].setdefault(name, [0.0, 0.0, 0.0])[part] += told.seconds * 1e3

    for _ in range(warm_up):
        step()
    stop = observe(note)
    try:
        for _ in range(steps):
            found.append({})
            step()
    finally:
        stop()
    return {name: [median(one[name][part] for one in found) for part in range(3)]
            for name in found[0]}


def print_table(model: str, columns: Sequence[tuple[str, dict[str, list[float]]]]) -> None:
    """Rows of a network; each column's forward, backward and update, and the ratio of the sums."""
    parts = [f"{name} {part}" for name, _ in columns for part in ("forward", "backward", "update")]
    print(f"\n| {model} | " + " | ".join(parts) + " | times |\n" + "|---" * (len(parts) + 2) + "|")
    nothing = [0.0, 0.0, 0.0]
    for layer in columns[0][1]:
        _print_row(layer, [times.get(layer, nothing) for _, times in columns])
    _print_row("all", [[sum(own[part] for own in times.values()) for part in range(3)]
                       for _, times in columns])


def _print_row(name: str, cells: Sequence[Sequence[float]]) -> None:
    totals = [sum(own) for own in cells]
    ratio = f"{totals[1] / totals[0]:.1f}" if len(totals) > 1 and totals[0] > 0 else ""
    print(f"| {name} | " + " | ".join(f"{ms:.3f}" for own in cells for ms in own) + f" | {ratio} |")


def compare(model: str, batch: int, size: int, steps: int, with_numpy: bool) -> None:
    """Prints the table of one network."""
    size = max(size, LEAST_SIZE.get(model, 0))
    columns = [("native", times_of(Step(model, batch, size), 3, steps))]
    if with_numpy:
        with config.override(NDRT_ONEDNN=False):
            columns.append(("NumPy", times_of(Step(model, batch, size), 0, 1)))
    print_table(f"{model} {batch}x{size}x{size}", columns)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.layers", description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--batch", type=positive, default=4)
    parser.add_argument("--size", type=positive, default=32, help="of images; GoogLeNet needs 224")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--steps", type=positive, default=7)
    parser.add_argument("--numpy", action="store_true", help="one step in NumPy, for comparison")
    parser.add_argument("--plain", action="store_true",
                        help="parameters stay in the default layout (NDRT_TRAINING_LAYOUTS=0)")
    args: Any = parser.parse_args(argv)
    mx.set_num_threads(args.threads)
    with config.override(NDRT_TRAINING_LAYOUTS=not args.plain):
        for model in args.models:
            compare(model, args.batch, args.size, args.steps, args.numpy)


if __name__ == "__main__":
    main()
