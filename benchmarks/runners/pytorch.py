"""PyTorch: eager, channels_last (eager, weights and input in that layout) or inductor (compiled,
with freezing, which lets it fold and repack weights)."""

from __future__ import annotations

from typing import Any

from ..graph import read_graph
from ..serve import Loaded, Request, serve


def import_framework(request: Request) -> str:
    import torch

    torch.set_num_threads(request.threads)
    torch.set_num_interop_threads(1)
    return str(torch.__version__)


def load(request: Request) -> Loaded:
    import torch

    from ..to_torch import convert

    torch.set_grad_enabled(False)
    module: Any = convert(read_graph(request.files))
    data = torch.from_numpy(request.model.make_data(request.batch))
    if request.variant == "channels_last" and data.dim() == 4:
        module = module.to(memory_format=torch.channels_last)
        data = data.contiguous(memory_format=torch.channels_last)
    if request.variant == "inductor":
        import torch._inductor.config as inductor

        inductor.freezing = True
        inductor.compile_threads = 1
        module = torch.compile(module)
        module(data)  # compiling happens at the first call and belongs to loading
    last: list[Any] = [None]

    def step() -> None:
        last[0] = module(data)

    return Loaded(step, lambda: last[0].numpy())


if __name__ == "__main__":
    serve(import_framework, load)
