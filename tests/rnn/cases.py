"""Symbolic cells with small inputs, for MXNet and this package alike: graphs and all numbers.

This module is read by MXNet's Python too (data/make_mxnet_cells.py), so it imports neither.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

IMAGE = (2, 3, 6, 5)


def _stack(rnn: Any) -> Any:
    cell = rnn.SequentialRNNCell()
    cell.add(rnn.LSTMCell(5, prefix="a_"))
    cell.add(rnn.ResidualCell(rnn.GRUCell(5, prefix="b_")))
    cell.add(rnn.BidirectionalCell(rnn.RNNCell(2, prefix="l_"), rnn.GRUCell(2, prefix="r_"),
                                   output_prefix="c_"))
    return cell


CELLS: dict[str, Any] = {
    "rnn": lambda rnn: rnn.RNNCell(3, activation="relu"),
    "lstm": lambda rnn: rnn.LSTMCell(3, forget_bias=2.0),
    "gru": lambda rnn: rnn.GRUCell(3),
    "residual": lambda rnn: rnn.ResidualCell(rnn.GRUCell(5)),
    "bidirectional": lambda rnn: rnn.BidirectionalCell(rnn.LSTMCell(3, prefix="l_"),
                                                       rnn.LSTMCell(3, prefix="r_")),
    "stack": _stack,
    "fused_lstm": lambda rnn: rnn.FusedRNNCell(3, 2, bidirectional=True, get_next_state=True),
    "fused_gru": lambda rnn: rnn.FusedRNNCell(3, 2, "gru", get_next_state=True),
    "fused_rnn": lambda rnn: rnn.FusedRNNCell(3, 1, "rnn_relu", prefix="f_"),
    "unfused": lambda rnn: rnn.FusedRNNCell(3, 2, bidirectional=True, dropout=0.5).unfuse(),
    "dropout": lambda rnn: rnn.DropoutCell(0.3),
    "conv_rnn": lambda rnn: rnn.ConvRNNCell(IMAGE, 4),
    "conv_lstm": lambda rnn: rnn.ConvLSTMCell(IMAGE, 4, i2h_kernel=(3, 2), i2h_stride=(2, 1),
                                              activation="tanh"),
    "conv_gru": lambda rnn: rnn.ConvGRUCell(IMAGE, 4, h2h_kernel=(3, 5), h2h_dilate=(2, 1)),
}
UNROLLED: dict[str, Any] = {"merged": {"merge_outputs": True, "layout": "TNC"},
                            "steps": {"merge_outputs": False}, "free": {}}
LENGTH = 3


def shape_of(name: str) -> tuple[int, ...]:
    return IMAGE if name.startswith("conv") else (2, 5)


def ways(name: str) -> list[str]:
    """Ways to unroll a cell; images have no layout with time."""
    return ["free"] if name.startswith("conv") else list(UNROLLED)


def unroll(mx: Any, name: str, how: str) -> tuple[Any, Any]:
    """(the cell, a group of all outputs and states)."""
    with mx.name.NameManager():
        cell = CELLS[name](mx.rnn)
        if name.startswith("conv"):
            inputs: Any = [mx.sym.Variable(f"x{i}") for i in range(LENGTH)]
        else:
            inputs = mx.sym.Variable("data")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fused cells advise another layout
            outputs, states = cell.unroll(LENGTH, inputs, **UNROLLED[how])
        found = list(outputs) if isinstance(outputs, list) else [outputs]
        for state in states:
            found.extend(state if isinstance(state, list) else [state])
        # no output twice, as MXNet counts one of its gradients
        found = list({tuple(one.list_outputs()): one for one in found}.values())
        return cell, mx.sym.Group(found)


def graph(mx: Any, name: str, how: str) -> Any:
    """The graph as a file has it, but for the version."""
    found = json.loads(unroll(mx, name, how)[1].tojson())
    del found["attrs"]
    return found


def run(mx: Any, name: str, how: str, dtype: str = "float32") -> dict[str, np.ndarray]:
    """All outputs, and all gradients of the sum of their squares."""
    _, group = unroll(mx, name, how)
    if dtype != "float32":
        group = _of_dtype(mx, group, dtype)
    shape = shape_of(name)
    if name.startswith("conv"):
        shapes = {f"x{i}": shape for i in range(LENGTH)}
    else:
        whole = (LENGTH, *shape) if how == "merged" else (shape[0], LENGTH, *shape[1:])
        shapes = {"data": whole}
    executor = group.simple_bind(mx.cpu(), grad_req="write", **shapes)
    for i, (_, array) in enumerate(sorted(executor.arg_dict.items())):
        array[:] = mx.nd.array(np.random.RandomState(i).uniform(-1, 1, array.shape))
    outputs = executor.forward(is_train=name not in ("unfused", "dropout"))
    found = {f"output{i}": output.asnumpy() for i, output in enumerate(outputs)}
    if name not in ("unfused", "dropout"):
        executor.backward([output * 2 for output in outputs])
        found.update({f"grad.{key}": grad.asnumpy() for key, grad in executor.grad_dict.items()})
    return found


def _of_dtype(mx: Any, symbol: Any, dtype: str) -> Any:
    """The symbol with states that begin as zeros of a dtype, from which all others follow."""
    graph = json.loads(symbol.tojson())
    for node in graph["nodes"]:
        if node["op"] == "_zeros":
            node["attrs"] = {**node.get("attrs", {}), "dtype": dtype}
    return mx.sym.load_json(json.dumps(graph))


def unpacked(mx: Any, name: str) -> dict[str, np.ndarray]:
    """The arrays of a network with that cell, unpacked."""
    cell, group = unroll(mx, name, "merged")
    names = group.list_arguments()
    shapes = group.infer_shape(data=(LENGTH, 2, 5))[0]
    args = {key: mx.nd.array(np.random.RandomState(i).uniform(-1, 1, shape))
            for i, (key, shape) in enumerate(zip(names, shapes))}  # noqa: B905 - not in 1.9's Python
    return {key: value.asnumpy() for key, value in cell.unpack_weights(args).items()}
