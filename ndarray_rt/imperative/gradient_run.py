"""Runs the program of a gradient on one tape. Makes no program."""

from __future__ import annotations

from collections.abc import Sequence

from .._array.access import Access
from .._array.copy import copy_into
from .._array.create import full
from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..context import Context, current_context
from ..errors import NdrtError, ShapeError
from ..symbol.node import Entry, Node
from .call import infer_outputs, run_op
from .function import FunctionParams
from .function import run_backward as run_python
from .gradient_call import Given, Wish, arrays_of, run
from .gradient_program import From, Program, Source, Step
from .tape import GradState, TapeNode, TapeVariable, needs_record, record

_STEP, _HEAD, _TAPE, _SHAPE = From


class Run:
    """One execution of a program, which stores results in their targets.

    `order` are the nodes of the tape, `given` the gradients of heads. With `create_graph` it is
    recorded, and targets get the recorded arrays.
    """

    def __init__(self, program: Program, order: Sequence[Node], given: Sequence[NDArray | None],
                 targets: Sequence[GradState], train_mode: bool,
                 create_graph: bool = False) -> None:
        self._program = program
        self._order = order
        self._given = given
        self._targets = targets
        self._train_mode = train_mode
        self._create_graph = create_graph
        self._values: list[NDArray | None] = [None] * program.size

    def execute(self) -> None:
        # targets that do not fit what was computed for them
        missed: set[int] = set()
        for step in self._program.steps:
            self._execute(step, missed)
        given: set[GradState] = set()
        program = self._program
        for i, (source, state, is_there) in enumerate(zip(
                program.results, self._targets, program.targets, strict=True)):
            again = state in given
            given.add(state)
            if source is None:
                if not again:
                    _write_zero(state)
            elif not is_there or i in missed:
                self._deliver(source, state, again)

    def _execute(self, step: Step, missed: set[int]) -> None:
        call, reader, is_python, sources, places, wishes, goals, last = step
        values = self._values
        ins: list[Given] = []
        for source in sources:
            kind, place, _ = source
            x = values[place] if kind is _STEP else self._read(source, reader)
            ins.append(x)  # type: ignore[arg-type]
        adds = 0
        if goals:
            asked = list(wishes)
            for output, target in goals:
                state = self._targets[target]
                asked[output] = state.array
                if state.req is Req.kAddTo:
                    adds |= 1 << output
            wishes = tuple(asked)
        if is_python or self._create_graph:
            made = self._run_openly(step, ins, wishes, adds)
        else:
            made = run(call, tuple(ins), wishes, adds, _context_of(ins), self._train_mode)
        for place, out in zip(places, made, strict=True):
            if place >= 0:
                values[place] = out
        for output, target in goals:
            if made[output] is not wishes[output]:
                missed.add(target)
        for place in last:
            values[place] = None

    def _run_openly(self, step: Step, given: Sequence[Given], wishes: Sequence[Wish],
                    adds: int) -> list[NDArray | None]:
        """One call with all arrays present, for Python code and for the tape."""
        op, params, _, name = step.call
        ins = arrays_of(given)
        if self._create_graph:
            for i, source in enumerate(step.sources):
                if source.kind in (_TAPE, _SHAPE):
                    ins[i] = ins[i].detach()
                    ins[i]._entry = Entry(self._order[source.place], source.output)
        outs: list[NDArray] = []
        reqs: list[Req] = []
        for i, (wish, (shape, dtype)) in enumerate(zip(
                wishes, infer_outputs(op, params, ins, name), strict=True)):
            if isinstance(wish, NDArray) and wish.shape == shape and wish.dtype == dtype:
                outs.append(wish)
                reqs.append(Req.kAddTo if adds >> i & 1 else Req.kWriteTo)
            else:
                outs.append(new_array(shape, dtype, ins[0].ctx if ins else None))
                reqs.append(Req.kNullOp if wish is None else Req.kWriteTo)
        if isinstance(params, FunctionParams):
            run_python(params, ins, outs, reqs, self._train_mode)
        else:
            run_op(op, params, ins, outs, reqs, name, self._train_mode)
            if self._create_graph and needs_record(ins):
                record(op, params, ins, outs, name)
        return [y if req else None for y, req in zip(outs, reqs, strict=True)]

    def _read(self, source: Source, reader: str) -> Given:
        """A value that no step computed: given, or on the tape."""
        kind, place, index = source
        if kind is _HEAD:
            given = self._given[place]
            assert given is not None
            return given
        node = self._order[place]
        assert isinstance(node, (TapeNode, TapeVariable))
        if kind is _SHAPE:
            return node.output_facts[index]
        saved = node.saved[index]
        if saved is None:
            raise NdrtError(f"{reader}: a value that the gradient reads was not kept")
        return saved.read(reader)

    def _deliver(self, source: Source, state: GradState, again: bool) -> None:
        """Stores a result that no step stored: a head's gradient, or one that is wanted twice.

        `again`: the same array was also a leaf with another value, whose gradient is stored
        already.
        """
        value = (self._values[source.place] if source.kind is _STEP
                 else self._read(source, "backward"))
        if isinstance(value, tuple):
            value, = arrays_of((value,))
        assert value is not None
        target = state.array
        if value.shape != target.shape:
            raise ShapeError(f"backward: a gradient of shape {value.shape} can not go to a "
                             f"gradient array of shape {target.shape}")
        if self._create_graph:
            if source.kind is _TAPE:
                value = value.detach()
                value._entry = Entry(self._order[source.place], source.output)
            state.array = value
            return
        with Access(read=(value,), written=(target,)) as stream:
            copy_into(value, target, stream, add=again or state.req == Req.kAddTo)


def _context_of(ins: Sequence[Given]) -> Context:
    """The context of the outputs: that of the first input."""
    if not ins:
        return current_context()
    first = ins[0]
    return first._ctx if isinstance(first, NDArray) else first[2]


def _write_zero(state: GradState) -> None:
    """Stores zeros: the heads do not depend on this leaf, or through zero gradients only."""
    if state.req == Req.kWriteTo:
        full(state.array.shape, 0, out=state.array)
