"""Products of rows that are 1 in one place with a table are rows of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.onnx import Model
from ndarray_rt.symbol.node import topological

from .helpers import loaded, run_thrice

NUMBERS: dict[str, Any] = {"int64": np.int64, "int32": np.int32, "uint8": np.uint8, "int8": np.int8,
           "uint32": np.uint32, "uint64": np.uint64}


def text(kind: str, expand: bool = True, table: str = "{1, 2, 3, 4, 5, 6, 7, 8}",
         all_places: str = "{0, 1, 2, 3}", turned: bool = False) -> str:
    left = "wide" if expand else "x"
    pair = f"all, {left}" if turned else f"{left}, all"
    return f"""g ({kind}[n, 3, 1] x) => (float[n, 3, 2] y) {{
        all = Constant<value = {kind}[1, 1, 4] {all_places}>()
        end = Constant<value = int64[1] {{4}}>()
        shape = Shape(x)
        first = Slice(shape, zero, two)
        target = Concat<axis = 0>(first, end)
        wide = Expand(x, target)
        same = Equal({pair})
        hot = Cast<to = 1>(same)
        w = Constant<value = float[4, 2] {table}>()
        y = MatMul(hot, w)
    }}""".replace("first = Slice(shape, zero, two)", """zero = Constant<value = int64[1] {0}>()
        two = Constant<value = int64[1] {2}>()
        first = Slice(shape, zero, two)""")


def operators(model: Model) -> set[str]:
    return {node.op.name for segment in model._used((), {}).segments()
            for node in topological(segment.executor.symbol.entries) if node.op is not None}


def expected(x: Any) -> Any:
    hot = (x == np.arange(4)).astype(np.float32)
    return hot @ np.arange(1, 9, dtype=np.float32).reshape(4, 2)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("how", [{}, {"expand": False}, {"turned": True}], ids=str)
def test_rows(kind: str, how: dict[str, Any]) -> None:
    model = loaded(text(kind, **how))
    for n in (2, 5):
        x = np.random.default_rng(n).integers(0, 7, (n, 3, 1))
        if kind[0] != "u":
            x -= 2  # some are below all places, some above
        given = x.astype(NUMBERS[kind])
        ends = np.iinfo(NUMBERS[kind])
        given[0] = [[ends.min], [ends.max], [3]]
        run_thrice(model, {"x": given}, [expected(given)])
    assert "take" in operators(model)
    assert "_numpy_function" not in operators(model)
    assert "FullyConnected" not in operators(model)
    assert model._last is not None
    assert [type(step).__name__ for step in model._last.steps] == ["Segment"]


@pytest.mark.parametrize("how", [
    {"all_places": "{0, 1, 3, 2}"}, {"all_places": "{1, 2, 3, 4}"}], ids=str)
def test_other_places(how: dict[str, Any]) -> None:
    model = loaded(text("int64", **how))
    x = np.array([[[0], [1], [2]], [[3], [4], [-1]]])
    places = np.array([int(p) for p in how["all_places"][1:-1].split(",")])
    hot = (x == places).astype(np.float32)
    run_thrice(model, {"x": x}, [hot @ np.arange(1, 9, dtype=np.float32).reshape(4, 2)])
    assert "take" not in operators(model)
