"""What reading takes, of files that are made to take much: at most twice the file and 64 MiB."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SIZE = 12 << 20
PROGRAM = """
import sys
from pathlib import Path
import ndarray_rt as mx
from ndarray_rt.errors import ModelFormatError
from ndarray_rt.recordio import MXRecordIO

def peak():
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) << 10

def records(path):
    reader = MXRecordIO(path, "r")
    while reader.read() is not None:
        pass

readers = {"load": mx.nd.load, "symbol": mx.sym.load, "tuning": mx.executor.load_tuning,
           "records": records}
small = Path(sys.argv[2]).with_name("small")
small.write_bytes(b"{")
for reader in readers.values():
    try:
        reader(str(small))   # imports what it needs
    except ModelFormatError:
        pass
before = peak()
try:
    found = readers[sys.argv[1]](sys.argv[2])
    told = "read"
except ModelFormatError as error:
    told = str(error)[:300]
print(peak() - before, told)
"""


def repeated(piece: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    return before + piece * ((SIZE - len(before) - len(after)) // len(piece)) + after


def symbol(piece: bytes) -> bytes:
    return repeated(piece, b'{"nodes": [', b'0], "arg_nodes": [], "heads": [[0, 0, 0]]}')


VARIABLE = b'{"op": "null", "name": "x", "inputs": []},'
LONG = b'{"nodes": [{"op": "null", "name": "'
FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "arrays without anything": ("load", lambda: struct.pack("<QQQ", 0x112, 0, SIZE // 4)
                                + bytes(SIZE)),
    "small arrays": ("load", lambda: struct.pack("<QQQ", 0x112, 0, SIZE // 44) + repeated(
        struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 1, 1, 0, 0) + bytes(4))),
    "one array": ("load", lambda: struct.pack("<QQQ", 0x112, 0, 1) + struct.pack(
        "<Iiiqiii", 0xF993FAC9, 0, 1, SIZE // 4, 1, 0, 0) + bytes(SIZE) + bytes(8)),
    "a long name": ("load", lambda: struct.pack("<QQQQ", 0x112, 0, 0, 0)[:24] + struct.pack(
        "<QQ", 1, SIZE) + "é".encode() * (SIZE // 2)),
    "lists": ("symbol", lambda: symbol(b"[],")),
    "objects": ("symbol", lambda: symbol(b"{},")),
    "texts": ("symbol", lambda: symbol(b'"ab",')),
    "numbers": ("symbol", lambda: symbol(b"99999,")),
    "variables": ("symbol", lambda: symbol(VARIABLE)),
    "a long text": ("symbol", lambda: repeated(b"n", LONG, b'"}]}')),
    "a long text of wide characters": ("symbol", lambda: repeated("😀".encode(), LONG, b'"}]}')),
    "lists in tuning": ("tuning", lambda: repeated(b"[],", b'{"format": [', b"0]}")),
    "nested": ("symbol", lambda: repeated(b"[", b'{"nodes": ')),
    "empty tensors": ("load", lambda: _tensors()),
    "empty records": ("records", lambda: repeated(struct.pack("<II", 0xCED7230A, 0))),
    "members": ("load", lambda: repeated(b"PK\x01\x02" + bytes(42), b"PK\x03\x04" + bytes(26),
                                         b"PK\x05\x06" + bytes(18))),
}


def _tensors() -> bytes:
    entry = b'{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    text = b"{" + b",".join(b'"%x":%b' % (i, entry) for i in range(SIZE // 58)) + b"}"
    assert json.loads(text)
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize("which", FILES)
def test_reading_takes_no_more_than_twice_the_file_and_64_mib(which: str, tmp_path: Path) -> None:
    reader, make = FILES[which]
    data = make()
    (tmp_path / "file").write_bytes(data)
    made = subprocess.run([sys.executable, "-c", PROGRAM, reader, str(tmp_path / "file")],
                          capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    taken, _, told = made.stdout.partition(" ")
    assert int(taken) <= 2 * len(data) + (64 << 20), f"{int(taken) >> 20} MiB: {told}"
