"""The arrays that an executor is bound to, as text and as a table for notebooks."""

from __future__ import annotations

from .._array.ndarray import NDArray
from .._array.req import GRAD_REQS, Req
from ..markup import paragraph, table
from .bound import Bound

# most arguments and outputs that the text names
MOST_NAMED = 3


def as_text(bound: Bound) -> str:
    """One line: the context, some arguments and outputs, how many others there are."""
    given = [f"{name} {_facts(array)}" for name, array in bound.args.items()]
    made = [f"{name} {_facts(array)}" for name, array in _outputs(bound)]
    parts = [_first(given), f"aux states: {len(bound.aux)}", f"outputs: {_first(made)}",
             f"gradients: {len(bound.requests)}"]
    return f"<Executor on {bound.ctx}, arguments: {'; '.join(parts)}>"


def as_html(bound: Bound) -> str:
    """A table of all arrays."""
    words = {request: word for word, request in GRAD_REQS.items()}
    rows = [["argument", name, _facts(array), words[bound.requests.get(name, Req.kNullOp)]]
            for name, array in bound.args.items()]
    rows += [["aux state", name, _facts(array), ""] for name, array in bound.aux.items()]
    rows += [["output", name, _facts(array), ""] for name, array in _outputs(bound)]
    return (table(rows, ["what", "name", "array", "gradient"])
            + paragraph(f"Executor on {bound.ctx}"))


def _outputs(bound: Bound) -> list[tuple[str, NDArray]]:
    return list(zip(bound.symbol.list_outputs(), bound.outputs, strict=True))


def _facts(array: NDArray) -> str:
    return f"{array.shape} {array.dtype}"


def _first(texts: list[str]) -> str:
    more = len(texts) - MOST_NAMED
    return ", ".join(texts[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
