"""Update: an optimizer's step over many weights, recorded and replayed in one native call."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..._array.ndarray import NDArray, new_array
from ..._array.req import Req
from ...capture.capture import NOTHING_RAN, Capture, hindrance
from ...capture.record import Obstacle, record
from ...capture.recorder import Recorder
from ...capture.replay import Guards, Replay
from ...errors import NameMismatch, ParameterError, TypeMismatch, not_picklable
from ...op.context import OpContext
from ...op.dispatch import dispatch, overlap
from ...op.infer import run_infer_shape, run_infer_type
from ...op.params import Params
from ...op.registry import OpDef, find
from ...storage.account import Account
from ...storage.lease import Leases
from ...storage.parameters import ROOM, ParameterBlock
from ...storage.stream import Stream
from ...storage.tmp_mem import TmpMemMgr
from ...value_key import same_value
from ..checks import check_float, check_mapping
from ..memory.workspace import Workspace
from ..session import Session


class Trained(NamedTuple):
    """A weight, its gradient, and its optimizer states."""

    name: str
    weight: NDArray
    grad: NDArray
    states: Sequence[NDArray]

    @property
    def arrays(self) -> list[NDArray]:
        """The weight, its gradient and the states, in the order of the operator's inputs."""
        return [self.weight, self.grad, *self.states]


class _Group:
    """Weights with equal multipliers, which share one block of numbers."""

    def __init__(self, lr_mult: float, wd_mult: float) -> None:
        self.factors = {"lr": lr_mult, "wd": wd_mult}
        self.block = ParameterBlock()
        self.params: Params = Params()


