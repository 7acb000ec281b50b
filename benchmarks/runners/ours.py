"""ndarray_rt: a bound executor. What it does is chosen by switches in the environment.

Variants: "tuned" tunes before the first step, "uncached" forgets all primitives before each,
and "mapped" leaves the weights in the file until they are used.
"""

from __future__ import annotations

from typing import Any

from ..serve import Loaded, Request, serve


def import_framework(request: Request) -> str:
    import ndarray_rt as mx

    mx.set_num_threads(request.threads)
    return mx.__version__


def load(request: Request) -> Loaded:
    import ndarray_rt as mx

    symbol = mx.sym.load(str(request.files.symbol))
    params = mx.nd.load(str(request.files.params), mapped=request.variant == "mapped")
    inputs = request.model.shapes(request.batch)
    data = mx.nd.array(request.model.make_data(request.batch))
    args = {k[4:]: v for k, v in params.items() if k.startswith("arg:")}
    executor = symbol.bind(
        mx.cpu(), {**{name: mx.nd.zeros(shape) for name, shape in inputs.items()}, **args},
        grad_req="null", aux_states={k[4:]: v for k, v in params.items() if k.startswith("aux:")})

    if request.variant == "tuned":
        executor.forward(is_train=False, data=data)
        executor.tune()
    is_uncached = request.variant == "uncached"

    def step() -> None:
        if is_uncached:
            executor._session.clear()
        executor.forward(is_train=False, data=data)[0].wait_to_read()

    def facts() -> dict[str, Any]:
        """Counted in a run step by step, which is the same plan."""
        state = executor.capture_state
        before = executor.counters["reorders"]
        step()
        reorders = executor.counters["reorders"] - before
        totals = executor.explain(repeat=1).totals
        return {"reorders": reorders, "calls": totals["steps"],
                "reference": totals["reference"], "numpy": totals["numpy"],
                "captured": state == "captured"}

    return Loaded(step, lambda: executor.outputs[0].asnumpy(), facts)


if __name__ == "__main__":
    serve(import_framework, load)
