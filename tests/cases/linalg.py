"""Linear algebra against NumPy's functions, sums written out, and slopes of those."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

NEAR = {"float32": 1e-4, "float64": 1e-9}
FLOATS = ("float32", "float64")


def turned(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def values(shape: tuple[int, ...], kind: str) -> Input:
    """Matrices far from singular, or symmetric ones that are positive definite.

    Of the latter also the lower triangles are, after all numbers have moved on by one place: so
    the harness makes other contents.
    """
    n = shape[-1]
    if kind == "symmetric":
        line = np.diag(5 + 0.37 * np.arange(n) ** 1.5) + 2.4 * (np.eye(n, k=1) + np.eye(n, k=-1))
        return Input(shape, values=np.broadcast_to(line, shape))
    return Input(shape, values=np.random.default_rng(sum(shape)).uniform(-1, 1, shape)
                 + 2 * np.eye(n))


def slope(function: Callable[..., Any], symmetric: bool) -> Callable[..., Any]:
    """The gradient of a function of one matrix, by differences; along pairs where symmetric."""
    def gradients(a: Array, *heads: Array) -> tuple[Array]:
        made, eps = np.zeros(a.shape), 1e-6
        for place in np.ndindex(*a.shape):
            step = np.zeros(a.shape)
            step[place] += eps / 2
            twin = (*place[:-2], *(place[:-3:-1] if symmetric else place[-2:]))
            step[twin] += eps / 2
            up, down = function(a + step), function(a - step)
            pairs = zip(up, down, heads, strict=True) if isinstance(up, tuple) else (
                [(up, down, heads[0])])
            made[place] = sum(((u - d) * h).sum() for u, d, h in pairs) / (2 * eps)
        return (made,)
    return gradients


def product(p: dict[str, Any], a: Array, b: Array, alpha: float = 1.0) -> Array:
    """Rows along the axis, columns along the last one."""
    axis = p.get("axis", -2)
    a, b = np.moveaxis(a, axis, -2), np.moveaxis(b, axis, -2)
    left = "...km" if p.get("transpose_a") else "...mk"
    right = "...nk" if p.get("transpose_b") else "...kn"
    return np.moveaxis(np.einsum(f"{left},{right}->...mn", a, b), -2, axis) * alpha


def gemm(p: dict[str, Any]) -> Callable[..., Array]:
    return lambda a, b, c: product(p, a, b, p.get("alpha", 1.0)) + p.get("beta", 1.0) * c


def one_triangle(p: dict[str, Any], a: Array) -> Array:
    a = np.tril(a) if p.get("lower", True) else np.triu(a)
    return turned(a) if p.get("transpose") else a


def trmm(p: dict[str, Any]) -> Callable[..., Array]:
    def reference(a: Array, b: Array) -> Array:
        a = one_triangle(p, a)
        pair, alpha = ((b, a) if p.get("rightside") else (a, b)), p.get("alpha", 1.0)
        return np.einsum("...ik,...kj->...ij", *pair) * alpha
    return reference


def trsm(p: dict[str, Any]) -> Callable[..., Array]:
    def reference(a: Array, b: Array) -> Array:
        inverse = np.linalg.inv(one_triangle(p, a))
        pair = (b, inverse) if p.get("rightside") else (inverse, b)
        return np.matmul(*pair) * p.get("alpha", 1.0)
    return reference


def potri(low: Array) -> Array:
    return np.linalg.inv(np.matmul(np.tril(low), turned(np.tril(low))))


def syevd(a: Array) -> tuple[Array, Array]:
    found, vectors = np.linalg.eigh(a)
    rows = turned(vectors)
    at = np.abs(rows).argmax(-1)[..., None]
    return rows * np.sign(np.take_along_axis(rows, at, -1)), found


def gelqf(a: Array) -> tuple[Array, Array]:
    q, r = np.linalg.qr(turned(a))
    return turned(q), turned(r)


def extracted(a: Array, rows: list[int], columns: list[int]) -> Array:
    return a[..., rows, columns]


def numbers(x: Any) -> Array:
    return np.atleast_1d(np.asarray(x))


CASES = [Case("_linalg_gemm", p, shapes, reference=gemm(p), native=native, rtol=NEAR, atol=NEAR,
              dtypes=FLOATS)
         for p, shapes, native in (
             ({}, [(2, 3), (3, 4), (2, 4)], True),
             ({"transpose_a": True, "alpha": 0.5}, [(3, 2), (3, 4), (2, 4)], True),
             ({"transpose_b": True, "beta": 2.0}, [(2, 3), (4, 3), (2, 4)], True),
             ({"alpha": -2.0, "beta": 0.5}, [(2, 2, 3), (2, 3, 4), (2, 2, 4)], True),
             ({"transpose_a": True, "transpose_b": True}, [(2, 3, 4, 5), (2, 3, 6, 4),
                                                            (2, 3, 5, 6)], True),
             ({"beta": 0.0}, [(2, 3), (3, 4), (2, 4)], True),
             ({"axis": 0}, [(2, 2, 3), (3, 2, 4), (2, 2, 4)], False))]
CASES += [Case("_linalg_syrk", p, [shape], native=True, dtypes=FLOATS, rtol=NEAR, atol=NEAR,
               reference=lambda a, p=p: p.get("alpha", 1.0) * (
                   np.einsum("...ki,...kj->...ij", a, a) if p.get("transpose") else
                   np.einsum("...ik,...jk->...ij", a, a)))
          for p in ({}, {"transpose": True, "alpha": -0.5})
          for shape in ((2, 3), (2, 4, 3), (2, 2, 3, 1))]
FLAGS: list[dict[str, Any]] = [
    {}, {"lower": False, "alpha": 1.5}, {"transpose": True, "rightside": True},
    {"transpose": True, "lower": False}, {"rightside": True, "alpha": -0.5}]
CASES += [Case(f"_linalg_{name}", p, [values((*batch, 3, 3), "full"), Input(
    (*batch, 4, 3) if p.get("rightside") else (*batch, 3, 4))], reference=reference(p),
    dtypes=FLOATS, rtol=NEAR, atol=NEAR)
    for name, reference in (("trmm", trmm), ("trsm", trsm))
    for p in FLAGS for batch in ((), (2,))]
CASES += [Case("_linalg_trsm", {}, [values((70, 70), "full"), (70, 2)], reference=trsm({}),
               dtypes=FLOATS, rtol={"float32": 1e-2, "float64": 1e-7},
               atol={"float32": 1e-2, "float64": 1e-7},
               exempt={"gradient": "the others show it"}, note="blocks")]

SQUARE: list[tuple[str, str, Callable[..., Any], bool]] = [
    ("potrf", "symmetric", np.linalg.cholesky, True),
    ("syevd", "symmetric", syevd, True),
    ("potri", "full", potri, False),
    ("inverse", "full", np.linalg.inv, False),
    ("det", "full", lambda a: numbers(np.linalg.det(a)), False),
    ("slogdet", "full", lambda a: tuple(numbers(x) for x in np.linalg.slogdet(a)), False),
    ("sumlogdiag", "full",
     lambda a: numbers(np.log(np.diagonal(a, axis1=-2, axis2=-1)).sum(-1)), False),
    ("gelqf", "full", gelqf, False)]
CASES += [Case(f"_linalg_{name}", {}, [values(shape, kind)], reference=function,
               gradients=slope(function, symmetric), dtypes=FLOATS,
               rtol={"float32": 1e-3, "float64": 1e-7}, atol={"float32": 1e-3, "float64": 1e-7})
          for name, kind, function, symmetric in SQUARE for shape in ((3, 3), (2, 4, 4), (1, 1))]
CASES += [Case(f"_linalg_{name}", {"lower": False}, [values((3, 3), kind)], reference=function,
               gradients=slope(function, symmetric), dtypes=FLOATS,
               rtol={"float32": 1e-3, "float64": 1e-7}, atol={"float32": 1e-3, "float64": 1e-7},
               exempt={} if name == "potri" else {
                   "executor": "the other contents that it takes are not positive definite"})
          for name, kind, function, symmetric in (
              ("potrf", "symmetric", lambda a: turned(np.linalg.cholesky(a)), True),
              ("potri", "full", lambda a: potri(turned(a)), False))]
CASES += [Case("_linalg_gelqf", {}, [shape], reference=gelqf, gradients=slope(gelqf, False),
               dtypes=FLOATS, rtol={"float32": 1e-3, "float64": 1e-7},
               atol={"float32": 1e-3, "float64": 1e-7}) for shape in ((2, 3), (2, 2, 5))]

CASES += [Case("_linalg_extractdiag", {"offset": offset}, [(2, 4, 4)], dtypes=FLOATS,
               reference=lambda a, k=offset: np.diagonal(a, k, -2, -1)) for offset in (0, 1, -3)]
CASES += [Case("_linalg_makediag", {"offset": offset}, [shape], dtypes=FLOATS,
               reference=lambda a, k=offset: np.stack([np.diag(row, k) for row in a.reshape(
                   -1, a.shape[-1])]).reshape((*a.shape[:-1], *[a.shape[-1] + abs(k)] * 2)))
          for offset in (0, 2, -1) for shape in ((3,), (2, 3))]
TRIANGLES: list[tuple[dict[str, Any], int, list[int], list[int]]] = [
    ({}, 2, [0, 1, 1], [0, 0, 1]), ({"lower": False}, 2, [0, 0, 1], [0, 1, 1]),
    ({"offset": 1}, 3, [0, 0, 1], [1, 2, 2]), ({"offset": -1}, 3, [1, 2, 2], [0, 0, 1]),
    ({"lower": False}, 3, [0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2])]


def placed(rows: list[int], columns: list[int], n: int) -> Callable[[Array], Array]:
    def reference(a: Array) -> Array:
        made = np.zeros((*a.shape[:-1], n, n), a.dtype)
        made[..., rows, columns] = a
        return made
    return reference


CASES += [Case("_linalg_extracttrian", p, [(2, n, n)], dtypes=FLOATS,
               reference=lambda a, r=rows, c=columns: extracted(a, r, c))
          for p, n, rows, columns in TRIANGLES]
CASES += [Case("_linalg_maketrian", p, [(2, len(rows))], dtypes=FLOATS,
               reference=placed(rows, columns, n)) for p, n, rows, columns in TRIANGLES]
