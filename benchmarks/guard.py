"""What each pass and each kernel gains: python -m benchmarks.guard --models resnet50 mobilenet_v2

Each is switched off by itself, and a network runs with it and without it, in turns, on one thread.
A gain is the least time without it over the least with it, in time of the CPU, so that it means
something on a machine that is not idle. What changes nothing in a network has no row; in the row of
`nothing` both are the same: so far apart are two that lie elsewhere in memory. The status is 1
where something costs more than --bear percent: then it does not pay here any more.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.cpu_level import level
from ndarray_rt.op.dispatch import Dispatched, observe
from ndarray_rt.op.registry import REGISTRY
from ndarray_rt.op.select import Selection
from ndarray_rt.passes.pipeline import PASSES

from .__main__ import cpu_name
from .models import MODELS
from .options import positive
from .prepare import draw_parameters, settle

WARM_UP = 3  # the second run is recorded
TURN = 5e-3  # seconds


@dataclass(frozen=True)
class Part:
    """A pass or a kernel that can be switched off, or nothing."""

    kind: str
    name: str

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """What is bound and run for the first time inside it does without this part."""
        if self.kind == "pass":
            with config.override(NDRT_SKIP_PASSES=self.name):
                yield
            return
        before = {selection: selection.implementations for selection in selections()}
        for selection, ways in before.items():
            selection.implementations = tuple([way for way in ways if way.name != self.name])
        try:
            yield
        finally:
            for selection, ways in before.items():
                selection.implementations = ways


def selections() -> list[Selection[Any]]:
    """What chooses among kernels."""
    found = [op.compute_ex for op in REGISTRY.ops() if isinstance(op.compute_ex, Selection)]
    return list(dict.fromkeys(found))


def parts() -> list[Part]:
    """All passes, and the kernels for this CPU, but for the last of each operator's, which takes
    what the others leave."""
    kernels = dict.fromkeys(way.name for selection in selections()
                            for way in selection.implementations[:-1] if way.level.is_here)
    return [*(Part("pass", name) for name in PASSES), *(Part("kernel", name) for name in kernels)]


NOTHING = Part("nothing", "")


class Network:
    """A network that is bound, planned and recorded, without a part."""

    def __init__(self, net: Any, batch: int, model: str, values: tuple[Any, Any],
                 without: Part) -> None:
        shapes = MODELS[model].shapes(batch)
        args, aux = ({name: mx.nd.array(value) for name, value in given.items()}
                     for given in values)
        self._data = mx.nd.array(MODELS[model].make_data(batch))
        inputs = {name: mx.nd.zeros(shape) for name, shape in shapes.items()}
        self._executor = net.bind(mx.cpu(), {**inputs, **args}, grad_req="null", aux_states=aux)
        with without.left_out():
            self.calls = self._begin()
        if self._executor.capture_state != "captured":
            raise RuntimeError(f"{model}: runs are not recorded: {self._executor.capture_state}")

    def _begin(self) -> list[tuple[str, ...]]:
        """Which operators and kernels its steps run on."""
        seen: list[Dispatched] = []
        stop = observe(seen.append)
        self._step()
        stop()
        for _ in range(WARM_UP):
            self._step()
        return [(told.op.name, repr(told.params), *told.impls) for told in seen]

    def _step(self) -> None:
        self._executor.forward(is_train=False, data=self._data)[0].wait_to_read()

    def time(self) -> float:
        """The least milliseconds of a step of a turn: one step, or as many as TURN takes."""
        least, end = float("inf"), time.process_time() + TURN
        while True:
            start = time.process_time()
            self._step()
            now = time.process_time()
            least = min(least, (now - start) * 1e3)
            if now >= end:
                return least


@dataclass(frozen=True)
class Gain:
    """What a part gains in a network, in percent of the time with it."""

    part: Part
    model: str
    batch: int
    with_it: float
    without: float

    @property
    def percent(self) -> float:
        return (self.without / self.with_it - 1) * 100

    def row(self) -> str:
        what = f"{self.part.kind} `{self.part.name}`" if self.part.name else self.part.kind
        return (f"| {what} | {self.model} | {self.batch} | "
                f"{self.with_it:.3g} | {self.without:.3g} | {self.percent:+.1f} % |")


def measure(model: str, batch: int, chosen: Sequence[Part], tries: int, rounds: int,
            ) -> Iterator[Gain]:
    """The gain of nothing, and of each part that changes this network; bound anew in each try."""
    with mx.name.NameManager():
        net = mx.model_zoo.symbols.get_symbol(MODELS[model].zoo)
    values = draw_parameters(net, MODELS[model])
    settle(net, MODELS[model], *values)
    for part in (NOTHING, *chosen):
        best = [float("inf")] * 2
        for _ in range(tries):
            both = [Network(net, batch, model, values, less) for less in (NOTHING, part)]
            if part != NOTHING and both[0].calls == both[1].calls:
                break
            for turn in range(2 * rounds):
                which = (turn + turn // 2) % 2  # the first, both of the other, both of the first
                best[which] = min(best[which], both[which].time())
        else:
            yield Gain(part, model, batch, *best)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.guard", description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--batches", nargs="+", type=positive, default=[1])
    parser.add_argument("--parts", nargs="+", default=[], metavar="NAME",
                        help="passes and kernels; all by default")
    parser.add_argument("--tries", type=positive, default=3)
    parser.add_argument("--rounds", type=positive, default=10,
                        help="turns of each of the two in a try")
    parser.add_argument("--bear", type=float, default=3.0, metavar="PERCENT",
                        help="what a part may cost")
    args = parser.parse_args(argv)
    known = parts()
    unknown = set(args.parts) - {part.name for part in known}
    if unknown:
        parser.error(f"--parts: {min(unknown)!r} is no pass and no kernel for this CPU")
    chosen = [part for part in known if not args.parts or part.name in args.parts]
    mx.set_num_threads(1)
    print(f"{cpu_name()}, {level()}, one thread, {time.strftime('%Y-%m-%d')}\n")
    print("| what | network | batch | ms with it | without | gain |\n|---|---|---|---|---|---|")
    worst = 0.0
    for model in args.models:
        for batch in args.batches:
            for gain in measure(model, batch, chosen, args.tries, args.rounds):
                print(gain.row(), flush=True)
                if gain.part != NOTHING:
                    worst = min(worst, gain.percent)
    return int(worst < -args.bear)


if __name__ == "__main__":
    raise SystemExit(main())
