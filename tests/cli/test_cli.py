"""The command line: each command on MXNet's models, what it tells, and what it refuses."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.cli import images, main, output
from ndarray_rt.cli.model_file import Slot
from ndarray_rt.cli.mxnet_model import MXNetModel
from ndarray_rt.executor import clear_tuning
from ndarray_rt.program import FAILED


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """With a small network for pictures, "net", and one for rows of numbers, "mlp"."""
    monkeypatch.chdir(tmp_path)
    threads = mx.get_num_threads()
    mx.random.seed(0)
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(4, 3, in_channels=3), mx.gluon.nn.BatchNorm(in_channels=4),
            mx.gluon.nn.GlobalAvgPool2D(), mx.gluon.nn.Dense(7, in_units=4))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    net(mx.nd.ones((1, 3, 8, 8)))
    net.export("net")
    layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    params = {"fc_weight": mx.nd.array(np.arange(6).reshape(3, 2)), "fc_bias": mx.nd.ones((3,))}
    for epoch in (1, 3):
        mx.model.save_checkpoint("mlp", epoch, mx.sym.SoftmaxOutput(layer, name="softmax"),
                                 params, {})
    yield
    clear_tuning()
    mx.set_num_threads(threads)


def told(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> Any:
    """What a command tells with --json; its notes are kept apart."""
    assert main.main([*argv, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def text(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> str:
    assert main.main(argv) == code
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The one line of an error."""
    assert main.main(argv) == FAILED
    found = capsys.readouterr()
    assert found.out == ""
    lines = [line for line in found.err.splitlines() if line.startswith("ndarray-rt:")]
    assert len(lines) == 1
    return lines[0]


# ---- info --------------------------------------------------------------------------------------


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "info", "mlp-0001.params")
    assert found["kind"] == "MXNet"
    assert list(found["files"]) == ["mlp-symbol.json", "mlp-0001.params"]
    assert found["inputs"] == [{"name": "data", "shape": None, "dtype": "float32"}]
    assert found["outputs"] == [{"name": "softmax_output", "shape": [1, 3], "dtype": "float32"}]
    assert found["operators"] == {"FullyConnected": 1, "SoftmaxOutput": 1}
    assert found["parameters"] == {"arrays": 2, "numbers": 9, "bytes": 36}
    assert found["ran"] == {"data": [1, 2]}
    assert found["by_numpy"] == []
    assert found["memory"]["bytes"] > 0


def test_info_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text(capsys, "info", "net", "--shape", "4,3,16,16")
    for words in ("MXNet model: net-symbol.json", "parameters: 163 in 8 arrays", "1  Convolution",
                  "run with data (4, 3, 16, 16): outputs (4, 7)", "computed by NumPy: nothing"):
        assert words in shown


def test_info_names_what_numpy_computes(capsys: pytest.CaptureFixture[str]) -> None:
    x = mx.sym.Variable("data", shape=(2, 5), dtype="float64")
    made = mx.sym.Activation(x, act_type="relu", name="act")
    mx.model.save_checkpoint("odd", 0, made, {}, {})
    mx.nd.save("odd-0000.params", {"arg:unused": mx.nd.ones((1,))})
    found = told(capsys, "info", "odd")
    assert found["ran"] == {"data": [2, 5]}
    assert found["inputs"][0]["dtype"] == "float64"
    assert [(row["node"], row["reason"]) for row in found["by_numpy"]] == [
        ("act", "dtype float64 is not float32")]


def test_shapes_that_are_not_known_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    both = mx.sym.Variable("a") + mx.sym.Variable("b")
    both.save("two-symbol.json")
    mx.nd.save("two-0000.params", {"arg:unused": mx.nd.ones((1,))})
    found = told(capsys, "info", "two")
    assert "give --shape" in found["why_not"]
    assert found["outputs"][0]["shape"] is None
    found = told(capsys, "info", "two", "--shape", "a=2,3", "--shape", "b=2,3")
    assert found["outputs"][0]["shape"] == [2, 3]
    assert "--shape needs the name of an input" in refused(capsys, "info", "two", "--shape", "2")
    assert "no input 'c'" in refused(capsys, "info", "two", "--shape", "c=2")
    assert "expected NAME=1,3" in refused(capsys, "info", "two", "--shape", "a=x")


# ---- run ---------------------------------------------------------------------------------------


