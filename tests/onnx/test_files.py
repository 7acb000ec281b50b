"""Wrong files, wrong inputs, and what can not run: each ends in an error that says where."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx.helper
import onnx.numpy_helper
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import (
    InputMismatch,
    ModelFormatError,
    MXNetError,
    NameMismatch,
    ParameterError,
    ShapeError,
    TypeMismatch,
    Unsupported,
)
from ndarray_rt.onnx import load

from .helpers import loaded, model_of

PLAIN = "g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }"


def with_weight(array: Any = None) -> Any:
    """y = x + w, w an initialiser."""
    proto = model_of("g (float[N,2] x, float[2] w) => (float[N,2] y) { y = Add(x, w) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(
        np.array([1, 2], np.float32) if array is None else array, "w"))
    return proto


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"no model", bytes(range(256))])
def test_what_is_no_model(data: bytes) -> None:
    with pytest.raises(ModelFormatError):
        load(data)


def test_every_truncation() -> None:
    """A file that ends early is refused, or is a smaller model."""
    data = with_weight().SerializeToString()
    for end in range(len(data)):
        with suppress(ModelFormatError, Unsupported):
            load(data[:end])


def test_what_is_no_source() -> None:
    with pytest.raises(TypeMismatch, match="a path, bytes or a ModelProto"):
        load(3)
    with pytest.raises(FileNotFoundError):
        load("/nowhere/model.onnx")
    with pytest.raises(ParameterError, match="max_bytes"):
        load(model_of(PLAIN), max_bytes=-1)


@pytest.mark.parametrize(("change", "reason"), [
    (lambda w: w.dims.__setitem__(0, -1), "none below 0"),
    (lambda w: w.dims.__setitem__(0, 1 << 40), "holds 8 bytes, expected"),
    (lambda w: setattr(w, "raw_data", b"123"), "holds 3 bytes, expected 8"),
    (lambda w: setattr(w, "data_type", 99), "unknown data type 99"),
    (lambda w: w.dims.extend([1] * 70), "at most 64"),
    (lambda w: w.dims.extend([1 << 62, 1 << 62, 0]), "no array can have"),
])
def test_tensors_that_are_none(change: Any, reason: str) -> None:
    proto = with_weight()
    change(proto.graph.initializer[0])
    with pytest.raises(ModelFormatError, match=reason) as error:
        load(proto)
    assert "'w'" in error.value.place


def test_cycles_doubles_and_gaps() -> None:
    proto = model_of("g (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }")
    proto.graph.node[0].input[0] = "y"
    with pytest.raises(ModelFormatError, match="cycle"):
        load(proto)
    proto.graph.node[0].input[0] = "nothing"
    with pytest.raises(ModelFormatError, match="computed nowhere"):
        load(proto)
    proto.graph.node[0].input[0] = "x"
    proto.graph.node[1].output[0] = "a"
    with pytest.raises(ModelFormatError, match="computed twice"):
        load(proto)


def test_a_function_may_have_outputs_that_nothing_computes_and_nobody_asks_for() -> None:
    model = load(model_of("""g (float[2] x) => (float[2] y) { y = local.f(x) }
        <domain: "local", opset_import: ["" : 17, "local" : 1]>
        f (a) => (b, c) { b = Neg(a) }"""))
    assert model(np.ones(2, np.float32))[0].tolist() == [-1, -1]


def test_outputs_that_nothing_computes() -> None:
    text = """g (float[2] x) => (float[2] y) { y = local.f(x) }
        <domain: "local", opset_import: ["" : 17, "local" : 1]> f (a) => (b) { b = Relu(a) }"""
    for name in ("", "nowhere"):
        proto = model_of(text)
        proto.functions[0].output[0] = name
        with pytest.raises(ModelFormatError, match=r"computed nowhere in the function"):
            load(proto)(np.ones(2, np.float32))
        proto = model_of(text)
        proto.graph.output[0].name = name
        with pytest.raises(ModelFormatError, match="computed nowhere"):
            load(proto)


@pytest.mark.parametrize("text", [
    "y, z = Relu(x)", "y, z = local.f(x)", "y, z, w = Split<num_outputs = 2>(x)",
    "y, i, k = TopK(x, one) one = Constant<value_ints = [1]>()",
    "y, i, k = TopK(one, one) one = Constant<value_ints = [1]>()",
])
def test_outputs_that_an_operator_has_not(text: str) -> None:
    names = text.partition(" =")[0].split(", ")
    model = load(model_of(f"g (float[2] x) => ({', '.join(f'float {n}' for n in names)}) {{ {text}"
                          ' } <domain: "local", opset_import: ["" : 18, "local" : 1]> f (a) => (b)'
                          " { b = Relu(a) }", 18))
    with pytest.raises((ModelFormatError, ShapeError), match="outputs"):
        model(np.ones(2, np.float32))


@pytest.mark.parametrize(("text", "reason"), [
    ('y = Mul(t, n) t = Constant<value_string = "ab">() n = Constant<value_int = 9999999>()',
     "input 0 is text, expected numbers"),
    ('y = RegexFullMatch<pattern = "[\\\\l]">(t) t = Constant<value_string = "ab">()', "pattern"),
])
def test_text_and_numbers_are_not_mixed(text: str, reason: str) -> None:
    with pytest.raises(ModelFormatError, match=reason):
        load(model_of(f"g (float[2] x) => (float y) {{ {text} }}", 20))(np.ones(2, np.float32))
    with pytest.raises(InputMismatch, match="input 0 is float32, expected text"):
        loaded("g (float[2] x) => (float y) { y = StringSplit(x) }", 20)(np.ones(2, np.float32))


def test_nodes_in_another_order() -> None:
    proto = model_of("g (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }")
    proto.graph.node.reverse()
    np.testing.assert_array_equal(load(proto)(np.array([1, -1], np.float32))[0], [-1, 0])


def test_deep_nesting_ends() -> None:
    """A function that calls itself."""
    proto = model_of("""g (float[2] x) => (float[2] y) { y = local.f(x) }
        <domain: "local", opset_import: ["" : 17, "local" : 1]> f (a) => (b) { b = Relu(a) }""")
    node = proto.functions[0].node[0]
    node.op_type, node.domain = "f", "local"
    with pytest.raises(ModelFormatError, match="nested"):
        load(proto)(np.zeros(2, np.float32))


# ---- external data ------------------------------------------------------------------------------


def save_with_data(folder: Path) -> Path:
    path = folder / "model.onnx"
    onnx.save(with_weight(), os.fspath(path), save_as_external_data=True, location="weights.bin",
              size_threshold=0)
    return path


def test_external_data(tmp_path: Path) -> None:
    model = load(save_with_data(tmp_path))
    np.testing.assert_array_equal(model(np.zeros((1, 2), np.float32))[0], [[1, 2]])


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/passwd", "", "a/../../weights.bin",
                                      "link.bin", "sub/weights.bin", "folder"])
def test_external_data_elsewhere(tmp_path: Path, location: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    path = save_with_data(inner)
    (tmp_path / "weights.bin").write_bytes((inner / "weights.bin").read_bytes())
    (inner / "link.bin").symlink_to(tmp_path / "weights.bin")
    (inner / "sub").symlink_to(tmp_path)
    (inner / "folder").mkdir()
    proto = onnx.load(os.fspath(path), load_external_data=False)
    proto.graph.initializer[0].external_data[0].value = location
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(ModelFormatError, match="external data"):
        load(path)


def test_external_data_beyond_the_file(tmp_path: Path) -> None:
    path = save_with_data(tmp_path)
    proto = onnx.load(os.fspath(path), load_external_data=False)
    for key, value, words in (
            ("offset", "4", "tensor has its external data from byte 4 to byte 12 of a file that"),
            ("length", "4", "tensor has 4 bytes of external data, expected 8"),
            ("offset", "-8", "tensor has external data with the offset '-8', expected digits"),
            ("offset", "x", "offset 'x', expected digits"),
            ("offset", "+0", "expected digits"), ("offset", " 0", "expected digits"),
            ("offset", "0_0", "expected digits"), ("offset", "9" * 5000, "expected digits"),
            ("length", "\N{FULLWIDTH DIGIT EIGHT}", "expected digits")):
        changed = onnx.ModelProto()
        changed.CopyFrom(proto)
        entries = changed.graph.initializer[0].external_data
        found = [entry for entry in entries if entry.key == key] or [entries.add(key=key)]
        found[0].value = value
        path.write_bytes(changed.SerializeToString())
        with pytest.raises(ModelFormatError, match=re.escape(words)):
            load(path)
    with pytest.raises(ModelFormatError, match="can not have"):
        load(proto.SerializeToString())


# ---- tensors that are only described ------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "s = Constant<value_ints = [1000000, 1000000]>() y = ConstantOfShape(s) ",
    "s = Constant<value_ints = [1000000, 1000000, 2]>() y = Expand(x, s) ",
    "s = Constant<value_ints = [1000000, 1000000]>() y = Tile(x, s) ",
    "s = Constant<value_ints = [1000000, 1000000, 1000000, 1000000]>() y = Pad(x, s) ",
    "z = Constant<value_ints = [0]>() e = ConstantOfShape(z)"
    " s = Constant<value_floats = [1000000.0, 1000000.0]>() y = Resize(x, e, s) ",
    "a = Constant<value_float = 0.0>() b = Constant<value_float = 1e12>()"
    " c = Constant<value_float = 1.0>() r = Range(a, b, c) y = Slice(r, i, i) ",
])
def test_huge_tensors(text: str) -> None:
    model = load(model_of(f"g (float[1,2] x) => (float y) {{ i = Constant<value_ints = [1]>() "
                          f"{text} }}"), max_bytes=1 << 20)
    from_file = "Range" in text or "ConstantOfShape(s)" in text
    with pytest.raises(ModelFormatError if from_file else InputMismatch, match="max_bytes"):
        model(np.zeros((1, 2), np.float32))


# ---- what can not run ---------------------------------------------------------------------------


def test_all_unsupported_nodes_are_listed() -> None:
    with pytest.raises(Unsupported) as error:
        loaded('g (float[2] x) => (float[2] y) { a = Relu(x) b = other.Thing(a) '
               'c = Nonsense(b) y = Neg(c) }')
    text = str(error.value)
    assert "2 node(s)" in text
    assert "other.Thing" in text
    assert "Nonsense" in text
    assert "operator set 17" in text
    assert "Relu" not in text


def test_newer_operator_sets() -> None:
    """Definitions that did not change are taken, others are refused by name."""
    newest = onnx.defs.onnx_opset_version()
    assert load(model_of(PLAIN, opset=newest))(np.array([[1, -1]], np.float32))[0].tolist() == [
        [1, 0]]
    with pytest.raises(Unsupported, match=f"operator set {newest + 1} is newer than"):
        load(model_of(PLAIN, opset=newest + 1))


# ---- inputs -------------------------------------------------------------------------------------


def test_inputs_that_do_not_fit() -> None:
    model = loaded(PLAIN)
    with pytest.raises(NameMismatch, match="'x' is missing"):
        model()
    with pytest.raises(NameMismatch, match="no input 'z'"):
        model(x=np.zeros((1, 2), np.float32), z=1)
    with pytest.raises(NameMismatch, match="takes 1 input"):
        model(np.zeros((1, 2), np.float32), 1)
    with pytest.raises(TypeMismatch, match="float64, expected float32"):
        model(np.zeros((1, 2)))
    with pytest.raises(ShapeError, match=r"expected \(N, 2\)"):
        model(np.zeros((1, 3), np.float32))
    with pytest.raises(ShapeError, match=r"has shape \(2,\)"):
        model(np.zeros(2, np.float32))


def test_shapes_that_do_not_go_together() -> None:
    model = loaded("g (float[N] x) => (float[N] y) { c = Constant<value_floats = [1.0, 2.0]>()"
                   " y = Add(x, c) }")
    with pytest.raises(InputMismatch, match=r"Add .*given: x \(3,\)") as error:
        model(np.zeros(3, np.float32))
    assert error.value.inputs == {"x": "(3,)"}
    np.testing.assert_array_equal(model(np.zeros(2, np.float32))[0], [1, 2])


# ---- paths --------------------------------------------------------------------------------------


def test_paths_that_can_not_be_opened(tmp_path: Path) -> None:
    """As docs/files.md says it."""
    for name, expected in (("none", FileNotFoundError), (".", IsADirectoryError),
                           ("a\0b", ValueError)):
        with pytest.raises(expected):
            load(tmp_path / name)
        for read in (mx.nd.load, mx.sym.load):
            with pytest.raises(MXNetError, match=re.escape(os.fspath(tmp_path))):
                read(os.fspath(tmp_path / name))
