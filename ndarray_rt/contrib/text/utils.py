"""Counting words."""

from __future__ import annotations

import re
from collections import Counter

from ...public import shows

__all__ = ["count_tokens_from_str"]
__dir__ = shows(globals())


def count_tokens_from_str(source_str: str, token_delim: str = " ", seq_delim: str = "\n",
                          to_lower: bool = False,
                          counter_to_update: Counter[str] | None = None) -> Counter[str]:
    r"""How often each token is in a text.

    Parameters
    ----------
    source_str : str
    token_delim, seq_delim : str
        Regular expressions of what stands between tokens, and between sequences of them.
    to_lower : bool
        Whether letters count as small ones.
    counter_to_update : Counter
        What is counted on, and given back; None: a new one.

    >>> count_tokens_from_str("a b\na", " ", "\n")
    Counter({'a': 2, 'b': 1})
    """
    tokens = [token for token in re.split(f"{token_delim}|{seq_delim}", source_str) if token]
    counter: Counter[str] = Counter() if counter_to_update is None else counter_to_update
    counter.update([token.lower() for token in tokens] if to_lower else tokens)
    return counter
