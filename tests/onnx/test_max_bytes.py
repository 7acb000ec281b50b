"""What a model may make of memory: no tensor that a file describes has more than max_bytes."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from ndarray_rt.errors import InputMismatch, ModelFormatError
from ndarray_rt.onnx import load
from ndarray_rt.onnx.held import Held
from ndarray_rt.onnx.index import FAMILIES
from ndarray_rt.onnx.ops import load_family
from ndarray_rt.onnx.table import TABLE
from ndarray_rt.onnx.values import MAX_BYTES

from .helpers import model_of

MOST = 1 << 20
# each makes y of x, of shape (1, 2), of whole numbers `i` of the same, and of `row`, (1, 2048)
LARGE = {
    "AveragePool": "v = Constant<value_ints = [1, 1, 2]>() r = Reshape(x, v)"
                   " y = AveragePool<kernel_shape = [9], pads = [9000000, 9000000]>(r)",
    "AveragePool of float16": "v = Constant<value_ints = [1, 1, 2]>() f = Cast<to = 10>(x)"
                              " r = Reshape(f, v) y = AveragePool<kernel_shape = [900],"
                              " strides = [900], pads = [900000, 900000]>(r)",
    "BlackmanWindow": "n = Constant<value_int = 1000000>() y = BlackmanWindow(n)",
    "Cast": "n = Constant<value_ints = [1000000]>() b = ConstantOfShape<value = bool[1] {1}>(n)"
            " y = Cast<to = 11>(b)",
    "CenterCropPad": "n = Constant<value_ints = [9999, 9999]>() y = CenterCropPad(x, n)",
    "Col2Im": "n = Constant<value_ints = [999999]>() k = Constant<value_ints = [999999]>()"
              " c = Constant<value_ints = [1, 999999, 1]>()"
              " e = Expand(x2, c) y = Col2Im(e, n, k) x2 = Slice(x, z, o, o)"
              " z = Constant<value_ints = [0]>() o = Constant<value_ints = [1]>()",
    "Concat": "y = Concat<axis = 0>(" + ", ".join(["row"] * 200) + ")",
    "Concat of whole numbers": "w = Cast<to = 7>(row) y = Concat<axis = 0>("
                               + ", ".join(["w"] * 200) + ")",
    "Conv": "v = Constant<value_ints = [1, 1, 2]>() r = Reshape(x, v)"
            " w = Constant<value = float[1, 1, 1] {2}>()"
            " y = Conv<pads = [9000000, 9000000]>(r, w)",
    "ConvInteger": "v = Constant<value_ints = [1, 1, 2]>() q = Cast<to = 2>(x) r = Reshape(q, v)"
                   " w = Constant<value = uint8[1, 1, 1] {2}>()"
                   " y = ConvInteger<pads = [9000000, 9000000]>(r, w)",
    "ConvTranspose": "v = Constant<value_ints = [1, 1, 2]>() r = Reshape(x, v)"
                     " w = Constant<value = float[1, 1, 1] {2}>()"
                     " y = ConvTranspose<strides = [9000000]>(r, w)",
    "ConvTranspose of float16": "v = Constant<value_ints = [1, 1, 2]>() f = Cast<to = 10>(x)"
                                " r = Reshape(f, v) w = Constant<value = float16[1, 1, 1] {2}>()"
                                " y = ConvTranspose<strides = [9000000]>(r, w)",
    "DFT": "n = Constant<value_int = 1000000>() v = Constant<value_ints = [1, 2, 1]>()"
           " r = Reshape(x, v) y = DFT(r, n)",
    "Einsum": 'c = Reshape(row, v) v = Constant<value_ints = [-1]>()'
              ' y = Einsum<equation = "i,j->ij">(c, c)',
    "Expand": "n = Constant<value_ints = [1000000, 1]>() y = Expand(x, n)",
    "Gather": "n = Constant<value_ints = [1000000]>() j = ConstantOfShape<value = int64[1] {0}>(n)"
              " y = Gather<axis = 1>(x, j)",
    "Gather of rows": "n = Constant<value_ints = [2000]>()"
                      " j = ConstantOfShape<value = int64[1] {0}>(n) y = Gather(row, j)",
    "GatherElements": "n = Constant<value_ints = [1, 200000]>()"
                      " j = ConstantOfShape<value = int32[1] {0}>(n) d = Cast<to = 11>(x)"
                      " y = GatherElements<axis = 1>(d, j)",
    "GatherND": "n = Constant<value_ints = [2000, 1]>()"
                " j = ConstantOfShape<value = int64[1] {0}>(n) y = GatherND(row, j)",
    "Gemm": "y = Gemm<transA = 1>(row, row)",
    "GridSample": "v = Constant<value_ints = [1, 2, 1, 1]>() r = Reshape(x, v)"
                  " n = Constant<value_ints = [1, 300, 300, 2]>() g = ConstantOfShape(n)"
                  " y = GridSample(r, g)",
    "LSTM": "v = Constant<value_ints = [2048, 1, 1]>() s = Reshape(row, v)"
            " w = Constant<value = float[1, 800, 1] {" + ", ".join(["1"] * 800) + "}>()"
            " n = Constant<value_ints = [1, 800, 200]>() r = ConstantOfShape(n)"
            " y, h = LSTM<hidden_size = 200>(s, w, r)",
    "MatMul": "v = Constant<value_ints = [-1, 1]>() c = Reshape(row, v) y = MatMul(c, row)",
    "MatMulInteger": "v = Constant<value_ints = [-1, 1]>() q = Cast<to = 2>(row) c = Reshape(q, v)"
                     " y = MatMulInteger(c, q)",
    "MaxUnpool": "v = Constant<value_ints = [1, 1, 2]>() r = Reshape(x, v) j = Cast<to = 7>(r)"
                 " y = MaxUnpool<kernel_shape = [900000], strides = [900000]>(r, j)",
    "MaxRoiPool": "v = Constant<value_ints = [1, 1, 1, 2]>() r = Reshape(x, v)"
                  " b = Constant<value = float[1, 5] {0, 0, 0, 1, 1}>()"
                  " y = MaxRoiPool<pooled_shape = [9999, 9999]>(r, b)",
    "MelWeightMatrix": "a = Constant<value_int = 9999>() b = Constant<value_int = 16000>()"
                       " l = Constant<value_float = 0.0>() h = Constant<value_float = 99.0>()"
                       " y = MelWeightMatrix(a, a, b, l, h)",
    "Multinomial": "y = Multinomial<sample_size = 9999999>(x)",
    "NonZero": "n = Constant<value_ints = [90, 1, 1]>() e = Expand(row, n) y = NonZero(e)",
    "OneHot": "n = Constant<value_int = 999999>() j = Cast<to = 7>(x)"
              " f = Constant<value_floats = [0.0, 1.0]>() y = OneHot(j, n, f)",
    "Or": "v = Constant<value_ints = [-1, 1]>() t = Cast<to = 9>(row) c = Reshape(t, v)"
          " y = Or(c, t)",
    "Pad": "n = Constant<value_ints = [0, 999999, 0, 0]>() y = Pad(x, n)",
    "QLinearMatMul": "v = Constant<value_ints = [-1, 1]>() q = Cast<to = 2>(row) c = Reshape(q, v)"
                     " s = Constant<value_float = 1.0>() p = Constant<value = uint8 {0}>()"
                     " y = QLinearMatMul(c, s, p, q, s, p, s, p)",
    "RandomNormal": "y = RandomNormal<shape = [9999, 9999]>()",
    "Range": "a = Constant<value_int = 0>() b = Constant<value_int = 9223372036854775807>()"
             " c = Constant<value_int = 1>() y = Range(a, b, c)",
    "ReduceSum of nothing": "n = Constant<value_ints = [600, 0, 600]>() e = ConstantOfShape(n)"
                            " a = Constant<value_ints = [1]>() y = ReduceSum(e, a)",
    "Resize": "s = Constant<value_floats = [1.0, 999999.0]>() y = Resize(x, , s)",
    "RoiAlign": "v = Constant<value_ints = [1, 1, 1, 2]>() r = Reshape(x, v)"
                " b = Constant<value = float[1, 4] {0, 0, 1, 1}>() j = Constant<value_ints = [0]>()"
                " y = RoiAlign<output_height = 9999, output_width = 9999>(r, b, j)",
    "RoiAlign of a large region": "v = Constant<value_ints = [1, 1, 1, 2]>() r = Reshape(x, v)"
                                  " b = Constant<value = float[1, 4] {0, 0, 90000, 90000}>()"
                                  " j = Constant<value_ints = [0]>() y = RoiAlign(r, b, j)",
    "Scan": "n = Constant<value_ints = [2000, 1]>() s = Expand(x, n) y = Scan<num_scan_inputs = 1,"
            " body = b (float[2] a) => (float[1, 2048] t) {"
            " c = ReduceSum<keepdims = 0>(a) t = Add(row, c) }>(s)",
    "Loop": "n = Constant<value_int = 2000>() y = Loop(n, , ) <body = b (int64 i, bool c)"
            " => (bool d, float[1, 2048] t) { d = Identity(c) t = Identity(row) }>",
    "SplitToSequence": "n = Constant<value_ints = [900000]>()"
                       " b = ConstantOfShape<value = bool[1] {1}>(n) q = SplitToSequence(b)"
                       " y = SequenceLength(q)",
    "StringConcat": "a0 = Constant<value_string = \"0123456789\">() "
                    + "".join(f"a{i + 1} = StringConcat(a{i}, a{i}) " for i in range(40))
                    + "y = Identity(a40)",
    "Tile": "n = Constant<value_ints = [1, 999999]>() y = Tile(x, n)",
    "Where": "v = Constant<value_ints = [-1, 1]>() c = Reshape(row, v) t = Cast<to = 9>(c)"
             " y = Where(t, c, row)",
    "a sum of one row and one column": "v = Constant<value_ints = [-1, 1]>() c = Reshape(row, v)"
                                       " y = Add(c, row)",
}
# what of the model is a constant: all is computed before it runs, the numbers, or nothing
GRAPHS = {
    "constants": ("g (float[1, 2] other) => (float y)",
                  "x = Constant<value = float[1, 2] {0, 1}>()"
                  " n0 = Constant<value_ints = [1, 2048]>()"
                  " row = ConstantOfShape<value = float[1] {1}>(n0) "),
    "inputs": ("g (float[1, 2] x, float[1, 2048] row) => (float y)", ""),
    "computed before": ("g (float[1, 2] given, float[1, 2048] row) => (float y)",
                        "n0 = NonZero(given) n1 = Shape(n0) n2 = Slice(n1, k0, k1)"
                        " k0 = Constant<value_ints = [0]>() k1 = Constant<value_ints = [1]>()"
                        " x = Add(given, k2) k2 = Cast<to = 1>(k3) k3 = Sub(n2, n2)"),
}


# of these a node that reads no inputs is too large
FROM_FILE = {"BlackmanWindow", "Cast", "Gather", "MelWeightMatrix", "RandomNormal", "Range",
             "ReduceSum of nothing", "SplitToSequence", "StringConcat"}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("which", LARGE)
def test_no_tensor_is_larger(which: str, graph: str) -> None:
    head, before = GRAPHS[graph]
    model = load(model_of(f"{head} {{ {before} {LARGE[which]} }}", 20), max_bytes=MOST)
    given = [np.array([[0, 1]], np.float32), np.ones((1, 2048), np.float32)][:len(model.inputs)]
    # what follows from the file alone, before anything runs, no inputs can mend
    is_loop = which in ("Loop", "Scan")
    always = which in FROM_FILE or (graph == "constants" and not is_loop)
    with pytest.raises(ModelFormatError if always else InputMismatch, match="max_bytes"):
        model(*given)


# they give as many elements as they take, or fewer, or look themselves
OTHERS = {
    "Abs", "Acos", "Acosh", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh",
    "BatchNormalization", "Bernoulli", "BitCast", "BitwiseNot", "Ceil", "Celu", "Clip",
    "Col2Im", "Compress", "Constant", "Cos", "Cosh", "CumProd", "CumSum", "DepthToSpace", "Det",
    "Dropout", "DynamicQuantizeLinear", "Elu", "Erf", "Exp", "Flatten", "Floor", "Gelu",
    "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "GroupNormalization", "HardSigmoid",
    "HardSwish", "Hardmax", "InstanceNormalization", "IsInf", "IsNaN", "LRN", "LeakyRelu",
    "Log", "LogSoftmax", "LpNormalization", "MeanVarianceNormalization", "Mish", "Neg",
    "NonMaxSuppression", "Not", "PRelu", "QLinearGlobalAveragePool", "QLinearLeakyRelu",
    "QLinearSigmoid", "QLinearSoftmax", "QuantizeLinear", "RandomNormalLike",
    "RandomUniformLike", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceLogSum",
    "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare", "RegexFullMatch", "Relu", "Reshape", "ReverseSequence", "Round",
    "Scatter", "ScatterElements", "ScatterND", "Selu", "Shape", "Shrink", "Sigmoid", "Sign",
    "Sin", "Sinh", "Size", "Slice", "Softmax", "Softplus", "Softsign", "SpaceToDepth", "Split",
    "Sqrt", "Squeeze", "StringNormalizer", "StringSplit", "Swish", "Tan", "Tanh",
    "TensorScatter", "ThresholdedRelu", "TopK", "Transpose", "Trilu", "Unique", "Unsqueeze"}


def test_operators_whose_results_may_be_larger_say_so() -> None:
    """Each operator has a size function, or gives no more than some times what it takes."""
    for names in FAMILIES.values():
        load_family(names.split()[0])
    without = {name for (_, name), op in TABLE.items() if op.size_function is None}
    assert without == OTHERS


def test_constants_count_together() -> None:
    """Each has half of what is allowed."""
    text = "g (float[N] x) => (float y) { n = Constant<value_ints = [1, 131072]>() "
    text += "".join(f"s{i} = RandomUniform<shape = [1], seed = {i}.0>() "
                    f"a{i} = ConstantOfShape<value = float[1] {{{i}}}>(n) b{i} = Neg(a{i}) "
                    for i in range(3))
    sums = "y = Sum(b0, b1, b2)"
    with pytest.raises(InputMismatch, match="max_bytes"):
        load(model_of(text + sums + "}"), max_bytes=MOST)(np.ones(1, np.float32))
    assert load(model_of(text + sums + "}"), max_bytes=4 * MOST)(np.ones(1, np.float32))


def test_held_counts_what_is_alive() -> None:
    held = Held()
    token = MAX_BYTES.set(1000)
    try:
        first, given = np.zeros(100, np.uint8), np.zeros(100, np.uint8)
        held.add([first, first[:50], first.reshape(10, 10)], [])
        held.add([given[:50], given.reshape(10, 10), np.broadcast_to(given, (100, 100))], [given])
        assert held.bytes == 100
        second = np.zeros(800, np.uint8)
        held.add([second], [])
        assert held.bytes == 900
        del second
        gc.collect()
        held.add([first], [])
        assert held.bytes == 100
        with pytest.raises(InputMismatch, match="max_bytes"):
            held.add([np.zeros(901, np.uint8)], [])
    finally:
        MAX_BYTES.reset(token)


def test_functions_that_call_others_twice_do_not_grow_for_ever() -> None:
    import onnx
    from onnx import helper
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    functions = [helper.make_function("mine", "f0", ["a"], ["b"],
                                      [helper.make_node("Neg", ["a"], ["b"])], opsets)]
    functions += [helper.make_function(
        "mine", f"f{i}", ["a"], ["c"],
        [helper.make_node(f"f{i - 1}", ["a"], ["b"], domain="mine"),
         helper.make_node(f"f{i - 1}", ["b"], ["c"], domain="mine")], opsets)
        for i in range(1, 60)]
    info = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("f59", ["x"], ["y"], domain="mine")], "g", [info],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])])
    model = load(helper.make_model(graph, opset_imports=opsets, functions=functions))
    with pytest.raises(ModelFormatError, match="nodes"):
        model(np.ones(2, np.float32))


def nested_loops(depth: int, condition: str = "d{i} = Identity(c{i})") -> str:
    """Each makes 64 turns, and in the innermost one x is negated."""
    inside = "y{i} = Neg(s{i})"
    for i in range(depth, 0, -1):
        body = inside.replace("{i}", str(i))
        inside = (f"n{i} = Constant<value_int = 64>() y{i - 1} = Loop(n{i}, , s{i - 1}) <body ="
                  f" b{i} (int64 t{i}, bool c{i}, float[2] s{i}) => (bool d{i}, float[2] y{i})"
                  f" {{ {condition.replace('{i}', str(i))} {body} }}>")
    return inside


def test_loops_inside_of_others_are_not_planned_turn_by_turn() -> None:
    text = "g (float[2] s0) => (float[2] y0) { " + nested_loops(2) + " }"
    model = load(model_of(text, 20))
    np.testing.assert_array_equal(model(np.ones(2, np.float32))[0], [1, 1])
    assert model._loaded.unrolled_nodes <= 4096 + 64


def test_what_is_no_larger_than_an_input_is_not_described() -> None:
    model = load(model_of("g (float[N,64] x) => (float[M,64] y) { a = Relu(x) y = Softmax(a) }"),
                 max_bytes=MOST)
    assert model(np.ones((1 << 13, 64), np.float32))[0].nbytes > MOST


@pytest.mark.parametrize("count", [-1, 0, 2, 1 << 40])
def test_scan_inputs_that_are_not_there(count: int) -> None:
    model = load(model_of(f"g (float[N] x) => (float[M] y) {{ y = Scan<num_scan_inputs = {count},"
                          " body = b (float[1] a) => (float[1] t) { t = Neg(a) }>(x) }"))
    with pytest.raises(ModelFormatError, match="num_scan_inputs"):
        model(np.ones(3, np.float32))
