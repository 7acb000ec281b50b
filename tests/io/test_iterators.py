"""Iterators over arrays: batches, what happens at the end of a pass, threads that work ahead."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt.errors import MXNetError, ParameterError, ShapeError, TypeMismatch

io = mx.io


def samples(batch: Any) -> list[float]:
    return batch.data[0].asnumpy().ravel().tolist()


def passes(source: Any, count: int = 2) -> list[list[tuple[list[float], int]]]:
    found = []
    for _ in range(count):
        found.append([(samples(batch), batch.pad) for batch in source])
        source.reset()
    return found


def test_the_end_of_a_pass() -> None:
    data = np.arange(5.0)
    whole = [([0, 1], 0), ([2, 3], 0)]
    assert passes(io.NDArrayIter(data, batch_size=2)) == [[*whole, ([4, 0], 1)]] * 2
    assert passes(io.NDArrayIter(data, batch_size=2, last_batch_handle="discard")) == [whole] * 2
    rolled = io.NDArrayIter(data, batch_size=2, last_batch_handle="roll_over")
    assert passes(rolled, 3) == [whole, [([4, 0], 1), ([1, 2], 0), ([3, 4], 0)], whole]
    # a batch larger than all samples
    assert passes(io.NDArrayIter(np.arange(2.0), batch_size=5), 1) == [[([0, 1, 0, 1, 0], 3)]]


@given(st.integers(1, 20), st.integers(1, 8), st.integers(1, 4))
def test_each_sample_comes_once_in_as_many_passes(count: int, size: int, times: int) -> None:
    rolled = io.NDArrayIter(np.arange(float(count)), batch_size=size,
                            last_batch_handle="roll_over")
    seen = [x for one in passes(rolled, times) for found, _ in one for x in found]
    assert seen == [float(i % count) for i in range(times * count - times * count % size)]
    padded = io.NDArrayIter(np.arange(float(count)), batch_size=size)
    seen = [x for found, pad in passes(padded, 1)[0] for x in found[:size - pad]]
    assert seen == list(range(count))


def test_shuffling_keeps_samples_and_labels_together() -> None:
    np.random.seed(3)
    source = io.NDArrayIter({"x": np.arange(8.0), "a": np.arange(8.0) * 2}, np.arange(8.0) * 3,
                            batch_size=4, shuffle=True)
    orders = []
    for one in range(3):
        if one:
            source.reset()
        batches = list(source)
        a, x = (np.concatenate([b.data[i].asnumpy() for b in batches]) for i in (0, 1))
        label = np.concatenate([b.label[0].asnumpy() for b in batches])
        np.testing.assert_array_equal(a, x * 2)
        np.testing.assert_array_equal(label, x * 3)
        assert sorted(x) == list(range(8))
        orders.append(x.tolist())
    assert len({tuple(order) for order in orders}) > 1


def test_descriptions() -> None:
    source = io.NDArrayIter([np.ones((6, 3)), mx.nd.ones((6, 2, 2), dtype="int32")], np.ones((6,)),
                            batch_size=2)
    assert source.provide_data == [("_0_data", (2, 3)), ("_1_data", (2, 2, 2))]
    assert [str(desc.dtype) for desc in source.provide_data] == ["float32", "int32"]
    assert source.provide_label == [("softmax_label", (2,))]
    assert source.num_source == 3
    time_first = io.NDArrayIter(np.arange(24.0).reshape(4, 6), batch_size=2, layout="TN")
    assert time_first.provide_data == [("data", (4, 2))]
    batch = next(time_first)
    np.testing.assert_array_equal(batch.data[0].asnumpy(), np.arange(24).reshape(4, 6)[:, :2])
    desc = io.DataDesc("x", (2, 3), "int8", "NC")
    again = pickle.loads(pickle.dumps(desc))
    assert (again, again.dtype, again.layout) == (desc, "int8", "NC")
    assert repr(desc) == "DataDesc[x,(2, 3),int8,NC]"
    assert [io.DataDesc.get_batch_axis(x) for x in (None, "TNC", "C")] == [0, 1, -1]
    assert io.DataDesc.get_list([("x", (1,))], {"x": "int8"}.items())[0].dtype == "int8"
    assert str(io.DataBatch([mx.nd.ones((2, 3))])) == (
        "DataBatch: data shapes: [(2, 3)] label shapes: None")


def test_another_length() -> None:
    source = io.ResizeIter(io.NDArrayIter(np.arange(4.0), batch_size=2), 3)
    assert passes(source) == [[([0, 1], 0), ([2, 3], 0), ([0, 1], 0)]] * 2
    going_on = io.ResizeIter(io.NDArrayIter(np.arange(4.0), batch_size=2), 1, reset_internal=False)
    assert passes(going_on) == [[([0, 1], 0)], [([2, 3], 0)]]


def test_batches_made_ahead() -> None:
    def source(factor: float) -> Any:
        return io.NDArrayIter(np.arange(5.0) * factor, np.arange(5.0), batch_size=2)

    both = io.PrefetchingIter([source(1), source(10)], rename_data=[{"data": "a"}, {"data": "b"}])
    assert both.provide_data == [("a", (2,)), ("b", (2,))]
    for _ in range(3):
        found = [[x.asnumpy().tolist() for x in (*b.data, *b.label)] for b in both]
        assert found == [[[0, 1], [0, 10], [0, 1], [0, 1]], [[2, 3], [20, 30], [2, 3], [2, 3]],
                         [[4, 0], [40, 0], [4, 0], [4, 0]]]
        both.reset()
    next(both)
    both.reset()
    assert samples(next(both)) == [0, 1]


def test_what_an_iterator_raises_comes_out() -> None:
    class Failing(io.NDArrayIter):
        def next(self) -> Any:
            if self.cursor >= 0:
                raise KeyError("a file is missing")
            return super().next()

    source = io.PrefetchingIter(Failing(np.arange(6.0), np.arange(6.0), batch_size=2))
    assert samples(source.next()) == [0, 1]
    with pytest.raises(KeyError, match="a file is missing"):
        source.next()
    source.reset()
    assert samples(source.next()) == [0, 1]


def test_iterators_of_other_lengths_do_not_go_together() -> None:
    both = io.PrefetchingIter([io.NDArrayIter(np.arange(n), np.arange(n), batch_size=1)
                               for n in (1, 2)])
    both.next()
    with pytest.raises(ParameterError, match="entry mismatches"):
        both.next()


def test_datasets_of_files_are_read_where_they_are_needed() -> None:
    class Dataset:
        """What NDArrayIter uses of h5py's: places in rising order."""

        def __init__(self, value: Any) -> None:
            self.value, self.shape, self.dtype = value, value.shape, value.dtype

        def __getitem__(self, places: Any) -> Any:
            assert places == sorted(places)
            return self.value[places]

    Dataset.__module__ = "h5py._hl.dataset"
    np.random.seed(0)
    source = io.NDArrayIter(Dataset(np.arange(10.0)), np.arange(10.0), batch_size=4, shuffle=True)
    for batch in source:
        np.testing.assert_array_equal(batch.data[0].asnumpy(), batch.label[0].asnumpy())


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: io.NDArrayIter(None), ParameterError, "data is None"),
    (lambda: io.NDArrayIter([]), ParameterError, "empty list"),
    (lambda: io.NDArrayIter(3), TypeMismatch, "Input must be NDArray"),
    (lambda: io.NDArrayIter({"x": object()}), TypeMismatch, "Invalid type"),
    (lambda: io.NDArrayIter(np.ones(3), batch_size=0), ParameterError, "batch_size is 0"),
    (lambda: io.NDArrayIter(np.ones(3), last_batch_handle="x"), ParameterError, "expected one of"),
    (lambda: io.NDArrayIter(np.ones(3), np.ones(2)), ShapeError, "2 samples, data has 3"),
    (lambda: io.NDArrayIter(np.array(3.0)), ShapeError, "shape is \\(\\)"),
    (lambda: io.NDArrayIter(np.ones(3), layout="C"), ParameterError, "no axis of samples"),
    (lambda: io.DataBatch(mx.nd.ones((1,))), TypeMismatch, "must be list of NDArrays"),
    (lambda: io.PrefetchingIter([]), ParameterError, "no iterators")])
def test_wrong_calls(call: Any, error: type[MXNetError], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_samples_beyond_those_of_the_first_array_are_left_over() -> None:
    source = io.NDArrayIter(np.arange(4), np.arange(10, 16), batch_size=2)
    assert [batch.label[0].asnumpy().tolist() for batch in source] == [[10, 11], [12, 13]]
