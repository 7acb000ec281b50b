"""What one pass changed in an executor's graph, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..._array.ndarray import NDArray
from ...errors import MXNetError
from ...passes import PASSES, Optimized, optimize
from ...passes.pipeline import LOWERING, graph_text, skipped_passes
from ...symbol.node import Entry


def explain_pass(name: str, heads: Sequence[Entry], bound: Mapping[str, NDArray],
                 used: Optimized | None) -> str:
    """The graph before and after a pass.

    `used` is the graph that the executor runs for inference; None if it runs the bound one.
    MXNetError for a name that is no pass, listing those that are.
    """
    if name not in PASSES:
        raise MXNetError(f"explain: {name!r} is no pass; there are: {', '.join(PASSES)}")
    if name in skipped_passes():
        return f"{name} did not run: NDRT_SKIP_PASSES switches it off"
    done = used or optimize(heads, {n: a.shape for n, a in bound.items()},
                            {n: a.dtype for n, a in bound.items()})
    if name == LOWERING and all(stage.name != name for stage in done.stages):
        return f"{name} did not run: it is for the precision 'bfloat16'"
    stage = done.stage(name)
    if graph_text(stage.before) == graph_text(stage.after):
        return f"{name} changed nothing"
    note = "" if used is not None else "\n(inference runs the graph as it was bound)"
    return str(stage) + note
