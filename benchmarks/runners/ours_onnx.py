"""ndarray_rt on an ONNX file: NumPy arrays in and out, as for the others.

Variant: "tuned" tunes before the first step.
"""

from __future__ import annotations

from typing import Any

from ..serve import Loaded, Request, serve
from .ours import import_framework


def load(request: Request) -> Loaded:
    import ndarray_rt as mx

    model = mx.onnx.load(request.onnx)
    feed, _ = request.feeds()
    last: list[Any] = [[]]

    def step() -> None:
        last[0] = model.run(feed)

    if request.variant == "tuned":
        step()
        model.tune()

    def facts() -> dict[str, Any]:
        found = [one.totals for one in model.explain()]
        return {"graphs": len(found), **{
            key: sum(one[key] for one in found) for key in ("steps", "reference", "numpy")}}

    return Loaded(step, lambda: last[0] if request.inputs else last[0][0], facts)


if __name__ == "__main__":
    serve(import_framework, load)
