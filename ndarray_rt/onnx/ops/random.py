"""Random numbers. A node with a seed gives the same ones at each run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Array, Node
from ..table import operator
from ..values import DType
from .casts import dtype_of


def _source(node: Node) -> np.random.Generator:
    seed = node.attr("seed")
    return np.random.default_rng(None if seed is None else abs(int(seed)))


def _dtype(node: Node, default: Any) -> Any:
    made: DType = np.dtype(default)
    return made if node.attr("dtype") is None else dtype_of(node.attr("dtype"))


def _normal(node: Node, shape: tuple[int, ...], dtype: DType) -> Array:
    made = _source(node).normal(node.attr("mean", 0.0), node.attr("scale", 1.0), shape)
    return np.asarray(made).astype(dtype)


def _uniform(node: Node, shape: tuple[int, ...], dtype: DType) -> Array:
    made = _source(node).uniform(node.attr("low", 0.0), node.attr("high", 1.0), shape)
    return np.asarray(made).astype(dtype)


@operator("RandomNormal", draws=True)
def random_normal(node: Node) -> Array:
    return _normal(node, tuple(node.attr("shape")), _dtype(node, np.float32))


@operator("RandomUniform", draws=True)
def random_uniform(node: Node) -> Array:
    return _uniform(node, tuple(node.attr("shape")), _dtype(node, np.float32))


def _drawn_size(node: Node) -> tuple[tuple[int, ...], Any]:
    # they are drawn as float64
    return tuple(node.attr("shape")), np.dtype(np.float64)


random_normal.sized(_drawn_size)
random_uniform.sized(_drawn_size)


@operator("RandomNormalLike", draws=True)
def random_normal_like(node: Node, x: Array) -> Array:
    return _normal(node, x.shape, _dtype(node, x.dtype))


@operator("RandomUniformLike", draws=True)
def random_uniform_like(node: Node, x: Array) -> Array:
    return _uniform(node, x.shape, _dtype(node, x.dtype))


@operator("Bernoulli", draws=True)
def bernoulli(node: Node, x: Array) -> Array:
    return (_source(node).random(x.shape) < x).astype(_dtype(node, x.dtype))


@operator("Multinomial", draws=True)
def multinomial(node: Node, x: Array) -> Any:
    count = int(node.attr("sample_size", 1))
    shares = np.exp(x - x.max(-1, keepdims=True))
    ends = np.cumsum(shares / shares.sum(-1, keepdims=True), -1)
    drawn = _source(node).random((x.shape[0], count))
    made = (drawn[..., None] > ends[:, None, :]).sum(-1)
    return np.minimum(made, x.shape[1] - 1).astype(_dtype(node, np.int32))


@multinomial.sized
def multinomial_size(node: Node, x: Array) -> tuple[list[int], Any]:
    # each number is compared with the ends of all shares
    return [x.shape[0], int(node.attr("sample_size", 1)), max(x.shape[1], 8)], np.dtype(bool)
