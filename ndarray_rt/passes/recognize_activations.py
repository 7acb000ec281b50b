"""Finds activations written as several nodes: gelu, swish, mish, hard-sigmoid, leaky and others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..dtypes import in_float32
from ..op.elementwise import PostOp
from ..ops.fused.post_ops import chain_text
from ..symbol.node import Entry, Node
from ..value_key import same_value
from .match import Reader, Term, inner, is_polynomial, number_of, term_of
from .rewrite import Facts, Heads, make, replace

# the inner polynomials of gelu; graphs contain few digits of these numbers
_ERF_OF = {1: math.sqrt(0.5)}
_TANH_OF = {1: math.sqrt(2 / math.pi), 3: math.sqrt(2 / math.pi) * 0.044715}
_DIGITS = 2e-4


def recognize_activations(heads: Sequence[Entry], facts: Facts) -> Heads:
    """Replaces such nodes, if no other node reads in between, by one: LeakyReLU, clip or relu if it
    is one of these, else a fused elementwise function (float32)."""
    reader = Reader(facts)

    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        if node.op is None or node.num_outputs != 1:
            return None
        root = node.outputs[0]
        if not in_float32(facts.types[root]):
            return None
        for x, post_op in _found(reader, root):
            if facts.shapes.get(x) == facts.shapes[root]:
                return [_made(post_op, now[x], node.name)]
        return None
    return replace(heads, change)


def _made(post_op: PostOp, x: Entry, name: str) -> Entry:
    alpha, beta = post_op.alpha, post_op.beta
    if post_op.name == "gelu":
        node = make("LeakyReLU", {"act_type": "gelu"}, [x], name)
    elif post_op.name == "relu" and alpha:
        node = make("LeakyReLU", {"act_type": "leaky", "slope": alpha}, [x], name)
    elif post_op.name == "relu":
        node = make("relu", {}, [x], name)
    elif post_op.name == "clip":
        node = make("clip", {"a_min": alpha, "a_max": beta}, [x], name)
    else:
        node = make("_fused_elementwise", {"post_ops": chain_text([post_op])}, [x], name)
    return Entry(node, 0)


Finding = tuple[Entry, PostOp]


def _found(reader: Reader, root: Entry) -> Iterator[Finding]:
    """(argument, function) for each reading of an entry as an activation."""
    term = term_of(root)
    if term is None:
        return
    for find in _FINDERS.get(term.op, ()):
        yield from find(reader, root, term)


def _gated(reader: Reader, root: Entry, term: Term) -> Iterator[Finding]:
    """x times a function of x."""
    product = reader.product(root)
    if len(product.factors) != 2 or product.divisors:
        return
    for x, gate in (product.factors, reversed(product.factors)):
        if reader.own(gate):
            yield from _gate(reader, product.number, x, gate)


def _gate(reader: Reader, number: float, x: Entry, gate: Entry) -> Iterator[Finding]:
    argument = inner(gate, "sigmoid")
    if argument is not None:
        slope = reader.polynomial(argument, x)
        if number == 1.0 and slope is not None and set(slope) == {1}:
            yield x, PostOp("swish", slope[1])
    argument = inner(gate, "tanh")
    if argument is not None and number == 1.0 and _is_softrelu(reader, argument, x):
        yield x, PostOp("mish")
    yield from ((x, PostOp("hardswish", a, b)) for a, b in _hard(reader, number, gate, x))
    opened = _one_plus(reader, gate, number)
    if opened is None:
        return
    argument = inner(opened, "erf")
    if argument is not None and is_polynomial(reader.polynomial(argument, x), _ERF_OF, _DIGITS):
        yield x, PostOp("gelu")
    argument = inner(opened, "tanh")
    if argument is not None and is_polynomial(reader.polynomial(argument, x), _TANH_OF, _DIGITS):
        yield x, PostOp("gelu_tanh")


def _one_plus(reader: Reader, gate: Entry, number: float) -> Entry | None:
    """f if number * gate is 0.5 * (1 + f)."""
    term = term_of(gate)
    if term is None or term.op != "add":
        return None
    for one, rest in (term.args, reversed(term.args)):
        if not isinstance(one, Entry) and isinstance(rest, Entry) and reader.own(rest):
            product = reader.product(rest)
            if (len(product.factors) == 1 and not product.divisors
                    and math.isclose(number * one, 0.5, rel_tol=1e-6)
                    and math.isclose(number * product.number, 0.5, rel_tol=1e-6)
                    and reader.own(product.factors[0])):
                return product.factors[0]
    return None


def _is_softrelu(reader: Reader, entry: Entry, x: Entry) -> bool:
    """log(1 + exp(x))."""
    if not reader.own(entry):
        return False
    if inner(entry, "softrelu") == x:
        return True
    grown = inner(entry, "log1p")
    if grown is None:
        total = inner(entry, "log")
        term = term_of(total) if total is not None and reader.own(total) else None
        if term is None or term.op != "add" or 1.0 not in term.args:
            return False
        grown = next((arg for arg in term.args if isinstance(arg, Entry)), None)
    return grown is not None and reader.own(grown) and inner(grown, "exp") == x


def _bounds(reader: Reader, entry: Entry) -> tuple[Entry, float, float] | None:
    """(argument, low, high) of a clipped entry."""
    term = term_of(entry)
    if term is None:
        return None
    if term.op == "clip":
        x, low, high = term.args
        ordered = not isinstance(low, Entry) and not isinstance(high, Entry) and low <= high
        return (x, low, high) if isinstance(x, Entry) and ordered else None  # type: ignore[return-value]
    if term.op not in ("maximum", "minimum"):
        return None
    limit, before = _limit(term)
    below = term_of(before) if before is not None and reader.own(before) else None
    if limit is None or below is None:
        return None
    second, source = (0.0, below.args[0]) if below.op == "relu" else _limit(below)
    kinds = {"maximum" if below.op == "relu" else below.op, term.op}
    if second is None or not isinstance(source, Entry) or kinds != {"maximum", "minimum"}:
        return None
    low, high = (second, limit) if term.op == "minimum" else (limit, second)
    # with low above high, the result is one number everywhere
    return (source, low, high) if low <= high else None


def _limit(term: Term) -> tuple[float | None, Entry | None]:
    numbers = [arg for arg in term.args if not isinstance(arg, Entry)]
    entries = [arg for arg in term.args if isinstance(arg, Entry)]
    return (numbers[0], entries[0]) if len(numbers) == len(entries) == 1 else (None, None)


def _hard(reader: Reader, number: float, entry: Entry, x: Entry | None,
          ) -> Iterator[tuple[float, float]]:
    """(a, b) if number * entry is a * x + b clipped to [0, 1]."""
    found = _bounds(reader, entry)
    if found is None or x is None or not same_value(found[1], 0.0) or number <= 0:
        return
    if not math.isclose(number * found[2], 1.0, rel_tol=1e-6):
        return
    line = reader.polynomial(found[0], x)
    if line is not None and set(line) <= {0, 1} and line.get(1):
        yield line[1] * number, line.get(0, 0.0) * number


def _hard_sigmoid(reader: Reader, root: Entry, term: Term) -> Iterator[Finding]:
    product = reader.product(root)
    if len(product.factors) != 1 or product.divisors:
        return
    factor = product.factors[0]
    if factor != root and not reader.own(factor):
        return
    found = _bounds(reader, factor)
    x = _argument(reader, found[0]) if found is not None else None
    for a, b in _hard(reader, product.number, factor, x):
        if x is not None and (a, b) != (1.0, 0.0):
            yield x, PostOp("hardsigmoid", a, b)


def _argument(reader: Reader, entry: Entry) -> Entry:
    """The entry inside additions of and products with numbers."""
    while reader.own(entry):
        term = term_of(entry)
        if term is None or term.op not in ("add", "sub", "mul", "div", "negative"):
            break
        entries = [arg for arg in term.args if isinstance(arg, Entry)]
        if len(entries) != 1:
            break
        entry = entries[0]
    return entry


def _clipped(reader: Reader, root: Entry, term: Term) -> Iterator[Finding]:
    """A maximum of a minimum or the reverse; a maximum with 0."""
    found = _bounds(reader, root)
    if found is not None and all(map(math.isfinite, found[1:])):
        yield found[0], PostOp("clip", found[1], found[2])
    limit, x = _limit(term)
    if term.op == "maximum" and x is not None and same_value(limit, 0.0):
        yield x, PostOp("relu")


def _leaky(reader: Reader, root: Entry, term: Term) -> Iterator[Finding]:
    """The maximum of x and a fraction of x."""
    for x, part in (term.args, reversed(term.args)):
        if isinstance(x, Entry) and number_of(x) is None and isinstance(part, Entry):
            line = reader.polynomial(part, x)
            if line is not None and set(line) == {1} and 0 < line[1] < 1:
                yield x, PostOp("relu", line[1])


def _two_sided(reader: Reader, root: Entry, term: Term) -> Iterator[Finding]:
    """relu(x) - a * relu(-x)."""
    above, below = term.args
    if not (isinstance(above, Entry) and isinstance(below, Entry)):
        return
    for first, second, sign in ((above, below, 1.0), (below, above, -1.0)):
        x = inner(first, "relu") if reader.own(first) else None
        if x is None or not reader.own(second) or (term.op == "sub" and sign < 0):
            continue
        product = reader.product(second)
        if len(product.factors) != 1 or product.divisors:
            continue
        factor = product.factors[0]
        under = inner(factor, "relu") if reader.own(factor) else None
        slope = -product.number if term.op == "add" else product.number
        if under is not None and slope > 0 and is_polynomial(
                reader.polynomial(under, x), {1: -1.0}):
            yield x, PostOp("relu", slope)


Finder = Callable[[Reader, Entry, Term], Iterator[Finding]]
_FINDERS: dict[str, tuple[Finder, ...]] = {
    "mul": (_gated, _hard_sigmoid), "div": (_gated, _hard_sigmoid),
    "clip": (_hard_sigmoid,), "maximum": (_hard_sigmoid, _clipped, _leaky),
    "minimum": (_hard_sigmoid, _clipped), "sub": (_two_sided,), "add": (_two_sided,),
}
