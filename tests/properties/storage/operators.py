"""Rules that run operators of the registry on the machine's arrays, with random requests.

What must come out is what numpy's `compute` makes of copies of the inputs. Whatever the rule does,
inputs and outputs are arrays under test: one array twice, outputs over inputs, overlapping views,
memory of an earlier life with its layout, exported memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import rule

from ndarray_rt import config
from ndarray_rt._array.ndarray import new_array
from ndarray_rt._array.output import NumpyOutput
from ndarray_rt._array.req import Req
from ndarray_rt.errors import NdrtError
from ndarray_rt.op.dispatch import Dispatched, dispatch, observe
from ndarray_rt.op.infer import run_infer_shape, run_infer_type
from ndarray_rt.op.params import Params
from ndarray_rt.op.registry import REGISTRY, OpDef, find

from .base import LARGEST, Base, Change
from .model import F32, REACHED, Array, Held, Shape

REQUESTS = (Req.kWriteTo, Req.kWriteTo, Req.kWriteInplace, Req.kAddTo, Req.kNullOp)
SMALLEST = 1e-6


@dataclass(frozen=True)
class Call:
    """An operator, its parameters, and shapes for its inputs; None: all of one, whatever it is."""

    op: str
    attrs: tuple[tuple[str, Any], ...] = ()
    shapes: tuple[Shape, ...] | None = None
    inputs: int = 1


def call(op: str, *shapes: Shape, **attrs: Any) -> Call:
    return Call(op, tuple(attrs.items()), shapes, len(shapes))


# operators with shapes of their own, so that layouts and ranks of oneDNN's come in
SHAPED = (
    call("transpose", (2, 3, 4)), call("transpose", (2, 3, 2, 3), axes=(0, 2, 3, 1)),
    call("Concat", (2, 3, 2, 3), (2, 1, 2, 3), dim=1, num_args=2),
    call("Concat", (2, 3), (1, 3), (1, 3), dim=0, num_args=3),
    call("SliceChannel", (2, 4, 2, 1), num_outputs=2, axis=1),
    call("SliceChannel", (4, 6), num_outputs=2, axis=0),
    call("sum", (2, 3, 4), axis=1), call("max", (2, 3, 2, 3), axis=(2, 3)),
    call("broadcast_add", (2, 3, 2, 3), (1, 3, 1, 1)), call("broadcast_mul", (4, 6), (1, 6)),
    call("broadcast_to", (1, 6), shape=(4, 6)),
    call("Reshape", (2, 3, 2, 3), shape=(4, 9)), call("Flatten", (2, 3, 2, 3)),
    call("add_n", (4, 6), (4, 6), (4, 6), num_args=3),
    call("_index", (4, 6), key="1:3", num_args=1),
    call("Pooling", (2, 3, 2, 3), kernel=(2, 2), pool_type="max"),
    call("Pooling", (1, 16, 2, 2), global_pool=True, pool_type="avg", kernel=(2, 2)),
    call("FullyConnected", (4, 6), (5, 6), (5,), num_hidden=5),
    call("Convolution", (1, 16, 2, 2), (3, 16, 1, 1), kernel=(1, 1), num_filter=3, no_bias=True),
    call("Convolution", (2, 8, 2, 1), (8, 4, 1, 1), kernel=(1, 1), num_filter=8, num_group=2,
         no_bias=True),
    call("softmax", (2, 3, 2, 3), axis=1),
)


def _plain_ops(inputs: int) -> Iterator[Call]:
    """Operators that give the shape of their inputs, which all have one, with no parameters."""
    for op in REGISTRY.ops():
        if op.is_backward or op.is_random:
            continue
        try:
            params = op.params.parse({}, op.name)
            if (len(op.input_names(params)) != inputs or op.aux_names(params)
                    or op.mutated(params) or len(op.output_names(params)) != 1):
                continue
            shapes = run_infer_shape(op, params, [(2, 3)] * inputs, [None], None)
            types = run_infer_type(op, params, [F32] * inputs, [None], None)
        except NdrtError:
            continue
        if (list(shapes[0]), list(shapes[1])) == ([(2, 3)] * inputs, [(2, 3)]) and (
                types[1] == [F32]):
            yield Call(op.name, inputs=inputs)


@lru_cache(maxsize=1)
def calls() -> tuple[tuple[Call, ...], ...]:
    """Families of calls, equally likely."""
    return tuple(_plain_ops(1)), tuple(_plain_ops(2)), SHAPED


class Operators(Base):
    """Dispatch natively and in NumPy."""

    @rule(data=st.data(), family=st.integers(0, 2), native=st.booleans())
    def run_operator(self, data: st.DataObject, family: int, native: bool) -> None:
        chosen = data.draw(st.sampled_from(calls()[family]), "call")
        op = find(chosen.op)
        params = op.params.parse(dict(chosen.attrs), op.name)
        ins = self._inputs(data, chosen)
        if ins is None:
            return
        try:
            _, shapes = run_infer_shape(op, params, [h.array.shape for h in ins],
                                        [None] * len(op.output_names(params)), None)
        except NdrtError:
            return  # not for this rank
        outs = self._outputs(data, [shape for shape in shapes if shape is not None], ins)
        reqs = [data.draw(st.sampled_from(REQUESTS), "request") for _ in outs]
        reqs = [Req.kWriteTo if req == Req.kAddTo and not out.is_known() else req
                for req, out in zip(reqs, outs, strict=True)]
        written = [out for out, req in zip(outs, reqs, strict=True) if req]
        if any(a.overlaps(b) for i, a in enumerate(written) for b in written[:i]):
            return
        changes = self._expected(op, params, ins, outs, reqs)
        if changes is None:
            return
        _count(ins, outs, reqs)
        self._dispatch(data, op, params, ins, outs, reqs, changes, native)

    def _inputs(self, data: st.DataObject, chosen: Call) -> list[Held] | None:
        found: list[Held] = []
        for i in range(chosen.inputs):
            shape = chosen.shapes[i] if chosen.shapes else found[0].array.shape if i else None
            if shape is None:
                held = self.pick(data, "input", where=lambda h: (
                    h.array.dtype == F32 and h.is_known()))
            else:
                held = self.pick_shaped(data, shape, F32, "input", where=Held.is_known)
            if held is None:
                return None
            found.append(held)
        return found

    def _outputs(self, data: st.DataObject, shapes: list[Shape], ins: list[Held]) -> list[Held]:
        found: list[Held] = []
        for shape in shapes:
            held = None
            if data.draw(st.booleans(), "reuse memory"):
                held = self._reused(data, shape, ins + found)
            if held is None:
                held = self.pick_shaped(data, shape, F32, "output", write=True)
            if held is None:
                held = self.add_storage(new_array(shape, F32)).held[0]
            found.append(held)
        return found

    def _reused(self, data: st.DataObject, shape: Shape, busy: list[Held]) -> Held | None:
        """Memory whose life is over, perhaps in a layout, as a planner gives it to an output."""
        held = self.pick(data, "memory", write=True, where=lambda held: not (
            held.array.is_view or held.home.exports or held.home.packers
            or held.home.chunk.nbytes < prod(shape) * F32.itemsize
            or any(held.home is other.home for other in busy)))
        if held is None:
            return None
        held.home.begin_life(held.array._as_array(shape, F32))
        return held.home.held[0]

    def _expected(self, op: OpDef, params: Params, ins: list[Held], outs: list[Held],
                  reqs: list[Req]) -> list[Change] | None:
        """What the written outputs must be; None where numbers leave what is exact enough."""
        wanted = [NumpyOutput(new_array(out.array.shape, F32), Req.kWriteTo) for out in outs]
        with np.errstate(all="ignore"):
            op.compute(self.ctx, params, [held.value() for held in ins], wanted)
        changes: list[Change] = []
        for held, req, output in zip(outs, reqs, wanted, strict=True):
            if req == Req.kNullOp:
                continue
            assert output.value is not None
            value = output.value.astype(F32)
            if req == Req.kAddTo:
                value = held.value() + value
            if not _is_tame(value):
                return None
            changes.append((held, value, None))
        return changes

    def _dispatch(self, data: st.DataObject, op: OpDef, params: Params, ins: list[Held],
                  outs: list[Held], reqs: list[Req], changes: list[Change],
                  native: bool) -> None:
        free = [out.home for out, req in zip(outs, reqs, strict=True) if not req and not any(
            out.home is other.home for other in (*ins, *(held for held, *_ in changes)))]
        before = [home.state() for home in free]
        counters = [(held.home.chunk, held.home.chunk.writes) for held, *_ in changes]
        told: list[Dispatched] = []
        stop = observe(told.append)
        try:
            with config.override(NDRT_ONEDNN=native):
                done = self.attempt(
                    data, lambda: dispatch(op, params, self.ctx, [h.array for h in ins],
                                           [h.array for h in outs], reqs),
                    *changes, close=True)
        finally:
            stop()
        assert [home.state() for home in free] == before, "kNullOp touched an array (I6)"
        if done:
            assert all(chunk.writes > writes for chunk, writes in counters), "writes were not told"
            REACHED["operator on native"] += any(t.key.library == "native" for t in told)
            REACHED["operator in numpy"] += any(t.key.library == "numpy" for t in told)
            REACHED["operators"] += 1


def _is_tame(value: Array) -> bool:
    """No NaN, nothing huge, and nothing so small that a subnormal is near."""
    size = np.abs(value)
    return bool(((size == 0) | ((size > SMALLEST) & (size < LARGEST))).all())


def _count(ins: list[Held], outs: list[Held], reqs: list[Req]) -> None:
    REACHED["one array twice"] += len(ins) > 1 and ins[0].array is ins[1].array
    for out, req in zip(outs, reqs, strict=True):
        if not req:
            REACHED["operator not asked"] += 1
            continue
        REACHED[req.name] += 1
        same = [held for held in ins if held.home is out.home and held.start == out.start
                and held.array.nbytes == out.array.nbytes]
        REACHED["operator in place"] += bool(same)
        REACHED["output overlaps an input"] += any(h.overlaps(out) for h in ins if h not in same)
        REACHED["output with a stale layout"] += out.array._reuse and (
            out.array.is_special and not out.home.known.any())
        REACHED["output exported"] += bool(out.home.exports)
        REACHED["input read by another"] += any(held.home.readers for held in ins)
