"""Rows of ONNX files: what names them, what is drawn for them, and one comparison; no time is
judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from benchmarks import __main__ as command
from benchmarks.onnx_files import NETWORKS, NINE, OnnxFile, inputs_path, parse, read_inputs
from benchmarks.prepare_onnx import Open, draw_inputs, prepare
from benchmarks.runner import OURS
from benchmarks.serve import in_one


def write_model(path: Path, *shapes: tuple[str, list[Any]]) -> Path:
    """The sum of its inputs."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
              for name, shape in shapes]
    output = helper.make_tensor_value_info("sum", TensorProto.FLOAT, None)
    node = helper.make_node("Sum", [name for name, _ in shapes], ["sum"])
    onnx.save(helper.make_model(helper.make_graph([node], "g", inputs, [output]),
                                opset_imports=[helper.make_opsetid("", 13)], ir_version=9), path)
    return path


def test_words(tmp_path: Path) -> None:
    assert [file.name for file in parse("light")] == [f"light-{name}" for name in NINE]
    assert len(parse("zoo")) == len(NETWORKS)
    assert parse("zoo:vgg11")[0].path(tmp_path) == tmp_path / "zoo-vgg11.onnx"
    path = write_model(tmp_path / "a.onnx", ("x", [1]))
    write_model(tmp_path / "b.onnx", ("x", [1]))
    assert [file.name for file in parse(str(tmp_path))] == ["a", "b"]
    (file,) = parse(f"{path}@width=320,x=1x3")
    assert (file.path(tmp_path), file.name) == (path.resolve(), "a-320-1x3")
    assert file.dims() == [("width", (320,)), ("x", (1, 3))]
    assert parse(file.word) == [file]


@pytest.mark.parametrize("word", ["light:none", "zoo:none", "none.onnx", "zoo:vgg11@x", "light@x=0",
                                  "light@x=axb", "light@x=5..2", "light@x=a..2", "light@=1..2"])
def test_words_that_name_nothing(word: str) -> None:
    with pytest.raises(ValueError, match=r"none|neither|is not INPUT=LEAST"):
        parse(word)
    with pytest.raises(SystemExit):
        command.read_options(["--onnx", word])


def test_networks_are_those_of_the_zoo() -> None:
    import ndarray_rt as mx

    vision = mx.gluon.model_zoo.vision
    assert all(callable(getattr(vision, name)) for name in NETWORKS)


def test_inputs_have_the_given_sizes(tmp_path: Path) -> None:
    path = write_model(tmp_path / "a.onnx", ("x", ["n", 2, "w"]), ("y", ["n", 1, "?"]),
                       ("z", ["?", 2, 1]))
    inputs, dims = draw_inputs(onnx.load(path), 3, {"w": (5,), "?": (1,)})
    assert {name: value.shape for name, value in inputs.items()} == {
        "x": (3, 2, 5), "y": (3, 1, 1), "z": (1, 2, 1)}
    assert dims == {"n": 3, "w": 5, "?": 1}
    inputs, dims = draw_inputs(onnx.load(path), 1, {"y": (3, 1, 5), "x": (3, 2, 5)})
    assert inputs["x"].shape == (3, 2, 5)
    assert dims == {"n": 3, "w": 5, "?": 5}
    with pytest.raises(Open, match="dimension 2 of 'x' is open: give w=SIZE or x=SIZExSIZE"):
        draw_inputs(onnx.load(path), 1, {})


def test_whole_numbers_come_from_their_range() -> None:
    tokens = helper.make_tensor_value_info("tokens", TensorProto.INT32, ["n", 500])
    model = helper.make_model(helper.make_graph(
        [helper.make_node("Identity", ["tokens"], ["same"])], "g", [tokens],
        [helper.make_tensor_value_info("same", TensorProto.INT32, None)]))
    file = OnnxFile("a.onnx", "tokens=3..5")
    assert file.dims() == []
    drawn = draw_inputs(model, 2, {}, file.ranges())[0]["tokens"]
    assert drawn.dtype == np.int32
    assert (drawn.min(), drawn.max()) == (3, 5)
    assert set(np.unique(draw_inputs(model, 2, {})[0]["tokens"])) == {0, 1}


def test_what_a_model_does_not_have_is_refused(tmp_path: Path) -> None:
    model = onnx.load(write_model(tmp_path / "a.onnx", ("x", ["n", 2])))
    with pytest.raises(Open, match=r"has no 'tokens'; it has \['n', 'x'\]"):
        draw_inputs(model, 2, {}, {"tokens": (0, 256)})
    with pytest.raises(Open, match="has no 'width'"):
        draw_inputs(model, 2, {"width": (3,)})


def test_a_name_of_several_sizes_is_left_out(tmp_path: Path) -> None:
    path = write_model(tmp_path / "a.onnx", ("x", ["?", "?"]))
    assert draw_inputs(onnx.load(path), 1, {"x": (4, 3)})[1] == {}


def test_inputs_come_back_from_their_file(tmp_path: Path) -> None:
    path = write_model(tmp_path / "a.onnx", ("x/0:1", ["n", 2]))
    prepare(tmp_path, 2, OnnxFile(str(path)))
    inputs, dims = read_inputs(inputs_path(tmp_path, "a", 2))
    assert list(inputs) == ["x/0:1"]
    np.testing.assert_array_equal(inputs["x/0:1"], draw_inputs(onnx.load(path), 2, {})[0]["x/0:1"])
    assert dims == {"n": 2}


def test_outputs_in_one() -> None:
    whole, floats = np.arange(3), np.ones((2, 2))
    np.testing.assert_array_equal(in_one([whole, floats]), np.ones(4, np.float32))
    np.testing.assert_array_equal(in_one([whole]), whole)
    assert in_one(floats).shape == (2, 2)


def test_a_row_of_a_file(tmp_path: Path) -> None:
    """Runners that take no files say so, and a file whose inputs are not known is skipped."""
    path = write_model(tmp_path / "a.onnx", ("x", ["n", 2, "w"]), ("y", ["n", 2, "w"]))
    write_model(tmp_path / "open.onnx", ("x", ["n", "w"]))
    status = command.main([
        "--onnx", f"{path}@w=4", str(tmp_path / "open.onnx"), "--batches", "2", "--threads", "1",
        "--rounds", "1", "--seconds", "0.01", "--cpu-time",
        "--runners", OURS, "ours:tuned", "ours:mapped", "--models-folder", str(tmp_path / "models"),
        "--results", str(tmp_path), "--name", "small"])
    assert status == 0
    text = (tmp_path / "small.md").read_text()
    assert text.count("| a-4 | 2 | 1 | ours:") == 2
    assert "- ours:mapped: takes no ONNX files (a-4)" in text
    assert "- all: dimension 1 of 'x' is open: give w=SIZE" in text
    assert "Times are those of the CPU" in text
    assert "numpy 0" in text


def test_cpu_time_is_for_one_thread() -> None:
    with pytest.raises(SystemExit):
        command.read_options(["--cpu-time", "--threads", "1", "2"])
