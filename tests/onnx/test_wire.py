"""Models are read as the package onnx reads them, from bytes and from files, and without it."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx.helper
import onnx.numpy_helper
import pytest

import ndarray_rt as mx
from docs import onnx_index
from ndarray_rt._array.interop import export
from ndarray_rt.errors import ModelFormatError
from ndarray_rt.onnx import index, load
from ndarray_rt.onnx.build import Constants
from ndarray_rt.onnx.graph import Graph, ModelFile
from ndarray_rt.onnx.messages import ModelProto, NodeProto, TensorProto, TypeProto
from ndarray_rt.onnx.opsets import refusal
from ndarray_rt.onnx.reading import read_model
from ndarray_rt.onnx.wire import WrongBytes, read_bytes
from tests.fuzz.mutators import onnx_model
from tests.fuzz.targets import ONNX

from .helpers import model_of

KINDS = [kind for kind in range(1, 23) if kind != onnx.TensorProto.STRING]


def plain(value: Any) -> Any:
    """All that was read, as something that can be compared."""
    if isinstance(value, np.ndarray):
        elements = value.tolist() if value.dtype == object else value.tobytes()
        return value.dtype, value.shape, elements
    if isinstance(value, Graph):
        return (value.name, value.inputs, value.outputs, plain(value.constants),
                plain(value.attributes), [
                    (n.op, n.domain, n.opset, n.name, n.inputs, n.outputs, plain(n.attrs), n.place,
                     n.overload) for n in value.nodes])
    if isinstance(value, ModelFile):
        return (plain(value.graph), value.inputs, value.outputs, value.opsets,
                plain(value.functions), value.metadata, value.overridable)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return "a type" if type(value).__name__ == "TypeProto" else value


def found(source: Any) -> Any:
    try:
        return plain(read_model(source))
    except ModelFormatError as error:
        return error.reason, error.place


def assert_read_alike(data: bytes, folder: Path) -> None:
    """By the package, from bytes and from a file."""
    proto = onnx.ModelProto()
    proto.ParseFromString(data)
    path = folder / "model.onnx"
    path.write_bytes(data)
    expected = found(proto)
    # NaN is not equal to itself
    np.testing.assert_equal(found(data), expected)
    if "is no file" not in str(expected):
        np.testing.assert_equal(found(path), expected)


def with_tensors(**more: Any) -> Any:
    """A model with a tensor of each kind, as raw bytes and as numbers, in initialisers and
    attributes."""
    proto = model_of("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    for kind in KINDS:
        values = [1, 0, 1, 1] if kind == onnx.TensorProto.BOOL else [3, 0, 1, 2]
        for raw in (False, True):
            plain_tensor = onnx.helper.make_tensor(f"{kind}", kind, (2, 2), values)
            name = f"{kind}{raw}"
            if raw:
                plain_tensor = onnx.numpy_helper.from_array(
                    onnx.numpy_helper.to_array(plain_tensor), name)
            plain_tensor.name = name
            proto.graph.initializer.append(plain_tensor)
    strings: list[Any] = [b"a", b"\xff"]
    proto.graph.initializer.append(onnx.helper.make_tensor("s", 8, (2,), strings))
    proto.graph.node.append(onnx.helper.make_node("Constant", [], ["c"], "c", **more))
    return proto


def test_tensors_of_all_kinds(tmp_path: Path) -> None:
    assert_read_alike(with_tensors(
        value=onnx.numpy_helper.from_array(np.arange(6.0).reshape(2, 3)), ints=[1, -1, 1 << 40],
        floats=[0.5, -1e30], strings=["a", "b"], text="x" * 100, number=-7, share=0.25,
    ).SerializeToString(), tmp_path)


def test_numbers_one_by_one_of_all_lengths(tmp_path: Path) -> None:
    """More of them than are read at once."""
    proto = with_tensors(value_int=1)
    rng = np.random.default_rng(1)
    for bits in (7, 31, 63):
        values = rng.integers(-(1 << bits), 1 << bits, 40000, np.int64)
        made = onnx.helper.make_tensor(f"n{bits}", 7, (40000,), values.tolist())
        proto.graph.initializer.append(made)
    values = rng.standard_normal(40000).astype(np.float32)
    proto.graph.initializer.append(onnx.helper.make_tensor("f", 1, (40000,), values.tolist()))
    small = rng.integers(-128, 128, 100000)
    proto.graph.initializer.append(onnx.helper.make_tensor("i", 3, (100000,), small.tolist()))
    assert_read_alike(proto.SerializeToString(), tmp_path)


@pytest.mark.parametrize("text", ONNX)
def test_changed_models(text: str, tmp_path: Path) -> None:
    """What the package can read is read alike: fields taken away, doubled and changed."""
    seed = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> {text}').SerializeToString()
    assert_read_alike(seed, tmp_path)
    for number in range(150):
        assert_read_alike(onnx_model(seed, 1 << 14, number), tmp_path)


def test_what_is_no_message_is_refused_as_by_the_package() -> None:
    seed = with_tensors(value_float=1.0).SerializeToString()
    source = random.Random(0)
    refused = 0
    for _ in range(2000):
        data = bytearray(seed[:source.randrange(1, len(seed) + 1)])
        for _ in range(source.randrange(3)):
            data[source.randrange(len(data))] = source.randrange(256)
        proto = onnx.ModelProto()
        try:
            proto.ParseFromString(bytes(data))
        except Exception:
            refused += 1
            continue
        # messages that are not read here may be wrong, all others are read alike
        read_bytes(ModelProto(), bytes(data))
    assert refused > 100


def test_names_and_tensors_across_pieces_of_a_file(tmp_path: Path) -> None:
    """Whatever lies at the end of what is read at once."""
    for length in (65000, 65400, *range(65480, 65560, 3), 131000):
        proto = model_of("g (float[2] x) => (float[2] y) { z = Relu(x) y = Relu(z) }")
        proto.graph.node[0].name = "n" * length
        for i in range(20):
            proto.graph.initializer.append(onnx.numpy_helper.from_array(
                np.full(i * 700, i, np.float32), f"w{i}"))
        assert_read_alike(proto.SerializeToString(), tmp_path)


def test_parts_of_one_message_are_joined() -> None:
    first = onnx.ModelProto(ir_version=8, graph=onnx.GraphProto(name="a"))
    second = onnx.ModelProto(ir_version=9, graph=onnx.GraphProto(doc_string="b"))
    made: Any = ModelProto()
    read_bytes(made, first.SerializeToString() + second.SerializeToString())
    assert (made.ir_version, made.graph.name, made.graph.doc_string) == (9, "a", "b")


def test_numbers_without_a_length_before_them() -> None:
    """dims as writers of older versions spell them, and packed, mixed."""
    made: Any = TensorProto()
    read_bytes(made, b"\x08\x02\x0a\x02\x03\x04\x08\x05" + b"\x25\x00\x00\x80\x3f"
               + b"\x22\x04\x00\x00\x00\x40")
    assert made.dims == [2, 3, 4, 5]
    assert list(made.float_data) == [1, 2]


def test_the_last_of_alternatives_counts() -> None:
    made: Any = TypeProto()
    read_bytes(made, b"\x0a\x00\x22\x00")
    assert made.WhichOneof("value") == "sequence_type"
    assert not made.HasField("tensor_type")


def test_unknown_fields_and_groups_are_skipped() -> None:
    made: Any = NodeProto()
    group = b"\xa3\x06" + b"\x08\x01\x12\x01a\x1b\x1c\x25\0\0\0\0\x29" + bytes(8) + b"\xa4\x06"
    read_bytes(made, b"\x1a\x01n" + group + b"\xa0\x06\x01\x22\x01o")
    assert (made.name, made.op_type) == ("n", "o")


@pytest.mark.parametrize("data", [
    b"\x0a", b"\x0a\x05a", b"\x08", b"\x08\x80", b"\x08" + b"\xff" * 10 + b"\x01", b"\x00\x01",
    b"\x0f", b"\xa3\x06", b"\xa3\x06\xac\x06", b"\xa4\x06", b"\xa3\x06\x0a\x7f", b"\x25\0\0",
    b"\x3a\x02\x0a\x05", b"\xa3\x06" * 200, b"\xff\xff\xff\xff\x7f\x01",
    b"\x3a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"])
def test_bytes_that_are_no_message(data: bytes) -> None:
    with pytest.raises(WrongBytes):
        read_bytes(ModelProto(), data)
    with pytest.raises(ModelFormatError, match="no ONNX model"):
        load(data)


def test_messages_inside_of_messages_end() -> None:
    data = b""
    for _ in range(40):
        for tag in b"\x32\x2a\x0a":  # a graph of an attribute of a node of a graph
            data = bytes([tag]) + _length(len(data)) + data
    with pytest.raises(ModelFormatError, match="nested"):
        load(b"\x3a" + _length(len(data)) + data)


def _length(number: int) -> bytes:
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def test_names_that_are_no_text_are_told_apart() -> None:
    made: Any = NodeProto()
    read_bytes(made, b"\x0a\x02\xff\xfe\x0a\x01\xfd")
    assert made.input == ["\\xff\\xfe", "\\xfd"]


def test_a_file_that_becomes_shorter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two reads."""
    proto = with_tensors(value_float=1.0)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(1 << 16), "w"))
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    from ndarray_rt.onnx.wire import FileBytes
    read = FileBytes.read_into

    def shorten(self: FileBytes, target: Any) -> None:
        path.write_bytes(b"")
        read(self, target)
    monkeypatch.setattr(FileBytes, "read_into", shorten)
    with pytest.raises(ModelFormatError, match="became shorter"):
        read_model(path)