class Update:
    """Runs one update operator for many weights, in place. Made by `Executor.bind_update`.

        update = executor.bind_update("sgd_mom_update", lr=0.1, momentum=0.9)
        update()             # one step with these numbers
        update(lr=0.01)      # another lr, from now on

    The first call runs operator by operator, the second is recorded, later ones are one native
    call as long as weights, gradients and states stay in place with their layouts. The numbers are
    not part of the recording. The step of one weight and its states is not interrupted. Calls of
    one update are serialised.

    `lr_mult` and `wd_mult` are factors of lr and wd by the name of the weight, 1 by default.
    """

    __reduce_ex__ = not_picklable("an Update", "save its states (nd.save) and bind it again")

    def __init__(self, op_name: str, trained: Iterable[Trained], numbers: Mapping[str, Any],
                 lr_mult: Mapping[str, float | NDArray] | None = None,
                 wd_mult: Mapping[str, float | NDArray] | None = None,
                 work: Workspace | None = None, session: Session | None = None) -> None:
        """`numbers` are the operator's parameters; `work` has the lock of the executor that
        computes the gradients."""
        op = find(op_name)
        if not op.is_update:
            raise ParameterError(f"bind_update: operator {op.name!r} updates no weight")
        self.op: OpDef = op
        self.trained = tuple(trained)
        self._groups = self._make_groups(lr_mult, wd_mult)
        self._numbers: dict[str, Any] = {}
        self._are_set = False
        # numbers given to the last call that set some, as bytes
        self._marks: tuple[tuple[str, ...], bytes] | None = None
        self._given = dict(numbers)
        self._set({})
        self._check_arrays()
        self._work = Workspace() if work is None else work
        self._session = session or Session()
        self._account = Account(f"{op.name} of {len(self.trained)} weights")
        self._stream = Stream(TmpMemMgr(account=self._account))
        self._context = OpContext(self._stream, session=self._session.key,
                                  shapes=tuple(one.weight.shape for one in self.trained))
        self._chunks = [array._chunk for one in self.trained for array in one.arrays]
        written = [array._chunk for one in self.trained for array in (one.weight, *one.states)]
        self._written = list(dict.fromkeys(written))
        self._leases = Leases([one.grad._chunk for one in self.trained], self._written)
        # weights, gradients and states do not overlap, so that no output needs a temporary
        self._is_plain = not any(
            a._chunk is b._chunk or overlap(a, b) for one in self.trained
            for i, a in enumerate(one.arrays) for b in one.arrays[:i])
        self._capture = Capture(self._stream.counters)

    # ---- running ----------------------------------------------------------------------------

    def __call__(self, **numbers: Any) -> None:
        """One step. `numbers`, such as lr, are kept for later steps.

        ParameterError for anything that is not a number of this operator.
        """
        self.step(numbers)

    def step(self, numbers: Mapping[str, Any]) -> None:
        """One step with these numbers, which are kept for later steps; like calling it."""
        self._work.refuse_own_run()
        with self._work.lock:
            self._set(numbers)
            if not self._replay():
                with self._account:
                    self._run()

    def set(self, **numbers: Any) -> None:
        """Changes numbers of later steps; nothing is recorded again."""
        with self._work.lock:
            self._set(numbers)

    def run(self) -> None:
        """One step; the caller holds the lock."""
        if not self._replay():
            self._run()

    def _replay(self) -> bool:
        """Replays the last step if it is still valid."""
        captured = self._capture.captured
        return captured is not None and captured.replay()

    def _run(self) -> None:
        """One step, whatever has changed since the last one."""
        ctx, capture = self._context, self._capture
        # in a forked child, another thread's recording may have been cut off
        ctx.stream = self._stream
        may_capture = self._is_plain and not hindrance()
        if not (may_capture and capture.run()):
            ctx.begin_run()
            ctx.own_leases = not self._is_plain
            if self._is_plain:
                with self._leases:
                    self._run_leased(may_capture)
            else:
                self._run_steps()
        capture.ready()

    def _run_leased(self, may_capture: bool) -> None:
        capture = self._capture
        if may_capture and capture.should_record:
            self._record(capture)
            return
        self._run_steps()
        if may_capture:
            capture.ran_plainly()
        else:
            capture.ran_unrecorded()

    def _run_steps(self) -> None:
        ctx, op = self._context, self.op
        try:
            for one, group in zip(self.trained, self._groups, strict=True):
                ctx.parameters = group.block
                dispatch(op, group.params, ctx, one.arrays, [one.weight], [Req.kWriteTo], one.name)
        finally:
            ctx.parameters = None

    def _record(self, capture: Capture) -> None:
        # A step reads each array before it writes it: if one ended in another layout than it began
        # with, the replay would read it in the wrong layout.
        before = [chunk.mkl_mem for chunk in self._chunks]
        made = record(lambda _: self._run_steps(), self._context, self._chunks,
                      Recorder(self._stream.tmp.estimate))
        if isinstance(made, Obstacle):
            capture.could_not(made)
        elif [chunk.mkl_mem for chunk in self._chunks] != before:
            capture.postpone("a step changes the layout of what it reads")
        else:
            capture.keep(Replay(made, Guards(
                self._leases, list(dict.fromkeys(self._chunks)), self._written)))

    # ---- state --------------------------------------------------------------------------------

    @property
    def captured(self) -> Replay | None:
        """The recording that is replayed, or None."""
        return self._capture.captured

    @property
    def capture_state(self) -> str:
        """'captured' when steps are replayed from a recording, else why they are not."""
        if not self._is_plain:
            return "a weight, its gradient and its states share memory"
        return (hindrance() if self._capture.reason != NOTHING_RAN else "") or self._capture.reason

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers of the next step, without multipliers."""
        return {name: self._numbers[name] for name in self.op.numbers}

    @property
    def given(self) -> Mapping[str, Any]:
        """The parameters of the next step that were given; the others have their defaults."""
        return self._given

    @property
    def states(self) -> dict[str, list[NDArray]]:
        """Optimizer states by the name of the weight."""
        return {one.name: list(one.states) for one in self.trained}

    @property
    def counters(self) -> dict[str, int]:
        """What the steps did so far: primitives, kernels, callbacks, reorders."""
        with self._work.lock:
            self._capture.count()
            return self._stream.counters.as_dict()

    # ---- numbers ------------------------------------------------------------------------------

    def _set(self, numbers: Mapping[str, Any]) -> None:
        """Sets all numbers, or none if one is wrong."""
        marks = _bytes_of(numbers)
        if marks is not None and marks == self._marks:
            return
        self._marks = None  # in case of an interrupt
        self._set_others(numbers)
        self._marks = marks

    def _set_others(self, numbers: Mapping[str, Any]) -> None:
        # an array's value may have changed since it was given, or it may have several elements
        if self._are_set and all(isinstance(v, (int, float)) and n in self._numbers
                                 and same_value(float(v), self._numbers[n])
                                 for n, v in numbers.items()):
            return
        for name in numbers:
            if name not in self.op.numbers:
                raise ParameterError(
                    f"{self.op.name}: {name!r} can not change from step to step; these can: "
                    f"{', '.join(self.op.numbers)}")
        given = {**self._given, **numbers}
        plain = self.op.params.parse(given, self.op.name)
        made = [self.op.params.parse({**plain.by_name(), **{
            name: getattr(plain, name) * factor for name, factor in group.factors.items()
            if name in self.op.numbers}}, self.op.name) for group in self._distinct]
        self._are_set = False  # in case of an interrupt
        self._given, self._numbers = given, {n: getattr(plain, n) for n in self.op.numbers}
        for group, params in zip(self._distinct, made, strict=True):
            group.params = params
            group.block.set(self.op.numbers_of(params))
        self._are_set = True

    def _factors(self, what: str, given: Any) -> dict[str, float]:
        """Factors by the name of the weight, checked."""
        names = {one.name for one in self.trained}
        found = {}
        for name, value in check_mapping(f"bind_update: {what}", given).items():
            if name not in names:
                raise NameMismatch(f"bind_update: {what} has {name!r}, which is no weight "
                                   f"with a gradient; there are: {', '.join(sorted(names))}")
            found[name] = check_float(f"bind_update: {what}[{name!r}]", value)
        return found

    def _make_groups(self, lr_mult: Any, wd_mult: Any) -> list[_Group]:
        """The group of each weight."""
        of_lr = self._factors("lr_mult", lr_mult)
        of_wd = self._factors("wd_mult", wd_mult)
        made: dict[tuple[float, float], _Group] = {}
        groups = []
        for one in self.trained:
            key = of_lr.get(one.name, 1.0), of_wd.get(one.name, 1.0)
            groups.append(made.setdefault(key, _Group(*key)))
        self._distinct = list(made.values())
        return groups

    def _check_arrays(self) -> None:
        for one, group in zip(self.trained, self._groups, strict=True):
            for array in one.arrays:
                if not isinstance(array, NDArray):
                    raise TypeMismatch(f"{self.op.name} of {one.name!r}: got a "
                                       f"{type(array).__name__}, expected an NDArray")
            wanted = self.op.input_names(group.params)
            if len(one.arrays) != len(wanted):
                raise NameMismatch(
                    f"{self.op.name} of {one.name!r}: takes {len(wanted) - 2} state(s) "
                    f"({', '.join(wanted[2:]) or 'none'}), got {len(one.states)}")
            run_infer_shape(self.op, group.params, [a.shape for a in one.arrays],
                            [one.weight.shape], one.name)
            run_infer_type(self.op, group.params, [a.dtype for a in one.arrays],
                           [one.weight.dtype], one.name)


def _bytes_of(numbers: Mapping[str, Any]) -> tuple[tuple[str, ...], bytes] | None:
    """Equal exactly for the same names and bits of numbers; None if a value is not a number."""
    try:
        return tuple(numbers), _PACKERS[len(numbers)](*numbers.values())
    except (struct.error, OverflowError, TypeError, IndexError):
        return None


_PACKERS = [struct.Struct(f"{count}d").pack for count in range(ROOM + 1)]


def zero_states(op_name: str, weight: NDArray) -> list[NDArray]:
    """New states of one weight, all zero."""
    op = find(op_name)
    names = () if callable(op.inputs) else op.inputs
    return [new_array(weight.shape, weight.dtype, weight.ctx, zero=True) for _ in names[2:]]
