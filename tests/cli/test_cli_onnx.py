"""The command line on ONNX files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper

import ndarray_rt as mx
from ndarray_rt.cli import bench, main
from ndarray_rt.executor import clear_tuning
from ndarray_rt.program import FAILED

WEIGHT = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
NET = """
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[batch, 3] x, int64[batch, 1] i) => (float[batch, 2] y, int64[batch, 1] j) {
        b = Constant<value = float[2] {1, -100}>()
        z = MatMul(x, w)
        s = Add(z, b)
        y = Relu(s)
        j = Add(i, i)
    }"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    net = onnx.parser.parse_model(NET)
    net.graph.initializer.append(numpy_helper.from_array(WEIGHT, "w"))
    onnx.save(net, "net.onnx")
    yield
    clear_tuning()


def told(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> Any:
    assert main.main([*argv, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main.main(argv) == FAILED
    found = capsys.readouterr().err.splitlines()
    assert found[-1].startswith("ndarray-rt: ")
    return found[-1]


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "info", "net.onnx", "--batch", "2")
    assert found["kind"] == "ONNX"
    assert found["inputs"] == [{"name": "x", "shape": ["batch", 3], "dtype": "float32"},
                               {"name": "i", "shape": ["batch", 1], "dtype": "int64"}]
    assert found["operators"] == {"Add": 2, "MatMul": 1, "Relu": 1}
    assert found["parameters"]["numbers"] == 8
    assert found["ran"] == {"x": [2, 3], "i": [2, 1]}
    assert found["result_shapes"] == [[2, 2], [2, 1]]


def test_run(capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("in.npz", x=np.ones((2, 3), np.float32), i=np.array([[1], [2]]))
    found = told(capsys, "run", "net.onnx", "--input", "x=in.npz", "--input", "i=in.npz")
    assert [(row["name"], row["values"]) for row in found["outputs"]] == [
        ("y", [[10, 0], [10, 0]]), ("j", [[2], [4]])]
    assert "'z=in.npz' names none of the inputs" in refused(
        capsys, "run", "net.onnx", "--input", "z=in.npz")
    assert main.main(["run", "net.onnx", "--input", "x=in.npz"]) == 0
    assert "input 'i': random numbers of seed 0" in capsys.readouterr().err
    assert "write them to an .npz file" in refused(
        capsys, "run", "net.onnx", "--input", "x=in.npz", "--input", "i=in.npz", "--output",
        "y.npy")


def test_check_explain_tune(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "check", "net.onnx")["equal"]
    assert told(capsys, "explain", "net.onnx", "--html", "page.html")["written"][0] == "page.html"
    assert told(capsys, "tune", "net.onnx")["written"] is None


def test_bench_beside_others(capsys: pytest.CaptureFixture[str],
                             monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def other(path: str, threads: int) -> Any:
        asked.append((path, threads))
        return lambda values: [values["x"]]

    def missing(path: str, threads: int) -> Any:
        raise ImportError("no")
    monkeypatch.setitem(bench.PEERS, "onnxruntime", other)
    monkeypatch.setitem(bench.PEERS, "openvino", missing)
    found = told(capsys, "bench", "net.onnx", "--runs", "3", "--compare", "onnxruntime")
    assert [row["runtime"] for row in found["results"]] == ["ndarray_rt", "onnxruntime"]
    assert asked == [("net.onnx", mx.get_num_threads())]
    assert "openvino is not installed here" in refused(capsys, "bench", "net.onnx", "--compare",
                                                       "openvino")


def test_convert_takes_initialisers(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(told(capsys, "convert", "net.onnx", "net.safetensors")["arrays"]) == ["w"]
    np.testing.assert_array_equal(mx.nd.load("net.safetensors")["w"].asnumpy(), WEIGHT)


def test_convert_gives_initialisers(capsys: pytest.CaptureFixture[str]) -> None:
    mx.nd.save("new.params", {"arg:w": mx.nd.array(WEIGHT * 2)})
    told(capsys, "convert", "new.params", "new.onnx", "--model", "net.onnx", "--strip-prefix")
    np.savez("in.npz", x=np.ones((1, 3), np.float32), i=np.array([[1]]))
    found = told(capsys, "run", "new.onnx", "--input", "x=in.npz", "--input", "i=in.npz")
    assert found["outputs"][0]["values"] == [[19, 0]]
    assert "it has no initialiser 'arg:w'" in refused(
        capsys, "convert", "new.params", "new.onnx", "--model", "net.onnx")
    mx.nd.save("odd.params", {"w": mx.nd.ones((2, 3))})
    assert "initialiser 'w': shape (3, 2) of float32, got (2, 3)" in refused(
        capsys, "convert", "odd.params", "new.onnx", "--model", "net.onnx")
    assert "give --model" in refused(capsys, "convert", "odd.params", "new.onnx")
    assert "give --model" in refused(capsys, "convert", "odd.params", "a.npz", "--model", "x")


def test_convert_of_whole_models(capsys: pytest.CaptureFixture[str]) -> None:
    """To ONNX and back: the numbers stay."""
    from ndarray_rt.gluon import nn
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, in_channels=3), nn.BatchNorm(in_channels=4), nn.GlobalAvgPool2D(),
            nn.Dense(2, in_units=4))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    x = mx.nd.random.uniform(shape=(2, 3, 8, 8))
    expected = net(x).asnumpy()
    net.export("small")
    found = told(capsys, "convert", "small", "small.onnx", "--shape", "1,3,8,8", "--opset", "15")
    assert found == {"written": "small.onnx", "nodes": 5, "opset": 15,
                     "inputs": {"data": [1, 3, 8, 8]}}
    np.testing.assert_allclose(mx.onnx.load("small.onnx")(x)[0], expected, rtol=1e-5, atol=1e-6)
    found = told(capsys, "convert", "small.onnx", "back-symbol.json")
    assert found == {"written": ["back-symbol.json", "back-0000.params"], "arrays": 8}
    back = mx.gluon.SymbolBlock.imports("back-symbol.json", ["data"], "back-0000.params")
    np.testing.assert_allclose(back(x).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert "expected an int from 13 to 21" in refused(
        capsys, "convert", "small", "new.onnx", "--shape", "1,3,8,8", "--opset", "5")
    assert "no single graph of operators" in refused(
        capsys, "convert", "net.onnx", "net-symbol.json")


def test_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.onnx").write_bytes(b"neither this nor that")
    assert "bad.onnx" in refused(capsys, "info", "bad.onnx")
    assert "--params is for MXNet's models" in refused(capsys, "info", "net.onnx", "--params", "x")
    assert "none.onnx" in refused(capsys, "run", "none.onnx", "--input", "x=x.npy")
    assert "give --shape" in refused(capsys, "bench", _open_file())


def _open_file() -> str:
    """A model of which a dimension inside is open."""
    net = onnx.parser.parse_model(NET.replace("float[batch, 3] x", "float[batch, n] x"))
    net.graph.initializer.append(numpy_helper.from_array(WEIGHT, "w"))
    onnx.save(net, "open.onnx")
    return "open.onnx"
