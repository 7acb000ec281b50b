"""Writes the index of a file of records: `python -m ndarray_rt.tools.rec2idx FILE.rec FILE.idx`.

Keys are the records' numbers in the file, from 0 on. Source: MXNet's tools/rec2idx.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..recordio import RecordReader


def write_index(record: str, index: str) -> int:
    """Writes the index of a file; says how many records there are. Raises as RecordReader does."""
    reader = RecordReader(record)
    count = 0
    with open(index, "w", encoding="utf-8") as file:
        place = 0
        while reader.skip():
            file.write(f"{count}\t{place}\n")
            count, place = count + 1, reader.tell()
    reader.close()
    return count


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line."""
    parser = argparse.ArgumentParser(prog="python -m ndarray_rt.tools.rec2idx",
                                     description="Write the index of a file of records.")
    parser.add_argument("record", help="the file of records")
    parser.add_argument("index", help="the index to write")
    options = parser.parse_args(arguments)
    print(f"{options.index}: {write_index(options.record, options.index)} records")
    return 0


if __name__ == "__main__":
    sys.exit(main())
