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
    options.add_free_dimension_override_by_name("N", request.batch)
    session = onnxruntime.InferenceSession(request.files.onnx, options,
                                           providers=["CPUExecutionProvider"])
    feed = {"data": request.model.make_data(request.batch)}
    last: list[Any] = [None]

    def step() -> None:
        last[0] = session.run(None, feed)[0]

    return Loaded(step, lambda: last[0])


if __name__ == "__main__":
    serve(import_framework, load)
