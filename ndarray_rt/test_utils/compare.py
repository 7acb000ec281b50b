"""Comparing arrays and graphs; failures name the worst element."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.ndarray import NDArray
from ..errors import TypeMismatch
from ..symbol.symbol import Symbol
from .tolerances import Tolerance, get_atol, get_etol, get_rtol, get_tols

Array = np.ndarray[Any, np.dtype[Any]]
Names = tuple[str, str]


def check_symbol(sym: Any, what: str) -> None:
    """TypeMismatch unless `sym` is a Symbol."""
    if not isinstance(sym, Symbol):
        raise TypeMismatch(f"{what}: sym must be a Symbol, got {type(sym).__name__}")


def as_numpy(value: Any) -> Any:
    """An NDArray as numpy, anything else as it is."""
    return value.asnumpy() if isinstance(value, NDArray) else value


def same(a: Any, b: Any) -> bool:
    """Equal shapes and elements."""
    return bool(np.array_equal(as_numpy(a), as_numpy(b)))


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Do two arrays lie on the same memory? Found out by writing to the first; it is restored."""
    before = array1.asnumpy()
    array1[:] += 1
    moved = same(array1, array2)
    array1[:] = before
    return moved and same(array1, array2)


def find_max_violation(a: Any, b: Any, rtol: float, atol: float) -> tuple[tuple[int, ...], float]:
    """(index, error) of the element farthest off; the error is in units of its tolerance."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind in "biu":  # differences of unsigned and bool would wrap
        a = a.astype(np.float64)
    with np.errstate(all="ignore"):
        difference = np.where(np.equal(a, b), 0, np.abs(a - b))
        violation = difference / (atol + rtol * np.abs(b) + 1e-20)
    where = np.unravel_index(int(np.argmax(violation)), violation.shape)
    return tuple(int(i) for i in where), float(np.max(violation))


def locationError(a: Any, b: Any, index: tuple[int, ...],  # noqa: N802 - MXNet's name
                  names: Names, maxError: bool = False) -> str:  # noqa: N803 - MXNet's name
    """A text that says where two arrays differ, and by what."""
    kind = "maximum " if maxError else ""
    return (f"Location of {kind}error: {index}, {names[0]}={a[index]:.8f}, "
            f"{names[1]}={b[index]:.8f}")


def checkShapes(a: Any, b: Any) -> None:  # noqa: N802 - MXNet's name
    """AssertionError where two arrays have different shapes."""
    if np.shape(a) != np.shape(b):
        raise AssertionError(f"a.shape = {np.shape(a)} and b.shape = {np.shape(b)} are not equal")


def almost_equal(a: Any, b: Any, rtol: float | None = None, atol: float | None = None,
                 equal_nan: bool = False, use_broadcast: bool = True) -> bool:
    """|a - b| <= atol + rtol |b| everywhere; by default with float64's tolerances."""
    if not use_broadcast:
        checkShapes(a, b)
    return bool(np.allclose(as_numpy(a), as_numpy(b), rtol=get_rtol(rtol), atol=get_atol(atol),
                            equal_nan=equal_nan))


def assert_almost_equal(a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None,
                        names: Names = ("a", "b"), equal_nan: bool = False,
                        use_broadcast: bool = True, mismatches: tuple[int, int] = (10, 10)) -> None:
    """|a - b| <= atol + rtol |b| everywhere, or an AssertionError that names the worst element.

    Tolerances are numbers or dicts by dtype; by default those of the less precise of the two
    dtypes. `mismatches`: how many elements the message lists; the second is accepted for
    MXNet's sake. NDArrays, numpy arrays and numbers are taken.
    """
    if not use_broadcast:
        checkShapes(a, b)
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = as_numpy(a), as_numpy(b)
    both_bool = getattr(a, "dtype", None) == np.bool_ and getattr(b, "dtype", None) == np.bool_
    if both_bool:
        np.testing.assert_equal(a, b)
    elif not almost_equal(a, b, rtol, atol, equal_nan):
        raise AssertionError(_report(a, b, rtol, atol, names, equal_nan, mismatches[0]))


def _report(a: Any, b: Any, rtol: float, atol: float, names: Names, equal_nan: bool,
            listed: int) -> str:
    a, b = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    a_seen, b_seen = np.where(wrong, a, 0), np.where(wrong, b, 0)
    index, error = find_max_violation(a_seen, b_seen, rtol, atol)
    share = 100.0 * np.count_nonzero(wrong) / wrong.size
    lines = [f"Error {error:f} exceeds tolerance rtol={rtol:e}, atol={atol:e} "
             f"(mismatch {share:f}%).",
             f"Location of maximum error: {index}, {names[0]}={a[index]:.8f}, "
             f"{names[1]}={b[index]:.8f}"]
    for count, place in enumerate(np.argwhere(wrong)):
        if count == listed:
            lines.append("    ...")
            break
        at = tuple(int(i) for i in place)
        lines.append(f"    {at}: {names[0]}={a[at]:.8f}, {names[1]}={b[at]:.8f}")
    return "\n".join(lines)


def assert_allclose(a: Any, b: Any, rtol: float = 1e-07, atol: float = 0,
                    equal_nan: bool = True) -> None:
    """`assert_almost_equal` with numpy's default tolerances."""
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None,
                                 etol: float | None = None, names: Names = ("a", "b"),
                                 equal_nan: bool = False,
                                 mismatches: tuple[int, int] = (10, 10)) -> None:
    """`assert_almost_equal`, but a share `etol` of the elements may be wrong."""
    allowed = get_etol(etol)
    if not allowed > 0:
        assert_almost_equal(a, b, rtol, atol, names, equal_nan, mismatches=mismatches)
        return
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = as_numpy(a), as_numpy(b)
    close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if 1 - np.count_nonzero(close) / close.size > allowed:
        raise AssertionError(_report(a, b, rtol, atol, names, equal_nan, mismatches[0]))


def assert_almost_equal_ignore_nan(a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None,
                                   names: Names = ("a", "b")) -> None:
    """`assert_almost_equal` of the elements that are NaN in neither."""
    a, b = np.copy(as_numpy(a)), np.copy(as_numpy(b))
    unknown = np.isnan(a) | np.isnan(b)
    a[unknown] = 0
    b[unknown] = 0
    assert_almost_equal(a, b, rtol, atol, names)


def assert_exception(f: Callable[..., Any], exception_type: Any, *args: Any, **kwargs: Any) -> None:
    """Calling f must raise `exception_type`."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{getattr(f, '__name__', f)!r} did not raise {exception_type!r}")


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
    """`assert_almost_equal` through nested tuples; None goes with everything."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for one, other in zip(t1, t2, strict=True):
            compare_ndarray_tuple(one, other, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)


def same_symbol_structure(sym1: Any, sym2: Any) -> bool:
    """Do two symbols have the same operators in the same order? Names do not count."""
    for sym in (sym1, sym2):
        check_symbol(sym, "same_symbol_structure")
    graphs = [json.loads(sym.tojson())["nodes"] for sym in (sym1, sym2)]
    return [node["op"] for node in graphs[0]] == [node["op"] for node in graphs[1]]