def test_run_on_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.array([[1, 2], [3, 4]], np.float32)
    np.save("x.npy", x)
    np.savez("x.npz", data=x, other=x)
    wanted = x @ np.arange(6).reshape(3, 2).T + 1
    wanted = np.exp(wanted - wanted.max(1, keepdims=True))
    wanted /= wanted.sum(1, keepdims=True)
    for given in ("x.npy", "data=x.npy", "data=x.npz"):
        found = told(capsys, "run", "mlp", "--input", given)["outputs"]
        assert [(row["name"], row["shape"]) for row in found] == [("softmax_output", [2, 3])]
        np.testing.assert_allclose(found[0]["values"], wanted, rtol=1e-5)
    assert "values" not in told(capsys, "run", "mlp", "--input", "x.npy", "--output",
                                "y.npz")["outputs"][0]
    np.testing.assert_allclose(np.load("y.npz")["softmax_output"], wanted, rtol=1e-5)
    main.main(["run", "mlp", "--input", "x.npy", "--output", "y.npy"])
    np.testing.assert_allclose(np.load("y.npy"), wanted, rtol=1e-5)


def test_run_on_random_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """What no file is given for, as the other commands do; it is told."""
    argv = ("run", "net", "--shape", "1,3,8,8", "--json")
    found = []
    for more in ((), (), ("--seed", "1"), ("--batch", "2")):
        assert main.main([*argv, *more]) == 0
        shown = capsys.readouterr()
        assert "input 'data': random numbers of seed" in shown.err
        found.append(json.loads(shown.out)["outputs"][0])
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert [row["shape"] for row in found[2:]] == [[1, 7], [2, 7]]


def picture(name: str, height: int, width: int) -> np.ndarray[Any, Any]:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(height).integers(0, 256, (height, width, 3), np.uint8)
    image.fromarray(pixels).save(name)
    return pixels


def test_run_on_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    pixels = [picture("a.png", 16, 16), picture("b.png", 16, 16)]
    main.main(["run", "net", "--input", "a.png", "--input", "b.png", "--size", "16",
               "--mean", "0.5,0.25,0", "--std", "2", "--output", "y.npy"])
    assert "16x16 by stretch, (x * 0.00392157 - 0.5,0.25,0) / 2,2,2" in capsys.readouterr().err
    x = (np.stack(pixels) / 255 - np.array([0.5, 0.25, 0])) / 2
    (wanted,) = MXNetModel("net-symbol.json", "net-0000.params").run(
        {"data": np.ascontiguousarray(x.transpose(0, 3, 1, 2), np.float32)})
    np.testing.assert_allclose(np.load("y.npy"), wanted, rtol=1e-4, atol=1e-6)
    shown = text(capsys, "run", "net", "--input", "a.png", "--bgr", "--scale", "1")
    assert "sample 0, the largest of 7:" in shown


@pytest.mark.parametrize(("resize", "corner"), [("stretch", False), ("crop", False),
                                                ("pad", True)])
def test_pictures_of_other_sizes(resize: str, corner: bool) -> None:
    picture("wide.png", 20, 40)
    given = main.parser().parse_args(["run", "net", "--input", "x", "--resize", resize])
    way = images.way_of(Slot("x", (1, 3, 10, 10), np.dtype(np.float32)), given)
    x = images.read_picture("wide.png", way)
    assert x.shape == (1, 3, 10, 10)
    assert (x[0, :, 0] == 0).all() == corner
    last = images.way_of(Slot("x", (None, 12, 10, 1), np.dtype(np.uint8)), given)
    assert (last.layout, last.channels, last.size, last.scale) == ("NHWC", 1, (12, 10), 1)
    assert images.read_picture("wide.png", last).dtype == np.uint8


@pytest.mark.parametrize(("argv", "words"), [
    (["--input", "y.npy"], "'y.npy': No such file"),
    (["--input", "z=y.npy"], "names none of the inputs: data"),
    (["--input", "bad.npy"], "'bad.npy': no array and no picture"),
    (["--input", "bad.png"], "bad.png"),
    (["--input", "none.png"], "'none.png': No such file"),
    (["--input", "x.npy", "--input", "x.npy"], "only pictures make a batch"),
    (["--input", "x.npy", "--output", "y.txt"], "neither .npz nor .npy"),
    (["--input", "text.npy"], "is of float32, 'text.npy' of <U1"),
    (["--input", "objects.npy"], "no array and no picture"),
    (["--input", "long.npy"], "weight has shape (3, 2), expected (3, 9)"),
    (["--input", "bad.png", "--size", "x"], "--size got 'x'"),
    (["--input", "bad.png", "--size", "\N{SUPERSCRIPT TWO}"], "--size got"),
    (["--input", "bad.png", "--mean", "1,2"], "--mean has 2 numbers for 3 channels"),
])
def test_what_run_refuses(argv: list[str], words: str,
                          capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.ones((1, 2), np.float32))
    np.save("long.npy", np.ones((1, 9), np.float32))
    np.save("text.npy", np.array(["a"]))
    np.save("objects.npy", np.array([{}]), allow_pickle=True)
    for name in ("bad.npy", "bad.png"):
        Path(name).write_bytes(b"neither this nor that")
    model = "net" if any(".png" in word for word in argv) else "mlp"
    assert words in refused(capsys, "run", model, *argv)


