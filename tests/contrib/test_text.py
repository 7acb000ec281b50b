"""Words as numbers and vectors: vocabularies, files of vectors, embeddings of embeddings."""

from __future__ import annotations

import hashlib
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import registry
from ndarray_rt.contrib import text
from ndarray_rt.errors import MXNetError, NameMismatch, ParameterError

COUNTER = Counter({"c": 3, "b": 2, "a": 1, "d": 1})
LINES = "a 1 2 3\nb 4 5 6\nc 7 8 9\n"


def test_counting() -> None:
    found = text.utils.count_tokens_from_str(" Life is  great \n life is . ", to_lower=True)
    assert found == Counter({"life": 2, "is": 2, "great": 1, ".": 1})
    counter = Counter({"x": 1})
    assert text.utils.count_tokens_from_str("x|y;x", r"\|", ";", counter_to_update=counter) is (
        counter)
    assert counter == Counter({"x": 3, "y": 1})


@pytest.mark.parametrize(("options", "tokens"), [
    ({}, ["<unk>", "c", "b", "a", "d"]),
    ({"min_freq": 2}, ["<unk>", "c", "b"]),
    ({"most_freq_count": 3}, ["<unk>", "c", "b", "a"]),
    ({"most_freq_count": 2, "reserved_tokens": ["b", "<pad>"]}, ["<unk>", "b", "<pad>", "c", "a"]),
    ({"unknown_token": "c", "min_freq": 2}, ["c", "b"]),
    ({"most_freq_count": 0}, ["<unk>"])])
def test_vocabularies(options: dict[str, Any], tokens: list[str]) -> None:
    vocab = text.vocab.Vocabulary(COUNTER, **options)
    assert vocab.idx_to_token == tokens
    assert vocab.token_to_idx == {token: i for i, token in enumerate(tokens)}
    assert len(vocab) == len(tokens)
    assert vocab.unknown_token == tokens[0]
    assert vocab.reserved_tokens == options.get("reserved_tokens")
    assert vocab.to_indices([*tokens, "nowhere"]) == [*range(len(tokens)), 0]
    assert vocab.to_tokens(list(range(len(tokens)))) == tokens
    assert vocab.to_tokens(vocab.to_indices(tokens[-1])) == tokens[-1]


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "vectors.txt").write_text(LINES)
    return str(tmp_path / "vectors.txt")


def vectors(embedding: Any) -> list[list[float]]:
    return embedding.idx_to_vec.asnumpy().tolist()


