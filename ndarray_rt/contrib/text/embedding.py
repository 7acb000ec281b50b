"""Words as vectors, which are read from files of this machine."""

from __future__ import annotations

import logging
import os
import shutil
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from ... import nd, registry
from ...base import data_dir
from ...errors import NameMismatch, ParameterError
from ...nd import NDArray
from ...public import shows
from . import _published
from .errors import TextError
from .vocab import UNKNOWN, Vocabulary

__all__ = ["CompositeEmbedding", "CustomEmbedding", "FastText", "GloVe", "create",
           "get_pretrained_file_names", "register"]
__dir__ = shows(globals())

C = TypeVar("C", bound=type)
ROOT = os.path.join(data_dir(), "embeddings")


class _TokenEmbedding(Vocabulary):
    """The base of embeddings: a vocabulary with a vector for each token.

    A subclass with files of its own names them in `pretrained_file_name_sha1`: name -> SHA-1 in
    hexadecimal digits, or None where it is not checked.
    """

    pretrained_file_name_sha1: ClassVar[Mapping[str, str | None]] = {}
    _vec_len = 0
    _idx_to_vec: Any = None

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    # ---- files --------------------------------------------------------------------------------

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        """The archive that a file is in, or its own name."""
        return pretrained_file_name

    @classmethod
    def _check_pretrained_file_names(cls, pretrained_file_name: str) -> None:
        """Raises NameMismatch for a file that this embedding does not have."""
        name, known = cls.__name__.lower(), cls.pretrained_file_name_sha1
        if pretrained_file_name not in known:
            raise NameMismatch(f"Cannot find pretrained file {pretrained_file_name} for token "
                               f"embedding {name}. Valid pretrained files for embedding {name}: "
                               f"{', '.join(known)}")

    @classmethod
    def _get_pretrained_file(cls, embedding_root: str, pretrained_file_name: str) -> str:
        """The path of a file; it is taken out of its archive where that is beside it.

        Raises Unsupported, which names the path, where neither is there.
        """
        from ...gluon.utils import check_sha1, download

        name = cls.__name__.lower()
        folder = os.path.join(os.path.expanduser(embedding_root), name)
        path = os.path.join(folder, pretrained_file_name)
        sha1 = cls.pretrained_file_name_sha1[pretrained_file_name]
        if os.path.exists(path) and (not sha1 or check_sha1(path, sha1)):
            return path
        archive = os.path.join(folder, cls._get_download_file_name(pretrained_file_name))
        if archive != path and zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as found:
                for member in found.namelist():
                    if os.path.basename(member) == pretrained_file_name:
                        with found.open(member) as source, open(path, "wb") as target:
                            shutil.copyfileobj(source, target)
                        return path
        return download(f"gluon/embeddings/{name}/{pretrained_file_name}", path, sha1_hash=sha1)

    def _load_embedding(self, pretrained_file_path: str, elem_delim: str,
                        init_unknown_vec: Callable[..., Any], encoding: str = "utf8") -> None:
        """Reads a token and its vector from each line.

        Of a token that comes twice the first vector counts; a line with one number, a header, is
        left out; both are warned of. TextError for lines of other forms, ParameterError for a
        file that is not there.
        """
        path = os.path.expanduser(pretrained_file_path)
        if not os.path.isfile(path):
            raise ParameterError("`pretrained_file_path` must be a valid path to the pre-trained "
                                 f"token embedding file, got {path!r}")
        logging.info("Loading pre-trained token embedding vectors from %s", path)
        unknown: Any = None
        rows: list[Any] = []
        seen: set[str] = set()
        with open(path, encoding=encoding) as file:
            for number, line in enumerate(file, 1):
                token, vector = _parsed(line, elem_delim, f"line {number} of {path!r}")
                if token == self.unknown_token and unknown is None:
                    unknown = vector
                    seen.add(token)
                elif token in seen:
                    warnings.warn(f"At line {number} of the pre-trained token embedding file: the "
                                  f"embedding vector for token {token} has been loaded and a "
                                  "duplicate embedding for the  same token is seen and skipped.",
                                  stacklevel=3)
                elif len(vector) == 1:
                    warnings.warn(f"At line {number} of the pre-trained text embedding file: token "
                                  f"{token} with 1-dimensional vector {vector.tolist()} is likely "
                                  "a header and is skipped.", stacklevel=3)
                else:
                    if rows and len(vector) != len(rows[0]):
                        raise TextError(
                            f"At line {number} of the pre-trained token embedding file: the "
                            f"dimension of token {token} is {len(vector)} but the dimension of "
                            f"previous tokens is {len(rows[0])}. Dimensions of all the tokens must "
                            "be the same.")
                    rows.append(vector)
                    self._token_to_idx[token] = len(self._idx_to_token)
                    self._idx_to_token.append(token)
                    seen.add(token)
        if not rows:
            raise TextError(f"the pre-trained token embedding file {path!r} has no vectors")
        self._vec_len = len(rows[0])
        if unknown is not None and len(unknown) != self._vec_len:
            raise TextError(f"the vector of {self.unknown_token} in {path!r} has {len(unknown)} "
                            f"numbers, others have {self._vec_len}")
        # tokens that the file does not have, the unknown and reserved ones, come first
        first = len(self._idx_to_token) - len(rows)
        table = np.zeros((len(self._idx_to_token), self._vec_len), np.float32)
        table[first:] = rows
        self._idx_to_vec = nd.array(table)
        self._idx_to_vec[UNKNOWN] = (init_unknown_vec(shape=self._vec_len) if unknown is None
                                     else nd.array(unknown))

    # ---- vectors ------------------------------------------------------------------------------

    @property
    def vec_len(self) -> int:
        """How many numbers a vector has."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> Any:
        """(tokens, vec_len): the vectors in the order of the tokens."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens: Any, lower_case_backup: bool = False) -> NDArray:
        """The vector of a token, (vec_len,), or of each in a list, (tokens, vec_len).

        With `lower_case_backup` one that is not there is looked up in small letters, too. Others
        have the vector of the unknown token.
        """
        known = self._token_to_idx
        listed = tokens if isinstance(tokens, list) else [tokens]
        numbers = [known.get(token, known.get(token.lower(), UNKNOWN) if lower_case_backup
                             else UNKNOWN) for token in listed]
        found: NDArray = nd.take(self._idx_to_vec, nd.array(numbers, dtype="int64"))
        return found if isinstance(tokens, list) else found[0]

    def update_token_vectors(self, tokens: Any, new_vectors: NDArray) -> None:
        """Gives a token, or each in a list, another vector, a row of `new_vectors`.

        ParameterError for a token that is not there, TextError for other shapes.
        """
        listed = tokens if isinstance(tokens, list) else [tokens]
        ranks = (1, 2) if len(listed) == 1 else (2,)
        if not isinstance(new_vectors, NDArray) or new_vectors.ndim not in ranks:
            raise TextError("update_token_vectors: `new_vectors` must be a 2-D NDArray, or a 1-D "
                            "one if `tokens` is a singleton")
        rows = new_vectors.reshape((1, -1)) if new_vectors.ndim == 1 else new_vectors
        if rows.shape != (len(listed), self._vec_len):
            raise TextError(f"update_token_vectors: `new_vectors` has shape {new_vectors.shape}, "
                            f"expected {(len(listed), self._vec_len)}: a row for each token")
        for token in listed:
            if token not in self._token_to_idx:
                raise ParameterError(
                    f"Token {token} is unknown. To update the embedding vector for an unknown "
                    "token, please specify it explicitly as the `unknown_token` "
                    f"{self.unknown_token} in `tokens`. This is to avoid unintended updates.")
        for row, token in enumerate(listed):
            self._idx_to_vec[self._token_to_idx[token]] = rows[row]

    # ---- other vocabularies -------------------------------------------------------------------

    def _build_embedding_for_vocabulary(self, vocabulary: Any) -> None:
        """Keeps the vectors of a vocabulary's tokens; None: all."""
        if vocabulary is not None:
            _check_vocabulary(vocabulary)
            self._set_idx_to_vec_by_embeddings([self], len(vocabulary), vocabulary.idx_to_token)
            self._index_tokens_from_vocabulary(vocabulary)

    def _index_tokens_from_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Takes over the tokens of a vocabulary."""
        self._token_to_idx = dict(vocabulary.token_to_idx)
        self._idx_to_token = list(vocabulary.idx_to_token)
        self._unknown_token = vocabulary.unknown_token
        reserved = vocabulary.reserved_tokens
        self._reserved_tokens = None if reserved is None else list(reserved)

    def _set_idx_to_vec_by_embeddings(self, token_embeddings: Sequence[_TokenEmbedding],
                                      vocab_len: int, vocab_idx_to_token: list[Any]) -> None:
        """The vectors of the tokens in all embeddings, put together."""
        parts = []
        for one in token_embeddings:
            part = nd.zeros((vocab_len, one.vec_len))
            part[0] = one.idx_to_vec[0]
            if vocab_len > 1:
                part[1:] = one.get_vecs_by_tokens(vocab_idx_to_token[1:])
            parts.append(part)
        self._idx_to_vec = nd.concat(*parts, dim=1)
        self._vec_len = self._idx_to_vec.shape[1]


def _parsed(line: str, delimiter: str, place: str) -> tuple[str, Any]:
    """(token, vector) of a line."""
    token, *numbers = line.rstrip().split(delimiter)
    if not numbers:
        raise TextError(f"At {place}: the data format of the pre-trained token embedding file is "
                        "unexpected: there are no numbers")
    try:
        return token, np.array(numbers, np.float32)
    except ValueError as error:
        raise TextError(f"At {place}: {error}") from None


def _check_vocabulary(vocabulary: Any) -> None:
    if not isinstance(vocabulary, Vocabulary):
        raise TextError("The argument `vocabulary` must be an instance of "
                        f"contrib.text.vocab.Vocabulary, got {type(vocabulary).__name__}")


def register(embedding_cls: C) -> C:
    """Makes a class of embeddings known to `create` by its name in small letters; a decorator."""
    made: C = registry.get_register_func(_TokenEmbedding, "token embedding")(embedding_cls)
    return made


def create(embedding_name: str, **kwargs: Any) -> Any:
    """An embedding of a registered class: 'glove', 'fasttext', or one of the program's own."""
    return registry.get_create_func(_TokenEmbedding, "token embedding")(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """The names of an embedding's files; without a name a dict of those of all embeddings.

    NameMismatch for an embedding that is not registered.
    """
    known = registry.get_registry(_TokenEmbedding)
    names = {name: list(kind.pretrained_file_name_sha1)  # type: ignore[attr-defined]
             for name, kind in known.items()}
    if embedding_name is None:
        return names
    if embedding_name not in names:
        raise NameMismatch(f"Cannot find `embedding_name` {embedding_name}. Use "
                           "`get_pretrained_file_names(embedding_name=None).keys()` to get all the "
                           "valid embedding names.")
    return names[embedding_name]


@register
class GloVe(_TokenEmbedding):
    """Vectors by the global word-word co-occurrence (Pennington et al. 2014).

    Parameters
    ----------
    pretrained_file_name : str
        One of `get_pretrained_file_names("glove")`, which is in the folder glove of
        `embedding_root`, or in its archive there.
    embedding_root : str
    init_unknown_vec : function
        Of a `shape`: the vector of the unknown token, where the file has none.
    vocabulary : Vocabulary
        The tokens that are kept; None: all of the file.
    kwargs
        As of `Vocabulary`.
    """

    pretrained_file_name_sha1: ClassVar[Mapping[str, str | None]] = {
        name: None for names in _published.GLOVE.values() for name in names}

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        return next(archive for archive, names in _published.GLOVE.items()
                    if pretrained_file_name in names)

    def __init__(self, pretrained_file_name: str = "glove.840B.300d.txt",
                 embedding_root: str = ROOT, init_unknown_vec: Any = nd.zeros,
                 vocabulary: Vocabulary | None = None, **kwargs: Any) -> None:
        self._check_pretrained_file_names(pretrained_file_name)
        super().__init__(**kwargs)
        path = GloVe._get_pretrained_file(embedding_root, pretrained_file_name)
        self._load_embedding(path, " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


@register
class FastText(_TokenEmbedding):
    """Vectors by parts of words (Bojanowski et al. 2016).

    Parameters as GloVe's; files are in the folder fasttext of `embedding_root`.
    """

    pretrained_file_name_sha1: ClassVar[Mapping[str, str | None]] = dict.fromkeys(
        _published.FAST_TEXT)

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        return pretrained_file_name.removesuffix(".vec") + ".zip"

    def __init__(self, pretrained_file_name: str = "wiki.simple.vec",
                 embedding_root: str = ROOT, init_unknown_vec: Any = nd.zeros,
                 vocabulary: Vocabulary | None = None, **kwargs: Any) -> None:
        self._check_pretrained_file_names(pretrained_file_name)
        super().__init__(**kwargs)
        path = FastText._get_pretrained_file(embedding_root, pretrained_file_name)
        self._load_embedding(path, " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


class CustomEmbedding(_TokenEmbedding):
    """Vectors of a file of one's own: a token and its numbers in each line.

    Parameters
    ----------
    pretrained_file_path : str
    elem_delim : str
        What stands between a token and its numbers.
    encoding : str
    init_unknown_vec, vocabulary, kwargs
        As of GloVe.
    """

    def __init__(self, pretrained_file_path: str, elem_delim: str = " ", encoding: str = "utf8",
                 init_unknown_vec: Any = nd.zeros, vocabulary: Vocabulary | None = None,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """The tokens of a vocabulary with their vectors in several embeddings, put together.

    TextError for anything but a Vocabulary and an embedding, or a list of them.
    """

    def __init__(self, vocabulary: Vocabulary, token_embeddings: Any) -> None:
        _check_vocabulary(vocabulary)
        listed = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        for one in listed:
            if not isinstance(one, _TokenEmbedding):
                raise TextError("The argument `token_embeddings` must be an instance or a list of "
                                f"instances of embeddings, got {type(one).__name__}")
        super().__init__()
        self._index_tokens_from_vocabulary(vocabulary)
        self._set_idx_to_vec_by_embeddings(listed, len(self), self.idx_to_token)
