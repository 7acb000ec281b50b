"""Random whole graphs: a symbol of registered operators, its inputs, and what is asked of it.

    from hypothesis import given
    from ndarray_rt.testing import graphs

    @given(graphs())
    def test_my_pass(graph):
        executor = graph.bind()
        got = graph.run(executor)
        graph.assert_agrees(got)          # with numpy, node by node

`graphs()` needs Hypothesis, an optional extra: `pip install ndarray_rt[testing]`. `random_graph`
draws the same graphs from a seed, without it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

import ndarray_rt as mx

from .._array.copy import read_numpy
from .._array.ndarray import NDArray
from ..errors import MissingPackage, ParameterError
from ..executor import Executor
from ..op.random_state import default_random_state
from ..storage.stream import Stream
from .case import Input
from .compare import assert_close
from .conditioning import rounding, unsafe_kink
from .graph_steps import CHANNELS, STEPS, Builder, Chooser, Step, Value
from .naive import Array, NaiveExecutor, from_numpy_copy

__all__ = ["RandomGraph", "Result", "Tolerances", "graphs", "random_graph"]

T = TypeVar("T")
# of the greatest element of a result, in float32
RTOL = 1e-4
# float32 in another order of summation may be wrong by this many times numpy's own error
ROUNDING = 8.0
# runs with random errors, from which that error is known
JITTERED = 2
# contents that are drawn anew this often while a kink is too near
DRAWS = 5


@dataclass
class Result:
    """What one run gave, as numpy arrays: outputs in order, gradients and aux states by name."""

    outputs: list[Array]
    grads: dict[str, Array] = field(default_factory=dict)
    aux: dict[str, Array] = field(default_factory=dict)

    def named(self) -> dict[str, Array]:
        """All of it by name."""
        made = {f"output {i}": value for i, value in enumerate(self.outputs)}
        made.update({f"gradient of {n}": value for n, value in self.grads.items()})
        made.update({f"aux state {n}": value for n, value in self.aux.items()})
        return made


@dataclass
class Tolerances:
    """How far a float32 result may be from the right one, by name: `RTOL` of its greatest
    element, or more where float32 in numpy is itself wrong by more."""

    errors: Mapping[str, float]

    def check(self, got: Result, want: Result) -> None:
        """AssertionError with the worst element when they differ by more."""
        expected = want.named()
        for name, value in got.named().items():
            reference = expected[name]
            scale = float(np.abs(reference).max(initial=0.0))
            allowed = RTOL * scale + ROUNDING * self.errors.get(name, 0.0) + 1e-30
            assert_close(value, reference, 0.0, allowed, name)


@dataclass(eq=False)
class RandomGraph:
    """A symbol with contents for its inputs, requests and gradients of its outputs.

    `args`, `aux`, `grads` (what gradient arrays hold before) and `head_grads` are numpy arrays.
    `inputs` are the arguments that count as data: another batch size is a change of theirs.
    `features` counts operators and figures that it was built of.
    """

    symbol: Any
    args: dict[str, Array]
    aux: dict[str, Array]
    grads: dict[str, Array]
    requests: dict[str, str]
    head_grads: list[Array]
    inputs: list[str]
    features: Counter[str]
    seed: int

    def __repr__(self) -> str:
        nodes = self.symbol.debug_str()
        shapes = {n: a.shape for n, a in self.args.items()}
        return f"RandomGraph({shapes}, requests={self.requests}, seed={self.seed}\n{nodes})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How Hypothesis shows it: the graph, not the numbers."""
        printer.text(repr(self))

    def bind(self, args: Mapping[str, NDArray] | None = None,
             grads: Mapping[str, NDArray] | None = None,
             aux: Mapping[str, NDArray] | None = None, symbol: Any = None) -> Executor:
        """An Executor on new arrays of these contents, or on those given by name instead."""
        def arrays(contents: Mapping[str, Array], given: Any) -> dict[str, NDArray]:
            given = given or {}
            return {n: given[n] if n in given else from_numpy_copy(v) for n, v in contents.items()}
        made: Executor = (self.symbol if symbol is None else symbol).bind(
            mx.cpu(), args=arrays(self.args, args), args_grad=arrays(self.grads, grads),
            grad_req=dict(self.requests), aux_states=arrays(self.aux, aux))
        return made

    def run(self, executor: Executor, is_train: bool = True, backward: bool | None = None,
            ) -> Result:
        """Runs forward, and backward where training, from the graph's seed of random numbers."""
        default_random_state().seed(self.seed)
        outputs = [read(out) for out in executor.forward(is_train=is_train)]
        if is_train if backward is None else backward:
            executor.backward([from_numpy_copy(g) for g in self.head_grads])
        return Result(outputs, {n: read(executor.grad_dict[n]) for n in self.grads},
                      {n: read(executor.aux_dict[n]) for n in self.aux})

    def naive(self, dtype: Any = np.float32,
              jitter: np.random.Generator | None = None) -> NaiveExecutor:
        """The same on numpy alone, node by node."""
        return NaiveExecutor(self.symbol, self.args, self.aux, self.requests, self.grads, dtype,
                             jitter)

    def run_naive(self, naive: NaiveExecutor, is_train: bool = True,
                  backward: bool | None = None) -> Result:
        """`run`, of `naive`."""
        outputs = naive.forward(is_train, self.seed)
        if is_train if backward is None else backward:
            dtype = naive.values[self.symbol.entries[0]].dtype
            naive.backward([g.astype(dtype) for g in self.head_grads])
        return Result(outputs, {n: naive.grads[n].copy() for n in self.grads},
                      {n: naive.aux[n].copy() for n in self.aux})

    @cached_property
    def _expected(self) -> tuple[Result, Tolerances, str | None]:
        exact = self.naive(np.float64)
        runs = [self.naive(jitter=np.random.default_rng(i) if i else None)
                for i in range(JITTERED + 1)]
        right = self.run_naive(exact)
        found = [self.run_naive(run) for run in runs]
        errors = rounding([result.named() for result in found], right.named())
        return found[0], Tolerances(errors), unsafe_kink(runs, exact)

    @property
    def expected(self) -> Result:
        """What the first training run gives."""
        return self._expected[0]

    @property
    def tolerances(self) -> Tolerances:
        """How near a float32 result must be."""
        return self._expected[1]

    @property
    def unsafe_kink(self) -> str | None:
        """The node at which rounding decides, if there is one."""
        return self._expected[2]

    def assert_agrees(self, got: Result) -> None:
        """Fails, naming the worst element, unless `got` is what a first training run gives."""
        self.tolerances.check(got, self.expected)


