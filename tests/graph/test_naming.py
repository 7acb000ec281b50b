"""Names of nodes, prefixes and attribute scopes; what they are was read off MXNet 1.9.1."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ndarray_rt import attribute, sym
from ndarray_rt import name as mx_name
from ndarray_rt.errors import MXNetError, ParameterError
from ndarray_rt.symbol import AttrScope, NameManager, Prefix, Symbol


def conv(**kwargs: Any) -> Symbol:
    return sym.Convolution(sym.var("x"), kernel=(3, 3), num_filter=4, **kwargs)


def test_counter_per_operator() -> None:
    with NameManager():
        assert [conv().name, conv().name] == ["convolution0", "convolution1"]
        assert sym.Activation(sym.var("x"), act_type="relu").name == "activation0"
        assert conv(name="mine").name == "mine"
        assert conv().name == "convolution2"
        with NameManager():
            assert conv().name == "convolution0"
        assert conv().name == "convolution3"


def test_names_of_arithmetic() -> None:
    x, y = sym.var("x"), sym.var("y")
    with NameManager():
        assert [(x + y).name, (x + 1).name, (1 - x).name, (x / y).name, (2 / x).name] == [
            "_plus0", "_plusscalar0", "_rminusscalar0", "_div0", "_rdivscalar0"]
        assert [(2 ** x).name, sym.pow(2, x).name, (x > 1).name, (x > y).name] == [
            "_rpower_scalar0", "_rpowerscalar0", "_greater_scalar0", "_greater0"]


def test_prefix() -> None:
    with Prefix("p_"):
        assert conv().list_arguments() == ["x", "p_convolution0_weight", "p_convolution0_bias"]
        assert conv(name="q").name == "p_q"
        assert sym.var("v").name == "v"
        with Prefix("r_"):
            assert conv().name == "r_convolution0"
        assert conv().name == "p_convolution1"


def test_a_manager_of_ones_own() -> None:
    class Loud(NameManager):
        def get(self, name: str | None, hint: str) -> str:
            return super().get(name, hint).upper()

    with Loud():
        assert conv().name == "CONVOLUTION0"


def test_managers_are_per_thread() -> None:
    found: list[str | None] = []
    with Prefix("p_"):
        thread = threading.Thread(target=lambda: found.append(conv().name))
        thread.start()
        thread.join()
    assert found == ["convolution0"]


def test_current() -> None:
    with Prefix("p_") as prefix:
        assert NameManager.current is prefix
    scope = AttrScope(a="b")
    with scope:
        assert AttrScope.current is scope
    assert AttrScope.current.get({"c": "d"}) == {"c": "d"}
    assert mx_name.Prefix is Prefix
    assert attribute.AttrScope is AttrScope


def test_a_manager_left_by_an_exception() -> None:
    before = NameManager.current
    with pytest.raises(KeyError), Prefix("p_"):
        raise KeyError
    assert NameManager.current is before


def test_scope() -> None:
    with AttrScope(ctx_group="dev", __d__="e"):
        assert sym.var("k").list_attr() == {
            "__ctx_group__": "dev", "ctx_group": "dev", "__d__": "e"}
        assert (sym.var("k") + 1).attr("ctx_group") == "dev"
        assert conv(name="c").attr_dict()["c_weight"] == {
            "kernel": "(3, 3)", "num_filter": "4", "__ctx_group__": "dev", "ctx_group": "dev",
            "__d__": "e"}
        with AttrScope(ctx_group="dev2"):
            inner = sym.var("k")
            assert inner.attr("ctx_group") == "dev2"
            assert inner.attr("__d__") == "e"
            assert sym.var("k", attr={"ctx_group": "z"}).attr("ctx_group") == "z"
        assert sym.var("k").attr("ctx_group") == "dev"
    assert sym.var("k").list_attr() == {}


def test_scope_with_an_attribute_that_is_no_parameter() -> None:
    with AttrScope(foo="bar"):
        assert sym.var("k").list_attr() == {"foo": "bar"}
        # an operator without parameters bears any attribute, others do not
        assert sym.elemwise_add(sym.var("x"), sym.var("y")).attr("foo") == "bar"
        with pytest.raises(ParameterError, match="foo"):
            conv()


def test_scopes_hold_strings() -> None:
    with pytest.raises(ValueError, match="string"):
        AttrScope(a=3)  # type: ignore[arg-type]


def test_a_scope_used_again() -> None:
    inner = AttrScope(b="2")
    with AttrScope(a="1"), inner:
        assert sym.var("k").list_attr() == {"a": "1", "b": "2"}
    with inner:
        assert sym.var("k").list_attr() == {"b": "2"}


def test_multipliers_of_inputs_belong_to_variables() -> None:
    with pytest.raises(MXNetError, match=r"weight=w"):
        conv(weight_lr_mult=3)
    assert conv(lr_mult=3).attr("lr_mult") == "3"
