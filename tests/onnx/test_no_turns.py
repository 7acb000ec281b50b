"""Loops that make no turn gather no rows, of the shape and dtype that a turn would give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.onnx.ops import no_turns

from .helpers import loaded, run_thrice

# how many turns a loop makes: known beforehand, or from data when it runs
COUNTS = {"known": "count = Identity(n)",
          "data": "d = Cast<to = 1>(n) s = ReduceSum<keepdims = 0>(d) count = Cast<to = 7>(s)"}


def of(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize("count", COUNTS)
def test_rows_keep_their_rank_and_dtype(count: str) -> None:
    """What follows takes them: a Transpose needs the rank."""
    text = """g (float[2,a] x, int64[k] n) => (float[A,B,C] t, int64[A] turns, float[2,a] last) {
        COUNT yes = Constant<value = bool {1}>()
        last, rows, turns = Loop(count, yes, x) <body = turn (int64 i, bool c, float[2,a] s)
            => (bool go, float[2,a] next, float[2,a] row, int64 j) {
            go = Identity(c) next = Add(s, x) row = Relu(next) j = Identity(i) }>
        t = Transpose<perm = [2,0,1]>(rows) }"""
    model = loaded(text.replace("COUNT", COUNTS[count]))
    x = np.ones((2, 3), np.float32)
    for turns in (0, 2, 0, -1):
        rows = np.array([x * (i + 2) for i in range(turns)]).reshape(max(turns, 0), 2, 3)
        run_thrice(model, {"x": x, "n": np.array([turns])},
                   [rows.transpose(2, 0, 1).astype(np.float32), np.arange(turns),
                    x * (max(turns, 0) + 1)])


def test_condition_that_does_not_hold() -> None:
    model = loaded("""g (float[2] x, bool[k] c) => (float[A,B] rows) {
        d = Cast<to = 1>(c) s = ReduceSum<keepdims = 0>(d) go = Cast<to = 9>(s)
        last, rows = Loop(, go, x) <body = turn (int64 i, bool c1, float[2] v)
            => (bool more, float[2] next, float[1,2] row) {
            zero = Constant<value_ints = [0]>() one = Constant<value_int = 1>() more = Less(i, one)
            next = Neg(v) row = Unsqueeze(next, zero) }> }""")
    x = np.array([1, 2], np.float32)
    for holds, expected in ((False, of((0, 1, 2))), (True, np.array([[-x], [x]]))):
        run_thrice(model, {"x": x, "c": np.array([holds])}, [expected])


OVER_ROWS = """g (float[t,n,3] x, float[n,3] h) => (float[A,B,C] y, float[n,3] last)
    <float[3,4] w = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}> {
    yes = Constant<value = bool {1}>() none = Constant<value_ints = [0]>()
    shape = Shape<end = 1>(x) trips = Squeeze(shape, none)
    last, y = Loop(trips, yes, h) <body = turn (int64 i, bool c, float[n,3] s)
        => (bool go, float[n,3] next, ROW row) {
        go = Identity(c) xt = Gather(x, i) next = Add(s, xt)
        twice = Concat<axis = 0>(next, next) row = MatMul(twice, w) }> }"""


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("batch", [0, 2])
def test_rows_of_what_has_none_itself(batch: int, steps: int) -> None:
    """A loop over the rows of an input: a turn takes the first, which is not there."""
    x, h = np.ones((steps, batch, 3), np.float32), np.ones((batch, 3), np.float32)
    rows = [np.full((2 * batch, 4), 3 * (i + 2)) for i in range(steps)]
    expected = np.array(rows, np.float32).reshape(steps, 2 * batch, 4)
    run_thrice(loaded(OVER_ROWS.replace("ROW", "float[m,k]")), {"x": x, "h": h},
               [expected, h * (steps + 1)])


@pytest.mark.parametrize(("told", "expected"), [
    ("float[m,4]", of((0, 0, 4))), ("int64[m,k,5]", of((0, 0, 0, 5), np.int64))])
def test_what_the_file_says_counts_where_data_decide(told: str, expected: Any) -> None:
    """How many rows each turn gives is known when it ran, and none did."""
    dtype = told.split("[")[0]
    model = loaded(f"""g ({dtype}[a,4] x, int64[1] n) => ({dtype}[A,B,C] y) {{
        none = Constant<value_ints = [0]>() trips = Squeeze(n, none)
        last, y = Loop(trips, , x) <body = turn (int64 i, bool c, {dtype}[a,4] s)
            => (bool go, {dtype}[a,4] next, {told} row) {{
            yes = Constant<value = bool {{1}}>() go = Identity(yes) next = Identity(s)
            places = NonZero(s) turned = Transpose(places) row = GatherND(s, turned) }}> }}""")
    x = np.ones((2, 4), expected.dtype)
    run_thrice(model, {"x": x, "n": np.array([0])}, [expected])


def test_loops_inside_of_loops_that_make_no_turn() -> None:
    inner = """out, rows = Loop(none, yes, s) <body = b{0} (int64 i{0}, bool c{0}, float[2] v{0})
        => (bool g{0}, float[2] w{0}, float[2] r{0}) {{
        g{0} = Identity(c{0}) w{0} = Neg(v{0}) r{0} = Abs(w{0}) }}>"""
    model = loaded("""g (float[2] x) => (float[A,B,C] y) {
        none = Constant<value_int = 0>() yes = Constant<value = bool {1}>()
        last, y = Loop(none, yes, x) <body = turn (int64 i, bool c, float[2] s)
            => (bool go, float[2] next, float[k,l] row) {
            go = Identity(c) INNER next = Identity(out) row = Relu(rows) }> }""".replace(
                "INNER", inner.format(1)))
    run_thrice(model, {"x": np.ones(2, np.float32)}, [of((0, 0, 2))])


def test_bodies_are_not_planned_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops in loops in loops would be planned more often with each level."""
    monkeypatch.setattr(no_turns, "_MOST_TRIED", 1)
    x, h = of((0, 2, 3)), of((2, 3))
    run_thrice(loaded(OVER_ROWS.replace("ROW", "float[6,k]")), {"x": x, "h": h},
               [of((0, 6, 0)), h])


