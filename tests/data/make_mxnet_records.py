"""Writes mxnet_records/: a file of records with its index, records of tests/image/records.py.
Run with the real MXNet 1.9.1, from this folder: python make_mxnet_records.py
"""

import pathlib
import sys

import mxnet as mx

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1]))

from tests.image import records  # noqa: E402 - needs the path

if __name__ == "__main__":
    records.FOLDER.mkdir(exist_ok=True)
    writer = mx.recordio.MXIndexedRecordIO(str(records.FOLDER / "all.idx"),
                                           str(records.FOLDER / "all.rec"), "w")
    labelled = [mx.recordio.pack(mx.recordio.IRHeader(*header), data)
                for header, data in records.LABELLED]
    for key, record in enumerate(records.PLAIN + labelled):
        writer.write_idx(key, record)
    writer.close()
