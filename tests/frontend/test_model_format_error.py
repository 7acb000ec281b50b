"""The error for files that are damaged, or not what they should be."""

from __future__ import annotations

import pickle

import pytest

import ndarray_rt as mx
from ndarray_rt.errors import ModelFormatError, NdrtError, ParameterError


def test_it_names_file_place_and_reason() -> None:
    error = ModelFormatError("rank 99, expected at most 12", "net.params", "array 3 of 7")
    assert str(error) == "net.params: array 3 of 7: rank 99, expected at most 12"
    assert (error.file, error.place, error.reason) == (
        "net.params", "array 3 of 7", "rank 99, expected at most 12")
    assert str(ModelFormatError("it is empty")) == "it is empty"


@pytest.mark.parametrize("kind", [ValueError, NdrtError, mx.MXNetError, ParameterError])
def test_it_is_caught_as(kind: type[Exception]) -> None:
    with pytest.raises(kind, match="it is empty"):
        raise ModelFormatError("it is empty", "net.params")


def test_it_comes_whole_out_of_another_process() -> None:
    again = pickle.loads(pickle.dumps(ModelFormatError("r", "f", "p")))
    assert (str(again), again.file, again.place, again.reason) == ("f: p: r", "f", "p", "r")
