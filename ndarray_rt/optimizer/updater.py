"""Updater: an optimizer with the states of all weights, as kvstores and trainers call it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

from ..dtypes import is_half
from ..executor.session import Session
from ..executor.training.update import Trained, Update
from ..nd import NDArray
from ..value_key import values_key
from .base import Optimizer, Step, SteppedOptimizer
from .states import dump_states, load_states

# recorded updates that are kept: groups of weights whose numbers were equal
MAX_RECORDED = 16


class _Settled:
    """The weights of the last call, and the recorded updates that stepped them.

    As long as the next call is given the same arrays, nothing of that is to be found out again:
    weights with the same rate, decay and count of updates have the same numbers.
    """

    def __init__(self, optimizer: SteppedOptimizer, indices: list[Any], grads: Sequence[NDArray],
                 weights: Sequence[NDArray], states: list[Any],
                 groups: list[tuple[list[int], Update]]) -> None:
        self.optimizer = optimizer
        self.multi_precision = optimizer.multi_precision
        self.indices = indices
        self.arrays = [*weights, *grads]
        self.states = states
        self.groups = groups
        # the caller's own, where they are tuples
        self.given: tuple[Any, ...] = (None, None, None)
        # what rates and decays follow from, beside those of the optimizer, where it has no rule of
        # its own; and by what they are multiplied for each group
        self.factors = optimizer.factors_of(indices) if _has_plain_rates(type(optimizer)) else None
        first = [indices[places[0]] for places, _ in groups]
        self.multiples = list(zip(
            optimizer._multiplied(1.0, first, optimizer.lr_mult, "lr_mult"),
            optimizer._multiplied(1.0, first, optimizer.wd_mult, "wd_mult"), strict=True))

    def is_given(self, optimizer: Optimizer, given: tuple[Any, ...], states: dict[Any, Any],
                 ) -> bool:
        """A call with the very tuples of the last one, which stay as they are, is like it."""
        return (all(map(is_, given, self.given)) and optimizer is self.optimizer
                and optimizer.multi_precision == self.multi_precision
                and all(map(is_, map(states.get, self.indices), self.states)))

    def note_given(self, *given: Any) -> None:
        """What a call like this one was given."""
        if all(isinstance(one, tuple) for one in given):
            self.given = given

    def is_of(self, optimizer: Optimizer, indices: list[Any], grads: Sequence[NDArray],
              weights: Sequence[NDArray], states: dict[Any, Any]) -> bool:
        """A call with these is like the last one."""
        if (optimizer is not self.optimizer or indices != self.indices
                or optimizer.multi_precision != self.multi_precision
                or not all(map(is_, map(states.get, indices), self.states))):
            return False
        now = [*weights, *grads]
        return len(now) == len(self.arrays) and all(map(is_, now, self.arrays))

    def marks(self) -> list[tuple[float, float, int]] | None:
        """Rate, decay and count of updates of each group; None where its weights differ in them."""
        optimizer, indices = self.optimizer, self.indices
        counts = list(map(optimizer._index_update_count.__getitem__, indices))
        if (self.factors is not None and counts.count(counts[0]) == len(counts)
                and optimizer.factors_of(indices) == self.factors):
            lr, wd = optimizer.learning_rate, optimizer.wd
            return [(lr * by, wd * also, counts[0]) for by, also in self.multiples]
        all_marks = list(zip(optimizer._get_lrs(indices), optimizer._get_wds(indices), counts,
                             strict=True))
        for places, _ in self.groups:
            if any(all_marks[place] != all_marks[places[0]] for place in places):
                return None
        return [all_marks[places[0]] for places, _ in self.groups]


class Updater:
    """Steps weights: `updater(index, grad, weight)`, or lists of equal length.

    `states` are what the optimizer keeps, by index; they are made at a weight's first step. Lists
    of weights are stepped in one native call where the optimizer's step is one operator
    (`Optimizer.step_of`): it is recorded at the second step and replayed from then on, with the
    same bits as weight by weight. Source: MXNet's Updater.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, bool] = {}
        self.aggregate_updates = optimizer.aggregate_num > 0
        self._recorded: dict[tuple[Any, ...], Update] = {}
        self._settled: _Settled | None = None
        self._session = Session()

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        settled = self._settled
        if settled is not None and settled.is_given(self.optimizer, (index, grad, weight),
                                                    self.states):
            self.optimizer._set_current_context(weight[0].context.device_id)
            self._step_settled(settled)
            return
        if not isinstance(index, (list, tuple)):
            index, grad, weight = [index], [grad], [weight]
        indices = [i.decode() if isinstance(i, bytes) else i for i in index]
        if weight:
            self.optimizer._set_current_context(weight[0].context.device_id)
        if settled is not None:
            if settled.is_of(self.optimizer, indices, grad, weight, self.states):
                settled.note_given(index, grad, weight)
                self._step_settled(settled)
                return
            self._settled = None
        for i, w in zip(indices, weight, strict=True):
            self._settle(i, w)
        if len(indices) > 1 and self._step_recorded(indices, weight, grad):
            if self._settled is not None:
                self._settled.note_given(index, grad, weight)
            return
        if not self.aggregate_updates:
            for i, w, g in zip(indices, weight, grad, strict=True):
                self.optimizer.update_multi_precision(i, w, g, self.states[i])
            return
        of_dtypes: dict[Any, list[tuple[Any, NDArray, NDArray]]] = {}
        for i, w, g in zip(indices, weight, grad, strict=True):
            of_dtypes.setdefault(w.dtype, []).append((i, w, g))
        size = self.optimizer.aggregate_num
        for of_one in of_dtypes.values():
            for first in range(0, len(of_one), size):
                some, weights, grads = map(list, zip(*of_one[first:first + size], strict=True))
                self.optimizer.update_multi_precision(some, weights, grads,
                                                      [self.states[i] for i in some])

    def _settle(self, index: Any, weight: NDArray) -> None:
        """The state of a weight, made anew or brought to the weight's context."""
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        elif not self.states_synced[index]:
            self.states[index] = self.sync_state_context(self.states[index], weight.context)
        self.states_synced[index] = True

    # ---- many weights in one native call --------------------------------------------------------

    def _step_recorded(self, indices: list[Any], weights: Sequence[NDArray],
                       grads: Sequence[NDArray]) -> bool:
        """Steps all of them in recorded calls; False, and nothing is done, where that can not be.

        Weights with the same numbers are one call.
        """
        optimizer = self.optimizer
        if not isinstance(optimizer, SteppedOptimizer) or not _decides_alone(type(optimizer)):
            return False
        if len(set(indices)) != len(indices):
            return False
        if (optimizer.multi_precision and not optimizer.steps_masters
                and any(is_half(w.dtype) for w in weights)):
            return False
        optimizer._update_count(indices)
        groups = self._step_groups(indices, weights, grads)
        # what states hold of arrays may change where they are lists
        if not any(isinstance(self.states[i], list) for i in indices):
            self._settled = _Settled(optimizer, indices, grads, weights,
                                     [self.states[i] for i in indices], groups)
        return True

    def _step_groups(self, indices: list[Any], weights: Sequence[NDArray],
                     grads: Sequence[NDArray]) -> list[tuple[list[int], Update]]:
        """Steps weights whose updates are counted; (their places, what stepped them)."""
        optimizer = self.optimizer
        assert isinstance(optimizer, SteppedOptimizer)
        lrs, wds = optimizer._get_lrs(indices), optimizer._get_wds(indices)
        groups: dict[tuple[Any, ...], list[tuple[int, Step]]] = {}
        for place, (i, lr, wd) in enumerate(zip(indices, lrs, wds, strict=True)):
            step = optimizer.step_of(i, lr, wd, self.states[i])
            key = step.operator, values_key(step.numbers.items())
            groups.setdefault(key, []).append((place, step))
        made = []
        for members in groups.values():
            update = self._update_of(indices, weights, grads, members)
            update(**members[0][1].numbers)
            made.append(([place for place, _ in members], update))
        return made

    def _step_settled(self, settled: _Settled) -> None:
        """Steps the weights of the last call once more."""
        optimizer, indices = settled.optimizer, settled.indices
        optimizer._update_count(indices)
        steps = []
        for mark, (places, update) in zip(settled.marks() or (), settled.groups, strict=False):
            index = indices[places[0]]
            step = optimizer.step_of(index, mark[0], mark[1], self.states[index])
            if step.operator != update.op.name or step.numbers.keys() != update.given.keys():
                break
            steps.append((update, step))
        if len(steps) == len(settled.groups):
            for update, step in steps:
                update.step(step.numbers)
            return
        self._settled = None
        size = len(indices)
        self._step_groups(indices, settled.arrays[:size], settled.arrays[size:])

    def _update_of(self, indices: list[Any], weights: Sequence[NDArray],
                   grads: Sequence[NDArray], members: list[tuple[int, Step]]) -> Update:
        """The recorded update of these weights, gradients and states."""
        operator = members[0][1].operator
        numbers = members[0][1].numbers
        # names of numbers too: one that is left out has its default again
        key = operator, tuple(numbers), tuple(indices[place] for place, _ in members)
        found = self._recorded.pop(key, None)
        if found is None or not _is_of(found, weights, grads, members):
            trained = [Trained(str(indices[place]), weights[place], grads[place], step.states)
                       for place, step in members]
            found = Update(operator, trained, numbers, session=self._session)
        self._recorded[key] = found
        while len(self._recorded) > MAX_RECORDED:
            del self._recorded[next(iter(self._recorded))]
        return found

    # ---- states ---------------------------------------------------------------------------------

    def sync_state_context(self, state: Any, context: Any) -> Any:
        """The state with all its arrays on `context`."""
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, (tuple, list)):
            synced = [self.sync_state_context(one, context) for one in state]
            return tuple(synced) if isinstance(state, tuple) else synced
        return state

    def set_states(self, states: bytes) -> None:
        """Takes what `get_states` gave, or what MXNet's own Updater pickled.

        Pickled bytes are read with arrays, plain containers, registered optimizers and schedules
        alone. Raises ParameterError for anything else.
        """
        found = load_states(states)
        if isinstance(found, tuple) and len(found) == 2:
            self.states, self.optimizer = found
            self.aggregate_updates = self.optimizer.aggregate_num > 0
        else:
            self.states = found
        self.states_synced = dict.fromkeys(self.states, False)
        self._recorded.clear()
        self._settled = None

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """All states as bytes, with the optimizer itself where `dump_optimizer` is true.

        No pickle: text that says how things are nested, and arrays as `nd.save` writes them.
        """
        return dump_states((self.states, self.optimizer) if dump_optimizer else self.states)


def _decides_alone(kind: type[Optimizer]) -> bool:
    """No subclass replaces `update` above the class that defines `step_of`."""
    order = kind.__mro__

    def place(name: str) -> int:
        return next(i for i, one in enumerate(order) if name in vars(one))

    return min(place("update"), place("update_multi_precision")) >= place("step_of")


def _has_plain_rates(kind: type[Optimizer]) -> bool:
    """Rates and decays are those of `Optimizer`."""
    return all(getattr(kind, name) is getattr(Optimizer, name)
               for name in ("_get_lrs", "_get_wds", "_multiplied", "factors_of"))


def _is_of(update: Update, weights: Sequence[NDArray], grads: Sequence[NDArray],
           members: list[tuple[int, Step]]) -> bool:
    return all(
        one.weight is weights[place] and one.grad is grads[place]
        and len(one.states) == len(step.states)
        and all(a is b for a, b in zip(one.states, step.states, strict=True))
        for one, (place, step) in zip(update.trained, members, strict=True))


def get_updater(optimizer: Optimizer) -> Updater:
    """An Updater of this optimizer."""
    return Updater(optimizer)
