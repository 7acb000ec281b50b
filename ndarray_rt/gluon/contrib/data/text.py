"""Text for language models, from files of this machine."""

from __future__ import annotations

import io
import os
import zipfile
from collections import Counter
from typing import Any

import numpy as np

from .... import nd
from ....base import data_dir
from ....contrib.text.utils import count_tokens_from_str
from ....contrib.text.vocab import Vocabulary
from ....errors import MXNetError, NameMismatch
from ....public import shows
from ...data.dataset import Dataset

__all__ = ["WikiText2", "WikiText103"]
__dir__ = shows(globals())

END_OF_SENTENCE = "<eos>"
FILES = {"train": "wiki.train.tokens", "validation": "wiki.valid.tokens",
         "test": "wiki.test.tokens"}


class _LanguageModelDataset(Dataset):
    """Pairs of `seq_len` words as numbers, and the words that follow them."""

    def __init__(self, root: str, vocabulary: Vocabulary | None) -> None:
        self._root = os.path.expanduser(root)
        self._vocab = vocabulary
        self._counter: Counter[str] | None = None

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The numbers of the words."""
        return self._vocab

    @property
    def frequencies(self) -> Counter[str] | None:
        """How often each word is in the text."""
        return self._counter


class _WikiText(_LanguageModelDataset):
    archive: str

    def __init__(self, root: str, segment: str, vocab: Vocabulary | None, seq_len: int) -> None:
        super().__init__(root, vocab)
        if segment not in FILES:
            raise NameMismatch(f"{type(self).__name__}: segment {segment!r}, expected one of "
                               f"{', '.join(FILES)}")
        self._segment = segment
        self._seq_len = seq_len
        numbers = self._numbers(self._text())
        # as many words as make whole samples
        count = (len(numbers) - 1) // seq_len * seq_len
        self._data, self._label = (
            nd.array(part[:count], dtype="int32").reshape((-1, seq_len))
            for part in (numbers[:-1], numbers[1:]))

    def _text(self) -> str:
        """The segment, from its file or the archive; MXNetError where neither is there."""
        name = FILES[self._segment]
        path, archive = (os.path.join(self._root, one) for one in (name, self.archive))
        if os.path.exists(path):
            with open(path, encoding="utf8") as file:
                return file.read()
        if os.path.exists(archive):
            with zipfile.ZipFile(archive) as found:
                for member in found.namelist():
                    if os.path.basename(member) == name:
                        with io.TextIOWrapper(found.open(member), encoding="utf8") as text:
                            return text.read()
        raise MXNetError(f"{type(self).__name__}: {path!r} is not there, nor {archive!r} with it: "
                         "a text of words and blanks; put it there by other means, as ndarray_rt "
                         "does not use the network")

    def _numbers(self, text: str) -> Any:
        """The words and the ends of sentences as numbers."""
        self._counter = count_tokens_from_str(text)
        if self._vocab is None:
            self._vocab = Vocabulary(counter=self._counter, reserved_tokens=[END_OF_SENTENCE])
        words = [word for line in text.splitlines() if line.strip()
                 for word in [*line.split(), END_OF_SENTENCE]]
        return np.array(self._vocab.to_indices(words), np.int32)

    def __getitem__(self, idx: Any) -> Any:
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)


def _default(name: str) -> str:
    return os.path.join(data_dir(), "datasets", name)


class WikiText2(_WikiText):
    """Articles of two million words (Merity et al. 2016): `seq_len` words and those that follow.

    Parameters
    ----------
    root : str
        The folder of wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens, or of
        wikitext-2-v1.zip. MXNetError where they are not there.
    segment : str
        'train', 'validation' or 'test'; NameMismatch for others.
    vocab : Vocabulary
        The numbers of the words; None: one of the text, with '<eos>' for ends of sentences.
    seq_len : int
    """

    archive = "wikitext-2-v1.zip"

    def __init__(self, root: str = _default("wikitext-2"), segment: str = "train",
                 vocab: Vocabulary | None = None, seq_len: int = 35) -> None:
        super().__init__(root, segment, vocab, seq_len)


class WikiText103(_WikiText):
    """Articles of a hundred million words; parameters as WikiText2's, from wikitext-103-v1.zip."""

    archive = "wikitext-103-v1.zip"

    def __init__(self, root: str = _default("wikitext-103"), segment: str = "train",
                 vocab: Vocabulary | None = None, seq_len: int = 35) -> None:
        super().__init__(root, segment, vocab, seq_len)
