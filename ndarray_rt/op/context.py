"""OpContext: the services that a caller offers to operators. Holds no operator and no array."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..dtypes import UINT8
from ..native import ffi, lib
from ..precision import Precision
from ..storage.account import Account
from ..storage.desc import default_desc
from ..storage.kernel_call import KernelCall
from ..storage.parameters import ParameterBlock
from ..storage.primitive import Primitive, low_products
from ..storage.stream import Args, Mem, Stream
from ..storage.tmp_mem import TmpMemMgr
from ..value_key import values_key
from .prim_cache import CACHE, IMPERATIVE, ROOM_OF_CALLS, ROOM_OF_GRAPH, Group, PrimCache
from .random_state import RandomState, default_random_state

if TYPE_CHECKING:
    from .._array.ndarray import NDArray
    from .kept_runs import KeptRuns
    from .packing import PackedStore
    from .select import Refusal

T = TypeVar("T")
_sessions = itertools.count(1)
_thread_numbers = itertools.count(1)
# most scratch that a thread keeps between imperative calls; more is freed after the call
IMPERATIVE_SCRATCH = 32 << 20
_RANDOM = default_desc(UINT8, (ffi.sizeof("ndrt_random"),))


class Mode(NamedTuple):
    """How an operator is called, apart from its arrays and parameters.

    `variant` is the planned layout or library (op/choose.py), "" if there is none. `in_numpy`: run
    it in NumPy. `precision` is that of the graph.
    """

    is_train: bool = False
    variant: str = ""
    in_numpy: bool = False
    precision: Precision = Precision.FLOAT32


INFERENCE, TRAINING = Mode(), Mode(is_train=True)


class OpContext:
    """Stream, primitive cache and random state of one executor or one thread.

    `mode` is that of the running call; dispatch sets it. Not thread-safe.
    """

    __slots__ = (
        "_call_shapes",
        "_group",
        "_samples_group",
        "cache",
        "fallbacks",
        "is_drawing_elsewhere",
        "keep_plain",
        "kept_runs",
        "lookups",
        "mode",
        "node_name",
        "numbers_vary",
        "own_leases",
        "packed",
        "parameters",
        "random",
        "refused",
        "session",
        "shapes",
        "stream",
        "varying",
    )

    def __init__(self, stream: Stream | None = None, *, session: Hashable = None,
                 shapes: Hashable = None, random: RandomState | None = None,
                 cache: PrimCache | None = None) -> None:
        self.stream = stream or Stream()
        self.mode = INFERENCE
        self.session: Hashable = next(_sessions) if session is None else session
        # None: primitives are grouped by each call's own input shapes
        self.shapes = shapes
        self.random = random or default_random_state()
        # imperative calls draw from `random`, not from the stream of the device context
        self.is_drawing_elsewhere = False
        self.cache = cache or CACHE
        self.node_name: str | None = None
        # True: a dispatch takes its own leases; False: the executor holds them for the run
        self.own_leases = True
        # calls that NumPy computed
        self.fallbacks = 0
        # how often operators asked for a primitive
        self.lookups = 0
        # ids of chunks of weights that inference must not convert in place: they are trained
        self.keep_plain: frozenset[int] = frozenset()
        # ids of chunks that runs write to: packed copies of them are valid within one run only
        self.varying: set[int] = set()
        # packed copies of weights, if the owner of this context keeps some
        self.packed: PackedStore | None = None
        # results that training's forward keeps for backward, if the owner of this context does so
        self.kept_runs: KeptRuns | None = None
        # for operators with `numbers`: the block from which the next call's kernel reads its
        # numbers at each run; its values at the time of the call equal the call's parameters
        self.parameters: ParameterBlock | None = None
        # this call is being recorded, and will be replayed with other `numbers`
        self.numbers_vary = False
        # implementations that did not compute the call, and why, if it has several
        self.refused: list[Refusal] = []
        self._group: Group | None = None
        # cache entries that batches of all sizes share
        self._samples_group: Group | None = None
        self._call_shapes: Hashable = None

    def renew(self, session: Hashable, packed: PackedStore) -> None:
        """Goes on with other primitives and packed weights, for another graph of the same arrays.
        """
        self.session, self.packed = session, packed
        self._group = self._samples_group = None
        self.varying.clear()
        self.stream.tmp.release()
        self.stream.tmp.estimate = 0

    @property
    def is_train(self) -> bool:
        """Whether this is a call of training."""
        return self.mode.is_train

    @property
    def variant(self) -> str:
        """The planned layout or library, or ""."""
        return self.mode.variant

    def begin(self, node_name: str | None, ins: Sequence[NDArray], mode: Mode = INFERENCE) -> None:
        """Begins an operator call."""
        self.node_name = node_name
        self.mode = mode
        if self.refused:
            self.refused = []
        if self.shapes is None:
            # looked up only when a primitive is asked for: most calls in NumPy need no group
            self._group = self._samples_group = None
            self._call_shapes = tuple([x.shape for x in ins])
            self.stream.tmp.init()
        elif self._group is None:
            self.begin_run()
        self.stream.begin_operator()

    def begin_run(self) -> None:
        """Begins a run of calls with equal input shapes: sizes scratch, looks up its group."""
        self._group = self._find_group(self.shapes)
        self._samples_group = None
        self.stream.tmp.init()

    def primitive(self, sign: tuple[Hashable, ...], build: Callable[[], T]) -> T:
        """The cached primitive (or other object that `build` makes) for a signature."""
        group = self._group
        if group is None:
            group = self._group = self._find_group(self._call_shapes)
        is_train, variant, _, precision = self.mode
        self.lookups += 1
        is_low = precision.has_low_products
        key = (*values_key(sign), is_train, variant, is_low, lib.ndrt_threads_get())
        if not is_low:
            return self.cache.find(group, key, build)
        with low_products():
            return self.cache.find(group, key, build)

    @contextmanager
    def any_batch(self) -> Iterator[None]:
        """Inside it, results of `primitive` are shared by batches of all sizes.

        The signature must contain everything else that they depend on.
        """
        if self._samples_group is None:
            shapes: Any = self._call_shapes if self.shapes is None else self.shapes
            samples = tuple([shape[1:] for shape in shapes])
            self._samples_group = self._find_group(samples, any_batch=True)
        own, self._group = self._group, self._samples_group
        try:
            yield
        finally:
            self._group = own

    def group(self) -> Group:
        """The cache group of the last call's primitives."""
        if self._group is None:
            self._group = self._find_group(self._call_shapes)
        return self._group

    def _find_group(self, shapes: Hashable, any_batch: bool = False) -> Group:
        room = ROOM_OF_CALLS if self.shapes is None else ROOM_OF_GRAPH
        return self.cache.group(self.session, shapes, any_batch, room)

    def is_constant(self, w: NDArray) -> bool:
        """The weight has the same contents at each inference, until a user writes to it."""
        return (not self.mode.is_train and w._grad_state is None
                and w._chunk.native.id not in self.varying)

    def may_pack(self, w: NDArray) -> bool:
        """Inference may convert this weight in place to the layout of a primitive."""
        return w._chunk.native.id not in self.keep_plain

    # forwarded to the stream
    def run(self, prim: Primitive, args: Args) -> None:
        self.stream.run(prim, args)

    def run_each(self, prim: Primitive, calls: Iterable[Args]) -> None:
        self.stream.run_each(prim, calls)

    def kernel(self, given: KernelCall, parameters: ParameterBlock | None = None) -> None:
        self.stream.kernel(given, parameters)

    def random_mem(self) -> Mem:
        """The state of the random stream, for kernels that draw from it when they run."""
        return Mem(_RANDOM, self.random.ptr, self.random, self.stream.epoch)


class _ThreadContexts(threading.local):
    """The imperative contexts of one thread: the outermost, then those of nested operators."""

    def __init__(self) -> None:
        self.contexts: list[OpContext] = []
        self.account: Account | None = None


_threads = _ThreadContexts()


def _thread_name() -> str:
    """This thread's name. current_thread() is avoided: it would register a foreign thread for ever.
    """
    own = threading.get_ident()
    return next((t.name for t in threading.enumerate() if t.ident == own), "not of Python")


def thread_context(depth: int = 0) -> OpContext:
    """This thread's context for imperative calls nested `depth` deep; all share one session.

    It and its scratch are freed with the thread.
    """
    contexts = _threads.contexts
    while len(contexts) <= depth:
        account = _threads.account
        if account is None:
            account = _threads.account = Account(
                f"thread {next(_thread_numbers)}: {_thread_name()}")
        stream = Stream(TmpMemMgr(limit=IMPERATIVE_SCRATCH, account=account))
        contexts.append(OpContext(stream, session=IMPERATIVE))
    return contexts[depth]
