"""Writes bert.json. Run with the real MXNet 1.9.1: python make_bert_golden.py

For an encoder written with MXNet's own symbols: what its nodes and parameters are called at full
size; and of a small one the output, and gradients by two of its parameters.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
from typing import Any

import numpy as np

FULL = {"layers": 4, "hidden": 256, "heads": 4, "length": 128, "vocabulary": 30522}
SMALL = {"layers": 2, "hidden": 16, "heads": 4, "length": 6, "vocabulary": 20}
WORDS = [[3, 0, 19, 7, 7, 12], [1, 2, 3, 18, 0, 5]]
GRADIENTS = ("word_weight", "l0_k_weight")


def digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def describe(symbol: Any, length: int) -> dict[str, list[object]]:
    """Operators with their names, parameters with their shapes."""
    nodes = [f"{node['op']} {node['name']}" for node in json.loads(symbol.tojson())["nodes"]
             if node["op"] != "null"]
    names, (shapes, _, _) = symbol.list_arguments(), symbol.infer_shape(data=(1, length))
    rows = [f"{name} {tuple(shape)}" for name, shape in zip(names, shapes, strict=True)]
    return {"nodes": [len(nodes), digest(nodes)], "parameters": [len(rows), digest(rows)]}


def parameters(symbol: Any, length: int) -> dict[str, Any]:
    """Numbers for every parameter, in the order of the arguments."""
    rng = np.random.RandomState(5)
    shapes, _, _ = symbol.infer_shape(data=(1, length))
    made = {}
    for name, shape in zip(symbol.list_arguments(), shapes, strict=True):
        if name == "data":
            continue
        scale = 0.3 if name.endswith("weight") else 0.1
        made[name] = rng.uniform(-scale, scale, shape) + name.endswith("gamma")
    return made


def answers(mx: Any, symbol: Any) -> dict[str, list[float]]:
    """Output and gradients of the small encoder, head gradients being -1, 0, 1, -1, ..."""
    words = np.array(WORDS)
    requests = {name: "null" if name == "data" else "write" for name in symbol.list_arguments()}
    executor = symbol.simple_bind(mx.cpu(), grad_req=requests, data=words.shape)
    for name, value in parameters(symbol, words.shape[1]).items():
        executor.arg_dict[name][:] = mx.nd.array(value)
    out = executor.forward(is_train=True, data=mx.nd.array(words))[0]
    heads = (np.arange(out.size) % 3 - 1).reshape(out.shape)
    found = {"output": out.asnumpy().ravel().tolist()}
    executor.backward(mx.nd.array(heads))
    found.update((name, executor.grad_dict[name].asnumpy().ravel().tolist())
                 for name in GRADIENTS)
    return found


def encoder(mx: Any, layers: int, hidden: int, heads: int, length: int, vocabulary: int) -> Any:
    """The encoder, as a user of MXNet writes it."""
    s = mx.sym

    def dense(x: Any, units: int, name: str) -> Any:
        return s.FullyConnected(x, num_hidden=units, flatten=False, name=name)

    def heads_of(x: Any) -> Any:
        x = s.reshape(x, shape=(0, 0, -4, heads, -1))
        return s.reshape(s.transpose(x, axes=(0, 2, 1, 3)), shape=(-3, 0, 0))

    def normal(x: Any, name: str) -> Any:
        return s.LayerNorm(x, eps=1e-12, name=name)
    words = s.Embedding(s.var("data"), input_dim=vocabulary, output_dim=hidden, name="word")
    x = normal(s.broadcast_add(words, s.var("pos_weight", shape=(1, length, hidden))), "ln_e")
    for i in range(layers):
        p = f"l{i}_"
        q, k, v = (heads_of(dense(x, hidden, p + n)) for n in "qkv")
        a = s.softmax(s.batch_dot(q * (hidden // heads) ** -0.5, k, transpose_b=True), axis=-1)
        a = s.reshape(s.batch_dot(a, v), shape=(-4, -1, heads, 0, 0))
        a = s.reshape(s.transpose(a, axes=(0, 2, 1, 3)), shape=(0, 0, -3))
        x = normal(x + dense(a, hidden, p + "o"), p + "ln1")
        y = s.LeakyReLU(dense(x, 4 * hidden, p + "f1"), act_type="gelu")
        x = normal(x + dense(y, hidden, p + "f2"), p + "ln2")
    return x


def main() -> None:
    import mxnet as mx

    with mx.name.NameManager():
        full = encoder(mx, **FULL)
    found = {"full": describe(full, FULL["length"]),
             "small": answers(mx, encoder(mx, **SMALL))}
    path = pathlib.Path(__file__).with_name("bert.json")
    path.write_text(json.dumps(found, indent=None) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
