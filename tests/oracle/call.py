"""Calls that MXNet 1.9.1 and this package answer alike. Imports neither of them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np


class Array(NamedTuple):
    """An input: numbers drawn from [low, high) by a seed, whole ones where `whole`."""

    shape: tuple[int, ...]
    low: float = -1.0
    high: float = 1.0
    dtype: str = "float32"
    seed: int = 0
    whole: bool = False

    def make(self) -> Any:
        made = np.random.RandomState(self.seed + 1).uniform(self.low, self.high, self.shape)
        return (np.floor(made) if self.whole else made).astype(self.dtype)


class Given(NamedTuple):
    """An input written out."""

    values: Any
    dtype: str = "float32"

    def make(self) -> Any:
        return np.array(self.values, dtype=self.dtype)


class Call(NamedTuple):
    """A call of an operator.

    `op` is its name behind `mx.nd.`, such as "linalg.gemm2". `inputs` are Arrays, Givens, or nested
    lists (float32). `grads` are positions of inputs whose gradients are compared; the gradients of
    outputs are 1, 2, 3, ... divided by `head_scale`, or are all 1 where that is 0. `after` are
    positions of inputs that the call changes and that are compared too. `train`: recorded in train
    mode. `grad_req` is that of all gradients. `out` are positions of inputs that take the
    results. `rtol`, `atol`: more than the dtype's tolerance. `order` 2: compared are the gradients
    of the gradient of the first of `grads`, whose own head gradients are made in the same way.
    `differs` is the reason why the results are not those of MXNet: then only shapes and dtypes are
    compared. `finite_here` is the reason why elements of gradients are finite here that are NaN or
    infinite in MXNet: there must be such, and the others are compared.
    """

    op: str
    inputs: Sequence[Any] = ()
    params: Mapping[str, Any] = MappingProxyType({})
    grads: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    train: bool = True
    head_scale: float = 1.0
    grad_req: str = "write"
    listed: bool = False
    out: tuple[int, ...] = ()
    rtol: float = 0.0
    atol: float = 0.0
    order: int = 1
    differs: str = ""
    finite_here: str = ""

    @property
    def name(self) -> str:
        """What a test is called."""
        words = [f"{key}={value}" for key, value in self.params.items()]
        return "-".join([self.op, *words]).replace(" ", "")[:80]

    @property
    def sign(self) -> int:
        """A number that changes with what the answer depends on."""
        text = repr((self.op, [repr(x) for x in self.inputs], sorted(self.params.items()),
                     self.grads, self.after, self.train, self.head_scale, self.grad_req)
                    + ((self.out,) if self.out else ()))
        if self.order != 1:
            text += f" {self.order}"
        return zlib.crc32(text.encode())


def array_of(given: Any) -> Any:
    """The numpy array of an input."""
    return (given if isinstance(given, (Array, Given)) else Given(given)).make()


def head_of(shape: tuple[int, ...], dtype: Any, scale: float, begin: int = 1) -> Any:
    """The gradient of an output."""
    size = int(np.prod(shape))
    values = np.arange(begin, begin + size) / scale if scale else np.ones(size)
    return values.reshape(shape).astype(dtype)


def find(mx: Any, op: str) -> Any:
    """The function of an operator."""
    found = mx.nd
    for part in op.split("."):
        found = getattr(found, part)
    return found


def _heads(mx: Any, call: Call, outs: Sequence[Any]) -> list[Any]:
    begin, heads = 1, []
    for out in outs:
        head = head_of(out.shape, out.dtype, call.head_scale, begin)
        begin += head.size
        heads.append(mx.nd.array(head, dtype=out.dtype))
    return heads


def answer(mx: Any, call: Call) -> dict[str, Any]:
    """Outputs, gradients and changed inputs by name, as `mx` gives them."""
    arrays = []
    for given in call.inputs:
        values = array_of(given)
        arrays.append(mx.nd.array(values, dtype=values.dtype))
    for position in call.grads:
        arrays[position].attach_grad(grad_req=call.grad_req)
    params = dict(call.params)
    if call.out:
        params["out"] = [arrays[position] for position in call.out]
    with mx.autograd.record(train_mode=call.train):
        function = find(mx, call.op)
        made = function(arrays, **params) if call.listed else function(*arrays, **params)
        outs = list(made) if isinstance(made, (list, tuple)) else [made]
        tops = outs
        for _ in range(1, call.order):
            tops = mx.autograd.grad(tops, arrays[call.grads[0]], _heads(mx, call, tops),
                                    create_graph=True, retain_graph=True)
    if call.grads:
        mx.autograd.backward(tops, _heads(mx, call, tops))
    mx.nd.waitall()
    found = {f"out{i}": out.asnumpy() for i, out in enumerate(outs)}
    found.update({f"grad{p}": arrays[p].grad.asnumpy() for p in call.grads})
    found.update({f"after{p}": arrays[p].asnumpy() for p in call.after})
    return found
