"""Finds layer normalization and softmax written as several nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..dtypes import in_float32
from ..ops.tensor.reduce_shapes import reduced_axes
from ..symbol.node import Entry, Node
from .match import Product, Reader, inner, number_of, term_of
from .rewrite import Facts, Heads, make, replace


class _Norm(NamedTuple):
    """(x - mean) / sqrt(variance + eps), and its factor."""

    x: Entry
    eps: float
    gamma: Entry | None


def recognize_norms(heads: Sequence[Entry], facts: Facts) -> Heads:
    """Rows normalized to mean 0 and deviation 1, with factor and shift, become a LayerNorm;
    exp(x - max) divided by its sum becomes a softmax, if no other node reads in between.
    """
    reader = Reader(facts)

    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        if node.op is None or node.num_outputs != 1 or not in_float32(facts.types[node.outputs[0]]):
            return None
        root = node.outputs[0]
        found = _softmax(facts, root)
        if found is not None:
            x, axis = found
            return make("softmax", {"axis": axis}, [now[x]], node.name).outputs
        return _layer_norm(facts, reader, root, now)
    return replace(heads, change)


# ---- softmax ------------------------------------------------------------------------------------


def _softmax(facts: Facts, root: Entry) -> tuple[Entry, int] | None:
    """(argument, axis) of exp(x - max) / sum."""
    term = term_of(root)
    if term is None or term.op != "div":
        return None
    above, below = term.args
    if not (isinstance(above, Entry) and isinstance(below, Entry) and facts.used_once(below)):
        return None
    shifted = inner(above, "exp")
    axis = _reduced(facts, below, "sum", above)
    if shifted is None or axis is None or not _only(facts, above, 2):
        return None
    term = term_of(shifted)
    if term is None or term.op != "sub" or not facts.used_once(shifted):
        return None
    x, top = term.args
    if not (isinstance(x, Entry) and isinstance(top, Entry) and facts.used_once(top)):
        return None
    if _reduced(facts, top, "max", x) != axis or facts.shapes[x] != facts.shapes[root]:
        return None
    return x, axis


def _reduced(facts: Facts, entry: Entry, op: str, x: Entry) -> int | None:
    """The axis, kept with size 1, along which an entry is the reduction `op` of x."""
    node = entry.node
    if node.op is None or node.op.name != op or node.inputs[0] != x:
        return None
    p: Any = node.params
    axes = reduced_axes(p, len(facts.shapes[x]))
    kept = p.keepdims or len(facts.shapes[x]) == 0
    return axes[0] if len(axes) == 1 and kept else None


def _only(facts: Facts, entry: Entry, uses: int) -> bool:
    return facts.uses[entry] == uses and not facts.is_head(entry)


# ---- layer normalization ------------------------------------------------------------------------


def _layer_norm(facts: Facts, reader: Reader, root: Entry, now: Mapping[Entry, Entry],
                ) -> list[Entry] | None:
    for scaled, beta in _shifted(facts, root):
        norm = _norm(facts, reader, scaled)
        if norm is None or facts.shapes[norm.x] != facts.shapes[root]:
            continue
        shape, name = facts.shapes[norm.x], root.node.name
        vectors = [_vector(facts, entry, shape, name, word, now)
                   for entry, word in ((norm.gamma, "gamma"), (beta, "beta"))]
        if None in vectors:
            continue
        made = make("LayerNorm", {"axis": -1, "eps": norm.eps},
                    [now[norm.x], *vectors], name)  # type: ignore[list-item]
        return [Entry(made, 0)]
    return None


def _shifted(facts: Facts, root: Entry) -> Iterator[tuple[Entry, Entry | None]]:
    """(what may be normalized and scaled, what is added to it)."""
    term = term_of(root)
    if term is not None and term.op == "add":
        for own, beta in (term.args, reversed(term.args)):
            if isinstance(own, Entry) and isinstance(beta, Entry) and facts.used_once(own):
                yield own, beta
    elif term is not None and term.op in ("mul", "div"):
        yield root, None


def _vector(facts: Facts, entry: Entry | None, shape: tuple[int, ...], name: str, word: str,
            now: Mapping[Entry, Entry]) -> Entry | None:
    """A factor or shift per column, of shape (columns,); ones or zeros if there is none."""
    columns = shape[-1]
    if entry is None:
        plain = "_ones" if word == "gamma" else "_zeros"
        return Entry(make(plain, {"shape": (columns,)}, [], f"{name}_{word}"), 0)
    given = facts.shapes[entry]
    if given == (columns,):
        return now[entry]
    if not given or given[-1] != columns or any(dim != 1 for dim in given[:-1]):
        return None
    return Entry(make("Reshape", {"shape": (-1,)}, [now[entry]], f"{name}_{word}"), 0)


def _norm(facts: Facts, reader: Reader, root: Entry) -> _Norm | None:
    """An entry read as a normalized one, times at most one factor."""
    product = reader.product(root)
    if product.number != 1.0 or not 1 <= len(product.factors) <= 3:
        return None
    for centered in product.factors:
        mean = _mean_taken_off(facts, centered)
        if mean is None:
            continue
        rest = [entry for entry in product.factors if entry != centered]
        if len(rest) != len(product.factors) - 1:
            return None
        found = _eps_and_gamma(facts, reader, rest, product, centered)
        if found is not None:
            return _Norm(mean, *found)
    return None


def _mean_taken_off(facts: Facts, centered: Entry) -> Entry | None:
    """x if an entry is x - mean(x) over the last axis."""
    term = term_of(centered)
    if term is None or term.op != "sub":
        return None
    x, mean = term.args
    if not (isinstance(x, Entry) and isinstance(mean, Entry) and facts.used_once(mean)):
        return None
    return x if _reduced(facts, mean, "mean", x) == len(facts.shapes[x]) - 1 else None


def _eps_and_gamma(facts: Facts, reader: Reader, rest: list[Entry], product: Product,
                   centered: Entry) -> tuple[float, Entry | None] | None:
    """The deviation is one factor or the divisor; the remaining factor is gamma."""
    ways = [(e, "rsqrt", [o for o in rest if o != e]) for e in rest if not product.divisors]
    if len(product.divisors) == 1:
        ways.append((product.divisors[0], "sqrt", rest))
    for entry, root, others in ways:
        variance = inner(entry, root) if facts.used_once(entry) else None
        eps = _eps(facts, reader, variance, centered) if variance is not None else None
        if eps is not None and len(others) <= 1:
            return eps, (others[0] if others else None)
    return None


def _eps(facts: Facts, reader: Reader, total: Entry, centered: Entry) -> float | None:
    """The number added to the variance of the rows of `centered`."""
    if not facts.used_once(total):
        return None
    term = term_of(total)
    eps, variance = 0.0, total
    if term is not None and term.op == "add":
        numbers = [arg for arg in term.args if not isinstance(arg, Entry)]
        entries = [arg for arg in term.args if isinstance(arg, Entry)]
        if len(numbers) != 1 or numbers[0] < 0:
            return None
        eps, variance = numbers[0], entries[0]
    if not facts.used_once(variance) or number_of(variance) is not None:
        return None
    squares = variance.node.inputs[0] if variance.node.inputs else None
    if squares is None or not facts.used_once(squares):
        return None
    if _reduced(facts, variance, "mean", squares) != len(facts.shapes[centered]) - 1:
        return None
    if inner(squares, "square") == centered:
        return eps if _only(facts, centered, 2) else None
    term = term_of(squares)
    if term is not None and term.op == "mul" and term.args == (centered, centered):
        return eps if _only(facts, centered, 3) else None
    return None
