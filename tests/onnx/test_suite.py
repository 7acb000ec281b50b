"""The test cases of the onnx package: nodes, and models that PyTorch wrote."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import onnx.numpy_helper
import pytest
from onnx.backend.test.loader import load_model_tests

from ndarray_rt.errors import NdrtError
from ndarray_rt.onnx import load

from .helpers import run_thrice

NEWEST_OPSET = 26
MISSING = Path(__file__).parent.parent / "data" / "onnx_not_passed.txt"
# dtypes of less than eight bits, and eight bits of floats
SMALL_TYPES = ("FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2")
USUAL = MISSING.with_name("onnx_usual_operators.txt")
CORE = MISSING.with_name("onnx_core_cases.txt")


def _is_expanded(name: str) -> bool:
    return name.endswith("_expanded") or "_expanded_" in name


@lru_cache(maxsize=1)
def not_passed() -> dict[str, str]:
    """Cases that do not pass, and why."""
    lines = MISSING.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


@lru_cache(maxsize=1)
def cases() -> dict[str, Any]:
    """All cases by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what making the cases divides by zero
        nodes = load_model_tests(kind="node")
    found = [case for kind in ("pytorch-converted", "pytorch-operator", "simple")
             for case in load_model_tests(kind=kind)]
    return {case.name: case for case in (*nodes, *found) if not _is_expanded(case.name)}


def _array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _read(path: Path, info: Any) -> Any:
    kind = info.type.WhichOneof("value")
    proto = {"tensor_type": onnx.TensorProto, "sequence_type": onnx.SequenceProto,
             "optional_type": onnx.OptionalProto}[kind]()
    proto.ParseFromString(path.read_bytes())
    readers: dict[str, Callable[[Any], Any]] = {
        "tensor_type": onnx.numpy_helper.to_array, "sequence_type": onnx.numpy_helper.to_list,
        "optional_type": onnx.numpy_helper.to_optional}
    return readers[kind](proto)


def model_of(case: Any) -> Any:
    """A case's model, as the package has it."""
    if case.model is None:
        return onnx.load(os.fspath(Path(case.model_dir) / "model.onnx"))
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    return model


def model_and_data(case: Any) -> tuple[Any, list[tuple[list[Any], list[Any]]]]:
    """The model, of operator set 26 where it would be of a newer one, and its data."""
    model = model_of(case)
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = min(entry.version, NEWEST_OPSET)
    if case.data_sets is None:
        folder = Path(case.model_dir)
        data = []
        for each in sorted(folder.glob("test_data_set_*")):
            ins = sorted(each.glob("input_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
            outs = sorted(each.glob("output_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
            data.append(([_read(p, model.graph.input[i]) for i, p in enumerate(ins)],
                         [_read(p, model.graph.output[i]) for i, p in enumerate(outs)]))
        return model, data
    return model, [(list(map(_array, ins)), list(map(_array, outs)))
                   for ins, outs in case.data_sets]


def run(case: Any) -> None:
    """A case as the suite runs it, three times over."""
    model, data = model_and_data(case)
    loaded = load(model)
    for ins, outs in data:
        names = [info.name for info in loaded.inputs]
        if "bernoulli" in case.name:
            made = loaded(*ins)
            assert [x.shape for x in made] == [x.shape for x in outs]
            continue
        run_thrice(loaded, dict(zip(names, ins, strict=True)), outs, case.rtol or 1e-3,
                   case.atol or 1e-7)


@pytest.mark.parametrize("name", [name for name in cases() if name not in not_passed()])
def test_case(name: str) -> None:
    run(cases()[name])


@pytest.mark.parametrize("name", not_passed())
def test_case_that_does_not_pass(name: str) -> None:
    """It ends in an error of this package or in other numbers, and the list says so truly."""
    case = cases().get(name)
    if case is None:
        pytest.skip("this version of the package onnx has no such case")
    with pytest.raises((NdrtError, AssertionError)):
        run(case)


def _types(proto: Any) -> Iterator[str]:
    """Names of the dtypes within a type."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        yield onnx.TensorProto.DataType.Name(proto.tensor_type.elem_type)
    elif kind in ("sequence_type", "optional_type"):
        yield from _types(getattr(proto, kind).elem_type)


def dtypes_of(model: Any) -> set[str]:
    """Of inputs, outputs and constants."""
    found = {name for info in (*model.graph.input, *model.graph.output)
             for name in _types(info.type)}
    return found | {onnx.TensorProto.DataType.Name(attribute.t.data_type)
                    for node in model.graph.node for attribute in node.attribute
                    if attribute.HasField("t")}


@lru_cache(maxsize=1)
def core_cases() -> dict[str, frozenset[str]]:
    """Operators of the cases that count: dtypes of eight bits and more, floats of sixteen and more,
    operator sets up to 26, no steps of training."""
    found = {}
    for case in cases().values():
        model = model_of(case)
        newest = max(entry.version for entry in model.opset_import
                     if entry.domain in ("", "ai.onnx") or len(model.opset_import) == 1)
        if (newest <= NEWEST_OPSET
                and not any(name.startswith(SMALL_TYPES) for name in dtypes_of(model))
                and all(node.domain != "ai.onnx.preview.training" for node in model.graph.node)):
            found[case.name] = frozenset(node.op_type for node in model.graph.node)
    return found


def counted(names: Iterable[str]) -> tuple[int, int]:
    """(how many of them pass, how many there are)."""
    every = list(names)
    return sum(name not in not_passed() for name in every), len(every)


def usual_cases() -> list[str]:
    """Of those that count the nodes with operators that ordinary models are made of."""
    lines = USUAL.read_text(encoding="utf-8").splitlines()
    frequent = {line for line in lines if not line.startswith("#")}
    return [name for name, operators in core_cases().items()
            if cases()[name].kind == "node" and operators and operators <= frequent]


def test_core_cases_pass() -> None:
    """Of the cases for ordinary models' operators nearly all; of all cases most."""
    passed, count = counted(usual_cases())
    assert passed / count >= 405 / 415
    all_passed, all_count = counted(core_cases())
    assert all_passed / all_count >= 1200 / 1309


def test_listed_cases_pass() -> None:
    """Those of onnx 1.22.0, by name."""
    lines = CORE.read_text(encoding="utf-8").splitlines()[1:]
    usual = [line[:-2] for line in lines if line.endswith(" *")]
    every = [line.removesuffix(" *") for line in lines]
    assert counted(usual) == (415, 415)
    assert counted(every) == (1290, 1309)
    if onnx.__version__ == "1.22.0":
        assert set(usual) == set(usual_cases())
        assert set(every) == set(core_cases())


def test_all_cases_of_pytorch_pass() -> None:
    names = [case.name for case in cases().values() if case.kind.startswith("pytorch")]
    assert counted(names) == (117, 117)


def test_each_case_that_does_not_pass_has_a_reason() -> None:
    assert all(not_passed().values())


def test_cases_have_whole_numbers_and_floats() -> None:
    dtypes = {name for case in cases().values() for name in dtypes_of(model_of(case))}
    assert {"FLOAT", "FLOAT16", "DOUBLE", "INT64", "INT32", "UINT8", "BOOL"} <= dtypes
