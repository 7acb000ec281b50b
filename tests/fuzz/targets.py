"""What is fuzzed: each target reads bytes as one kind of file, and has some good ones to begin
with. Whatever it raises but ModelFormatError is a finding."""

from __future__ import annotations

import importlib.util
import io
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt.errors import ModelFormatError, ShapeError, TypeMismatch, Unsupported
from ndarray_rt.executor.tuning.file import read_tuning
from ndarray_rt.io import npz_file, params_file, safetensors_file
from ndarray_rt.optimizer.states import dump_states, load_states
from ndarray_rt.recordio import RecordReader, unpack
from ndarray_rt.symbol.json_text import decode_json

from .memory import MORE_BYTES, bounded
from .mutators import Mutator, after_length, json_text, onnx_model

DATA = Path(__file__).parent.parent / "data"


@dataclass(frozen=True)
class Target:
    """`run` reads bytes, `seeds` gives good files, `modules` are watched for new paths, `mutate`
    changes files in their form. `check` is `run` that may take so much memory and no more."""

    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    modules: tuple[str, ...]
    mutate: Mutator | None = None

    def check(self, data: bytes) -> None:
        with bounded(2 * len(data) + MORE_BYTES):
            self.run(data)


@cache
def _scratch() -> str:
    """A file that readers of files get; it lives as long as the process."""
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
    _scratch.__dict__["folder"] = made = tempfile.TemporaryDirectory(dir=folder)
    return os.path.join(made.name, "bytes")


def _file(data: bytes) -> str:
    path = _scratch()
    with open(path, "wb") as file:
        file.write(data)
    return path


def _files(*patterns: str) -> Iterator[bytes]:
    for pattern in patterns:
        for path in sorted(DATA.glob(pattern)):
            data = path.read_bytes()
            if len(data) <= 1 << 16:
                yield data


# ---- the readers -------------------------------------------------------------------------------


def read_params(data: bytes) -> None:
    with suppress(ModelFormatError):
        params_file.load_frombuffer(data)
    with suppress(ModelFormatError):
        params_file.load(_file(data), mapped=True)


