"""Operators are called as MXNet's are: names, inputs, order of parameters, what is required."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt.symbol  # noqa: F401 - registers the operators
from ndarray_rt.op.params import IGNORED
from ndarray_rt.op.registry import REGISTRY, OpDef
from ndarray_rt.op.signatures import Signature

FILE = Path(__file__).parent.parent / "data" / "mxnet_operators.json"
MXNET: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
OPS = [op for op in REGISTRY.ops() if op.name in MXNET]

# name -> why it is another operator in MXNet and an alias here
ALIASES = {
    "Convolution_v1": "an older implementation of the same",
    "Pooling_v1": "an older implementation of the same",
    "BatchNorm_v1": "an older implementation of the same",
    "_grad_add": "the same sum, kept apart for MXNet's memory planner",
}
# operator -> why its signature shows further inputs
INPUTS = {
    "log_softmax": "its parameters have use_length, as softmax's",
    "softmin": "its parameters have use_length, as softmax's",
    "IdentityAttachKLSparseReg": "without its moving mean MXNet's nd can not call it at all",
}
# operator -> why its parameters are others than MXNet lists
PARAMETERS = {"_linspace": "MXNet lists those of _arange, and reads num and endpoint"}
# operator -> why its inputs are counted though MXNet wants the number given
COUNTED_HERE = {"amp_multicast": "num_outputs is the number of its inputs",
                "multi_all_finite": "num_arrays is the number of its inputs"}

# operator -> parameters without which MXNet can be called, though it lists them as required
OPTIONAL = {"smooth_l1": {"scalar"}}
# operators whose number counts the graphs inside of them, too, which are no inputs here
WITH_GRAPHS = {"_foreach", "_while_loop", "_cond"}
# operator -> parameters that MXNet's operator takes and does not list
UNLISTED = {"_linalg_potrf": {"lower"}, "_linalg_potri": {"lower"}}


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_inputs(op: OpDef) -> None:
    wanted = MXNET[op.name]
    made = Signature(op)
    if op.name in COUNTED_HERE:
        assert made.is_variadic
        return
    if op.name in WITH_GRAPHS:
        assert made.takes_any
        return
    assert made.is_variadic == bool(wanted["count"]), "counts its inputs"
    if made.is_variadic:
        assert op.num_args == wanted["count"]
    elif not any(name.startswith("*") for name in wanted["inputs"]) and op.name not in INPUTS:
        assert list(made.inputs) == wanted["inputs"]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_parameters(op: OpDef) -> None:
    if op.name in PARAMETERS:
        return
    wanted = MXNET[op.name]["params"]
    params = [f for f in Signature(op).params
              if f.name != op.num_args and f.name not in UNLISTED.get(op.name, ())]
    ours = [f.name for f in params]
    order = [name for name in wanted if name in ours]
    # a dataclass has what is required first
    allowed = (order, sorted(order, key=lambda name: wanted[name] is not None))
    assert ours in allowed, "a parameter that MXNet has not, or another order"
    for f in params:
        if f.name != op.num_args:
            required = f.default is dataclasses.MISSING or f.name in OPTIONAL.get(op.name, ())
            assert required == (wanted[f.name] is None), f"{f.name}: required in one of both"
            if not required:
                assert _same(wanted[f.name], f.default), (
                    f"{f.name}: default {f.default!r}, MXNet's is {wanted[f.name]!r}")


def _same(text: str, value: Any) -> bool:
    """A default as MXNet prints it and as we have it."""
    if isinstance(value, bool):
        return text in (str(value), str(int(value)))
    if isinstance(value, tuple):
        return text == "None" if not value and text != "[]" else (
            np.allclose(json.loads(text), value, rtol=1e-6) if value else text == "[]")
    if isinstance(value, float):
        return abs(float(text) - value) <= 1e-6 * abs(value)
    return text == str(value) or (text in ("", "[]") and value in (None, ""))


def test_names() -> None:
    for name, facts in MXNET.items():
        if name in REGISTRY and name not in ALIASES:
            ours = REGISTRY.find(name).name
            assert ours == facts["name"], f"{name} is {facts['name']} in MXNet, {ours} here"


def test_aliases() -> None:
    """Each operator is known under all of MXNet's names for it."""
    lacking = {name: facts["name"] for name, facts in MXNET.items()
               if facts["name"] in REGISTRY and name not in REGISTRY}
    assert lacking == {}


def test_ignored_parameters_are_accepted() -> None:
    for op in OPS:
        ours = {f.name for f in Signature(op).params}
        for name in IGNORED & set(MXNET[op.name]["params"]):
            assert name not in ours
