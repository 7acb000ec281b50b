"""Sharing: what an executor takes over from others instead of making it. Runs nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..op.packing import PackedStore
from .memory.workspace import Workspace
from .program.bound_graph import Facts
from .program.inference_program import Model
from .session import Session


@dataclass(frozen=True)
class Sharing:
    """What several executors have in common; what is left out an executor makes for itself.

    `session`: the primitives. `workspace`: the memory of intermediate values and the run lock: the
    executors never run at the same time, and the backward of one may not follow the run of another.
    The rest is of an executor of the same symbol over the same parameters: `facts` are dtypes that
    were inferred, `packed` copies of weights, `model` what passes and plans made of the graph for
    inference.
    """

    session: Session = field(default_factory=Session)
    workspace: Workspace = field(default_factory=Workspace)
    facts: Facts | None = None
    packed: PackedStore | None = None
    model: Model | None = None
