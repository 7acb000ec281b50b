"""Trainer: gradients of one executor, and steps of training as one call. Knows no operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._array.copy import place_of
from ..._array.ndarray import NDArray
from ..._array.req import Req
from ...capture.replay import Feed
from ...errors import MXNetError, NameMismatch, ParameterError, TypeMismatch
from ..bound import Bound
from ..checks import check_list, check_mapping, check_names
from ..runs import Chain, Runs
from ..session import Session
from ..values import copy_value, head_gradients
from .update import Trained, Update, zero_states


class Trainer:
    """Runs backward, and whole training steps, of an executor."""

    def __init__(self, bound: Bound, runs: Runs, session: Session) -> None:
        self._bound = bound
        self._runs = runs
        self._session = session
        self._head_grads = runs.training.head_grads
        # the array copied to the gradient of the only output
        self._head_feed: Feed | None = None
        # gradients that were set to zero, with the write counters of their memory at that time
        self._zeroed: dict[str, int] = {}

    # ---- forward ----------------------------------------------------------------------------

    def forward_fed(self, feed: Feed) -> bool:
        """Copies `feed` and replays `forward_kept(True)`; returns False if that is not possible."""
        work = self._runs.work
        if self._runs.chain is None or work.lock._is_owned():
            return False
        with work.lock:
            return self.replay_forward(feed)

    def forward_kept(self, is_train: bool) -> None:
        """`forward` of the graph as it was bound, in either mode; backward may follow."""
        runs = self._runs
        runs.work.refuse_own_run()
        with runs.work.lock:
            if not (is_train and self.replay_forward()):
                with runs.account:
                    runs.forward(is_train, kept=True)

    def replay_forward(self, feed: Feed | None = None) -> bool:
        """Replays the forward of a step that was replayed before. Returns False and does nothing if
        that is not possible. The caller holds the lock."""
        runs, chain = self._runs, self._runs.chain
        if chain is None:
            return False
        runs.forget_replays()
        runs.begin()
        if not runs.replay(chain.parts[0], feed):
            return False
        runs.chain, runs.left, runs.ran = chain, chain.parts[0], True
        return True

    # ---- backward ---------------------------------------------------------------------------

    def backward(self, out_grads: Any, is_train: bool) -> None:
        """`Executor.backward`."""
        if not self._bound.requests:
            return
        runs = self._runs
        self._may_run_backward()
        runs.work.refuse_own_run()
        with runs.work.lock, runs.account:
            self._take_head_grads(out_grads)
            if not runs.ran:
                # after inference, backward runs in inference mode too
                runs.forward(False, kept=True)
                is_train = False
            self.run_backward(is_train)

    def backward_again(self, out_grad: NDArray) -> bool:
        """`backward` with the gradient of the only output after a replayed forward; False if
        `backward` has to be called instead."""
        runs = self._runs
        work = runs.work
        if (runs.left is None or runs.is_spent or work.last != runs.number
                or work.lock._is_owned()):
            return False
        with work.lock:
            feed = self._head_feed
            if feed is None:
                feed = self._head_feed = Feed(list(self._head_grads.values()))
            if feed.count:
                feed.give(0, out_grad)
            return self._replay_backward(feed)

    def _may_run_backward(self) -> None:
        """MXNetError if memory does not hold what a forward left for backward."""
        runs = self._runs
        if runs.ran is None:
            raise MXNetError("backward needs a forward before it: the last one did not finish, or "
                             "its results were given up (explain, tune)")
        if not runs.ran:
            return
        if runs.work.last != runs.number:
            raise MXNetError("backward needs a forward(is_train=True) right before it: an executor "
                             "that shares this one's memory ran in between")
        if runs.is_spent:
            raise MXNetError("backward a second time after one forward: the first one took over "
                             "memory of forward's; call forward(is_train=True) again, or bind with "
                             "NDRT_PLAN_MEMORY=0")

    def _take_head_grads(self, out_grads: Any) -> None:
        nothing = out_grads is None or (isinstance(out_grads, list) and not out_grads)
        if nothing and not self._head_grads:
            return
        given = head_gradients(out_grads, list(self._head_grads), self._bound.symbol.list_outputs())
        for i, array in self._head_grads.items():
            copy_value(given[i], array, f"out_grads[{i}]")

    def run_backward(self, is_train: bool) -> None:
        """Backward of the last run; the caller holds the lock."""
        if is_train and self._replay_backward():
            return
        runs = self._runs
        program = runs.training_program()
        if runs.left is not None:
            runs.left.leave()
        runs.chain = runs.left = None
        self._clear_unused()
        # also if backward stops half-way, as it has then overwritten some of what it reads
        runs.is_spent = not runs.training.repeats
        runs.is_running = True
        try:
            program.run_backward(is_train, runs.monitor)
        finally:
            runs.is_running = False
        if is_train:
            runs.chain = self._make_chain(None)

    def _replay_backward(self, feed: Feed | None = None) -> bool:
        """Replays backward after a replayed forward. Returns False and does nothing if that is not
        possible."""
        runs = self._runs
        chain, left = runs.chain, runs.left
        if left is None or chain is None:
            return False
        runs.chain = runs.left = None
        self._clear_unused()
        runs.is_spent = not runs.training.repeats
        if runs.replay(chain.parts[1], feed):
            runs.chain = chain
            return True
        runs.left, runs.is_spent = left, False
        return False

    def _clear_unused(self) -> None:
        """Zeroes gradients of arguments that no output depends on, unless they are zero already."""
        for name in self._runs.training.graph().zero_grads:
            grad = self._bound.gradient(name)
            if self._bound.requests[name] == Req.kAddTo:
                continue
            chunk = grad._chunk
            if self._zeroed.get(name) != chunk.changes or chunk.native.writable_pins:
                copy_value(np.zeros(grad.shape, grad.dtype), grad, name)
                self._zeroed[name] = chunk.changes

    # ---- training steps ---------------------------------------------------------------------

    def bind_update(self, op_name: str, states: Any, names: Any, lr_mult: Any, wd_mult: Any,
                    numbers: Mapping[str, Any]) -> Update:
        """`Executor.bind_update`."""
        bound = self._bound
        self._need_gradients("bind_update")
        given = check_mapping("bind_update: states", states)
        chosen = check_names("bind_update: names", bound.requests if names is None else names)
        for what, known, keys in (("names", bound.requests, chosen), ("states", chosen, given)):
            for name in keys:
                if name not in known:
                    raise NameMismatch(f"bind_update: {what} has {name!r}, which is no argument "
                                       f"with a gradient; there are: {', '.join(known)}")
        kept = _state_lists(given)
        trained = []
        for name in dict.fromkeys(chosen):
            weight = bound.args[name]
            trained.append(Trained(
                name, weight, bound.gradient(name),
                kept[name] if name in kept else zero_states(op_name, weight)))
        return Update(op_name, trained, numbers, lr_mult, wd_mult, self._runs.work, self._session)

    def step(self, update: Update | None, out_grads: Any, inputs: Mapping[str, Any]) -> None:
        """`Executor.train_step`."""
        self._need_gradients("train_step")
        runs = self._runs
        chain = runs.chain
        # the update of a recorded step was checked before its first run
        if update is not None and (chain is None or chain.update is not update):
            self._check_update(update)
        runs.work.refuse_own_run()
        with runs.work.lock, runs.account:
            if inputs:
                runs.copy_inputs(inputs)
            if self._head_grads or out_grads is not None:
                self._take_head_grads(out_grads)
            chain, done = runs.chain, 0
            if chain is not None and self._may_run(chain, update):
                self._clear_unused()
                done = self._run_chain(chain)
                if done == len(chain.parts):
                    return
            if done == 0:
                runs.forward(True)
            if done < 2:
                self.run_backward(True)
            if update is not None:
                update.run()
            runs.chain = self._make_chain(update)

    def _need_gradients(self, what: str) -> None:
        if not self._bound.requests:
            raise MXNetError(f"{what} needs gradients: bind with grad_req 'write' or 'add'")

    def _check_update(self, update: Any) -> None:
        """TypeMismatch for anything but an update, ParameterError for one of other arrays."""
        if not isinstance(update, Update):
            raise TypeMismatch(f"train_step: update got a {type(update).__name__}, expected what "
                               "bind_update returned, or None")
        weights = {place_of(array) for array in self._bound.args.values()}
        grads = {place_of(grad) for grad in self._bound.grads.values() if grad is not None}
        for one in update.trained:
            if place_of(one.weight) not in weights or place_of(one.grad) not in grads:
                raise ParameterError("train_step: update got one of another executor, whose "
                                     f"{one.name!r} or its gradient is no array of this one; "
                                     "expected what this executor's bind_update returned, or None")

    def _may_run(self, chain: Chain, update: Update | None) -> bool:
        """Everything is unchanged that the native guards do not check."""
        return chain.update is update and (
            update is None or update.captured is chain.parts[-1])

    def _make_chain(self, update: Update | None) -> Chain | None:
        """The recordings of the step that just ran, if all of it is recorded."""
        program = self._runs.training.program
        if program is None or self._runs.monitor is not None:
            return None
        parts = [program.forward_capture(True).ready(), program.backward_capture().ready()]
        if update is not None:
            parts.append(update.captured)
        found = [part for part in parts if part is not None]
        return Chain(update, found) if len(found) == len(parts) else None

    def _run_chain(self, chain: Chain) -> int:
        """Replays a step; returns how many of its parts ran before a guard failed.

        Layouts of the program's own memory are not updated in Python: after a complete step they
        are again those after backward, which Python knows, and after an incomplete one a forward
        follows, which does not read that memory.
        """
        runs = self._runs
        runs.chain = runs.left = None
        runs.begin()
        for done, part in enumerate(chain.parts):
            if not runs.replay(part):
                return self._stopped(chain, done)
        runs.ran, runs.is_spent = True, not runs.training.repeats
        runs.chain = chain
        return len(chain.parts)

    def _stopped(self, chain: Chain, done: int) -> int:
        """Makes the state consistent so that the rest can run step by step."""
        if done:
            chain.parts[done - 1].leave()
            self._runs.ran = True
            self._runs.is_spent = done > 1 and not self._runs.training.repeats
        return done


def _state_lists(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Optimizer states by argument; entries that are None are left out and get zeros."""
    return {name: [kept] if isinstance(kept, NDArray)
            else check_list(f"bind_update: states[{name!r}]", kept, "a list of arrays")
            for name, kept in given.items() if kept is not None}
