"""Operators give what the real MXNet 1.9.1 gave, where their meaning is subtle."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config

HERE = Path(__file__).parent / "data" / "mxnet_ops"


def calls() -> Any:
    """The module with the calls, which MXNet's Python reads too."""
    spec = importlib.util.spec_from_file_location("mxnet_ops_calls", HERE / "calls.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = calls()
ANSWERS = json.loads((HERE / "answers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("onednn", [True, False])
@pytest.mark.parametrize("i", range(len(MODULE.CALLS)),
                         ids=[f"{i}-{call[0]}" for i, call in enumerate(MODULE.CALLS)])
def test_answers(i: int, onednn: bool) -> None:
    with config.override(NDRT_ONEDNN=onednn):
        got = MODULE.answer(mx, MODULE.CALLS[i])
    want = ANSWERS[i]
    assert (got["dtype"], got["shape"]) == (want["dtype"], want["shape"])
    np.testing.assert_allclose(got["values"], want["values"], rtol=1e-5, atol=1e-5)
    for ours, theirs in zip(got["gradients"], want["gradients"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4)
