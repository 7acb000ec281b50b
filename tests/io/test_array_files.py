"""Arrays in .npz files and files of safetensors: both ways, found by content, damaged ones."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import ndarray_rt as mx
from ndarray_rt.errors import ModelFormatError, MXNetError
from ndarray_rt.io import array_file, npz_file, safetensors_file

DTYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"]
Values = np.ndarray[Any, Any]


def of_each_dtype() -> dict[str, Values]:
    made: dict[str, Values] = {name: np.array([[0, 1, 2], [3, 0, 1]]).astype(name)
                               for name in DTYPES}
    return {**made, "ü/none": np.zeros((0, 3), np.float32), "number": np.array(2.5, np.float32),
            "large": np.arange(1 << 16, dtype=np.float32).reshape(4, -1)}


def arrays(values: dict[str, Values]) -> dict[str, Any]:
    with mx.np_shape():
        return {name: mx.nd.array(value, dtype=value.dtype) for name, value in values.items()}


def assert_same(found: Any, values: dict[str, Values]) -> None:
    assert set(found) == set(values)
    for name, value in values.items():
        assert found[name].dtype == value.dtype
        assert found[name].shape == value.shape
        read = found[name]
        np.testing.assert_array_equal(read if isinstance(read, np.ndarray) else read.asnumpy(),
                                      value)


# ---- npz ---------------------------------------------------------------------------------------


def test_npz_both_ways(tmp_path: Path) -> None:
    values = of_each_dtype()
    path = tmp_path / "a.npz"
    mx.nd.save_npz(str(path), arrays(values))
    with np.load(path, allow_pickle=False) as read:
        assert_same(read, values)
    assert_same(mx.nd.load(str(path)), values)
    parts: dict[str, Any] = values
    np.savez(path, **parts)
    assert_same(mx.nd.load(str(path)), values)
    np.savez_compressed(path, **parts)
    assert_same(mx.nd.load(str(path)), values)


def test_npz_without_names(tmp_path: Path) -> None:
    path = str(tmp_path / "a.npz")
    mx.nd.save_npz(path, [mx.nd.ones((2,)), mx.nd.zeros((3,))])
    assert {name: x.shape for name, x in mx.nd.load(path).items()} == {"arr_0": (2,),
                                                                       "arr_1": (3,)}


def test_npz_in_columns_and_of_other_byte_order(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.savez(path, columns=np.asfortranarray(values), big=values.astype(">f4"))
    assert_same(mx.nd.load(str(path)), {"columns": values, "big": values})


def test_arrays_that_were_read_can_be_computed_with(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).normal(size=(16, 3, 3, 3)).astype(np.float32)
    x = mx.nd.array(np.random.default_rng(1).normal(size=(1, 3, 8, 8)))
    wanted = mx.nd.Convolution(x, mx.nd.array(weight), kernel=(3, 3), num_filter=16, no_bias=True)
    np.savez(tmp_path / "a.npz", w=weight)
    save_file({"w": weight}, tmp_path / "a.safetensors")
    for name in ("a.npz", "a.safetensors"):
        found = mx.nd.load(str(tmp_path / name))["w"]
        made = mx.nd.Convolution(x, found, kernel=(3, 3), num_filter=16, no_bias=True)
        np.testing.assert_array_equal(made.asnumpy(), wanted.asnumpy())
        found += 1
        np.testing.assert_array_equal(found.asnumpy(), weight + 1)


def member(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode("latin-1") + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


def zipped(name: str, content: bytes, **how: Any) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **how) as made:
        made.writestr(name, content)
    return file.getvalue()


def described(descr: str = "'<f4'", shape: str = "(2,)") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"


BAD_NPZ = {
    "huge": (member(described(shape="(1000000000000,)")), "needs 4000000000000 bytes"),
    "overflow": (member(described(shape="(1 << 62,)")), "member 'x.npy'"),
    "negative": (member(described(shape="(-2,)"), bytes(8)), "dimensions from 0 up"),
    "nothing, far away": (member(described(shape=str((0, 1 << 62)))), "no array can have"),
    "rank": (member(described(shape="(1,) * 13"), bytes(8)), "member 'x.npy'"),
    "rank 13": (member(described(shape=str((1,) * 13)), bytes(4)), "at most 12 dimensions"),
    "short": (member(described(), bytes(4)), "needs 8 bytes, there are 4"),
    "long": (member(described(), bytes(12)), "needs 8 bytes, there are 12"),
    "objects": (member(described("'|O'"), bytes(16)), "pickled objects"),
    "dtype": (member(described("'<u2'"), bytes(4)), "dtype uint16 is none of"),
    "fields": (member(described("[('a', '<f4')]"), bytes(8)), "is none of"),
    "no header": (b"\x93NUMPY\x01\x00\xff\xff{", "member 'x.npy'"),
    "no magic": (b"hello", "member 'x.npy'"),
    "version": (member(described(), bytes(8), b"\x09\x00"), "version"),
    "call": (member("__import__('os').abort()"), "member 'x.npy'"),
    "long header": (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{", "its header has 2147483647 bytes"),
    "open tuple": (member("{'shape': (2L,"), "member 'x.npy'"),
    "empty": (b"", "member 'x.npy'"),
}


@pytest.mark.parametrize("which", BAD_NPZ)
def test_bad_npz(which: str, tmp_path: Path) -> None:
    content, words = BAD_NPZ[which]
    (tmp_path / "bad.npz").write_bytes(zipped("x.npy", content))
    with pytest.raises(ModelFormatError, match=rf"npz file .*bad\.npz': .*{words}"):
        mx.nd.load(str(tmp_path / "bad.npz"))


def test_npz_with_other_members(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(zipped("x.txt", b"hello"))
    with pytest.raises(ModelFormatError, match=r"does not end in \.npy"):
        mx.nd.load(str(path))
    content = member(described(), bytes(8))
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("x.npy", content)
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("x.npy", content)
    with pytest.raises(ModelFormatError, match="two of this name"):
        mx.nd.load(str(path))


def test_npz_that_unfolds_to_much_more(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(zipped("x.npy", member(described("'|u1'", "(100000000,)"), bytes(100_000_000)),
                            compression=zipfile.ZIP_DEFLATED))
    with pytest.raises(ModelFormatError, match=r"unfolds to 1000000.. bytes"):
        mx.nd.load(str(path))


@given(st.integers(0, 500), st.integers(0, 255))
def test_a_changed_byte_of_npz_never_does_more_than_raise(place: int, byte: int) -> None:
    changed = bytearray(zipped("x.npy", member(described(), bytes(8))))
    changed[place % len(changed)] = byte
    with suppress(ModelFormatError):
        npz_file._read(io.BytesIO(changed), len(changed), "bytes")


# ---- safetensors -------------------------------------------------------------------------------


def test_safetensors_both_ways(tmp_path: Path) -> None:
    values = of_each_dtype()
    path = tmp_path / "a.safetensors"
    mx.nd.save_safetensors(str(path), arrays(values), metadata={"made": "here"})
    assert_same(load_file(path), values)
    assert_same(mx.nd.load(str(path)), values)
    assert safetensors_file.load_metadata(path) == {"made": "here"}
    save_file(values, path)
    assert_same(mx.nd.load(str(path)), values)
    mx.nd.save_safetensors(str(path), {})
    assert mx.nd.load(str(path)) == {}


def test_safetensors_of_bfloat16(tmp_path: Path) -> None:
    x = mx.nd.array([1.5, -2, 3e38]).astype("bfloat16")
    path = str(tmp_path / "a.safetensors")
    mx.nd.save_safetensors(path, {"x": x})
    found = mx.nd.load(path)["x"]
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found.astype("float32").asnumpy(),
                                  x.astype("float32").asnumpy())
    with pytest.raises(TypeError, match="bfloat16"):
        mx.nd.save_npz(path, {"x": x})


@pytest.mark.parametrize("data", [3, [1], {"a": 2}, {3: 4}])
def test_only_arrays_are_saved(data: Any, tmp_path: Path) -> None:
    for save in (mx.nd.save_npz, mx.nd.save_safetensors):
        with pytest.raises(TypeError):
            save(str(tmp_path / "x"), data)
    with pytest.raises(TypeError, match="names"):
        mx.nd.save_safetensors(str(tmp_path / "x"), [mx.nd.ones((2,))])
    with pytest.raises(ValueError, match="__metadata__"):
        mx.nd.save_safetensors(str(tmp_path / "x"), {"__metadata__": mx.nd.ones((2,))})
    assert not list(tmp_path.iterdir())


def tensors(data: bytes = bytes(8), **changes: Any) -> bytes:
    entry: dict[str, Any] = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    entry.update(changes)
    return of_header({"x": {key: v for key, v in entry.items() if v is not None}}, data)


def of_header(header: Any, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


BAD_TENSORS = {
    "long header": (struct.pack("<Q", 1 << 62) + b"{", "a header of 4611686018427387904 bytes"),
    "no JSON": (struct.pack("<Q", 2) + b"{x", "no JSON"),
    "no text": (struct.pack("<Q", 3) + b"{\xff}", "no text"),
    "entry": (of_header({"x": 3}), "expected dtype, shape"),
    "no shape": (tensors(shape=None), "expected dtype, shape"),
    "huge": (tensors(shape=[1 << 40, 1 << 20]), "needs"),
    "overflow": (tensors(shape=[1 << 61, 8]), "needs"),
    "more than 64 bits": (tensors(shape=[1 << 70]), "numbers from 0 up"),
    "negative": (tensors(shape=[-2]), "numbers from 0 up"),
    "nothing, far away": (of_header({"x": {"dtype": "F32", "shape": [0, 1 << 40, 1 << 40],
                                           "data_offsets": [0, 0]}}), "no array can have"),
    "bool": (tensors(shape=[True]), "numbers from 0 up"),
    "rank": (tensors(shape=[1] * 13), "at most 12 numbers"),
    "backwards": (tensors(data_offsets=[8, 0]), "data_offsets"),
    "beyond": (tensors(data_offsets=[8, 16]), "data_offsets"),
    "dtype": (tensors(dtype="F8_E4M3"), "is none of"),
    "more bytes": (tensors(data=bytes(12)), "its arrays have 8 bytes, 12 follow"),
    "hole": (tensors(data=bytes(12), data_offsets=[4, 12]), "leave bytes out"),
    "metadata": (of_header({"__metadata__": {"a": 3}}), "__metadata__"),
    "many": (of_header({str(i): {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
                        for i in range(40_000)}), "so many small ones"),
}


@pytest.mark.parametrize("which", BAD_TENSORS)
def test_bad_safetensors(which: str, tmp_path: Path) -> None:
    data, words = BAD_TENSORS[which]
    (tmp_path / "bad.safetensors").write_bytes(data)
    with pytest.raises(ModelFormatError, match=rf"safetensors file .*bad\.safetensors': .*{words}"):
        mx.nd.load(str(tmp_path / "bad.safetensors"))


@given(st.integers(0, 500), st.integers(0, 255))
def test_a_changed_byte_of_safetensors_never_does_more_than_raise(
        tmp_path_factory: Any, place: int, byte: int) -> None:
    changed = bytearray(tensors())
    changed[place % len(changed)] = byte
    path = tmp_path_factory.getbasetemp() / "changed.safetensors"
    path.write_bytes(changed)
    with suppress(ModelFormatError):
        array_file.load(path)


# ---- by content --------------------------------------------------------------------------------


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(MXNetError, match="No such file"):
        mx.nd.load(str(tmp_path / "none.npz"))
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(ModelFormatError, match="no file of arrays"):
        mx.nd.load(str(tmp_path / "empty"))
    with pytest.raises(TypeError):
        mx.nd.load(3)  # type: ignore[arg-type]


def test_arrays_without_names_are_no_parameters(tmp_path: Path) -> None:
    path = str(tmp_path / "a.params")
    mx.nd.save(path, [mx.nd.ones((3, 2))])
    net = mx.gluon.nn.Dense(3, in_units=2)
    for load in (net.load_parameters, net.collect_params().load):
        with pytest.raises(ModelFormatError, match="no names"):
            load(path)
    mx.sym.Variable("x").save(str(tmp_path / "a.json"))
    with pytest.raises(ModelFormatError, match="no names"):
        mx.gluon.SymbolBlock.imports(str(tmp_path / "a.json"), ["x"], path)


def test_parameters_of_gluon_in_any_form(tmp_path: Path) -> None:
    net = mx.gluon.nn.Dense(3, in_units=2)
    net.initialize(mx.init.Normal(1))
    net.save_parameters(str(tmp_path / "a.params"))
    saved = mx.nd.load(str(tmp_path / "a.params"))
    mx.nd.save_npz(str(tmp_path / "b.params"), saved)
    mx.nd.save_safetensors(str(tmp_path / "c.params"), saved)
    for name in "abc":
        other = mx.gluon.nn.Dense(3, in_units=2)
        other.load_parameters(str(tmp_path / f"{name}.params"))
        np.testing.assert_array_equal(other.weight.data().asnumpy(), net.weight.data().asnumpy())
