"""Sentences as numbers, and batches of those of like length."""

from __future__ import annotations

import logging
import random

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import ParameterError
from ndarray_rt.rnn.errors import CellError


def test_words_get_numbers() -> None:
    sentences = [["a", "b", "a"], ["c", "b"]]
    coded, vocab = mx.rnn.encode_sentences(sentences, invalid_label=1)
    # 1 is no word's number
    assert (coded, vocab) == ([[0, 2, 0], [3, 2]], {"\n": 1, "a": 0, "b": 2, "c": 3})
    assert mx.rnn.encode_sentences(sentences, {"a": 4, "b": 5, "c": 6})[0] == [[4, 5, 4], [6, 5]]
    with pytest.raises(CellError, match="Unknown token c"):
        mx.rnn.encode_sentences(sentences, {"a": 4, "b": 5})
    # all unknown words are one
    coded, vocab = mx.rnn.encode_sentences(sentences, {"b": 5}, start_label=7, unknown_token="?")
    assert (coded, vocab) == ([[7, 5, 7], [7, 5]], {"b": 5, "?": 7})


@pytest.mark.parametrize("layout", ["NT", "TN"])
def test_labels_are_the_words_that_follow(layout: str) -> None:
    random.seed(0)
    np.random.seed(0)
    sentences = [[i, i + 1, i + 2, i + 3][:2 + i % 3] for i in range(10, 40)]
    source = mx.rnn.BucketSentenceIter(sentences, 4, buckets=[2, 4, 6], invalid_label=0,
                                       layout=layout)
    assert source.buckets == [2, 4]
    assert source.default_bucket_key == 4
    assert source.provide_data[0].layout == layout
    assert source.provide_data[0].shape == (4, 4)
    orders = []
    for _ in range(2):
        seen: list[tuple[int, ...]] = []
        for batch in source:
            data, label = (x.asnumpy() if layout == "NT" else x.asnumpy().T
                           for x in (batch.data[0], batch.label[0]))
            assert data.shape == (4, batch.bucket_key)
            assert batch.provide_data[0].shape == batch.data[0].shape
            np.testing.assert_array_equal(label[:, :-1], data[:, 1:])
            assert (label[:, -1] == 0).all()
            seen.extend(map(tuple, data.astype(int).tolist()))
        orders.append(seen)
        source.reset()
    # whole batches only: 8 of 10 of length 2, 20 of 20 of lengths 3 and 4
    assert len(orders[0]) == 28
    assert orders[0] != orders[1]


def test_what_does_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        source = mx.rnn.BucketSentenceIter([[1, 2], [3], [1, 2, 3, 4]], 1, buckets=[3])
    assert "discarded 1 sentences" in caplog.text
    assert sorted(source.data[0].tolist()) == [[1, 2, -1], [3, -1, -1]]
    found = mx.rnn.BucketSentenceIter([[1, 2], [3, 4], [5]], 2, dtype="int32")
    assert found.buckets == [2]
    assert found.next().data[0].dtype == np.int32
    with pytest.raises(ParameterError, match="Invalid layout TC"):
        mx.rnn.BucketSentenceIter([[1]], 1, layout="TC")
    with pytest.raises(ParameterError, match=r"no bucket of \[1\] holds one of the 1 sentences"):
        mx.rnn.BucketSentenceIter([[1, 2]], 1, buckets=[1])


def test_a_language_model_learns_over_buckets() -> None:
    """Counting up: the word that follows is the next number."""
    mx.random.seed(1)
    np.random.seed(1)
    random.seed(1)
    sentences = [[1 + (i + k) % 9 for k in range(4 + i % 2 * 2)] for i in range(160)]
    source = mx.rnn.BucketSentenceIter(sentences, 16, invalid_label=0)
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.LSTMCell(16, prefix="l_"))

    def graph(length: int) -> tuple[mx.sym.Symbol, list[str], list[str]]:
        data = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=10, output_dim=8, name="embed")
        outputs, _ = stack.unroll(length, data, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 16)), num_hidden=10,
                                       name="score")
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return (mx.sym.SoftmaxOutput(scores, label, name="softmax", use_ignore=True,
                                     ignore_label=0), ["data"], ["softmax_label"])

    module = mx.mod.BucketingModule(graph, default_bucket_key=source.default_bucket_key)
    module.fit(source, eval_metric=mx.metric.Perplexity(0), num_epoch=12, optimizer="adam",
               optimizer_params={"learning_rate": 0.02}, initializer=mx.init.Xavier())
    said = module.score(source, mx.metric.Perplexity(0))
    assert said[0][1] < 1.3
