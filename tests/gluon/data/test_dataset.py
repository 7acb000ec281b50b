"""Datasets and samplers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt.gluon import data


def test_array_dataset_gives_tuples_of_rows() -> None:
    pixels, labels = np.random.rand(5, 2), np.arange(5.0, dtype="float32")
    both = data.ArrayDataset(pixels, mx.nd.array(labels))
    assert len(both) == 5
    row, label = both[3]
    np.testing.assert_array_equal(row, pixels[3])
    assert isinstance(label, np.float32)
    assert label == 3
    assert data.ArrayDataset([7, 8])[1] == 8
    with pytest.raises(AssertionError, match=r"array\[1\] has 4"):
        data.ArrayDataset(range(5), range(4))


@given(count=st.integers(0, 50), shards=st.integers(1, 7))
def test_shards_are_all_samples_in_order(count: int, shards: int) -> None:
    whole = data.SimpleDataset(list(range(count)))
    parts = [list(whole.shard(shards, i)) for i in range(shards)]
    assert [x for part in parts for x in part] == list(range(count))
    sizes = [len(part) for part in parts]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1


def test_shard_refuses_a_part_that_is_not_there() -> None:
    with pytest.raises(AssertionError, match="index is 3, expected 0 to 2"):
        data.SimpleDataset([1]).shard(3, 3)
    with pytest.raises(mx.MXNetError, match="num_shards is 0"):
        data.SimpleDataset([1]).shard(0, 0)


def test_take_filter_sample_and_transforms() -> None:
    whole = data.SimpleDataset(list(range(6)))
    assert list(whole.take(2)) == [0, 1]
    assert list(whole.take(None)) == list(whole.take(9)) == list(range(6))
    assert list(whole.filter(lambda x: x % 2)) == [1, 3, 5]
    assert list(whole.sample(data.SequentialSampler(2, 3))) == [3, 4]
    wrong: Any = [1]
    with pytest.raises(TypeError, match="Invalid sampler type"):
        whole.sample(wrong)
    calls: list[int] = []

    def called(x: int) -> int:
        calls.append(x)
        return x + 1
    for lazy in (True, False):
        calls.clear()
        made = whole.transform(called, lazy=lazy)
        assert len(calls) == (0 if lazy else 6)
        assert [made[2], made[2]] == [3, 3]
    pairs = data.ArrayDataset([1, 2], [3, 4])
    assert list(pairs.transform(lambda a, b: a * b)) == [3, 8]
    assert list(pairs.transform_first(lambda a: -a)) == [(-1, 3), (-2, 4)]


@given(count=st.integers(0, 30), size=st.integers(1, 8),
       last=st.sampled_from(["keep", "discard", "rollover"]))
def test_batches(count: int, size: int, last: str) -> None:
    sampler = data.BatchSampler(data.SequentialSampler(count), size, last)
    flat: list[int] = []
    for _ in range(3):
        length = len(sampler)
        batches = list(sampler)
        assert len(batches) == length
        assert all(len(b) == size for b in batches[:-1] if batches)
        flat += [index for batch in batches for index in batch]
    if last == "keep":
        assert flat == list(range(count)) * 3
    elif last == "discard":
        assert flat == list(range(count // size * size)) * 3
    else:
        assert flat == (list(range(count)) * 3)[: 3 * count // size * size]


def test_batch_sampler_refuses() -> None:
    with pytest.raises(ValueError, match="'rollover', but got some"):
        data.BatchSampler(data.SequentialSampler(3), 2, "some")
    with pytest.raises(ValueError, match="batch_size is 0"):
        data.BatchSampler(data.SequentialSampler(3), 0)


def test_random_sampler_follows_numpy_seed() -> None:
    np.random.seed(3)
    first = list(data.RandomSampler(20))
    np.random.seed(3)
    expected = np.arange(20)
    np.random.shuffle(expected)
    assert first == list(expected)
