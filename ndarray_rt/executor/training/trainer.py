"""TrainingRuns: steps of training as one call. Knows no operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import config
from ..._array.copy import place_of
from ..._array.ndarray import NDArray
from ..._array.req import Req
from ...capture.replay import Captured, Feed
from ...errors import MXNetError, NameMismatch, ParameterError, TypeMismatch
from ..bound_arrays import BoundArrays
from ..checks import check_list, check_mapping, check_names
from ..program.program import may_capture
from ..values import copy_value, head_gradients
from .update import Trained, Update, zero_states

if TYPE_CHECKING:
    from ...symbol.symbol import Symbol
    from ..memory.workspace import Workspace
    from ..program.bound_graph import BoundGraph
    from ..program.program import Program, Watch


class Chain(NamedTuple):
    """The recordings of one whole step, which may follow each other while the epoch is this:
    forward, backward and, where there is one, the update."""

    update: Update | None
    parts: list[Captured]
    epoch: int


class TrainingRuns(BoundArrays):
    """What an executor that computes gradients can do with them."""

    _symbol: Symbol
    _work: Workspace
    _number: int
    _monitor: Watch | None
    _full: Program | None
    _head_grads: Mapping[int, NDArray]
    _backward_repeats: bool
    _ran: bool | None
    _is_spent: bool
    _is_running: bool
    _ready: Captured | None
    # a step that may be replayed as it is; the last run of the full program was such a step, or
    # its forward
    _chain: Chain | None
    # a forward of that chain which was replayed, and of which Python does not know yet where it
    # left what it wrote
    _left: Captured | None
    # for the gradient of the only output
    _head_feed: Feed | None
    # gradients that are zeros, and the changes that their memory had then
    _zeroed: dict[str, int]

    if TYPE_CHECKING:
        def _copy_inputs(self, given: Mapping[str, Any]) -> None: ...
        def _run_forward(self, is_train: bool, kept: bool = False) -> None: ...
        def _full_program(self) -> Program: ...
        def _bound_graph(self) -> BoundGraph: ...

    def _forward_fed(self, feed: Feed) -> bool:
        """`_forward_kept(True)` behind the copies of `feed`, if it can be replayed; else False."""
        work = self._work
        if self._chain is None or work.lock._is_owned():
            return False
        with work.lock:
            if not self._replay_forward(feed):
                return False
            self._ran = True
        return True

    def _forward_kept(self, is_train: bool) -> None:
        """`forward` of the graph as it was bound, in either mode: backward may follow."""
        self._work.refuse_own_run()
        with self._work.lock:
            if not (is_train and self._replay_forward()):
                with self._account:
                    self._run_forward(is_train, kept=True)
            self._ran = True

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Computes the gradients of the last `forward` into the bound arrays.

        `out_grads`: one array, or a list with one an output; loss operators need none.
        MXNetError behind a forward that did not finish, and a second time after one where the
        memory plan lets backward take over memory of forward's. An inference run keeps nothing for
        backward: it is done again, as the graph was bound, with what the inputs hold now. So it is
        where there was no forward at all.
        """
        if not self._requests:
            return
        self._may_run_backward()
        self._work.refuse_own_run()
        with self._work.lock, self._account:
            self._take_head_grads(out_grads)
            if not self._ran:
                # its gradients are those of inference
                self._run_forward(False, kept=True)
                self._ran, is_train = True, False
            self._run_backward(bool(is_train))

    def _may_run_backward(self) -> None:
        """MXNetError where memory does not hold what a forward left for backward."""
        if self._ran is None:
            raise MXNetError("backward needs a forward before it: the last one did not finish, or "
                             "its results were given up (explain, tune)")
        if not self._ran:
            return
        if self._work.last != self._number:
            raise MXNetError("backward needs a forward(is_train=True) right before it: an executor "
                             "that shares this one's memory ran in between")
        if self._is_spent:
            raise MXNetError("backward a second time after one forward: the first one took over "
                             "memory of forward's; call forward(is_train=True) again, or bind with "
                             "NDRT_PLAN_MEMORY=0")

    def _take_head_grads(self, out_grads: Any) -> None:
        nothing = out_grads is None or (isinstance(out_grads, list) and not out_grads)
        if nothing and not self._head_grads:
            return
        given = head_gradients(out_grads, list(self._head_grads), self._symbol.list_outputs())
        for i, array in self._head_grads.items():
            copy_value(given[i], array, f"out_grads[{i}]")

    def _run_backward(self, is_train: bool) -> None:
        if is_train and self._replay_backward():
            return
        program = self._full_program()
        if self._left is not None:
            self._left.leave()
        self._chain = self._left = None
        self._clear_unused()
        # a backward that stops half-way has used up some of what it reads, too
        self._is_spent = not self._backward_repeats
        self._is_running = True
        try:
            program.run_backward(is_train, self._monitor)
        finally:
            self._is_running = False
        if is_train:
            self._chain = self._make_chain(None)

    def _replay_forward(self, feed: Feed | None = None) -> bool:
        """Replays the forward of a step that was replayed before; False, and nothing is done, where
        that can not be."""
        chain = self._chain
        if chain is None or chain.epoch != config.epoch:
            return False
        self._chain = self._left = self._ready = None
        self._ran, self._is_spent = None, False
        self._work.last = self._number
        if not self._replay(chain.parts[0], feed):
            return False
        self._chain, self._left = chain, chain.parts[0]
        return True

    def _replay_backward(self, feed: Feed | None = None) -> bool:
        """Replays backward behind a forward that was replayed; False, and nothing is done, where
        that can not be."""
        chain, left = self._chain, self._left
        if left is None or chain is None or chain.epoch != config.epoch:
            return False
        self._chain = self._left = None
        self._clear_unused()
        self._is_spent = not self._backward_repeats
        if self._replay(chain.parts[1], feed):
            self._chain = chain
            return True
        self._left, self._is_spent = left, False
        return False

    def _backward_again(self, out_grad: NDArray) -> bool:
        """`backward` with the gradient of the only output, behind a forward that was replayed;
        False where it is to be called."""
        work = self._work
        if (self._left is None or self._is_spent or work.last != self._number
                or work.lock._is_owned()):
            return False
        with work.lock:
            feed = self._head_feed
            if feed is None:
                feed = self._head_feed = Feed(list(self._head_grads.values()))
            if feed.count:
                feed.give(0, out_grad)
            return self._replay_backward(feed)

    def _replay(self, part: Captured, feed: Feed | None = None) -> bool:
        """`Captured.replay` of a part of a step."""
        self._is_running = True
        try:
            return part.replay(feed)
        finally:
            self._is_running = False

    def bind_update(self, op_name: str, states: Mapping[str, Any] | None = None, *,
                    names: Iterable[str] | None = None,
                    lr_mult: Mapping[str, float] | None = None,
                    wd_mult: Mapping[str, float] | None = None, **numbers: Any) -> Update:
        """A step of an optimizer for the arguments `names`, or for all that have a gradient.

        `op_name` is an update operator such as "adam_update", `numbers` are its parameters.
        `states` are its arrays by argument, in the operator's order, zeros where there are none.
        `lr_mult` and `wd_mult` are factors by argument. MXNetError where no gradients are wanted,
        NameMismatch for an argument without one, ShapeError and TypeMismatch for arrays that do not
        fit, TypeMismatch for names that are no list, states that are no dict of lists, and factors
        that are no numbers, ParameterError for a parameter that is wrong.
        """
        self._need_gradients("bind_update")
        given = check_mapping("bind_update: states", states)
        chosen = check_names("bind_update: names", self._requests if names is None else names)
        for what, known, keys in (("names", self._requests, chosen), ("states", chosen, given)):
            for name in keys:
                if name not in known:
                    raise NameMismatch(f"bind_update: {what} has {name!r}, which is no argument "
                                       f"with a gradient; there are: {', '.join(known)}")
        kept = _state_lists(given)
        trained = []
        for name in dict.fromkeys(chosen):
            weight, grad = self.arg_dict[name], self.grad_dict[name]
            assert grad is not None
            trained.append(Trained(
                name, weight, grad,
                kept[name] if name in kept else zero_states(op_name, weight)))
        return Update(op_name, trained, numbers, lr_mult, wd_mult, self._work, self._session)

    def train_step(self, update: Update | None = None, *, out_grads: Any = None,
                   **inputs: Any) -> list[NDArray]:
        """forward(is_train=True), backward and `update` in one call; gives the outputs.

        `inputs` are copied into the arguments of those names first; `out_grads` as for backward.
        Once all three are recorded they are three native calls. MXNetError without gradients,
        TypeMismatch for an update that is not of `bind_update`, ParameterError for one of another
        executor, unless both are bound to the same weights and gradients.
        """
        self._need_gradients("train_step")
        chain = self._chain
        # the one of the chain was checked before its first step
        if update is not None and (chain is None or chain.update is not update):
            self._check_update(update)
        self._work.refuse_own_run()
        with self._work.lock, self._account:
            if inputs:
                self._copy_inputs(inputs)
            if self._head_grads or out_grads is not None:
                self._take_head_grads(out_grads)
            chain, done = self._chain, 0
            if chain is not None and self._may_run(chain, update):
                self._clear_unused()
                done = self._run_chain(chain)
                if done == len(chain.parts):
                    return self._outputs[:]
            if done == 0:
                self._run_forward(True)
                self._ran = True
            if done < 2:
                self._run_backward(True)
            if update is not None:
                update.run()
            self._chain = self._make_chain(update)
        return self._outputs[:]

    def _need_gradients(self, what: str) -> None:
        if not self._requests:
            raise MXNetError(f"{what} needs gradients: bind with grad_req 'write' or 'add'")

    def _check_update(self, update: Any) -> None:
        """TypeMismatch for what is no update, ParameterError for one of other arrays."""
        if not isinstance(update, Update):
            raise TypeMismatch(f"train_step: update got a {type(update).__name__}, expected what "
                               "bind_update returned, or None")
        weights = {place_of(array) for array in self.arg_dict.values()}
        grads = {place_of(grad) for grad in self.grad_dict.values() if grad is not None}
        for one in update.trained:
            if place_of(one.weight) not in weights or place_of(one.grad) not in grads:
                raise ParameterError("train_step: update got one of another executor, whose "
                                     f"{one.name!r} or its gradient is no array of this one; "
                                     "expected what this executor's bind_update returned, or None")

    def _clear_unused(self) -> None:
        """Zeros for arguments that no output depends on, where they are not there already."""
        for name in self._bound_graph().zero_grads:
            grad = self.grad_dict[name]
            if self._requests[name] == Req.kAddTo or grad is None:
                continue
            chunk = grad._chunk
            if self._zeroed.get(name) != chunk.changes or chunk.native.writable_pins:
                copy_value(np.zeros(grad.shape, grad.dtype), grad, name)
                self._zeroed[name] = chunk.changes

    def _may_run(self, chain: Chain, update: Update | None) -> bool:
        """Nothing that the native guards do not see has changed."""
        return (chain.epoch == config.epoch and chain.update is update
                and (update is None or update.captured is chain.parts[-1]))

    def _make_chain(self, update: Update | None) -> Chain | None:
        """The recordings of the step that just ran, if all of it is recorded."""
        epoch = config.epoch
        program = self._full
        if program is None or self._monitor is not None or not may_capture():
            return None
        parts = [program.forward_capture(True).captured, program.backward_capture().captured]
        if update is not None:
            parts.append(update.captured)
        found = [part for part in parts if part is not None]
        return Chain(update, found, epoch) if len(found) == len(parts) else None

    def _run_chain(self, chain: Chain) -> int:
        """Replays a step; says how many of its parts were done before a guard did not hold.

        Of the program's own memory Python goes on saying what holds behind backward: that is true
        again when all is done, and what stops in between is followed by a forward, which
        reads nothing there.
        """
        self._chain = self._left = None
        self._ran, self._is_spent = None, False
        self._work.last = self._number
        for done, part in enumerate(chain.parts):
            if not self._replay(part):
                return self._stopped(chain, done)
        self._ran, self._is_spent = True, not self._backward_repeats
        self._chain = chain
        return len(chain.parts)

    def _stopped(self, chain: Chain, done: int) -> int:
        """What is there is to be gone on with step by step."""
        if done:
            chain.parts[done - 1].leave()
            self._ran = True
            self._is_spent = done > 1 and not self._backward_repeats
        return done


def _state_lists(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What an optimizer keeps, by argument; without those of None, which get zeros."""
    return {name: [kept] if isinstance(kept, NDArray)
            else check_list(f"bind_update: states[{name!r}]", kept, "a list of arrays")
            for name, kept in given.items() if kept is not None}
