"""Writes the golden files of this folder. Run with the real MXNet 1.9.1: python make_golden.py"""

import pathlib

import mxnet as mx
import numpy as np

HERE = pathlib.Path(__file__).parent
DTYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"]


def main() -> None:
    arrays = {"arg:weight": mx.nd.arange(6).reshape((2, 3)) / 4, "aux:mean": mx.nd.zeros((3,))}
    for dtype in DTYPES:
        arrays[dtype] = mx.nd.array(np.array([[1, 0, 3]]).astype(dtype), dtype=dtype)
    mx.nd.save(str(HERE / "dict.params"), arrays)
    mx.nd.save(str(HERE / "list.params"), [arrays["arg:weight"], arrays["int8"]])
    mx.nd.save(str(HERE / "legacy_v0.upgraded.params"),
               mx.nd.load(str(HERE / "legacy_v0.params")))
    with mx.util.np_shape(True):
        mx.nd.save(str(HERE / "numpy_shape.params"), [
            mx.nd.zeros((0, 3)), mx.nd.ones(()), arrays["int64"]])


if __name__ == "__main__":
    main()
