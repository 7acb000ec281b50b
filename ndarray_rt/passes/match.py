"""Reading a graph as formulas: numbers, products, polynomials, whatever operators spell them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..op.registry import find
from ..symbol.node import Entry
from .rewrite import Facts

_BINARY = {f"{family}_{word}": word for family in ("elemwise", "broadcast")
           for word in ("add", "sub", "mul", "div")}
_BINARY.update({"_maximum": "maximum", "broadcast_maximum": "maximum",
                "_minimum": "minimum", "broadcast_minimum": "minimum"})
_SCALAR = {"_plus_scalar": "add", "_mul_scalar": "mul", "_maximum_scalar": "maximum",
           "_minimum_scalar": "minimum", "_minus_scalar": "sub", "_div_scalar": "div"}
_TURNED = {"_rminus_scalar": "sub", "_rdiv_scalar": "div"}
_UNARY = frozenset({"erf", "tanh", "sigmoid", "relu", "exp", "log", "log1p", "sqrt", "rsqrt",
                    "square", "negative"})
_POWERS = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt"}
_ONE_VALUE = {"_zeros": 0.0, "_ones": 1.0}
_DEGREE = 3

# power -> coefficient
Polynomial = dict[int, float]


class Term(NamedTuple):
    """One operation on entries and numbers, whatever operator it is written with."""

    op: str
    args: tuple[Entry | float, ...]


class Product(NamedTuple):
    """number * factors / divisors."""

    number: float
    factors: list[Entry]
    divisors: list[Entry]


def number_of(entry: Entry) -> float | None:
    """The number that every element of a constant is."""
    node = entry.node
    if node.op is None:
        return None
    params: Any = node.params
    if node.op.name in _ONE_VALUE:
        return _ONE_VALUE[node.op.name]
    if node.op.name == "_full":
        return float(params.value)
    if node.op is find("_constant"):
        first = params.array.flat[0]
        return float(first) if (params.array == first).all() else None
    return None


def term_of(entry: Entry) -> Term | None:
    """What an entry is computed as; None for variables and what is no elementwise arithmetic."""
    node = entry.node
    if node.op is None:
        return None
    name, inputs = node.op.name, node.inputs
    p: Any = node.params
    if name in _BINARY:
        numbers = [number_of(e) for e in inputs]
        return Term(_BINARY[name], tuple(e if n is None else n
                                         for e, n in zip(inputs, numbers, strict=True)))
    if name in _SCALAR:
        return Term(_SCALAR[name], (inputs[0], float(p.scalar)))
    if name in _TURNED:
        return Term(_TURNED[name], (float(p.scalar), inputs[0]))
    if name == "_power_scalar":
        return Term(_POWERS.get(p.scalar, "power"), (inputs[0], float(p.scalar)))
    if name == "clip":
        return Term("clip", (inputs[0], float(p.a_min), float(p.a_max)))
    if name == "Activation":
        return Term(p.act_type, (inputs[0],))
    return Term(name, (inputs[0],)) if name in _UNARY else None


def inner(entry: Entry, op: str) -> Entry | None:
    """The entry that `entry` is a function `op` of."""
    term = term_of(entry)
    if term is None or term.op != op or not isinstance(term.args[0], Entry):
        return None
    return term.args[0]


class Reader:
    """Formulas of one graph; they go through entries that nobody else reads."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def own(self, value: Entry | float) -> bool:
        """A formula may go through this entry: it is read once, and by that formula."""
        return isinstance(value, Entry) and self.facts.used_once(value)

    def product(self, entry: Entry) -> Product:
        """An entry as a product, as far as that goes."""
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
        """A value as a polynomial in x; None when it is none, or of a degree above 3."""
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
    """Both have the same coefficients, but for the digits that people leave out."""
    if found is None:
        return False
    return all(math.isclose(found.get(k, 0.0), wanted.get(k, 0.0), rel_tol=rtol, abs_tol=0.0)
               for k in {*found, *wanted})
