"""Floor 4, passes: graph to graph, for inference. Runs nothing but constants.

    result = optimize(heads, shapes, types)

`result.heads` compute what `heads` do at inference, with fewer and larger steps. The nodes in
`prologue_nodes(result.heads)` need to run again only when a variable that they read has changed.
"""

from ..public import shows
from .pipeline import PASSES, Optimized, Stage, optimize
from .prologue import prologue_nodes

__all__ = ["PASSES", "Optimized", "Stage", "optimize", "prologue_nodes"]
__dir__ = shows(globals())
