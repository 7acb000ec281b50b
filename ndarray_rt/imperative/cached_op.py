"""CachedOp: a symbol that is called like an operator. Plans nothing: executors run it."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ref

from .._array.ndarray import NDArray
from ..context import Context, current_context
from ..errors import NameMismatch, ParameterError, TypeMismatch, not_picklable
from ..executor.checks import check_callback
from ..executor.monitors import OpHook, watching_ops
from ..executor.program.program import Watch
from ..executor.session import Session
from ..fork import renew_in_child
from ..op.infer import need_like
from ..op.params import Params, boolean, integer, params_class, shape, text
from ..precision import find_precision
from ..symbol.infer import infer_graph_shapes, infer_graph_types
from ..symbol.node import Entry, Node, topological
from ..symbol.symbol import Symbol
from .cached_call import CachedCall, Held
from .cached_instance import Bound, Group, Instance, Target, copy_value
from .function import record_call
from .settled_call import Settled, settle
from .tape import STATE, TapeVariable, check_outputs, entry_of, needs_record, tape_node

if TYPE_CHECKING:
    from .invoke import Out

# groups differ by shapes, dtypes, gradients and modes; the least recently used is dropped
MAX_GROUPS = 16


@params_class
class Flags(Params):
    static_alloc: bool = boolean(False, doc="memory is always planned ahead; no effect here")
    static_shape: bool = boolean(False, doc="the same shapes at each call; no effect here")
    inline_limit: int = integer(2, low=0, doc="with at most so many operators, `get_symbol` shows "
                                "these; no effect on how it runs")
    forward_bulk_size: int = integer(15, low=0, doc="no effect here")
    backward_bulk_size: int = integer(15, low=0, doc="no effect here")
    is_dynamic: bool = boolean(False, doc="no effect here")
    data_indices: tuple[int, ...] = shape((), low=0, doc="inputs that are other arrays each time")
    param_indices: tuple[int, ...] = shape((), low=0, doc="inputs that stay the same arrays")
    subgraph: str = text("", doc="a backend of subgraphs; no effect here")
    precision: str = text("", doc="what inference computes in; empty: what NDRT_PRECISION says "
                          "when the CachedOp is made (docs/precision.md)")


class CachedOp:
    """Runs a symbol on arrays, as one operator that autograd records: `op(*inputs)`.

    `flags` are MXNet's, as (name, value) pairs. Inputs at `data_indices` are copied at each call;
    those at `param_indices`, and aux states, are bound by reference: their memory is read in place,
    and a gradient may be written directly to the array of `attach_grad`. Without these two flags an
    input counts as a parameter until another array is given in its place.

    Several threads may call one CachedOp at the same time. Inputs of equal names are different
    inputs, distinguished by position.

    Raises ParameterError for unknown or contradictory flags, and TypeMismatch for anything but a
    Symbol. Source: MXNet's CachedOp.
    """

    def __init__(self, sym: Symbol, flags: Any = ()) -> None:
        if not isinstance(sym, Symbol):
            raise TypeMismatch(f"CachedOp: got a {type(sym).__name__}, expected a Symbol")
        self.name = f"CachedOp({', '.join(sym.list_outputs())})"
        self._symbol = sym
        self._names = sym.list_inputs()
        # the same symbol with unique names of inputs
        self._distinct = _with_distinct_inputs(sym)
        states = set(self._distinct.list_auxiliary_states())
        self._aux = frozenset(
            i for i, name in enumerate(self._distinct.list_inputs()) if name in states)
        self._flags = self._parse(flags)
        self.precision = find_precision(self._flags.precision or None, self.name)
        nodes = topological(sym.entries)
        operators = sum(node.op is not None for node in nodes)
        # what a history shows in place of the call
        self.inlined = sym.entries if operators <= self._flags.inline_limit else None
        # positions whose kind (data or parameter) is fixed
        self._declared = self._aux | set(self._flags.param_indices)
        self._by_value = set(self._flags.data_indices) - self._aux
        self._own_gradient: set[int] = set()
        self._trained: set[int] = set()
        # for each input its place on the tape in the last call, and where its gradient goes
        self._last_targets: dict[int, tuple[ref[Node], Target]] = {}
        self._is_random = any(node.op is not None and node.op.is_random for node in nodes)
        self._session = Session()
        self._watch: Watch | None = None
        self._lock = threading.Lock()
        self._groups: list[Group] = []  # most recently used last
        # description of the last recorded call
        self._settled: Settled | None = None
        renew_in_child(self)

    __reduce_ex__ = not_picklable(
        "a CachedOp", "save its symbol (symbol.save) and make another one from it")

    def _renew_locks(self) -> None:
        """Called in a forked child."""
        self._lock = threading.Lock()

    @property
    def symbol(self) -> Symbol:
        """The symbol that is called."""
        return self._symbol

    @property
    def flags(self) -> dict[str, Any]:
        """All flags by name."""
        return dict(vars(self._flags))

    @property
    def capture_states(self) -> list[dict[str, str]]:
        """For each instance that is not in use, its executor's `capture_states`."""
        with self._lock:
            idle = [instance for group in self._groups for instance in tuple(group.idle)]
        return [instance.executor.capture_states for instance in idle]

    def __call__(self, *args: NDArray, out: Out = None, default_ctx: Context | None = None) -> Any:
        """The outputs for inputs in the order of `symbol.list_inputs()`: an array, or a list.

        They are new arrays, or `out`, which is returned. `default_ctx` is the context of outputs if
        there are no inputs. While recording, inputs with gradients get theirs by backward.

        Raises NameMismatch for a wrong number of inputs, TypeMismatch and ShapeError for inputs
        that do not go together, MXNetError for an `out` that is part of a recorded computation.
        """
        settled = self._settled
        if settled is not None and out is None and STATE.recording:
            found = settled.call(self, args, STATE.training)
            if found is not None:
                return found
        self._check(args)
        given = None if out is None else self._given(out)
        is_train = STATE.training
        wanted = self._wanted(args) if STATE.recording and needs_record(args) else None
        ctx = args[0].ctx if args else (default_ctx or current_context())
        held = self._take(args, wanted, is_train, ctx)
        instance, group = held.instance, held.group
        if given is not None:
            self._check_out(given, instance)
        instance.load(args, group.by_value)
        if self._watch is not None:
            instance.executor.set_watch(self._watch)
        drawn = None
        if wanted is None:
            instance.executor.forward(is_train)
        else:
            drawn = instance.run_kept(is_train)
        if given is None:
            outs = instance.results(ctx)
        else:
            outs = given
            # an output that is an input: `out` may be that input too
            made = instance.outputs if instance.is_apart else instance.results(ctx)
            for y, target in zip(made, outs, strict=True):
                copy_value(y, target)
        if wanted is not None:
            facts = [(x.shape, x.dtype) for x in args]
            entries = [entry_of(x) if b.wanted else None
                       for x, b in zip(args, group.bound, strict=True)]
            record_call(CachedCall(self, held, drawn, facts, entries), args, outs)
            if self._watch is None:
                self._settled = settle(self, args, facts, held)
        if out is not None:
            return out
        return outs[0] if len(outs) == 1 else outs

    def own_gradients(self, positions: Iterable[int]) -> None:
        """From now on the gradients of these inputs go to the instances' own arrays."""
        with self._lock:
            self._own_gradient.update(positions)
            self._settled = None

    def _register_op_hook(self, callback: OpHook, monitor_all: bool = False) -> None:
        """Calls `callback(name, operator, array)` with each output inside, and inputs if wanted.

        Names are bytes, as in MXNet. Runs are not recorded from then on.
        """
        check_callback("_register_op_hook", callback)
        self._watch = watching_ops(callback, monitor_all)
        self._settled = None

    # ---- instances -----------------------------------------------------------------------------

    def _take(self, inputs: Sequence[NDArray], wanted: list[Target | bool] | None,
              is_train: bool, ctx: Context) -> Held:
        """An instance for these inputs that nobody else uses."""
        with self._lock:
            groups = self._groups
            for group in reversed(groups):
                if group.fits(inputs, wanted, is_train):
                    if group is not groups[-1]:
                        groups.remove(group)
                        groups.append(group)
                    break
            else:
                group = self._make_group(inputs, wanted, is_train, ctx)
        return Held(group, group.take())

    def _make_group(self, inputs: Sequence[NDArray], wanted: list[Target | bool] | None,
                    is_train: bool, ctx: Context) -> Group:
        settled, self._settled = self._settled, None
        if settled is not None and settled.group in self._groups:
            # the group was used last, but was not looked up
            self._groups.remove(settled.group)
            self._groups.append(settled.group)
        del settled  # it keeps arrays alive
        known = dict(zip(self._distinct.list_inputs(), inputs, strict=True))
        infer_graph_shapes(self._distinct.entries, {name: x.shape for name, x in known.items()})
        infer_graph_types(self._distinct.entries, {name: x.dtype for name, x in known.items()})
        self._note_changes(inputs, wanted)
        chunks = {x._chunk for x in inputs}
        targets = Counter(t.array._chunk for t in wanted or () if isinstance(t, Target))
        bound = []
        for i, x in enumerate(inputs):
            by_value = i in self._by_value
            want = False if wanted is None or i in self._aux else wanted[i]
            target = None
            # not if the array is also used for something else
            if (isinstance(want, Target) and is_train and not by_value
                    and i not in self._own_gradient and want.array._chunk not in chunks
                    and targets[want.array._chunk] == 1):
                target = want
            bound.append(Bound(x.shape, x.dtype, None if by_value else x.detach(),
                               None if by_value else ref(x), i in self._trained, bool(want),
                               target))
        group = Group(self._distinct, self._session, ctx, bound, self._aux, is_train,
                      wanted is not None, self._is_random, self.precision)
        # freed before the new group looks at the layouts of its arrays
        self._groups[:] = [g for g in self._groups if not self._is_stale(g, inputs)]
        self._groups.append(group)
        del self._groups[:-MAX_GROUPS]
        return group

    def _note_changes(self, inputs: Sequence[NDArray],
                      wanted: list[Target | bool] | None) -> None:
        """Notes inputs that turned out to be data, and gradients that go elsewhere."""
        for i, x in enumerate(inputs):
            if x._grad_state is not None:
                self._trained.add(i)
            if i in self._aux:
                continue
            if wanted is not None and x._chunk.native.writable_pins:
                # writes through an export go unnoticed, before and after backward
                self._by_value.add(i)
            for group in self._groups:
                b = group.bound[i]
                if b.array is not None and not b.is_of(x) and i not in self._declared:
                    self._by_value.add(i)
                want = None if wanted is None else wanted[i]
                if (b.target is not None and isinstance(want, Target) and b.is_of(x)
                        and not b.target.is_same(want)):
                    self._own_gradient.add(i)

    def _is_stale(self, group: Group, inputs: Sequence[NDArray]) -> bool:
        """No later call will use this group: its arrays are gone, or bound in another way."""
        for i, (b, x) in enumerate(zip(group.bound, inputs, strict=True)):
            if b.array is None or b.handle is None:
                continue
            if i in self._by_value or (b.target is not None and i in self._own_gradient):
                return True
            if not b.is_of(x):
                if b.handle() is None:
                    return True
            elif not b.trained and i in self._trained:
                return True
        return False

    def _wanted(self, inputs: Sequence[NDArray]) -> list[Target | bool]:
        """For each input whether its gradient is wanted, and where the tape may want it."""
        made: list[Target | bool] = []
        last_targets = self._last_targets
        for i, x in enumerate(inputs):
            known = last_targets.get(i)
            if known is not None:
                found, target = x._entry, known[1]
                if (found.__class__ is Entry and known[0]() is found.node
                        and i not in self._own_gradient and target.array.shape == x.shape
                        and target.array.dtype == x.dtype):
                    made.append(target)
                    continue
            entry = entry_of(x)
            node = None if entry is None else tape_node(entry)
            if node is None or not node.needs_grad:
                made.append(False)
            elif (isinstance(node, TapeVariable) and node.grad is not None
                  and i not in self._own_gradient and i not in self._aux
                  and node.grad.array.shape == x.shape and node.grad.array.dtype == x.dtype):
                target = Target(node.grad.array.detach(), node.grad.req)
                last_targets[i] = ref(node), target
                made.append(target)
            else:
                made.append(True)
        return made

    # ---- checks --------------------------------------------------------------------------------

    def _parse(self, flags: Any) -> Flags:
        pairs = flags.items() if isinstance(flags, Mapping) else flags
        try:
            given = {str(name): value for name, value in pairs}
        except (TypeError, ValueError):
            raise ParameterError(f"{self.name}: flags got {flags!r}, expected (name, value) "
                                 "pairs") from None
        made = Flags.parse(given, self.name)
        if made.static_shape and not made.static_alloc:
            raise ParameterError(f"{self.name}: static_alloc must be True when static_shape is")
        positions = (*made.data_indices, *made.param_indices)
        if positions and sorted(positions) != list(range(len(self._names))):
            raise ParameterError(
                f"{self.name}: data_indices {made.data_indices} and param_indices "
                f"{made.param_indices} must name each of the {len(self._names)} inputs once: "
                f"{', '.join(self._names)}")
        return made

    def _check(self, args: Sequence[Any]) -> None:
        names = self._names
        for i, x in enumerate(args):
            if not isinstance(x, NDArray):
                what = repr(names[i]) if i < len(names) else str(i)
                raise TypeMismatch(f"{self.name}: input {what} must be an NDArray, "
                                   f"got {type(x).__name__}")
        if len(args) != len(names):
            raise NameMismatch(f"{self.name}: takes {len(names)} inputs "
                               f"({', '.join(names) or 'none'}), got {len(args)}")

    def _given(self, out: Any) -> list[NDArray]:
        given = [out] if isinstance(out, NDArray) else out
        if not isinstance(given, (list, tuple)) or not all(isinstance(y, NDArray) for y in given):
            raise TypeMismatch(f"{self.name}: out must be an NDArray or a list of them, "
                               f"got {out!r}")
        count = len(self._symbol.entries)
        if len(given) != count:
            raise NameMismatch(f"{self.name}: has {count} output(s), got {len(given)} in out")
        check_outputs(given, self.name)
        return list(given)

    def _check_out(self, given: Sequence[NDArray], instance: Instance) -> None:
        for name, out, y in zip(self._symbol.list_outputs(), given, instance.outputs, strict=True):
            need_like(out, y, f"{self.name}: out for {name!r}", "the inputs")


def _with_distinct_inputs(sym: Symbol) -> Symbol:
    """The symbol, or a copy in which repeated input names are made unique."""
    names = sym.list_inputs()
    taken = set(names)
    if len(taken) == len(names):
        return sym
    made = copy(sym)
    numbers: dict[str, Iterator[int]] = defaultdict(lambda: count(1))
    seen: set[str] = set()
    for node in topological(made.entries):
        if node.is_variable:
            name = node.name
            if name in seen:
                node.name = next(new for number in numbers[name]
                                 if (new := f"{name}_{number}") not in taken)
            seen.add(name)
            taken.add(node.name)
    return made
