"""gluon.contrib.data: a sampler of each k-th sample, and text for language models."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from ndarray_rt.contrib.text.vocab import Vocabulary
from ndarray_rt.errors import MXNetError, NameMismatch
from ndarray_rt.gluon.contrib import data
from ndarray_rt.gluon.errors import Mismatch

TEXT = " = Title = \n\n a b c . \n a c . \n"
WORDS = ["=", "Title", "=", "<eos>", "a", "b", "c", ".", "<eos>", "a", "c", ".", "<eos>"]


def test_each_kth_sample() -> None:
    for length, interval in ((13, 3), (6, 2), (5, 5), (4, 1)):
        whole = list(data.IntervalSampler(length, interval))
        assert sorted(whole) == list(range(length))
        first = data.IntervalSampler(length, interval, rollover=False)
        assert list(first) == list(range(0, length, interval))
        assert len(first) == len(list(first))
        assert whole[:len(first)] == list(first)
    with pytest.raises(Mismatch, match="Interval 4"):
        data.IntervalSampler(3, 4)
    with pytest.raises(Mismatch, match="Interval 0"):
        data.IntervalSampler(3, 0)


@pytest.mark.parametrize("is_packed", [False, True], ids=["files", "archive"])
@pytest.mark.parametrize(("kind", "archive"), [
    (data.text.WikiText2, "wikitext-2-v1.zip"), (data.text.WikiText103, "wikitext-103-v1.zip")])
def test_words_and_those_that_follow(kind: type, archive: str, is_packed: bool,
                                     tmp_path: Path) -> None:
    if is_packed:
        with zipfile.ZipFile(tmp_path / archive, "w") as made:
            made.writestr("wikitext/wiki.train.tokens", TEXT)
            made.writestr("wikitext/wiki.valid.tokens", " b x \n")
    else:
        (tmp_path / "wiki.train.tokens").write_text(TEXT)
        (tmp_path / "wiki.valid.tokens").write_text(" b x \n")
    train = kind(str(tmp_path), seq_len=5)
    assert len(train) == 2  # 13 words make 12 pairs
    numbers = train.vocabulary.to_indices(WORDS)
    assert train[0][0].asnumpy().tolist() == numbers[:5]
    assert train[1][1].asnumpy().tolist() == numbers[6:11]
    assert train[0][0].dtype == np.int32
    assert train.frequencies["a"] == 2
    assert train.vocabulary.idx_to_token[:2] == ["<unk>", "<eos>"]
    valid = kind(str(tmp_path), "validation", train.vocabulary, seq_len=2)
    assert valid[0][0].asnumpy().tolist() == [train.vocabulary.to_indices("b"), 0]
    assert valid[0][1].asnumpy().tolist() == [0, 1]
    with pytest.raises(MXNetError, match=r"wiki.test.tokens' is not there, nor '.*zip' with it"):
        kind(str(tmp_path), "test")
    with pytest.raises(NameMismatch, match="segment 'dev'"):
        kind(str(tmp_path), "dev", Vocabulary())
