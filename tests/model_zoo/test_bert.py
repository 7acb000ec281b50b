"""The encoder is MXNet's node for node, gives its numbers, and is captured as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import ParameterError
from ndarray_rt.model_zoo import symbols
from tests.observed import observe_run

from . import make_bert_golden as golden

ANSWERS: dict[str, Any] = json.loads(
    Path(__file__).with_name("bert.json").read_text(encoding="utf-8"))


def test_equals_mxnets() -> None:
    """The same operators under the same names, the same parameters of the same shapes."""
    with mx.name.NameManager():
        net = symbols.get_symbol("bert_encoder")
    assert golden.describe(net, golden.FULL["length"]) == ANSWERS["full"]


@pytest.mark.parametrize("native", [True, False])
def test_numbers_are_mxnets(native: bool) -> None:
    """Output and gradients of a small encoder with given parameters."""
    net = symbols.get_symbol("bert_encoder", **golden.SMALL)
    with config.override(NDRT_ONEDNN=native):
        got = golden.answers(mx, net)
    for name, want in ANSWERS["small"].items():
        np.testing.assert_allclose(got[name], want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_everything_is_native(dtype: str) -> None:
    """No node runs in numpy or on reference code; the third forward is a replay."""
    net = symbols.get_symbol("bert_encoder", **golden.SMALL)
    words = mx.nd.array(golden.WORDS, dtype=dtype)
    executor = net.simple_bind(mx.cpu(), data=words.shape, grad_req="null",
                               type_dict={"data": dtype})
    for name, value in golden.parameters(net, words.shape[1]).items():
        executor.arg_dict[name][:] = mx.nd.array(value)
    plain = executor.forward(is_train=False, data=words)[0].asnumpy()
    for _ in range(2):
        executor.forward(is_train=False, data=words)
    assert executor.capture_state == "captured"
    # other words, the same recording
    other = mx.nd.array(golden.WORDS[::-1], dtype=dtype)
    got = executor.forward(is_train=False, data=other)[0].asnumpy()
    assert executor.capture_state == "captured"
    np.testing.assert_allclose(got, plain[::-1], rtol=1e-4, atol=1e-5)
    fresh = net.simple_bind(mx.cpu(), data=words.shape, grad_req="null",
                            type_dict={"data": dtype})
    rows = observe_run(lambda: fresh.forward(is_train=False, data=words))
    assert not [row for row in rows if row.is_numpy or row.is_reference]


def test_inner_width_and_wrong_heads() -> None:
    net = symbols.get_symbol("bert_encoder", hidden=8, heads=2, length=3, layers=1, inner=5,
                             vocabulary=9)
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(1, 3))[0], strict=True))
    assert shapes["l0_f1_weight"] == (5, 8)
    assert shapes["l0_f2_weight"] == (8, 5)
    with pytest.raises(ParameterError, match="heads=3 does not divide hidden=8"):
        symbols.get_symbol("bert_encoder", hidden=8, heads=3)
