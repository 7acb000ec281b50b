"""OpenVINO on the CPU: tuned for latency, float32 all through."""

from __future__ import annotations

from typing import Any

from ..serve import Loaded, Request, serve


def import_framework(request: Request) -> str:
    import openvino

    return str(openvino.__version__).split("-")[0]


def load(request: Request) -> Loaded:
    import openvino

    core = openvino.Core()
    feed, _ = request.feeds()
    model = core.read_model(request.onnx)
    model.reshape({name: list(value.shape) for name, value in feed.items()})
    compiled = core.compile_model(model, "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": request.threads})
    infer = compiled.create_infer_request()

    def step() -> None:
        infer.infer(feed, share_inputs=True, share_outputs=True)

    def output() -> Any:
        found = [infer.get_output_tensor(i).data for i in range(len(compiled.outputs))]
        return found if request.inputs else found[0]

    return Loaded(step, output)


if __name__ == "__main__":
    serve(import_framework, load)
