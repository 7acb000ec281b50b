"""Plans: what is computed beforehand, what is shared, and what waits for data."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ndarray_rt as mx
from ndarray_rt.errors import ParameterError
from ndarray_rt.onnx import load
from ndarray_rt.onnx.plan import HostStep, NodeCall, Segment
from ndarray_rt.symbol.node import topological

from .helpers import loaded, model_of, run_thrice

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7


def steps_of(model: Any) -> list[Any]:
    return [step for plan in model._loaded.plans.values() for step in plan.steps]


FLATTENED = """g (float[N,3,4] x) => (float[N,12] y) {
    shape = Shape(x)
    zero = Constant<value_ints = [0]>()
    n = Gather(shape, zero)
    rest = Constant<value_ints = [-1]>()
    target = Concat<axis = 0>(n, rest)
    flat = Reshape(x, target)
    y = Relu(flat)
}"""


def test_shapes_are_computed_beforehand() -> None:
    """Of a Reshape to a computed shape nothing but the Reshape is left."""
    model = loaded(FLATTENED)
    run_thrice(model, {"x": X}, [np.maximum(X, 0).reshape(2, 12)])
    step, = steps_of(model)
    assert isinstance(step, Segment)
    assert step.executor.capture_state == "captured"


def test_other_batch_goes_on_with_the_first() -> None:
    model = loaded(FLATTENED)
    model(X)
    model(np.concatenate([X, X, X]))
    first, second = model._loaded.executors
    assert first.symbol is second.symbol
    run_thrice(model, {"x": X[:1]}, [np.maximum(X[:1], 0).reshape(1, 12)])
    assert len(model._loaded.plans) == 3


def test_other_batch_where_the_shape_of_a_constant_does_not_follow() -> None:
    """A sum that broadcasts tells nothing of its parts."""
    model = loaded("""g (float[N,2] x) => (float[N,2] y) <float[2] b = {1, -100}> {
        s = Add(x, b)
        y = Relu(s)
    }""")
    for n in (2, 3, 1):
        made, = model(np.full((n, 2), 4, np.float32))
        np.testing.assert_array_equal(made, [[5, 0]] * n)


def test_other_size_of_pictures_goes_on_with_the_first() -> None:
    model = loaded("g (float[N,3,H,W] x) => (float[N,3,1,1] y) { y = GlobalAveragePool(x) }")
    for side in (4, 6):
        made, = model(np.ones((2, 3, side, side), np.float32))
        np.testing.assert_array_equal(made, np.ones((2, 3, 1, 1)))
    first, second = model._loaded.executors
    assert first.symbol is second.symbol


def test_plans_are_bounded() -> None:
    model = loaded("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    for n in range(1, 80):
        np.testing.assert_array_equal(model(np.full(n, 2, np.float32))[0], np.full(n, 2))
    assert len(model._loaded.plans) <= 32


def test_weights_are_shared_between_shapes() -> None:
    weight = np.arange(8, dtype=np.float32).reshape(4, 2)
    proto = model_of("g (float[N,4] x, float[4,2] w) => (float[N,2] y) { y = MatMul(x, w) }")
    import onnx.numpy_helper
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    model = load(proto)
    assert [info.name for info in model.inputs] == ["x"]  # an initialiser that is an input too
    for n in (1, 3, 1, 5):
        x = np.random.default_rng(n).random((n, 4), np.float32)
        np.testing.assert_allclose(model(x)[0], x @ weight, rtol=1e-5)
    assert model._loaded.constants.count == 1


def test_numbers_of_rank_zero() -> None:
    model = loaded("g (float x, float[2] v) => (float y, float[2] z) {"
                   " y = Add(x, x) z = Mul(v, y) }")
    run_thrice(model, {"x": np.float32(3), "v": np.array([1, 2], np.float32)},
               [np.asarray(6, np.float32), np.array([6, 12], np.float32)])


def test_functions_of_numbers_of_rank_zero() -> None:
    """What NumPy computes inside of a graph gets tensors as they are."""
    model = loaded("g (float[3] x, float k) => (float y, float[3] z) { a = Relu(x) b = Exp(k)"
                   " i = Cast<to = 7>(b) y = Gather(a, i) r = Round(b) z = Add(x, r) }")
    x = np.array([3, 4, 5], np.float32)
    run_thrice(model, {"x": x, "k": np.float32(0.2)}, [np.asarray(4, np.float32), x + 1])


def test_whole_numbers_are_exact() -> None:
    big = np.array([2**62 + 1, -(2**53) - 1], np.int64)
    model = loaded("g (int64[2] x) => (int64[2] y, int64[2] q) {"
                   " one = Constant<value_ints = [1]>() y = Sub(x, one)"
                   " three = Constant<value_ints = [3]>() q = Div(x, three) }")
    expected = [int(v) // 3 if v > 0 else -(-int(v) // 3) for v in big]
    run_thrice(model, {"x": big}, [big - 1, np.array(expected, np.int64)])


def test_no_elements() -> None:
    model = loaded("g (float[N,3] x) => (float[N,3] y, float[3] s) {"
                   " y = Relu(x) axes = Constant<value_ints = [0]>()"
                   " s = ReduceSum<keepdims = 0>(y, axes) }")
    run_thrice(model, {"x": np.zeros((0, 3), np.float32)},
               [np.zeros((0, 3), np.float32), np.zeros(3, np.float32)])


def test_shape_that_depends_on_data() -> None:
    model = loaded("g (float[N] x) => (float[M] y) { i = NonZero(x) axes = Constant<value_ints = "
                   "[0]>() row = Squeeze(i, axes) z = Gather(x, row) y = Exp(z) }")
    for numbers in ([0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 0, 0], [1, 2, 3, 4]):
        x = np.array(numbers, np.float32)
        run_thrice(model, {"x": x}, [np.exp(x[x != 0])], rtol=1e-5)
    assert any(isinstance(step, HostStep) for step in steps_of(model))


IF = """g (float[3] x, bool c) => (float[3] y) {
    w = Relu(x)
    y = If(c) <
        then_branch = yes () => (float[3] a) { a = Add(w, x) },
        else_branch = no () => (float[3] b) { t = Neg(w) b = Mul(t, x) }
    >
}"""


def test_branches_read_outer_values() -> None:
    model = loaded(IF)
    x = np.array([-1, 2, 3], np.float32)
    w = np.maximum(x, 0)
    for _ in range(3):
        for choice in (True, False):
            np.testing.assert_array_equal(model(x, np.asarray(choice))[0],
                                          w + x if choice else -w * x)


@pytest.mark.parametrize("trips", [0, 1, 5, 200])
def test_loop_with_known_and_unknown_ends(trips: int) -> None:
    """Few turns become part of the plan; others are run."""
    model = loaded("""g (int64 n, float[2] x) => (float[2] last, float[k,2] all) {
        yes = Constant<value = bool {1}>()
        last, all = Loop(n, yes, x) <body = turn (int64 i, bool c, float[2] s)
            => (bool go, float[2] next, float[2] out) {
            go = Identity(c) step = Constant<value_float = 1.0>() next = Add(s, step)
            out = Mul(next, x) }>
    }""")
    x = np.array([1, -2], np.float32)
    rows = [(x + i + 1) * x for i in range(trips)]
    for _ in range(2):
        last, every = model(np.asarray(trips, np.int64), x)
        np.testing.assert_allclose(last, x + trips)
        if trips:
            np.testing.assert_allclose(every, np.stack(rows))


def test_loop_whose_condition_follows_from_counters() -> None:
    """As TensorFlow's loops: no trip count, a counter among the states."""
    model = loaded("""g (float[2] x) => (float[2] last) {
        zero = Constant<value_int = 0>()
        yes = Constant<value = bool {1}>()
        i, last = Loop(, yes, zero, x) <body = turn (int64 n, bool c, int64 i, float[2] s)
            => (bool go, int64 j, float[2] next) {
            one = Constant<value_int = 1>() j = Add(i, one) five = Constant<value_int = 5>()
            go = Less(j, five) next = Add(s, s) }>
    }""")
    run_thrice(model, {"x": np.array([1, 2], np.float32)}, [np.array([32, 64], np.float32)])
    step, = steps_of(model)
    assert isinstance(step, Segment)