def test_a_file_of_vectors(path: str) -> None:
    found = text.embedding.CustomEmbedding(path)
    assert found.idx_to_token == ["<unk>", "a", "b", "c"]
    assert vectors(found) == [[0, 0, 0], [1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert (found.vec_len, len(found)) == (3, 4)
    assert found.get_vecs_by_tokens("b").asnumpy().tolist() == [4, 5, 6]
    assert found.get_vecs_by_tokens(["C", "a"]).asnumpy().tolist() == [[0, 0, 0], [1, 2, 3]]
    assert found.get_vecs_by_tokens(["C"], lower_case_backup=True).asnumpy().tolist() == [[7, 8, 9]]
    found.update_token_vectors("a", mx.nd.array([9, 9, 9]))
    found.update_token_vectors(["b", "<unk>"], mx.nd.array([[1, 1, 1], [2, 2, 2]]))
    assert vectors(found) == [[2, 2, 2], [9, 9, 9], [1, 1, 1], [7, 8, 9]]


def test_the_unknown_token_and_reserved_ones(tmp_path: Path) -> None:
    name = tmp_path / "v.txt"
    name.write_text("4\t3\na\t1\t2\nb\t3\t4\na\t5\t6\nU\t7\t8\n")
    with (pytest.warns(UserWarning, match="likely a header"),
          pytest.warns(UserWarning, match="token a has been loaded")):
        found = text.embedding.CustomEmbedding(str(name), "\t", unknown_token="U",
                                               reserved_tokens=["<pad>"])
    assert found.idx_to_token == ["U", "<pad>", "a", "b"]
    assert vectors(found) == [[7, 8], [0, 0], [1, 2], [3, 4]]
    name.write_text("a 1 2\n")
    ones = text.embedding.CustomEmbedding(str(name), init_unknown_vec=mx.nd.ones)
    assert vectors(ones) == [[1, 1], [1, 2]]


def test_the_tokens_of_a_vocabulary(path: str) -> None:
    vocab = text.vocab.Vocabulary(Counter("zaa"), unknown_token="?", reserved_tokens=["c"])
    found = text.embedding.CustomEmbedding(path, vocabulary=vocab)
    assert found.idx_to_token == ["?", "c", "a", "z"]
    assert (found.unknown_token, found.reserved_tokens) == ("?", ["c"])
    assert vectors(found) == [[0, 0, 0], [7, 8, 9], [1, 2, 3], [0, 0, 0]]
    both = text.embedding.CompositeEmbedding(vocab, [
        text.embedding.CustomEmbedding(path), text.embedding.CustomEmbedding(
            path, init_unknown_vec=mx.nd.ones)])
    assert both.vec_len == 6
    assert vectors(both) == [[0, 0, 0, 1, 1, 1], [7, 8, 9] * 2, [1, 2, 3] * 2,
                             [0, 0, 0, 1, 1, 1]]
    assert text.embedding.CompositeEmbedding(vocab, found).get_vecs_by_tokens("c").asnumpy(
        ).tolist() == [7, 8, 9]
    only = text.embedding.CustomEmbedding(path, vocabulary=text.vocab.Vocabulary())
    assert vectors(only) == [[0, 0, 0]]


def test_published_files(tmp_path: Path) -> None:
    names = text.embedding.get_pretrained_file_names
    assert names("glove")[0] == "glove.42B.300d.txt"
    assert len(names("fasttext")) == 327
    assert {"wiki.simple.vec", "wiki.multi.de.vec", "crawl-300d-2M.vec"} <= set(names("fasttext"))
    assert {"glove", "fasttext"} <= set(names())
    folder = tmp_path / "glove"
    folder.mkdir()
    (folder / "glove.6B.50d.txt").write_text(LINES)
    found = text.embedding.create("GloVe", pretrained_file_name="glove.6B.50d.txt",
                                  embedding_root=str(tmp_path))
    assert isinstance(found, text.embedding.GloVe)
    assert len(found) == 4
    with zipfile.ZipFile(folder / "glove.6B.zip", "w") as archive:
        archive.writestr("glove.6B.100d.txt", "x 1 2\n")
    packed = text.embedding.GloVe("glove.6B.100d.txt", str(tmp_path))
    assert packed.to_indices("x") == 1
    (tmp_path / "fasttext").mkdir()
    (tmp_path / "fasttext" / "wiki.de.vec").write_text("2 3\nder 1 2 3\n", encoding="utf8")
    with pytest.raises(MXNetError, match=r"wiki.fr.vec.* it is not there"):
        text.embedding.FastText("wiki.fr.vec", str(tmp_path))
    with pytest.warns(UserWarning, match="header"):
        assert text.embedding.FastText("wiki.de.vec", str(tmp_path)).to_indices("der") == 1
    with pytest.raises(NameMismatch, match="Cannot find pretrained file wiki"):
        text.embedding.GloVe("wiki.de.vec")
    with pytest.raises(NameMismatch, match="Cannot find `embedding_name` word2vec"):
        names("word2vec")


def test_a_class_of_ones_own(tmp_path: Path) -> None:
    sha1 = hashlib.sha1(LINES.encode()).hexdigest()

    class Mine(text.embedding._TokenEmbedding):
        pretrained_file_name_sha1 = {"mine.vec": sha1}  # noqa: RUF012

        def __init__(self, embedding_root: str, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self._check_pretrained_file_names("mine.vec")
            self._load_embedding(self._get_pretrained_file(embedding_root, "mine.vec"), " ",
                                 mx.nd.zeros)

    text.embedding.register(Mine)
    try:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "mine.vec").write_text(LINES)
        assert len(text.embedding.create("mine", embedding_root=str(tmp_path))) == 4
        (tmp_path / "mine" / "mine.vec").write_text(LINES + "d 1 2 3\n")
        with pytest.raises(MXNetError, match="SHA-1 is another"):
            text.embedding.create("mine", embedding_root=str(tmp_path))
    finally:
        registry._entries(text.embedding._TokenEmbedding).pop("mine")


@pytest.mark.parametrize(("content", "match"), [
    ("a 1 2\nb\n", "line 2 of"), ("a 1 2\nb 1\nc 1 2 3\n", "is 3 but the dimension of previous"),
    ("a 1 x\n", "line 1 of"), ("", "has no vectors"), ("<unk> 1\na 1 2\n", "has 1 numbers")])
@pytest.mark.filterwarnings("ignore:At line")
def test_wrong_files_are_named(content: str, match: str, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text(content)
    with pytest.raises(AssertionError, match=match):
        text.embedding.CustomEmbedding(str(tmp_path / "v.txt"))


WRONG: Any = {"a": 1}


@pytest.mark.parametrize(("wrong", "error", "match"), [
    (lambda: text.vocab.Vocabulary(min_freq=0), AssertionError, "positive"),
    (lambda: text.vocab.Vocabulary(reserved_tokens=["a", "a"]), AssertionError, "duplicate"),
    (lambda: text.vocab.Vocabulary(reserved_tokens=["<unk>"]), AssertionError, "unknown_token"),
    (lambda: text.vocab.Vocabulary(WRONG), AssertionError, "Counter"),
    (lambda: text.vocab.Vocabulary().to_tokens(1), ParameterError, "index 1"),
    (lambda: text.vocab.Vocabulary().to_tokens([0, -1]), ParameterError, "index -1"),
    (lambda: text.vocab.Vocabulary().to_tokens("a"), ParameterError, "index a"),
    (lambda: text.embedding.CustomEmbedding("nowhere"), ParameterError, "'nowhere'"),
    (lambda: text.embedding.CompositeEmbedding(WRONG, []), AssertionError, "Vocabulary"),
    (lambda: text.embedding.CompositeEmbedding(text.vocab.Vocabulary(), [3]), AssertionError,
     "token_embeddings")])
def test_wrong_use_is_named(wrong: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        wrong()


@pytest.mark.parametrize(("tokens", "rows", "error", "match"), [
    ("z", np.ones(3), ValueError, "Token z is unknown"),
    ("a", np.ones(2), AssertionError, r"expected \(1, 3\)"),
    (["a", "b"], np.ones(3), AssertionError, "2-D"),
    (["a", "z"], np.ones((2, 3)), ValueError, "Token z is unknown")])
def test_wrong_vectors_change_nothing(tokens: Any, rows: Any, error: type[Exception], match: str,
                                      path: str) -> None:
    found = text.embedding.CustomEmbedding(path)
    was = vectors(found)
    with pytest.raises(error, match=match):
        found.update_token_vectors(tokens, mx.nd.array(rows))
    assert vectors(found) == was
