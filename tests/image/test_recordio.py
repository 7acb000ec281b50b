"""Files of records: the bytes that MXNet writes, both ways, and files that are damaged."""

from __future__ import annotations

import copy
import os
import pickle
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt import recordio
from ndarray_rt.recordio import MXIndexedRecordIO, MXRecordIO

from .records import FOLDER, LABELLED, MAGIC, PLAIN


def packed() -> list[bytes]:
    return PLAIN + [recordio.pack(header, data) for header, data in LABELLED]


def test_files_are_those_of_mxnet(tmp_path: Path) -> None:
    with_index = MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w")
    for key, record in enumerate(packed()):
        with_index.write_idx(key, record)
    with_index.close()
    for ending in ("idx", "rec"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (FOLDER / f"all.{ending}").read_bytes()
    plain = MXRecordIO(str(tmp_path / "b.rec"), "w")
    for record in packed():
        plain.write(record)
    del plain
    assert (tmp_path / "b.rec").read_bytes() == (FOLDER / "all.rec").read_bytes()


def test_files_of_mxnet_are_read() -> None:
    reader = MXRecordIO(str(FOLDER / "all.rec"), "r")
    for _ in range(2):
        assert list(iter(reader.read, None)) == packed()
        assert reader.read() is None
        reader.reset()
    by_key = MXIndexedRecordIO(str(FOLDER / "all.idx"), str(FOLDER / "all.rec"), "r")
    assert by_key.keys == list(range(len(packed())))
    for key in reversed(by_key.keys):
        assert by_key.read_idx(key) == packed()[key]


@given(st.lists(st.lists(st.sampled_from([MAGIC, b"abcd", b"x", b"yz", MAGIC[:2], bytes(5)]),
                         max_size=6).map(b"".join), max_size=6))
def test_any_bytes_come_back(records: list[bytes]) -> None:
    path = f"/dev/shm/ndarray_rt_records_{os.getpid()}"
    try:
        writer = MXRecordIO(path, "w")
        for record in records:
            writer.write(bytearray(record))
        writer.close()
        reader = MXRecordIO(path, "r")
        assert list(iter(reader.read, None)) == records
        skipping = recordio.RecordReader(path)
        assert [skipping.skip() for _ in records] == [True] * len(records)
        assert not skipping.skip()
        reader.close()
        skipping.close()
    finally:
        os.unlink(path)


def test_headers() -> None:
    assert recordio.unpack(recordio.pack((3, 2, 1, 0), b"x")) == ((0, 2.0, 1, 0), b"x")
    header, rest = recordio.unpack(recordio.pack(recordio.IRHeader(0, [1, 2.5], 9, 8), b"xyz"))
    assert (header.flag, header.label.tolist(), header.id, header.id2) == (2, [1, 2.5], 9, 8)
    assert rest == b"xyz"
    assert header.label.dtype == np.float32
    one = recordio.IRHeader(0, 1.0, 2, 3)
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(mx.MXNetError, match="-1"):
        recordio.pack((0, 1, -1, 0), b"")
    with pytest.raises(ValueError, match=r"has 3 bytes, expected at least the 24"):
        recordio.unpack(b"abc")
    with pytest.raises(mx.MXNetError, match="tells of 1000 labels, but only 8 bytes"):
        recordio.unpack(struct.pack("<IfQQ", 1000, 0, 0, 0) + b"12345678")


def test_keys_of_another_type(tmp_path: Path) -> None:
    writer = MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w", key_type=str)
    assert writer.tell() == 0
    writer.write_idx("one", b"1")
    assert writer.tell() == 12
    writer.write_idx("two", b"2")
    assert writer.idx == {"one": 0, "two": 12}
    writer.close()
    reader = MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r", key_type=str)
    assert reader.read_idx("two") == b"2"
    assert reader.read() is None
    with pytest.raises(mx.MXNetError, match="line 1: expected a key"):
        MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r")


@pytest.fixture
def some(tmp_path: Path) -> Any:
    writer = MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w")
    for key in range(5):
        writer.write_idx(key, b"record %d" % key)
    writer.close()
    return MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r")


def test_pickled_and_copied_files_are_opened_anew(some: Any) -> None:
    assert some.read_idx(2) == b"record 2"
    for other in (pickle.loads(pickle.dumps(some)), copy.copy(some)):
        assert other.is_open
        assert other.read_idx(3) == b"record 3"
    assert some.read() == b"record 3"
    some.close()
    assert not pickle.loads(pickle.dumps(some)).is_open
    assert some.read_idx(2) == b"record 2"
    writer = MXRecordIO(some.uri, "w")
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        copy.copy(writer)


def test_threads_read_by_key(some: Any) -> None:
    def work(key: int) -> bool:
        return all(some.read_idx(key) == b"record %d" % key for _ in range(300))
    with ThreadPoolExecutor(5) as pool:
        assert all(pool.map(work, range(5)))


def in_child(work: Any) -> int:
    child = os.fork()
    if not child:
        try:
            os._exit(work())
        except BaseException:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_forked_children_read_for_themselves(some: Any) -> None:
    assert some.read_idx(1) == b"record 1"

    def by_key() -> int:
        return int(some.read_idx(4) != b"record 4" or some.read() is not None)

    def in_order() -> int:
        try:
            some.read()
        except RuntimeError as error:
            some.reset()
            return int("multiple processes" not in str(error) or some.read() != b"record 0")
        return 1
    assert in_child(by_key) == 0
    assert in_child(in_order) == 0
    assert some.read() == b"record 2"


def test_forked_children_write_nothing(tmp_path: Path) -> None:
    writer = MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w")
    writer.write_idx(0, b"first")

    def work() -> int:
        try:
            writer.write_idx(1, b"theirs")
        except RuntimeError:
            writer.close()
            return 0
        return 1
    assert in_child(work) == 0
    writer.write_idx(1, b"second")
    writer.close()
    reader = MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r")
    assert [reader.read_idx(key) for key in reader.keys] == [b"first", b"second"]


# ---- damaged files ----------------------------------------------------------------------------


def content(path: Path, data: bytes) -> MXRecordIO:
    path.write_bytes(data)
    return MXRecordIO(str(path), "r")


HEAD = struct.pack("<II", 0xCED7230A, 5)


@pytest.mark.parametrize(("data", "error"), [
    (b"abc", "byte 3: the file ends in the midst of a record's header"),
    (b"\x89PNG\r\n\x1a\nabcdefgh", "no record begins here: found 0x474e5089, expected 0xced7230a"),
    (HEAD + b"abc", "has 5 bytes, 3 are left"),
    (HEAD + b"abcde", "not filled up to a multiple of 4"),
    (struct.pack("<II", 0xCED7230A, 7 << 29), "part is 7, expected 0 to 3"),
    (struct.pack("<II", 0xCED7230A, 3 << 29), "begins with part 3"),
    (struct.pack("<II", 0xCED7230A, 1 << 29), "before a record's last part"),
    (struct.pack("<II", 0xCED7230A, 1 << 29) + HEAD + b"abcdefgh", "before a record's last part"),
], ids=range(8))
def test_damaged_files(data: bytes, error: str, tmp_path: Path) -> None:
    with pytest.raises(mx.MXNetError, match=error) as caught:
        content(tmp_path / "a.rec", data).read()
    assert str(tmp_path / "a.rec") in str(caught.value)
    if "filled up" not in error:
        with pytest.raises(mx.MXNetError):
            recordio.RecordReader(str(tmp_path / "a.rec")).skip()


def test_every_truncation_is_an_error_or_an_end(tmp_path: Path) -> None:
    whole = (FOLDER / "all.rec").read_bytes()
    for length in range(0, len(whole), 3):
        reader = content(tmp_path / "a.rec", whole[:length])
        try:
            found = list(iter(reader.read, None))
        except mx.MXNetError:
            continue
        assert found == packed()[:len(found)]


def test_places_and_keys_that_there_are_not(some: Any, tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="has no record of key 9"):
        some.read_idx(9)
    (tmp_path / "a.idx").write_text("0\t0\n1\t100000\n2\t4\n")
    reader = MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r")
    with pytest.raises(mx.MXNetError, match="there is no record at byte 100000"):
        reader.read_idx(1)
    with pytest.raises(mx.MXNetError, match="no record begins here"):
        reader.read_idx(2)
    assert reader.read_idx(0) == b"record 0"


def test_wrong_calls(some: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Invalid flag a"):
        MXRecordIO(str(tmp_path / "a.rec"), "a")
    with pytest.raises(mx.MXNetError, match="No such file"):
        MXRecordIO(str(tmp_path / "no" / "a.rec"), "w")
    with pytest.raises(mx.MXNetError, match=r"No such file.*expected a file of records"):
        MXRecordIO(str(tmp_path / "none.rec"), "r")
    for flag in "rw":
        with pytest.raises(mx.MXNetError, match=r"a\\x00\.rec': embedded null byte"):
            MXRecordIO("a\0.rec", flag)
    with pytest.raises(mx.MXNetError, match=r"a\\x00\.idx': embedded null byte"):
        MXIndexedRecordIO("a\0.idx", str(tmp_path / "b.rec"), "w")
    with pytest.raises(mx.MXNetError, match="expected an index"):
        MXIndexedRecordIO(tmp_path / "none.idx", tmp_path / "a.rec", "r")
    with pytest.raises(AssertionError):
        some.write(b"x")
    with pytest.raises(AssertionError):
        some.tell()
    writer = MXIndexedRecordIO(tmp_path / "b.idx", tmp_path / "b.rec", "w")
    for call in (writer.read, lambda: writer.seek(0)):
        with pytest.raises(AssertionError):
            call()
    with pytest.raises(TypeError, match="expected bytes"):
        writer.write("text")  # type: ignore[arg-type]
    some.close()
    with pytest.raises(mx.MXNetError, match="is closed"):
        some.read()
