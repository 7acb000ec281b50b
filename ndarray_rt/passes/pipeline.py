"""The passes in order, each with a check and an off switch. Rewrites nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from .. import config
from ..dtypes import DType
from ..errors import MXNetError
from ..precision import Precision
from ..symbol.infer import Answers, infer_graph_shapes, infer_graph_types
from ..symbol.node import Entry, Node, topological
from .common_subexpressions import merge_equal_nodes
from .drop_identities import drop_identities
from .fold_batch_norm import fold_batch_norms
from .fold_constants import fold_constants
from .fuse_attention import fuse_attention
from .fuse_elementwise import fuse_elementwise
from .fuse_norms_into_convolutions import fuse_norms_into_convolutions
from .fuse_post_ops import fuse_post_ops
from .fuse_requantize import fuse_requantize
from .fuse_separable_convolutions import fuse_separable_convolutions
from .fuse_shuffles import fuse_shuffles
from .lower_fused_layers import lower_fused_layers
from .lower_precision import lower_precision
from .move_strides_up import move_strides_up
from .open_fused_layers import open_fused_layers
from .recognize_activations import recognize_activations
from .recognize_norms import recognize_norms
from .rewrite import Facts, Heads
from .scale_batch_norms import scale_batch_norms
from .simplify_scalars import simplify_scalars

# runs for graphs of the precision "bfloat16" only
LOWERING = "lower_precision"
_WIDEST = 80  # characters of a parameter in the text of a graph

Pass = Callable[[Sequence[Entry], Facts], Heads]

PASSES: dict[str, Pass] = {
    "open_fused_layers": open_fused_layers,
    "fold_constants": fold_constants,
    "simplify_scalars": simplify_scalars,
    "drop_identities": drop_identities,
    "merge_equal_nodes": merge_equal_nodes,
    "recognize_activations": recognize_activations,
    "recognize_norms": recognize_norms,
    "scale_batch_norms": scale_batch_norms,
    "fold_batch_norms": fold_batch_norms,
    "move_strides_up": move_strides_up,
    "lower_precision": lower_precision,
    "fuse_attention": fuse_attention,
    "fuse_post_ops": fuse_post_ops,
    "lower_fused_layers": lower_fused_layers,
    "fuse_requantize": fuse_requantize,
    "fuse_norms_into_convolutions": fuse_norms_into_convolutions,
    "fuse_separable_convolutions": fuse_separable_convolutions,
    "fuse_shuffles": fuse_shuffles,
    "fuse_elementwise": fuse_elementwise,
}


@dataclass(frozen=True)
class Stage:
    """A graph before and after one pass."""

    name: str
    before: Heads
    after: Heads

    def __str__(self) -> str:
        return (f"{self.name}: {_size(self.before)} -> {_size(self.after)} nodes\n"
                f"before:\n{graph_text(self.before)}\nafter:\n{graph_text(self.after)}")


@dataclass
class Optimized:
    """The result of the passes, its shapes and dtypes, and the graph after each pass."""

    heads: Heads
    facts: Facts
    stages: list[Stage] = field(default_factory=list)

    def stage(self, name: str) -> Stage:
        """The graph before and after one pass; MXNetError if it did not run."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        ran = ", ".join(stage.name for stage in self.stages) or "none"
        raise MXNetError(f"the pass {name!r} did not run; these did: {ran}")


def skipped_passes() -> frozenset[str]:
    """Names listed in NDRT_SKIP_PASSES; "all" means all but `lower_precision`, which changes what
    is computed."""
    names = frozenset(filter(None, config.NDRT_SKIP_PASSES.replace(" ", "").split(",")))
    if "all" in names:
        return frozenset(PASSES) - {LOWERING}
    unknown = names - set(PASSES)
    if unknown:
        raise MXNetError(f"NDRT_SKIP_PASSES: {min(unknown)!r} is no pass; there are: "
                         f"{', '.join(PASSES)}, and 'all'")
    return names


def optimize(heads: Sequence[Entry], shapes: Mapping[str, tuple[int, ...]],
             types: Mapping[str, DType], skip: Collection[str] = (),
             known: Facts | None = None, precision: Precision = Precision.FLOAT32) -> Optimized:
    """Runs all passes on an inference graph, except those switched off and those in `skip`.

    `shapes` and `types` are those of all variables by name, `precision` is the one to compute in,
    `known` are the facts of the graph, if already inferred. Raises MXNetError if a pass changes the
    shape or dtype of a head, which is a bug of the pass.
    """
    skipped = skipped_passes() | set(skip)
    if precision is not Precision.BFLOAT16:
        skipped |= {LOWERING}
    # inference is cached, as most nodes of a pass's result have equal ones in its input
    answers: Answers = {}
    facts = _facts(list(heads), shapes, types, answers) if known is None else known
    done = Optimized(list(heads), facts)
    wanted = [(facts.shapes[e], facts.types[e]) for e in done.heads]
    for name, run in PASSES.items():
        if name in skipped:
            continue
        before = done.heads
        after = run(before, facts)
        done.stages.append(Stage(name, before, after))
        if after != before:
            facts = _facts(after, shapes, types, answers)
            got = [(facts.shapes[e], facts.types[e]) for e in after]
            if got != wanted:
                raise MXNetError(f"the pass {name!r} changed the outputs from {wanted} to {got}")
            done.heads, done.facts = after, facts
    return done


def _facts(heads: Heads, shapes: Mapping[str, tuple[int, ...]],
           types: Mapping[str, DType], answers: Answers) -> Facts:
    found = infer_graph_shapes(heads, shapes, answers)
    dtypes = infer_graph_types(heads, types, answers=answers)
    return Facts({e: s for e, s in found.items() if s is not None},
                 {e: t for e, t in dtypes.items() if t is not None}, heads)


def graph_text(heads: Sequence[Entry]) -> str:
    """One line per node, without variables."""
    return "\n".join(_line(node) for node in topological(heads) if node.op is not None)


def _line(node: Node) -> str:
    assert node.op is not None
    params = ", ".join(f"{k}={_short(v)}" for k, v in node.params.to_attrs().items()) if (
        node.params is not None) else ""
    inputs = ", ".join(repr(entry) for entry in node.inputs)
    return f"  {node.op.name} {node.name}({inputs})" + (f" [{params}]" if params else "")


def _short(value: str) -> str:
    return value if len(value) <= _WIDEST else f"{value[:_WIDEST]}..."


def _size(heads: Heads) -> int:
    return sum(node.op is not None for node in topological(heads))