_stream = Stream()


def read(array: NDArray | None) -> Array:
    """The contents of an array."""
    assert array is not None
    return read_numpy(array, _stream)


class _Seeded:
    """Choices from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def choose(self, options: Sequence[T]) -> T:
        return options[self.random.randrange(len(options))]


class _Drawn:
    """Choices of Hypothesis, which shrink towards the first option."""

    def __init__(self, draw: Callable[[Any], Any], sampled_from: Callable[[Any], Any]) -> None:
        self.draw, self.sampled_from = draw, sampled_from

    def choose(self, options: Sequence[T]) -> T:
        if len(options) == 1:
            return options[0]
        number: int = self.draw(self.sampled_from(range(len(options))))
        return options[number]


def _build(chooser: Chooser, max_steps: int, steps: Mapping[str, Step],
           ) -> tuple[Builder, list[Value]]:
    b = Builder(chooser)
    n, c = b.choose(1, 2, 3), b.choose(*CHANNELS)
    shape: tuple[int, ...] = (n, c, *b.choose((4, 4), (5, 3), (7, 7)))
    if b.choose(False, False, False, True):
        shape = (n, c)
    b.values = [Value(b.small(shape, share=False), shape)]
    if b.choose(False, False, True):
        b.values.append(Value(b.small(shape, share=False), shape))
    b.data = list(b.variables)
    for _ in range(b.choose(*range(1, max_steps + 1))):
        names = ["nothing", *steps]
        name = b.choose(*names)
        if name == "nothing":
            continue
        sources = [v for v in reversed(b.values) if not v.is_loss]
        # deep graphs more often than wide ones
        x = b.choose(*sources[:1], *sources[:1], *sources)
        b.values += steps[name](b, x) or []
    heads = [b.values[-1]]
    for _ in range(b.choose(0, 1, 2)):
        heads.append(b.choose(*b.values))
    return b, heads


def _request(b: Builder, name: str, mode: str) -> str:
    if name in b.frozen or mode == "null":
        return "null"
    return b.choose("write", "add", "null") if mode == "mixed" else mode


def _make(chooser: Chooser, max_steps: int, steps: Mapping[str, Step]) -> RandomGraph:
    b, heads = _build(chooser, max_steps, steps)
    symbol = mx.sym.Group([v.symbol for v in heads]) if len(heads) > 1 else heads[0].symbol
    b.features["several heads"] += len(heads) > 1
    b.features["input as output"] += any(v.symbol.name in b.variables for v in heads)
    used = symbol.list_arguments()
    mode = b.choose("write", "mixed", "add", "null")
    requests = {name: _request(b, name, mode) for name in used}
    seed = b.choose(*range(1000))
    aux = {n: b.aux[n] for n in symbol.list_auxiliary_states()}
    data = [name for name in used if name in b.data]
    for attempt in range(DRAWS):
        graph = _with_contents(symbol, {n: b.variables[n] for n in used}, aux, requests,
                               [v.shape for v in heads], data, b.features, seed + 1000 * attempt)
        if graph.unsafe_kink is None:
            break
    return graph


def _with_contents(symbol: Any, args: Mapping[str, Input], aux: Mapping[str, Input],
                   requests: dict[str, str], heads: Sequence[tuple[int, ...]],
                   data: list[str], features: Counter[str], seed: int) -> RandomGraph:
    rng = np.random.default_rng(seed)
    values = {name: given.draw(rng, "float32") for name, given in args.items()}
    states = {name: given.draw(rng, "float32") for name, given in aux.items()}
    grads = {name: np.asarray(rng.uniform(-1, 1, values[name].shape), np.float32)
             for name, request in requests.items() if request != "null"}
    head_grads = [np.asarray(rng.uniform(-1, 1, shape), np.float32) for shape in heads]
    return RandomGraph(symbol, values, states, grads, requests, head_grads, data, features,
                       seed)


def random_graph(seed: int, max_steps: int = 10, steps: Mapping[str, Step] = STEPS,
                 ) -> RandomGraph:
    """The random graph of a seed, made of `steps`."""
    return _make(_Seeded(seed), max_steps, steps)


def graphs(max_steps: int = 10, steps: Mapping[str, Step] = STEPS) -> Any:
    """A Hypothesis strategy of random graphs of at most `max_steps` operators or small figures,
    which `steps` add.

    Contents are well conditioned: graphs where float32 rounding decides a maximum are left out.
    Raises MissingPackage, naming the extra, without Hypothesis.
    """
    try:
        from hypothesis import reject
        from hypothesis import strategies as st
    except ImportError:
        raise MissingPackage.of("graphs()", "hypothesis", "testing") from None

    if not isinstance(max_steps, int) or max_steps < 1:
        raise ParameterError(f"graphs: max_steps got {max_steps!r}, expected an int of at least 1")

    @st.composite
    def drawn(draw: Callable[[Any], Any]) -> RandomGraph:
        graph = _make(_Drawn(draw, st.sampled_from), max_steps, steps)
        if graph.unsafe_kink is not None:
            reject()
        return graph
    return drawn()
