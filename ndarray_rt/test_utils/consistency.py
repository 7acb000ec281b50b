"""One symbol in several dtypes, and how long it takes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import autograd, nd
from .._array.ndarray import NDArray
from ..context import Context
from ..executor import Executor
from ..initializer import Initializer
from .compare import assert_almost_equal, check_symbol
from .settings import default_context
from .tolerances import Tolerance, get_tols


def _smaller(first: Any, second: Any) -> np.dtype[Any]:
    one, other = np.dtype(first), np.dtype(second)
    found: np.dtype[Any] = one if one.itemsize < other.itemsize else other
    return found


def check_consistency(sym: Any, ctx_list: Sequence[Mapping[str, Any]], scale: float = 1.0,
                      grad_req: Any = "write", arg_params: dict[str, Any] | None = None,
                      aux_params: dict[str, Any] | None = None, rtol: Tolerance = None,
                      atol: Tolerance = None, raise_on_err: bool = True,
                      ground_truth: Mapping[str, Any] | None = None, equal_nan: bool = False,
                      use_uniform: bool = False, rand_type: Any = np.float64) -> dict[str, Any]:
    """A symbol must give the same in all contexts and dtypes: outputs, and gradients.

    Each entry of `ctx_list` has 'ctx', shapes by input name, and perhaps 'type_dict'. `sym` may be
    a list with a symbol for each. All are compared with the one of the widest output, or with
    `ground_truth`. Inputs not in `arg_params` are random of scale `scale`; `arg_params` and
    `aux_params` receive what was used. Gives the ground truth: outputs and gradients by name.
    With `raise_on_err` false, failures are printed only.
    """
    if len(ctx_list) < 2:
        raise AssertionError("check_consistency: ctx_list needs at least two entries")
    syms = list(sym) if isinstance(sym, (list, tuple)) else [sym] * len(ctx_list)
    for one in syms:
        check_symbol(one, "check_consistency")
    if len(syms) != len(ctx_list):
        raise AssertionError(f"{len(syms)} symbols for {len(ctx_list)} contexts")
    outputs, names = syms[0].list_outputs(), syms[0].list_arguments()
    for one in syms:
        assert one.list_arguments() == names, "the symbols have other arguments"
        assert one.list_outputs() == outputs, "the symbols have other outputs"
    executors = [one.simple_bind(grad_req=grad_req, **ctx)
                 for one, ctx in zip(syms, ctx_list, strict=True)]
    _fill(executors, {} if arg_params is None else arg_params,
          {} if aux_params is None else aux_params, scale, use_uniform, rand_type)
    dtypes = [np.dtype(executor.outputs[0].dtype) for executor in executors]
    best = int(np.argmax(np.array([dtype.itemsize for dtype in dtypes])))
    check = _Check(executors, dtypes, best, rtol, atol, raise_on_err, equal_nan)
    for executor in executors:
        executor.forward(is_train=False)
    truth = ground_truth
    if truth is None:
        truth = {**executors[best].output_dict, **executors[best].grad_dict}
    for i, executor in enumerate(executors):
        check.compare(i, dict(zip(outputs, executor.outputs, strict=True)), truth, "inference")
    if grad_req != "null":
        _train(executors)
        for i, executor in enumerate(executors):
            found = dict(zip(outputs, executor.outputs, strict=True))
            check.compare(i, {**found, **executor.grad_dict}, truth, "training")
    return dict(truth)


def _fill(executors: Sequence[Executor], args: dict[str, Any], aux: dict[str, Any], scale: float,
          use_uniform: bool, rand_type: Any) -> None:
    """The same contents for all executors; gradient arrays begin at zero."""
    for name, array in sorted(executors[0].arg_dict.items()):
        if name not in args:
            drawn = (np.random.uniform(-0.92 * scale, 0.92 * scale, array.shape) if use_uniform
                     else np.random.normal(0.0, scale, array.shape))
            args[name] = np.asarray(drawn, rand_type)
    for name in executors[0].aux_dict:
        aux.setdefault(name, 0)
    for executor in executors:
        for name, array in executor.arg_dict.items():
            array[:] = args[name]
        for name, array in executor.aux_dict.items():
            array[:] = aux[name]
        for grad in executor.grad_arrays:
            if grad is not None:
                grad[:] = 0


def _train(executors: Sequence[Executor]) -> None:
    """Forward and backward with the same head gradients, as the narrowest dtype has them."""
    for executor in executors:
        executor.forward(is_train=True)
    heads = []
    for i, out in enumerate(executors[0].outputs):
        narrow = out.dtype
        for executor in executors:
            narrow = _smaller(executor.outputs[i].dtype, narrow)
        heads.append(out.asnumpy().astype(narrow))
    for executor in executors:
        executor.backward([nd.array(head, ctx=executor.context, dtype=out.dtype)
                           for head, out in zip(heads, executor.outputs, strict=True)])


class _Check:
    """Compares with the ground truth, at the tolerance of the less precise of the two."""

    def __init__(self, executors: Sequence[Executor], dtypes: Sequence[np.dtype[Any]], best: int,
                 rtol: Tolerance, atol: Tolerance, raise_on_err: bool, equal_nan: bool) -> None:
        self.executors, self.dtypes, self.best = executors, dtypes, best
        self.rtol, self.atol = rtol, atol
        self.raise_on_err, self.equal_nan = raise_on_err, equal_nan

    def compare(self, i: int, found: Mapping[str, NDArray | None], truth: Mapping[str, Any],
                what: str) -> None:
        if i == self.best:
            return
        for name, array in found.items():
            want = truth.get(name)
            if want is None or array is None:
                assert array is None or name not in truth, f"{name}: only one has a gradient"
                continue
            narrow = np.empty(0, _smaller(array.dtype, self.dtypes[i]))
            wide = np.empty(0, _smaller(want.dtype, self.dtypes[self.best]))
            rtol, atol = get_tols(narrow, wide, self.rtol, self.atol)
            try:
                assert_almost_equal(array, want, rtol, atol, equal_nan=self.equal_nan)
            except AssertionError as error:
                text = f"{what}: {name} of context {i} is not that of {self.best}: {error}"
                if self.raise_on_err:
                    raise AssertionError(text) from None
                print(text)


class _Copied(Initializer):
    """Gives parameters the values of others, by name."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__()
        self._values = values

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self._values[name]