def test_small_whole_numbers_decide_about_plans() -> None:
    """A rate has a plan for each of its values; what has too many of them is data."""
    model = loaded("""g (float[3] x, int64 rate) => (float[3] y) {
        k = Constant<value_int = 8000>() c = Equal(rate, k)
        y = If(c) < then_branch = yes () => (float[3] a) { a = Neg(x) },
                    else_branch = no () => (float[3] b) { b = Relu(x) } > }""")
    x = np.array([-1, 2, 3], np.float32)
    for _ in range(2):
        for rate in (8000, 16000):
            expected = -x if rate == 8000 else np.maximum(x, 0)
            np.testing.assert_array_equal(model(x, np.asarray(rate))[0], expected)
    assert all(isinstance(step, Segment) for step in steps_of(model))
    for rate in range(20):
        np.testing.assert_array_equal(model(x, np.asarray(rate))[0], np.maximum(x, 0))
    assert len(model._loaded.plans) < 8
    np.testing.assert_array_equal(model(x, np.asarray(8000))[0], -x)


def test_convolution_of_one_column() -> None:
    """It runs along the other axis, with the same numbers."""
    model = loaded("g (float[N,2,9,1] x, float[3,2,4,1] w) => (float[N,3,H,1] y) {"
                   " y = Conv<pads = [1,0,2,0], strides = [2,1]>(x, w) }")
    rng = np.random.default_rng(0)
    x, w = rng.random((2, 2, 9, 1), np.float32), rng.random((3, 2, 4, 1), np.float32)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 2), (0, 0)])
    expected = np.stack([np.einsum("nchw,ochw->no", padded[:, :, i:i + 4], w)
                         for i in range(0, 9, 2)], 2)[..., None]
    run_thrice(model, {"x": x, "w": w}, [expected], rtol=1e-5)


