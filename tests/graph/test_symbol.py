"""Symbols: composing, names of outputs, attributes, parts of a graph. MXNet 1.9.1 is the model."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import ndarray_rt.symbol as symbol_module
from ndarray_rt import sym
from ndarray_rt.errors import MXNetError, NameMismatch, ParameterError, TypeMismatch
from ndarray_rt.op.infer import same_shape, same_type
from ndarray_rt.op.params import NoParams
from ndarray_rt.op.registry import REGISTRY, OpDef
from ndarray_rt.op.signatures import REQUIRED, Signature, public_name
from ndarray_rt.symbol import NameManager, NotImplementedForSymbol, Symbol, methods

from . import golden


def conv(*args: Any, **kwargs: Any) -> Symbol:
    made: Symbol = sym.Convolution(*args, **{"kernel": (3, 3), "num_filter": 4, **kwargs})
    return made


def operators(made: Symbol) -> list[tuple[str, str, dict[str, str]]]:
    """(operator, name, attributes) of each operator node."""
    found = []
    for part in made.get_internals():
        if part.attr("op_name") != "null":
            found.append((part.attr("op_name") or "", part.name or "", part.list_attr()))
    return found


# ---- making nodes ----------------------------------------------------------------------------


def test_missing_inputs_become_variables() -> None:
    made = conv(sym.var("x"), name="c")
    assert made.list_arguments() == ["x", "c_weight", "c_bias"]
    assert made.list_outputs() == ["c_output"]
    assert conv(name="c").list_arguments() == ["c_data", "c_weight", "c_bias"]
    assert conv(name="c", no_bias=True).list_arguments() == ["c_data", "c_weight"]
    w = sym.var("w")
    assert conv(weight=w, data=sym.var("x"), name="c").list_arguments() == ["x", "w", "c_bias"]
    assert conv(sym.var("x"), w, None, no_bias=True).list_arguments() == ["x", "w"]


def test_attributes_are_what_was_given() -> None:
    made = conv(sym.var("x"), name="c", stride=[2, 2], pad=np.int64(1) * 1, no_bias=False)
    attrs = {"kernel": "(3, 3)", "num_filter": "4", "stride": "[2, 2]", "pad": "1",
             "no_bias": "False"}
    assert made.list_attr() == attrs
    assert made.attr_dict() == {"c": attrs, "c_weight": attrs, "c_bias": attrs}
    assert (sym.var("x") * np.float32(0.5)).attr("scalar") == "0.5"


anything: Any = sym  # wrong calls, and operators that come later


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda x: conv(x, nope=3), ParameterError, "Convolution.*unknown parameter 'nope'"),
    (lambda x: sym.Convolution(x, kernel=(3, 3), name="c"), ParameterError, '"c".*num_filter'),
    (lambda x: conv(x, kernel="a"), ParameterError, "kernel.*'a'"),
    (lambda x: conv(x, no_bias=True, bias=x), NameMismatch, "no input 'bias': data, weight"),
    (lambda x: conv(data2=x), NameMismatch, "no input 'data2'"),
    (lambda x: conv(3), TypeMismatch, "'data' must be Symbol, got 3"),
    (lambda x: conv(x, data=x), TypeMismatch, "two values for 'data'"),
    (lambda x: conv(sym.Group([x, x])), TypeMismatch, "data has 2 outputs"),
    (lambda x: anything.Concat(x, 3), TypeMismatch, "argument 1 must be Symbol, got int"),
    (lambda x: anything.Concat([x, x]), TypeMismatch, r"f\(\*list\)"),
    (lambda x: sym.Concat(x, arg1=x), TypeMismatch, "not both"),
    (lambda x: anything.elemwise_add(x, x, nme="q"), NameMismatch, "unknown parameter 'nme'"),
    (lambda x: x + None, TypeMismatch, "NoneType"),
    (lambda x: x + "a", TypeMismatch, "str"),
    (lambda x: x + True, ParameterError, "scalar.*True"),
])
def test_bad_calls(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(sym.var("x"))


def test_variadic_operators_count_their_inputs() -> None:
    x, y = sym.var("x"), sym.var("y")
    assert sym.Concat(x, y, dim=0).list_attr() == {"num_args": "2", "dim": "0"}
    assert sym.Concat(num_args=2, name="cc").list_arguments() == ["cc_arg0", "cc_arg1"]
    assert sym.Concat(arg0=x, arg1=y).list_arguments() == ["x", "y"]


def test_variable() -> None:
    made = sym.Variable("y", shape=(2, 3), lr_mult=2.0, wd_mult=0.5, dtype="float16",
                        init='["zero", {}]', stype="default", __foo__=3, attr={"z": "w"})
    assert made.list_attr() == {
        "__storage_type__": "0", "__init__": '["zero", {}]', "__wd_mult__": "0.5",
        "wd_mult": "0.5", "__lr_mult__": "2.0", "lr_mult": "2.0", "__shape__": "(2, 3)",
        "__foo__": "3", "__dtype__": "2", "z": "w"}
    assert made.attr("lr_mult") == made.attr("__lr_mult__") == "2.0"
    assert made.attr("nope") is None
    for bad in ({"foo": "bar"}, {"attr": {"q": 3}}, {"stype": "dense"}):
        with pytest.raises(ValueError):  # noqa: PT011 - each has a text of its own
            sym.var("y", **bad)
    with pytest.raises(TypeError):
        sym.var(3)  # type: ignore[arg-type]


# ---- arithmetic ------------------------------------------------------------------------------

ARITHMETIC = [
    (lambda x, y: x + y, "elemwise_add", "_plus0", None),
    (lambda x, y: x - y, "elemwise_sub", "_minus0", None),
    (lambda x, y: x * y, "elemwise_mul", "_mul0", None),
    (lambda x, y: x / y, "elemwise_div", "_div0", None),
    (lambda x, y: x ** y, "_power", "_power0", None),
    (lambda x, y: x % y, "_mod", "_mod0", None),
    (lambda x, y: x == y, "_equal", "_equal0", None),
    (lambda x, y: x <= y, "_lesser_equal", "_lesser_equal0", None),
    (lambda x, y: 1 + x, "_plus_scalar", "_plusscalar0", "1"),
    (lambda x, y: x - 1, "_minus_scalar", "_minusscalar0", "1"),
    (lambda x, y: 1 - x, "_rminus_scalar", "_rminusscalar0", "1"),
    (lambda x, y: x * 2.5, "_mul_scalar", "_mulscalar0", "2.5"),
    (lambda x, y: 2 / x, "_rdiv_scalar", "_rdivscalar0", "2"),
    (lambda x, y: 2 ** x, "_rpower_scalar", "_rpower_scalar0", "2"),
    (lambda x, y: 2 % x, "_rmod_scalar", "_rmodscalar0", "2"),
    (lambda x, y: x > 1, "_greater_scalar", "_greater_scalar0", "1"),
    (lambda x, y: x < 1, "_lesser_scalar", "_lesser_scalar0", "1"),
    (lambda x, y: -x, "_mul_scalar", "_mulscalar0", "-1.0"),
    (lambda x, y: abs(x), "abs", "abs0", None),
    (lambda x, y: np.float32(2) * x, "_mul_scalar", "_mulscalar0", "2.0"),
    (lambda x, y: sym.maximum(2, x), "_maximum_scalar", "_maximumscalar0", "2"),
    (lambda x, y: sym.power(2, x), "_rpower_scalar", "_rpowerscalar0", "2"),
]


@pytest.mark.parametrize(("make", "op", "name", "scalar"), ARITHMETIC)
def test_arithmetic(make: Any, op: str, name: str, scalar: str | None) -> None:
    with NameManager():
        made = make(sym.var("x"), sym.var("y"))
    attrs = {} if scalar is None else {"scalar": scalar}
    assert operators(made) == [(op, name, attrs)]


def test_functions_of_numbers() -> None:
    assert sym.maximum(2, 3.5) == 3.5
    assert sym.minimum(2, 3) == 2
    assert sym.pow(2, 3) == 8
    assert sym.hypot(3, 4) == 5
    with pytest.raises(TypeError):
        sym.pow(sym.var("x"), "a")


def test_no_truth_no_hash() -> None:
    x = sym.var("x")
    with pytest.raises(NotImplementedForSymbol):
        bool(x == x)
    with pytest.raises(TypeError):
        {x}  # noqa: B018
    for name in ("asnumpy", "backward", "copy", "detach"):
        with pytest.raises(NotImplementedForSymbol, match=name):
            getattr(x, name)()


# ---- outputs and parts -----------------------------------------------------------------------


def test_outputs_by_number_name_and_slice() -> None:
    parts = sym.SliceChannel(sym.var("x"), num_outputs=3, name="sp")
    assert parts.list_outputs() == ["sp_output0", "sp_output1", "sp_output2"]
    assert len(parts) == parts.num_outputs == 3
    assert [part.list_outputs() for part in parts] == [[f"sp_output{i}"] for i in range(3)]
    assert parts["sp_output1"].list_outputs() == ["sp_output1"]
    assert parts[1:].list_outputs() == ["sp_output1", "sp_output2"]
    assert parts[-1].list_outputs() == ["sp_output2"]
    assert parts.name == "sp"
    assert parts.attr("_value_index") == "0, 1, 2"
    with pytest.raises(IndexError):
        parts[3]
    with pytest.raises(ValueError, match="no output named 'nope'"):
        parts["nope"]
    with pytest.raises(TypeError):
        parts[1.5]
    *_, third = parts
    assert third.list_outputs() == ["sp_output2"]


def test_group() -> None:
    x, y = sym.var("x"), sym.var("y")
    both = sym.Group([x, y])
    assert len(both) == 2
    assert both.name is None
    assert both.attr("anything") is None
    assert repr(sym.Group([x, y, x])) == "<Symbol group [x, y, x]>"
    assert repr(x) == "<Symbol x>"
    assert sym.Group([both, x]).list_outputs() == ["x", "y", "x"]
    with pytest.raises(ValueError, match="several outputs named 'x'"):
        sym.Group([x, x])["x"]
    bad: Any
    for bad in ([], [1], x, None):
        with pytest.raises(TypeError):
            sym.Group(bad)


def test_hidden_outputs_and_aux_states() -> None:
    norm = sym.BatchNorm(sym.var("x"), name="bn")
    assert norm.list_outputs() == ["bn_output"]
    assert len(norm) == 1
    assert norm.list_arguments() == ["x", "bn_gamma", "bn_beta"]
    assert norm.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert norm.list_inputs() == ["x", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"]
    assert norm.attr_dict() == {"bn_moving_mean": {"__init__": '["zero", {}]'},
                                "bn_moving_var": {"__init__": '["one", {}]'}}
    assert norm.get_internals().list_outputs()[-1] == "bn_output"
    shown = sym.BatchNorm(sym.var("x"), output_mean_var=True, name="bn")
    assert shown.list_outputs() == ["bn_output", "bn_mean", "bn_var"]
    with pytest.raises(MXNetError, match="moving_mean is written to"):
        sym.BatchNorm(sym.var("x"), moving_mean=sym.var("a") + 1)


def test_internals_and_children() -> None:
    x = sym.var("x")
    made = sym.Activation(conv(x, name="c"), act_type="relu", name="a")
    internals = made.get_internals()
    assert internals.list_outputs() == ["x", "c_weight", "c_bias", "c_output", "a_output"]
    cut = internals["c_output"]
    assert cut.list_arguments() == ["x", "c_weight", "c_bias"]
    children = made.get_children()
    assert children is not None
    assert children.list_outputs() == ["c_output"]
    assert x.get_children() is None
    assert made.attr("op_name") == "Activation"
    assert x.attr("op_name") == "null"


@pytest.mark.parametrize("which", golden.NAMES)
def test_answers(which: str) -> None:
    made, wanted = golden.build(which), golden.answers(which)
    assert made.list_arguments() == wanted["arguments"]
    assert made.list_outputs() == wanted["outputs"]
    assert made.list_auxiliary_states() == wanted["aux"]
    assert made.get_internals().list_outputs() == wanted["internals"]
    assert made.attr_dict() == wanted["attr_dict"]
    assert made.debug_str() == wanted["debug_str"]


# ---- attributes ------------------------------------------------------------------------------


def test_set_attr() -> None:
    x = sym.var("x")
    x._set_attr(lr_mult="3", mood="angry")
    assert x.attr("__lr_mult__") == "3"
    assert x.attr("mood") == "angry"
    with pytest.raises(ValueError, match="strings"):
        x._set_attr(a=3)  # type: ignore[arg-type]
    with pytest.raises(MXNetError, match="belongs to a variable"):
        x._set_attr(w_lr_mult="3")
    act = sym.Activation(x, act_type="relu", name="act")
    act._set_attr(act_type="tanh", name="renamed")
    assert act.list_outputs() == ["renamed_output"]
    params: Any = act.entries[0].node.params
    assert params.act_type == "tanh"
    with pytest.raises(ParameterError):
        act._set_attr(act_type="round")
    assert act.attr("act_type") == "tanh"
    with pytest.raises(MXNetError, match="group"):
        sym.Group([x, act])._set_attr(a="b")
    with pytest.raises(DeprecationWarning):
        x.list_attr(recursive=True)


# ---- composing -------------------------------------------------------------------------------


def test_compose_by_name() -> None:
    first, second = conv(sym.var("x"), name="c1"), conv(name="c2")
    both = second(c2_data=first, name="both")
    assert both.list_arguments() == ["x", "c1_weight", "c1_bias", "c2_weight", "c2_bias"]
    assert both.name == "both"
    assert second.list_arguments() == ["c2_data", "c2_weight", "c2_bias"], "the original changed"
    assert second(name="z").list_outputs() == ["z_output"]
    assert second().list_arguments() == second.list_arguments()


def test_compose_by_position_and_groups() -> None:
    second = conv(name="c2")
    assert second(sym.var("q")).list_arguments() == ["q", "c2_weight", "c2_bias"]
    x, y = sym.var("x"), sym.var("y")
    pair = sym.Group([conv(x, name="c"), x])
    assert pair(x=y).list_outputs() == ["c_output", "y"]
    assert pair(x=y).list_arguments() == ["y", "c_weight", "c_bias"]
    assert x(x=y).list_outputs() == ["y"]


def test_compose_with_itself() -> None:
    net = sym.Activation(sym.var("x"), act_type="relu", name="a")
    twice = net(x=net)
    assert [name for _, name, _ in operators(twice)] == ["a", "a"]
    net._compose(x=sym.var("z"))
    assert net.list_arguments() == ["z"]


@pytest.mark.parametrize(("call", "error"), [
    (lambda net, x: net(nope=x), NameMismatch),
    (lambda net, x: net(c_data=x, nope=x), NameMismatch),
    (lambda net, x: net(x, x, x, x), NameMismatch),
    (lambda net, x: net(3), TypeMismatch),
    (lambda net, x: net(x, c_data=x), TypeMismatch),
    (lambda net, x: net(c_data=sym.Group([x, x])), TypeMismatch),
])
def test_bad_composing(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(conv(name="c"), sym.var("x"))


def test_a_written_input_stays_a_variable() -> None:
    norm = sym.BatchNorm(name="bn")
    with pytest.raises(MXNetError, match="written to"):
        norm(bn_moving_mean=sym.var("a") + 1)


def test_copies_share_nothing() -> None:
    net = conv(sym.var("x"), name="c")
    for other in (copy.copy(net), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.tojson() == net.tojson()
        other._set_attr(name="d")
        other.get_internals()["x"]._set_attr(mood="x")
    assert net.name == "c"
    assert net.get_internals()["x"].list_attr() == {}


def test_gradient() -> None:
    net = sym.Activation(conv(sym.var("x"), name="c"), act_type="relu")
    grads = net.gradient(["c_weight", "x"])
    shapes = grads.infer_shape(x=(2, 3, 8, 8))[1]
    assert shapes == [(4, 3, 3, 3), (2, 3, 8, 8)]
    with pytest.raises(ValueError, match="nope"):
        net.gradient(["nope"])


# ---- functions of the module -----------------------------------------------------------------


def test_module() -> None:
    assert symbol_module.Symbol is sym.Symbol is Symbol
    assert symbol_module.Variable is sym.var
    assert sym.op.Activation is sym.Activation
    assert "Activation" in dir(sym)
    assert "_backward_Activation" not in dir(sym)
    assert "_backward_Activation" not in dir(sym._internal)
    assert callable(sym._internal._plus_scalar)
    with pytest.raises(AttributeError):
        anything.zork  # noqa: B018
    with pytest.raises(AttributeError):
        anything.contrib.zork  # noqa: B018


def test_signature_and_docstring() -> None:
    signature = inspect.signature(sym.Convolution)
    names = list(signature.parameters)
    assert names[:5] == ["data", "weight", "bias", "kernel", "stride"]
    assert names[-4:] == ["name", "attr", "out", "kwargs"]
    assert signature.parameters["kernel"].default is REQUIRED
    assert signature.parameters["no_bias"].default is False
    assert "num_filter : an int of at least 1, required" in (sym.Convolution.__doc__ or "")
    assert sym.Activation(sym.var("x"), "relu").attr("act_type") == "relu"
    assert next(iter(inspect.signature(sym.Concat).parameters)) == "data"


def test_each_operator_has_a_function_with_documentation() -> None:
    for op in REGISTRY.ops():
        made = Signature(op)
        assert made.docstring("Symbol", {}).startswith(op.doc.strip()[:20])
        made.python()
        # whatever the parameters, no input is unknown to the signature
        if not made.is_variadic and isinstance(op.inputs, tuple):
            assert set(op.inputs) <= set(made.inputs)


def test_optional_inputs_are_in_the_signature() -> None:
    assert Signature(REGISTRY.find("Convolution")).inputs == ("data", "weight", "bias")
    assert Signature(REGISTRY.find("LeakyReLU")).inputs == ("data", "gamma")


def test_namespaces() -> None:
    assert public_name("_linalg_gemm2") == ("linalg", "gemm2")
    assert public_name("_contrib_box_nms") == ("contrib", "box_nms")
    assert public_name("_random_uniform") == ("_internal", "_random_uniform")
    assert public_name("_random_uniform_like") == ("random", "uniform_like")
    assert public_name("Flatten") == ("", "Flatten")


def test_operators_registered_later() -> None:
    def compute(ctx: Any, p: Any, ins: Any, outs: Any) -> None:
        outs[0].write(ins[0])
    REGISTRY.register(OpDef("_contrib_test_symbol_later", NoParams, ("data",), same_shape,
                            same_type, compute, no_gradient="zero: a test"))
    try:
        later = anything.contrib.test_symbol_later(sym.var("x"), name="q")
        assert later.list_outputs() == ["q_output"]
    finally:
        REGISTRY.unregister("_contrib_test_symbol_later")
    with pytest.raises(AttributeError):
        anything.contrib.test_symbol_later  # noqa: B018


def test_methods() -> None:
    x = sym.var("x")
    for name in methods.NAMES:
        assert hasattr(x, name) == (name in REGISTRY), name
    with NameManager():
        assert x.sum(axis=1).name == "sum0"
        assert x.reshape((1, 2)).attr("shape") == "(1, 2)"
        assert x.reshape(shape=(1, 2)).attr("op_name") == "Reshape"
        assert x.astype("float16").list_attr() == {"dtype": "float16"}
        assert x.flatten().name == "flatten0"
        assert x.expand_dims(1).attr("axis") == "1"
        assert x.squeeze().attr("axis") == "None"
        assert x.split(num_outputs=2).list_outputs() == ["split0_output0", "split0_output1"]


def test_constants() -> None:
    with NameManager():
        assert sym.zeros((2, 3)).list_attr() == {"shape": "(2, 3)", "dtype": "float32"}
        assert sym.full((2, 3), 3).list_attr() == {"shape": "(2, 3)", "dtype": "float32",
                                                   "value": "3.0"}
        assert sym.ones(3, dtype="int32").attr("shape") == "3"
        assert sym.arange(3).list_attr() == {"dtype": "float32", "infer_range": "False",
                                             "repeat": "1", "start": "3", "step": "1.0",
                                             "stop": "None"}
        assert sym.zeros((2, 3)).name == "_zeros1"
    # 0 is an unknown dimension: it follows from the other side
    assert (sym.zeros((0, 3)) + sym.var("x")).infer_shape(x=(2, 3))[1] == [(2, 3)]


def test_random() -> None:
    x = sym.var("x")
    with NameManager():
        assert operators(sym.random.uniform(0, 1, shape=(2, 2))) == [
            ("_random_uniform", "_random_uniform0", {"low": "0", "high": "1", "shape": "(2, 2)"})]
        assert sym.random.randn(2, 3).attr("shape") == "(2, 3)"
    with pytest.raises(TypeError, match="all be symbols or all be numbers"):
        sym.random.uniform(x, 1)


def test_one_operator_of_a_graph() -> None:
    names = ["data", "param", "h0", "h1"]
    rnn = sym.RNN(*map(sym.Variable, names), state_size=4, num_layers=2, mode="lstm",
                     state_outputs=True, name="rnn")
    alone = rnn[1]._gen_atomic_symbol()
    assert alone.list_outputs() == rnn.list_outputs()
    assert len(alone.list_arguments()) == 4
    assert not set(alone.list_arguments()) & set(names)
    shapes = {"data": (3, 2, 5)}
    again = alone(*map(sym.Variable, names))
    assert again.infer_shape(**shapes) == rnn.infer_shape(**shapes)
    norm = sym.BatchNorm(rnn[0], name="bn")._gen_atomic_symbol()
    assert len(norm.list_auxiliary_states()) == 2
    assert norm.list_outputs() == ["bn_output"]
    x = sym.Variable("x")
    assert x._gen_atomic_symbol().list_arguments() == ["x"]