def check_gluon_hybridize_consistency(net_builder: Callable[..., Any], data_l: Sequence[NDArray],
                                      numpy_func: Callable[..., Any] | None = None,
                                      test_grad: bool = True, rtol: float = 1e-4,
                                      atol: float = 1e-4) -> None:
    """A block gives the same hybridized and not, recorded and not; and what `numpy_func` gives.

    `net_builder(prefix=...)` makes the block, which draws nothing at random, and is called for each
    way of running. With `test_grad` the gradients of the inputs are compared, too, for the output
    as its own gradient. AssertionError where they differ.
    """
    values: dict[str, Any] | None = None
    outputs: list[Any] = []
    gradients: list[list[Any]] = []
    for hybridized, recorded in itertools.product((False, True), (False, True)[:1 + test_grad]):
        net = net_builder(prefix="net_")
        net.initialize() if values is None else net.initialize(_Copied(values))
        if hybridized:
            net.hybridize()
        inputs: list[Any] = [array.copy() for array in data_l]
        if recorded:
            for array in inputs:
                array.attach_grad()
            with autograd.record():
                out = net(*inputs)
            out.backward(out)
            gradients.append([array.grad.asnumpy() for array in inputs])
        else:
            out = net(*inputs)
        outputs.append(out.asnumpy())
        if values is None:
            values = {name: parameter.data().asnumpy()
                      for name, parameter in net.collect_params().items()}
    for other in outputs[1:]:
        assert_almost_equal(other, outputs[0], rtol=rtol, atol=atol)
    for others in gradients[1:]:
        for mine, first in zip(others, gradients[0], strict=True):
            assert_almost_equal(mine, first, rtol=rtol, atol=atol)
    if numpy_func is not None:
        assert_almost_equal(outputs[0], numpy_func(*[array.asnumpy() for array in data_l]),
                            rtol=rtol, atol=atol)


def check_speed(sym: Any, location: Mapping[str, Any] | None = None, ctx: Context | None = None,
                N: int = 20, grad_req: Any = None, typ: str = "whole",  # noqa: N803 - MXNet's name
                **kwargs: Any) -> float:
    """Seconds that a run takes, the mean of N: 'whole' is forward and backward, or 'forward'.

    `location` are inputs by name; without it `kwargs` are shapes, and inputs are random.
    """
    if typ not in ("whole", "forward"):
        raise ValueError(f'typ got {typ!r}, expected "whole" or "forward"')
    check_symbol(sym, "check_speed")
    shapes = kwargs if location is None else {n: np.shape(v) for n, v in location.items()}
    executor = sym.simple_bind(ctx or default_context(), grad_req=grad_req or "write", **shapes)
    if location is None:
        location = {name: np.random.normal(size=array.shape)
                    for name, array in executor.arg_dict.items()}
    for name, value in location.items():
        executor.arg_dict[name][:] = value

    def run() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(executor.outputs)

    run()
    start = time.perf_counter()
    for _ in range(N):
        run()
    return (time.perf_counter() - start) / N
