"""The ways of running an operator: in NumPy, natively, and (executor.py) in a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from .. import config
from .._array.ndarray import NDArray
from .._array.req import Req
from ..cpu_level import has_avx512
from ..op.context import INFERENCE, TRAINING, OpContext
from ..op.dispatch import Dispatched, dispatch, observe
from ..op.params import Params
from ..op.random_state import RandomState
from ..op.registry import OpDef

SEED = 20240607
REFERENCE_NAMES = ("ref", "simple")
# what moves bytes has no faster implementation to fall back from
MOVERS = frozenset({"Concat", "stack", "_rnn_param_concat"})


class Runtime(ABC):
    """Runs one operator call through `dispatch`, and says what ran."""

    name = ""
    sees_layouts = True

    def __init__(self, is_train: bool) -> None:
        self.ctx = OpContext(random=RandomState(SEED))
        self._mode = TRAINING if is_train else INFERENCE

    def switches(self) -> AbstractContextManager[object]:
        return nullcontext()

    def run(self, op: OpDef, params: Params, ins: Sequence[NDArray], outs: Sequence[NDArray],
            reqs: Sequence[Req]) -> Dispatched | None:
        """What observers were told; None: there was nothing to do. Each call starts one seed."""
        self.ctx.random.seed(SEED)
        told: list[Dispatched] = []
        stop = observe(told.append)
        try:
            with self.switches():
                dispatch(op, params, self.ctx, ins, outs, reqs, mode=self._mode)
        finally:
            stop()
        # an operator in Python may call others
        told = [one for one in told if one.op is op]
        assert len(told) <= 1, f"{op.name} dispatched {len(told)} times"
        return told[0] if told else None

    @abstractmethod
    def assert_library(self, told: Dispatched, must: bool | str) -> None:
        """The library under test ran, without slow parts; `must` as in a case."""

    def close(self) -> None:
        """Gives back what calls have left."""
        self.ctx.cache.clear(self.ctx.session)
        self.ctx.stream.tmp.release()


class NumpyRuntime(Runtime):
    """`compute`, the definition of correct."""

    name = "numpy"
    sees_layouts = False

    def switches(self) -> AbstractContextManager[object]:
        return config.override(NDRT_ONEDNN=False)

    def assert_library(self, told: Dispatched, must: bool | str) -> None:
        assert told.key.library == "numpy"
        assert told.reason, "a fallback without a reason"


# Families for which oneDNN 3.2 has, below AVX-512, only reference code in some direction or layout:
# softmax and LRN backward, binaries on 16-blocked data.
BELOW_AVX512 = ("Dropout", "LRN", "RegressionOutput", "reg_out", "softmax", "softmin", "max", "min",
                "prod")


def lacks_kernel(told: Dispatched) -> bool:
    """On a CPU without AVX-512 oneDNN itself has no kernel for this call of a known family."""
    return (not has_avx512() and told.op.name.endswith(BELOW_AVX512)
            and "only the reference implementation" in (told.reason or ""))


class OneDnnRuntime(Runtime):
    """`compute_ex` where the operator has one."""

    name = "native"

    def assert_library(self, told: Dispatched, must: bool | str) -> None:
        library = told.key.library
        if library == "numpy":
            assert told.reason, "a fallback without a reason"
        if must is True and not lacks_kernel(told):
            assert library == "native", f"fell back to numpy: {told.reason}"
        elif must is False:
            assert library == "numpy", "the case says that this never runs natively"
        if library == "native" and told.op.name not in MOVERS:
            slow = [impl for impl in told.impls if impl.startswith(REFERENCE_NAMES)]
            assert not slow, f"reference implementations ran: {slow}"


RUNTIMES = {runtime.name: runtime for runtime in (NumpyRuntime, OneDnnRuntime)}
