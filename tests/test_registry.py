"""What every registered operator must have, whatever it computes."""

from __future__ import annotations

import builtins
import dataclasses
import importlib
import inspect
import keyword
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ndarray_rt.errors import NameMismatch
from ndarray_rt.op.infer import run_infer_shape, run_infer_type
from ndarray_rt.op.params import Params
from ndarray_rt.op.registry import REGISTRY, OpDef, Registry, find
from ndarray_rt.op.signatures import public_name
from ndarray_rt.testing.case import Case
from ndarray_rt.testing.subject import subject_of

from .case_table import all_cases, unique_ids
from .test_golden import all_calls

OPS = REGISTRY.ops()
FORWARD = [op for op in OPS if not op.is_backward]
CASES = all_cases()
over_ops = pytest.mark.parametrize("op", OPS, ids=[op.name for op in OPS])
over_forward = pytest.mark.parametrize("op", FORWARD, ids=[op.name for op in FORWARD])


@pytest.fixture(scope="module")
def tested() -> set[str]:
    """Operators that a case calls, by their own names."""
    return {find(case.op).name for case in CASES}


def test_there_are_operators() -> None:
    assert FORWARD
    assert CASES


@over_forward
def test_has_doc(op: OpDef) -> None:
    first = op.doc.strip().splitlines()[0] if op.doc.strip() else ""
    assert first.endswith("."), "doc: expected a first line that is a sentence"


@over_forward
def test_has_case(op: OpDef, tested: set[str]) -> None:
    assert op.name in tested, "no case in tests/cases calls this operator"


# operators without golden data of MXNet 1.9.1, and why
NO_GOLDEN = {
    "_contrib_dynamic_fully_connected": "MXNet has none; computed in Python in its cases",
    "Custom": "users' Python code: tests/frontend/test_custom.py",
    "_cond": "a graph inside of it: compared as files in tests/frontend/test_control_flow.py",
    "_foreach": "a graph inside of it: compared as files in tests/frontend/test_control_flow.py",
    "_while_loop": "a graph inside of it: compared as files in tests/frontend/test_control_flow.py",
    "_sg_mkldnn_conv": "a graph inside of it: compared in tests/contrib/test_fused_layers.py",
    "_sg_mkldnn_fully_connected":
        "a graph inside of it: compared in tests/contrib/test_fused_layers.py",
    "_sg_mkldnn_selfatt_qk": "a graph inside of it: compared in tests/contrib/test_fused_layers.py",
    "_sg_mkldnn_selfatt_valatt":
        "a graph inside of it: compared in tests/contrib/test_fused_layers.py",
    "_contrib_to_dense": "layouts are not MXNet's",
    "_contrib_to_mkldnn": "layouts are not MXNet's",
    "IdentityAttachKLSparseReg": "MXNet's nd can not call it",
    "_identity_with_attr_like_rhs": "MXNet's nd can not call it",
    "_scatter_set_nd": "MXNet's writes to its first input only",
    "_rnn_param_concat": "tests/data/mxnet_rnn has its data",
    "_broadcast_reduce": "it is not among MXNet's",
    "_index": "it is not among MXNet's",
    "silu": "it is not among MXNet's",
    "_contrib_fft": "MXNet's runs on GPUs only",
    "_contrib_ifft": "MXNet's runs on GPUs only",
    "_contrib_count_sketch": "MXNet's runs on GPUs only",
    "_contrib_DeformablePSROIPooling": "MXNet's runs on GPUs only",
    "_contrib_group_adagrad_update": "of sparse arrays: tests/frontend/test_contrib_operators.py",
    "_square_sum": "of sparse arrays: tests/frontend/test_contrib_operators.py",
    "_contrib_getnnz": "of sparse arrays: tests/frontend/test_contrib_operators.py",
    "_contrib_quantized_elemwise_mul":
        "MXNet's nd can not call it: tests/frontend/test_quantization_operators.py",
    "_contrib_edge_id": "of sparse arrays: tests/frontend/test_contrib_operators.py",
}


def functions_of(op: OpDef) -> set[str]:
    """What calls of the oracle may name an operator."""
    made = set()
    for name in (op.name, *op.aliases):
        space, public = public_name(name)
        made |= {name, f"_internal.{name}", f"{space}.{public}" if space else public}
        for word in ("_random_", "_sample_"):
            if name.startswith(word):
                made.add(f"random.{name.removeprefix(word)}")
        if name.startswith("linalg_"):
            made.add(f"linalg.{name.removeprefix('linalg_')}")
    return made


