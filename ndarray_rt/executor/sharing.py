"""Sharing: what an executor takes over from others. Runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..op.packing import PackedStore
from ..symbol.node import Entry
from .memory.workspace import Workspace
from .program.bound_graph import Facts
from .program.inference_program import Model
from .session import Session


@dataclass(frozen=True)
class Sharing:
    """What several executors have in common; an executor makes what is None itself.

    `session`: the primitives. `workspace`: the memory of intermediate values and the run lock; such
    executors never run at the same time, and a backward must follow a forward of the same one. The
    rest comes from an executor of the same symbol and parameters: `facts`, its dtypes, `packed`
    copies of weights, `model`, the results of passes and plans for inference, and `heads`, if it
    computes another graph than the symbol.
    """

    session: Session = field(default_factory=Session)
    workspace: Workspace = field(default_factory=Workspace)
    facts: Facts | None = None
    packed: PackedStore | None = None
    model: Model | None = None
    heads: Sequence[Entry] | None = None
