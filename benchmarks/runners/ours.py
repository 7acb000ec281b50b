"""ndarray_rt: a bound executor. What it does is chosen by switches in the environment.

Variants: "tuned" tunes before the first step, "uncached" forgets all primitives before each.
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
    params = mx.nd.load(str(request.files.params))
    data = mx.nd.array(request.model.make_data(request.batch))
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", **request.model.shapes(request.batch))
    executor.copy_params_from({k[4:]: v for k, v in params.items() if k.startswith("arg:")},
                              {k[4:]: v for k, v in params.items() if k.startswith("aux:")})

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