@pytest.mark.parametrize(("op", "more"), [
    ("AveragePool", ""), ("AveragePool", ", count_include_pad = 1"), ("MaxPool", "")])
@pytest.mark.parametrize("pads", [(0, 0, 1, 1), (1, 0, 0, 1), (1, 1, 1, 1), (0, 0, 2, 2),
                                  (0, 0, 0, 3)])
def test_pools_with_other_pads_at_the_end(op: str, more: str, pads: tuple[int, ...]) -> None:
    """They run in the graph, with the numbers of the definition."""
    model = loaded(f"g (float[N,2,7,7] x) => (float[N,2,H,W] y) {{ y = {op}<kernel_shape = [3,3],"
                   f" strides = [2,2], pads = {list(pads)}{more}>(x) }}")
    x = np.random.default_rng(0).random((2, 2, 7, 7), np.float32)
    top, left, bottom, right = pads
    expected = np.empty((2, 2, (7 + top + bottom - 3) // 2 + 1, (7 + left + right - 3) // 2 + 1),
                        np.float32)
    for i, j in np.ndindex(expected.shape[2:]):
        rows = slice(max(2 * i - top, 0), min(2 * i - top + 3, 7))
        columns = slice(max(2 * j - left, 0), min(2 * j - left + 3, 7))
        part = x[:, :, rows, columns]
        expected[:, :, i, j] = part.max((2, 3)) if op == "MaxPool" else (
            part.sum((2, 3)) / 9 if more else part.mean((2, 3)))
    run_thrice(model, {"x": x}, [expected], rtol=1e-5)
    step, = steps_of(model)
    assert step.executor.capture_state == "captured"


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize(("size", "stride", "pads", "out"), [
    (8, 2, (0, 0), 4), (8, 3, (1, 1), 3), (7, 3, (0, 0), 3), (6, 2, (0, 1), 3), (5, 3, (1, 0), 2)])
def test_pools_of_windows_that_reach_out(op: str, size: int, stride: int, pads: tuple[int, int],
                                         out: int) -> None:
    """Of sizes that are rounded up: by a step of the graph that nothing is padded before."""
    model = loaded(f"g (float[N,2,{size}] x) => (float[N,2,W] y) {{ y = {op}<kernel_shape = [3],"
                   f" strides = [{stride}], pads = {list(pads)}, ceil_mode = 1>(x) }}")
    x = np.random.default_rng(0).standard_normal((2, 2, size)).astype(np.float32)
    parts = [x[:, :, max(i * stride - pads[0], 0):i * stride - pads[0] + 3] for i in range(out)]
    run_thrice(model, {"x": x}, [np.stack([part.max(2) if op == "MaxPool" else part.mean(2)
                                           for part in parts], 2)], rtol=1e-5)
    step, = steps_of(model)
    assert [row.operator for row in step.executor.explain().rows] == ["Pooling"]


@pytest.mark.parametrize("pads", [(0, 0, 1, 1), (1, 0, 0, 1), (2, 1, 0, 0)])
def test_convolutions_with_other_pads_at_the_end(pads: tuple[int, ...]) -> None:
    model = loaded(f"g (float[N,2,7,8] x, float[3,2,3,3] w) => (float[N,3,H,W] y) {{"
                   f" y = Conv<strides = [2,2], pads = {list(pads)}>(x, w) }}")
    rng = np.random.default_rng(0)
    x, w = rng.random((2, 2, 7, 8), np.float32), rng.random((3, 2, 3, 3), np.float32)
    top, left, bottom, right = pads
    whole = np.pad(x, [(0, 0), (0, 0), (top, bottom), (left, right)])
    windows = np.lib.stride_tricks.sliding_window_view(whole, (3, 3), (2, 3))[:, :, ::2, ::2]
    run_thrice(model, {"x": x, "w": w}, [np.einsum("nchwij,ocij->nohw", windows, w)], rtol=1e-5)


@pytest.mark.parametrize("form", ["roi, scales", "roi, roi, sizes", "_, scales"])
def test_resize_runs_in_the_graph(form: str) -> None:
    """Also where the region, which older writers always give, has no elements."""
    form = form.replace("_", "")
    model = loaded(f"""g (float[N,3,4,5] x) => (float[N,3,8,10] y) {{
        roi = Constant<value = float[0] {{}}>()
        scales = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>()
        shape = Shape<end = 2>(x)
        last = Constant<value_ints = [8, 10]>()
        sizes = Concat<axis = 0>(shape, last)
        y = Resize<mode = "nearest", nearest_mode = "floor",
                   coordinate_transformation_mode = "asymmetric">(x, {form}) }}""")
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)
    x[0, 0, 0, 0] = -0.0
    run_thrice(model, {"x": x}, [x.repeat(2, 2).repeat(2, 3)], rtol=0)
    assert np.signbit(model(x)[0][0, 0, 0, 0])
    step, = steps_of(model)
    assert step.executor.explain().totals["numpy"] == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("axis", [None, 1, 2])
