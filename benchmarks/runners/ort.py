"""ONNX Runtime with its CPU provider."""

from __future__ import annotations

from typing import Any

from ..serve import Loaded, Request, serve


def import_framework(request: Request) -> str:
    import onnxruntime

    return str(onnxruntime.__version__)


def load(request: Request) -> Loaded:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = request.threads, 1
    feed, sizes = request.feeds()
    for name, size in sizes.items():
        options.add_free_dimension_override_by_name(name, size)
    session = onnxruntime.InferenceSession(request.onnx, options,
                                           providers=["CPUExecutionProvider"])
    last: list[Any] = [[]]

    def step() -> None:
        last[0] = session.run(None, feed)

    return Loaded(step, lambda: last[0] if request.inputs else last[0][0])


if __name__ == "__main__":
    serve(import_framework, load)
