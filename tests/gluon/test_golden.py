"""Layers, losses and files give what MXNet 1.9.1 gave (data/make_mxnet_gluon.py)."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import gluon

from . import cases
from .cases import CASES, Case

DATA = Path(__file__).parents[1] / "data" / "mxnet_gluon"


@lru_cache(maxsize=1)
def answers() -> dict[str, np.ndarray]:
    with np.load(DATA / "answers.npz") as data:
        return dict(data)


@pytest.mark.parametrize("is_hybrid", [False, True], ids=["imperative", "hybridized"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_numbers(case: Case, is_hybrid: bool) -> None:
    if is_hybrid and not case.hybrid:
        pytest.skip("it can not be hybridized")
    got = cases.run(mx, case, is_hybrid)
    want = {key.split(".", 1)[1]: value for key, value in answers().items()
            if key.split(".", 1)[0] == case.name}
    assert set(got) == set(want)
    for name, value in want.items():
        assert got[name].dtype == value.dtype, name
        np.testing.assert_allclose(got[name], value, rtol=2e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("is_hybrid", [False, True], ids=["imperative", "hybridized"])
def test_training(is_hybrid: bool) -> None:
    got = cases.train(mx, is_hybrid)
    with np.load(DATA / "trained.npz") as data:
        want = dict(data)
    assert set(got) == set(want)
    for name, value in want.items():
        error = np.linalg.norm(got[name] - value) / np.linalg.norm(value)
        assert error < 1e-4, (name, error)


def network() -> gluon.HybridBlock:
    with mx.NameManager():
        made: gluon.HybridBlock = cases._dense_net(mx)
    return made


def test_files_that_mxnet_wrote() -> None:
    with np.load(DATA / "net.npz") as data:
        x, y = mx.nd.array(data["x"]), data["y"]
    net = network()
    net.load_parameters(str(DATA / "net.params"))
    np.testing.assert_allclose(net(x).asnumpy(), y, rtol=1e-5, atol=1e-6)
    exported = network()
    exported.collect_params().load(str(DATA / "net-0000.params"))
    np.testing.assert_allclose(exported(x).asnumpy(), y, rtol=1e-5, atol=1e-6)
    block = gluon.SymbolBlock.imports(str(DATA / "net-symbol.json"), ["data"],
                                      str(DATA / "net-0000.params"))
    np.testing.assert_allclose(block(x).asnumpy(), y, rtol=1e-5, atol=1e-6)


def test_files_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    with np.load(DATA / "net.npz") as data:
        x = mx.nd.array(data["x"])
    net = network()
    net.initialize()
    net.hybridize()
    net(x)
    cases.set_parameters(mx, net)
    net.save_parameters(str(tmp_path / "net.params"))
    net.export(str(tmp_path / "net"))
    for name in ("net.params", "net-0000.params", "net-symbol.json"):
        assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes(), name


@pytest.mark.parametrize("model", list(json.loads((DATA / "names.json").read_text())))
def test_names_of_the_model_zoo(model: str) -> None:
    count, digest = json.loads((DATA / "names.json").read_text())[model]
    with mx.NameManager():
        names = list(gluon.model_zoo.vision.get_model(model).collect_params())
    assert len(names) == count
    assert hashlib.sha1("\n".join(names).encode()).hexdigest() == digest