@pytest.mark.parametrize("behind", ["", "x"])
def test_what_is_quantized_and_back_is_one_step(dtype: Any, axis: int | None, behind: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)
    x[0, 0] = [np.nan, np.inf, -np.inf, 0.625]
    n = 1 if axis is None else x.shape[axis]
    scale = np.linspace(0.25, 0.5, n).astype(np.float32).reshape(() if axis is None else n)
    zero = rng.integers(1, 9, n).astype(dtype).reshape(scale.shape)
    node = helper.make_node
    where: dict[str, Any] = {} if axis is None else {"axis": axis}
    nodes = [node("Relu", ["x"], ["a"]) if behind else node("Identity", ["x"], ["a"]),
             node("QuantizeLinear", ["a", "scale", "zero"], ["q"], **where),
             node("DequantizeLinear", ["q", "scale", "zero"], ["y"], **where)]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, ["n", 3, 4])],
                              [info("y", TensorProto.FLOAT, ["n", 3, 4])],
                              [numpy_helper.from_array(scale, "scale"),
                               numpy_helper.from_array(zero, "zero")])
    model = load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                   ir_version=8))
    shape = [1] * 3
    if axis is not None:
        shape[axis] = n
    s, z = scale.reshape(shape), zero.reshape(shape).astype(np.float32)
    a = np.maximum(x, 0) if behind else x
    limits = np.iinfo(dtype)
    expected = np.where(np.isnan(a), -z, np.clip(np.rint(a / s) + z, limits.min, limits.max) - z)
    run_thrice(model, {"x": x}, [expected * s], rtol=0, atol=0)
    step, = steps_of(model)
    assert step.executor.explain().totals["numpy"] == 0