# ---- Scan ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("batch", [0, 3])
def test_scan(batch: int, steps: int) -> None:
    model = loaded("""g (float[n,4] h, float[n,t,4] x)
            => (float[n,4] last, float[n,A,4] y, int64[A,B] k) {
        last, y, k = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1, -1],
                          scan_output_directions = [1, 0], body = step (float[n,4] s, float[n,4] xt)
            => (float[n,4] next, float[n,4] row, int64[m] count) {
            next = Add(s, xt) row = Identity(next) count = Shape(next) }>(h, x) }""")
    h, x = np.ones((batch, 4), np.float32), np.ones((batch, steps, 4), np.float32)
    rows = (np.arange(steps, 0, -1) + 1)[None, :, None] * np.ones((batch, 1, 4))
    run_thrice(model, {"h": h, "x": x}, [h * (steps + 1), rows.astype(np.float32),
                                         np.array([[batch] * steps, [4] * steps], np.int64)])


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("batch", [0, 3])
def test_scan_of_operator_set_8(batch: int, steps: int) -> None:
    model = loaded("""g (float[n,4] h, float[n,t,4] x) => (float[n,4] last, float[n,t,1,4] y) {
        last, y = Scan<num_scan_inputs = 1, body = step (float[4] s, float[4] xt)
            => (float[4] next, float[1,4] row) {
            next = Add(s, xt) row = Unsqueeze<axes = [0]>(next) }>(, h, x) }""", opset=8)
    h, x = np.ones((batch, 4), np.float32), np.ones((batch, steps, 4), np.float32)
    rows = (np.arange(steps) + 2)[None, :, None, None] * np.ones((batch, 1, 1, 4))
    run_thrice(model, {"h": h, "x": x}, [h * (steps + 1), rows.astype(np.float32)])