@pytest.fixture(scope="module")
def golden() -> set[str]:
    return {call.op for _, _, call in all_calls()}


@pytest.mark.parametrize("op", [op for op in OPS if op.is_public], ids=lambda op: op.name)
def test_has_golden_data(op: OpDef, golden: set[str]) -> None:
    has = not functions_of(op).isdisjoint(golden)
    assert has != (op.name in NO_GOLDEN), (
        "expected a call in tests/oracle/calls, or a reason in NO_GOLDEN, and not both")


@over_ops
def test_has_gradient_or_reason(op: OpDef) -> None:
    assert (op.gradient is None) == bool(op.no_gradient), (
        "expected a gradient, or a reason in no_gradient, and not both")


@over_ops
def test_params_are_frozen_and_documented(op: OpDef) -> None:
    assert issubclass(op.params, Params)
    assert dataclasses.is_dataclass(op.params)
    made = object.__new__(op.params)
    for field in dataclasses.fields(op.params):
        assert field.metadata.get("doc"), f"parameter {field.name} has no doc"
        with pytest.raises(dataclasses.FrozenInstanceError, match=field.name):
            setattr(made, field.name, 1)
        with pytest.raises(dataclasses.FrozenInstanceError, match=field.name):
            delattr(made, field.name)


@over_ops
def test_names_are_consistent(op: OpDef) -> None:
    assert op.name.startswith("_backward_") == op.is_backward
    for name in (op.name, *op.aliases):
        assert find(name) is op
        assert name.replace(".", "_").isidentifier()
        assert not keyword.iskeyword(name)
    if op.num_args is not None:
        names = {field.name for field in dataclasses.fields(op.params)}
        assert op.num_args in names, f"num_args names {op.num_args}, which is no parameter"


@over_ops
def test_functions_take_what_dispatch_gives(op: OpDef) -> None:
    for function, wanted in ((op.compute, 4), (op.compute_ex, 4), (op.refuses, 2),
                             (op.infer_shape, 3), (op.infer_type, 3), (op.gradient, 3)):
        if function is not None:
            inspect.signature(function).bind(*range(wanted))
    assert op.refuses is None or op.compute_ex is not None, "refuses without a native path"


@pytest.mark.parametrize("case", CASES, ids=unique_ids(CASES))
def test_facts_of_a_call(case: Case) -> None:
    """Names, positions and inference rules hold together for the parameters of each case."""
    subject = subject_of(case, case.dtypes[0])
    op, params = subject.op, subject.params
    ins, aux = op.input_names(params), op.aux_names(params)
    outs = op.output_names(params)
    assert len({*ins, *aux}) == len(ins) + len(aux), f"names come twice: {ins} {aux}"
    assert len(set(outs)) == len(outs)
    assert 1 <= op.num_visible(params) <= len(outs)
    for position in (*op.mutated(params), *op.ignored(params)):
        assert 0 <= position < len(ins) + len(aux)
    for given in op.inplace_pairs(params).values():
        assert given >= 0
    if op.num_args is not None:
        assert getattr(params, op.num_args) == len(ins)
    assert params == op.params.parse(params.to_attrs(), op.name), "to_attrs does not come back"
    assert hash(params) == hash(op.params.parse(params.to_attrs(), op.name))
    if subject.want:
        assert op.num_visible(params) <= len(subject.want) <= len(outs), (
            "the reference gives another number of outputs")


@pytest.mark.parametrize("case", CASES, ids=unique_ids(CASES))
def test_infer_is_idempotent(case: Case) -> None:
    """Running a rule on what it said changes nothing; less knowledge is never contradicted."""
    subject = subject_of(case, case.dtypes[0])
    op, params = subject.op, subject.params
    ins = [value.shape for value in subject.values]
    outs = list(subject.out_shapes)
    assert run_infer_shape(op, params, ins, outs) == (ins, outs)
    types = [value.dtype for value in subject.values]
    out_types = list(subject.out_dtypes)
    assert run_infer_type(op, params, types, out_types) == (types, out_types)
    for hidden in _deduced(op.name, len(ins)):
        partly = [None if i == hidden else shape for i, shape in enumerate(ins)]
        _agrees(run_infer_shape(op, params, partly, [None] * len(outs)), ins, outs)
        _agrees(run_infer_shape(op, params, partly, list(outs)), ins, outs)
    for hidden in _deduced(op.name, len(ins)):
        rows = [(-1, *shape[1:]) if i == hidden and shape else shape
                for i, shape in enumerate(ins)]
        _agrees(run_infer_shape(op, params, rows, [None] * len(outs)), ins, outs)
    _agrees(run_infer_shape(op, params, [None] * len(ins), [None] * len(outs)), ins, outs)