def test_what_is_quantized_in_another_way_stays() -> None:
    """Other scales on the way back, and whole numbers that somebody reads."""
    model = loaded("""g (float[N,3] x) => (float[N,3] y, uint8[N,3] q) {
        small = Constant<value_float = 0.25>()
        large = Constant<value_float = 0.5>()
        zero = Constant<value = uint8 {3}>()
        q = QuantizeLinear(x, small, zero)
        y = DequantizeLinear(q, large, zero) }""")
    x = np.array([[-1, 0.25, 99]], np.float32)
    run_thrice(model, {"x": x}, [np.array([[-1.5, 0.5, 126]], np.float32),
                                 np.array([[0, 4, 255]], np.uint8)], rtol=0)


def test_products_of_whole_numbers_are_exact() -> None:
    model = loaded("g (uint8[2,900] a, int8[900,3] b) => (int32[2,3] y) {"
                   " y = MatMulInteger(a, b) }")
    rng = np.random.default_rng(0)
    a = rng.integers(200, 256, (2, 900), np.uint8)
    b = rng.integers(100, 128, (900, 3)).astype(np.int8)
    run_thrice(model, {"a": a, "b": b}, [a.astype(np.int32) @ b.astype(np.int32)], rtol=0, atol=0)


def test_float16_is_computed_in_float32_and_rounded() -> None:
    """Every operator's result is rounded, and all of them are the engine's."""
    model = loaded("g (float16[N,3,8,8] x, float16[4,3,3,3] w) => (float16[N,4,6,6] y, float s) {"
                   " c = Conv(x, w) y = Sigmoid(c) f = Cast<to = 1>(y)"
                   " s = ReduceSum<keepdims = 0>(f) }")
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 3, 8, 8)).astype(np.float16), rng.normal(
        size=(4, 3, 3, 3)).astype(np.float16)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float32), (3, 3), (2, 3))
    c = np.einsum("nchwij,ocij->nohw", windows, w.astype(np.float32)).astype(np.float16)
    y = (1 / (1 + np.exp(-c.astype(np.float32)))).astype(np.float16)
    run_thrice(model, {"x": x, "w": w}, [y, np.asarray(y.astype(np.float32).sum())], rtol=2e-3)
    step, = steps_of(model)
    operators = {node.op.name for node in topological(step.executor.symbol.entries) if node.op}
    assert operators == {"Cast", "Convolution", "sigmoid", "sum"}


def test_loop_that_data_ends() -> None:
    model = loaded("""g (float x) => (float last) {
        none = Constant<value_int = 1000>()
        yes = Constant<value = bool {1}>()
        last = Loop(none, yes, x) <body = turn (int64 i, bool c, float s)
            => (bool go, float next) {
            two = Constant<value_float = 2.0>() next = Mul(s, two)
            end = Constant<value_float = 100.0>() go = Less(next, end) }>
    }""")
    for x, expected in ((3.0, 192.0), (150.0, 300.0), (3.0, 192.0)):
        assert model(np.float32(x))[0] == expected


