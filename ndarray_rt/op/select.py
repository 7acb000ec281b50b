"""select: the one place where an operator's implementations are compared and one is chosen.

An operator lists them in order of preference. Among those that can compute a call, those expected
to be fast come first; a plan's measurements override expectations. Each refusal has a reason, which
observers are told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from ..cpu_level import Level
from ..dtypes import FLOAT32, DType
from ..errors import Unsupported
from .choose import BLOCKED, CHANNELS_LAST, NATIVE, ONEDNN
from .packing import is_kept

if TYPE_CHECKING:
    from .._array.ndarray import NDArray
    from .._array.output import Output
    from ..storage.desc import MemDesc
    from .context import OpContext


class Call(Protocol):
    """What select itself needs to know of a call."""

    @property
    def variant(self) -> str: ...  # the planned layout or library, or ""
    @property
    def weight(self) -> NDArray: ...  # the array that is packed, or data of the same dtype


C = TypeVar("C")


@dataclass(frozen=True)
class Implementation(Generic[C]):
    """One way to compute an operator.

    `library` says whose kernel it uses: NATIVE or ONEDNN. `accepts(ctx, call)` returns why it can
    not compute a call, or None. `pays(ctx, call)` returns why others are expected to be faster, or
    None; if so, it is tried after them. `packs(call)` is the layout of the prepacked weight that
    its kernel reads; a result of None means that there is no such layout. `layouts` are those that
    it reads and writes, `level` the CPU level that its kernel needs, `dtypes` those of weights.
    `run(ctx, call)` computes; if oneDNN has no fast kernel it raises Unsupported before anything is
    written.
    """

    name: str
    library: str
    run: Callable[[OpContext, C], None]
    accepts: Callable[[OpContext, C], str | None] | None = None
    pays: Callable[[OpContext, C], str | None] | None = None
    packs: Callable[[C], MemDesc | None] | None = None
    layouts: tuple[str, ...] = (CHANNELS_LAST, BLOCKED)
    level: Level = Level.AVX2
    dtypes: tuple[DType, ...] = (FLOAT32,)

    def refusal(self, ctx: OpContext, call: C) -> str | None:
        """Why it can not compute a call; None if nothing known beforehand prevents it."""
        asked: Any = call
        variant = asked.variant
        if not self.level.is_here:
            return self.level.lack
        if asked.weight.dtype not in self.dtypes:
            return f"it is not for {asked.weight.dtype}"
        if (self.library == NATIVE and asked.weight.dtype == FLOAT32
                and ctx.mode.precision.has_low_products):
            return "oneDNN's kernels have bfloat16 products"
        if variant == ONEDNN and self.library == NATIVE:
            return "the plan has oneDNN's kernel"
        if variant in (CHANNELS_LAST, BLOCKED) and variant not in self.layouts:
            return f"the plan has {variant} layouts"
        reason = self.accepts(ctx, call) if self.accepts is not None else None
        if reason is not None or self.packs is None:
            return reason
        layout = self.packs(call)
        if layout is None:
            return "its layout of the weight has no name"
        return None if is_kept(ctx, asked.weight, layout) else "the weight is not kept packed"

    def slower(self, ctx: OpContext, call: C) -> str | None:
        """Why others are expected to be faster, unless the plan has measured this one."""
        asked: Any = call
        if self.pays is None or asked.variant == self.library:
            return None
        return self.pays(ctx, call)


D = TypeVar("D")


def seen_as(view: Callable[[D], C | str], one: Implementation[C], name: str = "",
            ) -> Implementation[D]:
    """Adapts an implementation to calls of another kind: `view` converts a call, or returns why it
    can not."""
    def of(call: D) -> C:
        seen = view(call)
        assert not isinstance(seen, str)
        return seen

    def accepts(ctx: OpContext, call: D) -> str | None:
        seen = view(call)
        if isinstance(seen, str):
            return seen
        return None if one.accepts is None else one.accepts(ctx, seen)

    def pays(ctx: OpContext, call: D) -> str | None:
        return None if one.pays is None else one.pays(ctx, of(call))

    def packs(call: D) -> MemDesc | None:
        return None if one.packs is None else one.packs(of(call))
    return Implementation(name or one.name, one.library, lambda ctx, call: one.run(ctx, of(call)),
                          accepts, pays, None if one.packs is None else packs, one.layouts,
                          one.level, one.dtypes)


class Refusal(NamedTuple):
    """An implementation that did not compute a call, and why."""

    name: str
    reason: str


def compute(ctx: OpContext, implementations: Sequence[Implementation[C]], call: C) -> None:
    """Computes a call by the best implementation that can; Unsupported, with oneDNN's reasons or
    else all of them, if none can. Reasons against the others are added to `ctx.refused`."""
    refused = ctx.refused
    later: list[Implementation[C]] = []
    failed: list[str] = []
    for one in implementations:
        reason = one.refusal(ctx, call)
        if reason is None:
            reason = one.slower(ctx, call)
            if reason is None:
                reason = _try(ctx, one, call)
                if reason is None:
                    return
                failed.append(reason)
            else:
                later.append(one)
        refused.append(Refusal(one.name, reason))
    for one in later:
        reason = _try(ctx, one, call)
        if reason is None:
            refused[:] = [refusal for refusal in refused if refusal.name != one.name]
            return
        failed.append(reason)
    raise Unsupported("; ".join(dict.fromkeys(failed or [r.reason for r in refused])))


def _try(ctx: OpContext, one: Implementation[C], call: C) -> str | None:
    try:
        one.run(ctx, call)
    except Unsupported as refusal:
        return str(refusal)
    return None


class Selection(Generic[C]):
    """An operator's `compute_ex` made of several implementations.

    `call(ctx, params, ins, outs)` makes the object that implementations get: everything that the
    choice and the kernels depend on, apart from what the context keeps for them.
    """

    def __init__(self, call: Callable[[OpContext, Any, list[NDArray], list[Output]], C],
                 implementations: Sequence[Implementation[C]]) -> None:
        self._call = call
        self.implementations = tuple(implementations)

    def __call__(self, ctx: OpContext, p: Any, ins: list[NDArray], outs: list[Output]) -> None:
        compute(ctx, self.implementations, self._call(ctx, p, ins, outs))

    @property
    def has_libraries(self) -> bool:
        """On this CPU there are native kernels and oneDNN's to choose from."""
        return len({one.library for one in self.implementations if one.level.is_here}) > 1
