"""Calls of a CachedOp on the tape: what they keep for their gradients, and these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._array.create import full
from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..dtypes import DType
from ..errors import MXNetError
from ..op.random_state import RandomState
from ..symbol.infer import infer_graph_shapes
from ..symbol.node import Entry, topological
from . import backward as tape_backward
from .cached_instance import Group, Instance, copy_value, same_place
from .call import drawing_from, infer_outputs
from .function import ArrayFacts, PythonCall
from .invoke import invoke, invoke_params
from .tape import STATE, Saved, SavedArrays, entry_of

if TYPE_CHECKING:
    from .cached_op import CachedOp
    from .settled_call import Settled

Stream = tuple[int, int]
# shape and dtype
Facts = tuple[tuple[int, ...], DType]


class Held:
    """An instance in use; released when this object is destroyed."""

    __slots__ = ("group", "instance")

    def __init__(self, group: Group, instance: Instance) -> None:
        self.group = group
        self.instance = instance

    def __del__(self) -> None:
        # takes no lock, as it may run in any thread and at any time
        instance = self.instance
        if instance.notes is not None:
            instance.notes.close()
        self.group.idle.append(instance)


class CachedCall(PythonCall):
    """One recorded call. Holds the instance that ran it, with everything that forward left
    there."""

    def __init__(self, op: CachedOp, held: Held, drawn: Stream | None, facts: list[Facts],
                 entries: list[Entry] | list[Entry | None], kind: Settled | None = None) -> None:
        """`facts` and `entries` are those of the inputs, `kind` describes calls that may follow."""
        # the attributes of PythonCall, without calling its constructor
        self.name = op.name
        self.facts = facts
        self.kind = kind
        self._op = op
        self._held = held
        self._drawn = drawn
        self._is_spent = False
        self._entries = entries
        instance, read = held.instance, held.group.read
        # values bound by reference are checked for writes as the tape checks those that it keeps
        notes: SavedArrays | None = instance.notes
        if notes is None:
            notes = instance.notes = SavedArrays([array for _, array in held.group.kept])
        notes.note()
        self._notes = notes
        self._states = {i: self._writes(i) for i in read} if read else {}

    @property
    def inlined(self) -> Sequence[Entry] | None:
        return self._op.inlined

    def backward(self, out_grads: Sequence[NDArray], outs: Sequence[NDArray],
                 reqs: Sequence[Req]) -> None:
        group, instance = self._held.group, self._held.instance
        if instance.refusal is not None:
            raise instance.refusal
        moved = self._moved()
        # the tape wants the gradient elsewhere than where it was bound: copied from now on
        elsewhere = {i for i, target in group.targets.items()
                     if not same_place(target.array, outs[i]) or reqs[i] != target.req}
        if elsewhere:
            self._op.own_gradients(elsewhere)
        if STATE.recording or elsewhere or moved:
            self._run_eagerly(out_grads, outs, reqs)
            return
        if self._is_spent:
            self._refuse_other_states()
            if instance.draws is not None:
                assert self._drawn is not None
                instance.draws.stream.set_state(self._drawn)
            instance.executor._trainer.forward_kept(group.is_train)
        was_true = self._states_are_true()
        self._is_spent = not group.repeats
        instance.executor.backward(out_grads, is_train=STATE.training)
        if was_true:
            self._states = {i: self._writes(i) for i in self._states}
        for i, (out, req) in enumerate(zip(outs, reqs, strict=True)):
            if req != Req.kNullOp and i not in group.targets:
                made = instance.grads.get(i)
                if made is not out:
                    _give(made, out, req)

    def replay_backward(self, out_grad: NDArray) -> bool:
        held = self._held
        if self._is_spent or not self._notes.is_unwritten():
            return False
        if not held.instance.executor._trainer.backward_again(out_grad):
            return False
        self._is_spent = not held.group.repeats
        return True

    def own_gradient(self, position: int) -> NDArray | None:
        if position in self._held.group.targets:
            return None
        return self._held.instance.grads.get(position)

    def ones(self, position: int, like: ArrayFacts) -> NDArray:
        kept = self._held.instance.ones
        if position not in kept:
            kept[position] = super().ones(position, like)
        return kept[position]

    # ---- inputs --------------------------------------------------------------------------------

    def _writes(self, i: int) -> int:
        return self._held.instance.inputs[i]._chunk.writes

    def _saved(self) -> dict[int, Saved]:
        """The values of inputs bound by reference."""
        return {i: one for (i, _), one in zip(self._held.group.kept, self._notes.saved(),
                                              strict=True)}

    def _moved(self) -> list[int]:
        """Inputs whose values are no longer where the instance reads them; MXNetError if one of the
        values is lost."""
        if self._notes.is_unwritten():
            return []
        saved, group = self._saved(), self._held.group
        return [i for i in (saved if self._is_spent else group.needed)
                if i in saved and not self._is_there(i, saved[i])]

    def _is_there(self, i: int, saved: Saved) -> bool:
        name = self._held.group.names[i]
        value = saved.get(f"{self.name}: input {name!r}")
        return value._chunk is self._held.instance.inputs[i]._chunk

    def _states_are_true(self) -> bool:
        return all(self._writes(i) == writes for i, writes in self._states.items())

    def _refuse_other_states(self) -> None:
        for i, writes in self._states.items():
            if self._writes(i) != writes:
                raise MXNetError(
                    f"{self.name}: forward is to be computed again for this backward, and the aux "
                    f"state {self._held.group.names[i]!r} was written to since")

    # ---- operator by operator ------------------------------------------------------------------

    def _run_eagerly(self, out_grads: Sequence[NDArray], outs: Sequence[NDArray],
                     reqs: Sequence[Req]) -> None:
        """Gradients by the tape, from a second forward, so that they can be differentiated too."""
        self._refuse_other_states()
        group = self._held.group
        keeps_graph, mode = STATE.recording, STATE.training
        wanted = [i for i, req in enumerate(reqs) if req != Req.kNullOp]
        STATE.recording, STATE.training = True, group.is_train
        try:
            # one copy per input: an array given twice has a gradient at each position
            inputs = [self._value(i) for i in range(len(group.bound))]
            for i in wanted:
                if i not in group.aux:
                    inputs[i] = invoke("_copy", (inputs[i],), {})
            results = self._forward(inputs)
            heads = [(y, dy) for y, dy in zip(results, out_grads, strict=True)
                     if entry_of(y) is not None]
            order = set(topological([e for y, _ in heads if (e := entry_of(y)) is not None]))
            variables = {i: inputs[i] for i in wanted
                         if (e := entry_of(inputs[i])) is not None and e.node in order}
            made = tape_backward.grad([y for y, _ in heads], list(variables.values()),
                                      [dy for _, dy in heads], True, keeps_graph, mode,
                                      ) if variables else []
            grads = dict(zip(variables, made, strict=True))
            STATE.recording = keeps_graph
            for i in wanted:
                if keeps_graph and i in grads:
                    grads[i].copyto(outs[i])
                else:
                    _give(grads.get(i), outs[i], reqs[i])
        finally:
            STATE.recording, STATE.training = keeps_graph, mode

    def _value(self, i: int) -> NDArray:
        """An input with its former value and its place on the tape."""
        saved = self._saved().get(i)
        if saved is not None:
            made = saved.get(f"{self.name}: input {self._held.group.names[i]!r}").detach()
        elif i in self._held.group.aux:
            made = self._held.instance.inputs[i].detach()
        else:
            # later calls write to the instance's own array
            made = self._held.instance.inputs[i].copy()
        made._entry = self._entries[i] if self._held.group.bound[i].wanted else None
        return made

    def _forward(self, inputs: Sequence[NDArray]) -> list[NDArray]:
        """Runs the symbol's operators one by one, with the random numbers of the call."""
        group, stream = self._held.group, RandomState()
        if self._drawn is not None:
            stream.set_state(self._drawn)
        given = dict(zip(group.names, inputs, strict=True))
        values: dict[Entry, NDArray] = {}
        order = topological(group.symbol.entries)
        # an operator without inputs may get its shape from readers, such as an RNN's first state
        shapes = infer_graph_shapes(group.symbol.entries, {n: x.shape for n, x in given.items()}
                                    ) if any(n.op and not n.inputs for n in order) else {}
        with drawing_from(stream):
            for node in order:
                if node.op is None or node.params is None:
                    values[Entry(node, 0)] = given[node.name]
                    continue
                shape, out = shapes.get(Entry(node, 0)), None
                if not node.inputs and shape is not None:
                    (_, dtype), = infer_outputs(node.op, node.params, (), node.name)
                    out = new_array(shape, dtype, group.ctx)
                made = invoke_params(node.op, node.params, [values[e] for e in node.inputs],
                                     out=out, name=node.name, ctx=group.ctx)
                made = [made] if isinstance(made, NDArray) else made
                values.update(zip(node.outputs, made, strict=False))
        return [values[entry] for entry in group.symbol.entries]


def _give(grad: NDArray | None, out: NDArray, req: Req) -> None:
    """Stores a gradient as the tape requests; None is zero."""
    if grad is None:
        if req != Req.kAddTo:
            full(out.shape, 0, out=out)
        return
    copy_value(grad, out, add=req == Req.kAddTo)
