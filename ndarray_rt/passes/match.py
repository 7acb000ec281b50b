"""Reads a graph as formulas: numbers, products, polynomials, for any choice of operators."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..op.elementwise import Place
from ..symbol.node import Entry
from .rewrite import Facts

_POWERS = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt"}
_DEGREE = 3

# power -> coefficient
Polynomial = dict[int, float]


class Term(NamedTuple):
    """One operation on entries and numbers, regardless of the operator that expresses it."""

    op: str
    args: tuple[Entry | float, ...]


class Product(NamedTuple):
    """number * factors / divisors."""

    number: float
    factors: list[Entry]
    divisors: list[Entry]


def number_of(entry: Entry) -> float | None:
    """The value of a constant whose elements are all equal."""
    op = entry.node.op
    return op.one_value(entry.node.params) if op is not None and op.one_value is not None else None


def term_of(entry: Entry) -> Term | None:
    """The operation that computes an entry; None if it is not elementwise arithmetic."""
    op, params = entry.node.op, entry.node.params
    said = op.elementwise_of(params) if op is not None and params is not None else None
    if said is None or entry.index:
        return None
    word, args = said
    if word == "power" and isinstance(args[1], float):
        word = _POWERS.get(args[1], word)
    given = [entry.node.inputs[arg.position] if isinstance(arg, Place) else arg for arg in args]
    if sum(isinstance(arg, Entry) for arg in given) > 1:
        numbers = [number_of(arg) if isinstance(arg, Entry) else None for arg in given]
        given = [arg if n is None else n for arg, n in zip(given, numbers, strict=True)]
    return Term(word, tuple(given))


def inner(entry: Entry, op: str) -> Entry | None:
    """The argument x if `entry` is op(x)."""
    term = term_of(entry)
    if term is None or term.op != op or not isinstance(term.args[0], Entry):
        return None
    return term.args[0]


class Reader:
    """Formulas of one graph; they only extend through entries with a single reader."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def own(self, value: Entry | float) -> bool:
        """A formula may contain this entry: the formula is its only reader."""
        return isinstance(value, Entry) and self.facts.used_once(value)

    def product(self, entry: Entry) -> Product:
        """An entry as a product, expanded as far as possible."""
        found = Product(1.0, [], [])
        return self._multiply(found, entry, False, True)

    def _multiply(self, found: Product, value: Entry | float, below: bool,
                  first: bool = False) -> Product:
        if not isinstance(value, Entry):
            if below and value == 0:
                return found._replace(number=math.nan)
            return found._replace(number=found.number / value if below else found.number * value)
        term = term_of(value) if first or self.own(value) else None
        if term is not None and term.op in ("mul", "div"):
            left = self._multiply(found, term.args[0], below)
            return self._multiply(left, term.args[1], below != (term.op == "div"))
        if term is not None and term.op == "negative":
            return self._multiply(found._replace(number=-found.number), term.args[0], below)
        (found.divisors if below else found.factors).append(value)
        return found

    def polynomial(self, value: Entry | float, x: Entry) -> Polynomial | None:
        """A value as a polynomial in x; None if it is not one, or its degree exceeds 3."""
        if not isinstance(value, Entry):
            return {0: value}
        if value == x:
            return {1: 1.0}
        term = term_of(value)
        if term is None or not self.own(value):
            return None
        if term.op == "negative":
            return _times(self.polynomial(term.args[0], x), {0: -1.0})
        if term.op in ("square", "power"):
            power = term.args[1] if term.op == "power" else 2.0
            if power not in (2.0, 3.0):
                return None
            base = self.polynomial(term.args[0], x)
            made = base
            for _ in range(int(power) - 1):
                made = _times(made, base)
            return made
        if term.op not in ("add", "sub", "mul", "div"):
            return None
        a, b = (self.polynomial(arg, x) for arg in term.args)
        return _combined(term.op, a, b)


def _combined(op: str, a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    if a is None or b is None:
        return None
    if op == "mul":
        return _times(a, b)
    if op == "div":
        if set(b) != {0} or b[0] == 0:
            return None
        return _times(a, {0: 1 / b[0]})
    sign = 1.0 if op == "add" else -1.0
    return {k: a.get(k, 0.0) + sign * b.get(k, 0.0) for k in {*a, *b}}


def _times(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    if a is None or b is None or max(a) + max(b) > _DEGREE:
        return None
    made: Polynomial = {}
    for i, x in a.items():
        for j, y in b.items():
            made[i + j] = made.get(i + j, 0.0) + x * y
    return made


def is_polynomial(found: Polynomial | None, wanted: Polynomial, rtol: float = 1e-5) -> bool:
    """Both have the same coefficients, up to rounding of decimal constants."""
    if found is None:
        return False
    return all(math.isclose(found.get(k, 0.0), wanted.get(k, 0.0), rel_tol=rtol, abs_tol=0.0)
               for k in {*found, *wanted})
