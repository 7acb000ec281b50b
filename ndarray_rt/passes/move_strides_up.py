"""Computes only pixels that are read: a layer whose readers all subsample does so itself."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..dtypes import FLOAT32
from ..symbol.node import Entry, Node, topological
from .post_op_rules import binary_of, chain_of
from .rewrite import Facts, Heads, make, rewrite

# the subsampling step along each spatial axis
Step = tuple[int, ...]


def move_strides_up(heads: Sequence[Entry], facts: Facts) -> Heads:
    """Moves strides of 1x1 convolutions into the convolution that computes their input, across sums
    and activations (float32). Other operands of such sums are subsampled by a 1x1 pooling.

    ResNet's stages end in a block of which the next one reads a quarter of the pixels.
    """
    thinned = _thinned(heads, facts)
    if not thinned:
        return list(heads)
    poolings: dict[Entry, Entry] = {}

    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        if node.op is None:
            return None
        if node.op.name == "Convolution":
            stride = _times(_stride(node), thinned.get(Entry(node, 0)))
            given = thinned.get(node.inputs[0])
            left = tuple(a // b for a, b in zip(stride, given, strict=True)) if given else stride
            if left == _stride(node):
                return None
            assert node.params is not None
            return make("Convolution", {**node.params.to_attrs(), "stride": left}, inputs,
                        node.name).outputs
        step = thinned.get(Entry(node, 0))
        if step is None:
            return None
        made = []
        for own, now in zip(node.inputs, inputs, strict=True):
            if own not in thinned and _is_image(own, node, facts):
                if own not in poolings:
                    poolings[own] = _pooled(now, step, f"{node.name}_{own.node.name}_pixels")
                now = poolings[own]
            made.append(now)
        return node.over(made).outputs
    return rewrite(heads, change)


def _thinned(heads: Sequence[Entry], facts: Facts) -> dict[Entry, Step]:
    """The entries of which fewer pixels will be computed, with their steps."""
    order = [node for node in topological(heads) if node.op is not None]
    # for each entry the steps of its readers; (): one of them reads all pixels
    wanted: dict[Entry, set[Step]] = {entry: {()} for entry in heads}
    found: dict[Entry, Step] = {}
    for node in reversed(order):
        steps: list[Step] = [()] * len(node.inputs)
        out = Entry(node, 0)
        step = _agreed(node, wanted, facts)
        if _is_convolution(node, facts):
            if step:
                found[out] = step
            if _is_pointwise(node):
                total = _times(_stride(node), step)
                steps[0] = total if prod(total) > 1 else ()
        elif step and _is_elementwise(node, facts):
            found[out] = step
            steps = [step if _is_image(entry, node, facts) else () for entry in node.inputs]
        for entry, one in zip(node.inputs, steps, strict=True):
            wanted.setdefault(entry, set()).add(one)
    for node in order:
        # nothing is gained unless some layer computes less
        if (not _is_convolution(node, facts)
                and not any(entry in found for entry in node.inputs)):
            found.pop(Entry(node, 0), None)
    return found


def _agreed(node: Node, wanted: dict[Entry, set[Step]], facts: Facts) -> Step:
    """The step common to all readers of a node's only output, else ()."""
    out = Entry(node, 0)
    steps = wanted.get(out, {()})
    if (len(steps) > 1 or facts.is_open(out) or facts.types[out] != FLOAT32
            or any(facts.uses[other] for other in node.outputs[1:])):
        return ()
    return next(iter(steps))


def _is_convolution(node: Node, facts: Facts) -> bool:
    return (node.op is not None and node.op.name == "Convolution"
            and 0 not in facts.shapes[Entry(node, 0)])


def _is_pointwise(node: Node) -> bool:
    params: Any = node.params
    return set(params.kernel) == {1} and not set(params.pad) - {0}


def _stride(node: Node) -> Step:
    params: Any = node.params
    return tuple(params.stride) or (1,) * len(params.kernel)


def _times(stride: Step, step: Step | None) -> Step:
    return tuple(a * b for a, b in zip(stride, step, strict=True)) if step else stride


def _is_elementwise(node: Node, facts: Facts) -> bool:
    """Elementwise on images, and operands that are equal for all pixels of an image."""
    known = bool(chain_of(node)) or binary_of(node, facts) is not None
    return known and all(
        _is_image(entry, node, facts) or prod(facts.shapes[entry][2:]) == 1
        for entry in node.inputs)


def _is_image(entry: Entry, node: Node, facts: Facts) -> bool:
    return facts.shapes[entry] == facts.shapes[Entry(node, 0)]


def _pooled(entry: Entry, step: Step, name: str) -> Entry:
    ones = (1,) * len(step)
    # the mean of one pixel is that pixel, also for NaN
    attrs = {"kernel": ones, "stride": step, "pool_type": "avg"}
    return Entry(make("Pooling", attrs, [entry], name), 0)
