"""Apache MXNet 1.9.1: a bound executor, with the subgraph fusion that is on by default."""

from __future__ import annotations

from ..serve import Loaded, Request, serve


def import_framework(request: Request) -> str:
    import mxnet

    return str(mxnet.__version__)


def load(request: Request) -> Loaded:
    import mxnet as mx

    symbol = mx.sym.load(str(request.files.symbol))
    params = mx.nd.load(str(request.files.params))
    data = mx.nd.array(request.model.make_data(request.batch))
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", **request.model.shapes(request.batch))
    executor.copy_params_from({k[4:]: v for k, v in params.items() if k.startswith("arg:")},
                              {k[4:]: v for k, v in params.items() if k.startswith("aux:")},
                              allow_extra_params=True)

    def step() -> None:
        executor.forward(is_train=False, data=data)
        executor.outputs[0].wait_to_read()

    return Loaded(step, lambda: executor.outputs[0].asnumpy())


if __name__ == "__main__":
    serve(import_framework, load)
