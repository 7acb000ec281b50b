"""Parameter files: equal to MXNet's byte for byte, all older forms, damaged files."""

from __future__ import annotations

import io
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndarray_rt._array.copy import read_numpy, write_numpy
from ndarray_rt._array.ndarray import NDArray, new_array
from ndarray_rt.context import cpu, cpu_pinned
from ndarray_rt.errors import ModelFormatError, MXNetError
from ndarray_rt.io import params_file
from ndarray_rt.op.context import thread_context
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.handle import memory_stats

DATA = Path(__file__).parent.parent / "data" / "mxnet_params"
DTYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"]
Values = np.ndarray[Any, Any]


def array(value: Any, dtype: Any = "float32") -> NDArray:
    numbers = np.asarray(value, dtype)
    made = new_array(numbers.shape, numbers.dtype)
    write_numpy(made, numbers, thread_context().stream)
    return made


def values(x: NDArray) -> Values:
    return read_numpy(x, thread_context().stream)


def header(*arrays: bytes, names: bytes = struct.pack("<Q", 0)) -> bytes:
    return struct.pack("<QQQ", 0x112, 0, len(arrays)) + b"".join(arrays) + names


def one(form: int = 0xF993FAC9, stype: int = 0, shape: tuple[int, ...] = (2, 3), flag: int = 0,
        data: bytes = np.arange(6, dtype="<f4").tobytes(), device: int = 1) -> bytes:
    """An array in the form of today, or what is to be wrong with it."""
    return (struct.pack("<Iii", form, stype, len(shape)) + struct.pack(f"<{len(shape)}q", *shape)
            + struct.pack("<iii", device, 0, flag) + data)


def loaded_list(data: bytes) -> list[NDArray]:
    found = params_file.load_frombuffer(data)
    assert isinstance(found, list)
    return found


# ---- round trips -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_dtype(dtype: str, tmp_path: Path) -> None:
    numbers = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    params_file.save(tmp_path / "a.params", {"x": array(numbers, dtype)})
    found = params_file.load(str(tmp_path / "a.params"))
    assert isinstance(found, dict)
    assert found["x"].dtype == np.dtype(dtype)
    np.testing.assert_array_equal(values(found["x"]), numbers)


def test_list_dict_and_array(tmp_path: Path) -> None:
    path = str(tmp_path / "a.params")
    params_file.save(path, [array([1, 2]), array([[3]])])
    found = params_file.load(path)
    assert isinstance(found, list)
    assert [x.shape for x in found] == [(2,), (1, 1)]
    params_file.save(path, array([7]))
    assert values(loaded_list(Path(path).read_bytes())[0]).tolist() == [7]
    params_file.save(path, {"arg:w": array([1]), "aux:ü": array([2])})
    named = params_file.load(path)
    assert isinstance(named, dict)
    assert list(named) == ["arg:w", "aux:ü"]
    assert params_file.load_frombuffer(params_file.save_tobuffer([])) == []
    assert params_file.load_frombuffer(params_file.save_tobuffer({})) == []


def test_zero_size_and_rank_zero() -> None:
    data = params_file.save_tobuffer([array(np.zeros((0, 3))), array(3.5), array([1])])
    # MXNet reads such files under numpy shapes only, then all of the file must be in that form
    assert data.count(struct.pack("<I", 0xF993FACA)) == 3
    found = loaded_list(data)
    assert [x.shape for x in found] == [(0, 3), (), (1,)]
    assert values(found[1]) == 3.5


def test_odd_floats_keep_their_bits() -> None:
    bits = np.array([0x7FC00001, 0xFF800000, 0x80000000, 1, 0x7F800001], np.uint32)
    again = loaded_list(params_file.save_tobuffer([array(bits.view(np.float32))]))[0]
    assert values(again).view(np.uint32).tolist() == bits.tolist()


def test_views_and_special_layouts() -> None:
    numbers = np.arange(2 * 3 * 4 * 4, dtype=np.float32).reshape(2, 3, 4, 4)
    base = array(numbers)
    view = base._rows(1, 2)
    base._chunk.reorder(tagged_desc(base.dtype, base.shape, "aBcd16b"), thread_context().stream)
    first, second = loaded_list(params_file.save_tobuffer([base, view]))
    np.testing.assert_array_equal(values(first), numbers)
    np.testing.assert_array_equal(values(second), numbers[1:2])


