"""`ndarray-rt quantize`: what it writes runs, what it tells, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.cli import main
from ndarray_rt.program import FAILED


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a small network "net", and samples of its input."""
    monkeypatch.chdir(tmp_path)
    mx.random.seed(0)
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(8, 3, in_channels=3, activation="relu"),
            mx.gluon.nn.Conv2D(8, 3, in_channels=8), mx.gluon.nn.GlobalAvgPool2D(),
            mx.gluon.nn.Dense(7, in_units=8))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    x = mx.nd.random.normal(shape=(9, 3, 8, 8))
    net(x)
    net.export("net")
    np.save("x.npy", x.asnumpy())
    np.savez("x.npz", data=x.asnumpy()[:5])


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert main.main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def close(capsys: pytest.CaptureFixture[str], name: str, loss: float) -> None:
    """The files run, and give what the network on floats gives but for a loss."""
    results = []
    for model in ("net", name):
        assert main.main(["run", model, "--input", "x.npy", "--output", f"{model}.y.npy"]) == 0
        results.append(np.load(f"{model}.y.npy"))
    capsys.readouterr()
    want, got = results
    assert np.sqrt(np.square(got - want).sum() / np.square(want).sum()) == pytest.approx(
        loss, rel=1e-3)
    assert told(capsys, "bench", name, "--shape", "1,3,8,8", "--runs", "2")


@pytest.mark.parametrize("more", [[], ["--small"], ["--mode", "entropy"]])
def test_writes_a_model(capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    found = told(capsys, "quantize", "net", "--data", "x.npy", *more)
    assert found["written"] == ["net-int8-symbol.json", "net-int8-0000.params"]
    assert found["samples"] == 9
    assert len(found["layers"]) == 3
    assert 0 < found["loss"] < 0.1
    if "--small" in more:
        assert found["bytes"] < 0.4 * found["bytes_on_floats"]
    close(capsys, "net-int8", found["loss"])


def test_tells_what_layers_lose(capsys: pytest.CaptureFixture[str]) -> None:
    worst = told(capsys, "quantize", "net", "--data", "data=x.npy")["layers"][0]
    assert main.main(["quantize", "net", "--data", "data=x.npy", "--exclude", worst["name"]]) == 0
    out = capsys.readouterr().out
    assert "outputs: " in out
    assert worst["name"] not in out
    assert "written: net-int8-symbol.json, net-int8-0000.params" in out


def test_layers_stay_on_floats(capsys: pytest.CaptureFixture[str]) -> None:
    loss = told(capsys, "quantize", "net", "--data", "x.npy")["loss"]
    found = told(capsys, "quantize", "net", "--data", "x.npy", "--max-loss", str(loss * 0.8),
                 "--output", "careful-symbol.json")
    assert found["written"] == ["careful-symbol.json", "careful-0000.params"]
    assert found["loss"] <= loss * 0.8
    assert found["excluded"] == [layer["name"] for layer in found["layers"]][
        :len(found["excluded"])]
    assert found["excluded"]
    close(capsys, "careful", found["loss"])


def test_samples_of_several_files(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "quantize", "net", "--data", "x.npy", "--data", "x.npz", "--batch", "4")
    assert found["samples"] == 14


def test_an_onnx_file(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    mx.onnx.export("net-symbol.json", "net-0000.params", path="net.onnx",
                   shapes={"data": (None, 3, 8, 8)})
    found = told(capsys, "quantize", "net.onnx", "--data", "x.npy", "--output", "from-onnx")
    assert len(found["layers"]) == 3
    close(capsys, "from-onnx", found["loss"])


@pytest.mark.parametrize("source", ["net", "net.onnx"])
@pytest.mark.parametrize("more", [[], ["--small"]])
def test_writes_an_onnx_file(capsys: pytest.CaptureFixture[str], source: str, more: list[str],
                             ) -> None:
    """For any batch size, on 8-bit numbers."""
    onnx = pytest.importorskip("onnx")
    mx.onnx.export("net-symbol.json", "net-0000.params", path="net.onnx",
                   shapes={"data": ("many", 3, 8, 8)})
    found = told(capsys, "quantize", source, "--data", "x.npy", "--output", "y.onnx", *more)
    assert found["written"] == ["y.onnx"]
    assert not Path("y.onnx-symbol.json").exists()
    model = onnx.load("y.onnx")
    assert "QuantizeLinear" in {node.op_type for node in model.graph.node}
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param in ("batch", "many")
    results = []
    for name in ("net", "y.onnx"):
        assert main.main(["run", name, "--input", "x.npy", "--output", "y.npy"]) == 0
        results.append(np.load("y.npy"))
    want, got = results
    assert np.sqrt(np.square(got - want).sum() / np.square(want).sum()) == pytest.approx(
        found["loss"], rel=0.1)


@pytest.mark.parametrize(("argv", "text"), [
    (["net"], "--data"),
    (["net", "--data", "nowhere.npy"], "'nowhere.npy': No such file"),
    (["net", "--data", "x.npy", "--output", "y.txt"], "--output got 'y.txt', expected NAME.onnx"),
    (["net", "--data", "x.npy", "--exclude", "conv0_fw"], "there is no node 'conv0_fw'"),
    (["net", "--data", "x.npy", "--max-loss", "-1"], "expected a finite number from 0 up"),
    (["net", "--data", "x.npy", "--mode", "best"], "invalid choice: 'best'"),
    (["net.onnx", "--data", "x.npy", "--params", "net-0000.params"], "--params is for MXNet's"),
    (["nowhere", "--data", "x.npy"], "'nowhere': expected an .onnx file")])
def test_refuses(capsys: pytest.CaptureFixture[str], argv: list[str], text: str) -> None:
    assert main.main(["quantize", *argv]) == FAILED
    found = capsys.readouterr()
    assert found.out == ""
    assert text in found.err
    assert not Path("net-int8-symbol.json").exists()


def test_a_model_is_not_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("net-symbol.json").read_bytes(), Path("net-0000.params").read_bytes()
    for output in ("net", "net-symbol.json", "./net"):
        assert main.main(["quantize", "net", "--data", "x.npy", "--output", output]) == FAILED
        assert "is read as the model itself" in capsys.readouterr().err
    assert before == (Path("net-symbol.json").read_bytes(), Path("net-0000.params").read_bytes())


def test_a_large_loss_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    args = mx.nd.load("net-0000.params")
    bias = next(name for name in args if "conv" in name and name.endswith("bias"))
    args[bias][:] = 50
    mx.nd.save("net-0000.params", args)
    assert main.main(["quantize", "net", "--data", "x.npy", "--small"]) == 0
    assert "without --small convolutions lose no bias" in capsys.readouterr().err
    assert main.main(["quantize", "net", "--data", "x.npy"]) == 0
    assert not capsys.readouterr().err
