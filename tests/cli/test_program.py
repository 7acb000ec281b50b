"""The command line as a process: its streams, its exit code, errors before it has begun."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.cli import main
from ndarray_rt.program import FAILED

PROGRAM = (sys.executable, "-m", "ndarray_rt")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a network of one layer, "mlp"."""
    monkeypatch.chdir(tmp_path)
    layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    mx.model.save_checkpoint("mlp", 0, layer, {"fc_weight": mx.nd.ones((3, 2)),
                                               "fc_bias": mx.nd.ones((3,))}, {})


def started(*argv: str, **options: Any) -> subprocess.CompletedProcess[str]:
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(argv, stderr=subprocess.PIPE, text=True, check=False, timeout=100,
                          **options)


def one_line(made: subprocess.CompletedProcess[str]) -> str:
    """The line of an error; before it there may be what was chosen for an input."""
    assert made.returncode == FAILED
    assert not made.stdout
    *notes, line = made.stderr.splitlines()
    assert all(note.startswith("input 'data': ") for note in notes)
    assert line.startswith("ndarray-rt: ")
    return line


def test_as_a_program() -> None:
    made = started(*PROGRAM, "info", "mlp", "--json")
    assert made.returncode == 0
    assert json.loads(made.stdout)["kind"] == "MXNet"
    assert "expected an .onnx file" in one_line(started(*PROGRAM, "info", "none"))
    assert started(*PROGRAM, "--version").stdout == f"ndarray-rt {mx.__version__}\n"


@pytest.mark.parametrize("form", [["-m", "ndarray_rt"], ["-Bmndarray_rt"], ["ndarray-rt"]])
def test_a_bad_switch_of_the_environment(form: list[str]) -> None:
    """The import of the package ends then, before a command could catch it."""
    Path("ndarray-rt").write_text("from ndarray_rt.cli.main import main\n"
                                  "raise SystemExit(main())\n")
    made = started(sys.executable, *form, "info", "mlp",
                   env={**os.environ, "NDRT_NUM_THREADS": "abc"})
    assert "NDRT_NUM_THREADS='abc'" in one_line(made)


def test_a_bad_switch_is_an_exception_for_programs() -> None:
    made = started(sys.executable, "-c", "try: import ndarray_rt\n"
                   "except ValueError as error: print(error)",
                   env={**os.environ, "NDRT_NUM_THREADS": "abc"})
    assert made.stdout.startswith("NDRT_NUM_THREADS='abc'")
    assert made.stderr == ""


def test_closed_streams() -> None:
    shell = f"exec '{sys.executable}' -m ndarray_rt"
    assert "the standard output is closed" in one_line(
        started("sh", "-c", f"{shell} info mlp >&-"))
    made = started("sh", "-c", f"{shell} check mlp --json 2>&-")
    assert made.returncode == 0
    assert json.loads(made.stdout)["equal"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_an_output_that_takes_no_more() -> None:
    with open("/dev/full", "wb") as full:
        assert "No space left" in one_line(started(*PROGRAM, "info", "mlp", stdout=full))


# ---- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [
    ["info", "p.onnx"], ["info", "p-symbol.json"], ["info", "mlp", "--params", "p.params"],
    ["run", "mlp", "--input", "p.npy"], ["run", "mlp", "--input", "p.png"],
    ["tune", "mlp", "--output", "p.json"], ["convert", "p.params", "a.npz"],
    ["convert", "p.onnx", "a.npz"], ["convert", "p.onnx", "a-symbol.json"],
    ["convert", "mlp-0000.params", "a.onnx", "--model", "p.onnx"]], ids=" ".join)
def test_pipes_are_refused(argv: list[str]) -> None:
    """Whoever opens one waits until somebody writes."""
    pytest.importorskip("onnx")
    if argv[-1] == "p.png":
        mx.sym.sum(mx.sym.Variable("data", shape=(1, 3, 4, 4))).save("mlp-symbol.json")
    for word in argv:
        if word.startswith("p"):
            os.mkfifo(word)
    if "p-symbol.json" in argv:
        Path("p-0000.params").write_bytes(b"")
    line = one_line(started(*PROGRAM, *argv))
    assert line.endswith("is a pipe or a device, expected a regular file")


@pytest.mark.parametrize("argv", [
    ["explain", "mlp", "--html", "none/x.html"], ["tune", "mlp", "--output", "none/x.json"],
    ["run", "mlp", "--output", "none/x.npy"], ["run", "mlp", "--output", "none/x.npz"],
    ["convert", "mlp-0000.params", "none/x.npz"]], ids=" ".join)
def test_files_that_can_not_be_written(argv: list[str],
                                       capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(argv) == FAILED
    line = capsys.readouterr().err.splitlines()[-1]
    assert line == f"ndarray-rt: writing {argv[-1]!r}: No such file or directory"


# ---- shapes that no array can have -------------------------------------------------------------


@pytest.mark.parametrize("shape", ["1,3,1000000000,1000000000", "1" + ",1" * 70,
                                   "99999999999999999999,2", "1,1000000000000000"])
@pytest.mark.parametrize("command", ["info", "run", "bench"])
def test_shapes_that_are_too_large(command: str, shape: str,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([command, "mlp", "--shape", shape]) == FAILED
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("ndarray-rt: input 'data': no array of shape (")


def test_a_file_with_a_shape_that_is_too_large(capsys: pytest.CaptureFixture[str]) -> None:
    """It has much to tell all the same."""
    x = mx.sym.Variable("data", shape=(1 << 30, 1 << 30), dtype=np.float32)
    mx.sym.relu(x).save("mlp-symbol.json")
    assert main.main(["info", "mlp", "--json"]) == 0
    assert "no array of shape" in json.loads(capsys.readouterr().out)["why_not"]
