"""Writes mxnet_amp.json: a graph as MXNet 1.9.1's contrib.amp converts it.

Run it with an interpreter that has MXNet: python tests/data/make_mxnet_amp.py
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("mxnet_amp.json")
EXCLUDED = (None, ["fc"], ["cv", "d"])


def network(mx: Any) -> Any:
    """Operators of every list, with several outputs and sums of what has been cast."""
    x, y, w = (mx.sym.var(name) for name in "xyw")
    rows = mx.sym.Reshape(mx.sym.elemwise_mul(x, y, name="xy") + mx.sym.exp(x, name="e"),
                          shape=(0, -1), name="r")
    soft = mx.sym.Activation(mx.sym.FullyConnected(rows, num_hidden=3, name="fc"),
                             act_type="softrelu", name="a")
    chosen = mx.sym.softmax(soft, name="s")
    joined = mx.sym.concat(mx.sym.LeakyReLU(mx.sym.dot(chosen, w, name="d"), act_type="elu",
                                            name="l"), chosen, dim=1, name="c")
    image = mx.sym.reshape(joined, shape=(0, 0, 1, 1), name="i")
    normed = mx.sym.BatchNorm(mx.sym.Convolution(image, kernel=(1, 1), num_filter=4, name="cv"),
                              name="bn")
    a, b = mx.sym.split(normed, num_outputs=2, name="sp")
    return mx.sym.Group([mx.sym.elemwise_add(a, b, name="p"), mx.sym.where(a > b, a, b, name="w1"),
                         mx.sym.add_n(a, b, a, name="an"), mx.sym.max(joined, name="m")])


def converted(mx: Any, amp: Any) -> dict[str, list[Any]]:
    """Nodes of the converted network (operator, inputs, dtypes) by what was asked for."""
    made = {}
    for dtype, cast_params, excluded in product(("float16", "bfloat16"), (False, True), EXCLUDED):
        with mx.name.NameManager():
            symbol = amp.convert_symbol(network(mx), target_dtype=dtype,
                                        excluded_sym_names=excluded,
                                        cast_optional_params=cast_params)
        nodes = json.loads(symbol.tojson(remove_amp_cast=False))["nodes"]
        made[f"{dtype} {cast_params} {excluded}"] = [
            [node["op"], [entry[:2] for entry in node["inputs"]],
             node.get("attrs", {}).get("__dtype__"), node.get("attrs", {}).get("dtype")]
            for node in nodes]
    return made


def main() -> None:
    import mxnet as mx
    from mxnet.contrib import amp
    rows = (f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
            for key, value in converted(mx, amp).items())
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