def test_files_are_read_without_the_package(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of("g (float[2] x) => (float[2] y) { y = Relu(x) }").SerializeToString())
    program = ("import sys; sys.modules['onnx'] = None\n"
               "import numpy as np, ndarray_rt as mx\n"
               f"print(mx.onnx.load({str(path)!r})(np.array([1, -1], np.float32))[0])\n"
               "print([name for name in sys.modules if name.startswith('google.')])")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True)
    assert done.stdout == "[1. 0.]\n[]\n"


def test_weights_are_read_once(tmp_path: Path) -> None:
    """The array of a plan lies on the memory that the file was read into; bytes are copied."""
    proto = model_of("g (float[2,64] x, float[64,32] w) => (float[2,32] y) { y = MatMul(x, w) }")
    w = np.arange(2048, dtype=np.float32).reshape(64, 32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    for source in (path, path.read_bytes()):
        constants = Constants()
        read = read_model(source).graph.constants["w"]
        bound = constants.bound(constants.name(read, "w"), mx.cpu())
        np.testing.assert_array_equal(bound.asnumpy(), w)
        assert np.shares_memory(export(bound), read) == (source is path)


def test_equal_small_constants_are_one() -> None:
    constants = Constants()
    a, b = np.ones(3, np.float32), np.zeros(3, np.float32)
    names = [constants.name(array, "c") for array in (
        a, b, a.copy(), -b, b.copy(), a.astype(int), a.reshape(1, 3))]
    assert names == ["c", "c_", "c", "c__", "c_", "c___", "c____"]
    large = np.ones(1 << 15, np.float32)
    assert constants.name(large, "l") == constants.name(large, "l")
    assert constants.name(large.copy(), "l") != constants.name(large, "l")


# ---- the index ----------------------------------------------------------------------------------


def test_the_index_is_what_modules_register() -> None:
    """What is not in the index is not found; `make docs` writes it."""
    program = "from docs.onnx_index import families; print(families())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True, cwd=Path(onnx_index.__file__).parent.parent)
    expected = {module: names.split() for module, names in index.FAMILIES.items()}
    assert done.stdout.strip() == str(expected), "make docs"


def test_the_index_has_the_definitions_of_the_package() -> None:
    for name, numbers in onnx_index.versions(onnx).items():
        known = [n for n in numbers if int(n.rstrip("f")) <= index.NEWEST]
        assert index.VERSIONS.get(name, "").split()[:len(known)] == known or not known, name


def test_refusals_are_those_of_the_schemas() -> None:
    for name in index.VERSIONS:
        for opset in range(1, onnx.defs.onnx_opset_version() + 1):
            try:
                since = onnx.defs.get_schema(name, opset, "").since_version
            except onnx.defs.SchemaError:
                assert "no such operator" in str(refusal("", name, opset)), (name, opset)
                continue
            reason = refusal("", name, opset)
            assert (reason is not None and "changed in operator set" in reason) == (
                since > 26 or (opset < 6 and onnx.defs.get_schema(
                    name, 6, "").since_version != since)), (name, opset, reason)