@pytest.mark.parametrize("command", ["run", "bench", "info"])
@pytest.mark.parametrize("shape", ["0,3,8,8", "1,3,0,8"])
def test_a_size_of_0_is_refused_in_one_line(command: str, shape: str,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main.main([command, "net", "--shape", shape]) == FAILED
    line, = capsys.readouterr().err.splitlines()
    assert line.startswith("ndarray-rt: input 'data' has shape (")
    assert line.endswith("expected at least 1")


# ---- bench, explain, tune, check ---------------------------------------------------------------


def test_bench(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "bench", "net", "--shape", "1,3,8,8", "--batch", "2", "--threads", "1",
                 "--runs", "3")
    assert found["shapes"] == {"data": [2, 3, 8, 8]}
    assert (found["threads"], found["runs"]) == (1, 3)
    assert [row["runtime"] for row in found["results"]] == ["ndarray_rt"]
    assert found["results"][0]["median_ms"] >= found["results"][0]["least_ms"] > 0
    assert "1 thread(s), 3 runs each" in text(capsys, "bench", "mlp", "--runs", "3")
    assert "--compare" in refused(capsys, "bench", "mlp", "--compare", "onnxruntime")
    assert "expected some of" in refused(capsys, "bench", "mlp", "--compare", "odd")


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert "FullyConnected" in text(capsys, "explain", "mlp")
    found = told(capsys, "explain", "net", "--shape", "1,3,8,8", "--html", "page.html")
    assert found["written"] == ["page.html"]
    assert "Convolution" in {row["operator"] for row in found["graphs"][0]["rows"]}
    assert "<svg" in Path("page.html").read_text(encoding="utf-8")
    assert "does not end in .html" in refused(capsys, "explain", "mlp", "--html", "page")


def test_tune(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "tune", "net", "--shape", "1,3,8,8", "--output", "found.json")
    assert found["written"] == "found.json"
    assert len(found["graphs"]) == 1
    before = json.loads(Path("found.json").read_text(encoding="utf-8"))
    clear_tuning()
    assert "use it with NDRT_TUNING=found.json" in text(capsys, "tune", "mlp", "--output",
                                                        "found.json")
    after = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert len(after["graphs"]) >= len(before["graphs"])


def test_check(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = told(capsys, "check", "net", "--shape", "2,3,8,8")
    assert found["equal"]
    assert [row["name"] for row in found["outputs"]] == [
        MXNetModel("net-symbol.json", "net-0000.params").outputs[0].name]
    assert "equal" in text(capsys, "check", "mlp")
    low = told(capsys, "check", "mlp", "--precision", "bfloat16")
    assert low["equal"]
    assert low["outputs"][0]["difference"] > 10 * found["tolerance"] * low["outputs"][0]["largest"]
    assert "high" in refused(capsys, "check", "mlp", "--precision", "high")
    run = MXNetModel.run
    calls = []

    def wrong(self: MXNetModel, values: Any) -> Any:
        calls.append(self)
        return [x + (0.01 if len(calls) > 1 else 0) for x in run(self, values)]
    monkeypatch.setattr(MXNetModel, "run", wrong)
    assert "DIFFERENT" in text(capsys, "check", "mlp", code=1)
    calls.clear()
    assert not told(capsys, "check", "mlp", code=1)["equal"]


# ---- convert -----------------------------------------------------------------------------------


def test_convert(capsys: pytest.CaptureFixture[str]) -> None:
    before = mx.nd.load("net-0000.params")
    found = told(capsys, "convert", "net-0000.params", "a.safetensors", "--strip-prefix")
    assert not any(name.startswith(("arg:", "aux:")) for name in found["arrays"])
    assert "8 arrays, 163 numbers" in text(capsys, "convert", "a.safetensors", "b.npz")
    main.main(["convert", "b.npz", "c.params", "--add-prefix"])
    after = mx.nd.load("c.params")
    assert set(after) == set(before)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name].asnumpy(), value.asnumpy())


def test_what_convert_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    mx.nd.save("list.params", [mx.nd.ones((1,))])
    mx.nd.save("twice.params", {"arg:a": mx.nd.ones((1,)), "aux:a": mx.nd.ones((1,))})
    Path("bad.params").write_bytes(b"neither this nor that")
    assert "have no names" in refused(capsys, "convert", "list.params", "a.npz")
    assert "two arrays would have the name 'a'" in refused(
        capsys, "convert", "twice.params", "a.npz", "--strip-prefix")
    assert "no file of arrays" in refused(capsys, "convert", "bad.params", "a.npz")
    assert "expected one of" in refused(capsys, "convert", "list.params", "a.txt")
    assert "opposite" in refused(capsys, "convert", "twice.params", "a.npz", "--strip-prefix",
                                 "--add-prefix")


