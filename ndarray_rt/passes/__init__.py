"""Floor 4, passes: graph to graph, for inference. Runs nothing.

    result = optimize(heads, shapes, types)

`result.heads` compute what `heads` do at inference, with fewer and larger steps.
"""

from .pipeline import PASSES, Optimized, Stage, optimize

__all__ = ["PASSES", "Optimized", "Stage", "optimize"]
