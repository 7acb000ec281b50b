"""Records that MXNet wrote to tests/data/mxnet_records; made the same way there and here."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data" / "mxnet_records"
MAGIC = (0xCED7230A).to_bytes(4, "little")

# bytes that contain the word that begins a part, where it splits a record and where it does not
PLAIN = [b"a", b"", b"four", MAGIC, MAGIC * 3, b"xy" + MAGIC + b"z", b"abcd" + MAGIC + b"q",
         b"1234" + MAGIC + MAGIC + b"56781234" + MAGIC, bytes(range(256)) * 5, MAGIC[:3]]
LABELLED = [((0, 3.5, 7, 1), b"one label"), ((0, [1, 2.5, -3], 2**40, 0), b"three labels"),
            ((5, 0, 0, 0), b"")]