def test_local_functions() -> None:
    model = loaded("""g (float[2] x) => (float[2] y) { y = local.twice<gain = 3.0>(x) }
        <domain: "local", opset_import: ["" : 17]> twice <gain: float = 1.0> (a) => (b) {
            k = Constant<value_float: float = @gain>() s = Add(a, a) b = Mul(s, k) }""")
    run_thrice(model, {"x": np.array([1, 2], np.float32)}, [np.array([6, 12], np.float32)])


def test_sequences() -> None:
    model = loaded("""g (float[4,2] x) => (float[4,2] y, int64 n) {
        parts = SplitToSequence<axis = 0, keepdims = 1>(x)
        n = SequenceLength(parts)
        y = ConcatFromSequence<axis = 0>(parts) }""")
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    run_thrice(model, {"x": x}, [x, np.asarray(4, np.int64)])


def test_random_numbers_differ_from_run_to_run() -> None:
    model = loaded("g (float[64] x) => (float[64] y) { r = RandomNormalLike(x) y = Add(r, x) }")
    x = np.zeros(64, np.float32)
    assert len({model(x)[0].tobytes() for _ in range(4)}) == 4


def test_tune_and_explain() -> None:
    model = loaded(FLATTENED)
    with pytest.raises(ParameterError, match="not called yet"):
        model.explain()
    table, = model.explain(X)
    assert "relu" in str(table)
    assert len(model.tune()) == 1
    run_thrice(model, {"x": X}, [np.maximum(X, 0).reshape(2, 12)])


def test_clones_in_threads() -> None:
    model = loaded("g (float[N,8] x) => (float[N,8] y) { s = Softmax(x) y = Mul(s, x) }")
    data = [np.random.default_rng(i).random((1 + i % 3, 8), np.float32) for i in range(24)]
    expected = [model(x)[0] for x in data]
    failed: list[int] = []

    def work(clone: Any) -> None:
        for i, x in enumerate(data):
            if not np.array_equal(clone(x)[0], expected[i]):
                failed.append(i)
    threads = [threading.Thread(target=work, args=(model.clone(),)) for _ in range(3)]
    threads += [threading.Thread(target=work, args=(model,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_arrays_of_the_engine_are_inputs() -> None:
    model = loaded(FLATTENED)
    np.testing.assert_array_equal(model(mx.nd.array(X))[0], np.maximum(X, 0).reshape(2, 12))


def test_one_input_gives_several_outputs_that_are_apart() -> None:
    """An output is the caller's own: later runs do not change it."""
    model = loaded("g (float[2] x) => (float[2] a, float[2] b) { a = Relu(x) b = Identity(a) }")
    a, b = model(np.array([1, 2], np.float32))
    model(np.array([5, 6], np.float32))
    a += 1
    np.testing.assert_array_equal(a, [2, 3])
    np.testing.assert_array_equal(b, [1, 2])


def test_small_steps_before_a_graph() -> None:
    """Shapes and casts of whole numbers are one call of NumPy each."""
    model = loaded("""g (int64[n, 3] x, float[n, 1, 3] z) => (float[n, 1, 3] y, bool[m, 1] b) {
        axes = Constant<value_ints = [1]>()
        wide = Unsqueeze(x, axes)
        narrow = Squeeze(wide, axes)
        flat = Flatten(narrow)
        target = Constant<value_ints = [-1, 1, 3]>()
        row = Reshape(flat, target)
        f = Cast<to = 1>(row)
        y = Mul(f, z)
        column = Constant<value_ints = [-1, 1]>()
        c = Reshape(x, column)
        b = Cast<to = 9>(c)
    }""")
    for n in (1, 4):
        x = np.arange(3 * n).reshape(n, 3) - 4
        z = np.random.default_rng(n).normal(size=(n, 1, 3)).astype(np.float32)
        expected = [(x[:, None] * z).astype(np.float32), x.reshape(-1, 1) != 0]
        run_thrice(model, {"x": x, "z": z}, expected, rtol=1e-6)
    assert not any(isinstance(step.call, NodeCall) for step in steps_of(model)
                   if isinstance(step, HostStep))