# Where MXNet gives an unknown second input (a label, prelu's gamma) a usual shape, which is no
# deduction: others are right as well.
DEFAULTED = {"SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput",
             "MAERegressionOutput", "LeakyReLU"}


def _deduced(op: str, n: int) -> list[int]:
    return [i for i in range(n) if not (i == 1 and op in DEFAULTED)]


def _agrees(said: tuple[list[tuple[int, ...] | None], list[tuple[int, ...] | None]],
            ins: list[tuple[int, ...]], outs: list[tuple[int, ...]]) -> None:
    for got, right in zip((*said[0], *said[1]), (*ins, *outs), strict=True):
        if got is None:
            continue
        assert len(got) == len(right), f"inferred {got} where {right} is right"
        for dim, true in zip(got, right, strict=True):
            assert dim in (-1, true), f"inferred {got} where {right} is right"


def test_register_refuses_a_taken_name() -> None:
    registry = Registry()
    op = OPS[0]
    registry.register(op)
    with pytest.raises(NameMismatch, match="registered already"):
        registry.register(op)
    registry.unregister(op.name)
    assert op.name not in registry
    with pytest.raises(NameMismatch, match="not registered"):
        registry.find(op.name)


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Registry]]:
    """Makes a registry that leaves abs, of this package, to a module of the given source."""
    def make(source: str) -> Registry:
        registry = Registry()
        registry.load_later({"operators_of_a_test": "abs", "not_imported_by_a_test": "other"})
        monkeypatch.setattr(builtins, "given", (registry, find("abs")), raising=False)
        (tmp_path / "operators_of_a_test.py").write_text(source, encoding="utf-8")
        return registry

    monkeypatch.syspath_prepend(tmp_path)
    yield make
    sys.modules.pop("operators_of_a_test", None)


REGISTERS = "registry, op = given\nregistry.register(op)\n"


def test_an_operator_is_loaded_when_it_is_asked_for(later: Callable[[str], Registry]) -> None:
    registry = later(REGISTERS)
    assert "abs" in registry
    assert list(registry.names()) == ["abs", "other"]
    assert registry.is_public("abs")
    assert "operators_of_a_test" not in sys.modules
    assert registry.find("abs") is find("abs")
    registry.unregister("abs")
    assert "abs" not in registry


def test_names_of_the_index_are_taken(later: Callable[[str], Registry]) -> None:
    registry = later(REGISTERS)
    for _ in range(2):
        with pytest.raises(NameMismatch, match="registered already"):
            registry.register(find("abs"))
        assert registry.find("abs") is find("abs")


def test_names_of_the_index_are_taken_after_a_direct_import(
        later: Callable[[str], Registry]) -> None:
    registry = later(REGISTERS)
    importlib.import_module("operators_of_a_test")
    with pytest.raises(NameMismatch, match="registered already"):
        registry.register(find("abs"))
    assert registry.find("abs") is find("abs")


def test_a_module_whose_import_was_interrupted_is_imported_again(
        later: Callable[[str], Registry]) -> None:
    registry = later(f"{REGISTERS}if not hasattr(registry, 'again'):\n"
                     "    registry.again = True\n    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        registry.find("abs")
    assert registry.find("abs") is find("abs")


def test_a_thread_does_not_get_operators_of_a_module_that_is_half_imported(
        later: Callable[[str], Registry]) -> None:
    registry = later(f"{REGISTERS}import threading\nregistry.begun.set()\n"
                     "registry.end.wait(60)\nregistry.done = True\n")
    begun, end = threading.Event(), threading.Event()
    vars(registry).update(begun=begun, end=end, done=False)
    first = threading.Thread(target=registry.find, args=("abs",))
    found: list[bool] = []
    second = threading.Thread(target=lambda: found.append(
        registry.find("abs") is find("abs") and vars(registry)["done"]))
    first.start()
    assert begun.wait(60)
    second.start()
    second.join(0.05)
    assert not found
    end.set()
    first.join()
    second.join()
    assert found == [True]
