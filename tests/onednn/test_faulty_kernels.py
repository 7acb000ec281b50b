"""Kernels of oneDNN that are known to be wrong are not used; and a share of the check of all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.errors import Unsupported
from ndarray_rt.native import lib, text
from ndarray_rt.op.dispatch import Dispatched, observe
from ndarray_rt.ops.nn.conv_geometry import Geometry, conv_backward_weights, output_dims
from ndarray_rt.storage.primitive import Kind
from tests.onednn import witnesses
from tests.onednn.run import Finding
from tests.onednn.space import Space

ROOT = Path(__file__).parents[2]


def check(tmp_path: Path, *arguments: str) -> tuple[int, list[Finding], str]:
    """Exit status, findings and output of the check, in a process that has run nothing native."""
    out = tmp_path / "findings.jsonl"
    env = {**os.environ, "GOMP_SPINCOUNT": "0"}
    done = subprocess.run([sys.executable, "-m", "tests.onednn", "--jobs", "1", "--out", str(out),
                           *arguments], cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, check=False)
    assert out.exists(), done.stdout
    records = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    return done.returncode, [Finding(**record) for record in records], done.stdout


def implementations(space: Space) -> set[str]:
    """Of the known faulty ones, those that this machine has for a space's cases."""
    found = set()
    for number in range(len(space)):
        case = space.case(number)
        assert case is not None
        for implementation in range(20):
            try:
                prim = case.primitive(implementation)
            except Unsupported:
                break
            if lib.ndrt_prim_fault(prim.ptr):
                found.add(prim.impl)
    return found


@pytest.mark.parametrize("space", witnesses.SPACES, ids=lambda space: space.name)
def test_the_check_finds_what_is_known(space: Space, tmp_path: Path) -> None:
    """Also: nothing that it does not know."""
    status, findings, said = check(tmp_path, "--space", space.name, "--cases", "6", "--seed", "2")
    assert status == 0, said
    assert all(one.known for one in findings)
    found, known = {one.impl for one in findings}, implementations(space)
    # a row may go too far for other registers than those of AVX-512
    assert found == known if has_avx512() else found <= known, said


def test_what_is_chosen_instead_is_right(tmp_path: Path) -> None:
    _, findings, said = check(tmp_path, "--chosen", "--space", "known")
    assert not findings, said


def test_a_share_of_the_check(tmp_path: Path) -> None:
    status, _, said = check(tmp_path, "--cases", "6", "--seed", "1")
    assert status == 0, said


def test_faulty_kernels_are_passed_over() -> None:
    for space in witnesses.SPACES:
        for number in range(len(space)):
            case = space.case(number)
            assert case is not None
            try:
                prim = case.chosen()
            except Unsupported:
                continue
            assert not text(lib.ndrt_prim_fault(prim.ptr)), case


def test_a_refusal_names_the_fault() -> None:
    space = witnesses.SPACES[0]
    cases = [space.case(number) for number in range(len(space))]
    case = next(one for one in cases if one is not None and one.kind == Kind.DECONVOLUTION)
    with pytest.raises(Unsupported, match=r"but .*jit_1x1:.*, which writes behind"):
        case.chosen()


def _gradient_on_the_tape(x: Any, w: Any, call: dict[str, Any], ways: str) -> Any:
    x, w = mx.nd.array(x), mx.nd.array(w)
    w.attach_grad()
    with mx.autograd.record():
        y = getattr(mx.nd, ways)(x, w, no_bias=True, **call)
    y.backward()
    return w.grad.asnumpy()


def _gradient_of_an_executor(x: Any, w: Any, call: dict[str, Any], ways: str) -> Any:
    """Of the third run, which is replayed from the recording of the second."""
    symbol = getattr(mx.sym, ways)(mx.sym.Variable("x"), mx.sym.Variable("w"), no_bias=True, **call)
    executor = symbol.bind(mx.cpu(), {"x": mx.nd.array(x), "w": mx.nd.array(w)},
                           args_grad={"w": mx.nd.zeros(w.shape)},
                           grad_req={"x": "null", "w": "write"})
    for _ in range(3):
        (y,) = executor.forward(is_train=True)
        executor.backward([mx.nd.ones(y.shape)])
    return executor.grad_dict["w"].asnumpy()


def _gradient_of_a_cached_op(x: Any, w: Any, call: dict[str, Any], ways: str) -> Any:
    symbol = getattr(mx.sym, ways)(mx.sym.Variable("x"), mx.sym.Variable("w"), no_bias=True, **call)
    cached = mx.nd.CachedOp(symbol)
    x, w = mx.nd.array(x), mx.nd.array(w)
    w.attach_grad()
    for _ in range(3):
        with mx.autograd.record():
            y = cached(x, w)
        y.backward()
    return w.grad.asnumpy()


Way = Callable[[Any, Any, dict[str, Any], str], Any]


@pytest.mark.parametrize("way", [_gradient_on_the_tape, _gradient_of_an_executor,
                                 _gradient_of_a_cached_op])
@pytest.mark.parametrize("channels", [3, 8, 15])
@pytest.mark.parametrize("operator", ["Convolution", "Deconvolution"])
def test_strided_pixels(operator: str, channels: int, way: Way) -> None:
    """The gradient of the weights of a 1 x 1 window with a stride comes from oneDNN on each path,
    and not from the kernel that writes behind its scratchpad."""
    rng = np.random.default_rng(channels)
    geo = Geometry((1, 1), (2, 2), (1, 1), (0, 0), (0, 0), 1)
    filters = 16
    big = (2, channels, 65, 65)
    small = (2, filters, *output_dims(big[2:], geo))
    images = rng.integers(-3, 4, big).astype(np.float32)
    call: dict[str, Any] = {"kernel": (1, 1), "stride": (2, 2)}
    if operator == "Convolution":
        x, w = images, rng.integers(-3, 4, (filters, channels, 1, 1)).astype(np.float32)
        call["num_filter"] = filters
        right = conv_backward_weights(images, np.ones(small, np.float32), geo, w.shape)
    else:
        x = rng.integers(-3, 4, small).astype(np.float32)
        w = rng.integers(-3, 4, (filters, channels, 1, 1)).astype(np.float32)
        call["num_filter"] = channels
        right = conv_backward_weights(np.ones(big, np.float32), x, geo, w.shape)
    seen: list[Dispatched] = []
    stop = observe(seen.append, replays=True)
    try:
        got = way(x, w, call, operator)
    finally:
        stop()
    backward = [told for told in seen if told.op.name == f"_backward_{operator}"]
    assert backward
    assert all(told.reason is None for told in backward)
    if operator == "Convolution":  # a deconvolution's in a blocked layout, where it is right
        assert not [name for told in backward for name in told.impls if "jit_1x1" in name]
    np.testing.assert_array_equal(got, right)