def test_contexts() -> None:
    x = new_array((1,), np.dtype("float32"), cpu_pinned(2))
    write_numpy(x, np.ones(1, np.float32), thread_context().stream)
    data = params_file.save_tobuffer([x])
    assert struct.pack("<ii", 3, 2) in data
    assert loaded_list(data)[0].context == cpu(0)
    assert loaded_list(header(one(device=2)))[0].context == cpu(0), "an array from a GPU"


@given(st.lists(st.tuples(st.lists(st.integers(0, 4), max_size=5), st.sampled_from(DTYPES)),
                max_size=4), st.booleans(), st.data())
def test_save_then_load_is_equal(kinds: list[tuple[list[int], str]], named: bool,
                                 data: st.DataObject) -> None:
    rng = np.random.default_rng(len(kinds))
    arrays = [array((rng.random(shape) * 9).astype(dtype), dtype) for shape, dtype in kinds]
    given_data: Any = arrays
    if named and arrays:
        names = data.draw(st.lists(st.text(max_size=5), min_size=len(arrays),
                                   max_size=len(arrays), unique=True))
        given_data = dict(zip(names, arrays, strict=True))
    saved = params_file.save_tobuffer(given_data)
    found = params_file.load_frombuffer(saved)
    assert params_file.save_tobuffer(found) == saved
    again = list(found.values()) if isinstance(found, dict) else found
    for x, y in zip(arrays, again, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(values(x), values(y))


# ---- MXNet's own files -----------------------------------------------------------------------


@pytest.mark.parametrize("file", ["list.params", "dict.params", "numpy_shape.params"])
def test_mxnets_files_come_back_byte_for_byte(file: str) -> None:
    data = (DATA / file).read_bytes()
    assert params_file.save_tobuffer(params_file.load(str(DATA / file))) == data


def test_mxnets_values() -> None:
    found = params_file.load(DATA / "dict.params")
    assert isinstance(found, dict)
    assert list(found) == ["arg:weight", "aux:mean", *DTYPES]
    np.testing.assert_array_equal(values(found["arg:weight"]),
                                  np.arange(6, dtype=np.float32).reshape(2, 3) / 4)
    for dtype in DTYPES:
        assert found[dtype].dtype == np.dtype(dtype)
        np.testing.assert_array_equal(values(found[dtype]), np.array([[1, 0, 3]]).astype(dtype))


# ---- older forms -----------------------------------------------------------------------------


def test_form_without_storage_type() -> None:
    data = (struct.pack("<Ii2q", 0xF993FAC8, 2, 2, 3) + struct.pack("<iii", 1, 0, 4)
            + np.arange(6, dtype="<i4").tobytes())
    found = loaded_list(header(data))[0]
    assert found.dtype == np.int32
    np.testing.assert_array_equal(values(found), [[0, 1, 2], [3, 4, 5]])


def test_oldest_form() -> None:
    data = (struct.pack("<I2I", 2, 2, 3) + struct.pack("<iii", 1, 0, 0)
            + np.arange(6, dtype="<f4").tobytes())
    np.testing.assert_array_equal(values(loaded_list(header(data, data))[1]),
                                  [[0, 1, 2], [3, 4, 5]])


def test_a_file_of_mxnets_first_form_is_written_back_as_mxnet_writes_it() -> None:
    found = params_file.load(DATA / "legacy_v0.params")
    assert params_file.save_tobuffer(found) == (DATA / "legacy_v0.upgraded.params").read_bytes()
    assert isinstance(found, list)
    assert len(found) == 6
    for x in found:
        np.testing.assert_array_equal(values(x), np.arange(128))


def test_arrays_without_anything() -> None:
    today = struct.pack("<Iii", 0xF993FAC9, 0, 0)
    older = struct.pack("<Ii", 0xF993FAC8, 0)
    oldest = struct.pack("<I", 0)
    found = loaded_list(header(today, older, oldest, one()))
    assert [x.shape for x in found] == [(0,), (0,), (0,), (2, 3)]


def test_scalar_of_numpy_shapes() -> None:
    found = loaded_list(header(one(0xF993FACA, shape=(), data=struct.pack("<f", 2.5))))
    assert found[0].shape == ()
    assert values(found[0]) == 2.5


def test_bytes_of_bools_are_made_bools() -> None:
    found = values(loaded_list(header(one(shape=(4,), flag=7, data=b"\x00\x01\x02\xff")))[0])
    assert found.tolist() == [False, True, True, True]
    assert found.view(np.uint8).tolist() == [0, 1, 1, 1]


# ---- damage ----------------------------------------------------------------------------------

GOOD = header(one(), names=struct.pack("<QQ", 1, 1) + b"x")
BAD = {
    "empty": (b"", "no file of arrays"),
    "short": (b"\x12\x01", "no file of arrays"),
    "other file": (b"PK\x03\x04" + bytes(100), "no file of arrays"),
    "no form": (header(struct.pack("<I", 0x12345678)), "array 0 of 1.*0x12345678 is no form"),
    "too many arrays": (struct.pack("<QQQ", 0x112, 0, 1 << 60), "can not be in the 0 bytes"),
    "too many names": (header(one(), names=struct.pack("<Q", 1 << 61)), "the names.*names can not"),
    "name too long": (header(one(), names=struct.pack("<QQ", 1, 1 << 62) + b"x"),
                      "bytes of a name"),
    "name no text": (header(one(), names=struct.pack("<QQ", 1, 1) + b"\xff"), "no text"),
    "names and arrays": (header(one(), one(), names=struct.pack("<QQ", 1, 1) + b"x"),
                         "1 names for 2 arrays"),
    "huge": (header(one(shape=(1 << 40, 1 << 20))), "needs .* bytes"),
    "overflow": (header(one(shape=(1 << 62, 1 << 62, 4))), "needs .* bytes"),
    "negative": (header(one(shape=(-7, 3))), "negative dimension"),
    "nothing, far away": (header(one(shape=(0, 1 << 62))), "no array can have"),
    "rank": (header(struct.pack("<Iii", 0xF993FAC9, 0, 1 << 30)), "rank 1073741824"),
    "rank negative": (header(struct.pack("<Iii", 0xF993FAC9, 0, -5)), "rank -5"),
    "type flag": (header(one(flag=77)), "type flag 77"),
    "data short": (header(one())[:-20], "needs 24 bytes"),
    "oldest, huge rank": (header(struct.pack("<I", 32) + bytes(200)), "rank 32"),
    "many": (struct.pack("<QQQ", 0x112, 0, 40_000) + bytes(160_000), "so many small ones"),
    "two of a name": (header(one(), one(), names=struct.pack("<QQ", 2, 1) + b"x"
                             + struct.pack("<Q", 1) + b"x"), "two arrays have the name 'x'"),
    "long name": (header(one(), names=struct.pack("<QQ", 1, 1 << 21) + bytes(1 << 21)),
                  "a name of 2097152 bytes"),
    "oldest, huge": (header(struct.pack("<III", 2, 1 << 31, 1 << 31) + bytes(12)), "needs"),
}


@pytest.mark.parametrize("which", BAD)
def test_bad_files(which: str, tmp_path: Path) -> None:
    data, words = BAD[which]
    with pytest.raises(ModelFormatError, match=words):
        params_file.load_frombuffer(data)
    (tmp_path / "bad.params").write_bytes(data)
    with pytest.raises(ModelFormatError, match=r"bad\.params.*"):
        params_file.load(tmp_path / "bad.params")


@pytest.mark.parametrize("end", range(len(GOOD)))
def test_each_truncation_is_found(end: int) -> None:
    with pytest.raises(ModelFormatError):
        params_file.load_frombuffer(GOOD[:end])


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_a_changed_byte_never_does_more_than_raise(place: int, byte: int) -> None:
    before = memory_stats()["live"]
    changed = bytearray(GOOD)
    changed[place] = byte
    with suppress(MXNetError):
        params_file.load_frombuffer(bytes(changed))
    assert memory_stats()["live"] - before < 1 << 16


@pytest.mark.parametrize(("stype", "name"), [(1, "row_sparse"), (2, "csr"), (9, "storage type 9")])
def test_sparse_arrays_are_refused(stype: int, name: str) -> None:
    with pytest.raises(ModelFormatError, match=f"array 0 of 1, byte 32: it is {name}"):
        params_file.load_frombuffer(header(one(stype=stype)))


# ---- mapped ----------------------------------------------------------------------------------


def large(tmp_path: Path) -> tuple[Path, dict[str, Values]]:
    """A file with large arrays, of which one does not lie at a multiple of its elements."""
    numbers = {"a": np.arange(1 << 15, dtype=np.float32), "b": np.arange(5, dtype=np.uint8),
               "c": np.arange(1 << 15, dtype=np.float32) * 2,
               "d": np.arange(1 << 17, dtype=np.uint8) % 2 == 1}
    path = tmp_path / "large.params"
    params_file.save(path, {name: array(value, value.dtype) for name, value in numbers.items()})
    return path, numbers


def test_mapped_arrays_are_private(tmp_path: Path) -> None:
    path, numbers = large(tmp_path)
    before = path.read_bytes()
    memory = memory_stats()["live"]
    found = params_file.load(path, mapped=True)
    assert isinstance(found, dict)
    # c and d are copies
    assert memory_stats()["live"] - memory < 1 << 19
    assert found["a"]._chunk.handle.is_own is False
    assert found["c"]._chunk.handle.is_own is True
    for name, value in numbers.items():
        np.testing.assert_array_equal(values(found[name]), value)
    write_numpy(found["a"], numbers["a"] + 1, thread_context().stream)
    assert path.read_bytes() == before
    again = params_file.load(path, mapped=True)
    assert isinstance(again, dict)
    np.testing.assert_array_equal(values(again["a"]), numbers["a"])
    np.testing.assert_array_equal(values(found["a"]), numbers["a"] + 1)


def test_mapped_arrays_live_on_their_own(tmp_path: Path) -> None:
    path, numbers = large(tmp_path)
    found = params_file.load(path, mapped=True)
    assert isinstance(found, dict)
    kept = found["a"]._rows(5, 9)
    path.unlink()
    del found
    np.testing.assert_array_equal(values(kept), numbers["a"][5:9])


@pytest.mark.parametrize("which", BAD)
def test_bad_files_mapped(which: str, tmp_path: Path) -> None:
    data, words = BAD[which]
    (tmp_path / "bad.params").write_bytes(data)
    with pytest.raises(ModelFormatError, match=words):
        params_file.load(tmp_path / "bad.params", mapped=True)


# ---- use -------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [3, "text", b"bytes", None, [1], {"a": 2}, {3: 4}, {1}])
def test_only_arrays_are_saved(data: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        params_file.save(tmp_path / "x", data)
    assert not list(tmp_path.iterdir())


def test_names_are_strings() -> None:
    with pytest.raises(TypeError, match="names are strings"):
        params_file.save_tobuffer({3: array([1])})


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        params_file.save(3, [])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        params_file.load(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        params_file.load_frombuffer(3)  # type: ignore[arg-type]
    with pytest.raises(MXNetError, match="No such file"):
        params_file.load(tmp_path / "none")
    with pytest.raises(MXNetError, match="No such file"):
        params_file.save(tmp_path / "none" / "x", [])


def test_text_buffer() -> None:
    assert len(loaded_list(header(one()).decode("latin-1"))) == 1  # type: ignore[arg-type]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.params"
    params_file.save(path, [array([1])])
    before = path.read_bytes()
    real = params_file._bytes_of

    def full(value: Values) -> Any:
        if value.size > 1:
            raise OSError(28, "No space left on device")
        return real(value)
    monkeypatch.setattr(params_file, "_bytes_of", full)
    with pytest.raises(MXNetError, match="No space left"):
        params_file.save(path, [array([5]), array([1, 2])])
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.params"]


def test_links_and_modes(tmp_path: Path) -> None:
    target, link = tmp_path / "real.params", tmp_path / "link.params"
    params_file.save(target, [array([1])])
    target.chmod(0o640)
    link.symlink_to(target)
    params_file.save(link, [array([2])])
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert values(loaded_list(target.read_bytes())[0]).tolist() == [2]


def test_device_is_written_not_replaced() -> None:
    params_file.save("/dev/null", [array([1])])
    assert Path("/dev/null").is_char_device()


def test_a_file_that_shrinks_while_it_is_read() -> None:
    reader = params_file._Reader(io.BytesIO(GOOD[:60]), len(GOOD), "a file")
    with pytest.raises(ModelFormatError, match="became shorter"):
        reader.read_all()