def read_json(data: bytes) -> None:
    with suppress(ModelFormatError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # attributes that an operator does not take
        loaded = mx.sym.load_json(decode_json(data, "bytes"))
        loaded.list_arguments()
        loaded.tojson()


def read_safetensors(data: bytes) -> None:
    with suppress(ModelFormatError):
        safetensors_file.load(_file(data))


def read_npz(data: bytes) -> None:
    with suppress(ModelFormatError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # headers of Python 2
        npz_file._read(io.BytesIO(data), len(data), "bytes")


def read_tuning_file(data: bytes) -> None:
    with suppress(ModelFormatError):
        read_tuning(_file(data))


def read_records(data: bytes) -> None:
    reader = RecordReader(_file(data))
    try:
        with suppress(ModelFormatError):
            while (record := reader.read()) is not None:
                unpack(record)
        with suppress(ModelFormatError):
            reader.rewind()
            while reader.skip():
                pass
    finally:
        reader.close()


def read_states(data: bytes) -> None:
    with suppress(ModelFormatError):
        load_states(data)


def run_onnx(data: bytes) -> None:
    """Reads a model, and runs it where its inputs are small and its loops short."""
    from ndarray_rt import onnx

    from . import models
    with suppress(ModelFormatError, Unsupported):  # a good file of an operator that is not here
        model = onnx.load(data, max_bytes=models.MOST_BYTES)
        given = models.drawn_inputs(model, len(data))
        if given is not None and models.ends_soon(model):
            for _ in range(3):  # step by step, recorded, replayed
                with suppress(ShapeError, TypeMismatch):
                    model.run(given)


# ---- good files ---------------------------------------------------------------------------------


def params() -> Iterator[bytes]:
    yield from _files("mxnet_params/*.params", "mxnet_gluon/*.params")


def json_files() -> Iterator[bytes]:
    yield from _files("mxnet_json/*.json", "mxnet_gluon/*symbol.json", "mxnet_control_flow.json")


def _arrays() -> dict[str, mx.nd.NDArray]:
    return {"weight": mx.nd.arange(6).reshape((2, 3)), "none": mx.nd.zeros((0, 2)),
            "bytes": mx.nd.ones((3,), dtype="uint8"), "yes": mx.nd.ones((3,), dtype="bool")}


def safetensors() -> Iterator[bytes]:
    mx.nd.save_safetensors(_scratch(), _arrays(), {"made": "here"})
    yield Path(_scratch()).read_bytes()


def npz() -> Iterator[bytes]:
    mx.nd.save_npz(_scratch(), _arrays())
    yield Path(_scratch()).read_bytes()
    file = io.BytesIO()
    np.savez_compressed(file, x=np.arange(4), y=np.asfortranarray(np.ones((2, 3), ">f4")))
    yield file.getvalue()


def tuning() -> Iterator[bytes]:
    mx.executor.save_tuning(_scratch())
    yield Path(_scratch()).read_bytes()
    machine = '{"isa": "avx512", "onednn": "3.2", "cpu": "a CPU", "threads": 1}'
    node = ('{"machine": 0, "operator": "Convolution", "params": "p", "shapes": [[1, 3, 8, 8]], '
            '"dtype": "float32", "milliseconds": {"blocked": 0.5, "channels-last": 0.25}}')
    graph = ('{"machine": 0, "graph": "00ff", "families": ["blocked"], "milliseconds": 2.5, '
             '"tiling": [3, 2], "kernels": ["native", ""]}')
    costs = '{"machine": 0, "costs": [[200704.0, 0.01], [102760448.0, 9.5]]}'
    yield (f'{{"format": "ndarray_rt tuning", "version": 2, "machines": [{machine}], "nodes": '
           f'[{node}], "graphs": [{graph}], "reorders": [{costs}]}}').encode()


def records() -> Iterator[bytes]:
    yield from _files("mxnet_records/*.rec")


def states() -> Iterator[bytes]:
    yield from _files("mxnet_optimizers/*", "mxnet_feed_forward/adam.bin")
    optimizer = mx.optimizer.create("adam", lr_scheduler=mx.lr_scheduler.FactorScheduler(3))
    yield dump_states(({0: (mx.nd.ones((2,)), None, 1.5)}, optimizer))


ONNX = (
    """net (float[n, 2] x) => (float[n, 2] y) {
        w = Constant<value = float[2, 2] {1, 2, 3, 4}>()
        h = MatMul(x, w)
        yes = Constant<value = bool[1] {1}>()
        g = If(yes)<then_branch = a () => (float[n, 2] p) { p = Add(h, w) },
                    else_branch = b () => (float[n, 2] q) { q = Mul(h, h) }>
        y = Relu(g)
    }""",
    """net (float[2] x, int64[1] n) => (float[2] y, float[k, 2] s) {
        yes = Constant<value = bool[1] {1}>()
        y, s = Loop(n, yes, x)<body = turn (int64[1] i, bool[1] c, float[2] a)
                                     => (bool[1] d, float[2] b, float[2] t) {
            d = Identity(c)
            b = Add(a, a)
            t = Identity(b)
        }>
    }""",
    """net (float[2] x, float[3, 2] z) => (float[2] y, float[3, 2] s) {
        y, s = Scan<num_scan_inputs = 1, body = turn (float[2] a, float[2] v)
                                                => (float[2] b, float[2] t) {
            b = Add(a, v)
            t = Identity(b)
        }>(x, z)
    }""",
    """net (float[1, 3, 8, 8] x) => (float[1, k] y) {
        w = Constant<value = float[2, 3, 1, 1] {1, 2, 3, 4, 5, 6}>()
        h = Conv<kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0]>(x, w)
        p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(h)
        t = Shape(p)
        i = Constant<value = int64[1] {0}>()
        n = Gather(t, i)
        m = Constant<value = int64[1] {-1}>()
        r = Concat<axis = 0>(n, m)
        f = Reshape(p, r)
        v, j = TopK<axis = 1>(f, e)
        e = Constant<value = int64[1] {3}>()
        y = Softmax<axis = 1>(v)
    }""")


def onnx_files() -> Iterator[bytes]:
    import onnx.parser
    from onnx.backend.test.loader import load_model_tests
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what making the cases divides by zero
        cases = load_model_tests(kind="node")
    for case in cases:
        model: Any = case.model
        if "_expanded" not in case.name and model.ByteSize() <= 1 << 11:
            yield model.SerializeToString()
    for text in ONNX:
        made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
        yield made.SerializeToString()


TARGETS = {
    "params": Target(read_params, params, ("ndarray_rt.io.params_file", "ndarray_rt.io.mapped")),
    "json": Target(read_json, json_files, (
        "ndarray_rt.symbol.graph_json", "ndarray_rt.symbol.json_upgrade",
        "ndarray_rt.symbol.json_text", "ndarray_rt.symbol.subgraph", "ndarray_rt.op.params",
        "ndarray_rt.symbol.compose"), json_text),
    "safetensors": Target(read_safetensors, safetensors, ("ndarray_rt.io.safetensors_file",),
                          after_length),
    "npz": Target(read_npz, npz, ("ndarray_rt.io.npz_file", "zipfile", "numpy.lib.format",
                                  "numpy.lib._format_impl")),
    "tuning": Target(read_tuning_file, tuning, ("ndarray_rt.executor.tuning.file",),
                     json_text),
    "states": Target(read_states, states, ("ndarray_rt.optimizer.states",)),
    "records": Target(read_records, records, ("ndarray_rt.recordio",)),
}
if importlib.util.find_spec("onnx"):
    from ndarray_rt.onnx.index import FAMILIES

    _MODULES = ("wire", "messages", "reading", "tensors", "graph", "inline", "opsets",
                "loaded", "table", "model", "planner", "plan", "build", "values", "held",
                *(f"ops.{name}" for name in FAMILIES))
    TARGETS["onnx"] = Target(run_onnx, onnx_files,
                             tuple(f"ndarray_rt.onnx.{name}" for name in _MODULES), onnx_model)