# ---- files, errors, progress -------------------------------------------------------------------


def test_the_last_epoch_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    main.main(["info", "mlp"])
    assert "parameters: mlp-0003.params, the last of 2" in capsys.readouterr().err
    found = told(capsys, "info", "mlp-symbol.json", "--params", "mlp-0001.params")
    assert "mlp-0001.params" in found["files"]


@pytest.mark.parametrize(("argv", "words"), [
    (["info", "none"], "'none': expected an .onnx file, or a file of MXNet's pair"),
    (["info", "none.json"], "'none.json': there is no such file"),
    (["info", "alone-symbol.json"], "there are no parameters beside it"),
    (["info", "net", "--params", "bad.params"], "no file of arrays"),
    (["info", "bad.json", "--params", "net-0000.params"], "no JSON"),
    (["info", "twice-symbol.json", "--params", "net-0000.params"], "two variables have the name"),
    (["check", "mlp", "--shape", "1,7"], "weight has shape (3, 2), expected (3, 7)"),
])
def test_errors_are_one_line_and_code_2(argv: list[str], words: str,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    mx.sym.Variable("x").save("alone-symbol.json")
    Path("bad.params").write_bytes(b"neither this nor that")
    Path("bad.json").write_text("{")
    (mx.sym.Variable("x") + mx.sym.Variable("x")).save("twice-symbol.json")
    assert words in refused(capsys, *argv)


@pytest.mark.parametrize(("argv", "words"), [
    ([], "required: COMMAND"),
    (["odd"], "invalid choice: 'odd'"),
    (["info"], "required: FILE"),
    (["info", "net", "--threads", "0"], "--threads: got '0', expected a whole number from 1 up"),
    (["bench", "net", "--batch", "x"], "--batch: got 'x', expected a whole number from 1 up"),
    (["bench", "net", "--runs", "0"], "--runs: got '0', expected a whole number from 1 up"),
    (["run", "net", "--seed", "-1"], "--seed: got '-1', expected a whole number from 0 up"),
    (["run", "net", "--std", "0.5,0,1"], "--std: got '0.5,0,1', expected finite numbers above 0"),
    (["run", "net", "--mean", "1,x"], "--mean: got '1,x', expected finite numbers"),
    (["run", "net", "--scale", "nan"], "--scale: got 'nan', expected a finite number"),
    (["check", "net", "--tolerance", "-1"], "--tolerance: got '-1', expected a finite number"),
])
def test_wrong_arguments_are_one_line_and_code_2(argv: list[str], words: str,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(argv) == FAILED
    line, = capsys.readouterr().err.splitlines()
    assert line.startswith("ndarray-rt: ")
    assert words in line
    assert "--help" in line


def test_interrupts_and_readers_that_go(monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(self: MXNetModel, values: Any) -> Any:
        raise KeyboardInterrupt
    monkeypatch.setattr(MXNetModel, "run", interrupted)
    assert main.main(["check", "mlp"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_progress_is_shown_on_terminals_alone(monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    assert list(output.progress(range(3), "things", 3)) == [0, 1, 2]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert list(output.progress(range(3), "things", 3)) == [0, 1, 2]
    assert "things [####" in capsys.readouterr().err
    with output.busy("thinking"):
        pass
    assert capsys.readouterr().err == "\rthinking ...\r\x1b[K"


def test_json_has_no_numbers_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_json({"a": [1.5, float("nan"), (float("-inf"),)]})
    found = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(word))
    assert found == {"a": [1.5, "nan", ["-inf"]]}


def test_a_picture_without_an_axis_of_samples(capsys: pytest.CaptureFixture[str]) -> None:
    picture("a.png", 4, 5)
    x = mx.sym.Variable("data", shape=(3, 4, 5))
    mx.sym.sum(x, axis=(1, 2), name="sum").save("one-symbol.json")
    mx.nd.save("one-0000.params", {"arg:unused": mx.nd.ones((1,))})
    assert told(capsys, "run", "one", "--input", "a.png")["outputs"][0]["shape"] == [3]
    assert "takes one picture" in refused(capsys, "run", "one", "--input", "a.png", "--input",
                                          "a.png")


@pytest.mark.parametrize(("nbytes", "shown"), [(5, "5 bytes"), (1536, "1.5 KiB"),
                                               (3 << 20, "3.0 MiB"), (5 << 30, "5.0 GiB")])
def test_sizes(nbytes: int, shown: str) -> None:
    assert output.size_text(nbytes) == shown
