"""Exporting a graph and comparing what the file gives with what the graph gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt.symbol.symbol import Symbol

TOLERANCE = 1e-5  # of the largest output
Arrays = Sequence[np.ndarray]


def random_params(symbol: Symbol, seed: int = 0, **shapes: Any) -> dict[str, Any]:
    """Values for all variables but those named."""
    args, _, aux = symbol.infer_shape(**shapes)
    assert args is not None
    assert aux is not None
    drawn = np.random.default_rng(seed)
    found = {}
    for name, shape in (*zip(symbol.list_arguments(), args, strict=True),
                        *zip(symbol.list_auxiliary_states(), aux, strict=True)):
        if name not in shapes:
            value = drawn.normal(size=shape) * 0.3
            if "gamma" in name or "var" in name:
                value = np.abs(value) + 0.5
            found[name] = mx.nd.array(value)
    return found


def flat(made: Any) -> list[np.ndarray]:
    """Outputs as NumPy arrays, in order."""
    if isinstance(made, (list, tuple)):
        return [x for part in made for x in flat(part)]
    return [made.asnumpy()]


def bound(symbol: Symbol, params: dict[str, Any], names: Sequence[str],
          ) -> Callable[..., list[np.ndarray]]:
    """The graph as a function of its inputs."""
    states = symbol.list_auxiliary_states()
    given = set(symbol.list_arguments())

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        args = {**params, **{name: mx.nd.array(x, dtype=x.dtype)
                             for name, x in zip(names, arrays, strict=True)}}
        executor = symbol.bind(mx.cpu(), {name: x for name, x in args.items() if name in given},
                               grad_req="null", aux_states={name: args[name] for name in states})
        return flat(executor.forward(is_train=False))
    return run


def same_as(model: Any, expected: Callable[..., list[np.ndarray]], calls: Sequence[Arrays]) -> None:
    """The loader here, and ONNX Runtime where it is installed, give what `expected` gives."""
    runners: list[Callable[[dict[str, Any]], list[np.ndarray]]] = [mx.onnx.load(model).run]
    if find_spec("onnxruntime"):
        import onnxruntime
        session = onnxruntime.InferenceSession(model.SerializeToString(),
                                               providers=["CPUExecutionProvider"])
        runners.append(lambda inputs: session.run(None, inputs))
    for arrays in calls:
        wanted = expected(*arrays)
        inputs = dict(zip([info.name for info in model.graph.input], arrays, strict=True))
        for run in runners:
            made = run(inputs)
            assert len(made) == len(wanted)
            for a, b in zip(made, wanted, strict=True):
                assert (a.shape, a.dtype) == (b.shape, b.dtype)
                largest = np.abs(b.astype(np.float64)).max(initial=0)
                np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=0,
                                           atol=TOLERANCE * max(largest, 1e-30))


def check_block(block: Any, shapes: Any, calls: Sequence[Arrays], **options: Any) -> Any:
    """A block exported and compared; the model."""
    model = mx.onnx.export(block, shapes=shapes, **options)
    same_as(model, lambda *arrays: flat(block(*[mx.nd.array(x, dtype=x.dtype) for x in arrays])),
            calls)
    return model


def check_symbol(symbol: Symbol, shapes: dict[str, Any], calls: Sequence[Arrays],
                 params: dict[str, Any] | None = None, **options: Any) -> Any:
    """A symbol with random parameters (or those given), exported and compared; the model."""
    names = [name for name in symbol.list_arguments() if name in shapes]
    if params is None:
        given: dict[str, Any] = {name: x.shape for name, x in zip(names, calls[0], strict=True)}
        params = random_params(symbol, **given)
    model = mx.onnx.export(symbol, params, shapes=shapes, **options)
    same_as(model, bound(symbol, params, names), calls)
    return model
