"""The test cases of the onnx package: nodes, and models that PyTorch wrote."""

from __future__ import annotations

import os
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx.numpy_helper
import pytest
from onnx.backend.test.loader import load_model_tests

from ndarray_rt.errors import NdrtError
from ndarray_rt.onnx import load

from .helpers import run_thrice

NEWEST_OPSET = 26
MISSING = Path(__file__).parent.parent / "data" / "onnx_not_passed.txt"


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
    read = {"tensor_type": onnx.numpy_helper.to_array, "sequence_type": onnx.numpy_helper.to_list,
            "optional_type": onnx.numpy_helper.to_optional}[kind]
    return read(proto)


def model_and_data(case: Any) -> tuple[Any, list[tuple[list[Any], list[Any]]]]:
    """The model, of operator set 26 where it would be of a newer one, and its data."""
    if case.model is None:
        folder = Path(case.model_dir)
        model = onnx.load(os.fspath(folder / "model.onnx"))
        data = []
        for each in sorted(folder.glob("test_data_set_*")):
            ins = sorted(each.glob("input_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
            outs = sorted(each.glob("output_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
            data.append(([_read(p, model.graph.input[i]) for i, p in enumerate(ins)],
                         [_read(p, model.graph.output[i]) for i, p in enumerate(outs)]))
        return model, data
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = min(entry.version, NEWEST_OPSET)
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


def test_most_of_them_pass() -> None:
    """Of those with the 117 that PyTorch wrote, all; of all others nearly all."""
    names = cases().keys() & not_passed().keys()
    assert len(names) < 0.06 * len(cases())
    assert not [name for name in names if cases()[name].kind.startswith("pytorch")]
    assert all(not_passed().values())


def test_cases_have_whole_numbers_and_floats() -> None:
    kinds = {np.asarray(x).dtype.kind for case in cases().values() if case.data_sets
             for ins, _ in case.data_sets for x in ins if isinstance(x, np.ndarray)}
    assert {"f", "i", "u", "b"} <= kinds
