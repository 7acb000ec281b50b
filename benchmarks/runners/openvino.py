"""OpenVINO on the CPU: tuned for latency, float32 all through."""

from __future__ import annotations

from ..models import of_batch
from ..serve import Loaded, Request, serve


def import_framework(request: Request) -> str:
    import openvino

    return str(openvino.__version__).split("-")[0]


def load(request: Request) -> Loaded:
    import openvino

    core = openvino.Core()
    model = core.read_model(request.files.onnx)
    model.reshape(list(of_batch(request.model.data, request.batch)))
    compiled = core.compile_model(model, "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": request.threads})
    infer = compiled.create_infer_request()
    data = request.model.make_data(request.batch)

    def step() -> None:
        infer.infer([data], share_inputs=True, share_outputs=True)

    return Loaded(step, lambda: infer.get_output_tensor(0).data)


if __name__ == "__main__":
    serve(import_framework, load)
