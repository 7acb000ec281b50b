"""Vocabulary: tokens in an order, each with its number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from ...errors import ParameterError
from ...public import shows
from .errors import TextError

__all__ = ["Vocabulary"]
__dir__ = shows(globals())

# what all tokens have that are not in a vocabulary
UNKNOWN = 0


class Vocabulary:
    """The unknown token, which is number 0, reserved tokens, and those that were counted.

    Parameters
    ----------
    counter : Counter
        How often each token was seen; the most frequent come first, equals in their own order.
    most_freq_count : int
        How many of them there may be; None: all.
    min_freq : int
        How often they must have been seen.
    unknown_token : hashable
        What tokens count as that are not there.
    reserved_tokens : list of hashables
        Tokens that are there in any case.

    TextError for a `min_freq` below 1, for reserved tokens that are twice there or the unknown
    one, and for a `counter` of another kind.
    """

    def __init__(self, counter: Counter[Any] | None = None, most_freq_count: int | None = None,
                 min_freq: int = 1, unknown_token: Hashable = "<unk>",
                 reserved_tokens: Sequence[Hashable] | None = None) -> None:
        if min_freq <= 0:
            raise TextError("Vocabulary: `min_freq` must be set to a positive value, got "
                            f"{min_freq}")
        reserved = list(reserved_tokens or ())
        if unknown_token in reserved:
            raise TextError("Vocabulary: `reserved_tokens` cannot contain `unknown_token`.")
        if len(set(reserved)) != len(reserved):
            raise TextError("Vocabulary: `reserved_tokens` cannot contain duplicate reserved "
                            "tokens.")
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else reserved
        self._idx_to_token: list[Any] = [unknown_token, *reserved]
        if counter is not None:
            self._idx_to_token += self._chosen(counter, most_freq_count, min_freq)
        self._token_to_idx = {token: i for i, token in enumerate(self._idx_to_token)}

    def _chosen(self, counter: Counter[Any], most_freq_count: int | None,
                min_freq: int) -> list[Any]:
        """The tokens that are frequent enough, as many as there may be."""
        if not isinstance(counter, Counter):
            raise TextError("Vocabulary: `counter` must be an instance of collections.Counter, got "
                            f"{type(counter).__name__}")
        known = set(self._idx_to_token)
        ordered = sorted(counter.items(), key=lambda pair: pair[0])
        ordered.sort(key=lambda pair: pair[1], reverse=True)
        found = [token for token, count in ordered if count >= min_freq and token not in known]
        return found if most_freq_count is None else found[:most_freq_count]

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """The number of each token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """The tokens in the order of their numbers."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Any:
        """What tokens count as that are not there."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        """Tokens that are there in any case; None where none were given."""
        return self._reserved_tokens

    def to_indices(self, tokens: Any) -> Any:
        """The number of a token, or of each in a list; 0 for those that are not there."""
        if not isinstance(tokens, list):
            return self._token_to_idx.get(tokens, UNKNOWN)
        return [self._token_to_idx.get(token, UNKNOWN) for token in tokens]

    def to_tokens(self, indices: Any) -> Any:
        """The token of a number, or of each in a list; ParameterError for one of no token."""
        found = []
        for i in indices if isinstance(indices, list) else [indices]:
            if not isinstance(i, int) or not 0 <= i < len(self):
                raise ParameterError(f"Token index {i} in the provided `indices` is invalid: there "
                                     f"are {len(self)} tokens")
            found.append(self._idx_to_token[i])
        return found if isinstance(indices, list) else found[0]
